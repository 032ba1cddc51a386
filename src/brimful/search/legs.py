"""How do two legs of a search run side by side? One here, one in a thread; the result does not depend on it (CFS)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

First = TypeVar("First")
_Second = TypeVar("_Second")

MOST_THREADS = 2
"""So many legs run in threads at the same time, whoever asks; others wait for their turn."""

_turns = threading.Semaphore(MOST_THREADS)


class _Leg(threading.Thread, Generic[_Second]):
    """A leg in a thread of its own: a pool of them takes longer to load than some hundred threads to start."""

    def __init__(self, leg: Callable[[], _Second]) -> None:
        super().__init__(name="brimful-leg")
        self._leg, self.is_wanted = leg, True
        self._found: list[_Second] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Wait for a turn, and keep what comes of it."""
        with _turns:
            try:
                self._found += [self._leg()] if self.is_wanted else []
            except BaseException as error:  # noqa: BLE001  (raised where it is waited for)
                self._error = error

    def result(self) -> _Second:
        """What the leg gave, or raised."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._found[0]


def side_by_side(first: Callable[[], First], second: Callable[[], _Second]) -> tuple[First, _Second]:
    """What both give. The second has begun, or stands in line, when the first one does.

    The compiled kernels let other threads work, so two legs take as long as the longer one where there are two
    processors. Where no thread can be started they run one after the other.

    >>> side_by_side(lambda: "by words", lambda: "by meaning")
    ('by words', 'by meaning')
    """
    beside = _Leg(second)
    try:
        beside.start()
    except RuntimeError:  # no more threads, or the interpreter is about to end
        return first(), second()
    try:
        found = first()
    except BaseException:
        beside.is_wanted = False
        raise
    return found, beside.result()


def _forget() -> None:
    """A process that was forked has none of the threads."""
    global _turns  # noqa: PLW0603  (one number of turns for all engines of a process)
    _turns = threading.Semaphore(MOST_THREADS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
