"""Which vectors of texts does a store remember?

By model and content: the hash of exactly the text that was embedded, whatever document it stands in. They follow from
texts that are asked about, not from what was added, so they have no part in the state root or the generation, and are
written beside whoever writes documents. A row is sealed like every other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from brimful.errors import CorruptError, InputError
from brimful.index.segments import Numbers
from brimful.index.vectors import KEY_BYTES, Bytes, unpack
from brimful.store.format import Cursor, seal_of

_AT_ONCE = 500
_DAMAGED = "a remembered vector fails its checksum; verify the store, or purge() it: vectors are made again when needed"


class KnownVectors(NamedTuple):
    """A row for each key in its order, zeros where nothing is remembered, and the places of those."""

    rows: Bytes
    missing: Numbers


def known(cursor: Cursor, model: str, keys: Sequence[bytes], *, width: int) -> KnownVectors:
    """What is remembered of these texts; what was changed since it was written is an error."""
    rows = np.zeros((len(keys), width), np.int8)
    found = _found(cursor, model, keys, width=width)
    places = [at for at, key in enumerate(keys) if key in found]
    rows[places] = unpack([found[keys[at]] for at in places], width=width)
    return KnownVectors(rows, np.setdiff1d(np.arange(len(keys)), np.array(places, np.int64)))


def remember(cursor: Cursor, model: str, keys: Sequence[bytes], rows: Bytes) -> None:
    """Keep vectors; one that is there already stays as it is."""
    if rows.ndim != 2 or len(keys) != len(rows) or any(len(key) != KEY_BYTES for key in keys):
        raise InputError(f"{len(keys)} keys of {KEY_BYTES} bytes can't go with vectors of the shape {rows.shape}")
    number = _number_made(cursor, model, rows.shape[1])
    pairs = zip(keys, (row.tobytes() for row in np.ascontiguousarray(rows, np.int8)), strict=True)
    cursor.executemany(
        "INSERT INTO vectors VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        ((number, key, numbers, seal_of(number, key, numbers)) for key, numbers in pairs),
    )


def retain(cursor: Cursor, model: str, keys: Sequence[bytes]) -> int:
    """Forget a model's vectors of all other texts; returns how many."""
    kept = set(keys)
    statement = "SELECT number, key FROM vectors JOIN vector_models ON number = model WHERE name = ?"
    gone = [(number, key) for number, key in cursor.fetch(statement, (model,)) if key not in kept]
    cursor.executemany("DELETE FROM vectors WHERE model = ? AND key = ?", gone)
    return len(gone)


def forget(cursor: Cursor) -> None:
    """Forget all vectors of all models: they say something of texts that may be gone."""
    cursor.execute("DELETE FROM vectors")
    cursor.execute("DELETE FROM vector_models")


def problems(cursor: Cursor) -> Iterator[str]:
    """What is not as it was written."""
    for *values, seal in cursor.fetch("SELECT number, name, width, seal FROM vector_models"):
        if seal_of(*values) != seal:
            yield "a row of vector_models fails its checksum"
    for number, key, numbers, seal in cursor.each("SELECT model, key, numbers, seal FROM vectors"):
        if seal_of(number, key, numbers) != seal:
            yield "a remembered vector fails its checksum"


def _found(cursor: Cursor, model: str, keys: Sequence[bytes], *, width: int) -> dict[bytes, bytes]:
    """The vectors of those texts that are remembered."""
    number = _number(cursor, model, width)
    found: dict[bytes, bytes] = {}
    for first in range(0, len(keys) if number is not None else 0, _AT_ONCE):
        asked = keys[first : first + _AT_ONCE]
        marks = ", ".join("?" * len(asked))
        statement = f"SELECT key, numbers, seal FROM vectors WHERE model = ? AND key IN ({marks})"  # noqa: S608
        for key, numbers, seal in cursor.fetch(statement, (number, *asked)):
            if seal != seal_of(number, key, numbers) or len(numbers) != width:
                raise CorruptError(_DAMAGED)
            found[key] = numbers
    return found


def _number(cursor: Cursor, model: str, width: int) -> int | None:
    """The number of a model, where it has one; another width under the same name is refused."""
    statement = "SELECT number, name, width, seal FROM vector_models WHERE name = ?"
    for number, name, stored, seal in cursor.fetch(statement, (model,)):
        if seal_of(number, name, stored) != seal:
            raise CorruptError(_DAMAGED)
        if stored != width:
            raise InputError(
                f"the store remembers vectors of {model!r} with {stored} numbers, and these have {width}; "
                "give the other model another name"
            )
        return int(number)
    return None


def _number_made(cursor: Cursor, model: str, width: int) -> int:
    """The number of a model; it gets one where it has none."""
    number = _number(cursor, model, width)
    if number is None:
        ((number,),) = cursor.fetch("SELECT coalesce(max(number), 0) + 1 FROM vector_models")
        row = (number, model, width)
        cursor.execute("INSERT INTO vector_models VALUES (?, ?, ?, ?)", (*row, seal_of(*row)))
    return int(number)
