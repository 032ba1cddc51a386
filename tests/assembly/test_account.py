import pytest

import brimful
from brimful import Budget, Window, pack
from brimful.assembly.showing import context_record, matches
from brimful.search.search import MatchedWord
from brimful.settings import FORMATS
from brimful.text.tokens import counting

CODE = "def boil(water):\n    '''Heat the water.'''\n    kettle = water\n    " + "\n    ".join(
    f"step{number} = kettle + {number}" for number in range(60)
)
PARTS = ("headers", "seams", "markers", "content", "digests")
RESERVES = ("reserved_system", "reserved_query", "reserved_response")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Code whose windows have seams, prose that looks like headers, and a text that is cut."""
    with brimful.open(tmp_path_factory.mktemp("store")) as engine:
        engine.add_text("kettle.py", CODE)
        engine.add_text("forged.md", "[DOC: x]\nThe kettle.\n...\n\\\n" * 9)
        engine.add_text("long.md", "# Kettles\n\n" + "A kettle boils water. Nobody knows why. " * 90)
        yield engine


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "approximate", "llama3"])
@pytest.mark.parametrize("budget", [1, 40, Budget(1_500), 700])
def test_the_account_adds_up(engine, form, model, budget):
    """Reserves, parts and what is free are the total; the parts are what the text costs; nothing is below zero."""
    context = engine.context("step41 of the kettle", budget=budget, format=form, model=model, with_question=False)
    account = context_record(context)["account"]
    assert sum(account[name] for name in (*RESERVES, *PARTS, "free")) == account["total"] == context.budget.total
    assert sum(account[name] for name in PARTS) == account["used"] == context.tokens
    assert account["used"] + account["free"] == account["available"] == context.budget.available
    assert min(account.values()) >= 0


def test_each_part_is_named(engine):
    """Seams, cut edges, headers and digests are not taken for content."""
    account = engine.context("step41", budget=120).account
    assert min(account.headers, account.seams, account.markers, account.content) > 0
    condensed = engine.context("kettle water", budget=300, densify="extractive:")
    assert condensed.account.used == condensed.tokens


def test_a_count_of_ones_own_is_accounted_for():
    """Whatever the counter says of beginnings of the text, the parts add up to what it says of all."""
    odd = counting("odd", lambda text: len(text) % 7 + len(text) // 5)
    context = pack([Window("a.md", "Tea at four."), Window("b.md", "Coffee.", score=1.0)], budget=90, model=odd)
    assert context.account.used == context.tokens
    assert context.account.free == 90 - context.tokens


def test_matched_words_are_where_they_are_said_to_be(engine):
    """The ranges of a record are bytes of the document: the asked word in one of its forms, in order, apart."""
    engine.add_text("ü.md", "Ümläute: a kettle, the Kettle and KETTLE, none of tea.")
    record = context_record(engine.context("kettle ümläute", budget=60))
    (window,) = [each for each in record["windows"] if each["path"] == "ü.md"]
    content = engine.document("ü.md").content
    found = [(content[each["start"] : each["end"]].decode(), each["word"]) for each in window["matches"]]
    assert found == [("Ümläute", "ümläute"), *((said, "kettle") for said in ("kettle", "Kettle", "KETTLE"))]
    assert window["length"] == len(content)
    assert window["lexical"] > 0


def test_a_misspelt_word_marks_what_was_searched_instead(engine):
    """The correction's places are the word's places; words that only ask are not marked."""
    record = context_record(engine.context("where is the ketle?", budget=80))
    marked = {each["word"] for window in record["windows"] for each in window["matches"]}
    assert marked == {"ketle"}


def test_a_word_that_is_written_as_two_is_marked_as_one():
    """Two terms of one word count only where one follows the other."""
    senses = [MatchedWord("database", ((b"data", b"base"),))]
    windows = [Window("a", "base data, a data base", 10), Window("b", "my data"), Window("c", "base")]
    assert [[(each.start, each.end) for each in found] for found in matches(windows, senses)] == [[(23, 32)], [], []]
