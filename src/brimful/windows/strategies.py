"""Which windows belong together? Only adjacent spans merge bytes; the rest are linked (ruling 14)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from brimful.errors import choose
from brimful.patterns import compiled
from brimful.settings import STRATEGIES, Strategy, WindowSettings
from brimful.text.prose import refers_back
from brimful.windows.likeness import FULL, Names, cosine, overlap, steps_of, terms_of
from brimful.windows.window import Cluster, Coherence, Window

_HEAD_BYTES = 2_048
_NEAR_BYTES = 1_000  # that a word which points back reaches
_LATELY = 3  # windows of a chain whose names count
_SUBJECT = compiled(
    rb"^Subject: *(?:(?:re|aw|fwd?|wg|sv|vs|antw)(?:\[\d+\])?: *)*(?P<about>[^\r\n]*)", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class _Card:
    """A window with what the strategies compare."""

    window: Window
    terms: frozenset[str]
    names: frozenset[str]
    steps: NDArray[np.int64] | None
    thread: str | None  # what a mail is about, answers alike
    points_back: bool  # whether it opens with a word whose meaning stands before it

    def likeness(self, other: _Card) -> int:
        """By vectors where both have one, by words otherwise."""
        if self.steps is not None and other.steps is not None:
            return cosine(self.steps, other.steps)
        return overlap(self.terms, other.terms)


def link(
    windows: Iterable[Window], strategy: Strategy, *, settings: WindowSettings | None = None
) -> tuple[Window | Cluster, ...]:
    """Windows that belong together as clusters, the others as they are (ruling 20); the best first, each window once.

    - `adjacent`: each window stands alone, its bytes were merged already.
    - `temporal`: times at most `temporal_gap_seconds` apart *and* related content.
    - `semantic`: at least `semantic_similarity` to the cluster's best window.
    - `narrative`: time moving forward by at most `narrative_gap_seconds` (reading order inside a document) *and* shared
      names, one thread of mails, or a word that points back.
    """
    choose(strategy, STRATEGIES, what="strategy")
    settings = settings or WindowSettings()
    ranked = sorted(windows, key=lambda window: window.order)
    names = Names([window.text for window in ranked])
    cards = [_card(window, names) for window in ranked]
    if strategy == "adjacent":
        groups = [[card] for card in cards]
    elif strategy == "semantic":
        groups = _around_leaders(cards, settings)
    else:
        cards.sort(key=lambda card: _moment(card.window))
        joins = _close_in_time if strategy == "temporal" else _continues
        groups = _chains(cards, lambda chain, card: joins(chain, card, settings))
    linked = [group[0].window if len(group) == 1 else _cluster(group, strategy, settings) for group in groups]
    return tuple(sorted(linked, key=_rank))


def _rank(item: Window | Cluster) -> tuple[float, str, int, int, int, str]:
    """A cluster competes as its best window does."""
    return item.order if isinstance(item, Window) else min(window.order for window in item.windows)


def _card(window: Window, names: Names) -> _Card:
    document = window.document
    return _Card(
        window,
        terms_of(window.text),
        frozenset(name.casefold() for name in window.entities) or names.of(window.text),
        steps_of(window.vector) if window.vector else None,
        None if document is None else _thread(document.content[:_HEAD_BYTES]),
        document is not None and document.kind == "prose" and refers_back(document.content, window.start),
    )


def _thread(head: bytes) -> str | None:
    """What a mail is about, without the signs of an answer."""
    found = _SUBJECT.search(head)
    return found["about"].decode("utf-8", "replace").casefold().strip() or None if found else None


def _moment(window: Window) -> tuple[bool, int, str, int, str]:
    """Time first where it is known; then place. Windows without a time come last."""
    return (window.time is None, window.time or 0, window.path, window.start, window.id)


def _around_leaders(cards: Sequence[_Card], settings: WindowSettings) -> list[list[_Card]]:
    """Each window, best first, joins the first cluster whose best window it resembles enough."""
    least = round(settings.semantic_similarity * FULL)
    groups: list[list[_Card]] = []
    for card in cards:
        home = next((group for group in groups if group[0].likeness(card) >= least), None)
        if home is None:
            groups.append([card])
        else:
            home.append(card)
    return groups


def _chains(cards: Sequence[_Card], joins: Callable[[Sequence[_Card], _Card], bool]) -> list[list[_Card]]:
    """Each window, in time order, continues the chain with the most recent end that it may join."""
    chains: list[list[_Card]] = []
    for card in cards:
        home = next((at for at in range(len(chains) - 1, -1, -1) if joins(chains[at], card)), None)
        if home is None:
            chains.append([card])
        else:
            chain = chains.pop(home)
            chain.append(card)
            chains.append(chain)
    return chains


def _close_in_time(chain: Sequence[_Card], card: _Card, settings: WindowSettings) -> bool:
    last, now = chain[-1].window.time, card.window.time
    if last is None or now is None or now - last > settings.temporal_gap_seconds:
        return False
    least = round(settings.related_similarity * FULL)
    return any(member.likeness(card) >= least or member.names & card.names for member in chain)


def _continues(chain: Sequence[_Card], card: _Card, settings: WindowSettings) -> bool:
    """Whether a window goes on with a story: later, not too late, and about the same, or as an answer.

    About the same are windows that name the same, of one thread of mails, or of which the later one opens with a word
    that points back to the other. What was named long ago in a chain is not what it is about now.
    """
    last, now = chain[-1].window, card.window
    if last.time is None or now.time is None:
        forward = last.path == now.path and last.start <= now.start
    else:
        forward = 0 <= now.time - last.time <= settings.narrative_gap_seconds
    if not forward:
        return False
    if card.thread is not None and card.thread == chain[-1].thread and last.path != now.path:
        return True
    if card.points_back and last.path == now.path and 0 <= now.start - last.end <= _NEAR_BYTES:
        return True
    known = frozenset[str]().union(*(member.names for member in chain[-_LATELY:]))
    return len(known & card.names) >= settings.shared_entities


def _cluster(group: Sequence[_Card], strategy: Strategy, settings: WindowSettings) -> Cluster:
    if strategy == "semantic":
        group = sorted(group, key=lambda card: (card.window.path, card.window.start, card.window.id))
    coherence = Coherence.of(*_reasons(group, strategy, settings))
    whole = Cluster(tuple(card.window for card in group), strategy, coherence)
    return replace(whole, windows=tuple(replace(each, strategy=strategy, cluster=whole.id) for each in whole.windows))


def _reasons(group: Sequence[_Card], strategy: Strategy, settings: WindowSettings) -> list[tuple[str, float, int]]:
    """The parts of a cluster's coherence; each neighbour pair of the cluster counts once."""
    pairs = list(pairwise(group))
    likeness = sum(one.likeness(other) for one, other in pairs) / len(pairs) / FULL
    parts = [("likeness", likeness, 2)]
    times = [card.window.time for card in group if card.window.time is not None]
    if len(times) == len(group) and strategy != "semantic":
        longest = max(later - earlier for earlier, later in pairwise(times))
        closeness = max(0.0, 1 - longest / max(settings.temporal_gap_seconds, 1))
        parts.append(("closeness", closeness, 1))
    if strategy == "narrative":
        shared = sum(bool(one.names & other.names) for one, other in pairs) / len(pairs)
        parts.append(("entities", shared, 2))
    windows = sum(card.window.coherence.score for card in group) / len(group)
    parts.append(("windows", windows, 1))
    return parts
