"""From windows to one text that fits: sort, group, choose, fill, render, count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from brimful.assembly.context import Context, Omitted, text_of
from brimful.assembly.dedupe import Duplicate, Twins, by_order, split_duplicates
from brimful.assembly.fill import TRIM_TRIES, Page
from brimful.assembly.formats import Block, Form, Payload, Showing, form_for
from brimful.assembly.select import (
    Costs,
    Group,
    Layout,
    Rejected,
    Selection,
    clustered,
    enters_at,
    groups_of,
    in_blocks,
    select,
    with_recency,
)
from brimful.budget import Budget, budget_of
from brimful.errors import FormatError, InputError
from brimful.settings import DEFAULT_MODEL, Fill, FormatName, LineNumbers, Order, Packing, PackSettings
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.inflate import Inflation, coherence_of
from brimful.windows.window import Cluster, Window


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
    prices: bool = False,
) -> Context:
    """Fill a budget with windows: never over it, and to the brim where there is enough to say.

    The tokens are counted by the model's own vocabulary on the final text, headers included.
    The order in which the windows are given does not matter. `prices` finds out at which budget each omitted window
    would be in (`Omitted.enters_at`), which costs several packings for each.

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
    return Packer(counter, form_for(format), chosen).pack(windows, budget_of(budget), prices=prices)


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs with the same choices again and again; what a window costs is worked out once."""

    counter: TokenCounter
    form: Form
    settings: PackSettings
    costs: Costs = field(default_factory=Costs)
    twins: dict[float, Twins] = field(default_factory=dict)  # by threshold, the texts that were compared
    cap_bytes: int | None = None  # a window is longer only where it holds whole sections (ruling 26)

    def pack(self, windows: Iterable[Window | Cluster] | Inflation, room: Budget, *, prices: bool = False) -> Context:
        """The context that just fits into this room."""
        counter, form, settings = self.counter, self.form, self.settings
        windows = windows.items if isinstance(windows, Inflation) else tuple(windows)
        groups, set_aside = _groups(windows, settings, self.twins)
        new_layout = self._layout
        selection = select(groups, settings, available=room.available, new_layout=new_layout)
        page, trimmed = _filled(selection, groups, settings, available=room.available, new_layout=new_layout)
        if settings.fill == "brim":
            page.grow()
        text, tokens, blocks, cut_off = _rendered(page.blocks, form, counter, settings, available=room.available)
        rejected = [*selection.rejected, *(Rejected(window, "budget") for window in (*page.dropped, *cut_off))]

        def price(out: Rejected) -> int | None:
            if not (prices and out.reason in ("budget", "stopped")):
                return None
            return enters_at(out.window, groups, settings, available=room.available, new_layout=new_layout)

        blocks, left_out = _settled(blocks, [out for out in rejected if out.window.id != (trimmed and trimmed.id)])
        blocks = [[_as_shown(window) for window in block] for block in blocks]
        layout = new_layout()
        return Context(
            text=text,
            tokens=tokens,
            blocks=tuple(Block(block[0].path, tuple(block)) for block in blocks),
            budget=room,
            model=counter.name,
            exact=counter.exact,
            format=form.name,
            packing=settings.packing,
            content_tokens=sum(layout.cost_of_text(window).tokens for block in blocks for window in block),
            truncated=trimmed is not None or selection.ran_out or bool(cut_off),
            include_metadata=settings.include_metadata,
            line_numbers=settings.line_numbers,
            omitted=(
                *(Omitted(out.window, out.reason, enters_at=price(out)) for out in left_out),
                *set_aside,
            ),
            trimmed=_shown_in(blocks, trimmed) if trimmed else (),
            clusters=_shown_clusters(windows, blocks),
            counter=counter,
        )

    def cost(self, windows: Iterable[Window | Cluster]) -> int:
        """The tokens of all of these windows that are not set aside, as `greedy` shows them in room enough."""
        groups, _ = _groups(windows, self.settings, self.twins)
        units, limit = [group.shown for group in groups], self.settings.max_per_document
        if limit is not None:
            per_path = Counter[str]()
            for number, group in enumerate(groups):
                chosen = set()
                for window in group.windows:
                    if per_path[window.path] != limit:
                        per_path[window.path] += 1
                        chosen.add(window.id)
                units[number] = tuple(window for window in group.shown if window.id in chosen)
        return self._layout().cost_of(in_blocks([unit for unit in units if unit], self.settings, clustered(groups)))

    def _layout(self) -> Layout:
        return Layout(
            form=self.form,
            counter=self.counter,
            showing=_showing(self.settings),
            costs=self.costs,
            cap_bytes=self.cap_bytes,
        )


def _showing(settings: PackSettings) -> Showing:
    return Showing(settings.include_metadata, settings.line_numbers)


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
        runs = in_blocks([[*windows]], PackSettings(), frozenset())
        blocks = [Block(run[0].path, tuple(run)) for run in runs]
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


def _filled(
    selection: Selection,
    groups: Sequence[Group],
    settings: PackSettings,
    *,
    available: int,
    new_layout: Callable[[], Layout],
) -> tuple[Page, Window | None]:
    """Trim the best window that did not fit into what is left; returns the page and what was trimmed."""
    clusters = clustered(groups)
    laid_out = selection.layout if settings.order == "relevance" else None
    page = Page(selection.blocks(settings, clusters), laid_out or new_layout(), available=available)
    trimmed: Window | None = None
    if settings.trim and not page.is_full():
        candidates = [out.window for out in selection.rejected if out.reason in ("budget", "stopped")]
        for candidate in sorted(candidates, key=by_order)[:TRIM_TRIES]:
            widened = selection.including(candidate, groups, settings)
            blocks = widened.blocks(settings, clusters)
            place = next((b, s) for b, block in enumerate(blocks) for s, w in enumerate(block) if w.id == candidate.id)
            attempt = Page(blocks, new_layout(), available=available, empty=place)
            if attempt.trim(place, candidate):
                page, trimmed = attempt, candidate
                break
    return page, trimmed


def _settled(blocks: list[list[Window]], rejected: list[Rejected]) -> tuple[list[list[Window]], list[Rejected]]:
    """Windows that others have grown over are shown after all: their hits count, and they are not left out."""
    left_out = []
    shown: dict[str, list[tuple[list[Window], int]]] = {}
    for block in blocks:
        for index, window in enumerate(block):
            if window.document:
                shown.setdefault(window.document.id, []).append((block, index))
    for out in rejected:
        near = shown.get(out.window.document.id, []) if out.window.document else []
        home = next(((block, index) for block, index in near if _holds(block[index], out.window)), None)
        if home is None:
            left_out.append(out)
        elif out.window.hits:
            block, index = home
            hits = {*block[index].hits, *out.window.hits}
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


def _rendered(
    blocks: list[list[Window]], form: Form, counter: TokenCounter, settings: PackSettings, *, available: int
) -> tuple[str, int, list[list[Window]], list[Window]]:
    """Render, and count the final string itself: the promise is about it, not about any sum."""
    cut_off: list[Window] = []
    while True:
        shown = [Block(block[0].path, tuple(block)) for block in blocks]
        text = text_of(shown, form=form, showing=_showing(settings))
        tokens = counter.count(text)
        if tokens <= available:
            return text, tokens, blocks, cut_off
        worst = max((window for block in blocks for window in block), key=by_order)
        cut_off.append(worst)
        blocks = [kept for block in blocks if (kept := [window for window in block if window.id != worst.id])]
