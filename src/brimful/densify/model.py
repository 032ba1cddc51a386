"""What is a model, to whoever condenses through it?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from brimful.densify.failures import Failure, classify
from brimful.errors import (
    AuthError,
    CancelledError,
    ContextLimitError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RequestSizeError,
    UnavailableError,
)
from brimful.text.tokens import TokenCounter

Finish = Literal["stop", "length", "refused"]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, with what the provider says it counted."""

    text: str
    finish: Finish = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None


class Stop:
    """A wish to end that reaches into a call under way: whoever blocks leaves a way to be woken."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        """Wake everyone; later calls end at once."""
        with self._lock:
            self._event.set()
            wakers = list(self._wakers)
        for wake in wakers:
            wake()

    def wait(self, seconds: float) -> None:
        """Sleep, but not beyond the wish to end."""
        self._event.wait(seconds)

    def check(self) -> None:
        """Raise a CancelledError if the end is wished."""
        if self:
            raise CancelledError("the run was stopped; what was finished is remembered, so run it again to go on")

    @contextmanager
    def woken_by(self, wake: Callable[[], None]) -> Iterator[None]:
        """Within the block, `set` calls `wake`."""
        with self._lock:
            self._wakers.append(wake)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._wakers.remove(wake)


@runtime_checkable
class Model(Protocol):
    """Something that answers a prompt. One request is one call of `complete`, without retries of its own."""

    @property
    def name(self) -> str:
        """As `model_for` knows it; answers are remembered under this name."""

    @property
    def endpoint(self) -> str:
        """Who serves it: what parallelism is bounded by and limits are remembered for."""

    @property
    def small(self) -> bool:
        """Whether its limit is known to be small, so that no try with a whole text is worth its price."""

    @property
    def counter(self) -> TokenCounter:
        """Counts as the model does, or a named estimate."""

    def limit(self) -> int | None:
        """The context limit, where the provider, a table or the user tells it."""

    def count(self, text: str) -> int:
        """The tokens of a text."""

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """The answer, or a ProviderError of the right kind; a CancelledError once `stop` is set."""


_ERRORS: dict[Failure, type[ProviderError]] = {
    "overflow": ContextLimitError,
    "wait": RateLimitError,
    "shrink": RequestSizeError,
    "quota": QuotaError,
    "auth": AuthError,
    "unavailable": UnavailableError,
    "unknown": ProviderError,
}
_REMEDIES: dict[Failure, str] = {
    "overflow": "send less at once, or tell the model's limit",
    "wait": "try again later",
    "shrink": "send less at once",
    "quota": "look at the account's plan and balance",
    "auth": "look at the key and its rights",
    "unavailable": "look at the address, the model's name and whether the server is up",
    "unknown": "look at the provider's own words",
}


def failure(
    who: str, status: int | None, body: object, *, said: str, wait_seconds: float | None = None
) -> ProviderError:
    """The error for what a provider answered; `said` is the message to show, free of secrets.

    >>> failure("openai:x", 429, "Rate limit", said="Rate limit").code
    'provider.wait'
    """
    kind = classify(status, body)
    answered = f"answered {status}" if status is not None else "did not answer"
    quoted = f": {said}" if said else ""
    message = f"{who} {answered}{quoted}; {_REMEDIES[kind]}"
    return _ERRORS[kind](message, status=status, body=body, wait_seconds=wait_seconds)
