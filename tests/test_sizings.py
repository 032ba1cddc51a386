"""The seeds' sizings through the engine: the budget is spent, each hit once, and what is left out is named."""

import pytest

import brimful
from brimful import Document, render
from brimful.errors import SettingError
from brimful.settings import AskSettings
from brimful.text.vocabularies import tokens_for

SIZINGS = ("density", "radial", "elastic")
PLACES = "Lisbon Porto Madrid Bilbao Lyon Paris Genoa Turin Bern Basel Linz Graz Prague Brno Gdansk".split()


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Many short notes about payments, each with the same words, and much about other things."""
    with brimful.open(tmp_path_factory.mktemp("store"), late="none") as engine:
        for number in range(60):
            place = PLACES[number % len(PLACES)]
            engine.add_text(
                f"notes/{number:02}.md",
                f"# Note {number}\n\nThe payment gateway in {place} had an outage on day {number}. "
                f"Payment number {number} was repeated by hand. The refund came {number} days later.\n\n"
                f"A customer in {place} wrote about the invoice. Nobody answered for {number} hours.\n",
            )
        chapters = (f"Chapter {n} of the ledger tells how a payment was kept." for n in range(200))
        engine.add_text("long.md", "\n\n".join(chapters))
        yield engine


@pytest.mark.parametrize("sizing", SIZINGS)
@pytest.mark.parametrize("budget", [500, 2_000])
@pytest.mark.parametrize("question", ["payment", "payment gateway", "payment gateway outage"])
@pytest.mark.seed("105 §2.2", "maximum useful context: the budget is spent", where="asking.py", ruling=3)
def test_the_budget_is_spent(engine, sizing, budget, question):
    """More words share the same budget: what merges and short documents save goes to further hits."""
    context = engine.context(question, budget=budget, sizing=sizing)
    assert context.tokens >= 0.98 * budget


@pytest.mark.parametrize("sizing", SIZINGS)
@pytest.mark.parametrize("fill", ["brim", "relevant"])
@pytest.mark.seed("CFS motivation", "auditable: what is left out is named", where="asking.py")
def test_what_is_dropped_is_named(engine, sizing, fill):
    """Every hit that was asked for is shown or left out for the budget's sake, and nothing that is left out fits."""
    context = engine.context("payment gateway outage", budget=300, sizing=sizing, fill=fill, top_k=40)
    hits = engine.search("payment gateway outage", limit=40, operators=False).hits
    hits = hits if fill == "brim" else [hit for hit in hits if 2 * hit.score >= hits[0].score]
    spans = [(each.path, each.start, each.end) for each in context.windows]
    spans += [(each.window.path, each.window.start, each.window.end) for each in context.omitted]
    for hit in hits:
        assert any(path == hit.path and start < hit.end and hit.start < end for path, start, end in spans)
    assert {each.reason for each in context.omitted} == {"budget"}
    room = context.budget.available - context.tokens
    assert room <= min(tokens_for(context.model).count(render([each.window])) for each in context.omitted)


@pytest.mark.parametrize("sizing", SIZINGS)
def test_relevant_adds_nothing(engine, sizing):
    """With `fill="relevant"` only hits above the end of relevance are shown, and no window passes its cap."""
    context = engine.context("gateway outage in Lisbon", budget=4_000, sizing=sizing, fill="relevant")
    assert context.tokens < 2_000
    assert all(not context.relevance.is_filling(window) for window in context.windows)


@pytest.mark.parametrize("fill", ["brim", "relevant"])
@pytest.mark.seed("085a §2.1", "the cap holds while filling", where="assembly/fill.py", ruling=26)
def test_the_cap_is_passed_by_whole_sections_only(engine, fill):
    """Ruling 26: no window of `density` is over 2,500 bytes, unless filling adds whole paragraphs."""
    for question in ("payment", "ledger chapter payment"):
        for window in engine.context(question, budget=3_000, sizing="density", fill=fill).windows:
            if len(window.span) > 2_500:
                assert fill == "brim"
                assert window.end in window.document.outline.sections


def shares(engine, question, *, budget=1_500, **choices):
    """How many bytes are shown around hits of the question's words, and around related ones."""
    context = engine.context(question, budget=budget, related=True, fill="relevant", **choices)
    asked = set(question.split())
    direct = sum(len(w.span) for w in context.windows if any(asked.intersection(hit.terms) for hit in w.hits))
    return direct, sum(len(w.span) for w in context.windows) - direct


@pytest.mark.parametrize("sizing", ["density", "elastic"])
@pytest.mark.seed("085b §5.5", "70/30 is what is shown", where="asking.py", ruling=13)
def test_seventy_thirty_is_what_is_shown(tmp_path, sizing):
    """085b §5.5: with enough of both, seven bytes of ten stand around the question's words."""
    with brimful.open(tmp_path, late="none") as engine:
        texts = {}
        for number in range(24):
            other = f"Day {number} passed and the harbour slept under a quiet moon while rain fell on every roof. " * 4
            texts[f"a{number:02}.md"] = f"The kettle number {number} is copper. {other}"
            texts[f"b{number:02}.md"] = f"A copper pan, number {number}, was polished. {other}"
            texts |= {f"{place}{number:02}.md": f"The road to {place}. {other}" for place in PLACES}
        engine.add_documents([Document(path, text) for path, text in texts.items()])
        direct, related = shares(engine, "kettle", sizing=sizing, budget=700)
        assert 0.6 <= direct / (direct + related) <= 0.8


def test_related_needs_pools():
    """The default sizing has no pools, and says so in place of ignoring the choice."""
    with pytest.raises(SettingError, match="choose sizing density, radial or elastic"):
        AskSettings(related=True)
