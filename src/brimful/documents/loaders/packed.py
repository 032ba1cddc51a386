"""Which text does a compressed file hold? Unpacked in memory, up to the limits of a text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from io import BufferedIOBase, BytesIO

from brimful.documents.skips import Refusal, SourceSettings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPENERS: dict[str, Callable[[BytesIO], BufferedIOBase]] = {
    "gz": gzip.open,
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zst": zstd.ZstdFile,  # with windows up to 128 MB
}


def unpack(packing: str, raw: bytes, settings: SourceSettings) -> bytes:
    """The bytes that were compressed; a Refusal where there are too many, or none that can be read.

    >>> unpack("gz", gzip.compress(b"Tea at four."), SourceSettings())
    b'Tea at four.'
    """
    max_bytes = min(settings.max_unpacked_bytes, settings.max_whole_bytes)
    try:
        with _OPENERS[packing](BytesIO(raw)) as stream:
            content = stream.read(max_bytes + 1)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        raise Refusal("malformed", f"it is not a .{packing} that can be unpacked ({error})") from error
    if len(content) > max_bytes:
        raise Refusal("too_large", f"more than {max_bytes:,} bytes when unpacked (max_whole_bytes)")
    return content
