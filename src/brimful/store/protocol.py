"""What is true of a corpus at one moment? The one Snapshot type that every store gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from brimful.index.places import Places
from brimful.store.merkle import Proof
from brimful.text.kinds import Kind

BLOCK_BYTES = 65_536
"""Bytes of text in a stored block; no single read is ever larger than a few of them (085b §4)."""


@dataclass(frozen=True, slots=True)
class Row:
    """A live document as the store knows it."""

    number: int
    path: str
    id: str
    content_hash: bytes
    length: int
    time: int | None = None
    kind: Kind = "prose"
    language: str | None = None
    rule: str = "utf-8"
    title: str | None = None


class Snapshot(Protocol):
    """One generation of a corpus with one state root; nothing in it ever changes."""

    @property
    def generation(self) -> int:
        """Counts the commits."""
        ...

    @property
    def root(self) -> bytes:
        """The state root over path, time and content of all live documents."""
        ...

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""
        ...

    def row(self, path: str) -> Row | None:
        """The live document of that path."""
        ...

    def read(self, number: int, start: int, end: int) -> bytes:
        """Bytes of a document, verified."""
        ...

    def places(self, term: bytes) -> Places:
        """Every occurrence of a term in live documents."""
        ...

    def census(self, term: bytes) -> int:
        """How many occurrences there are (105 §2.3 phase 1)."""
        ...

    def units(self, number: int) -> NDArray[np.int64]:
        """The cut points of a document's units, its length included."""
        ...

    def prove(self, path: str) -> Proof:
        """That a document is under the root."""
        ...
