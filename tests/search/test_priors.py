"""Kinds of files that count for less, told of many paths at once."""

import re

from hypothesis import given
from hypothesis import strategies as st

from brimful.search.priors import ONE, FileKinds, Translations, prior_for

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
    """The look for hints before the patterns changes nothing, also beyond ASCII."""
    wanted = [prior.thousandths if (prior := prior_for(path, words)) else ONE for path in paths]
    assert FileKinds.of(paths).counted(words).tolist() == wanted


LOCALES = st.sampled_from(["de", "en", "en-US", "pt_BR", "fr", "is", "docs", "DE", "e", "en-", "zh-Hans"])
TREES = st.lists(st.tuples(LOCALES, st.sampled_from(["a.md", "b/c.md", "d.txt"])), max_size=9)


@given(TREES, st.sampled_from(["en", "de", "pt", "xx"]))
def test_translations_are_what_has_the_same_path_in_another_language(parts, language):
    """A folder that is a language's code tells it; what has no text in the asked language stays as it is."""
    paths = sorted({f"manual/{locale}/{name}" for locale, name in parts})
    told = {path: code[1] for path in paths if (code := re.fullmatch(r"([a-z]{2})([-_]\w{2,4})?", path.split("/")[1]))}
    rests = {path.split("/", 2)[2] for path, code in told.items() if code == language}
    wanted = [
        row for row, path in enumerate(paths) if told.get(path, language) != language and path.split("/", 2)[2] in rests
    ]
    assert Translations.of(paths, unmarked="en").into_others(language)[0].tolist() == wanted


def test_a_language_may_stand_before_the_ending_or_at_the_top():
    """`guide.fr.md` beside `guide.en.md`, `de/` beside `en/`; a folder that happens to have two letters is none."""
    paths = ["de/x.md", "en/x.md", "guide.en.md", "guide.fr.md", "is/odd.js", "v1.2.md"]
    assert Translations.of(paths, unmarked="en").into_others("en")[0].tolist() == [0, 3]
    assert Translations.of([], unmarked="en").into_others("en")[0].tolist() == []


def test_one_without_a_language_beside_others_is_in_that_of_the_corpus():
    """`README.md` beside `README.zh-CN.md`: Chinese questions mean the second, others the first."""
    found = Translations.of(["README.md", "README.zh-CN.md", "notes.md"], unmarked="en")
    assert found.into_others("en")[0].tolist() == [1]
    assert found.into_others("zh")[0].tolist() == [0]
    assert found.into_others("fr")[0].tolist() == []
