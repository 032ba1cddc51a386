"""Which files belong to the corpus?"""

import os
import socket
import subprocess
from pathlib import Path

import pathspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.documents.ignores import IgnoreRules
from brimful.documents.skips import Skipped, SourceSettings
from brimful.documents.sources import Found, root_of, walk
from brimful.errors import BrimfulError


def plant(root: Path, **files: str) -> None:
    """Write files given as path="text" with __ for a slash."""
    for name, text in files.items():
        put(root, name.replace("__", "/"), text)


def put(root: Path, name: str, text: str = "text") -> None:
    """Write one file and the folders above it."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def paths(root: Path | str, **settings: object) -> list[str]:
    """What a walk finds."""
    chosen = SourceSettings(**settings)  # type: ignore[arg-type]
    return [item.path for item in walk(root, settings=chosen) if isinstance(item, Found)]


def skips(root: Path | str, **settings: object) -> dict[str, str]:
    """What a walk leaves out, and why."""
    chosen = SourceSettings(**settings)  # type: ignore[arg-type]
    return {item.path: item.reason for item in walk(root, settings=chosen) if isinstance(item, Skipped)}


def test_files_come_in_the_order_of_their_paths_bytes(tmp_path: Path) -> None:
    """The order is that of whole paths, so `a-b` comes before `a/b` and `a0` after it."""
    names = ["a/b.txt", "a-b", "a.txt", "a0", "b/c/d", "b/c.txt", "é", "z", "\U0001f600", "\uffee"]
    for name in names:
        put(tmp_path, name)
    assert paths(tmp_path) == sorted(names, key=str.encode)


def test_a_found_file_has_its_stat(tmp_path: Path) -> None:
    """Size, time, inode and device are those of the file, so an unchanged file needs no more than a stat."""
    put(tmp_path, "a.txt", "four")
    (found,) = walk(tmp_path)
    assert isinstance(found, Found)
    status = (tmp_path / "a.txt").stat()
    assert (found.size, found.mtime_ns, found.inode) == (4, status.st_mtime_ns, status.st_ino)
    assert Path(found.location) == (tmp_path / "a.txt").resolve()


def test_ignore_files_hold_for_their_folder_and_below(tmp_path: Path) -> None:
    """Rules nest, the nearer file wins, a negation lets back in, and .ignore overrules .gitignore."""
    for name in ("a.log", "keep.log", "sub/b.log", "sub/c.txt", "build/x.txt", "sub/build", "top.txt", "sub/top.txt"):
        put(tmp_path, name)
    put(tmp_path, ".gitignore", "*.log\n!keep.log\nbuild/\n/top.txt\n")
    put(tmp_path, "sub/.gitignore", "!b.log\nc.txt\n")
    put(tmp_path, "sub/.ignore", "!c.txt\n")
    assert paths(tmp_path) == ["keep.log", "sub/b.log", "sub/build", "sub/c.txt", "sub/top.txt"]
    assert {path for path, reason in skips(tmp_path).items() if reason == "ignored"} == {"a.log", "build/", "top.txt"}
    assert "build/x.txt" in paths(tmp_path, allow=("ignored",))


def test_ignore_rules_agree_with_git(tmp_path: Path) -> None:
    """Git itself, asked about the same tree, leaves out the same files."""
    rules = "*.l\n!keep.l\n/only\nsub/*.txt\n**/deep/*.c\nx/**/y\nz/**\n*~\n"
    rules += "\\#hash\n[ab]?.h\n[!c]z.h\n foo \nq\\ \na*b*c\nw/\n"
    names = (
        "a.l keep.l d/keep.l only d/only sub/a.txt sub/d/a.txt deep/a.c d/deep/b.c d/deep/e/b.c x/y x/m/y x/m/n/y z/a "
        "z/b/c t~ #hash d/#hash a1.h b2.h c3.h cz.h dz.h axbxc abc acb w/k d/w/k w2 v/w"
    ).split()
    for name in names:
        put(tmp_path, name)
    put(tmp_path, ".gitignore", rules)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["git", "-c", "core.quotepath=off", "ls-files", "-zco", "--exclude-per-directory=.gitignore"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert paths(tmp_path) == sorted(set(listed.split("\0")) - {"", ".gitignore"})


@given(
    st.lists(st.text("ab*?/!.", min_size=1, max_size=6), max_size=5),
    st.lists(st.sampled_from(["a", "b", "ab", "a.b", "ba"]), min_size=1, max_size=3),
)
def test_ignore_rules_agree_with_pathspec(lines: list[str], parts: list[str]) -> None:
    """For single paths another implementation of the rules gives the same verdict."""
    lines = [
        line for line in lines if "//" not in line and "***" not in line and line.strip("!/") and "!" not in line[1:]
    ]
    path = "/".join(parts)
    theirs = pathspec.GitIgnoreSpec.from_lines(lines).check_file(path).include
    folders = ["/".join(parts[:depth]) + "/" for depth in range(1, len(parts))]
    if "!" in "".join(lines) and folders:
        return  # pathspec looks at one path only; a walk does not enter an ignored folder
    ours = IgnoreRules.parse("\n".join(lines))
    left_out = any(ours.verdict(folder) for folder in folders) or bool(ours.verdict(path))
    assert left_out == bool(theirs), (lines, path)


def test_a_hostile_ignore_rule_costs_no_more_than_a_plain_one() -> None:
    """Twenty stars against a long name end at once, since no star gives anything back."""
    rules = IgnoreRules.parse("*a" * 20 + "b\n" + "**/a/" * 20 + "b\n[\n[z-a]\n\\\n!\n/\n")
    assert rules.verdict("a" * 250) is None


def test_hidden_binary_and_large_files_are_listed(tmp_path: Path) -> None:
    """Each is skipped with its reason and taken when the reason is allowed."""
    for name in (".hidden", ".git/config", "cat.png", "big.txt", "notes.md"):
        put(tmp_path, name, "x" * (100 if name == "big.txt" else 5))
    assert paths(tmp_path, max_bytes=50) == ["notes.md"]
    assert skips(tmp_path, max_bytes=50) == {
        ".git/": "hidden",
        ".hidden": "hidden",
        "big.txt": "too_large",
        "cat.png": "binary",
    }
    allowed = paths(tmp_path, max_bytes=50, allow=("hidden", "binary", "too_large"))
    assert allowed == [".git/config", ".hidden", "big.txt", "cat.png", "notes.md"]


@pytest.mark.parametrize(
    "name",
    (".env .env.local prod.env id_rsa id_ed25519 .netrc .pgpass server.key cert.p12 wallet.kdbx credentials.json "
    "client_secret_1.json service-account.json secrets.yaml .git-credentials ID_RSA").split(),
)  # fmt: skip
def test_a_secrets_name_keeps_it_out(tmp_path: Path, name: str) -> None:
    """A secret is listed as one, also where hidden files are allowed; only its own reason lets it in."""
    put(tmp_path, name)
    assert skips(tmp_path, allow=("hidden",)) == {name: "secret"}
    assert paths(tmp_path, allow=("hidden", "secret")) == [name]
    assert skips(tmp_path / name) == {name: "secret"}


def test_links_are_followed_inside_the_root_only(tmp_path: Path) -> None:
    """A link to a file inside is read; links out, to folders inside, to nothing and in circles are listed."""
    root = tmp_path / "root"
    plant(root, a="a", sub__b="b")
    plant(tmp_path, out__secret="x")
    (root / "alias").symlink_to("a")
    (root / "out_file").symlink_to("../out/secret")
    (root / "out_folder").symlink_to("../out")
    (root / "inner").symlink_to("sub")
    (root / "sub" / "up").symlink_to("..")
    (root / "sub" / "self").symlink_to("self")
    (root / "sub" / "ping").symlink_to("pong")
    (root / "sub" / "pong").symlink_to("ping")
    (root / "nothing").symlink_to("no-such-file")
    (root / "above").symlink_to(tmp_path)
    assert paths(root) == ["a", "alias", "sub/b"]
    assert skips(root) == {
        "above/": "loop",
        "inner/": "link",
        "nothing": "broken",
        "out_file": "outside",
        "out_folder/": "outside",
        "sub/ping": "loop",
        "sub/pong": "loop",
        "sub/self": "loop",
        "sub/up/": "loop",
    }
    assert paths(root, allow=("outside",)) == ["a", "alias", "out_file", "out_folder/secret", "sub/b"]


def test_a_link_does_not_disguise_a_secret(tmp_path: Path) -> None:
    """A link is judged by the name of the file it leads to as well."""
    put(tmp_path, ".env")
    (tmp_path / "notes.txt").symlink_to(".env")
    assert skips(tmp_path) == {".env": "secret", "notes.txt": "secret"}


def test_special_files_are_listed_and_never_opened(tmp_path: Path) -> None:
    """A FIFO without a writer would block for ever; it, a socket, and a FIFO called .gitignore do no harm."""
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / ".gitignore")
    put(tmp_path, "a.txt")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tmp_path)  # the name of a socket may not be long
        server.bind("sock")
        os.chdir(here)
    assert paths(tmp_path) == ["a.txt"]
    assert skips(tmp_path, allow=("hidden",)) == {".gitignore": "special", "pipe": "special", "sock": "special"}


def test_an_unreadable_folder_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be listed is one skip; the rest is walked."""
    plant(tmp_path, closed__a="a", open__b="b")
    plain_scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return plain_scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert paths(tmp_path) == ["open/b"]
    assert skips(tmp_path) == {"closed/": "unreadable"}


def test_odd_names(tmp_path: Path) -> None:
    """Newlines, quotes and blanks are part of a name; bytes that are no UTF-8 are shown escaped and skipped."""
    for name in ("two\nlines.txt", " blank ", "quo\"te'", "-dash", "tab\t", "back\\slash"):
        put(tmp_path, name)
    with open(os.fsencode(tmp_path) + b"/bad\xff.txt", "wb"):  # noqa: PTH123 - a name that no str has
        pass
    put(tmp_path, "archive.mbox#0003")
    assert paths(tmp_path) == sorted(["two\nlines.txt", " blank ", "quo\"te'", "-dash", "tab\t", "back\\slash"])
    assert skips(tmp_path) == {"bad\\xff.txt": "name", "archive.mbox#0003": "name"}


def test_globs_and_single_files(tmp_path: Path) -> None:
    """A glob finds what it names below its last plain folder; a named file is taken though hidden or ignored."""
    plant(tmp_path, a="", docs__b="", docs__c__d="")
    for name in ("x.md", "docs/y.md", "docs/c/z.md", "docs/c/w.txt", ".dot.md", "odd[1].md"):
        put(tmp_path, name)
    put(tmp_path, ".gitignore", "x.md\n")
    assert paths(f"{tmp_path}/docs/**/*.md") == ["c/z.md", "y.md"]
    assert paths(f"{tmp_path}/docs/*.md") == ["y.md"]
    assert paths(f"{tmp_path}/**/*.md") == ["docs/c/z.md", "docs/y.md", "odd[1].md"]
    assert paths(f"{tmp_path}/odd[1].md") == ["odd[1].md"]
    assert paths(f"{tmp_path}/x.md") == ["x.md"]
    assert paths(f"{tmp_path}/.dot.md") == [".dot.md"]
    assert root_of(f"{tmp_path}/docs/../docs").path == (tmp_path / "docs").resolve()


def test_a_relative_glob_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder before its first wildcard, a glob is looked for in the current one."""
    plant(tmp_path, **{"a.py": "", "b.txt": ""})
    monkeypatch.chdir(tmp_path)
    assert paths("*.py") == ["a.py"]


def test_what_can_not_be_used_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    """A missing root, an open bracket and an unknown reason are the caller's to correct."""
    with pytest.raises(BrimfulError, match="check the path"):
        root_of(tmp_path / "nowhere")
    with pytest.raises(BrimfulError, match="close its brackets"):
        list(walk(f"{tmp_path}/[a"))
    with pytest.raises(BrimfulError, match="reason to allow"):
        SourceSettings(allow=("loop",))
    with pytest.raises(BrimfulError, match="max_bytes"):
        SourceSettings(max_bytes=0)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (".aws/config", "secret"),
        ("a/.ssh/known_hosts", "secret"),
        ("a/id_rsa", "secret"),
        (".cache/notes.txt", "hidden"),
        ("a/.notes.txt", "hidden"),
        ("build/out.txt", "ignored"),
        ("a/deep/draft.txt", "ignored"),
    ],
)
def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path, target: str, reason: str) -> None:
    """A plain name that links to a hidden, ignored or secret place, by file or folder, is left out for that reason."""
    put(tmp_path, target)
    put(tmp_path, ".gitignore", "build/\n")
    put(tmp_path, "a/.gitignore", "draft.txt\n")
    (tmp_path / "notes.txt").symlink_to(target)
    assert skips(tmp_path)["notes.txt"] == reason
    assert "notes.txt" not in paths(tmp_path)
    assert "notes.txt" in paths(tmp_path, allow=("hidden", "ignored", "secret"))


def test_a_link_out_that_is_allowed_still_leads_to_no_secret(tmp_path: Path) -> None:
    """Allowing `outside` does not allow what lies in a folder for credentials, be it linked as a file or a folder."""
    put(tmp_path, "home/.aws/config")
    put(tmp_path, "home/plain/tea.txt")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").symlink_to(tmp_path / "home/.aws/config")
    (root / "b").symlink_to(tmp_path / "home/.aws")
    (root / "c").symlink_to(tmp_path / "home/plain")
    assert paths(root, allow=("outside",)) == ["c/tea.txt"]
    assert skips(root, allow=("outside",)) == {"a.txt": "secret", "b/": "secret"}


def test_a_credential_folder_named_itself_is_left_out(tmp_path: Path) -> None:
    """Naming such a folder, or a file in it, does not let it in; allowing `secret` does."""
    put(tmp_path, ".aws/config")
    assert skips(tmp_path / ".aws") == {"./": "secret"}
    assert skips(tmp_path / ".aws/config") == {"config": "secret"}
    assert paths(tmp_path / ".aws", allow=("secret",)) == ["config"]
