"""What would a reader of a window miss? Its coherence says so, reason by reason (085b coherence_score).

The beginning of a sentence, the rest of a paragraph or function, what a pronoun means, the heading or signature above,
and in data records of one kind that follow each other. All of it is read off the bytes that are shown, so it holds for
the window as it is shown: filling a budget changes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from brimful.corpus.documents import Document
from brimful.text.outline import Block, Record
from brimful.text.prose import refers_back
from brimful.text.spans import Span
from brimful.windows.cutting import records_in
from brimful.windows.seams import Seam
from brimful.windows.window import Coherence

PAUSE_SECONDS = 3_600
"""Records further apart in time do not follow each other."""


def coherence_of(document: Document, span: Span, seams: Sequence[Seam] = ()) -> Coherence:
    """How well a reader understands these bytes by themselves, with the seams above them.

    >>> page = Document("tea.md", "Tea came late. It was cold.\\n\\nCoffee came first.")
    >>> [coherence_of(page, span).score for span in (Span(0, 47), Span(15, 29), Span(4, 20))]
    [1.0, 0.5714, 0.4285]
    """
    outline = document.outline
    edges = (span.start, span.end)
    units = sum(outline.cut_before(edge) == edge for edge in edges)
    sections = sum(outline.section_before(edge) == edge for edge in edges)
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
    times = [record.time for record in records if record.time is not None]
    pairs = list(pairwise(times))
    return sum(abs(later - earlier) <= PAUSE_SECONDS for earlier, later in pairs) / len(pairs) if pairs else 1.0
