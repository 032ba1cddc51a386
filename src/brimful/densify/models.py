"""Which model does a name mean, and how is each family of providers asked?

One class a family, all over plain HTTP (docs/decisions/005-no-provider-sdks.md).
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from brimful.densify.failures import limit_in, table_limit
from brimful.densify.model import Completion, Finish, Model, Stop, failure
from brimful.densify.transport import Response, Timeouts, cleaned, key_from, send, shown
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
from brimful.text.tokens import BpeCounter, EstimatedCounter, TokenCounter
from brimful.text.vocabularies import tokens_for

# ---- remote: What do all models behind HTTP have in common: an address, a key, a limit, a counter?

_UNKNOWN_COUNTER = EstimatedCounter(
    "unknown-vocabulary", {BpeCounter("o200k_base"): 135, BpeCounter("cl100k_base"): 130}
)
"""For a model whose vocabulary is not here: a named estimate that errs high; answers tell how far."""

_REFUSALS = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "recitation", "spii"})


class _RemoteModel:
    """An HTTP endpoint and a model on it. The key is read from the environment at each call and never kept."""

    small = False
    keys: tuple[str, ...] = ()
    needs_key = True

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        name: str | None = None,
        limit: int | None = None,
        counter: TokenCounter | None = None,
        timeouts: Timeouts | None = None,
        keys: tuple[str, ...] | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise SettingError("the address of a model looks like https://host/v1")
        if parts.username is not None or parts.password is not None:
            raise SettingError("an address holds no password; put the key into the environment")
        if not model:
            raise SettingError(f"which model at {base_url}? Name it behind a #: {base_url}#name")
        self.model = model
        self.endpoint = base_url.rstrip("/")
        self.name = name or f"{self.endpoint}#{model}"
        self._given_limit = limit
        self._counter = counter
        self._timeouts = timeouts or Timeouts()
        if keys is not None:
            self.keys = keys

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint!r}, {self.model!r})"

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
        if self._given_limit is not None:
            return self._given_limit
        return self._ask_limit() or table_limit(self.model)

    def _ask_limit(self) -> int | None:
        for url in self.limit_urls():
            try:
                answer = self._send(url, None, Stop(), answer_seconds=self._timeouts.limit_seconds)
            except AuthError:
                raise
            except (ProviderError, SettingError):
                continue
            if found := limit_in(answer.body, self.model):
                return found
        return None

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """One request, one answer."""
        answer = self._send(self.url(), self.payload(prompt, max_output_tokens), stop)
        events = answer.events or (answer.body,)
        for event in events:
            if isinstance(event, dict) and (event.get("error") or event.get("type") == "error"):
                raise self._failed(answer, event)
        found = self.read(events)
        if found.finish == "refused":
            raise RefusedError(f"{self.name} declined to answer; look at the text or take another model", status=200)
        if not found.text.strip():
            raise self._failed(answer, events[-1] if len(events) == 1 else _merged(events, found))
        return found

    def _failed(self, answer: Response, event: object) -> ProviderError:
        key = self._key()
        said = shown(event, key) or "an answer without a text"
        return failure(self.name, answer.status, cleaned(event, key), said=said)

    def _send(self, url: str, payload: object | None, stop: Stop, *, answer_seconds: float | None = None) -> Response:
        key = self._key()
        if key is None and self.needs_key:
            raise AuthError(f"{self.name} needs a key; put it into the environment as {self.keys[0]}")
        return send(
            url,
            payload,
            who=self.name,
            headers=self.headers(key) if key else {},
            secret=key,
            timeouts=replace(self._timeouts, answer_seconds=answer_seconds or self._timeouts.answer_seconds),
            stop=stop,
        )

    def _key(self) -> str | None:
        return key_from(self.keys) if self.keys else None

    # ---- what a family fills in

    def url(self) -> str:
        """Where answers come from."""
        raise NotImplementedError

    def limit_urls(self) -> tuple[str, ...]:
        """Where the limit may be named."""
        return ()

    def headers(self, key: str) -> Mapping[str, str]:
        """How the key is sent."""
        return {"Authorization": f"Bearer {key}"}

    def payload(self, prompt: str, max_output_tokens: int) -> object:
        """The request's JSON."""
        raise NotImplementedError

    def read(self, events: tuple[object, ...]) -> Completion:
        """The answer from one body, or from the events of a stream."""
        raise NotImplementedError


def _finish_of(reason: object) -> Finish:
    """A provider's word for how an answer ended, as one of three.

    >>> _finish_of("MAX_TOKENS"), _finish_of("SAFETY"), _finish_of("end_turn"), _finish_of(None)
    ('length', 'refused', 'stop', 'stop')
    """
    word = str(reason or "").lower()
    if word in ("length", "max_tokens", "model_context_window_exceeded"):
        return "length"
    return "refused" if word in _REFUSALS else "stop"


def _number(holder: object, *names: str) -> int | None:
    """The sum of the whole numbers under these names, None where there is none.

    >>> _number({"a": 1, "b": 2, "c": True}, "a", "b", "c")
    3
    """
    if not isinstance(holder, dict):
        return None
    found = [value for name in names if isinstance(value := holder.get(name), int) and not isinstance(value, bool)]
    return sum(found) if found else None


def _inside(holder: object, *path: str | int) -> Any:
    """A value deep _inside JSON, None where the way ends early."""
    for step in path:
        if isinstance(step, int):
            holder = holder[step] if isinstance(holder, list) and -len(holder) <= step < len(holder) else None
        else:
            holder = holder.get(step) if isinstance(holder, dict) else None
    return holder


def _merged(events: tuple[object, ...], found: Completion) -> object:
    """A stream without a text, as the body that `classify` knows."""
    last = next((event for event in reversed(events) if isinstance(event, dict)), None)
    if found.finish == "length":
        return {"choices": [{"finish_reason": "length"}], "usage": {"completion_tokens": found.output_tokens or 0}}
    return last if last is not None else ""


# ---- openai: Chat completions as OpenAI, Azure, Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, Groq and others offer
# them.

_REASONING = ("o1", "o3", "o4", "gpt-5")


class _OpenAICompatible(_RemoteModel):
    """`/chat/completions` below a base address, as a stream."""

    keys = ("OPENAI_API_KEY",)

    def url(self) -> str:
        """Where answers come from."""
        return f"{self.endpoint}/chat/completions"

    def limit_urls(self) -> tuple[str, ...]:
        """The list of models, which some servers give limits in, and llama.cpp's own properties."""
        parts = urlsplit(self.endpoint)
        listed = (f"{self.endpoint}/models",)
        return listed if parts.scheme == "https" else (*listed, f"{parts.scheme}://{parts.netloc}/props")

    def headers(self, key: str) -> Mapping[str, str]:
        """Azure has a header of its own."""
        host = urlsplit(self.endpoint).hostname or ""
        return {"api-key": key} if host.endswith(".azure.com") else {"Authorization": f"Bearer {key}"}

    def payload(self, prompt: str, max_output_tokens: int) -> object:
        """Models that think take another name for the most tokens, and no temperature."""
        base = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.model.rpartition("/")[2].startswith(_REASONING):
            return {**base, "max_completion_tokens": max_output_tokens}
        return {**base, "max_tokens": max_output_tokens, "temperature": 0}

    def read(self, events: tuple[object, ...]) -> Completion:
        """A body or a stream of differences."""
        texts: list[str] = []
        reason: object = None
        usage: object = None
        refused = False
        for event in events:
            choice = _inside(event, "choices", 0)
            for holder in (_inside(choice, "delta"), _inside(choice, "message")):
                texts.append(_inside(holder, "content") if isinstance(_inside(holder, "content"), str) else "")
                refused = refused or bool(_inside(holder, "refusal"))
            reason = _inside(choice, "finish_reason") or reason
            usage = _inside(event, "usage") or usage
        if len(events) > 1 and reason is None and "[DONE]" not in events:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        return Completion(
            "".join(texts),
            "refused" if refused else _finish_of(reason),
            input_tokens=_number(usage, "prompt_tokens"),
            output_tokens=_number(usage, "completion_tokens"),
        )


class LocalServer(_OpenAICompatible):
    """A server at an address of one's own: a key is sent if there is one, and not asked for."""

    keys = ("BRIMFUL_API_KEY",)
    needs_key = False


# ---- anthropic: Messages as Anthropic offers them.

_VERSION = "2023-06-01"


class Anthropic(_RemoteModel):
    """`/v1/messages`, as a stream."""

    keys = ("ANTHROPIC_API_KEY",)

    def url(self) -> str:
        """Where answers come from."""
        return f"{self.endpoint}/v1/messages"

    def limit_urls(self) -> tuple[str, ...]:
        """The model's own page."""
        return (f"{self.endpoint}/v1/models/{self.model}",)

    def headers(self, key: str) -> Mapping[str, str]:
        """A header of its own, and the version of the interface."""
        return {"x-api-key": key, "anthropic-version": _VERSION}

    def payload(self, prompt: str, max_output_tokens: int) -> object:
        """One message."""
        return {
            "model": self.model,
            "max_tokens": max_output_tokens,
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
        }

    def read(self, events: tuple[object, ...]) -> Completion:
        """A message, or the events that build one."""
        texts: list[str] = []
        reason: object = None
        read_tokens: int | None = None
        written: int | None = None
        ended = len(events) == 1
        for event in events:
            kind = _inside(event, "type")
            message = _inside(event, "message") if kind == "message_start" else event
            blocks = _inside(message, "content")
            texts += [_inside(block, "text") or "" for block in blocks] if isinstance(blocks, list) else []
            if kind == "content_block_delta":
                texts.append(_inside(event, "delta", "text") or "")
            reason = _inside(event, "delta", "stop_reason") or _inside(message, "stop_reason") or reason
            usage = _inside(message, "usage") or _inside(event, "usage")
            counted = _number(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            read_tokens = counted if counted is not None else read_tokens
            written = _number(usage, "output_tokens") if _number(usage, "output_tokens") is not None else written
            ended = ended or kind == "message_stop"
        if not ended:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        return Completion("".join(texts), _finish_of(reason), input_tokens=read_tokens, output_tokens=written)


# ---- gemini: Content as Google's Gemini generates it.


class Gemini(_RemoteModel):
    """`models/NAME:streamGenerateContent`; the key goes into a header, never into the address."""

    keys = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

    def url(self) -> str:
        """Where answers come from."""
        return f"{self.endpoint}/models/{self.model}:streamGenerateContent?alt=sse"

    def limit_urls(self) -> tuple[str, ...]:
        """The model's own page."""
        return (f"{self.endpoint}/models/{self.model}",)

    def headers(self, key: str) -> Mapping[str, str]:
        """A header of its own."""
        return {"x-goog-api-key": key}

    def payload(self, prompt: str, max_output_tokens: int) -> object:
        """One turn."""
        return {
            "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            "generationConfig": {"maxOutputTokens": max_output_tokens, "temperature": 0},
        }

    def read(self, events: tuple[object, ...]) -> Completion:
        """A body, or one after the other; thoughts are no text."""
        texts: list[str] = []
        reason: object = None
        usage: object = None
        for event in events:
            if blocked := _inside(event, "promptFeedback", "blockReason"):
                return Completion("", "refused" if blocked else "stop")
            candidate = _inside(event, "candidates", 0)
            parts = _inside(candidate, "content", "parts")
            parts = parts if isinstance(parts, list) else []
            texts += [_inside(part, "text") or "" for part in parts if not _inside(part, "thought")]
            reason = _inside(candidate, "finishReason") or reason
            usage = _inside(event, "usageMetadata") or usage
        if texts and reason is None:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        return Completion(
            "".join(texts),
            _finish_of(reason),
            input_tokens=_number(usage, "promptTokenCount"),
            output_tokens=_number(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        )


# ---- apple: Apple's Foundation Models, on a Mac that has them.

_LIMIT_TOKENS = 4_096


class _AppleModel:
    """The system's own model, through `apple_fm_sdk`; small, so a text is cut before the first call (DENS)."""

    name = "apple:"
    endpoint = "apple:"
    small = True
    counter: TokenCounter = _UNKNOWN_COUNTER

    def __init__(self, *, limit: int | None = None) -> None:
        self._given_limit = limit

    def __repr__(self) -> str:
        return "AppleModel()"

    def limit(self) -> int | None:
        """What the user said, or the limit that Apple documents."""
        return self._given_limit or _LIMIT_TOKENS

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
            raise failure(self.name, None, error, said=f"{type(error).__name__}: {error}"[:300]) from None
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


# ---- models: Which model does a name mean?
#
# openai:gpt-4.1-mini         OpenAI; also azure:, groq:, mistral:, deepseek:, openrouter:, together:, xai:
# anthropic:claude-sonnet-4-5 Anthropic
# gemini:gemini-2.5-flash     Google
# ollama:llama3.2             a local Ollama
# apple:                      the Mac's own model
# http://localhost:8080/v1#x  any server with `/chat/completions`: llama.cpp, vLLM, LM Studio, …
# extractive:                 no model at all: the text's own best sentences

# Prefix: the family, the variable that may name another address, the address, the variables of the key.
_REMOTE: dict[str, tuple[type[_RemoteModel], str, str, tuple[str, ...]]] = {
    "openai": (_OpenAICompatible, "OPENAI_BASE_URL", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "azure": (_OpenAICompatible, "AZURE_OPENAI_BASE_URL", "", ("AZURE_OPENAI_API_KEY",)),
    "groq": (_OpenAICompatible, "GROQ_BASE_URL", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": (_OpenAICompatible, "MISTRAL_BASE_URL", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "deepseek": (_OpenAICompatible, "DEEPSEEK_BASE_URL", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "openrouter": (_OpenAICompatible, "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "together": (_OpenAICompatible, "TOGETHER_BASE_URL", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "xai": (_OpenAICompatible, "XAI_BASE_URL", "https://api.x.ai/v1", ("XAI_API_KEY",)),
    "ollama": (LocalServer, "OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1", ("OLLAMA_API_KEY",)),
    "anthropic": (Anthropic, "ANTHROPIC_BASE_URL", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    "gemini": (
        *(Gemini, "GEMINI_BASE_URL", "https://generativelanguage.googleapis.com/v1beta"),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
}
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
    LocalServer('http://localhost:8080/v1', 'tiny')
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
        return LocalServer(base, model, limit=limit, counter=counter, timeouts=timeouts)
    if prefix == "apple":
        return _AppleModel(limit=limit)
    if prefix == "extractive":
        from brimful.densify.extractive import ExtractiveModel

        return ExtractiveModel()
    if prefix not in _REMOTE:
        known = (*_REMOTE, *_OWN)
        raise ChoiceError(f"unknown provider in {name!r}; {suggest(prefix, known)}choices: {', '.join(known)}")
    family, variable, address, keys = _REMOTE[prefix]
    base = os.environ.get(variable, "").strip() or address
    if not base:
        raise SettingError(f"{prefix}: needs the address of your resource in {variable}")
    return family(base, model, name=f"{prefix}:{model}", limit=limit, counter=counter, timeouts=timeouts, keys=keys)
