"""What does a context look like as JSON? The same record from every surface."""

from __future__ import annotations

from collections.abc import Iterable

from brimful.assembly.context import Condensed, Context
from brimful.search.repair import Correction
from brimful.windows.window import Window


def context_record(context: Context) -> dict[str, object]:
    """A context with its citations and its account."""
    return {
        "question": context.question,
        "text": context.text,
        "payload": None if isinstance(context.payload, str) else context.payload,
        "tokens": context.tokens,
        "content_tokens": context.content_tokens,
        "budget": context.budget.available,
        "model": context.model,
        "exact": context.exact,
        "format": context.format,
        "packing": context.packing,
        "truncated": context.truncated,
        "windows": [_window(window) for window in context.windows],
        "digests": [_digest(digest) for digest in context.digests],
        "receipt": context.receipt.id if context.receipt else None,
        "corrections": corrections_record(context.corrections),
        "omitted": [
            {
                "path": each.window.path,
                "start": each.window.start,
                "end": each.window.end,
                "score": each.window.score,
                "reason": each.reason,
                "duplicate_of": each.duplicate_of,
            }
            for each in context.omitted
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


def _window(window: Window) -> dict[str, object]:
    return {
        "path": window.path,
        "start": window.start,
        "end": window.end,
        "lines": window.lines,
        "score": window.score,
        "text": window.text,
        "terms": sorted({term for hit in window.hits for term in hit.terms}),
    }
