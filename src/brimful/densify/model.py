"""What is a model, to whoever condenses through it, and how much does it accept?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from brimful.densify.failures import evidence_of
from brimful.limits import LEAST_CONTEXT_TOKENS
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
_LIMIT_FIELDS = (
    *("loaded_context_length", "n_ctx", "max_model_len", "context_window", "context_length", "max_context_length"),
    *("inputtokenlimit", "max_input_tokens"),
)
_COUNTED_FIELDS = ("n_prompt_tokens", "prompt_tokens", "input_tokens")
_ABOVE_LIMIT = re.compile(r"> ?(\d{3,})\b")
_KEYWORD = re.compile(
    r"(?:context (?:length|size|window|limit)|max(?:imum)?[a-z ]{0,40}|limit|n ctx|max (?:model|seq|sequence) len|"
    r"allowed|up to|only supports?|must be <=?|less than|fewer than|at most|can ?not exceed)"
    r"[^\d.;]{0,40}(?<!by )(?<!limit \()(\d{3,})\b"
)
_BEFORE = re.compile(r"\b(\d{3,}) (?:tokens? )?(?:maximum|max|context|limit)")
_RANGE = re.compile(r"\[\d+, ?(\d{3,})\]")
_COUNTED_ALONE = re.compile(r"(\d{3,}) (?:tokens )?(?:in (?:the|your) (?:messages|prompt)|from the input)")
_COUNTED = re.compile(
    r"(\d{3,}) (?:input tokens|inputs tokens|tokens >)|resulted in (\d{3,})|"
    r"(?:request|input|prompt|content)[a-z ]{0,20}[( ](\d{3,})(?: tokens)?|"
    r"count (?:\(|is |of )(\d{3,})|contains (\d{3,}) tokens"
)

# Context limits that providers document and whose models endpoints do not tell, by beginnings of names.
_DOCUMENTED = {
    8_192: "gpt-4",
    16_385: "gpt-3.5-turbo",
    32_768: "gpt-4-32k",
    128_000: "gpt-4-turbo gpt-4o o1-mini",
    131_072: "deepseek-chat deepseek-reasoner mistral-large",
    200_000: "claude o1 o3 o4-mini",
    400_000: "gpt-5",
    1_047_576: "gpt-4.1",
    1_048_576: "gemini-1.5-flash gemini-2",
    2_097_152: "gemini-1.5-pro",
}
_TABLE = {name: limit for limit, names in _DOCUMENTED.items() for name in names.split()}


def learn(body: object, tokens: int) -> int | None:
    """The limit that an overflow's own words name, in our count of a request of so many tokens of ours.

    >>> learn({"error": {"message": "prompt is too long: 200049 tokens > 200000 maximum"}}, 200_100)
    200000
    >>> learn("Input length 9000 exceeds the limit of 4096 tokens", 8_000)  # the provider counts more than we do
    3640
    >>> learn("Context size has been exceeded.", 8_000) is None
    True
    """
    words, _, counts = evidence_of(body)
    limit = _field(counts, _LIMIT_FIELDS) or _least(words, _ABOVE_LIMIT, _KEYWORD, _BEFORE, _RANGE)
    if limit is None or not _LEAST <= limit <= _MOST:
        return None
    counted = _field(counts, _COUNTED_FIELDS) or _least(words, _COUNTED_ALONE, _COUNTED)
    return limit * tokens // counted if counted and max(limit, tokens) < counted <= 3 * tokens else limit


def _field(counts: dict[str, int], names: tuple[str, ...]) -> int | None:
    return next((counts[name] for name in names if name in counts), None)


def _least(text: str, *patterns: re.Pattern[str]) -> int | None:
    """The smallest number that the first fitting pattern finds."""
    for pattern in patterns:
        if numbers := [int(group) for match in pattern.finditer(text) for group in match.groups() if group]:
            return min(numbers)
    return None


def table_limit(model: str) -> int | None:
    """The documented limit of a model by its longest known prefix.

    >>> table_limit("openai/gpt-4o-mini"), table_limit("gpt-4-0613"), table_limit("gpt-40")
    (128000, 8192, None)
    """
    plain = model.lower().rpartition("/")[2]
    names = [name for name in _TABLE if plain == name or plain.startswith((f"{name}-", f"{name}.", f"{name}@"))]
    return _TABLE[max(names, key=len)] if names else None


def limit_in(body: object, model: str) -> int | None:
    """The limit that a models endpoint tells, under whichever name the provider has for it.

    >>> limit_in({"data": [{"id": "m", "max_model_len": 8192}]}, "m")
    8192
    """
    entries = body.get("data") or body.get("models") or [body] if isinstance(body, dict) else body
    if not isinstance(entries, list):
        return None
    named = [entry for entry in entries if isinstance(entry, dict) and _is_named(entry, model)]
    alone = entries if len(entries) == 1 else []
    limit = _field(evidence_of(named or alone).counts, _LIMIT_FIELDS)
    return limit if limit is not None and _LEAST <= limit <= _MOST else None


def _is_named(entry: dict[str, object], model: str) -> bool:
    return model in {str(entry.get(key, "")).removeprefix("models/") for key in ("id", "name", "model")}
