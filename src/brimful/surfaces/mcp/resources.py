"""What a client reads by address: receipts of this server, and documents of the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from mcp.server.mcpserver import ResourceSecurity
from mcp_types import Completion, Resource

from brimful import limits
from brimful.engine import Engine
from brimful.errors import DocumentError, suggest
from brimful.receipts.receipt import Receipt
from brimful.surfaces.mcp.answers import one_line
from brimful.surfaces.serving import Receipts

RECEIPTS = "brimful://receipts/{id}"
DOCUMENTS = "brimful://documents/{+path}"
MOST_RECEIPTS = 256
MOST_DOCUMENT_BYTES = 1 << 20
MOST_LISTED = 200
_MOST_COMPLETED = 100  # the protocol's limit

AS_KEY = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False, reject_null_bytes=False)
"""Paths are keys of the store: no file is opened, so nothing can be reached by `..`."""


def document_uri(path: str) -> str:
    """The address of a document; every character but letters, digits and `_.-~/` is escaped.

    >>> document_uri("a b/100%.md")
    'brimful://documents/a%20b/100%25.md'
    """
    return f"brimful://documents/{quote(path, safe='/')}"


def receipt_of(receipts: Receipts, identity: str) -> Receipt:
    """A receipt of this server, by its id or the beginning of it."""
    ids = receipts.ids()
    matching = [name for name in ids if name.startswith(identity)] if len(identity) >= limits.RECEIPT_CHARACTERS else []
    receipt = receipts.get(matching[0]) if len(matching) == 1 else None
    if receipt is None:
        raise DocumentError(
            f"there is no receipt {identity!r:.100} here; {suggest(identity[:100], ids)}"
            f"the last {receipts.most} of this server are kept, call get_context for a new one"
        )
    return receipt


def read_document(engine: Engine, path: str) -> str:
    """A document's text, unless it is too long to be read at once."""
    document = engine.document(path)
    if len(document) > MOST_DOCUMENT_BYTES:
        raise DocumentError(
            f"{path!r:.200} has {len(document)} bytes, a resource gives at most {MOST_DOCUMENT_BYTES}; "
            "read it in parts with the tool read_span"
        )
    return document.content.decode()


def listed(engine: Engine, receipts: Receipts) -> list[Resource]:
    """Receipts, newest first, then the first documents by path; the templates reach all of them."""
    paths = engine.columns.documents.paths[:MOST_LISTED]
    return [
        *(
            Resource(uri=f"brimful://receipts/{name}", name=f"receipt {name[:12]}", mime_type="application/json")
            for name in receipts.ids()
        ),
        *(Resource(uri=document_uri(path), name=one_line(path), mime_type="text/plain") for path in paths),
    ]


def completed(value: str, names: Sequence[str]) -> Completion:
    """Names that begin with a value, then names that contain it."""
    matching = sorted((name for name in names if value in name), key=lambda name: not name.startswith(value))
    return Completion(values=matching[:_MOST_COMPLETED], total=len(matching), has_more=len(matching) > _MOST_COMPLETED)
