"""Which shared sets are asked, how, and what are the figures to beat?

The sets are not part of this repository. They are looked for in `shared/eval` beside it, or where BRIMFUL_EVAL
says; their own README names their sources and licences.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from brimful.documents.documents import Document
from brimful.evaluation import EvaluationSet, Question, read_set

BUDGETS = (500, 1000, 2000, 4000)
ROOT = Path(__file__).resolve().parents[2]

Four = tuple[float, float, float, float]
Scope = tuple[str, ...] | None
"""The documents that a question is asked of; None for all of them."""


@dataclass(frozen=True, slots=True)
class SharedQuestion(Question):
    """A question of a shared set, with the documents that it is asked of and, in place of evidence, graded ones."""

    scope: Scope = None
    relevant: Mapping[str, int] = field(default_factory=dict)


def dev_set(folder: Path) -> EvaluationSet:
    """The development questions of a set, asked of all of its documents."""
    return _dev_of(read_set(folder))


def _dev_of(found: EvaluationSet) -> EvaluationSet:
    """The half of the questions whose ids have an even hash, so that nobody chooses."""
    hashes = {each.id: hashlib.sha256(each.id.encode()).hexdigest() for each in found.questions}
    return replace(found, questions=tuple(each for each in found.questions if int(hashes[each.id][:8], 16) % 2 == 0))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip())


def _ranked_set(folder: Path) -> EvaluationSet:
    """A set in BEIR's layout: corpus.jsonl, queries.jsonl, and documents with grades in qrels.tsv."""
    documents = [
        Document(row["_id"], f"{row.get('title') or ''}\n{row['text']}".strip())
        for row in _rows(folder / "corpus.jsonl")
    ]
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, path, grade = line.split("\t")
        if int(grade) > 0:
            grades.setdefault(query, {})[path] = int(grade)
    rows = _rows(folder / "queries.jsonl")
    questions = [SharedQuestion(row["_id"], row["text"], (), None, grades.get(row["_id"], {})) for row in rows]
    kept = tuple(question for question in questions if question.relevant)
    return EvaluationSet(folder.name, tuple(documents), kept)


@dataclass(frozen=True, slots=True)
class Asked:
    """One set, the way it is asked, and the figures of the design: recall at the four budgets."""

    name: str
    folder: str
    scope: Literal["pooled", "own"] = "pooled"
    questions: str | None = None
    baseline: str | None = None
    field: Four | None = None
    aim: Four | None = None
    published_ndcg: tuple[str, float] | None = None  # the best peer, on all queries of the set
    split: Literal["dev", "all"] = "dev"  # "all" where only development questions are there

    def read(self, shared: Path) -> EvaluationSet:
        """The set's questions with evidence (dev, where all are there), from the shared folder."""
        folder = shared / "data" / self.folder
        if self.is_ranked:
            return _dev_of(_ranked_set(folder))
        found = read_set(folder)
        texts = {question.id: question.text for question in found.questions}
        if self.questions:
            texts = {row["qid"]: row["question"] for row in _rows(shared / "data" / self.questions)}
        named = {row["qid"]: row["doc_ids"] for row in _rows(folder / "questions.jsonl")} if self.scope == "own" else {}
        scopes = {name: tuple(paths) for name, paths in named.items() if paths}
        questions = tuple(
            SharedQuestion(each.id, texts[each.id], each.evidence, scopes.get(each.id))
            for each in found.questions
            if each.id in texts
        )
        asked = replace(found, questions=questions)
        return asked if self.split == "all" else _dev_of(asked)

    @property
    def is_ranked(self) -> bool:
        """Whether whole documents are found, and no bytes."""
        return self.name.startswith("ir_")


ASKED = (
    Asked(
        "chroma",
        "chroma",
        baseline="chroma_dev.json",
        field=(0.811, 0.896, 0.950, 0.971),
        aim=(0.86, 0.93, 0.97, 0.99),
    ),
    Asked("chroma_typo", "chroma", questions="typo/chroma_typo_questions.jsonl", baseline="chroma_typo_dev.json"),
    Asked(
        "qa_scifact",
        "qa_scifact",
        baseline="qa_scifact_dev.json",
        field=(0.720, 0.818, 0.890, 0.932),
        aim=(0.80, 0.88, 0.93, 0.96),
    ),
    Asked(
        "qa_anthropic_code",
        "qa_anthropic_code",
        baseline="qa_anthropic_code_dev.json",
        field=(0.781, 0.901, 0.935, 0.951),
        aim=(0.83, 0.93, 0.96, 0.97),
    ),
    Asked(
        "memory_locomo",
        "memory_locomo",
        scope="own",
        baseline="memory_locomo_own_dev.json",
        field=(0.747, 0.818, 0.870, 0.914),
        aim=(0.80, 0.87, 0.92, 0.95),
    ),
    Asked(
        "qa_xquad_en",
        "qa_xquad_en",
        baseline="qa_xquad_en_dev.json",
        field=(0.984, 0.992, 0.994, 0.994),
        aim=(0.99, 0.997, 0.998, 0.998),
    ),
    Asked(
        "qa_xquad_de",
        "qa_xquad_de",
        baseline="qa_xquad_de_dev.json",
        field=(0.937, 0.968, 0.978, 0.982),
        aim=(0.96, 0.98, 0.99, 0.99),
    ),
    Asked("qa_xquad_zh", "qa_xquad_zh", baseline="qa_xquad_zh_dev.json", aim=(0.95, 0.97, 0.98, 0.99)),
    Asked("qa_covidqa", "qa_covidqa", baseline="covidqa_dev.json", split="all"),
    Asked("qa_financebench", "qa_financebench", baseline="financebench_dev.json", split="all"),
    Asked("ir_scifact", "ir_scifact", published_ndcg=("RRF BM25+MiniLM", 0.716)),
    Asked("ir_cranfield", "ir_cranfield", published_ndcg=("RRF BM25+MiniLM", 0.407)),
    Asked("ir_nq_oracle", "ir_nq_oracle", published_ndcg=("MiniLM", 0.953)),
    Asked("ir_cosqa_dev", "ir_cosqa_dev"),
)


def find_shared() -> Path | None:
    """The folder of the shared sets, or None where this machine has none."""
    place = Path(os.environ.get("BRIMFUL_EVAL") or ROOT.parent / "shared" / "eval")
    return place if (place / "data").is_dir() else None


def baselines(shared: Path, asked: Asked) -> dict[str, dict[int, dict[str, float]]]:
    """The recall of every peer, by budget and question; nothing where none was measured."""
    if asked.baseline is None:
        return {}
    measured = json.loads((shared / "baselines" / asked.baseline).read_text(encoding="utf-8"))
    return {
        name: {budget: _recalls(rows["per_question"], str(budget)) for budget in BUDGETS}
        for name, rows in measured.items()
    }


def _recalls(rows: list[Mapping[str, Mapping[str, float]]], budget: str) -> dict[str, float]:
    return {str(row["qid"]): row[budget]["recall"] for row in rows if budget in row}
