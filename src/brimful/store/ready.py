"""Which columns of a state lie ready in a file beside the store?

Some columns are made of the whole corpus before the first question is answered: where its units begin, the words by
their spelling. A process that ends with its answer would make them for this one alone. So the
program writes them down behind its answer, into `<store>-ready`, and the next process maps them. Of a state that is
asked for the first time only its name is written: where something changes between any two questions, nobody waits for
megabytes that nobody will read.

- The file is believed for one state only, whose name is a hash of everything that they are made of: the state root, the
  segments with the seals of their columns, the version of this program and of its kernels.
- Each part has a hash, and is believed when all of its bytes have been compared with it.
- Nothing here is needed: where the file is missing, of another state, not whole, or can't be written, columns are made
  of the blobs. Whoever uses a part checks its sizes as if it came from anywhere.
- It is only ever replaced as a whole, so that nobody's map is cut off under them.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

SUFFIX = "-ready"

_HEAD = struct.Struct("<8s32s32sq")  # magic, state, hash of the list, how long the list is: which parts are there
_MAGIC = b"BRIMRDY1"
_MOST_LISTED = 1 << 16  # bytes from the beginning on, in which the list ends
_ALIGNED = 64  # bytes; each array begins at a multiple of them

Arrays = Sequence[NDArray[Any]]


class Ready:
    """What lies ready of one state, and what was made of it and may be written down; nothing without a path."""

    def __init__(self, path: Path | None = None, state: Callable[[], bytes] = bytes) -> None:
        self._path, self._state = path, state
        self._mapped: tuple[memoryview, dict[str, Any]] | None = None
        self._was_asked = False  # by a process before this one
        self._made: dict[str, Arrays] = {}

    def arrays(self, name: str) -> Arrays | None:
        """The arrays that lie ready under a name; None where there are none, or not as they were written."""
        mapped, parts = self._parts()
        part = parts.get(name)
        with suppress(KeyError, TypeError, ValueError):
            if part is not None and blake3(_cut(mapped, part)).hexdigest() == part["hash"]:
                return [
                    np.frombuffer(mapped[start : start + size], np.dtype(kind)) for kind, start, size in part["arrays"]
                ]
        return None

    def keep(self, name: str, arrays: Arrays) -> None:
        """Be told of arrays that had to be made, to be written down if the program says so."""
        if self._path is not None:
            self._made[name] = arrays

    @property
    def has_news(self) -> bool:
        """Whether something was made that is worth to be written down."""
        return bool(self._made) and self._was_asked

    def write(self) -> None:
        """Write down what was made, beside what was there; left undone where there is no room, or nobody may."""
        if self._path is None or not self._made:
            return
        before = self._parts()
        with suppress(OSError):
            _replace(self._path, self._state(), *before, self._made if self._was_asked else {})
            self._mapped, self._made = None, {}

    def _parts(self) -> tuple[memoryview, dict[str, Any]]:
        if self._mapped is None:
            found = _read(self._path, self._state)
            self._was_asked, self._mapped = found is not None, found or (memoryview(b""), {})
        return self._mapped


def _read(path: Path | None, state: Callable[[], bytes]) -> tuple[memoryview, dict[str, Any]] | None:
    """The file's bytes and which parts it has; None where it is not a whole one of this state."""
    with suppress(OSError, ValueError, struct.error):
        if path is not None:
            with path.with_name(path.name + SUFFIX).open("rb") as file:
                mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            magic, told, seal, size = _HEAD.unpack_from(mapped)
            if magic == _MAGIC and 0 <= size <= _MOST_LISTED and told == state():  # which takes longest
                listed = mapped[_HEAD.size : _HEAD.size + size]
                if blake3(listed).digest() == seal:
                    return mapped, json.loads(bytes(listed))
    return None


def _cut(mapped: memoryview, part: Mapping[str, Any]) -> memoryview:
    first, last = part["from"], part["until"]
    if not all(first <= start and start + size <= last for _, start, size in part["arrays"]):
        raise ValueError("an array lies outside of its part")
    return mapped[first:last]


def _replace(
    path: Path, state: bytes, before: memoryview, parts: Mapping[str, Any], made: Mapping[str, Arrays]
) -> None:
    """Write a file of all parts in place of the one that is there."""
    pieces: list[bytes | memoryview] = []
    listed: dict[str, Any] = {}
    at = _MOST_LISTED

    def put(piece: bytes | memoryview) -> int:
        nonlocal at
        begin = at
        padding = bytes(-len(piece) % _ALIGNED)
        pieces.extend((piece, padding))
        at += len(piece) + len(padding)
        return begin

    for name, part in parts.items():
        if name not in made:
            moved = put(_cut(before, part)) - part["from"]
            arrays = [(kind, start + moved, size) for kind, start, size in part["arrays"]]
            listed[name] = {**part, "from": part["from"] + moved, "until": part["until"] + moved, "arrays": arrays}
    for name, own in made.items():
        hasher, first, arrays = blake3(), at, []
        for each in own:
            raw = np.ascontiguousarray(each).data.cast("B") if each.size else b""
            arrays.append((each.dtype.str, put(raw), len(raw)))
            hasher.update(raw)
            hasher.update(pieces[-1])
        listed[name] = {"from": first, "until": at, "hash": hasher.hexdigest(), "arrays": arrays}
    names = json.dumps(listed).encode()
    if _HEAD.size + len(names) > _MOST_LISTED:  # of thousands of segments
        return
    head = _HEAD.pack(_MAGIC, state, blake3(names).digest(), len(names))
    fresh = path.with_name(f"{path.name}{SUFFIX}-{os.getpid()}")
    for left in path.parent.glob(f"{escape(path.name)}{SUFFIX}-*"):
        left.unlink(missing_ok=True)  # by a process that was killed; one that still writes finds it gone, and gives up
    try:
        with fresh.open("xb") as file:
            fresh.chmod(path.stat().st_mode & 0o777)  # whoever may not read the store may not read this
            file.write(head + names)
            file.seek(_MOST_LISTED)
            for piece in pieces:
                file.write(piece)
        fresh.replace(path.with_name(path.name + SUFFIX))
    finally:
        fresh.unlink(missing_ok=True)
