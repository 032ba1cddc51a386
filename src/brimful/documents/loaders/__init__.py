"""How does a file become documents?

    load(path, raw) -> [Loaded | Skipped, …]    pure: bytes in, documents out
    load_file(file) -> [Loaded | Skipped, …]    for a file of a walk
    streamed(path, source) -> LongDocument      for a text of any size, read in blocks

Text is stored as it is; other formats are converted to canonical text with a map back. A file that holds several
documents numbers them from 1: `archive.mbox#0001`, `conversations.json#0001`. No file makes `load` raise: a failure
becomes a Skipped.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from io import BufferedIOBase, BytesIO
from typing import cast

from brimful.documents.encodings import SNIFF_BYTES, Source, converted, decode, encoding_of, looks_binary
from brimful.documents.loaders.box import boxed
from brimful.documents.loaders.loaded import Loaded, SourceMap, check_escaped
from brimful.documents.loaders.messages import conversations, load_chat, split_mailbox
from brimful.documents.reading import LongDocument, read
from brimful.documents.secrets import PREFIX_BYTES, mask_examples, secret_in
from brimful.documents.skips import Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found
from brimful.errors import KernelsError
from brimful.outline.kinds import kind_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["Loaded", "SourceMap", "is_streamable", "load", "load_file", "streamed"]

_Loader = tuple[str, str]  # a module of this package and its function, imported with the first file of the format
_TEXT: _Loader = ("loaded", "load_text")
_HTML_PAGE: _Loader = ("html", "load_html")
_PDF_FILE: _Loader = ("office", "load_pdf")
_ZIP_FILE: _Loader = ("office", "load_zip")
_LOADERS: dict[str, _Loader] = {
    **dict.fromkeys(("html", "htm", "xhtml", "shtml"), _HTML_PAGE),
    **dict.fromkeys(("docx", "pptx", "xlsx", "docm", "pptm", "xlsm"), ("office", "load_office")),
    "pdf": _PDF_FILE,
    "epub": ("books", "load_epub"),
    "ipynb": ("books", "load_notebook"),
    "eml": ("messages", "load_message"),
}
_BOXED = ("load_pdf", "load_office", "load_zip", "load_epub", "load_message")
"""Parsers that can't be trusted with every file."""
_PACKED = ("gz", "bz2", "xz", "zst")
_MAILBOXES = ("mbox", "mbx")
_ZIP, _PDF = b"PK\x03\x04", b"%PDF-"
_HTML = re.compile(rb"\s*<(?:!doctype html|html|head|body)", re.IGNORECASE)
_JSON = re.compile(rb"[\xef\xbb\xbf \t\r\n]*[\[{]")
_CHAT = re.compile(
    rb'"(?:mapping"\s*:\s*\{|chat_messages"\s*:\s*\[|role"\s*:\s*"|date_unixtime"\s*:\s*"|ts"\s*:\s*"\d{10}\.)'
)
_CHAT_SNIFF_BYTES = 65_536


def load(path: str, raw: bytes, *, settings: SourceSettings | None = None) -> list[Loaded | Skipped]:
    """Turn a file's bytes into documents, by its extension or else by its first bytes.

    >>> load("notes.md", b"# Tea")
    [Loaded(path='notes.md', kind='prose', language='markdown', rule='utf-8', time=None, title=None)]
    """
    settings = settings or SourceSettings()
    try:
        return _load(path, raw, settings)
    except Exception as error:  # noqa: BLE001 - no file may take its folder along, whatever finding its format met
        return [_failed(path, error)]


def load_file(file: Found, *, settings: SourceSettings | None = None) -> list[Loaded | Skipped]:
    """Read and load a file; of a binary that no loader takes only the first block is read."""
    settings = settings or SourceSettings()
    raw = read(file, settings=settings, refuse=partial(_refuse_binary, file.path, settings))
    return [raw] if isinstance(raw, Skipped) else load(file.path, raw, settings=settings)


def streamed(
    path: str, source: Source, *, folder: str = "", time: int | None = None, settings: SourceSettings
) -> LongDocument | None:
    """The document that a source's bytes are; None for a format that is converted as a whole.

    Raises a Refusal where they are left out, or changed between two passes.
    """
    if not is_streamable(path, _first_bytes(source(), _CHAT_SNIFF_BYTES)):
        return None
    encoding = encoding_of(source, encoding=settings.encoding)
    if encoding.size > settings.max_bytes and not settings.allows("too_large"):
        raise Refusal("too_large", f"{encoding.size} bytes, more than max_bytes = {settings.max_bytes}")
    check_escaped(encoding, settings)
    head = _first_bytes(converted(source(), encoding.rule), PREFIX_BYTES)
    secret = None if settings.allows("secret") else secret_in(head)
    if secret:
        raise Refusal("secret", secret)
    kind, language = kind_of(path, head)
    return LongDocument.of(folder + path, source, kind=kind, language=language, rule=encoding.rule, time=time)


def is_streamable(path: str, head: bytes) -> bool:
    """Whether a file that begins so is stored as its text, so that it may be read in blocks."""
    is_text = _extension(path) not in _PACKED and _loader(path, head) is _TEXT and not _is_mailbox(path, head)
    return is_text and not looks_binary(head) and not _may_be_chat(path, head)


def _load(path: str, raw: bytes, settings: SourceSettings) -> list[Loaded | Skipped]:
    if _extension(path) in _PACKED:
        return _unpacked(path, raw, settings)
    if _is_mailbox(path, raw):
        messages = (partial(_run, ("messages", "load_message"), mail, settings) for mail in split_mailbox(raw))
        return list(_numbered(path, messages, settings))
    loader = _loader(path, raw)
    if loader is _TEXT and _may_be_chat(path, raw):
        content, encoding = decode(raw, encoding=settings.encoding)
        chats = (partial(load_chat, chat, encoding.rule, settings) for chat in conversations(content.decode()))
        with suppress(ValueError, RecursionError):  # no export after all: stored as it is
            if documents := list(_numbered(path, chats, settings)):
                return documents
    return list(_guarded(path, partial(_run, loader, raw, settings), settings))


def _run(loader: _Loader, raw: bytes, settings: SourceSettings, path: str) -> Iterable[Loaded]:
    """Convert a file, in the box where its parser can't be trusted."""
    family, name = loader
    if name in _BOXED:
        return boxed(family, name, path, raw, settings)
    convert = getattr(import_module(f"brimful.documents.loaders.{family}"), name)
    return cast("Iterable[Loaded]", convert(path, raw, settings))


def _unpacked(path: str, raw: bytes, settings: SourceSettings) -> list[Loaded | Skipped]:
    """The documents of a compressed file; an archive in it is left out."""
    packing = _extension(path)
    inner = path[: -len(packing) - 1]
    if _extension(inner) in ("tar", *_PACKED):
        return [Skipped(path, "binary", f"an archive: a .{_extension(inner)} inside of a .{packing}")]
    items = _load(inner, unpack(packing, raw, settings), settings)
    renamed = (replace(item, path=path + item.path[len(inner) :]) for item in items)
    return [replace(item, rule=f"{packing}:{item.rule}") if isinstance(item, Loaded) else item for item in renamed]


def _numbered(
    path: str, members: Iterable[Callable[[str], Iterable[Loaded]]], settings: SourceSettings
) -> Iterator[Loaded | Skipped]:
    """Number and load the documents of a file; one that fails does not take the others along."""
    for number, member in enumerate(members, start=1):
        yield from _guarded(f"{path}#{number:04d}", member, settings)


def _guarded(
    path: str, convert: Callable[[str], Iterable[Loaded]], settings: SourceSettings
) -> Iterator[Loaded | Skipped]:
    """Documents without secrets; a failure becomes a skip."""
    try:
        for loaded in convert(path):
            yield _masked(loaded, settings)
    except Exception as error:  # noqa: BLE001 - parsers of foreign formats raise anything on hostile bytes
        yield _failed(path, error)


def _masked(loaded: Loaded, settings: SourceSettings) -> Loaded | Skipped:
    """A document without credentials: examples are masked, which its rule says; any other leaves it out."""
    if settings.allows("secret"):
        return loaded
    content, secret = mask_examples(loaded.content, kind=loaded.kind)
    if secret:
        return Skipped(loaded.path, "secret", secret)
    return loaded if content is loaded.content else replace(loaded, content=content, rule=f"masked:{loaded.rule}")


def _failed(path: str, error: Exception) -> Skipped:
    if isinstance(error, KernelsError):
        raise error  # of this installation, not of the file: no other would fare better
    if isinstance(error, Refusal):
        return error.at(path)
    return Skipped(path, "malformed", f"{type(error).__name__}: {error}"[:300])


def _refuse_binary(path: str, settings: SourceSettings, head: bytes) -> None:
    """Stop reading a file that no loader takes. A zip's table is at its end, so it is read to the end."""
    if settings.allows("binary"):
        return
    extension = _extension(path)
    is_known = extension in _LOADERS or extension in _PACKED or head.startswith((_ZIP, _PDF))
    if not is_known and looks_binary(head):
        raise Refusal("binary", "its first bytes are those of a binary format")


def _is_mailbox(path: str, raw: bytes) -> bool:
    return _extension(path) in _MAILBOXES or (raw.startswith(b"From ") and b"\nFrom: " in raw[:SNIFF_BYTES])


def _may_be_chat(path: str, raw: bytes) -> bool:
    """Whether the first bytes show JSON with one of the fields that all chats have."""
    head = raw[:_CHAT_SNIFF_BYTES]
    return _extension(path) in ("json", "") and bool(_JSON.match(head)) and bool(_CHAT.search(head))


def _loader(path: str, raw: bytes) -> _Loader:
    by_extension = _LOADERS.get(_extension(path))
    if by_extension is not None:
        return by_extension
    if raw.startswith(_PDF):
        return _PDF_FILE
    if raw.startswith(_ZIP):
        return _ZIP_FILE
    return _HTML_PAGE if _HTML.match(raw) and kind_of(path, raw[:SNIFF_BYTES]) == ("prose", "html") else _TEXT


def _extension(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return name[name.rfind(".") + 1 :].lower() if "." in name else ""


def _first_bytes(blocks: Iterable[bytes], size: int) -> bytes:
    head = b""
    for block in blocks:
        head += block
        if len(head) >= size:
            break
    return head[:size]


_OPENERS: dict[str, Callable[[BytesIO], BufferedIOBase]] = {
    "gz": gzip.open,
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zst": zstd.ZstdFile,  # with windows up to 128 MB
}


def unpack(packing: str, raw: bytes, settings: SourceSettings) -> bytes:
    """The bytes that were compressed; a Refusal where there are too many, or none that can be read.

    >>> unpack("gz", gzip.compress(b"Tea at four."), SourceSettings())
    b'Tea at four.'
    """
    max_bytes = min(settings.max_unpacked_bytes, settings.max_whole_bytes)
    try:
        with _OPENERS[packing](BytesIO(raw)) as stream:
            content = stream.read(max_bytes + 1)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        raise Refusal("malformed", f"it is not a .{packing} that can be unpacked ({error})") from error
    if len(content) > max_bytes:
        raise Refusal("too_large", f"more than {max_bytes:,} bytes when unpacked (max_whole_bytes)")
    return content
