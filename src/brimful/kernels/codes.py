"""What units mean and are worth: sums of vectors, codes compared, (codes.c, planes.c)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.kernels import Numbers, Places, address_of, in_halves, is_wide, library, numbers_of, places_of
from brimful.kernels.terms import Members

DIMENSIONS = 256
"""Numbers of the vector of a term or a unit."""

PART = 128
"""Of them that are summed in one go: those of all terms of a segment take half the room."""

_COLUMNS = tuple(range(0, DIMENSIONS, PART))
_MOST_NARROW = (1 << 15) - 1

_MANY_UNITS = 1 << 13
_CODE_BYTES, _GROUP, _MOST_HALF = 32, 32, 124


def sum_rows(
    table: NDArray[np.int16],
    rows: Places,
    ends: Places,
    *,
    largest: int,
    column: int | None = None,
    out: NDArray[np.int8] | None = None,
    wide: bool = True,
) -> NDArray[np.int8]:
    """Sums of rows of a table, in 32nds, rounded half up, from -127 to 127; sum i has those from `ends[i - 1]` on.

    No number of the table is larger than `largest`, or smaller than its negative. With a `column`, a multiple of PART,
    the sums of only so many columns from there on. `wide` says whether wide instructions are used where there are such.
    """
    table, rows, ends = np.ascontiguousarray(table, np.int16), places_of(rows), places_of(ends)
    if table.ndim != 2 or table.shape[1] != DIMENSIONS:
        raise ValueError(f"a table needs rows of {DIMENSIONS} numbers, not the shape {table.shape}")
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(table):
        raise ValueError("a row must be one of the table's")
    if len(ends) and (ends[0] < 0 or ends[-1] > len(rows) or (np.diff(ends) < 0).any()):
        raise ValueError("the ends of sums must ascend and lie inside of their rows")
    if not 0 <= largest <= _MOST_NARROW:
        raise ValueError(f"no number of 16 bits is as large as {largest}")
    columns = _COLUMNS if column is None else (_checked(column),)
    width = PART * len(columns)
    sums = np.empty((len(ends), width), np.int8) if out is None else out
    if sums.shape != (len(ends), width) or sums.dtype != np.int8 or not sums.flags.c_contiguous:
        raise ValueError("every sum needs its place")
    given = (table.ctypes.data, rows.ctypes.data, ends.ctypes.data, len(ends), _MOST_NARROW // max(largest, 1))
    for first in columns:
        library().sum_rows(*given, first, is_wide(wide=wide), sums.ctypes.data + first - columns[0], width)
    return sums


def _checked(column: int) -> int:
    if column not in _COLUMNS:
        raise ValueError(f"columns are summed from {', '.join(map(str, _COLUMNS))} on, not from {column}")
    return column


def in_parts(rows: NDArray[np.int8]) -> Iterator[NDArray[np.int8]]:
    """Rows of 256 numbers as `sum_units` wants them."""
    return (rows[:, first : first + PART] for first in _COLUMNS)


def sum_units(
    positions: NDArray[Any],
    offsets: Numbers,
    units: Numbers,
    parts: Iterable[NDArray[np.int8]],
    *,
    codes: bool,
    members: Members | None = None,
    wide: bool = True,
) -> NDArray[np.int32] | NDArray[np.uint8]:
    """Of each unit the rows of its different terms added up: 256 numbers, or 32 bytes that say which are positive.

    Term t stands at `positions[offsets[t]:offsets[t + 1]]`, ascending, and has row t of each of the `parts`, which have
    PART numbers of every row and are asked for one after the other; a unit goes to the next one. `members` are the
    terms of each unit, where they are known.
    """
    offsets, units = numbers_of(offsets), numbers_of(units)
    bounds, rows_of = (
        _members(places_of(positions), offsets, units)
        if members is None
        else _checked_members(members, len(units), len(offsets) - 1)
    )
    made: NDArray[np.int32] | NDArray[np.uint8] = (
        np.empty((len(units), DIMENSIONS // 8), np.uint8) if codes else np.empty((len(units), DIMENSIONS), np.int32)
    )
    out = (None, made.ctypes.data) if codes else (made.ctypes.data, None)
    wider = is_wide(wide=wide)
    for column, part in zip(_COLUMNS, parts, strict=True):
        rows = np.ascontiguousarray(part, np.int8)
        if rows.shape != (len(offsets) - 1, PART):
            raise ValueError("every term needs its row and its positions")
        given = (rows.ctypes.data, rows_of.ctypes.data, bounds.ctypes.data, column)

        def sum_some(first: int, last: int, given: tuple[int, ...] = given) -> None:
            library().sum_units(*given, first, last, wider, *out)

        in_halves(sum_some, len(units), least=_MANY_UNITS)
    return made


def _checked_members(members: Members, units: int, terms: int) -> tuple[Numbers, Places]:
    bounds, rows = numbers_of(members.bounds), places_of(members.terms)
    if len(bounds) != units or (units and not 0 <= bounds[0] <= bounds[-1] <= len(rows)) or (np.diff(bounds) < 0).any():
        raise ValueError("every unit needs its members")
    if len(rows) and not 0 <= rows.min() <= rows.max() < terms:
        raise ValueError("a member must be one of the terms")
    return bounds, rows


def _members(positions: Places, offsets: Numbers, units: Numbers) -> tuple[Numbers, Places]:
    """Where the terms of each unit end, and those terms, each once."""
    terms, last = len(offsets) - 1, int(positions.max(initial=0))
    if offsets[0] != 0 or offsets[-1] != len(positions):
        raise ValueError("every term needs its row and its positions")
    if (np.diff(offsets) < 0).any() or (np.diff(units) < 0).any() or int(positions.min(initial=0)) < 0:
        raise ValueError("offsets and units must ascend, and no position is negative")
    blocks, owners = np.empty((last >> 6) + 1, np.int32), np.empty(len(positions), np.int32)
    bounds, members = np.zeros(len(units) + 1, np.int64), np.empty(len(positions), np.int32)
    given = (positions.ctypes.data, offsets.ctypes.data, terms, units.ctypes.data, len(units), last)
    library().terms_of_units(*given, *(each.ctypes.data for each in (blocks, owners, bounds, members)))
    return bounds, members


def score_codes(codes: NDArray[np.uint8], tables: NDArray[np.int16], *, nothing: int) -> NDArray[np.int16]:
    """The score of each code of 32 bytes: what its bytes add, by place and value; `nothing` for one of zeros alone."""
    codes = np.ascontiguousarray(codes, np.uint8).reshape(-1, len(tables))
    tables = np.ascontiguousarray(tables, np.int16)
    if tables.shape != (32, 256):
        raise ValueError(f"a code has 32 bytes of 256 values, not {tables.shape}")
    scores = np.empty(len(codes), np.int16)
    library().score_codes(codes.ctypes.data, len(codes), tables.ctypes.data, nothing, scores.ctypes.data)
    return scores


def _in_groups(parts: Iterable[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """The same codes, all but the last ones in whole groups."""
    rest = np.zeros((0, _CODE_BYTES), np.uint8)
    for part in parts:
        codes = np.ascontiguousarray(part, np.uint8).reshape(-1, _CODE_BYTES)
        codes = np.concatenate((rest, codes)) if len(rest) else codes
        whole = len(codes) // _GROUP * _GROUP
        yield codes[:whole]
        rest = codes[whole:]
    yield rest


class Planes:
    """So many codes of 32 bytes, laid out so that very many of them are compared with a question at once.

    They come part by part. A question is 64 tables of 16 numbers from 0 to 124, one for the upper and one for the
    lower half of each byte; a code scores `base` and twice what they have for it. `wide` says whether instructions for
    32 codes at once are used, where there are such.
    """

    def __init__(self, parts: Iterable[NDArray[np.uint8]], *, count: int, wide: bool = True) -> None:
        self._count = count
        self._planes = np.empty(-(-count // _GROUP) * _GROUP * _CODE_BYTES, np.uint8)
        self._wide = is_wide(wide=wide)
        at, first = address_of(self._planes), 0
        for codes in _in_groups(parts):
            if first + len(codes) > count:
                raise ValueError(f"{count} codes were announced, and more came")
            library().lay_out_codes(address_of(codes), len(codes), at + first * _CODE_BYTES)
            first += len(codes)
        if first < count:
            raise ValueError(f"{count} codes were announced, and {first} came")

    @classmethod
    def of(cls, laid: NDArray[np.uint8], *, count: int) -> Planes:
        """The same of codes that were laid out before."""
        planes = cls((), count=0)
        if laid.dtype != np.uint8 or len(laid) != -(-count // _GROUP) * _GROUP * _CODE_BYTES:
            raise ValueError(f"{len(laid)} bytes are not {count} codes")
        planes._planes, planes._count = laid, count
        return planes

    @property
    def laid(self) -> NDArray[np.uint8]:
        """The codes as they are laid out."""
        return self._planes

    def __len__(self) -> int:
        return self._count

    def near(self, tables: NDArray[np.uint8], *, base: int, least: int) -> tuple[Numbers, NDArray[np.int16]]:
        """The codes that score so much at least, ascending, and their scores; codes of zeros are not among them."""
        tables = _halves(tables, base)
        found, scores = np.empty(self._count, np.int64), np.empty(self._count, np.int16)
        given = (address_of(self._planes), self._count, address_of(tables), base, least, self._wide)
        made = library().near_codes(*given, address_of(found), address_of(scores))
        return found[:made].copy(), scores[:made].copy()

    def scores(self, numbers: Numbers, tables: NDArray[np.uint8], *, base: int, nothing: int) -> Numbers:
        """The scores of some ascending codes; `nothing` for those of zeros alone."""
        tables, numbers = _halves(tables, base), numbers_of(numbers)
        scores = np.empty(len(numbers), np.int64)
        given = (address_of(self._planes), address_of(numbers), len(numbers), address_of(tables), base, nothing)
        if library().score_planes(*given, self._wide, self._count, address_of(scores)) < 0:
            raise ValueError(f"there are {self._count} codes, and others were asked for")
        return scores


def _halves(tables: NDArray[np.uint8], base: int) -> NDArray[np.uint8]:
    """The tables of a question, with their size and values checked."""
    tables = np.ascontiguousarray(tables, np.uint8)
    if tables.shape != (2 * _CODE_BYTES, 16) or tables.max() > _MOST_HALF or abs(base) > 1 << 14:
        raise ValueError(f"a question has 64 tables of 16 numbers up to {_MOST_HALF}, not {tables.shape}")
    return tables
