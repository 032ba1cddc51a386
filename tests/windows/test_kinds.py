"""What 085b §2 promises for each kind of content."""

import pytest

from brimful import Document, Hit, WindowSettings, inflate, pack
from brimful.text.spans import Span
from brimful.windows.cutting import records_in, snap

STORY = """# The brewery

Ada Lovelace opened a small brewery in Lisbon. She had studied engines before. Nobody had asked her to brew.

The first year went badly. It rained all summer. Her barrels leaked.
"""

MODULE = '''"""Pots and cups."""

import math
import os.path as paths

LIMIT = 98


def helper(level):
    return math.floor(level)


class Pot:
    """A pot."""

    def fill(self, cup):
        total = 0
        for part in cup.parts:
            total += helper(part)
            if total > LIMIT:
                raise OverflowError(total)
        return total

    def empty(self):
        return 0
'''

TABLE = """time,category,amount
2026-01-01T08:00:00Z,tea,1
2026-01-01T09:00:00Z,tea,2
2026-01-01T10:00:00Z,coffee,3
2026-01-01T11:00:00Z,coffee,4
2026-01-01T12:00:00Z,tea,5
"""


def hit(document, text, score=1.0):
    """The hit on a piece of a document."""
    return Hit.of(document, text, score=score)


@pytest.mark.seed("085b §2", "prose: the subject stays clear", where="windows/cutting.py")
def test_prose_keeps_the_antecedent_of_a_pronoun():
    """A window that would open with "She" reaches back to Ada."""
    page = Document("story.md", STORY)
    found = hit(page, "studied engines")
    sentence = Span(page.outline.cut_before(found.start), page.outline.cut_after(found.end))
    assert page.text(sentence.start, sentence.end).startswith("She had studied")
    whole = snap(page, sentence, Span(found.start, found.end))
    assert page.text(whole.start, whole.end).startswith("Ada Lovelace opened")
    (window,) = inflate([found], [page], max_bytes=100)
    assert window.text.startswith("Ada Lovelace opened")
    assert "She had studied engines before." in window.text


@pytest.mark.seed("085b §2", "prose: whole sentences and paragraphs", where="windows/cutting.py")
def test_prose_windows_are_whole_sentences():
    """Edges are sentence ends, and the coherence says so."""
    page = Document("story.md", STORY)
    (window,) = inflate([hit(page, "barrels")], [page], max_bytes=60)
    assert window.text.strip().endswith("Her barrels leaked.")
    assert {part.name: part.value for part in window.coherence.parts}["edges"] == 1.0


@pytest.mark.seed("085b §2", "code: function and class around a piece are shown", where="windows/seams.py")
def test_code_keeps_the_enclosing_signature():
    """Lines from the middle of a method come with the class and the method they belong to."""
    page = Document("pots.py", MODULE)
    settings = WindowSettings(max_window_bytes=200)
    (window,) = inflate([hit(page, "total += helper(part)")], [page], max_bytes=80, settings=settings)
    assert "def fill" not in window.text
    assert [seam.text for seam in window.seams] == ["class Pot:", "def fill(self, cup):"]
    text = pack([window], budget=200, fill="relevant").text
    assert "[IN: class Pot: > def fill(self, cup):]\n" in text


@pytest.mark.seed(
    "085b §5.3", "code: expand to the function where possible, indentation kept", where="windows/cutting.py"
)
def test_code_shows_the_whole_function_where_it_fits():
    """085b §5.3: expand to function boundaries where possible, indentation kept."""
    page = Document("pots.py", MODULE)
    (window,) = inflate([hit(page, "total += helper(part)")], [page], budget=100)
    assert window.text.startswith("    def fill(self, cup):\n        total = 0\n")
    assert window.text.rstrip().endswith("return total")


@pytest.mark.seed("085b §2", "code: scope of the names that a piece uses", where="windows/seams.py")
def test_code_shows_definitions_and_imports_when_asked():
    """The import and the definitions behind the names that a window uses."""
    page = Document("pots.py", MODULE)
    settings = WindowSettings(definitions=True)
    (window,) = inflate([hit(page, "total += helper(part)")], [page], max_bytes=220, settings=settings)
    shown = {seam.text for seam in window.seams if seam.kind == "definition"}
    assert any("def helper(level):" in text for text in shown)
    assert any(text.startswith("LIMIT = 98") for text in shown)
    assert not any("paths" in text for text in shown)
    (plain,) = inflate([hit(page, "total += helper(part)")], [page], max_bytes=220)
    assert not any(seam.kind == "definition" for seam in plain.seams)


@pytest.mark.seed("085b §2", "data: related points of one source", where="windows/seams.py")
def test_data_windows_are_whole_records_with_their_header():
    """A row is never cut, and its header row comes along."""
    page = Document("sales.csv", TABLE)
    (window,) = inflate([hit(page, "coffee,3")], [page], max_bytes=40)
    assert window.text == "2026-01-01T10:00:00Z,coffee,3\n"
    assert [seam.text for seam in window.seams] == ["time,category,amount"]


@pytest.mark.seed("085b §2", "data: temporal relations are kept", where="assembly/select.py")
def test_data_keeps_time_order():
    """Records stand in the order of their times, however the hits were ranked; a window knows its time."""
    page = Document("sales.csv", TABLE)
    hits = [hit(page, "tea,5", 0.9), hit(page, "tea,1", 0.1), hit(page, "coffee,3", 0.5)]
    context = pack(inflate(hits, [page], max_bytes=450), budget=300, fill="relevant")
    times = [window.time for window in context.windows]
    assert times == sorted(times)
    assert times[0] == 1_767_254_400  # 2026-01-01T08:00:00Z


def test_data_keeps_the_category_of_records():
    """Two tea records with coffee between them stay two windows; neither takes coffee along."""
    page = Document("sales.csv", TABLE)
    hits = [hit(page, "tea,2"), hit(page, "tea,5")]
    windows = inflate(hits, [page], max_bytes=400)
    assert sorted(window.text for window in windows) == [
        "2026-01-01T12:00:00Z,tea,5\n",
        "time,category,amount\n2026-01-01T08:00:00Z,tea,1\n2026-01-01T09:00:00Z,tea,2\n",
    ]


LOG = "".join(
    f"2026-01-01T08:00:{second:02}Z {level} message number {second} of the pump\n"
    for second, level in enumerate("INFO ERROR INFO INFO ERROR INFO INFO ERROR ERROR INFO".split())
)


@pytest.mark.parametrize("sizing", ["density", "radial", "elastic", "field"])
@pytest.mark.seed("085b §2", "data: records of one category", where="windows/cutting.py")
def test_data_stops_at_the_first_foreign_record(sizing):
    """An error takes the errors beside it along, and no message of another level, whatever stands behind that."""
    page = Document("pump.log", LOG)
    (window,) = inflate([hit(page, "ERROR message number 4 of the pump")], [page], budget=200, sizing=sizing)
    assert {record.category for record in records_in(page, window.span)} == {"ERROR"}
    assert "number 4 " in window.text


@pytest.mark.parametrize("sizing", ["density", "radial", "elastic", "field"])
@pytest.mark.seed("085b §2", "data: no gap with another category in it is bridged", where="windows/cutting.py")
def test_data_bridges_no_foreign_record(sizing):
    """Two errors with a short message of another level between them stay two windows."""
    page = Document("pump.log", "10:00:00 ERROR pump stuck\n10:00:01 INFO ok\n10:00:02 ERROR pump gone\n")
    hits = [hit(page, "10:00:00 ERROR pump stuck\n"), hit(page, "10:00:02 ERROR pump gone\n")]
    windows = inflate(hits, [page], budget=200, sizing=sizing)
    assert len(windows) == 2
    assert not any("INFO" in window.text for window in windows)


@pytest.mark.parametrize("sizing", ["density", "radial", "elastic"])
@pytest.mark.parametrize("indent", ["  ", "        "])
@pytest.mark.seed("085b §5.3", "code: white space does not count in the choice", where="windows/cutting.py", ruling=5)
def test_white_space_does_not_steer_the_choice_in_code(sizing, indent):
    """085b §5.3: the same statements are chosen, however deep the code is indented."""

    def module(indent):
        lines = [f"{indent}step_{n} = prepare(step_{n - 1})" for n in range(1, 200)]
        return "def brew(step_0):\n" + "\n".join(lines) + "\n"

    def chosen(indent):
        page = Document("brew.py", module(indent))
        (window,) = inflate([hit(page, "step_30 = prepare")], [page], budget=200, sizing=sizing)
        return [line.strip() for line in window.text.splitlines() if line.strip()]

    assert chosen(indent) == chosen("    ")
    assert 3 < len(chosen(indent)) < 199
