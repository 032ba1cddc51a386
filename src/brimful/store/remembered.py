"""The vectors of texts that a store remembers.

The key is the model with the hash of the embedded text, whatever document it is from. Vectors follow from questions,
not from changes of the corpus, so they are outside of the state root and the generation, and are written in
transactions of their own, next to commits. Each row has its seal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from brimful.errors import CorruptError, InputError
from brimful.index.segments import Numbers
from brimful.index.vectors import KEY_BYTES, Bytes, unpack
from brimful.store.format import Cursor, seal_of
from brimful.store.state import AT_ONCE

_DAMAGED = "a remembered vector fails its checksum; verify the store, or purge() it: vectors are made again when needed"


class KnownVectors(NamedTuple):
    """A row for each key in its order, zeros where nothing is remembered, and the places of those."""

    rows: Bytes
    missing: Numbers


def remembered_vectors(cursor: Cursor, model: str, keys: Sequence[bytes], *, width: int) -> KnownVectors:
    """The remembered vectors of texts; a row that was changed since is an error."""
    rows = np.zeros((len(keys), width), np.int8)
    vectors = _vectors(cursor, model, keys, width=width)
    places = [place for place, key in enumerate(keys) if key in vectors]
    rows[places] = unpack([vectors[keys[place]] for place in places], width=width)
    return KnownVectors(rows, np.setdiff1d(np.arange(len(keys)), np.array(places, np.int64)))


def remember(cursor: Cursor, model: str, keys: Sequence[bytes], rows: Bytes) -> None:
    """Write vectors; one that is there already stays as it is."""
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
    wanted = set(keys)
    statement = "SELECT number, key FROM vectors JOIN vector_models ON number = model WHERE name = ?"
    gone = [(number, key) for number, key in cursor.fetch(statement, (model,)) if key not in wanted]
    cursor.executemany("DELETE FROM vectors WHERE model = ? AND key = ?", gone)
    return len(gone)


def forget(cursor: Cursor) -> None:
    """Forget all vectors of all models: they say something of texts that may be gone."""
    cursor.execute("DELETE FROM vectors")
    cursor.execute("DELETE FROM vector_models")


def problems(cursor: Cursor) -> Iterator[str]:
    """Rows that are not as they were written."""
    for *values, seal in cursor.fetch("SELECT number, name, width, seal FROM vector_models"):
        if seal_of(*values) != seal:
            yield "a row of vector_models fails its checksum"
    for number, key, numbers, seal in cursor.stream("SELECT model, key, numbers, seal FROM vectors"):
        if seal_of(number, key, numbers) != seal:
            yield "a remembered vector fails its checksum"


def _vectors(cursor: Cursor, model: str, keys: Sequence[bytes], *, width: int) -> dict[bytes, bytes]:
    """Packed vectors by key."""
    number = _number(cursor, model, width)
    vectors: dict[bytes, bytes] = {}
    for first in range(0, len(keys) if number is not None else 0, AT_ONCE):
        batch = keys[first : first + AT_ONCE]
        marks = ", ".join("?" * len(batch))
        statement = f"SELECT key, numbers, seal FROM vectors WHERE model = ? AND key IN ({marks})"  # noqa: S608
        for key, numbers, seal in cursor.fetch(statement, (number, *batch)):
            if seal != seal_of(number, key, numbers) or len(numbers) != width:
                raise CorruptError(_DAMAGED)
            vectors[key] = numbers
    return vectors


def _number(cursor: Cursor, model: str, width: int) -> int | None:
    """The number of a model, where it has one; its width must be as before."""
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
