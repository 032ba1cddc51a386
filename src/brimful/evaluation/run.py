"""How much of the evidence does an answerer find on a whole set, at each budget?

An answerer is any function from a question and a budget to places, the best first:

    def answer(question: Question, budget: int) -> Sequence[Place]

so that other retrievers are measured exactly as this package is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from brimful.budget import budget_of
from brimful.errors import InputError
from brimful.evaluation.measures import Scores, TokenAxis, score
from brimful.evaluation.sets import EvaluationSet, Place, Question

BUDGETS = (500, 1000, 2000, 4000)

Answerer = Callable[[Question, int], Sequence[Place]]
_HEADS = {"recall": "recall", "full": "full", "precision": "precision", "iou": "IoU"}
_DIGITS = 6
_LONGEST_NAME = 32


@dataclass(frozen=True, slots=True)
class Result:
    """All that was measured of one answerer on one set."""

    name: str
    documents: int
    budgets: tuple[int, ...]
    scores: dict[str, tuple[Scores, ...]]  # of each question by its id, at each budget
    overlong: tuple[int, ...]  # answers that ask for more than the budget, at each budget; what is over is not read
    invalid: int  # citations of what is not there
    seconds: tuple[float, ...]  # that each answer took, sorted

    def values(self, measure: str, budget: int) -> dict[str, float]:
        """The measure of every question, by its id."""
        at = self.budgets.index(budget)
        return {name: float(getattr(scores[at], measure)) for name, scores in self.scores.items()}

    def mean(self, measure: str, budget: int) -> float:
        """The measure's mean over questions."""
        return math.fsum(self.values(measure, budget).values()) / len(self.scores)

    def record(self) -> dict[str, object]:
        """The whole result for JSON, keys always in one order, the timing last."""
        timing = {"answers": len(self.seconds), "p50_ms": round(self.ms(50), 3), "p95_ms": round(self.ms(95), 3)}
        names = list(map(str, self.budgets))
        rows = [
            {"id": question, **dict(zip(names, (_rounded(each._asdict()) for each in scores), strict=True))}
            for question, scores in self.scores.items()
        ]
        means = {str(budget): _rounded({name: self.mean(name, budget) for name in _HEADS}) for budget in self.budgets}
        return {
            "set": self.name,
            "layout": "qa",
            "documents": self.documents,
            "questions": len(self.scores),
            "budgets": list(self.budgets),
            "means": means,
            "overlong": dict(zip(names, self.overlong, strict=True)),
            "invalid": self.invalid,
            "per_question": rows,
            "timing": timing,
        }

    def table(self) -> str:
        """The means as lines of at most 80 characters."""
        name = self.name if len(self.name) <= _LONGEST_NAME else self.name[: _LONGEST_NAME - 1] + "…"
        lines = [f"{name}: {len(self.scores)} questions, {self.documents} documents"]
        lines.append(f"{'budget':>8}" + "".join(f"{head:>11}" for head in (*_HEADS.values(), "overlong")))
        for budget, overlong in zip(self.budgets, self.overlong, strict=True):
            cells = "".join(f"{self.mean(name, budget):>11.4f}" for name in _HEADS)
            lines.append(f"{budget:>8}{cells}{overlong:>11}")
        lines.append(f"{len(self.seconds)} answers, p50 {self.ms(50):.1f} ms, p95 {self.ms(95):.1f} ms")
        if self.invalid:
            lines.append(f"{self.invalid} citations name bytes that are not there; they gained nothing")
        return "\n".join(lines) + "\n"

    def ms(self, percent: int) -> float:
        """The least time that so many percent of the answers did not exceed."""
        return 1e3 * self.seconds[max(-(-len(self.seconds) * percent // 100), 1) - 1]


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in values.items()}


def evaluate(answer: Answerer, asked: EvaluationSet, budgets: Sequence[int] = BUDGETS) -> Result:
    """Ask every question at every budget and measure the answers.

    >>> from brimful.corpus.documents import Document
    >>> question = Question("q1", "When?", (Place("a.txt", 4, 11),))
    >>> tea = EvaluationSet("tea", (Document("a.txt", "Tea at four."),), (question,))
    >>> result = evaluate(lambda question, budget: [Place("a.txt", 0, 12)], tea, (3, 4))
    >>> result.mean("recall", 3), result.mean("recall", 4)
    (0.5, 1.0)
    """
    sizes = tuple(sorted({budget_of(budget).available for budget in budgets}))
    if not sizes or not asked.questions:
        raise InputError("nothing to measure: give at least one budget and one question")
    axis = TokenAxis(asked.documents)
    scores: dict[str, tuple[Scores, ...]] = {}
    overlong, invalid, seconds = dict.fromkeys(sizes, 0), 0, []
    for question in asked.questions:
        found = []
        for size in sizes:
            began = time.perf_counter()
            places = list(answer(question, size))
            seconds.append(time.perf_counter() - began)
            filled = axis.fill(places, budget=size)
            overlong[size] += filled.asked > size
            invalid += filled.invalid
            found.append(score(axis, question.evidence, filled.tokens))
        scores[question.id] = tuple(found)
    names = asked.name, len(asked.documents)
    return Result(*names, sizes, scores, tuple(overlong.values()), invalid, tuple(sorted(seconds)))
