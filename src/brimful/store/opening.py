"""Which store does a path or an address mean?"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from brimful.errors import InputError
from brimful.index.embedders import Embedder
from brimful.store.address import Address, Shards, is_address
from brimful.store.sqlite import SqliteStore
from brimful.store.store import Store

STORE_NAME = "brimful.db"
"""The file of a store in a folder of its own."""


Named = str | os.PathLike[str] | Address | Shards | Sequence[str | os.PathLike[str] | Address]
"""A path or an address; several are the shards of one corpus, always the same ones in the same order."""


def place_of(path: Named) -> Path | Address | Shards:
    """A file, also where a folder was named, or a corpus on a server, or several of them.

    >>> str(place_of("postgresql://ada:secret@db/team")), place_of("notes.db").name
    ('postgresql://ada@db/team', 'notes.db')
    """
    if isinstance(path, Address | Shards):
        return path
    if isinstance(path, str) and is_address(path):
        return Address.of(path)
    if not isinstance(path, str | os.PathLike):
        places = [place_of(each) for each in path]
        if len({str(place) for place in places}) != len(places) or not places:
            raise InputError(f"{list(map(str, places))!r:.300} are no shards; name some stores, each of them once")
        return Shards(tuple(place for place in places if not isinstance(place, Shards)))
    place = Path(path)
    return place / STORE_NAME if place.is_dir() else place


def opened(path: Named, *, embedder: Embedder | Literal["default"] | None = "default") -> Store:
    """Open a store, or make it; what a server needs is imported with its first address."""
    place = place_of(path)
    if isinstance(place, Shards):
        return _shards(place, embedder)
    if isinstance(place, Address):
        from brimful.store.postgres import PostgresStore

        return PostgresStore(place, embedder=embedder)
    return SqliteStore(place, embedder=embedder)


def _shards(place: Shards, embedder: Embedder | Literal["default"] | None) -> Store:
    from brimful.store.sharding import ShardedStore

    with ExitStack() as held:
        stores = [held.enter_context(opened(each, embedder=embedder)) for each in place.places]
        found = ShardedStore(place, stores)
        held.pop_all()
        return found


def digests_of(place: Path | Address | Shards) -> Path:
    """The file for what models have answered: beside a store's own, or in the user's folder for one on a server."""
    if isinstance(place, Shards):
        return digests_of(place.places[0])
    if isinstance(place, Path):
        return place.with_name(f"{place.name}-digests")
    from platformdirs import user_data_path

    folder = user_data_path("brimful", appauthor=False) / "servers"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / f"{hashlib.sha256(place.key.encode()).hexdigest()[:24]}-digests"
