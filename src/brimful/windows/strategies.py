"""Which windows belong together? Only adjacent spans merge bytes; other strategies link windows (ruling 14)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from brimful.errors import choose
from brimful.outline.prose import refers_back
from brimful.search.terms import place_of
from brimful.settings import STRATEGIES, Strategy
from brimful.text.terms import terms_of
from brimful.windows.window import Cluster, Coherence, Window

_FULL = 10_000
"""The likeness of a text to itself; likenesses are whole numbers, equal on every machine (invariant 2)."""

_STEPS = 32_767
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]+(?:\s+(?:[A-ZÀ-ÖØ-Þ][\w'’-]+|of|de|von|van|da)(?=\s+[A-Z]|\b))*")
# Words that begin sentences without naming anyone.
_OPENERS = frozenset(
    "a after all also although an and any are as at be because before both but by can could did do does each "
    "even every few first for from had has have he her here his how however i if in is it its just last let "
    "like many may maybe me meanwhile more most my next no nor not now of oh ok okay on once one or other our "
    "perhaps please she should since so some such than thanks that the their then there these they this those "
    "though through thus to today tomorrow two until up was we well were what when where whether which while "
    "who why will with would yes yesterday yet you your".split()
)
_SHORT = 3
_LETTERED = re.compile(r"[^\W\d_][\w'\u2019-]*")
_BEFORE_SENTENCES = ".!?:;\n\r\"'\u2018\u201c\u201e\u00ab([{*#>-\u2013\u2014|"
_WORDS_PER_CAPITAL = 5  # with more capitals inside sentences, nouns are capitalised
_MANY_TEXTS = 8


def _terms_of(text: str) -> frozenset[bytes]:
    """The terms of a text that count for its likeness: no short ones, but all of scripts without spaces."""
    return frozenset(name for name in terms_of(text.encode()).names if len(name) > _SHORT)


def _rarities(texts: Sequence[frozenset[bytes]]) -> dict[bytes, int]:
    """The inverse document frequency of each term, in thousandths.

    >>> _rarities([frozenset({b"tea", b"pot"}), frozenset({b"tea"})])[b"tea"]
    693
    """
    counts = Counter(term for terms in texts for term in terms)
    return {term: round(1_000 * math.log(1 + len(texts) / count)) for term, count in counts.items()}


def _overlap(first: frozenset[bytes], second: frozenset[bytes], worths: Mapping[bytes, int]) -> int:
    """The cosine of two sets of weighted terms; a term without a weight counts one."""
    shared, *sizes = (sum(worths.get(term, 1) ** 2 for term in terms) for terms in (first & second, first, second))
    return math.isqrt(shared**2 * _FULL**2 // math.prod(sizes)) if all(sizes) else 0


def _steps_of(vector: Sequence[float]) -> NDArray[np.int64]:
    """A vector in whole steps of its largest value, so that products are exact."""
    values = np.asarray(vector, np.float64)
    largest = float(np.max(np.abs(values), initial=0.0))
    return np.rint(values * (_STEPS / largest if largest else 0.0)).astype(np.int64)


def _cosine(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """The cosine of two vectors in steps; opposite directions count as no likeness."""
    product = int(first @ second) if first.size == second.size else 0
    norms = int(first @ first) * int(second @ second)
    return math.isqrt(product**2 * _FULL**2 // norms) if product > 0 else 0


class Names:
    """The names in some texts, as opposed to words that are merely capitalised.

    A capitalised word is a name if some text has it inside a sentence and none has it in lower case. Where nouns are
    capitalised, as in German, a name has several words or is in no vocabulary. Names in more than half of many texts
    don't count.

    >>> names = Names(["Then Ada Lovelace met Babbage. The engine was his.", "Babbage left. Nobody saw Ada."])
    >>> sorted(names.of("Ada came. Babbage, too. Engine!"))
    ['ada', 'babbage']
    """

    def __init__(self, texts: Sequence[str]) -> None:
        inside, small, words, large = Counter[str](), set[str](), 0, 0
        parts: set[str] = set()
        texts_with = Counter[str]()
        for text in texts:
            capitalised = set()
            for match in _LETTERED.finditer(text):
                word = _plain(match.group())
                if not match.group()[0].isupper():
                    small.add(word)
                    words += 1
                    continue
                capitalised.add(word)
                if not _begins_sentence(text, match.start()):
                    words, large = words + 1, large + 1
                    inside[word] += 1
            texts_with.update(capitalised)
            parts.update(_plain(word) for name in _NAME.findall(text) if len(name.split()) > 1 for word in name.split())
        has_large_nouns = large * _WORDS_PER_CAPITAL > words
        self._names = {
            word
            for word in inside
            if word not in small
            and word not in _OPENERS
            and len(word) >= _SHORT
            and not (len(texts) >= _MANY_TEXTS and 2 * texts_with[word] > len(texts))
            and (not has_large_nouns or word in parts or place_of(word.encode()) is None)
        }

    def of(self, text: str) -> frozenset[str]:
        """The names in a text, word by word."""
        large = (match.group() for match in _LETTERED.finditer(text) if match.group()[0].isupper())
        return frozenset(name for word in large if (name := _plain(word)) in self._names)


def _plain(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("\u2019s")


def _begins_sentence(text: str, start: int) -> bool:
    """Whether a word begins a sentence, a line, a quotation or a turn of speech (`Ada: Tea?`)."""
    preceding = text[max(start - 4, 0) : start].rstrip(" \t")
    return not preceding or preceding[-1] in _BEFORE_SENTENCES


_HEAD_BYTES = 2_048
_ANTECEDENT_BYTES = 1_000  # from a word that points back to its meaning
_RECENT_WINDOWS = 3  # of a chain, whose names count
_SUBJECT = re.compile(
    rb"^Subject: *(?:(?:re|aw|fwd?|wg|sv|vs|antw)(?:\[\d+\])?: *)*(?P<about>[^\r\n]*)", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class _Card:
    """A window with the features that strategies compare."""

    window: Window
    terms: frozenset[bytes]
    worths: Mapping[bytes, int]  # of terms
    names: frozenset[str]
    steps: NDArray[np.int64] | None
    thread: str | None  # the subject of a mail
    points_back: bool  # whether it opens with a word that refers to earlier text

    def likeness(self, other: _Card) -> int:
        """The likeness of vectors if both have one, else of words."""
        if self.steps is not None and other.steps is not None:
            return _cosine(self.steps, other.steps)
        return _overlap(self.terms, other.terms, self.worths)


# The constants of 085b §3. A day or a score of difference moves few clusters, so none of them is a choice.
_TEMPORAL_GAP_SECONDS = 3_600
_NARRATIVE_GAP_SECONDS = 2_592_000  # 30 days
_RELATED_SIMILARITY = 0.10  # of neighbours in time
_SEMANTIC_SIMILARITY = 0.50  # to the best window of a cluster


def link(windows: Iterable[Window], strategy: Strategy) -> tuple[Window | Cluster, ...]:
    """Windows that belong together as clusters, others as they are (ruling 20); best first, each window once.

    - `adjacent`: each window stands alone, its bytes were merged already.
    - `temporal`: times at most an hour apart *and* related content.
    - `semantic`: at least half alike to the cluster's best window, rare words counting for more.
    - `narrative`: time moving forward by at most 30 days (inside a document, in reading order) *and* shared names, one
      thread of mails, or a word that points back.
    """
    choose(strategy, STRATEGIES, what="strategy")
    ranked = sorted(windows, key=lambda window: window.order)
    names = Names([window.text for window in ranked])
    terms = [_terms_of(window.text) for window in ranked]
    worths = _rarities(terms) if strategy == "semantic" else {}
    cards = [_card(window, words, worths, names) for window, words in zip(ranked, terms, strict=True)]
    if strategy == "adjacent":
        groups = [[card] for card in cards]
    elif strategy == "semantic":
        groups = _around_leaders(cards)
    else:
        cards.sort(key=lambda card: _moment(card.window))
        joins = _close_in_time if strategy == "temporal" else _continues
        groups = _chains(cards, joins)
    linked = [group[0].window if len(group) == 1 else _cluster(group, strategy) for group in groups]
    return tuple(sorted(linked, key=_rank))


def _rank(item: Window | Cluster) -> tuple[float, str, int, int, int, str]:
    """The sort key of a window, or of a cluster's best window."""
    return item.order if isinstance(item, Window) else min(window.order for window in item.windows)


def _card(window: Window, terms: frozenset[bytes], worths: Mapping[bytes, int], names: Names) -> _Card:
    document = window.document
    vectors = (hit.vector for hit in window.hits if hit.vector is not None)
    vector = next(vectors, document.vector if document else None)
    return _Card(
        window,
        terms,
        worths,
        frozenset(name.casefold() for name in _entities_of(window)) or names.of(window.text),
        _steps_of(vector) if vector else None,
        None if document is None else _thread(document.content[:_HEAD_BYTES]),
        document is not None and document.kind == "prose" and refers_back(document.content, window.start),
    )


def _entities_of(window: Window) -> Collection[str]:
    """The names that a caller gave for the hits, or for the document."""
    names = {name for hit in window.hits for name in hit.entities}
    return names or (window.document.entities if window.document else ())


def _thread(head: bytes) -> str | None:
    """The subject of a mail without reply prefixes."""
    subject = _SUBJECT.search(head)
    return subject["about"].decode("utf-8", "replace").casefold().strip() or None if subject else None


def _moment(window: Window) -> tuple[bool, int, str, int, str]:
    """The sort key by time, then place; windows without a time come last."""
    return (window.time is None, window.time or 0, window.path, window.start, window.id)


def _around_leaders(cards: Sequence[_Card]) -> list[list[_Card]]:
    """Groups: each window, best first, joins the first group whose best window resembles it enough."""
    least = round(_SEMANTIC_SIMILARITY * _FULL)
    groups: list[list[_Card]] = []
    for card in cards:
        home = next((group for group in groups if group[0].likeness(card) >= least), None)
        if home is None:
            groups.append([card])
        else:
            home.append(card)
    return groups


def _chains(cards: Sequence[_Card], joins: Callable[[Sequence[_Card], _Card], bool]) -> list[list[_Card]]:
    """Chains: each window, in time order, continues the most recent chain that it may join."""
    chains: list[list[_Card]] = []
    for card in cards:
        home = next((index for index in range(len(chains) - 1, -1, -1) if joins(chains[index], card)), None)
        if home is None:
            chains.append([card])
        else:
            chain = chains.pop(home)
            chain.append(card)
            chains.append(chain)
    return chains


def _close_in_time(chain: Sequence[_Card], card: _Card) -> bool:
    last, now = chain[-1].window.time, card.window.time
    if last is None or now is None or now - last > _TEMPORAL_GAP_SECONDS:
        return False
    least = round(_RELATED_SIMILARITY * _FULL)
    return any(member.likeness(card) >= least or member.names & card.names for member in chain)


def _continues(chain: Sequence[_Card], card: _Card) -> bool:
    """Whether a window continues a narrative: it is later, not too late, and on the subject.

    It is on the subject if it shares names with the last windows, belongs to one thread of mails, or opens with a word
    that points back to the last window.
    """
    last, now = chain[-1].window, card.window
    if last.time is None or now.time is None:
        forward = last.path == now.path and last.start <= now.start
    else:
        forward = 0 <= now.time - last.time <= _NARRATIVE_GAP_SECONDS
    if not forward:
        return False
    if card.thread is not None and card.thread == chain[-1].thread and last.path != now.path:
        return True
    if card.points_back and last.path == now.path and 0 <= now.start - last.end <= _ANTECEDENT_BYTES:
        return True
    recent_names = frozenset[str]().union(*(member.names for member in chain[-_RECENT_WINDOWS:]))
    return bool(recent_names & card.names)


def _cluster(group: Sequence[_Card], strategy: Strategy) -> Cluster:
    if strategy == "semantic":
        group = sorted(group, key=lambda card: (card.window.path, card.window.start, card.window.id))
    coherence = Coherence.of(*_reasons(group, strategy))
    cluster = Cluster(tuple(card.window for card in group), strategy, coherence)
    linked = (replace(window, strategy=strategy, cluster=cluster.id) for window in cluster.windows)
    return replace(cluster, windows=tuple(linked))


def _reasons(group: Sequence[_Card], strategy: Strategy) -> list[tuple[str, float, int]]:
    """The parts of a cluster's coherence, by pairs of neighbours."""
    pairs = list(pairwise(group))
    likeness = sum(first.likeness(second) for first, second in pairs) / len(pairs) / _FULL
    parts = [("likeness", likeness, 2)]
    times = [card.window.time for card in group if card.window.time is not None]
    if len(times) == len(group) and strategy != "semantic":
        longest = max(later - earlier for earlier, later in pairwise(times))
        closeness = max(0.0, 1 - longest / _TEMPORAL_GAP_SECONDS)
        parts.append(("closeness", closeness, 1))
    if strategy == "narrative":
        shared = sum(bool(first.names & second.names) for first, second in pairs) / len(pairs)
        parts.append(("entities", shared, 2))
    windows = sum(card.window.coherence.score for card in group) / len(group)
    parts.append(("windows", windows, 1))
    return parts
