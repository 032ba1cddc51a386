"""What was read last, kept up to a size in bytes, so that the next question need not wait for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values by key; what was asked for longest ago goes first. Safe to share between threads.

    >>> read = Kept(lambda key: key.upper(), size=len, most_bytes=5)
    >>> read("tea"), read("cup"), read.held
    ('TEA', 'CUP', 3)
    """

    def __init__(self, read: Callable[[Key], Value], *, size: Callable[[Value], int], most_bytes: int) -> None:
        self._read, self._size, self._most = read, size, most_bytes
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()
        self.held = 0  # bytes

    def __call__(self, key: Key) -> Value:
        """The value of a key, read unless it is kept."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                return found
        made = self._read(key)  # while others read theirs
        with self._lock:
            found = self._values.setdefault(key, made)
            if found is made:
                self.held += self._size(made)
                while self.held > self._most and len(self._values) > 1:
                    self.held -= self._size(self._values.popitem(last=False)[1])
        return found
