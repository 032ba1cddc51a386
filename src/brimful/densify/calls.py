"""How is one request made to end well: how many at once, how often, how long between?

Parallelism is bounded for each endpoint across all runs of the process. A request that may pass later is tried again
after the time that the provider asked for, or after a doubling wait; a second run of the same text pays for none of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from brimful.densify.classify import silently_truncated
from brimful.densify.model import Completion, Model, Stop
from brimful.densify.plan import DensifySettings
from brimful.errors import (
    AuthError,
    ContextLimitError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RefusedError,
    RequestSizeError,
    SettingError,
)
from brimful.limits import COUNTED_TOKENS
from brimful.text.strict_json import whole_characters

_NEVER_AGAIN = (AuthError, ContextLimitError, QuotaError, RefusedError, RequestSizeError)
_HOPELESS = frozenset({400, 404, 405, 410, 415, 422})
_LANES: dict[str, _Lane] = {}
_LANES_LOCK = threading.Lock()


class _Lane:
    """The calls that one endpoint serves at once."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._busy = 0
        self._free = threading.Condition()

    @contextmanager
    def place(self, stop: Stop) -> Iterator[None]:
        """Wait for a free place, and hold it within the block."""
        with self._free:
            while self._busy >= self.width:
                stop.check()
                self._free.wait(0.05)
            self._busy += 1
        try:
            yield
        finally:
            with self._free:
                self._busy -= 1
                self._free.notify()


def bound_parallel(endpoint: str, calls: int) -> None:
    """Let an endpoint serve at most so many calls at once, for every run of this process from now on."""
    if calls < 1:
        raise SettingError(f"{calls} calls at once get nothing done; give at least 1")
    with _LANES_LOCK:
        _LANES.setdefault(endpoint, _Lane(calls)).width = calls


def _lane(endpoint: str, width: int) -> _Lane:
    """The endpoint's lane; the first run decides its width, `bound_parallel` changes it."""
    with _LANES_LOCK:
        return _LANES.setdefault(endpoint, _Lane(width))


@dataclass(slots=True)
class Ledger:
    """What a run has paid, counted as it goes."""

    calls: int = 0
    retries: int = 0
    overflows: int = 0
    remembered: int = 0
    tokens_sent: int = 0
    tokens_received: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, **counts: int) -> None:
        """Add to the named counts."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)


@dataclass(frozen=True, slots=True)
class Caller:
    """Everything that a request needs beside its prompt."""

    model: Model
    settings: DensifySettings
    stop: Stop
    ledger: Ledger
    sleep: Callable[[float], None]

    def ask(self, prompt: str, *, max_output_tokens: int) -> Completion:
        """The answer, after at most `attempts` requests."""
        counted = self.model.count(prompt)
        for attempt in range(1, self.settings.attempts + 1):
            try:
                return self._once(prompt, counted, max_output_tokens)
            except _NEVER_AGAIN:
                raise
            except ProviderError as error:
                if attempt == self.settings.attempts or not self._may_pass(error):
                    raise
                self._wait(error, attempt)
                self.ledger.add(retries=1)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, prompt: str, counted: int, max_output_tokens: int) -> Completion:
        with _lane(self.model.endpoint, self.settings.parallel).place(self.stop):
            self.stop.check()
            self.ledger.add(calls=1, tokens_sent=counted)
            answer = _sound(self.model.complete(prompt, max_output_tokens=max_output_tokens, stop=self.stop))
        if silently_truncated(answer.input_tokens, counted, exact=self.model.counter.exact):
            raise ContextLimitError(
                f"{self.model.name} read {answer.input_tokens} of {counted} tokens and said nothing; send less at once",
                status=200,
                body=None,
            )
        self.ledger.add(tokens_received=answer.output_tokens or self.model.count(answer.text))
        return answer

    def _may_pass(self, error: ProviderError) -> bool:
        """Whether another try can end differently; a wait beyond `longest_wait_seconds` is not waited for."""
        if error.status in _HOPELESS and not isinstance(error, RateLimitError):
            return False
        return (error.wait_seconds or 0) <= self.settings.longest_wait_seconds

    def _wait(self, error: ProviderError, attempt: int) -> None:
        grown = self.settings.first_wait_seconds * 2 ** (attempt - 1)
        asked = error.wait_seconds
        self.sleep(min(asked if asked is not None else grown, self.settings.longest_wait_seconds))
        self.stop.check()


def _sound(answer: Completion) -> Completion:
    """An answer that can be written down, with counts that a model could have counted."""
    return replace(
        answer,
        text=whole_characters(answer.text),
        input_tokens=_counted(answer.input_tokens),
        output_tokens=_counted(answer.output_tokens),
    )


def _counted(tokens: int | None) -> int | None:
    return tokens if isinstance(tokens, int) and 0 <= tokens <= COUNTED_TOKENS else None
