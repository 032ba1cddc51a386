"""What did the provider say, in words that rules can be written for?

Providers wrap the same sentence in a dozen shapes: `{"error": {...}}`, `{"error": "..."}`, a list of those, JSON inside
a string inside JSON, server-sent events, plain text, HTML. Here they become two normal forms: typed codes, a message.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from brimful.patterns import compiled

_CODE_KEYS = frozenset(
    "code type status reason kind __type errorcode error_code errortype error_type statuscode status_code "
    "stop_reason finish_reason stopreason finishreason done_reason quotaid".split()
)
_MESSAGE_KEYS = frozenset(
    "message msg detail details error errors error_message errormessage error_msg status_msg "
    "error_description description title raw reason_text text_message cause exception".split()
)
# What the caller sent or the model wrote; a provider that echoes it says nothing with it.
_ECHOED_KEYS = frozenset(
    "input inputs prompt messages content text choices candidates completion output request param params loc ctx "
    "url href help documentation_url request_id id model user_id organization".split()
)
_MOST_STRINGS, _DEEPEST, _LONGEST = 200, 12, 4_000

_URL = compiled(r"\bhttps?://\S+")
_CAMEL = compiled(r"(?<=[a-z])(?=[A-Z])")
_THOUSANDS = compiled(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_SIGNS = compiled(r"[`'\"’*_\\-]+")
_SPACE = compiled(r"\s+")
_EVENT = compiled(r"^data:\s*(.+)$", re.MULTILINE)
_STATUS = compiled(
    r"^(?:http(?:/[\d.]+)? ?|error(?: code)?:? ?|status(?: code)?:? ?){0,2}([45]\d\d)\b(?! tokens)", re.IGNORECASE
)
_TAG = compiled(r"<[^>]{0,500}>")


@dataclass(slots=True)
class Evidence:
    """The provider's words: codes and message in normal form, numbers that look like statuses, named counts."""

    codes: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """All typed codes, in one string."""
        return " . ".join(self.codes)

    @property
    def message(self) -> str:
        """All messages, in one string."""
        return " . ".join(self.messages)

    @property
    def words(self) -> str:
        """Codes and messages together."""
        return f"{self.code} . {self.message}"


def evidence_of(body: object, *, answered: bool = False) -> Evidence:
    """Read any body; `answered` means status 200, where only what is marked as an error counts.

    >>> evidence_of({"error": {"type": "exceededContextWindow", "message": "Over 1,000 tokens"}}).words
    'exceeded context window . over 1000 tokens'
    """
    found = Evidence()
    if answered:
        for part in _marked_errors(_parsed(body), depth=0):
            _walk(part, "error", found, depth=0)
    else:
        _walk(body, "error", found, depth=0)
    return found


def normal(text: str) -> str:
    """Lower case, one space between words, no quotes, no thousands separators, camel case and snake case apart.

    >>> normal("`contextWindow_size`  is 8,192 (see https://host/x)")
    'context window size is 8192 (see '
    """
    plain = _TAG.sub(" ", _URL.sub(" ", text[:_LONGEST]))
    plain = _SIGNS.sub(" ", _THOUSANDS.sub("", _CAMEL.sub(" ", plain)))
    return _SPACE.sub(" ", plain).lower().lstrip()


def _walk(value: object, key: str, found: Evidence, *, depth: int) -> None:
    if depth > _DEEPEST or len(found.codes) + len(found.messages) > _MOST_STRINGS:
        return
    if isinstance(value, BaseException):
        _walk(f"{type(value).__name__}: {value}", "message", found, depth=depth + 1)
    elif isinstance(value, bytes):
        _walk(value.decode("utf-8", "replace"), key, found, depth=depth + 1)
    elif isinstance(value, dict):
        for name, each in value.items():
            _walk(each, str(name).lower(), found, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            _walk(each, key, found, depth=depth + 1)
    elif isinstance(value, str):
        _read_text(value, key, found, depth=depth)
    elif isinstance(value, int) and not isinstance(value, bool):
        found.counts.setdefault(key, value)
        if key in _CODE_KEYS and 400 <= value <= 599:
            found.statuses.append(value)


def _read_text(value: str, key: str, found: Evidence, *, depth: int) -> None:
    inner = _parsed(value)
    if not isinstance(inner, str):
        _walk(inner, key, found, depth=depth + 1)
    elif key in _CODE_KEYS:
        found.codes.append(normal(value))
        if value.isascii() and value.isdigit() and len(value) == 3 and 400 <= int(value) <= 599:
            found.statuses.append(int(value))
    elif key in _MESSAGE_KEYS or (key not in _ECHOED_KEYS and " " in value):
        found.messages.append(normal(value))
        if named := _STATUS.match(value.strip()):
            found.statuses.append(int(named[1]))


def _parsed(body: object) -> object:
    """JSON and server-sent events as values; everything else as it is."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if not isinstance(body, str):
        return body
    text = body.strip()
    if text[:1] in ("{", "["):
        return _json(text)
    if "{" in text and (events := _EVENT.findall(text)):
        return [_json(event.strip()) for event in events]
    brace = text.find("{")
    if 0 <= brace < 200 and text.endswith("}"):
        inner = _json(text[brace:])
        return [{"message": text[:brace]}, inner] if not isinstance(inner, str) else body
    return body


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _marked_errors(body: object, *, depth: int) -> list[object]:
    """What a body of status 200 marks as an error, in whichever event of it."""
    if depth > _DEEPEST:
        return []
    if isinstance(body, str):
        return [body]
    if isinstance(body, list):
        return [part for each in body for part in _marked_errors(each, depth=depth + 1) if not isinstance(each, str)]
    if not isinstance(body, dict):
        return []
    kind = f"{body.get('type', '')} {body.get('object', '')}".lower()
    if "error" in kind or any(str(key).lower().startswith("err") and value for key, value in body.items()):
        return [{key: value for key, value in body.items() if key not in _ECHOED_KEYS}]
    if "message" in body and not _ECHOED_KEYS & set(body) and isinstance(body["message"], str):
        return [body]
    inner = [body[key] for key in ("response", "choices", "data", "base_resp") if key in body]
    return [part for each in inner if not isinstance(each, str) for part in _marked_errors(each, depth=depth + 1)]
