"""From a question to a full context: search, inflate hits to windows, pack what just fits."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as new
from typing import TYPE_CHECKING

from brimful.assembly.context import Context
from brimful.assembly.fill import FULL_PERCENT
from brimful.assembly.formats import form_for
from brimful.assembly.pack import Packer
from brimful.budget import Budget
from brimful.documents.documents import Document, Hit
from brimful.outline.cuts import UNIT_LIMIT
from brimful.search.columns import CorpusColumns
from brimful.search.late import LateEncoder
from brimful.search.pools import DIRECT_PERCENT, Pool, one_pool, parse_synonyms, pools_of, related_to
from brimful.search.search import Found, ParsedQuestion, best_of, parse_question, with_matches
from brimful.settings import AskSettings, FieldSettings, WindowSettings
from brimful.store.documents import WholeDocuments
from brimful.text.tokens import TokenCounter
from brimful.windows.cutoff import NEXT_IN_LINE, relevance_cutoff
from brimful.windows.inflate import Inflation, WindowCache, inflate, inflate_pools
from brimful.windows.policies import cap_for
from brimful.windows.strategies import link
from brimful.windows.window import Cluster, Window

if TYPE_CHECKING:
    from brimful.neural.embedders import Reranker

_DENSIFY_BREADTH = 4  # budgets' worth of text that condensing looks at
_BYTES_PER_TOKEN = 8  # more than any text has on average, so that enough candidates are searched for
_MOST_TRIES = 6  # where headers cost less than was thought, or units are shorter than they are on average
_MOST_STEP = 8  # at most this many times as many bytes are shared out at the next try
_MOST_SCALE = 256  # and in all
_LEAST_STEP = 64  # one hit less for this many, so that the tries come to an end


@dataclass(slots=True, eq=False)
class ContextBuilder:
    """Builds contexts for one question to one snapshot of a corpus."""

    question: str
    columns: CorpusColumns
    documents: WholeDocuments
    settings: AskSettings
    field: FieldSettings
    counter: TokenCounter
    late: LateEncoder | None = None
    reranker: Reranker | None = None
    _window_cache: WindowCache = new(init=False, repr=False)
    _packer: Packer = new(init=False, repr=False)
    _results: dict[tuple[int, bool], Found] = new(init=False, repr=False, default_factory=dict)
    _parsed: ParsedQuestion | None = new(init=False, repr=False, default=None)
    _read_documents: dict[str, Document] = new(init=False, repr=False, default_factory=dict)
    _filling: dict[int, tuple[Window, Window]] = new(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._window_cache = WindowCache(self.settings.windows)
        form, cap = form_for(self.settings.format), cap_for(self.settings.sizing, self.settings.windows)
        settings = replace(self.settings, prefer_recent=False)  # the ranking has done so
        self._packer = Packer(self.counter, form, settings, cap_bytes=cap)

    def fullest(self, room: Budget) -> tuple[Context, Found]:
        """Search, inflate, pack; with sizing `field`, the cutoff is where all better hits just fit."""
        limit = self._wanted(room.available)
        result = self._search_for(limit, room.available)
        if result.is_unanswerable and not self.settings.anyway:
            return self.packed((), room), result
        if self.settings.sizing != "field":
            return self._shared_out(result, limit, room)
        cutoff = self._cutoff(result, room)
        while cutoff == len(result.hits) == limit and not self.settings.top_k:  # all of it fits, and there may be more
            limit *= 4
            result = self._search_for(limit, room.available)
            cutoff = self._cutoff(result, room)
        least = max(cutoff, 1)  # the best hit is cut where it does not fit
        if self.settings.fill == "relevant":
            return self.packed(self._field_windows(result, min(least, result.relevant), room.available), room), result
        windows = self._field_windows(result, least, room.available)
        further: list[Window] = []
        if self.settings.strategy == "adjacent":
            ids = {window.id for window in windows if isinstance(window, Window)}
            more = self._field_windows(result, least, room.available, next_in_line=NEXT_IN_LINE)
            further = [window for window in more if isinstance(window, Window) and window.id not in ids]
        return self._packer.pack(windows, room, further=further), result

    def candidates(self, room: Budget) -> Sequence[Window | Cluster]:
        """The windows of a larger budget, including ones that do not fit."""
        tokens = room.available * (_DENSIFY_BREADTH if self.settings.sizing == "field" else 1)
        result = self._search_for(self._wanted(tokens), tokens)
        if self.settings.sizing != "field":
            return self._linked(self._inflated(self._pools(result, tokens), tokens, tokens).windows, result)
        return self._field_windows(result, self._estimate(result.hits, tokens), tokens)

    def packed(self, windows: Sequence[Window | Cluster], room: Budget) -> Context:
        """The context of the windows that fit."""
        return self._packer.pack(windows, room)

    def _wanted(self, tokens: int) -> int:
        """The number of units to search for, so that they surely fill the budget."""
        return self.settings.top_k or max(tokens * _BYTES_PER_TOKEN // self.columns.unit_size, 64)

    def _search_for(self, limit: int, tokens: int) -> Found:
        """The result of a search, remembered for further budgets with an equal limit."""
        # Where a unit may be longer than the budget, it is cut around the words.
        key = (limit, tokens <= UNIT_LIMIT)
        if key not in self._results:
            result = self.search(limit)
            self._results[key] = with_matches(self.columns, result) if key[1] else result
        return self._results[key]

    def search(self, limit: int) -> Found:
        """The best units for a context; the question is parsed once, whatever the limit."""
        if self._parsed is None:
            self._parsed = self._parse()
        return best_of(self._parsed, limit=limit)

    def _parse(self) -> ParsedQuestion:
        chosen = self.settings
        return parse_question(
            self.columns,
            self.question,
            settings=self.field if chosen.priors else replace(self.field, priors=False),
            repair=chosen.repair,
            recent_days=chosen.recent_half_life_days if chosen.prefer_recent else None,
            operators=chosen.operators,
            filters=chosen.filters,
            late=self.late,
            reranker=self.reranker,
        )

    def _cutoff(self, result: Found, room: Budget) -> int:
        """The number of best hits that fit together, headers, edges and seams included; 0 where none fits.

        Costs are exact only once windows are packed, so an estimate is tried and corrected by its error.
        """
        fits, too_many = 0, len(result.hits) + 1
        # Whole things cost more than the hits in them.
        share = (self.settings.windows or WindowSettings()).whole_share
        available = room.available
        cutoff = self._estimate(result.hits, available * 100 // (100 + share))
        for _ in range(_MOST_TRIES):
            if not fits < cutoff < too_many:
                break
            cost = self._packer.cost(self._field_windows(result, cutoff, available))
            price = max(cost // cutoff, 1)
            if cost <= available:
                fits = cutoff
                if (available - cost) * 100 < available:
                    break
                cutoff = min(cutoff + max((available - cost) // price, 1), too_many - 1)
            else:
                too_many = cutoff
                step = max(-(-(cost - available) // price), cutoff // _LEAST_STEP, 1)
                cutoff = max(cutoff - step, fits + 1)
        return fits

    def _estimate(self, hits: Sequence[Hit], tokens: int) -> int:
        """About how many hits the budget has room for, so that no further documents are read."""
        texts = self.documents.texts(self.columns.snapshot, hits, loaded=self._read_documents)
        return len(relevance_cutoff(hits, texts, tokens=tokens, cost=self.counter.count).shown) if hits else 0

    def _field_windows(
        self, result: Found, cutoff: int, tokens: int, *, next_in_line: int = 0
    ) -> Sequence[Window | Cluster]:
        """Windows of the hits before the cutoff, and one for each of the `next_in_line` hits after it."""
        hits = result.hits
        documents = self._documents_of(hits[: cutoff + next_in_line], tokens)
        windows = self._window_cache.windows(hits, cutoff, documents, tokens=tokens, next_in_line=next_in_line)
        return self._linked(windows, result)

    def _shared_out(self, result: Found, limit: int, room: Budget) -> tuple[Context, Found]:
        """The context of a sizing that shares the budget out among hits; what is saved is given to more hits.

        A policy counts in bytes, before windows merge and end with their documents. So sizes are worked out for more
        or fewer bytes until the written context fills the budget.
        """
        brims = self.settings.fill == "brim"
        while True:
            pools = self._pools(result, room.available)
            inflation = self._fullest_inflation(pools, room, squeezed_only=not brims)
            is_short = self._packer.cost(inflation.windows) * 100 < room.available * FULL_PERCENT
            may_be_more = len(result.hits) == limit and not self.settings.top_k
            if not (brims and is_short and not inflation.dropped and may_be_more):
                break
            limit *= 4  # every hit is shown
            result = self._search_for(limit, room.available)
        shown = {(hit.path, hit.start) for window in inflation.windows for hit in window.hits}
        hits = dict.fromkeys([*(hit for pool in pools for hit in pool.hits), *(result.hits if brims else ())])
        unshown = sorted((hit for hit in hits if (hit.path, hit.start) not in shown), key=lambda hit: hit.order)
        related = {(hit.path, hit.start) for pool in pools if pool.is_related for hit in pool.hits}
        singles = _in_shares(self._singles(unshown, inflation.windows, room.available), inflation.windows, related)
        further = [window for window in self._linked(singles, result) if isinstance(window, Window)]
        return self._packer.pack(self._linked(inflation.windows, result), room, further=further), result

    def _fullest_inflation(self, pools: Sequence[Pool], room: Budget, *, squeezed_only: bool) -> Inflation:
        """The windows that cost about the whole budget; with `squeezed_only`, no more than all hits need."""
        tokens = room.available
        fits, over = 0, 0
        best: Inflation | None = None
        for _ in range(_MOST_TRIES):
            inflation = self._inflated(pools, tokens, room.available)
            cost = self._packer.cost(inflation.windows)
            if cost <= room.available:
                if best is None or tokens > fits:
                    fits, best = tokens, inflation
                is_full = cost * 100 >= room.available * FULL_PERCENT
                if is_full or not pools or (squeezed_only and not inflation.dropped):
                    break
                tokens = min(tokens * room.available // max(cost, 1) + 1, tokens * _MOST_STEP)
                tokens = (fits + over) // 2 if over and tokens >= over else tokens
            else:
                over = tokens
                tokens = max(tokens * room.available // cost, fits + 1)
            if tokens in (fits, over) or tokens > room.available * _MOST_SCALE:
                break
        return best if best is not None else inflation

    def _pools(self, result: Found, tokens: int) -> list[Pool]:
        """The shares of a budget for direct and related words (ruling 13)."""
        if not self.settings.related:  # the best hits come first, whichever words they have
            hits = result.hits[: result.relevant] if self.settings.fill == "relevant" else result.hits
            return one_pool(self.columns, result, tokens=tokens, hits=hits)
        synonyms = parse_synonyms("\n".join(self.settings.synonyms).encode())
        related = related_to(self.columns, result, synonyms=synonyms)
        return pools_of(self.columns, result, tokens=tokens, related=related, hits=result.hits)

    def _inflated(self, pools: Sequence[Pool], tokens: int, available: int) -> Inflation:
        """The windows of all pools if `tokens` are shared out instead of those available."""
        hits = [hit for pool in pools for hit in pool.hits]
        shares = [(pool.hits, max(pool.tokens * tokens // available, 1)) for pool in pools]
        documents = self._documents_of(hits, available)
        if not shares:
            return inflate((), documents, budget=available, sizing=self.settings.sizing)
        return inflate_pools(
            shares, documents, sizing=self.settings.sizing, tokens=available, settings=self.settings.windows
        )

    def _singles(self, hits: Sequence[Hit], shown_windows: Sequence[Window], tokens: int) -> list[Window]:
        """A window for each hit that no window shows already."""
        spans: dict[str, list[Window]] = {}
        for window in shown_windows:
            spans.setdefault(window.path, []).append(window)
        apart = [
            hit
            for hit in hits
            if not any(other.start < hit.end and hit.start < other.end for other in spans.get(hit.path, ()))
        ]
        documents = self._documents_of(apart, tokens)
        windows = self._window_cache.windows(apart, 0, documents, tokens=tokens, next_in_line=len(apart))
        return [replace(window, sequence=_place(window, spans.get(window.path, ()))) for window in windows]

    def _linked(self, windows: Sequence[Window], result: Found) -> Sequence[Window | Cluster]:
        """The items of packing; windows that answer too little are marked as filling, a cluster as a whole."""
        strategy = self.settings.strategy
        items = windows if strategy == "adjacent" else link(windows, strategy)
        return [self._marked(item, result.end) for item in items]

    def _marked(self, item: Window | Cluster, end: float) -> Window | Cluster:
        if isinstance(item, Cluster):
            filling = item.score < end
            return replace(item, windows=tuple(replace(window, filling=filling) for window in item.windows))
        if item.score >= end:
            return item
        kept = self._filling.get(id(item))
        if kept is None:
            kept = self._filling[id(item)] = (item, replace(item, filling=True))
        return kept[1]

    def _documents_of(self, hits: Sequence[Hit], tokens: int) -> dict[str, Document]:
        return self.documents.around(
            self.columns.snapshot,
            hits,
            budget_bytes=tokens * _BYTES_PER_TOKEN,
            loaded=self._read_documents,
        )


def _place(window: Window, shown_windows: Sequence[Window]) -> int:
    """The sequence number of a window: that of the last shown one before it."""
    return max((other.sequence for other in shown_windows if other.start <= window.start), default=0)


def _in_shares(
    candidates: Sequence[Window], windows: Sequence[Window], related: Collection[tuple[str, int]]
) -> list[Window]:
    """The candidates so that direct and related ones keep their shares of what is shown; in each, the best first."""
    sizes, waiting = [0, 0], (deque[Window](), deque[Window]())
    for window in windows:
        sizes[_is_related(window, related)] += len(window.span)
    for window in candidates:
        waiting[_is_related(window, related)].append(window)
    ordered = []
    while any(waiting):
        wants = sizes[True] * DIRECT_PERCENT < sizes[False] * (100 - DIRECT_PERCENT)
        side = wants if waiting[wants] else not wants
        ordered.append(waiting[side].popleft())
        sizes[side] += len(ordered[-1].span)
    return ordered


def _is_related(window: Window, related: Collection[tuple[str, int]]) -> bool:
    return any((hit.path, hit.start) in related for hit in window.hits)
