"""What is measured in a process of its own? Each job prints one line of JSON.

A process of its own has no memory that earlier work has left behind and nothing loaded that another contender needs.
Imports happen before the clock starts.
"""

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ingest.contenders import CONTENDERS, Brimful, Fts5, size_of, texts_in

CHILD = "--child"
ROUNDS = 5
LEAST_SECONDS = 0.01
"""A look-up is repeated until it has taken this long, then divided."""
PATIENCE_SECONDS = 0.2
"""A look-up that has taken this long is not repeated."""


class JobError(Exception):
    """A job failed; the message is the last line that it wrote."""


def run(job: str, *, script: str = "ingest.py", **given: Any) -> dict[str, Any]:
    """Run a job of a script in a new process, as the cores of this machine allow."""
    command = [sys.executable, str(Path(__file__).parent.parent / script), CHILD, job, json.dumps(given)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise JobError((done.stderr.strip().splitlines() or ["no message"])[-1][:200])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def child(arguments: Sequence[str], jobs: Mapping[str, Callable[..., Any]] | None = None) -> int:
    """The other end of `run`."""
    job, given = arguments[0], json.loads(arguments[1])
    print(json.dumps((JOBS if jobs is None else jobs)[job](**given)))
    return 0


def build(*, system: str, folder: str, where: str, cores: int) -> dict[str, Any]:
    """Take a folder in."""
    with suppress(AttributeError, OSError):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    contender = CONTENDERS[system]()
    before = peak()
    clock = Clock()
    contender.build(Path(folder), Path(where), cores=cores)
    wall, cpu = clock.stop()
    return {
        "wall_s": wall,
        "cpu_s": cpu,
        "peak": peak(),
        "loaded": before,
        "size": size_of(Path(where)),
        "parts": contender.parts(Path(where)),
    }


def look(*, system: str, where: str, terms: Sequence[str]) -> dict[str, Any]:
    """Open, then ask for terms: each first on a new connection, then again and again on one."""
    contender = CONTENDERS[system]()
    place = Path(where)
    clock = Clock()
    reader = contender.reader(place)
    opened = clock.stop()
    reader.close()
    cold = []
    for term in terms:
        row = {}
        for question in ("census", "postings"):
            reader = contender.reader(place)
            ask = getattr(reader, question)
            clock = Clock()
            ask(term)
            row[question] = clock.stop()[1]
            reader.close()
        cold.append(row)
    reader = contender.reader(place)
    questions = [name for name in ("census", "postings", "positions", "spans") if hasattr(reader, name)]
    warm = [{question: _repeated(getattr(reader, question), term) for question in questions} for term in terms]
    reader.close()
    return {"open_wall_s": opened[0], "open_cpu_s": opened[1], "cold": cold, "warm": warm}


def _repeated(ask: Callable[[str], int], term: str) -> dict[str, float]:
    """CPU seconds of one question, the median of some rounds."""
    answer = ask(term)
    seconds: list[float] = []
    for _ in range(ROUNDS):
        if sum(seconds) > PATIENCE_SECONDS:
            break
        clock, count = Clock(), 0
        while not count or clock.now() < LEAST_SECONDS:
            ask(term)
            count += 1
        seconds.append(clock.stop()[1] / count)
    return {"answer": answer, "s": statistics.median(seconds), "low": min(seconds), "high": max(seconds)}


def replace(*, system: str, where: str, folder: str, name: str) -> dict[str, Any]:
    """Store a changed text under the same name, several times."""
    content = (Path(folder) / name).read_bytes()
    contender = CONTENDERS[system]()
    writer = contender.writer(Path(where))
    times = []
    for number in range(ROUNDS + 1):
        clock = Clock()
        writer.replace(name, content + b"\nchanged %d times\n" % number)
        times.append(clock.stop())
    writer.close()
    return {"first": times[0], "times": times[1:], "bytes": len(content)}


def again(*, where: str, folder: str, name: str) -> dict[str, Any]:
    """Add a folder again, with nothing changed and with one file changed, against merely walking it."""
    from brimful.documents.sources import walk

    contender = Brimful()
    changed = Path(folder) / name
    content = changed.read_bytes()
    times: dict[str, list[tuple[float, float]]] = {"stat": [], "walk": [], "unchanged": [], "changed": []}
    with contender.store(Path(where) / "brimful.db") as store:
        for number in range(ROUNDS):
            for what, rounds in times.items():
                if what == "changed":
                    changed.write_bytes(content + b"\nchanged again, %d\n" % number)
                clock = Clock()
                if what == "stat":
                    _stat_all(folder)
                elif what == "walk":
                    for _ in walk(folder, settings=contender.settings):
                        pass
                else:
                    report = contender.ingest(store, folder, settings=contender.settings)
                    if report.changed != int(what == "changed") or report.added:
                        raise SystemExit(f"adding the folder again changed {report.changed}, added {report.added}")
                rounds.append(clock.stop())
    changed.write_bytes(content)
    return {what: found[1:] for what, found in times.items()}


def _stat_all(folder: str) -> None:
    for here, _, files in os.walk(folder):
        for name in files:
            os.stat(f"{here}/{name}")  # noqa: PTH116  (a Path for each would take longer than the stat)


def pick(*, where: str, files: int) -> list[tuple[str, str]]:
    """A rare, a medium and a common word, by how many documents have them; every tokenizer finds these whole."""
    reader = Fts5().reader(Path(where))
    known = [(term, count) for term, count in reader.by_frequency() if term.isascii() and term.isalpha()]  # type: ignore[attr-defined]
    words = [(term, count) for term, count in known if 5 <= len(term) <= 9]
    wanted = {"rare": min(5, max(files // 20, 1)), "medium": max(files // 50, 2)}
    found = [(label, min(words, key=lambda word: (abs(word[1] - aim), word[0]))[0]) for label, aim in wanted.items()]
    common = max((word for word in known if len(word[0]) > 2), key=lambda word: (word[1], word[0]))
    reader.close()
    return [*found, ("common", common[0])]


def exact(*, system: str, folder: str, where: str, term: str) -> dict[str, Any]:
    """Forget every second document, and compare the census with that of an index which never had them."""
    contender = CONTENDERS[system]()
    names = [name for name, _ in texts_in(Path(folder))]
    full, fresh, kept = (Path(where) / name for name in ("full", "fresh", "kept"))
    for place in (full, fresh, kept):
        place.mkdir(parents=True)
    for name in names[1::2]:
        target = kept / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((Path(folder) / name).read_bytes())
    contender.build(Path(folder), full, cores=1)
    contender.build(kept, fresh, cores=1)
    counts = [_census(contender, full, term)]
    writer = contender.writer(full)
    writer.remove(names[::2])
    counts += [_census(contender, full, term), _census(contender, fresh, term)]
    writer.close()
    return dict(zip(("before", "after", "fresh"), counts, strict=True))


def _census(contender: Any, where: Path, term: str) -> int:
    reader = contender.reader(where)
    count: int = reader.census(term)
    reader.close()
    return count


def neural_job(*, folder: str, where: str) -> dict[str, Any]:
    """LlamaIndex with MiniLM, whose imports take seconds."""
    from ingest import neural

    return neural.build(folder=folder, where=where)


class Clock:
    """Wall and processor time of this process and of the children that have ended."""

    def __init__(self) -> None:
        gc.collect()
        self._wall, self._cpu = time.perf_counter(), _cpu()

    def now(self) -> float:
        return time.perf_counter() - self._wall

    def stop(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, _cpu() - self._cpu


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak() -> int:
    """The most memory that was resident at once; of a helper process the largest is added."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    helpers = children.ru_maxrss * 1024 if children.ru_utime else 0
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + helpers
    return helpers + next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


JOBS: dict[str, Callable[..., Any]] = {
    "build": build,
    "look": look,
    "replace": replace,
    "again": again,
    "pick": pick,
    "exact": exact,
    "neural": neural_job,
}
