"""Fakes for testing code that talks to models.

`FakeModel` answers in this process; `FakeEmbedder` and `FakeReranker` read texts there. `ScriptedProvider` is a
server that really listens on loopback, speaks the dialects of OpenAI, Anthropic and Gemini, enforces a context limit,
and fails as scripted:

    with ScriptedProvider(limit=1_024, faults={2: Fault.status(429, headers={"Retry-After": "1"})}) as provider:
        digest = densify(text, provider.model())
        assert provider.overflows == 1
"""

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from blake3 import blake3

from brimful.densify.calls import Completion
from brimful.densify.failures import failure
from brimful.neural.embedders import Floats
from brimful.testing.provider import Call, Fault, ScriptedProvider, first_sentence, unanswered_address
from brimful.text.terms import query_terms
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.transport import Stop

__all__ = [
    "Call",
    "FakeEmbedder",
    "FakeModel",
    "FakeReranker",
    "Fault",
    "ScriptedProvider",
    "first_sentence",
    "unanswered_address",
]


class FakeModel:
    """Answers with `reply`, refuses what is over `limit`, and keeps every prompt that it answered.

    `stated_limit` is the limit that it admits to; `fails` may raise for the call of a number (from 1).

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
        stated_limit: int | None = None,
        reply: Callable[[str], str] = first_sentence,
        fails: Callable[[int], None] | None = None,
        name: str = "fake:model",
    ) -> None:
        self.name = name
        self.counter: TokenCounter = tokens_for("approximate")
        self.answered: list[str] = []
        self.calls = 0
        self._limit, self._stated_limit, self._reply, self._fails = limit, stated_limit, reply, fails
        self._lock = threading.Lock()

    def limit(self) -> int | None:
        """The limit that it admits to."""
        return self._stated_limit

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
            raise failure(self.name, 400, "Your input exceeds the context window.")
        with self._lock:
            self.answered.append(prompt)
        return Completion(self._reply(prompt), input_tokens=tokens)


class FakeEmbedder:
    """A text is the sum of its words, each word a direction; `same` gives some words the direction of others.

    `texts` holds everything that it has read, `fails` may raise for the call of a number (from 1).

    >>> fake = FakeEmbedder(same={"automobile": "car"})
    >>> rows = fake.embed(["a car", "an automobile", "soup"])
    >>> bool(rows[0] @ rows[1] > rows[0] @ rows[2]), fake.texts
    (True, ['a car', 'an automobile', 'soup'])
    """

    runtime = "fake 1"

    def __init__(
        self,
        *,
        dimensions: int = 64,
        same: Mapping[str, str] | None = None,
        fails: Callable[[int], None] | None = None,
        name: str = "fake:words",
    ) -> None:
        self.name, self.dimensions = name, dimensions
        self.texts: list[str] = []
        self.calls = 0
        self._same, self._fails = dict(same or {}), fails

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 for each text."""
        self.calls += 1
        if self._fails is not None:
            self._fails(self.calls)
        self.texts += texts
        return np.array([self._row(text) for text in texts], np.float32).reshape(len(texts), self.dimensions)

    def _row(self, text: str) -> Floats:
        row = np.zeros(self.dimensions)
        for word in sorted(term.decode("utf-8", "replace") for term in _terms(text)):
            raw = blake3(self._same.get(word, word).encode()).digest(self.dimensions)
            row += np.frombuffer(raw, np.int8)
        return np.asarray(row / (np.sqrt((row * row).sum()) or 1.0), np.float32)


class FakeReranker:
    """Scores a text by how many of the question's words it has, a thousand each; `asked` holds all calls.

    >>> FakeReranker().scores("tea at four", ["Tea is at four.", "coffee"])
    [3000, 0]
    """

    name = "fake:shared-words"
    runtime = "fake 1"

    def __init__(self, *, fails: Callable[[int], None] | None = None) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._fails = fails

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """One whole number for each text."""
        self.asked.append((question, tuple(texts)))
        if self._fails is not None:
            self._fails(len(self.asked))
        terms = _terms(question)
        return [1_000 * len(terms & _terms(text)) for text in texts]


def _terms(text: str) -> set[bytes]:
    return {word.term for word in query_terms(text)}
