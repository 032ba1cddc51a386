"""How the work grows with the size: ratios of processor time on one machine in one run.

Linear work on ten times as much gives about 10, quadratic about 100, every time; a busy machine gives anything now and
then. So what seems to grow too fast is measured again, and the least of TRIES counts.
"""

import gc
import time
from collections.abc import Callable

TRIES = 6


def seconds(work: Callable[[], object]) -> float:
    """Processor time, the collector's left out."""
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        gc.enable()


def growth(measure: Callable[[], float], bound: float) -> float:
    """The least ratio of some tries, the first below the bound ending them."""
    least = measure()
    for _ in range(TRIES - 1):
        if least < bound:
            break
        least = min(least, measure())
    return least
