"""Which vocabulary does a model use?

A name is matched by the longest prefix in the table, up to a `-`, `:`, `@` or the end, so `gpt-4o-mini` is a
`gpt-4o` and `gpt-4` is not. A model whose vocabulary is not here is an error, never a guess.
"""

from __future__ import annotations

import re

from brimful.errors import UnknownModelError, suggest
from brimful.text.tokens import APPROXIMATE, BpeCounter, EstimatedCounter, TokenCounter

# Every exact vocabulary, with the models that count by it. A prefix that ends in "." takes any minor version.
VOCABULARIES: dict[str, tuple[str, ...]] = {
    "o200k_base": (*("gpt-4o", "chatgpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-5.", "o1", "o3", "o4", "gpt-oss"),),
    "cl100k_base": (
        *("gpt-4", "gpt-3.5", "gpt-3.5-turbo", "gpt-35-turbo", "davinci-002", "babbage-002"),
        *("text-embedding-3", "text-embedding-ada-002"),
    ),
    "llama3": (
        *("llama3", "llama3.1", "llama3.2", "llama3.3", "llama-3", "llama-3.1", "llama-3.2", "llama-3.3"),
        *("meta-llama-3", "meta-llama-3.1", "llama-v3", "llama-v3p1", "llama-v3p2", "llama-v3p3"),
        *("deepseek-r1-distill-llama", "deepseek-r1:70b"),
    ),
    "llama2": ("llama2", "llama-2", "tinyllama", "vicuna"),
    "codellama": ("codellama", "code-llama"),
    "qwen3": (
        *("qwen-7b", "qwen-14b", "qwen-72b", "qwen1.5", "qwen2", "qwen2.5", "qwen3", "qwq", "qvq"),
        *("deepseek-r1-distill-qwen", "deepseek-r1-0528-qwen3"),
        *("deepseek-r1:1.5b", "deepseek-r1:7b", "deepseek-r1:14b", "deepseek-r1:32b"),
    ),
    "deepseek_v3": (
        *("deepseek-v3", "deepseek-v3.1", "deepseek-v3.2", "deepseek-v4", "deepseek-r1"),
        *("deepseek-chat", "deepseek-reasoner"),
    ),
    "mistral_v1": (
        *("mistral-7b", "mistral:7b", "mistral:latest", "open-mistral-7b", "mixtral", "open-mixtral"),
        *("mistral-medium-2312",),
    ),
    "mistral_v2": (
        *("mistral-7b-v0.3", "mistral-7b-instruct-v0.3", "mixtral-8x22b", "open-mixtral-8x22b"),
        *("mistral-tiny-2312", "mistral-tiny-2407", "mistral-small-2312", "mistral-small-2402", "mathstral"),
        *("mistral-large-2402", "mistral-large-2407", "mistral-large-2411", "pixtral-large"),
        *("mistral-large-instruct-2407", "mistral-large-instruct-2411"),
        *("codestral-22b", "codestral-2405", "codestral-mamba", "mamba-codestral"),
    ),
    "mistral_v3": (
        *("mistral-nemo", "open-mistral-nemo", "pixtral-12b", "ministral-8b", "mistral-small-24b"),
        *("mistral-small-2501", "mistral-small-2503", "mistral-small-2506", "mistral-small:24b"),
        *("mistral-small-3.1", "mistral-small-3.2", "mistral-small3.1", "mistral-small3.2"),
        *("devstral-small", "magistral-small"),
    ),
    "gemma2": ("gemma2", "gemma-2", "gemma-2b", "gemma-7b", "gemma:2b", "gemma:7b", "gemma-1.1", "codegemma"),
    "gemma3": ("gemma3", "gemma-3", "gemma3n", "gemma-3n", "embeddinggemma", "medgemma"),
    "gemma4": ("gemma4", "gemma-4"),
    "glm4": ("glm4", "glm-4", "glm-4.5", "glm-4.6", "glm-4.7"),
    "kimi_k2": ("kimi-k2", "kimi-k2.5", "kimi-linear"),
    "kimi_k3": ("kimi-k3",),
    "phi4": ("phi-4", "phi4"),
    "olmo2": ("olmo-2", "olmo2"),
}

# Estimates, in percent of exact counts; docs/internals/tokens.md has their measurements.
_ESTIMATES: dict[str, dict[str, int]] = {
    "claude": {"o200k_base": 200, "cl100k_base": 150},
    "claude-legacy": {"o200k_base": 145, "cl100k_base": 140},
    "gemini": {"gemma4": 110},
}
_LAST_LEGACY_CLAUDE = (4, 6)

# Names that a prefix above would take wrongly, or that readers will try, with the reason.
_NOT_HERE = {
    "deepseek-coder": "it has its own vocabulary",
    "deepseek-r1:8b": "the tag has named a Llama and a Qwen model; give the model's full name",
    "deepseek-v2": "it has its own vocabulary",
    "gpt-2": "its vocabulary (r50k) is not carried",
    "gpt2": "its vocabulary (r50k) is not carried",
    "llama-4": "its vocabulary is not carried",
    "llama4": "its vocabulary is not carried",
    "mistral-small-2409": "published sources disagree on its vocabulary",
    "phi-4-mini": "it has its own vocabulary",
    "phi-4-multimodal": "it has its own vocabulary",
    "phi4-mini": "it has its own vocabulary",
    "qwen-flash": "the alias moves between generations with different vocabularies",
    "qwen-long": "the alias moves between generations with different vocabularies",
    "qwen-max": "the alias moves between generations with different vocabularies",
    "qwen-plus": "the alias moves between generations with different vocabularies",
    "qwen-turbo": "the alias moves between generations with different vocabularies",
    "qwen3.": "Qwen 3.5 and later have a larger vocabulary, which is not carried",
    "text-davinci": "its vocabulary (p50k) is not carried",
}

_BY_PREFIX: dict[str, str] = {prefix: name for name, prefixes in VOCABULARIES.items() for prefix in prefixes}
_PROVIDERS = frozenset(
    {
        *("anthropic", "azure", "azure_openai", "bedrock", "cerebras", "deepseek", "fireworks", "gemini"),
        *("github", "google", "google-genai", "google-gla", "google-vertex", "google_genai", "groq"),
        *("google_vertexai", "huggingface", "mistral", "mistralai", "moonshot", "ollama", "openai"),
        *("openrouter", "together", "vertexai", "xai"),
    }
)
# Amazon Bedrock: us.anthropic.claude-…, meta.llama3-…
_BEDROCK = re.compile(r"(?:[a-z]+\.)?(?:anthropic|meta|mistral|deepseek|qwen|openai|google|moonshot)\.(?=[a-z])")
# claude-3-5-sonnet-20241022, claude-sonnet-4-20250514, claude-opus-4-1@20250805, claude-3.7-sonnet
_CLAUDE = re.compile(r"claude(?:-(?:opus|sonnet|haiku))?-(\d)(?:[-.](\d{1,2}))?(?!\d)|claude-(?:v[12]|instant)")

# A vocabulary is loaded at its first count, so holding every counter costs nothing.
_EXACT = {name: BpeCounter(name) for name in VOCABULARIES}
_COUNTERS: dict[str, TokenCounter] = {
    "approximate": APPROXIMATE,
    **_EXACT,
    **{
        name: EstimatedCounter(name, {_EXACT[base]: percent for base, percent in shares.items()})
        for name, shares in _ESTIMATES.items()
    },
}

KNOWN_MODELS: tuple[str, ...] = tuple(
    dict.fromkeys([*_COUNTERS, *(prefix for prefix in _BY_PREFIX if not prefix.endswith("."))])
)
"""Vocabularies and estimates, then the names that models' names begin with."""


def tokens_for(model: str) -> TokenCounter:
    """The counter for a model or vocabulary; one object for each vocabulary.

    >>> tokens_for("gpt-4o-mini").name, tokens_for("meta-llama/Llama-3.1-8B-Instruct").name
    ('o200k_base', 'llama3')
    >>> tokens_for("claude-sonnet-4-5").exact
    False
    >>> tokens_for("gpt-4p")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    brimful.errors.UnknownModelError: no vocabulary is known for model 'gpt-4p'; did you mean 'gpt-4', ...
    """
    return _COUNTERS[_vocabulary(model)]


def _vocabulary(model: str) -> str:
    plain = model.strip().lower()
    if plain in _COUNTERS:
        return plain
    plain = plain.rpartition("/")[2].removeprefix("ft:")
    provider, _, model_name = plain.partition(":")
    for name in dict.fromkeys((plain, model_name if provider in _PROVIDERS else plain)):
        bare = _BEDROCK.sub("", name, count=1) if _BEDROCK.match(name) else name
        if _is(bare, "claude"):
            return _claude(bare)
        if _is(bare, "gemini"):
            return "gemini"
        prefix = max((stem for stem in (*_BY_PREFIX, *_NOT_HERE) if _is(bare, stem)), key=len, default="")
        if prefix in _NOT_HERE:
            raise _unknown(model, plain, reason=_NOT_HERE[prefix])
        if prefix:
            return _BY_PREFIX[prefix]
    raise _unknown(model, model_name if provider in _PROVIDERS else plain)


def _is(name: str, prefix: str) -> bool:
    following = name[len(prefix) : len(prefix) + 1]
    return name.startswith(prefix) and (prefix.endswith(".") or following in ("", "-", ":", "@"))


def _claude(name: str) -> str:
    """A larger tokenizer came with Opus 4.7; a version that can't be read is taken for a new one.

    >>> _claude("claude-opus-4-1@20250805"), _claude("claude-opus-4-7"), _claude("claude-opus")
    ('claude-legacy', 'claude', 'claude')
    """
    version = _CLAUDE.match(name)
    if version is None:
        return "claude"
    major, minor = version.groups(default="0")
    return "claude-legacy" if (int(major), int(minor)) <= _LAST_LEGACY_CLAUDE else "claude"


def _unknown(model: str, plain: str, *, reason: str = "") -> UnknownModelError:
    why = f" ({reason})" if reason else ""
    return UnknownModelError(
        f"no vocabulary is known for model {model!r}{why}; {suggest(plain, KNOWN_MODELS)}"
        "give a vocabulary (o200k_base, llama3, …) if you know which it uses, or bring your own count: "
        f"brimful.text.tokens.counting({model!r}, function)"
    )
