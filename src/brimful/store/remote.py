"""Blobs of a store that is a round trip away: fetched many at once, and kept by the reader.

A segment never changes once it is written, and its number is never given again: its blobs stay true, whatever is
committed since.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from brimful.store.caching import ByteCache
from brimful.store.format import CHANGING, SINGLE, key_of, kind_of_key, segment_of

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
