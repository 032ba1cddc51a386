"""Frames of Zstandard: packed, and stored as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import zstd


@given(st.binary(max_size=2_000))
def test_what_is_stored_as_it_is_is_a_frame_like_any_other(content: bytes) -> None:
    """Zstandard itself reads it, and so does what takes it out without a decompressor."""
    frame = zstd.stored(content)
    assert zstd.zstd.decompress(frame) == content
    assert zstd.frame_size(frame) == len(content)
    assert zstd.unpacked(frame, len(content)) == content


@given(st.binary(min_size=1, max_size=200), st.integers(0, 210), st.integers(1, 255))
def test_a_frame_that_was_changed_is_refused_or_says_other_bytes(content: bytes, at: int, flip: int) -> None:
    """No byte of its head may change unnoticed: it is then what Zstandard makes of it, or an error."""
    frame = bytearray(zstd.stored(content))
    frame[at % len(frame)] ^= flip
    try:
        found = zstd.unpacked(bytes(frame), len(content))
    except zstd.ZstdError:
        return
    assert found == zstd.zstd.decompress(bytes(frame))


def test_one_block_holds_no_more_than_128_kilobytes() -> None:
    """What is longer must be packed."""
    assert zstd.unpacked(zstd.stored(bytes(1 << 17)), 1 << 17) == bytes(1 << 17)
    with pytest.raises(ValueError, match="one block"):
        zstd.stored(bytes((1 << 17) + 1))
