"""Reads what a provider said, whatever it is wrapped in, as one line in normal form; and the limits that it names.

Providers wrap one sentence in a dozen shapes: `{"error": {...}}`, `{"error": "..."}`, a list of objects, JSON inside a
string inside JSON, server-sent events, plain text, HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from brimful.limits import LEAST_CONTEXT_TOKENS, NESTING
from brimful.text.strict_json import nesting_of, whole_characters

_CODE_KEYS = frozenset(
    "code type status reason kind __type errorcode error_code errortype error_type statuscode status_code "
    "stop_reason finish_reason stopreason finishreason done_reason quotaid".split()
)
_MESSAGE_KEYS = frozenset(
    "message msg detail details error errors error_message errormessage error_msg status_msg "
    "error_description description title raw reason_text text_message cause exception".split()
)
_ECHOED_KEYS = frozenset(
    "input inputs prompt messages content text choices candidates completion output request param params loc ctx "
    "url href help documentation_url request_id id model user_id organization".split()
)
"""Hold what the caller sent or the model wrote: no words of the provider's."""
_MAX_LEAVES, _MAX_DEPTH, _MAX_CHARACTERS, _SHOWN_CHARACTERS = 400, 12, 4_000, 300

_URL = re.compile(r"\bhttps?://\S+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_SIGNS = re.compile(r"[`'\"’*_\\-]+")
_EVENT = re.compile(r"^data:\s*(.+)$", re.MULTILINE)
_STATUS = re.compile(r"^(?:(?:http|error|status)[ a-z/\d.:]{0,20} )?([45]\d\d)\b(?! tokens)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]{0,500}>")
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza|Bearer|key)[-_ ]?[A-Za-z0-9][\w*.-]{7,}")


def wording_of(body: object, *, answered: bool = False) -> tuple[str, list[int], dict[str, int]]:
    """A provider's words in normal form, numbers that look like HTTP statuses, and every number by its name.

    `answered` means status 200, where texts of unknown names are what the model wrote.

    >>> wording_of({"error": {"type": "exceededContextWindow", "message": "Over 1,000 tokens"}})[0]
    'exceeded context window . over 1000 tokens'
    """
    words: list[str] = []
    statuses: list[int] = []
    counts: dict[str, int] = {}
    for key, leaf in leaves(body):
        if isinstance(leaf, int):
            counts.setdefault(key, leaf)
            if key in _CODE_KEYS and 400 <= leaf <= 599:
                statuses.append(leaf)
        elif key in _CODE_KEYS | _MESSAGE_KEYS or (not answered and key not in _ECHOED_KEYS and " " in leaf):
            words.append(normal(leaf))
            if match := _STATUS.match(leaf.strip()):
                statuses.append(int(match[1]))
    return " . ".join(words), statuses, counts


def leaves(body: object) -> Iterator[tuple[str, str | int]]:
    """The first 400 texts and whole numbers of a body with their lower-case keys; JSON inside texts is opened.

    >>> list(leaves({"Error": {"raw": '{"code": 429}'}, "ok": [1, "x"]}))
    [('code', 429), ('ok', 1), ('ok', 'x')]
    """
    return islice(_leaves(body, "error", 0), _MAX_LEAVES)


def _leaves(body: object, key: str, depth: int) -> Iterator[tuple[str, str | int]]:
    body = _opened(body)
    if isinstance(body, str | int) and not isinstance(body, bool):
        yield key, body
    elif isinstance(body, dict | list | tuple) and depth <= _MAX_DEPTH:
        for name, value in body.items() if isinstance(body, dict) else ((key, value) for value in body):
            yield from _leaves(value, str(name).lower(), depth + 1)


def _opened(body: object) -> object:
    """JSON and server-sent events as values; bytes and exceptions as text."""
    if isinstance(body, BaseException):
        return f"{type(body).__name__}: {body}"
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if not isinstance(body, str):
        return body
    text = body.strip()
    if text[:1] in ("{", "["):
        return json_or_text(text)
    if "{" in text and (events := _EVENT.findall(text)):
        return [json_or_text(event.strip()) for event in events]
    brace = text.find("{")
    if 0 <= brace < 200 and text.endswith("}") and not isinstance(inner := json_or_text(text[brace:]), str):
        return [text[:brace], inner]
    return body


def json_or_text(text: str) -> object:
    """JSON of a bounded depth, or the text itself."""
    try:
        return json.loads(text) if nesting_of(text.encode("utf-8", "surrogatepass")) <= NESTING else text
    except (ValueError, RecursionError):
        return text


def normal(text: str) -> str:
    """Lower case, one space between words, no quotes, no thousands separators, camel case and snake case apart.

    >>> normal("`contextWindow_size`  is 8,192 (see https://host/x)")
    'context window size is 8192 (see'
    """
    plain = _TAG.sub(" ", _URL.sub(" ", text[:_MAX_CHARACTERS]))
    plain = _SIGNS.sub(" ", _THOUSANDS.sub("", _CAMEL.sub(" ", plain)))
    return " ".join(plain.split()).lower()


def shown(body: object, secret: str | None) -> str:
    """The first message of a body, without keys, on one short line."""
    texts = [(key, leaf) for key, leaf in leaves(body) if isinstance(leaf, str) and leaf.strip()]
    messages = [leaf for keys in (_MESSAGE_KEYS, _CODE_KEYS) for key, leaf in texts if key in keys]
    plain = re.sub(r"<[^<>]*>", " ", messages[0][:_MAX_CHARACTERS]) if messages else ""
    return str(without_keys(" ".join(plain.split()), secret))[:_SHOWN_CHARACTERS]


def without_keys(body: object, secret: str | None) -> object:
    """A body in which `secret` and whatever is shaped like a key are replaced, since an error carries it along."""
    if isinstance(body, str):
        text = whole_characters(body)
        return _KEY_SHAPE.sub("[key]", text.replace(secret, "[key]") if secret else text)
    if isinstance(body, list):
        return [without_keys(item, secret) for item in body]
    if isinstance(body, dict):
        return {str(without_keys(str(key), secret)): without_keys(value, secret) for key, value in body.items()}
    return body


# ---- limits: How much does a model accept? A models endpoint, the documentation's table or an overflow's words say.

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
