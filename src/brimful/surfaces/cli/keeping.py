"""Which stores does the cache hold, which of them does nobody need, and what has a model read of one?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from brimful.classes import dataclass
from brimful.engine import open as open_store
from brimful.errors import BrimfulError, InputError
from brimful.surfaces import records
from brimful.surfaces.cli.commands import corpus_of, exit_for
from brimful.surfaces.cli.configuration import STORE_NAME, cache_folder
from brimful.surfaces.cli.dispatch import FOUND, NOTHING
from brimful.surfaces.cli.terminal import one_line, progress, say, show


@dataclass(frozen=True, slots=True)
class Kept:
    """A store of the cache: its folder, what was added to it, and whether anything of that is still there."""

    folder: Path
    places: tuple[str, ...]
    documents: int
    size: int
    problem: str = ""

    @property
    def is_needed(self) -> bool:
        """Whether a place that it was made from is still there; one that can't be read is not for us to judge."""
        return bool(self.problem) or any(Path(place).exists() for place in self.places)


def warm(*, paths: Sequence[str], store: str | None, as_json: bool, quiet: bool) -> int:
    """Let a model read every passage of a store, so that questions are compared with all of them."""
    corpus = corpus_of(store, paths)
    with corpus.engine as engine, progress("reading passages") as advance:

        def tell(done: int, of: int) -> None:
            if advance is not None and not quiet:
                advance(f"{done:,} of {of:,}")

        count, name = engine.warm(progress=tell), engine.reader
    if as_json:
        show(records.as_json({"store": str(engine.path), "model": name, "passages": count}))
    elif not quiet:
        say(f"{count:,} passages read by {name}")
    return exit_for(corpus, found=bool(count))


def stores(*, prune: bool, dry_run: bool, as_json: bool) -> int:
    """The stores of the cache; pruning deletes those whose folders are gone."""
    if dry_run and not prune:
        raise InputError("--dry-run belongs to --prune; without it nothing is changed anyway")
    found = _kept(cache_folder())
    gone = [each for each in found if not each.is_needed] if prune else []
    if not dry_run:
        for each in gone:
            shutil.rmtree(each.folder)
    if as_json:
        listed = [_record(each) for each in found]
        show(records.as_json({"cache": str(cache_folder()), "stores": listed, "dry_run": dry_run}))
    else:
        show("".join(_line(each) for each in (gone if prune else found)))
    if prune and not as_json:
        verb = "would be deleted" if dry_run else "deleted"
        say(f"{len(gone)} of {len(found)} stores {verb}, {sum(each.size for each in gone):,} bytes")
    return FOUND if found else NOTHING


def _kept(cache: Path) -> list[Kept]:
    if not cache.is_dir():
        return []
    places = (folder for folder in sorted(cache.iterdir()) if not folder.is_symlink())
    return [_looked_at(folder) for folder in places if (folder / STORE_NAME).is_file()]


def _looked_at(folder: Path) -> Kept:
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    try:
        with open_store(folder / STORE_NAME) as engine:
            return Kept(folder, tuple(engine.roots), len(engine.columns.documents), size)
    except BrimfulError as error:
        return Kept(folder, (), 0, size, str(error))


def _record(kept: Kept) -> dict[str, object]:
    return {
        "store": os.fspath(kept.folder / STORE_NAME),
        "places": list(kept.places),
        "documents": kept.documents,
        "bytes": kept.size,
        "needed": kept.is_needed,
        "problem": kept.problem or None,
    }


def _line(kept: Kept) -> str:
    where = ", ".join(map(one_line, kept.places)) or one_line(kept.problem) or "texts alone"
    gone = "" if kept.is_needed else "  (gone)"
    return f"{kept.size:>13,}  {kept.documents:>7,}  {where}{gone}  {one_line(kept.folder.name)}\n"
