"""Is this a message that can be answered? If not, what is answered instead, over either transport.

The SDK passes over what it can't read, and whoever asked would wait for ever; so every message is read here first.
"""

from __future__ import annotations

import re

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from brimful.limits import MESSAGE_BYTES
from brimful.patterns import compiled
from brimful.text.strict_json import StrictJsonError, strict_json

_TOKEN = compiled(rb'("(?:[^"\\]++|\\.)*+")|([\[{])|([\]}])|(-?\d++)|[:,]|[^\s"\[\]{}:,]++', re.DOTALL)
_MOST_ID = 200


def refusal_of(message: bytes) -> JSONRPCError | None:
    """The error that answers a message, None where it can be read.

    >>> refusal_of(b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}')
    >>> refusal_of(b'{"jsonrpc": "2.0", "id": 7, "method": ' + b"[" * 200 + b"]" * 200 + b"}").id
    7
    """
    if len(message) > MESSAGE_BYTES:
        return too_long()
    try:
        strict_json(message)
        jsonrpc_message_adapter.validate_json(message, by_name=False)
    except StrictJsonError as error:
        return _refusal(PARSE_ERROR, str(error), message)
    except ValidationError:
        return _refusal(INVALID_REQUEST, "not a request, notification or response of JSON-RPC 2.0", message)
    return None


def too_long() -> JSONRPCError:
    """What answers a message that is not read to its end."""
    return _error(INVALID_REQUEST, f"it has more than {MESSAGE_BYTES} bytes; send less at once", None)


def id_of(message: bytes) -> int | str | None:
    """The id of a request, found without reading the rest, so that a refusal reaches whoever waits for it.

    >>> id_of(b'{"params": {"id": 1}, "id": "a7"}'), id_of(b'{"method": "id", "params": [[['), id_of(b"7")
    ('a7', None, None)
    """
    depth, before = 0, (b"", b"")
    for found in _TOKEN.finditer(message):
        text, opens, closes, number = found.groups()
        if depth == 1 and before == (b'"id"', b":"):
            return _plain(text, number)
        depth += bool(opens) - bool(closes)
        before = (before[1], found[0])
    return None


def _plain(text: bytes | None, number: bytes | None) -> int | str | None:
    if number is not None:
        return int(number) if len(number) <= 15 else None
    if text is not None and len(text) <= _MOST_ID and b"\\" not in text:
        return text[1:-1].decode("utf-8", "replace")
    return None


def _refusal(code: int, why: str, message: bytes) -> JSONRPCError:
    return _error(code, why, id_of(message))


def _error(code: int, why: str, identity: int | str | None) -> JSONRPCError:
    return JSONRPCError(
        jsonrpc="2.0", id=identity, error=ErrorData(code=code, message=f"the message is refused: {why}")
    )
