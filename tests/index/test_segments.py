"""Pages: postings come back, and names are read without positions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brimful.index import segments
from brimful.index.segments import OpenPage, Postings, pages_beginning, pages_of, read_page
from brimful.native.terms import letter_lines

postings = st.dictionaries(
    st.text("abé_1", min_size=1, max_size=8).map(str.encode),
    st.sets(st.integers(0, 2**30), min_size=1, max_size=30),
    max_size=20,
)


@given(postings, st.integers(1, 200))
def test_postings_come_back_from_pages_of_any_size(found, size):
    """Each term is on one page with its positions, and a page that is opened for one term gives the same."""
    names = sorted(found)
    counts = [len(found[name]) for name in names]
    positions = np.array([place for name in names for place in sorted(found[name])], np.int64)
    before, segments.PAGE_BYTES = segments.PAGE_BYTES, size
    try:
        pages = list(pages_of(Postings(names, np.concatenate(([0], np.cumsum(counts, dtype=np.int64))), positions)))
    finally:
        segments.PAGE_BYTES = before
    assert [name for page in pages for name in read_page(page.data).names] == names
    for page in pages:
        read = read_page(page.data)
        assert (page.first, page.words) == (read.names[0], letter_lines(b"\n".join(read.names), least=3))
        opened = OpenPage(page.data)
        for name in read.names:
            assert read.of(name).tolist() == opened.of(name).tolist() == sorted(found[name])
            assert opened.count(name) == len(found[name])


@given(postings, st.integers(1, 200), st.text("abé_1", max_size=3).map(str.encode))
def test_an_open_page_knows_what_begins_so(found, size, prefix):
    """The terms with a prefix are found on the pages whose first terms allow it, and on no other."""
    names = sorted(found)
    positions = np.array([place for name in names for place in sorted(found[name])], np.int64)
    ends = np.cumsum([0, *(len(found[name]) for name in names)])
    before, segments.PAGE_BYTES = segments.PAGE_BYTES, size
    try:
        packed = list(pages_of(Postings(names, ends, positions)))
    finally:
        segments.PAGE_BYTES = before
    pages = [OpenPage(page.data) for page in packed]
    some = pages_beginning([page.first for page in packed], prefix)
    known = [name for place in some for name in pages[place].beginning(prefix)]
    assert known == [name for name in names if name.startswith(prefix)]
    assert all(page.count(b"zz") == len(page.of(b"zz")) == 0 for page in pages)
