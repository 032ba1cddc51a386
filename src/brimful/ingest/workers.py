"""How does a batch of files become documents, here or in a thread beside?"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from blake3 import blake3

from brimful.documents.documents import Document, is_time
from brimful.documents.loaders import Loaded, load_file
from brimful.documents.skips import Skipped, SourceSettings
from brimful.documents.sources import Found
from brimful.errors import InputError
from brimful.native import cores
from brimful.store.writing import (
    SEGMENT_BYTES,
    Entry,
    Prepared,
    index,
    lay_out,
    together,
)

# ---- batches: How does a batch of files become documents that only have to be written down?


class File(NamedTuple):
    """A file to be read, and the folder that its documents are stored in: none, unless another root has their paths."""

    found: Found
    folder: str
    origin: str


class Outcome(NamedTuple):
    """What became of a file."""

    paths: list[str]  # of its documents
    skipped: list[Skipped]


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A batch of files, read and indexed."""

    outcomes: list[Outcome]  # one for each file
    prepared: Prepared | None  # None where no file gave a document


def batches_of(files: Iterable[File]) -> Iterator[list[File]]:
    """Files together up to about the size of a segment."""
    return together(files, lambda file: file.found.size, limit=SEGMENT_BYTES)


def index_batch(files: Iterable[File], settings: SourceSettings) -> Taken:
    """Read files and index what they hold."""
    outcomes, entries = _read(files, settings)
    outlines = lay_out(entries)
    del entries  # the outlines have their text
    return Taken(outcomes, index(outlines) if outlines.rows else None)


def _read(files: Iterable[File], settings: SourceSettings) -> tuple[list[Outcome], list[Entry]]:
    """What became of each file, and the documents of all."""
    outcomes: list[Outcome] = []
    entries: list[Entry] = []
    for file in files:
        found, skipped = _taken(file, settings)
        entries += found
        outcomes.append(Outcome([entry.document.path for entry in found], skipped))
    return outcomes, entries


def _taken(file: File, settings: SourceSettings) -> tuple[list[Entry], list[Skipped]]:
    """The documents of a file, and what is left out of it; whatever goes wrong costs this file, never the batch."""
    try:
        loaded = load_file(file.found, settings=settings)
        origin, stamp, time = file.origin, stamp_of(file.found), time_of(file.found)
        entries = [
            entry_of(each, time=time, folder=file.folder, origin=origin, stamp=stamp)
            for each in loaded
            if isinstance(each, Loaded)
        ]
    except InputError as error:
        return [], [Skipped(file.found.path, "malformed", f"{error}"[:300])]
    return entries, [each for each in loaded if isinstance(each, Skipped)]


def entry_of(
    loaded: Loaded, *, time: int | None, folder: str = "", origin: str | None = None, stamp: str | None = None
) -> Entry:
    """A document ready to be stored; its time is its own where it has one."""
    own = loaded.time if loaded.time is not None and is_time(loaded.time) else time
    document = Document(folder + loaded.path, loaded.content, time=own, kind=loaded.kind, language=loaded.language)
    return Entry(
        document,
        rule=loaded.rule,
        title=loaded.title,
        origin=origin,
        stamp=stamp,
        source_map=loaded.source_map,
        content_hash=blake3(loaded.content).digest(),  # while it is in the processor's cache
    )


def time_of(found: Found) -> int | None:
    """When a file was changed, in seconds; None for a time that no calendar has, which says nothing."""
    seconds = found.mtime_ns // 1_000_000_000
    return seconds if is_time(seconds) else None


def stamp_of(found: Found) -> str:
    """What a stat said: where all of it is as before, so is the content."""
    return f"{found.size}:{found.mtime_ns}:{found.inode}:{found.device}"


# ---- side by side: How is one batch indexed while another is read and written?
#
# Files are read and batches written by whoever asks, so that no parser and no connection is in two threads. Between the
# two a batch is indexed: kernels, compression and most of NumPy, which all let go of the interpreter's lock. Results
# come in the order of the batches, so nobody can tell how many threads made them.


def threads_for(*, workers: int | None) -> int:
    """How many threads index beside this one: by the cores that there are, unless the caller says."""
    return workers - 1 if workers is not None else int(cores() > 1)


def taken_in(
    batches: Iterable[list[File]], settings: SourceSettings, *, threads: int
) -> Generator[tuple[list[File], Taken]]:
    """Each batch with what became of it; with threads, the next ones are read while one is indexed."""
    if not threads:
        yield from ((batch, index_batch(batch, settings)) for batch in batches)
        return
    waiting: deque[tuple[list[File], list[Outcome], Future[Prepared] | None]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="brimful-index")  # starts with the first batch
    try:
        for batch in batches:
            outcomes, entries = _read(batch, settings)
            outlines = lay_out(entries)
            del entries
            waiting.append((batch, outcomes, pool.submit(index, outlines) if outlines.rows else None))
            if len(waiting) > threads:
                yield _finished(*waiting.popleft())
        while waiting:
            yield _finished(*waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _finished(
    batch: list[File], outcomes: list[Outcome], prepared: Future[Prepared] | None
) -> tuple[list[File], Taken]:
    return batch, Taken(outcomes, None if prepared is None else prepared.result())
