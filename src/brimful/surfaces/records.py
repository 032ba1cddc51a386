"""Results as JSON records, equal from every surface."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from brimful.assembly.context import Context
from brimful.assembly.explain import PRICED, Explanation
from brimful.assembly.showing import context_record, corrections_record
from brimful.budget import LARGEST
from brimful.choices import Choice
from brimful.corpus import Corpus
from brimful.documents.documents import Document, Hit
from brimful.documents.skips import Skipped
from brimful.engine import Engine
from brimful.receipts.receipt import Receipt
from brimful.results import ShownHit, ShownPassage, ShownPrior, as_record
from brimful.search.priors import ONE
from brimful.search.search import Found
from brimful.store.rows import Listed
from brimful.text.spans import Span, back_to_code_point
from brimful.windows.window import Window

if TYPE_CHECKING:
    from brimful.assembly.citing import Checked
    from brimful.assembly.outline_map import CorpusMap
    from brimful.densify.captures import Capture
    from brimful.densify.digest import Digest
    from brimful.ingest import Report
    from brimful.receipts.offline import Findings

Record = Mapping[str, object]


def as_json(record: Record) -> str:
    """Indented JSON in ASCII, keys in their order, with a line end."""
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"


def answer_record(context: Context, *, prices: int = 0) -> dict[str, object]:
    """A context of an engine and the state root that it was made from."""
    assert context.receipt is not None  # an engine gives every context one
    return {**context_record(context, prices=prices), "root": context.receipt.state_root}


def found_record(corpus: Corpus, results: Found) -> dict[str, object]:
    """The hits of a search, best first, with lines and text."""
    return {
        "hits": [_hit_record(corpus, hit) for hit in results.hits],
        "corrections": corrections_record(results.corrections),
        "census": dict(results.census),
        "missing": list(results.missing),
        "relevant": results.relevant,
    }


def _hit_record(corpus: Corpus, hit: Hit) -> dict[str, object]:
    place = (hit.path, hit.start, hit.end)
    lines, origins, text = corpus.lines(*place), corpus.origins(*place), corpus.text(*place)
    return as_record(ShownHit(*place, lines, origins, hit.score, tuple(hit.terms), text, hit.lexical, hit.semantic))


def explanation_record(explanation: Explanation) -> dict[str, object]:
    """How a question was understood, why each window is in, and at which budget the next ones enter."""
    answer = answer_record(explanation.context, prices=PRICED)
    windows = answer["windows"]
    assert isinstance(windows, list)
    for window, record in zip(explanation.context.windows, windows, strict=True):
        prior = explanation.prior(window)
        record["prior"] = None if prior is None else as_record(ShownPrior(prior.name, prior.thousandths / ONE))
    return {**answer, "census": dict(explanation.found.census)}


def cited_passage(corpus: Corpus, window: Window, *, most_bytes: int = LARGEST) -> dict[str, object]:
    """The passage of a citation, as `Corpus.cite` gives it."""
    assert window.document is not None  # of a store
    return passage_record(corpus, window.document, window.span, most_bytes=most_bytes)


def checked_record(checked: Checked) -> dict[str, object]:
    """The quotations and citations of an answer with their verdicts."""
    return {"holds": checked.holds, **asdict(checked)}


def passage_record(
    corpus: Corpus, document: Document, span: Span, *, most_bytes: int, around: int = 0
) -> dict[str, object]:
    """Whole characters of a document, `most_bytes` at most, and where it goes on; `around` widens both sides."""
    start = back_to_code_point(document.content, span.start - around)
    stop = back_to_code_point(document.content, span.end + around)
    end = min(stop, back_to_code_point(document.content, start + most_bytes))
    shown = ShownPassage(
        document.path,
        start,
        end,
        document.lines(start, end),
        corpus.origins(document.path, start, end),
        document.text(start, end),
        truncated=end < stop,
        next_start=end if end < len(document) else None,
        document_bytes=len(document),
        document_lines=document.line_count,
    )
    return as_record(shown)


def report_record(report: Report) -> dict[str, object]:
    """Counts of an `add`, and the files that it left out."""
    counts = {name: getattr(report, name) for name in ("added", "changed", "unchanged", "renamed", "removed")}
    return {**counts, "skipped": skips_record(report.skipped)}


def skips_record(skipped: Iterable[Skipped]) -> list[dict[str, object]]:
    """The files that were left out, with the reason."""
    return [asdict(each) for each in skipped]


def digest_record(digest: Digest) -> dict[str, object]:
    """A condensed text with its citations and its cost."""
    return {**asdict(digest), "complete": digest.is_complete}


def capture_record(capture: Capture) -> dict[str, object]:
    """A capture without its original text."""
    shown = ("name", "status", "model", "message", "path", "digest_path")
    return {
        **{name: getattr(capture, name) for name in shown},
        "original_bytes": len(capture.original),
        "digest": capture.digest,
        "sentences": [asdict(sentence) for sentence in capture.sentences],
    }


def captures_record(engine: Engine, *, after: str | None = None, limit: int) -> dict[str, object]:
    """`limit` captures by name after the one named; `last` is the last name if there are more."""
    captures = engine.captures()
    following = [capture for capture in captures if after is None or capture.name > after]
    page = [capture_record(capture) for capture in following[:limit]]
    return {"captures": page, "total": len(captures), "last": page[-1]["name"] if len(following) > limit else None}


def documents_record(engine: Engine, *, after: str | None = None, limit: int) -> dict[str, object]:
    """`limit` documents by path after the one named; `last` is the last path if there are more."""
    with engine.corpus() as corpus:
        documents = corpus.columns.documents
        start = 0 if after is None else bisect_right(documents.paths, after)
        page = [listed_record(documents.listed(row)) for row in range(start, min(start + limit, len(documents)))]
        last = page[-1]["path"] if page and start + limit < len(documents) else None
        return {"documents": page, "total": len(documents), "last": last, "root": corpus.root}


def listed_record(listed: Listed) -> dict[str, object]:
    """A document in a list, with its number of lines if that was counted."""
    return {name: value for name, value in listed._asdict().items() if name != "lines" or value is not None}


def map_record(drawn: CorpusMap) -> dict[str, object]:
    """A map of the corpus, with the numbers of files and names in it."""
    return asdict(drawn)


def findings_record(receipt: Receipt, findings: Findings, *, against: str) -> dict[str, object]:
    """The findings of a check, with what it compared and what it could not."""
    return {
        "receipt": receipt.id,
        "against": against,
        "verified": findings.verified,
        "findings": [asdict(each) for each in findings],
        "compared": list(findings.compared),
        "not_checked": list(findings.not_checked),
    }


def status_record(engine: Engine) -> dict[str, object]:
    """The size and the contents of a store in numbers."""
    with engine.corpus() as corpus:
        documents = corpus.columns.documents
        return {
            "store": str(engine.path),
            "store_bytes": engine.size_bytes,
            "root": corpus.root,
            "documents": len(documents),
            "bytes": int(documents.lengths.sum()),
            "kinds": dict(sorted(Counter(documents.kinds).items())),
            "places": list(engine.roots),
            "folders": engine.folders,
        }


def control_record(choice: Choice) -> dict[str, object]:
    """A choice of a question as a page needs it to draw a control."""
    shown = ("name", "kind", "low", "high", "unit", "default", "may_be_none", "common", "help")
    fields = {name: getattr(choice, name) for name in shown}
    return {**fields, "values": list(choice.names), "narrows": choice.searches and not choice.is_set}


def as_line(record: Record) -> str:
    """JSON on one line, for a stream of records."""
    return json.dumps(record, ensure_ascii=True) + "\n"
