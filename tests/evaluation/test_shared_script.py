"""`make eval`: the whole script, with a naive answerer, on a small shared folder of our own making."""

import importlib
import json
import math
import os
import subprocess
import sys

import pytest

from brimful import Document
from brimful.evaluation import evaluate
from tests.evaluation.answerers import overlap_answerer
from tests.evaluation.conftest import DOCS, QUESTIONS, ROOT, write_lines

NAIVE = "tests.evaluation.answerers:overlap_answerer"


def run(*arguments, shared):
    """The script in a process of its own."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "benchmarks/eval.py", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "BRIMFUL_EVAL": str(shared), "PYTHONPATH": paths},
        check=False,
    )


@pytest.fixture
def script_part(monkeypatch):
    """A module of the script's own, by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return lambda name: importlib.import_module(f"shared.{name}")


@pytest.fixture
def small(tmp_path):
    """A folder laid out as the shared one is, with two sets and a peer that finds nothing at 500 tokens."""
    place = tmp_path / "eval"
    chroma = place / "data" / "chroma"
    chroma.mkdir(parents=True)
    questions = [{**QUESTIONS[number % 3], "qid": f"q{number}"} for number in range(30)]
    write_lines(chroma / "docs.jsonl", DOCS)
    write_lines(chroma / "questions.jsonl", questions)
    ranked = place / "data" / "ir_cranfield"
    ranked.mkdir()
    write_lines(ranked / "corpus.jsonl", [{"_id": "a", "text": "Rain."}, {"_id": "b", "text": "Tea is hot."}])
    write_lines(ranked / "queries.jsonl", [{"_id": "q4", "text": "tea"}, {"_id": "q8", "text": "unjudged"}])
    (ranked / "qrels.tsv").write_text("q4\tb\t1\nq8\ta\t0\n")
    (place / "baselines").mkdir()

    def peer(*recalls):
        rows = [
            {
                "qid": row["qid"],
                **{str(b): {"recall": r} for b, r in zip((500, 1000, 2000, 4000), recalls, strict=True)},
            }
            for row in questions
        ]
        return {"per_question": rows}

    peers = {"first": peer(0.0, 1.0, 0.5, 0.5), "second": peer(0.0, 0.5, 0.75, 0.75)}
    (place / "baselines" / "chroma_dev.json").write_text(json.dumps(peers))
    return place


def test_the_report_stands_beside_peers_field_and_aim(small, script_part, tmp_path):
    """Means, the best peer at each budget, paired differences and the design's columns are written."""
    out = tmp_path / "results"
    done = run(
        *("--answerer", NAIVE, "--sets", "chroma", "ir_cranfield"),
        *("--results", str(out), "--rows", str(tmp_path / "rows")),
        shared=small,
    )
    assert done.returncode == 0, done.stderr
    (report,) = out.glob("eval-*.md")
    text = report.read_text(encoding="utf-8")
    found = json.loads(report.with_suffix(".json").read_text(encoding="utf-8"))
    chroma, cranfield = found["sets"]
    asked = script_part("sets").dev_set(small / "data" / "chroma")
    expected = evaluate(overlap_answerer(asked.documents), asked)
    assert chroma["questions"] == len(asked.questions) == 15
    assert chroma["means"]["500"]["recall"] == pytest.approx(expected.mean("recall", 500), abs=1e-6)
    assert {budget: peer["name"] for budget, peer in chroma["best_peer"].items()} == {
        "500": "first",
        "1000": "first",
        "2000": "second",
        "4000": "second",
    }
    assert chroma["best_peer"]["1000"]["difference"] == pytest.approx(expected.mean("recall", 1000) - 1.0, abs=1e-5)
    assert (cranfield["questions"], cranfield["ndcg"]) == (1, 1.0)
    assert ".811/.896/.950/.971 | .860/.930/.970/.990" in text
    assert ".000/1.000/.750/.750" in text
    assert "RRF BM25+MiniLM 0.407" in text
    assert "per_question" not in chroma
    assert len(json.loads((tmp_path / "rows" / "chroma.json").read_text())["per_question"]) == len(asked.questions)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_without_the_sets_it_says_so(tmp_path):
    """A machine that lacks them is told plainly, without a traceback."""
    done = run(shared=tmp_path / "nowhere")
    assert done.returncode == 1
    assert "nothing was measured" in done.stdout
    assert "BRIMFUL_EVAL" in done.stdout
    assert not done.stderr


def test_the_engine_is_asked_as_it_is_plugged_in(script_part, tmp_path):
    """One store a scope with that scope's texts; windows are cited the best first, whole documents in their order."""
    answerers, asked = script_part("answerers"), script_part("sets").SharedQuestion
    documents = [
        Document("a", "Tea is served at four. " * 3),
        Document("b", "Tea with scones is served in the garden at four."),
    ]
    answer = answerers.engine_answerer(documents, [("a",), None, ("a",)], tmp_path)
    assert {cited.path for cited in answer(asked("1", "tea at four", (), ("a",)), 500)} == {"a"}
    assert {cited.path for cited in answer(asked("1", "tea at four", ()), 500)} == {"a", "b"}
    place = tmp_path / "whole"
    place.mkdir()
    rank = answerers.engine_answerer(documents, [None], place, whole=True)
    assert [cited.path for cited in rank(asked("1", "scones in the garden", ()), 500)] == ["b"]


def test_a_difference_has_the_interval_of_its_resampled_means(script_part):
    """The mean is exact; for many questions the bootstrap agrees with the normal approximation, in any order."""
    measures = script_part("measures")
    ours = {f"q{number}": (number * 7919 % 101) / 101 for number in range(400)}
    theirs = dict.fromkeys(ours, 0.5)
    found = measures.difference(ours, theirs)
    values = [value - 0.5 for value in ours.values()]
    mean = sum(values) / 400
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / 400 / 400)
    assert found == pytest.approx((mean, mean - 1.96 * error, mean + 1.96 * error), abs=0.25 * error)
    assert measures.difference(dict(reversed(ours.items())), {**theirs, "other": 1.0}) == found
    assert not measures.difference(ours, ours).is_clear


def test_ndcg_by_hand(script_part):
    """Linear gains over the log of the place, against the best order of all graded documents."""
    ndcg, grades = script_part("measures").ndcg, {"a": 3, "b": 1, "c": 2}
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert ndcg(["x", "c", "a"], grades) == pytest.approx((2 / math.log2(3) + 3 / 2) / ideal)
    assert ndcg(["a", "a", "c", "c", "b"], grades) == 1.0  # a document counts where it first stands
    assert ndcg([f"x{number}" for number in range(10)] + ["a"], grades) == 0.0
