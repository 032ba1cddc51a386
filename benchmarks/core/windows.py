"""How long does it take to surround hits with what is needed to read them?"""

import math
import random
from collections.abc import Sequence
from functools import partial
from typing import Any

from brimful import Document, Hit, inflate
from core.clock import Contender, Timing, race, settle, timed
from core.peers import HaystackWindows, LangChainParents, LlamaNeighbours, LlamaWindows
from core.report import Table, milliseconds, percent, times
from core.texts import Place, Text, hits_in

COUNTS = (10, 100, 1_000, 10_000)
SIZINGS = ("density", "radial", "elastic")
TOKENS_PER_HIT = 150
"""600 bytes: about what the peers' seven sentences of prose hold."""
TARGET_MS, AIM_MS = 5.0, 0.05
NOTICEABLE_SECONDS, BEARABLE_SECONDS = 0.1, 15.0
BRIMFUL_DOES = (
    "Brimful: finds byte ranges, moves edges to sentences, functions or records, joins what meets, shares a budget, "
    "adds signatures and header rows, and scores coherence."
)


def measure(texts: Sequence[Text]) -> tuple[list[Table], list[str]]:
    """Index time, query time against peers, and query time by kind of text."""
    peers, index = _index(texts)
    settle()
    mixed, summary = _query(texts, peers, "1c. Hits to windows in code, prose and data")
    prose_texts = [text for text in texts if text.kind == "prose"]
    for peer in peers:
        peer.build(prose_texts)
    settle()
    prose, lines = _query(prose_texts, peers, "1b. Hits to windows in prose")
    prose.about = (
        f"`bytes` is the mean length of a window; every hit has {TOKENS_PER_HIT} tokens, 600 bytes. `first` works out "
        "the outlines of the documents that are hit; the other rows find them there, as the peers find their index. "
        "`vs density` is the whole time against Brimful's density row: above 1x is slower than it. PrevNext "
        "returns sentences, not windows. A peer is not run where it would take more than "
        f"{BEARABLE_SECONDS:.0f} s, by its growth."
    )
    mixed.about = "As 1b. The peers split sentences, which code and data have few of: hence their long windows."
    mixed.notes = [*mixed.notes, *(f"{peer.name}: {peer.does}." for peer in peers), BRIMFUL_DOES]
    return [index, prose, mixed, _kinds(texts)], [*lines, *summary]


def documents_of(texts: Sequence[Text], *, outlined: bool) -> list[Document]:
    """Fresh documents, with their outlines worked out or not."""
    documents = [Document(text.path, text.content) for text in texts]
    if outlined:
        for document in documents:
            _ = document.outline
    return documents


def hits_of(places: Sequence[Place]) -> list[Hit]:
    return [Hit(place.text.path, place.start, place.end, place.score) for place in places]


def budget_for(sizing: str, hits: int) -> int:
    """Tokens that give every hit 600 bytes; radial shares its budget by ten results, whatever their number."""
    return TOKENS_PER_HIT * (10 if sizing == "radial" else hits)


def _index(texts: Sequence[Text]) -> tuple[list[Any], Table]:
    table = Table("1a. Before the first question: splitting and storing", ("", "s", "MB/s", "vs Brimful"))
    size = sum(len(text.content) for text in texts)
    kinds = {kind: sum(len(text.content) for text in texts if text.kind == kind) for kind in ("code", "prose", "data")}
    table.about = (
        f"{len(texts)} documents, {size / 1e6:.1f} MB: "
        + ", ".join(f"{kind} {length / 1e6:.1f}" for kind, length in kinds.items())
        + ". For Brimful this is making the documents (UTF-8 check, BLAKE3, kind) and their outlines; it also "
        "happens by itself, at the first question, for the documents that are hit."
    )
    llama = LlamaWindows()
    peers = [llama, LlamaNeighbours(llama), LangChainParents(), HaystackWindows()]
    timings = {}
    for kind in kinds:
        of_kind = [text for text in texts if text.kind == kind]
        timings[kind] = timed(partial(documents_of, of_kind, outlined=True), rounds=3)
    whole = sum(timing.median for timing in timings.values())
    table.add("Brimful, documents and outlines", f"{whole:.2f}", f"{size / whole / 1e6:.1f}", "1x", cpu_s=whole)
    for kind, timing in timings.items():
        name, speed = f"  of which {kind}", kinds[kind] / timing.median / 1e6
        table.add(name, f"{timing.median:.2f}", f"{speed:.1f}", "", **timing.as_json())
    for peer in peers:
        timing = timed(partial(peer.build, texts), rounds=1)
        cells = (
            f"{timing.median:.2f}",
            f"{size / timing.median / 1e6:.1f}",
            times(timing.median / whole),
        )
        table.add(peer.build_name, *cells, **timing.as_json(), ratio=timing.median / whole)
    table.notes.append("Peers are built once (their indexes are kept for 1c), so their figures have no spread.")
    return peers, table


def _query(texts: Sequence[Text], peers: Sequence[Any], title: str) -> tuple[Table, list[str]]:
    table = Table(title, ("", "hits", "windows", "bytes", "ms", "ms/window", "+-", "vs density"))
    summary = []
    documents = documents_of(texts, outlined=True)
    last: dict[str, tuple[int, float]] = {}
    for count in COUNTS:
        places = hits_in(texts, count)
        hits = hits_of(places)
        hit_texts = sorted({place.text for place in places}, key=lambda text: text.path)
        contenders = {f"Brimful {sizing}": _inflation(hits, documents, sizing) for sizing in SIZINGS}
        contenders["Brimful density, first"] = Contender(
            lambda fresh, hits=hits: inflate(hits, fresh, budget=budget_for("density", len(hits))),
            lambda hit_texts=hit_texts: documents_of(hit_texts, outlined=False),
        )
        too_slow = [peer.name for peer in peers if _projected(last.get(peer.name), count) > BEARABLE_SECONDS]
        for peer in peers:
            if peer.name not in too_slow:
                contenders[peer.name] = Contender(peer.assemble, partial(peer.again, peer.retrieved(places)))
        timings = race(contenders)
        ours = timings["Brimful density"]
        base = math.nan if ours.failure else ours.median
        for name, timing in timings.items():
            _add(table, name, count, timing, base)
            if not timing.failure:
                last[name] = (count, timing.median)
        for name in too_slow:
            table.add(name, f"{count}", "", "", "", "", "", "not run", hits=count)
        if count in (10, 1_000) and not ours.failure:
            summary.append(_summary(title, count, ours, timings["Brimful density, first"]))
    return table, summary


def _summary(title: str, count: int, warm: Timing, first: Timing) -> str:
    each, cold = (timing.median / len(timing.result) for timing in (warm, first))
    return (
        f"{title.partition('. ')[2]}, {count:,} hits: {milliseconds(each)} ms a window, {1 / each:,.0f} windows/s; the "
        f"first time {milliseconds(cold)} ms. The seed allows {TARGET_MS:.0f} ms, the aim is {AIM_MS} ms"
    )


def _add(table: Table, name: str, hits: int, timing: Timing, base: float) -> None:
    """One row; the last column is windows per second, or the ratio where there is something to compare with."""
    if timing.failure:
        table.add(name, f"{hits}", "", "", "", "", "", "failed", hits=hits, failure=timing.failure)
        table.notes.append(f"{name} at {hits:,} hits failed: {timing.failure}")
        return
    shown = [window if isinstance(window, str) else window.text for window in timing.result]
    mean = sum(len(text.encode()) for text in shown) // max(len(shown), 1)
    each = timing.median / max(len(shown), 1)
    last = times(timing.median / base) if base else f"{1 / each:,.0f}"
    cells = f"{len(shown)}", f"{mean:,}", milliseconds(timing.median), milliseconds(each), percent(timing.spread), last
    figures = {"hits": hits, "windows": len(shown), "mean_bytes": mean, "ms_per_window": each * 1e3}
    ratio = {"ratio": timing.median / base} if base else {}
    table.add(name, f"{hits}", *cells, **figures, **timing.as_json(), **ratio)


def _inflation(hits: Sequence[Hit], documents: Sequence[Document], sizing: Any) -> Contender:
    shuffled = list(hits)
    random.Random(1).shuffle(shuffled)
    return Contender(lambda _: inflate(shuffled, documents, sizing=sizing, budget=budget_for(sizing, len(hits))))


def _projected(last: tuple[int, float] | None, count: int) -> float:
    """Seconds that a peer would take if it goes on growing with hits x documents, as the slow ones do."""
    return last[1] * (count / last[0]) ** 2 if last and last[1] > NOTICEABLE_SECONDS else 0.0


def _kinds(texts: Sequence[Text]) -> Table:
    columns = ("", "hits", "windows", "bytes", "ms", "ms/window", "+-", "windows/s")
    table = Table("1d. Hits to windows, by kind of text", columns)
    table.about = "Brimful alone, density, outlines there already."
    for kind in ("code", "prose", "data"):
        of_kind = [text for text in texts if text.kind == kind]
        documents = documents_of(of_kind, outlined=True)
        for count in COUNTS:
            hits = hits_of(hits_in(of_kind, count))
            _add(table, kind, count, race({"": _inflation(hits, documents, "density")})[""], 0.0)
    return table
