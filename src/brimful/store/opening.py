"""Which store does a path or an address mean?"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

from brimful.index.embedders import Embedder
from brimful.store.address import Address, is_address
from brimful.store.sqlite import SqliteStore
from brimful.store.store import Store

STORE_NAME = "brimful.db"
"""The file of a store in a folder of its own."""


def place_of(path: str | os.PathLike[str] | Address) -> Path | Address:
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


def opened(
    path: str | os.PathLike[str] | Address, *, embedder: Embedder | Literal["default"] | None = "default"
) -> Store:
    """Open a store, or make it; what a server needs is imported with its first address."""
    place = place_of(path)
    if isinstance(place, Address):
        from brimful.store.postgres import PostgresStore

        return PostgresStore(place, embedder=embedder)
    return SqliteStore(place, embedder=embedder)


def digests_of(place: Path | Address) -> Path:
    """The file for what models have answered: beside a store's own, or in the user's folder for one on a server."""
    if isinstance(place, Path):
        return place.with_name(f"{place.name}-digests")
    from platformdirs import user_data_path

    folder = user_data_path("brimful", appauthor=False) / "servers"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / f"{hashlib.sha256(place.key.encode()).hexdigest()[:24]}-digests"
