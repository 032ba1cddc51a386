"""What do all models behind HTTP have in common: an address, a key, a limit, a counter?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from brimful.densify.limits import table_limit, told_limit
from brimful.densify.model import Completion, Finish, Stop, failure
from brimful.densify.transport import Response, Timeouts, cleaned, key_from, send, shown
from brimful.errors import AuthError, ProviderError, RefusedError, SettingError, UnknownModelError
from brimful.text.tokens import BpeCounter, EstimatedCounter, TokenCounter
from brimful.text.vocabularies import tokens_for

UNKNOWN_COUNTER = EstimatedCounter(
    "unknown-vocabulary", {BpeCounter("o200k_base"): 135, BpeCounter("cl100k_base"): 130}
)
"""For a model whose vocabulary is not here: a named estimate that errs high; answers tell how far."""

_REFUSALS = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "recitation", "spii"})


class RemoteModel:
    """An HTTP endpoint and a model on it. The key is read from the environment at each call and never kept."""

    small = False
    family = ""
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
        self._told = limit
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
            return UNKNOWN_COUNTER

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return self.counter.count(text)

    def limit(self) -> int | None:
        """What the user said, what the endpoint tells, or the table; the endpoint is asked once."""
        return self._limit

    @cached_property
    def _limit(self) -> int | None:
        if self._told is not None:
            return self._told
        return self._ask_limit() or table_limit(self.model)

    def _ask_limit(self) -> int | None:
        for url in self.limit_urls():
            try:
                answer = self._send(url, None, Stop(), answer_seconds=self._timeouts.limit_seconds)
            except AuthError:
                raise
            except (ProviderError, SettingError):
                continue
            if found := told_limit(answer.body, self.model):
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
            headers=self.headers(key) if key else self.plain_headers(),
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
        """Where the limit may be told."""
        return ()

    def headers(self, key: str) -> Mapping[str, str]:
        """How the key is sent."""
        return {"Authorization": f"Bearer {key}"}

    def plain_headers(self) -> Mapping[str, str]:
        """What is sent without a key."""
        return {}

    def payload(self, prompt: str, max_output_tokens: int) -> object:
        """The request's JSON."""
        raise NotImplementedError

    def read(self, events: tuple[object, ...]) -> Completion:
        """The answer from one body, or from the events of a stream."""
        raise NotImplementedError


def finish_of(reason: object) -> Finish:
    """A provider's word for how an answer ended, as one of three.

    >>> finish_of("MAX_TOKENS"), finish_of("SAFETY"), finish_of("end_turn"), finish_of(None)
    ('length', 'refused', 'stop', 'stop')
    """
    word = str(reason or "").lower()
    if word in ("length", "max_tokens", "model_context_window_exceeded"):
        return "length"
    return "refused" if word in _REFUSALS else "stop"


def number(holder: object, *names: str) -> int | None:
    """The sum of the whole numbers under these names, None where there is none.

    >>> number({"a": 1, "b": 2, "c": True}, "a", "b", "c")
    3
    """
    if not isinstance(holder, dict):
        return None
    found = [value for name in names if isinstance(value := holder.get(name), int) and not isinstance(value, bool)]
    return sum(found) if found else None


def inside(holder: object, *path: str | int) -> Any:
    """A value deep inside JSON, None where the way ends early."""
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
