"""What can a client read by address? Receipts of this server, and the documents of the corpus."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from urllib.parse import quote

from mcp.server.mcpserver import ResourceSecurity
from mcp_types import Completion, Resource

from brimful.assembly.receipt import Receipt
from brimful.engine import Engine
from brimful.errors import DocumentError, suggest
from brimful.surfaces.mcp.views import one_line

RECEIPTS = "brimful://receipts/{id}"
DOCUMENTS = "brimful://documents/{+path}"
MOST_RECEIPTS = 256
MOST_DOCUMENT_BYTES = 1 << 20
MOST_LISTED = 200
MOST_COMPLETED = 100  # the protocol's own limit

AS_KEY = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False, reject_null_bytes=False)
"""Paths are keys of the store, looked up as they are: no file is opened, so nothing can be reached by `..`."""


def receipt_uri(identity: str) -> str:
    """Where a receipt is read."""
    return f"brimful://receipts/{identity}"


def document_uri(path: str) -> str:
    """Where a document is read; every character but letters, digits, `_.-~/` is escaped.

    >>> document_uri("a b/100%.md")
    'brimful://documents/a%20b/100%25.md'
    """
    return f"brimful://documents/{quote(path, safe='/')}"


class Receipts:
    """The receipts that were asked for last, by id; shared by the threads of one server."""

    def __init__(self, most: int = MOST_RECEIPTS) -> None:
        self._most = most
        self._kept: OrderedDict[str, Receipt] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, receipt: Receipt) -> None:
        """Keep one, and let go of the oldest that is too many."""
        with self._lock:
            self._kept[receipt.id] = receipt
            self._kept.move_to_end(receipt.id)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def get(self, identity: str) -> Receipt:
        """One by its id."""
        with self._lock:
            found = self._kept.get(identity)
            if found is not None:
                self._kept.move_to_end(identity)
                return found
            close = suggest(identity[:100], self._kept)
        raise DocumentError(
            f"there is no receipt {identity!r:.100} here; {close}the last {self._most} of this server are kept, "
            "call get_context for a new one"
        )

    def ids(self) -> list[str]:
        """The newest first."""
        with self._lock:
            return list(reversed(self._kept))


def read_document(engine: Engine, path: str) -> str:
    """A document's whole text, if it is not too long to be read at once."""
    document = engine.document(path)
    if len(document) > MOST_DOCUMENT_BYTES:
        raise DocumentError(
            f"{path!r:.200} has {len(document)} bytes, a resource gives at most {MOST_DOCUMENT_BYTES}; "
            "read it in parts with the tool read_span"
        )
    return document.content.decode()


def listed(engine: Engine, receipts: Receipts) -> list[Resource]:
    """Receipts, the newest first, then the first documents by path; the templates reach all of them."""
    known = engine.ground.documents.paths[:MOST_LISTED]
    return [
        *(
            Resource(uri=receipt_uri(each), name=f"receipt {each[:12]}", mime_type="application/json")
            for each in receipts.ids()
        ),
        *(Resource(uri=document_uri(path), name=one_line(path), mime_type="text/plain") for path in known),
    ]


def completed(value: str, names: Sequence[str]) -> Completion:
    """Names that begin like this, then those that contain it."""
    begin = [each for each in names if each.startswith(value)]
    hold = [each for each in names if value in each and not each.startswith(value)]
    found = [*begin, *hold]
    return Completion(values=found[:MOST_COMPLETED], total=len(found), has_more=len(found) > MOST_COMPLETED)
