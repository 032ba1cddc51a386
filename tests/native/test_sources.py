"""The kernels for strings, comments and brackets of a source, against patterns and sorts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native.sources import mask_source, pair_brackets
from brimful.outline import masking
from brimful.outline.masking import Brackets, mask

READ_BY_KERNEL = sorted(name for name in masking._PATTERNS if masking._readers(name) is not None)
PARTS = st.sampled_from(
    [
        *("//", "/*", "*/", "/", "*", "#", "# define X", "\\", "\\\n", "\\\r\n", "\\\r", "\n", "\r\n", "'", '"', "`"),
        *('"""', "'''", 'R"(', 'R"x(', ')x"', ')"', 'uR"abcdefghijklmnop(', 'R"abcdefghijklmnopq(', "L'", "0'", "f'"),
        *("a", " ", "x = 1;", "(", ")", "[", "]", "{", "}", "é", "0", "\\'", '\\"', "\t", "\v", "\x00", "R", '"" '),
    ]
).map(str.encode)
SOURCES = st.lists(PARTS | st.binary(max_size=2), max_size=40).map(b"".join)


@given(SOURCES, st.sampled_from(READ_BY_KERNEL))
@example(b'x = """a\\', "python")
@example(b'R"(a)', "cpp")
@example(b"", "c")
@example(b'"\\', "c")
@example(b"#\\", "c")
def test_strings_and_comments_are_those_of_the_pattern(content, language):
    """The kernel tells any bytes as the language's pattern does, or says that it can't."""
    found, wanted = mask(content, language), masking._masked_by_pattern(content, language)
    assert found.code == wanted.code
    for name in ("starts", "ends", "kinds"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name


def test_the_kernel_reads_the_languages_it_is_for():
    """C, C++, Go, Java, Python and what only has comments are read by it; a lone backslash at the end is not told."""
    assert READ_BY_KERNEL == ["c", "cpp", "go", "hash", "java", "python"]
    given_to_it = masking._readers("python"), masking._table_of_kinds("python")
    assert mask_source(b'"""a\\', *given_to_it) is None
    assert mask_source(b'"""a', *given_to_it) is not None


def test_tables_that_are_not_of_all_bytes_are_refused():
    """Sizes and types are checked before the kernel reads anything."""
    table = np.zeros(256, np.uint8)
    with pytest.raises(ValueError, match="every byte"):
        mask_source(b"x", table, table)
    with pytest.raises(ValueError, match="opens or closes"):
        pair_brackets(b"x", bytes(255))


def paired(code):
    """Openers, closers and depths, by the level of each bracket: an opener and the closer behind it on one level."""
    depth, levels = 0, {}
    openers, depths = [], []
    for place, byte in enumerate(code):
        if byte in b"([{":
            depth += 1
            openers.append(place)
            depths.append(depth)
            levels.setdefault(depth, []).append((place, True))
        elif byte in b")]}":
            levels.setdefault(depth, []).append((place, False))
            depth -= 1
    closes = {}
    for turns in levels.values():
        for (place, opens), (other, again) in pairwise(turns):
            if opens and not again:
                closes[place] = other
    return openers, [closes.get(place, -1) for place in openers], depths


@given(st.lists(st.sampled_from([b"(", b")", b"[", b"]", b"{", b"}", b"x", b" "]), max_size=60).map(b"".join))
@example(b")(")
@example(b"(" * 3_000)
def test_brackets_are_paired_by_their_level(code):
    """A closer closes the opener before it that is as deep, in order or not; others are open, or close nothing."""
    found = Brackets(code)
    assert found._pairs == paired(code)
    for opener, close in zip(*found._pairs[:2], strict=True):
        assert found.close_of(opener) == (None if close < 0 else close)
        assert close < 0 or found.open_of(close) == opener
