"""Values that were read last, kept up to a size in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class ByteCache(Generic[_Key, _Value]):
    """A cache bounded in bytes, and in entries where `max_entries` is given; the least recently used entry goes first.

    One entry alone may be larger than the cache, unless the cache has no bytes at all. Threads may share it.

    >>> cache = ByteCache(5)
    >>> cache.keep("tea", "TEA", size=3), cache.keep("cup", "CUP", size=3), cache.get("tea"), cache.held
    ('TEA', 'CUP', None, 3)
    """

    def __init__(self, most_bytes: int, *, max_entries: int | None = None) -> None:
        self.most_bytes, self.max_entries = most_bytes, max_entries
        self.held = 0  # bytes
        self._entries: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: _Key) -> bool:
        return key in self._entries

    def newest(self) -> list[_Key]:
        """The keys, the most recently used first."""
        with self._lock:
            return list(reversed(self._entries))

    def get(self, key: _Key) -> _Value | None:
        """The value of a key."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def keep(self, key: _Key, value: _Value, *, size: int) -> _Value:
        """Add a value and drop the oldest beyond the limits; where another thread was faster, its value stays."""
        with self._lock:
            if key not in self._entries:
                self._entries[key] = value, size
                self.held += size
            self._entries.move_to_end(key)
            value = self._entries[key][0]
            while self._is_over() and len(self._entries) > (self.most_bytes > 0):
                self.held -= self._entries.popitem(last=False)[1][1]
            return value

    def _is_over(self) -> bool:
        return self.held > self.most_bytes or (self.max_entries is not None and len(self._entries) > self.max_entries)

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            self._entries.clear()
            self.held = 0
