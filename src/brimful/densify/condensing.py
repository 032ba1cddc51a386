"""What becomes of what does not fit? It is condensed into the room that was kept for it.

    what fits in most of the budget ──────────────────────────────┐
    what does not, by document, best first ──> sentences, digests ┴──> pack ──> one context, never over the budget

`extractive:` takes sentences of the document: ordinary windows, cited to the byte. Any other model writes a digest: a
document of its own (`digest:notes.md`), each sentence with the ranges that it came from.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from brimful.asking import Asked
from brimful.assembly.context import DIGEST_PREFIX, Condensed, Context, DigestSentence, Omitted
from brimful.assembly.formats import form_for
from brimful.budget import Budget, budget_of
from brimful.densify.densify import densify
from brimful.densify.digest import Digest
from brimful.densify.extractive import ExtractiveModel, extract, fit_digest
from brimful.densify.memory import Memory
from brimful.densify.model import Model
from brimful.densify.models import model_for
from brimful.documents.documents import Document
from brimful.search.search import Found
from brimful.settings import Ask, DensifySettings
from brimful.snapshots import SnapshotPool
from brimful.text.spans import Span, merge_spans
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Cluster, Window

_MOST_DIGESTS = 8
"""Documents that a model condenses for one context: each is at least one call."""
_LEAST_TOKENS = 48
"""A digest of fewer says nothing; rather fewer documents."""
_EDGES_PERCENT = 20  # what the edges of single sentences cost beside them, about
_LEAST_BYTES = 24  # a shorter rest of a window is a stray word
_JOINT = "\n\n"

Candidates = Sequence[Window | Cluster]


@dataclass(frozen=True, slots=True)
class _Rest:
    """What of one document is left out, in reading order, and how many tokens it may be condensed to."""

    path: str
    windows: tuple[Window, ...]
    target_tokens: int

    @property
    def score(self) -> float:
        """The best window's."""
        return max(window.score for window in self.windows)

    def joined(self) -> Document:
        """All of it as one text to condense."""
        whole = self.windows[0].document
        assert whole is not None  # of a corpus
        text = _JOINT.join(window.text for window in self.windows)
        return Document(self.path, text, kind=whole.kind, language=whole.language)

    def placed(self, spans: Sequence[Span]) -> Iterator[tuple[Window, Span]]:
        """Where ranges of the joined text stand in the document, window by window."""
        at = 0
        for window in self.windows:
            for span in spans:
                start, end = max(span.start - at, 0), min(span.end - at, len(window.span))
                if start < end:
                    yield window, Span(window.start + start, window.start + end)
            at += len(window.span) + len(_JOINT)


def _rests(
    base: Context, candidates: Candidates, *, available: int, most: int | None, counter: TokenCounter
) -> list[_Rest]:
    """What the candidates say that a context does not show, by document, as many as there is room for.

    Documents that it does not show at all come first, and of each kind the best.
    """
    shown: dict[str, list[Span]] = {}
    for window in base.windows:
        shown.setdefault(window.path, []).append(window.span)
    by_path: dict[str, list[Window]] = {}
    for window in _members(candidates):
        by_path.setdefault(window.path, []).extend(_outside(window, shown.get(window.path, ())))
    ranked = sorted(
        ((path in shown, min(each.order for each in windows)), path, windows)
        for path, windows in by_path.items()
        if windows
    )
    head = form_for(base.format).head
    headers = [
        counter.count(head(DIGEST_PREFIX + path, Window(path, ""), base.showing)) + 2 for _, path, _ in ranked[:most]
    ]
    left, count, spent = available - base.tokens, 0, 0
    for header in headers:
        if spent + header + (count + 1) * _LEAST_TOKENS > left:
            break
        spent, count = spent + header, count + 1
    return [
        _Rest(path, tuple(sorted(windows, key=lambda each: (each.start, each.end))), (left - spent) // count)
        for _, path, windows in ranked[:count]
    ]


def _digest(
    rest: _Rest,
    model: Model,
    memory: Memory | None,
    counter: TokenCounter,
    settings: DensifySettings,
    cancel: threading.Event | None,
) -> Digest | None:
    """A digest of a rest, asked for through the memory; None where no model is needed."""
    source = rest.joined()
    if isinstance(model, ExtractiveModel) or counter.count(source.content.decode()) <= rest.target_tokens:
        return None
    settings = replace(settings, target_tokens=rest.target_tokens)
    made = densify(source, model, settings=settings, memory=memory, cancel=cancel)
    return fit_digest(made, rest.target_tokens, counter=counter)


def _sentences(rest: _Rest, counter: TokenCounter) -> list[Window]:
    """The sentences of a document that say most of what is left out; all of it where there is room."""
    source = rest.joined()
    if counter.count(source.content.decode()) <= rest.target_tokens:
        return list(rest.windows)
    spans = extract(source, max(rest.target_tokens * (100 - _EDGES_PERCENT) // 100, 1), counter=counter)
    return [_part(window, span) for window, span in rest.placed(spans)]


def _document(rest: _Rest, digest: Digest, taken: Callable[[str], object]) -> Condensed:
    path = DIGEST_PREFIX + rest.path
    while taken(path) is not None:
        path = DIGEST_PREFIX + path
    said, at = [], 0
    content = digest.text.encode()
    for sentence in digest.sentences:
        raw = sentence.text.encode()
        start = content.find(raw, at)
        if raw and start >= 0:
            at = start + len(raw)
            said.append(
                DigestSentence(Span(start, at), tuple(merge_spans(span for _, span in rest.placed(sentence.sources))))
            )
    return Condensed(digest.document(path), rest.path, digest.model, tuple(said))


def _omitted(base: Context, context: Context, left_out: Sequence[_Rest]) -> tuple[Omitted, ...]:
    """What is not shown as it is: condensed, or left out as before; without prices, which condensing would change."""
    condensed = {rest.path: [window.span for window in rest.windows] for rest in left_out}
    shown: dict[str, list[Span]] = {}
    for window in context.windows:
        shown.setdefault(window.path, []).append(window.span)
    found = []
    for each in base.omitted:
        window = each.window
        if any(span.start <= window.start and window.end <= span.end for span in shown.get(window.path, ())):
            continue
        is_condensed = each.reason in ("budget", "stopped") and any(
            map(window.span.shared, condensed.get(window.path, ()))
        )
        found.append(Omitted(window, "condensed" if is_condensed else each.reason, each.duplicate_of))
    return tuple(found)


def _members(candidates: Candidates) -> Iterable[Window]:
    for each in candidates:
        yield from each.windows if isinstance(each, Cluster) else (each,)


def _outside(window: Window, shown: Iterable[Span]) -> list[Window]:
    """What of a window lies outside of the ranges that are shown."""
    found, at = [], window.start
    for span in [*merge_spans(span for span in shown if span.shared(window.span)), Span(window.end, window.end)]:
        if span.start - at >= _LEAST_BYTES:
            part = _part(window, Span(at, span.start))
            if part.text.strip():
                found.append(part)
        at = max(at, span.end)
    return found


def _part(window: Window, span: Span) -> Window:
    """A range of a window, with its hits."""
    assert window.document is not None  # of a corpus
    hits = tuple(hit for hit in window.hits if span.start <= hit.start and hit.end <= span.end)
    return Window.cut(window.document, span.start, span.end, score=window.score, hits=hits)


def _regrouped(base: Context, candidates: Candidates) -> Candidates:
    """The windows of a context, those that were linked still together."""
    left = {window.id: window for window in base.windows}
    found: list[Window | Cluster] = []
    for cluster in candidates:
        if isinstance(cluster, Cluster):
            members = [
                left.pop(own.id)
                for own in list(left.values())
                if any(own.path == each.path and own.span.shared(each.span) for each in cluster.windows)
            ]
            if members:
                found.append(Cluster(tuple(members), cluster.strategy, cluster.coherence))
    return [*found, *left.values()]


# ---- asking: How does a question get a context with what does not fit condensed?

_ANY_ROOM = 1 << 30


def condensed(
    ask: Ask,
    room: Budget,
    model: Model | str,
    *,
    pool: SnapshotPool,
    memory: Callable[[], Memory],
    cancel: threading.Event | None = None,
) -> Context:
    """The context for a room; nobody else waits while the model works."""
    model = model_for(model) if isinstance(model, str) else model
    kept = None if isinstance(model, ExtractiveModel) else memory()
    how, counter = ask.settings.condensing or DensifySettings(), tokens_for(ask.settings.model)
    for is_last in (False, False, True):  # where the corpus changes meanwhile, the last try keeps it as it is
        with pool.pinned() if is_last else nullcontext():
            with pool.corpus() as before:
                if (cached := before.contexts.get(before.key(ask, room))) is not None:
                    return cached
                prepared = _prepared(before.asked(ask), room, is_free=kept is None)
            digests = [_digest(rest, model, kept, counter, how, cancel) for rest in prepared.left]
            with pool.corpus() as corpus:
                if is_last or corpus is before:
                    context = prepared.completed(digests, taken=corpus.snapshot.row)
                    context = corpus.with_receipt(ask, context, prepared.found)
                    return corpus.contexts.keep(corpus.key(ask, room), context, size=context.held_bytes)
    raise AssertionError("the last try returns")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What fits of a question's answer, and what is left to be condensed."""

    asked: Asked
    room: Budget
    base: Context
    found: Found
    candidates: Candidates
    left: list[_Rest]

    def completed(self, digests: Sequence[Digest | None], *, taken: Callable[[str], object]) -> Context:
        """The context again in the whole budget, with digests after what was in it already, without prices."""
        base = self.base
        if not self.left:
            return base
        ceiling = math.nextafter(min((window.score for window in base.windows), default=0.0), -math.inf)
        added: list[Window] = []
        made: list[Condensed] = []
        for rest, digest in zip(self.left, digests, strict=True):
            score = min(rest.score, ceiling)
            if digest is None:
                added += [replace(window, score=score) for window in _sentences(rest, self.asked.counter)]
            elif digest.text:
                made.append(_document(rest, digest, taken))
                added.append(Window.cut(made[-1].document, 0, len(made[-1].document), score=score))
        context = self.asked.packed([*_regrouped(base, self.candidates), *added], room=self.room)
        paths = {window.path for window in context.windows}
        ids = {window.id for window in context.windows}
        return replace(
            context,
            digests=tuple(each for each in made if each.path in paths),
            truncated=base.truncated or context.truncated,
            trimmed=tuple(dict.fromkeys([*context.trimmed, *(each for each in base.trimmed if each in ids)])),
            omitted=_omitted(base, context, self.left),
        )


def _prepared(asked: Asked, room: Budget, *, is_free: bool) -> _Prepared:
    """All of it where everything fits, else a share of the budget; a model that costs gets a few documents."""
    most, counter = None if is_free else _MOST_DIGESTS, asked.counter
    base, found = asked.fullest(room)
    candidates = asked.candidates(room)
    left = _rests(base, candidates, available=_ANY_ROOM, most=most, counter=counter)
    if left:
        share = max(room.available * (100 - asked.settings.densify_percent) // 100, 1)
        base, found = asked.fullest(budget_of(share))
        left = _rests(base, candidates, available=room.available, most=most, counter=counter)
    return _Prepared(asked, room, base, found, candidates, left)
