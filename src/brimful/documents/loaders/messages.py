"""What do e-mails, mailboxes and chats say, message by message?

Chats are exports of five forms, recognised by their fields, never by their names:

    chatgpt   [{"title", "mapping": {id: {"message", "parent", "children"}}, "current_node"}, …]
    claude    [{"name", "chat_messages": [{"sender", "text", "created_at"}, …]}, …]
    roles     [{"role", "content"}, …]   or   {"messages": [...]}   or   a list of such objects
    telegram  {"name", "messages": [{"from", "text", "date_unixtime"}, …]}   or   {"chats": {"list": [...]}}
    slack     [{"type", "user", "text", "ts"}, …]   a day of a channel

Each conversation is one document, each message one paragraph: `User (2024-05-01T10:00:00Z): text`.
"""

from __future__ import annotations

import datetime as dt
import email
import json
import re
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from itertools import pairwise
from typing import NamedTuple

from brimful.documents.encodings import decode
from brimful.documents.loaders.html import read_page, write_page
from brimful.documents.loaders.loaded import Canon, Loaded
from brimful.documents.skips import Refusal, SourceSettings
from brimful.outline.times import epoch_of, time_of

_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_MAX_DEPTH = 50  # of parts within parts
_MAX_HEADER_BYTES = 32_768
_PARAMETERS = re.compile(rb"(?mi)^content-[\w-]{1,40}:[^\r\n]*+(?:\r?+\n?+[ \t][^\r\n]*+)*+")
_MESSAGE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*\n")


def load_message(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Subject, sender, recipients and date, then the text parts, decoded; other attachments are only named.

    Of alternative versions of a part the plain text is taken, else the HTML, read as any page.
    """
    for header in _PARAMETERS.finditer(raw):
        if len(header[0]) > _MAX_HEADER_BYTES:  # the standard library reads parameters in quadratic time
            raise Refusal("too_large", f"a header of {len(header[0])} bytes, more than {_MAX_HEADER_BYTES}")
    message = email.message_from_bytes(raw)
    if not message.keys():
        raise Refusal("malformed", "not an e-mail: it has no headers")
    canon = Canon(max_bytes=settings.max_text_bytes)
    canon.label("headers")
    for name in _HEADERS:
        value = _header(message, name)
        if value:
            canon.add(f"{name}: {value}\n")
    time = _date(message)
    origin = ", ".join(filter(None, [_sender(message), _iso(time)[:10]]))
    for number, part in enumerate(_text_parts(message, depth=0), start=1):
        canon.add("\n")
        canon.label(f"part {number} ({origin})" if origin else f"part {number}")
        _write_part(part, canon, settings)
    yield canon.loaded(path, "eml", language="text", time=time, title=_header(message, "Subject") or None)


def split_mailbox(raw: bytes) -> Iterator[bytes]:
    """The messages of an mbox file: each begins with a "From " line at the start or after an empty line.

    One ">" is taken from lines such as ">From " and ">>From ", which writers of mailboxes put there.

    >>> [part[:10] for part in split_mailbox(b"From a\\nSubject: 1\\n\\nHi\\n\\nFrom b\\nSubject: 2\\n\\nHo\\n")]
    [b'Subject: 1', b'Subject: 2']
    """
    edges = [line.span() for line in _MESSAGE.finditer(raw)]
    if not edges or edges[0][0]:
        raise Refusal("malformed", "not a mailbox: it does not begin with a From line")
    for (_, start), (end, _) in pairwise([*edges, (len(raw), len(raw))]):
        yield re.sub(rb"^>(>*From )", rb"\1", raw[start:end], flags=re.MULTILINE)


def _text_parts(message: Message, *, depth: int) -> Iterator[Message]:
    """The parts to show, in order: one of each set of alternatives."""
    if depth > _MAX_DEPTH:
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
    if not kind.startswith("text/"):
        return
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    text = decode(raw, encoding=part.get_content_charset())[0].decode().removeprefix("\ufeff")
    if kind == "text/html":
        page = read_page(text, max_chars=settings.max_part_bytes)
        write_page(page, max_bytes=settings.max_text_bytes, canon=canon)
    else:
        canon.add(text.replace("\r\n", "\n").rstrip("\n") + "\n")


def _header(message: Message, name: str) -> str:
    """A header, decoded; encoded words that can't be decoded stay encoded."""
    value = message.get(name)
    if value is None:
        return ""
    try:
        words = decode_header(value)
    except (ValueError, email.errors.HeaderParseError):
        words = [(str(value), None)]
    text = ""
    for word, charset in words:
        text += word if isinstance(word, str) else decode(word, encoding=charset)[0].decode()
    return " ".join(text.split())


def _sender(message: Message) -> str:
    """The name of the sender, else the address."""
    name, address = parseaddr(_header(message, "From"))
    return (name or address)[:80]


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


_SPEAKERS = {"human": "User", "user": "User", "assistant": "Assistant", "ai": "Assistant", "bot": "Assistant"}
_TIMES = ("create_time", "created_at", "timestamp", "time", "date", "update_time", "updated_at")
_BLANK = re.compile(r"[\ufeff\s,]*")
_Json = object


class ChatMessage(NamedTuple):
    """A message of a chat, with its time in seconds since 1970."""

    speaker: str
    text: str
    time: int | None


class _Conversation(NamedTuple):
    """A titled list of messages in the order they were read."""

    form: str
    title: str | None
    messages: list[ChatMessage]


def conversations(text: str) -> Iterator[_Conversation]:
    """The conversations of an export, parsed one at a time; a ValueError when it is not an export.

    >>> [chat.messages[0].text for chat in conversations('[{"role": "user", "content": "Hi"}]')]
    ['Hi']
    """
    elements = _elements(text)
    first = next(elements, None)
    if _is_role_message(first):
        yield _Conversation("roles", None, [_role_message(element) for element in (first, *elements)])
        return
    if _field(first, "type") == "message" and isinstance(_field(first, "ts"), str):
        yield _Conversation("slack", None, [m for element in (first, *elements) for m in _slack_message(element)])
        return
    listed = _field(_field(first, "chats"), "list")
    for element in listed if isinstance(listed, list) else (first, *elements):
        yield _conversation(element)


def load_chat(chat: _Conversation, rule: str, settings: SourceSettings, path: str) -> Iterator[Loaded]:
    """A conversation as a document with the time of its last message."""
    if not chat.messages:
        raise Refusal("empty", "a conversation without messages")
    canon = Canon(max_bytes=settings.max_text_bytes)
    if chat.title:
        canon.label("title")
        canon.add(f"# {chat.title}\n\n")
    for number, message in enumerate(chat.messages, start=1):
        canon.label(f"message {number}", time=message.time)
        when = f" ({_iso(message.time)})" if message.time is not None else ""
        canon.add(f"{message.speaker}{when}: {message.text}\n\n")
    last = max((message.time for message in chat.messages if message.time is not None), default=None)
    yield canon.loaded(path, f"{chat.form}:{rule}", time=last, title=chat.title)


def _elements(text: str) -> Iterator[_Json]:
    """The elements of the outer list (or the one outer object), each parsed when asked for."""
    decoder = json.JSONDecoder()
    position = _skip(text, 0)
    if not text.startswith("[", position):
        element, position = decoder.raw_decode(text, position)
        if text[position:].strip():
            raise ValueError("more than one value")
        yield element
        return
    position = _skip(text, position + 1)
    while not text.startswith("]", position):
        element, position = decoder.raw_decode(text, position)
        yield element
        position = _skip(text, position)


def _skip(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    return blank.end() if blank else position


def _conversation(element: _Json) -> _Conversation:
    if not isinstance(element, dict):
        raise ValueError("not a conversation")
    title = element.get("title") or element.get("name")
    title = " ".join(title.split()) or None if isinstance(title, str) else None
    if isinstance(element.get("mapping"), dict):
        return _Conversation("chatgpt", title, list(_branch(element)))
    if isinstance(element.get("chat_messages"), list):
        return _Conversation("claude", title, [m for item in element["chat_messages"] for m in _claude_message(item)])
    if isinstance(element.get("messages"), list) and element["messages"]:
        if isinstance(_field(element["messages"][0], "date_unixtime"), str):
            messages = [m for item in element["messages"] for m in _telegram_message(item)]
            return _Conversation("telegram", title, messages)
        return _Conversation("roles", title, [_role_message(item) for item in element["messages"]])
    raise ValueError("not a conversation")


def _branch(element: dict[str, _Json]) -> Iterator[ChatMessage]:
    """The branch of a ChatGPT conversation that was open last; every edit is kept as a branch."""
    mapping = element["mapping"]
    assert isinstance(mapping, dict)
    node_id = element.get("current_node")
    if not isinstance(node_id, str) or node_id not in mapping:
        node_id = next((key for key in reversed(mapping) if not _field(mapping[key], "children")), None)
    branch: dict[str, _Json] = {}
    while isinstance(node_id, str) and node_id in mapping and node_id not in branch:
        branch[node_id] = mapping[node_id]
        node_id = _field(mapping[node_id], "parent")
    for node in reversed(branch.values()):
        message = _field(node, "message")
        hidden = _field(_field(message, "metadata"), "is_visually_hidden_from_conversation")
        text = _text(_field(message, "content"))
        if isinstance(message, dict) and text and not hidden:
            role = _field(_field(message, "author"), "role")
            yield ChatMessage(_speaker(role), text, _time(message))


def _claude_message(item: _Json) -> Iterator[ChatMessage]:
    if not isinstance(item, dict):
        return
    text = _text(item.get("content")) or _text(item.get("text"))
    speaker, time = _speaker(item.get("sender")), _time(item)
    if text:
        yield ChatMessage(speaker, text, time)
    attachments = item.get("attachments")
    for attachment in attachments if isinstance(attachments, list) else []:
        content = _field(attachment, "extracted_content")
        if isinstance(content, str) and content.strip():
            name = _field(attachment, "file_name")
            yield ChatMessage(f"{speaker}, attachment {name if isinstance(name, str) else ''}".rstrip(), content, time)


def _telegram_message(item: _Json) -> Iterator[ChatMessage]:
    """A message of a person; a link or a bold word is a part of its text."""
    if _field(item, "type") not in ("message", "service"):
        raise ValueError("not a message")
    parts = _field(item, "text")
    parts = parts if isinstance(parts, list) else [parts]
    text = "".join(part if isinstance(part, str) else _text(_field(part, "text")) for part in parts).strip()
    if text and _field(item, "type") == "message":
        yield ChatMessage(_speaker(_field(item, "from")), text, _seconds(_field(item, "date_unixtime")))


def _slack_message(item: _Json) -> Iterator[ChatMessage]:
    """A message under the name of its writer, else the writer's id; joins and the like have a subtype."""
    if _field(item, "type") != "message":
        raise ValueError("not a message")
    text = _text(_field(item, "text"))
    if text and not _field(item, "subtype"):
        name = _field(_field(item, "user_profile"), "real_name") or _field(item, "user")
        yield ChatMessage(_speaker(name), text, _seconds(_field(item, "ts")))


def _seconds(digits: _Json) -> int | None:
    try:
        return epoch_of(float(digits)) if isinstance(digits, str) else None
    except ValueError:
        return None


def _is_role_message(item: _Json) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("role"), str) or "content" not in item:
        return False
    return item["content"] is None or isinstance(item["content"], str | list)


def _role_message(item: _Json) -> ChatMessage:
    if not isinstance(item, dict) or not _is_role_message(item):
        raise ValueError("not a message")
    return ChatMessage(_speaker(item["role"]), _text(item["content"]), _time(item))


def _text(content: _Json) -> str:
    """The text of a content field: a string, a list of parts, or an object that holds either."""
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, list):
        return "\n\n".join(text for part in content if (text := _text(part)))
    if isinstance(content, dict):
        for key in ("parts", "text", "result", "content"):
            if key in content and not isinstance(content[key], dict):
                return _text(content[key])
    return ""


def _speaker(role: _Json) -> str:
    name = " ".join(role.split())[:80] if isinstance(role, str) else ""
    return _SPEAKERS.get(name.lower(), name[:1].upper() + name[1:] or "Unknown")


def _time(message: dict[str, _Json]) -> int | None:
    for key in _TIMES:
        value = message.get(key)
        if isinstance(value, str) and (time := time_of(value.encode("utf-8", "backslashreplace"))):
            return time
        if isinstance(value, int | float) and not isinstance(value, bool):
            return epoch_of(value)  # a number without an end, or none at all, is no time
    return None


def _iso(time: int | None) -> str:
    return "" if time is None else dt.datetime.fromtimestamp(time, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _field(value: _Json, name: str) -> _Json:
    return value.get(name) if isinstance(value, dict) else None
