"""What an answer quotes and cites is found where it stands, and only there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brimful
from brimful import Document, InputError, SpanError, Window, pack, parse
from brimful.assembly.citing import MAX_ANSWER_BYTES, check_answer
from brimful.settings import FORMATS

TEXT = "".join(f"Line {n} of the tea book says {n * 7} cups.\n" for n in range(1, 61))
PAGE = Document("notes/tea.md", TEXT)


def windows(*lines):
    """Windows over ranges of lines."""
    spans = [PAGE.span_of_lines(*pair) for pair in lines]
    return [Window.cut(PAGE, span.start, span.end) for span in spans]


def verdicts(answer, shown):
    """The verdicts on quotations and on citations."""
    found = check_answer(answer, shown)
    return [each.verdict for each in found.quotations], [each.verdict for each in found.citations]


@pytest.mark.parametrize(
    ("answer", "quotations", "citations"),
    [
        ('"Line 12 of the tea book says 84 cups" (notes/tea.md:12)', ["stands"], ["shown"]),
        ("\u201cline 12 of   the tea book\u201d", ["stands"], []),
        ('"Line 12 of the tea book says 84 cups," it says.', ["stands"], []),
        ('"Line 12 of the tea book ... Line 14 of the tea" (notes/tea.md lines 12-14)', ["stands"], ["shown"]),
        ('"Line 14 of the tea book ... Line 12 of the tea"', ["missing"], []),
        ('"Line 12 of the tea book says 85 cups" (notes/tea.md:12)', ["missing"], ["shown"]),
        ('"Line 12 of the tea book says 84 cups" (notes/tea.md:20)', ["elsewhere"], ["shown"]),
        ('"Line 35 of the tea book says 245 cups" (notes/tea.md:35)', ["missing"], ["outside"]),
        ("see notes/tea.md#L12-L30, and other.md:3", [], ["shown", "unknown"]),
        ("lines 28 to 42: notes/tea.md:28-42", [], ["outside"]),
        ("> Line 40 of the tea book\n> says 280 cups.\n\n(notes/tea.md:40)", ["stands"], ["shown"]),
        ('the so-called "tea book" and "x"', [], []),
        ("at http://example.org:80/ or 12:30", [], []),
        ("notes/tea.md alone is no citation of lines", [], []),
    ],
)
def test_each_quotation_and_citation_has_its_verdict(answer, quotations, citations):
    """What stands, stands elsewhere or is missing; what is shown, outside or unknown."""
    assert verdicts(answer, windows((12, 30), (40, 52))) == (quotations, citations)


def test_places_are_lines_and_bytes():
    """A quotation's place is its own bytes, not the window's."""
    found = check_answer('"of the tea book says 91"', windows((12, 30)))
    (place,) = found.quotations[0].places
    assert (place.first_line, place.last_line, str(place)) == (13, 13, "notes/tea.md:13")
    assert PAGE.content[place.start : place.end] == b"of the tea book says 91"


def test_windows_that_stand_side_by_side_show_lines_together():
    """Lines that two windows share between them are shown."""
    assert verdicts("notes/tea.md:28-33", windows((12, 30), (31, 40))) == ([], ["shown"])


@given(st.integers(0, len(TEXT) - 40), st.integers(20, 300), st.booleans())
def test_whatever_is_copied_stands(start, size, joined):
    """Any stretch of a window, also with its lines joined, is found, at a place that has it."""
    said = TEXT[start : start + size].strip().strip('"')
    quoted = " ".join(said.split()) if joined else said
    found = check_answer(f'He says "{quoted}".', [Window.cut(PAGE, 0, len(PAGE))])
    for quotation in found.quotations:
        assert quotation.verdict == "stands"
        assert any(TEXT[each.start : each.end].split() == said.split() for each in quotation.places)


@given(st.text(max_size=200))
def test_any_answer_can_be_checked(answer):
    """No text makes it fail, and what is quoted is a part of it."""
    for quotation in check_answer(answer, windows((12, 30))).quotations:
        assert all(line.strip() in answer for line in quotation.text.split("\n"))


def test_an_answer_has_a_limit():
    """More than a megabyte is refused by name."""
    with pytest.raises(InputError, match="in parts"):
        check_answer("x" * (MAX_ANSWER_BYTES + 1), [])


@pytest.mark.parametrize("form", FORMATS)
def test_a_context_that_was_read_back_knows_its_lines(form):
    """From the text alone, in every format, quotations are found at the same lines."""
    context = pack(windows((12, 14), (40, 42)), budget=1_000, format=form, fill="relevant")
    answer = '"Line 41 of the tea book says 287 cups" (notes/tea.md:41)'
    assert context.check_answer(answer).holds
    found = check_answer(answer, parse(context))
    assert found.holds
    assert [each.first_line for each in found.quotations[0].places] == [41]


def test_a_receipt_is_checked_from_the_store(tmp_path):
    """Citations resolve to stored bytes, an answer is checked by its receipt, and what has changed is named."""
    with brimful.open(tmp_path) as engine:
        engine.add_text("notes/tea.md", TEXT)
        cited = engine.cite("notes/tea.md:12-13")
        assert (cited.text, cited.lines) == (TEXT[cited.start : cited.end], (12, 13))
        assert engine.cite("notes/tea.md").text == TEXT
        with pytest.raises(SpanError, match="has no lines 60-61"):
            engine.cite("notes/tea.md:60-61")
        context = engine.context("line 12 of the tea book", budget=120)
        answer = '"Line 12 of the tea book says 84 cups" (notes/tea.md:12)'
        assert engine.check_answer(answer, context.receipt).holds
        assert (
            engine.check_answer(answer, context.receipt.to_json()).quotations == context.check_answer(answer).quotations
        )
        engine.add_text("notes/tea.md", TEXT.replace("84", "85"))
        found = engine.check_answer(answer, context.receipt)
        assert not found.holds
        assert found.changed
