"""How is a text sent without paying for its white space?"""

from __future__ import annotations

import math
import re

from brimful.patterns import compiled

# What is behind a sign looks only once at a run of blanks, however many of them the text has.
_LINE_END = compiled(r"(?<![ \t])[ \t]++(?=\r?\n)")
_EMPTY_LINES = compiled(r"(?:\r?\n){3,}")
_INDENTATION = compiled(r"^ +(?=[^ \t\r\n])", re.MULTILINE)
_TABBED = compiled(r"^ *\t", re.MULTILINE)
_WITHIN = compiled(r"(?<=\S) {2,}")


def lean(text: str, *, is_prose: bool) -> str:
    r"""The same lines in the same order: one space a step of indentation, one empty line, no blanks at a line's end.

    What is code or data keeps the blanks within its lines, since they may stand in a literal or between columns.

    >>> lean("def tea():\n    if late:\n        return None\n\n\n\nTEA = 4  # o'clock\n", is_prose=False)
    "def tea():\n if late:\n  return None\n\nTEA = 4  # o'clock"
    >>> lean("Tea   at four.  \n\n   * cake\n      - fresh", is_prose=True)
    'Tea at four.\n\n * cake\n  - fresh'
    """
    text = _EMPTY_LINES.sub("\n\n", _LINE_END.sub("", text))
    if is_prose:
        text = _WITHIN.sub(" ", text)
    if not _TABBED.search(text):
        step = math.gcd(*(len(found) for found in _INDENTATION.findall(text)))
        if step > 1:
            text = _INDENTATION.sub(lambda found: " " * (len(found.group()) // step), text)
    return text.strip()
