"""A whole run: rows, means, JSON, table and drawing, the same every time but for the clock."""

import itertools
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from brimful import BudgetError
from brimful.errors import ChoiceError, InputError
from brimful.evaluation.measures import Cited, TokenAxis
from brimful.evaluation.run import compare, evaluate, plot
from brimful.evaluation.sets import EvaluationSet, read_set
from tests.evaluation.answerers import overlap_answerer


def ticking(step=0.001):
    """A clock that goes on by a step whenever it is read."""
    ticks = itertools.count()
    return lambda: next(ticks) * step


def whole(path="boats.md", end=69):
    """An answerer that always cites one range."""
    return lambda question, budget, scope: [Cited(path, 0, end)]


def test_every_question_is_asked_at_every_budget(folder):
    """The answerer gets text, budget and scope, budgets ascending, each once."""
    calls = []

    def answer(question, budget, scope):
        calls.append((question, budget, scope))
        return []

    result = evaluate(answer, read_set(folder, scope="own"), (1000, 500, 500))
    assert calls[:2] == [
        ("When does the ferry leave?", 500, ("boats.md",)),
        ("When does the ferry leave?", 1000, ("boats.md",)),
    ]
    assert len(calls) == 6 == result.timing.answers
    assert result.budgets == (500, 1000)


def test_means_are_means_of_rows(folder):
    """One of three questions answered is a third; values are found by question id."""
    result = evaluate(whole(), read_set(folder), (3, 500))
    assert result.values("recall", 500) == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert result.mean("full", 500) == 1 / 3
    assert result.mean("recall", 3) < 1 / 3  # cut at the budget
    assert result.overlong == (3, 0)


def test_naive_answerer_finds_what_shares_words(folder):
    """Term overlap answers the questions whose words stand in their evidence, within scope."""
    found = read_set(folder, scope="own")
    result = evaluate(overlap_answerer(found.documents), found, (500,))
    assert result.values("recall", 500) == {"q1": 1.0, "q2": 1.0, "q3": 0.0}


def test_wrong_citations_are_reported(folder):
    """They are counted, shown in the table, and gain nothing."""
    result = evaluate(whole(end=10_000), read_set(folder), (500,))
    assert result.invalid == 3
    assert result.mean("recall", 500) == 0.0
    assert "3 citations name bytes that are not there" in result.table()


def test_ir_sets_are_ranked_once(ir_folder):
    """Documents rank where they are first cited; one question, one answer, at the largest budget."""
    answer = [Cited("b", 0, 3), Cited("b", 4, 6), Cited("a", 0, 3)]
    result = evaluate(lambda *_: answer, read_set(ir_folder), (500, 1000))
    assert (result.budgets, result.timing.answers) == ((1000,), 1)
    assert result.values("ndcg", 1000) == {"1": 1.0}
    assert "nDCG@10" in result.table()
    assert json.loads(result.as_json())["per_question"] == [{"id": "1", "ndcg": 1.0}]
    with pytest.raises(ChoiceError, match="unknown measure of ranked 'recall'"):
        result.mean("recall", 1000)


def test_time_is_part_of_nothing_compared(folder):
    """Slow and fast runs that found the same have one fingerprint; their JSON differs in the timing alone."""
    found = read_set(folder)
    fast, slow = (evaluate(whole(), found, (500,), clock=ticking(step)) for step in (0.001, 0.5))
    assert fast.fingerprint == slow.fingerprint != evaluate(whole(end=9), found, (500,)).fingerprint
    assert (fast.timing.p50_ms, slow.timing.p95_ms) == (pytest.approx(1.0), pytest.approx(500.0))
    one, two = json.loads(fast.as_json()), json.loads(slow.as_json())
    assert one.pop("timing") != two.pop("timing")
    assert one == two


def test_json_has_a_stable_order(folder):
    """Keys come in one order, budgets ascending, and the numbers are the result's."""
    result = evaluate(whole(), read_set(folder), (500, 1000), clock=ticking())
    found = json.loads(result.as_json())
    assert list(found) == [
        *("set", "layout", "documents", "questions", "budgets"),
        *("means", "overlong", "invalid", "per_question", "timing"),
    ]
    assert found["means"]["500"]["recall"] == pytest.approx(result.mean("recall", 500), abs=1e-6)
    assert [row["id"] for row in found["per_question"]] == ["q1", "q2", "q3"]
    assert list(found["per_question"][0]) == ["id", "500", "1000"]


def test_the_table_keeps_to_eighty_columns(folder):
    """Even with a long name and large budgets."""
    found = replace(read_set(folder), name="n" * 200)
    table = evaluate(whole(), found, (500, 1_000_000)).table()
    assert max(map(len, table.splitlines())) <= 80
    assert "recall" in table


def test_compare_pairs_questions(folder):
    """Two answerers on one set differ question by question, at the budgets both have."""
    found = read_set(folder)
    axis = TokenAxis(found.documents)
    good = evaluate(overlap_answerer(found.documents), found, (500, 1000), axis=axis)
    bad = evaluate(lambda *_: [], found, (500,), axis=axis)
    assert {budget: round(at.mean, 6) for budget, at in compare(good, bad).items()} == {500: round(2 / 3, 6)}
    assert compare(good, good)[1000].mean == 0.0


def test_nothing_to_measure_is_said(folder):
    """No budget, no question, an impossible budget, a budget that was not asked."""
    found = read_set(folder)
    with pytest.raises(InputError, match="at least one budget"):
        evaluate(whole(), found, ())
    with pytest.raises(InputError, match="one question"):
        evaluate(whole(), EvaluationSet("none", "qa", found.documents, ()))
    with pytest.raises(BudgetError, match="0 tokens"):
        evaluate(whole(), found, (0,))
    with pytest.raises(InputError, match="not measured at 7 tokens"):
        evaluate(whole(), found, (500,)).mean("recall", 7)


def test_the_drawing_says_what_it_shows():
    """Every series has its name, its points in order, and the description every value; names are escaped."""
    series = {"ours <&>": {500: 0.8, 1000: 0.9, 2000: 1.0}, "peer": {500: 0.41, 1000: 0.5}}
    drawing = plot(series, title="Recall & more")
    root = ET.fromstring(drawing)
    space = {"s": "http://www.w3.org/2000/svg"}
    texts = [element.text for element in root.findall("s:text", space)]
    assert {"Recall & more", "ours <&>", "peer", "500", "1,000", "2,000", "0.4", "1.0"} <= set(texts)
    assert "0.3" not in texts  # the axis begins below the lowest value
    assert "ours <&>: 0.800 at 500, 0.900 at 1000, 1.000 at 2000; peer: 0.410 at 500" in root.find("s:desc", space).text
    heights = [float(dot.get("cy")) for dot in root.findall("s:circle", space) if dot.get("class") == "c0"]
    assert heights == sorted(heights, reverse=True)  # more recall stands higher
    assert plot(series, title="Recall & more") == drawing


def test_the_drawing_is_readable_in_light_and_dark():
    """Every colour has four parts of contrast against its background, in both schemes."""
    from brimful.evaluation.run import _COLOURS

    def brightness(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for light, dark in _COLOURS:
        assert 1.05 / (brightness(light) + 0.05) >= 4
        assert (brightness(dark) + 0.05) / (brightness("#0d1117") + 0.05) >= 4
    assert "prefers-color-scheme:dark" in plot({"a": {500: 0.5}})


def test_impossible_drawings_are_refused():
    """Nothing to draw, or more than eyes can tell apart."""
    with pytest.raises(InputError, match="nothing to draw"):
        plot({"a": {}})
    with pytest.raises(InputError, match="17 series"):
        plot({str(number): {1: 0.5} for number in range(17)})
