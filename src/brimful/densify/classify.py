"""What does a provider's failure ask for: smaller parts, patience, money, a key, or another day?

The order of belief: what a status always means, then typed codes and the message together. Rules speak about subjects
(prompt, input, tokens), excess (exceeds, too long, must be at most) and units (tokens, bytes, per minute), not about
providers. Words of a rate limit veto an overflow, so that a busy minute never teaches a context limit.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from brimful.densify.evidence import Evidence, evidence_of
from brimful.limits import LEAST_CONTEXT_TOKENS
from brimful.patterns import compiled

Failure = Literal["overflow", "wait", "shrink", "quota", "auth", "unavailable", "unknown"]
FAILURES: tuple[Failure, ...] = get_args(Failure)

_AUTH, _PAYMENT, _TOO_LARGE, _OK = frozenset({401, 403, 407}), 402, 413, 200
_WAIT = frozenset({425, 429, 503, 529})
_UNAVAILABLE = frozenset({404, 408, 410, 424})

# A rate, a quota, a queue: their numbers say nothing about a context limit.
_RATE = compiled(
    r"\bper (?:minute|min|hour|day|second|month)\b|perminute|perday|\b[tr]p[mdhs]\b|/ ?min(?:ute)?\b|rate ?limit|"
    r"throttl|too many requests|request limit|requests limit|concurren|slow down|resource ?(?:has been )?exhausted|"
    r"rate increased|\bquota\b|limit reached for|(?:this|each|every|current|last) minute|"
    r"per (?:model|organization|key|user) limit|请求过多|频率|限流|速率"
)
_PATIENCE = compiled(
    r"try(?:ing)? again (?:in|later|after|shortly|soon)|retry (?:in|after|later|your)|retry ?delay|please wait|"
    r"wait (?:before|a|for|\d)|overload|(?:over|at|out of|insufficient|no) capacity|"
    r"capacity (?:exceeded|is full|error|has been)|\bbusy\b|high (?:demand|traffic|load)|"
    r"no (?:slot|worker|instance|replica)s?\b.{0,20}available|"
    r"\b(?:is|still|currently) (?:loading|warming|starting)|loading model|not ready|cold start|temporarily|"
    r"queue (?:is )?full|负载|稍后|繁忙"
)
_CONTEXT = compiled(
    r"context (?:window|length|size|limit|overflow|budget|exceeded)|(?:maximum|max|model) context|context the overflow|"
    r"exceeds? (?:the )?(?:available |model |maximum )*context|\bn ctx\b|max (?:model|seq|sequence) len|"
    r"maximum (?:allowed )?(?:model|sequence|prompt|input) length|context is too|"
    r"maximum (?:number of )?(?:input|prompt) tokens|"
    r"max (?:prompt|input) (?:tokens|length)|input token count|prompt token count|上下文"
)
_TOO_SMALL = compiled(r"too small.{0,20}minimum")  # a complaint about the server's setting, not about the input
_SUBJECT = r"(?:prompts?|inputs?|messages?|conversation|requests?|contents?|text|tokens?|sequence|query|length)"
_EXCESS = (
    r"(?:exceed\w*|too (?:long|large|big|many)|longer than|larger than|greater than|more than|over the|above|beyond|"
    r"must (?:be|have|not be) (?:<|less|fewer|at most|under|below|more|longer)|must not exceed|can ?not exceed|"
    r"should be (?:\[|less|at most|<)|only supports?|supports? (?:up to|at most|only)|at most|doesn t fit|"
    r"does not fit|out of range|surpass\w*|went over|reached the max\w*)"
)
_OVER = compiled(rf"\b{_SUBJECT}\b[^.]{{0,120}}?{_EXCESS}|{_EXCESS}[^.]{{0,60}}?\b{_SUBJECT}\b|超长|超过|超出")
_TOO_LONG = compiled(
    r"\b(?:prompts?|inputs?|messages?|conversation|text|query)\b(?: [\w()]+){0,3}? (?:is |are |was )?too "
    r"(?:long|large|big)|"
    r"(?:prompt|input) exceeds? (?:the )?(?:max|model|length|limit)|range of input length|shorter (?:prompt|input)|"
    r"reduce (?:the |your )?(?:length of |size of |input )?(?:the |your )?(?:messages|prompt|input|context)|"
    r"too many (?:input |prompt )tokens|token limit (?:is |was )?exceeded|超长|过长|长度.{0,6}[超限]|tokens?.{0,8}超|"
    r"(?:conversation|input|prompt|message) (?:length )?(?:limit )?exceeded|conversation limit|"
    r"(?:prompt|input|sequence) (?:length|count) [^.]{0,30}(?:exceed|over|greater|larger|longer)"
)
_ABOVE = compiled(r"\b(\d{3,}) ?(?:tokens )?>=? ?(\d{3,})\b")
_HAS_AND_MAXIMUM = compiled(r"\b(\d{3,}) (?:\w+ )?tokens\b.{0,40}?(?:maximum|max|limit|allowed)[^\d]{0,20}(\d{3,})\b")
_TOKENS = compiled(r"\btokens?\b")
_OUTPUT = compiled(r"max (?:new |output |completion )?tokens|(?:completion|output) tokens|maximum output|max output")
_INPUT = compiled(r"\b(?:inputs?|prompt|messages?|context|sequence|conversation|tokens in (?:the |your )?request)\b")
_BYTES = compiled(
    r"\b(?:bytes?|[kmg]i?b|megabytes?|kilobytes?|characters?|chars|payload|body|entity|string|array|file|images?|"
    r"attachments?|pages|items|upload|content length)\b|\d[kmg]i?b\b|request size|maximum (?:allowed )?size"
)
# Under a rate limit: this request alone is more than the rate ever allows.
_NEVER = compiled(
    r"(?:request|payload|body|entity)(?: \w+){0,3}? (?:is |was )?too (?:large|big)|must be reduced|"
    r"request (?:size )?exceeds? the max|tokens per request|required for long context|"
    r"larger than (?:your|the) (?:entire|whole|total)"
)
_LIMIT_AND_ASKED = compiled(r"\blimit:? (\d+)\b.{0,60}?\brequested:? (\d+)\b")
_OVERSIZED = compiled(
    r"(?:content|string|input|file|message)(?: \w+){0,3}? (?:is |was )?too (?:large|big|long)|above max length|"
    r"max (?:request|body|payload) size"
)
_QUOTA = compiled(
    r"insufficient (?:quota|balance|credits?|funds|user quota)|"
    r"(?:exceed\w*|over|reached|used up|exhausted) (?:your|the|its) (?:\w+ ){0,4}"
    r"(?:quota|credits?|allocation|allowance|budget)|\bbilling\b|billed|credit balance|"
    r"(?:out of|enough|no|more|any|add|purchase|buy|remaining) credits?|payment|spend(?:ing)? (?:limit|cap)|"
    r"(?:hard|budget|credit) limits?(?: \w+){0,4}? (?:reached|exceeded|hit)|usage limit|max budget|top ?up|recharge|"
    r"arrear|overdue|prepa(?:id|y)|only afford|service quota exceeded|exceeded current quota|"
    r"quota (?:is |has been )?(?:exhausted|used up|exceeded exception)|trial (?:key|plan|account)|余额|欠费"
)
_ENDED = compiled(r"\b(?:limit|quota(?: value)?):? 0\b|per ?day|daily")
_RETRY_HINT = compiled(r"(?:retry|try again) in \d|retry ?delay|(?:per ?|/ ?)(?:minute|second)")
_KEY = compiled(
    r"(?:invalid|incorrect|missing|no|expired|wrong|valid|revoked|provide an?|disabled) (?:\w+ )?"
    r"(?:api ?key|x api key|token|credentials?|authentication)|"
    r"api ?key (?:is )?(?:not valid|invalid|expired|missing|required|not found)|"
    r"unauthori[sz]ed|unauthenticated|authenticat|permission (?:denied|error)|access denied|not authorized|forbidden|"
    r"do(?:es)? not have (?:access|permission)"
)
_KEY_WORD = compiled(
    r"(?:api|auth|access|bearer|security|session) ?(?:key|token)|credential|authenti|authori|permission|access|forbid"
)
_GONE = compiled(
    r"\bmodels?\b[^.]{0,100}?(?:not found|not exist|decommissioned|deprecated|no longer|not available|unavailable|"
    r"not loaded|not supported|not a valid|not a known|unknown|retired)|"
    r"(?:unknown|invalid|no such|not a valid|missing) model|failed to load model|\bnot found\b|"
    r"no (?:models?|endpoints?|providers?|deployments?)(?: \w+){0,3}? (?:found|loaded|available)|"
    r"deployment[^.]{0,60}not (?:exist|found)"
)
_PARAMETER = compiled(r"(?:parameters?|arguments?|field)\b[^.]{0,60}not supported|unsupported (?:parameter|value)")
_BROKEN = compiled(
    r"connect(?:ion)?(?: \w+){0,2}? ?(?:refused|reset|error|aborted|closed|failed|timed out|timeout)|econn|enotfound|"
    r"etimedout|eai again|timed out|time ?out|getaddrinfo|name or service not known|name resolution|\bdns\b|"
    r"unreachable|no route|remote end closed|socket hang up|broken ?pipe|fetch failed|network error|disconnected|"
    r"premature|incomplete ?read|gateway|internal (?:server )?error|server error|server had an error|api error|"
    r"deadline exceeded|\bunavailable\b|upstream|(?:cannot|could not|failed to) connect|\bssl\b|certificate"
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
    answered = status is not None and _OK <= status < 300
    if status in _AUTH:
        return "auth"
    if status == _PAYMENT:
        return "quota"
    said = evidence_of(body, answered=answered)
    if answered or status is None:  # the words may name a status of their own
        if any(code in _AUTH for code in said.statuses):
            return "auth"
        if _PAYMENT in said.statuses:
            return "quota"
        inner = next(iter(said.statuses), None)
        if answered and not (said.codes or said.messages or inner):
            return "overflow" if ran_out_of_room(body) else "unknown"
        status = inner
    return _by_words(status, said)


def _by_words(status: int | None, said: Evidence) -> Failure:
    words = said.words
    rated = bool(_RATE.search(words))
    if _is_quota(words):
        return "quota"
    over = not rated and _is_overflow(status, words)
    if over:
        return "overflow"
    if status in _WAIT or rated:
        return _paced(status, words, rated=rated)
    if status == _TOO_LARGE or _is_oversized(words):
        return "shrink"
    if status not in _UNAVAILABLE and _is_key(words):
        return "auth"
    if _PATIENCE.search(words):
        return "wait"
    if status in _UNAVAILABLE or (status is not None and status >= 500):
        return "unavailable"
    if (_GONE.search(words) and not _PARAMETER.search(words)) or _BROKEN.search(words):
        return "unavailable"
    return "unknown"


def _paced(status: int | None, words: str, *, rated: bool) -> Failure:
    """A rate or an overload: shrink where this request alone is over the limit, else wait."""
    asked = _LIMIT_AND_ASKED.search(words)
    if (asked and int(asked[2]) > int(asked[1])) or _NEVER.search(words) or status == _TOO_LARGE:
        return "shrink"
    if rated and status not in _WAIT and re.search(r"\bquota\b", words) and not _RETRY_HINT.search(words):
        return "quota"
    return "wait"


def _is_overflow(status: int | None, words: str) -> bool:
    patient = bool(_PATIENCE.search(words))
    if _CONTEXT.search(words):
        return not (patient and status in _WAIT) and not _PARAMETER.search(words) and not _TOO_SMALL.search(words)
    if patient or (_OUTPUT.search(words) and not _INPUT.search(words)):
        return False
    if _BYTES.search(words):
        return False
    if _TOO_LONG.search(words):
        return True
    if status in _WAIT or status == _TOO_LARGE or not _TOKENS.search(words):
        return False
    return bool(_OVER.search(words)) or _is_above(words)


def _is_above(words: str) -> bool:
    """Whether two numbers of tokens are compared, and the first is above the second.

    >>> _is_above("total tokens 9000 > 8192"), _is_above("the prompt has 900 tokens, the maximum is 8192")
    (True, False)
    """
    found = _ABOVE.search(words) or _HAS_AND_MAXIMUM.search(words)
    return found is not None and int(found[1]) > int(found[2])


def _is_oversized(words: str) -> bool:
    return bool(_NEVER.search(words) or _OVERSIZED.search(words) or (_BYTES.search(words) and _OVER.search(words)))


def _is_quota(words: str) -> bool:
    """Money or an allowance is used up; a quota that refills within a minute is only a rate."""
    if not _QUOTA.search(words):
        return False
    return not _RETRY_HINT.search(words) or bool(_ENDED.search(words))


def _is_key(words: str) -> bool:
    return bool(_KEY.search(words) and _KEY_WORD.search(words))


def ran_out_of_room(body: object) -> bool:
    """Whether an answer ends for lack of room without a word written: the prompt took it all.

    A model that spent its output on thoughts wrote something, though nothing to read.

    >>> ran_out_of_room({"choices": [{"finish_reason": "length", "message": {"content": ""}}]})
    True
    """
    if not isinstance(body, dict):
        return False
    usage = body.get("usage") or body.get("usageMetadata") or {}
    if isinstance(usage, dict) and any(
        isinstance(usage.get(key), int) and usage[key] > 0
        for key in ("completion_tokens", "output_tokens", "candidatesTokenCount", "thoughtsTokenCount")
    ):
        return False
    choices = body.get("choices") or body.get("candidates") or [body]
    first = choices[0] if isinstance(choices, list) and choices else body
    if not isinstance(first, dict):
        return False
    ends = {str(holder.get(key)).lower() for holder in (first, body) for key in _ENDINGS}
    if ends & {"model_context_window_exceeded", "context_length_exceeded"}:
        return True
    return bool(ends & {"length", "max_tokens"}) and not _written(first) and not _written(body)


_TEXTS = ("message", "content", "text", "response", "delta", "reasoning", "reasoning_content", "parts", "thinking")
_ENDINGS = ("finish_reason", "stop_reason", "finishReason", "done_reason", "stopReason")


def _written(holder: dict[str, object]) -> bool:
    """Whether a choice, candidate or message holds any text or thought."""
    for key in _TEXTS:
        value = holder.get(key)
        if isinstance(value, str) and value.strip():
            return True
        if isinstance(value, dict) and _written(value):
            return True
        if isinstance(value, list) and any(isinstance(each, dict) and _written(each) for each in value):
            return True
    return False


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
