"""Messages as Anthropic offers them."""

from __future__ import annotations

from collections.abc import Mapping

from brimful.densify.model import Completion
from brimful.densify.providers.remote import RemoteModel, finish_of, inside, number
from brimful.errors import UnavailableError

_VERSION = "2023-06-01"


class Anthropic(RemoteModel):
    """`/v1/messages`, as a stream."""

    family = "anthropic"
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
            kind = inside(event, "type")
            message = inside(event, "message") if kind == "message_start" else event
            blocks = inside(message, "content")
            texts += [inside(block, "text") or "" for block in blocks] if isinstance(blocks, list) else []
            if kind == "content_block_delta":
                texts.append(inside(event, "delta", "text") or "")
            reason = inside(event, "delta", "stop_reason") or inside(message, "stop_reason") or reason
            usage = inside(message, "usage") or inside(event, "usage")
            counted = number(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            read_tokens = counted if counted is not None else read_tokens
            written = number(usage, "output_tokens") if number(usage, "output_tokens") is not None else written
            ended = ended or kind == "message_stop"
        if not ended:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        return Completion("".join(texts), finish_of(reason), input_tokens=read_tokens, output_tokens=written)
