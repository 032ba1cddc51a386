"""Stores opened, made and rebuilt by their path or address."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import platformdirs

from brimful.errors import InputError, StoreUnreachableError
from brimful.store.address import STORE_NAME, Address, Place, is_address
from brimful.store.sqlite import SqliteStore
from brimful.store.store import Store

Named = str | os.PathLike[str] | Address
"""A path or an address."""


def place_of(path: Named) -> Place:
    """A file, also where a folder was named, or a corpus on a server.

    >>> str(place_of("postgresql://ada:secret@db/team")), place_of("notes.db").name
    ('postgresql://ada@db/team', 'notes.db')
    """
    if isinstance(path, Address):
        return path
    if isinstance(path, str) and is_address(path):
        return Address.of(path)
    place = Path(path)
    return place / STORE_NAME if place.is_dir() else place


def opened(path: Named, *, make: bool = True, outdated: bool = False) -> Store:
    """Open a store, or with `make` make it; what a server needs is imported with its first address.

    `outdated` opens one whose terms were made by other rules, to rebuild it.
    """
    place = place_of(path)
    if isinstance(place, Address):
        from brimful.store.postgres import PostgresStore

        try:
            return PostgresStore(place, make=make, outdated=outdated)
        except InputError as error:
            if make:
                raise
            raise StoreUnreachableError(str(error)) from None
    if not make and not place.is_file():
        raise StoreUnreachableError(f"{place} is not there; is its disk mounted, and the path right?")
    return SqliteStore(place, outdated=outdated)


def rebuild(path: Named) -> None:
    """Index the text that a store holds again, by the rules of this version.

    A store of another version of Brimful or of Unicode asks for it; nothing is read but the store itself.
    """
    with closing(opened(path, make=False, outdated=True)) as store:
        store.rebuild()


def digests_of(place: Place) -> Path:
    """The file of models' answers: next to a store, or in the user's folder for a server that may only be asked."""
    if isinstance(place, Path):
        return place.with_name(f"{place.name}-digests")
    from hashlib import sha256

    folder = platformdirs.user_data_path("brimful", appauthor=False) / "servers"
    return folder / f"{sha256(place.key.encode()).hexdigest()[:24]}-digests"
