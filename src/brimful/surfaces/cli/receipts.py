"""Is everything still as a receipt cites it?"""

from __future__ import annotations

from typing import Protocol

from brimful.assembly.context import Context
from brimful.errors import MissingPartError


class Receipt(Protocol):
    """What the command line needs of a receipt."""

    def to_json(self) -> str:
        """One line of JSON."""
        ...


def receipt_of(context: Context) -> Receipt:
    """The context's receipt."""
    found: Receipt | None = getattr(context, "receipt", None)
    if found is None:
        raise MissingPartError("this version makes no receipts yet; leave --receipt out")
    return found
