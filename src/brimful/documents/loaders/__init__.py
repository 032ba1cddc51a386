"""How does a file become documents?

    load(path, raw) -> [Loaded | Skipped, …]    pure: bytes in, documents out
    load_file(found) -> [Loaded | Skipped, …]   the same for a file that a walk found

Text is stored as it is; other formats are converted to canonical text with a map back. A file that holds several
documents gives each a path of its own: `archive.mbox#0001`, `conversations.json#0001`, counted from 1.
No file makes these functions raise: what can't be read becomes a Skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module

from brimful.documents.encodings import SNIFF_BYTES, decode, looks_binary
from brimful.documents.loaders.box import boxed
from brimful.documents.loaders.loaded import Loaded, Origin, SourceMap
from brimful.documents.loaders.messages import conversations, load_chat, split_mailbox
from brimful.documents.loaders.packed import unpack
from brimful.documents.reading import read
from brimful.documents.secrets import mask_examples
from brimful.documents.skips import Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found
from brimful.outline.kinds import kind_of

__all__ = ["Loaded", "Origin", "SourceMap", "is_streamable", "load", "load_file"]

_Loader = tuple[str, str]  # a module of this package and its function: read with the first file of the format
_TEXT: _Loader = ("loaded", "load_text")
_HTML_PAGE: _Loader = ("html", "load_html")
_PDF_FILE: _Loader = ("office", "load_pdf")
_ZIP_FILE: _Loader = ("office", "load_zip")
_LOADERS: dict[str, _Loader] = {
    **dict.fromkeys(("html", "htm", "xhtml", "shtml"), _HTML_PAGE),
    **dict.fromkeys(("docx", "pptx", "xlsx", "docm", "pptm", "xlsm"), ("office", "load_office")),
    "pdf": _PDF_FILE,
    "epub": ("html", "load_epub"),
    "ipynb": ("html", "load_notebook"),
    "eml": ("messages", "load_message"),
}
_BOXED = ("load_pdf", "load_office", "load_zip", "load_epub", "load_message")
"""Parsers that can't be trusted with every file."""
_PACKED = ("gz", "bz2", "xz", "zst")
"""One compressed text each: manual pages, logs."""
_MAILBOXES = ("mbox", "mbx")
_ZIP, _PDF = b"PK\x03\x04", b"%PDF-"
_HTML = re.compile(rb"\s*<(?:!doctype html|html|head|body)", re.IGNORECASE)
_JSON = re.compile(rb"[\xef\xbb\xbf \t\r\n]*[\[{]")
_CHAT = re.compile(rb'"(?:mapping"\s*:\s*\{|chat_messages"\s*:\s*\[|role"\s*:\s*")')
CHAT_SNIFF_BYTES = 65_536
"""How much of a file `is_streamable` wants to see."""


def load(path: str, raw: bytes, *, settings: SourceSettings | None = None) -> list[Loaded | Skipped]:
    """Turn a file's bytes into documents, by extension, else by what they look like.

    >>> load("notes.md", b"# Tea")
    [Loaded(path='notes.md', kind='prose', language='markdown', rule='utf-8', is_verbatim=True, time=None, title=None)]
    """
    settings = settings or SourceSettings()
    try:
        return _load(path, raw, settings)
    except Exception as error:  # noqa: BLE001 - no file may take its folder along, whatever finding its format met
        return [_failed(path, error)]


def _load(path: str, raw: bytes, settings: SourceSettings) -> list[Loaded | Skipped]:
    if _extension(path) in _PACKED:
        return _unpacked(path, raw, settings)
    if _is_mailbox(path, raw):
        messages = (partial(_run, ("messages", "load_message"), each, settings) for each in split_mailbox(raw))
        return list(_numbered(path, messages, settings))
    loader = _loader(path, raw)
    if loader is _TEXT and _may_be_chat(path, raw):
        decoded = decode(raw, encoding=settings.encoding)
        chats = (partial(load_chat, chat, decoded.rule, settings) for chat in conversations(decoded.content.decode()))
        with suppress(ValueError, RecursionError):  # no export after all: stored as it is
            if found := list(_numbered(path, chats, settings)):
                return found
    return list(_guarded(path, partial(_run, loader, raw, settings), settings))


def _run(loader: _Loader, raw: bytes, settings: SourceSettings, path: str) -> Iterable[Loaded]:
    """What a loader makes of a file, in the box where its parser can't be trusted."""
    family, name = loader
    if name in _BOXED:
        return boxed(family, name, path, raw, settings)
    made: Iterable[Loaded] = getattr(import_module(f"brimful.documents.loaders.{family}"), name)(path, raw, settings)
    return made


def _masked(loaded: Loaded, settings: SourceSettings) -> Loaded | Skipped:
    """A document without credentials: examples masked, with a rule that says so; left out for any other."""
    if settings.allows("secret"):
        return loaded
    content, secret = mask_examples(loaded.content, kind=loaded.kind)
    if secret:
        return Skipped(loaded.path, "secret", secret)
    if content is loaded.content:
        return loaded
    return replace(loaded, content=content, rule=f"masked:{loaded.rule}", is_verbatim=False)


def load_file(found: Found, *, settings: SourceSettings | None = None) -> list[Loaded | Skipped]:
    """Read and load one file; a binary that no loader claims costs one block."""
    settings = settings or SourceSettings()
    raw = read(found, settings=settings, refuse=partial(_refuse, found.path, settings))
    return [raw] if isinstance(raw, Skipped) else load(found.path, raw, settings=settings)


def is_streamable(path: str, head: bytes) -> bool:
    """Whether a file that begins so is stored as it is, so that it may be read in blocks if it is valid UTF-8."""
    is_text = _extension(path) not in _PACKED and _loader(path, head) is _TEXT and not _is_mailbox(path, head)
    return is_text and not looks_binary(head) and not _may_be_chat(path, head)


def _unpacked(path: str, raw: bytes, settings: SourceSettings) -> list[Loaded | Skipped]:
    """The documents of a compressed file, as if it were not compressed; an archive in it is left out."""
    packing = _extension(path)
    inner = path[: -len(packing) - 1]
    if _extension(inner) in ("tar", *_PACKED):
        return [Skipped(path, "binary", f"an archive: a .{_extension(inner)} inside of a .{packing}")]
    items = (
        replace(item, path=path + item.path[len(inner) :])
        for item in _load(inner, unpack(packing, raw, settings), settings)
    )
    return [
        replace(item, rule=f"{packing}:{item.rule}", is_verbatim=False) if isinstance(item, Loaded) else item
        for item in items
    ]


def _is_mailbox(path: str, raw: bytes) -> bool:
    return _extension(path) in _MAILBOXES or (raw.startswith(b"From ") and b"\nFrom: " in raw[:SNIFF_BYTES])


def _may_be_chat(path: str, raw: bytes) -> bool:
    """Whether it is worth parsing: the first bytes show one of the fields that all chats have, and of which kind."""
    if _extension(path) not in ("json", ""):
        return False
    return _JSON.match(raw, 0, CHAT_SNIFF_BYTES) is not None and _CHAT.search(raw, 0, CHAT_SNIFF_BYTES) is not None


def _loader(path: str, raw: bytes) -> _Loader:
    known = _LOADERS.get(_extension(path))
    if known is not None:
        return known
    if raw.startswith(_PDF):
        return _PDF_FILE
    if raw.startswith(_ZIP):
        return _ZIP_FILE
    return _HTML_PAGE if _HTML.match(raw) and kind_of(path, raw[:SNIFF_BYTES]) == ("prose", "html") else _TEXT


def _refuse(path: str, settings: SourceSettings, head: bytes) -> None:
    """Stop reading a file that no loader will take. A zip's table stands at its end, so it is read whole."""
    if settings.allows("binary"):
        return
    extension = _extension(path)
    claimed = extension in _LOADERS or extension in _PACKED or head.startswith((_ZIP, _PDF))
    if not claimed and looks_binary(head):
        raise Refusal("binary", "its first bytes are those of a binary format")


def _guarded(
    path: str, call: Callable[[str], Iterable[Loaded]], settings: SourceSettings
) -> Iterator[Loaded | Skipped]:
    """Documents without secrets; a failure becomes a skip."""
    try:
        for loaded in call(path):
            yield _masked(loaded, settings)
    except Exception as error:  # noqa: BLE001 - parsers of foreign formats raise anything on hostile bytes
        yield _failed(path, error)


def _failed(path: str, error: Exception) -> Skipped:
    """The skip for whatever a parser raised; a Refusal says itself why."""
    if isinstance(error, Refusal):
        return error.at(path)
    return Skipped(path, "malformed", f"{type(error).__name__}: {error}"[:300])


def _numbered(
    path: str, members: Iterable[Callable[[str], Iterable[Loaded]]], settings: SourceSettings
) -> Iterator[Loaded | Skipped]:
    """Name and load each document of a file; one that fails does not take the others along."""
    for number, member in enumerate(members, start=1):
        yield from _guarded(f"{path}#{number:04d}", member, settings)


def _extension(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return name[name.rfind(".") + 1 :].lower() if "." in name else ""
