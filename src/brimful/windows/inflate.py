"""From hits to windows, with their seams and their coherence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

from brimful.budget import Budget, budget_of
from brimful.documents.documents import Document, Hit, by_path
from brimful.errors import BudgetError, DocumentError, choose
from brimful.outline.layout import Block
from brimful.outline.prose import refers_back
from brimful.outline.records import Record
from brimful.settings import DEFAULT_BUDGET, SIZINGS, STRATEGIES, Sizing, Strategy, WindowSettings
from brimful.text.spans import Span, check_span, whole_characters
from brimful.text.tokens import TokenCounter
from brimful.windows.cutoff import field_cuts, relevance_cutoff, rooms_to_grow
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
    limit = _check_bytes(max_bytes)
    room = limit if limit is not None else tokens and tokens * settings.chars_per_token
    size = size_for(
        sizing,
        [hit.end - hit.start for hit in ranked],
        budget_bytes=room,
        budget_tokens=tokens if limit is None else limit // settings.chars_per_token,
        settings=settings,
    )
    if sizing == "field":
        cuts = _best_cuts(ranked, by_name, room, settings, counter, _ranked(next_in_line, by_name))
        cuts = cuts if limit is None else within(cuts, limit)
    else:
        cuts = _sized_cuts([(ranked[: size.kept], size)], by_name, settings, limit=limit)
    return _inflation(cuts, ranked, size, settings, strategy)


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
    cuts = _sized_cuts(shares, documents, settings, limit=None)
    all_hits = sorted((hit for hits, _ in pools for hit in hits), key=lambda hit: hit.order)
    return _inflation(cuts, all_hits, shares[0][1], settings, "adjacent")


def _sized_cuts(
    shares: Sequence[tuple[Sequence[Hit], Size]],
    documents: Mapping[str, Document],
    settings: WindowSettings,
    *,
    limit: int | None,
) -> list[Cut]:
    """The cuts of hits that share a budget, within a limit in bytes, at natural edges."""
    cuts = cuts_for(shares, documents, settings)
    if limit is not None:
        cuts = within(cuts, limit)
    if not settings.snap:
        return cuts
    # 200 bytes, or two of the smallest radii (105 §4), where the share allows it.
    floors = {"density": settings.min_window_bytes, "elastic": 2 * settings.min_radius_bytes}
    floor = min(min(floors.get(size.policy, 0), size.share_bytes) for _, size in shares)
    return snapped(cuts, shares[0][1], limit, floor=floor)


def _inflation(
    cuts: Sequence[Cut], hits: Sequence[Hit], size: Size, settings: WindowSettings, strategy: Strategy
) -> Inflation:
    """The windows of the cuts, linked by a strategy; hits that none of them shows are dropped."""
    windows = _windows(cuts, settings, {})
    shown_hits = {hit for window in windows for hit in window.hits}
    dropped = tuple(hit for hit in hits if hit not in shown_hits)
    if strategy == "adjacent":
        return Inflation(windows, (), size, dropped)
    linked_items = link(windows, strategy)
    clusters = tuple(item for item in linked_items if isinstance(item, Cluster))
    alone = (item for item in linked_items if isinstance(item, Window))
    ordered = sorted((*alone, *(window for item in clusters for window in item.windows)), key=lambda item: item.order)
    return Inflation(tuple(ordered), clusters, size, dropped)


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
        budget_bytes = DEFAULT_BUDGET * settings.chars_per_token
        return _field_cuts(ranked, next_in_line, documents, budget_bytes=budget_bytes, settings=settings)

    def estimate(text: str) -> int:
        return -(-len(text.encode()) // settings.chars_per_token)

    def text_of(hit: Hit) -> str:
        content = documents[hit.path].content
        return content[slice(*whole_characters(content, hit.start, hit.end))].decode()

    tokens = room // settings.chars_per_token
    cutoff = relevance_cutoff(ranked, map(text_of, ranked), tokens=tokens, cost=counter.count if counter else estimate)
    return _field_cuts(cutoff.shown, cutoff.next_in_line, documents, budget_bytes=room, settings=settings)


def _field_cuts(
    shown: Sequence[Hit],
    next_in_line: Sequence[Hit],
    documents: Mapping[str, Document],
    *,
    budget_bytes: int,
    settings: WindowSettings,
    of_units: bool = False,
) -> list[Cut]:
    """The windows of the hits that are shown and next in line, document by document."""
    groups: dict[str, tuple[list[Hit], list[Hit], list[int]]] = {}
    rooms = rooms_to_grow(len(shown), budget_bytes, percent=settings.whole_share)
    for hit, room in zip(shown, rooms, strict=True):
        group = groups.setdefault(hit.path, ([], [], []))
        group[0].append(hit)
        group[2].append(room)
    for hit in next_in_line:
        groups.setdefault(hit.path, ([], [], []))[1].append(hit)
    return [
        cut
        for path, (first, further, to_grow) in sorted(groups.items())
        for cut in field_cuts(documents[path], first, further, rooms=to_grow, of_units=of_units)
    ]


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


def _windows(
    cuts: Iterable[Cut], settings: WindowSettings, earlier: dict[tuple[object, ...], Window]
) -> tuple[Window, ...]:
    """The windows of the cuts, each with its number inside its document; those made `earlier` are not made again."""
    numbers: dict[str, int] = defaultdict(int)
    windows: list[Window] = []
    for cut in cuts:
        path = cut.document.path
        key = (path, cut.span, *map(id, cut.hits))  # the windows hold their hits, so that no identity is reused
        window = earlier.get(key) or _window_of(cut, numbers[path], settings)
        if window.sequence != numbers[path]:
            window = replace(window, sequence=numbers[path])
        earlier[key] = window
        windows.append(window)
        numbers[path] += 1
    return tuple(sorted(windows, key=_ORDER))


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


class WindowCache:
    """Windows of one question's hits, which come from a search: in order, each once, inside their documents.

    Packing finds the cutoff by trying. From one try to the next most windows stay equal, so each is built once.
    """

    def __init__(self, settings: WindowSettings | None = None) -> None:
        self._settings = settings or WindowSettings()
        self._earlier: dict[tuple[object, ...], Window] = {}

    def windows(
        self,
        hits: Sequence[Hit],
        cutoff: int,
        documents: Mapping[str, Document],
        *,
        tokens: int,
        next_in_line: int = 0,
    ) -> tuple[Window, ...]:
        """Windows of the hits before the cutoff, joined where they touch, and one for each of `next_in_line` after it.

        Of a budget of more `tokens` each window gets more for whole things.
        """
        settings, next_hits = self._settings, hits[cutoff : cutoff + next_in_line]
        budget_bytes = tokens * settings.chars_per_token
        cuts = _field_cuts(
            hits[:cutoff], next_hits, documents, budget_bytes=budget_bytes, settings=settings, of_units=True
        )
        return _windows(cuts, settings, self._earlier)
