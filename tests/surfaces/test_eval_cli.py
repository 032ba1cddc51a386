import json

import pytest


@pytest.fixture
def questions(tmp_path):
    """A set of two questions about two documents."""
    folder = tmp_path / "mine"
    folder.mkdir()
    texts = {"tea.md": "Tea is served at four. " * 9, "boats.md": "The ferry leaves at nine."}
    documents = [json.dumps({"doc_id": name, "text": text}) for name, text in texts.items()]
    asked = [("q1", "When is tea served?", "tea.md", 17, 21), ("q2", "When does the ferry leave?", "boats.md", 17, 24)]
    rows = [
        json.dumps({"qid": name, "question": text, "evidence": [{"doc_id": path, "start": start, "end": end}]})
        for name, text, path, start, end in asked
    ]
    (folder / "docs.jsonl").write_text("\n".join(documents), encoding="utf-8")
    (folder / "questions.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder


def test_a_set_is_asked(brimful, questions):
    """The table and the JSON have the same means, and the properties of the contexts."""
    made = brimful("eval", questions, "--budgets", "40,80")
    assert made.code == 0
    assert "recall" in made.out
    assert max(map(len, made.out.splitlines())) <= 80
    record = json.loads(brimful("eval", questions, "--budgets", "40,80", "--json").out)
    assert record["budgets"] == [40, 80]
    assert f"{record['means']['40']['recall']:.4f}" in made.out
    assert "top 3 in first 5" in made.out
    assert record["properties"]["40"]["within_budget"] == 1.0
    assert set(record["properties"]) == {"40", "80"}
    assert json.loads(brimful("eval", questions, "--limit", "1", "--json").out)["questions"] == 1


def test_a_choice_can_be_measured(brimful, questions):
    """`--set` asks with it: what a choice costs can be seen."""
    usual = json.loads(brimful("eval", questions, "--budgets", "80", "--json").out)
    tight = json.loads(brimful("eval", questions, "--budgets", "80", "--json", "--set", "path=nowhere/").out)
    assert tight["properties"]["80"]["coverage"] == 0 < usual["properties"]["80"]["coverage"]


def test_wrong_budgets_are_named(brimful, questions):
    """They are whole numbers."""
    done = brimful("eval", questions, "--budgets", "80,many")
    assert done.code == 2
    assert "whole numbers" in done.err
