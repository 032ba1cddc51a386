"""`make eval`: the whole script, with a naive answerer, on a small shared folder of our own making."""

import json
import os
import subprocess
import sys

import pytest

from brimful.evaluation.run import evaluate
from brimful.evaluation.sets import read_set, split_of
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
def small(tmp_path, ir_folder):
    """A folder laid out as the shared one is, with two sets and a peer that finds nothing at 500 tokens."""
    place = tmp_path / "eval"
    chroma = place / "data" / "chroma"
    chroma.mkdir(parents=True)
    questions = [{**QUESTIONS[number % 3], "qid": f"q{number}"} for number in range(30)]
    write_lines(chroma / "docs.jsonl", DOCS)
    write_lines(chroma / "questions.jsonl", questions)
    ir_folder.rename(place / "data" / "ir_cranfield")
    write_lines(place / "data" / "ir_cranfield" / "queries.jsonl", [{"_id": "q4", "text": "tea"}])
    (place / "data" / "ir_cranfield" / "qrels.tsv").write_text("q4\tb\t1\n")
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


def test_the_report_stands_beside_peers_field_and_aim(small, tmp_path):
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
    asked = read_set(small / "data" / "chroma", split="dev")
    expected = evaluate(overlap_answerer(asked.documents), asked)
    assert chroma["questions"] == len(asked.questions) == sum(split_of(f"q{number}") == "dev" for number in range(30))
    assert chroma["means"]["500"]["recall"] == pytest.approx(expected.mean("recall", 500), abs=1e-6)
    assert {budget: peer["name"] for budget, peer in chroma["best_peer"].items()} == {
        "500": "first",
        "1000": "first",
        "2000": "second",
        "4000": "second",
    }
    assert chroma["best_peer"]["1000"]["difference"] == pytest.approx(expected.mean("recall", 1000) - 1.0, abs=1e-5)
    assert cranfield["means"]["4000"] == {"ndcg": 1.0}
    assert ".811/.896/.950/.971 | .860/.930/.970/.990" in text
    assert ".000/1.000/.750/.750" in text
    assert "RRF BM25+MiniLM 0.407" in text
    assert "per_question" not in chroma
    assert len(json.loads((tmp_path / "rows" / "chroma.json").read_text())["per_question"]) == len(asked.questions)
    assert "four-scale field" in report.with_suffix(".svg").read_text()
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_dry_run_writes_nothing(small, tmp_path):
    """`--dry` prints and leaves no file; `--limit` asks fewer questions."""
    out = tmp_path / "results"
    arguments = ("--answerer", NAIVE, "--sets", "chroma", "--limit", "2", "--dry", "--results", str(out))
    done = run(*arguments, shared=small)
    assert done.returncode == 0, done.stderr
    assert "chroma: 2 questions" in done.stdout
    assert not out.exists()


def test_without_the_sets_it_says_so(tmp_path):
    """A machine that lacks them is told plainly, without a traceback."""
    done = run(shared=tmp_path / "nowhere")
    assert done.returncode == 1
    assert "nothing was measured" in done.stdout
    assert "BRIMFUL_EVAL" in done.stdout
    assert not done.stderr


def test_an_unknown_set_is_named(small):
    """With the close name as a remedy."""
    done = run("--sets", "chrome", shared=small)
    assert "did you mean 'chroma'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_engine_is_asked_as_it_is_plugged_in(monkeypatch, tmp_path):
    """One store a scope with that scope's texts; windows are cited the best first, whole documents in their order."""
    from brimful import Document

    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from shared.answerers import engine_answerer

    documents = [
        Document("a", "Tea is served at four. " * 3),
        Document("b", "Tea with scones is served in the garden at four."),
    ]
    answer = engine_answerer(documents, [("a",), None, ("a",)], tmp_path)
    assert {cited.path for cited in answer("tea at four", 500, ("a",))} == {"a"}
    assert {cited.path for cited in answer("tea at four", 500, None)} == {"a", "b"}
    place = tmp_path / "whole"
    place.mkdir()
    rank = engine_answerer(documents, [None], place, whole=True)
    assert [cited.path for cited in rank("scones in the garden", 500, None)] == ["b"]
