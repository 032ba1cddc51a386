"""What did the provider say, what does it ask for, and how much does a model accept?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Literal

from brimful.limits import LEAST_CONTEXT_TOKENS

# ---- evidence: What did the provider say, in words that rules can be written for?
#
# Providers wrap the same sentence in a dozen shapes: `{"error": {...}}`, `{"error": "..."}`, a list of those, JSON
# inside a string inside JSON, server-sent events, plain text, HTML. Here they become two normal forms: typed codes, a
# message.

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
_MOST_STRINGS, _DEEPEST, _LONGEST = 200, 12, 4_000

_URL = re.compile(r"\bhttps?://\S+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_SIGNS = re.compile(r"[`'\"’*_\\-]+")
_SPACE = re.compile(r"\s+")
_EVENT = re.compile(r"^data:\s*(.+)$", re.MULTILINE)
_STATUS = re.compile(
    r"^(?:http(?:/[\d.]+)? ?|error(?: code)?:? ?|status(?: code)?:? ?){0,2}([45]\d\d)\b(?! tokens)", re.IGNORECASE
)
_TAG = re.compile(r"<[^>]{0,500}>")


@dataclass(slots=True)
class Evidence:
    """The provider's words: codes and message in normal form, numbers that look like statuses, named counts."""

    codes: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """All typed codes, in one string."""
        return " . ".join(self.codes)

    @property
    def message(self) -> str:
        """All messages, in one string."""
        return " . ".join(self.messages)

    @property
    def words(self) -> str:
        """Codes and messages together."""
        return f"{self.code} . {self.message}"


def evidence_of(body: object, *, answered: bool = False) -> Evidence:
    """Read any body; `answered` means status 200, where only what is marked as an error counts.

    >>> evidence_of({"error": {"type": "exceededContextWindow", "message": "Over 1,000 tokens"}}).words
    'exceeded context window . over 1000 tokens'
    """
    found = Evidence()
    if answered:
        for part in _marked_errors(_parsed(body), depth=0):
            _walk(part, "error", found, depth=0)
    else:
        _walk(body, "error", found, depth=0)
    return found


def normal(text: str) -> str:
    """Lower case, one space between words, no quotes, no thousands separators, camel case and snake case apart.

    >>> normal("`contextWindow_size`  is 8,192 (see https://host/x)")
    'context window size is 8192 (see '
    """
    plain = _TAG.sub(" ", _URL.sub(" ", text[:_LONGEST]))
    plain = _SIGNS.sub(" ", _THOUSANDS.sub("", _CAMEL.sub(" ", plain)))
    return _SPACE.sub(" ", plain).lower().lstrip()


def _walk(value: object, key: str, found: Evidence, *, depth: int) -> None:
    if depth > _DEEPEST or len(found.codes) + len(found.messages) > _MOST_STRINGS:
        return
    if isinstance(value, BaseException):
        _walk(f"{type(value).__name__}: {value}", "message", found, depth=depth + 1)
    elif isinstance(value, bytes):
        _walk(value.decode("utf-8", "replace"), key, found, depth=depth + 1)
    elif isinstance(value, dict):
        for name, each in value.items():
            _walk(each, str(name).lower(), found, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            _walk(each, key, found, depth=depth + 1)
    elif isinstance(value, str):
        _read_text(value, key, found, depth=depth)
    elif isinstance(value, int) and not isinstance(value, bool):
        found.counts.setdefault(key, value)
        if key in _CODE_KEYS and 400 <= value <= 599:
            found.statuses.append(value)


def _read_text(value: str, key: str, found: Evidence, *, depth: int) -> None:
    inner = _parsed(value)
    if not isinstance(inner, str):
        _walk(inner, key, found, depth=depth + 1)
    elif key in _CODE_KEYS:
        found.codes.append(normal(value))
        if value.isascii() and value.isdigit() and len(value) == 3 and 400 <= int(value) <= 599:
            found.statuses.append(int(value))
    elif key in _MESSAGE_KEYS or (key not in _ECHOED_KEYS and " " in value):
        found.messages.append(normal(value))
        if named := _STATUS.match(value.strip()):
            found.statuses.append(int(named[1]))


def _parsed(body: object) -> object:
    """JSON and server-sent events as values; everything else as it is."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if not isinstance(body, str):
        return body
    text = body.strip()
    if text[:1] in ("{", "["):
        return _json(text)
    if "{" in text and (events := _EVENT.findall(text)):
        return [_json(event.strip()) for event in events]
    brace = text.find("{")
    if 0 <= brace < 200 and text.endswith("}"):
        inner = _json(text[brace:])
        return [{"message": text[:brace]}, inner] if not isinstance(inner, str) else body
    return body


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _marked_errors(body: object, *, depth: int) -> list[object]:
    """What a body of status 200 marks as an error, in whichever event of it."""
    if depth > _DEEPEST:
        return []
    if isinstance(body, str):
        return [body]
    if isinstance(body, list):
        return [part for each in body for part in _marked_errors(each, depth=depth + 1) if not isinstance(each, str)]
    if not isinstance(body, dict):
        return []
    kind = f"{body.get('type', '')} {body.get('object', '')}".lower()
    if "error" in kind or any(str(key).lower().startswith("err") and value for key, value in body.items()):
        return [{key: value for key, value in body.items() if key not in _ECHOED_KEYS}]
    if "message" in body and not _ECHOED_KEYS & set(body) and isinstance(body["message"], str):
        return [body]
    inner = [body[key] for key in ("response", "choices", "data", "base_resp") if key in body]
    return [part for each in inner if not isinstance(each, str) for part in _marked_errors(each, depth=depth + 1)]


# ---- classify: What does a provider's failure ask for: smaller parts, patience, money, a key, or another day?
#
# The order of belief: what a status always means, then typed codes and the message together. Rules speak about subjects
# (prompt, input, tokens), excess (exceeds, too long, must be at most) and units (tokens, bytes, per minute), not about
# providers. Words of a rate limit veto an overflow, so that a busy minute never teaches a context limit.

Failure = Literal["overflow", "wait", "shrink", "quota", "auth", "unavailable", "unknown"]

_AUTH, _PAYMENT, _TOO_LARGE, _OK = frozenset({401, 403, 407}), 402, 413, 200
_WAIT = frozenset({425, 429, 503, 529})
_UNAVAILABLE = frozenset({404, 408, 410, 424})

# A rate, a quota, a queue: their numbers say nothing about a context limit.
_RATE = re.compile(
    r"\bper (?:minute|min|hour|day|second|month)\b|perminute|perday|\b[tr]p[mdhs]\b|/ ?min(?:ute)?\b|rate ?limit|"
    r"throttl|too many requests|request limit|requests limit|concurren|slow down|resource ?(?:has been )?exhausted|"
    r"rate increased|\bquota\b|limit reached for|(?:this|each|every|current|last) minute|"
    r"per (?:model|organization|key|user) limit|请求过多|频率|限流|速率"
)
_PATIENCE = re.compile(
    r"try(?:ing)? again (?:in|later|after|shortly|soon)|retry (?:in|after|later|your)|retry ?delay|please wait|"
    r"wait (?:before|a|for|\d)|overload|(?:over|at|out of|insufficient|no) capacity|"
    r"capacity (?:exceeded|is full|error|has been)|\bbusy\b|high (?:demand|traffic|load)|"
    r"no (?:slot|worker|instance|replica)s?\b.{0,20}available|"
    r"\b(?:is|still|currently) (?:loading|warming|starting)|loading model|not ready|cold start|temporarily|"
    r"queue (?:is )?full|负载|稍后|繁忙"
)
_CONTEXT = re.compile(
    r"context (?:window|length|size|limit|overflow|budget|exceeded)|(?:maximum|max|model) context|context the overflow|"
    r"exceeds? (?:the )?(?:available |model |maximum )*context|\bn ctx\b|max (?:model|seq|sequence) len|"
    r"maximum (?:allowed )?(?:model|sequence|prompt|input) length|context is too|"
    r"maximum (?:number of )?(?:input|prompt) tokens|"
    r"max (?:prompt|input) (?:tokens|length)|input token count|prompt token count|上下文"
)
_TOO_SMALL = re.compile(r"too small.{0,20}minimum")  # a complaint about the server's setting, not about the input
_SUBJECT = r"(?:prompts?|inputs?|messages?|conversation|requests?|contents?|text|tokens?|sequence|query|length)"
_EXCESS = (
    r"(?:exceed\w*|too (?:long|large|big|many)|longer than|larger than|greater than|more than|over the|above|beyond|"
    r"must (?:be|have|not be) (?:<|less|fewer|at most|under|below|more|longer)|must not exceed|can ?not exceed|"
    r"should be (?:\[|less|at most|<)|only supports?|supports? (?:up to|at most|only)|at most|doesn t fit|"
    r"does not fit|out of range|surpass\w*|went over|reached the max\w*)"
)
_OVER = re.compile(rf"\b{_SUBJECT}\b[^.]{{0,120}}?{_EXCESS}|{_EXCESS}[^.]{{0,60}}?\b{_SUBJECT}\b|超长|超过|超出")
_TOO_LONG = re.compile(
    r"\b(?:prompts?|inputs?|messages?|conversation|text|query)\b(?: [\w()]+){0,3}? (?:is |are |was )?too "
    r"(?:long|large|big)|"
    r"(?:prompt|input) exceeds? (?:the )?(?:max|model|length|limit)|range of input length|shorter (?:prompt|input)|"
    r"reduce (?:the |your )?(?:length of |size of |input )?(?:the |your )?(?:messages|prompt|input|context)|"
    r"too many (?:input |prompt )tokens|token limit (?:is |was )?exceeded|超长|过长|长度.{0,6}[超限]|tokens?.{0,8}超|"
    r"(?:conversation|input|prompt|message) (?:length )?(?:limit )?exceeded|conversation limit|"
    r"(?:prompt|input|sequence) (?:length|count) [^.]{0,30}(?:exceed|over|greater|larger|longer)"
)
_ABOVE = re.compile(r"\b(\d{3,}) ?(?:tokens )?>=? ?(\d{3,})\b")
_HAS_AND_MAXIMUM = re.compile(r"\b(\d{3,}) (?:\w+ )?tokens\b.{0,40}?(?:maximum|max|limit|allowed)[^\d]{0,20}(\d{3,})\b")
_TOKENS = re.compile(r"\btokens?\b")
_OUTPUT = re.compile(r"max (?:new |output |completion )?tokens|(?:completion|output) tokens|maximum output|max output")
_INPUT = re.compile(r"\b(?:inputs?|prompt|messages?|context|sequence|conversation|tokens in (?:the |your )?request)\b")
_BYTES = re.compile(
    r"\b(?:bytes?|[kmg]i?b|megabytes?|kilobytes?|characters?|chars|payload|body|entity|string|array|file|images?|"
    r"attachments?|pages|items|upload|content length)\b|\d[kmg]i?b\b|request size|maximum (?:allowed )?size"
)
# Under a rate limit: this request alone is more than the rate ever allows.
_NEVER = re.compile(
    r"(?:request|payload|body|entity)(?: \w+){0,3}? (?:is |was )?too (?:large|big)|must be reduced|"
    r"request (?:size )?exceeds? the max|tokens per request|required for long context|"
    r"larger than (?:your|the) (?:entire|whole|total)"
)
_LIMIT_AND_ASKED = re.compile(r"\blimit:? (\d+)\b.{0,60}?\brequested:? (\d+)\b")
_OVERSIZED = re.compile(
    r"(?:content|string|input|file|message)(?: \w+){0,3}? (?:is |was )?too (?:large|big|long)|above max length|"
    r"max (?:request|body|payload) size"
)
_QUOTA = re.compile(
    r"insufficient (?:quota|balance|credits?|funds|user quota)|"
    r"(?:exceed\w*|over|reached|used up|exhausted) (?:your|the|its) (?:\w+ ){0,4}"
    r"(?:quota|credits?|allocation|allowance|budget)|\bbilling\b|billed|credit balance|"
    r"(?:out of|enough|no|more|any|add|purchase|buy|remaining) credits?|payment|spend(?:ing)? (?:limit|cap)|"
    r"(?:hard|budget|credit) limits?(?: \w+){0,4}? (?:reached|exceeded|hit)|usage limit|max budget|top ?up|recharge|"
    r"arrear|overdue|prepa(?:id|y)|only afford|service quota exceeded|exceeded current quota|"
    r"quota (?:is |has been )?(?:exhausted|used up|exceeded exception)|trial (?:key|plan|account)|余额|欠费"
)
_ENDED = re.compile(r"\b(?:limit|quota(?: value)?):? 0\b|per ?day|daily")
_RETRY_HINT = re.compile(r"(?:retry|try again) in \d|retry ?delay|(?:per ?|/ ?)(?:minute|second)")
_KEY = re.compile(
    r"(?:invalid|incorrect|missing|no|expired|wrong|valid|revoked|provide an?|disabled) (?:\w+ )?"
    r"(?:api ?key|x api key|token|credentials?|authentication)|"
    r"api ?key (?:is )?(?:not valid|invalid|expired|missing|required|not found)|"
    r"unauthori[sz]ed|unauthenticated|authenticat|permission (?:denied|error)|access denied|not authorized|forbidden|"
    r"do(?:es)? not have (?:access|permission)"
)
_KEY_WORD = re.compile(
    r"(?:api|auth|access|bearer|security|session) ?(?:key|token)|credential|authenti|authori|permission|access|forbid"
)
_GONE = re.compile(
    r"\bmodels?\b[^.]{0,100}?(?:not found|not exist|decommissioned|deprecated|no longer|not available|unavailable|"
    r"not loaded|not supported|not a valid|not a known|unknown|retired)|"
    r"(?:unknown|invalid|no such|not a valid|missing) model|failed to load model|\bnot found\b|"
    r"no (?:models?|endpoints?|providers?|deployments?)(?: \w+){0,3}? (?:found|loaded|available)|"
    r"deployment[^.]{0,60}not (?:exist|found)"
)
_PARAMETER = re.compile(r"(?:parameters?|arguments?|field)\b[^.]{0,60}not supported|unsupported (?:parameter|value)")
_BROKEN = re.compile(
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


# ---- limits: How much does a model accept? What the user says, what the provider tells, a table, or what an error
# named.
#
# A limit that was learnt is remembered for its endpoint and model (memory.py), so that no run learns it twice.

_LEAST, _MOST = LEAST_CONTEXT_TOKENS, 100_000_000
_NAMED_FIELDS = ("n_ctx", "max_model_len", "context_length", "max_context_length", "context_window")
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
    said = evidence_of(body)
    counted = next((said.counts[name] for name in _COUNTED_FIELDS if name in said.counts), None)
    limit = next((said.counts[name] for name in _NAMED_FIELDS if name in said.counts), None)
    if limit is None:
        limit = _least(said.message, _ABOVE_LIMIT, _KEYWORD, _BEFORE, _RANGE)
    if limit is None or not _LEAST <= limit <= _MOST:
        return None
    if counted is None:
        counted = _least(said.message, _COUNTED_ALONE, _COUNTED)
    return Learnt(limit, counted if counted is not None and counted > limit else None)


def _least(text: str, *patterns: re.Pattern[str]) -> int | None:
    """The smallest number that the first fitting pattern finds."""
    for pattern in patterns:
        if found := [int(number) for groups in pattern.findall(text) for number in _numbers(groups)]:
            return min(found)
    return None


def _numbers(groups: str | tuple[str, ...]) -> list[str]:
    return [group for group in ((groups,) if isinstance(groups, str) else groups) if group]


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
    names = {str(entry.get(key, "")).removeprefix("models/") for key in ("id", "name", "model")}
    return model in names
