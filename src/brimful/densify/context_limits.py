"""How much does a model accept? A models endpoint, the documentation's table, or an overflow's own words say."""

from __future__ import annotations

import re
from collections.abc import Mapping

from brimful.densify.wording import wording_of
from brimful.limits import LEAST_CONTEXT_TOKENS

_MAX_TOKENS = 100_000_000
_LIMIT_FIELDS = (
    *("loaded_context_length", "n_ctx", "max_model_len", "context_window", "context_length", "max_context_length"),
    *("inputtokenlimit", "max_input_tokens"),
)
_COUNTED_FIELDS = ("n_prompt_tokens", "prompt_tokens", "input_tokens")
_LIMITS = (
    re.compile(r"> ?(\d{3,})\b"),
    re.compile(
        r"(?:context (?:length|size|window|limit)|max(?:imum)?[a-z ]{0,40}|limit|n ctx|allowed|up to|only supports?|"
        r"must be <=?|less than|fewer than|at most|can ?not exceed)[^\d.;]{0,40}(?<!by )(?<!limit \()(\d{3,})\b"
    ),
    re.compile(r"\b(\d{3,}) (?:tokens? )?(?:maximum|max|context|limit)"),
    re.compile(r"\[\d+, ?(\d{3,})\]"),
)
_COUNTED = (
    re.compile(r"\b(\d{3,}) (?:tokens )?(?:in (?:the|your) (?:messages|prompt)|from the input)"),
    re.compile(
        r"\b(\d{3,}) (?:input tokens|inputs tokens|tokens >)|resulted in (\d{3,})|count (?:\(|is |of )(\d{3,})|"
        r"(?:request|input|prompt|content)[a-z ]{0,20}[( ](\d{3,})(?: tokens)?|contains (\d{3,}) tokens"
    ),
)

# Limits that providers document and whose models endpoints do not tell, by beginnings of names.
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


def learn(body: object, tokens: int) -> int | None:
    """The limit that an overflow's own words name, in our count; `tokens` is our count of the request.

    >>> learn({"error": {"message": "prompt is too long: 200049 tokens > 200000 maximum"}}, 200_100)
    200000
    >>> learn("Input length 9000 exceeds the limit of 4096 tokens", 8_000)  # the provider counts more than we do
    3640
    >>> learn("Context size has been exceeded.", 8_000) is None
    True
    """
    words, _, counts = wording_of(body)
    limit = _plausible(_field(counts, _LIMIT_FIELDS) or _smallest(words, _LIMITS))
    if limit is None:
        return None
    counted = _field(counts, _COUNTED_FIELDS) or _smallest(words, _COUNTED)
    return limit * tokens // counted if counted and max(limit, tokens) < counted <= 3 * tokens else limit


def documented_limit(model: str) -> int | None:
    """The documented limit of a model by its longest known prefix.

    >>> documented_limit("openai/gpt-4o-mini"), documented_limit("gpt-4-0613"), documented_limit("gpt-40")
    (128000, 8192, None)
    """
    name = model.lower().rpartition("/")[2]
    limits = {
        prefix: limit
        for limit, prefixes in _DOCUMENTED.items()
        for prefix in prefixes.split()
        if name == prefix or name.startswith((f"{prefix}-", f"{prefix}.", f"{prefix}@"))
    }
    return limits[max(limits, key=len)] if limits else None


def limit_in(body: object, model: str) -> int | None:
    """The limit that a models endpoint tells, under whichever name the provider has for it.

    >>> limit_in({"data": [{"id": "m", "max_model_len": 8192}]}, "m")
    8192
    """
    entries = body.get("data") or body.get("models") or [body] if isinstance(body, dict) else body
    if not isinstance(entries, list):
        return None
    named = [
        entry
        for entry in entries
        if isinstance(entry, dict)
        and model in {str(entry.get(key, "")).removeprefix("models/") for key in ("id", "name", "model")}
    ]
    alone = entries if len(entries) == 1 else []
    return _plausible(_field(wording_of(named or alone)[2], _LIMIT_FIELDS))


def _plausible(limit: int | None) -> int | None:
    return limit if limit is not None and LEAST_CONTEXT_TOKENS <= limit <= _MAX_TOKENS else None


def _field(counts: Mapping[str, int], names: tuple[str, ...]) -> int | None:
    return next((counts[name] for name in names if name in counts), None)


def _smallest(text: str, patterns: tuple[re.Pattern[str], ...]) -> int | None:
    """The smallest number that the first fitting pattern finds."""
    for pattern in patterns:
        if numbers := [int(group) for match in pattern.finditer(text) for group in match.groups() if group]:
            return min(numbers)
    return None
