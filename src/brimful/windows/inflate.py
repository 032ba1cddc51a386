"""From hits to windows, with their seams and their coherence."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

from brimful.budget import Budget, budget_of
from brimful.documents.documents import Document, Hit, by_path
from brimful.errors import BudgetError, DocumentError, choose
from brimful.outline.layout import Block
from brimful.outline.outlines import Outline
from brimful.outline.prose import refers_back
from brimful.outline.records import Record
from brimful.settings import SIZINGS, STRATEGIES, Sizing, Strategy, WindowSettings
from brimful.text.spans import Span, check_span, whole_characters
from brimful.text.tokens import TokenCounter
from brimful.windows.cutoff import Cutoff, Run, Spans, cut_of, field_cuts, relevance_cutoff
from brimful.windows.cutting import Cut, cuts_for, records_in, snapped, within
from brimful.windows.policies import Size, size_for
from brimful.windows.seams import Seam, seams_for, time_in
from brimful.windows.strategies import link
from brimful.windows.window import Cluster, Coherence, Window

# ---- coherence: what a reader of a window misses (085b coherence_score).
#
# The beginning of a sentence, the rest of a paragraph or function, the meaning of a pronoun, the heading or signature
# above, and in data records of one kind that follow each other. It is computed from the shown bytes, so it changes
# when a window grows or is cut.

_PAUSE_SECONDS = 3_600
"""Records further apart in time do not follow each other."""


def coherence_of(document: Document, span: Span, seams: Sequence[Seam] = ()) -> Coherence:
    """How well a reader understands these bytes alone, with the seams above them.

    >>> page = Document("tea.md", "Tea came late. It was cold.\\n\\nCoffee came first.")
    >>> [coherence_of(page, span).score for span in (Span(0, 47), Span(15, 29), Span(4, 20))]
    [1.0, 0.5714, 0.4285]
    """
    outline = document.outline
    units, sections = outline.cuts_at(span.start, span.end)
    points_back = document.kind == "prose" and span.start > 0 and refers_back(document.content, span.start)
    parts: list[tuple[str, float, int]] = [
        ("edges", units / 2, 2),
        ("blocks", sections / 2, 2),
        ("antecedent", 0.0 if points_back else 1.0, 2),
        ("heading", _has_heading(document, span, seams), 1),
    ]
    if document.kind == "data":
        records = records_in(document, span)
        parts += [("category", _of_one_kind(records), 1), ("pauses", _in_a_row(records), 1)]
    return Coherence.of(*parts)


def _has_heading(document: Document, span: Span, seams: Sequence[Seam]) -> float:
    """Whether the window or its seams show what explains its beginning: a heading, a signature, a header row."""
    seam_spans = {(seam.start, seam.end) for seam in seams}
    starts = {seam.start for seam in seams}
    if document.kind == "data":
        header = document.outline.header
        return float(header is None or header[0] >= span.start or header in seam_spans)
    blocks = document.outline.enclosing(span.start, min(span.start + 1, span.end))
    outer_blocks = [block for block in blocks if block.signature_start < span.start and _explains(document, block)]
    outer = outer_blocks[-1:]
    return float(not outer or any(outer[0].signature_start <= start < outer[0].signature_end for start in starts))


def _explains(document: Document, block: Block) -> bool:
    return block.kind == "heading" if document.kind == "prose" else block.kind in ("function", "class")


def _of_one_kind(records: Sequence[Record]) -> float:
    """The share of records that are of the commonest category."""
    counted = Counter(record.category for record in records)
    return max(counted.values()) / len(records) if records else 1.0


def _in_a_row(records: Sequence[Record]) -> float:
    """The share of neighbours without a long pause between them, among records with a time."""
    times = (record.time for record in records if record.time is not None)
    near = Counter(abs(later - earlier) <= _PAUSE_SECONDS for earlier, later in pairwise(times))
    return near[True] / near.total() if near else 1.0


# ---- inflate: from hits to windows.


@dataclass(frozen=True, slots=True)
class Inflation:
    """Windows, best first, and the decisions that led to them. It iterates over its windows.

    `clusters` hold the windows that a strategy has linked; all others are single.
    """

    windows: tuple[Window, ...]
    clusters: tuple[Cluster, ...]
    size: Size
    dropped: tuple[Hit, ...]

    def __iter__(self) -> Iterator[Window]:
        return iter(self.windows)

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, index: int) -> Window:
        return self.windows[index]

    @property
    def items(self) -> tuple[Window | Cluster, ...]:
        """The units of packing: the clusters, and the windows that are in none."""
        linked = {window.id for cluster in self.clusters for window in cluster.windows}
        return (*self.clusters, *(window for window in self.windows if window.id not in linked))


def inflate(
    hits: Iterable[Hit],
    documents: Iterable[Document] | Mapping[str, Document],
    *,
    budget: Budget | int | None = None,
    max_bytes: int | None = None,
    sizing: Sizing = "density",
    strategy: Strategy = "adjacent",
    settings: WindowSettings | None = None,
    counter: TokenCounter | None = None,
    next_in_line: Iterable[Hit] = (),
) -> Inflation:
    """Surround hits with what is needed to read them, and merge what belongs together (085a, 085b, 105).

    `budget` (tokens) sizes the windows; `max_bytes` sizes them in bytes, and is then also a limit that
    the windows together never exceed. Without either, windows grow to the static 2,500 bytes.
    With `sizing="field"` hits are shown as they are, the best first until the budget is full, and become one
    window where they touch; `counter` then says what they cost (four bytes a token without one). Without a budget
    all are shown, and one window for each hit `next_in_line`, for the room that packing leaves.

    >>> page = Document("tea.md", "Tea came late. Coffee came first. Nobody minded. The end.")
    >>> [window.text for window in inflate([Hit("tea.md", 15, 21, 1.0)], [page], max_bytes=40)]
    ['Tea came late. Coffee came first. ']
    """
    choose(sizing, SIZINGS, what="sizing")
    choose(strategy, STRATEGIES, what="strategy")
    settings = settings or WindowSettings()
    by_name = by_path(documents)
    ranked = _ranked(hits, by_name)
    tokens = budget_of(budget).available if budget is not None else None
    hard_limit = _check_bytes(max_bytes)
    room = hard_limit if hard_limit is not None else tokens and tokens * settings.chars_per_token
    size = size_for(
        sizing,
        [hit.end - hit.start for hit in ranked],
        budget_bytes=room,
        budget_tokens=tokens if hard_limit is None else hard_limit // settings.chars_per_token,
        settings=settings,
    )
    if sizing == "field":
        cuts = _best_cuts(ranked, by_name, room, settings, counter, _ranked(next_in_line, by_name))
    else:
        cuts = cuts_for([(ranked[: size.kept], size)], by_name, settings)
    if hard_limit is not None:
        cuts = within(cuts, hard_limit)
    if settings.snap and sizing != "field":
        cuts = snapped(cuts, size, hard_limit, floor=_floor(size, settings))
    windows = _windows(cuts, settings)
    shown_hits = {hit for window in windows for hit in window.hits}
    dropped = tuple(hit for hit in ranked if hit not in shown_hits)
    if strategy == "adjacent":
        return Inflation(windows, (), size, dropped)
    linked_items = link(windows, strategy)
    clusters = tuple(item for item in linked_items if isinstance(item, Cluster))
    alone = (item for item in linked_items if isinstance(item, Window))
    ordered = sorted((*alone, *(window for item in clusters for window in item.windows)), key=lambda item: item.order)
    return Inflation(tuple(ordered), clusters, size, dropped)


def inflate_pools(
    pools: Sequence[tuple[Sequence[Hit], int]],
    documents: Mapping[str, Document],
    *,
    sizing: Sizing,
    tokens: int,
    settings: WindowSettings | None = None,
) -> Inflation:
    """Windows of several pools of hits, each sized by its own census and its own tokens, cut and merged together.

    `tokens` is the budget that the pools share, which decides the radius of `radial`: there a pool keeps as many hits
    as its tokens have room for.
    """
    settings = settings or WindowSettings()
    shares: list[tuple[Sequence[Hit], Size]] = []
    for hits, pool_tokens in pools:
        room = pool_tokens * settings.chars_per_token
        lengths = [hit.end - hit.start for hit in hits]
        size = size_for(sizing, lengths, budget_bytes=room, budget_tokens=tokens, settings=settings)
        if sizing == "radial":
            size = replace(size, kept=min(max(room // max(size.share_bytes, 1), 1), len(hits)))
        shares.append((hits[: size.kept], size))
    cuts = cuts_for(shares, documents, settings)
    size = shares[0][1]
    if settings.snap:
        cuts = snapped(cuts, size, None, floor=min(_floor(pool_size, settings) for _, pool_size in shares))
    windows = _windows(cuts, settings)
    shown_hits = {hit for window in windows for hit in window.hits}
    dropped = sorted((hit for hits, _ in pools for hit in hits if hit not in shown_hits), key=lambda hit: hit.order)
    return Inflation(windows, (), size, tuple(dropped))


def _floor(size: Size, settings: WindowSettings) -> int:
    """The smallest window that is shown where the share allows it: 200 bytes, or two of the smallest radii (105 §4)."""
    floors = {"density": settings.min_window_bytes, "elastic": 2 * settings.min_radius_bytes}
    return min(floors.get(size.policy, 0), size.share_bytes)


def _best_cuts(
    ranked: Sequence[Hit],
    documents: Mapping[str, Document],
    room: int | None,
    settings: WindowSettings,
    counter: TokenCounter | None,
    next_in_line: Sequence[Hit],
) -> list[Cut]:
    """The cuts of the hits that the budget has room for, and of the next ones."""
    if room is None:
        return field_cuts(Cutoff(tuple(ranked), tuple(next_in_line)), documents, whole_share=settings.whole_share)

    def estimate(text: str) -> int:
        return -(-len(text.encode()) // settings.chars_per_token)

    def text_of(hit: Hit) -> str:
        content = documents[hit.path].content
        return content[slice(*whole_characters(content, hit.start, hit.end))].decode()

    tokens = room // settings.chars_per_token
    cutoff = relevance_cutoff(ranked, map(text_of, ranked), tokens=tokens, cost=counter.count if counter else estimate)
    return field_cuts(cutoff, documents, whole_share=settings.whole_share)


def _ranked(hits: Iterable[Hit], documents: Mapping[str, Document]) -> list[Hit]:
    """Hits in their total order, each once, all inside their documents."""
    unique = dict.fromkeys(hits)
    for hit in unique:
        if not isinstance(hit, Hit):
            raise DocumentError(f"expected a Hit, got {type(hit).__name__}: wrap it in Hit(path, start, end, score)")
        if hit.path not in documents:
            raise DocumentError(f"a hit names {hit.path!r}, which is not among the {len(documents)} documents given")
        check_span(hit.start, hit.end, length=len(documents[hit.path]), where=f" {hit.path}")
    ranked = sorted(unique, key=lambda hit: hit.order)
    if any(first.order == second.order for first, second in pairwise(ranked)):
        ranked.sort(key=lambda hit: (hit.order, repr(hit)))
    return ranked


def _check_bytes(max_bytes: int | None) -> int | None:
    if max_bytes is not None and (isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1):
        raise BudgetError(f"max_bytes is {max_bytes!r}; it must be a whole number of bytes, at least 1")
    return max_bytes


def _windows(cuts: Sequence[Cut], settings: WindowSettings) -> tuple[Window, ...]:
    """Give the cuts their text, their number inside the document, and their coherence."""
    numbers: dict[str, int] = defaultdict(int)
    windows: list[Window] = []
    for cut in cuts:
        windows.append(_window_of(cut, numbers[cut.document.path], settings))
        numbers[cut.document.path] += 1
    return tuple(sorted(windows, key=lambda window: window.order))


def _window_of(cut: Cut, sequence: int, settings: WindowSettings) -> Window:
    """The window of a cut that has this number inside its document."""
    document, span, share = cut.document, cut.span, settings.trail_share
    hits = tuple(sorted(cut.hits, key=_ORDER))
    seams = seams_for(document, span, definitions=settings.definitions, trail_share=share)
    return replace(
        Window.cut(document, span.start, span.end, score=cut.score, hits=hits),
        sequence=sequence,
        coherence=coherence_of(document, span, seams),
        seams=seams,
        trail_share=share,
        time=_time_of(document, hits, cut.core),
    )


_ORDER = attrgetter("order")


def _time_of(document: Document, hits: Sequence[Hit], core: Span) -> int | None:
    """The time of a hit where it is not just its document's; of the first record or message that was hit; or that."""
    usual = None, document.time
    for hit in hits:
        if hit.time not in usual:
            return hit.time
    for record in records_in(document, core) if document.kind == "data" else ():
        if record.time is not None:
            return record.time
    record_time = time_in(document, core)
    return document.time if record_time is None else record_time


# ---- cache: windows of the best hits while the cutoff moves.
#
# Packing finds the cutoff by trying. From one try to the next most windows stay equal, so each is built once.


class WindowCache:
    """Windows of one question's hits, which come from a search: in order, each once, inside their documents."""

    def __init__(self, settings: WindowSettings | None = None) -> None:
        self._settings = settings or WindowSettings()
        # The values hold their hits, so that no identity is reused.
        self._windows: dict[tuple[object, ...], Window] = {}
        self._hits: Sequence[Hit] = ()
        self._ranks: dict[str, list[int]] = {}  # by document, the ranks of its hits
        self._ranked = 0  # the number of hits in there
        self._shown: dict[tuple[str, int, int, int], list[Window]] = {}
        # By outline: a document that is read in parts gets a new one when more is read.
        self._spans: dict[Outline, Spans] = {}

    def windows(
        self,
        hits: Sequence[Hit],
        cutoff: int,
        documents: Mapping[str, Document],
        *,
        next_in_line: int = 0,
        least_bytes: int = 0,
    ) -> tuple[Window, ...]:
        """Windows of the hits before the cutoff, joined where they touch, and one for each of `next_in_line` after it.

        A window shorter than `least_bytes` is joined with a near one.
        """
        last = min(cutoff + next_in_line, len(hits))
        self.paths(hits, last)
        windows: list[Window] = []
        for path, ranks in self._ranks.items():
            if ranks[0] >= last:
                break  # documents come in the order of their best hits
            key = (path, bisect_left(ranks, cutoff), bisect_left(ranks, last), least_bytes)
            remembered = self._shown.get(key)
            windows += self._document(documents[path], *key[1:]) if remembered is None else remembered
        windows.sort(key=_ORDER)
        return tuple(windows)

    def paths(self, hits: Sequence[Hit], last: int) -> KeysView[str]:
        """The documents of the first `last` hits, and of any that were needed before."""
        if hits is not self._hits:
            self._hits, self._ranked = hits, 0
            self._ranks.clear()
            self._shown.clear()
        for rank in range(self._ranked, last):
            self._ranks.setdefault(hits[rank].path, []).append(rank)
        self._ranked = max(self._ranked, last)
        return self._ranks.keys()

    def _document(self, document: Document, shown_count: int, end: int, least_bytes: int) -> Sequence[Window]:
        """The windows of one document's first `end` hits, of which `shown_count` are before the cutoff."""
        spans = self._spans.get(document.outline)
        if spans is None:
            share = self._settings.whole_share
            spans = self._spans[document.outline] = Spans(document, whole_share=share, heads=True, of_units=True)
        hits = [self._hits[rank] for rank in self._ranks[document.path][:end]]
        runs = spans.runs(hits[:shown_count], hits[shown_count:], least_bytes=least_bytes)
        windows = [self._window(document, run, number) for number, run in enumerate(runs)]
        self._shown[document.path, shown_count, end, least_bytes] = windows
        return windows

    def _window(self, document: Document, run: Run, number: int) -> Window:
        key = (document.path, run[0], run[1], *map(id, run[2]))
        window = self._windows.get(key)
        if window is None:
            window = _window_of(cut_of(document, run), number, self._settings)
        elif window.sequence != number:
            window = replace(window, sequence=number)
        self._windows[key] = window
        return window
