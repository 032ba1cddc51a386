"""Which folders are left out though no ignore file names them, and what patterns add to that."""

import pytest

from brimful.documents.skips import Skipped, SourceSettings
from brimful.documents.sources import walk
from brimful.errors import SettingError


@pytest.fixture
def project(tmp_path):
    """A project as people have them, without an ignore file."""
    for name in (
        "src/app.py",
        "pyproject.toml",
        "docs/build/guide.md",
        "node_modules/left/index.js",
        "env/pyvenv.cfg",
        "env/lib/x.py",
        "build/lib/app.py",
        "src/__pycache__/app.txt",
        "target/debug/x.rs",
        "rust/Cargo.toml",
        "rust/target/out.rs",
        "cache/CACHEDIR.TAG",
        "cache/page.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    return tmp_path


def seen(project, **settings):
    """The files that are taken in, and the folders and files that are named as left out."""
    found = list(walk(project, settings=SourceSettings(**settings)))
    left = {each.path: each.reason for each in found if isinstance(each, Skipped)}
    return {each.path for each in found if not isinstance(each, Skipped)}, left


def test_what_nobody_wrote_is_left_out_and_named(project):
    """Dependencies, virtual environments, caches and build output are named; a namesake elsewhere stays."""
    taken, left = seen(project)
    assert taken == {"src/app.py", "pyproject.toml", "docs/build/guide.md", "target/debug/x.rs", "rust/Cargo.toml"}
    names = {"node_modules/", "env/", "build/", "src/__pycache__/", "rust/target/", "cache/"}
    assert left == dict.fromkeys(names, "derived")


def test_they_can_be_let_in(project):
    """`allow` lifts the reason, and an ignore file that keeps a folder is heard."""
    assert "node_modules/left/index.js" in seen(project, allow=("derived",))[0]
    (project / ".gitignore").write_text("!build/\n")
    assert "build/lib/app.py" in seen(project)[0]


def test_patterns_leave_out_and_let_in(project):
    """As in an ignore file; what alone is taken in may be named by its folder."""
    taken, left = seen(project, exclude=("*.toml", "docs/"))
    assert taken == {"src/app.py", "target/debug/x.rs"}
    assert (left["docs/"], left["pyproject.toml"]) == ("excluded", "excluded")
    assert seen(project, include=("docs/", "*.rs"))[0] == {"docs/build/guide.md", "target/debug/x.rs"}
    assert seen(project, include="*.py", exclude="src/")[0] == set()


def test_a_pattern_that_says_nothing_is_an_error():
    """It names the value."""
    with pytest.raises(SettingError, match="exclude"):
        SourceSettings(exclude=(" ",))
