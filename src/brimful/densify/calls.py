"""A model that condenses, and its calls: how many at once, how often, how long between.

Parallelism is bounded for each endpoint across all runs of the process. A request that may pass later is tried again
after the time that the provider asked for, or after a doubling wait.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from brimful.errors import (
    AuthError,
    ContextLimitError,
    ProviderError,
    QuotaError,
    RefusedError,
    RequestSizeError,
    SettingError,
    UnavailableError,
)
from brimful.limits import COUNTED_TOKENS, LEAST_CONTEXT_TOKENS
from brimful.settings import DensifySettings
from brimful.text.strict_json import whole_characters
from brimful.text.tokens import TokenCounter
from brimful.transport import LOOK_SECONDS, Stop


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, with what the provider says it counted."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class Model(Protocol):
    """Answers a prompt. One call of `complete` is one request, without a second try."""

    @property
    def name(self) -> str:
        """The name that `model_for` takes; answers are remembered under it."""

    @property
    def endpoint(self) -> str:
        """The server: parallel calls are bounded, and limits remembered, for each endpoint."""

    @property
    def small(self) -> bool:
        """Whether its limit is known to be small, so that sending a whole text first would be wasted."""

    @property
    def counter(self) -> TokenCounter:
        """Counts as the model does, or a named estimate."""

    def limit(self) -> int | None:
        """The context limit in tokens, where the provider, a table or the user tells it."""

    def count(self, text: str) -> int:
        """The tokens of a text."""

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """The answer, or a ProviderError of the right kind; a CancelledError once `stop` is set."""


_FIRST_WAIT_SECONDS = 1.0  # doubled with every further try
_LONGEST_WAIT_SECONDS = 60.0  # a provider that asks for more has failed
_LASTING = (AuthError, ContextLimitError, QuotaError, RefusedError, RequestSizeError)
_ABSENT_STATUSES = frozenset({400, 404, 405, 410})
"""With an UnavailableError: the address or the model is not there."""
_CHANGED = threading.Condition()
_ACTIVE_CALLS: Counter[str] = Counter()
_BOUNDS: dict[str, int] = {}


@contextmanager
def _slot(endpoint: str, width: int, stop: Stop) -> Iterator[None]:
    """Wait until an endpoint serves fewer than `width` calls, or than `bound_parallel` allows; then count as one."""
    with _CHANGED:
        while _ACTIVE_CALLS[endpoint] >= _BOUNDS.get(endpoint, width):
            stop.check()
            _CHANGED.wait(LOOK_SECONDS)
        _ACTIVE_CALLS[endpoint] += 1
    try:
        yield
    finally:
        with _CHANGED:
            _ACTIVE_CALLS[endpoint] -= 1
            _CHANGED.notify_all()


def bound_parallel(endpoint: str, calls: int) -> None:
    """Let an endpoint serve at most this many calls at once, for every run of this process from now on."""
    if calls < 1:
        raise SettingError(f"{calls} calls at once get nothing done; give at least 1")
    _BOUNDS[endpoint] = calls


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends prompts to a model, again where that can help, and counts what it costs."""

    model: Model
    settings: DensifySettings
    stop: Stop
    sleep: Callable[[float], object]
    paid: Counter[str] = field(default_factory=Counter)  # by the names that `Digest` has for them

    def count(self, **counts: int) -> None:
        """Add to what the run has paid."""
        with _CHANGED:
            self.paid.update(counts)

    def ask(self, prompt: str, *, max_output_tokens: int) -> str:
        """The answer, after at most `attempts` requests."""
        longest = _LONGEST_WAIT_SECONDS
        wait_seconds = _FIRST_WAIT_SECONDS
        for attempt in range(1, self.settings.attempts + 1):
            try:
                return self._once(prompt, max_output_tokens)
            except ProviderError as error:
                is_absent = isinstance(error, UnavailableError) and error.status in _ABSENT_STATUSES
                asked_seconds = wait_seconds if error.wait_seconds is None else error.wait_seconds
                is_too_long = error.wait_seconds is not None and error.wait_seconds > longest
                if attempt == self.settings.attempts or is_absent or is_too_long or isinstance(error, _LASTING):
                    raise
            self.sleep(min(asked_seconds, longest))
            self.stop.check()
            self.count(retries=1)
            wait_seconds *= 2
        raise AssertionError("the last attempt returns or raises")

    def _once(self, prompt: str, max_output_tokens: int) -> str:
        model = self.model
        sent = model.count(prompt)
        with _slot(model.endpoint, self.settings.parallel, self.stop):
            self.stop.check()
            self.count(calls=1, tokens_sent=sent)
            answer = model.complete(prompt, max_output_tokens=max_output_tokens, stop=self.stop)
        if _silently_truncated(answer.input_tokens, sent, exact=model.counter.exact):
            raise ContextLimitError(
                f"{model.name} read {answer.input_tokens} of {sent} tokens and said nothing; send less at once",
                status=200,
            )
        text = whole_characters(answer.text)
        self.count(tokens_received=_plausible(answer.output_tokens) or model.count(text))
        return text.strip()


def _silently_truncated(reported: int | None, sent: int, *, exact: bool) -> bool:
    """Whether a provider read far less than was sent: it cut the input and said nothing.

    A count below any model's limit is no cut: some providers count only what is not in their cache.

    >>> _silently_truncated(4_096, 9_000, exact=True), _silently_truncated(8_700, 9_000, exact=True)
    (True, False)
    >>> _silently_truncated(1, 9_000, exact=True)
    False
    """
    reported = _plausible(reported)
    if reported is None or min(reported, sent) < LEAST_CONTEXT_TOKENS:
        return False
    return reported * 100 < sent * (75 if exact else 45)


def _plausible(tokens: int | None) -> int | None:
    """A count that a model could have reported; models of one's own may say anything."""
    return tokens if isinstance(tokens, int) and 0 <= tokens <= COUNTED_TOKENS else None
