"""How much evidence does a digest without a model keep, for its tokens? Against the lead and against first sentences.

Documents are cut into pieces; those that hold evidence of a question are condensed to a share of their tokens.
    python benchmarks/extract.py chroma qa_scifact
"""

import sys
from bisect import bisect_right
from itertools import pairwise

from shared.sets import find_shared

from brimful import Document, tokens_for
from brimful.densify.extractive import extract, join
from brimful.densify.plan import Slicer
from brimful.evaluation import read_set
from brimful.text.spans import Span

COUNTER = tokens_for("o200k_base")
PIECE_TOKENS, PIECES, PERCENTS = 2_000, 200, (10, 25)


def pieces(folder) -> list[tuple[Document, list[Span]]]:
    asked = read_set(folder)
    evidence: dict[str, set[tuple[int, int]]] = {}
    for place in (place for question in asked.questions for place in question.evidence):
        evidence.setdefault(place.path, set()).add((place.start, place.end))
    rows = []
    for document in sorted(asked.documents, key=lambda document: document.path):
        for part in Slicer(document, COUNTER).cut([Span(0, len(document))], PIECE_TOKENS):
            places = sorted(evidence.get(document.path, ()))
            inside = [Span(a - part.start, b - part.start) for a, b in places if part.start <= a and b <= part.end]
            if inside:
                rows.append((Document(document.path, document.text(part.start, part.end)), inside))
    step = max(len(rows) // PIECES, 1)
    return rows[::step][:PIECES]


def first_units(document: Document, tokens: int, *, by_section: bool) -> tuple[Span, ...]:
    """The first units, or the first of each section, then the second of each."""
    cuts = pairwise(document.outline.units.tolist())
    units = [Span(start, end) for start, end in cuts if document.text(start, end).strip()]
    sections = [bisect_right(document.outline.sections.tolist(), unit.start) for unit in units]
    ranks = [sections[:number].count(section) if by_section else 0 for number, section in enumerate(sections)]
    kept: tuple[Span, ...] = ()
    for _, unit in sorted(zip(ranks, units, strict=True)):
        if COUNTER.count(join(document, longer := tuple(sorted((*kept, unit))))) > tokens:
            break
        kept = longer
    return kept


WAYS = {
    "extractive:": lambda document, tokens: extract(document, tokens, counter=COUNTER),
    "lead": lambda document, tokens: first_units(document, tokens, by_section=False),
    "first of each section": lambda document, tokens: first_units(document, tokens, by_section=True),
}


def main() -> int:
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    print("| set | of the tokens | way | evidence kept | evidence a share of tokens |\n|---|---:|---|---:|---:|")
    for name in sys.argv[1:]:
        rows = pieces(shared / "data" / name)
        for percent in PERCENTS:
            for way, condense in WAYS.items():
                kept = total = sent = whole = 0
                for document, evidence in rows:
                    tokens = COUNTER.count(document.content.decode())
                    spans = condense(document, max(tokens * percent // 100, 16))
                    kept += sum(span.shared(place) for span in spans for place in evidence)
                    total += sum(map(len, evidence))
                    sent, whole = sent + COUNTER.count(join(document, spans)), whole + tokens
                share = kept / total
                print(f"| {name} | {percent} % | {way} | {share:.3f} | {share / (sent / whole):.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
