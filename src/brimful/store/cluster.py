"""How does Ray serve the shards of a corpus?

Each shard is opened by an actor, somewhere in the cluster. Here stands a store that hands every call on to it, and a
cursor that runs a snapshot's statements there: what comes back is checked by its seals as if it were read from a disk.
When a node dies, Ray starts the actor on another one, which opens the store again; a question that was under way is an
error, and the next one is answered. Where actors run, how they are reached and when they are started again is Ray's.
"""

from __future__ import annotations

import socket
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np

from brimful.corpus.reading import LongDocument
from brimful.errors import MissingPartError, StoreError, StoreUnreachableError, install
from brimful.index.embedders import Embedder
from brimful.index.segments import Numbers
from brimful.index.vectors import ComparedCodes, HalfTables, best_of_all, similarities
from brimful.store.address import Address
from brimful.store.far import FarBlobs, KeptBlobs, kept_bytes
from brimful.store.format import BlobReader, Cursor, Sealed, Value
from brimful.store.opening import opened_alone
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Store
from brimful.store.views import StoredSegment
from brimful.store.writing import Entry

_RESTART_SECONDS = 60
"""How long a shard is waited for while Ray starts its actor again."""
_LOOK_SECONDS, _CONNECT_SECONDS = 0.2, 10
_AT_ONCE = 8
"""Calls that an actor takes at a time."""
_NO_SNAPSHOT = "the snapshot was held by an actor that has ended; ask again"
_NO_ACTOR = "{place} can't be reached in the cluster ({said}); are its nodes up? What was committed is intact"


def connect(address: str) -> Any:
    """Ray itself, connected to a cluster: `auto`, `HOST:PORT`, or `local` for one on this machine alone."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingPartError(f"ray is not installed; install it: {install('ray')}") from error
    if not ray.is_initialized():
        try:
            _look_for(address)
            ray.init(address=address, namespace="brimful", log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:200]
            raise StoreUnreachableError(
                f"no Ray cluster answers at {address!r} ({said}); start one: ray start --head"
            ) from None
    return ray


def _look_for(address: str) -> None:
    """Raise where nothing listens at HOST:PORT, which Ray would look for by the minute."""
    host, mark, port = address.rpartition(":")
    if mark and "/" not in address and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


_actors = count()


def _next_node() -> Any:
    """Where the next actor starts: the nodes take turns; where its own is gone, on any other."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
    return NodeAffinitySchedulingStrategy(nodes[next(_actors) % len(nodes)], soft=True)


class ShardServer:
    """One shard in an actor: the store, and the snapshots and turns that are held of it."""

    def __init__(self, place: Path | Address, embedder: Embedder | Literal["default"] | None) -> None:
        self._open: Callable[..., Store] = partial(opened_alone, place, embedder=embedder)
        self._opened: Store | None = None
        self._numbers = count(1)
        self._held: dict[int, Any] = {}
        self._codes: dict[tuple[int, int], ComparedCodes] = {}  # of snapshots that are held, by their segments

    def open(self, *, make: bool) -> None:
        """Open the store."""
        if self._opened is None:
            self._opened = self._open(make=make)

    @property
    def _store(self) -> Store:
        self.open(make=False)  # where Ray has started this actor again
        assert self._opened is not None
        return self._opened

    def call(self, name: str, given: Sequence[Any], named: dict[str, Any]) -> Any:
        """What the store says."""
        return getattr(self._store, name)(*given, **named)

    def node(self) -> str:
        """The node that this runs on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def write(self, prepared: Any, own: Sequence[str] | None) -> int:
        """Commit a batch, which may come from wherever it was made."""
        return self._store.write(prepared, own=own)

    def begin(self) -> int:
        """Hold a snapshot."""
        return self._keep(self._store.snapshot())

    def hold(self, prefix: str | None, wait_seconds: float | None) -> int:
        """Hold the store for a change of several commits."""
        held = self._store.turn(prefix, wait_seconds=wait_seconds)
        held.__enter__()
        return self._keep(held)

    def _keep(self, held: Any) -> int:
        number = next(self._numbers)
        self._held[number] = held
        return number

    def read(self, number: int, name: str, given: Sequence[Any]) -> Any:
        """What a snapshot's cursor says."""
        if number not in self._held:
            raise StoreUnreachableError(_NO_SNAPSHOT)
        found = getattr(self._held[number].cursor, name)(*given)
        return list(found) if name == "each" else found

    def blobs(self, number: int, keys: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        """Those of some blobs that a snapshot has, with their seals."""
        found = ((key, self.read(number, "sealed", ("blobs", key))) for key in keys)
        return {key: blob for key, blob in found if blob is not None}

    # ---- rounds: parts of a question, answered for all segments of a snapshot by their numbers

    def _views(self, number: int) -> Sequence[StoredSegment]:
        if number not in self._held:
            raise StoreUnreachableError(_NO_SNAPSHOT)
        found: Sequence[StoredSegment] = self._held[number].segments()
        return found

    def words(self, number: int) -> dict[int, bytes]:
        """The words of the vocabulary, a newline behind each, packed."""
        return {view.number: zlib.compress(view.words(), 1) for view in self._views(number)}

    def near(self, number: int, meaning: Numbers, least: int, limit: int | None) -> dict[int, tuple[Any, Any]]:
        """The codes that are so much alike to a question, and their scores; with a limit, the best of what is live."""
        asked, found = HalfTables.of(meaning), {}
        for view in self._views(number):
            if len(view.extents.bases) and (compared := self._compared(number, view)) is not None:
                units, scores = compared.near(asked, least=least)
                if limit is not None:
                    live = view.is_live(view.unit_starts[units].astype(np.int64))
                    units, scores = units[live], scores[live]
                    kept = best_of_all(scores, limit)
                    units, scores = units[kept], scores[kept]
                found[view.number] = (units.astype(np.uint32), scores.astype(np.int16))
        return found

    def scores(self, number: int, wanted: Mapping[int, Any], meaning: Numbers) -> dict[int, Any]:
        """How alike some units are to a question."""
        asked, found = HalfTables.of(meaning), {}
        for view in self._views(number):
            if view.number not in wanted:
                continue
            units = wanted[view.number].astype(np.int64)
            if (number, view.number) in self._codes:
                found[view.number] = self._codes[number, view.number].scores(units, asked).astype(np.int16)
            elif (codes := view.codes_of(units)) is not None:
                found[view.number] = similarities(codes, meaning)
        return found

    def _compared(self, number: int, view: StoredSegment) -> ComparedCodes | None:
        """The codes of a segment, laid out to be compared with many questions."""
        key = (number, view.number)
        if key not in self._codes:
            parts = view.code_parts()
            if parts is None:
                return None
            self._codes[key] = ComparedCodes(parts, count=len(view.unit_starts))
        return self._codes[key]

    def end(self, number: int) -> None:
        """Let go of a snapshot or a turn."""
        for key in [key for key in list(self._codes) if key[0] == number]:
            self._codes.pop(key, None)
        if (held := self._held.pop(number, None)) is not None:
            held.__exit__(None, None, None)


def _handed_on(name: str) -> Any:
    """A method that the store in the actor runs."""

    def call(self: RayStore, *given: Any, **named: Any) -> Any:
        return self.ask("call", name, given, named)

    call.__doc__ = getattr(Store, name).__doc__
    return call


class RayStore(Store):
    """A shard that an actor has opened."""

    path: Path | Address

    def __init__(
        self,
        place: Path | Address,
        *,
        embedder: Embedder | Literal["default"] | None = "default",
        make: bool = True,
        ray: Any,
        sharing: int = 1,
    ) -> None:
        super().__init__(embedder)
        self._kept_bytes = kept_bytes(sharing=sharing)
        self._blobs = KeptBlobs(self._kept_bytes)
        self.path, self._ray = place, ray
        there = place.absolute() if isinstance(place, Path) else place
        options = {"max_restarts": -1, "num_cpus": 0, "scheduling_strategy": _next_node(), "max_concurrency": _AT_ONCE}
        self._actor = ray.remote(ShardServer).options(**options).remote(there, embedder)
        try:
            self.ask("open", make=make)
        except BaseException:
            self.close()
            raise

    def begin(self, name: str, *given: Any) -> Callable[[], Any]:
        """Have the actor begin something; what is given back waits for it, however often it is called."""
        sent = getattr(self._actor, name).remote(*given)
        return cache(lambda: self._received(sent))

    def _received(self, sent: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(sent)
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.RayActorError, errors.ObjectLostError) as error:
            raise StoreUnreachableError(_NO_ACTOR.format(place=self.path, said=_line(error))) from None

    def ask(self, name: str, *given: Any, wait: bool = True, **named: Any) -> Any:
        """Have the actor do something; while Ray starts it again, `wait` tries until it is there."""
        errors = self._ray.exceptions
        until = time.monotonic() + (_RESTART_SECONDS if wait else 0)
        while True:
            try:
                return self._ray.get(getattr(self._actor, name).remote(*given, **named))
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.ActorDiedError as error:
                raise StoreUnreachableError(_NO_ACTOR.format(place=self.path, said=_line(error))) from None
            except (errors.RayActorError, errors.ObjectLostError) as error:
                if time.monotonic() >= until:
                    raise StoreUnreachableError(_NO_ACTOR.format(place=self.path, said=_line(error))) from None
                time.sleep(_LOOK_SECONDS)

    def close(self) -> None:
        """End the actor."""
        with suppress(Exception):  # a cluster that is gone has ended it
            self._ray.kill(self._actor)

    def kept(self) -> KeptBlobs:
        """What a snapshot keeps: a file may give a segment's number again, a server never does."""
        return self._blobs if isinstance(self.path, Address) else KeptBlobs(self._kept_bytes)

    def snapshot(self) -> StoredSnapshot:
        """The corpus as it is now; its statements are run by the actor."""
        cursor = _RemoteCursor(self)
        return StoredSnapshot(cursor, _Shelf(cursor))

    @contextmanager
    def turn(self, prefix: str | None = None, *, wait_seconds: float | None) -> Iterator[None]:
        """Hold the store for a change of several commits, until this process ends at the latest."""
        number = self.ask("hold", prefix, wait_seconds)
        try:
            yield
        finally:
            with suppress(StoreUnreachableError):
                self.ask("end", number, wait=False)

    def write(self, prepared: Any, *, own: Sequence[str] | None = None) -> int:
        """Commit a batch, or what stands for one elsewhere in the cluster."""
        done: int = self.ask("write", prepared, own)
        return done

    def take_over(self, given: object, buckets: object, *, model: str | None) -> None:  # noqa: ARG002
        """Documents are moved by a process that has the stores open itself."""
        raise StoreError("documents are moved between shards without Ray; run brimful shard rebalance")

    def adopt(self, given: object, *, model: str | None) -> int:  # noqa: ARG002
        """The same of copies."""
        raise StoreError("copies are made without Ray; run brimful copy")

    def add(self, entries: Iterable[Entry]) -> int:
        """Store documents; the actor reads long ones itself, where it can."""
        added: int = self.ask("call", "add", ([self._portable(entry) for entry in entries],), {})
        return added

    def _portable(self, entry: Entry) -> Entry:
        """A document that another process can read: of one that only this one can, its bytes go along."""
        document = entry.document
        if isinstance(document, LongDocument):
            try:
                self._ray.cloudpickle.dumps(document.blocks)
            except (TypeError, ValueError):
                content = b"".join(document.blocks())
                return replace(entry, document=replace(document, blocks=partial(iter, (content,))))
        return entry

    answers = _handed_on("answers")
    bucket_bytes = _handed_on("bucket_bytes")
    claim = _handed_on("claim")
    claim_folder = _handed_on("claim_folder")
    compact = _handed_on("compact")
    generation = _handed_on("generation")
    give_up = _handed_on("give_up")
    is_empty = _handed_on("is_empty")
    is_free = _handed_on("is_free")
    keep_answers = _handed_on("keep_answers")
    keeps_answers = _handed_on("keeps_answers")
    model = _handed_on("model")
    origins = _handed_on("origins")
    own_files = _handed_on("own_files")
    owner = _handed_on("owner")
    purge = _handed_on("purge")
    rebuild = _handed_on("rebuild")
    remember_root = _handed_on("remember_root")
    remember_stack = _handed_on("remember_stack")
    remember_vectors = _handed_on("remember_vectors")
    remove_of = _handed_on("remove_of")
    rename = _handed_on("rename")
    retain_vectors = _handed_on("retain_vectors")
    roots = _handed_on("roots")
    set_claim = _handed_on("set_claim")
    size_bytes = _handed_on("size_bytes")
    stacks_known = _handed_on("stacks_known")
    tidy = _handed_on("tidy")
    vectors_known = _handed_on("vectors_known")

    @contextmanager
    def _reading(self) -> Iterator[Cursor]:
        cursor = _RemoteCursor(self)
        try:
            yield cursor
        finally:
            cursor.close()

    def _writing(self, *, late: bool = False) -> AbstractContextManager[Cursor]:  # noqa: ARG002
        raise StoreError("a shard in the cluster is written by its actor")

    def _remembering(self, *, write: bool) -> AbstractContextManager[Cursor]:  # noqa: ARG002
        raise StoreError("a shard in the cluster remembers by its actor")

    def _give_back(self) -> None:
        """The actor's store does so by itself."""


class _RemoteCursor:
    """The cursor of a snapshot that an actor holds."""

    is_far = True

    def __init__(self, store: RayStore) -> None:
        self._store = store
        self._number: int | None = store.ask("begin")
        self.is_lost = False
        self.trips = 0
        self._far = FarBlobs(store.kept(), lambda keys: dict(self._call("blobs", keys)))

    def _ask(self, name: str, *given: Any) -> Any:
        return self._call("read", name, given)

    def begin(self, name: str, *given: Any) -> Callable[[], Any]:
        """Have the actor begin a part of a question; what is given back waits for it."""
        if self._number is None:
            raise StoreError(f"this snapshot of {self._store.path} was closed; ask again")
        self.trips += 1
        begun = self._store.begin(name, self._number, *given)

        def waited() -> Any:
            try:
                return begun()
            except StoreUnreachableError:
                self.is_lost = True
                raise

        return waited

    def _call(self, name: str, *given: Any) -> Any:
        return self.begin(name, *given)()

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        found: list[tuple[Any, ...]] = self._ask("fetch", statement, list(values))
        return found

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The same, one by one."""
        return iter(self._ask("each", statement))

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes with their seal; blobs come with those that are asked for next."""
        if table == "maps":
            found: tuple[bytes, bytes] | None = self._ask("sealed", table, key)
            return found
        return self._far.get(key)

    def expect(self, keys: Sequence[int]) -> None:
        """Blobs that will be asked for."""
        self._far.expect(keys)

    def lacking(self, keys: Sequence[int]) -> Sequence[int]:
        """Those that are not kept."""
        return self._far.lacking(keys)

    def size_bytes(self) -> int:
        """How much room the store takes."""
        return int(self._ask("size_bytes"))

    def close(self) -> None:
        """Let go of the snapshot."""
        number, self._number = self._number, None
        if number is not None:
            with suppress(StoreUnreachableError):
                self._store.ask("end", number, wait=False)

    def execute(self, statement: str, values: Sequence[Value] = ()) -> object:
        """Nothing is written in a snapshot."""
        raise StoreError(f"a snapshot is only read, and was to run {statement!r:.60} with {len(values)} values")

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> object:
        """Likewise."""
        return self.execute(statement, [1 for _ in values])

    def write_blobs(self, blobs: Iterable[Sealed]) -> None:
        """Likewise."""
        self.executemany("blobs", blobs)

    def next_segment(self) -> int:
        """Likewise."""
        self.execute("next_segment")
        return 0

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """Likewise."""
        self.execute("take_turn", [1 for _ in expected])


class _Shelf(BlobReader):
    """What stands in the segments of an actor's snapshot. Its vocabulary is read and its codes are compared there.

    Pages, texts and columns come as blobs and are checked by their seals here; what is read there is checked there.
    """

    def __init__(self, cursor: _RemoteCursor) -> None:
        super().__init__(cursor)
        self._remote, self.rounds = cursor, self
        self._words = cache(lambda: self._remote.begin("words"))

    def words(self, segment: int) -> bytes:
        """The terms of letters, a newline behind each."""
        return zlib.decompress(self._words()()[segment])

    def begin_near(
        self, meaning: Numbers, *, least: int, limit: int | None
    ) -> Callable[[int], tuple[Numbers, Numbers]]:
        """The codes that are alike to a question, by segment."""
        begun = self._remote.begin("near", meaning, least, limit)

        def of(segment: int) -> tuple[Numbers, Numbers]:
            units, scores = begun()[segment]
            return units.astype(np.int64), scores.astype(np.int64)

        return of

    def begin_scores(self, units: Mapping[int, Numbers], meaning: Numbers) -> Callable[[int], Numbers]:
        """How alike some units are to a question, by segment."""
        wanted = {segment: some.astype(np.uint32) for segment, some in units.items() if len(some)}
        begun = self._remote.begin("scores", wanted, meaning)

        def of(segment: int) -> Numbers:
            found: Numbers = begun()[segment].astype(np.int64) if segment in wanted else np.zeros(0, np.int64)
            return found

        return of


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
