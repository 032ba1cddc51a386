"""The memory that this program may take, and values that were read last, kept up to a size in bytes."""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from brimful.errors import SettingError

VARIABLE = "BRIMFUL_MAX_MEMORY"
LEAST_BYTES, _ROOMY_BYTES = 256 << 20, 1 << 30
_SIZE = re.compile(r"(\d{1,9}) ?(MB|GB)", re.IGNORECASE)


def max_memory() -> int:
    """The bytes that indexing or asking may take: BRIMFUL_MAX_MEMORY, or a quarter of the machine."""
    text = os.environ.get(VARIABLE, "").strip()
    return memory_of(text) if text else max(_machine_bytes() // 4, LEAST_BYTES)


def memory_of(text: str) -> int:
    """The bytes that a setting names.

    >>> memory_of("512MB") >> 20, memory_of("2 gb") >> 20
    (512, 2048)
    """
    size = _SIZE.fullmatch(text)
    memory = int(size[1]) << (30 if size[2].upper() == "GB" else 20) if size else 0
    if memory < LEAST_BYTES:
        raise SettingError(f"max-memory is {text!r:.40}; write 512MB or 2GB, and {LEAST_BYTES >> 20}MB at least")
    return memory


def scaled(size: int) -> int:
    """A size of a batch or a cache: as it is from a gigabyte of memory on, and smaller in proportion below."""
    return size * min(max_memory(), _ROOMY_BYTES) // _ROOMY_BYTES


def _machine_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows does not say
        return 4 * _ROOMY_BYTES


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
