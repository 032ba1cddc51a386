"""How does a batch of files become documents that only have to be written down?

Files are read and batches written by the caller's thread, so that no parser and no connection is in two threads. With
a second core, a thread indexes one batch while the next is read: kernels, compression and most of NumPy release the
interpreter's lock. Results come in the order of the batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from blake3 import blake3

from brimful.budget import scaled
from brimful.documents.documents import Document, is_time
from brimful.documents.loaders import Loaded, load_file
from brimful.documents.skips import Skipped, SourceSettings
from brimful.documents.sources import Found, stamp_of
from brimful.errors import InputError
from brimful.ingest.naming import Naming
from brimful.native import cores
from brimful.store.writing import SEGMENT_BYTES, Batch, NewDocument, prepare, together


class FileResult(NamedTuple):
    """The paths of a file's documents, and its parts that were left out."""

    paths: list[str]
    skipped: list[Skipped]


_Indexed = tuple[list[Found], list[FileResult], Batch]
"""A batch of files, a result for each, and their documents ready to be written."""


def indexed_batches(files: Iterable[Found], naming: Naming, settings: SourceSettings) -> Generator[_Indexed]:
    """Read and index files in batches of about a segment."""
    ahead = int(cores() > 1)
    waiting: deque[tuple[list[Found], list[FileResult], Future[Batch]]] = deque()
    pool = ThreadPoolExecutor(1, thread_name_prefix="brimful-index")
    try:
        for batch in together(files, lambda file: file.size, limit=scaled(SEGMENT_BYTES)):
            results, entries = read_batch(batch, naming, settings)
            waiting.append((batch, results, pool.submit(prepare, entries)))
            if len(waiting) > ahead:
                yield _awaited(*waiting.popleft())
        while waiting:
            yield _awaited(*waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _awaited(batch: list[Found], results: list[FileResult], prepared: Future[Batch]) -> _Indexed:
    return batch, results, prepared.result()


def read_batch(
    files: Iterable[Found], naming: Naming, settings: SourceSettings
) -> tuple[list[FileResult], list[NewDocument]]:
    """Read files; a failure costs its file, never the batch."""
    results: list[FileResult] = []
    entries: list[NewDocument] = []
    for file in files:
        try:
            loaded = load_file(file, settings=settings)
            documents = [
                _entry_of(
                    item,
                    time=time_of(file),
                    folder=naming.folder,
                    origin=naming.prefix + file.path,
                    stamp=stamp_of(file),
                )
                for item in loaded
                if isinstance(item, Loaded)
            ]
        except InputError as error:
            results.append(FileResult([], [Skipped(file.path, "malformed", f"{error}"[:300])]))
            continue
        entries += documents
        skipped = [item for item in loaded if isinstance(item, Skipped)]
        results.append(FileResult([entry.document.path for entry in documents], skipped))
    return results, entries


def _entry_of(
    loaded: Loaded, *, time: int | None, folder: str = "", origin: str | None = None, stamp: str | None = None
) -> NewDocument:
    """A document ready to be stored, with the time in its text or else the file's."""
    document = Document(
        folder + loaded.path,
        loaded.content,
        time=loaded.time if loaded.time is not None and is_time(loaded.time) else time,
        kind=loaded.kind,
        language=loaded.language,
    )
    return NewDocument(
        document,
        rule=loaded.rule,
        title=loaded.title,
        origin=origin,
        stamp=stamp,
        source_map=loaded.source_map,
        content_hash=blake3(loaded.content).digest(),
    )


def time_of(file: Found) -> int | None:
    """When a file was changed, in seconds since 1970; None outside the years 1 to 9999."""
    seconds = file.mtime_ns // 1_000_000_000
    return seconds if is_time(seconds) else None
