"""What a source of Python defines, which definition stands in which, and the blocks that they are (definitions.c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.native import Numbers, library, numbers_of, pointer

MACRO, FUNCTION, OWNER, OWNED, BLOCK, RANK = (1 << bit for bit in range(6))
"""What a definition is: a macro; a function; what has methods; in such a thing, or named with one; what has a block,
and whether that is one of a function."""

ATTRIBUTES, ELIXIR = 1, 2
"""What may stand above a definition: attributes and decorators with brackets, or Elixir's, which have none."""

_GIVEN, DEFINITION, _BLOCK, _PYTHON = 4, 9, 8, 6  # columns

Places = tuple[Numbers, Numbers]  # where things start and end
Brackets = tuple[Numbers, NDArray[np.int32], Numbers]  # as `pair_brackets` finds them

_NOTHING = np.empty(0, np.int64)


def nest_definitions(
    content: bytes,
    code: bytes,
    given: Numbers,
    *,
    comments: Places,
    strings: Places,
    attributes: int = 0,
    brackets: Brackets | None = None,
) -> Numbers:
    """Put every definition into the one that holds it, and what stands in front of it before it.

    They are given in order, a row each: where it starts and ends, where its signature ends, and what it is. A row that
    is found says where it starts with what is in front, and ends, where its signature starts and ends, the row that it
    stands in or -1, where its doc comment starts and ends or -1 twice, its number among those given, and what it is.
    Strings are those that may be docstrings. Brackets are needed for attributes.
    """
    given = numbers_of(given)
    if len(content) != len(code) or given.ndim != 2 or given.shape[1] != _GIVEN:
        raise ValueError("definitions are four numbers each, in code as long as its text")
    if len(given) and not 0 <= given[:, :3].min() <= given[:, :3].max() <= len(code):
        raise ValueError("a definition must lie inside its source")
    columns = [_checked(each, len(code)) for each in (comments, strings)]
    places, _, closes = brackets if brackets is not None and attributes else (_NOTHING, None, _NOTHING)
    opens = np.full(len(places), -1, np.int64)
    if len(places):
        closed = np.flatnonzero(closes >= 0)
        opens[places.searchsorted(closes[closed])] = places[closed]
    rows = np.empty((len(given), DEFINITION), np.int64)
    remarks = [part for starts, ends in columns for part in (pointer(starts), pointer(ends), len(starts))]
    signs = (pointer(places), pointer(closes), pointer(opens), len(places))
    count = library().nest_definitions(
        content, code, len(code), pointer(given), len(given), *remarks, attributes, *signs, pointer(rows)
    )
    return rows[:count]


def _checked(places: Places, size: int) -> Places:
    starts, ends = (numbers_of(each) for each in places)
    if len(starts) != len(ends) or (len(starts) and not (starts[0] >= 0 and ends[-1] <= size)):
        raise ValueError("comments and strings must lie inside their source, each from its start to its end")
    return starts, ends


def find_blocks(content: bytes, definitions: Numbers) -> Numbers:
    """The blocks of definitions as `nest_definitions` gives them: those of more than one line, with their own lines.

    A row says where a block starts and ends, whether it is a function's (1), where its signature starts and ends, its
    level, the row that it stands in or -1, and the row of its definition.
    """
    definitions = numbers_of(definitions)
    if definitions.ndim != 2 or definitions.shape[1] != DEFINITION:
        raise ValueError("definitions are nine numbers each")
    if len(definitions) and not 0 <= definitions[:, :4].min() <= definitions[:, :4].max() <= len(content):
        raise ValueError("a definition must lie inside its source")
    rows = np.empty((len(definitions), _BLOCK), np.int64)
    return rows[: library().find_blocks(content, pointer(definitions), len(definitions), pointer(rows))]


def define_python(code: bytes, brackets: Brackets) -> Numbers:
    """What a source of Python defines, whose strings and comments are written over.

    A row says where a definition starts with its decorators, where its name starts and ends, whether it is a function
    (0), a class (1) or a constant (2), where its head ends, and where it does.
    """
    places, depths, closes = brackets
    if not len(places) == len(closes) == len(depths) - 1:
        raise ValueError("of every bracket must be said where it is closed, and how many are open before it")
    most = code.count(b"\n") + 1
    lines, opened = np.empty((most, 3), np.int64), np.empty(most, np.int64)
    rows = np.empty((most, _PYTHON), np.int64)
    given = (pointer(places), pointer(depths), pointer(closes), len(places))
    made = (pointer(lines), pointer(opened), pointer(rows))
    return rows[: library().define_python(code, len(code), *given, *made)]
