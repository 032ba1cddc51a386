"""Records stand for themselves, and what a log says again and again does not crowd out what explains it."""

import pytest

import brimful
from brimful.settings import FieldSettings

LINE = "2024-05-17T11:{:02}:19Z ERROR [webhook] callback carrier=north shipment={} status=401 error=E1310"
OTHER = "2024-05-17T11:{:02}:31Z INFO [labels] made shipment={} pages=2"
LOG = "".join(f"{LINE.format(n % 60, 4_000 + n)}\n{OTHER.format(n % 60, 9_000 + n)}\n" for n in range(600))
RUNBOOK = "# Keys\n\nAfter the keys are rotated, run `hookctl reload`. If it is forgotten, callbacks answer 401.\n"
PASTED = "2024-05-17T11:48:19Z ERROR [webhook] callback carrier=north status=401 error=E1310\nwhat was forgotten?"


@pytest.fixture
def engine(tmp_path):
    """A log, and the page that explains what it says."""
    with brimful.open(tmp_path / "a.db") as opened:
        opened.add_text("logs/hooks.log", LOG)
        opened.add_text("runbook.md", RUNBOOK)
        yield opened


def test_a_pasted_line_of_a_log_finds_what_explains_it(engine):
    """The log has the line hundreds of times; a few of them stand above the page that says what to do, and no more."""
    hits = engine.search(PASTED, limit=2_000).hits
    place = next(at for at, hit in enumerate(hits) if hit.path == "runbook.md")
    assert 0 < place <= 8
    assert "hookctl reload" in engine.context(PASTED, budget=500).text
    counted_alike = engine.search(PASTED, limit=2_000, field=FieldSettings(priors=False)).hits
    assert place < next(at for at, hit in enumerate(counted_alike) if hit.path == "runbook.md")


def test_a_large_log_leaves_room_for_what_explains_it(tmp_path):
    """A context looks at a limited number of places: a log that has the line in more of them does not take them all."""
    with brimful.open(tmp_path / "a.db") as opened:
        opened.add_text("logs/hooks.log", LOG * 20)
        opened.add_text("runbook.md", RUNBOOK)
        assert "hookctl reload" in opened.context(PASTED, budget=500).text
        assert "hookctl reload" not in opened.context(PASTED, budget=500, field=FieldSettings(priors=False)).text


def test_what_is_said_again_is_shown_where_nothing_else_is(engine):
    """Nothing is lost: where the log alone has something to say, its lines fill the budget."""
    context = engine.context("error E1310 carrier north", budget=3_000, path="logs/*")
    assert context.text.count("error=E1310") > 30


def test_a_record_is_worth_what_it_says(engine):
    """A line between two that have the words has none of them, and is no hit."""
    found = engine.search("webhook callback", limit=2_000)
    lines = [engine.text(hit.path, hit.start, hit.end) for hit in found.hits if hit.path.endswith(".log")]
    assert lines
    assert all("webhook" in line for line in lines)


def test_rows_that_differ_in_words_are_not_said_again(tmp_path):
    """Orders of one customer are different rows: all of them stand above what only mentions the customer."""
    goods = [
        *("lamp", "brass hinge", "oak shelf", "kettle", "door mat", "green tea", "tin box", "wool rug", "map", "vase")
    ]
    rows = "".join(f"{at},harbour museum,{name},{at + 3}\n" for at, name in enumerate(goods))
    with brimful.open(tmp_path / "a.db") as engine:
        engine.add_text("orders.csv", f"id,customer,article,pieces\n{rows}")
        engine.add_text("notes.md", "The harbour museum rang. We should visit them in May, and bring the ledger.\n")
        hits = engine.search("orders harbour museum", limit=12).hits
    assert [hit.path for hit in hits[: len(goods)]].count("orders.csv") == len(goods)


def test_a_short_line_that_a_reference_repeats_is_found_three_times(tmp_path):
    """Below each of its entries stands the same type: the page that says what it is has a place before the fourth."""
    entries = "".join(
        f"### Message {n}\n\nWord{n} is sent first.\n\nInt64 (TimestampTz)\n\nThen word{n}.\n\n" for n in range(30)
    )
    told = "# Times\n\nA time with a zone is stored in UTC, and a TimestampTz is shown in the zone of a session.\n"
    with brimful.open(tmp_path / "a.db") as opened:
        opened.add_text("messages.md", f"# Messages\n\n{entries}")
        opened.add_text("times.md", told)
        hits = opened.search("TimestampTz", limit=400).hits
        same = [hit for hit in hits if opened.text(hit.path, hit.start, hit.end).strip() == "Int64 (TimestampTz)"]
        assert len(same) == 30
        assert sum(hit.score > hits[0].score / 2 for hit in same) == 3
