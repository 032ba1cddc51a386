"""How do strings, documents and streams get into a store?"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import normpath
from typing import IO, BinaryIO
from unicodedata import normalize

from brimful.documents.documents import Document, check_path
from brimful.documents.loaders import Loaded, load, streamed
from brimful.documents.reading import BLOCK_BYTES, LONG_BYTES, LongDocument, stream_blocks
from brimful.documents.secrets import check_secret, secret_of
from brimful.documents.skips import Reason, Refusal, Skipped, SourceSettings
from brimful.errors import DocumentError
from brimful.ingest import Report
from brimful.ingest.batches import entry_of
from brimful.outline.kinds import kind_of
from brimful.store.store import Store, folder_above
from brimful.store.writing import NewDocument


def add_text(
    store: Store,
    path: str,
    text: str,
    *,
    time: int | None = None,
    title: str | None = None,
    settings: SourceSettings | None = None,
) -> Report:
    """Store a string as the document of that path; one that holds a credential is skipped.

    >>> from pathlib import Path
    >>> from brimful.store.sqlite import SqliteStore
    >>> with SqliteStore(Path(tempfile.mkdtemp(), "store.db")) as store:
    ...     add_text(store, "tea.md", "Tea at four.").added, add_text(store, "tea.md", "Tea at five.").changed
    (1, 1)
    """
    settings = settings or SourceSettings()
    _check_free(store, path, store.roots())
    content = text.encode("utf-8", "backslashreplace")  # a lone surrogate is written out as its escape
    secret = None if settings.allows("secret") else secret_of(path, content)
    if secret:
        return Report(skipped=[Skipped(path, "secret", secret)])
    document: Document | LongDocument
    if len(content) > LONG_BYTES:
        kind, language = kind_of(path, content)
        document = LongDocument.of(path, lambda: _again(io.BytesIO(content)), kind=kind, language=language, time=time)
    else:
        document = Document(path, content, time=time)
    return _put(store, [NewDocument(document, title=title)])


def add_documents(store: Store, documents: Iterable[Document], *, allow: Iterable[Reason] = ()) -> int:
    """Store documents; returns their number. A credential, or the path of a folder's file, is refused."""
    gate, roots = SourceSettings(allow=allow), store.roots()

    def entry(document: Document) -> NewDocument:
        check_secret(document.path, document.content, gate)
        _check_free(store, document.path, roots)
        return NewDocument(document)

    entries = map(entry, documents)
    return store.add(list(entries) if isinstance(documents, Sequence) else entries)


def ingest_stream(
    store: Store,
    path: str,
    stream: BinaryIO | None = None,
    *,
    time: int | None = None,
    settings: SourceSettings | None = None,
) -> Report:
    """Store a stream, standard input by default, as a file of that path.

    A stream above 8 MB is kept on disk while it is indexed, not in memory.
    """
    settings = settings or SourceSettings()
    _check_free(store, path, store.roots())
    if not settings.allows("secret") and (secret := secret_of(path, b"")):
        return Report(skipped=[Skipped(path, "secret", secret)])
    with tempfile.SpooledTemporaryFile(max_size=LONG_BYTES) as spool:
        try:
            size = _copied(stream or sys.stdin.buffer, spool, settings)
            entries, skipped = _entries(path, spool, size, time, settings)
        except Refusal as refusal:
            return Report(skipped=[refusal.at(path)])
        report = _put(store, entries)
    report.skipped.extend(skipped)
    report.removed = _forget_members(store, path, len(entries)) if entries else 0
    return report


def _entries(
    path: str, spool: IO[bytes], size: int, time: int | None, settings: SourceSettings
) -> tuple[list[NewDocument], list[Skipped]]:
    """The documents of a stream, and its parts that are left out."""
    long = streamed(path, lambda: _again(spool), time=time, settings=settings) if size > LONG_BYTES else None
    if long is not None:
        return [NewDocument(long, rule=long.rule)], []
    settings.check_whole(size)
    items = load(path, b"".join(_again(spool)), settings=settings)
    entries = [entry_of(item, time=time) for item in items if isinstance(item, Loaded)]
    return entries, [item for item in items if isinstance(item, Skipped)]


def _put(store: Store, entries: Sequence[NewDocument]) -> Report:
    """Store new and changed documents."""
    report = Report()
    fresh = []
    with store.snapshot() as now:
        for entry in entries:
            row = now.row(entry.document.path)
            report.added += row is None
            is_same = row is not None and (row.id.hex(), row.time) == (entry.document.id, entry.document.time)
            report.unchanged += is_same
            report.changed += row is not None and not is_same
            if not is_same:
                fresh.append(entry)
    if fresh:
        store.add(fresh)
    return report


def _check_free(store: Store, path: str, roots: Mapping[str, str]) -> None:
    check_path(path)
    scheme, sign, name = path.rpartition("://")
    normal = scheme + sign + normalize("NFC", normpath(name)).removeprefix("/" if name.startswith("//") else "")
    if path != normal or ".." in name.split("/") or name == ".":
        raise DocumentError(f"{path!r:.200} is not a name in its normal form, such as {normal!r:.200}; rename the text")
    if roots and store.owner(path):  # the sender does not learn the folder
        raise DocumentError(
            f"{path!r} is the document of a file in an added folder; give the text another path, "
            "or change the file and add the folder again"
        )
    folded = {place: normalize("NFC", folder).casefold() for place, folder in roots.items()}
    if folder_above(folded, path.casefold()) is not None:
        raise DocumentError(
            f"{path!r} would be a name in an added folder, which names its own files; give the text another path"
        )


def _copied(stream: BinaryIO, spool: IO[bytes], settings: SourceSettings) -> int:
    size = 0
    for block in stream_blocks(stream):
        size += len(block)
        if size > settings.max_bytes and not settings.allows("too_large"):
            raise Refusal("too_large", f"more than max_bytes = {settings.max_bytes}")
        spool.write(block)
    return size


def _again(spool: IO[bytes]) -> Iterator[bytes]:
    spool.seek(0)
    while block := spool.read(BLOCK_BYTES):
        yield block


def _forget_members(store: Store, path: str, count: int) -> int:
    """Forget further documents of an earlier stream of this name; returns their number."""
    stale: list[str] = []
    while store.owner(name := f"{path}#{count + 1 + len(stale):04d}") == "":
        stale.append(name)
    return store.remove(stale) if stale else 0
