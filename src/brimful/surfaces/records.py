"""What does a result look like as JSON? The same record from every surface."""

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
from brimful.choices import Choice
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

if TYPE_CHECKING:  # loaded only when it is asked for
    from brimful.assembly.citing import Checked
    from brimful.assembly.outline_map import CorpusMap
    from brimful.densify.captures import Capture
    from brimful.densify.digest import Digest
    from brimful.ingest import Report
    from brimful.receipts.offline import Findings

Record = Mapping[str, object]


def as_json(record: Record) -> str:
    """One JSON object, indented, with a line's end; keys keep their order, and every character survives a terminal."""
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"


def answer_record(context: Context, *, prices: int = 0) -> dict[str, object]:
    """A context of an engine and the state root that it was made from."""
    assert context.receipt is not None  # an engine gives every context one
    return {**context_record(context, prices=prices), "root": context.receipt.state_root}


def found_record(engine: Engine, found: Found) -> dict[str, object]:
    """What a search found, best first, with lines and text."""
    with engine.corpus():
        return {
            "hits": [_hit_record(engine, hit) for hit in found.hits],
            "corrections": corrections_record(found.corrections),
            "census": dict(found.census),
            "missing": list(found.missing),
            "relevant": found.relevant,
        }


def _hit_record(engine: Engine, hit: Hit) -> dict[str, object]:
    """A hit with its lines and its text."""
    place = (hit.path, hit.start, hit.end)
    lines, origins, text = engine.lines(*place), engine.origins(*place), engine.text(*place)
    return as_record(ShownHit(*place, lines, origins, hit.score, tuple(hit.terms), text, hit.lexical, hit.semantic))


def explanation_record(explanation: Explanation) -> dict[str, object]:
    """How a question was understood, why each window is in, and at which budget the next ones enter."""
    answer = answer_record(explanation.context, prices=PRICED)
    windows = answer["windows"]
    assert isinstance(windows, list)
    for window, each in zip(explanation.context.windows, windows, strict=True):
        prior = explanation.prior(window)
        each["prior"] = None if prior is None else as_record(ShownPrior(prior.name, prior.thousandths / ONE))
    return {**answer, "census": dict(explanation.found.census)}


def cited_passage(engine: Engine, cited: Window) -> dict[str, object]:
    """What a citation names: all of it."""
    assert cited.document is not None
    return passage_record(engine, cited.document, cited.span, most_bytes=len(cited.document))


def checked_record(checked: Checked) -> dict[str, object]:
    """What an answer quotes and cites, and whether it stands."""
    return {"holds": checked.holds, **asdict(checked)}


def passage_record(
    engine: Engine, document: Document, wanted: Span, *, most_bytes: int, around: int = 0
) -> dict[str, object]:
    """A stretch of a document, whole characters and at most so many bytes, with where the document goes on.

    `around` adds so many bytes on both sides, as far as the document goes.
    """
    start = back_to_code_point(document.content, wanted.start - around)
    asked = back_to_code_point(document.content, wanted.end + around)
    end = min(asked, back_to_code_point(document.content, start + most_bytes))
    shown = ShownPassage(
        document.path,
        start,
        end,
        document.lines(start, end),
        engine.origins(document.path, start, end),
        document.text(start, end),
        truncated=end < asked,
        next_start=end if end < len(document) else None,
        document_bytes=len(document),
        document_lines=document.line_count,
    )
    return as_record(shown)


def report_record(report: Report) -> dict[str, object]:
    """What adding did, file by file."""
    counts = {name: getattr(report, name) for name in ("added", "changed", "unchanged", "renamed", "removed")}
    return {**counts, "skipped": skips_record(report.skipped)}


def skips_record(skipped: Iterable[Skipped]) -> list[dict[str, object]]:
    """What was left out, and why."""
    return [asdict(each) for each in skipped]


def digest_record(digest: Digest) -> dict[str, object]:
    """A condensed text with its citations and its cost."""
    return {**asdict(digest), "complete": digest.is_complete}


def capture_record(capture: Capture) -> dict[str, object]:
    """A capture without its original, and the paths of its document and of its digest, if that has one."""
    shown = ("name", "status", "model", "message", "path", "digest_path")
    return {
        **{name: getattr(capture, name) for name in shown},
        "original_bytes": len(capture.original),
        "digest": capture.digest,
        "sentences": [asdict(sentence) for sentence in capture.sentences],
    }


def captures_record(engine: Engine, *, after: str | None = None, limit: int) -> dict[str, object]:
    """So many captures by name, after the one that is named; `last` names the last where there are more."""
    found = engine.captures()
    rest = [each for each in found if after is None or each.name > after]
    page = [capture_record(each) for each in rest[:limit]]
    return {"captures": page, "total": len(found), "last": page[-1]["name"] if len(rest) > limit else None}


def documents_record(engine: Engine, *, after: str | None = None, limit: int) -> dict[str, object]:
    """So many documents by path, after the one that is named; `last` names the last where there are more."""
    with engine.corpus():
        known = engine.columns.documents
        start = 0 if after is None else bisect_right(known.paths, after)
        rows = range(start, min(start + limit, len(known)))
        page = [listed_record(known.listed(row)) for row in rows]
        more = bool(page) and start + limit < len(known)
        return {
            "documents": page,
            "total": len(known),
            "last": page[-1]["path"] if more else None,
            "root": engine.root,
        }


def listed_record(listed: Listed) -> dict[str, object]:
    """A document in a list, with its lines where they were counted."""
    return {name: value for name, value in listed._asdict().items() if name != "lines" or value is not None}


def map_record(drawn: CorpusMap) -> dict[str, object]:
    """A map of the corpus, and how much of it is named."""
    return asdict(drawn)


def findings_record(receipt: Receipt, findings: Findings, *, against: str) -> dict[str, object]:
    """What a check of a receipt found, what it compared and what it did not."""
    return {
        "receipt": receipt.id,
        "against": against,
        "verified": findings.verified,
        "findings": [asdict(each) for each in findings],
        "compared": list(findings.compared),
        "not_checked": list(findings.not_checked),
    }


def status_record(engine: Engine) -> dict[str, object]:
    """What a store holds."""
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
    """A choice of a question, for whoever draws a control for it."""
    shown = ("name", "kind", "low", "high", "unit", "default", "may_be_none", "common", "help")
    own = {name: getattr(choice, name) for name in shown}
    return {**own, "values": list(choice.names), "narrows": choice.searches and not choice.is_set}


def as_line(record: Record) -> str:
    """One JSON object on one line, for what comes one after the other."""
    return json.dumps(record, ensure_ascii=True) + "\n"
