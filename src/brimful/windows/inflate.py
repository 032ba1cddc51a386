"""From hits to windows: how much around each hit should be read, and what would a reader miss?"""

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
from brimful.windows.cutting import Cut, cuts_for, records_in, snapped, within
from brimful.windows.policies import Size, size_for
from brimful.windows.seams import Seam, seams_for, time_in
from brimful.windows.strategies import link
from brimful.windows.waterline import Line, Run, Spans, cut_of, field_cuts, water_line
from brimful.windows.window import Cluster, Coherence, Window

# ---- coherence: What would a reader of a window miss? Its coherence says so, reason by reason (085b coherence_score).
#
# The beginning of a sentence, the rest of a paragraph or function, what a pronoun means, the heading or signature
# above, and in data records of one kind that follow each other. All of it is read off the bytes that are shown, so it
# holds for the window as it is shown: filling a budget changes it.

_PAUSE_SECONDS = 3_600
"""Records further apart in time do not follow each other."""


def coherence_of(document: Document, span: Span, seams: Sequence[Seam] = ()) -> Coherence:
    """How well a reader understands these bytes by themselves, with the seams above them.

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
    """Whether what explains the beginning stands in the window or above it: a heading, a signature, a header row."""
    shown = {(seam.start, seam.end) for seam in seams}
    starts = {seam.start for seam in seams}
    if document.kind == "data":
        header = document.outline.header
        return float(header is None or header[0] >= span.start or header in shown)
    blocks = document.outline.enclosing(span.start, min(span.start + 1, span.end))
    above = [block for block in blocks if block.signature_start < span.start and _explains(document, block)]
    said = above[-1:]
    return float(not said or any(said[0].signature_start <= start < said[0].signature_end for start in starts))


def _explains(document: Document, block: Block) -> bool:
    return block.kind == "heading" if document.kind == "prose" else block.kind in ("function", "class")


def _of_one_kind(records: Sequence[Record]) -> float:
    """The share of records that are of the commonest category."""
    counted = Counter(record.category for record in records)
    return max(counted.values()) / len(records) if records else 1.0


def _in_a_row(records: Sequence[Record]) -> float:
    """The share of neighbours without a long pause between them, of those whose times are known."""
    times = (record.time for record in records if record.time is not None)
    near = Counter(abs(later - earlier) <= _PAUSE_SECONDS for earlier, later in pairwise(times))
    return near[True] / near.total() if near else 1.0


# ---- inflate: From hits to windows: how much around each hit should be read?


@dataclass(frozen=True, slots=True)
class Inflation:
    """Windows, best first, with what was decided on the way. It iterates over its windows.

    `clusters` are those of the windows that a strategy has linked; the others stand alone.
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
        """What packing shows as wholes: the clusters, and the windows that are in none."""
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
    below: Iterable[Hit] = (),
) -> Inflation:
    """Surround hits with what is needed to read them, and merge what belongs together (085a, 085b, 105).

    `budget` (tokens) sizes the windows; `max_bytes` is the same in bytes, and then also a limit that
    the windows together never exceed. Without either, windows grow to the static 2,500 bytes.
    With `sizing="field"` hits are shown as they are, the best first until the budget is full, and become one
    window where they touch; `counter` then says what they cost (four bytes a token without one). Without a budget
    all are shown, and each of those `below` by itself, for whatever room packing leaves.

    >>> page = Document("tea.md", "Tea came late. Coffee came first. Nobody minded. The end.")
    >>> [window.text for window in inflate([Hit("tea.md", 15, 21, 1.0)], [page], max_bytes=40)]
    ['Tea came late. Coffee came first. ']
    """
    choose(sizing, SIZINGS, what="sizing")
    choose(strategy, STRATEGIES, what="strategy")
    settings = settings or WindowSettings()
    known = by_path(documents)
    ranked = _ranked(hits, known)
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
        cuts = _above_water(ranked, known, room, settings, counter, _ranked(below, known))
    else:
        cuts = cuts_for([(ranked[: size.kept], size)], known, settings)
    if hard_limit is not None:
        cuts = within(cuts, hard_limit)
    if settings.snap and sizing != "field":
        cuts = snapped(cuts, size, hard_limit, floor=_floor(size, settings))
    windows = _windows(cuts, settings)
    shown = {hit for window in windows for hit in window.hits}
    dropped = tuple(hit for hit in ranked if hit not in shown)
    if strategy == "adjacent":
        return Inflation(windows, (), size, dropped)
    found = link(windows, strategy)
    clusters = tuple(item for item in found if isinstance(item, Cluster))
    alone = (item for item in found if isinstance(item, Window))
    linked = sorted((*alone, *(window for each in clusters for window in each.windows)), key=lambda each: each.order)
    return Inflation(tuple(linked), clusters, size, dropped)


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
    for hits, own in pools:
        room = own * settings.chars_per_token
        lengths = [hit.end - hit.start for hit in hits]
        size = size_for(sizing, lengths, budget_bytes=room, budget_tokens=tokens, settings=settings)
        if sizing == "radial":
            size = replace(size, kept=min(max(room // max(size.share_bytes, 1), 1), len(hits)))
        shares.append((hits[: size.kept], size))
    cuts = cuts_for(shares, documents, settings)
    size = shares[0][1]
    if settings.snap:
        cuts = snapped(cuts, size, None, floor=min(_floor(each, settings) for _, each in shares))
    windows = _windows(cuts, settings)
    shown = {hit for window in windows for hit in window.hits}
    dropped = sorted((hit for hits, _ in pools for hit in hits if hit not in shown), key=lambda hit: hit.order)
    return Inflation(windows, (), size, tuple(dropped))


def _floor(size: Size, settings: WindowSettings) -> int:
    """The smallest window that is shown where the share allows it: 200 bytes, or two of the smallest radii (105 §4)."""
    floors = {"density": settings.min_window_bytes, "elastic": 2 * settings.min_radius_bytes}
    return min(floors.get(size.policy, 0), size.share_bytes)


def _above_water(
    ranked: Sequence[Hit],
    known: Mapping[str, Document],
    room: int | None,
    settings: WindowSettings,
    counter: TokenCounter | None,
    below: Sequence[Hit],
) -> list[Cut]:
    """The hits that the budget has room for, and the next ones."""
    if room is None:
        return field_cuts(Line(tuple(ranked), tuple(below)), known, whole_share=settings.whole_share)

    def estimate(text: str) -> int:
        return -(-len(text.encode()) // settings.chars_per_token)

    def text_of(hit: Hit) -> str:
        content = known[hit.path].content
        return content[slice(*whole_characters(content, hit.start, hit.end))].decode()

    tokens = room // settings.chars_per_token
    line = water_line(ranked, map(text_of, ranked), tokens=tokens, cost=counter.count if counter else estimate)
    return field_cuts(line, known, whole_share=settings.whole_share)


def _ranked(hits: Iterable[Hit], known: Mapping[str, Document]) -> list[Hit]:
    """Hits in their total order, each once, all inside their documents."""
    unique = dict.fromkeys(hits)
    for hit in unique:
        if not isinstance(hit, Hit):
            raise DocumentError(f"expected a Hit, got {type(hit).__name__}: wrap it in Hit(path, start, end, score)")
        if hit.path not in known:
            raise DocumentError(f"a hit names {hit.path!r}, which is not among the {len(known)} documents given")
        check_span(hit.start, hit.end, length=len(known[hit.path]), where=f" {hit.path}")
    ranked = sorted(unique, key=lambda hit: hit.order)
    if any(one.order == other.order for one, other in pairwise(ranked)):
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
    found = time_in(document, core)
    return document.time if found is None else found


# ---- cache: Which windows do the best hits make while the line between them and the others moves?
#
# Packing finds out where the water line lies by trying. From one try to the next most windows stay what they were, so
# each is made once.


class WindowCache:
    """Windows of one question's hits, which come from a search: in order, each once, inside their documents."""

    def __init__(self, settings: WindowSettings | None = None) -> None:
        self._settings = settings or WindowSettings()
        # What is kept holds its hits, so that none of their identities is given to another.
        self._made: dict[tuple[object, ...], Window] = {}
        self._hits: Sequence[Hit] = ()
        self._ranks: dict[str, list[int]] = {}  # by document, where its hits stand among all of them
        self._ranked = 0  # so many of the hits are in there
        self._shown: dict[tuple[str, int, int, int], list[Window]] = {}
        # By outline: of a document that is read in parts it changes when more is read.
        self._spans: dict[Outline, Spans] = {}

    def windows(
        self,
        hits: Sequence[Hit],
        line: int,
        known: Mapping[str, Document],
        *,
        below: int = 0,
        least_bytes: int = 0,
    ) -> tuple[Window, ...]:
        """Windows of the hits above the line, those that touch in one, and of so many below it each by itself.

        Those shorter than `least_bytes` are joined with what is near.
        """
        last = min(line + below, len(hits))
        self.paths(hits, last)
        windows: list[Window] = []
        for path, ranks in self._ranks.items():
            if ranks[0] >= last:
                break  # documents come in the order of their best hits
            key = (path, bisect_left(ranks, line), bisect_left(ranks, last), least_bytes)
            known_ones = self._shown.get(key)
            windows += self._document(known[path], *key[1:]) if known_ones is None else known_ones
        windows.sort(key=_ORDER)
        return tuple(windows)

    def paths(self, hits: Sequence[Hit], last: int) -> KeysView[str]:
        """The documents of the first hits, and of those asked for before; of other hits than those nothing is known."""
        if hits is not self._hits:
            self._hits, self._ranked = hits, 0
            self._ranks.clear()
            self._shown.clear()
        for rank in range(self._ranked, last):
            self._ranks.setdefault(hits[rank].path, []).append(rank)
        self._ranked = max(self._ranked, last)
        return self._ranks.keys()

    def _document(self, document: Document, above: int, end: int, least_bytes: int) -> Sequence[Window]:
        """The windows of one document, of so many of its hits; with the same ones they are the same."""
        spans = self._spans.get(document.outline)
        if spans is None:
            share = self._settings.whole_share
            spans = self._spans[document.outline] = Spans(document, whole_share=share, heads=True, of_units=True)
        hits = [self._hits[rank] for rank in self._ranks[document.path][:end]]
        runs = spans.runs(hits[:above], hits[above:], least_bytes=least_bytes)
        windows = [self._window(document, run, number) for number, run in enumerate(runs)]
        self._shown[document.path, above, end, least_bytes] = windows
        return windows

    def _window(self, document: Document, run: Run, number: int) -> Window:
        key = (document.path, run[0], run[1], *map(id, run[2]))
        window = self._made.get(key)
        if window is None:
            window = _window_of(cut_of(document, run), number, self._settings)
        elif window.sequence != number:
            window = replace(window, sequence=number)
        self._made[key] = window
        return window
