"""What is a model, to whoever condenses through it, and how much does it accept?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from brimful.densify.failures import evidence_of
from brimful.limits import LEAST_CONTEXT_TOKENS
from brimful.patterns import compiled
from brimful.text.tokens import TokenCounter
from brimful.transport import Stop

Finish = Literal["stop", "length", "refused"]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, with what the provider says it counted."""

    text: str
    finish: Finish = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None


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


def silently_truncated(reported: int | None, counted: int, *, exact: bool) -> bool:
    """Whether a provider read far less than was sent: it cut the input and said nothing.

    A count below any model's limit is no cut: some count only what they had not read before.

    >>> silently_truncated(4_096, 9_000, exact=True), silently_truncated(8_700, 9_000, exact=True)
    (True, False)
    >>> silently_truncated(1, 9_000, exact=True)
    False
    """
    if reported is None or min(reported, counted) < LEAST_CONTEXT_TOKENS:
        return False
    return reported * 100 < counted * (75 if exact else 45)


# ---- limits: How much does a model accept? What the user says, what the provider tells, a table, or what an error
# named.
#
# A limit that was learnt is remembered for its endpoint and model (memory.py), so that no run learns it twice.

_LEAST, _MOST = LEAST_CONTEXT_TOKENS, 100_000_000
_NAMED_FIELDS = ("n_ctx", "max_model_len", "context_length", "max_context_length", "context_window")
_COUNTED_FIELDS = ("n_prompt_tokens", "prompt_tokens", "input_tokens")
_ABOVE_LIMIT = compiled(r"> ?(\d{3,})\b")
_KEYWORD = compiled(
    r"(?:context (?:length|size|window|limit)|max(?:imum)?[a-z ]{0,40}|limit|n ctx|max (?:model|seq|sequence) len|"
    r"allowed|up to|only supports?|must be <=?|less than|fewer than|at most|can ?not exceed)"
    r"[^\d.;]{0,40}(?<!by )(?<!limit \()(\d{3,})\b"
)
_BEFORE = compiled(r"\b(\d{3,}) (?:tokens? )?(?:maximum|max|context|limit)")
_RANGE = compiled(r"\[\d+, ?(\d{3,})\]")
_COUNTED_ALONE = compiled(r"(\d{3,}) (?:tokens )?(?:in (?:the|your) (?:messages|prompt)|from the input)")
_COUNTED = compiled(
    r"(\d{3,}) (?:input tokens|inputs tokens|tokens >)|resulted in (\d{3,})|"
    r"(?:request|input|prompt|content)[a-z ]{0,20}[( ](\d{3,})(?: tokens)?|"
    r"count (?:\(|is |of )(\d{3,})|contains (\d{3,}) tokens"
)

# Context limits that providers document and whose models endpoints do not tell. The longest prefix counts.
TABLE: dict[str, int] = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude": 200_000,
    "gemini-1.5-pro": 2_097_152,
    "gemini-1.5-flash": 1_048_576,
    "gemini-2": 1_048_576,
    "deepseek-chat": 131_072,
    "deepseek-reasoner": 131_072,
    "mistral-large": 131_072,
}


@dataclass(frozen=True, slots=True)
class Learnt:
    """What an overflow taught: the limit it named, and how many tokens the provider counted in the request."""

    limit: int
    counted: int | None = None

    def ours(self, tokens: int) -> int:
        """The limit in our own count, where the provider counted more than we did for the same request.

        >>> Learnt(4_096, counted=9_000).ours(8_000)
        3640
        """
        if self.counted and tokens < self.counted <= 3 * tokens:
            return self.limit * tokens // self.counted
        return self.limit


def learn(body: object) -> Learnt | None:
    """The limit that an overflow's own words name, if they do.

    >>> learn({"error": {"message": "prompt is too long: 200049 tokens > 200000 maximum"}})
    Learnt(limit=200000, counted=200049)
    >>> learn("Context size has been exceeded.") is None
    True
    """
    words, _, counts = evidence_of(body)
    limit = _counted(counts, _NAMED_FIELDS) or _least(words, _ABOVE_LIMIT, _KEYWORD, _BEFORE, _RANGE)
    if limit is None or not _LEAST <= limit <= _MOST:
        return None
    counted = _counted(counts, _COUNTED_FIELDS) or _least(words, _COUNTED_ALONE, _COUNTED)
    return Learnt(limit, counted if counted is not None and counted > limit else None)


def _counted(counts: dict[str, int], names: tuple[str, ...]) -> int | None:
    return next((counts[name] for name in names if name in counts), None)


def _least(text: str, *patterns: re.Pattern[str]) -> int | None:
    """The smallest number that the first fitting pattern finds."""
    for pattern in patterns:
        if numbers := [int(group) for found in pattern.finditer(text) for group in found.groups() if group]:
            return min(numbers)
    return None


def table_limit(model: str) -> int | None:
    """The documented limit of a model by its longest known prefix.

    >>> table_limit("gpt-4o-mini"), table_limit("gpt-4-0613"), table_limit("mine")
    (128000, 8192, None)
    """
    plain = model.lower().rpartition("/")[2]
    known = [name for name in TABLE if plain == name or plain.startswith((f"{name}-", f"{name}.", f"{name}@"))]
    return TABLE[max(known, key=len)] if known else None


def limit_in(body: object, model: str) -> int | None:
    """The limit that a models endpoint tells, under whichever name the provider has for it.

    >>> limit_in({"data": [{"id": "m", "max_model_len": 8192}]}, "m")
    8192
    """
    entries = body.get("data") or body.get("models") or [body] if isinstance(body, dict) else body
    if not isinstance(entries, list):
        return None
    named = [entry for entry in entries if isinstance(entry, dict) and _is_named(entry, model)]
    alone = [entry for entry in entries if isinstance(entry, dict)] if len(entries) == 1 else []
    holders = [part for entry in named or alone for part in (entry, *(entry.get(key) for key in _LIMIT_INSIDE))]
    values = [holder[name] for holder in holders if isinstance(holder, dict) for name in _LIMIT_KEYS if name in holder]
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    return next((value for value in whole if _LEAST <= value <= _MOST), None)


_LIMIT_INSIDE = ("meta", "top_provider", "default_generation_settings")
_LIMIT_KEYS = (
    *("loaded_context_length", "n_ctx", "max_model_len", "context_window", "context_length", "max_context_length"),
    *("inputTokenLimit", "max_input_tokens"),
)


def _is_named(entry: dict[str, object], model: str) -> bool:
    return model in {str(entry.get(key, "")).removeprefix("models/") for key in ("id", "name", "model")}
