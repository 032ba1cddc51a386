"""How does a corpus lie on several stores, and still have the same bytes?

A document lies in one shard, by the hash of its path: the bucket of its leaf in the tree of hashes, so that each bucket
is one shard's own, and the state root over all is that of one store. A snapshot of all shards is the set of all their
segments: nothing that is shown depends on how documents are spread over segments, so a question is asked of all of them
as of one store, and its answer is the same. Each shard commits by itself; a document is never seen in two.
"""

from __future__ import annotations

import heapq
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from brimful.corpus.loaders.loaded import SourceMap
from brimful.corpus.reading import LongDocument
from brimful.errors import InputError, ShardDownError, StoreError, StoreUnreachableError
from brimful.index.embedders import Embedder
from brimful.index.segments import Numbers, Places
from brimful.index.vectors import Bytes
from brimful.store.address import Address, Shards, is_on_server
from brimful.store.claims import ALL, NOBODY, Claim, Move, UnsettledError, dealt, placement, plan
from brimful.store.far import at_once
from brimful.store.format import Cursor, Value
from brimful.store.merkle import BUCKETS, Proof, all_buckets, state_root
from brimful.store.protocol import Card, Documents, Extents, Row
from brimful.store.ready import Ready
from brimful.store.remembered import KnownVectors
from brimful.store.snapshot import ComparedElsewhere, StoredSnapshot
from brimful.store.store import BUSY_SECONDS, Adopted, Named, Origins, Store
from brimful.store.views import StoredSegment, expect_terms, expect_words, parts_of, places_in
from brimful.store.writing import Entry, Parts, Prepared, Scattered, part_of, prepare, split
from brimful.store.writing import Row as FullRow
from brimful.text.outline import Heads

_LOOKS, _LOOK_SECONDS = 20, 0.05
"""How often shards are looked at again while documents move between them."""
_MOVING = "shards//"
"""Who moves documents between shards holds them under this name."""


class _ShardView(StoredSegment):
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


class _ShardedSnapshot(ComparedElsewhere):
    """What all shards hold, each at its newest moment, or all but those that are missing.

    A document's number is that in its shard, times the count of shards, plus the shard.
    """

    ready = Ready()
    """Nothing lies ready of several shards."""

    def leave_ready(self) -> None:
        """Nothing is written down."""

    def __init__(self, shards: Mapping[int, StoredSnapshot], *, count: int, missing: tuple[str, ...] = ()) -> None:
        self._shards, self._count, self.missing = dict(shards), count, missing
        claims = {number: shard.claim() for number, shard in self._shards.items()}
        self.parts = placement({number: claim for number, claim in claims.items() if claim is not None})
        self.generation = sum(shard.generation for shard in self._shards.values())
        buckets = ((number, *each) for number, shard in self._shards.items() for each in shard.buckets().items())
        self._buckets = {bucket: root for number, bucket, root in buckets if self.parts[bucket] == number}
        self.root = state_root(self._buckets)
        models = {shard.model for shard in self._shards.values() if shard.segments()}
        if len(models) > 1:
            raise StoreError(f"the shards have vectors of different models ({models!r:.200}); rebuild() them with one")
        self.model = models.pop() if models else None

    def close(self) -> None:
        """Let go of every shard's moment."""
        for shard in self._shards.values():
            shard.close()

    @property
    def is_lost(self) -> bool:
        """Whether a connection was cut."""
        return any(shard.is_lost for shard in self._shards.values())

    @property
    def unheld(self) -> int:
        """How many of the 4,096 parts of the corpus no shard that was asked holds."""
        return sum(1 for shard in self.parts if shard == NOBODY)

    def _home(self, number: int) -> tuple[StoredSnapshot, int]:
        own, shard = divmod(number, self._count)
        return self._shards[shard], own

    def _numbered(self, row: Row, shard: int) -> Row:
        return row._replace(number=row.number * self._count + shard)

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""
        return iter(heapq.merge(*map(self._rows_of, self._shards), key=attrgetter("path")))

    def _rows_of(self, shard: int) -> Iterator[Row]:
        for row in self._shards[shard].rows():
            if part_of(row.path, self.parts) == shard:
                yield self._numbered(row, shard)

    def stored_rows(self) -> Iterator[tuple[Any, ...]]:
        """The same with all that is stored of each, but for its seal."""
        return iter(heapq.merge(*map(self._stored_rows_of, self._shards), key=lambda values: str(values[1])))

    def _stored_rows_of(self, shard: int) -> Iterator[tuple[Any, ...]]:
        for number, path, *values in self._shards[shard].stored_rows():
            if part_of(path, self.parts) == shard:
                yield (number * self._count + shard, path, *values)

    def row(self, path: str) -> Row | None:
        """The live document of that path."""
        shard = part_of(path, self.parts)
        found = None if shard == NOBODY else self._shards[shard].row(path)
        return None if found is None else self._numbered(found, shard)

    def expect(self, paths: Iterable[str], *, proofs: bool = False) -> None:
        """Be told which documents will be asked for."""
        own: dict[int, list[str]] = {}
        for path in paths:
            own.setdefault(part_of(path, self.parts), []).append(path)
        far = []
        for number, some in sorted(own.items()):
            if number == NOBODY:
                continue
            shard = self._shards[number]
            if shard.cursor.is_far:
                far.append(partial(shard.expect, some, proofs=proofs))
            else:
                shard.expect(some, proofs=proofs)
        at_once(far)

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
        return [
            _ShardView(view, shard=number, shards=self._count)
            for number, shard in self._shards.items()
            for view in self._own(number, shard)
        ]

    def _own(self, number: int, shard: StoredSnapshot) -> Sequence[StoredSegment]:
        """A shard's segments, without documents that have moved and are still to be forgotten there."""
        views = shard.segments()
        if all(self.parts[bucket] == number for bucket in shard.buckets()):
            return views
        cards = [card for view in views for card in view.cards()]
        return parts_of(views, [card.number for card in cards if part_of(card.path, self.parts) == number])

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

    def packed_map(self, number: int) -> bytes | None:
        """The same as it is stored."""
        shard, own = self._home(number)
        return shard.packed_map(own)

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
        return sum(segment.count(term) for segment in self._segments)

    def terms(self) -> list[bytes]:
        """Every term that a live document has, sorted."""
        return sorted({term for segment in self._segments for term in segment.live_names()})

    def expect_terms(self, terms: Sequence[bytes]) -> None:
        """Be told which terms will be looked for, or beginnings of terms."""
        expect_terms(self._segments, terms)

    def expect_words(self) -> None:
        """Be told that the words of all segments will be asked for."""
        expect_words(self._segments)

    def places(self, term: bytes) -> Places:
        """Every occurrence of a term in live documents, by document number and byte."""
        return places_in(self._segments, term)

    def prove(self, path: str) -> Proof:
        """That a document is under the root: its shard knows the bucket, all of them the tree above."""
        self.check_held(path)
        return self._shards[part_of(path, self.parts)].prove(path, above=self._above)

    def check_held(self, path: str) -> None:
        """Raise where a document may lie in a shard that can't be reached."""
        if part_of(path, self.parts) == NOBODY:
            raise ShardDownError(
                f"{path!r:.200} may lie in {', '.join(self.missing)}, which can't be reached; ask again when it is back"
            )

    @cached_property
    def _above(self) -> list[list[bytes]]:
        return all_buckets(self._buckets)


class Opening(Protocol):
    """What opens one store."""

    def __call__(self, place: Path | Address, *, make: bool) -> Store:
        """Open it; without `make`, one that is not there is a StoreUnreachableError."""


class ShardState(NamedTuple):
    """What is told of one shard; why it can't be reached, where it can't."""

    place: str
    documents: int
    bytes: int
    parts: int
    leaving: int
    problem: str | None = None


class ShardedStore(Store):
    """Several stores that are one corpus, in whichever order they are named.

    One that can't be reached is looked for again whenever it is needed.
    """

    path: Shards

    def __init__(self, path: Shards, opened: Opening, *, ray: Any = None) -> None:
        """`opened` opens one of the places, and makes a store there where it may."""
        super().__init__(None)
        self.path, self._opened, self.ray = path, opened, ray
        self._known: dict[int, Store] = {}
        self._why: dict[int, StoreUnreachableError] = {}
        try:
            found = [self._reached(number) for number in range(len(path.places))]
            claims = [None if store is None else store.claim() for store in found]
            if not any(claim is not None and claim.is_founded for claim in claims):
                self._found()
            elif not self._known:
                raise self._down()
            self._check()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of all."""
        for store in self._known.values():
            store.close()

    # ---- which shards are there

    def _reached(self, number: int) -> Store | None:
        """A shard, None where it can't be reached."""
        if number not in self._known:
            try:
                self._known[number] = self._opened(self.path.places[number], make=False)
            except StoreUnreachableError as error:
                self._why[number] = error
        return self._known.get(number)

    def _all(self) -> list[Store]:
        """All shards, or an error that names those that can't be reached."""
        found = [store for number in range(len(self.path.places)) if (store := self._reached(number)) is not None]
        if len(found) < len(self.path.places):
            raise self._down()
        return found

    def _down(self) -> ShardDownError:
        missing = [number for number in range(len(self.path.places)) if number not in self._known]
        places = [str(self.path.places[number]) for number in missing]
        return ShardDownError(
            f"{len(missing)} of {len(self.path.places)} shards can't be reached: {', '.join(places)}; nothing is "
            "answered without them unless a partial answer is asked for (partial, --partial). "
            f"{self._why[missing[0]] if missing and missing[0] in self._why else ''}".rstrip()
        )

    def _found(self) -> None:
        """Deal the buckets to new shards; broken off, it begins again, since nothing was added until it was done."""
        servers_first = sorted(enumerate(self.path.places), key=lambda each: (isinstance(each[1], Path), each[0]))
        for number, place in servers_first:  # no file is made where a server does not answer
            if number not in self._known:
                self._known[number] = self._opened(place, make=True)
        with self._held(_MOVING):
            stores = self._all()
            claims = [store.claim() for store in stores]
            if any(claim is not None and claim.is_founded for claim in claims):
                return  # another process was faster
            for store in stores:
                if not store.is_empty():
                    raise InputError(
                        f"{store.path} holds a corpus of its own; name all shards of one corpus, or make it the first "
                        "of several: brimful shard add"
                    )
            _deal(stores, [dealt(number, len(stores)) for number in range(len(stores))])

    def _check(self) -> None:
        """See that those that are there belong together, and which documents lie where."""
        claims: dict[int, Claim] = {}
        for number, store in sorted(self._known.items()):
            claim = store.claim()
            corpus = next(iter(claims.values())).corpus if claims else None
            if claim is None or corpus not in (None, claim.corpus):
                held = "a corpus of its own" if claim is None else "documents of another corpus"
                raise InputError(
                    f"{store.path} holds {held}; name all shards of one corpus, each of them once, "
                    "or bring an empty store to it: brimful shard add"
                )
            claims[number] = claim
            if not claim.is_founded:  # founding ended after the first was told that it is so
                store.set_claim(replace(claim, is_founded=True))
        with self.moment(partial=True) as now:
            self.parts: Parts = now.parts

    def snapshot(self) -> _ShardedSnapshot:  # type: ignore[override]  # all that a snapshot is asked for
        """What all shards hold now."""
        return self.moment(partial=False)

    def moment(self, *, partial: bool) -> _ShardedSnapshot:  # type: ignore[override]
        """The same; `partial` goes without those that can't be reached."""
        for look in range(_LOOKS):
            try:
                return self._looked(partial=partial)
            except UnsettledError:
                time.sleep(_LOOK_SECONDS * (look > 0))
        raise InputError(
            f"the {len(self.path.places)} shards of {self.path} do not hold every part of the corpus once; name all of "
            "its shards, each of them once"
        )

    def _looked(self, *, partial: bool) -> _ShardedSnapshot:
        with ExitStack() as opened:
            found: dict[int, StoredSnapshot] = {}
            for number in range(len(self.path.places)):
                store = self._reached(number)
                try:
                    if store is not None:
                        found[number] = opened.enter_context(store.snapshot())
                except StoreUnreachableError as error:
                    self._why[number] = error
                    self._known.pop(number).close()
            missing = tuple(str(place) for number, place in enumerate(self.path.places) if number not in found)
            if (missing and not partial) or not found:
                raise self._down()
            now = _ShardedSnapshot(found, count=len(self.path.places), missing=missing)
            if now.unheld and not missing:
                raise UnsettledError  # a bucket has gone from one and come to another between two looks
            opened.pop_all()
            return now

    def generation(self) -> int:
        """How many commits there have been in all of them."""
        return self.standing(partial=False)[0]

    def standing(self, *, partial: bool) -> tuple[int, tuple[str, ...]]:
        """The same for those that can be reached, and the names of the others."""
        total, missing = 0, []
        for number, place in enumerate(self.path.places):
            store = self._reached(number)
            try:
                total += 0 if store is None else store.generation()
            except StoreUnreachableError as error:
                self._why[number] = error
                self._known.pop(number).close()
                store = None
            if store is None:
                missing.append(str(place))
        if missing and not partial:
            raise self._down()
        return total, tuple(missing)

    def states(self) -> list[ShardState]:
        """What each shard holds, or why it can't be reached."""
        found = []
        for number, place in enumerate(self.path.places):
            store = self._reached(number)
            try:
                if store is None:
                    raise self._why[number]
                with store.snapshot() as now:
                    held, found_there = now.claim() or Claim("", frozenset()), now.documents()
                size = int(found_there.lengths.sum())
                state = ShardState(str(place), len(found_there), size, len(held.held), len(held.leaving))
            except StoreUnreachableError as error:
                state = ShardState(str(place), 0, 0, 0, 0, str(error))
            found.append(state)
        return found

    def embedder(self) -> Embedder | None:
        """Who makes the codes of what is added now: one for all."""
        with self.snapshot() as now:
            model = now.model
        stores = self._all()
        begun = [store for store in stores if store.model() is not None]
        found = (begun or stores)[0].embedder()
        if begun and model is not None and found is not None and found.name != model:
            raise StoreError(
                f"the shards have vectors of {model!r}, not of {found.name!r}; open them with its embedder"
            )
        return found

    # ---- writing

    def _of(self, path: str) -> Store:
        return self._all()[part_of(path, self.parts)]

    def _renew(self) -> None:
        """Learn where documents lie now."""
        with self.snapshot() as now:
            self.parts = now.parts

    def add(self, entries: Iterable[Entry]) -> int:
        """Store documents, replacing those of the same path; each batch is committed at once. Returns how many."""
        self._renew()
        return super().add(entries)

    def _commit(self, batch: Sequence[Entry]) -> int:
        return self.write(prepare(batch, self.embedder(), parts=self.parts))

    def write(self, prepared: Prepared | Scattered, *, own: Sequence[str] | None = None) -> int:
        """Commit a batch that was prepared for these parts: each shard its own documents."""
        stores = self._all()
        parts = prepared.parts if isinstance(prepared, Scattered) else split(prepared, self.parts)
        return sum(stores[shard].write(part, own=own) for shard, part in parts.items())

    def _commit_long(self, entry: Entry, document: LongDocument) -> int:
        return self._of(document.path).add([entry])

    def remove_of(self, prefix: str | None, paths: Iterable[str]) -> int:
        """Forget documents, each where it lies now."""
        self._renew()
        stores = self._all()
        own: dict[int, list[str]] = {}
        for path in paths:
            own.setdefault(part_of(path, self.parts), []).append(path)
        return sum(stores[shard].remove_of(prefix, some) for shard, some in sorted(own.items()))

    def adopt(self, given: Adopted, *, model: str | None) -> int:
        """Take segments of another store: each shard its own documents of them, in one commit each."""
        stores = self._all()
        own: dict[int, dict[int, FullRow]] = {}
        for number, row in given.rows.items():
            own.setdefault(self.parts[row.bucket], {})[number] = row
        for shard, rows in sorted(own.items()):
            maps = {number: data for number, data in given.maps.items() if number in rows}
            stores[shard].adopt(Adopted(rows, maps, parts_of(given.segments, rows)), model=model)
        return len(given.rows)

    def rename(self, old: str, new: str, *, origin: str | None = None) -> bool:
        """Give a document another path, where it stays in its shard with it."""
        is_same = part_of(old, self.parts) == part_of(new, self.parts)
        return is_same and self._of(old).rename(old, new, origin=origin)

    def remember_root(self, prefix: str, folder: str) -> None:
        """Note a place that was added, in every shard."""
        for store in self._all():
            store.remember_root(prefix, folder)

    def compact(self) -> None:
        """Lay all live documents down anew."""
        for store in self._all():
            store.compact()

    def purge(self) -> None:
        """Leave no byte of deleted content in any of them."""
        for store in self._all():
            store.purge()

    def tidy(self) -> None:
        """Merge segments before there are many of them."""
        for store in self._all():
            store.tidy()

    def rebuild(self) -> None:
        """Index all stored text again."""
        for store in self._all():
            store.rebuild()

    @contextmanager
    def turn(self, prefix: str | None = None, *, wait_seconds: float | None) -> Iterator[None]:
        """Hold all of them."""
        with self._held(prefix, wait_seconds):
            self._renew()
            yield

    @contextmanager
    def _held(self, prefix: str | None, wait_seconds: float | None = BUSY_SECONDS) -> Iterator[None]:
        with ExitStack() as held:
            for store in sorted(self._all(), key=lambda each: str(each.path)):  # in one order, whoever named them how
                held.enter_context(store.turn(prefix, wait_seconds=wait_seconds))
            yield

    # ---- moving documents between shards

    def rebalance(
        self, *, leave: Iterable[int] = (), to: int | None = None, progress: Callable[[str], None] | None = None
    ) -> int:
        """Move documents until all shards hold about as many bytes; returns how many parts of the corpus moved.

        Those of the shards that are to `leave` go to the others, or all of them `to` one. What was broken off before
        is brought to its end first: a part is moved in two commits, and is whole and readable after each of them.
        """
        going = frozenset(leave)
        if going >= set(range(len(self.path.places))) or to in going:
            raise InputError(f"{self.path} would keep no shard; name one to move the documents to")
        with self._held(_MOVING):
            stores = self._all()
            self._settle(stores)
            claims = [store.claim() or Claim("", frozenset()) for store in stores]
            sizes = [store.bucket_bytes() for store in stores]
            even = max(sum(sum(size.values()) for size in sizes) // BUCKETS, 1)  # documents still to come are even
            weights = [
                {bucket: size.get(bucket, 0) + even for bucket in claim.held}
                for claim, size in zip(claims, sizes, strict=True)
            ]
            if to is None:
                moves = plan(weights, leave=going)
            else:
                moves = [Move(bucket, shard, to) for shard in sorted(going) for bucket in sorted(claims[shard].held)]
            for source, target, buckets in _slices(moves, weights):
                _transfer(stores[source], stores[target], buckets)
                if progress is not None:
                    progress(f"{len(buckets)} parts of the corpus from {stores[source].path} to {stores[target].path}")
            for store in stores:
                store.tidy()
        self._renew()
        return len(moves)

    def _settle(self, stores: Sequence[Store]) -> None:
        """Finish what was broken off: what has come to another shard goes, what has not stays."""
        claims = [store.claim() or Claim("", frozenset()) for store in stores]
        for store, claim in zip(stores, claims, strict=True):
            if claim.leaving:
                elsewhere = frozenset().union(*(other.settled for other in claims if other is not claim))
                if gone := claim.leaving & elsewhere:
                    store.give_up(gone)
                store.set_claim(replace(claim, held=claim.held - gone, leaving=frozenset()))

    # ---- looking

    def origins(self, prefix: str) -> dict[str, Origins]:
        """What is stored of each file below a root, in whichever shards its documents are."""
        found: dict[str, Origins] = {}
        for number, store in enumerate(self._all()):
            for name, origin in store.origins(prefix).items():
                own = [path for path in origin.paths if part_of(path, self.parts) == number]
                if own:
                    known = found.setdefault(name, Origins(origin.stamp, []))
                    known.paths.extend(own)
                    known.paths.sort()
        return found

    def owner(self, path: str) -> str | None:
        """The origin of the document of that path."""
        return self._of(path).owner(path)

    def claim_folder(self, prefix: str, places: Sequence[Named], *, own: Sequence[str]) -> str | None:
        """Record a root's folder in every shard; the first one decides between those who ask at once."""
        first, *others = self._all()
        free = [each for each in places if all(store.is_free(each, own=own) for store in others)]
        folder = first.claim_folder(prefix, free, own=own)
        if folder is not None:
            self.remember_root(prefix, folder)
        return folder

    def roots(self) -> dict[str, str]:
        """The places that were added, with their folders."""
        return dict(sorted(root for store in self._known.values() for root in store.roots().items()))

    def own_files(self) -> list[Path]:
        """The files that all of them consist of."""
        listed = [] if self.path.file is None else [self.path.file.resolve()]
        return listed + [file for store in self._all() for file in store.own_files()]

    def size_bytes(self) -> int:
        """How much room those that can be reached take."""
        return sum(store.size_bytes() for store in self._known.values())

    # ---- vectors of texts: what a model made of a text lies in the first shard that can be reached

    def _first(self) -> Store:
        return self._known[min(self._known)]

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> KnownVectors:
        """What is remembered of texts."""
        return self._first().vectors_known(model, keys, width=width)

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep the vectors of texts."""
        return self._first().remember_vectors(model, keys, rows)

    def stacks_known(self, model: str, keys: Sequence[bytes], *, width: int) -> dict[bytes, bytes]:
        """Those of some stacks of vectors that are remembered."""
        return self._first().stacks_known(model, keys, width=width)

    def remember_stack(self, model: str, key: bytes, stack: bytes, *, width: int) -> str | None:
        """Keep vectors of many texts as one."""
        return self._first().remember_stack(model, key, stack, width=width)

    def retain_vectors(self, model: str, keys: Sequence[bytes]) -> int:
        """Forget a model's vectors of all texts but these."""
        return self._first().retain_vectors(model, keys)

    # ---- what models answered lies in the first shard that is on a server; where all are files, beside their list

    def _answering(self) -> Store:
        servers = (number for number, place in enumerate(self.path.places) if isinstance(place, Address))
        store = self._reached(next(servers, 0))
        if store is None:
            raise self._down()
        return store

    def keeps_answers(self) -> bool:
        """Whether one of the shards keeps them."""
        return is_on_server(self.path) and self._answering().keeps_answers()

    def answers(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement on them."""
        return self._answering().answers(statement, values)

    def keep_answers(self, statements: Sequence[tuple[str, Sequence[Value]]]) -> None:
        """Some statements on them."""
        self._answering().keep_answers(statements)

    def _writing(self, *, late: bool = False) -> AbstractContextManager[Cursor]:  # noqa: ARG002
        raise StoreError("each shard is written by itself")

    def _reading(self) -> AbstractContextManager[Cursor]:
        raise StoreError("each shard is read by itself")

    def _remembering(self, *, write: bool) -> AbstractContextManager[Cursor]:  # noqa: ARG002
        raise StoreError("each shard remembers by itself")

    def _give_back(self) -> None:
        """Each does so by itself."""


# ---- moving: How do documents get from one shard to another, so that they are always in one of them?
#
# The first shard marks the buckets as leaving: they are read there still, and nobody changes them. The second one takes
# their documents and holds them, in one commit: from now on it answers for them. The first one forgets them.

SLICE_BYTES = 32 << 20
"""Text that is moved in one commit, unless a bucket has more."""


def _slices(moves: Iterable[Move], weights: Sequence[Mapping[int, int]]) -> Iterator[tuple[int, int, frozenset[int]]]:
    """Moves between the same two shards together, up to a size."""
    some: list[Move] = []
    size = 0
    for move in moves:
        if some and (move[1:] != some[0][1:] or size >= SLICE_BYTES):
            yield some[0].source, some[0].target, frozenset(each.bucket for each in some)
            some, size = [], 0
        some.append(move)
        size += weights[move.source][move.bucket]
    if some:
        yield some[0].source, some[0].target, frozenset(each.bucket for each in some)


def _transfer(source: Store, target: Store, buckets: frozenset[int]) -> None:
    claim = source.claim()
    if claim is None or not claim.settled >= buckets:
        raise StoreError(f"{source.path} was changed while its documents were moved; rebalance again")
    source.set_claim(replace(claim, leaving=claim.leaving | buckets))
    with source.snapshot() as now:
        rows = {number: FullRow(*values) for number, *values in now.rows_in(sorted(buckets))}
        maps = {number: data for number in rows if (data := now.packed_map(number)) is not None}
        target.take_over(Adopted(rows, maps, parts_of(now.segments(), rows)), buckets, model=now.model)
    source.give_up(buckets)


def _deal(stores: Sequence[Store], held: Sequence[frozenset[int]]) -> None:
    """Make stores the shards of a new corpus: when all know what they hold, all are told that it is so."""
    corpus = secrets.token_hex(8)
    for is_founded in (False, True):
        for store, buckets in zip(stores, held, strict=True):
            store.set_claim(Claim(corpus, buckets, is_founded=is_founded))


def join(stores: Sequence[Store]) -> None:
    """Bring stores into one corpus: one that has documents goes on holding all of them, empty ones hold none yet."""
    claims = [store.claim() for store in stores]
    known = [claim for claim in claims if claim is not None and claim.is_founded]
    full = [store for store, claim in zip(stores, claims, strict=True) if claim is None and not store.is_empty()]
    if len({claim.corpus for claim in known}) > 1 or len(full) + bool(known) > 1:
        named = ", ".join(str(store.path) for store in full or stores)
        raise InputError(f"{named}: only one corpus can lie on these shards; bring the others in with brimful copy")
    if known:
        for store, claim in zip(stores, claims, strict=True):
            if claim is None:
                store.set_claim(Claim(known[0].corpus, frozenset()))
    elif full:
        _deal(stores, [ALL if store is full[0] else frozenset() for store in stores])
    else:
        _deal(stores, [dealt(number, len(stores)) for number in range(len(stores))])
    for prefix, folder in sorted(root for store in stores for root in store.roots().items()):
        for store in stores:
            store.remember_root(prefix, folder)
