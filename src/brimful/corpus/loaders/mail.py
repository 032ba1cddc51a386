"""What does an e-mail say, alone or in a mailbox?"""

from __future__ import annotations

import datetime as dt
import email
import re
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from brimful.corpus.encodings import decode
from brimful.corpus.loaders.html import read_page, write_page
from brimful.corpus.loaders.loaded import Canon, Loaded
from brimful.corpus.skips import Refusal, SourceSettings
from brimful.patterns import compiled

_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_DEEPEST = 50  # parts within parts
_MESSAGE = compiled(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*\n")


def load_message(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Subject, sender, recipients and date, then the text parts, decoded; attachments are named only.

    Of two versions of the same part the plain text is taken, else the HTML, as any page is.
    """
    message = email.message_from_bytes(raw)
    if not message.keys():
        raise Refusal("malformed", "no e-mail: it has no headers")
    canon = Canon(max_bytes=settings.max_text_bytes)
    canon.label("headers")
    for name in _HEADERS:
        value = _header(message, name)
        if value:
            canon.add(f"{name}: {value}\n")
    for number, part in enumerate(_text_parts(message, depth=0), start=1):
        canon.add("\n")
        canon.label(f"part {number}")
        _write_part(part, canon, settings)
    yield Loaded(
        path,
        canon.content,
        kind="prose",
        language="text",
        rule="eml",
        is_verbatim=False,
        time=_date(message),
        title=_header(message, "Subject") or None,
        source_map=canon.source_map,
    )


def split_mailbox(raw: bytes) -> Iterator[bytes]:
    """The messages of an mbox file: each begins with a "From " line at the start or after an empty line.

    One ">" is taken from lines such as ">From " and ">>From ", which writers of mailboxes put there.

    >>> [part[:10] for part in split_mailbox(b"From a\\nSubject: 1\\n\\nHi\\n\\nFrom b\\nSubject: 2\\n\\nHo\\n")]
    [b'Subject: 1', b'Subject: 2']
    """
    starts = [(found.start(), found.end()) for found in _MESSAGE.finditer(raw)]
    if not starts or starts[0][0]:
        raise Refusal("malformed", "no mailbox: it does not begin with a From line")
    for at, (_, start) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else len(raw)
        yield re.sub(rb"^>(>*From )", rb"\1", raw[start:end], flags=re.MULTILINE)


def _text_parts(message: Message, *, depth: int) -> Iterator[Message]:
    """The parts to show, in order: one of each set of alternatives."""
    if depth > _DEEPEST:
        return
    if not message.is_multipart():
        yield message
        return
    children = [child for child in message.get_payload() if isinstance(child, Message)]
    if message.get_content_type() == "multipart/alternative":
        for wanted in ("text/plain", "multipart/", "text/html"):
            chosen = [child for child in children if child.get_content_type().startswith(wanted)]
            if chosen:
                children = chosen[:1]
                break
    for child in children:
        yield from _text_parts(child, depth=depth + 1)


def _write_part(part: Message, canon: Canon, settings: SourceSettings) -> None:
    kind = part.get_content_type()
    filename = part.get_filename()
    if filename or not kind.startswith("text/"):
        canon.add(f"[attachment: {' '.join(str(filename or 'unnamed').split())}, {kind}]\n")
        return
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    text = decode(raw, encoding=part.get_content_charset()).content.decode().removeprefix("\ufeff")
    if kind == "text/html":
        page = read_page(text, max_chars=settings.max_part_bytes)
        write_page(page, max_bytes=settings.max_text_bytes, canon=canon)
    else:
        canon.add(text.replace("\r\n", "\n").rstrip("\n") + "\n")


def _header(message: Message, name: str) -> str:
    """A header in plain words; encoded words that can't be decoded stay as they are."""
    value = message.get(name)
    if value is None:
        return ""
    try:
        words = decode_header(value)
    except (ValueError, email.errors.HeaderParseError):
        words = [(str(value), None)]
    text = ""
    for word, charset in words:
        text += word if isinstance(word, str) else decode(word, encoding=charset).content.decode()
    return " ".join(text.split())


def _date(message: Message) -> int | None:
    """Seconds of the Date header; a date without a zone is in UTC."""
    try:
        date = parsedate_to_datetime(str(message.get("Date")))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=dt.UTC)
    try:
        return int(date.timestamp())
    except (OverflowError, ValueError):
        return None
