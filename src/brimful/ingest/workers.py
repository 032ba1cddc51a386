"""How does a batch of files become documents, here or in a thread beside?"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from brimful.corpus.documents import Document, is_time
from brimful.corpus.loaders import Loaded, load_file
from brimful.corpus.skips import Skipped, SourceSettings
from brimful.corpus.sources import Found
from brimful.errors import InputError
from brimful.kernels import cores
from brimful.store.writing import (
    SEGMENT_BYTES,
    Entry,
    Prepared,
    index,
    lay_out,
    together,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

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


def batches_of(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Files together up to about the size of a segment."""
    return together(found, attrgetter("size"), limit=SEGMENT_BYTES)


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
        entries = [_entry_of(each, file) for each in loaded if isinstance(each, Loaded)]
    except InputError as error:
        return [], [Skipped(file.found.path, "malformed", f"{error}"[:300])]
    return entries, [each for each in loaded if isinstance(each, Skipped)]


def _entry_of(loaded: Loaded, file: File) -> Entry:
    """A document of a file, ready to be stored."""
    time = loaded.time if loaded.time is not None and is_time(loaded.time) else time_of(file.found)
    document = Document(
        file.folder + loaded.path, loaded.content, time=time, kind=loaded.kind, language=loaded.language
    )
    return Entry(
        document,
        rule=loaded.rule,
        title=loaded.title,
        origin=file.origin,
        stamp=stamp_of(file.found),
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

_WORTH_BYTES = 16 << 20
"""From so much to read on there is more than one batch."""


def threads_for(size: int, *, workers: int | None) -> int:
    """How many threads index so many bytes beside this one: by the cores that there are, unless the caller says."""
    if workers is not None:
        return workers - 1
    return 1 if size > _WORTH_BYTES and cores() > 1 else 0


def taken_in(batches: Iterable[Sequence[File]], settings: SourceSettings, *, threads: int) -> Generator[Taken]:
    """What became of each batch; with threads, the next ones are read while one is indexed."""
    if not threads:
        yield from (index_batch(batch, settings) for batch in batches)
        return
    from concurrent.futures import ThreadPoolExecutor  # where nothing has changed, nobody needs it

    waiting: deque[tuple[list[Outcome], Future[Prepared] | None]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="brimful-index")
    try:
        for batch in batches:
            outcomes, entries = _read(batch, settings)
            outlines = lay_out(entries)
            del entries
            waiting.append((outcomes, pool.submit(index, outlines) if outlines.rows else None))
            if len(waiting) > threads:
                yield _finished(*waiting.popleft())
        while waiting:
            yield _finished(*waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _finished(outcomes: list[Outcome], prepared: Future[Prepared] | None) -> Taken:
    return Taken(outcomes, None if prepared is None else prepared.result())
