"""Headings, lists, tables and blocks of code of prose (marks.c)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from brimful.native import Numbers, library, numbers_of, pointer
from brimful.native.lines import check_words

FORMS = ("markdown", "text", "roff", "rst", "asciidoc", "org", "wiki")
"""What is read here, in the order of its numbers: of those after `WHOLE` only lists and tables."""
WHOLE = FORMS[:3]
_Kind = Literal["code", "front matter", "list", "quotation", "table"]
KINDS: tuple[_Kind, ...] = ("code", "front matter", "list", "quotation", "table")
"""What a passage may be, in the order of its numbers."""

_TITLE = 5
"""Columns of a title: start, end, level, where its words begin and end."""
_PASSAGE = 7
_NOTHING = np.empty((0, 2), np.int64)
_FEW = 256  # titles, passages and parts for which there is room at first


class Marks(NamedTuple):
    """Titles and passages of a text, a row each; `_TITLE` lists the columns of a title.

    Columns of a passage are start, end, its number in KINDS, where its lead begins and ends or -1 twice, its first one
    among the `parts`, and how many it has.
    """

    titles: Numbers
    passages: Numbers
    parts: Numbers


def read_marks(text: bytes, form: str, *, front: int = 0, words: bytes = b"", passed: Numbers = _NOTHING) -> Marks:
    r"""The titles and passages of a text of one of the FORMS, in order; its front matter ends at `front`.

    Chapters begin with one of the `words`, each of which a newline follows. No line is read that begins in one of the
    stretches that `passed` has, a row of start and end for each, in order.

    >>> tea = read_marks(b"# Tea\n\nYou need:\n\n- a pot\n- water\n", "markdown")
    >>> tea.titles.tolist(), tea.passages.tolist(), tea.parts.tolist()
    ([[0, 5, 1, 2, 5]], [[18, 33, 2, 7, 16, 0, 2]], [18, 26])
    """
    check_words(words)
    passed = numbers_of(passed)
    if not 0 <= front <= len(text):
        raise ValueError("the front matter of a text must end inside of it")
    if passed.ndim != 2 or passed.shape[1] != 2 or (len(passed) and not 0 <= passed.min() <= passed.max() <= len(text)):
        raise ValueError("what is passed over must lie inside of its text, from start to end")
    capacity, width = _FEW, _TITLE + _PASSAGE + 3
    inputs = (text, len(text), FORMS.index(form), front, words, len(words), pointer(passed), len(passed))
    while True:
        room = np.empty(width * capacity + 3, np.int64)
        places = [pointer(room[capacity * column :]) for column in (0, _TITLE, _TITLE + _PASSAGE, width - 1, width)]
        if not library().read_marks(*inputs, capacity, *places):
            break
        capacity *= 8
    titled, stretches, parted = room[-3:].tolist()
    titles = room[: _TITLE * titled].reshape(-1, _TITLE)
    passages = room[_TITLE * capacity : _TITLE * capacity + _PASSAGE * stretches].reshape(-1, _PASSAGE)
    first = (width - 1) * capacity
    return Marks(titles, passages, room[first : first + parted])
