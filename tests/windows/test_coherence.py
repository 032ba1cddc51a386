"""Coherence: what a reader would miss, for the window as it is shown."""

import pytest

from brimful import Document, Hit, Window, inflate, pack
from brimful.text.spans import Span
from brimful.windows.inflate import coherence_of
from brimful.windows.seams import seams_for

STORY = Document(
    "story.md",
    "# The brewery\n\nAda opened a brewery. She had studied engines. Nobody had asked.\n\n"
    "The first year went badly. It rained. Her barrels leaked.\n",
)
MODULE = Document("pot.py", "class Pot:\n    def fill(self):\n        total = 0\n        return total\n\n\nLIMIT = 3\n")
LOG = Document(
    "pump.log",
    "2026-01-01T08:00:00Z ERROR stuck\n2026-01-01T08:00:01Z ERROR gone\n2026-01-01T08:00:02Z INFO ok\n"
    "2026-03-01T08:00:00Z ERROR again\n",
)


def part(document, text, name, *, seams=True):
    """One part of the coherence of a piece of a document."""
    start = document.content.index(text.encode())
    span = Span(start, start + len(text.encode()))
    found = coherence_of(document, span, seams_for(document, span, trail_share=1) if seams else ())
    return {each.name: each.value for each in found.parts}[name]


def test_a_whole_document_lacks_nothing():
    """Nothing is cut, so nothing is missed."""
    for document in (STORY, MODULE):
        assert coherence_of(document, Span(0, len(document))).score == 1.0


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("edges", "She had studied engines. ", "had studied engines. "),
        ("blocks", "The first year went badly. It rained. Her barrels leaked.\n", "She had studied engines. "),
        ("antecedent", "Ada opened a brewery. ", "She had studied engines. "),
    ],
)
@pytest.mark.seed("085b requirements §1", "coherence_score: what a reader misses", where="windows/inflate.py")
def test_what_is_cut_off_is_missed(name, good, bad):
    """A cut sentence, a cut paragraph, a pronoun without its noun."""
    assert part(STORY, good, name) == 1.0
    assert part(STORY, bad, name) < 1.0


def test_a_heading_or_signature_above_is_missed():
    """Unless a seam shows it."""
    assert part(STORY, "It rained. Her barrels leaked.\n", "heading", seams=False) == 0.0
    assert part(STORY, "The first year went badly. It rained. Her barrels leaked.\n", "heading", seams=True) == 1.0
    assert part(MODULE, "        return total", "heading", seams=False) == 0.0
    assert part(MODULE, "        return total", "heading", seams=True) == 1.0
    assert part(MODULE, "LIMIT = 3\n", "heading", seams=False) == 1.0


def test_records_of_another_kind_or_time_do_not_belong():
    """A message of another level, and one of two months later."""
    errors, more, late = (Span(0, end) for end in (65, 94, len(LOG)))
    values = [{each.name: each.value for each in coherence_of(LOG, span).parts} for span in (errors, more, late)]
    assert [round(each["category"], 2) for each in values] == [1.0, 0.67, 0.75]
    assert [round(each["pauses"], 2) for each in values] == [1.0, 1.0, 0.67]


@pytest.mark.seed("085b requirements §1", "coherence of the window as it is shown", where="assembly/pack.py")
def test_it_is_that_of_the_window_as_it_is_shown():
    """Growing to the brim mends a window that was cut, and trimming breaks one that was whole."""
    start = STORY.content.index(b"studied")
    cut = Window.cut(STORY, start, start + 15, score=1.0, hits=(Hit("story.md", start, start + 15, 1.0),))
    (grown,) = pack([cut], budget=200).windows
    assert grown.coherence.score == 1.0
    (relevant,) = pack([cut], budget=200, fill="relevant").windows
    assert relevant.coherence == coherence_of(STORY, relevant.span, relevant.seams)
    assert relevant.coherence.score < 0.7
    whole = inflate([Hit("story.md", start, start + 15, 1.0)], [STORY])
    (trimmed,) = pack(whole, budget=16, fill="relevant").windows
    assert trimmed.coherence.score < whole[0].coherence.score == 1.0
