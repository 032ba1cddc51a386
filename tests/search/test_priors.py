"""Kinds of files that count for less, told of many paths at once."""

from hypothesis import given
from hypothesis import strategies as st

from brimful.search.priors import ONE, FileKinds, prior_for

PARTS = st.sampled_from(
    [
        *("test", "Tests", "spec", "e2e", "fixtures", "conftest.py", "TEST", "teſt", "example", "demos", "tutorial"),
        *("CHANGES", "history", "news.md", "release-notes", "RelNotes", "whatsnew", "changelog.d", "uv.lock", "go.sum"),
        *("x.min.js",),
        *("a.umd.js", "b.map", "x_pb2.py", "y.pb.go", "generated", "z.g.dart", "é", "\n", "/", "/", "_", ".", "a"),
        *("py",),
    ]
)
PATHS = st.lists(PARTS, min_size=1, max_size=6).map("".join)


@given(st.lists(PATHS, max_size=8), st.lists(st.sampled_from([b"test", b"lock", b"example", b"tea"])))
def test_many_paths_at_once_are_told_as_one_by_one(paths, words):
    """Each document counts what the least of its kinds says, unless the question asks for it."""
    wanted = [prior.thousandths if (prior := prior_for(path, words)) else ONE for path in paths]
    assert FileKinds(paths).counted(words).tolist() == wanted
