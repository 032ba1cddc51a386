"""What is the smallest honest model? One that answers in this process, within a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable

from brimful.densify.model import Completion, Stop, failure
from brimful.testing.provider import first_sentence
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for


class FakeModel:
    """Answers with `reply`, refuses what is over `limit`, and keeps every prompt that it answered.

    `told` is the limit that it admits to; `fails` may raise for the call of a number (from 1).

    >>> model = FakeModel(limit=50)
    >>> model.complete("Tea at four. Cake at five.", max_output_tokens=9, stop=Stop()).text
    'Tea at four.'
    """

    endpoint = "fake:"
    small = False

    def __init__(
        self,
        *,
        limit: int | None = None,
        told: int | None = None,
        reply: Callable[[str], str] = first_sentence,
        fails: Callable[[int], None] | None = None,
        name: str = "fake:model",
    ) -> None:
        self.name = name
        self.counter: TokenCounter = tokens_for("approximate")
        self.answered: list[str] = []
        self.calls = 0
        self._limit, self._told, self._reply, self._fails = limit, told, reply, fails
        self._lock = threading.Lock()

    def limit(self) -> int | None:
        """What it admits to."""
        return self._told

    def count(self, text: str) -> int:
        """Four bytes to a token."""
        return self.counter.count(text)

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """The reply, or the overflow that its limit means."""
        stop.check()
        with self._lock:
            self.calls += 1
            number = self.calls
        if self._fails is not None:
            self._fails(number)
        tokens = self.count(prompt)
        if self._limit is not None and tokens + max_output_tokens > self._limit:
            raise failure(
                self.name, 400, "Your input exceeds the context window.", said="input exceeds the context window"
            )
        with self._lock:
            self.answered.append(prompt)
        return Completion(self._reply(prompt), input_tokens=tokens)
