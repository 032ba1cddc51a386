"""From windows to one text that fits: sort, group, choose, fill, render, count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from brimful.assembly.context import Context, Omitted, Reason, text_of
from brimful.assembly.costs import Costs
from brimful.assembly.dedupe import Duplicate, Twins, by_order, split_duplicates
from brimful.assembly.fill import Page
from brimful.assembly.formats import Block, Form, Payload, Showing, form_for
from brimful.assembly.select import Group, Placed, groups_of, rounds_of, with_order, with_recency
from brimful.budget import LARGEST, Budget, budget_of
from brimful.errors import FormatError, InputError
from brimful.settings import DEFAULT_MODEL, Fill, FormatName, LineNumbers, Order, Packing, PackSettings
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.inflate import Inflation, coherence_of
from brimful.windows.window import Cluster, Window

_TRIM_TRIES = 8
"""The number of best windows that did not fit and are trimmed into the remaining room."""


def pack(
    windows: Iterable[Window | Cluster] | Inflation,
    *,
    budget: Budget | int,
    model: str | TokenCounter = DEFAULT_MODEL,
    format: FormatName = "plain",  # noqa: A002  (the name everywhere, as in str.format)
    packing: Packing = "greedy",
    trim: bool = True,
    fill: Fill = "brim",
    order: Order = "relevance",
    dedup_threshold: float | None = None,
    max_per_document: int | None = None,
    prefer_recent: bool = False,
    include_metadata: bool = False,
    line_numbers: LineNumbers = "ranges",
) -> Context:
    """Fill a budget with windows: never over it, and to the brim where there is enough to say.

    The tokens are counted by the model's own vocabulary on the final text, headers included.
    The order in which the windows are given does not matter.

    >>> context = pack([Window("a.md", "Tea at four."), Window("b.md", "Coffee at ten.", score=1.0)], budget=20)
    >>> print(context.text, end="")
    [DOC: b.md]
    Coffee at ten.
    <BLANKLINE>
    [DOC: a.md]
    Tea at four.
    >>> context.tokens <= 20
    True
    """
    chosen = PackSettings(
        packing=packing,
        trim=trim,
        fill=fill,
        order=order,
        dedup_threshold=dedup_threshold,
        max_per_document=max_per_document,
        prefer_recent=prefer_recent,
        include_metadata=include_metadata,
        line_numbers=line_numbers,
    )
    counter = tokens_for(model) if isinstance(model, str) else model
    return Packer(counter, form_for(format), chosen).pack(windows, budget_of(budget))


class Packer:
    """Packs several times with one set of choices; what a window costs is worked out once."""

    def __init__(
        self, counter: TokenCounter, form: Form, settings: PackSettings, *, cap_bytes: int | None = None
    ) -> None:
        """A window is over the cap only where it holds whole sections (ruling 26)."""
        self.counter, self.form, self.settings = counter, form, settings
        self._showing = Showing(settings.include_metadata, settings.line_numbers)
        self._costs = Costs(form, counter, self._showing)
        self._cap = cap_bytes
        self._twins: dict[float, Twins] = {}  # by threshold, the texts that were compared

    def pack(
        self, windows: Iterable[Window | Cluster] | Inflation, room: Budget, *, further: Sequence[Window] = ()
    ) -> Context:
        """The context that just fits into this room.

        `further` windows are added, in their order, as far as they fit with the others.
        """
        settings, costs = self.settings, self._costs
        windows = windows.items if isinstance(windows, Inflation) else tuple(windows)
        groups, set_aside = _groups((*windows, *further), settings, self._twins)
        page = Page(costs, available=room.available, cap_bytes=self._cap)
        turns = {window.id: turn for turn, window in enumerate(further)}
        rounds = rounds_of(groups, settings.packing)
        waiting = [placed for turn in rounds for placed in turn if placed.window.id in turns]
        waiting.sort(key=lambda placed: turns[placed.window.id])
        rounds = [[placed for placed in turn if placed.window.id not in turns] for turn in rounds]
        rejected, ran_out = _chosen(page, rounds, settings, available=room.available)
        out = [placed for placed, _ in rejected]
        with_order(page.placed, [*out, *waiting], settings.order)
        page.lay_out(page.placed)
        cut_off = []
        while page.tokens > room.available:  # another order may cost a token or two more
            cut_off.append(page.drop_worst())
        trimmed = []
        if settings.trim:
            tries = [placed for placed, reason in rejected if reason != "per_document"]
            trimmed += _trimmed(page, sorted(tries, key=lambda placed: placed.window.order)[:_TRIM_TRIES], most=1)
        waiting = [placed for placed in waiting if page.overlaps(placed.window) or not page.add(placed)]
        if settings.fill == "brim":
            page.grow()
            apart = [placed for placed in waiting if not page.overlaps(placed.window)]
            trimmed += _trimmed(page, apart[:_TRIM_TRIES], most=_TRIM_TRIES)
        text = self._text(page)
        while (tokens := self.counter.count(text)) > room.available:  # the promise is about the text, not about any sum
            cut_off.append(page.drop_worst())
            text = self._text(page)
        names = {window.id for window in trimmed}
        left_out = [(placed.window, reason) for placed, reason in rejected if placed.window.id not in names]
        left_out += [(window, "budget") for window in cut_off]
        left_out += [(placed.window, "budget") for placed in waiting if placed.window.id not in names]
        blocks, omitted = _settled(page.blocks, left_out)
        blocks = [[_as_shown(window) for window in block] for block in blocks]
        return Context(
            text=text,
            tokens=tokens,
            blocks=tuple(Block(block[0].path, tuple(block)) for block in blocks),
            budget=room,
            model=self.counter.name,
            exact=self.counter.exact,
            format=self.form.name,
            packing=settings.packing,
            content_tokens=sum(costs.of_text(window).tokens for block in blocks for window in block),
            truncated=bool(trimmed or cut_off or ran_out),
            include_metadata=settings.include_metadata,
            line_numbers=settings.line_numbers,
            omitted=(*omitted, *set_aside),
            trimmed=tuple(name for window in trimmed for name in _shown_in(blocks, window)),
            clusters=_shown_clusters(windows, blocks),
            counter=self.counter,
        )

    def cost(self, windows: Iterable[Window | Cluster]) -> int:
        """The tokens of all of these windows that are not set aside, in room enough."""
        groups, _ = _groups(windows, self.settings, self._twins)
        page = Page(self._costs, available=LARGEST)
        _chosen(page, rounds_of(groups, self.settings.packing), self.settings, available=LARGEST)
        with_order(page.placed, (), self.settings.order)
        page.lay_out(page.placed)
        return page.tokens

    def _text(self, page: Page) -> str:
        blocks = [Block(block[0].path, tuple(block)) for block in page.blocks]
        return text_of(blocks, form=self.form, showing=self._showing)


def _chosen(
    page: Page, rounds: Sequence[Sequence[Placed]], settings: PackSettings, *, available: int
) -> tuple[list[tuple[Placed, Reason]], bool]:
    """Put the windows that fit on a page, each in its turn; returns the others, and whether the budget ran out.

    It ran out where it was spent with groups left and nothing skipped before, or where packing stopped.
    """
    everything, limit = [placed for turn in rounds for placed in turn], settings.max_per_document
    if limit is None:
        page.lay_out(everything)
        if page.tokens <= available:
            return [], False
        page.lay_out(())
    rejected: list[tuple[Placed, Reason]] = []
    per_path = Counter[str]()
    group, is_spent, is_stopped, ran_out = -1, False, False, False
    for turn in rounds:
        progress = False
        for placed in turn:
            path, number = placed.window.path, placed.place[0]
            if settings.packing == "greedy" and number != group and page.tokens >= available and not is_spent:
                is_spent, ran_out = True, not rejected
            group = number
            if is_stopped:
                rejected.append((placed, "stopped"))
            elif per_path[path] == limit:
                rejected.append((placed, "per_document"))
                progress = True
            elif is_spent or not page.add(placed):
                rejected.append((placed, "budget"))
            else:
                per_path[path] += 1
                progress = True
        ran_out = ran_out or is_stopped
        is_stopped = is_stopped or not progress
    return rejected, ran_out


def _trimmed(page: Page, candidates: Iterable[Placed], *, most: int) -> list[Window]:
    """Cut the best windows that did not fit to what is left, until the page is full; returns them whole."""
    trimmed: list[Window] = []
    for placed in candidates:
        if len(trimmed) == most or page.is_full():
            break
        window = placed.window
        if page.trim(placed):
            trimmed.append(window)
    return trimmed


def render(
    windows: Context | Iterable[Window],
    *,
    format: FormatName | None = None,  # noqa: A002
    include_metadata: bool | None = None,
    line_numbers: LineNumbers | None = None,
) -> str:
    """The text of windows in the order given, or of a context in another format; nothing is left out.

    >>> render([Window("a.md", "Tea."), Window("a.md", "Scones.", 9)])
    '[DOC: a.md]\\nTea.\\nScones.\\n'
    """
    if isinstance(windows, Context):
        blocks: Sequence[Block] = windows.blocks
        format = format or windows.format  # noqa: A001
        include_metadata = windows.include_metadata if include_metadata is None else include_metadata
        line_numbers = line_numbers or windows.line_numbers
    else:
        runs = groupby(windows, key=attrgetter("path", "filling"))
        blocks = [Block(path, tuple(run)) for (path, _), run in runs]
    form = form_for(format or "plain")
    showing = Showing(bool(include_metadata), line_numbers or "ranges")
    return text_of(blocks, form=form, showing=showing)


def parse(rendered: Payload | Context, *, format: FormatName = "plain") -> tuple[Window, ...]:  # noqa: A002
    """The windows of a rendered text: the inverse of `render`.

    From plain text without metadata, neighbouring windows of one document come back as one unless both edges
    between them are marked as cut, since nothing else separates them there (CFS §9).

    >>> [window.text for window in parse("[DOC: a.md]\\nTea.\\n\\n[DOC: b.md]\\nCoffee.\\n")]
    ['Tea.', 'Coffee.']
    """
    form = form_for(rendered.format if isinstance(rendered, Context) else format)
    try:
        return tuple(form.read(rendered.payload if isinstance(rendered, Context) else rendered))
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"not a context as {form.name}: {error}") from error


def _groups(
    windows: Iterable[Window | Cluster] | Inflation, settings: PackSettings, twins: dict[float, Twins]
) -> tuple[list[Group], list[Omitted]]:
    """Candidates in groups, each window once; what is empty or said already is set aside."""
    given: Iterable[Window | Cluster]
    given = windows.items if isinstance(windows, Inflation) else windows
    single: dict[str, Window] = {}
    clusters: list[Cluster] = []
    for item in given:
        if isinstance(item, Cluster):
            clusters.append(item)
        elif isinstance(item, Window):
            held = single.setdefault(item.id, item)
            if held is not item:
                single[item.id] = min(held, item, key=by_order)
        else:
            raise InputError(
                f"expected a Window or Cluster, got {type(item).__name__}: make one with Window(path, text)"
            )
    everything = [*single.values(), *(window for cluster in clusters for window in cluster.windows)]
    if settings.prefer_recent:
        everything = with_recency(everything, half_life_days=settings.recent_half_life_days)
    empty = [window for window in everything if not window.text]
    set_aside = [Omitted(window, "empty") for window in sorted(empty, key=by_order)]
    if empty:
        everything = [window for window in everything if window.text]
    threshold = settings.twin_threshold if settings.dedup_threshold is None else settings.dedup_threshold
    if threshold is not None:
        is_default = settings.dedup_threshold is None
        if threshold not in twins:
            twins[threshold] = Twins(threshold)
        compared = twins[threshold]
        kept, left_out = split_duplicates(everything, threshold=threshold, across_only=is_default, twins=compared)
        everything = _naming_twins(kept, left_out) if left_out else list(kept)
        set_aside += [Omitted(found.window, "duplicate", found.of.id) for found in left_out]
    if not clusters:
        return groups_of(everything), set_aside
    by_id = {window.id: window for window in everything}
    regrouped = []
    for cluster in clusters:
        members = tuple(by_id.pop(window.id) for window in cluster.windows if window.id in by_id)
        if members:
            regrouped.append(Cluster(members, cluster.strategy, cluster.coherence))
    return groups_of(by_id.values(), regrouped), set_aside


def _naming_twins(windows: Iterable[Window], left_out: Iterable[Duplicate]) -> list[Window]:
    """The windows that stay, each with the other documents that say the same (ruling 25)."""
    twins: dict[str, set[str]] = {}
    for duplicate in left_out:
        if duplicate.window.path != duplicate.of.path:
            twins.setdefault(duplicate.of.id, set()).add(duplicate.window.path)
    return [
        replace(window, also_in=tuple(sorted({*window.also_in, *twins[window.id]}))) if window.id in twins else window
        for window in windows
    ]


def _settled(
    blocks: list[list[Window]], rejected: Sequence[tuple[Window, Reason]]
) -> tuple[list[list[Window]], list[Omitted]]:
    """Windows that others have grown over are shown after all: their hits count, and they are not left out."""
    left_out = []
    shown: dict[str, list[tuple[list[Window], int]]] = {}
    for block in blocks:
        for index, window in enumerate(block):
            if window.document:
                shown.setdefault(window.document.id, []).append((block, index))
    for out, reason in rejected:
        near = shown.get(out.document.id, []) if out.document else []
        home = next(((block, index) for block, index in near if _holds(block[index], out)), None)
        if home is None:
            left_out.append(Omitted(out, reason))
        elif out.hits:
            block, index = home
            hits = {*block[index].hits, *out.hits}
            block[index] = replace(block[index], hits=tuple(sorted(hits, key=lambda hit: hit.order)))
    return blocks, left_out


def _shown_clusters(items: Iterable[Window | Cluster], blocks: list[list[Window]]) -> tuple[Cluster, ...]:
    """The clusters of which more than one window is shown, as they are shown."""
    shown_by_cluster: dict[str, list[Window]] = {}
    for window in (window for block in blocks for window in block):
        if window.cluster is not None:
            shown_by_cluster.setdefault(window.cluster, []).append(window)
    clusters = (item for item in items if isinstance(item, Cluster) and len(shown_by_cluster.get(item.id, ())) > 1)
    return tuple(replace(cluster, windows=tuple(shown_by_cluster[cluster.id])) for cluster in clusters)


def _as_shown(window: Window) -> Window:
    """The window with the coherence that it has as it is shown: it may have been cut or grown."""
    if window.document is None:
        return window
    return replace(window, coherence=coherence_of(window.document, window.span, window.seams))


def _holds(outer: Window, inner: Window) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _shown_in(blocks: list[list[Window]], trimmed: Window) -> tuple[str, ...]:
    """The id of the window that shows a part of a trimmed one."""
    ids = [
        window.id
        for block in blocks
        for window in block
        if window.path == trimmed.path
        and (window.document is None) == (trimmed.document is None)
        and window.span.shared(trimmed.span)
    ]
    return tuple(ids[:1])
