"""How are bytes packed into frames of Zstandard? By Python's own module from 3.14 on, by its copy in older ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZstdError = zstd.ZstdError


def packer(level: int) -> Callable[[bytes | memoryview], bytes]:
    """What packs bytes into one frame each, their number in its head; made once for many of them.

    >>> unpacked(packer(3)(b"tea"), 3)
    b'tea'
    """
    return partial(zstd.ZstdCompressor(level).compress, mode=zstd.ZstdCompressor.FLUSH_FRAME)


def frame_size(packed: bytes) -> int:
    """How many bytes a frame says it holds; -1 where it does not say."""
    size = zstd.get_frame_info(packed).decompressed_size
    return -1 if size is None else size


_MOST_STORED = 1 << 17  # bytes of a block
_STORED_BYTES = 12  # before what a frame of `stored` holds


def stored(content: bytes) -> bytes:
    """A frame of one block that holds its bytes as they are, for what would hardly become shorter (RFC 8878).

    It is taken out again without a decompressor, which takes longer to make than some kilobytes to unpack.

    >>> unpacked(stored(b"tea"), 3), unpacked(packer(3)(b"tea"), 3), len(stored(b"tea"))
    (b'tea', b'tea', 15)
    """
    return _stored_head(len(content)) + content


@lru_cache(64)
def _stored_head(size: int) -> bytes:
    if size > _MOST_STORED:
        raise ValueError(f"{size} bytes do not make one block of a frame")
    # The magic; that four bytes say how many it holds, all in one window, without a checksum; these; the only block.
    return b"\x28\xb5\x2f\xfd\xa0" + size.to_bytes(4, "little") + (size << 3 | 1).to_bytes(3, "little")


def stored_in(packed: bytes, *, most: int) -> memoryview | None:
    """What a frame of `stored` holds, without a copy of it; None where it is another frame, or holds more.

    >>> stored_in(stored(b"tea"), most=3).tobytes(), stored_in(stored(b"tea"), most=2), stored_in(b"tea", most=9)
    (b'tea', None, None)
    """
    size = len(packed) - _STORED_BYTES
    is_stored = 0 <= size <= min(most, _MOST_STORED) and packed.startswith(_stored_head(size))
    return memoryview(packed)[_STORED_BYTES:] if is_stored else None


def unpacked(packed: bytes, size: int) -> bytes:
    """The bytes of a frame that holds so many; a ZstdError where it holds others."""
    if (held := stored_in(packed, most=size)) is not None and len(held) == size:
        return held.tobytes()
    frame = zstd.ZstdDecompressor()
    content = frame.decompress(packed, size + 1)
    if not frame.eof or len(content) != size:
        raise ZstdError(f"the frame does not hold the {size} bytes that it says")
    return content


def unpacker(most_bytes: int) -> zstd.ZstdDecompressor:
    """What unpacks one frame piece by piece; a frame that wants a larger window than this is a ZstdError."""
    most: dict[int, int] = {zstd.DecompressionParameter.window_log_max: most_bytes.bit_length() - 1}
    return zstd.ZstdDecompressor(options=most)
