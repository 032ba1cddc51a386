"""Whose turn is it to change a store in several steps?

A commit is all or nothing by itself. Adding a folder takes many of them and decides names by what is there, so two
processes that add take turns: a lock on a file beside the store, which the system lets go with the process, however it
ends. The end is that of one after the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from brimful.errors import StoreBusyError, StoreError

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

SUFFIX = "-lock"
"""What the name of the file has behind the store's."""

_LOOK_SECONDS = 0.02
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def turn(path: Path, *, wait_seconds: float | None) -> Iterator[None]:
    """Hold the store for a change of several commits; None waits for as long as it takes."""
    place = path.with_name(path.name + SUFFIX)
    try:
        descriptor = os.open(place, _FLAGS, 0o600)
    except OSError as error:
        raise StoreError(
            f"{place} can't be written ({error.strerror}), so {path} can't be changed; copy the store to a place that "
            "you may write to, or name another one with --store"
        ) from error
    try:
        until = None if wait_seconds is None else time.monotonic() + wait_seconds
        while not _locked(descriptor):
            if until is not None and time.monotonic() >= until:
                raise StoreBusyError(f"another process is adding to {path}; try again when it has finished")
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        if "fcntl" in globals():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    return True
