"""Which text do bytes mean that are too many to hold?"""

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.documents.encodings import converted, decode, encoding_of

TEXT = "Zürich – naïve café, déjà vu.\r\n" * 3
ENCODINGS = "utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le cp1252 koi8-r gbk shift_jis euc_jp hz".split()

raws = st.binary(max_size=60) | st.tuples(
    st.text("aé茶Ж–\r\n\0 \U0010f8ff", max_size=30), st.sampled_from(ENCODINGS), st.binary(max_size=2)
).map(lambda given: given[0].encode(given[1], "ignore") + given[2])


def pieces(raw, size):
    """The bytes in blocks of a size, with an empty one among them."""
    return [raw[:size], b"", *(raw[start : start + size] for start in range(size, len(raw), size))]


@given(raws, st.integers(1, 9), st.none() | st.sampled_from([*ENCODINGS, "latin-1", "rot13", "nonsense"]))
@example(codecs.BOM_UTF16_LE + b"\x00\xd8", 1, None)
@example("Größe".encode() + b"\xff", 3, None)
@example(TEXT.encode("cp1252"), 1, None)
@example(b"\x80\x80a\x80", 1, None)
def test_blocks_are_read_as_the_whole_is(raw, size, encoding):
    """Rule, escapes and text are those of `decode`, wherever the blocks are cut and whatever encoding is named."""
    content, chosen = decode(raw, encoding=encoding)
    assert encoding_of(lambda: pieces(raw, size), encoding=encoding) == chosen
    assert b"".join(converted(pieces(raw, size), chosen.rule)) == content


@pytest.mark.parametrize("rule", ["utf-8", "utf-16-le", "windows-1252", "bytes"])
def test_a_block_is_all_that_is_held(rule):
    """The first piece of text is there before the second block is asked for."""
    asked = []

    def source():
        for number in range(3):
            asked.append(number)
            yield b"t\0e\0a\0"

    assert next(converted(source(), rule))
    assert asked == [0]
