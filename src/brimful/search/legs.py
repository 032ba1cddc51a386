"""How do two legs of a search run side by side? One here, one in a thread; the result does not depend on it (CFS)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

First = TypeVar("First")
_Second = TypeVar("_Second")

MOST_THREADS = 2
"""So many legs run in threads at the same time, whoever asks; others wait for their turn."""

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def side_by_side(first: Callable[[], First], second: Callable[[], _Second]) -> tuple[First, _Second]:
    """What both give. The second has begun, or stands in line, when the first one does.

    The compiled kernels let other threads work, so two legs take as long as the longer one where there are two
    processors. Where no thread can be started they run one after the other.

    >>> side_by_side(lambda: "by words", lambda: "by meaning")
    ('by words', 'by meaning')
    """
    beside = _started(second)
    if beside is None:
        return first(), second()
    try:
        found = first()
    except BaseException:
        beside.cancel()
        raise
    return found, beside.result()


def _started(leg: Callable[[], _Second]) -> Future[_Second] | None:
    global _pool  # noqa: PLW0603  (one pool for all engines of a process)
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="brimful-leg")
        try:
            return _pool.submit(leg)
        except RuntimeError:  # no more threads, or the interpreter is about to end
            return None


def _forget() -> None:
    """A process that was forked has none of the threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
