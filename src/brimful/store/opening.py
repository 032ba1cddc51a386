"""Which store does a path or an address mean?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

import platformdirs

from brimful.errors import InputError, StoreUnreachableError
from brimful.index.embedders import Embedder
from brimful.store.address import STORE_NAME, Address, Place, Shards, is_address, is_list, several, shards_of
from brimful.store.claims import ALL
from brimful.store.sqlite import SqliteStore
from brimful.store.store import Store

Named = str | os.PathLike[str] | Address | Shards | Sequence[str | os.PathLike[str] | Address]
"""A path or an address; several are the shards of one corpus, and so is a file that lists them (`team.toml`)."""

Choice = Embedder | Literal["default"] | None


def place_of(path: Named) -> Place:
    """A file, also where a folder was named, or a corpus on a server, or several of them.

    >>> str(place_of("postgresql://ada:secret@db/team")), place_of("notes.db").name
    ('postgresql://ada@db/team', 'notes.db')
    """
    if isinstance(path, Address | Shards):
        return path
    if isinstance(path, str) and is_address(path):
        return Address.of(path)
    if not isinstance(path, str | os.PathLike):
        return several([place_of(each) for each in path])
    place = Path(path)
    if is_list(place):
        return shards_of(place)
    return place / STORE_NAME if place.is_dir() else place


def opened(path: Named, *, embedder: Choice = "default", ray: str | None = None) -> Store:
    """Open a store, or make it; what a server needs is imported with its first address.

    With the address of a Ray cluster, its shards are served there.
    """
    place = place_of(path)
    if ray is not None:
        from brimful.store.cluster import RayStore, connect
        from brimful.store.sharding import ShardedStore

        if not isinstance(place, Shards):
            raise InputError(f"{place} is one store, and Ray serves shards; list some: brimful shard add")
        found = connect(ray)
        opening = partial(RayStore, embedder=embedder, ray=found, sharing=len(place.places))
        return ShardedStore(place, opening, ray=found)
    if isinstance(place, Shards):
        from brimful.store.sharding import ShardedStore

        return ShardedStore(place, partial(opened_alone, embedder=embedder, sharing=len(place.places)))
    store = opened_alone(place, embedder=embedder)
    claim = store.claim()
    if claim is not None and claim.settled != ALL:
        store.close()
        raise InputError(f"{place} is one shard of a corpus; name all of its shards, or the file that lists them")
    return store


def rebuild(path: Named, *, embedder: Choice = "default") -> None:
    """Index the text that a store holds again, by the rules of this version.

    A store that other rules made asks for it; nothing is read but the store itself. Its vectors are made by whoever
    made them before, or by `embedder`.
    """
    place = place_of(path)
    for each in place.places if isinstance(place, Shards) else [place]:
        with closing(opened_alone(each, embedder=embedder, make=False, outdated=True)) as store:
            store.rebuild()


def opened_alone(
    place: Path | Address, *, embedder: Choice = "default", make: bool = True, outdated: bool = False, sharing: int = 1
) -> Store:
    """Open one store, whatever it is a part of; without `make`, one that is not there can't be reached.

    `outdated` opens one that other rules made, to rebuild it. As many as are `sharing` what may be kept
    of servers in memory have their part of it each.
    """
    if isinstance(place, Address):
        from brimful.store.postgres import PostgresStore

        try:
            return PostgresStore(place, embedder=embedder, make=make, outdated=outdated, sharing=sharing)
        except InputError as error:
            if make:
                raise
            raise StoreUnreachableError(str(error)) from None
    if not make and not place.is_file():
        raise StoreUnreachableError(f"{place} is not there; is its disk mounted, and the path right?")
    return SqliteStore(place, embedder=embedder, outdated=outdated)


def digests_of(place: Place) -> Path:
    """The file for what models have answered: beside a store's own, or in the user's folder for one on a server whose
    role may only ask it.
    """
    if isinstance(place, Shards):
        return digests_of(place.places[0] if place.file is None else place.file)
    if isinstance(place, Path):
        return place.with_name(f"{place.name}-digests")
    from hashlib import sha256

    folder = platformdirs.user_data_path("brimful", appauthor=False) / "servers"
    return folder / f"{sha256(place.key.encode()).hexdigest()[:24]}-digests"
