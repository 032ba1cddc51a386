"""How many bytes surround each hit? The specifications' policies as arithmetic (`field` is in `cutoff`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from brimful.settings import Sizing, WindowSettings


@dataclass(frozen=True, slots=True)
class Size:
    """A policy's decision, and the number of hits that it is based on (105 §2.3)."""

    policy: Sizing
    census: int  # hits before any is dropped
    kept: int  # hits that get room, the best first
    share_bytes: int  # of the budget, for each kept hit
    radius_bytes: int  # radial, elastic: on each side of a position
    cap_bytes: int | None  # the largest single window, if there is one
    budget_bytes: int | None  # shared by all hits

    @property
    def squeezed(self) -> bool:
        """Whether the budget can't show all hits (085a §3.1 SQUEEZE)."""
        return self.kept < self.census


def size_for(
    policy: Sizing,
    hit_bytes: Sequence[int],
    *,
    budget_bytes: int | None,
    budget_tokens: int | None,
    settings: WindowSettings,
) -> Size:
    """Apply one policy to hits of these lengths, the best first."""
    if policy == "field":
        return Size("field", len(hit_bytes), len(hit_bytes), 0, 0, None, budget_bytes)
    if policy == "density":
        return density(budget_bytes, hit_bytes, settings=settings)
    if policy == "elastic":
        return elastic(budget_bytes, len(hit_bytes), settings=settings)
    return radial(budget_tokens, len(hit_bytes), settings=settings)


def cap_for(policy: Sizing, settings: WindowSettings | None = None) -> int | None:
    """The largest window of a policy in bytes; `radial` and `field` have no limit."""
    settings = settings or WindowSettings()
    return {"density": settings.max_window_bytes, "elastic": 2 * settings.max_radius_bytes}.get(policy)


def density(budget_bytes: int | None, hit_bytes: Sequence[int], *, settings: WindowSettings) -> Size:
    """Give every hit an equal share, down to a minimum size; beyond that, fewer hits (085a §3.1).

    A hit longer than its share takes its own length, and the others share the remainder.
    Without a budget a window may grow to the static maximum of 2,500 bytes.

    >>> density(1_000, [20] * 10, settings=WindowSettings()).kept       # SQUEEZE: 10 x 150 > 1,000
    6
    >>> density(4_000, [20] * 10, settings=WindowSettings()).share_bytes  # EXPAND
    400
    >>> density(4_000, [1_300, 1_300, 20, 20], settings=WindowSettings()).share_bytes
    700
    """
    census, largest = len(hit_bytes), settings.max_window_bytes
    if budget_bytes is None:
        return Size("density", census, census, largest, 0, largest, None)
    least = [max(settings.min_viable_bytes, min(size, largest)) for size in hit_bytes]
    kept = sum(1 for total in accumulate(least) if total <= budget_bytes)
    if kept < census:
        # A budget below one viable window still shows the best hit, in what room there is.
        share = min(settings.min_viable_bytes, budget_bytes)
        return Size("density", census, max(kept, 1), share, 0, largest, budget_bytes)
    return Size("density", census, census, min(_level(budget_bytes, least), largest), 0, largest, budget_bytes)


def _level(budget_bytes: int, least: Sequence[int]) -> int:
    """The largest level L with `sum(max(size, L)) <= budget`."""
    room, sizes = budget_bytes, sorted(least, reverse=True)
    for larger, size in enumerate(sizes):
        share = room // (len(sizes) - larger)
        if size <= share:
            return share
        room -= size
    return 0


def padding_for(share_bytes: int, hit_bytes: int, *, settings: WindowSettings) -> int:
    """Half of the share without the hit, between 50 and 500 bytes (085a §3.2, ruling 3).

    >>> padding_for(400, 100, settings=WindowSettings()), padding_for(150, 100, settings=WindowSettings())
    (150, 50)
    """
    return min(max((share_bytes - hit_bytes) // 2, settings.min_padding_bytes), settings.max_padding_bytes)


def radial(budget_tokens: int | None, census: int, *, settings: WindowSettings) -> Size:
    """`floor(tokenBudget x charsPerToken / expectedResults / 2)` bytes on each side (085b §5.2).

    >>> [radial(tokens, 10, settings=WindowSettings()).radius_bytes for tokens in (2_000, 10_000, 20_000)]
    [400, 2000, 4000]
    """
    if budget_tokens is None:
        radius = settings.max_window_bytes // 2
    else:
        radius = budget_tokens * settings.chars_per_token // settings.expected_results // 2
    return Size("radial", census, census, 2 * radius, radius, None, None)


def elastic(budget_bytes: int | None, census: int, *, settings: WindowSettings) -> Size:
    """A radius that falls with the number of hits: `clamp(budget / hits / 2, 200, 32,000)` (105 §2.2).

    Hits are dropped before the floor is applied, so that the floor can't exceed the budget (ruling 3).

    >>> [elastic(100_000, hits, settings=WindowSettings()).radius_bytes for hits in (1, 10, 100, 10_000)]
    [32000, 5000, 500, 200]
    >>> elastic(100_000, 10_000, settings=WindowSettings()).kept
    250
    """
    if budget_bytes is None:
        radius = settings.max_window_bytes // 2
        return Size("elastic", census, census, 2 * radius, radius, None, None)
    smallest = 2 * settings.min_radius_bytes
    if census * smallest > budget_bytes:
        # A budget below one smallest window still shows the best hit, in what room there is.
        kept, radius = max(budget_bytes // smallest, 1), min(settings.min_radius_bytes, budget_bytes // 2)
    else:
        kept = census
        radius = min(max(budget_bytes // max(census, 1) // 2, settings.min_radius_bytes), settings.max_radius_bytes)
    return Size("elastic", census, kept, 2 * radius, radius, 2 * settings.max_radius_bytes, budget_bytes)
