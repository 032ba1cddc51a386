"""How does a file become documents? Text, and what holds for every format."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.documents.documents import Document
from brimful.documents.loaders import Loaded, SourceMap, is_streamable, load, load_file
from brimful.documents.loaders.loaded import fenced
from brimful.documents.skips import Skipped, SourceSettings
from brimful.documents.sources import Found, walk

EXTENSIONS = "txt md html pdf docx pptx xlsx epub ipynb eml mbox json jsonl csv log py".split()


@pytest.mark.parametrize(
    ("path", "raw", "kind", "language"),
    [
        ("a.txt", b"Tea at four.\r\n", "prose", "text"),
        ("a.md", b"# Tea\n", "prose", "markdown"),
        ("a.rst", b"Tea\n===\n", "prose", "rst"),
        ("a.py", b"import os\n", "code", "python"),
        ("a.csv", b"a,b\n1,2\n", "data", "csv"),
        ("a.tsv", b"a\tb\n1\t2\n", "data", "tsv"),
        ("a.json", b'{"a": 1}', "data", "json"),
        ("a.jsonl", b'{"a": 1}\n{"a": 2}\n', "data", "jsonl"),
        ("a.log", b"2024-05-01 10:00:00 INFO up\n", "data", "log"),
        ("a.xml", b"<a/>", "data", "xml"),
        ("empty.txt", b"", "prose", "text"),
    ],
)
def test_text_is_stored_as_it_is(path: str, raw: bytes, kind: str, language: str) -> None:
    """Prose, code and data in UTF-8 keep their bytes, so that a citation is a place in the file."""
    assert load(path, raw) == [Loaded(path, raw, kind, language, "utf-8")]  # type: ignore[arg-type]


def test_other_encodings_are_converted_and_named() -> None:
    """A UTF-16 table becomes a UTF-8 table, and the document says so."""
    (loaded,) = load("a.csv", "a,b\n1,é\n".encode("utf-16"))
    assert isinstance(loaded, Loaded)
    assert (loaded.content, loaded.rule, loaded.is_verbatim) == ("a,b\n1,é\n".encode(), "utf-16-le-bom", False)


def test_binary_and_unknown_encodings_are_skipped_unless_allowed() -> None:
    """What can't be read as text is a skip; allowed, it is stored with every byte accounted for."""
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    russian = "Съешь ещё этих мягких булок".encode("koi8-r")
    assert [item.reason for item in load("a", picture) if isinstance(item, Skipped)] == ["binary"]
    assert [item.reason for item in load("a.txt", russian) if isinstance(item, Skipped)] == ["encoding"]
    for raw, reason in ((picture, "binary"), (russian, "encoding")):
        (loaded,) = load("a", raw, settings=SourceSettings(allow=(reason,)))  # type: ignore[arg-type]
        assert isinstance(loaded, Loaded)
        assert loaded.rule == "bytes"
    (loaded,) = load("a.txt", russian, settings=SourceSettings(encoding="koi8-r"))
    assert isinstance(loaded, Loaded)
    assert loaded.content.decode() == "Съешь ещё этих мягких булок"


@given(st.sampled_from(EXTENSIONS), st.binary(max_size=300))
def test_no_bytes_make_a_loader_raise(extension: str, raw: bytes) -> None:
    """Garbage under any name becomes documents that are valid UTF-8, or skips; never an exception."""
    for item in load(f"a.{extension}", raw):
        assert item.path.startswith("a.")
        if isinstance(item, Loaded):
            Document(item.path, item.content, time=item.time, kind=item.kind, language=item.language)


@given(st.sampled_from(EXTENSIONS), st.text(max_size=300))
def test_no_text_makes_a_loader_raise(extension: str, text: str) -> None:
    """The same for any text, and loading it twice gives the same."""
    raw = text.encode("utf-8", "replace")
    assert load(f"a.{extension}", raw) == load(f"a.{extension}", raw)


def test_formats_are_known_without_an_extension() -> None:
    """A page, a mailbox and a chat are recognised by what they hold."""
    assert [item.rule for item in load("page", b"<!doctype html><p>Hi") if isinstance(item, Loaded)] == ["html:utf-8"]
    mailbox = b"From a@b Thu Jan  1 00:00:00 2024\nFrom: a@b\nSubject: x\n\nHi\n"
    assert [item.path for item in load("Inbox", mailbox)] == ["Inbox#0001"]
    assert [item.path for item in load("x", b'[{"role": "user", "content": "Hi"}]')] == ["x#0001"]


def test_a_binary_costs_one_block(tmp_path: Path) -> None:
    """A large file that turns out to be binary is given up after its first block."""
    (tmp_path / "film").write_bytes(b"\x7fELF" + bytes(3_000_000))
    (found,) = walk(tmp_path)
    assert isinstance(found, Found)
    assert load_file(found) == [Skipped("film", "binary", "its first bytes are those of a binary format")]


def test_what_may_be_read_in_blocks() -> None:
    """Plain text may be streamed into a store; what must be converted may not."""
    assert is_streamable("a.txt", b"tea " * 100)
    assert is_streamable("data.json", b'[{"a": 1}')
    for path, head in (("a.html", b"<p>"), ("a.pdf", b"%PDF-"), ("c.json", b'[{"mapping": {'), ("a", b"\x7fELF")):
        assert not is_streamable(path, head)


def test_a_source_map_finds_the_labels_of_a_span() -> None:
    """A span has all labels that it touches."""
    pages = SourceMap((4, 10, 20), ("page 1", "page 2", "page 3"), (None, 7, None))
    assert pages.between(9, 20) == ("page 1", "page 2")
    assert pages.between(0, 21) == ("page 1", "page 2", "page 3")


def test_a_fence_is_longer_than_what_it_holds() -> None:
    """Code that holds a fence can't end its own block."""
    assert fenced("a\n````\nb", language="py") == "`````py\na\n````\nb\n`````\n"
