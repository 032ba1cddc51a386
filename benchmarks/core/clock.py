"""How long does it take, and how sure is that on a machine with noisy neighbours?

The clock is the processor's: what this process was given, not what it waited for while others had the cores.
Everything measured runs in one thread, so on an idle core both clocks agree; the JSON file has the other too.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ROUNDS = 6
FEWEST = 3
PATIENCE_SECONDS = 1.0
"""A contender that has taken this long has said enough once it has run FEWEST times."""
ENOUGH_SECONDS = 8.0
"""One that has taken this long is not asked again at all."""


@dataclass
class Timing:
    """All times of one contender, and what it returned last, or how it failed."""

    seconds: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    result: Any = None
    failure: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the range between the fastest and the slowest, as a share of the median."""
        return (max(self.seconds) - min(self.seconds)) / 2 / self.median

    def as_json(self) -> dict[str, float]:
        wall = statistics.median(self.waited)
        return {"cpu_s": self.median, "wall_s": wall, "spread": round(self.spread, 3), "rounds": len(self.seconds)}

    def _done(self) -> bool:
        spent = sum(self.seconds)
        enough = len(self.seconds) >= FEWEST and spent > PATIENCE_SECONDS
        return bool(self.failure) or enough or spent > ENOUGH_SECONDS


@dataclass(frozen=True)
class Contender:
    """Something to time; `prepare` runs before every round, outside the clock, and feeds `run`."""

    run: Callable[[Any], Any]
    prepare: Callable[[], Any] = lambda: None


def settle() -> None:
    """Hide what exists by now from the garbage collector: the peers' indexes must not slow anyone's rounds."""
    gc.collect()
    gc.freeze()


def race(contenders: Mapping[str, Contender], *, rounds: int = ROUNDS) -> dict[str, Timing]:
    """Time contenders in turn, round by round, so that a noisy moment meets all of them alike."""
    timings = {name: Timing() for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            timing = timings[name]
            if timing._done():  # noqa: SLF001  (its own module)
                continue
            given = contender.prepare()
            timing.result = None
            gc.collect()
            started, waiting = time.process_time(), time.perf_counter()
            try:
                timing.result = contender.run(given)
            except Exception as error:  # a failure is a result too, and the others still want to run
                timing.failure = f"{type(error).__name__}: {error}"
                continue
            timing.seconds.append(time.process_time() - started)
            timing.waited.append(time.perf_counter() - waiting)
    for timing in timings.values():
        if len(timing.seconds) > FEWEST:  # where there are enough, the first was a rehearsal: imports, caches
            del timing.seconds[0], timing.waited[0]
    return timings


def timed(run: Callable[[], Any], *, rounds: int = ROUNDS) -> Timing:
    """Time one thing alone."""
    return race({"": Contender(lambda _: run())}, rounds=rounds)[""]
