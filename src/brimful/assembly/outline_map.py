"""A map of a corpus within a token budget: files with their headings and definitions, as indented lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from brimful.assembly.formats.form import safe_name
from brimful.outline.structures import Definition, Structure, structure
from brimful.search.priors import priors_of
from brimful.store.rows import Documents
from brimful.store.snapshot import StoredSnapshot
from brimful.text.terms import terms_of
from brimful.text.tokens import TokenCounter, least_tokens

_MAX_OUTLINED_BYTES = 2_000_000
"""A longer document is named without its headings and definitions."""

_NAMED_SHARE = 3
"""This fraction of the room names files before any is opened."""

_FIRST_ROUND = 6
"""Names of a level that each file shows in the first round; twice as many in each further one."""

_MAX_MATCHED = 12
"""Names with words of the question that precede the other names of their file."""

_MAX_LINE = 100  # characters
_INDENT = "  "
_LOOK_AHEAD = 8
_ATTRIBUTE = re.compile(r"\s*(?:@[\w.:]+|#(?=\[))")
_OPEN = re.compile(r"(?<!\s)\s*+(?:[{:]|=>?|(?<=\s)do)\s*+$")
_COMMENT = re.compile(r"[ \t]#[ \t].*")
_BROKEN = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")  # left by joining the lines of a signature
_CLOSERS = {"(": ")", "[": "]"}


class MapEntry(NamedTuple):
    """A heading or definition of a file: its line, its name, and how deep it stands below the file."""

    text: str
    name: str
    depth: int  # from 1
    parent: int  # index among the entries, or -1


@dataclass(frozen=True, slots=True)
class CorpusMap:
    """The text of a map, its tokens, and how much of the corpus it names."""

    text: str
    tokens: int
    budget: int
    model: str
    exact: bool
    files: int  # named
    names: int  # headings and definitions
    files_left_out: int


Item = tuple[int, int]
"""Indices of a file and of one of its entries; -1 for the file itself."""


def inside(snapshot: StoredSnapshot, path: str) -> tuple[MapEntry, ...]:
    """The headings and definitions of a stored document."""
    row = snapshot.row(path)
    assert row is not None
    if row.length > _MAX_OUTLINED_BYTES:
        return ()
    content = snapshot.read(row.number, 0, row.length)
    return entries_of(content, structure(content, kind=row.kind, language=row.language, path=path))


def entries_of(content: bytes, document: Structure) -> tuple[MapEntry, ...]:
    r"""The headings and definitions of a document, in order.

    >>> from brimful.outline.structures import structure
    >>> code = b"class Pot:\n    def pour(self,\n             cups=1):\n        return cups\n"
    >>> [(entry.depth, entry.text) for entry in entries_of(code, structure(code, kind="code", language="python"))]
    [(1, 'class Pot'), (2, 'def pour(self, cups=1)')]
    """
    spans = [(heading.start, heading.section_end, heading.title, heading.title) for heading in document.headings] + [
        (part.start, part.end, part.name, _signature(content, part, document.language)) for part in document.definitions
    ]
    entries: list[MapEntry] = []
    enclosing: list[tuple[int, int]] = []  # end and index of each
    for start, end, name, line in spans:
        text = _one_line(line)
        if not text:
            continue
        while enclosing and enclosing[-1][0] <= start:
            enclosing.pop()
        entries.append(MapEntry(text, name, len(enclosing) + 1, enclosing[-1][1] if enclosing else -1))
        enclosing.append((end, len(entries) - 1))
    return tuple(entries)


def _signature(content: bytes, definition: Definition, language: str | None) -> str:
    """The signature of a definition, without decorators and attributes."""
    text = content[definition.signature_start : definition.signature_end].decode("utf-8", "replace")
    if language == "elixir":  # its attributes have no brackets
        lines = text.splitlines()
        text = next((line for line in lines if re.match(rf"\s*def\w*\s.*{re.escape(definition.name)}", line)), text)
    if language == "python":
        text = _COMMENT.sub("", text)
    while (attribute := _ATTRIBUTE.match(text)) is not None:
        text = _after_brackets(text, attribute.end())
    if language == "csharp":
        while text.lstrip().startswith("["):
            text = _after_brackets(text.lstrip(), 0)
    return _OPEN.sub("", text) or definition.name


def _after_brackets(text: str, position: int) -> str:
    """The text after the brackets that open at a position, if any do."""
    opener = text[position : position + 1]
    if opener not in _CLOSERS:
        return text[position:].lstrip()
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] == opener) - (text[index] == _CLOSERS[opener])
        if not depth:
            return text[index + 1 :].lstrip()
    return ""


def _one_line(text: str) -> str:
    line = safe_name(_BROKEN.sub("", " ".join(text.split())) if "\n" in text else " ".join(text.split()))
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1].rstrip()}…"


def levels(entries: Sequence[MapEntry], uses: Callable[[str], int] = lambda _: 0) -> list[list[int]]:
    """The indices of entries by level, public names first, then those in most use; a single title joins the next level.

    >>> levels([MapEntry(name, name, depth, -1) for name, depth in (("Tea", 1), ("_Green", 2), ("Black", 2))])
    [[0, 2, 1]]
    >>> levels([MapEntry(name, name, 1, -1) for name in ("pot", "tea")], {"pot": 1, "tea": 9}.__getitem__)
    [[1, 0]]
    """
    is_titled = sum(entry.depth == 1 for entry in entries) == 1
    by_level: dict[int, list[int]] = defaultdict(list)
    order = {index: (entry.name.startswith("_"), -uses(entry.name), index) for index, entry in enumerate(entries)}
    for index in sorted(order, key=order.__getitem__):
        by_level[max(entries[index].depth - is_titled, 1)].append(index)
    return [by_level[level] for level in range(1, max(by_level, default=0) + 1)]


def _matches(entries: Sequence[MapEntry], words: Sequence[frozenset[bytes]]) -> list[int]:
    """The number of words of a question in each name, in any of their forms.

    >>> _matches([MapEntry("def boilWater()", "boilWater", 1, -1)], [frozenset((b"boil",)), frozenset((b"tea",))])
    [1]
    """
    names = [entry.name.encode("utf-8", "replace").replace(b"\n", b" ") for entry in entries]
    begins = list(accumulate((len(name) + 1 for name in names), initial=0))
    matched: list[set[int]] = [set() for _ in names]
    terms = terms_of(b"\n".join(names))
    for number, term in enumerate(terms.names):
        indices = [index for index, forms in enumerate(words) if term in forms]
        if indices:
            for start in terms.starts[terms.offsets[number] : terms.offsets[number + 1]].tolist():
                matched[bisect_right(begins, start) - 1].update(indices)
    return list(map(len, matched))


def by_importance(documents: Documents, rows: Iterable[int]) -> list[int]:
    """Rows with ordinary files before tests, examples and lock files, text before data, and larger files first."""
    return sorted(
        rows,
        key=lambda row: (
            bool(priors_of(documents.paths[row])),
            documents.kinds[row] == "data",
            -int(documents.lengths[row]),
            documents.paths[row],
        ),
    )


def draw(
    files: Sequence[str],
    open_file: Callable[[str], Sequence[MapEntry]],
    *,
    counter: TokenCounter,
    room: int,
    answered: int = 0,
    words: Sequence[frozenset[bytes]] = (),
    uses: Callable[[str], int] = lambda _: 0,
    tokens_of: Callable[[str], int] | None = None,
) -> CorpusMap:
    """The map of some files, the most important first, in at most `room` tokens.

    A third of the room names files; these are opened level by level, the names that many documents use first; then the
    others follow. The first `answered` files answer a question with these words: they come first with their entries,
    matching names before others. `tokens_of` gives the length of a file where that is to be shown.
    """
    items, text = _Sheet(files, open_file, counter, answered, words, uses, tokens_of, room).fitting(room)
    tokens = counter.count(text)
    named = sum(entry < 0 for _, entry in items)
    return CorpusMap(
        text, tokens, room, counter.name, counter.exact, named, len(items) - named, files_left_out=len(files) - named
    )


class _Sheet:
    """The lines of a map: files are opened at their turn, and each line is counted once."""

    def __init__(
        self,
        files: Sequence[str],
        open_file: Callable[[str], Sequence[MapEntry]],
        counter: TokenCounter,
        answered: int,
        words: Sequence[frozenset[bytes]],
        uses: Callable[[str], int],
        tokens_of: Callable[[str], int] | None,
        room: int,
    ) -> None:
        self._files, self._open_file, self._counter = files, open_file, counter
        self._answered, self._words, self._uses = answered, words, uses
        self._tokens_of, self._room = tokens_of, room
        self._opened: dict[int, Sequence[MapEntry]] = {}
        self._levels: dict[int, list[list[int]]] = {}

    def fitting(self, room: int) -> tuple[list[Item], str]:
        """The longest list of items that fits, in order of importance, and its text."""
        items: list[Item] = []
        least = 0
        for item in self._with_parents(self._in_order()):
            items.append(item)
            least += max(least_tokens(self._counter, self._line(item)), 1)
            if least > room:
                break
        sizes = range(len(items) + 1)
        size = bisect_right(sizes, room, key=lambda size: self._counter.count(self._text(items[:size]))) - 1
        for more in range(size + 1, min(size + _LOOK_AHEAD, len(items)) + 1):  # it may remove a count of omitted ones
            size = more if self._counter.count(self._text(items[:more])) <= room else size
        return (items[:size], self._text(items[:size])) if size >= 0 else ([], "")

    def _text(self, items: Sequence[Item]) -> str:
        return "".join(self.lines(items))

    def lines(self, items: Sequence[Item]) -> Iterator[str]:
        """The lines of these items: files of an answer, then folders with their files; and how many are omitted."""
        entries: dict[int, list[int]] = {}
        for file, entry in items:
            entries.setdefault(file, []).append(entry)
        above = ""
        for file in sorted(entries, key=lambda file: (min(file, self._answered), self._place(file))):
            folder, _ = self._place(file)
            if folder and folder != above:
                yield f"{safe_name(folder)}/\n"
            above = folder
            for entry in sorted(entries[file]):
                yield self._line((file, entry))
            omitted = len(self._entries(file)) - len(entries[file]) + 1 if len(entries[file]) > 1 else 0
            if omitted:
                yield f"{_INDENT * (1 + bool(folder))}… {omitted:,} more\n"
        if omitted := len(self._files) - len(entries):
            yield f"… {omitted:,} more {'file' if omitted == 1 else 'files'}\n"

    def _line(self, item: Item) -> str:
        file, index = item
        folder, name = self._place(file)
        if index < 0:
            length = f" ({self._tokens_of(self._files[file]):,} tokens)" if self._tokens_of else ""
            return f"{_INDENT * bool(folder)}{safe_name(name)}{length}\n"
        entry = self._entries(file)[index]
        return f"{_INDENT * (entry.depth + bool(folder))}{entry.text}\n"

    def _place(self, file: int) -> tuple[str, str]:
        """The folder that a file is listed under, and its name there; a file of an answer has its whole path."""
        folder, _, name = self._files[file].rpartition("/")
        return ("", self._files[file]) if file < self._answered else (folder, name)

    def _entries(self, file: int) -> Sequence[MapEntry]:
        if file not in self._opened:
            self._opened[file] = self._open_file(self._files[file])
        return self._opened[file]

    def _in_order(self) -> Iterator[Item]:
        """All items by importance; with a question, only the files of its answer are opened."""
        answer, other_files = range(self._answered), range(self._answered, len(self._files))
        for file in answer:
            yield file, -1
            yield from ((file, entry) for entry in self._matched(file))
            yield from ((file, entry) for entry in self._level(file, 1)[:_FIRST_ROUND])
        yield from self._rounds(answer)
        if self._answered:
            yield from ((file, -1) for file in other_files)
            return
        lengths = accumulate(self._counter.count(self._line((file, -1))) for file in other_files)
        first = range(bisect_right(list(lengths), self._room // _NAMED_SHARE))
        yield from ((file, -1) for file in first)
        yield from self._rounds(first)
        yield from ((file, -1) for file in other_files[len(first) :])
        yield from self._rounds(other_files[len(first) :])

    def _rounds(self, files: Iterable[int]) -> Iterator[Item]:
        """Entries level by level; each file shows some at its turn, and more at the next."""
        here, depth = list(files), 1
        while here:
            begin, size, turn = 0, _FIRST_ROUND, here
            while turn:
                for file in turn:
                    yield from ((file, entry) for entry in self._level(file, depth)[begin : begin + size])
                begin, size = begin + size, 2 * size
                turn = [file for file in turn if len(self._level(file, depth)) > begin]
            depth += 1
            here = [file for file in here if self._level(file, depth)]

    def _level(self, file: int, depth: int) -> list[int]:
        if file not in self._levels:
            self._levels[file] = levels(self._entries(file), self._uses)
        by_level = self._levels[file]
        return by_level[depth - 1] if depth <= len(by_level) else []

    def _matched(self, file: int) -> list[int]:
        """The entries with most words of the question in their names."""
        counts = _matches(self._entries(file), self._words) if self._words else []
        matched = (entry for entry, count in enumerate(counts) if count)
        return sorted(matched, key=lambda entry: (-counts[entry], entry))[:_MAX_MATCHED]

    def _with_parents(self, items: Iterable[Item]) -> Iterator[Item]:
        """Each item once, after its parents."""
        placed: set[Item] = set()
        for item in items:
            chain, (file, entry) = [], item
            while (file, entry) not in placed:
                placed.add((file, entry))
                chain.append((file, entry))
                if entry >= 0:
                    entry = self._entries(file)[entry].parent
            yield from reversed(chain)
