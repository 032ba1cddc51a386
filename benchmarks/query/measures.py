"""What do the jobs say, as tables?"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from core.plot import Lines
from core.report import Table, milliseconds, percent, times
from ingest.texts import Corpus

from ingest import jobs
from query.contenders import CONTENDERS, STORE
from query.jobs import STAGES
from query.questions import KINDS, questions

SCRIPT = "query.py"
BUDGETS = (1_000, 8_000, 100_000)
BEFORE = 3  # questions of each kind that warm a process up
COLD_BUDGET = 8_000
AIMS_MS = {(100, 1_000): 10, (100, 8_000): 20, (1_000, 1_000): 30}  # by megabytes and budget
_MEGABYTE = 1_000_000
_PASSAGE_BYTES = 600  # that a model reads together


@dataclass
class Stage:
    """A corpus, its questions, and what each contender did with it."""

    corpus: Corpus
    where: Path
    questions: dict[str, list[str]] = field(default_factory=dict)
    built: dict[str, dict[str, Any]] = field(default_factory=dict)
    cold: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    warm: dict[str, dict[str, Any]] = field(default_factory=dict)
    late: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.corpus.megabytes:,.0f} MB"


def measure(stage: Stage, systems: Sequence[str], *, each: int) -> None:
    """Build, ask cold, ask warm."""
    stage.questions = questions(stage.corpus.folder, BEFORE + each * len(BUDGETS))
    for system in systems:
        if CONTENDERS[system]().largest < stage.corpus.megabytes:  # type: ignore[attr-defined]
            stage.failed[system] = "not asked to hold so much"
            continue
        where = str(stage.where / system)
        try:
            stage.built[system] = jobs.run(
                "build", script=SCRIPT, system=system, folder=str(stage.corpus.folder), where=where
            )
            first = [stage.questions[kind][0] for kind in KINDS if stage.questions[kind]]
            first = first if system == "Brimful" else first[:1]  # importing some peers takes seconds
            stage.cold[system] = [
                jobs.run("cold", script=SCRIPT, system=system, where=where, question=question, budget=COLD_BUDGET)
                for question in first
            ]
            before = [question for kind in KINDS for question in stage.questions[kind][:BEFORE]]
            asked = [
                (kind, budget, question)
                for kind in KINDS
                for number, budget in enumerate(BUDGETS)
                for question in stage.questions[kind][BEFORE + number :: len(BUDGETS)]
            ]
            stage.warm[system] = jobs.run(
                "warm", script=SCRIPT, system=system, where=where, before=before, asked=asked, counted=True
            )
        except jobs.JobError as error:
            stage.failed[system] = str(error)
    if "Brimful" in stage.built:
        _read_by_a_model(stage, each=each)


def _read_by_a_model(stage: Stage, *, each: int) -> None:
    """The same with a model, whose passages are kept in the store: the last that is asked of it."""
    first, *asked = [(kind, question) for kind in KINDS for question in stage.questions[kind][: each + 1]]
    where = str(stage.where / "Brimful" / STORE)
    try:
        stage.late = jobs.run("late", script=SCRIPT, where=where, before=first[1], asked=asked, budget=BUDGETS[0])
    except jobs.JobError as error:
        stage.failed["a model"] = str(error)


def answers(stages: Sequence[Stage], systems: Sequence[str]) -> tuple[Table, list[str]]:
    """Question to context in a warm process."""
    table = Table(
        "1 From a question to a context, warm",
        ("corpus, budget, kind of question", "ms", "p95", "wall", *(name for name in systems if name != "Brimful")),
        "Processor time of Brimful at the median and the 95th percentile, wall clock at the median, and what the peers "
        "take at the median against Brimful's. Every question is new to its process. Peers pack pieces with a loop.",
    )
    summary = []
    for stage in stages:
        if "Brimful" not in stage.warm:
            continue
        for budget in BUDGETS:
            for kind in (*KINDS, "all"):
                _answer(table, stage, systems, budget, kind)
        for budget in BUDGETS[:2]:
            own = [row["cpu_s"] for row in stage.warm["Brimful"]["rows"] if row["budget"] == budget]
            middle, most = milliseconds(median(own)), milliseconds(_p95(own))
            line = f"{stage.label}, {budget:,} tokens: p50 {middle} ms, p95 {most} ms warm"
            aim = AIMS_MS.get((round(stage.corpus.megabytes, -2), budget))
            verdict = "met" if aim and median(own) * 1e3 <= aim else "MISSED"
            summary.append(f"{line}, aim {aim} ms: {verdict}" if aim else line)
    return table, summary


def panels(stages: Sequence[Stage], systems: Sequence[str]) -> dict[str, Lines]:
    """How what a question takes grows with the corpus, as lines of a plot."""
    found: dict[str, Lines] = {}
    for budget in BUDGETS[:2]:
        lines: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
        for stage in stages:
            for name, answered in stage.warm.items():
                own = [row["cpu_s"] for row in answered["rows"] if row["budget"] == budget]
                lines[name] += [(stage.corpus.megabytes, median(own) * 1e3)] if own else []
        found[f"a question, {budget:,} tokens, CPU ms"] = lines
    found["the first question of a process, CPU ms"] = {
        name: [
            (stage.corpus.megabytes, median(row["cpu_s"] for row in stage.cold[name]) * 1e3)
            for stage in stages
            if stage.cold.get(name)
        ]
        for name in systems
    }
    found["peak memory, MB"] = {
        name: [(stage.corpus.megabytes, stage.warm[name]["peak"] / _MEGABYTE) for stage in stages if name in stage.warm]
        for name in systems
    }
    return found


def _answer(table: Table, stage: Stage, systems: Sequence[str], budget: int, kind: str) -> None:
    cpu: dict[str, list[float]] = {}
    wall: dict[str, list[float]] = {}
    for system, found in stage.warm.items():
        chosen = [row for row in found["rows"] if row["budget"] == budget and kind in (row["kind"], "all")]
        cpu[system], wall[system] = ([row[name] for row in chosen] for name in ("cpu_s", "wall_s"))
    own = cpu["Brimful"]
    if not own:
        return
    ratios = [times(median(cpu[name]) / median(own)) if cpu.get(name) else "" for name in systems if name != "Brimful"]
    table.add(
        f"{stage.label}, {budget:,}, {kind}",
        milliseconds(median(own)),
        milliseconds(_p95(own)),
        milliseconds(median(wall["Brimful"])),
        *ratios,
        **{
            system: {
                "cpu_p50": median(cpu[system]),
                "cpu_p95": _p95(cpu[system]),
                "wall_p50": median(wall[system]),
                "wall_p95": _p95(wall[system]),
            }
            for system in stage.warm
            if cpu[system]
        },
    )


def stages_of(stages: Sequence[Stage]) -> Table:
    """Where Brimful's time goes."""
    table = Table(
        "2 Where the time goes",
        ("corpus, budget", *STAGES, "rest", "all"),
        "Milliseconds of processor time in a warm process, medians of each stage over all kinds of questions (which "
        "is why they do not add up). `estimate` counts the tokens of hits, `line` is what the tries cost that find out "
        "how many hits the budget has room for, `keep` takes the answer up and lets go of an old one, `collect` is "
        "Python's collector of garbage, wherever it runs.",
    )
    for stage in stages:
        for budget in BUDGETS:
            rows = [row for row in stage.warm.get("Brimful", {}).get("rows", []) if row["budget"] == budget]
            if rows:
                found = {name: median(row["stages"][name] for row in rows) for name in STAGES}
                found["rest"] = median(row["cpu_s"] - sum(row["stages"].values()) for row in rows)
                found["all"] = median(row["cpu_s"] for row in rows)
                table.add(f"{stage.label}, {budget:,}", *map(milliseconds, found.values()), **found)
    return table


def starts(stages: Sequence[Stage], systems: Sequence[str]) -> Table:
    """The first answer of a new process."""
    table = Table(
        "3 Cold: a new process that imports, opens and answers",
        ("corpus", *systems),
        f"Milliseconds of processor time at {COLD_BUDGET:,} tokens: for Brimful the median of a question of each kind, "
        "for the others a rare one.",
    )
    for stage in stages:
        found = {name: [row["cpu_s"] for row in stage.cold[name]] for name in systems if stage.cold.get(name)}
        cells = [milliseconds(median(found[name])) if name in found else "" for name in systems]
        table.add(stage.label, *cells, **{name: {"cpu_s": rows} for name, rows in found.items()})
    return table


def read_late(stages: Sequence[Stage]) -> Table:
    """What a model that reads the best places costs."""
    table = Table(
        "5 With a model that reads the best places",
        ("corpus, kind of question", "words ms", "new ms", "new wall s", "known ms", "known/words", "read", "all/read"),
        f"{BUDGETS[0]:,} tokens, medians of processor time: by words alone, where the model meets the "
        "units of a question for the first time (wall clock too), and where it has read them before. `read` is how "
        "many units it read then; `all/read` how many times as many the corpus has: what has to be "
        "read before a first answer where a corpus is embedded ahead.",
    )
    for stage in stages:
        for kind in (*KINDS, "all"):
            rows = [row for row in stage.late.get("rows", []) if kind in (row["kind"], "all")]
            if not rows:
                continue
            words, new, known = (median(row[way]["cpu_s"] for row in rows) for way in ("words", "new", "known"))
            wall, read = median(row["new"]["wall_s"] for row in rows), median(row["new"]["embedded"] for row in rows)
            found = {"words": words, "new": new, "new_wall": wall, "known": known, "read": read}
            every = stage.corpus.megabytes * _MEGABYTE / _PASSAGE_BYTES
            cells = (milliseconds(words), milliseconds(new), f"{wall:.2f}", milliseconds(known), times(known / words))
            table.add(f"{stage.label}, {kind}", *cells, f"{read:.0f}", f"{every / max(read, 1):,.0f}x", **found)
        if "a model" in stage.failed:
            table.notes += [f"{stage.label}: {stage.failed['a model']}"]
    return table


def memory(stages: Sequence[Stage], systems: Sequence[str]) -> tuple[Table, list[str]]:
    """What a warm process holds, and what was built."""
    table = Table(
        "4 Memory, size, build",
        ("corpus, contender", "peak MB", "cold MB", "on disk MB", "build s", "budget used"),
        "Peak resident memory after all questions and after one, bytes on disk, processor time of building, and the "
        "mean share of the budget that a context uses, counted by tiktoken.",
    )
    summary = []
    for stage in stages:
        for system in systems:
            if system not in stage.warm:
                table.notes += [f"{stage.label}, {system}: {stage.failed.get(system, 'not measured')}"]
                continue
            rows, built = stage.warm[system]["rows"], stage.built[system]
            used = sum(row["tokens"] / row["budget"] for row in rows) / max(len(rows), 1)
            over = sum(row["tokens"] > row["budget"] for row in rows)
            first = median(row["peak"] for row in stage.cold[system])
            table.add(
                f"{stage.label}, {system}",
                f"{stage.warm[system]['peak'] / _MEGABYTE:,.0f}",
                f"{first / _MEGABYTE:,.0f}",
                f"{built['size'] / _MEGABYTE:,.0f}",
                f"{built['cpu_s']:,.1f}",
                percent(used),
                peak=stage.warm[system]["peak"],
                cold_peak=first,
                built=built,
                used=used,
                over=over,
            )
        if "Brimful" in stage.warm:
            summary.append(f"{stage.label}: at most {stage.warm['Brimful']['peak'] / _MEGABYTE:,.0f} MB resident")
    return table, summary


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[max(-(-len(values) * 95 // 100) - 1, 0)]
