"""What a context says of itself beside its text: clusters, coherence, twins, the time of the run."""

import json

import pytest

import brimful
from brimful import Document
from brimful.receipts.receipt import Receipt
from brimful.settings import CFS

NOTES = {
    "a.md": "The copper kettle boils water quickly on the stove in the kitchen of the harbour house every morning.",
    "b.md": "A kettle of copper boils the water fast in that kitchen. The harbour house has a stove.",
    "c.md": "Parliament debated the kettle tax yesterday, and the vote on the budget failed by two voices.",
    "d.md": "Unrelated: the orchard grows pears, and the kettle drum was tuned before the concert began.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Four notes, two of them about the same."""
    with brimful.open(tmp_path_factory.mktemp("store"), embedder="none") as engine:
        engine.add_documents([Document(path, text) for path, text in NOTES.items()])
        yield engine


@pytest.mark.seed("085b §1", "semantically similar pieces are clustered, from question to answer", where="building.py")
def test_semantic_links_through_the_engine(engine):
    """Windows are compared by their words: the two notes about one kettle are linked, no other."""
    context = engine.context("kettle", budget=400, strategy="semantic", twin_threshold=None)
    assert [sorted(window.path for window in cluster.windows) for cluster in context.clusters] == [["a.md", "b.md"]]
    assert {window.path for window in context.windows if window.strategy == "semantic"} == {"a.md", "b.md"}


@pytest.mark.seed("085b requirements §1", "the result names strategy and coherence", where="assembly/showing.py")
def test_clusters_and_coherence_are_in_every_account(engine):
    """In the record, in the receipt and in the explanation."""
    choices = {"budget": 400, "strategy": "semantic", "twin_threshold": None}
    context = engine.context("kettle", **choices)
    record = json.loads(context.to_json())
    (cluster,) = record["clusters"]
    assert sorted(record["windows"][number]["path"] for number in cluster["windows"]) == ["a.md", "b.md"]
    assert {part["name"] for part in cluster["coherence"]["parts"]} == {"likeness", "windows"}
    assert all(part["why"] for part in cluster["coherence"]["parts"])
    assert all(0 <= window["coherence"]["score"] <= 1 for window in record["windows"])
    cited = {window.path: window for window in context.receipt.windows}
    assert cited["a.md"].cluster == cited["b.md"].cluster != cited["c.md"].cluster
    assert all(window.coherence is not None for window in cited.values())
    assert "semantic cluster 1, coherence" in str(engine.explain("kettle", **choices))


@pytest.mark.seed("CFS §11", "metadata: query hash, time, state root", where="receipts/receipt.py", ruling=10)
def test_the_time_of_the_run_is_outside_of_what_is_hashed(engine):
    """Ruling 10: it stands in the receipt, and the same answer at another time has the same id."""
    first = engine.context("kettle", budget=300).receipt
    assert first.run["time"] > 1_700_000_000
    engine._contexts.clear()
    shape = json.loads(engine.context("kettle", budget=300).receipt.to_json())
    shape["run"]["time"] = 1
    assert Receipt.from_json(json.dumps(shape)).id == first.id


@pytest.mark.seed("CFS §10", "duplicates are left out", where="assembly/dedupe.py", ruling=25)
def test_near_twins_are_shown_once_and_named(tmp_path):
    """Ruling 25: of nearly the same page in three documents the best is shown, and names the others."""
    page = "The pump in hall four must be bled every second week, by two people, with the main valve closed before. "
    with brimful.open(tmp_path, embedder="none") as engine:
        texts = {"a.md": page * 3, "b.md": page * 3 + "Seen.", "c.md": page * 3, "d.md": "The pump room is locked."}
        engine.add_documents([Document(path, text) for path, text in texts.items()])
        context = engine.context("pump hall valve", budget=400)
        (shown,) = [window for window in context.windows if "hall four" in window.text]
        assert sorted({shown.path, *shown.also_in}) == ["a.md", "b.md", "c.md"]
        assert {each.reason for each in context.omitted} == {"duplicate"}
        engine.add_text("e.md", f"{page}{'Something else was said between. ' * 30}{page}")
        twice = engine.context("pump hall valve", budget=2_000, path="e.md", fill="relevant")
        assert sum(window.text.count("hall four") for window in twice.windows) == 2  # one document may say it twice
        engine.remove("e.md")
        both = engine.context("pump hall valve", budget=400, twin_threshold=None)
        assert len([window for window in both.windows if "hall four" in window.text]) == 3


@pytest.mark.seed("CFS property 3", "the top 3 among the first 5", where="assembly/select.py", ruling=24)
def test_best_first_has_the_top_three_among_the_first_five(tmp_path):
    """CFS property 3, literally, with `order="best"`, the CFS profile's own; by default documents are read on."""
    with brimful.open(tmp_path, embedder="none") as engine:
        filler = "Nothing of note was written here on that day. " * 12
        long = "\n\n".join(f"Part {n} mentions tea. {filler}" for n in range(12))
        engine.add_text("long.md", f"{long}\n\nTea tea tea: green tea, black tea, white tea. {filler}")
        for number in range(4):
            engine.add_text(f"s{number}.md", f"Green tea and black tea, number {number}. {filler}")

        def places(**choices):
            context = engine.context("green tea black tea white", budget=3_000, fill="relevant", **choices)
            ranked = sorted(context.windows, key=lambda window: window.order)
            return [context.windows.index(window) for window in ranked[:3]]

        assert CFS.order == "best"
        assert max(places(order="best", sizing="density")) < 5
        context = engine.context("green tea black tea white", budget=1_000, settings=CFS)
        ranked = sorted(context.windows, key=lambda window: window.order)
        assert all(context.windows.index(window) < 5 for window in ranked[:3])
