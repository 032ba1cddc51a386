"""The tokens that a model call may take, and the memory that this program may."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from brimful.choices import choice
from brimful.errors import BudgetError, SettingError

LARGEST = 1_000_000_000
"""No model accepts more; a larger number is a mistake (bytes for tokens, a time stamp, an overflow)."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A model call's tokens, some of them reserved (CFS §3 TokenBudget).

    `total` is the whole context limit to use; what the reserves leave is `available`.
    `per_doc_overhead` is the estimated price of a document's header, for those who choose before they
    render (`content_estimate`); what a header really costs is counted on the rendered text (ruling 6).

    >>> Budget(2000).available
    1200
    >>> Budget(600)
    Traceback (most recent call last):
    brimful.errors.BudgetError: budget of 600 tokens leaves nothing after 800 reserved ...
    """

    total: int
    reserved_system: int = choice(200, "Of the budget, for the system prompt.", unit="tokens", low=0)
    reserved_query: int = choice(100, "Of the budget, for the question.", unit="tokens", low=0)
    reserved_response: int = choice(500, "Of the budget, for the answer.", unit="tokens", low=0)
    per_doc_overhead: int = 10

    def __post_init__(self) -> None:
        for name in ("total", "reserved_system", "reserved_query", "reserved_response", "per_doc_overhead"):
            _check(name, getattr(self, name))
        if self.total <= self.reserved:
            parts = f"system {self.reserved_system}, query {self.reserved_query}, response {self.reserved_response}"
            raise BudgetError(
                f"budget of {self.total} tokens leaves nothing after {self.reserved} reserved ({parts}); "
                "raise total or lower the reserves"
            )

    @property
    def reserved(self) -> int:
        """Tokens that are not for the context."""
        return self.reserved_system + self.reserved_query + self.reserved_response

    @property
    def available(self) -> int:
        """Tokens that the rendered context may have at most."""
        return self.total - self.reserved

    def content_estimate(self, documents: int) -> int:
        """About how many tokens of text fit, after the headers of `documents` documents.

        >>> Budget(2000).content_estimate(3)
        1170
        """
        return max(self.available - documents * self.per_doc_overhead, 0)


def budget_of(value: Budget | int) -> Budget:
    """A Budget as it is; an int becomes the budget of the context alone, with nothing reserved.

    >>> budget_of(150).available
    150
    """
    if isinstance(value, Budget):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value < 1:
        raise BudgetError(f"a budget of {value} tokens holds nothing; give at least 1")
    return Budget(value, reserved_system=0, reserved_query=0, reserved_response=0)


def _check(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BudgetError(f"{name} must be a whole number of tokens, got {value!r}")
    if value < 0:
        raise BudgetError(f"{name} is {value} tokens; it can't be negative")
    if value > LARGEST:
        raise BudgetError(f"{name} is {value} tokens; more than {LARGEST} can't be meant (bytes instead of tokens?)")


# ---- memory

MEMORY = "BRIMFUL_MAX_MEMORY"
LEAST_MEMORY_BYTES, _ROOMY_BYTES = 256 << 20, 1 << 30
_SIZE = re.compile(r"(\d{1,9}) ?(MB|GB)", re.IGNORECASE)


def max_memory() -> int:
    """The bytes that indexing or asking may take: BRIMFUL_MAX_MEMORY, or a quarter of the machine."""
    text = os.environ.get(MEMORY, "").strip()
    return memory_bytes(text) if text else max(_machine_bytes() // 4, LEAST_MEMORY_BYTES)


def memory_bytes(text: str) -> int:
    """The bytes that a setting names.

    >>> memory_bytes("512MB") >> 20, memory_bytes("2 gb") >> 20
    (512, 2048)
    """
    size = _SIZE.fullmatch(text)
    memory = int(size[1]) << (30 if size[2].upper() == "GB" else 20) if size else 0
    if memory < LEAST_MEMORY_BYTES:
        raise SettingError(f"max-memory is {text!r:.40}; write 512MB or 2GB, and {LEAST_MEMORY_BYTES >> 20}MB at least")
    return memory


def scaled(size: int) -> int:
    """A size of a batch or a cache: as it is from a gigabyte of memory on, and smaller in proportion below."""
    return size * min(max_memory(), _ROOMY_BYTES) // _ROOMY_BYTES


def _machine_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows does not say
        return 4 * _ROOMY_BYTES
