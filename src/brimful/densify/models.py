"""Which model does a name mean?

openai:gpt-4.1-mini         OpenAI; also azure:, groq:, mistral:, deepseek:, openrouter:, together:, xai:
anthropic:claude-sonnet-4-5 Anthropic
gemini:gemini-2.5-flash     Google
ollama:llama3.2             a local Ollama
apple:                      the Mac's own model
http://localhost:8080/v1#x  any server with `/chat/completions`: llama.cpp, vLLM, LM Studio, …
extractive:                 no model at all: the text's own best sentences
"""

from __future__ import annotations

import os

from brimful.densify.model import Completion, Model, Stop
from brimful.densify.providers.anthropic import Anthropic
from brimful.densify.providers.apple import AppleModel
from brimful.densify.providers.gemini import Gemini
from brimful.densify.providers.openai import LocalServer, OpenAICompatible
from brimful.densify.providers.remote import RemoteModel
from brimful.densify.transport import Timeouts
from brimful.errors import ChoiceError, SettingError, suggest
from brimful.text.tokens import TokenCounter

__all__ = ["Completion", "Model", "Stop", "Timeouts", "model_for"]

# Prefix: the family, the variable that may name another address, the address, the variables of the key.
_REMOTE: dict[str, tuple[type[RemoteModel], str, str, tuple[str, ...]]] = {
    "openai": (OpenAICompatible, "OPENAI_BASE_URL", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "azure": (OpenAICompatible, "AZURE_OPENAI_BASE_URL", "", ("AZURE_OPENAI_API_KEY",)),
    "groq": (OpenAICompatible, "GROQ_BASE_URL", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": (OpenAICompatible, "MISTRAL_BASE_URL", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "deepseek": (OpenAICompatible, "DEEPSEEK_BASE_URL", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "openrouter": (OpenAICompatible, "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "together": (OpenAICompatible, "TOGETHER_BASE_URL", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "xai": (OpenAICompatible, "XAI_BASE_URL", "https://api.x.ai/v1", ("XAI_API_KEY",)),
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
        return AppleModel(limit=limit)
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
