"""Which words stand where?

A text is split into runs that need to be looked at only once, the runs into words, the words into terms with their
positions; and where a text has some words near each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from brimful.native import Places
from brimful.native import terms as kernels
from brimful.native.terms import ROOM, Clumps
from brimful.text.characters import (
    APOSTROPHE,
    ASCII_CLASSES,
    COMMA,
    DASH,
    DIGIT,
    DOT,
    HASH,
    LOWER,
    PLUS,
    UNDERSCORE,
    UPPER,
    Folded,
    fold,
)

# ---- clumps: Which stretches of a text need to be looked at only once, however often they occur?
#
# A clump is a run of letters, digits, underscores and everything beyond ASCII, with the signs inside that may hold a
# word together (`don't`, `1,000`, `c++`). Its terms depend on its own bytes alone, so the rules of words and
# `characters`, which take many steps, are applied to each different clump, and the result holds for all its copies.
# A sign too many in a clump does no harm, one too few would: where a sign may count, it is taken in.

# What a byte is (terms.c reads it): part of a clump, of a number or of a word perhaps, plain ASCII; or a sign between
# numbers (the bit of a number, shifted), a sign inside a word (the bit of a word, shifted), or one that ends a word.
_CLUMP, _NUMBER, _WORD, _HASH, _ASCII, _BEHIND = 1, 2, 4, 32, 64, 128
_SHIFT = 2
_BY_CLASS = {
    LOWER: _CLUMP | _WORD | _ASCII,
    UPPER: _CLUMP | _WORD | _ASCII,
    DIGIT: _CLUMP | _NUMBER | _ASCII,
    UNDERSCORE: _CLUMP | _ASCII,
    DOT: _NUMBER << _SHIFT,
    COMMA: _NUMBER << _SHIFT,
    DASH: _NUMBER << _SHIFT,
    APOSTROPHE: _WORD << _SHIFT,
    HASH: _BEHIND | _HASH,
    PLUS: _BEHIND,
}
_FLAGS = bytes(
    _BY_CLASS.get(kind, 0) if code < 0x80 else _CLUMP | _NUMBER | _WORD for code, kind in enumerate(ASCII_CLASSES)
)


def clumps_of(padded: bytes, *, multiplier: int | None = None) -> Clumps:
    """Find the clumps of a text padded with ROOM; the hash multiplier changes only the time.

    >>> text = b"She didn't like 'C++', v1.5 (or c), she didn't." + kernels.ROOM
    >>> clumps = clumps_of(text)
    >>> firsts, lengths = clumps.strings.firsts, clumps.strings.lengths
    >>> different = [text[first : first + length].decode() for first, length in zip(firsts, lengths)]
    >>> [different[number] for number in clumps.strings.numbers], len(different)
    (['She', "didn't", 'like', 'C++', 'v1.5', 'or', 'c', 'she', "didn't"], 8)
    """
    return kernels.find_clumps(padded, _FLAGS, multiplier=multiplier)


# ---- terms: Which words stand where?
#
# A word is a run of letters, marks and digits (docs/internals/terms.md). The rules are applied to each different clump
# of a text, and what they say is carried to its copies: kernels find the clumps, their terms by the class of every
# character, group them and put every place where it belongs. Three kinds of pieces nest:
#
#     chain   HTTPServer2_old     what underscores hold together, also `don't`, `1,000`
#     run     HTTPServer2 | old   no gap
#     piece   HTTP|Server|2 | old no change of case or between letters and digits
#
# A chain is always a term (its first 64 bytes), a run where its chain has several, a piece where its run has several
# and looks like a name. Of scripts without spaces pairs of neighbours are terms.

_STRETCH_BYTES = 1 << 17
"""Text that is looked at in one go; nothing on one side of white space depends on the other."""

_BLANK = re.compile(rb"[ \t\n\v\f\r]")
_NEWLINE = 0x0A
_EDGE = np.zeros(kernels.EDGE_BYTES, np.uint8)


class Names(Sequence[bytes]):
    """Names that hold no newline, as one text: of a segment's hundred thousands no object each is made.

    >>> names = Names(b"pot\\ntea\\ntofu\\n", np.array([0, 4, 8, 13], np.int32))
    >>> len(names), names[-2], names[1:], names.joined(0, 2)
    (3, b'tea', [b'tea', b'tofu'], b'pot\\ntea')
    """

    __slots__ = ("bounds", "lines")

    def __init__(self, lines: bytes, bounds: Places) -> None:
        self.lines, self.bounds = lines, bounds  # newline-terminated names; the start of each, and the end

    @classmethod
    def of(cls, names: Sequence[bytes]) -> Names:
        """Join names into one text; returns `Names` unchanged."""
        if isinstance(names, Names):
            return names
        ends = np.cumsum(np.fromiter(map(len, names), np.int32, len(names)) + 1, dtype=np.int32)
        return cls(b"\n".join([*names, b""]), np.concatenate((np.zeros(1, np.int32), ends)))

    @classmethod
    def of_lines(cls, lines: bytes) -> Names:
        """The lines of a text that ends with a newline."""
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == _NEWLINE) + 1
        return cls(lines, np.concatenate((np.zeros(1, np.int32), ends), dtype=np.int32))

    @classmethod
    def together(cls, parts: Sequence[Names]) -> Names:
        """Concatenate several `Names`."""
        if len(parts) == 1:
            return parts[0]
        shifts = np.cumsum([0, *(len(part.lines) for part in parts)], dtype=np.int32).tolist()
        bounds = [part.bounds[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
        return cls(b"".join([part.lines for part in parts]), np.concatenate((np.zeros(1, np.int32), *bounds)))

    def part(self, first: int, last: int) -> Names:
        """The names `[first, last)`."""
        bounds = self.bounds[first : last + 1]
        return Names(self.lines[bounds[0] : bounds[-1]], bounds - bounds[0])

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            return self.joined(first, last).split(b"\n")[::step] if first < last else []
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self.joined(place, place + 1)

    def find(self, wanted: Names) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The insertion point of each wanted name among these sorted ones, and whether it is present."""
        return kernels.find_names(self.lines, self.bounds, wanted.lines, wanted.bounds)

    def place(self, name: bytes) -> int:
        """The row of a name among these sorted ones; -1 if absent."""
        (row,), (is_here,) = self.find(Names(name + b"\n", np.array([0, len(name) + 1], np.int32)))
        return int(row) if is_here else -1

    def joined(self, first: int, last: int) -> bytes:
        """The names `[first, last)`, at least one, with newlines between."""
        return self.lines[self.bounds[first] : self.bounds[last] - 1]


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Every occurrence of every term, in columns, grouped by term (085b §5.1 atom positions)."""

    names: Sequence[bytes]  # distinct terms as UTF-8, sorted bytewise
    offsets: NDArray[np.int64]  # one more than names: the rows of term i are [offsets[i], offsets[i + 1])
    starts: NDArray[np.int32]  # where each occurrence starts in the content, ascending within a term


class QueryTerm(NamedTuple):
    """A term of a question, with its byte range there."""

    term: bytes
    start: int
    end: int
    is_part: bool  # a longer term of the question holds it


def terms_of(content: bytes) -> Terms:
    """Every term of a text with the byte offsets of its occurrences.

    >>> terms = terms_of(b"getAtom: the atom")
    >>> terms.names, terms.offsets.tolist(), terms.starts.tolist()
    ([b'atom', b'get', b'getatom', b'the'], [0, 2, 3, 4, 5], [3, 13, 0, 0, 9])
    """
    clumps, text, bounds = _clumped(content + ROOM)
    terms = _placed(clumps, bounds, _named(text))
    return Terms(terms.names[:], terms.offsets, terms.starts)


def indexed_terms(padded: bytes, *, multiplier: int | None = None) -> Terms:
    """Every term of a text padded with ROOM, including the plain forms of accented terms.

    `multiplier` is the hash multiplier; it changes only the time.

    >>> terms = indexed_terms("café".encode() + ROOM)
    >>> [name.decode() for name in terms.names], terms.starts.tolist()
    (['cafe', 'café'], [0, 0])
    """
    clumps, text, bounds = _clumped(padded, multiplier)
    return _placed(clumps, bounds, _with_plain_forms(_named(text, multiplier)))


def _placed(clumps: Clumps, bounds: Places, named: _Named) -> Terms:
    arguments = (clumps, bounds, named.origins, named.numbers)
    return Terms(named.names, *kernels.place_terms(*arguments, named=len(named.names)))


# Each step frees what only it needs: a segment's text is long.


def _clumped(padded: bytes, multiplier: int | None = None) -> tuple[Clumps, bytes, Places]:
    """The clumps of a text, the different ones as one text, and where each of those begins in it."""
    clumps = clumps_of(padded, multiplier=multiplier)
    different = clumps.strings
    return clumps, *kernels.join_strings(padded, different.firsts, different.lengths, sign=b" ")


class _Named(NamedTuple):
    """The different terms of a text in their order; of each occurrence which one it is, and where it stands."""

    names: Names
    numbers: Places
    origins: Places


def _named(text: bytes, multiplier: int | None = None) -> _Named:
    folded, starts, lengths, origins = _terms_in(text)
    terms = kernels.number_strings(folded, starts, lengths, multiplier=multiplier)
    order = kernels.sort_strings(folded, terms.firsts, terms.lengths)
    lines, bounds = kernels.join_strings(folded, terms.firsts, terms.lengths, sign=b"\n", order=order)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return _Named(Names(lines, bounds), rank.take(terms.numbers), origins)


def _terms_in(text: bytes) -> tuple[bytes, Places, Places, Places]:
    """The folded text padded with ROOM; the start and length of its terms, and their offsets in the content."""
    texts: list[bytes] = []
    columns: list[tuple[Places, ...]] = []
    size = 0
    for begin, part in _stretches(text):
        folded, starts, lengths = _occurrences(part)
        part_columns = (starts + size, lengths, folded.origin(starts) + begin)
        columns.append(tuple(column.astype(np.int32) for column in part_columns))
        texts.append(folded.text.tobytes())
        size += len(texts[-1])
    texts.append(ROOM)
    places, sizes, origins = (np.concatenate(column) for column in zip(*columns, strict=True))
    return b"".join(texts), places, sizes, origins


def _stretches(content: bytes) -> Iterator[tuple[int, bytes]]:
    """A text cut at white space, with where each part begins."""
    start = 0
    while len(content) - start > _STRETCH_BYTES:
        blank = _BLANK.search(content, start + _STRETCH_BYTES)
        if blank is None:
            break
        yield start, content[start : blank.end()]
        start = blank.end()
    yield start, content[start:]


def query_terms(text: str) -> list[QueryTerm]:
    """The terms of a question in order of occurrence, a whole before its parts.

    >>> [(term.decode(), part) for term, _, _, part in query_terms("Where is HTTPServer2?")]
    [('where', False), ('is', False), ('httpserver2', False), ('http', True), ('server', True), ('2', True)]
    """
    content = text.encode("utf-8", "replace")
    folded, starts, lengths = _occurrences(content)
    order = np.lexsort((-lengths, starts))
    starts, ends = starts[order], (starts + lengths)[order]
    reach = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends
    buffer = folded.text.tobytes()
    return [
        QueryTerm(buffer[start:end], begin, stop, is_part)
        for start, end, begin, stop, is_part in zip(
            starts.tolist(),
            ends.tolist(),
            folded.origin(starts).tolist(),
            folded.origin(ends).tolist(),
            (ends <= reach).tolist(),
            strict=True,
        )
    ]


def _occurrences(content: bytes) -> tuple[Folded, Places, Places]:
    """The folded text, and where in it terms start and how long they are, in order of their starts."""
    folded = fold(content)
    return folded, *kernels.find_terms(folded.text, np.concatenate((_EDGE, folded.classes, _EDGE)))


# ---- accents: Which terms are also found without their accents? `cafe` finds `café`; `café` finds only itself.
#
# Done once for each different clump, not for each of its copies: where a term with accents stands, its plain form does
# too. Only Latin and Greek letters have one: й is another letter than и, が than か.

# The first bytes of accented letters of both scripts, and of the marks that follow a letter.
_MAY_HAVE_ACCENTS = re.compile(rb"[\xc3-\xcf\xe1]")
_MAY_BEGIN = np.array([_MAY_HAVE_ACCENTS.match(bytes([code])) is not None for code in range(256)])
_LAST_ASCII = 0x7F
_ACCENTS = re.compile("(?<=[a-z\u00df-\u024f\u0250-\u02af\u0370-\u03ff\u1d00-\u1d7f\u2c60-\u2c7f])[\u0300-\u036f]+")


def plain_forms(names: Sequence[bytes]) -> list[bytes]:
    """Each term without the accents of its Latin and Greek letters; done in one text: no accent stands on a newline.

    >>> [name.decode() for name in plain_forms([name.encode() for name in ("häuser", "ᾅδης", "йод", "ガ")])]
    ['hauser', 'αδης', 'йод', 'ガ']
    """
    parts = unicodedata.normalize("NFD", b"\n".join(names).decode())
    plain = _ACCENTS.sub("", parts)
    forms = unicodedata.normalize("NFC", plain).encode().split(b"\n")
    same = map(str.__eq__, parts.split("\n"), plain.split("\n"))
    return [name if is_same else form for name, form, is_same in zip(names, forms, same, strict=True)]


def _perhaps_accented(names: Names) -> NDArray[np.int64]:
    """Which names have a byte that accented letters begin with."""
    if names.lines.isascii():
        return np.zeros(0, np.int64)
    codes = np.frombuffer(names.lines, np.uint8)
    places = np.flatnonzero(codes > _LAST_ASCII)
    places = places[_MAY_BEGIN[codes[places]]]
    rows = names.bounds.searchsorted(places.astype(np.int32), side="right") - 1
    distinct: NDArray[np.int64] = rows[np.diff(rows, prepend=-1) > 0]
    return distinct


def _with_plain_forms(named: _Named) -> _Named:
    """Add the plain form of every accented term at the places of that term, each place once."""
    names = named.names
    rows = _perhaps_accented(names)
    edges = zip(names.bounds[rows].tolist(), names.bounds[rows + 1].tolist(), strict=True)
    accented = [names.lines[start : end - 1] for start, end in edges]
    forms_of = zip(rows.tolist(), accented, plain_forms(accented), strict=True) if accented else ()
    plain = {row: form for row, name, form in forms_of if form != name}
    if not plain:
        return named
    forms = sorted(set(plain.values()))
    ranks, is_known = names.find(Names.of(forms))
    together, moved = _inserted(names, ranks[~is_known], list(compress(forms, ~is_known)))
    places = dict(zip(forms, (ranks + np.cumsum(~is_known) - ~is_known).tolist(), strict=True))
    twins = np.full(len(names), -1, np.int64)
    twins[list(plain)] = [places[form] for form in plain.values()]
    return _Named(together, *_with_twins(moved[named.numbers], named.origins, twins[named.numbers]))


def _with_twins(numbers: Places, origins: Places, twins: NDArray[np.int64]) -> tuple[Places, Places]:
    """Occurrences of terms in order of their places, and at the place of one with a twin the twin, once.

    >>> both = _with_twins(np.array([0, 2]), np.array([3, 9]), np.array([1, -1]))
    >>> [column.tolist() for column in both]
    [[0, 1, 2], [3, 3, 9]]
    """
    has_twin, is_twin = twins >= 0, np.isin(numbers, twins)
    places = origins.astype(np.int64) << 32
    both = np.unique(np.concatenate(((places | numbers)[is_twin], (places | twins)[has_twin])))
    together = np.sort(np.concatenate(((places | numbers)[~is_twin], both)), kind="stable")
    return (together & 0xFFFFFFFF).astype(np.int32), (together >> 32).astype(np.int32)


def _inserted(names: Names, ranks: NDArray[np.int64], fresh: Sequence[bytes]) -> tuple[Names, Places]:
    """Insert new names at the given ranks; returns the names and the new rows of the old ones."""
    parts: list[bytes] = []
    last = 0
    for offset, name in zip(names.bounds[ranks].tolist(), fresh, strict=True):
        parts += (names.lines[last:offset], name, b"\n")
        last = offset
    sizes = np.insert(np.diff(names.bounds), ranks, [len(name) + 1 for name in fresh])
    bounds = np.concatenate((np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)))
    moved = np.arange(len(names)) + np.cumsum(np.bincount(ranks, minlength=len(names) + 1))[:-1]
    return Names(b"".join([*parts, names.lines[last:]]), bounds), moved.astype(np.int32)


# ---- matches: Where does a text have some words, near each other?

_MOST_PLACES = 64  # of one word in one hit that are compared


def matches_in(text: str, words: Sequence[Collection[bytes]]) -> tuple[tuple[int, int], ...]:
    """Find the occurrences of several words that lie closest together in a text.

    Each word is the set of its terms, the rarest word first. Returns one byte range for each word that occurs.

    >>> matches_in("Tea, and much later tea with milk", [{b"milk"}, {b"tea"}])
    ((29, 33), (20, 23))
    """
    terms = query_terms(text)
    places = [[(item.start, item.end) for item in terms if item.term in names][:_MOST_PLACES] for names in words]
    places = [item for item in places if item]
    if not places:
        return ()

    def around(first: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        return (first, *(min(item, key=lambda place: (abs(place[0] - first[0]), place)) for item in places[1:]))

    return min((around(first) for first in places[0]), key=lambda spans: (_reach(spans), spans))


def _reach(places: Sequence[tuple[int, int]]) -> int:
    return max(end for _, end in places) - min(start for start, _ in places)
