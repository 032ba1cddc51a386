"""What does a provider's failure ask for: smaller parts, patience, money, a key, or another day?

Rules speak about subjects (prompt, input, tokens), excess (exceeds, too long, at most) and units (tokens, bytes, per
minute), not about providers. Words of a rate limit veto an overflow: a busy minute never teaches a context limit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal

from brimful.densify.wording import leaves, shown, without_keys, wording_of
from brimful.errors import (
    AuthError,
    ContextLimitError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RequestSizeError,
    UnavailableError,
)
from brimful.limits import PATIENCE_SECONDS

Failure = Literal["overflow", "wait", "shrink", "quota", "auth", "unavailable", "unknown"]

_AUTH, _PAYMENT, _TOO_LARGE = frozenset({401, 403, 407}), 402, 413
_WAIT = frozenset({425, 429, 503, 529})
_UNAVAILABLE = frozenset({404, 408, 410, 424})

_RATE = re.compile(
    r"\bper ?(?:minute|min|hour|day|second|month)\b|\b[tr]p[mdhs]\b|/ ?min|(?:this|each|every|current|last) minute|"
    r"rate ?limit|throttl|\bquota\b|too many requests|concurren|resource ?exhausted|限流|频率|速率"
)
_PATIENCE = re.compile(
    r"try(?:ing)? again (?:in|later|after|shortly|soon)|retry (?:in|after|later)|please wait|overload|capacity|"
    r"\bbusy\b|high (?:demand|traffic|load)|not ready|temporarily|\bloading\b|queue (?:is )?full|负载|稍后|繁忙"
)
_CONTEXT = re.compile(
    r"context (?:window|length|size|limit|overflow|budget|exceeded)|(?:exceeds?|max(?:imum)?|model) context|\bn ctx\b|"
    r"(?:max|maximum) (?:allowed |number of )?(?:model|seq|sequence|prompt|input) (?:len\w*|tokens)|"
    r"(?:input|prompt) token count|上下文"
)
_SUBJECT = r"(?:prompts?|inputs?|messages?|conversation|requests?|contents?|text|tokens?|sequence|query|length)"
_EXCESS = (
    r"(?:exceed\w*|too (?:long|large|big|many)|(?:longer|larger|greater|more) than|over the|above|beyond|"
    r"(?:must|should) (?:be|have|not be) (?:<|\[|less|fewer|at most|under|below|more|longer)|"
    r"supports? (?:up to|at most|only)|only supports?|at most|does ?n[o ]?t fit|out of range|reached the max)"
)
_OVER = re.compile(rf"\b{_SUBJECT}\b[^.]{{0,120}}?{_EXCESS}|{_EXCESS}[^.]{{0,60}}?\b{_SUBJECT}\b|超长|超过|超出")
_TOO_LONG = re.compile(
    r"\b(?:prompts?|inputs?|messages?|conversation|text|query)\b(?: [\w()]+){0,3}? too (?:long|large|big)|"
    r"(?:prompt|input) exceeds? (?:the )?(?:max|model|length|limit)|range of input length|超长|过长|"
    r"(?:prompt|input|sequence) (?:length|count) [^.]{0,30}(?:exceed|over|greater|larger|longer)"
)
_COUNTED_ABOVE_LIMIT = re.compile(
    r"\b(?P<counted>\d{3,})(?: ?(?:tokens )?>=? ?| (?:\w+ )?tokens\b.{0,40}?(?:max|limit|allowed)[^\d]{0,20})"
    r"(?P<limit>\d{3,})\b"
)
_LIMIT_AND_REQUESTED = re.compile(r"\blimit:? (?P<limit>\d+)\b.{0,60}?\brequested:? (?P<counted>\d+)\b")
_TOKENS = re.compile(r"\btokens?\b")
_OUTPUT = re.compile(r"max (?:new |output |completion )?tokens|(?:completion|output) tokens|max(?:imum)? output")
_INPUT = re.compile(r"\b(?:inputs?|prompt|messages?|context|sequence|conversation|tokens in (?:the |your )?request)\b")
_BYTES = re.compile(
    r"\b(?:bytes?|\d*[kmg]i?b|(?:mega|kilo)bytes?|char(?:acter)?s?|payload|body|entity|string|array|file|images?|"
    r"attachments?|pages|items|upload|content length)\b|request size|maximum (?:allowed )?size"
)
_NEVER = re.compile(
    r"(?:request|payload|body|entity)(?: \w+){0,3}? too (?:large|big)|must be reduced|tokens per request"
)
"""Words under a rate limit saying that this request alone is more than the rate ever allows."""
_QUOTA = re.compile(
    r"insufficient (?:\w+ )?(?:quota|balance|credits?|funds)|\bbill(?:ing|ed)\b|credit balance|payment|max budget|"
    r"(?:exceed\w*|over|reached|used up|exhausted) (?:your|the|its) (?:\w+ ){0,4}(?:quota|credits?|budget|"
    r"allo(?:cation|wance))|(?:out of|enough|no|more|any|add|purchase|buy|remaining) credits?|"
    r"(?:usage|spend(?:ing)?) (?:limit|cap)|quota (?:is |has been )?(?:exhausted|used up)|recharge|top ?up|"
    r"trial (?:key|plan|account)|余额|欠费"
)
_ENDED = re.compile(r"\b(?:limit|quota(?: value)?):? 0\b|per ?day|daily")
_RETRY_HINT = re.compile(r"(?:retry|try again) in \d|retry ?delay|(?:per ?|/ ?)(?:minute|second)")
_KEY = re.compile(
    r"(?:invalid|incorrect|missing|no|expired|wrong|valid|revoked|provide an?) (?:\w+ )?(?:api ?key|credentials?)|"
    r"api ?key (?:is )?(?:not|invalid|expired|missing|required)|unauthori[sz]ed|authenticat|access denied|forbidden|"
    r"permission"
)
_GONE = re.compile(
    r"\bmodels?\b[^.]{0,100}?(?:not (?:found|exist|available|loaded|supported|a valid|a known)|decommissioned|"
    r"deprecated|no longer|unavailable|unknown|retired)|(?:unknown|invalid|no such|not a valid|missing) model|not found"
)
_PARAMETER = re.compile(r"(?:parameters?|arguments?|field)\b[^.]{0,60}not supported|unsupported (?:parameter|value)")
_BROKEN = re.compile(
    r"connect|time(?:d )?out|name or service not known|name resolution|\bdns\b|unreachable|remote end closed|"
    r"fetch failed|broken ?pipe|hang up|premature|gateway|\bunavailable\b|(?:internal|server|network|api) error|"
    r"deadline exceeded|\bssl\b|certificate"
)


def classify(status: int | None, body: object) -> Failure:
    """The class of a failure by status, typed code, then message. Never raises, never guesses an overflow.

    >>> classify(400, {"error": {"message": "prompt is too long: 200049 tokens > 200000 maximum"}})
    'overflow'
    >>> classify(429, "Limit 30000 tokens per minute, used 29937. Please try again in 644ms.")
    'wait'
    >>> classify(200, {"error": "the input exceeds the context window"})
    'overflow'
    """
    answered = status is not None and 200 <= status < 300
    words, statuses, _ = wording_of(body, answered=answered)
    if status is not None and not answered:
        statuses = [status]  # else the words may name one of their own
    if _AUTH & set(statuses):
        return "auth"
    if _PAYMENT in statuses:
        return "quota"
    kind = _by_words(next(iter(statuses), None), words)
    return "overflow" if kind == "unknown" and answered and ran_out_of_room(body) else kind


def _by_words(status: int | None, words: str) -> Failure:
    """Money, the input, the rate, the size, the key, patience, the server: the first that is spoken of."""

    def says(pattern: re.Pattern[str]) -> bool:
        return pattern.search(words) is not None

    rated, waits, is_gone = says(_RATE), status in _WAIT, status in _UNAVAILABLE
    never = status == _TOO_LARGE or says(_NEVER)
    if says(_QUOTA) and (says(_ENDED) or not says(_RETRY_HINT)):  # one that refills within a minute is only a rate
        return "quota"
    if not rated and _is_overflow(status, words):
        return "overflow"
    if waits or rated:
        if never or _is_above(_LIMIT_AND_REQUESTED.search(words)):
            return "shrink"
        return "quota" if not waits and re.search(r"\bquota\b", words) and not says(_RETRY_HINT) else "wait"
    if never or (says(_BYTES) and says(_OVER)):
        return "shrink"
    if not is_gone and says(_KEY):
        return "auth"
    if says(_PATIENCE):
        return "wait"
    if is_gone or (status or 0) >= 500 or (says(_GONE) and not says(_PARAMETER)) or says(_BROKEN):
        return "unavailable"
    return "unknown"


def _is_overflow(status: int | None, words: str) -> bool:
    patient = _PATIENCE.search(words) is not None
    if _CONTEXT.search(words):
        is_about_settings = _PARAMETER.search(words) or ("too small" in words and "minimum" in words)
        return not (patient and status in _WAIT) and not is_about_settings
    if patient or (_OUTPUT.search(words) and not _INPUT.search(words)) or _BYTES.search(words):
        return False
    if _TOO_LONG.search(words):
        return True
    if status in _WAIT or status == _TOO_LARGE or not _TOKENS.search(words):
        return False
    return _OVER.search(words) is not None or _is_above(_COUNTED_ABOVE_LIMIT.search(words))


def _is_above(match: re.Match[str] | None) -> bool:
    return match is not None and int(match["counted"]) > int(match["limit"])


_OUTPUT_COUNTS = frozenset({"completion_tokens", "output_tokens", "candidatestokencount", "thoughtstokencount"})
_OUTPUT_KEYS = frozenset({"message", "content", "text", "response", "reasoning", "reasoning_content", "thinking"})
_ENDINGS = frozenset({"finish_reason", "stop_reason", "finishreason", "done_reason", "stopreason"})


def ran_out_of_room(body: object) -> bool:
    """Whether an answer ends for lack of room without a word written: the prompt took it all.

    A model that spent its output on thoughts wrote something, though nothing to read.

    >>> ran_out_of_room({"choices": [{"finish_reason": "length", "message": {"content": ""}}]})
    True
    """
    pairs = list(leaves(body))
    if any(key in _OUTPUT_COUNTS and isinstance(leaf, int) and leaf > 0 for key, leaf in pairs):
        return False
    ends = {str(leaf).lower() for key, leaf in pairs if key in _ENDINGS}
    is_empty = not any(key in _OUTPUT_KEYS and str(leaf).strip() for key, leaf in pairs)
    return bool(ends & {"model_context_window_exceeded", "context_length_exceeded"}) or (
        is_empty and bool(ends & {"length", "max_tokens"})
    )


_ERRORS: dict[Failure, tuple[type[ProviderError], str]] = {
    "overflow": (ContextLimitError, "send less at once, or tell the model's limit"),
    "wait": (RateLimitError, "try again later"),
    "shrink": (RequestSizeError, "send less at once"),
    "quota": (QuotaError, "look at the account's plan and balance"),
    "auth": (AuthError, "look at the key and its rights"),
    "unavailable": (UnavailableError, "look at the address, the model's name and whether the server is up"),
    "unknown": (ProviderError, "look at the provider's own words"),
}
_WORDED_WAIT = re.compile(r"(?:try again|retry|wait)[^.\d]{0,20}(?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s|sec|seconds?)\b")


def failure(
    model: str,
    status: int | None,
    body: object,
    *,
    secret: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> ProviderError:
    """The error for what a provider answered; `secret` is a key to keep out of it.

    >>> failure("openai:x", 429, "Rate limit").code
    'provider.wait'
    """
    body = without_keys(body, secret)
    error, remedy = _ERRORS[classify(status, body)]
    answered = f"answered {status}" if status is not None else "did not answer"
    message = shown(body, secret) or ("an answer without a text" if status == 200 else "")
    quoted = f": {message}" if message else ""
    wait_seconds = _wait_seconds(headers or {}, str(body).lower())
    return error(f"{model} {answered}{quoted}; {remedy}", status=status, body=body, wait_seconds=wait_seconds)


def _wait_seconds(headers: Mapping[str, str], text: str) -> float | None:
    """How long the provider asks to wait: a header in milliseconds, seconds or as a date, or its own words."""
    seconds: float | None = None
    milliseconds, retry_after = (headers.get(name, "").strip() for name in ("retry-after-ms", "retry-after"))
    is_number = re.compile(r"\d+(?:\.\d+)?").fullmatch
    if is_number(milliseconds):
        seconds = float(milliseconds) / 1_000
    elif is_number(retry_after):
        seconds = float(retry_after)
    elif retry_after:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, OverflowError, OSError):  # no date, or one that no clock shows
            return None
    elif match := _WORDED_WAIT.search(text):
        minutes, number, unit = match.groups()
        seconds = float(minutes or 0) * 60 + float(number) * (0.001 if unit == "ms" else 1.0)
    return None if seconds is None else min(max(seconds, 0.0), PATIENCE_SECONDS)
