"""How does an answerer do on a whole set, and what does that look like as the budget grows?"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Literal

from blake3 import blake3

from brimful.budget import budget_of
from brimful.errors import InputError, choose
from brimful.evaluation.measures import Difference, Range, Scores, TokenAxis, difference, ndcg, score
from brimful.evaluation.sets import EvaluationSet, Layout, Question, Scope

# ---- run: How does an answerer do on a whole set?
#
# An answerer is any function from a question, a budget and a scope to citations, the best first:
#
#     def answer(question: str, budget: int, scope: tuple[str, ...] | None) -> Sequence[Cited]
#
# so that other retrievers are measured exactly as this package is.

BUDGETS = (500, 1000, 2000, 4000)

Answerer = Callable[[str, int, Scope], Sequence[Range]]
_MeasureName = Literal["recall", "full", "precision", "iou", "ndcg"]
_HEADS = {"recall": "recall", "full": "full", "precision": "precision", "iou": "IoU", "ndcg": "nDCG@10"}
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Row:
    """One question: its scores at each budget (`qa`), or its nDCG@10 at the largest (`ir`)."""

    question: str
    scores: tuple[Scores, ...] = ()
    ndcg: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """How long answers took. It differs from run to run and is part of nothing that is compared or hashed."""

    answers: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Result:
    """All that was measured of one answerer on one set."""

    name: str
    layout: Layout
    documents: int
    budgets: tuple[int, ...]
    rows: tuple[Row, ...]
    overlong: tuple[int, ...]  # answers that ask for more than the budget, at each budget; what is over is not read
    invalid: int  # citations of what is not there
    timing: Timing

    @property
    def measures(self) -> tuple[_MeasureName, ...]:
        """The measures that this layout has."""
        return ("ndcg",) if self.layout == "ir" else ("recall", "full", "precision", "iou")

    def values(self, measure: _MeasureName, budget: int) -> dict[str, float]:
        """The measure of every question, by its id."""
        choose(measure, self.measures, what=f"measure of {self.name}")
        if budget not in self.budgets:
            raise InputError(f"{self.name} was not measured at {budget} tokens; it was at {self.budgets}")
        if self.layout == "ir":
            return {row.question: row.ndcg for row in self.rows if row.ndcg is not None}
        place = self.budgets.index(budget)
        return {row.question: float(getattr(row.scores[place], measure)) for row in self.rows}

    def mean(self, measure: _MeasureName, budget: int) -> float:
        """The measure's mean over questions."""
        return math.fsum(self.values(measure, budget).values()) / len(self.rows)

    def means(self, measure: _MeasureName) -> dict[int, float]:
        """The measure's mean at every budget."""
        return {budget: self.mean(measure, budget) for budget in self.budgets}

    @property
    def fingerprint(self) -> str:
        """A hash of everything but the time it took: equal where two runs found the same."""
        return blake3(json.dumps(self._measured()).encode()).hexdigest(16)

    def as_json(self) -> str:
        """The whole result as JSON, keys always in the same order, the timing last."""
        timing = {
            "answers": self.timing.answers,
            "p50_ms": round(self.timing.p50_ms, 3),
            "p95_ms": round(self.timing.p95_ms, 3),
        }
        return json.dumps({**self._measured(), "timing": timing}, indent=1, ensure_ascii=False) + "\n"

    def _measured(self) -> dict[str, object]:
        return {
            "set": self.name,
            "layout": self.layout,
            "documents": self.documents,
            "questions": len(self.rows),
            "budgets": list(self.budgets),
            "means": {
                str(budget): {name: round(self.mean(name, budget), _DIGITS) for name in self.measures}
                for budget in self.budgets
            },
            "overlong": dict(zip(map(str, self.budgets), self.overlong, strict=True)),
            "invalid": self.invalid,
            "per_question": [self._row(row) for row in self.rows],
        }

    def _row(self, row: Row) -> dict[str, object]:
        if row.ndcg is not None:
            return {"id": row.question, "ndcg": round(row.ndcg, _DIGITS)}
        scored = zip(map(str, self.budgets), row.scores, strict=True)
        return {
            "id": row.question,
            **{
                budget: {name: round(value, _DIGITS) for name, value in scores._asdict().items()}
                for budget, scores in scored
            },
        }

    def table(self) -> str:
        """The means as lines of at most 80 characters."""
        lines = [f"{_cut(self.name, 32)}: {len(self.rows)} questions, {self.documents} documents"]
        heads = [_HEADS[name] for name in self.measures]
        lines.append(f"{'budget':>8}" + "".join(f"{head:>11}" for head in heads) + f"{'overlong':>11}")
        for budget, overlong in zip(self.budgets, self.overlong, strict=True):
            cells = "".join(f"{self.mean(name, budget):>11.4f}" for name in self.measures)
            lines.append(f"{budget:>8}{cells}{overlong:>11}")
        timing = self.timing
        lines.append(f"{timing.answers} answers, p50 {timing.p50_ms:.1f} ms, p95 {timing.p95_ms:.1f} ms")
        if self.invalid:
            lines.append(f"{self.invalid} citations name bytes that are not there; they gained nothing")
        return "\n".join(lines) + "\n"


def evaluate(
    answer: Answerer,
    asked: EvaluationSet,
    budgets: Sequence[int] = BUDGETS,
    *,
    axis: TokenAxis | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Result:
    """Ask every question at every budget and measure the answers.

    An `ir` set names documents and no bytes: it is asked once a question, at the largest budget, and documents
    rank where they are first cited. `axis` saves tokenising the documents again where a set is asked often.

    >>> from brimful.corpus.documents import Document
    >>> from brimful.evaluation.measures import Cited
    >>> from brimful.evaluation.sets import Evidence
    >>> tea = EvaluationSet("tea", "qa", (Document("a.txt", "Tea at four."),),
    ...                     (Question("q1", "When?", evidence=(Evidence("a.txt", 4, 11),)),))
    >>> evaluate(lambda question, budget, scope: [Cited("a.txt", 0, 12)], tea, (3, 4)).means("recall")
    {3: 0.5, 4: 1.0}
    """
    sizes = tuple(sorted({budget_of(budget).available for budget in budgets}))
    if not sizes or not asked.questions:
        raise InputError("nothing to measure: give at least one budget and one question")
    if asked.layout == "ir":
        sizes = sizes[-1:]
    measured = axis or TokenAxis(asked.documents)
    overlong = dict.fromkeys(sizes, 0)
    seconds: list[float] = []
    rows: list[Row] = []
    invalid = 0
    for question in asked.questions:
        scores = []
        for size in sizes:
            before = clock()
            cited = list(answer(question.text, size, question.scope))
            seconds.append(clock() - before)
            filled = measured.fill(cited, budget=size)
            overlong[size] += filled.asked > size
            invalid += filled.invalid
            scores.append(score(measured, question, filled))
        rows.append(_row(asked.layout, question, cited, scores))
    return Result(
        asked.name,
        asked.layout,
        len(asked.documents),
        sizes,
        tuple(rows),
        tuple(overlong.values()),
        invalid,
        _timing(seconds),
    )


def compare(ours: Result, theirs: Result, *, measure: _MeasureName = "recall") -> dict[int, Difference]:
    """Paired differences with their intervals at every budget that both were measured at."""
    shared = [budget for budget in ours.budgets if budget in theirs.budgets]
    return {budget: difference(ours.values(measure, budget), theirs.values(measure, budget)) for budget in shared}


def _percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least so many percent of the values do not exceed.

    >>> _percentile([4.0, 1.0, 3.0, 2.0], 50), _percentile([4.0, 1.0, 3.0, 2.0], 95)
    (2.0, 4.0)
    """
    return sorted(values)[max(-(-len(values) * percent // 100), 1) - 1]


def _row(layout: Layout, question: Question, cited: Sequence[Range], scores: Sequence[Scores]) -> Row:
    if layout == "ir":
        return Row(question.id, ndcg=ndcg([at.path for at in cited], dict(question.relevant)))
    return Row(question.id, tuple(scores))


def _timing(seconds: Sequence[float]) -> Timing:
    return Timing(len(seconds), 1e3 * _percentile(seconds, 50), 1e3 * _percentile(seconds, 95))


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


# ---- plot: What does recall look like as the budget grows? One SVG, drawn here, readable on white and on black.

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 520, 50, 360  # the drawing; names stand to its right
_LINE_HEIGHT = 20
_LONGEST_NAME = 28
_MOST = 16
# Light and dark forms of colours that differ in brightness too; after eight, dashes tell lines apart.
_COLOURS = (
    ("#0b5fa5", "#6cb6ff"),
    ("#b3450b", "#ff9d5c"),
    ("#1a7f37", "#56d364"),
    ("#8250df", "#d2a8ff"),
    ("#9a6700", "#e3b341"),
    ("#bf3989", "#ff9bce"),
    ("#0e7c86", "#56d4dd"),
    ("#57606a", "#b1bac4"),
)
_DASHES = ("", "6 4")


def plot(series: Mapping[str, Mapping[int, float]], *, title: str = "Recall of evidence by budget") -> str:
    """An SVG of recall (0..1) by budget for each named series; the first is drawn last and heaviest.

    Budgets stand at equal distances in order of size, since each is usually twice the one before.
    """
    budgets = sorted({budget for points in series.values() for budget in points})
    if not budgets:
        raise InputError("nothing to draw: give at least one series with one budget")
    if len(series) > _MOST:
        raise InputError(f"{len(series)} series can't be told apart in one drawing; give at most {_MOST}")
    lowest = min(value for points in series.values() for value in points.values())
    floor = max(0, min(int(lowest * 10), 9))  # tenths
    lines = [_curve(number, points, budgets, floor) for number, points in enumerate(series.values())]
    names = [_name(number, name) for number, name in enumerate(series)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(_described(series))}</desc>",
        _style(),
        f'<text class="head" x="{_LEFT}" y="26">{escape(title)}</text>',
        *_grid(budgets, floor),
        *reversed(lines),
        *names,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _style() -> str:
    def rules(dark: int) -> str:
        drawn = "".join(f".c{n}{{stroke:{pair[dark]};fill:{pair[dark]}}}" for n, pair in enumerate(_COLOURS))
        return f"text{{fill:{('#1f2328', '#e6edf3')[dark]}}}.grid{{stroke:{('#d0d7de', '#3d444d')[dark]}}}{drawn}"

    return (
        "<style>text{font:13px sans-serif;stroke:none}.head{font-size:15px;font-weight:bold}"
        ".line{fill:none!important;stroke-width:2}.first{stroke-width:3.5}.grid{stroke-width:1}"
        f"{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"
    )


def _across(budgets: Sequence[int], budget: int) -> float:
    steps = max(len(budgets) - 1, 1)
    return _LEFT + (_RIGHT - _LEFT) * budgets.index(budget) / steps


def _up(value: float, floor: int) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (value * 10 - floor) / (10 - floor)


def _grid(budgets: Sequence[int], floor: int) -> list[str]:
    parts = []
    for tenth in range(floor, 11):
        y = _up(tenth / 10, floor)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for budget in budgets:
        x = _across(budgets, budget)
        parts.append(f'<text x="{x:.1f}" y="{_BOTTOM + 22}" text-anchor="middle">{budget:,}</text>')
    middle = (_LEFT + _RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{_BOTTOM + 46}" text-anchor="middle">budget in tokens</text>')
    return parts


def _look(number: int) -> tuple[str, str]:
    dash = _DASHES[number // len(_COLOURS)]
    return f"c{number % len(_COLOURS)}", f' stroke-dasharray="{dash}"' if dash else ""


def _curve(number: int, points: Mapping[int, float], budgets: Sequence[int], floor: int) -> str:
    colour, dash = _look(number)
    weight = " first" if number == 0 else ""
    places = [(_across(budgets, budget), _up(points[budget], floor)) for budget in sorted(points)]
    path = "".join(
        f'<line class="line {colour}{weight}"{dash} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        for (x1, y1), (x2, y2) in pairwise(places)
    )
    dots = "".join(f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places)
    return path + dots


def _name(number: int, name: str) -> str:
    colour, dash = _look(number)
    weight = " first" if number == 0 else ""
    y = _TOP + 10 + number * _LINE_HEIGHT
    shown = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    x = _RIGHT + 24
    return (
        f'<line class="line {colour}{weight}"{dash} x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}"/>'
        f'<text x="{x + 32}" y="{y}">{escape(shown)}</text>'
    )


def _described(series: Mapping[str, Mapping[int, float]]) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(f"{points[budget]:.3f} at {budget}" for budget in sorted(points))
        for name, points in series.items()
    )
