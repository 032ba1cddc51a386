"""How much does it say that a word stands somewhere? BM25's inverse document frequency, the same on every machine."""

from __future__ import annotations

from decimal import Context as DecimalContext
from decimal import Decimal
from functools import lru_cache
from math import sqrt

_DIGITS = DecimalContext(prec=20)


@lru_cache(4_096)
def plain_rarity(census: int, total: int) -> float:
    """How much it says that a word stands somewhere: the logarithm of BM25, the same on every machine.

    >>> plain_rarity(1, 1000) > plain_rarity(10, 1000) > plain_rarity(1000, 1000) > 0
    True
    """
    census = min(census, total)
    odds = 1 + Decimal(2 * (total - census) + 1) / Decimal(2 * census + 1)
    return float(odds.ln(_DIGITS))


def rarity(census: int, total: int) -> float:
    """The same for a passage, where rare words count for still more: to the power of five quarters."""
    plain = plain_rarity(census, total)
    return plain * sqrt(sqrt(plain))
