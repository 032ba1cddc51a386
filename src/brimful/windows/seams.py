"""What does a window need from elsewhere in its document in order to be understood?"""

from __future__ import annotations

from collections.abc import Iterable

from brimful.corpus.documents import Document
from brimful.text.definitions import used_definitions
from brimful.text.spans import Span
from brimful.windows.window import Seam, SeamKind


def seams_for(document: Document, span: Span, *, definitions: bool = False) -> tuple[Seam, ...]:
    """Enclosing signatures and (when asked) used definitions of code, the header row of a table.

    Only what stands outside the span, in reading order, each range once.
    """
    if document.kind == "data":
        header = document.outline.header
        return _seams(document, span, [("header", *header)] if header else [])
    if document.kind != "code":
        return ()
    found: list[tuple[SeamKind, int, int]] = [
        ("signature", block.signature_start, block.signature_end)
        for block in document.outline.enclosing(span.start, span.end)
        if block.kind in ("function", "class")
    ]
    if definitions and document.language:
        names = used_definitions(document.content, span.start, span.end, language=document.language)
        found.extend(("definition", name.start, name.end) for name in names)
    return _seams(document, span, found)


def _seams(document: Document, span: Span, found: Iterable[tuple[SeamKind, int, int]]) -> tuple[Seam, ...]:
    seams: list[Seam] = []
    for kind, start, end in sorted(set(found), key=lambda seam: (seam[1], -seam[2], seam[0])):
        outside = end <= span.start or start >= span.end
        if outside and end > start and not (seams and end <= seams[-1].end):
            seams.append(Seam(kind, start, end, document.text(start, end)))
    return tuple(seams)
