"""How does a question become a full context? From hits over windows to what just fits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from dataclasses import field as new
from typing import TYPE_CHECKING

from brimful.assembly.context import Context, Omitted
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
from brimful.settings import AskSettings, FieldSettings, PackSettings, WindowSettings
from brimful.store.documents import WholeDocuments
from brimful.text.tokens import TokenCounter, least_tokens
from brimful.windows.inflate import Inflation, WindowCache, inflate, inflate_pools
from brimful.windows.policies import cap_for
from brimful.windows.strategies import link
from brimful.windows.waterline import LARGE_TOKENS, RUNNERS_UP, SCRAP_BYTES, water_line
from brimful.windows.window import Cluster, Window

if TYPE_CHECKING:
    from brimful.neural.rerankers import Reranker

_DENSIFY_BREADTH = 4  # budgets' worth of text that condensing looks at
_BYTES_PER_TOKEN = 8  # more than any text has on average: so many candidates are asked for
_MOST_TRIES = 6  # where headers cost less than was thought, or units are shorter than they are on average
_MOST_STEP = 8  # times as many bytes are shared out at the next try, at most
_MOST_SCALE = 256  # and in all
_LEAST_WINDOW_TOKENS = 4  # a header and a word cost more
_EDGES = 16  # tokens: what a format may write in fewer than the text has
_LEAST_STEP = 64  # of so many hits at least one less, so that the tries come to an end


@dataclass(slots=True, eq=False)
class Asked:
    """A question to a corpus as it is at one moment, with all that was chosen for its answer."""

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
    _searched: dict[tuple[int, bool], Found] = new(init=False, repr=False, default_factory=dict)
    _understood: list[ParsedQuestion] = new(init=False, repr=False, default_factory=list)
    _whole: dict[str, Document] = new(init=False, repr=False, default_factory=dict)  # the documents that are read so

    def __post_init__(self) -> None:
        chosen = {each.name: getattr(self.settings, each.name) for each in fields(PackSettings)}
        # What is recent was preferred when it was ranked.
        settings = PackSettings(**{**chosen, "prefer_recent": False})
        self._window_cache = WindowCache(self.settings.windows)
        form, cap = form_for(self.settings.format), cap_for(self.settings.sizing, self.settings.windows)
        self._packer = Packer(self.counter, form, settings, cap_bytes=cap)

    def fullest(self, room: Budget) -> tuple[Context, Found]:
        """Search, inflate, pack; with the default sizing the water stands where all above it just fits."""
        limit = self._wanted(room.available)
        found = self._found(limit, room.available)
        if found.is_unanswerable and not self.settings.anyway:
            return self.packed((), room), found
        if self.settings.sizing != "field":
            return self._shared_out(found, limit, room)
        line = self._line(found, room)
        while line == len(found.hits) == limit and not self.settings.top_k:  # all of it fits, and there may be more
            limit *= 4
            found = self._found(limit, room.available)
            line = self._line(found, room)
        if self.settings.fill == "relevant":
            line = min(line, found.relevant)
        above = self._field_windows(found.hits, line, room.available)
        best = self.packed(above, room)
        found_ones = [each for each in above if isinstance(each, Cluster) or each.hits]
        if len(found_ones) < len(above) and _shown(found.hits[:line], best) < line:
            best = self.packed(found_ones, room)  # before the heads of the functions that they stand in
        if line == len(found.hits):
            return best, found
        both = self._field_windows(found.hits, line, room.available, below=RUNNERS_UP)
        if self.settings.fill == "brim" and not _is_full(best):
            # Its documents have no more to say: the next hits may, if they push out none of the better ones.
            fuller = self.packed(both, room)
            kept = _shown(found.hits[:line], fuller) >= _shown(found.hits[:line], best)
            if kept and fuller.tokens > best.tokens:
                return fuller, found
        if self.settings.strategy == "adjacent" and self.settings.fill == "brim":
            shown = {window.id for window in above if isinstance(window, Window)}
            rest = [each for each in both if isinstance(each, Window) and each.id not in shown]
            best = self._topped_up(best, [each for each in above if isinstance(each, Window)], rest, room)
        return _naming(best, both), found

    def candidates(self, room: Budget) -> Sequence[Window | Cluster]:
        """What would be shown in a larger budget: what does not fit is a part of it."""
        tokens = room.available * (_DENSIFY_BREADTH if self.settings.sizing == "field" else 1)
        found = self._found(self._wanted(tokens), tokens)
        if self.settings.sizing != "field":
            return self._linked(self._inflated(self._pools(found, tokens), tokens, tokens).windows)
        return self._field_windows(found.hits, self._estimate(found.hits, tokens), tokens)

    def packed(self, windows: Sequence[Window | Cluster], room: Budget) -> Context:
        """What of these windows fits, written down."""
        return self._packer.pack(windows, room)

    def _wanted(self, tokens: int) -> int:
        """How many units to ask for, so that they surely fill the budget."""
        return self.settings.top_k or max(tokens * _BYTES_PER_TOKEN // self.columns.unit_size, 64)

    def _found(self, limit: int, tokens: int) -> Found:
        """What a search finds; the same again where several budgets ask for as much, as prices do."""
        # Where a unit may be longer than the budget, it is cut around the words.
        key = (limit, tokens <= UNIT_LIMIT)
        if key not in self._searched:
            found = self.found(limit)
            self._searched[key] = with_matches(self.columns, found) if key[1] else found
        return self._searched[key]

    def found(self, limit: int) -> Found:
        """The best units, as they are searched for a context; the question is read once, whatever the limit."""
        if not self._understood:
            self._understood.append(self._read())
        return best_of(self._understood[0], limit=limit)

    def _read(self) -> ParsedQuestion:
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

    def _line(self, found: Found, room: Budget) -> int:
        """How many of the best hits fit together, headers, edges and seams included.

        What windows cost is known when they are packed, so the estimate is tried, and moved by what it is off.
        """
        fits, over = 0, len(found.hits) + 1
        # Of every window a part is what makes it whole, which no hit says.
        share = (self.settings.windows or WindowSettings()).whole_share
        available = room.available
        line = self._estimate(found.hits, available * 100 // (100 + share))
        for _ in range(_MOST_TRIES):
            if not fits < line < over:
                break
            cost = self._packer.cost(self._field_windows(found.hits, line, available))
            price = max(cost // line, 1)
            if cost <= available:
                fits = line
                if (available - cost) * 100 < available:
                    break
                line = min(line + max((available - cost) // price, 1), over - 1)
            else:
                over = line
                step = max(-(-(cost - available) // price), line // _LEAST_STEP, 1)
                line = max(line - step, fits + 1)
        return fits or min(1, len(found.hits))

    def _estimate(self, hits: Sequence[Hit], tokens: int) -> int:
        """About how many hits the budget has room for: documents of the others need not be read."""
        texts = self.documents.texts(self.columns.snapshot, hits, known=self._whole)
        return len(water_line(hits, texts, tokens=tokens, cost=self.counter.count).above) if hits else 0

    def _field_windows(
        self, hits: Sequence[Hit], line: int, tokens: int, *, below: int = 0
    ) -> Sequence[Window | Cluster]:
        """Windows of the hits above the line, and of so many below it each by itself."""
        known: Mapping[str, Document] = self._whole
        if not self._window_cache.paths(hits, min(line + below, len(hits))) <= known.keys():
            known = self._known(hits[: line + below], tokens)
        least_bytes = SCRAP_BYTES if tokens >= LARGE_TOKENS else 0
        return self._linked(self._window_cache.windows(hits, line, known, below=below, least_bytes=least_bytes))

    def _shared_out(self, found: Found, limit: int, room: Budget) -> tuple[Context, Found]:
        """What the seeds' sizings show: the budget is shared out, and what is saved is given to more hits.

        A policy counts in bytes, before windows merge and end with their documents. So the sizes are worked out for
        more or fewer bytes until what is written costs what there is.
        """
        brims = self.settings.fill == "brim"
        while True:
            pools = self._pools(found, room.available)
            inflation = self._fullest_inflation(pools, room, squeezed_only=not brims)
            is_short = self._packer.cost(inflation.windows) * 100 < room.available * FULL_PERCENT
            may_be_more = len(found.hits) == limit and not self.settings.top_k
            if not (brims and is_short and not inflation.dropped and may_be_more):
                break
            limit *= 4  # every hit is shown
            found = self._found(limit, room.available)
        kept = {(hit.path, hit.start) for window in inflation.windows for hit in window.hits}
        asked = (hit for pool in pools for hit in pool.hits)
        others = found.hits if brims else ()
        left = [hit for hit in dict.fromkeys((*asked, *others)) if (hit.path, hit.start) not in kept]
        rest = self._singles(sorted(left, key=lambda hit: hit.order), inflation.windows, room.available)
        is_related = {(hit.path, hit.start) for pool in pools if pool.is_related for hit in pool.hits}
        windows, refused = self._joined_by(rest, inflation.windows, room.available, is_related)
        best = self.packed(self._linked(windows), room)
        hits = [hit for window in windows for hit in window.hits]
        for window in refused if brims else ():  # a part of the next one may still fit
            if _is_full(best):
                break
            fuller = self.packed(self._linked([*windows, window]), room)
            if fuller.tokens > best.tokens and _shown(hits, fuller) >= _shown(hits, best):
                best = fuller
                windows = [*windows, window]
        best = self._topped_up(best, windows, rest, room)
        if brims and not (_is_full(best) or self.settings.top_k):  # a short hit further down may fit where these do not
            further = self._found(_MOST_STEP * limit, room.available).hits[limit:]
            best = self._topped_up(best, windows, self._singles(further, best.windows, room.available), room)
        return _naming(best, rest), found

    def _topped_up(self, best: Context, windows: Sequence[Window], rest: Sequence[Window], room: Budget) -> Context:
        """The context with what would be left out though it fits, the best first; none of the others pays for it."""
        tries, available, shown = 0, room.available, best.windows
        for window in rest:
            spare = available - best.tokens
            if tries == RUNNERS_UP or spare < _LEAST_WINDOW_TOKENS:
                break
            near = (each for each in shown if each.path == window.path)
            if _touches(window, near) or self._is_far_over(window, spare) or self._packer.cost([window]) > spare:
                continue
            tries += 1
            wider = [*windows, window]
            fuller = self.packed(self._linked(wider), room)
            hits = [hit for each in wider for hit in each.hits]
            if _shown(hits, fuller) > _shown(hits, best):
                best, windows, shown = fuller, wider, fuller.windows
        return best

    def _is_far_over(self, window: Window, spare: int) -> bool:
        """Whether its text alone costs far more than there is: its seams need not be known for that."""
        return least_tokens(self.counter, window.text) > 2 * spare + _EDGES

    def _joined_by(
        self, rest: Sequence[Window], windows: Sequence[Window], available: int, related: Collection[tuple[str, int]]
    ) -> tuple[list[Window], list[Window]]:
        """The windows and those of the rest that fit beside them, and those that do not: they push nobody out.

        The best come first, of the direct or of the related ones: whichever have less than their share.
        """

        def is_related(window: Window) -> bool:
            return any((hit.path, hit.start) in related for hit in window.hits)

        waiting = {side: [each for each in rest if is_related(each) == side] for side in (False, True)}
        sizes = {side: sum(len(each.span) for each in windows if is_related(each) == side) for side in (False, True)}
        shown, refused = list(windows), list[Window]()
        while len(refused) < RUNNERS_UP and any(waiting.values()):
            wants = sizes[True] * DIRECT_PERCENT < sizes[False] * (100 - DIRECT_PERCENT)
            side = wants if waiting[wants] else not wants
            window = waiting[side].pop(0)
            if self._packer.cost([*shown, window]) <= available:
                shown.append(window)
                sizes[side] += len(window.span)
            else:
                refused.append(window)
        shortest = sorted((*waiting[False], *waiting[True]), key=lambda each: (len(each.span), each.order))
        return shown, [*refused, *shortest[:RUNNERS_UP]]

    def _fullest_inflation(self, pools: Sequence[Pool], room: Budget, *, squeezed_only: bool) -> Inflation:
        """The windows that cost about what there is; with `squeezed_only`, no more than all hits need."""
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

    def _pools(self, found: Found, tokens: int) -> list[Pool]:
        """Who gets which share of so many tokens (ruling 13)."""
        hits = found.hits[: found.relevant] if self.settings.fill == "relevant" else found.hits
        if (
            not self.settings.related
        ):  # nothing is shared out among words: the best hits come first, whichever they have
            return one_pool(self.columns, found, tokens=tokens, hits=hits)
        own = parse_synonyms("\n".join(self.settings.synonyms).encode())
        near = related_to(self.columns, found, synonyms=own)
        return pools_of(self.columns, found, tokens=tokens, related=near, hits=hits)

    def _inflated(self, pools: Sequence[Pool], tokens: int, available: int) -> Inflation:
        """The windows of all pools where so many tokens are shared out in place of those that there are."""
        hits = [hit for pool in pools for hit in pool.hits]
        shares = [(pool.hits, max(pool.tokens * tokens // available, 1)) for pool in pools]
        known = self._known(hits, available)
        if not shares:
            return inflate((), known, budget=available, sizing=self.settings.sizing)
        return inflate_pools(
            shares, known, sizing=self.settings.sizing, tokens=available, settings=self.settings.windows
        )

    def _singles(self, hits: Sequence[Hit], shown: Sequence[Window], tokens: int) -> list[Window]:
        """Each of these hits by itself, where no window shows it already."""
        spans: dict[str, list[Window]] = {}
        for window in shown:
            spans.setdefault(window.path, []).append(window)
        apart = [
            hit
            for hit in hits
            if not any(each.start < hit.end and hit.start < each.end for each in spans.get(hit.path, ()))
        ]
        known = self._known(apart, tokens)
        windows = self._window_cache.windows(apart, 0, known, below=len(apart))
        return [replace(window, sequence=_place(window, spans.get(window.path, ()))) for window in windows]

    def _linked(self, windows: Sequence[Window]) -> Sequence[Window | Cluster]:
        strategy = self.settings.strategy
        return windows if strategy == "adjacent" else link(windows, strategy)

    def _known(self, hits: Sequence[Hit], tokens: int) -> dict[str, Document]:
        return self.documents.around(
            self.columns.snapshot,
            hits,
            budget_bytes=tokens * _BYTES_PER_TOKEN,
            known=self._whole,
        )


def _place(window: Window, shown: Sequence[Window]) -> int:
    """The number of a window among those of its document: that of the last one before it."""
    return max((each.sequence for each in shown if each.start <= window.start), default=0)


def _is_full(context: Context) -> bool:
    return context.tokens * 100 >= context.budget.available * FULL_PERCENT


def _shown(hits: Sequence[Hit], context: Context) -> int:
    """How many of these hits are shown whole."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for window in context.windows:
        spans.setdefault(window.path, []).append((window.start, window.end))
    return sum(any(start <= hit.start and hit.end <= end for start, end in spans.get(hit.path, ())) for hit in hits)


def _naming(context: Context, windows: Sequence[Window | Cluster]) -> Context:
    """The context with the windows just below the water among what was left out."""
    known = {each.window.id for each in context.omitted}
    shown: dict[str, list[Window]] = {}
    for each in context.windows:
        shown.setdefault(each.path, []).append(each)
    singles = [each for each in windows if isinstance(each, Window)]
    left = [each for each in singles if each.id not in known and not _is_in(each, shown.get(each.path, ()))]
    named = (Omitted(each, "budget") for each in sorted(left, key=lambda window: window.order))
    return replace(context, omitted=(*context.omitted, *named))


def _touches(window: Window, shown: Iterable[Window]) -> bool:
    return any(each.start < window.end and window.start < each.end for each in shown)


def _is_in(window: Window, shown: Iterable[Window]) -> bool:
    return any(each.start <= window.start and window.end <= each.end for each in shown)
