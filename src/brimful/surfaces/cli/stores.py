"""Which store does a command mean?

1. `--store`, or BRIMFUL_STORE: a file, or a folder that holds `brimful.db`.
2. Paths and no store: the user's cache has one store for exactly these paths, wherever the command is run. Nothing is
   ever written beside the documents.
3. Neither: the nearest `.brimful` folder, here or above, as git finds its own; else the cached store of this folder, or
   of the nearest one above that has been asked.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from brimful.errors import InputError, StoreError
from brimful.store.address import Address, is_address

STORE_FOLDER = ".brimful"
STORE_NAME = "brimful.db"
_NAME_LENGTH = 40


def named_store(name: str) -> Path | Address:
    """What `--store` means: a corpus on a server, or a file; a name without a suffix is a folder.

    >>> str(named_store("notes.db")), named_store(".brimful").name, str(named_store("postgresql://ada:secret@db/team"))
    ('notes.db', 'brimful.db', 'postgresql://ada@db/team')
    """
    if is_address(name):
        return Address.of(name)
    path = Path(name).expanduser()
    if path.is_dir() or (not path.suffix and not path.is_file()):
        return path / STORE_NAME
    return path


def store_to_fill(store: str | None, paths: Sequence[str], *, adding: bool) -> Path | Address:
    """Where paths are indexed; the folder is made."""
    place = place_to_fill(store, paths, adding=adding)
    return place if isinstance(place, Address) else _made(place)


def place_to_fill(store: str | None, paths: Sequence[str], *, adding: bool) -> Path | Address:
    """The same, and nothing is made. `add` also fills the nearest `.brimful`."""
    if store:
        return named_store(store)
    if adding and (nearest := _nearest()):
        return nearest
    return cached_store(paths)


def store_to_ask(store: str | None, paths: Sequence[str] = ()) -> Path | Address:
    """The store that is there already, or an error that says how to get one."""
    if paths and not store:
        cached = cached_store(paths)
        if not cached.is_file():
            raise InputError(f"{' '.join(paths)!r} has no store yet; ask it first: brimful context QUESTION PATH")
        return cached
    if store:
        place = named_store(store)
        if isinstance(place, Address):
            from brimful.store.postgres import check_there

            check_there(place)
            return place
        if not place.is_file():
            raise InputError(f"there is no store at {os.fspath(place)!r}; make it: brimful add PATH --store {store}")
        return place
    found = _nearest() or next((each for each in _cached_above() if each.is_file()), None)
    if found is None:
        raise InputError(
            f"no store is known for {os.fspath(Path.cwd())!r} or a folder above it; "
            "name what to read (brimful context QUESTION PATH), or a store (--store FILE)"
        )
    return found


def cached_store(paths: Iterable[str]) -> Path:
    """The cache's own store for exactly these paths, in whatever order they are named."""
    places = sorted({os.path.realpath(Path(path).expanduser()) for path in paths})
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(places[0]).name[:_NAME_LENGTH]) or "root"
    key = hashlib.sha256("\0".join(places).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_folder() / f"{name}-{key}" / STORE_NAME


def cache_folder() -> Path:
    """Where stores are kept that nobody named: BRIMFUL_CACHE, or the system's place for such things."""
    if chosen := os.environ.get("BRIMFUL_CACHE"):
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("brimful", appauthor=False) / "stores"


def check_unlinked(place: Path, *, within: Path) -> Path:
    """The same place, where neither it nor a file beside it is a link.

    Who wrote a checkout must not say where we write. Links above the folder that it is looked for in are the user's.
    """
    beside = (place.with_name(place.name + suffix) for suffix in ("", "-wal", "-shm", "-pages", "-lock", "-digests"))
    between = [folder for folder in place.parents if folder != within and folder.is_relative_to(within)]
    for part in (*between, *beside):
        if part.is_symlink():
            raise InputError(
                f"{os.fspath(part)!r} is a link to {os.fspath(part.readlink())!r:.200}; a store that is found in a "
                f"folder is not followed out of it: name the store that you mean with --store"
            )
    return place


def found_in(store: str | None) -> Path | None:
    """The folder that a store was found in, where no user named it: that of a `.brimful`, or of a project's file."""
    if store is None:
        nearest = _nearest()
        return None if nearest is None else nearest.parent.parent
    from brimful.surfaces.cli.configuration import project_file, setting

    project, named = project_file(), setting("store")
    return (
        project.parent if project is not None and (named.origin, named.value) == (os.fspath(project), store) else None
    )


def _nearest() -> Path | None:
    here = Path.cwd()
    for folder in (here, *here.parents):
        place = folder / STORE_FOLDER / STORE_NAME
        if place.is_file() or place.is_symlink():
            return check_unlinked(place, within=folder)
    return None


def _cached_above() -> Iterator[Path]:
    here = Path.cwd()
    for folder in (here, *here.parents):
        yield cached_store([os.fspath(folder)])


def _made(place: Path) -> Path:
    """The same place, with its folder; a `.brimful` keeps itself out of git, and the cache is the user's alone."""
    folder = place.parent
    if folder.is_dir():
        return place
    try:
        folder.mkdir(parents=True, mode=0o700)
        if folder.name == STORE_FOLDER:
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{os.fspath(folder)!r} can't be made ({error.strerror}); name another place with --store or BRIMFUL_CACHE"
        ) from error
    return place
