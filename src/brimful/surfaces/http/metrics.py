"""How busy is the server? Counters and histograms as Prometheus reads them (text format 0.0.4)."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

MEDIA_TYPE = "text/plain; version=0.0.4"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """What was counted since the start; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered; `route` is a template, so that there are few."""
        with self._lock:
            self._requests[route, method, status] += 1
            place = next((at for at, bound in enumerate(_BOUNDS) if seconds <= bound), len(_BOUNDS))
            self._seconds[route][place] += 1
            self._sums[route] += seconds  # type: ignore[assignment]  # a Counter adds floats as well

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter of its own."""
        with self._lock:
            self._counts[name] += by

    def text(self, gauges: Mapping[str, int]) -> str:
        """Everything, in a fixed order."""
        with self._lock:
            return "\n".join([*self._lines(), *_gauges(gauges)]) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# HELP brimful_requests_total Requests by route, method and status."
        yield "# TYPE brimful_requests_total counter"
        for (route, method, status), count in sorted(self._requests.items()):
            yield f'brimful_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield "# HELP brimful_request_seconds How long requests took."
        yield "# TYPE brimful_request_seconds histogram"
        for route, places in sorted(self._seconds.items()):
            total = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), places, strict=True):
                total += count
                yield f'brimful_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}'
            yield f'brimful_request_seconds_sum{{route="{route}"}} {self._sums[route]:.6f}'
            yield f'brimful_request_seconds_count{{route="{route}"}} {total}'
        for name, count in sorted({"contexts": 0, "context_tokens": 0, **self._counts}.items()):
            yield f"# TYPE brimful_{name}_total counter"
            yield f"brimful_{name}_total {count}"


def _gauges(gauges: Mapping[str, int]) -> Iterator[str]:
    for name, value in sorted(gauges.items()):
        yield f"# TYPE brimful_{name} gauge"
        yield f"brimful_{name} {value}"
