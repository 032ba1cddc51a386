"""`brimful stores`: list, delete, erase, rebuild, warm and copy stores, and SQL for PostgreSQL."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from glob import escape
from pathlib import Path

from brimful.densify.memory import copy_answers
from brimful.engine import open as open_store
from brimful.errors import USAGE, BrimfulError, InputError, choose
from brimful.store.address import Address, Place, is_address
from brimful.store.format import is_store
from brimful.store.opening import opened
from brimful.store.opening import rebuild as rebuild_store
from brimful.store.upkeep import copy as copy_store
from brimful.surfaces.cli import FOUND, NOTHING
from brimful.surfaces.cli.opening import Line, asked_corpus
from brimful.surfaces.cli.places import STORE_NAME, cache_folder, named_store, store_to_ask, store_to_fill
from brimful.surfaces.cli.terminal import confirmed, one_line, progress, say


def stores(line: Line, *, action: str, delete: bool, role: str | None, readers: str | None) -> int:
    """Do one of the actions."""
    choose(action, (*_ACTIONS, "copy", "roles"), what="action")
    if action == "copy":
        return _copy(line, delete=delete)
    if action == "roles":
        return _roles(line, role, readers)
    return _ACTIONS[action](line)


def _one_place(line: Line) -> Place:
    """The store that is named, the cached store of a folder, or that of --store."""
    if len(line.paths) > 1:
        raise InputError(f"this takes one folder or store, got {len(line.paths)}")
    if not line.paths:
        return store_to_ask(line.store)
    place = named_store(line.paths[0])
    is_named = isinstance(place, Address) or is_store(place) or (place.is_file() and place.name != STORE_NAME)
    return place if is_named else store_to_ask(None, line.paths)


# The stores of the cache


@dataclass(frozen=True, slots=True)
class _CachedStore:
    """A store of the cache, its folder and the places that were added to it."""

    folder: Path
    places: tuple[str, ...]
    documents: int
    size_bytes: int
    problem: str = ""

    @property
    def is_needed(self) -> bool:
        """Whether a place that it was made from is still there; a store that can't be read is kept."""
        return bool(self.problem) or any(Path(place).exists() for place in self.places)

    def record(self) -> dict[str, object]:
        return {
            "store": os.fspath(self.folder / STORE_NAME),
            "places": list(self.places),
            "documents": self.documents,
            "bytes": self.size_bytes,
            "needed": self.is_needed,
            "problem": self.problem or None,
        }

    def line(self) -> str:
        where = ", ".join(one_line(place) for place in self.places) or one_line(self.problem) or "texts alone"
        gone = "" if self.is_needed else "  (gone)"
        noun = "document " if self.documents == 1 else "documents"
        return (
            f"{self.size_bytes:>13,} bytes  {self.documents:>7,} {noun}  {where}{gone}  {one_line(self.folder.name)}\n"
        )


def _list(line: Line, *, is_pruning: bool) -> int:
    """List the stores of the cache, or delete the ones whose folders are gone."""
    cached = [_cached_store(folder) for folder in _store_folders(cache_folder())]
    gone = [store for store in cached if is_pruning and not store.is_needed]
    if not line.dry_run:
        for store in gone:
            shutil.rmtree(store.folder)
    line.show(
        {"cache": str(cache_folder()), "stores": [store.record() for store in cached], "dry_run": line.dry_run},
        "".join(store.line() for store in (gone if is_pruning else cached)),
    )
    if is_pruning and not line.as_json:
        verb = "would be deleted" if line.dry_run else "deleted"
        say(f"{len(gone)} of {len(cached)} stores {verb}, {sum(store.size_bytes for store in gone):,} bytes")
    return FOUND if cached else NOTHING


def _store_folders(cache: Path) -> list[Path]:
    folders = sorted(cache.iterdir()) if cache.is_dir() else []
    return [folder for folder in folders if not folder.is_symlink() and (folder / STORE_NAME).is_file()]


def _cached_store(folder: Path) -> _CachedStore:
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    try:
        with open_store(folder / STORE_NAME) as engine:
            return _CachedStore(folder, tuple(engine.roots), len(engine.columns.documents), size)
    except BrimfulError as error:
        return _CachedStore(folder, (), 0, size, str(error))


# One store


def _erase(line: Line, *, whole: bool) -> int:
    """Delete a store, or leave no byte of what was removed or replaced in it."""
    place = _one_place(line)
    with open_store(place) as engine:  # refuses anything but a store
        documents, before = len(engine.columns.documents), engine.size_bytes
    name = one_line(str(place))
    record: dict[str, object] = {"store": str(place), "deleted": whole, "bytes_before": before}
    if line.dry_run:
        what = f"the whole store with {documents:,} documents" if whole else "what was removed or replaced"
        line.show({**record, "dry_run": True}, f"{name}: would erase {what}; {before:,} bytes now\n")
        return FOUND
    what = f"Delete the store {name}" if whole else f"Erase what was removed or replaced from {name}"
    if not line.yes and not confirmed(f"{what}? The documents' own files are not touched."):
        return USAGE
    if whole and isinstance(place, Address):
        raise InputError(f"{place} is on a server; an administrator deletes a corpus there (docs/postgres.md)")
    with open_store(place) as engine:
        engine.purge()
        after = 0 if whole else engine.size_bytes
    if whole and isinstance(place, Path):
        for part in (place, *sorted(place.parent.glob(f"{escape(place.name)}-*"))):
            part.unlink(missing_ok=True)
        if place.parent.parent == cache_folder() and not any(place.parent.iterdir()):
            place.parent.rmdir()
    text = f"{name}: deleted, {before:,} bytes\n" if whole else f"{name}: {before:,} bytes before, {after:,} now\n"
    line.show({**record, "bytes_after": after}, text)
    return FOUND


def _rebuild(line: Line) -> int:
    """Index a store's own text again."""
    place = _one_place(line)
    rebuild_store(place)
    with open_store(place) as engine:
        count, root = len(engine.columns.documents), engine.root
    record = {"store": str(place), "documents": count, "root": root}
    line.show(record, f"{one_line(str(place))}: {count:,} documents indexed again\n")
    return FOUND


def _warm(line: Line) -> int:
    """Embed every passage of a store now."""
    corpus = asked_corpus(line)
    with corpus.engine as engine, progress("embedding") as advance:
        show_progress = None if advance is None or line.quiet else lambda done, total: advance("", done, total)
        count, name = engine.warm(progress=show_progress), engine.reader
    line.show({"store": str(engine.path), "model": name, "units": count}, "")
    if not line.as_json and not line.quiet:
        say(f"{count:,} units read by {name}")
    return corpus.exit_code(found=bool(count))


def _copy(line: Line, *, delete: bool) -> int:
    """Copy a store to another, a file or a server's; a copy that was broken off goes on where it ended."""
    if len(line.paths) != 2:
        raise InputError("copy takes two stores: brimful stores copy FROM TO")
    source, target = store_to_ask(line.paths[0]), store_to_fill(line.paths[1], (), adding=False)
    if str(source) == str(target):
        raise InputError(f"{one_line(str(source))} can't be copied to itself; name another store")
    with opened(source) as one, opened(target) as two, progress("copying") as advance:
        show_progress = None if advance is None or line.quiet else lambda path: advance(path, 0, 0)
        done = copy_store(one, two, delete=delete, progress=show_progress)
        answers = copy_answers(one, two)
    line.show(
        {"source": str(source), "target": str(target), **done._asdict(), "answers": answers},
        f"{done.copied:,} documents copied, {done.unchanged:,} were there, {done.deleted:,} deleted; "
        f"{answers:,} answers of models and captures copied; root {done.root}\n",
    )
    return FOUND if done.copied + done.unchanged else NOTHING


# PostgreSQL


def _corpus_on_server(line: Line) -> Address:
    name = line.paths[0] if line.paths else line.store or ""
    if not is_address(name):
        raise InputError("name a corpus on a server: --store postgresql://USER@HOST/DATABASE?corpus=NAME")
    return Address.of(name)


def _roles(line: Line, role: str | None, readers: str | None) -> int:
    """Print the statements that let a role use one corpus and nothing else."""
    from brimful.store.postgres.layout import roles

    place = _corpus_on_server(line)
    if role is None:
        raise InputError("name the role that may use the corpus: brimful stores roles --role NAME")
    script = roles(place.schema, place.corpus, role, readers=readers)
    line.show({"store": str(place), "sql": script}, script)
    return FOUND


_ACTIONS: Mapping[str, Callable[[Line], int]] = {
    "list": partial(_list, is_pruning=False),
    "rm": partial(_erase, whole=True),
    "prune": partial(_list, is_pruning=True),
    "purge": partial(_erase, whole=False),
    "rebuild": _rebuild,
    "warm": _warm,
}
