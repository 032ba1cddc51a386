"""Where does the next page begin? An opaque cursor that only this surface makes, and checks before it is used."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from blake3 import blake3

from brimful.surfaces.http.problems import RefusedRequest

_CHECK_BYTES = 6


def cursor_after(name: str, *, of: str) -> str:
    """The cursor for what comes after a name in a list.

    >>> after_cursor(cursor_after("a.md", of="documents"), of="documents")
    'a.md'
    """
    raw = name.encode()
    return base64.urlsafe_b64encode(_check(raw, of) + raw).decode().rstrip("=")


def after_cursor(cursor: str, *, of: str) -> str:
    """The name that a cursor comes after; one that was made elsewhere, or for another list, is refused."""
    try:
        found = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        check, raw = found[:_CHECK_BYTES], found[_CHECK_BYTES:]
        if check == _check(raw, of):
            return raw.decode()
    except (binascii.Error, ValueError):
        pass
    raise RefusedRequest("request.invalid", f"cursor {cursor[:60]!r} is none of this list; begin without one")


def paged(record: Mapping[str, object], *, of: str) -> dict[str, object]:
    """A page of a list with the cursor of the one after it, in place of the last name."""
    last = record["last"]
    rest = {name: value for name, value in record.items() if name != "last"}
    return {**rest, "next": None if last is None else cursor_after(str(last), of=of)}


def _check(raw: bytes, of: str) -> bytes:
    return blake3(raw, derive_key_context=f"brimful 2026 cursor of {of}").digest(_CHECK_BYTES)
