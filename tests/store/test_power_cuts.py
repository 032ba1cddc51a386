"""The power goes: what was not synced is lost, torn or written in another order. `make test-faults` cuts more often.

One history is run over a VFS that writes down every write, truncation, sync, creation and deletion in its order. A cut
is a moment in that list: each file is what it was at its last sync, and of what came after it some sectors arrive, in
any order.
"""

import os
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import apsw
import numpy as np
import pytest

from brimful.index.vectors import text_key
from brimful.store import sqlite
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify

from .test_sqlite import dump, entry

POWER_CUTS = int(os.environ.get("BRIMFUL_POWER_CUTS", "40"))
SECTOR = 512
KEYS = [text_key(f"text {n}") for n in range(200)]
ROWS = np.arange(len(KEYS) * 4, dtype=np.int64).astype(np.int8).reshape(-1, 4)


@dataclass
class Told:
    """All that reached the VFS, and what the program was told to be stored by then."""

    events: list[tuple] = field(default_factory=list)
    states: list[tuple] = field(default_factory=list)
    vectors: list[int] = field(default_factory=list)


class Watched(apsw.VFS):
    """A VFS that passes everything on, and tells."""

    def __init__(self, told):
        self.told = told
        super().__init__("watched", "", makedefault=True)

    def xOpen(self, name, flags):  # noqa: N802
        """Hand out a file that tells."""
        return WatchedFile(self.told, name, flags)

    def xDelete(self, name, sync):  # noqa: N802
        """Tell whether the folder was synced with it."""
        super().xDelete(name, sync)
        self.told.events.append(("delete", Path(name).name, sync))


class WatchedFile(apsw.VFSFile):
    """One of its files."""

    def __init__(self, told, name, flags):
        self.told = told
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.name = Path(path).name if path else None
        if self.name and not Path(path).exists():
            told.events.append(("create", self.name))
        super().__init__("unix", name, flags)

    def tell(self, *event):
        """Only of files with a name: others are gone with the process."""
        if self.name:
            self.told.events.append((event[0], self.name, *event[1:]))

    def xWrite(self, raw, at):  # noqa: N802
        """Write, then tell."""
        super().xWrite(raw, at)
        self.tell("write", at, bytes(raw))

    def xTruncate(self, size):  # noqa: N802
        """Cut, then tell."""
        super().xTruncate(size)
        self.tell("truncate", size)

    def xSync(self, flags):  # noqa: N802
        """Sync, then tell."""
        super().xSync(flags)
        self.tell("sync")


def history(store, told):
    """Adds, changes, removals, merges, vectors and a purge; after each, what the program was told."""
    moment = random.Random(5)
    words = "tea coffee water milk sugar lemon cup pot kettle spoon".split()
    remembered = 0

    def acknowledged():
        told.events.append(("acknowledged",))
        told.states.append(dump(store))
        told.vectors.append(remembered)

    acknowledged()
    for step in range(24):
        texts = [entry(f"{n}.md", " ".join(moment.choices(words, k=300)) + f" {step}") for n in range(step, step + 3)]
        store.add(texts)
        acknowledged()
        if step % 3 == 1:
            some = slice(remembered, remembered + 8)
            assert store.remember_vectors("m", KEYS[some], ROWS[some]) is None
            remembered += 8
            store.add([entry("after vectors.md", f"tea {step}")])
            acknowledged()
        if step % 5 == 2:
            store.remove([f"{step}.md"])
            acknowledged()
        if step % 8 == 5:
            store.compact()
            acknowledged()
    store.purge()
    remembered = 0
    acknowledged()


def as_if_built_without_syncs(connection):
    """Some systems' SQLite syncs less unless it is told to; a store must not depend on it."""
    connection.pragma("synchronous", "off")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """One history, told by a process of its own: SQLite's checksums of pages lie above the VFS that was there first."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(watched, tmp_path_factory.mktemp("power") / "store.db").result()


def watched(path):
    """A history with the log moved into the file every few commits, closed and opened again in the middle."""
    told = Told()
    sqlite.LOG_PAGES, apsw.connection_hooks = 60, [as_if_built_without_syncs]
    vfs = Watched(told)
    with SqliteStore(path) as store:
        history(store, told)
    with SqliteStore(path) as store:
        store.add([entry("last.md", "opened again")])
        told.events.append(("acknowledged",))
        told.states.append(dump(store))
        told.vectors.append(0)
    vfs.unregister()
    return told


@dataclass
class Disk:
    """What a name in the folder leads to: a file with what is certain and what is under way, or nothing.

    Until the folder is synced the name may still lead to what was there `before`, or to nothing.
    """

    before: bytes | None = None
    is_listed: bool = False
    certain: bytes = b""
    now: bytearray | None = None
    under_way: list[tuple] = field(default_factory=list)


def disks_at(events):
    """Every file at a moment."""
    disks = {}
    for kind, *rest in events:
        if kind == "acknowledged":
            continue
        name = rest[0]
        disk = disks.setdefault(name, Disk())
        if kind in ("create", "delete"):
            disk.before = disk.certain if disk.is_listed else disk.before
            disk.is_listed, disk.certain, disk.under_way = False, b"", []
            disk.now = bytearray() if kind == "create" else None
        elif kind == "sync":
            disk.certain, disk.under_way = bytes(disk.now), []
        else:
            applied(disk.now, kind, *rest[1:])
            disk.under_way.append((kind, *rest[1:]))
        # SQLite syncs the folder with the first sync of a new log or journal.
        is_new_log = kind == "sync" and not disk.is_listed and name.endswith(("-wal", "-journal"))
        if is_new_log or (kind == "delete" and rest[1]):
            for each in disks.values():
                each.before, each.is_listed = None, each.now is not None
    return disks


def applied(raw, kind, at, data=b""):
    """A write or a truncation."""
    if kind == "truncate":
        del raw[at:]
        return
    raw.extend(bytes(max(0, at + len(data) - len(raw))))
    raw[at : at + len(data)] = data


def left_of(disk, moment):
    """A file after the power came back, or None."""
    if not disk.is_listed and (disk.now is None or moment.random() < 0.5):
        return disk.before if moment.random() < 0.5 or disk.now is not None else None
    raw = bytearray(disk.certain)
    for piece in arriving(disk.under_way, moment):
        applied(raw, *piece)
    return bytes(raw)


def arriving(under_way, moment):
    """Which of the writes under way arrive, and in which order."""
    manner = moment.choice(["none", "whole", "torn", "all but one", "in order"])
    if manner == "whole":
        writes = [each for each in under_way if moment.random() < 0.5]
        moment.shuffle(writes)
        return writes
    pieces = [piece for each in under_way for piece in sectors(each)]
    if manner == "in order":
        return pieces[: moment.randrange(len(pieces) + 1)]
    if manner == "all but one" and pieces:
        del pieces[moment.randrange(len(pieces))]
        return pieces
    kept = [piece for piece in pieces if manner == "torn" and moment.random() < 0.5]
    moment.shuffle(kept)
    return kept


def sectors(event):
    """A write in the pieces that a disk writes at once."""
    if event[0] == "truncate":
        yield event
        return
    _, at, data = event
    start = 0
    while start < len(data):
        end = start + SECTOR - (at + start) % SECTOR
        yield "write", at + start, data[start:end]
        start = end


def cut(told, at, folder, moment):
    """The files after a cut at one moment."""
    folder.mkdir()
    for name, disk in sorted(disks_at(told.events[:at]).items()):
        raw = left_of(disk, moment)
        if raw is not None:
            (folder / name).write_bytes(raw)
    return sum(event[0] == "acknowledged" for event in told.events[:at])


def problem_after(told, at, folder, moment):
    """What is wrong after a cut, or None."""
    asked = cut(told, at, folder, moment)
    path = folder / "store.db"
    if not asked:  # nobody was told that there is a store
        return None
    if found := verify(path):
        return f"verify: {found}"
    with SqliteStore(path) as store:
        state, known = dump(store), len(KEYS) - len(store.vectors_known("m", KEYS, width=4).missing)
        store.add([entry("after the cut.md", "work goes on")])
    if state not in told.states[asked - 1 : asked + 1]:
        return f"neither what was told last nor what was under way: {sorted(state[1])}"
    if known < min(told.vectors[asked - 1 : asked + 1]):
        return f"{known} vectors of {told.vectors[asked - 1]}"
    return f"verify, later: {found}" if (found := verify(path)) else None


@pytest.mark.parametrize("share", range(4))
def test_a_power_cut_loses_nothing_that_was_told(told, tmp_path, share):
    """Whatever of the unsynced writes arrives: the last acknowledged commit is there, verify is clean, work goes on."""
    for number in range(share, POWER_CUTS, 4):
        moment = random.Random(number)
        at = moment.randrange(1, len(told.events) + 1)
        assert problem_after(told, at, tmp_path / str(number), moment) is None, (number, at)


def test_a_disk_that_syncs_nothing_loses_commits(told, tmp_path):
    """The same cuts on a disk that only says that it has synced are seen: the test can fail."""
    lying = Told([each for each in told.events if each[0] != "sync"], told.states, told.vectors)
    lost = 0
    for number in range(10):
        moment = random.Random(number)
        try:
            at = moment.randrange(len(lying.events) // 2, len(lying.events))
            lost += problem_after(lying, at, tmp_path / str(number), moment) is not None
        except Exception:  # noqa: BLE001  (damaged in whatever way)
            lost += 1
    assert lost > 5
