"""How does a corpus lie on several stores, and still have the same bytes?

A document lies in one shard, by the hash of its path: the bucket of its leaf in the tree of hashes, so that each bucket
is one shard's own, and the state root over all is that of one store. A snapshot of all shards is the set of all their
segments: nothing that is shown depends on how documents are spread over segments, so a question is asked of all of them
as of one store, and its answer is the same. Each shard commits by itself; a document is never in two.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from brimful.corpus.loaders.loaded import SourceMap
from brimful.corpus.streaming import LongDocument
from brimful.errors import InputError, StoreError
from brimful.index.embedders import Embedder
from brimful.index.segments import Numbers, Places
from brimful.index.vectors import Bytes
from brimful.store.address import Shards
from brimful.store.format import Cursor
from brimful.store.merkle import Proof, all_buckets, state_root
from brimful.store.protocol import Card, Documents, Extents, Heads, Row
from brimful.store.remembered import KnownVectors
from brimful.store.snapshot import StoredSegment, StoredSnapshot
from brimful.store.store import Adopted, Named, Origins, Store
from brimful.store.writing import Entry, Prepared, part_of, prepare, split


class ShardView(StoredSegment):
    """A segment of one shard: its documents have numbers that no other shard gives."""

    def __init__(self, view: StoredSegment, *, shard: int, shards: int) -> None:
        self.__dict__.update(view.__dict__)
        self.__dict__.pop("extents", None)
        self.__dict__.pop("_by_document", None)
        self._view, self._shard, self._shards = view, shard, shards

    @cached_property
    def extents(self) -> Extents:
        """What is live."""
        bases, ends, documents, starts = self._view.extents
        return Extents(bases, ends, documents * self._shards + self._shard, starts)

    def cards(self) -> list[Card]:
        """What is shown of the live documents that begin here."""
        return [card._replace(number=card.number * self._shards + self._shard) for card in self._view.cards()]


class ShardedSnapshot:
    """What all shards hold, each at its newest moment.

    A document's number is that in its shard, times the count of shards, plus the shard.
    """

    def __init__(self, shards: Sequence[StoredSnapshot]) -> None:
        self._shards = list(shards)
        self.generation = sum(shard.generation for shard in shards)
        self._buckets = {bucket: root for shard in shards for bucket, root in shard.buckets().items()}
        self.root = state_root(self._buckets)
        models = {shard.model for shard in shards if shard.segments()}
        if len(models) > 1:
            raise StoreError(f"the shards have vectors of different models ({models!r:.200}); rebuild() them with one")
        self.model = models.pop() if models else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every shard's moment."""
        for shard in self._shards:
            shard.close()

    @property
    def is_lost(self) -> bool:
        """Whether a connection was cut."""
        return any(shard.is_lost for shard in self._shards)

    def _home(self, number: int) -> tuple[StoredSnapshot, int]:
        own, shard = divmod(number, len(self._shards))
        return self._shards[shard], own

    def _numbered(self, row: Row, shard: int) -> Row:
        return replace(row, number=row.number * len(self._shards) + shard)

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""
        each = [self._rows_of(shard) for shard in range(len(self._shards))]
        return iter(heapq.merge(*each, key=attrgetter("path")))

    def _rows_of(self, shard: int) -> Iterator[Row]:
        for row in self._shards[shard].rows():
            yield self._numbered(row, shard)

    def row(self, path: str) -> Row | None:
        """The live document of that path."""
        shard = part_of(path, len(self._shards))
        found = self._shards[shard].row(path)
        return None if found is None else self._numbered(found, shard)

    def documents(self) -> Documents:
        """All live documents in columns, read once."""
        return self._documents

    @cached_property
    def _documents(self) -> Documents:
        return Documents.of(card for segment in self.segments() for card in segment.cards())

    def segments(self) -> Sequence[StoredSegment]:
        """Everything that is indexed, shard by shard."""
        return self._segments

    @cached_property
    def _segments(self) -> list[StoredSegment]:
        count = len(self._shards)
        return [
            ShardView(view, shard=number, shards=count)
            for number, shard in enumerate(self._shards)
            for view in shard.segments()
        ]

    def read(self, number: int, start: int, end: int) -> bytes:
        """Bytes of a document, verified."""
        shard, own = self._home(number)
        return shard.read(own, start, end)

    def extents(self, number: int) -> list[tuple[int, int]]:
        """The ranges in which a document is stored."""
        shard, own = self._home(number)
        return shard.extents(own)

    def source_map(self, number: int) -> SourceMap | None:
        """The way back from a document's text to its original."""
        shard, own = self._home(number)
        return shard.source_map(own)

    def units(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of a document's units."""
        shard, own = self._home(number)
        return shard.units(own, start, end)

    def sections(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of its sections."""
        shard, own = self._home(number)
        return shard.sections(own, start, end)

    def heads(self, number: int) -> Heads:
        """Its headings and first lines of definitions."""
        shard, own = self._home(number)
        return shard.heads(own)

    def census(self, term: bytes) -> int:
        """How many occurrences there are."""
        return sum(shard.census(term) for shard in self._shards)

    def terms(self) -> list[bytes]:
        """Every term that a live document has, sorted."""
        return sorted({term for shard in self._shards for term in shard.terms()})

    def places(self, term: bytes) -> Places:
        """Every occurrence of a term in live documents, by document number and byte."""
        each = [shard.places(term) for shard in self._shards]
        documents = [found.documents * len(self._shards) + number for number, found in enumerate(each)]
        found = Places(np.concatenate(documents), np.concatenate([found.starts for found in each]))
        order = np.argsort(found.keys, kind="stable")
        return Places(found.documents[order], found.starts[order])

    def prove(self, path: str) -> Proof:
        """That a document is under the root: its shard knows the bucket, all of them the tree above."""
        return self._shards[part_of(path, len(self._shards))].prove(path, above=self._above)

    @cached_property
    def _above(self) -> list[list[bytes]]:
        return all_buckets(self._buckets)


class ShardedStore(Store):
    """Several stores that are one corpus; always the same ones, in the same order."""

    path: Shards

    def __init__(self, path: Shards, stores: Sequence[Store]) -> None:
        super().__init__(None)
        self.path, self._stores = path, list(stores)
        self.parts = len(stores)
        try:
            for number, store in enumerate(stores):
                store.join(number, len(stores))
        except BaseException:
            self.close()
            raise

    def _of(self, path: str) -> Store:
        return self._stores[part_of(path, self.parts)]

    def close(self) -> None:
        """Let go of all."""
        for store in self._stores:
            store.close()

    def snapshot(self) -> ShardedSnapshot:  # type: ignore[override]  # all that a snapshot is asked for
        """What all shards hold now."""
        with ExitStack() as opened:
            found = ShardedSnapshot([opened.enter_context(store.snapshot()) for store in self._stores])
            opened.pop_all()
            return found

    def generation(self) -> int:
        """How many commits there have been in all of them."""
        return sum(store.generation() for store in self._stores)

    def embedder(self) -> Embedder | None:
        """Who makes the codes of what is added now: one for all."""
        with self.snapshot() as now:
            model = now.model
        begun = [store for store in self._stores if store.model() is not None]
        found = (begun or self._stores)[0].embedder()
        if begun and model is not None and found is not None and found.name != model:
            raise StoreError(
                f"the shards have vectors of {model!r}, not of {found.name!r}; open them with its embedder"
            )
        return found

    # ---- writing

    def _commit(self, batch: Sequence[Entry]) -> int:
        return self.write(prepare(batch, self.embedder(), parts=self.parts))

    def write(self, prepared: Prepared, *, own: Sequence[str] | None = None) -> int:
        """Commit a batch that was prepared for so many parts: each shard its own documents."""
        parts = zip(self._stores, split(prepared, self.parts), strict=True)
        return sum(store.write(part, own=own) for store, part in parts if part.rows)

    def _commit_long(self, entry: Entry, document: LongDocument) -> int:
        return self._of(document.path).add([entry])

    def remove_of(self, prefix: str | None, paths: Iterable[str]) -> int:
        """Forget documents, each where it lies."""
        own: dict[int, list[str]] = {}
        for path in paths:
            own.setdefault(part_of(path, self.parts), []).append(path)
        return sum(self._stores[shard].remove_of(prefix, some) for shard, some in sorted(own.items()))

    def adopt(self, given: Adopted, *, model: str | None) -> int:  # noqa: ARG002
        """Segments of another store hold documents of every shard."""
        raise InputError(f"{self.path} has several shards, and a copy goes to one store; add the sources to it instead")

    def rename(self, old: str, new: str, *, origin: str | None = None) -> bool:
        """Give a document another path, where it stays in its shard with it."""
        is_same = part_of(old, self.parts) == part_of(new, self.parts)
        return is_same and self._of(old).rename(old, new, origin=origin)

    def remember_root(self, prefix: str, folder: str) -> None:
        """Note a place that was added, in every shard."""
        for store in self._stores:
            store.remember_root(prefix, folder)

    def compact(self) -> None:
        """Lay all live documents down anew."""
        for store in self._stores:
            store.compact()

    def purge(self) -> None:
        """Leave no byte of deleted content in any of them."""
        for store in self._stores:
            store.purge()

    def tidy(self) -> None:
        """Merge segments before there are many of them."""
        for store in self._stores:
            store.tidy()

    def rebuild(self) -> None:
        """Index all stored text again."""
        for store in self._stores:
            store.rebuild()

    @contextmanager
    def turn(self, prefix: str | None = None, *, wait_seconds: float | None) -> Iterator[None]:
        """Hold all of them, the first one first."""
        with ExitStack() as held:
            for store in self._stores:
                held.enter_context(store.turn(prefix, wait_seconds=wait_seconds))
            yield

    # ---- looking

    def origins(self, prefix: str) -> dict[str, Origins]:
        """What is stored of each file below a root, in whichever shards its documents are."""
        found: dict[str, Origins] = {}
        for store in self._stores:
            for name, origin in store.origins(prefix).items():
                known = found.setdefault(name, Origins(origin.stamp, []))
                known.paths.extend(origin.paths)
                known.paths.sort()
        return found

    def owner(self, path: str) -> str | None:
        """The origin of the document of that path."""
        return self._of(path).owner(path)

    def claim(self, prefix: str, places: Sequence[Named], *, own: Sequence[str]) -> str | None:
        """Record a root's folder in every shard; the first one decides between those who ask at once."""
        free = [each for each in places if all(store.is_free(each, own=own) for store in self._stores[1:])]
        folder = self._stores[0].claim(prefix, free, own=own)
        if folder is not None:
            self.remember_root(prefix, folder)
        return folder

    def roots(self) -> dict[str, str]:
        """The places that were added, with their folders."""
        return self._stores[0].roots()

    def own_files(self) -> list[Path]:
        """The files that all of them consist of."""
        return [file for store in self._stores for file in store.own_files()]

    def size_bytes(self) -> int:
        """How much room all of them take."""
        return sum(store.size_bytes() for store in self._stores)

    # ---- vectors of texts: what a model made of a text lies in the first shard

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> KnownVectors:
        """What is remembered of texts."""
        return self._stores[0].vectors_known(model, keys, width=width)

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep the vectors of texts."""
        return self._stores[0].remember_vectors(model, keys, rows)

    def retain_vectors(self, model: str, keys: Sequence[bytes]) -> int:
        """Forget a model's vectors of all texts but these."""
        return self._stores[0].retain_vectors(model, keys)

    def _writing(self, *, late: bool = False) -> AbstractContextManager[Cursor]:  # noqa: ARG002
        raise StoreError("each shard is written by itself")

    def _reading(self) -> AbstractContextManager[Cursor]:
        raise StoreError("each shard is read by itself")

    def _remembering(self, *, write: bool) -> AbstractContextManager[Cursor]:  # noqa: ARG002
        raise StoreError("each shard remembers by itself")

    def _give_back(self) -> None:
        """Each does so by itself."""
