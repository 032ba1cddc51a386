"""Which questions are asked of which documents, and where does the evidence for each stand?

On disk a set is a folder of two files of JSON lines:

    docs.jsonl       {doc_id, text}
    questions.jsonl  {qid, question, evidence: [{doc_id, start, end, bstart, bend, text}]}

`start` and `end` count characters, `bstart` and `bend` bytes of UTF-8; either pair is enough, and what is given twice
must agree. In memory everything is bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from brimful.corpus.documents import Document
from brimful.errors import InputError
from brimful.text.spans import check_span


class Place(NamedTuple):
    """Bytes of a document: a piece of evidence, or what an answer cites."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the bytes that answer it."""

    id: str
    text: str
    evidence: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Documents and the questions that are asked of them."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


def read_set(folder: Path | str) -> EvaluationSet:
    """Read and check a set; questions without evidence are left out, since nothing could be measured on them."""
    place = Path(folder)
    if not (place / "docs.jsonl").is_file():
        raise InputError(f"{place} is not an evaluation set: it has no docs.jsonl")
    documents: dict[str, Document] = {}
    for where, row in _rows(place / "docs.jsonl"):
        path = _text(row, "doc_id", where)
        if path in documents:
            raise InputError(f"{where}: document {path!r} stands there a second time; give each its own id")
        documents[path] = Document(path, _text(row, "text", where))
    questions: dict[str, Question] = {}
    for where, row in _rows(place / "questions.jsonl"):
        name, text, pieces = _text(row, "qid", where), _text(row, "question", where), row.get("evidence")
        if not isinstance(pieces, list) or not all(isinstance(piece, dict) for piece in pieces):
            raise InputError(f"{where}: 'evidence' must be a list of objects, got {pieces!r:.80}")
        if name in questions:
            raise InputError(f"{where}: question {name!r} stands there a second time; give each its own id")
        if pieces:
            numbered = enumerate(pieces)
            evidence = tuple(_evidence(piece, documents, f"{where}, evidence[{at}]") for at, piece in numbered)
            questions[name] = Question(name, text, evidence)
    if not questions:
        raise InputError(f"{place} has no question with evidence")
    return EvaluationSet(place.name, tuple(documents.values()), tuple(questions.values()))


def _rows(file: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """The objects of a file of JSON lines, each with the name of the file and its line."""
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise InputError(f"{file} can't be read ({error.strerror}); an evaluation set needs it") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: byte {error.start} is not UTF-8; write the set as UTF-8") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{file.name}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where} is not JSON ({error}); one object a line is expected") from error
        if not isinstance(row, dict):
            raise InputError(f"{where} holds {line!r:.60}; one object a line is expected")
        yield where, row


def _text(row: Mapping[str, object], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} must be a text, got {value!r:.80}")
    return value


def _evidence(piece: Mapping[str, object], documents: Mapping[str, Document], where: str) -> Place:
    """The bytes that a piece of evidence names, once its characters, bytes and text are seen to agree."""
    path = _text(piece, "doc_id", where)
    if path not in documents:
        raise InputError(f"{where}: no document {path!r} in docs.jsonl")
    document = documents[path]
    characters, in_bytes = _span(piece, "start", "end", where), _span(piece, "bstart", "bend", where)
    if characters is not None:
        text = document.content.decode()
        check_span(*characters, length=len(text), where=f" (characters, at {where})")
        start, end = (len(text[:at].encode()) for at in characters)
        if in_bytes not in (None, (start, end)):
            raise InputError(f"{where}: characters {characters} are the bytes {(start, end)}, not {in_bytes}")
        in_bytes = start, end
    if in_bytes is None:
        raise InputError(f"{where}: evidence needs start and end (characters) or bstart and bend (bytes)")
    held = document.text(*in_bytes)
    if "text" in piece and _text(piece, "text", where) != held:
        raise InputError(f"{where}: {list(in_bytes)} of {path} holds {held!r:.60}, not {piece['text']!r:.60}")
    return Place(path, *in_bytes)


def _span(piece: Mapping[str, object], first: str, second: str, where: str) -> tuple[int, int] | None:
    start, end = piece.get(first), piece.get(second)
    if start is None and end is None:
        return None
    check_span(start, end, where=f" ({first}, {second} at {where})")
    assert isinstance(start, int)
    assert isinstance(end, int)
    return start, end
