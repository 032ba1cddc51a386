"""Model names lead to the vocabulary that the model really uses, or to an error."""

import pytest

from brimful.errors import ChoiceError, UnknownModelError
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import VOCABULARIES, tokens_for


@pytest.mark.parametrize("name", [*VOCABULARIES, "approximate", "claude", "claude-legacy", "gemini"])
def test_a_vocabulary_answers_to_its_own_name(name: str) -> None:
    """The name of a vocabulary or an estimate is a model name too, in any case."""
    assert tokens_for(name).name == name
    assert tokens_for(name.upper()) is tokens_for(name)
    assert isinstance(tokens_for(name), TokenCounter)


@pytest.mark.parametrize(
    ("vocabulary", "models"),
    [
        ("o200k_base", "gpt-4o gpt-4o-2024-11-20 GPT-4o-mini chatgpt-4o-latest gpt-4.1-nano gpt-4.5-preview gpt-5"),
        ("o200k_base", "gpt-5-mini gpt-5.1 gpt-5.2-codex o1 o1-preview o3-mini o4-mini gpt-oss-120b gpt-oss:20b"),
        ("o200k_base", "openai:gpt-4o openai/gpt-4o azure/gpt-4o openrouter/openai/gpt-4o-mini"),
        ("o200k_base", "ft:gpt-4o-2024-08-06:acme::abc123 openai.gpt-oss-20b-1:0"),
        ("cl100k_base", "gpt-4 gpt-4-0613 gpt-4-turbo gpt-4-32k gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-35-turbo-16k"),
        ("cl100k_base", "text-embedding-3-small text-embedding-ada-002 davinci-002 ft:gpt-3.5-turbo-0613:acme"),
        ("llama3", "llama3 llama3.1:8b llama3.2 llama-3.3-70b-versatile meta-llama/Llama-3.1-8B-Instruct"),
        ("llama3", "meta-llama/Meta-Llama-3-8B meta-llama/Meta-Llama-3.1-70B ollama:llama3.1:8b"),
        ("llama3", "meta.llama3-1-70b-instruct-v1:0 us.meta.llama3-3-70b-instruct-v1:0"),
        ("llama3", "accounts/fireworks/models/llama-v3p1-8b-instruct deepseek-ai/DeepSeek-R1-Distill-Llama-70B"),
        ("llama2", "llama2:13b meta-llama/Llama-2-7b-chat-hf TinyLlama/TinyLlama-1.1B-Chat-v1.0"),
        ("codellama", "codellama:7b codellama/CodeLlama-13b-hf"),
        ("qwen3", "Qwen/Qwen3-8B qwen2.5-coder:7b Qwen/Qwen2-VL-7B-Instruct Qwen/QwQ-32B Qwen/Qwen1.5-7B qwen3:4b"),
        ("qwen3", "Qwen/Qwen-7B-Chat deepseek-r1:7b deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
        ("deepseek_v3", "deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-V3.2-Exp deepseek-chat deepseek:deepseek-chat"),
        ("deepseek_v3", "deepseek/deepseek-r1 deepseek-r1:671b deepseek-ai/DeepSeek-V4-Flash"),
        ("mistral_v1", "mistralai/Mistral-7B-v0.1 mistral:7b mistralai/Mixtral-8x7B-Instruct-v0.1"),
        ("mistral_v1", "mistral.mistral-7b-instruct-v0:2 mixtral:8x7b"),
        ("mistral_v2", "mistralai/Mistral-7B-Instruct-v0.3 mistral-large-2407 codestral-2405 pixtral-large-2411"),
        ("mistral_v3", "mistralai/Mistral-Nemo-Instruct-2407 open-mistral-nemo pixtral-12b-2409 mistral-nemo:12b"),
        ("mistral_v3", "mistralai/Mistral-Small-24B-Instruct-2501 mistralai/Mistral-Small-3.2-24B-Instruct-2506"),
        ("gemma2", "google/gemma-2-9b-it gemma2:27b google/gemma-7b gemma-2b codegemma:7b"),
        ("gemma3", "google/gemma-3-4b-it gemma3:27b gemma3n:e4b google/embeddinggemma-300m"),
        ("gemma4", "google/gemma-4-E4B-it gemma4:26b"),
        ("glm4", "THUDM/glm-4-9b-chat zai-org/GLM-4.5-Air glm-4.6"),
        ("kimi_k2", "moonshotai/Kimi-K2-Instruct kimi-k2.5"),
        ("phi4", "microsoft/phi-4 phi4:14b microsoft/Phi-4-reasoning-plus"),
        ("olmo2", "allenai/OLMo-2-1124-7B-Instruct olmo2:13b"),
        ("claude-legacy", "claude-3-5-sonnet-20241022 claude-3-opus-latest claude-sonnet-4-20250514 claude-2.1"),
        ("claude-legacy", "claude-opus-4-1@20250805 claude-haiku-4-5 claude-opus-4-6 anthropic/claude-3.7-sonnet"),
        ("claude-legacy", "us.anthropic.claude-sonnet-4-5-20250929-v1:0 anthropic:claude-sonnet-4-6"),
        ("claude", "claude claude-opus-4-7 claude-sonnet-5 claude-opus-4-10 anthropic/claude-opus-4.8 claude-opus"),
        ("gemini", "gemini-2.5-pro google/gemini-3-flash-preview models/gemini-2.0-flash google-gla:gemini-2.5-pro"),
    ],
)
def test_a_model_has_the_vocabulary_of_its_family(vocabulary: str, models: str) -> None:
    """Versions, sizes, providers, fine-tunes and capitals do not hide the family."""
    assert {model: tokens_for(model).name for model in models.split()} == dict.fromkeys(models.split(), vocabulary)


@pytest.mark.parametrize(
    "model",
    [
        *("gpt-6", "gpt-4x", "gpt2", "gpt-2", "text-davinci-003", "davinci", "o2", "o30", ""),
        *("llama4:scout", "meta-llama/Llama-4-Scout-17B-16E", "llama3.4", "llama", "llama-guard-4-12b"),
        *("Qwen/Qwen3.5-27B", "qwen3.6:27b", "qwen-plus", "qwen-max-latest", "qwen"),
        *("deepseek-coder:6.7b", "deepseek-ai/DeepSeek-V2.5", "deepseek-r1:8b", "deepseek-v5"),
        *("mistral", "mistral-small-latest", "mistral-small-2409", "mistral-medium-3", "codestral-latest"),
        *("gemma", "gemma-5-9b", "glm-5", "kimi", "phi-4-mini-instruct", "phi4-mini", "phi-3", "olmo-3-7b"),
        *("command-r", "grok-4", "unheard-of/model", "nova-pro"),
    ],
)
def test_a_model_without_a_known_vocabulary_is_an_error(model: str) -> None:
    """A name that would need a guess is refused, with the way to bring one's own count."""
    with pytest.raises(UnknownModelError, match=r"counting\("):
        tokens_for(model)


def test_an_unknown_model_names_close_ones() -> None:
    """A slip of the keyboard is answered with the names that were probably meant."""
    with pytest.raises(UnknownModelError, match="did you mean 'gpt-4o'"):
        tokens_for("gtp-4o")
    with pytest.raises(ChoiceError, match="'mistral-nemo'"):
        tokens_for("mistral-nemmo")


def test_a_known_gap_says_why() -> None:
    """A family that is missing on purpose says so."""
    with pytest.raises(UnknownModelError, match="larger vocabulary"):
        tokens_for("Qwen/Qwen3.5-27B")
    with pytest.raises(UnknownModelError, match="a Llama and a Qwen"):
        tokens_for("deepseek-r1:8b")


def test_only_estimates_are_inexact() -> None:
    """Claude, Gemini and the approximation are estimates; every vocabulary is exact."""
    inexact = {"approximate", "claude", "claude-legacy", "gemini"}
    assert {name for name in [*VOCABULARIES, *inexact] if not tokens_for(name).exact} == inexact


def test_one_counter_per_vocabulary() -> None:
    """Two models of one family share a counter, so their measures add up."""
    assert tokens_for("gpt-4o") is tokens_for("o3-mini")
    assert (tokens_for("gpt-4o").measure("a b") + tokens_for("gpt-5").measure(" c")).tokens == 3
