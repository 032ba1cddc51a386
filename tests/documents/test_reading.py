"""How is a file read safely while others may write it?"""

import os
from pathlib import Path

import pytest

from brimful.documents import reading
from brimful.documents.reading import read, read_blocks
from brimful.documents.skips import Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found, walk


def found(path: Path) -> Found:
    """The one file below a root."""
    (only,) = [item for item in walk(path) if isinstance(item, Found)]
    return only


def write_later(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
    """Append to `path` during each of the next `times` reads."""
    left = [times]
    plain_read = os.read

    def read_and_write(descriptor: int, size: int) -> bytes:
        block = plain_read(descriptor, size)
        if left[0]:
            left[0] -= 1
            with path.open("ab") as file:
                file.write(b"more\n")
        return block

    monkeypatch.setattr(reading.os, "read", read_and_write)


def test_a_file_that_changes_while_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One write during the read costs a second read, which sees the file whole."""
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    item = found(path)
    write_later(monkeypatch, path, times=1)
    result = read(item)
    assert result == b"one\nmore\n"


def test_a_file_that_keeps_changing_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that never holds still is listed as changing, never stored half old and half new."""
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    item = found(path)
    write_later(monkeypatch, path, times=99)
    result = read(item)
    assert isinstance(result, Skipped)
    assert result.reason == "changing"
    with pytest.raises(Refusal, match="changing"):
        list(read_blocks(item))


def test_a_truncated_file_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file cut short between the stat and the read does not pass for whole."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 100)
    item = found(path)
    plain_read = os.read
    monkeypatch.setattr(reading.os, "read", lambda fd, size: (os.truncate(path, 10), plain_read(fd, size))[1])
    with pytest.raises(Refusal, match="changing"):
        list(read_blocks(item))


def test_a_large_file_is_read_in_blocks(tmp_path: Path) -> None:
    """No block is larger than asked for, and together they are the file."""
    (tmp_path / "a.txt").write_bytes("né".encode() * 1_000_000)
    blocks = list(read_blocks(found(tmp_path), block_bytes=65_537))
    assert max(map(len, blocks)) <= 65_537
    assert b"".join(blocks) == (tmp_path / "a.txt").read_bytes()


def test_a_fifo_in_a_files_place_does_not_block(tmp_path: Path) -> None:
    """What was a file at the walk and is a FIFO at the read is refused at once."""
    path = tmp_path / "a.txt"
    path.write_text("tea")
    item = found(path)
    path.unlink()
    os.mkfifo(path)
    assert read(item) == Skipped("a.txt", "special", "no longer a regular file")


def test_a_link_in_a_files_or_folders_place_is_not_followed(tmp_path: Path) -> None:
    """A file or a folder that became a link after the walk can't lead the reader out of the root."""
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("secret")
    path = tmp_path / "root" / "sub" / "a.txt"
    path.write_text("tea")
    item = found(tmp_path / "root")
    path.unlink()
    path.symlink_to(tmp_path / "out" / "a.txt")
    assert isinstance(read(item), Skipped)
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path / "out")
    result = read(item)
    assert isinstance(result, Skipped)
    assert result.reason == "outside"


def test_unreadable_and_vanished_files_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be opened, or is gone, becomes a skip with the system's words."""
    path = tmp_path / "a.txt"
    path.write_text("tea")
    item = found(path)
    plain_open = os.open

    def refuse(name: str, *rest: int) -> int:
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(reading.os, "open", refuse)
    assert read(item) == Skipped("a.txt", "unreadable", "Permission denied")
    monkeypatch.setattr(reading.os, "open", plain_open)
    path.unlink()
    assert read(item) == Skipped("a.txt", "unreadable", "No such file or directory")


def test_a_file_that_grew_beyond_the_limit_is_skipped(tmp_path: Path) -> None:
    """The size limit holds at the read, not only at the walk."""
    path = tmp_path / "a.txt"
    path.write_text("tea")
    item = found(path)
    path.write_text("x" * 100)
    result = read(item, settings=SourceSettings(max_bytes=50))
    assert isinstance(result, Skipped)
    assert result.reason == "too_large"
