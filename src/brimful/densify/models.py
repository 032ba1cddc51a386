"""Which model does a name mean, and how is each family of providers asked?

One class a wire format: where a request goes, what it holds, and where the parts of its answer stand.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from brimful.densify.failures import failure, json_or_text
from brimful.densify.model import Completion, Finish, Model, limit_in, table_limit
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
"""For a model whose vocabulary is not here: a named estimate that errs high; answers tell how far."""
_REFUSALS = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "recitation", "spii"})
_REASONING = ("o1", "o3", "o4", "gpt-5")
_APPLE_LIMIT_TOKENS = 4_096


class _RemoteModel:
    """An HTTP endpoint and a model on it. The key is read from the environment at each call and never kept."""

    small = False
    needs_key = True
    # The wire format: paths below the base address, then places in an answer's JSON or in the events of a stream.
    path: str
    limit_path: str
    texts: tuple[str, ...]
    reasons: tuple[str, ...]
    refusals: tuple[str, ...] = ()
    usages: tuple[str, ...]
    read_counts: tuple[str, ...]
    written_counts: tuple[str, ...]

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        keys: tuple[str, ...],
        name: str | None = None,
        limit: int | None = None,
        counter: TokenCounter | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.endpoint = base_address(base_url)
        if not model:
            raise SettingError(f"which model at {base_url}? Name it behind a #: {base_url}#name")
        self.model, self.keys = model, keys
        self.name = name or f"{self.endpoint}#{model}"
        self._stated_limit, self._counter, self._timeouts = limit, counter, timeouts or Timeouts()

    def __repr__(self) -> str:
        return f"model_for({self.name!r})"

    @cached_property
    def counter(self) -> TokenCounter:
        """The model's vocabulary, or the named estimate where it is not known."""
        if self._counter is not None:
            return self._counter
        try:
            return tokens_for(self.model)
        except UnknownModelError:
            return _UNKNOWN_COUNTER

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return self.counter.count(text)

    def limit(self) -> int | None:
        """What the user said, what the endpoint tells, or the table; the endpoint is asked once."""
        return self._limit

    @cached_property
    def _limit(self) -> int | None:
        if self._stated_limit is not None:
            return self._stated_limit
        timeouts = replace(self._timeouts, answer_seconds=self._timeouts.limit_seconds)
        for url in self._limit_urls():
            try:
                body = json_or_text(self._send(url, None, Stop(), timeouts).text)
            except AuthError:
                raise
            except (ProviderError, SettingError):
                continue
            if limit := limit_in(body, self.model):
                return limit
        return table_limit(self.model)

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """One request, one answer."""
        answer = self._send(self._url(self.path), self.payload(prompt, max_output_tokens), stop, self._timeouts)
        text = answer.text
        is_stream = "event-stream" in answer.headers.get("content-type", "") or text.startswith(("data:", "event:"))
        lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")] if is_stream else [text]
        events = [json_or_text(line) for line in lines]
        for event in events:
            if isinstance(event, dict) and (event.get("error") or event.get("type") == "error"):
                raise self._failure(200, event)
        completion = self.read(events)
        if completion.finish == "refused":
            raise RefusedError(f"{self.name} declined to answer; look at the text or take another model", status=200)
        if is_stream and not _all_at(events, self.reasons) and "[DONE]" not in events:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        if not completion.text.strip():
            raise self._failure(200, events if is_stream else events[0])
        return completion

    def read(self, events: Sequence[object]) -> Completion:
        """The answer from one body, or from the events of a stream."""
        usages = _all_at(events, self.usages)
        return Completion(
            "".join(text for text in _all_at(events, self.texts) if isinstance(text, str)),
            "refused" if _all_at(events, self.refusals) else _finish_of(_all_at(events, self.reasons)),
            input_tokens=_last_sum(usages, self.read_counts),
            output_tokens=_last_sum(usages, self.written_counts),
        )

    def _failure(self, status: int | None, body: object, headers: Mapping[str, str] | None = None) -> ProviderError:
        return failure(self.name, status, body, secret=_key_from(self.keys), headers=headers)

    def _send(self, url: str, payload: object | None, stop: Stop, timeouts: Timeouts) -> Answer:
        """A request's answer; statuses other than 2xx and broken connections are raised as the errors they mean."""
        key = _key_from(self.keys)
        if key is None and self.needs_key:
            raise AuthError(f"{self.name} needs a key; put it into the environment as {self.keys[0]}")
        headers = self.key_headers(key) if key else {}
        try:
            answer = exchange(
                url, payload, key_headers=headers, key_variable=self.keys[0], timeouts=timeouts, stop=stop
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

    def _limit_urls(self) -> tuple[str, ...]:
        return (self._url(self.limit_path),)

    # ---- what a family fills in

    def key_headers(self, key: str) -> Mapping[str, str]:
        """How the key is sent."""
        raise NotImplementedError

    def payload(self, prompt: str, max_output_tokens: int) -> dict[str, object]:
        """The request's JSON."""
        raise NotImplementedError


def _all_at(events: Iterable[object], paths: tuple[str, ...]) -> list[object]:
    """Values at some paths in JSON, empty ones left out; `*` is every item of a list but a model's thoughts.

    >>> _all_at([{"parts": [{"text": "a"}, {"text": "b", "thought": True}]}, "?"], ("parts.*.text", "text"))
    ['a']
    """
    found = []
    for event in events:
        for path in paths:
            values = [event]
            for step in path.split("."):
                if step == "*":
                    items = [item for value in values if isinstance(value, list) for item in value]
                    values = [item for item in items if not (isinstance(item, dict) and item.get("thought"))]
                else:
                    values = [value.get(step) for value in values if isinstance(value, dict)]
            found += [value for value in values if value]
    return found


def _finish_of(reasons: Sequence[object]) -> Finish:
    """A provider's last word for how an answer ended, as one of three.

    >>> _finish_of(["MAX_TOKENS"]), _finish_of(["SAFETY"]), _finish_of(["end_turn"]), _finish_of([])
    ('length', 'refused', 'stop', 'stop')
    """
    word = str(reasons[-1]).lower() if reasons else ""
    if word in ("length", "max_tokens", "model_context_window_exceeded"):
        return "length"
    return "refused" if word in _REFUSALS else "stop"


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


class _OpenAICompatible(_RemoteModel):
    """Chat completions as OpenAI, Azure, Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, Groq and others offer them."""

    path = "/chat/completions"
    limit_path = "/models"
    texts = ("choices.*.delta.content", "choices.*.message.content")
    reasons = ("choices.*.finish_reason",)
    refusals = ("choices.*.delta.refusal", "choices.*.message.refusal")
    usages = ("usage",)
    read_counts = ("prompt_tokens",)
    written_counts = ("completion_tokens",)

    def _limit_urls(self) -> tuple[str, ...]:
        """The list of models, in which some servers give limits, and llama.cpp's own properties."""
        parts = urlsplit(self.endpoint)
        props = () if parts.scheme == "https" else (f"{parts.scheme}://{parts.netloc}/props",)
        return (*super()._limit_urls(), *props)

    def key_headers(self, key: str) -> Mapping[str, str]:
        """Azure has a header of its own."""
        host = urlsplit(self.endpoint).hostname or ""
        return {"api-key": key} if host.endswith(".azure.com") else {"Authorization": f"Bearer {key}"}

    def payload(self, prompt: str, max_output_tokens: int) -> dict[str, object]:
        """Models that think take another name for the most tokens, and no temperature."""
        thinks = self.model.rpartition("/")[2].startswith(_REASONING)
        bounds = {"max_completion_tokens": max_output_tokens}
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
            "stream_options": {"include_usage": True},
            **(bounds if thinks else {"max_tokens": max_output_tokens, "temperature": 0}),
        }


class _LocalServer(_OpenAICompatible):
    """A server at an address of one's own: a key is sent if there is one, and not asked for."""

    needs_key = False


class _Anthropic(_RemoteModel):
    """Messages as Anthropic offers them."""

    path = "/v1/messages"
    limit_path = "/v1/models/{model}"
    texts = ("content.*.text", "message.content.*.text", "delta.text")
    reasons = ("delta.stop_reason", "stop_reason")
    usages = ("usage", "message.usage")
    read_counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    written_counts = ("output_tokens",)

    def key_headers(self, key: str) -> Mapping[str, str]:
        """A header of its own, and the version of the interface."""
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def payload(self, prompt: str, max_output_tokens: int) -> dict[str, object]:
        """One message."""
        messages = [{"role": "user", "content": prompt}]
        return {"model": self.model, "max_tokens": max_output_tokens, "messages": messages, "stream": True}


class _Gemini(_RemoteModel):
    """Content as Google's Gemini generates it; the key goes into a header, never into the address."""

    path = "/models/{model}:streamGenerateContent?alt=sse"
    limit_path = "/models/{model}"
    texts = ("candidates.*.content.parts.*.text",)
    reasons = ("candidates.*.finishReason",)
    refusals = ("promptFeedback.blockReason",)
    usages = ("usageMetadata",)
    read_counts = ("promptTokenCount",)
    written_counts = ("candidatesTokenCount", "thoughtsTokenCount")

    def key_headers(self, key: str) -> Mapping[str, str]:
        """A header of its own."""
        return {"x-goog-api-key": key}

    def payload(self, prompt: str, max_output_tokens: int) -> dict[str, object]:
        """One turn."""
        return {
            "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            "generationConfig": {"maxOutputTokens": max_output_tokens, "temperature": 0},
        }


class _AppleModel:
    """The Mac's own model, through `apple_fm_sdk`; small, so a text is cut before the first call (DENS)."""

    name = endpoint = "apple:"
    small = True
    counter: TokenCounter = _UNKNOWN_COUNTER

    def __init__(self, *, limit: int | None = None) -> None:
        self._limit = limit or _APPLE_LIMIT_TOKENS

    def __repr__(self) -> str:
        return "AppleModel()"

    def limit(self) -> int | None:
        """What the user said, or the limit that Apple documents."""
        return self._limit

    def count(self, text: str) -> int:
        """The tokens of a text, estimated."""
        return self.counter.count(text)

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """One session, one answer; the system bounds the output by itself."""
        del max_output_tokens
        stop.check()
        sdk = _sdk()
        try:
            answer = asyncio.run(sdk.LanguageModelSession().respond(prompt))
        except BrimfulError:
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's errors share no root that is there on other systems
            raise failure(self.name, None, error) from None
        stop.check()
        return Completion(str(getattr(answer, "content", answer)))


def _sdk() -> Any:
    system = platform.system()
    if system != "Darwin":
        raise MissingPartError(
            f"apple: runs on macOS 26 and later, this is {system}; take extractive:, or a local server "
            "(http://localhost:8080/v1#name)"
        )
    if importlib.util.find_spec("apple_fm_sdk") is None:
        raise MissingPartError(f"apple: needs Apple's Python package; {install(package='apple-fm-sdk')}")
    return importlib.import_module("apple_fm_sdk")


# ---- models: Which model does a name mean? docs/densify.md has the table.

# Prefix: the wire format and the address. GROQ_BASE_URL names another address for groq:, GROQ_API_KEY its key.
_REMOTE: dict[str, tuple[type[_RemoteModel], str]] = {
    "openai": (_OpenAICompatible, "https://api.openai.com/v1"),
    "azure": (_OpenAICompatible, ""),
    "groq": (_OpenAICompatible, "https://api.groq.com/openai/v1"),
    "mistral": (_OpenAICompatible, "https://api.mistral.ai/v1"),
    "deepseek": (_OpenAICompatible, "https://api.deepseek.com/v1"),
    "openrouter": (_OpenAICompatible, "https://openrouter.ai/api/v1"),
    "together": (_OpenAICompatible, "https://api.together.xyz/v1"),
    "xai": (_OpenAICompatible, "https://api.x.ai/v1"),
    "ollama": (_LocalServer, "http://127.0.0.1:11434/v1"),
    "anthropic": (_Anthropic, "https://api.anthropic.com"),
    "gemini": (_Gemini, "https://generativelanguage.googleapis.com/v1beta"),
}
_VARIABLES = {"azure": "AZURE_OPENAI"}
_MORE_KEYS = {"gemini": ("GOOGLE_API_KEY",)}
_OWN = ("apple", "extractive", "http", "https")


def model_for(
    name: str,
    *,
    limit: int | None = None,
    counter: TokenCounter | None = None,
    timeouts: Timeouts | None = None,
) -> Model:
    """The model behind a name; no connection is made before it is used.

    >>> model_for("http://localhost:8080/v1#tiny", limit=2_048)
    model_for('http://localhost:8080/v1#tiny')
    >>> model_for("opnai:gpt-4o")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown provider in 'opnai:gpt-4o'; did you mean 'openai'? ...
    """
    if limit is not None and limit < 1:
        raise SettingError(f"a context limit of {limit} tokens holds nothing; give at least 1")
    prefix, _, model = name.strip().partition(":")
    prefix = prefix.lower()
    if prefix in ("http", "https"):
        base, _, model = name.strip().partition("#")
        return _LocalServer(base, model, keys=("BRIMFUL_API_KEY",), limit=limit, counter=counter, timeouts=timeouts)
    if prefix == "apple":
        return _AppleModel(limit=limit)
    if prefix == "extractive":
        from brimful.densify.extractive import ExtractiveModel

        return ExtractiveModel()
    if prefix not in _REMOTE:
        known = (*_REMOTE, *_OWN)
        raise ChoiceError(f"unknown provider in {name!r}; {suggest(prefix, known)}choices: {', '.join(known)}")
    family, address = _REMOTE[prefix]
    variable = _VARIABLES.get(prefix, prefix.upper())
    base = os.environ.get(f"{variable}_BASE_URL", "").strip() or address
    if not base:
        raise SettingError(f"{prefix}: needs the address of your resource in {variable}_BASE_URL")
    keys = (f"{variable}_API_KEY", *_MORE_KEYS.get(prefix, ()))
    return family(base, model, keys=keys, name=f"{prefix}:{model}", limit=limit, counter=counter, timeouts=timeouts)
