"""What a model is to code that condenses through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from brimful.text.tokens import TokenCounter
from brimful.transport import Stop


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
