"""What does a context look like as JSON? The same record from every surface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from brimful.assembly.context import Condensed, Context, Omitted
from brimful.assembly.matches import Match
from brimful.search.repair import Correction
from brimful.windows.window import Cluster, Coherence, Window


def context_record(context: Context, *, prices: int = 0) -> dict[str, object]:
    """A context with its citations and its account.

    `prices` is for how many of what was left out the budget is worked out at which it enters: each costs packings.
    """
    return {
        "question": context.question,
        "text": context.text,
        "payload": None if isinstance(context.payload, str) else context.payload,
        "tokens": context.tokens,
        "content_tokens": context.content_tokens,
        "budget": context.budget.available,
        "account": asdict(context.account),
        "model": context.model,
        "exact": context.exact,
        "format": context.format,
        "packing": context.packing,
        "truncated": context.truncated,
        "windows": [
            _window(*each) | {"filling": context.relevance is not None and context.relevance.is_filling(each[0])}
            for each in zip(context.windows, context.matches, strict=True)
        ],
        "clusters": [_cluster(each, context.windows) for each in context.clusters],
        "read": None if context.read is None else asdict(context.read),
        "relevance": None if context.relevance is None else asdict(context.relevance),
        "digests": [_digest(digest) for digest in context.digests],
        "receipt": context.receipt.id if context.receipt else None,
        "corrections": corrections_record(context.corrections),
        "omitted": [
            _omitted(each) | ({"enters_at": each.enters_at if number < prices else None} if prices else {})
            for number, each in enumerate(context.omitted)
        ],
    }


def corrections_record(corrections: Iterable[Correction]) -> list[dict[str, object]]:
    """Which words were searched for in place of others."""
    return [
        {
            "word": each.word.decode("utf-8", "replace"),
            "term": each.term.decode("utf-8", "replace"),
            "how": each.how,
            "distance": each.distance,
            "weight": each.weight,
        }
        for each in corrections
    ]


def _digest(digest: Condensed) -> dict[str, object]:
    return {
        "path": digest.path,
        "model": digest.model,
        "source": digest.source,
        "sentences": [
            {
                "start": span.start,
                "end": span.end,
                "text": digest.document.text(span.start, span.end),
                "sources": [[each.start, each.end] for each in sources],
            }
            for span, sources in digest.sentences
        ],
    }


def _coherence(coherence: Coherence) -> dict[str, object]:
    parts = [
        {"name": each.name, "value": each.value, "weight": each.weight, "why": each.why} for each in coherence.parts
    ]
    return {"score": coherence.score, "parts": parts}


def _cluster(cluster: Cluster, windows: Sequence[Window]) -> dict[str, object]:
    """A cluster, whose windows are named by their number in the context."""
    numbers = {window.id: number for number, window in enumerate(windows)}
    return {
        "strategy": cluster.strategy,
        "coherence": _coherence(cluster.coherence),
        "windows": [numbers[window.id] for window in cluster.windows],
    }


def _omitted(omitted: Omitted) -> dict[str, object]:
    window = omitted.window
    return {
        "path": window.path,
        "start": window.start,
        "end": window.end,
        "score": window.score,
        "reason": omitted.reason,
        "duplicate_of": omitted.duplicate_of,
    }


def _window(window: Window, found: Iterable[Match]) -> dict[str, object]:
    best = min(window.hits, key=lambda hit: hit.order, default=None)
    return {
        "path": window.path,
        "start": window.start,
        "end": window.end,
        "lines": window.lines,
        "length": len(window.document) if window.document else None,
        "score": window.score,
        "lexical": best.lexical if best else None,
        "semantic": best.semantic if best else None,
        "text": window.text,
        "terms": sorted({term for hit in window.hits for term in hit.terms}),
        "matches": [match._asdict() for match in found],
        "coherence": _coherence(window.coherence),
        "strategy": window.strategy,
        "also_in": list(window.also_in),
    }
