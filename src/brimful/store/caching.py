"""Values that were read last, kept up to a size in bytes; blobs of a store that is a round trip away.

A segment never changes once it is written, and its number is never given again: its blobs stay true, whatever is
committed since.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from brimful.store.format import CHANGING, SINGLE, key_of, kind_of_key, segment_of

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


# ---- of a server: blobs are fetched many at once

KEPT_BYTES = 256 << 20
"""Blobs that a process keeps of a corpus on a server."""

_SealedBlob = tuple[bytes, bytes]
BlobCache = ByteCache[int, _SealedBlob]
"""Blobs of segments, with their seals."""

_AT_ONCE = 256
"""Blobs of some ten kilobytes that one round trip brings at most."""
_NEIGHBOURS = 16
"""Blobs that come with one that nobody announced."""


class RemoteBlobs:
    """The blobs of one snapshot.

    >>> blobs = RemoteBlobs(BlobCache(0), lambda keys: {key: (b"blob", b"seal") for key in keys})
    >>> blobs.expect([key_of(1, 0), key_of(1, 9)])
    >>> blobs.get(key_of(1, 9))
    (b'blob', b'seal')
    """

    def __init__(self, cache: BlobCache, fetch: Callable[[Sequence[int]], dict[int, _SealedBlob]]) -> None:
        self._kept, self._fetch = cache, fetch
        self._waiting: dict[int, _SealedBlob] = {}  # fetched, and not asked for yet, the oldest first
        self._absent: set[int] = set()
        self._lock = threading.Lock()

    def get(self, key: int) -> _SealedBlob | None:
        """A blob with its seal; None where there is none."""
        with self._lock:
            blob = self._waiting.pop(key, None) or self._kept.get(key)
            if blob is not None or key in self._absent:
                return blob
        if kind_of_key(key) in SINGLE:  # a question reads nearly all columns of a segment
            keys = [key_of(segment_of(key), kind) for kind in SINGLE]
        else:
            keys = list(range(key, key + _NEIGHBOURS))
        return self._bring(sorted({key, *self._fresh(keys)})).get(key)

    def expect(self, keys: Sequence[int]) -> None:
        """Fetch the blobs that are not here in as few round trips as there may be."""
        missing = self._fresh(keys)
        for first in range(0, len(missing), _AT_ONCE):
            self._bring(missing[first : first + _AT_ONCE])

    def _fresh(self, keys: Sequence[int]) -> list[int]:
        with self._lock:
            present = (self._waiting, self._kept, self._absent)
            return sorted({key for key in keys if not any(key in place for place in present)})

    def _bring(self, keys: Sequence[int]) -> dict[int, _SealedBlob]:
        blobs = self._fetch(keys)
        with self._lock:
            for key, blob in blobs.items():
                self._waiting[key] = blob  # also where nothing is kept
                if kind_of_key(key) not in CHANGING:
                    self._kept.keep(key, blob, size=len(blob[0]))
            self._absent.update(key for key in keys if key not in blobs)
            for key in list(self._waiting)[: -2 * _AT_ONCE]:
                del self._waiting[key]
        return blobs
