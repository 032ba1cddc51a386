"""Does coherence tell windows that were cut from whole ones? Each window is shown as it is and cut in four ways.

    python benchmarks/coherence.py SET … [--step N] [--out FILE]

A set is a folder that `brimful eval` reads. For windows of 2,000 tokens a question the mean coherence is printed: as
shown, moved to whole sections, cut in the middle of its first and last sentence, begun with its second unit, and
without its seams.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from shared.sets import dev_set

import brimful
from brimful.text.spans import Span
from brimful.windows.inflate import coherence_of
from brimful.windows.window import Window

BUDGET = 2_000
WAYS = ("shown", "whole", "inside", "second", "bare")


def variants(window: Window) -> dict[str, float]:
    """The coherence of a window and of worse and better ones at the same place."""
    document, span = window.document, window.span
    assert document is not None
    outline = document.outline
    whole = Span(outline.section_before(span.start), outline.section_after(span.end))
    third = max(len(span) // 5, 1)
    inside = Span(min(span.start + third, span.end - 1), max(span.end - third, span.start + 1))
    second = Span(min(outline.cut_after(span.start + 1), span.end - 1), span.end)
    spans = {"shown": span, "whole": whole, "inside": inside, "second": second}
    found = {name: coherence_of(document, each, window.seams).score for name, each in spans.items()}
    return found | {"bare": coherence_of(document, span).score}


def main() -> None:
    """Print one row for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--step", type=int, default=20)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    rows = []
    for place in chosen.sets:
        questions = dev_set(place)
        with tempfile.TemporaryDirectory() as folder, brimful.open(folder, embedder="none") as engine:
            engine.add_documents(questions.documents)
            scores: list[dict[str, float]] = []
            for question in questions.questions[:: chosen.step]:
                windows = engine.context(question.text, budget=BUDGET).windows
                scores += [variants(window) for window in windows if window.document and len(window.span) > 1]
        means = {way: round(sum(each[way] for each in scores) / max(len(scores), 1), 3) for way in WAYS}
        full = sum(each["shown"] == 1.0 for each in scores)
        row = {"set": place.name, "windows": len(scores), "perfect": full, **means}
        rows.append(row)
        print(row, flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
