"""What is measured in a process of its own? Building, the first answer of a new process, and answers of a warm one."""

import gc
import time
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from ingest.contenders import size_of
from ingest.jobs import Clock, peak

from query.contenders import CONTENDERS

STAGES = ("search", "read", "estimate", "inflate", "line", "pack", "receipt", "keep", "collect")


def build(*, system: str, folder: str, where: str) -> dict[str, Any]:
    """Take a folder in."""
    Path(where).mkdir(parents=True, exist_ok=True)
    clock = Clock()
    CONTENDERS[system]().build(Path(folder), Path(where))
    wall, cpu = clock.stop()
    return {"wall_s": wall, "cpu_s": cpu, "size": size_of(Path(where)), "peak": peak()}


def cold(*, system: str, where: str, question: str, budget: int) -> dict[str, Any]:
    """Import, open and answer one question, as a command in a shell does."""
    clock = Clock()
    ask = CONTENDERS[system]().open(Path(where))
    opened = clock.stop()
    text = ask(question, budget)
    wall, cpu = clock.stop()
    return {"wall_s": wall, "cpu_s": cpu, "open_cpu_s": opened[1], "characters": len(text), "peak": peak()}


def warm(
    *, system: str, where: str, before: Sequence[str], asked: Sequence[tuple[str, int, str]], counted: bool
) -> dict[str, Any]:
    """Answer questions that are new to a process that has answered others."""
    ask = CONTENDERS[system]().open(Path(where))
    for question in before:
        ask(question, 8_000)
    stages = _Stages() if system == "Brimful" else None
    rows = []
    for kind, budget, question in asked:
        clock = Clock()
        if stages:  # behind the clock, which lets the collector run before it begins
            stages.seconds.clear()
        text = ask(question, budget)
        wall, cpu = clock.stop()
        rows.append({"kind": kind, "budget": budget, "wall_s": wall, "cpu_s": cpu, "text": text})
        if stages:
            rows[-1]["stages"] = {stage: stages.seconds.get(stage, 0.0) for stage in STAGES}
    most = peak()
    if counted:
        from core.offline import count

        for row in rows:
            row["tokens"] = count(row["text"])
    for row in rows:
        del row["text"]
    return {"rows": rows, "peak": most}


def late(*, where: str, before: str, asked: Sequence[tuple[str, str]], budget: int) -> dict[str, Any]:
    """Questions by words, with a model that has not read their passages, and with one that has."""
    import brimful

    rows = [{"kind": kind} for kind, _ in asked]
    for way in ("words", "new", "known"):
        with brimful.open(Path(where), embedder="none" if way == "words" else "granite") as engine:
            engine.context(before, budget=budget)
            for row, (_, question) in zip(rows, asked, strict=True):
                clock = Clock()
                context = engine.context(question, budget=budget)
                wall, cpu = clock.stop()
                read = {"units": context.read.units, "embedded": context.read.embedded} if context.read else {}
                row[way] = {"wall_s": wall, "cpu_s": cpu, **read}
    return {"rows": rows, "peak": peak()}


class _Stages:
    """Processor time of the engine's stages, each without those that it calls."""

    def __init__(self) -> None:
        from brimful.assembly.pack import Packer
        from brimful.building import ContextBuilder
        from brimful.corpus import Corpus
        from brimful.store.documents import WholeDocuments
        from brimful.windows.inflate import WindowCache

        self.seconds: dict[str, float] = {}
        self._inner = 0.0
        for owner, name, stage in (
            (ContextBuilder, "search", "search"),
            (WholeDocuments, "one", "read"),
            (ContextBuilder, "_estimate", "estimate"),
            (WindowCache, "windows", "inflate"),
            (Packer, "cost", "line"),
            (Packer, "pack", "pack"),
            (Corpus, "with_receipt", "receipt"),
            (Corpus, "_fill", "keep"),
            (ContextBuilder, "fullest", "rest"),
        ):
            setattr(owner, name, self._timed(getattr(owner, name), stage))
        self._collecting = 0.0
        gc.callbacks.append(self._collected)

    def _collected(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.process_time()
            return
        spent = time.process_time() - self._collecting
        self.seconds["collect"] = self.seconds.get("collect", 0.0) + spent
        self._inner += spent

    def _timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            outer, self._inner = self._inner, 0.0
            begin = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                spent = time.process_time() - begin
                self.seconds[stage] = self.seconds.get(stage, 0.0) + spent - self._inner
                self._inner = outer + spent

        return timed


JOBS: dict[str, Callable[..., Any]] = {"build": build, "cold": cold, "warm": warm, "late": late}
