"""The compiled loops: C through ctypes, arrays in, arrays out.

Everything that goes over each byte or each position is here; what decides is in Python. A kernel gets memory that its
caller owns and whose sizes are checked in this module, and keeps nothing. The library is built from the C files beside
this one (`building`); where it is missing or was built from other source, an error says what to do: nothing runs slowly
in its place. The interpreter's lock is free while a kernel runs.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.classes import dataclass
from brimful.errors import KernelsError
from brimful.kernels import building

Numbers = NDArray[np.int64]
Places = NDArray[np.int32]

ROOM = bytes(8)
"""What must stand behind a text of strings: they are read eight bytes at a time."""

NEWLINES = b"\n" * 16
"""What must stand behind a text of lines, so that every look ahead stays inside."""

_MOST_NAMES = 64  # that are looked for at once
_BITS = 7  # of a packed number in each byte
_MOST_BYTES = (1 << 31) - 1
_REMEDY = "install brimful again (pip install --force-reinstall --no-cache-dir brimful)"
_AT, _SIZE, _WORD, _BYTE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint8
_REAL = ctypes.c_double
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "packed_size": (_SIZE, (_AT, _SIZE)),
    "pack_numbers": (None, (_AT, _SIZE, _AT)),
    "pack_columns": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT)),
    "pack_places": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT)),
    "packed_count": (_SIZE, (_AT, _SIZE)),
    "unpack_numbers": (None, (_AT, _SIZE, _SIZE, _AT)),
    "unite_columns": (_SIZE, (_AT, _AT, _SIZE, _AT, _AT)),
    "find_clumps": (_SIZE, (_AT, _SIZE, _AT, _WORD, _AT, _SIZE, *(_AT,) * 5)),
    "number_strings": (_SIZE, (_AT, _AT, _AT, _SIZE, _WORD, _AT, _SIZE, *(_AT,) * 3)),
    "find_terms": (_SIZE, (_AT, _AT, _SIZE, _SIZE, _AT, _AT)),
    "sort_strings": (None, (_AT, _AT, _AT, _SIZE, _AT, _AT)),
    "join_strings": (None, (_AT, _AT, _AT, _AT, _SIZE, _BYTE, _AT, _AT)),
    "find_lines": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, *(_AT,) * 5)),
    "divide_cuts": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, _AT)),
    "find_definitions": (None, (_AT, _AT, _SIZE, _AT, _AT, _SIZE, _SIZE, _SIZE, _AT)),
    "find_sentences": (_SIZE, (_AT, _SIZE, _AT, _AT, _SIZE, _AT, _SIZE, _AT)),
    "count_until": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT)),
    "gather_cuts": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, _AT)),
    "count_code": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT)),
    "count_inside": (None, (_AT, _AT, _SIZE, *(_AT,) * 4)),
    "find_inside": (None, (_AT, _AT, _SIZE, *(_AT,) * 6)),
    "add_to_rows": (None, (_AT, _AT, _SIZE, _AT, _AT, _AT, _SIZE, _AT)),
    "find_blocks": (_SIZE, (_AT, _AT, _SIZE, *(_AT,) * 4)),
    "sum_rows": (None, (_AT, _AT, _AT, _SIZE, _SIZE, _AT)),
    "terms_of_units": (None, (_AT, _AT, _SIZE, _AT, _SIZE, _SIZE, *(_AT,) * 4)),
    "sum_units": (None, (_AT, _AT, _AT, _SIZE, _AT, _AT)),
    "score_codes": (None, (_AT, _SIZE, _AT, ctypes.c_int16, _AT)),
    "can_be_wide": (_SIZE, ()),
    "lay_out_codes": (None, (_AT, _SIZE, _AT)),
    "near_codes": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _SIZE, _SIZE, _AT, _AT)),
    "score_planes": (None, (_AT, _AT, _SIZE, _AT, _SIZE, _SIZE, _SIZE, _AT)),
    "hash_runs": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT, _AT)),
    "alike_sets": (_SIZE, (_AT, _AT, _AT, _AT, _SIZE, _AT, _SIZE, _AT, _AT)),
    "weigh_units": (None, (_AT, _AT, _SIZE, _SIZE, _AT, _AT, _AT, _SIZE, _REAL, *(_AT,) * 6)),
    "most_covered": (_REAL, (_AT, _AT, _SIZE, _SIZE, _AT, _AT, _SIZE, _AT, _AT, _AT)),
    "unpack_column": (_SIZE, (_AT, _SIZE, _SIZE, _SIZE, _AT)),
    "find_anchors": (None, (_AT, _SIZE, *(_AT,) * 4)),
    "long_runs": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT)),
    "count_terms": (_SIZE, (_AT, _SIZE, _AT, _SIZE, _AT, _AT, _SIZE, _SIZE, *(_AT,) * 3)),
    "place_terms": (None, (_AT, _AT, _SIZE, *(_AT,) * 5)),
    "merge_names": (_SIZE, (_AT, _AT, _SIZE, *(_AT,) * 6)),
    "index_tokens": (_SIZE, (_AT, _AT, _SIZE, _AT, _SIZE)),
    "count_tokens": (_SIZE, (_AT, _SIZE, _SIZE, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE, _AT, _AT)),
    "index_pairs": (_SIZE, (_AT, _SIZE, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE, _AT, _SIZE, _AT)),
    "word_tokens": (
        _SIZE,
        (_AT, _AT, _AT, _SIZE, _AT, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE, _AT, _SIZE, *(_AT,) * 4),
    ),
    "find_token": (_SIZE, (_AT, _SIZE, _AT, _AT, _SIZE, _SIZE, _AT, _SIZE)),
}


@cache
def library() -> ctypes.CDLL:
    """The kernels, loaded once and known to be built from this source."""
    return opened(_found())


def _found() -> Path:
    """The library of an installed package, or of a checkout, where it is built when the source has changed."""
    shipped = building.shipped()
    if shipped.is_file() or not building.is_checkout():
        return shipped
    path = building.beside_source()
    if not path.is_file():
        try:
            building.build(path)
        except OSError as error:
            raise KernelsError(f"{error}") from error
        building.remove_older(path)
    return path


def opened(path: Path) -> ctypes.CDLL:
    """A library with the types of its functions; an error where it can't be this source's."""
    try:
        found = ctypes.CDLL(str(path))
        found.brimful_source.restype = ctypes.c_char_p
        source = found.brimful_source().decode()
    except (OSError, AttributeError) as error:
        raise KernelsError(f"the compiled kernels can't be loaded ({error}); {_REMEDY}") from error
    if source != building.digest():
        raise KernelsError(f"{path} was built from other source ({source[:12]}) than this package has; {_REMEDY}")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def _numbers(values: NDArray[Any]) -> Numbers:
    """As the kernels read numbers: of eight bytes, one after the other."""
    return np.ascontiguousarray(values, np.int64)


def pack_numbers(values: NDArray[Any]) -> bytes:
    """Numbers as varints: seven bits a byte, low bits first. None of them is negative."""
    values = _numbers(values)
    packed = np.empty(library().packed_size(values.ctypes.data, len(values)), np.uint8)
    library().pack_numbers(values.ctypes.data, len(values), packed.ctypes.data)
    return packed.tobytes()


def pack_columns(columns: NDArray[Any], offsets: NDArray[Any]) -> tuple[bytes, Numbers]:
    """Ascending columns one after the other, each as its differences; and where each ends in bytes, after a 0.

    Column i is `columns[offsets[i]:offsets[i + 1]]`.
    """
    is_narrow, offsets = columns.dtype == np.int32, _numbers(offsets)
    columns = _places(columns) if is_narrow else _numbers(columns)
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > len(columns) or (np.diff(offsets) < 0).any()):
        raise ValueError("the offsets of columns must ascend and lie inside of them")
    ends = np.zeros(max(len(offsets), 1), np.int64)
    # No difference is larger than the largest number.
    widest = -(-max(int(columns.max(initial=0)).bit_length(), 1) // _BITS)
    packed = np.empty(widest * len(columns), np.uint8)
    given = (columns.ctypes.data, offsets.ctypes.data, len(ends) - 1, ends.ctypes.data + ends.itemsize)
    size = (library().pack_places if is_narrow else library().pack_columns)(*given, packed.ctypes.data)
    if size < 0:
        raise ValueError("the numbers of a column must ascend, from 0 on")
    return packed[:size].tobytes(), ends


def unpack_numbers(packed: bytes | memoryview, *, sums: bool = False) -> Numbers:
    """The numbers that were packed; with `sums` each with all before it added."""
    codes = np.frombuffer(packed, np.uint8)
    at = codes.ctypes.data
    values = np.empty(library().packed_count(at, len(codes)), np.int64)
    library().unpack_numbers(at, len(codes), sums, values.ctypes.data)
    return values


def unpack_column(packed: bytes, *, first: int, last: int, skipped: int, count: int) -> Numbers:
    """So many numbers of `packed[first:last]` behind the first ones, each with those of its column before it added.

    There are fewer where the bytes end before.

    >>> packed, _ = pack_columns(np.array([5, 900, 7, 8]), np.array([0, 2, 4]))
    >>> unpack_column(packed, first=0, last=len(packed), skipped=2, count=2).tolist()
    [7, 8]
    """
    if not 0 <= first <= last <= len(packed) or skipped < 0 or not 0 <= count <= last - first:
        raise ValueError(f"{count} numbers behind {skipped} are not in bytes {first} to {last} of {len(packed)}")
    values = np.empty(count, np.int64)
    at = np.frombuffer(packed, np.uint8).ctypes.data if packed else 0
    made = library().unpack_column(at + first, last - first, skipped, count, values.ctypes.data)
    return values[:made]


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """Which different strings there are, and which of them each given one is."""

    numbers: Places  # of each given one
    firsts: Places  # where each different one begins in the text, in the order of first occurrence
    lengths: Places


@dataclass(frozen=True, slots=True, eq=False)
class Clumps:
    """The clumps of a text: where each starts, and which of the different ones it is."""

    starts: Places
    strings: Strings


def _multiplier(text: bytes) -> int:
    """What strings are hashed with: odd, and another for every text, so that no text can be made to collide."""
    return int.from_bytes(blake3(text).digest(8), "little") | 1


def find_clumps(padded: bytes, flags: bytes, *, multiplier: int | None = None) -> Clumps:
    """The clumps of a text with ROOM behind it; `flags` say of every byte what it may be part of."""
    size = len(padded) - len(ROOM)
    if not 0 <= size < _MOST_BYTES or len(flags) != 256:
        raise ValueError(f"a text of {size} bytes can't be looked at in one go")
    most = size // 2 + 1
    starts, numbers, firsts, lengths = (np.empty(most, np.int32) for _ in range(4))  # as much as is used is there
    state = np.zeros(3, np.int64)
    multiplier = _multiplier(padded) if multiplier is None else multiplier
    bits = max((size // 64).bit_length(), 4)
    given = [each.ctypes.data for each in (starts, numbers, firsts, lengths, state)]
    while True:
        table = _table(bits)
        if library().find_clumps(padded, size, flags, multiplier, table.ctypes.data, bits, *given):
            break
        bits += 1
    _, count, different = state.tolist()
    return Clumps(starts[:count], Strings(numbers[:count], firsts[:different].copy(), lengths[:different].copy()))


def _table(bits: int) -> NDArray[np.uint64]:
    """A cleared table of so many places, sixteen bytes each."""
    return np.zeros(2 << bits, np.uint64)


def number_strings(padded: bytes, starts: Places, lengths: Places, *, multiplier: int | None = None) -> Strings:
    """Number the strings of a text with ROOM behind it; equal ones get one number."""
    starts, lengths = _places(starts), _places(lengths)
    _check_strings(padded, starts, lengths)
    count = len(starts)
    bits = max((count // 2).bit_length(), 4)
    numbers, firsts, lengths_of = (np.empty(count, np.int32) for _ in range(3))
    multiplier = _multiplier(padded) if multiplier is None else multiplier
    made = [each.ctypes.data for each in (numbers, firsts, lengths_of)]
    given = (padded, starts.ctypes.data, lengths.ctypes.data, count, multiplier)
    while True:
        table = _table(bits)
        different = library().number_strings(*given, table.ctypes.data, bits, *made)
        if different >= 0:
            break
        bits += 1
    return Strings(numbers, firsts[:different].copy(), lengths_of[:different].copy())


EDGE_BYTES = 8
"""Separators that must stand on both sides of the classes of a text, so that every look around stays inside."""


def find_terms(text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Where the terms of a folded text start and how many bytes they have, in order of starts, then of lengths.

    Of every byte its class, with EDGE_BYTES separators before and behind.
    """
    size = len(text)
    if len(classes) != size + 2 * EDGE_BYTES or size >= _MOST_BYTES:
        raise ValueError(f"{size} bytes of text need {size + 2 * EDGE_BYTES} classes, not {len(classes)}")
    if classes[:EDGE_BYTES].any() or classes[-EDGE_BYTES:].any():
        raise ValueError("separators must stand on both sides of the classes")
    text, classes = np.ascontiguousarray(text, np.uint8), np.ascontiguousarray(classes, np.uint8)
    most = size // 4 + 16
    while True:
        starts, lengths = np.empty(most, np.int32), np.empty(most, np.int32)
        given = (
            text.ctypes.data,
            classes.ctypes.data + EDGE_BYTES,
            size,
            most,
            starts.ctypes.data,
            lengths.ctypes.data,
        )
        count = library().find_terms(*given)
        if count <= most:
            return starts[:count], lengths[:count]
        most = count


def sort_strings(padded: bytes, starts: Places, lengths: Places) -> Numbers:
    """Which of some different strings comes first, second, … in bytewise order; none has a NUL or is empty."""
    starts, lengths = _places(starts), _places(lengths)
    _check_strings(padded, starts, lengths)
    room, order = np.empty(4 * len(starts), np.uint64), np.empty(len(starts), np.int64)
    given = (padded, starts.ctypes.data, lengths.ctypes.data, len(starts))
    library().sort_strings(*given, room.ctypes.data, order.ctypes.data)
    return order


def join_strings(
    padded: bytes, starts: Places, lengths: Places, *, sign: bytes, order: Numbers | None = None
) -> tuple[bytes, Places]:
    """Strings of a text one after the other, in some order, a sign behind each; where each begins, and the end."""
    starts, lengths = _places(starts), _places(lengths)
    _check_strings(padded, starts, lengths)
    if order is not None:
        order = _numbers(order)
        if len(order) != len(starts) or (len(order) and not 0 <= order.min() <= order.max() < len(starts)):
            raise ValueError("an order must name each string once")
    joined = np.empty(int(lengths.sum(dtype=np.int64)) + len(lengths), np.uint8)
    bounds = np.empty(len(starts) + 1, np.int32)
    rows = order.ctypes.data if order is not None else None
    given = (padded, starts.ctypes.data, lengths.ctypes.data, rows, len(starts), sign[0])
    library().join_strings(*given, joined.ctypes.data, bounds.ctypes.data)
    return joined.tobytes(), bounds


def place_terms(
    clumps: Clumps, bounds: Places, origins: Places, terms: Places, *, named: int
) -> tuple[Numbers, Places]:
    """Where each of so many terms stands: from `offsets[t]` on in the places are those of term t, ascending.

    The different clumps lie one after the other, number i from `bounds[i]` on; in them stand terms, row by row where
    (`origins`, ascending) and which.
    """
    starts, numbers = _places(clumps.starts), _places(clumps.strings.numbers)
    bounds, inside, terms = _places(bounds), _places(origins).copy(), _places(terms)
    different = len(clumps.strings.firsts)
    if len(bounds) != different + 1 or len(inside) != len(terms) or len(numbers) != len(starts):
        raise ValueError("every clump needs its bounds, and every term its place")
    if len(terms) and not 0 <= terms.min() <= terms.max() < named:
        raise ValueError("a place must be that of one of the terms")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < different:
        raise ValueError("a clump must be one of the different ones")
    copies, rows, offsets = (
        np.zeros(different, np.int32),
        np.empty(different + 1, np.int32),
        np.zeros(named + 1, np.int64),
    )
    given = (numbers.ctypes.data, len(numbers), bounds.ctypes.data, different, inside.ctypes.data, terms.ctypes.data)
    made = [each.ctypes.data for each in (copies, rows, offsets)]
    total = library().count_terms(*given, len(terms), named, *made)
    if total > _MOST_BYTES:
        raise ValueError(f"{total} places of terms can't be kept in one go")
    cursors, places = _places(offsets), np.empty(total, np.int32)
    given_too = [each.ctypes.data for each in (rows, terms, inside, cursors, places)]
    library().place_terms(starts.ctypes.data, numbers.ctypes.data, len(starts), *given_too)
    return offsets, places


def merge_names(lists: Sequence[Sequence[bytes]]) -> tuple[list[bytes], list[Numbers]]:
    """Sorted names of several lists as one, and where in it those of each list stand; no name has a newline."""
    texts = [b"".join([b"\n".join(names), b"\n"]) if names else b"" for names in lists]
    if any(text.count(b"\n") != len(names) for text, names in zip(texts, lists, strict=True)):
        raise ValueError("a name must not hold a newline")
    text, rows = merge_lines(texts)
    return text.split(b"\n")[:-1], rows


def merge_lines(texts: Sequence[bytes]) -> tuple[bytes, list[Numbers]]:
    """Sorted lines of several texts as those of one, each once, and where in it those of each text stand.

    >>> text, rows = merge_lines([b"pot\\ntea\\n", b"cup\\ntea\\n"])
    >>> text, [each.tolist() for each in rows]
    (b'cup\\npot\\ntea\\n', [[1, 2], [0, 2]])
    """
    if any(text and not text.endswith(b"\n") for text in texts):
        raise ValueError("a newline must stand behind the last line")
    counts = np.array([text.count(b"\n") for text in texts], np.int64)
    sizes = np.array([len(text) for text in texts], np.int64)
    behind = np.cumsum(counts)
    rows, out = np.empty(int(counts.sum()), np.int64), np.empty(int(sizes.sum()), np.uint8)
    starts, ends, firsts, size = (np.empty_like(sizes), np.empty_like(sizes), behind - counts, np.zeros(1, np.int64))
    at = np.array([np.frombuffer(text, np.uint8).ctypes.data for text in texts], np.uint64)
    given = [each.ctypes.data for each in (starts, ends, firsts, rows, out, size)]
    made = library().merge_names(at.ctypes.data, sizes.ctypes.data, len(texts), *given)
    if made < 0:
        raise ValueError("the names of a list must ascend")
    parts = [rows[end - count : end] for end, count in zip(behind.tolist(), counts.tolist(), strict=True)]
    return out[: int(size[0])].tobytes(), parts


def _places(values: NDArray[Any]) -> Places:
    """As the kernels read places in a text: of four bytes, one after the other."""
    return np.ascontiguousarray(values, np.int32)


def _check_strings(padded: bytes, starts: Places, lengths: Places) -> None:
    """Every string lies inside its text, which has room behind it."""
    if len(starts) != len(lengths) or len(padded) >= _MOST_BYTES:
        raise ValueError(f"{len(starts)} strings with {len(lengths)} lengths in {len(padded)} bytes can't be read")
    if len(starts) and (
        starts.min() < 0 or lengths.min() < 1 or int((starts + lengths).max()) + len(ROOM) > len(padded)
    ):
        raise ValueError("a string must lie inside its text")


SPEAKS, ITEM = 1, 2
"""What a line may be: a turn of a chat, an item of a list or a row of a table."""


def find_lines(padded: bytes, signs: bytes, *, reach: int) -> tuple[Numbers, Numbers, Numbers, NDArray[np.uint8]]:
    """Of each line of a text with NEWLINES behind it: start, first and last filled place, whether it SPEAKS or ITEM."""
    size = _size_of_lines(padded, signs)
    most, state = size // 24 + 64, np.zeros(1, np.int64)
    parts: list[tuple[NDArray[Any], ...]] = []
    while not parts or state[0] < size:
        columns: list[NDArray[Any]] = [np.empty(most, kind) for kind in (np.int64, np.int64, np.int64, np.uint8)]
        given = [each.ctypes.data for each in (state, *columns)]
        count = library().find_lines(padded, size, signs, reach, most, *given)
        parts.append(tuple(column[:count] for column in columns))
    starts, firsts, ends, marks = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    return starts, firsts, ends, marks


def find_definitions(
    padded: bytes, places: Numbers, *, defining: Sequence[bytes], before: Sequence[bytes], most: int
) -> NDArray[np.bool_]:
    """Which of some places in a text with NEWLINES behind it begin a definition.

    By a word that does, after up to `most - 1` that may stand before it; of longer ones the first eight bytes.
    """
    size, places = len(padded) - len(NEWLINES), _numbers(places)
    names = [(name + b" ")[:8] for name in (*defining, *before)]
    if not padded.endswith(NEWLINES) or len(names) > _MOST_NAMES or not all(names) or b"\n" in b"".join(names):
        raise ValueError("definitions need newlines behind their text, and up to 64 words of one line")
    if len(places) and not 0 <= places.min() <= places.max() <= size:
        raise ValueError("a line must lie inside its text")
    keys = np.array([int.from_bytes(name, "little") for name in names], np.uint64)
    sizes, found = np.array([len(name) for name in names], np.int32), np.empty(len(places), np.bool_)
    given = (padded, places.ctypes.data, len(places), keys.ctypes.data, sizes.ctypes.data, len(names), len(defining))
    library().find_definitions(*given, most, found.ctypes.data)
    return found


def find_sentences(
    padded: bytes, signs: bytes, *, short_forms: NDArray[np.uint32], wide: NDArray[np.uint32]
) -> Numbers:
    """Where sentences start after others, in a text with NEWLINES behind it."""
    size = _size_of_lines(padded, signs)
    places = np.empty(size // 2 + 1, np.int64)
    forms, signs_of = (np.ascontiguousarray(each, np.uint32) for each in (short_forms, wide))
    given = (padded, size, signs, forms.ctypes.data, len(forms), signs_of.ctypes.data, len(signs_of))
    return places[: library().find_sentences(*given, places.ctypes.data)].copy()


def _size_of_lines(padded: bytes, signs: bytes) -> int:
    if not padded.endswith(NEWLINES) or len(signs) != 256:
        raise ValueError("a text of lines needs newlines behind it, and a table of what its bytes are")
    return len(padded) - len(NEWLINES)


def gather_cuts(cuts: Numbers, *, walls: Numbers, aim: int) -> Numbers:
    """Join neighbouring stretches while they stay within `aim`; none goes on over a wall. Both ascend."""
    cuts, walls = _numbers(cuts), _numbers(walls)
    kept = np.empty(len(cuts), np.int64)
    given = (cuts.ctypes.data, len(cuts), walls.ctypes.data, len(walls), aim)
    return kept[: library().gather_cuts(*given, kept.ctypes.data)].copy()


def divide_cuts(units: Numbers, sections: Numbers, *, limit: int) -> Numbers | None:
    """Sections and the units inside of those longer than `limit`, each once; None where no section is. Both ascend."""
    units, sections = _numbers(units), _numbers(sections)
    made = np.empty(len(units) + len(sections), np.int64)
    given = (units.ctypes.data, len(units), sections.ctypes.data, len(sections), limit)
    count = library().divide_cuts(*given, made.ctypes.data)
    return made[:count] if count >= 0 else None


def count_until(edges: Numbers, values: Numbers) -> Numbers:
    """How many of some edges lie at or before each of some values; both ascend.

    >>> count_until(np.array([0, 5, 9]), np.array([-1, 0, 7, 7, 20])).tolist()
    [0, 1, 2, 2, 3]
    """
    edges, values = _numbers(edges), _numbers(values)
    counts = np.empty(len(values), np.int64)
    given = (edges.ctypes.data, len(edges), values.ctypes.data, len(values), counts.ctypes.data)
    if library().count_until(*given) < 0:
        raise ValueError("values must ascend to be counted up to")
    return counts


def count_code(text: bytes, words: bytes) -> tuple[int, int]:
    """How many lines of a text look like code, and how many are not blank.

    By how they end, or by a first word: `words`, each with a newline behind it.
    """
    _check_words(words)
    filled = ctypes.c_int64()
    return int(library().count_code(text, len(text), words, len(words), ctypes.addressof(filled))), filled.value


@cache
def _check_words(words: bytes) -> None:
    if words and (not words.endswith(b"\n") or not all(0 < len(word) < 32 for word in words[:-1].split(b"\n"))):
        raise ValueError("words that code begins with have 1 to 31 bytes, and a newline behind each")


class Columns(tuple[Numbers, ...]):  # noqa: SLOT001  (what is remembered needs room)
    """Columns of numbers, one for each segment, that remember where a kernel finds them."""

    def __new__(cls, columns: Iterable[Numbers]) -> Self:
        """The same numbers, of eight bytes each, one after the other."""
        return super().__new__(cls, (_numbers(column) for column in columns))

    @cached_property
    def at(self) -> NDArray[np.uint64]:
        """Where each begins in memory."""
        return np.array([column.ctypes.data for column in self], np.uint64)

    @cached_property
    def sizes(self) -> Numbers:
        """How many numbers each has."""
        return np.array([len(column) for column in self], np.int64)

    @cached_property
    def given(self) -> tuple[int, int, int]:
        """What every kernel over columns is given first: where they are, how long, how many."""
        return self.at.ctypes.data, self.sizes.ctypes.data, len(self)

    @classmethod
    def of(cls, columns: Sequence[Numbers]) -> Columns:
        """Columns that may be such already."""
        return columns if isinstance(columns, Columns) else cls(columns)


_MOST_UNITED = 8  # columns at once: their heads are all looked at for every number


def unite(columns: Sequence[NDArray[Any]]) -> Numbers:
    """Columns as one, ascending, each number once."""
    if 0 < len(columns) <= _MOST_UNITED:
        given = Columns(columns)
        out, cursors = np.empty(int(given.sizes.sum()), np.int64), np.zeros(len(given), np.int64)
        count = library().unite_columns(*given.given, cursors.ctypes.data, out.ctypes.data)
        if count >= 0:
            return out[:count]
    whole = np.concatenate([np.zeros(0, np.int64), *columns])
    whole.sort(kind="stable")
    keep = np.ones(len(whole), np.bool_)
    np.not_equal(whole[1:], whole[:-1], out=keep[1:])
    return whole[keep]


def _stretches(positions: Columns, starts: Numbers, ends: Numbers, bounds: Sequence[int]) -> tuple[Numbers, ...]:
    """Stretches of segments as the kernels read them, with their sizes checked."""
    starts, ends, edges = _numbers(starts), _numbers(ends), np.array(bounds, np.int64)
    if len(starts) != len(ends) or len(edges) != len(positions) + 1:
        raise ValueError("every stretch needs an end, and every segment its stretches")
    if edges[0] < 0 or edges[-1] > len(starts) or (np.diff(edges) < 0).any():
        raise ValueError("the bounds of segments must ascend and lie inside of their stretches")
    return starts, ends, edges


def count_inside(positions: Columns, starts: Numbers, ends: Numbers, bounds: Sequence[int]) -> Numbers:
    """How many positions lie in each stretch `[start, end)`; segment s has those from `bounds[s]` on."""
    starts, ends, edges = _stretches(positions, starts, ends, bounds)
    counts = np.zeros(len(starts), np.int64)
    given = [each.ctypes.data for each in (starts, ends, edges, counts)]
    library().count_inside(*positions.given, *given)
    return counts


def find_inside(
    positions: Columns, starts: Numbers, ends: Numbers, bounds: Sequence[int]
) -> tuple[Numbers, Numbers, list[int]]:
    """The positions that lie in a stretch, the number of its stretch for each, and where each segment's end."""
    starts, ends, edges = _stretches(positions, starts, ends, bounds)
    total = int(positions.sizes.sum())
    found, stretches = np.empty(total, np.int64), np.empty(total, np.int64)
    behind = np.zeros(len(positions) + 1, np.int64)
    given = [each.ctypes.data for each in (starts, ends, edges, found, stretches)]
    library().find_inside(*positions.given, *given, behind.ctypes.data + 8)
    count = int(behind[-1])
    return found[:count], stretches[:count], behind.tolist()


def add_to_rows(positions: Columns, bases: Columns, rows: Columns, *, weight: int, counts: Numbers) -> None:
    """Add so much for every position to the count of the row that its extent belongs to; `rows` are rows of it."""
    if len(positions) != len(bases) or (bases.sizes != rows.sizes).any() or counts.dtype != np.int64:
        raise ValueError("every segment needs its extents, and every extent its row")
    given = (bases.at.ctypes.data, rows.at.ctypes.data, bases.sizes.ctypes.data)
    library().add_to_rows(*positions.given, *given, weight, counts.ctypes.data)


def find_blocks(positions: Columns, starts: Columns, firsts: Numbers) -> Numbers:
    """The blocks that have any position, ascending; block i of segment s has the number `firsts[s] + i`."""
    firsts = _numbers(firsts)
    if not len(positions) == len(starts) == len(firsts):
        raise ValueError("every segment needs its blocks and the number of the first")
    found = np.empty(int(positions.sizes.sum()), np.int64)
    given = (starts.at.ctypes.data, starts.sizes.ctypes.data, firsts.ctypes.data)
    count = library().find_blocks(*positions.given, *given, found.ctypes.data)
    return found[:count].copy()


DIMENSIONS = 256
"""Numbers of the vector of a term or a unit."""

_MOST_NARROW = (1 << 15) - 1


def sum_rows(
    table: NDArray[np.int16], rows: Places, ends: Places, *, largest: int, out: NDArray[np.int8] | None = None
) -> NDArray[np.int8]:
    """Sums of rows of a table, in 32nds, rounded half up, from -127 to 127; sum i has those from `ends[i - 1]` on.

    No number of the table is larger than `largest`, or smaller than its negative.
    """
    table, rows, ends = np.ascontiguousarray(table, np.int16), _places(rows), _places(ends)
    if table.ndim != 2 or table.shape[1] != DIMENSIONS:
        raise ValueError(f"a table needs rows of {DIMENSIONS} numbers, not the shape {table.shape}")
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(table):
        raise ValueError("a row must be one of the table's")
    if len(ends) and (ends[0] < 0 or ends[-1] > len(rows) or (np.diff(ends) < 0).any()):
        raise ValueError("the ends of sums must ascend and lie inside of their rows")
    if not 0 <= largest <= _MOST_NARROW:
        raise ValueError(f"no number of 16 bits is as large as {largest}")
    sums = np.empty((len(ends), DIMENSIONS), np.int8) if out is None else out
    if sums.shape != (len(ends), DIMENSIONS) or sums.dtype != np.int8 or not sums.flags.c_contiguous:
        raise ValueError("every sum needs its place")
    given = (table.ctypes.data, rows.ctypes.data, ends.ctypes.data, len(ends), _MOST_NARROW // max(largest, 1))
    library().sum_rows(*given, sums.ctypes.data)
    return sums


def sum_units(
    positions: NDArray[Any], offsets: Numbers, units: Numbers, rows: NDArray[np.int8], *, codes: bool
) -> NDArray[np.int32] | NDArray[np.uint8]:
    """Of each unit the rows of its different terms added up: 256 numbers, or 32 bytes that say which are positive.

    Term t stands at `positions[offsets[t]:offsets[t + 1]]`, ascending, and has row t; a unit goes to the next one.
    """
    positions, offsets, units = _places(positions), _numbers(offsets), _numbers(units)
    rows = np.ascontiguousarray(rows, np.int8)
    terms, last = len(offsets) - 1, int(positions.max(initial=0))
    if rows.shape != (terms, DIMENSIONS) or offsets[0] != 0 or offsets[-1] != len(positions):
        raise ValueError("every term needs its row and its positions")
    if (np.diff(offsets) < 0).any() or (np.diff(units) < 0).any() or int(positions.min(initial=0)) < 0:
        raise ValueError("offsets and units must ascend, and no position is negative")
    blocks, owners = np.empty((last >> 6) + 1, np.int32), np.empty(len(positions), np.int32)
    bounds, members = np.zeros(len(units) + 1, np.int64), np.empty(len(positions), np.int32)
    given = (positions.ctypes.data, offsets.ctypes.data, terms, units.ctypes.data, len(units), last)
    library().terms_of_units(*given, *(each.ctypes.data for each in (blocks, owners, bounds, members)))
    summed = (rows.ctypes.data, members.ctypes.data, bounds.ctypes.data, len(units))
    if codes:
        found = np.empty((len(units), DIMENSIONS // 8), np.uint8)
        library().sum_units(*summed, None, found.ctypes.data)
        return found
    vectors = np.empty((len(units), DIMENSIONS), np.int32)
    library().sum_units(*summed, vectors.ctypes.data, None)
    return vectors


def score_codes(codes: NDArray[np.uint8], tables: NDArray[np.int16], *, nothing: int) -> NDArray[np.int16]:
    """The score of each code of 32 bytes: what its bytes add, by place and value; `nothing` for one of zeros alone."""
    codes = np.ascontiguousarray(codes, np.uint8).reshape(-1, len(tables))
    tables = np.ascontiguousarray(tables, np.int16)
    if tables.shape != (32, 256):
        raise ValueError(f"a code has 32 bytes of 256 values, not {tables.shape}")
    scores = np.empty(len(codes), np.int16)
    library().score_codes(codes.ctypes.data, len(codes), tables.ctypes.data, nothing, scores.ctypes.data)
    return scores


class WeighedUnits:
    """Units in runs, with how often words stand in each and what is said of them above it, in thousandths.

    A row of `counts` and `told` is a word, a column a unit; `firsts` and `lasts` name the first and the last unit of
    the run that each is in. What surrounds a unit ends with its run.
    """

    def __init__(self, counts: Numbers, told: Numbers, firsts: Numbers, lasts: Numbers, sizes: Numbers) -> None:
        self.counts, self.told = _numbers(counts), _numbers(told)
        self._firsts, self._lasts, self._sizes = _numbers(firsts), _numbers(lasts), _numbers(sizes)
        self._words, self._units = self.counts.shape
        if self.told.shape != self.counts.shape or {len(firsts), len(lasts), len(sizes)} != {self._units}:
            raise ValueError("every unit needs its counts, its run and its size")
        at = np.arange(self._units)
        inside = (self._firsts >= 0) & (self._firsts <= at) & (at <= self._lasts) & (self._lasts < self._units)
        if not inside.all():
            raise ValueError("a unit must lie inside of its run")
        self._around, self._covered = np.empty(self._units, np.int64), np.empty(self._units)
        self._damped = np.empty(self._units)

    def scores(
        self, worths: Sequence[float], *, reach: int, unit_bytes: int, saturation: float, length: float
    ) -> NDArray[np.float64]:
        """What each unit and so many neighbours on both sides are worth; the best is worth one."""
        given, scores = self._worths(worths, reach), np.empty(self._units)
        measures = np.array([saturation, saturation + 1, length, 1 - length], np.float64)
        room = [each.ctypes.data for each in (given, measures, self._around, self._damped, self._covered, scores)]
        units = [each.ctypes.data for each in (self._firsts, self._lasts, self._sizes)]
        library().weigh_units(*self._given, *units, reach, unit_bytes, *room)
        return scores

    def covered(self, worths: Sequence[float], *, reach: int) -> float:
        """What the words are worth that the unit with most of them has around it."""
        given = self._worths(worths, reach)
        room = [each.ctypes.data for each in (given, self._around, self._covered)]
        runs = (self._firsts.ctypes.data, self._lasts.ctypes.data)
        return float(library().most_covered(*self._given, *runs, reach, *room))

    @property
    def _given(self) -> tuple[int, int, int, int]:
        return self.counts.ctypes.data, self.told.ctypes.data, self._words, self._units

    def _worths(self, worths: Sequence[float], reach: int) -> NDArray[np.float64]:
        if len(worths) != self._words or reach < 0:
            raise ValueError(f"{self._words} words need as many worths, and a reach from 0 on")
        return np.array(worths, np.float64)


_CODE_BYTES, _GROUP, _MOST_HALF = 32, 32, 124


class Planes:
    """Codes of 32 bytes, laid out so that very many of them are compared with a question at once.

    A question is 64 tables of 16 numbers from 0 to 124, one for the upper and one for the lower half of each byte; a
    code scores `base` and twice what they have for it. `wide` says whether instructions for 32 codes at once are used,
    where there are such.
    """

    def __init__(self, codes: NDArray[np.uint8], *, wide: bool = True) -> None:
        codes = np.ascontiguousarray(codes, np.uint8).reshape(-1, _CODE_BYTES)
        self._count = len(codes)
        self._planes = np.empty(-(-len(codes) // _GROUP) * _GROUP * _CODE_BYTES, np.uint8)
        self._wide = int(wide and library().can_be_wide() != 0)
        library().lay_out_codes(codes.ctypes.data, len(codes), self._planes.ctypes.data)

    def __len__(self) -> int:
        return self._count

    def near(self, tables: NDArray[np.uint8], *, base: int, least: int) -> tuple[Numbers, NDArray[np.int16]]:
        """The codes that score so much at least, ascending, and their scores; codes of zeros are not among them."""
        tables = _halves(tables, base)
        found, scores = np.empty(self._count, np.int64), np.empty(self._count, np.int16)
        given = (self._planes.ctypes.data, self._count, tables.ctypes.data, base, least, self._wide)
        made = library().near_codes(*given, found.ctypes.data, scores.ctypes.data)
        return found[:made].copy(), scores[:made].copy()

    def scores(self, numbers: Numbers, tables: NDArray[np.uint8], *, base: int, nothing: int) -> Numbers:
        """The scores of some ascending codes; `nothing` for those of zeros alone."""
        tables, numbers = _halves(tables, base), _numbers(numbers)
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < self._count:
            raise ValueError(f"there are {self._count} codes, and others were asked for")
        scores = np.empty(len(numbers), np.int64)
        given = (self._planes.ctypes.data, numbers.ctypes.data, len(numbers), tables.ctypes.data, base, nothing)
        library().score_planes(*given, self._wide, scores.ctypes.data)
        return scores


def _halves(tables: NDArray[np.uint8], base: int) -> NDArray[np.uint8]:
    """The tables of a question, with their size and values checked."""
    tables = np.ascontiguousarray(tables, np.uint8)
    if tables.shape != (2 * _CODE_BYTES, 16) or tables.max() > _MOST_HALF or abs(base) > 1 << 14:
        raise ValueError(f"a question has 64 tables of 16 numbers up to {_MOST_HALF}, not {tables.shape}")
    return tables


_SIGN_WORDS, _LONGEST_RUN = 4, 8


class RunSets:
    """Texts as sets of runs of words, and which of them share much.

    `marks` says what each byte is: 0 between words, 1 inside of one, 2 the first of another.

    >>> marks = bytes(byte not in b" ." for byte in range(256))
    >>> sets = RunSets(marks, run=2, share=0.6)
    >>> [sets.add(text) for text in (b"tea at four", b"then tea at four.", b"coffee at noon", b"tea")]
    [0, 1, 2, 3]
    >>> [sets.alike(number) for number in range(4)], sets.alike(0, array("q", [1, 2]))
    ([[], [(0, 1.0)], [], []], [(1, 1.0)])
    """

    def __init__(self, marks: bytes, *, run: int, share: float) -> None:
        if len(marks) != 256 or max(marks) > 2 or not 1 <= run <= _LONGEST_RUN or not 0 <= share <= 1:
            raise ValueError("sets of runs need a table of all bytes, runs of 1 to 8 words, and a share from 0 to 1")
        self._marks, self._run, self._share = marks, run, share
        self._count = 0
        self._sets, self._offsets = np.empty(1 << 12, np.uint64), np.zeros(65, np.int64)
        self._signs, self._misses = np.empty(64 * _SIGN_WORDS, np.uint64), np.empty(64, np.int64)
        self._found, self._shared = np.empty(64, np.int64), np.empty(64, np.int64)

    def add(self, text: bytes) -> int:
        """The number of a text, from 0 on."""
        number, first = self._count, int(self._offsets[self._count])
        self._make_room(first + len(text))
        given = (text, len(text), self._marks, self._run, self._sets.ctypes.data + 8 * first)
        size = library().hash_runs(*given, self._signs.ctypes.data + 8 * _SIGN_WORDS * number)
        self._offsets[number + 1], self._misses[number] = first + size, size - int(self._share * size)
        self._count += 1
        return number

    def size(self, number: int) -> int:
        """How many different runs a text has."""
        return int(self._offsets[number + 1] - self._offsets[number])

    def alike(
        self, number: int, others: array[int] | None = None, *, most: int | None = None
    ) -> list[tuple[int, float]] | None:
        """Those of some texts that share at least about so much of the shorter one's runs with this, and how much.

        Without `others` those before it; None where they are more than `most`.
        """
        count = number if others is None else len(others)
        if not 0 <= number < self._count or count > self._count:
            raise ValueError(f"{count} others of {self._count} texts can't be compared with text {number}")
        if others and not 0 <= min(others) <= max(others) < self._count:
            raise ValueError(f"there are {self._count} texts, and others were asked for")
        at = None if others is None else others.buffer_info()[0]
        sets = [each.ctypes.data for each in (self._sets, self._offsets, self._signs, self._misses)]
        out = (self._found.ctypes.data, self._shared.ctypes.data)
        made = library().alike_sets(*sets, number, at, count, *out)
        if most is not None and made > most:
            return None
        pairs, own = zip(self._found[:made].tolist(), self._shared[:made].tolist(), strict=True), self.size(number)
        return [(other, shared / min(own, self.size(other))) for other, shared in pairs]

    def _make_room(self, hashes: int) -> None:
        """For one more text, and so many hashes in all."""
        while hashes > len(self._sets):
            self._sets = np.concatenate((self._sets, self._sets))
        if self._count == len(self._misses):
            self._offsets = np.concatenate((self._offsets, self._offsets[1:]))
            self._signs = np.concatenate((self._signs, self._signs))
            self._misses, self._found, self._shared = (
                np.concatenate((each, each)) for each in (self._misses, self._found, self._shared)
            )


class Anchors:
    """Strings that are looked for in many texts, all at once.

    >>> sorted(Anchors([b"tea", b"pot"]).within(b"a teapot")), Anchors([b"tea"]).within(b"te")
    ([b'pot', b'tea'], set())
    """

    def __init__(self, anchors: Iterable[bytes]) -> None:
        self._anchors = sorted(set(anchors))
        if not all(self._anchors):
            raise ValueError("an anchor must not be empty")
        self._text = b"".join(self._anchors)
        self._bounds = np.cumsum([0, *map(len, self._anchors)]).astype(np.int32)
        heads = np.array([anchor[0] for anchor in self._anchors], np.int64)
        self._firsts = heads.searchsorted(np.arange(257)).astype(np.int32)
        self._tables = (self._bounds.ctypes.data, self._firsts.ctypes.data)  # asked for once: many texts are short

    def within(self, text: bytes) -> set[bytes]:
        """Which of them stand in a text."""
        found = ctypes.create_string_buffer(len(self._anchors))
        library().find_anchors(text, len(text), self._text, *self._tables, found)
        return {anchor for anchor, there in zip(self._anchors, found.raw, strict=True) if there}


def long_runs(text: bytes, marks: bytes, *, least: int) -> bytes:
    """Runs of at least so many bytes that the table marks, a newline between each two."""
    if len(marks) != 256 or least < 1:
        raise ValueError("long runs need a table of all bytes, and a length of at least 1")
    out = np.empty(len(text) + 1, np.uint8)
    return out[: library().long_runs(text, len(text), marks, least, out.ctypes.data)].tobytes()


PAGE_CODES = 128
"""Code points of which one page of kinds tells."""


def index_tokens(tokens: bytes, offsets: Places) -> NDArray[np.uint64]:
    """A table of hashes over tokens: token t is `tokens[offsets[t]:offsets[t + 1]]`, each is there once."""
    offsets = _places(offsets)
    _check_tokens(tokens, offsets)
    bits = max((4 * len(offsets)).bit_length() - 1, 4)
    slots = np.zeros(1 << bits, np.uint64)
    count = library().index_tokens(tokens, offsets.ctypes.data, len(offsets) - 1, slots.ctypes.data, bits)
    if count < len(offsets) - 1:
        raise ValueError(f"token {count} of a vocabulary is empty, or is there twice")
    return slots


def _check_tokens(tokens: bytes | memoryview, offsets: Places) -> None:
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(tokens) or (np.diff(offsets) < 1).any():
        raise ValueError("the tokens of a vocabulary must follow each other, none of them empty")


class TokenTable:
    """A vocabulary of byte pairs, in memory that may be a file's: how many tokens a text has, which token a text is.

    `slots` are what `index_tokens` made of the same tokens; `pages` and `kinds` say of every code point what it is.
    """

    def __init__(
        self,
        tokens: memoryview,
        offsets: Places,
        slots: NDArray[np.uint64],
        pages: NDArray[np.uint16],
        kinds: NDArray[np.uint8],
        *,
        is_cased: bool,
    ) -> None:
        offsets = _places(offsets)
        _check_tokens(tokens, offsets)
        bits = len(slots).bit_length() - 1
        slots = np.ascontiguousarray(slots, np.uint64)
        numbers = slots.view(np.uint32)[sys.byteorder == "big" :: 2]  # the lower halves
        if len(slots) != 1 << bits or bits < 1 or numbers.max() >= len(offsets) or numbers.min() > 0:
            raise ValueError("a table of tokens must name tokens only, and have empty places")
        if len(pages) != (sys.maxunicode + 1) // PAGE_CODES or (int(pages.max()) + 1) * PAGE_CODES > len(kinds):
            raise ValueError("every code point needs its kind")
        codes = np.frombuffer(tokens, np.uint8)
        self._kept = (codes, offsets, slots, np.ascontiguousarray(pages), np.ascontiguousarray(kinds))
        at = [each.ctypes.data for each in self._kept]
        self._words = (at[0], at[1], len(offsets) - 1, int(np.diff(offsets).max()), at[2], bits)
        self._given = (int(is_cased), *self._words, *at[3:])
        self._count, self._find = library().count_tokens, library().find_token

    def count(self, text: bytes) -> int | None:
        """The tokens of a text that is UTF-8; None where it has a character of no known kind, or a very long piece."""
        found: int = self._count(text, len(text), *self._given)
        return found if found >= 0 else None

    def find(self, text: bytes) -> int | None:
        """The number of the token that a text is."""
        found: int = self._find(text, len(text), *self._words)
        return found if found >= 0 else None


class WordTokens:
    """A vocabulary whose pairs are joined in the order of a list: which tokens a word has.

    Token t is `tokens[offsets[t]:offsets[t + 1]]`; `pairs` are lines of two tokens, a blank between; `byte_tokens`
    stand for the bytes of a character that is no token.
    """

    LONGEST = 256
    ASKED = -2
    """For a word of which the kernel is to find out whether it is a token."""

    def __init__(self, tokens: bytes, offsets: Places, pairs: bytes, byte_tokens: Places) -> None:
        offsets, byte_tokens = _places(offsets), _places(byte_tokens)
        slots, most = index_tokens(tokens, offsets), len(offsets) - 1
        if len(byte_tokens) != 256 or most > 1 << 16 or not 0 <= byte_tokens.min() <= byte_tokens.max() < most:
            raise ValueError("a vocabulary has up to 65,536 tokens, one of them for every byte")
        lines = pairs.count(b"\n") + bool(pairs and not pairs.endswith(b"\n"))
        bits = max((2 * lines).bit_length(), 4)
        codes, table, joined = (
            np.frombuffer(tokens, np.uint8),
            np.zeros(1 << bits, np.uint64),
            np.empty(lines, np.int32),
        )
        words = (codes.ctypes.data, offsets.ctypes.data, most, int(np.diff(offsets).max()), slots.ctypes.data)
        given = (*words, len(slots).bit_length() - 1, table.ctypes.data, bits, joined.ctypes.data)
        read = library().index_pairs(pairs, len(pairs), *given)
        if read < lines:
            raise ValueError(f"pair {read} of a list is none of two tokens that become one, or is there twice")
        self._kept = (codes, offsets, slots, table, joined, byte_tokens)
        self._given = (*given, byte_tokens.ctypes.data)

    def of(self, text: bytes, starts: Places, lengths: Places, *, whole: Places) -> tuple[Places, Places]:
        """The tokens of words of a text, one word after the other, and where those of each end.

        `whole` says of each word which token it is, -1 for none; ASKED looks for it, also with an ASCII capital.
        """
        starts, lengths, whole = _places(starts), _places(lengths), _places(whole)
        if not len(starts) == len(lengths) == len(whole):
            raise ValueError("every word needs a length, and whether it is a token")
        if len(starts) and (starts.min() < 0 or lengths.min() < 0 or int((starts + lengths).max()) > len(text)):
            raise ValueError("a word must lie inside its text")
        if int(lengths.max(initial=0)) > self.LONGEST or int(whole.min(initial=0)) < self.ASKED:
            raise ValueError(f"a word must have at most {self.LONGEST} bytes")
        tokens = np.empty(3 * int(lengths.sum(dtype=np.int64)) + 3 * len(starts), np.int32)
        ends = np.empty(len(starts), np.int32)
        given = (text, starts.ctypes.data, lengths.ctypes.data, len(starts), whole.ctypes.data)
        count = library().word_tokens(*given, *self._given, tokens.ctypes.data, ends.ctypes.data)
        return tokens[:count].copy(), ends
