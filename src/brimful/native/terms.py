"""Strings of a text: found, numbered, sorted, joined and placed (terms.c, words.c)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.native import MOST_BYTES, Numbers, Places, check_numbers, kernels, library, places_of, pointer, pointers

if TYPE_CHECKING:
    from brimful.native import Pointer

ROOM = bytes(8)
"""What must follow a text of strings: they are read eight bytes at a time."""

EDGE_BYTES = 8
"""Separators that must stand on both sides of the classes of a text, so that every look around stays inside."""


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


def multiplier_of(text: bytes) -> int:
    """An odd factor for the hashes of a text's strings; texts have different ones, so none can be made to collide.

    Hashes of all parts of a text tell it as well as the text itself, and take no time.
    """
    return int.from_bytes(blake3(text).digest(8), "little") | 1


def find_clumps(padded: bytes, flags: bytes, *, multiplier: int | None = None) -> Clumps:
    """The clumps of a text with ROOM after it; `flags` say of every byte what it may be part of."""
    size = len(padded) - len(ROOM)
    if not 0 <= size < MOST_BYTES or len(flags) != 256:
        raise ValueError(f"a text of {size} bytes can't be looked at in one go")
    capacity = size // 2 + 1
    starts, numbers, firsts, lengths = (np.empty(capacity, np.int32) for _ in range(4))  # as much as is used is there
    state = np.zeros(3, np.int64)
    multiplier = multiplier_of(padded) if multiplier is None else multiplier
    bits = max((size // 64).bit_length(), 4)
    arrays = pointers(starts, numbers, firsts, lengths, state)
    while True:
        table = _table(bits)
        if library().find_clumps(padded, size, flags, multiplier, table, bits, *arrays):
            break
        bits += 1
    _, count, different = state.tolist()
    return Clumps(starts[:count], Strings(numbers[:count], firsts[:different].copy(), lengths[:different].copy()))


def _table(bits: int) -> Pointer:
    """A cleared table of `1 << bits` places."""
    return kernels().types.new("string_slot[]", 1 << bits)


def number_strings(padded: bytes, starts: Places, lengths: Places, *, multiplier: int | None = None) -> Strings:
    """Number the strings of a text with ROOM after it; equal ones get one number."""
    starts, lengths = places_of(starts), places_of(lengths)
    _check_strings(padded, starts, lengths)
    count = len(starts)
    bits = max((count // 2).bit_length(), 4)
    numbers, firsts, lengths_of = (np.empty(count, np.int32) for _ in range(3))
    multiplier = multiplier_of(padded) if multiplier is None else multiplier
    outputs = pointers(numbers, firsts, lengths_of)
    inputs = (padded, pointer(starts), pointer(lengths), count, multiplier)
    while True:
        table = _table(bits)
        different = library().number_strings(*inputs, table, bits, *outputs)
        if different >= 0:
            break
        bits += 1
    return Strings(numbers, firsts[:different].copy(), lengths_of[:different].copy())


def find_terms(text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Starts and sizes in bytes of the terms of a folded text, ordered by both.

    Of every byte its class, with EDGE_BYTES separators before and after.
    """
    size = len(text)
    if len(classes) != size + 2 * EDGE_BYTES or size >= MOST_BYTES:
        raise ValueError(f"{size} bytes of text need {size + 2 * EDGE_BYTES} classes, not {len(classes)}")
    if classes[:EDGE_BYTES].any() or classes[-EDGE_BYTES:].any():
        raise ValueError("separators must stand on both sides of the classes")
    text, classes = np.ascontiguousarray(text, np.uint8), np.ascontiguousarray(classes, np.uint8)
    capacity = size // 4 + 16
    while True:
        starts, lengths = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
        arguments = (
            pointer(text),
            pointer(classes[EDGE_BYTES:]),
            size,
            capacity,
            pointer(starts),
            pointer(lengths),
        )
        count = library().find_terms(*arguments)
        if count <= capacity:
            return starts[:count], lengths[:count]
        capacity = count


def sort_strings(padded: bytes, starts: Places, lengths: Places) -> Numbers:
    """The bytewise order of different strings; none has a NUL or is empty."""
    starts, lengths = places_of(starts), places_of(lengths)
    _check_strings(padded, starts, lengths)
    names = _cut(padded, starts, lengths)
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)


def join_strings(
    padded: bytes, starts: Places, lengths: Places, *, sign: bytes, order: Numbers | None = None
) -> tuple[bytes, Places]:
    """Join strings of a text in an order, with a sign after each; return also where each begins, and the end."""
    starts, lengths = places_of(starts), places_of(lengths)
    _check_strings(padded, starts, lengths)
    if order is not None:
        starts, lengths = starts[order], lengths[order]
    bounds = np.append(0, np.cumsum(lengths + 1)).astype(np.int32)
    names = _cut(padded, starts, lengths)
    return sign.join(names) + (sign if names else b""), bounds


def _cut(padded: bytes, starts: Places, lengths: Places) -> list[bytes]:
    return [padded[start:end] for start, end in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]


def place_terms(
    clumps: Clumps, bounds: Places, origins: Places, terms: Places, *, named: int
) -> tuple[Numbers, Places]:
    """The places of `named` terms, ascending: the places of term t begin at `offsets[t]`.

    Different clumps follow each other, number i from `bounds[i]` on; terms are in them at `origins`, which ascend.
    """
    starts, numbers = places_of(clumps.starts), places_of(clumps.strings.numbers)
    bounds, inside, terms = places_of(bounds), places_of(origins).copy(), places_of(terms)
    different = len(clumps.strings.firsts)
    if len(bounds) != different + 1 or len(inside) != len(terms) or len(numbers) != len(starts):
        raise ValueError("every clump needs its bounds, and every term its place")
    check_numbers(terms, below=named)
    check_numbers(numbers, below=different)
    copies, rows = np.bincount(numbers, minlength=different), inside.searchsorted(bounds).astype(np.int32)
    sizes = np.diff(rows)  # how many terms each clump has
    inside -= np.repeat(bounds[:-1], sizes)
    counts = np.bincount(terms, weights=np.repeat(copies, sizes), minlength=named)
    offsets = np.append(0, np.cumsum(counts)).astype(np.int64)
    total = int(offsets[-1])
    if total > MOST_BYTES:
        raise ValueError(f"{total} places of terms can't be kept in one go")
    cursors, places = places_of(offsets), np.empty(total, np.int32)
    given_too = pointers(rows, terms, inside, cursors, places)
    library().place_terms(pointer(starts), pointer(numbers), len(starts), *given_too)
    return offsets, places


def merge_lines(texts: Sequence[bytes]) -> tuple[bytes, list[Numbers]]:
    """Merge sorted lines of several texts, each once; return also the rows of each text's lines.

    >>> text, rows = merge_lines([b"pot\\ntea\\n", b"cup\\ntea\\n"])
    >>> text, [each.tolist() for each in rows]
    (b'cup\\npot\\ntea\\n', [[1, 2], [0, 2]])
    """
    if any(text and not text.endswith(b"\n") for text in texts):
        raise ValueError("a newline must end the last line")
    counts = np.array([text.count(b"\n") for text in texts], np.int64)
    sizes = np.array([len(text) for text in texts], np.int64)
    nexts = np.cumsum(counts)
    rows, out = np.empty(int(counts.sum()), np.int64), np.empty(int(sizes.sum()), np.uint8)
    starts, ends, firsts, size = (np.empty_like(sizes), np.empty_like(sizes), nexts - counts, np.zeros(1, np.int64))
    types = kernels().types
    addresses = types.new("uint8_t *[]", [types.from_buffer("uint8_t[]", text) for text in texts])
    keys = np.empty(len(texts), np.uint64)
    arrays = pointers(starts, ends, keys, firsts, rows, out, size)
    count = library().merge_names(addresses, pointer(sizes), len(texts), *arrays)
    if count < 0:
        raise ValueError("the names of a list must ascend")
    parts = [rows[end - count : end] for end, count in zip(nexts.tolist(), counts.tolist(), strict=True)]
    return out[: int(size[0])].tobytes(), parts


def find_names(lines: bytes, bounds: Places, wanted: bytes, wanted_bounds: Places) -> tuple[Numbers, NDArray[np.bool_]]:
    """How many of some sorted names come before each wanted one, and which wanted ones are among them.

    Both are a text with a newline after each name, and where each name begins, and the end.

    >>> given = (b"tea\\ncup\\ntofu\\n", np.array([0, 4, 8, 13]))
    >>> [column.tolist() for column in find_names(b"pot\\ntea\\n", np.array([0, 4, 8]), *given)]
    [[1, 0, 2], [True, False, False]]
    """
    bounds, wanted_bounds = places_of(bounds), places_of(wanted_bounds)
    for text, edges in ((lines, bounds), (wanted, wanted_bounds)):
        if not len(edges) or edges[0] != 0 or edges[-1] != len(text) or (edges[1:] <= edges[:-1]).any():
            raise ValueError("every name must lie inside its text")
    rows, is_there = np.empty(len(wanted_bounds) - 1, np.int64), np.empty(len(wanted_bounds) - 1, np.bool_)
    names = (wanted, pointer(wanted_bounds), len(rows), pointer(rows), pointer(is_there))
    library().find_names(lines, pointer(bounds), len(bounds) - 1, *names)
    return rows, is_there


def letter_lines(text: bytes, *, least: int) -> bytes:
    """Lines of at least `least` bytes that have only letters of ASCII or bytes beyond it, with a newline after each.

    >>> letter_lines(b"tea\\nv2\\npot", least=3)
    b'tea\\npot\\n'
    """
    return b"".join(re.findall(rb"(?m)^[A-Za-z\x80-\xff]{%d,}\n" % least, text + b"\n"))


def _check_strings(padded: bytes, starts: Places, lengths: Places) -> None:
    """Every string lies inside its text, which ROOM follows."""
    if len(starts) != len(lengths) or len(padded) >= MOST_BYTES:
        raise ValueError(f"{len(starts)} strings with {len(lengths)} lengths in {len(padded)} bytes can't be read")
    if len(starts) and (
        starts.min() < 0 or lengths.min() < 1 or int((starts + lengths).max()) + len(ROOM) > len(padded)
    ):
        raise ValueError("a string must lie inside its text")
