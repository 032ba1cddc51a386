"""A compressed text is read as the text, within limits."""

import bz2
import gzip
import lzma
from functools import partial

import pytest

import brimful
from brimful.documents.loaders import Loaded, load, zstd
from brimful.documents.skips import Skipped, SourceSettings

TEXT = b".TH TEA 1\n.SH NAME\ntea \\- a drink\n" * 40
PACKED = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: True}),
}


@pytest.mark.parametrize("packing", PACKED)
def test_a_packed_text_is_the_text(packing):
    """By the name inside it has its kind, by its own it is cited, and the rule says both."""
    (loaded,) = load(f"man/tea.md.{packing}", PACKED[packing](TEXT))
    assert isinstance(loaded, Loaded)
    assert (loaded.path, loaded.content, loaded.language) == (f"man/tea.md.{packing}", TEXT, "markdown")
    assert loaded.rule == f"{packing}:utf-8"
    assert not loaded.is_verbatim


@pytest.mark.parametrize("packing", PACKED)
def test_one_behind_the_other_is_one(packing):
    """Logs are appended to packed, stream after stream."""
    (loaded,) = load(f"a.log.{packing}", PACKED[packing](TEXT) + PACKED[packing](b"more\n"))
    assert loaded.content == TEXT + b"more\n"


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize(
    ("name", "content", "settings", "reason"),
    [
        ("a.txt", b"x" * 2_000, SourceSettings(max_unpacked_bytes=1_000), "too_large"),
        ("a.txt", bytes(range(256)) * 20, SourceSettings(), "binary"),
        ("a.tar", TEXT, SourceSettings(), "binary"),
    ],
)
def test_what_is_no_text_is_named(packing, name, content, settings, reason):
    """Too much of it, a binary inside, an archive: each with its reason."""
    (skipped,) = load(f"{name}.{packing}", PACKED[packing](content), settings=settings)
    assert isinstance(skipped, Skipped)
    assert (skipped.path, skipped.reason) == (f"{name}.{packing}", reason)


@pytest.mark.parametrize("packing", PACKED)
def test_a_broken_one_is_named(packing):
    """Cut short, bent, or something else altogether."""
    whole = PACKED[packing](TEXT)
    for broken in (whole[:-9], whole[: len(whole) // 2], b"no such thing"):
        (found,) = load(f"a.txt.{packing}", broken)
        assert isinstance(found, Skipped)
        assert found.reason == "malformed"


@pytest.mark.parametrize("packing", PACKED)
def test_a_bomb_costs_no_more_than_its_limit(packing):
    """A hundred megabytes of nothing in a hundred kilobytes end at the limit."""
    (skipped,) = load(f"a.txt.{packing}", PACKED[packing](bytes(100_000_000)))
    assert (skipped.reason, "max_whole_bytes" in skipped.detail) == ("too_large", True)


def test_a_window_of_zst_has_a_limit():
    """A frame that asks for more memory than 128 MB is refused, whatever it holds."""
    frame = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
    (skipped,) = load("a.txt.zst", frame.compress(TEXT) + frame.flush())
    assert skipped.reason == "malformed"


def test_a_packed_file_is_added_found_and_verified(tmp_path):
    """A folder's manual pages and logs are in the corpus, and a receipt is verified against the files."""
    folder = tmp_path / "man"
    folder.mkdir()
    (folder / "tea.1.gz").write_bytes(gzip.compress(TEXT + b"The samovar boils.\n"))
    with brimful.open(tmp_path / "store") as engine:
        assert engine.add(folder).added == 1
        context = engine.context("samovar", budget=100)
        assert "The samovar boils." in context.text
        assert engine.verify(context.receipt, text=context.text) == []
        assert engine.verify(context.receipt, files=folder) == []
