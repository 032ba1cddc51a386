"""How does a batch of files become documents that only have to be written down?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from brimful.corpus.documents import Document, is_time
from brimful.corpus.loaders import Loaded, load_file
from brimful.corpus.skips import Skipped, SourceSettings
from brimful.corpus.sources import Found
from brimful.errors import InputError
from brimful.index.embedders import Embedder
from brimful.store.laying import SEGMENT_BYTES
from brimful.store.preparing import Entry, Prepared, prepare


@dataclass(frozen=True, slots=True)
class File:
    """A file to be read, and the folder that its documents are stored in: none, unless another root has their paths."""

    found: Found
    folder: str
    origin: str


@dataclass(frozen=True, slots=True)
class Outcome:
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
    batch: list[Found] = []
    size = 0
    for each in found:
        batch.append(each)
        size += each.size
        if size >= SEGMENT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def take_in(files: Iterable[File], settings: SourceSettings, embedder: Embedder | None, *, parts: int = 1) -> Taken:
    """Read files and index what they hold."""
    outcomes: list[Outcome] = []
    entries: list[Entry] = []
    for file in files:
        found, skipped = _taken(file, settings)
        entries += found
        outcomes.append(Outcome([entry.document.path for entry in found], skipped))
    return Taken(outcomes, prepare(entries, embedder, parts=parts) if entries else None)


def _taken(file: File, settings: SourceSettings) -> tuple[list[Entry], list[Skipped]]:
    """The documents of a file, and what is left out of it; whatever goes wrong costs this file, never the batch."""
    try:
        loaded = load_file(file.found, settings=settings)
        entries = [entry_of(each, file) for each in loaded if isinstance(each, Loaded)]
    except InputError as error:
        return [], [Skipped(file.found.path, "malformed", f"{error}"[:300])]
    return entries, [each for each in loaded if isinstance(each, Skipped)]


def entry_of(loaded: Loaded, file: File) -> Entry:
    """A document of a file, ready to be stored."""
    time = loaded.time if loaded.time is not None and is_time(loaded.time) else time_of(file.found)
    path = file.folder + loaded.path
    document = Document(path, loaded.content, time=time, kind=loaded.kind, language=loaded.language)
    return Entry(
        document,
        rule=loaded.rule,
        title=loaded.title,
        origin=file.origin,
        stamp=stamp_of(file.found),
        source_map=loaded.source_map,
    )


def time_of(found: Found) -> int | None:
    """When a file was changed, in seconds; None for a time that no calendar has, which says nothing."""
    seconds = found.mtime_ns // 1_000_000_000
    return seconds if is_time(seconds) else None


def stamp_of(found: Found) -> str:
    """What a stat said: where all of it is as before, so is the content."""
    return f"{found.size}:{found.mtime_ns}:{found.inode}:{found.device}"
