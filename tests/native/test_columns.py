"""The kernels for packed numbers against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.errors import CorruptError
from brimful.native import columns as kernels
from tests.native import columns as oracle

numbers = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**40), st.integers(0, 2**62)), max_size=200)


@given(numbers)
def test_packed_bytes_are_the_same(values):
    """Any numbers are packed as NumPy packs them, and read back."""
    column = np.array(values, np.int64)
    packed, _ = oracle.pack_numbers(column)
    assert kernels.pack_numbers(column) == packed
    assert kernels.unpack_numbers(packed).tolist() == oracle.unpack_numbers(packed).tolist() == values


@given(st.lists(numbers, max_size=8), st.sampled_from([np.int64, np.int32]))
def test_columns_are_packed_as_their_differences(given_columns, kind):
    """Each column begins anew, and the ends are where the bytes of each end."""
    found = [np.sort(np.array(values, np.int64) % (1 << 31)).astype(kind) for values in given_columns]
    offsets = np.cumsum([0, *map(len, found)])
    packed, ends = kernels.pack_columns(np.concatenate([*found, np.zeros(0, kind)]), offsets)
    parts = [oracle.pack_numbers(np.diff(each.astype(np.int64), prepend=0))[0] for each in found]
    assert packed == b"".join(parts)
    assert ends.tolist() == np.cumsum([0, *map(len, parts)]).tolist()


NAMES = st.dictionaries(st.text("ab\u00e9_1", min_size=1, max_size=5).map(str.encode), numbers, min_size=1, max_size=12)


def page_of(found):
    """The names with their columns, as a page."""
    names = sorted(found)
    columns = [np.sort(np.array(found[name], np.int64) % (1 << 31)) for name in names]
    ended = np.cumsum([len(column) for column in columns])
    packed, _ = kernels.pack_columns(np.concatenate(columns), np.array([0, *ended]))
    return b"\n%b\n" % b"\n".join(names), ended, packed


def packed_page(names, ended, packed):
    """The same as it lies in memory: counts and columns one after the other."""
    counts = kernels.pack_numbers(np.diff(ended, prepend=0))
    return kernels.PackedPage(names, counts + packed, (0, len(counts), len(counts) + len(packed)))


@given(st.lists(st.one_of(st.none(), NAMES), min_size=1, max_size=5), st.data())
def test_the_columns_of_a_name_are_those_of_all_pages(given_pages, data):
    """Every page gives its own column of a name, whatever stands before it; a page that lacks it gives none."""
    made = [None if found is None else page_of(found) for found in given_pages]
    pages = kernels.OpenPages([None if page is None else packed_page(*page) for page in made])
    known = sorted({name for found in given_pages if found for name in found})
    for name in (*known, data.draw(st.text("ab\u00e9_1", max_size=5).map(str.encode))):
        wanted = [np.zeros(0, np.int64) if page is None else oracle.column_in_page(*page, name) for page in made]
        found = pages.of(name)
        assert [column.tolist() for column in found] == [column.tolist() for column in wanted]
        assert pages.counts(name).tolist() == found.sizes == [len(column) for column in wanted]
        again = kernels.Columns(column.copy() for column in found)
        assert again.total == found.total
        assert kernels.unite_all([found, again]).sizes == [len(set(column.tolist())) for column in wanted]


@given(
    st.lists(
        st.one_of(st.none(), st.sets(st.text("aAb'\u00e91_", min_size=1, max_size=6).map(str.encode), min_size=1)),
        min_size=1,
        max_size=4,
    ),
    st.text("ab'", max_size=2).map(str.encode),
    st.integers(0, 6),
    st.integers(0, 3),
)
def test_names_of_about_so_many_letters_are_found(given_pages, prefix, letters, longer):
    """Those in letters by their length; beside them none that is in ASCII and has no apostrophe."""
    made = [None if found is None else page_of({name: [1] for name in found}) for found in given_pages]
    pages = kernels.OpenPages([None if page is None else packed_page(*page) for page in made])
    names = pages.near(prefix, letters, longer=longer)
    every = {name for page in given_pages if page for name in page if name.startswith(prefix)}
    assert sorted(pages.beginning(prefix)) == sorted(
        name for page in given_pages if page for name in page if name.startswith(prefix)
    )
    assert set(names) <= every
    for name in every:
        is_near = abs(len(name.decode()) - letters) <= longer
        if name.isalpha():
            assert (name in names) == is_near
        elif is_near and (b"'" in name or not name.isascii()):
            assert name in names
        elif name.isascii() and b"'" not in name:
            assert name not in names


def test_a_page_that_says_more_than_it_has_is_refused():
    """More positions than bytes are damage."""
    page = packed_page(b"\ntea\n", np.array([2]), b"\x05")
    one = kernels.OpenPages([page])
    with pytest.raises(CorruptError, match="more positions"):
        one.of(b"tea")


@pytest.mark.parametrize("place", [1 << 31, 1 << 40, (1 << 63) - 1])
def test_places_beyond_any_segment_are_refused(place):
    """A place takes four bytes, as no axis is longer; what says more is damaged."""
    packed, _ = kernels.pack_columns(np.array([5, place]), np.array([0, 2]))
    pages = kernels.OpenPages([packed_page(b"\ntea\n", np.array([2]), packed)])
    with pytest.raises(CorruptError, match="no segment reaches"):
        pages.of(b"tea")


@given(
    st.one_of(st.binary(max_size=30), st.lists(st.integers(0, 9)).map(bytes)), st.binary(max_size=80), st.integers(0, 9)
)
def test_pages_that_nobody_wrote_are_read_without_harm(counts, packed, lines):
    """Counts and columns of any bytes give numbers that are there, or an error; nothing else is read."""
    names = [b"%d" % number for number in range(lines)]
    page = kernels.PackedPage(
        b"\n%b\n" % b"\n".join(names), counts + packed, (0, len(counts), len(counts) + len(packed))
    )
    for at, name in enumerate(names):
        try:
            (column,) = kernels.OpenPages([page]).of(name)
        except CorruptError:
            continue
        ends = np.cumsum([0, *oracle.unpack_numbers(counts).tolist()])
        wanted = np.cumsum(oracle.unpack_numbers(packed)[ends[at] : ends[at + 1]])
        assert column.tolist() == wanted.tolist()


def test_names_without_their_newlines_are_refused():
    """What the kernel relies on is checked before it is called."""
    for names in (b"", b"tea\n", b"\ntea", b"tea"):
        with pytest.raises(ValueError, match="newline"):
            kernels.PackedPage(names, b"\x01\x05", (0, 1, 2))


def test_parts_outside_of_a_page_are_refused():
    """Counts and columns lie inside of what is handed over, one behind the other."""
    for parts in ((-1, 1, 2), (0, 3, 2), (0, 1, 3)):
        with pytest.raises(ValueError, match="inside"):
            kernels.PackedPage(b"\ntea\n", b"\x01\x05", parts)


def test_columns_outside_of_their_numbers_are_refused():
    """Columns are cut out of numbers that are there."""
    for sizes in ([2, 2], [-1, 3]):
        with pytest.raises(ValueError, match="inside"):
            kernels.Columns.cut(np.arange(3), np.array(sizes))


@given(st.lists(st.lists(st.lists(st.integers(0, 40)), min_size=3, max_size=3), min_size=1, max_size=10))
def test_columns_of_segments_become_one_each(groups):
    """Few groups or many: of each segment all numbers, each once."""
    given_groups = [kernels.Columns([np.array(sorted(column), np.int64) for column in group]) for group in groups]
    united = [sorted({number for column in columns for number in column}) for columns in zip(*groups, strict=True)]
    assert [column.tolist() for column in kernels.unite_all(given_groups)] == united


@given(st.lists(st.lists(st.lists(st.integers(0, 40)), min_size=3, max_size=3), min_size=1, max_size=4))
def test_numbers_of_others_are_left_out(groups):
    """Of each segment the numbers of the first that none of the others has; one that is there twice stays so."""
    given_groups = [kernels.Columns([np.array(sorted(column), np.int64) for column in group]) for group in groups]
    wanted = [
        [number for number in sorted(column) if not any(number in other for other in others)]
        for column, *others in zip(*groups, strict=True)
    ]
    assert [column.tolist() for column in kernels.leave_out(given_groups[0], given_groups[1:])] == wanted


@given(st.binary(max_size=400))
def test_any_bytes_are_unpacked_without_harm(packed):
    """Bytes that nobody packed give as many numbers as they have last bytes; the same sums as NumPy's."""
    found = kernels.unpack_numbers(packed)
    assert len(found) == sum(code < 0x80 for code in packed)
    with np.errstate(over="ignore"):
        assert kernels.unpack_numbers(packed, sums=True).tolist() == np.cumsum(found).tolist()


def test_columns_that_do_not_ascend_are_refused():
    """What would take more room than the largest number is never written."""
    for column in ([3, 2], [-1], [0, 5, 4]):
        with pytest.raises(ValueError, match="ascend"):
            kernels.pack_columns(np.array(column), np.array([0, len(column)]))


def test_offsets_outside_their_columns_are_refused():
    """No kernel is called with sizes that its arrays do not have."""
    for offsets in ([0, 4], [-1, 2], [0, 2, 1]):
        with pytest.raises(ValueError, match="offsets"):
            kernels.pack_columns(np.arange(3), np.array(offsets))


@given(st.lists(st.lists(st.integers(-5, 40), max_size=12).map(sorted), max_size=10))
def test_ascending_columns_become_one(columns):
    """Few columns or many, empty ones, numbers that several have."""
    arrays = [np.array(column, np.int64) for column in columns]
    assert kernels.unite(arrays).tolist() == sorted({number for column in columns for number in column})
