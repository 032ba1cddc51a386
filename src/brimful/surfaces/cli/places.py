"""Which store a command means.

1. `--store`, or BRIMFUL_STORE: a file, a folder that holds `brimful.db`, or an address.
2. Paths and no store: the user's cache has one store for exactly these paths, wherever the command runs. Nothing is
   ever written next to the documents.
3. Neither: the nearest `.brimful` folder, here or above, as git finds its own. Else a question reads the current
   folder; other commands take the cached store of this folder, or of the nearest one above.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import platformdirs

from brimful.errors import InputError, StoreError
from brimful.store.address import Address, Place, is_address

STORE_NAME = "brimful.db"
_STORE_FOLDER = ".brimful"
_NAME_LENGTH = 40


def named_store(name: str) -> Place:
    """The store of a name: a corpus on a server, or a file; a name without a suffix is a folder.

    >>> str(named_store("notes.db")), named_store(".brimful").name, str(named_store("postgresql://ada:secret@db/team"))
    ('notes.db', 'brimful.db', 'postgresql://ada@db/team')
    """
    if is_address(name):
        return Address.of(name)
    path = Path(name).expanduser()
    if path.is_dir() or (not path.suffix and not path.is_file()):
        return path / STORE_NAME
    return path


def place_to_fill(store: str | None, paths: Sequence[str], *, adding: bool) -> Place:
    """The store to index paths in; `add` also fills the nearest `.brimful`."""
    if store:
        return named_store(store)
    if adding and (nearest := nearest_store()):
        return nearest
    return cached_store(paths)


def store_to_fill(store: str | None, paths: Sequence[str], *, adding: bool) -> Place:
    """The store to index paths in, its folder made: a `.brimful` is kept out of git, the cache is the user's alone."""
    place = place_to_fill(store, paths, adding=adding)
    if not isinstance(place, Path) or place.parent.is_dir():
        return place
    folder = place.parent
    try:
        folder.mkdir(parents=True, mode=0o700)
        if folder.name == _STORE_FOLDER:
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{os.fspath(folder)!r} can't be made ({error.strerror}); name another place with --store or BRIMFUL_CACHE"
        ) from error
    return place


def store_to_ask(store: str | None, paths: Sequence[str] = ()) -> Place:
    """The store that is there already, or an error that says how to get one."""
    if paths and not store:
        cached = cached_store(paths)
        if not cached.is_file():
            raise InputError(f"{' '.join(paths)!r} has no store yet; ask it first: brimful context QUESTION PATH")
        return cached
    if store:
        place = named_store(store)
        if isinstance(place, Address):
            from brimful.store.postgres import reading

            with reading(place):  # an error where the server or the corpus is not there
                return place
        if not place.is_file():
            raise InputError(f"there is no store at {os.fspath(place)!r}; make it: brimful add PATH --store {store}")
        return place
    here = Path.cwd()
    cached_above = (cached_store([os.fspath(folder)]) for folder in (here, *here.parents))
    nearest = nearest_store() or next((place for place in cached_above if place.is_file()), None)
    if nearest is None:
        raise InputError(
            f"no store is known for {os.fspath(Path.cwd())!r} or a folder above it; "
            "name what to read (brimful context QUESTION PATH), or a store (--store FILE)"
        )
    return nearest


def cached_store(paths: Iterable[str]) -> Path:
    """The cache's own store for exactly these paths, in whatever order they are named."""
    places = sorted({os.path.realpath(Path(path).expanduser()) for path in paths})
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(places[0]).name[:_NAME_LENGTH]) or "root"
    key = sha256("\0".join(places).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_folder() / f"{name}-{key}" / STORE_NAME


def cache_folder() -> Path:
    """The folder of stores that nobody named: BRIMFUL_CACHE, or the system's place for caches."""
    if chosen := os.environ.get("BRIMFUL_CACHE"):
        return Path(chosen)
    return platformdirs.user_cache_path("brimful", appauthor=False) / "stores"


def nearest_store() -> Path | None:
    """The store of the nearest `.brimful`, here or above."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        place = folder / _STORE_FOLDER / STORE_NAME
        if place.is_file() or place.is_symlink():
            check_unlinked(place, within=folder)
            return place
    return None


def check_unlinked(place: Path, *, within: Path) -> None:
    """Refuse a store that is a link, or has a file next to it or a folder above it (inside `within`) that is one.

    The author of a checkout must not decide where we write. Links above the checkout are the user's.
    """
    suffixes = ("", "-wal", "-shm", "-lock", "-digests")
    files = (place.with_name(place.name + suffix) for suffix in suffixes)
    between = [folder for folder in place.parents if folder != within and folder.is_relative_to(within)]
    for part in (*between, *files):
        if part.is_symlink():
            raise InputError(
                f"{os.fspath(part)!r} is a link to {os.fspath(part.readlink())!r:.200}; a store that is found in a "
                f"folder is not followed out of it: name the store that you mean with --store"
            )
