"""A whole run: scores, means, JSON and table."""

import json
from dataclasses import replace

import pytest

from brimful import BudgetError
from brimful.errors import InputError
from brimful.evaluation import EvaluationSet, Place, evaluate, read_set


def whole(path="boats.md", end=69):
    """An answerer that always cites one range."""
    return lambda question, budget: [Place(path, 0, end)]


def test_every_question_is_asked_at_every_budget(folder):
    """The answerer gets question and budget, budgets ascending, each once."""
    calls = []

    def answer(question, budget):
        calls.append((question.text, budget))
        return []

    result = evaluate(answer, read_set(folder), (1000, 500, 500))
    assert calls[:2] == [("When does the ferry leave?", 500), ("When does the ferry leave?", 1000)]
    assert len(calls) == 6 == len(result.seconds)
    assert result.budgets == (500, 1000)


def test_means_are_means_of_rows(folder):
    """One of three questions answered is a third; values are found by question id."""
    result = evaluate(whole(), read_set(folder), (3, 500))
    assert result.values("recall", 500) == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert result.mean("full", 500) == 1 / 3
    assert result.mean("recall", 3) < 1 / 3  # cut at the budget
    assert result.overlong == (3, 0)


def test_wrong_citations_are_reported(folder):
    """They are counted, shown in the table, and gain nothing."""
    result = evaluate(whole(end=10_000), read_set(folder), (500,))
    assert result.invalid == 3
    assert result.mean("recall", 500) == 0.0
    assert "3 citations name bytes that are not there" in result.table()


def test_the_record_has_a_stable_order(folder):
    """Keys come in one order, budgets ascending, the time last, and the numbers are the result's."""
    result = evaluate(whole(), read_set(folder), (500, 1000))
    found = json.loads(json.dumps(result.record()))
    assert list(found) == [
        *("set", "layout", "documents", "questions", "budgets"),
        *("means", "overlong", "invalid", "per_question", "timing"),
    ]
    assert found["means"]["500"]["recall"] == pytest.approx(result.mean("recall", 500), abs=1e-6)
    assert [row["id"] for row in found["per_question"]] == ["q1", "q2", "q3"]
    assert list(found["per_question"][0]) == ["id", "500", "1000"]
    times = replace(result, seconds=tuple(number / 1000 for number in range(1, 21))).record()["timing"]
    assert times == {"answers": 20, "p50_ms": 10.0, "p95_ms": 19.0}


def test_the_table_keeps_to_eighty_columns(folder):
    """Even with a long name and large budgets."""
    found = replace(read_set(folder), name="n" * 200)
    table = evaluate(whole(), found, (500, 1_000_000)).table()
    assert max(map(len, table.splitlines())) <= 80
    assert "recall" in table


def test_nothing_to_measure_is_said(folder):
    """No budget, no question, an impossible budget."""
    found = read_set(folder)
    with pytest.raises(InputError, match="at least one budget"):
        evaluate(whole(), found, ())
    with pytest.raises(InputError, match="one question"):
        evaluate(whole(), EvaluationSet("none", found.documents, ()))
    with pytest.raises(BudgetError, match="0 tokens"):
        evaluate(whole(), found, (0,))
