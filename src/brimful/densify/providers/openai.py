"""Chat completions as OpenAI, Azure, Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, Groq and others offer them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from brimful.densify.model import Completion
from brimful.densify.providers.remote import RemoteModel, finish_of, inside, number
from brimful.errors import UnavailableError

_REASONING = ("o1", "o3", "o4", "gpt-5")


class OpenAICompatible(RemoteModel):
    """`/chat/completions` below a base address, as a stream."""

    family = "openai"
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
            choice = inside(event, "choices", 0)
            for holder in (inside(choice, "delta"), inside(choice, "message")):
                texts.append(inside(holder, "content") if isinstance(inside(holder, "content"), str) else "")
                refused = refused or bool(inside(holder, "refusal"))
            reason = inside(choice, "finish_reason") or reason
            usage = inside(event, "usage") or usage
        if len(events) > 1 and reason is None and "[DONE]" not in events:
            raise UnavailableError(f"{self.name} broke off in the middle of its answer; try again", status=200)
        return Completion(
            "".join(texts),
            "refused" if refused else finish_of(reason),
            input_tokens=number(usage, "prompt_tokens"),
            output_tokens=number(usage, "completion_tokens"),
        )


class LocalServer(OpenAICompatible):
    """A server at an address of one's own: a key is sent if there is one, and not asked for."""

    keys = ("BRIMFUL_API_KEY",)
    needs_key = False
