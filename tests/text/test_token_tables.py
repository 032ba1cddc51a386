"""Tables of tokens: written once, believed only if whole, never needed."""

import gc
import os
import time
import weakref
from pathlib import Path

import pytest
from blake3 import blake3

from brimful.text import bpe, characters, token_tables
from brimful.text.terms import terms_of
from brimful.text.tokens import BpeCounter

TEXT = "Fills the context to the brim, naïve 中文 \U000e0fff."


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """As in a process that has read no table yet, on a machine without any."""
    monkeypatch.setenv(token_tables.VARIABLE, str(tmp_path / "tables"))
    made = (bpe.table_of, characters._tables_of_unicode)
    for each in made:
        each.cache_clear()
    yield tmp_path / "tables"
    for each in made:
        each.cache_clear()


def columns_of(tables):
    """Everything that is known of characters."""
    return [getattr(tables, name).tolist() for name in ("classes", "shifts", "longer", "tails", "followers")]


def test_a_table_is_written_once_and_read_again(fresh):
    """The second reader finds the file, and leaves it as it is."""
    assert BpeCounter("o200k_base").count(TEXT) == bpe._by_tokenizer("o200k_base")(TEXT)
    (path,) = fresh.glob("*.table")
    written = path.stat().st_mtime_ns
    bpe.table_of.cache_clear()
    assert BpeCounter("o200k_base").count(TEXT) == bpe._by_tokenizer("o200k_base")(TEXT)
    assert path.stat().st_mtime_ns == written


def test_a_counter_holds_on_to_its_table(fresh):
    """What a counter reads stays in memory as long as the counter, also when nobody else knows the table any more."""
    counter = BpeCounter("o200k_base")
    count = counter.count(TEXT)
    table = weakref.ref(bpe.table_of("o200k_base"))
    bpe.table_of.cache_clear()
    gc.collect()
    assert table() is not None
    assert counter.count(TEXT) == count


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign"])
def test_a_damaged_table_is_written_anew(fresh, damage):
    """A file that is cut, changed in one bit, empty or something else counts nothing."""
    bpe.table_of("cl100k_base")
    (path,) = fresh.glob("*.table")
    whole = path.read_bytes()
    flipped = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    path.write_bytes({"cut": whole[:-1], "flipped": flipped, "empty": b"", "foreign": b"x" * len(whole)}[damage])
    bpe.table_of.cache_clear()
    assert BpeCounter("cl100k_base").count(TEXT) == bpe._by_tokenizer("cl100k_base")(TEXT)
    assert path.read_bytes() == whole


def test_where_nothing_can_be_written_the_tokenizer_counts(fresh):
    """A file in the place of the folder: the counts are the same."""
    fresh.write_bytes(b"")
    assert bpe.table_of("o200k_base") is None
    assert BpeCounter("o200k_base").count(TEXT) == bpe._by_tokenizer("o200k_base")(TEXT)


def test_an_empty_variable_wants_no_tables(fresh, monkeypatch):
    """Nothing is written; the counts are the same."""
    monkeypatch.setenv(token_tables.VARIABLE, "")
    assert bpe.table_of("o200k_base") is None
    assert BpeCounter("o200k_base").count(TEXT) == bpe._by_tokenizer("o200k_base")(TEXT)
    assert not fresh.exists()


def test_other_vocabularies_have_no_table(fresh):
    """Whatever a tokenizer does beside byte pairs and these patterns, it goes on doing."""
    assert bpe.table_of("llama3") is None
    assert not fresh.exists()


@pytest.mark.parametrize("damage", ["none", "cut", "flipped", "empty"])
def test_what_unicode_says_is_written_once_and_read_again(fresh, damage, monkeypatch):
    """The next process asks nothing of `unicodedata` character by character; what is damaged is written anew."""
    wanted = columns_of(characters._expand_properties(characters._read_properties()))
    assert columns_of(characters._tables_of_unicode()) == wanted
    (path,) = fresh.glob("*.table")
    whole = path.read_bytes()
    flipped = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    path.write_bytes({"none": whole, "cut": whole[:-1], "flipped": flipped, "empty": b""}[damage])
    if damage == "none":
        monkeypatch.setattr(characters, "_read_properties", None)
    characters._tables_of_unicode.cache_clear()
    assert columns_of(characters._tables_of_unicode()) == wanted
    assert path.read_bytes() == whole


def test_characters_need_no_table(fresh, monkeypatch):
    """Where none is wanted, or none can be written, terms are the same."""
    wanted = [each.encode() for each in ("a", "grosse", "z", "é")]
    fresh.write_bytes(b"")  # a file in the place of the folder
    for place in ("", str(fresh)):
        monkeypatch.setenv(token_tables.VARIABLE, place)
        characters._tables_of_unicode.cache_clear()
        assert terms_of("Große Ａ / Ｚ e\u0301".encode()).names == wanted


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Path]]:
    """A file, and which files were really hashed since."""
    monkeypatch.setenv(token_tables.VARIABLE, str(tmp_path / "tables"))
    file, read, really = tmp_path / "weights", list[Path](), token_tables._hashed
    file.write_bytes(b"tea")
    monkeypatch.setattr(token_tables, "_hashed", lambda path, start: read.append(path) or really(path, start))
    return file, read


def _later(folder: Path) -> None:
    """Let the notes have been written some seconds after the files."""
    for note in folder.glob("tables/*.seen"):
        os.utime(note, (time.time() + 60, time.time() + 60))


def test_a_hash_is_noted(noted: tuple[Path, list[Path]]) -> None:
    """A file with the size and times of the note is not read again; a note of the same seconds is not believed."""
    file, read = noted
    assert token_tables.digest_of(file) == token_tables.digest_of(file) == blake3(b"tea").digest()
    assert read == [file, file]
    _later(file.parent)
    assert token_tables.digest_of(file) == blake3(b"tea").digest()
    assert read == [file, file]
    assert token_tables.digest_of(file, start=1) == blake3(b"ea").digest()
    assert read == [file, file, file]


def test_a_file_that_changed_is_hashed_again(noted: tuple[Path, list[Path]]) -> None:
    """Whichever time it claims to be of: of the same size, and as old as before."""
    file, read = noted
    before = file.stat()
    token_tables.digest_of(file)
    _later(file.parent)
    with file.open("r+b") as opened:
        opened.write(b"pea")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert token_tables.digest_of(file) == blake3(b"pea").digest()
    assert len(read) == 2


def test_a_damaged_note_is_not_believed(noted: tuple[Path, list[Path]]) -> None:
    """Another hash in it, half of it, or no text at all."""
    file, read = noted
    token_tables.digest_of(file)
    (note,) = file.parent.glob("tables/*.seen")
    whole = note.read_bytes()
    for wrong in (whole.replace(blake3(b"tea").hexdigest().encode(), b"0" * 64), whole[:40], b"\xff" * 99, b""):
        note.write_bytes(wrong)
        _later(file.parent)
        assert token_tables.digest_of(file) == blake3(b"tea").digest()
    assert len(read) == 5


def test_without_a_folder_nothing_is_noted(noted: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read each time."""
    file, read = noted
    monkeypatch.setenv(token_tables.VARIABLE, "")
    assert token_tables.digest_of(file) == token_tables.digest_of(file) == blake3(b"tea").digest()
    assert len(read) == 2
    assert not list(file.parent.glob("tables/*"))
