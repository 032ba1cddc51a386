"""What does a provider's failure ask for: smaller parts, patience, money, a key, or another day?"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Literal, NamedTuple

from brimful.errors import (
    AuthError,
    ContextLimitError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RequestSizeError,
    UnavailableError,
)
from brimful.limits import NESTING, PATIENCE_SECONDS
from brimful.text.strict_json import nesting_of, whole_characters

# ---- words: What did the provider say, in words that rules can be written for?
#
# Providers wrap the same sentence in a dozen shapes: `{"error": {...}}`, `{"error": "..."}`, a list of those, JSON
# inside a string inside JSON, server-sent events, plain text, HTML. Here they become one line in normal form.

_CODE_KEYS = frozenset(
    "code type status reason kind __type errorcode error_code errortype error_type statuscode status_code "
    "stop_reason finish_reason stopreason finishreason done_reason quotaid".split()
)
_MESSAGE_KEYS = frozenset(
    "message msg detail details error errors error_message errormessage error_msg status_msg "
    "error_description description title raw reason_text text_message cause exception".split()
)
# What the caller sent or the model wrote; a provider that echoes it says nothing with it.
_ECHOED_KEYS = frozenset(
    "input inputs prompt messages content text choices candidates completion output request param params loc ctx "
    "url href help documentation_url request_id id model user_id organization".split()
)
_MOST_LEAVES, _DEEPEST, _LONGEST, _SHOWN_CHARACTERS = 400, 12, 4_000, 300

_URL = re.compile(r"\bhttps?://\S+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_SIGNS = re.compile(r"[`'\"’*_\\-]+")
_EVENT = re.compile(r"^data:\s*(.+)$", re.MULTILINE)
_STATUS = re.compile(
    r"^(?:http(?:/[\d.]+)? ?|error(?: code)?:? ?|status(?: code)?:? ?){0,2}([45]\d\d)\b(?! tokens)", re.IGNORECASE
)
_TAG = re.compile(r"<[^>]{0,500}>")
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza|Bearer|key)[-_ ]?[A-Za-z0-9][\w*.-]{7,}")


def leaves(body: object, key: str = "error", depth: int = 0) -> Iterator[tuple[str, str | int]]:
    """Each text and whole number of a body with the lower-case name it stands under; JSON inside texts is opened.

    >>> list(leaves({"Error": {"raw": '{"code": 429}'}, "ok": [1, "x"]}))
    [('code', 429), ('ok', 1), ('ok', 'x')]
    """
    body = _opened(body)
    if isinstance(body, str | int) and not isinstance(body, bool):
        yield key, body
    elif isinstance(body, dict | list | tuple) and depth <= _DEEPEST:
        for name, value in body.items() if isinstance(body, dict) else ((key, value) for value in body):
            yield from leaves(value, str(name).lower(), depth + 1)


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
    """JSON of a bounded depth, or the text itself: what walks through it later need not be afraid."""
    try:
        return json.loads(text) if nesting_of(text.encode("utf-8", "surrogatepass")) <= NESTING else text
    except (ValueError, RecursionError):
        return text


class Evidence(NamedTuple):
    """All words in normal form, numbers that look like statuses, every number by its name."""

    words: str
    statuses: list[int]
    counts: dict[str, int]


def evidence_of(body: object, *, answered: bool = False) -> Evidence:
    """Read any body; `answered` means status 200, where texts of unknown names are what the model wrote.

    >>> evidence_of({"error": {"type": "exceededContextWindow", "message": "Over 1,000 tokens"}}).words
    'exceeded context window . over 1000 tokens'
    """
    found = Evidence("", [], {})
    words = []
    for key, leaf in islice(leaves(body), _MOST_LEAVES):
        if isinstance(leaf, int):
            found.counts.setdefault(key, leaf)
            if key in _CODE_KEYS and 400 <= leaf <= 599:
                found.statuses.append(leaf)
        elif key in _CODE_KEYS | _MESSAGE_KEYS or (not answered and key not in _ECHOED_KEYS and " " in leaf):
            words.append(normal(leaf))
            if named := _STATUS.match(leaf.strip()):
                found.statuses.append(int(named[1]))
    return found._replace(words=" . ".join(words))


def normal(text: str) -> str:
    """Lower case, one space between words, no quotes, no thousands separators, camel case and snake case apart.

    >>> normal("`contextWindow_size`  is 8,192 (see https://host/x)")
    'context window size is 8192 (see'
    """
    plain = _TAG.sub(" ", _URL.sub(" ", text[:_LONGEST]))
    plain = _SIGNS.sub(" ", _THOUSANDS.sub("", _CAMEL.sub(" ", plain)))
    return " ".join(plain.split()).lower()


# ---- classes: What do those words ask for?
#
# Rules speak about subjects (prompt, input, tokens), excess (exceeds, too long, must be at most) and units (tokens,
# bytes, per minute), not about providers. Words of a rate limit veto an overflow, so that a busy minute never teaches a
# context limit.

Failure = Literal["overflow", "wait", "shrink", "quota", "auth", "unavailable", "unknown"]

_AUTH, _PAYMENT, _TOO_LARGE = frozenset({401, 403, 407}), 402, 413
_WAIT = frozenset({425, 429, 503, 529})
_UNAVAILABLE = frozenset({404, 408, 410, 424})

# A rate, a quota, a queue: their numbers say nothing about a context limit.
_RATE = re.compile(
    r"\bper ?(?:minute|min|hour|day|second|month)\b|\b[tr]p[mdhs]\b|/ ?min(?:ute)?\b|rate ?limit|throttl|\bquota\b|"
    r"too many requests|requests? limit|concurren|slow down|resource ?(?:has been )?exhausted|limit reached for|"
    r"(?:this|each|every|current|last) minute|rate increased|请求过多|频率|限流|速率"
)
_PATIENCE = re.compile(
    r"try(?:ing)? again (?:in|later|after|shortly|soon)|retry (?:in|after|later|your|delay)|please wait|overload|"
    r"wait (?:before|a|for|\d)|(?:over|at|out of|insufficient|no) capacity|capacity (?:exceeded|is full|error)|"
    r"\bbusy\b|high (?:demand|traffic|load)|no (?:slot|worker|instance|replica)s?\b.{0,20}available|not ready|"
    r"temporarily|\b(?:is|still|currently) (?:loading|warming|starting)|loading model|queue (?:is )?full|负载|稍后|繁忙"
)
_CONTEXT = re.compile(
    r"context (?:window|length|size|limit|overflow|budget|exceeded)|(?:exceeds?|maximum|max|model) context|\bn ctx\b|"
    r"exceeds? (?:the )?(?:available |model |maximum )+context|max (?:model|seq|sequence|prompt|input) (?:len|tokens)|"
    r"maximum (?:allowed |number of )?(?:model|sequence|prompt|input) (?:length|tokens)|(?:input|prompt) token count|"
    r"上下文"
)
_TOO_SMALL = re.compile(r"too small.{0,20}minimum")  # a complaint about the server's setting, not about the input
_SUBJECT = r"(?:prompts?|inputs?|messages?|conversation|requests?|contents?|text|tokens?|sequence|query|length)"
_EXCESS = (
    r"(?:exceed\w*|too (?:long|large|big|many)|(?:longer|larger|greater|more) than|over the|above|beyond|"
    r"must (?:be|have|not be) (?:<|less|fewer|at most|under|below|more|longer)|should be (?:\[|less|at most|<)|"
    r"only supports?|supports? (?:up to|at most|only)|at most|does ?n[o ]?t fit|out of range|reached the max)"
)
_OVER = re.compile(rf"\b{_SUBJECT}\b[^.]{{0,120}}?{_EXCESS}|{_EXCESS}[^.]{{0,60}}?\b{_SUBJECT}\b|超长|超过|超出")
_TOO_LONG = re.compile(
    r"\b(?:prompts?|inputs?|messages?|conversation|text|query)\b(?: [\w()]+){0,3}? too (?:long|large|big)|"
    r"(?:prompt|input) exceeds? (?:the )?(?:max|model|length|limit)|range of input length|shorter (?:prompt|input)|"
    r"reduce (?:the |your )?(?:(?:length|size) of |input )?(?:the |your )?(?:messages|prompt|input|context)|"
    r"too many (?:input |prompt )tokens|token limit (?:is |was )?exceeded|超长|过长|长度.{0,6}[超限]|tokens?.{0,8}超|"
    r"(?:prompt|input|sequence) (?:length|count) [^.]{0,30}(?:exceed|over|greater|larger|longer)"
)
_ABOVE = re.compile(r"\b(?P<asked>\d{3,}) ?(?:tokens )?>=? ?(?P<limit>\d{3,})\b")
_ASKED_AND_LIMIT = re.compile(
    r"\b(?P<asked>\d{3,}) (?:\w+ )?tokens\b.{0,40}?(?:maximum|max|limit|allowed)[^\d]{0,20}(?P<limit>\d{3,})\b"
)
_TOKENS = re.compile(r"\btokens?\b")
_OUTPUT = re.compile(r"max (?:new |output |completion )?tokens|(?:completion|output) tokens|max(?:imum)? output")
_INPUT = re.compile(r"\b(?:inputs?|prompt|messages?|context|sequence|conversation|tokens in (?:the |your )?request)\b")
_BYTES = re.compile(
    r"\b(?:bytes?|[kmg]i?b|\d+[kmg]i?b|(?:mega|kilo)bytes?|char(?:acter)?s?|payload|body|entity|string|array|file|"
    r"images?|attachments?|pages|items|upload|content length)\b|request size|maximum (?:allowed )?size"
)
# Under a rate limit: this request alone is more than the rate ever allows.
_NEVER = re.compile(
    r"(?:request|payload|body|entity)(?: \w+){0,3}? too (?:large|big)|must be reduced|tokens per request|"
    r"request (?:size )?exceeds? the max|required for long context|larger than (?:your|the) (?:entire|whole|total)"
)
_LIMIT_AND_ASKED = re.compile(r"\blimit:? (?P<limit>\d+)\b.{0,60}?\brequested:? (?P<asked>\d+)\b")
_OVERSIZED = re.compile(
    r"(?:content|string|input|file|message)(?: \w+){0,3}? too (?:large|big|long)|max (?:request|body|payload) size"
)
_QUOTA = re.compile(
    r"insufficient (?:\w+ )?(?:quota|balance|credits?|funds)|\bbill(?:ing|ed)\b|credit balance|payment|only afford|"
    r"(?:exceed\w*|over|reached|used up|exhausted) (?:your|the|its) (?:\w+ ){0,4}(?:quota|credits?|budget|"
    r"allo(?:cation|wance))|(?:out of|enough|no|more|any|add|purchase|buy|remaining) credits?|"
    r"(?:usage|spend(?:ing)?) (?:limit|cap)|(?:hard|budget|credit) limits?(?: \w+){0,4}? (?:reached|exceeded|hit)|"
    r"max budget|top ?up|recharge|arrear|overdue|prepa(?:id|y)|quota (?:is |has been )?(?:exhausted|used up)|"
    r"trial (?:key|plan|account)|余额|欠费"
)
_ENDED = re.compile(r"\b(?:limit|quota(?: value)?):? 0\b|per ?day|daily")
_RETRY_HINT = re.compile(r"(?:retry|try again) in \d|retry ?delay|(?:per ?|/ ?)(?:minute|second)")
_KEY = re.compile(
    r"(?:invalid|incorrect|missing|no|expired|wrong|valid|revoked|provide an?|disabled) (?:\w+ )?"
    r"(?:api ?key|(?:access|auth|bearer|session) ?token|credentials?|authentication)|permission (?:denied|error)|"
    r"api ?key (?:is )?(?:not valid|invalid|expired|missing|required|not found)|unauthori[sz]ed|unauthenticated|"
    r"authenticat|access denied|not authorized|forbidden|do(?:es)? not have (?:access|permission)"
)
_GONE = re.compile(
    r"\bmodels?\b[^.]{0,100}?(?:not (?:found|exist|available|loaded|supported|a valid|a known)|decommissioned|"
    r"deprecated|no longer|unavailable|unknown|retired)|(?:unknown|invalid|no such|not a valid|missing) model|"
    r"\bnot found\b|no (?:models?|endpoints?|providers?|deployments?)(?: \w+){0,3}? (?:found|loaded|available)"
)
_PARAMETER = re.compile(r"(?:parameters?|arguments?|field)\b[^.]{0,60}not supported|unsupported (?:parameter|value)")
_BROKEN = re.compile(
    r"connect|econn|enotfound|time(?:d )?out|etimedout|name or service not known|name resolution|\bdns\b|unreachable|"
    r"no route|remote end closed|hang up|broken ?pipe|fetch failed|premature|incomplete|gateway|\bunavailable\b|"
    r"(?:internal|server|network|api) error|server had an error|deadline exceeded|upstream|\bssl\b|certificate"
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
    words, statuses, _ = evidence_of(body, answered=answered)
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
        if never or _is_above(_LIMIT_AND_ASKED.search(words)):
            return "shrink"
        return "quota" if not waits and re.search(r"\bquota\b", words) and not says(_RETRY_HINT) else "wait"
    if never or says(_OVERSIZED) or (says(_BYTES) and says(_OVER)):
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
        return not (patient and status in _WAIT) and not _PARAMETER.search(words) and not _TOO_SMALL.search(words)
    if patient or (_OUTPUT.search(words) and not _INPUT.search(words)) or _BYTES.search(words):
        return False
    if _TOO_LONG.search(words):
        return True
    if status in _WAIT or status == _TOO_LARGE or not _TOKENS.search(words):
        return False
    return _OVER.search(words) is not None or _is_above(_ABOVE.search(words) or _ASKED_AND_LIMIT.search(words))


def _is_above(named: re.Match[str] | None) -> bool:
    return named is not None and int(named["asked"]) > int(named["limit"])


def ran_out_of_room(body: object) -> bool:
    """Whether an answer ends for lack of room without a word written: the prompt took it all.

    A model that spent its output on thoughts wrote something, though nothing to read.

    >>> ran_out_of_room({"choices": [{"finish_reason": "length", "message": {"content": ""}}]})
    True
    """
    found = list(islice(leaves(body), _MOST_LEAVES))
    if any(key in _WRITTEN_COUNTS and isinstance(leaf, int) and leaf > 0 for key, leaf in found):
        return False
    ends = {str(leaf).lower() for key, leaf in found if key in _ENDINGS}
    is_empty = not any(key in _WRITTEN and str(leaf).strip() for key, leaf in found)
    return bool(ends & {"model_context_window_exceeded", "context_length_exceeded"}) or (
        is_empty and bool(ends & {"length", "max_tokens"})
    )


_WRITTEN_COUNTS = frozenset({"completion_tokens", "output_tokens", "candidatestokencount", "thoughtstokencount"})
_WRITTEN = frozenset({"message", "content", "text", "response", "reasoning", "reasoning_content", "thinking"})
_ENDINGS = frozenset({"finish_reason", "stop_reason", "finishreason", "done_reason", "stopreason"})

# ---- errors: What is raised for a failure?

_ERRORS: dict[Failure, tuple[type[ProviderError], str]] = {
    "overflow": (ContextLimitError, "send less at once, or tell the model's limit"),
    "wait": (RateLimitError, "try again later"),
    "shrink": (RequestSizeError, "send less at once"),
    "quota": (QuotaError, "look at the account's plan and balance"),
    "auth": (AuthError, "look at the key and its rights"),
    "unavailable": (UnavailableError, "look at the address, the model's name and whether the server is up"),
    "unknown": (ProviderError, "look at the provider's own words"),
}
_ASKED_TO_WAIT = re.compile(r"(?:try again|retry|wait)[^.\d]{0,20}(?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s|sec|seconds?)\b")


def failure(
    who: str,
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
    body = _cleaned(body, secret)
    error, remedy = _ERRORS[classify(status, body)]
    answered = f"answered {status}" if status is not None else "did not answer"
    said = shown(body, secret) or ("an answer without a text" if status == 200 else "")
    quoted = f": {said}" if said else ""
    wait_seconds = _wait_seconds(headers or {}, str(body).lower())
    return error(f"{who} {answered}{quoted}; {remedy}", status=status, body=body, wait_seconds=wait_seconds)


def shown(body: object, secret: str | None) -> str:
    """The first message of a body, without keys, on one short line."""
    texts = [(key, leaf) for key, leaf in islice(leaves(body), _MOST_LEAVES) if isinstance(leaf, str) and leaf.strip()]
    said = [leaf for keys in (_MESSAGE_KEYS, _CODE_KEYS) for key, leaf in texts if key in keys]
    plain = re.sub(r"<[^<>]*>", " ", said[0][:_LONGEST]) if said else ""
    return _without_keys(" ".join(plain.split()), secret)[:_SHOWN_CHARACTERS]


def _cleaned(body: object, secret: str | None) -> object:
    """A body without the key in it, since an error carries it along."""
    if isinstance(body, str):
        return _without_keys(body, secret)
    if isinstance(body, list):
        return [_cleaned(each, secret) for each in body]
    if isinstance(body, dict):
        return {_without_keys(str(key), secret): _cleaned(value, secret) for key, value in body.items()}
    return body


def _without_keys(text: str, secret: str | None) -> str:
    whole = whole_characters(text)
    return _KEY_SHAPE.sub("[key]", whole.replace(secret, "[key]") if secret else whole)


def _wait_seconds(headers: Mapping[str, str], text: str) -> float | None:
    """How long the provider asks to wait: a header in milliseconds, seconds or as a date, or its own words."""
    seconds: float | None = None
    asked = headers.get("retry-after", "").strip()
    for value, scale in ((headers.get("retry-after-ms", "").strip(), 0.001), (asked, 1.0)):
        if seconds is None and re.fullmatch(r"\d+(?:\.\d+)?", value):
            seconds = float(value) * scale
    if seconds is None and asked:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except (ValueError, OverflowError, OSError):  # no date, or one that no clock shows
            return None
    if seconds is None and (found := _ASKED_TO_WAIT.search(text)):
        minutes, number, unit = found.groups()
        seconds = float(minutes or 0) * 60 + float(number) * (0.001 if unit == "ms" else 1.0)
    return None if seconds is None else min(max(seconds, 0.0), PATIENCE_SECONDS)
