"""What does a corpus hold, in so many tokens? Its files with their headings and definitions, as indented lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

from brimful.assembly.formats.form import safe_name
from brimful.outline.structures import Definition, Structure, structure
from brimful.search.priors import priors_of
from brimful.store.rows import Documents
from brimful.store.snapshot import StoredSnapshot
from brimful.text.terms import terms_of
from brimful.text.tokens import Measure, TokenCounter

_LONGEST_INSIDE = 2_000_000
"""Bytes of a document; a longer one is named without its inside."""

_FIRST_ROUND = 6
"""So many names of a level each file gives before the next file's turn; twice as many in each further round."""

_MOST_ASKED = 12
"""So many names that a question uses come before the others of their file."""

_LONGEST_LINE = 100  # characters of a name with its signature
_INDENT = "  "
_LOOK_AHEAD = 8
_ATTRIBUTE = re.compile(r"\s*(?:@[\w.:]+|#(?=\[))")
_OPEN = re.compile(r"(?<!\s)\s*+(?:[{:]|=>?|(?<=\s)do)\s*+$")
_COMMENT = re.compile(r"[ \t]#[ \t].*")
_BROKEN = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")  # where a signature went on in the next line
_CLOSERS = {"(": ")", "[": "]"}


class MapEntry(NamedTuple):
    """A heading or definition of a file: its line, its name, and how deep it stands below the file."""

    text: str
    name: str
    depth: int  # from 1
    parent: int  # its place among the entries, or -1


@dataclass(frozen=True, slots=True)
class CorpusMap:
    """A map of a corpus: its text, what that counts, and how much of the corpus it names."""

    text: str
    tokens: int
    budget: int
    model: str
    exact: bool
    files: int  # that are named
    names: int  # headings and definitions that are shown
    files_left_out: int


Item = tuple[int, int]
"""A file by its place, and one of its entries; -1 for the file itself."""


# ---- what a file holds


def inside(snapshot: StoredSnapshot, path: str) -> tuple[MapEntry, ...]:
    """What a stored document's outline names."""
    row = snapshot.row(path)
    assert row is not None
    if row.length > _LONGEST_INSIDE:
        return ()
    content = snapshot.read(row.number, 0, row.length)
    return entries_of(content, structure(content, kind=row.kind, language=row.language, path=path))


def entries_of(content: bytes, found: Structure) -> tuple[MapEntry, ...]:
    r"""The headings or definitions of a document, in their order.

    >>> from brimful.outline.structures import structure
    >>> code = b"class Pot:\n    def pour(self,\n             cups=1):\n        return cups\n"
    >>> [(each.depth, each.text) for each in entries_of(code, structure(code, kind="code", language="python"))]
    [(1, 'class Pot'), (2, 'def pour(self, cups=1)')]
    """
    spans = [(each.start, each.section_end, each.title, each.title) for each in found.headings] + [
        (each.start, each.end, each.name, _signature(content, each, found.language)) for each in found.definitions
    ]
    entries: list[MapEntry] = []
    around: list[tuple[int, int]] = []  # where each of those around ends, and its place
    for start, end, name, line in spans:
        text = _one_line(line)
        if not text:
            continue
        while around and around[-1][0] <= start:
            around.pop()
        entries.append(MapEntry(text, name, len(around) + 1, around[-1][1] if around else -1))
        around.append((end, len(entries) - 1))
    return tuple(entries)


def _signature(content: bytes, found: Definition, language: str | None) -> str:
    """What a definition begins with, without decorators and attributes."""
    text = content[found.signature_start : found.signature_end].decode("utf-8", "replace")
    if language == "elixir":  # its attributes have no brackets
        lines = text.splitlines()
        text = next((line for line in lines if re.match(rf"\s*def\w*\s.*{re.escape(found.name)}", line)), text)
    if language == "python":
        text = _COMMENT.sub("", text)
    while (attribute := _ATTRIBUTE.match(text)) is not None:
        text = _behind_brackets(text, attribute.end())
    if language == "csharp":
        while text.lstrip().startswith("["):
            text = _behind_brackets(text.lstrip(), 0)
    return _OPEN.sub("", text) or found.name


def _behind_brackets(text: str, position: int) -> str:
    """What follows the brackets that open at a position, if any do."""
    opener = text[position : position + 1]
    if opener not in _CLOSERS:
        return text[position:].lstrip()
    depth = 0
    for at in range(position, len(text)):
        depth += (text[at] == opener) - (text[at] == _CLOSERS[opener])
        if not depth:
            return text[at + 1 :].lstrip()
    return ""


def _one_line(text: str) -> str:
    line = safe_name(_BROKEN.sub("", " ".join(text.split())) if "\n" in text else " ".join(text.split()))
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1].rstrip()}…"


def levels(entries: Sequence[MapEntry]) -> list[list[int]]:
    """The entries level by level, names for others before private ones; a single title belongs to the level below it.

    >>> levels([MapEntry(name, name, depth, -1) for name, depth in (("Tea", 1), ("_Green", 2), ("Black", 2))])
    [[0, 2, 1]]
    """
    is_titled = sum(each.depth == 1 for each in entries) == 1
    found: list[list[int]] = []
    for at in sorted(range(len(entries)), key=lambda at: (entries[at].name.startswith("_"), at)):
        level = max(entries[at].depth - is_titled, 1)
        while len(found) < level:
            found.append([])
        found[level - 1].append(at)
    return found


def uses(entries: Sequence[MapEntry], words: Sequence[frozenset[bytes]]) -> list[int]:
    """How many words of a question each name has, each word in any of its forms.

    >>> uses([MapEntry("def boilWater()", "boilWater", 1, -1)], [frozenset((b"boil", b"boils")), frozenset((b"tea",))])
    [1]
    """
    names = [each.name.encode("utf-8", "replace").replace(b"\n", b" ") for each in entries]
    ends = [0]
    for name in names:
        ends.append(ends[-1] + len(name) + 1)
    found: list[set[int]] = [set() for _ in names]
    terms = terms_of(b"\n".join(names))
    for number, term in enumerate(terms.names):
        asked = [at for at, forms in enumerate(words) if term in forms]
        if asked:
            for start in terms.starts[terms.offsets[number] : terms.offsets[number + 1]].tolist():
                found[bisect_right(ends, start) - 1].update(asked)
    return [len(each) for each in found]


# ---- the map


def by_importance(documents: Documents, rows: Iterable[int]) -> list[int]:
    """Ordinary files first, then tests, examples, lock files and the like; text before data, the larger first."""
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
    asked: int = 0,
    words: Sequence[frozenset[bytes]] = (),
) -> CorpusMap:
    """The map of some files, the most important first, in at most so many tokens.

    Every file is named before any is opened, and every level is shown before the next one. Where the first `asked`
    files were found for a question, they come first with what is in them, names that have its words before others.
    """
    sheet = _Sheet(files, open_file, counter, asked, words)
    taken = sheet.fitting(room)
    while taken and counter.count("".join(sheet.lines(taken))) > room:  # sums are exact: this holds it for any counter
        taken = taken[:-1]
    text = "".join(sheet.lines(taken))
    tokens = counter.count(text)
    if tokens > room:  # not even how many files there are
        text, tokens = "", counter.count("")
    named = sum(at < 0 for _, at in taken)
    return CorpusMap(
        text, tokens, room, counter.name, counter.exact, named, len(taken) - named, files_left_out=len(files) - named
    )


class _Sheet:
    """What could be drawn: files that are opened when their turn comes, and lines that are counted once."""

    def __init__(
        self,
        files: Sequence[str],
        open_file: Callable[[str], Sequence[MapEntry]],
        counter: TokenCounter,
        asked: int,
        words: Sequence[frozenset[bytes]],
    ) -> None:
        self._files, self._open_file, self._counter = files, open_file, counter
        self._asked, self._words = asked, words
        self._opened: dict[int, Sequence[MapEntry]] = {}
        self._levels: dict[int, list[list[int]]] = {}
        self._measures: dict[str, Measure] = {}

    def fitting(self, room: int) -> list[Item]:
        """As many items as fit, in order of importance."""
        items: list[Item] = []
        least = 0
        for item in self._with_parents(self._in_order()):
            items.append(item)
            least += max(self._measure(self._line(item)).tokens - 1, 1)  # a token may reach into the next line
            if least > room:
                break
        low, high = 0, len(items)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._tokens(items[:middle]) <= room else (low, middle - 1)
        for more in range(low + 1, min(low + _LOOK_AHEAD, len(items)) + 1):  # an item may end a count of what is left
            low = more if self._tokens(items[:more]) <= room else low
        return items[:low]

    def lines(self, items: Sequence[Item]) -> Iterator[str]:
        """The map of these items: by path, or as a question ranks the files; what is left out is counted."""
        shown: dict[int, list[int]] = {}
        for file, at in items:
            shown.setdefault(file, []).append(at)
        for file in sorted(shown, key=lambda file: (min(file, self._asked), self._files[file])):
            for at in sorted(shown[file]):
                yield self._line((file, at))
            left = len(self._entries(file)) - len(shown[file]) + 1 if len(shown[file]) > 1 else 0
            if left:
                yield f"{_INDENT}… {left:,} more\n"
        if left := len(self._files) - len(shown):
            yield f"… {left:,} more {'file' if left == 1 else 'files'}\n"

    def _line(self, item: Item) -> str:
        file, at = item
        if at < 0:
            return f"{safe_name(self._files[file])}\n"
        entry = self._entries(file)[at]
        return f"{_INDENT * entry.depth}{entry.text}\n"

    def _tokens(self, items: Sequence[Item]) -> int:
        measures = [self._measure(line) for line in self.lines(items)]
        return reduce(add, measures).tokens if measures else 0

    def _measure(self, line: str) -> Measure:
        if line not in self._measures:
            self._measures[line] = self._counter.measure(line)
        return self._measures[line]

    def _entries(self, file: int) -> Sequence[MapEntry]:
        if file not in self._opened:
            self._opened[file] = self._open_file(self._files[file])
        return self._opened[file]

    # ---- in which order?

    def _in_order(self) -> Iterator[Item]:
        found = range(self._asked)
        for file in found:
            yield file, -1
            yield from ((file, at) for at in self._used(file))
            yield from ((file, at) for at in self._level(file, 1)[:_FIRST_ROUND])
        yield from self._rounds(found)
        others = range(self._asked, len(self._files))
        yield from ((file, -1) for file in others)
        if not self._asked:
            yield from self._rounds(others)

    def _rounds(self, files: Iterable[int]) -> Iterator[Item]:
        """Level by level; each file gives some names in its turn, and more of them the next time."""
        here, depth = list(files), 1
        while here:
            begin, size, turn = 0, _FIRST_ROUND, here
            while turn:
                for file in turn:
                    yield from ((file, at) for at in self._level(file, depth)[begin : begin + size])
                begin, size = begin + size, 2 * size
                turn = [file for file in turn if len(self._level(file, depth)) > begin]
            depth += 1
            here = [file for file in here if self._level(file, depth)]

    def _level(self, file: int, depth: int) -> list[int]:
        if file not in self._levels:
            self._levels[file] = levels(self._entries(file))
        found = self._levels[file]
        return found[depth - 1] if depth <= len(found) else []

    def _used(self, file: int) -> list[int]:
        """The entries whose names have most words of the question."""
        counts = uses(self._entries(file), self._words) if self._words else []
        return sorted((at for at, count in enumerate(counts) if count), key=lambda at: (-counts[at], at))[:_MOST_ASKED]

    def _with_parents(self, items: Iterable[Item]) -> Iterator[Item]:
        """Each item once, behind what it stands in."""
        seen: set[Item] = set()
        for file, entry in items:
            chain, at = [], entry
            while (file, at) not in seen:
                seen.add((file, at))
                chain.append((file, at))
                if at >= 0:
                    at = self._entries(file)[at].parent
            yield from reversed(chain)
