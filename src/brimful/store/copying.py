"""How does a corpus move from one store to another, without being indexed again?

Segment by segment, each with its documents in one commit: text, positions and codes are taken as they are, only the
numbers of documents are new. What is there already is left alone, so a copy that was broken off goes on where it ended,
and one of a store that changed since brings only the changes. It has ended when the state roots are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from brimful.errors import StoreError, StoreVersionError
from brimful.store.preparing import Row
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Adopted, Store
from brimful.store.views import StoredSegment


class Copied(NamedTuple):
    """What a copy did: documents that were written, were there already, and were deleted; and the root of both."""

    copied: int
    unchanged: int
    deleted: int
    root: str


def copy(
    source: Store, target: Store, *, delete: bool = False, progress: Callable[[str], None] | None = None
) -> Copied:
    """Bring a store to what another one holds now; `delete` also forgets documents that only the target has."""
    if source.is_outdated or target.is_outdated:
        raise StoreVersionError("one of the stores has terms by other rules; rebuild() it before it is copied")
    with source.snapshot() as now:
        known = {path: values for _, path, *values in _rows(target)}
        wanted = {number: (path, *values) for number, path, *values in now.stored_rows()}
        extra = sorted(known.keys() - {path for path, *_ in wanted.values()})
        if extra and not delete:
            raise StoreError(
                f"{target.path} has {len(extra)} documents that {source.path} has not ({extra[0]!r:.100}, …); "
                "copy to an empty store, or forget them with --delete"
            )
        copied = 0
        for group in _groups(now.segments()):
            numbers = sorted({number for segment in group for number in segment.extents.documents.tolist()})
            rows = {number: wanted[number] for number in numbers}
            if any(known.get(path) != values for path, *values in rows.values()):
                copied += target.adopt(_packed(now, group, rows), model=now.model)
                if progress is not None:
                    progress(rows[numbers[-1]][0])
        if extra:
            target.remove_of(None, extra)
        for prefix, name in source.roots().items():
            target.remember_root(prefix, name)
        target.tidy()
        with target.snapshot() as then:
            if then.root != now.root:
                raise StoreError(f"{target.path} was changed while it was copied to; copy again")
        return Copied(copied, len(wanted) - copied, len(extra), now.root.hex())


def _rows(store: Store) -> Iterator[tuple[Any, ...]]:
    with store.snapshot() as now:
        yield from now.stored_rows()


def _groups(segments: Sequence[StoredSegment]) -> list[list[StoredSegment]]:
    """Segments that share documents stay together: nobody sees a part of a long one."""
    groups: list[tuple[set[int], list[StoredSegment]]] = []
    for segment in segments:
        documents, together = set(segment.extents.documents.tolist()), [segment]
        apart = []
        for others, group in groups:
            if others & documents:
                documents |= others
                together = group + together
            else:
                apart.append((others, group))
        groups = [*apart, (documents, together)]
    return [group for _, group in groups]


def _packed(now: StoredSnapshot, group: Sequence[StoredSegment], rows: dict[int, tuple[Any, ...]]) -> Adopted:
    maps = {number: data for number in rows if (data := now.packed_map(number)) is not None}
    return Adopted(
        {number: Row(*values) for number, values in rows.items()},
        maps,
        list(group),
    )
