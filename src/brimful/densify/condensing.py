"""Condenses what does not fit in a context into room that is kept for it.

    what fits in most of the budget ──────────────────────────────┐
    what does not, by document, best first ──> sentences, digests ┴──> pack ──> one context, never over the budget

`extractive:` takes sentences of the document: ordinary windows, cited to the byte. Any other model writes a digest: a
new document (`digest:notes.md`), each sentence with the ranges that it came from.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from brimful.assembly.context import DIGEST_PREFIX, Condensed, Context, DigestSentence, Omitted
from brimful.assembly.formats import form_for
from brimful.budget import Budget, budget_of
from brimful.building import ContextBuilder
from brimful.densify.calls import Model
from brimful.densify.densify import densify
from brimful.densify.digest import Digest
from brimful.densify.extractive import ExtractiveModel, extract, fit_digest
from brimful.densify.memory import Memory
from brimful.densify.models import model_for
from brimful.documents.documents import Document
from brimful.search.search import Found
from brimful.settings import Ask, DensifySettings
from brimful.snapshots import SnapshotPool
from brimful.text.spans import Span, merge_spans
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Cluster, Window

_MAX_DIGESTS = 8
"""Documents that a model condenses for one context: each is at least one call."""
_MIN_TOKENS = 48
"""A digest of fewer says nothing; rather fewer documents."""
_EDGES_PERCENT = 20  # what the edges of single sentences cost, about
_MIN_BYTES = 24  # a shorter end of a window is a stray word
_JOINT = "\n\n"
_UNBOUNDED_TOKENS = 1 << 30

_Candidates = Sequence[Window | Cluster]


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Windows of one document that a context leaves out, in reading order, and the tokens to condense them to."""

    path: str
    windows: tuple[Window, ...]
    target_tokens: int

    def joined(self) -> Document:
        """One text to condense."""
        original = self.windows[0].document
        assert original is not None  # of a corpus
        text = _JOINT.join(window.text for window in self.windows)
        return Document(self.path, text, kind=original.kind, language=original.language)

    def placed(self, spans: Sequence[Span]) -> Iterator[tuple[Window, Span]]:
        """The ranges of the document that ranges of the joined text came from, window by window."""
        offset = 0
        for window in self.windows:
            for span in spans:
                start, end = max(span.start - offset, 0), min(span.end - offset, len(window.span))
                if start < end:
                    yield window, Span(window.start + start, window.start + end)
            offset += len(window.span) + len(_JOINT)


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
    answers = None if isinstance(model, ExtractiveModel) else memory()
    settings, counter = ask.settings.condensing or DensifySettings(), tokens_for(ask.settings.model)
    for is_last in (False, False, True):  # where the corpus changes meanwhile, the last try keeps it as it is
        with pool.pinned() if is_last else nullcontext():
            with pool.corpus() as corpus_before:
                if (cached := corpus_before.contexts.get(corpus_before.key(ask, room))) is not None:
                    return cached
                prepared = _prepared(corpus_before.asked(ask), room, is_free=answers is None)
            digests = [_digest(left_out, model, answers, counter, settings, cancel) for left_out in prepared.left_out]
            with pool.corpus() as corpus:
                if is_last or corpus is corpus_before:
                    context = _completed(prepared, digests, is_stored=corpus.snapshot.row)
                    context = corpus.with_receipt(ask, context, prepared.found)
                    return corpus.contexts.keep(corpus.key(ask, room), context, size=context.held_bytes)
    raise AssertionError("the last try returns")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A question's answer in most of the budget, and what is left out of it."""

    asked: ContextBuilder
    room: Budget
    base: Context
    found: Found
    candidates: _Candidates
    left_out: list[_LeftOut]


def _prepared(asked: ContextBuilder, room: Budget, *, is_free: bool) -> _Prepared:
    """All of it where everything fits, else a share of the budget; a model that costs gets a few documents."""
    max_documents, counter = None if is_free else _MAX_DIGESTS, asked.counter
    base, found = asked.fullest(room)
    candidates = asked.candidates(room)
    left_out = _left_out(base, candidates, _UNBOUNDED_TOKENS, max_documents=max_documents, counter=counter)
    if left_out:
        base, found = asked.fullest(budget_of(max(room.available * (100 - asked.settings.densify_percent) // 100, 1)))
        left_out = _left_out(base, candidates, room.available, max_documents=max_documents, counter=counter)
    return _Prepared(asked, room, base, found, candidates, left_out)


def _left_out(
    base: Context, candidates: _Candidates, available_tokens: int, *, max_documents: int | None, counter: TokenCounter
) -> list[_LeftOut]:
    """_Candidates that a context does not show, for as many documents as there is room for.

    Documents that it does not show at all come first, and of each kind the best.
    """
    shown_spans = _spans_by_path(base.windows)
    by_path: dict[str, list[Window]] = {}
    for candidate in candidates:
        for window in candidate.windows if isinstance(candidate, Cluster) else (candidate,):
            by_path.setdefault(window.path, []).extend(_outside(window, shown_spans.get(window.path, [])))
    ranked = sorted(
        ((path in shown_spans, min(window.order for window in windows)), path, windows)
        for path, windows in by_path.items()
        if windows
    )[:max_documents]
    head = form_for(base.format).head
    tokens_left, count, spent = available_tokens - base.tokens, 0, 0
    for _, path, _ in ranked:
        header = counter.count(head(DIGEST_PREFIX + path, Window(path, ""), base.showing)) + 2
        if spent + header + (count + 1) * _MIN_TOKENS > tokens_left:
            break
        spent, count = spent + header, count + 1
    return [
        _LeftOut(
            path, tuple(sorted(windows, key=lambda window: (window.start, window.end))), (tokens_left - spent) // count
        )
        for _, path, windows in ranked[:count]
    ]


def _digest(
    left_out: _LeftOut,
    model: Model,
    memory: Memory | None,
    counter: TokenCounter,
    settings: DensifySettings,
    cancel: threading.Event | None,
) -> Digest | None:
    """A digest, asked for through the memory; None where no model is needed."""
    source, target = left_out.joined(), left_out.target_tokens
    if isinstance(model, ExtractiveModel) or counter.count(source.content.decode()) <= target:
        return None
    settings = replace(settings, target_tokens=target)
    return fit_digest(densify(source, model, settings=settings, memory=memory, cancel=cancel), target, counter=counter)


def _completed(prepared: _Prepared, digests: Sequence[Digest | None], *, is_stored: Callable[[str], object]) -> Context:
    """The context again in the whole budget, with digests after what was in it already."""
    base, asked = prepared.base, prepared.asked
    if not prepared.left_out:
        return base
    ceiling = math.nextafter(min((window.score for window in base.windows), default=0.0), -math.inf)
    added: list[Window] = []
    documents: list[Condensed] = []
    for left_out, digest in zip(prepared.left_out, digests, strict=True):
        score = min(ceiling, max(window.score for window in left_out.windows))
        if digest is None:
            added += [replace(window, score=score) for window in _sentences(left_out, asked.counter)]
        elif digest.text:
            documents.append(_document(left_out, digest, is_stored))
            added.append(Window.cut(documents[-1].document, 0, len(documents[-1].document), score=score))
    context = asked.packed([*_regrouped(base, prepared.candidates), *added], room=prepared.room)
    paths = {window.path for window in context.windows}
    ids = {window.id for window in context.windows}
    return replace(
        context,
        digests=tuple(document for document in documents if document.path in paths),
        truncated=base.truncated or context.truncated,
        trimmed=tuple(dict.fromkeys([*context.trimmed, *(id_ for id_ in base.trimmed if id_ in ids)])),
        omitted=_omitted(base, context, prepared.left_out),
    )


def _sentences(left_out: _LeftOut, counter: TokenCounter) -> list[Window]:
    """The sentences of a document that say most of what is left out; all of it where there is room."""
    source = left_out.joined()
    if counter.count(source.content.decode()) <= left_out.target_tokens:
        return list(left_out.windows)
    target = max(left_out.target_tokens * (100 - _EDGES_PERCENT) // 100, 1)
    return [_part(window, span) for window, span in left_out.placed(extract(source, target, counter=counter))]


def _document(left_out: _LeftOut, digest: Digest, is_stored: Callable[[str], object]) -> Condensed:
    """A digest as a document under a path that no stored document has."""
    path = DIGEST_PREFIX + left_out.path
    while is_stored(path) is not None:
        path = DIGEST_PREFIX + path
    sentences: list[DigestSentence] = []
    content, end = digest.text.encode(), 0
    for sentence in digest.sentences:
        raw = sentence.text.encode()
        start = content.find(raw, end)
        if raw and start >= 0:
            end = start + len(raw)
            sources = merge_spans(span for _, span in left_out.placed(sentence.sources))
            sentences.append(DigestSentence(Span(start, end), tuple(sources)))
    return Condensed(digest.document(path), left_out.path, digest.model, tuple(sentences))


def _regrouped(base: Context, candidates: _Candidates) -> _Candidates:
    """The windows of a context, the members of a cluster together."""
    ungrouped = {window.id: window for window in base.windows}
    groups: list[Window | Cluster] = []
    for cluster in candidates:
        if isinstance(cluster, Cluster):
            members = [
                ungrouped.pop(window.id)
                for window in list(ungrouped.values())
                if any(window.path == member.path and window.span.shared(member.span) for member in cluster.windows)
            ]
            if members:
                groups.append(Cluster(tuple(members), cluster.strategy, cluster.coherence))
    return [*groups, *ungrouped.values()]


def _omitted(base: Context, context: Context, left_out: Sequence[_LeftOut]) -> tuple[Omitted, ...]:
    """The windows that are not shown_spans: condensed, or left out as corpus_before."""
    condensed_spans = {part.path: [window.span for window in part.windows] for part in left_out}
    shown_spans = _spans_by_path(context.windows)
    omitted = []
    for item in base.omitted:
        path, span = item.window.path, item.window.span
        if any(window.start <= span.start and span.end <= window.end for window in shown_spans.get(path, ())):
            continue
        is_condensed = any(map(span.shared, condensed_spans.get(path, ()))) and item.reason in ("budget", "stopped")
        omitted.append(Omitted(item.window, "condensed" if is_condensed else item.reason, item.duplicate_of))
    return tuple(omitted)


def _spans_by_path(windows: Sequence[Window]) -> dict[str, list[Span]]:
    spans: dict[str, list[Span]] = {}
    for window in windows:
        spans.setdefault(window.path, []).append(window.span)
    return spans


def _outside(window: Window, shown_spans: Sequence[Span]) -> list[Window]:
    """The parts of a window outside of the ranges that are shown_spans."""
    parts, reached = [], window.start
    for span in [*merge_spans(span for span in shown_spans if span.shared(window.span)), Span(window.end, window.end)]:
        if span.start - reached >= _MIN_BYTES:
            part = _part(window, Span(reached, span.start))
            if part.text.strip():
                parts.append(part)
        reached = max(reached, span.end)
    return parts


def _part(window: Window, span: Span) -> Window:
    """A range of a window, with its hits."""
    assert window.document is not None  # of a corpus
    hits = tuple(hit for hit in window.hits if span.start <= hit.start and hit.end <= span.end)
    return Window.cut(window.document, span.start, span.end, score=window.score, hits=hits)
