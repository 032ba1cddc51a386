"""Content as Google's Gemini generates it."""

from __future__ import annotations

from collections.abc import Mapping

from brimful.densify.model import Completion
from brimful.densify.providers.remote import RemoteModel, finish_of, inside, number
from brimful.errors import UnavailableError


class Gemini(RemoteModel):
    """`models/NAME:streamGenerateContent`; the key goes into a header, never into the address."""

    family = "gemini"
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
            if blocked := inside(event, "promptFeedback", "blockReason"):
                return Completion("", "refused" if blocked else "stop")
            candidate = inside(event, "candidates", 0)
            parts = inside(candidate, "content", "parts")
            parts = parts if isinstance(parts, list) else []
            texts += [inside(part, "text") or "" for part in parts if not inside(part, "thought")]
            reason = inside(candidate, "finishReason") or reason
            usage = inside(event, "usageMetadata") or usage
        if texts and reason is None:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        return Completion(
            "".join(texts),
            finish_of(reason),
            input_tokens=number(usage, "promptTokenCount"),
            output_tokens=number(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        )
