"""What is asked of every contender, and what comes out? Tables, and lines that say who wins and who loses."""

import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.plot import Lines
from core.report import Table, milliseconds, percent, times

from ingest import jobs
from ingest.contenders import CONTENDERS, TWO_CORES
from ingest.jobs import JobError
from ingest.texts import MEGABYTE, Corpus

BUILDERS = tuple(CONTENDERS)
REPEATS_BELOW = 50
"""A corpus of fewer megabytes is taken in three times."""
ONCE_ABOVE = 200
"""A corpus of more megabytes is taken in once, and not by bm25s, which would hold five times as much in memory."""
OPENINGS = 3
MOST_OF_RAW, LEAST_OF_FTS5, MOST_OF_TANTIVY, MOST_OF_WALK = 1.0, 1.0, 5.0, 2.0
ORIGIN_RATE, ORIGIN_PEAK = 0.5, 1_660
"""What the origin system reports for 92 MB: MB/s, and MB of memory."""


@dataclass
class Built:
    """All rounds of one contender on one corpus and so many cores."""

    rounds: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""

    def middle(self, what: str) -> float:
        return statistics.median(float(found[what]) for found in self.rounds)

    def spread(self, what: str) -> float:
        values = [found[what] for found in self.rounds]
        return float((max(values) - min(values)) / 2 / statistics.median(values))


@dataclass
class Stage:
    """One corpus, where the indexes over it lie, and what was found."""

    corpus: Corpus
    scratch: Path
    built: dict[tuple[str, int], Built] = field(default_factory=dict)
    terms: list[tuple[str, str]] = field(default_factory=list)
    looks: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def where(self, name: str, cores: int = 1) -> Path:
        return self.scratch / f"{name}-{cores}"


def build_all(stage: Stage, *, two_cores: bool) -> None:
    """Everyone takes the corpus in, in turns; the last index of each stays."""
    plans = [(name, 1) for name in BUILDERS] + ([(name, 2) for name in TWO_CORES] if two_cores else [])
    stage.built = {plan: Built() for plan in plans}
    small, large = stage.corpus.megabytes < REPEATS_BELOW, stage.corpus.megabytes > ONCE_ABOVE
    for turn in range(3 if small else 1 if large else 2):
        for (name, cores), built in stage.built.items():
            if name == "bm25s" and (large or (turn and not small)):
                continue  # too slow to be asked twice
            where = stage.where(name, cores)
            shutil.rmtree(where, ignore_errors=True)
            where.mkdir(parents=True)
            given = {"system": name, "folder": str(stage.corpus.folder), "where": str(where), "cores": cores}
            try:
                built.rounds.append(jobs.run("build", **given))
            except JobError as error:
                built.failure = str(error)


def look_all(stage: Stage, *, openings: int) -> None:
    """Everyone opens its index in a few new processes and looks three words up."""
    found = jobs.run("pick", where=str(stage.where("FTS5")), files=stage.corpus.files)
    stage.terms = [(label, term) for label, term in found]  # type: ignore[misc]
    terms = [term for _, term in stage.terms]
    for _ in range(openings):
        for name in (name for name in BUILDERS if stage.built[name, 1].rounds):
            answer = jobs.run("look", system=name, where=str(stage.where(name)), terms=terms)
            stage.looks.setdefault(name, []).append(answer)


def rates(stage: Stage) -> tuple[Table, list[str]]:
    """MB/s, by processor and by wall clock."""
    table = Table("1. Taking texts in", ("", "cores", "CPU s", "+-", "MB/s CPU", "MB/s wall", "vs Brimful"))
    table.about = (
        "Reading the files, storing text and index, committed to disk. `vs Brimful` is processor time against "
        "Brimful's on one core: below 1x is faster than Brimful. `+-` is half the distance between the rounds."
    )
    size = stage.corpus.megabytes
    ours = stage.built["Brimful", 1].middle("cpu_s")
    for (name, cores), built in stage.built.items():
        if not built.rounds:
            table.add(name, f"{cores}", "", "", "", "", "failed", failure=built.failure)
            continue
        cpu, wall = built.middle("cpu_s"), min(found["wall_s"] for found in built.rounds)
        cells = (f"{cpu:.2f}", percent(built.spread("cpu_s")), f"{size / cpu:.1f}", f"{size / wall:.1f}")
        table.add(name, f"{cores}", *cells, times(cpu / ours), cores=cores, rounds=built.rounds, megabytes=size)
    table.notes += [
        "Wall is the fastest round, since the cores are shared. Two cores are given to those that can use them.",
        "Brimful commits every 16 MB, FTS5 every 8 MB, with a write-ahead log that is synced; the others at the end.",
        "Brimful also cuts units and sections, hashes every document and seals every row.",
        "On two cores a thread indexes one batch while the next is read and the last is written.",
    ]
    fts5 = stage.built["FTS5", 1].middle("cpu_s")
    two = min(found["wall_s"] for found in stage.built["Brimful", 2].rounds)
    fts5_wall = min(found["wall_s"] for found in stage.built["FTS5", 1].rounds)
    return table, [
        _verdict("On one core, MB/s against FTS5's", fts5 / ours, at_least=LEAST_OF_FTS5),
        _verdict("On two cores, MB/s (wall) against FTS5's on its one", fts5_wall / two, at_least=LEAST_OF_FTS5),
        _verdict("On one core, MB/s against the origin system's 0.5", size / ours / ORIGIN_RATE, at_least=20.0),
    ]


def sizes(stage: Stage) -> tuple[Table, list[str]]:
    """Bytes on disk and in memory."""
    table = Table("2. Room", ("", "disk/text", "stored text", "index", "rest", "peak RSS", "after imports"))
    table.about = "Disk as multiples of the raw text, and the most memory that the process held, in MB."
    raw = stage.corpus.total
    for name in BUILDERS:
        rounds = stage.built[name, 1].rounds
        if not rounds:
            continue
        last = rounds[-1]
        text, index = last["parts"]["text"], last["parts"]["index"]
        cells = (last["size"], text, index, last["size"] - text - index)
        peak = stage.built[name, 1].middle("peak")
        memory = (f"{peak / MEGABYTE:,.0f}", f"{(peak - last['loaded']) / MEGABYTE:,.0f}")
        table.add(name, *(f"{cell / raw:.2f}x" for cell in cells), *memory, raw=raw, **last)
    table.notes.append(
        "FTS5 keeps texts as they are; Brimful and tantivy compress them (zstd, lz4); bm25s writes JSON."
    )
    most = ORIGIN_PEAK / 10
    ours, what = stage.built["Brimful", 1], "Peak memory in MB against a tenth of the origin system's"
    return table, [
        _verdict("Store against raw text", ours.middle("size") / raw, at_most=MOST_OF_RAW),
        _verdict(what, ours.middle("peak") / MEGABYTE, at_most=most),
    ]


def updates(stage: Stage) -> tuple[Table, list[str]]:
    """One changed file, and the unchanged tree."""
    table = Table("3. Taking texts in again", ("", "CPU ms", "wall ms", "+-", "first CPU ms", "vs Brimful"))
    folder = stage.corpus.folder
    by_size = sorted(
        (path.stat().st_size, path.relative_to(folder).as_posix()) for path in folder.rglob("*.py") if path.is_file()
    )
    size, name = by_size[len(by_size) // 2]
    table.about = f"One changed file of {size / 1e3:.1f} KB, named; then the folder of {stage.corpus.files:,} files."
    ours = 0.0
    for contender in BUILDERS:
        if contender == "bm25s":
            table.add("bm25s, one file", "rebuild", "", "", "", "")
            continue
        given = {"where": str(stage.where(contender)), "folder": str(folder), "name": name}
        found = jobs.run("replace", system=contender, **given)
        cpu = statistics.median(cpu for _, cpu in found["times"])
        ours = ours or cpu
        _add_update(table, f"{contender}, one file", found["times"], found["first"], times(cpu / ours))
    # The other store, where nothing has been replaced without its file.
    found = jobs.run("again", where=str(stage.where("Brimful", 2)), folder=str(folder), name=name)
    labels = {
        "stat": "os.walk and stat alone",
        "walk": "Brimful's walk alone",
        "unchanged": "Brimful, folder unchanged",
        "changed": "Brimful, folder with one file changed",
    }
    walked = statistics.median(cpu for _, cpu in found["walk"])
    for what, label in labels.items():
        _add_update(table, label, found[what], None, "")
    again = statistics.median(cpu for _, cpu in found["unchanged"])
    table.notes.append(
        "FTS5 and tantivy know no folders: someone else must find out what changed. Brimful's walk also reads ignore "
        "files and says of everything that it leaves out why."
    )
    return table, [_verdict("Adding the unchanged folder against walking it", again / walked, at_most=MOST_OF_WALK)]


def _add_update(
    table: Table, label: str, found: Sequence[Sequence[float]], first: Sequence[float] | None, ratio: str
) -> None:
    walls, cpus = zip(*found, strict=True)
    middle = statistics.median(cpus)
    cells = (
        milliseconds(middle),
        milliseconds(statistics.median(walls)),
        percent((max(cpus) - min(cpus)) / 2 / middle),
        milliseconds(first[1]) if first else "",
    )
    table.add(label, *cells, ratio, times=found, first=first)


def lookups(stage: Stage) -> tuple[list[Table], list[str]]:
    """Opening, counting and fetching, cold and warm."""
    opened = Table("4a. Opening", ("", "CPU ms", "wall ms", "vs Brimful"))
    opened.about = f"A new process, imports done; the median of {OPENINGS} processes. The system's cache is warm."
    base = 0.0
    for name in BUILDERS:
        cpu, wall = (
            statistics.median(look[key] for look in stage.looks[name]) for key in ("open_cpu_s", "open_wall_s")
        )
        base = base or cpu
        opened.add(name, milliseconds(cpu), milliseconds(wall), times(cpu / base), cpu_s=cpu, wall_s=wall)

    census = Table("4b. How often does a word occur?", ("", "word", "count", "cold ms", "warm ms", "+-", "vs Brimful"))
    census.about = (
        "CPU time. Cold is the first question on a new connection, warm the same again. `vs Brimful` compares warm. "
        "Words are chosen by document frequency: " + ", ".join(f"{label} `{term}`" for label, term in stage.terms) + "."
    )
    census.notes.append("Brimful and FTS5 count occurrences, tantivy and bm25s documents. Tokens differ a little.")
    fetch = Table("4c. Where does it stand?", ("", "word", "fetched", "cold ms", "warm ms", "+-", "vs Brimful"))
    fetch.about = "As 4b, but everything is fetched that the index knows of where the word stands."
    fetch.notes.append(
        "Brimful gives document and byte of every occurrence as arrays. FTS5 gives the numbers of documents; `FTS5 "
        "tokens` their token numbers too (fts5vocab); `FTS5 bytes` reads and tokenises the texts again (highlight), "
        "since FTS5 keeps no bytes. tantivy gives scored documents (its Python binding has no positions), bm25s a "
        "score for every document of the corpus."
    )
    worst, against_fts5 = {"census": 0.0, "postings": 0.0}, 0.0
    for at, (label, _) in enumerate(stage.terms):
        for table, question in ((census, "census"), (fetch, "postings")):
            base = 0.0
            for name in BUILDERS:
                warm, low, high, cold, answer = _medians(stage.looks[name], at, question)
                base = base or warm
                spread = percent((high - low) / 2 / warm)
                cells = (label, f"{answer:,}", milliseconds(cold), milliseconds(warm), spread, times(warm / base))
                table.add(name, *cells, word=label, answer=answer, cold_s=cold, warm_s=warm)
                if name == "tantivy":
                    worst[question] = max(worst[question], base / warm)
                elif name == "FTS5" and question == "census":
                    against_fts5 = max(against_fts5, base / warm)
            if question == "postings":
                for deeper, name in (("positions", "FTS5 tokens"), ("spans", "FTS5 bytes")):
                    warm, low, high, _, answer = _medians(stage.looks["FTS5"], at, deeper)
                    cells = (label, f"{answer:,}", "", milliseconds(warm), percent((high - low) / 2 / warm))
                    table.add(name, *cells, times(warm / base), word=label, answer=answer, warm_s=warm)
    return [opened, census, fetch], [
        _verdict(
            "Fetching postings against tantivy's documents, warm, the worst word",
            worst["postings"],
            at_most=MOST_OF_TANTIVY,
        ),
        _verdict(
            "Census against tantivy's document count, warm, the worst word", worst["census"], at_most=MOST_OF_TANTIVY
        ),
        f"Census against FTS5's, which counts occurrences too, warm, the worst word: {against_fts5:.2f}",
    ]


def _medians(looks: list[dict[str, Any]], at: int, question: str) -> tuple[float, float, float, float, int]:
    warm = [look["warm"][at][question] for look in looks]
    cold = [look["cold"][at].get(question, 0.0) for look in looks]
    seconds = [found["s"] for found in warm]
    return statistics.median(seconds), min(seconds), max(seconds), statistics.median(cold), warm[0]["answer"]


def deletions(small: Stage) -> tuple[Table, list[str]]:
    """Is the census right at once when documents are gone?"""
    table = Table(
        "5. Counts after every second document is forgotten", ("", "counts", "before", "after", "fresh", "exact")
    )
    table.about = (
        f"The common word, {small.corpus.megabytes:.0f} MB; `fresh` is an index that never had those documents."
    )
    term = small.terms[-1][1]
    for name in BUILDERS:
        if name == "bm25s":
            table.add(name, "documents", "", "rebuild", "", "")
            continue
        where = small.scratch / f"exact-{name}"
        found = jobs.run("exact", system=name, folder=str(small.corpus.folder), where=str(where), term=term)
        is_exact = found["after"] == found["fresh"]
        cells = (f"{found['before']:,}", f"{found['after']:,}", f"{found['fresh']:,}", "yes" if is_exact else "no")
        table.add(name, CONTENDERS[name]().census_of, *cells, **found)
    table.notes.append(
        "tantivy's document frequency, which scores are computed from, counts deleted documents until a merge."
    )
    return table, []


def curve(stages: Sequence[Stage]) -> Table:
    """Cost against the size of the corpus."""
    table = Table("6. Cost against size", ("", "MB", "CPU s", "s per 10 MB", "disk/text", "peak MB", "medium word ms"))
    table.about = (
        "One core; the plot beside this file shows the same. The medium word stands in 2 % of the documents, so each "
        "size has its own."
    )
    for stage in stages:
        for name in BUILDERS:
            built = stage.built[name, 1]
            if not built.rounds:
                continue
            cpu, peak, disk = built.middle("cpu_s"), built.middle("peak"), built.rounds[-1]["size"]
            warm = _medians(stage.looks[name], 1, "postings")[0]
            size = stage.corpus.megabytes
            cells = (
                f"{cpu:.2f}",
                f"{cpu / size * 10:.2f}",
                f"{disk / stage.corpus.total:.2f}x",
                f"{peak / MEGABYTE:,.0f}",
            )
            figures = {"megabytes": size, "cpu_s": cpu, "disk": disk, "peak": peak, "medium_s": warm}
            table.add(name, f"{size:,.0f}", *cells, milliseconds(warm), **figures)
    return table


def panels(table: Table) -> dict[str, Lines]:
    """The same as lines of a plot."""
    shown = (
        ("cpu_s", "CPU seconds to index", 1.0),
        ("disk", "MB on disk", 1e-6),
        ("peak", "peak memory, MB", 1e-6),
        ("medium_s", "a medium word, ms (warm)", 1e3),
    )
    rows = {name: [row for row in table.figures if row["what"] == name] for name in BUILDERS}
    return {
        title: {name: [(row["megabytes"], row[key] * unit) for row in own] for name, own in rows.items()}
        for key, title, unit in shown
    }


def _verdict(what: str, value: float, *, at_least: float | None = None, at_most: float | None = None) -> str:
    """One line of the summary: the figure, the aim, and whether it is met."""
    if at_least is not None:
        return f"{what}: {value:.2f}, aim at least {at_least:g}: {'met' if value >= at_least else 'MISSED'}"
    return f"{what}: {value:.2f}, aim at most {at_most:g}: {'met' if value <= (at_most or 0) else 'MISSED'}"
