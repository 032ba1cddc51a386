"""Which text does a compressed file hold? Unpacked in memory, up to what a text may have, whatever it claims."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable
from typing import Protocol

from brimful.documents.skips import Refusal, SourceSettings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_BLOCK = 1 << 20
_XZ_BYTES = 256 << 20  # what its dictionary may take
_ZST_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}  # bits of the bytes that it may take
_GZIP = 31  # zlib's name for a gzip header


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def unpack(packing: str, raw: bytes, settings: SourceSettings) -> bytes:
    """The bytes that were compressed; a Refusal where there are too many, or none that can be read.

    >>> import gzip
    >>> unpack("gz", gzip.compress(b"Tea at four."), SourceSettings())
    b'Tea at four.'
    """
    try:
        return _all(_maker(packing), raw, min(settings.max_unpacked_bytes, settings.max_whole_bytes))
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        raise Refusal("malformed", f"it is not a .{packing} that can be unpacked ({error})") from error


def _all(make: Callable[[], _Unpacker], raw: bytes, max_bytes: int) -> bytes:
    """Unpack stream after stream: packed files may be concatenated."""
    parts: list[bytes] = []
    size = 0
    while raw:
        unpacker, fed = make(), raw
        while not unpacker.eof:
            part = unpacker.decompress(fed, _BLOCK)
            fed = getattr(unpacker, "unconsumed_tail", b"")
            if not part and not fed and not unpacker.eof:
                raise EOFError("it ends too soon")
            parts.append(part)
            size += len(part)
            if size > max_bytes:
                raise Refusal("too_large", f"more than {max_bytes:,} bytes when unpacked (max_whole_bytes)")
        raw = unpacker.unused_data.lstrip(b"\0")
    return b"".join(parts)


def _maker(packing: str) -> Callable[[], _Unpacker]:
    if packing == "gz":
        return lambda: zlib.decompressobj(_GZIP)
    if packing == "bz2":
        return bz2.BZ2Decompressor
    if packing == "xz":
        return lambda: lzma.LZMADecompressor(memlimit=_XZ_BYTES)
    return lambda: zstd.ZstdDecompressor(options=_ZST_WINDOW)
