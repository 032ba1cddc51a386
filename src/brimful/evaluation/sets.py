"""Which questions are asked of which documents, and where does the evidence for each stand?

On disk a set is a folder of two files of JSON lines:

    docs.jsonl       {doc_id, text}
    questions.jsonl  {qid, question, evidence: [{doc_id, start, end, bstart, bend, text}]}

`start` and `end` count characters, `bstart` and `bend` bytes of UTF-8; either pair is enough, and what is given twice
must agree. In memory everything is bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from brimful.corpus.documents import Document
from brimful.errors import InputError, SettingError
from brimful.text.spans import check_span
from brimful.text.terms import query_terms, terms_of


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


def write_set(made: EvaluationSet, folder: Path | str) -> None:
    """Write a set so that `read_set` (and any reader of characters) finds the same in it."""
    documents = {document.path: document for document in made.documents}
    files: dict[str, list[dict[str, object]]] = {
        "docs.jsonl": [{"doc_id": each.path, "text": each.content.decode()} for each in made.documents],
        "questions.jsonl": [
            {
                "qid": question.id,
                "question": question.text,
                "doc_ids": None,
                "evidence": [_evidence_line(documents[place.path], place) for place in question.evidence],
            }
            for question in made.questions
        ],
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        Path(folder, name).write_bytes(lines.encode())  # bytes: the same line ends on every system


def _evidence_line(document: Document, place: Place) -> dict[str, object]:
    text, start = document.text(place.start, place.end), len(document.content[: place.start].decode())
    characters = {"doc_id": place.path, "start": start, "end": start + len(text)}
    return {**characters, "bstart": place.start, "bend": place.end, "text": text}


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


# ---- make: Which questions could be asked of your own documents, without a model and without a person?
#
# Passages are chosen by hash, one document after the other, and each becomes a question by one of four rules:
#
# - `words`: its five rarest words, in order
# - `heading`: the heading or function that it stands under, and its two rarest words
# - `gap`: the passage itself without its rarest word
# - `misspelt`: its rarest words, the longest of them misspelt
#
# The passage is the evidence. What such a set can't say stands in docs/evaluation.md.

RULES = ("words", "heading", "gap", "misspelt")

_LEAST_BYTES, _MOST_BYTES = 40, 600  # of a passage
_LEAST_WORDS = 5  # that a passage has
_LEAST_WORD_BYTES = 3
_KEY_WORDS = 5
_HEADING_WORDS = 2
_LEAST_LETTERS = 5  # of a word that is misspelt


class _Word(NamedTuple):
    start: int  # in its passage
    end: int
    text: str
    occurrences: int  # in the corpus


class _Passage(NamedTuple):
    """A unit of a document that may become evidence, with its words in order."""

    document: Document
    start: int
    end: int
    words: Sequence[_Word]

    def rarest(self, number: int) -> list[_Word]:
        """The rarest distinct words, in order of occurrence."""
        distinct = {word.text.casefold(): word for word in reversed(self.words)}
        kept = sorted(distinct.values(), key=lambda word: (word.occurrences, word.start))[:number]
        return sorted(kept, key=lambda word: word.start)


def make_set(documents: Iterable[Document], *, questions: int = 100, name: str = "own") -> EvaluationSet:
    """Make a set from documents; the same documents give the same set, in whatever order they come.

    There are fewer questions where the documents have fewer passages: sentences, statements or records of 40 to 600
    bytes with five words or more, which stand nowhere else in the corpus.
    """
    if isinstance(questions, bool) or not isinstance(questions, int) or questions < 1:
        raise SettingError(f"questions is {questions!r}; ask for at least 1")
    known = sorted(documents, key=lambda document: document.path)
    counts: Counter[bytes] = Counter()
    for document in known:
        terms = terms_of(document.content)
        counts.update(dict(zip(terms.names, (terms.offsets[1:] - terms.offsets[:-1]).tolist(), strict=True)))
    made: dict[str, Question] = {}
    for passage in _spread(known, counts):
        question = _asked(passage, len(made), counts)
        if question is not None and question.text not in made and _stands_once(passage, known):
            made[question.text] = question
        if len(made) == questions:
            break
    if not made:
        raise InputError(
            f"{len(known)} documents hold no passage to ask for: none of {_LEAST_BYTES} to {_MOST_BYTES} bytes "
            f"with {_LEAST_WORDS} words; add longer texts"
        )
    return EvaluationSet(name, tuple(known), tuple(made.values()))


def _hash(*parts: str | int) -> bytes:
    return blake3("\0".join(map(str, parts)).encode()).digest()


def _spread(documents: Iterable[Document], counts: Mapping[bytes, int]) -> Iterator[_Passage]:
    """One passage of every document in turn, documents and passages each in the order of their hashes."""
    order = sorted(documents, key=lambda document: (_hash(document.path), document.path))
    waiting = [_passages(document, counts) for document in order]
    while waiting:
        turn = [(passages, next(passages, None)) for passages in waiting]
        yield from (passage for _, passage in turn if passage is not None)
        waiting = [passages for passages, passage in turn if passage is not None]


def _passages(document: Document, counts: Mapping[bytes, int]) -> Iterator[_Passage]:
    units = sorted(pairwise(document.outline.units.tolist()), key=lambda unit: (_hash(document.path, *unit), unit))
    for first, last in units:
        text = document.content[first:last].decode()
        start = first + len(text[: len(text) - len(text.lstrip())].encode())
        end = start + len(text.strip().encode())
        if _LEAST_BYTES <= end - start <= _MOST_BYTES:
            words = tuple(_words(document.text(start, end), counts))
            if len({word.text.casefold() for word in words}) >= _LEAST_WORDS:
                yield _Passage(document, start, end, words)


def _words(text: str, counts: Mapping[bytes, int]) -> Iterator[_Word]:
    """Words of a text that do not overlap, without parts of words and very short ones."""
    content, reached = text.encode(), 0
    for term, start, end, is_part in query_terms(text):
        if not is_part and start >= reached and end - start >= _LEAST_WORD_BYTES:
            yield _Word(start, end, content[start:end].decode(), counts.get(term, 0))
            reached = end


def _stands_once(passage: _Passage, documents: Iterable[Document]) -> bool:
    text = passage.document.content[passage.start : passage.end]
    return sum(document.content.count(text) for document in documents) == 1


def _asked(passage: _Passage, number: int, counts: Mapping[bytes, int]) -> Question | None:
    """The passage's question by the rule whose turn it is, or by the next one that has something to say."""
    turn = number % len(RULES)
    place = Place(passage.document.path, passage.start, passage.end)
    for rule in RULES[turn:] + RULES[:turn]:
        text = _question(rule, passage, counts)
        if text:
            return Question(f"{rule}-{_hash(*place).hex()[:12]}", text, (place,))
    return None


def _question(rule: str, passage: _Passage, counts: Mapping[bytes, int]) -> str | None:
    if rule == "heading":
        return _under_heading(passage)
    if rule == "gap":
        content, (rarest,) = passage.document.content[passage.start : passage.end], passage.rarest(1)
        return " ".join((content[: rarest.start] + content[rarest.end :]).decode().split())
    words = [word.text for word in passage.rarest(_KEY_WORDS)]
    if rule == "misspelt":
        longest = max(words, key=lambda word: (len(word), word))
        wrong = misspell(longest, counts) if len(longest) >= _LEAST_LETTERS and longest.isalpha() else None
        if wrong is None:
            return None
        words[words.index(longest)] = wrong
    return " ".join(words)


def misspell(word: str, known: Iterable[bytes] = ()) -> str | None:
    """The word with one slip inside: two letters swapped, one left out, or one doubled, as a hash says.

    A slip that gives a `known` term is not taken; None where no slip is left.

    >>> misspell("lantern"), misspell("aaa")
    ('lanern', None)
    """
    swaps = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(1, len(word) - 1)]
    losses = [word[:at] + word[at + 1 :] for at in range(1, len(word) - 1)]
    doubles = [word[: at + 1] + word[at:] for at in range(1, len(word) - 1)]
    slips = [slip for slip in swaps + losses + doubles if slip != word and len(set(slip)) > 1]
    wrong = [slip for slip in slips if not any(term in known for term, *_ in query_terms(slip)[:1])]
    return min(wrong, key=lambda slip: (_hash(word, slip), slip), default=None)


def _under_heading(passage: _Passage) -> str | None:
    around = passage.document.outline.enclosing(passage.start, passage.end)
    names = [block.name.strip() for block in around if block.name.strip()]
    if not names or around[-1].signature_end > passage.start:  # a heading is no passage of its own section
        return None
    return " ".join([names[-1], *(word.text for word in passage.rarest(_HEADING_WORDS))])
