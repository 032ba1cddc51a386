"""Definitions of sources: how they nest, and what Python defines (definitions.c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.native import Numbers, library, numbers_of, pointer

MACRO, FUNCTION, OWNER, OWNED, BLOCK, RANK = (1 << bit for bit in range(6))
"""What a definition is: a macro; a function; what has methods; in such a thing, or named with one; what has a block,
and whether that is one of a function."""

ATTRIBUTES, ELIXIR = 1, 2
"""What may stand above a definition: attributes and decorators with brackets, or Elixir's, which have none."""

_GIVEN, _DEFINITION, _PYTHON = 4, 9, 6  # columns

Places = tuple[Numbers, Numbers]  # where things start and end
Brackets = tuple[Numbers, NDArray[np.int32], Numbers]  # as `pair_brackets` finds them

_NOTHING = np.empty(0, np.int64)


def nest_definitions(
    content: bytes,
    code: bytes,
    spans: Numbers,
    *,
    comments: Places,
    strings: Places,
    attributes: int = 0,
    brackets: Brackets | None = None,
) -> Numbers:
    """Nest definitions, and extend each over the comments and attributes in front of it.

    `spans` has a row for each definition, in order: its start, its end, the end of its signature, and what it is. A row
    of the result has the start with what is in front, the end, start and end of the signature, the row of the parent or
    -1, start and end of the doc comment or -1 twice, the number of the definition in `spans`, and what it is.
    `strings` may be docstrings. Brackets are needed for attributes.
    """
    spans = numbers_of(spans)
    if len(content) != len(code) or spans.ndim != 2 or spans.shape[1] != _GIVEN:
        raise ValueError("definitions are four numbers each, in code as long as its text")
    if len(spans) and not 0 <= spans[:, :3].min() <= spans[:, :3].max() <= len(code):
        raise ValueError("a definition must lie inside its source")
    columns = [_checked(places, len(code)) for places in (comments, strings)]
    places, _, closes = brackets if brackets is not None and attributes else (_NOTHING, None, _NOTHING)
    opens = np.full(len(places), -1, np.int64)
    if len(places):
        closed = np.flatnonzero(closes >= 0)
        opens[places.searchsorted(closes[closed])] = places[closed]
    rows = np.empty((len(spans), _DEFINITION), np.int64)
    remarks = [part for starts, ends in columns for part in (pointer(starts), pointer(ends), len(starts))]
    signs = (pointer(places), pointer(closes), pointer(opens), len(places))
    count = library().nest_definitions(
        content, code, len(code), pointer(spans), len(spans), *remarks, attributes, *signs, pointer(rows)
    )
    return rows[:count]


def _checked(places: Places, size: int) -> Places:
    starts, ends = (numbers_of(column) for column in places)
    if len(starts) != len(ends) or (len(starts) and not (starts[0] >= 0 and ends[-1] <= size)):
        raise ValueError("comments and strings must lie inside their source, each from its start to its end")
    return starts, ends


def define_python(code: bytes, brackets: Brackets) -> Numbers:
    """Functions, classes and constants of a source of Python whose strings and comments are written over.

    A row says where a definition starts with its decorators, where its name starts and ends, whether it is a function
    (0), a class (1) or a constant (2), where its head ends, and where it does.
    """
    places, depths, closes = brackets
    if not len(places) == len(closes) == len(depths) - 1:
        raise ValueError("of every bracket must be said where it is closed, and how many are open before it")
    capacity = code.count(b"\n") + 1
    lines, opened = np.empty((capacity, 3), np.int64), np.empty(capacity, np.int64)
    rows = np.empty((capacity, _PYTHON), np.int64)
    inputs = (pointer(places), pointer(depths), pointer(closes), len(places))
    outputs = (pointer(lines), pointer(opened), pointer(rows))
    return rows[: library().define_python(code, len(code), *inputs, *outputs)]
