"""The seeds' sizings through the engine: the budget is spent, each hit once, and what is left out is named."""

import random

import pytest

import brimful
from brimful import Document, render
from brimful.errors import SettingError
from brimful.settings import AskSettings, WindowSettings
from brimful.text.vocabularies import tokens_for

SIZINGS = ("density", "radial", "elastic")
PLACES = "Lisbon Porto Madrid Bilbao Lyon Paris Genoa Turin Bern Basel Linz Graz Prague Brno Gdansk".split()


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Many short notes about payments, each with the same words, and much about other things."""
    with brimful.open(tmp_path_factory.mktemp("store"), embedder="none") as engine:
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
@pytest.mark.seed("105 §2.2", "maximum useful context: the budget is spent", where="building.py", ruling=3)
def test_the_budget_is_spent(engine, sizing, budget, question):
    """More words share the same budget: what merges and short documents save goes to further hits."""
    context = engine.context(question, budget=budget, sizing=sizing)
    assert context.tokens >= 0.98 * budget


@pytest.mark.parametrize("sizing", SIZINGS)
@pytest.mark.parametrize("fill", ["brim", "relevant"])
@pytest.mark.seed("CFS motivation", "auditable: what is left out is named", where="building.py")
def test_what_is_dropped_is_named(engine, sizing, fill):
    """Every hit that was asked for is shown or left out for the budget's sake, and nothing that is left out fits."""
    context = engine.context("payment gateway outage", budget=300, sizing=sizing, fill=fill, top_k=40)
    found = engine.search("payment gateway outage", limit=40, operators=False)
    hits = found.hits if fill == "brim" else found.hits[: found.relevant]
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
    assert all(not window.filling for window in context.windows)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Generated pages, code and tables: paragraphs of one to forty sentences, lists, headings, functions."""
    chance = random.Random(26)
    said = [*PLACES, "payment", "gateway", "outage", "ledger", "refund"]

    def sentence():
        return " ".join(chance.choices(said, k=chance.randrange(4, 16))).capitalize() + ". "

    def paragraph():
        return "".join(sentence() for _ in range(chance.choice((1, 2, 3, 5, 40)))).rstrip() + "\n\n"

    def items():
        return "These are known:\n\n" + "".join(f"- {sentence()}\n" for _ in range(chance.randrange(2, 9))) + "\n"

    def page():
        parts = (chance.choice((paragraph, paragraph, items, lambda: f"## {sentence()}\n\n"))() for _ in range(30))
        return "# Page\n\n" + "".join(parts)

    def code():
        names = (chance.choice(said).lower() for _ in range(20))
        lines = (f'    {name} = "{sentence()}"\n' * chance.randrange(1, 12) for name in names)
        return "".join(f"def about_{n}():\n{body}\n\n" for n, body in enumerate(lines))

    def rows():
        levels = (chance.choice(("INFO", "ERROR")) for _ in range(200))
        return "level,text\n" + "".join(f"{level},{sentence()}\n" for level in levels)

    with brimful.open(tmp_path_factory.mktemp("pages"), embedder="none") as engine:
        texts = {f"{n}.md": page() for n in range(6)} | {"a.py": code(), "b.py": code(), "rows.csv": rows()}
        engine.add_documents([Document(path, text) for path, text in texts.items()])
        yield engine


def ends_a_section(document, edge):
    """Whether a section ends here, and with it a line."""
    ends_a_line = edge in (0, len(document)) or document.content[edge - 1 : edge] == b"\n"
    return edge in document.outline.sections and ends_a_line


@pytest.mark.parametrize("sizing", SIZINGS)
@pytest.mark.parametrize("fill", ["brim", "relevant"])
@pytest.mark.seed("085a §2.1", "the cap holds while filling", where="assembly/fill.py", ruling=26)
def test_the_cap_is_passed_by_whole_sections_only(pages, sizing, fill):
    """Ruling 26: a window is over the cap only where filling to the brim has made it begin and end with a section."""
    cap = 700
    windows = type("Capped", (WindowSettings,), {"max_radius_bytes": cap // 2})(max_window_bytes=cap)
    for question in ("payment", "gateway outage in Lisbon", "ledger refund Bern", "about_3 payment"):
        for budget in (300, 1_000, 4_000):
            context = pages.context(question, budget=budget, sizing=sizing, fill=fill, windows=windows)
            longer = [window for window in context.windows if len(window.span) > cap and sizing != "radial"]
            for window in longer:
                assert fill == "brim", (window.path, window.start, window.end, len(window.hits))
                edges = [ends_a_section(window.document, edge) for edge in (window.start, window.end)]
                assert edges == [True, True], (window.path, window.start, window.end, len(window.hits))


def shares(engine, question, *, budget=1_500, **choices):
    """How many bytes are shown around hits of the question's words, and around related ones."""
    context = engine.context(question, budget=budget, related=True, fill="relevant", **choices)
    asked = set(question.split())
    direct = sum(len(w.span) for w in context.windows if any(asked.intersection(hit.terms) for hit in w.hits))
    return direct, sum(len(w.span) for w in context.windows) - direct


@pytest.mark.parametrize("sizing", ["density", "elastic"])
@pytest.mark.seed("085b §5.5", "70/30 is what is shown", where="building.py", ruling=13)
def test_seventy_thirty_is_what_is_shown(tmp_path, sizing):
    """085b §5.5: with enough of both, seven bytes of ten stand around the question's words."""
    with brimful.open(tmp_path, embedder="none") as engine:
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


@pytest.mark.seed("105 §5", "massive, coherent blocks in large budgets", where="windows/cutoff.py")
def test_large_budgets_show_blocks(pages):
    """The best windows of a large budget are long, and few of all are scraps."""

    def sizes(budget):
        windows = [
            window
            for question in ("gateway Lisbon", "ledger refund Bern")
            for window in pages.context(question, budget=budget).windows
            if window.path != "rows.csv"  # a row is whole, however short
        ]
        return [len(window.span) for window in sorted(windows, key=lambda window: -window.score)]

    large, small = sizes(12_000), sizes(500)
    assert sum(size < 150 for size in large) < 0.02 * len(large)
    assert sum(large[:4]) > 2 * sum(small[:4])


def fitting(context):
    """What a context leaves out for the budget's sake though it would fit, with a header of its own."""
    room, count = context.budget.available - context.tokens, tokens_for(context.model).count
    return [each for each in context.omitted if each.reason == "budget" and count(render([each.window])) <= room]


@pytest.mark.parametrize("sizing", ["field", *SIZINGS])
def test_no_room_is_left_for_what_is_left_out(engine, sizing):
    """Filled to the brim, no sizing leaves out what fits."""
    for budget in (400, 600):
        assert not fitting(engine.context("ledger payment", budget=budget, sizing=sizing))
