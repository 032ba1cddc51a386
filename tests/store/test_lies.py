"""Stores that lie: every checksum fits, and the numbers can't be true. `make test-faults` tries more of them."""

import json
import os
import random
import struct
import subprocess
import sys
from contextlib import suppress

import apsw
import numpy as np
import pytest

from brimful import BrimfulError
from brimful.errors import CorruptError
from brimful.index.segments import pack_numbers
from brimful.store import columns, state
from brimful.store import format as schema
from brimful.store.sqlite import SqliteStore, checksums
from brimful.store.upkeep import verify

from .test_faults import asked, worn_store, written
from .test_sqlite import entry

LIES, _AT_ONCE = int(os.environ.get("BRIMFUL_LIES", "60")), 60
NUMBERS = [-1, 0, 1, 7, 255, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63)]


@pytest.fixture
def path(tmp_path):
    """A store of several documents and segments."""
    path = tmp_path / "store.db"
    worn_store(path, 30)
    return path


def changed(path, statement, values=()):
    """Run a statement on a store's file, with checksums of pages that fit."""
    connection = apsw.Connection(str(path), vfs=checksums())
    rows = connection.execute(statement, values).fetchall()
    connection.close()
    return rows


def rewritten(path, kind, data):
    """Put other bytes under the first blob of a kind, with a seal that fits."""
    ((key,),) = changed(path, "SELECT key FROM blobs WHERE key >> 28 & 15 = ? ORDER BY key LIMIT 1", (kind,))
    changed(path, "UPDATE blobs SET data = ?, seal = ? WHERE key = ?", (data, schema.seal_of(key, data), key))


def relaid(path):
    """Note the segments that the file has now."""
    connection = apsw.Connection(str(path), vfs=checksums())
    cursor = schema.SqliteCursor(connection)
    root = state._meta(cursor, "root")
    state._write_state(cursor, state.State(state.generation_of(cursor), root))
    connection.close()


def test_a_commit_refuses_to_build_on_a_store_that_lost_a_segment(path):
    """Its rows are compared with their note before a fresh note is written; no number is given to another segment."""
    with SqliteStore(path) as store, store.snapshot() as now:
        last = max(segment.number for segment in now.segments())
    changed(path, "DELETE FROM segments WHERE number = ?", (last,))
    with SqliteStore(path) as store:
        for change in (
            lambda: store.add([entry("new.md", "tea")]),
            lambda: store.remove(["2.md"]),
            store.compact,
            store.rebuild,
        ):
            with pytest.raises(CorruptError, match="lost a segment"):
                change()
        with store._reading() as cursor:
            assert cursor.next_segment() == last + 1
    with pytest.raises(CorruptError, match="lost a segment"):
        asked(path)


def test_a_commit_refuses_to_build_on_a_bucket_that_lost_a_document(path):
    """A document in the bucket of a lost one is not added: the new root would forget the lost one for good."""
    (row,) = changed(path, "SELECT path, bucket FROM documents ORDER BY path LIMIT 1")
    changed(path, "DELETE FROM documents WHERE path = ?", (row[0],))
    with SqliteStore(path) as store, pytest.raises(CorruptError, match="state root"):
        store.add([entry(row[0], "tea")])
    assert verify(path) != []


@pytest.mark.parametrize("kind", [schema.PAGE, schema.WORDS, schema.SECTIONS, schema.TEXT])
def test_verify_names_every_blob_that_is_gone(path, kind):
    """Also one that no question of the day needs."""
    assert verify(path) == []
    changed(path, "DELETE FROM blobs WHERE key = (SELECT max(key) FROM blobs WHERE key >> 28 & 15 = ?)", (kind,))
    assert verify(path) != []


def test_verify_compares_pages_with_what_names_them(path):
    """Two pages of postings in each other's place, a list of words of other terms, a blob of no segment."""
    with SqliteStore(path) as store:
        store.add([entry("big.md", " ".join(f"word{n:06}" for n in range(20_000)))])
    pages = changed(
        path, "SELECT key, data FROM blobs WHERE key >> 28 & 15 = ? ORDER BY key DESC LIMIT 2", (schema.PAGE,)
    )
    for (key, _), (_, data) in zip(pages, reversed(pages), strict=True):
        changed(path, "UPDATE blobs SET data = ?, seal = ? WHERE key = ?", (data, schema.seal_of(key, data), key))
    rewritten(path, schema.WORDS, columns.compressed(b"tea\n"))
    key = schema.key_of(900, schema.TEXT)
    changed(path, "INSERT INTO blobs VALUES (?, ?, ?)", (key, b"", schema.seal_of(key, b"")))
    problems = "\n".join(verify(path))
    assert "does not hold the terms that it is found by" in problems
    assert "are not the ones of its pages" in problems
    assert "segment 900 has blobs, but no row" in problems


@pytest.mark.parametrize("column", ["length", "live", "lowest", "highest", "dead"])
def test_a_segment_of_impossible_size_is_refused(path, column):
    """A length of 2^63 - 1 ends neither in a merge without end nor in another error than damage."""
    (row,) = changed(path, "SELECT number, length, live, dead, lowest, highest FROM segments ORDER BY number LIMIT 1")
    values = dict(zip(["number", "length", "live", "dead", "lowest", "highest"], row, strict=True))
    values[column] = (1 << 63) - 1
    changed(
        path,
        f"UPDATE segments SET {column} = ?, seal = ? WHERE number = ?",
        (values[column], schema.seal_of(*values.values()), values["number"]),
    )
    relaid(path)
    if column in ("highest", "dead"):  # larger than it is, and possible: what is inside is compared with it
        return
    for use in (asked, written):
        with pytest.raises(CorruptError):
            use(path)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (schema.CARDS, columns.compressed(b"{}")),
        (schema.CARDS, columns.compressed(b"[[1]]")),
        (schema.CARDS, columns.compressed(b"\xff")),
        (schema.CARDS, columns.compressed(json.dumps([[1], [2], [None], [3], [None], ["prose"], [None]]).encode())),
        (schema.CARDS, columns.compressed(json.dumps([[1], ["a"], [None], [3], [None], ["verse"], [None]]).encode())),
        (schema.FIRSTS, columns.compressed(b"tea\ncup")),
        (schema.UNITS, pack_numbers(np.array([(1 << 63) - 1]))),
        (schema.UNITS, b"\xff" * 12),
        (schema.EXTENTS, columns.compressed(b"")),
        (schema.EXTENTS, columns.compressed(b"123")),
        (schema.EXTENTS, columns.pack_table([np.array([5]), np.array([1]), np.array([1]), np.array([0])])),
        (schema.HEADS, columns.pack_table([np.array([1 << 40]), np.array([1 << 41]), np.array([1])])),
        (schema.PAGE, b""),
        (schema.PAGE, struct.pack("<3I", 1 << 30, 1 << 30, 1 << 30)),
    ],
)
def test_a_column_that_lies_is_damage(path, kind, data):
    """With a seal that fits, each is refused when it is read, by a question, a change or `verify`."""
    rewritten(path, kind, data)
    assert verify(path) != []
    with SqliteStore(path) as store, store.snapshot() as now, pytest.raises(CorruptError):
        read_all(now)


def read_all(now):
    """Read every column of every segment."""
    now.documents()
    for segment in now.segments():
        _ = segment.extents, segment.unit_starts, segment.section_starts, segment.heads, segment.firsts
        segment.words(), list(segment.pages())
    now.terms()


def bent(data, moment):
    """Some bytes or numbers of a column changed."""
    raw = bytearray(data)
    if len(raw) >= 8 and moment.random() < 0.5:
        at = moment.randrange(len(raw) // 8) * 8
        raw[at : at + 8] = struct.pack("<q", moment.choice(NUMBERS))
    for _ in range(moment.randrange(1, 4)):
        if raw:
            raw[moment.randrange(len(raw))] = moment.randrange(256)
    return bytes(raw)


@pytest.mark.parametrize("seed", range(5, 5 + LIES // _AT_ONCE))
def test_any_lie_is_an_answer_or_an_error_of_ours(tmp_path, seed):
    """Any blob bent and sealed again: questions, changes, merges and `verify` end as they should, and end."""
    whole, path = tmp_path / "whole.db", tmp_path / "store.db"
    worn_store(whole, 30)
    content = whole.read_bytes()
    blobs = changed(whole, "SELECT key, data FROM blobs ORDER BY key")
    by_kind = {}
    for key, data in blobs:
        by_kind.setdefault(schema.kind_of_key(key), []).append((key, data))
    moment = random.Random(seed)
    kinds = sorted(by_kind)
    for number in range(_AT_ONCE):
        key, data = moment.choice(by_kind[kinds[number % len(kinds)]])
        try:
            lie = columns.compressed(bent(columns.unpacked(data, limit_bytes=1 << 30), moment))
        except CorruptError:  # postings and cuts are packed otherwise
            lie = bent(data, moment)
        for use in (asked, written, compacted, verify):
            for leftover in tmp_path.glob("store.db*"):
                leftover.unlink()
            path.write_bytes(content)
            changed(path, "UPDATE blobs SET data = ?, seal = ? WHERE key = ?", (lie, schema.seal_of(key, lie), key))
            with suppress(BrimfulError):
                use(path)


def compacted(path):
    """A change that reads every position."""
    with SqliteStore(path) as store:
        store.compact()


def test_a_disk_without_room_names_the_cause(tmp_path):
    """Nothing can be written next to the store, not even the memory that readers share: the error says so."""
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        store.add([entry("tea.md", "Tea at four.")])
    command = (
        "import resource, sys, brimful\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
        "try:\n    brimful.open(sys.argv[1]).context('tea', budget=200)\n"
        "except brimful.errors.StoreFullError as error:\n    sys.exit(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", command, path], capture_output=True, text=True, check=False)
    assert "no room left next to" in done.stderr
    assert "free some disk space" in done.stderr
