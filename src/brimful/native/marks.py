"""Headings, lists, tables and blocks of code of prose (marks.c)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brimful.native import Numbers, library, pointer
from brimful.native.lines import check_words

FORMS = ("markdown", "text", "roff")
"""What is read here, in the order of its numbers."""
KINDS = ("code", "front matter", "list", "quotation", "table")
"""What a passage may be, in the order of its numbers."""

_TITLE = 7
"""Columns of a title: start, end, level, where its words begin and end, where its section ends, and its parent
among the titles, or -1."""
_PASSAGE = 7
_FEW = 256  # titles, passages and parts for which there is room at first


class Marks(NamedTuple):
    """Titles and passages of a text, a row each; `_TITLE` lists the columns of a title.

    Columns of a passage are start, end, its number in KINDS, where its lead begins and ends or -1 twice, its first one
    among the `parts`, and how many it has.
    """

    titles: Numbers
    passages: Numbers
    parts: Numbers


def read_marks(text: bytes, form: str, *, front: int, words: bytes) -> Marks:
    r"""The titles and passages of a text of one of the FORMS, in order; its front matter ends at `front`.

    Chapters begin with one of the `words`, each of which a newline follows.

    >>> found = read_marks(b"# Tea\n\nYou need:\n\n- a pot\n- water\n", "markdown", front=0, words=b"")
    >>> found.titles.tolist(), found.passages.tolist(), found.parts.tolist()
    ([[0, 5, 1, 2, 5, 34, -1]], [[18, 33, 2, 7, 16, 0, 2]], [18, 26])
    """
    check_words(words)
    if not 0 <= front <= len(text):
        raise ValueError("the front matter of a text must end inside of it")
    capacity, width = _FEW, _TITLE + _PASSAGE + 3
    while True:
        room = np.empty(width * capacity + 3, np.int64)
        places = [pointer(room[capacity * column :]) for column in (0, _TITLE, _TITLE + _PASSAGE, width - 1, width)]
        if not library().read_marks(text, len(text), FORMS.index(form), front, words, len(words), capacity, *places):
            break
        capacity *= 8
    titled, passed, parted = room[-3:].tolist()
    titles = room[: _TITLE * titled].reshape(-1, _TITLE)
    passages = room[_TITLE * capacity : _TITLE * capacity + _PASSAGE * passed].reshape(-1, _PASSAGE)
    first = (width - 1) * capacity
    return Marks(titles, passages, room[first : first + parted])


def nest_titles(starts: Numbers, ends: Numbers, levels: Numbers, *, length: int) -> Numbers:
    """Rows of titles, in order, with their sections: each reaches to the next title of an equal or a higher rank."""
    if not len(starts) == len(ends) == len(levels):
        raise ValueError("of every title must be said where it starts and ends, and its level")
    titles = np.zeros((len(starts), _TITLE), np.int64)
    titles[:, 0], titles[:, 1], titles[:, 2] = starts, ends, levels
    library().nest_titles(pointer(titles), len(titles), length)
    return titles
