"""Bad input: each a typed error that names the value."""

import math

import pytest

import brimful
from brimful import Budget, Cluster, Document, Hit, Window, WindowSettings, dedupe, inflate, pack, parse, tokens_for
from brimful.errors import (
    BudgetError,
    ChoiceError,
    DocumentError,
    FormatError,
    InputError,
    ScoreError,
    SettingError,
    SpanError,
    UnknownModelError,
)

PAGE = Document("page.md", "One. Two. Three.")


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, "high", None, True])
def test_scores(score):
    """A score that has no place in an order is refused where it appears."""
    for make in (lambda: Hit("page.md", 0, 3, score), lambda: Window("page.md", "One", score=score)):
        with pytest.raises(ScoreError, match=str(score).replace("-", ".")):
            make()


@pytest.mark.parametrize(("start", "end"), [(-2, 3), (5, 4), (0, 17), (17, 18), (1.5, 3), ("0", 3)])
def test_spans(start, end):
    """A span outside its document names both numbers and the document's length."""
    with pytest.raises(SpanError, match=str(start).replace("-", ".")):
        inflate([Hit("page.md", start, end, 1.0)], [PAGE])


@pytest.mark.parametrize("budget", [0, -5, 10**12, 1.5, "4000", True, None])
def test_budgets(budget):
    """Nothing, less than nothing, absurdly much, or not a number."""
    with pytest.raises(BudgetError):
        pack([Window("a", "x")], budget=budget)


@pytest.mark.parametrize(
    "arguments",
    [{"total": 800}, {"total": 600}, {"total": 1_000, "reserved_response": 900}, {"total": 100, "reserved_query": -1}],
)
def test_reserves(arguments):
    """Reserves that eat the budget, with what to change."""
    with pytest.raises(BudgetError, match=r"raise total or lower the reserves|negative"):
        Budget(**arguments)


@pytest.mark.parametrize(
    ("call", "close"),
    [
        (lambda: inflate([], [], sizing="densty"), "density"),
        (lambda: inflate([], [], strategy="semantc"), "semantic"),
        (lambda: pack([], budget=10, packing="gredy"), "greedy"),
        (lambda: pack([], budget=10, format="markdwn"), "markdown"),
        (lambda: pack([], budget=10, fill="brimm"), "brim"),
        (lambda: pack([], budget=10, order="end"), "ends"),
        (lambda: Document("a", "b", kind="poetry"), "prose"),
        (lambda: parse("", format="jsn"), "json"),
    ],
)
def test_choices(call, close):
    """An unknown name is answered with close ones and the whole list."""
    with pytest.raises(ChoiceError, match=close):
        call()


def test_models():
    """An unknown model is answered with close names."""
    with pytest.raises(UnknownModelError, match="gpt-4o"):
        tokens_for("gtp-4o")


@pytest.mark.parametrize(
    "settings",
    [
        {"max_window_bytes": 0},
        {"max_window_bytes": 1_000.5},
    ],
)
def test_settings(settings):
    """A number out of its range names the setting."""
    with pytest.raises(SettingError, match=next(iter(settings))):
        WindowSettings(**settings)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan])
def test_thresholds(threshold):
    """A share above everything or below nothing is refused."""
    with pytest.raises(SettingError):
        dedupe([], threshold=threshold)


@pytest.mark.parametrize("max_bytes", [0, -1, 1.5, True])
def test_max_bytes(max_bytes):
    """A byte limit is a whole number of at least one."""
    with pytest.raises(BudgetError, match="max_bytes"):
        inflate([], [], max_bytes=max_bytes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Document("", "text"),
        lambda: Document("a", b"caf\xe9"),
        lambda: Document("a", "lone \ud800 surrogate"),
        lambda: Document("a\ud800", "text"),
        lambda: Document("a", 5),
        lambda: Document("a", "text", time=1.5),
        lambda: Window("", "text"),
        lambda: Window("a", "lone \ud800"),
        lambda: Document("a", "text", time=1_700_000_000_000),
        lambda: Document("a", "text", entities="Bob"),
        lambda: Window("a", b"text"),
        lambda: Window("a", "text", sequence="1"),
        lambda: Window("a\ud800", "text"),
        lambda: Hit(3, 0, 1, 1.0),
        lambda: Hit("a", 0, 1, 1.0, time="2020"),
        lambda: inflate([Hit("other.md", 0, 1, 1.0)], [PAGE]),
        lambda: inflate([], [PAGE, Document("page.md", "something else")]),
        lambda: inflate(["page.md"], [PAGE]),
        lambda: inflate([], ["page.md"]),
    ],
)
def test_documents(make):
    """Bytes that are not UTF-8, missing and doubled documents, wrong types."""
    with pytest.raises(DocumentError):
        make()


def test_a_window_that_does_not_match_its_range():
    """Text and range must agree."""
    with pytest.raises(SpanError, match="holds 3 bytes"):
        Window("a", "abc", 0, 5)


def test_wrong_things_to_pack():
    """Plain strings are not windows, and the message says how to make one."""
    with pytest.raises(InputError, match="Window"):
        pack(["text"], budget=10)


def test_text_that_is_not_in_the_document():
    """A piece that a splitter rewrote can't be cited."""
    with pytest.raises(SpanError, match="does not hold"):
        Hit.of(PAGE, "Four.")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("no header", "plain"),
        ("{", "json"),
        ('{"documents":[{}]}', "json"),
        ("<context>", "xml"),
        ("<!DOCTYPE x><context/>", "xml"),
        ("```text\nx\n```\n", "markdown"),
        ("### a\n\nloose words\n", "markdown"),
        ([{"type": "text"}], "anthropic"),
        ("text", "anthropic"),
        ([{"role": "user", "content": 5}], "messages"),
        (["x"], "messages"),
        ("[DOC: a]\n[SPAN: foo]\nx\n", "plain"),
        ("<context><document><window>x</window></document></context>", "xml"),
        ('{"documents":[{"path":"a","windows":[{"text":"x","in":"y"}]}]}', "json"),
        ([{"type": "search_result", "source": "a", "content": [{}]}], "anthropic"),
    ],
)
def test_texts_that_are_not_ours(text, form):
    """What was not rendered here is not guessed at."""
    with pytest.raises(FormatError):
        parse(text, format=form)


def test_everything_is_a_brimful_error_and_a_value_error():
    """One except clause catches all of it; old habits work too."""
    with pytest.raises(brimful.BrimfulError):
        Budget(1)
    with pytest.raises(ValueError, match="leaves nothing"):
        Budget(1)


def test_nothing_in_nothing_out():
    """No hits and no windows give an empty text, not an error."""
    assert inflate([], []).windows == ()
    for form in ("plain", "markdown", "xml", "json", "messages", "anthropic"):
        context = pack([], budget=10, format=form)
        assert (context.text, context.tokens, context.windows, context.payload or "") == ("", 0, (), "")
        assert parse(context) == ()


def test_clusters_pack_like_windows():
    """A cluster made by hand is welcome too."""
    window = Window("a.md", "Tea.")
    context = pack([Cluster((window,), "temporal", window.coherence)], budget=50)
    assert context.text == "[DOC: a.md]\nTea.\n"


def test_a_range_that_cuts_a_character(tmp_path):
    """Text of a document between two bytes, one of which lies inside a character: the error names the range."""
    with brimful.open(tmp_path / "a.db") as engine:
        engine.add_text("tea.md", "Grüner Tee.\n")
        assert engine.text("tea.md", 0, 4) == "Grü"
        with pytest.raises(SpanError, match=r"bytes 3 to 6 of 'tea\.md' cut a character"):
            engine.text("tea.md", 3, 6)
