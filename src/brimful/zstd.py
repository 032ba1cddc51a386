"""How are bytes packed into frames of Zstandard? By Python's own module from 3.14 on, by its copy in older ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZstdError = zstd.ZstdError


def packer(level: int) -> Callable[[bytes], bytes]:
    """What packs bytes into one frame each, their number in its head; made once for many of them.

    >>> unpacked(packer(3)(b"tea"), 3)
    b'tea'
    """
    return partial(zstd.ZstdCompressor(level).compress, mode=zstd.ZstdCompressor.FLUSH_FRAME)


def frame_size(packed: bytes) -> int:
    """How many bytes a frame says it holds; -1 where it does not say."""
    size = zstd.get_frame_info(packed).decompressed_size
    return -1 if size is None else size


def unpacked(packed: bytes, size: int) -> bytes:
    """The bytes of a frame that holds so many; a ZstdError where it holds others."""
    frame = zstd.ZstdDecompressor()
    content = frame.decompress(packed, size + 1)
    if not frame.eof or len(content) != size:
        raise ZstdError(f"the frame does not hold the {size} bytes that it says")
    return content


def unpacker(most_bytes: int) -> zstd.ZstdDecompressor:
    """What unpacks one frame piece by piece; a frame that wants a larger window than this is a ZstdError."""
    most: dict[int, int] = {zstd.DecompressionParameter.window_log_max: most_bytes.bit_length() - 1}
    return zstd.ZstdDecompressor(options=most)
