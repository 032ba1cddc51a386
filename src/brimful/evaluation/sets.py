"""Which questions are asked of which documents, and where does the evidence for each stand?

Sets that others made, and sets made of your own documents without a model and without a person.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from blake3 import blake3

from brimful.corpus.documents import Document, by_path
from brimful.errors import InputError, SettingError, choose
from brimful.text.spans import check_span
from brimful.text.terms import query_terms, terms_of

# ---- sets: Which questions are asked of which documents, and where does the evidence for each stand?
#
# Two layouts on disk, both JSON lines:
#
#     qa   docs.jsonl    {doc_id, text}
#          questions.jsonl {qid, question, doc_ids, evidence: [{doc_id, start, end, bstart, bend, text}]}
#     ir   corpus.jsonl  {_id, title, text}      (BEIR)
#          queries.jsonl {_id, text}
#          qrels.tsv     query, document, grade
#
# `start` and `end` count characters, `bstart` and `bend` bytes of UTF-8; either pair is enough, and what is given
# twice must agree. In memory everything is bytes.

Layout = Literal["qa", "ir"]
Split = Literal["all", "dev", "holdout"]
ScopeChoice = Literal["pooled", "own"]
Scope = tuple[str, ...] | None
"""The documents that a question is asked of; None for all of them."""

SPLITS: tuple[Split, ...] = get_args(Split)
SCOPES: tuple[ScopeChoice, ...] = get_args(ScopeChoice)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Bytes of a document that answer a question."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what should be found: byte ranges (`qa`) or graded documents (`ir`)."""

    id: str
    text: str
    scope: Scope = None
    evidence: tuple[Evidence, ...] = ()
    relevant: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class EvaluationSet:
    """Documents and the questions that are asked of them."""

    name: str
    layout: Layout
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @cached_property
    def by_path(self) -> Mapping[str, Document]:
        """The documents by their paths."""
        return {document.path: document for document in self.documents}


def split_of(question_id: str) -> Literal["dev", "holdout"]:
    """Which half a question falls into: the parity of a hash of its id, so nobody chooses.

    >>> [split_of(name) for name in ("q1", "q2", "q3", "q4")]
    ['holdout', 'holdout', 'holdout', 'dev']
    """
    head = hashlib.sha256(question_id.encode()).hexdigest()[:8]
    return "holdout" if int(head, 16) % 2 else "dev"


def read_set(
    folder: Path | str,
    *,
    split: Split = "all",
    scope: ScopeChoice = "pooled",
    questions: Path | str | None = None,
) -> EvaluationSet:
    """Read and check a set in either layout.

    With `scope="own"` a question is asked of its own documents only; pooled, of all. `questions` names a file
    of {qid, question} whose texts stand in for the set's own (misspelt ones, say); others are left out.
    Questions without evidence are left out too: nothing could be measured on them.
    """
    choose(split, SPLITS, what="split")
    choose(scope, SCOPES, what="scope")
    place = Path(folder)
    if (place / "docs.jsonl").is_file():
        found = _read_qa(place, own=scope == "own")
    elif (place / "corpus.jsonl").is_file():
        found = _read_ir(place)
    else:
        raise InputError(f"{place} is not an evaluation set: it has neither docs.jsonl (qa) nor corpus.jsonl (ir)")
    kept = list(found.questions)
    if questions is not None:
        kept = _reworded(kept, Path(questions))
    kept = [question for question in kept if split in ("all", split_of(question.id))]
    if not kept:
        raise InputError(f"{place} has no question with evidence in the split {split!r}")
    return EvaluationSet(found.name, found.layout, found.documents, tuple(kept))


def write_set(made: EvaluationSet, folder: Path | str) -> None:
    """Write a `qa` set so that `read_set` (and any reader of characters) finds the same in it."""
    if made.layout != "qa":
        raise InputError(f"{made.name} is a set of layout {made.layout!r}; only 'qa' sets are written")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    documents = [{"doc_id": document.path, "text": document.content.decode()} for document in made.documents]
    questions = [
        {
            "qid": question.id,
            "question": question.text,
            "doc_ids": None if question.scope is None else list(question.scope),
            "evidence": [_evidence_line(made.by_path[at.path], at) for at in question.evidence],
        }
        for question in made.questions
    ]
    _write_lines(place / "docs.jsonl", documents)
    _write_lines(place / "questions.jsonl", questions)


def _write_lines(file: Path, rows: Iterable[Mapping[str, object]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file.write_bytes("".join(lines).encode())  # bytes: the same line ends on every system


def _evidence_line(document: Document, at: Evidence) -> dict[str, object]:
    text = document.text(at.start, at.end)
    start = len(document.content[: at.start].decode())
    return {
        "doc_id": at.path,
        "start": start,
        "end": start + len(text),
        "bstart": at.start,
        "bend": at.end,
        "text": text,
    }


class _Row:
    """One JSON object of a file, whose fields are asked for by type; errors name file, line and field."""

    def __init__(self, where: str, fields: Mapping[str, object]) -> None:
        self.where = where
        self.fields = fields

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise InputError(f"{self.where}: {name!r} must be a text, got {value!r}")
        return value

    def span(self, first: str, second: str) -> tuple[int, int] | None:
        start, end = self.fields.get(first), self.fields.get(second)
        if start is None and end is None:
            return None
        check_span(start, end, where=f" ({first}, {second} at {self.where})")
        assert isinstance(start, int)
        assert isinstance(end, int)
        return start, end

    def rows(self, name: str) -> list[_Row]:
        values = self.fields.get(name)
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise InputError(f"{self.where}: {name!r} must be a list of objects, got {values!r:.80}")
        return [_Row(f"{self.where}, {name}[{number}]", value) for number, value in enumerate(values)]


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise InputError(f"{file} can't be read ({error.strerror}); an evaluation set needs it") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: byte {error.start} is not UTF-8; write the set as UTF-8") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{file.name}:{number}", line


def _rows(file: Path) -> Iterator[_Row]:
    for where, line in _lines(file):
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where} is not JSON ({error}); one object a line is expected") from error
        if not isinstance(fields, dict):
            raise InputError(f"{where} holds {line!r:.60}; one object a line is expected")
        yield _Row(where, fields)


def _read_qa(folder: Path, *, own: bool) -> EvaluationSet:
    documents = _documents((row, row.text("doc_id"), row.text("text")) for row in _rows(folder / "docs.jsonl"))
    found: dict[str, Question] = {}
    for row in _rows(folder / "questions.jsonl"):
        evidence = tuple(_evidence(part, documents) for part in row.rows("evidence"))
        if not evidence:
            continue
        scope = _scope(row, documents)
        question = Question(row.text("qid"), row.text("question"), scope if own else None, evidence)
        _add(found, question, row.where)
    return EvaluationSet(folder.name, "qa", tuple(documents.values()), tuple(found.values()))


def _read_ir(folder: Path) -> EvaluationSet:
    rows = ((row, row.text("_id"), _titled(row)) for row in _rows(folder / "corpus.jsonl"))
    documents = _documents(rows)
    grades: dict[str, dict[str, int]] = {}
    for where, line in _lines(folder / "qrels.tsv"):
        parts = line.rstrip("\r").split("\t")
        if len(parts) != 3 or not parts[2].strip().lstrip("-").isdecimal():
            raise InputError(f"{where}: expected query, document and a whole grade between tabs, got {line!r:.60}")
        query, path, grade = parts
        if path not in documents:
            raise InputError(f"{where}: no document {path!r} in corpus.jsonl")
        if int(grade) > 0:
            grades.setdefault(query, {})[path] = int(grade)
    found: dict[str, Question] = {}
    for row in _rows(folder / "queries.jsonl"):
        relevant = tuple(grades.get(row.text("_id"), {}).items())
        if relevant:
            _add(found, Question(row.text("_id"), row.text("text"), relevant=relevant), row.where)
    return EvaluationSet(folder.name, "ir", tuple(documents.values()), tuple(found.values()))


def _titled(row: _Row) -> str:
    title = row.text("title") if row.fields.get("title") is not None else ""
    return f"{title}\n{row.text('text')}".strip()


def _documents(rows: Iterable[tuple[_Row, str, str]]) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for row, path, text in rows:
        if path in found:
            raise InputError(f"{row.where}: document {path!r} stands there a second time; give each its own id")
        found[path] = Document(path, text)
    return found


def _add(found: dict[str, Question], question: Question, where: str) -> None:
    if question.id in found:
        raise InputError(f"{where}: question {question.id!r} stands there a second time; give each its own id")
    found[question.id] = question


def _scope(row: _Row, documents: Mapping[str, Document]) -> Scope:
    paths = row.fields.get("doc_ids")
    if paths is None:
        return None
    if not isinstance(paths, list) or not paths:
        raise InputError(f"{row.where}: 'doc_ids' must be a list of documents or null, got {paths!r:.60}")
    for path in paths:
        if path not in documents:
            raise InputError(f"{row.where}: no document {path!r} in docs.jsonl")
    return tuple(paths)


def _evidence(row: _Row, documents: Mapping[str, Document]) -> Evidence:
    path = row.text("doc_id")
    if path not in documents:
        raise InputError(f"{row.where}: no document {path!r} in docs.jsonl")
    content = documents[path].content
    in_bytes, in_characters = row.span("bstart", "bend"), row.span("start", "end")
    if in_characters is not None:
        counted = _to_bytes(content, in_characters, where=row.where)
        if in_bytes not in (None, counted):
            raise InputError(f"{row.where}: characters {in_characters} are the bytes {counted}, not {in_bytes}")
        in_bytes = counted
    if in_bytes is None:
        raise InputError(f"{row.where}: evidence needs start and end (characters) or bstart and bend (bytes)")
    start, end = in_bytes
    held = documents[path].text(start, end)
    if "text" in row.fields and row.text("text") != held:
        raise InputError(f"{row.where}: [{start}, {end}) of {path} holds {held!r:.60}, not {row.text('text')!r:.60}")
    return Evidence(path, start, end)


def _to_bytes(content: bytes, characters: tuple[int, int], *, where: str) -> tuple[int, int]:
    start, end = characters
    text = content.decode()
    check_span(start, end, length=len(text), where=f" (characters, at {where})")
    if len(text) == len(content):
        return start, end
    first = len(text[:start].encode())
    return first, first + len(text[start:end].encode())


def _reworded(questions: Iterable[Question], file: Path) -> list[Question]:
    texts = {row.text("qid"): row.text("question") for row in _rows(file)}
    return [
        Question(question.id, texts[question.id], question.scope, question.evidence, question.relevant)
        for question in questions
        if question.id in texts
    ]


# ---- make: Which questions could be asked of your own documents, without a model and without a person?
#
# Passages are chosen by hash, one document after the other, and each becomes a question by one of four rules:
#
# - `words`: its five rarest words, in order
# - `heading`: the heading or function that it stands under, and its two rarest words
# - `gap`: the passage itself without its rarest word
# - `misspelt`: its rarest words, the longest of them misspelt
#
# The passage is the evidence. The limits are plain: questions made of a passage's own words favour searching by
# words over searching by meaning, none needs two passages, and none is asked as a person would ask. Such a set finds
# what breaks (a loader, a language, a heading that is not searched) and compares settings on your own text; it does
# not say how well people will be served.

_Rule = Literal["words", "heading", "gap", "misspelt"]
RULES: tuple[_Rule, ...] = get_args(_Rule)

_LEAST_BYTES, _MOST_BYTES = 40, 600  # of a passage
_LEAST_WORDS = 5  # that a passage has
_LEAST_WORD_BYTES = 3
_KEY_WORDS = 5
_HEADING_WORDS = 2
_LEAST_LETTERS = 5  # of a word that is misspelt


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a passage: where it stands there, as it is written, and how often the corpus has it."""

    start: int
    end: int
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A unit of a document that may become evidence."""

    document: Document
    start: int
    end: int
    words: tuple[Word, ...]  # in order of occurrence

    def rarest(self, number: int) -> list[Word]:
        """The rarest distinct words, in order of occurrence."""
        distinct = {word.text.casefold(): word for word in reversed(self.words)}
        kept = sorted(distinct.values(), key=lambda word: (word.count, word.start))[:number]
        return sorted(kept, key=lambda word: word.start)


def make_set(documents: Iterable[Document], *, questions: int = 100, name: str = "own") -> EvaluationSet:
    """Make a set from documents; the same documents give the same set, in whatever order they come.

    There are fewer questions where the documents have fewer passages: sentences, statements or records of 40 to 600
    bytes with five words or more, which stand nowhere else in the corpus.
    """
    if isinstance(questions, bool) or not isinstance(questions, int) or questions < 1:
        raise SettingError(f"questions is {questions!r}; ask for at least 1")
    known = sorted(by_path(documents).values(), key=lambda document: document.path)
    counts = _word_counts(known)
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
    return EvaluationSet(name, "qa", tuple(known), tuple(made.values()))


def misspell(word: str, *, known: Callable[[str], bool] = lambda _: False) -> str | None:
    """The word with one slip inside: two letters swapped, one left out, or one doubled, as a hash says.

    A slip that gives a `known` word is not taken; None where no slip is left.

    >>> misspell("lantern"), misspell("aaa")
    ('lanern', None)
    """
    slips = []
    for at in range(1, len(word) - 1):
        if word[at] != word[at + 1]:
            slips.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
        slips += [word[:at] + word[at + 1 :], word[: at + 1] + word[at:]]
    wrong = [slip for slip in slips if slip != word and len(set(slip)) > 1 and not known(slip)]
    return min(wrong, key=lambda slip: (_hash(word, slip), slip), default=None)


def _hash(*parts: str | int) -> bytes:
    return blake3("\0".join(map(str, parts)).encode()).digest()


def _word_counts(documents: Iterable[Document]) -> Counter[bytes]:
    counts: Counter[bytes] = Counter()
    for document in documents:
        terms = terms_of(document.content)
        sizes = terms.offsets[1:] - terms.offsets[:-1]
        counts.update(dict(zip(terms.names, sizes.tolist(), strict=True)))
    return counts


def _spread(documents: Iterable[Document], counts: Mapping[bytes, int]) -> Iterator[Passage]:
    """One passage of every document in turn, documents and passages each in the order of their hashes."""
    order = sorted(documents, key=lambda document: (_hash(document.path), document.path))
    waiting = [_passages(document, counts) for document in order]
    while waiting:
        going_on = []
        for passages in waiting:
            passage = next(passages, None)  # a document is outlined when its first turn comes
            if passage is not None:
                yield passage
                going_on.append(passages)
        waiting = going_on


def _passages(document: Document, counts: Mapping[bytes, int]) -> Iterator[Passage]:
    cuts = document.outline.units.tolist()
    units = sorted(pairwise(cuts), key=lambda unit: (_hash(document.path, *unit), unit))
    for first, last in units:
        text = document.content[first:last].decode()
        start = first + len(text[: len(text) - len(text.lstrip())].encode())
        end = start + len(text.strip().encode())
        if not _LEAST_BYTES <= end - start <= _MOST_BYTES:
            continue
        words = tuple(_words(document.text(start, end), counts))
        if len({word.text.casefold() for word in words}) >= _LEAST_WORDS:
            yield Passage(document, start, end, words)


def _words(text: str, counts: Mapping[bytes, int]) -> Iterator[Word]:
    """Words of a text that do not overlap, without parts of words and very short ones."""
    content = text.encode()
    reached = 0
    for term, start, end, is_part in query_terms(text):
        if is_part or start < reached or end - start < _LEAST_WORD_BYTES:
            continue
        yield Word(start, end, content[start:end].decode(), counts[term])
        reached = end


def _stands_once(passage: Passage, documents: Iterable[Document]) -> bool:
    text = passage.document.content[passage.start : passage.end]
    return sum(document.content.count(text) for document in documents) == 1


def _asked(passage: Passage, number: int, counts: Mapping[bytes, int]) -> Question | None:
    """The passage's question by the rule whose turn it is, or by the next one that has something to say."""
    turn = number % len(RULES)
    for rule in RULES[turn:] + RULES[:turn]:
        text = _question(rule, passage, counts)
        if text:
            where = passage.document.path, passage.start, passage.end
            evidence = Evidence(*where)
            return Question(f"{rule}-{_hash(*where).hex()[:12]}", text, evidence=(evidence,))
    return None


def _question(rule: _Rule, passage: Passage, counts: Mapping[bytes, int]) -> str | None:
    if rule == "heading":
        return _under_heading(passage)
    if rule == "gap":
        return _with_gap(passage)
    words = [word.text for word in passage.rarest(_KEY_WORDS)]
    if rule == "misspelt":
        longest = max(words, key=lambda word: (len(word), word))
        if len(longest) < _LEAST_LETTERS or not longest.isalpha():
            return None
        wrong = misspell(longest, known=lambda slip: any(term in counts for term, *_ in query_terms(slip)[:1]))
        if wrong is None:
            return None
        words[words.index(longest)] = wrong
    return " ".join(words)


def _under_heading(passage: Passage) -> str | None:
    around = passage.document.outline.enclosing(passage.start, passage.end)
    names = [block.name.strip() for block in around if block.name.strip()]
    inside = around[-1].signature_end > passage.start if around else True
    if not names or inside:  # a heading is no passage of its own section
        return None
    return " ".join([names[-1], *(word.text for word in passage.rarest(_HEADING_WORDS))])


def _with_gap(passage: Passage) -> str:
    content = passage.document.content[passage.start : passage.end]
    (rarest,) = passage.rarest(1)
    return " ".join((content[: rarest.start] + content[rarest.end :]).decode().split())
