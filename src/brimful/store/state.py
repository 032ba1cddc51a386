"""The generation, segments and hashes of a whole store: checked before a snapshot is read or a commit builds on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from blake3 import blake3

from brimful import rules
from brimful.errors import CorruptError, StoreRulesError
from brimful.store.format import Cursor, check_seal, seal_of
from brimful.store.merkle import NOTHING, bucket_of, root_of, state_root

AT_ONCE = 500
"""Values that one statement asks for."""
_NO_PATH = "the hashes of the store do not lead to its state root; verify it, or index the sources again"
_GENERATION_BYTES = 8


class State(NamedTuple):
    """The number of commits so far, and the hash over all documents."""

    generation: int
    root: bytes


def _find_meta(cursor: Cursor, key: str) -> bytes | None:
    rows = cursor.fetch("SELECT value, seal FROM meta WHERE key = ?", (key,))
    if not rows:
        return None
    ((value, seal),) = rows
    check_seal(key, seal, key, value)
    return bytes(value)


def _meta(cursor: Cursor, key: str) -> bytes:
    value = _find_meta(cursor, key)
    if value is None:
        raise CorruptError(f"the store has lost its {key}")
    return value


def _write_meta(cursor: Cursor, key: str, value: bytes) -> None:
    cursor.execute("DELETE FROM meta WHERE key = ?", (key,))
    cursor.execute("INSERT INTO meta VALUES (?, ?, ?)", (key, value, seal_of(key, value)))


def generation_of(cursor: Cursor) -> int:
    """The number of commits so far."""
    return int.from_bytes(_meta(cursor, "generation")[:_GENERATION_BYTES], "big")


def read_state(cursor: Cursor) -> State:
    """The state of a store that has all of its segments."""
    generation, root = generation_of(cursor), _meta(cursor, "root")
    if _meta(cursor, "layout") != _layout(cursor, generation):
        raise CorruptError("the store has lost a segment; verify it, or index the sources again")
    check_hashes([root])
    return State(generation, root)


def _layout(cursor: Cursor, generation: int) -> bytes:
    """A hash over the segments of a generation: where the row of one is lost, the others are not the corpus."""
    hasher = blake3()
    for number, seal in cursor.fetch("SELECT number, seal FROM segments ORDER BY number"):
        hasher.update(f"{number!r}:{seal!r};".encode())
    return generation.to_bytes(_GENERATION_BYTES, "big") + hasher.digest()


def _write_state(cursor: Cursor, state: State) -> None:
    _write_meta(cursor, "generation", state.generation.to_bytes(_GENERATION_BYTES, "big"))
    _write_meta(cursor, "root", state.root)
    _write_meta(cursor, "layout", _layout(cursor, state.generation))


def begin(cursor: Cursor) -> None:
    """Write the state of a corpus without documents."""
    _write_state(cursor, State(0, state_root({})))
    write_rules(cursor)


@contextmanager
def commit(cursor: Cursor, paths: Iterable[str] = ()) -> Iterator[None]:
    """Change the documents of some paths, on a store that is whole.

    What is there is checked as a reader checks it before anything is built on it: the segments, the buckets of the
    paths, the state root. Afterwards all of them are brought up to date, under the next generation.
    """
    buckets = sorted(set(map(bucket_of, paths)))
    state = read_state(cursor)
    roots = checked_roots(cursor, state.root)
    if _roots_of_leaves(cursor, buckets) != {bucket: roots[bucket] for bucket in buckets if bucket in roots}:
        raise CorruptError(_NO_PATH)
    yield
    fresh = _roots_of_leaves(cursor, buckets)
    cursor.executemany("DELETE FROM buckets WHERE number = ?", [(bucket,) for bucket in buckets])
    cursor.executemany("INSERT INTO buckets VALUES (?, ?)", list(fresh.items()))
    for bucket in buckets:
        roots.pop(bucket, None)
    _write_state(cursor, State(state.generation + 1, state_root(roots | fresh)))


def checked_roots(cursor: Cursor, root: bytes) -> dict[int, bytes]:
    """The root of each bucket with documents; they lead to the state root, which has a seal."""
    rows = cursor.fetch("SELECT number, root FROM buckets")
    check_hashes([value for _, value in rows])
    roots = dict(rows)
    if not all(isinstance(number, int) for number in roots) or state_root(roots) != root:
        raise CorruptError(_NO_PATH)
    return roots


def _roots_of_leaves(cursor: Cursor, buckets: Sequence[int]) -> dict[int, bytes]:
    """The root over the documents of each bucket that has any."""
    leaves: dict[int, list[bytes]] = {}
    for first in range(0, len(buckets), AT_ONCE):
        batch = buckets[first : first + AT_ONCE]
        marks = ", ".join("?" * len(batch))
        statement = f"SELECT bucket, leaf FROM documents WHERE bucket IN ({marks}) ORDER BY bucket, path"  # noqa: S608
        for bucket, leaf in cursor.fetch(statement, batch):
            check_hashes([leaf])
            leaves.setdefault(bucket, []).append(leaf)
    return {bucket: root_of(members) for bucket, members in leaves.items()}


def check_hashes(values: Sequence[Any]) -> None:
    """Raise where a value is no hash at all."""
    if not all(isinstance(value, bytes) and len(value) == len(NOTHING) for value in values):
        raise CorruptError(_NO_PATH)


def write_rules(cursor: Cursor) -> None:
    """Note that the store is made by the rules of this program."""
    _write_meta(cursor, "rules", rules.RULES.encode())


def check_rules(cursor: Cursor, path: object) -> None:
    """Refuse a store that other rules made: questions and new documents would be split and cut in another way."""
    made_by = (_find_meta(cursor, "rules") or b"rules that it does not name").decode("utf-8", "replace")
    if made_by != rules.RULES:
        raise StoreRulesError(
            f"{path} was made by other rules ({made_by}) than this program's ({rules.RULES}); index its own text "
            f"again: brimful stores rebuild --store {path}, in Python brimful.rebuild(path)"
        )
