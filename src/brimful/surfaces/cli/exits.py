"""Which exit code does an outcome have?"""

from __future__ import annotations

from brimful.errors import BrimfulError
from brimful.surfaces import outcomes

FOUND = 0
NOTHING = 1  # nothing found; for `verify`: something is not as the receipt says
USAGE = outcomes.USAGE
PARTIAL = 3  # answered, but something that belongs to the corpus could not be read; `verify`: no source was given
PROVIDER = outcomes.PROVIDER
STORAGE = outcomes.STORAGE
INTERRUPTED = 130

FIXABLE = ("unreadable", "changing", "missing_part")
"""Skips that make an answer partial: another try, a permission or an install brings the file in."""


def exit_of(error: BrimfulError) -> int:
    """The exit code for an error, by the first part of its code.

    >>> from brimful.errors import BudgetError, StoreFullError
    >>> exit_of(BudgetError("0")), exit_of(StoreFullError("no room"))
    (2, 5)
    """
    return exit_of_code(error.code)


def exit_of_code(code: str) -> int:
    """The same, where only the code is left of an error.

    >>> exit_of_code("provider.quota")
    4
    """
    return outcomes.outcome_of(code).exit
