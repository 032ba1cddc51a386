"""Which model does a name mean, and how is each family of providers asked?"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from urllib.parse import urlsplit

from brimful.densify.calls import Completion, Model
from brimful.densify.extractive import ExtractiveModel
from brimful.densify.failures import failure
from brimful.densify.wording import documented_limit, json_or_text, limit_in
from brimful.errors import (
    AuthError,
    BrimfulError,
    ChoiceError,
    MissingPartError,
    ProviderError,
    RefusedError,
    SettingError,
    UnavailableError,
    UnknownModelError,
    install,
    suggest,
)
from brimful.limits import ANSWER_BYTES
from brimful.text.tokens import BpeCounter, EstimatedCounter, TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.transport import Answer, Stop, Timeouts, base_address, exchange

_UNKNOWN_COUNTER = EstimatedCounter(
    "unknown-vocabulary", {BpeCounter("o200k_base"): 135, BpeCounter("cl100k_base"): 130}
)
"""For a model whose vocabulary is not here: a named estimate that errs high."""
_REFUSALS = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "recitation", "spii"})
_REASONING = ("o1", "o3", "o4", "gpt-5")
_APPLE_LIMIT_TOKENS = 4_096


@dataclass(frozen=True, kw_only=True, slots=True)
class _Family:
    """A wire format: paths below the base address, a request's JSON, and places in an answer's JSON or its events."""

    path: str
    limit_path: str
    headers: Mapping[str, str]  # with {key} for the key
    payload: Callable[[str, str, int], dict[str, object]]  # of model, prompt and most tokens of output
    texts: tuple[str, ...]
    endings: tuple[str, ...]
    refusals: tuple[str, ...] = ()
    usages: tuple[str, ...]
    input_counts: tuple[str, ...]
    output_counts: tuple[str, ...]


def _openai_payload(model: str, prompt: str, max_output_tokens: int) -> dict[str, object]:
    """Models that think take another name for the most tokens, and no temperature."""
    thinks = model.rpartition("/")[2].startswith(_REASONING)
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
        **(
            {"max_completion_tokens": max_output_tokens}
            if thinks
            else {"max_tokens": max_output_tokens, "temperature": 0}
        ),
    }


_OPENAI = _Family(
    path="/chat/completions",
    limit_path="/models",
    headers={"Authorization": "Bearer {key}"},
    payload=_openai_payload,
    texts=("choices.*.delta.content", "choices.*.message.content"),
    endings=("choices.*.finish_reason",),
    refusals=("choices.*.delta.refusal", "choices.*.message.refusal"),
    usages=("usage",),
    input_counts=("prompt_tokens",),
    output_counts=("completion_tokens",),
)
_ANTHROPIC = _Family(
    path="/v1/messages",
    limit_path="/v1/models/{model}",
    headers={"x-api-key": "{key}", "anthropic-version": "2023-06-01"},
    payload=lambda model, prompt, max_output_tokens: {
        "model": model,
        "max_tokens": max_output_tokens,
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
    },
    texts=("content.*.text", "message.content.*.text", "delta.text"),
    endings=("delta.stop_reason", "stop_reason"),
    usages=("usage", "message.usage"),
    input_counts=("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    output_counts=("output_tokens",),
)
_GEMINI = _Family(
    path="/models/{model}:streamGenerateContent?alt=sse",
    limit_path="/models/{model}",
    headers={"x-goog-api-key": "{key}"},
    payload=lambda _, prompt, max_output_tokens: {
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "generationConfig": {"maxOutputTokens": max_output_tokens, "temperature": 0},
    },
    texts=("candidates.*.content.parts.*.text",),
    endings=("candidates.*.finishReason",),
    refusals=("promptFeedback.blockReason",),
    usages=("usageMetadata",),
    input_counts=("promptTokenCount",),
    output_counts=("candidatesTokenCount", "thoughtsTokenCount"),
)


@dataclass(kw_only=True)
class _RemoteModel:
    """An HTTP endpoint and a model on it. The key is read at each call and never kept."""

    family: _Family
    endpoint: str
    model: str
    name: str
    keys: tuple[str, ...]
    needs_key: bool
    stated_limit: int | None
    stated_counter: TokenCounter | None
    timeouts: Timeouts
    small: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not self.model:
            raise SettingError(f"which model at {self.endpoint}? Name it after a #: {self.endpoint}#name")
        self.endpoint = base_address(self.endpoint)

    def __repr__(self) -> str:
        return f"model_for({self.name!r})"

    @cached_property
    def counter(self) -> TokenCounter:
        """The model's vocabulary, or the named estimate where it is not known."""
        if self.stated_counter is not None:
            return self.stated_counter
        try:
            return tokens_for(self.model)
        except UnknownModelError:
            return _UNKNOWN_COUNTER

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return self.counter.count(text)

    def limit(self) -> int | None:
        """The stated limit, else the endpoint's, else the table's; one request at most."""
        return self._limit

    @cached_property
    def _limit(self) -> int | None:
        if self.stated_limit is not None:
            return self.stated_limit
        timeouts = replace(self.timeouts, answer_seconds=self.timeouts.limit_seconds)
        urls = [self._url(self.family.limit_path)]
        address = urlsplit(self.endpoint)
        if self.family is _OPENAI and address.scheme != "https":
            urls.append(f"http://{address.netloc}/props")  # llama.cpp's own properties
        for url in urls:
            try:
                body = json_or_text(self._send(url, None, Stop(), timeouts).text)
            except AuthError:
                raise
            except (ProviderError, SettingError):
                continue
            if limit := limit_in(body, self.model):
                return limit
        return documented_limit(self.model)

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """The answer to one request, read from one body or from the events of a stream."""
        payload = self.family.payload(self.model, prompt, max_output_tokens)
        answer = self._send(self._url(self.family.path), payload, stop, self.timeouts)
        text = answer.text
        is_stream = "event-stream" in answer.headers.get("content-type", "") or text.startswith(("data:", "event:"))
        lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")] if is_stream else [text]
        events = [json_or_text(line) for line in lines]
        for event in events:
            if isinstance(event, dict) and (event.get("error") or event.get("type") == "error"):
                raise self._failure(200, event)
        endings = _values_at(events, self.family.endings)
        if _values_at(events, self.family.refusals) or (endings and str(endings[-1]).lower() in _REFUSALS):
            raise RefusedError(f"{self.name} declined to answer; look at the text or take another model", status=200)
        if is_stream and not endings and "[DONE]" not in events:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        written = "".join(text for text in _values_at(events, self.family.texts) if isinstance(text, str))
        if not written.strip():
            raise self._failure(200, events if is_stream else events[0])
        usages = _values_at(events, self.family.usages)
        return Completion(
            written, _last_sum(usages, self.family.input_counts), _last_sum(usages, self.family.output_counts)
        )

    def _failure(self, status: int | None, body: object, headers: Mapping[str, str] | None = None) -> ProviderError:
        return failure(self.name, status, body, secret=_key_from(self.keys), headers=headers)

    def _send(self, url: str, payload: object | None, stop: Stop, timeouts: Timeouts) -> Answer:
        """A request's answer; statuses other than 2xx and broken connections are raised as the errors they mean."""
        key = _key_from(self.keys)
        if key is None and self.needs_key:
            raise AuthError(f"{self.name} needs a key; put it into the environment as {self.keys[0]}")
        is_azure = (urlsplit(self.endpoint).hostname or "").endswith(".azure.com")
        headers = {"api-key": "{key}"} if is_azure else self.family.headers
        try:
            answer = exchange(
                url,
                payload,
                key_headers={header: value.replace("{key}", key) for header, value in headers.items()} if key else {},
                key_variable=self.keys[0],
                timeouts=timeouts,
                stop=stop,
            )
        except OSError as error:
            raise self._failure(None, error) from None
        if not 200 <= answer.status < 300:
            raise self._failure(answer.status, json_or_text(answer.text), answer.headers)
        if len(answer.body) > ANSWER_BYTES:
            raise ProviderError(f"{self.name} answered more than {ANSWER_BYTES} bytes", status=answer.status)
        return answer

    def _url(self, path: str) -> str:
        return self.endpoint + path.replace("{model}", self.model)


def _values_at(events: Iterable[object], paths: tuple[str, ...]) -> list[object]:
    """Values at some paths in JSON, empty ones left out; `*` is every item of a list but a model's thoughts.

    >>> _values_at([{"parts": [{"text": "a"}, {"text": "b", "thought": True}]}, "?"], ("parts.*.text", "text"))
    ['a']
    """
    results: list[object] = []
    for event in events:
        for path in paths:
            values = [event]
            for step in path.split("."):
                if step == "*":
                    items = [item for value in values if isinstance(value, list) for item in value]
                    values = [item for item in items if not (isinstance(item, dict) and item.get("thought"))]
                else:
                    values = [value.get(step) for value in values if isinstance(value, dict)]
            results += [value for value in values if value]
    return results


def _last_sum(usages: Sequence[object], names: tuple[str, ...]) -> int | None:
    """The sum of the whole numbers under these names, in the last place that has one; None where there is none.

    >>> _last_sum([{"a": 9}, {"a": 1, "b": 2, "c": True}, {"d": 5}], ("a", "b", "c"))
    3
    """
    for usage in reversed(usages):
        values = [usage.get(name) for name in names] if isinstance(usage, dict) else []
        if numbers := [value for value in values if isinstance(value, int) and not isinstance(value, bool)]:
            return sum(numbers)
    return None


def _key_from(variables: tuple[str, ...]) -> str | None:
    """A key from the environment, else from the system's keyring if `keyring` is installed; never from a file."""
    for name in variables:
        if value := os.environ.get(name, "").strip():
            return value
    if importlib.util.find_spec("keyring") is None:
        return None
    keyring = importlib.import_module("keyring")
    return next((str(value) for name in variables if (value := keyring.get_password("brimful", name))), None)


class _AppleModel:
    """The Mac's own model, through `apple_fm_sdk`; small, so a text is cut before the first call (DENS)."""

    name = endpoint = "apple:"
    small = True
    counter: TokenCounter = _UNKNOWN_COUNTER

    def __init__(self, limit: int | None) -> None:
        self._limit = limit or _APPLE_LIMIT_TOKENS

    def limit(self) -> int | None:
        """The stated limit, or the one that Apple documents."""
        return self._limit

    def count(self, text: str) -> int:
        """The tokens of a text, estimated."""
        return self.counter.count(text)

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """The answer of one session; the system bounds its output."""
        del max_output_tokens
        stop.check()
        sdk = _apple_sdk()
        try:
            answer = asyncio.run(sdk.LanguageModelSession().respond(prompt))
        except BrimfulError:
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's errors share no root that is there on other systems
            raise failure(self.name, None, error) from None
        stop.check()
        return Completion(str(getattr(answer, "content", answer)))


def _apple_sdk() -> ModuleType:
    system = platform.system()
    if system != "Darwin":
        raise MissingPartError(
            f"apple: runs on macOS 26 and later, this is {system}; take extractive:, or a local server "
            "(http://localhost:8080/v1#name)"
        )
    if importlib.util.find_spec("apple_fm_sdk") is None:
        raise MissingPartError(f"apple: needs Apple's Python package; {install(package='apple-fm-sdk')}")
    return importlib.import_module("apple_fm_sdk")


# Wire format and address by prefix; docs/densify.md has the table. GROQ_BASE_URL names another address for groq:,
# GROQ_API_KEY its key.
_PROVIDERS: dict[str, tuple[_Family, str]] = {
    "openai": (_OPENAI, "https://api.openai.com/v1"),
    "azure": (_OPENAI, ""),
    "groq": (_OPENAI, "https://api.groq.com/openai/v1"),
    "mistral": (_OPENAI, "https://api.mistral.ai/v1"),
    "deepseek": (_OPENAI, "https://api.deepseek.com/v1"),
    "openrouter": (_OPENAI, "https://openrouter.ai/api/v1"),
    "together": (_OPENAI, "https://api.together.xyz/v1"),
    "xai": (_OPENAI, "https://api.x.ai/v1"),
    "ollama": (_OPENAI, "http://127.0.0.1:11434/v1"),
    "anthropic": (_ANTHROPIC, "https://api.anthropic.com"),
    "gemini": (_GEMINI, "https://generativelanguage.googleapis.com/v1beta"),
}
_VARIABLES = {"azure": "AZURE_OPENAI"}
_MORE_KEYS = {"gemini": ("GOOGLE_API_KEY",)}
_PREFIXES = (*_PROVIDERS, "apple", "extractive", "http", "https")


def model_for(
    name: str,
    *,
    limit: int | None = None,
    counter: TokenCounter | None = None,
    timeouts: Timeouts | None = None,
) -> Model:
    """The model that a name means; no connection is made before it is used.

    >>> model_for("http://localhost:8080/v1#tiny", limit=2_048)
    model_for('http://localhost:8080/v1#tiny')
    >>> model_for("opnai:gpt-4o")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown provider in 'opnai:gpt-4o'; did you mean 'openai'? ...
    """
    if limit is not None and limit < 1:
        raise SettingError(f"a context limit of {limit} tokens holds nothing; give at least 1")
    name = name.strip()
    prefix, _, model = name.partition(":")
    prefix = prefix.lower()
    if prefix not in _PREFIXES:
        choices = ", ".join(_PREFIXES)
        raise ChoiceError(f"unknown provider in {name!r}; {suggest(prefix, _PREFIXES)}choices: {choices}")
    if prefix == "apple":
        return _AppleModel(limit)
    if prefix == "extractive":
        return ExtractiveModel()
    if prefix in ("http", "https"):
        family, keys = _OPENAI, ("BRIMFUL_API_KEY",)
        address, _, model = name.partition("#")
        name = f"{base_address(address)}#{model}"
    else:
        family, address = _PROVIDERS[prefix]
        variable = _VARIABLES.get(prefix, prefix.upper())
        keys = (f"{variable}_API_KEY", *_MORE_KEYS.get(prefix, ()))
        address = os.environ.get(f"{variable}_BASE_URL", "").strip() or address
        name = f"{prefix}:{model}"
        if not address:
            raise SettingError(f"{prefix}: needs the address of your resource in {variable}_BASE_URL")
    return _RemoteModel(
        family=family,
        endpoint=address,
        model=model,
        name=name,
        keys=keys,
        needs_key=prefix not in ("http", "https", "ollama"),
        stated_limit=limit,
        stated_counter=counter,
        timeouts=timeouts or Timeouts(),
    )
