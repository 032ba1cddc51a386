import json
import logging
import sys
import types

import pytest

from brimful.densify import Model, model_for
from brimful.densify.densify import densify
from brimful.densify.extractive import ExtractiveModel
from brimful.densify.models import _OPENAI
from brimful.densify.wording import learn, limit_in
from brimful.errors import (
    AuthError,
    BrimfulError,
    ChoiceError,
    ContextLimitError,
    MissingPartError,
    RateLimitError,
    SettingError,
    UnavailableError,
)
from brimful.testing import Fault, ScriptedProvider
from brimful.transport import Stop
from tests.densify.test_classify import MESSAGES
from tests.densify.test_densify import story

SECRET = "sk-live-0123456789abcdef"
FAMILIES = {
    "openai:gpt-4o": ("OPENAI_BASE_URL", "", "OPENAI_API_KEY", "authorization"),
    "openai:o3": ("OPENAI_BASE_URL", "", "OPENAI_API_KEY", "authorization"),
    "groq:llama-3.1-8b-instant": ("GROQ_BASE_URL", "", "GROQ_API_KEY", "authorization"),
    "anthropic:claude-sonnet-4-5": ("ANTHROPIC_BASE_URL", "/v1", "ANTHROPIC_API_KEY", "x-api-key"),
    "gemini:gemini-2.5-flash": ("GEMINI_BASE_URL", "", "GEMINI_API_KEY", "x-goog-api-key"),
}


@pytest.fixture(params=FAMILIES)
def family(request, monkeypatch):
    """A name, with a provider that speaks its dialect and a key in the environment."""
    address, drop, key, header = FAMILIES[request.param]
    with ScriptedProvider(limit=4_000) as provider:
        monkeypatch.setenv(address, provider.url.removesuffix(drop) if drop else provider.url)
        monkeypatch.setenv(key, SECRET)
        yield request.param, provider, header, key


def test_every_family_condenses(family):
    """OpenAI's, Anthropic's and Gemini's dialects are spoken both ways, and the key goes into its header only."""
    name, provider, header, _ = family
    model = model_for(name, limit=4_000)
    assert isinstance(model, Model)
    digest = densify(story(3), model)
    assert digest.text == "Visitor0 reached gate 0 at noon."
    assert digest.model == name
    (call,) = provider.calls
    assert SECRET in call.headers[header]
    assert [key for key, value in call.headers.items() if SECRET in value] == [header]


def test_every_family_reports_what_it_counted(family):
    """The provider's own count is read in every dialect."""
    name, provider, _, _ = family
    answer = model_for(name).complete("Tea at four.", max_output_tokens=50, stop=Stop())
    assert answer.input_tokens == provider.calls[0].tokens
    assert answer.output_tokens is not None


def test_a_key_is_needed_and_named(family, monkeypatch):
    """Without a key nothing is sent, and the message names the variable."""
    name, provider, _, key = family
    monkeypatch.delenv(key)
    with pytest.raises(AuthError, match=key):
        densify(story(3), model_for(name, limit=4_000))
    assert provider.calls == []


def test_secrets_are_in_no_error_log_or_repr(family, caplog, tmp_path):
    """A provider that echoes the key does not bring it into an error, a log, a repr or the memory."""
    name, _, _, _ = family
    echo = {"error": {"message": f"Incorrect API key provided: {SECRET}. {SECRET[:12]}***", "key": SECRET}}
    caplog.set_level(logging.DEBUG)
    with ScriptedProvider(every=Fault.status(400, echo)) as provider:
        model = model_for(name, limit=4_000)
        model.endpoint = provider.url
        with pytest.raises(BrimfulError) as caught:
            densify(story(3), model, memory=tmp_path / "m.db")
    for shown in (
        str(caught.value),
        repr(caught.value),
        repr(vars(caught.value)),
        repr(model),
        caplog.text,
        model.name,
    ):
        assert SECRET not in shown
        assert SECRET[:12] not in shown
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_key_is_not_sent_in_the_clear(monkeypatch):
    """A key goes over plain HTTP to this machine only."""
    monkeypatch.setenv("BRIMFUL_API_KEY", SECRET)
    with pytest.raises(SettingError, match="not encrypted"):
        densify(story(3), model_for("http://203.0.113.9/v1#x", limit=4_000))


def test_a_key_with_a_newline_is_not_shown(monkeypatch):
    """A key that can't be sent is not quoted."""
    monkeypatch.setenv("BRIMFUL_API_KEY", f"{SECRET}\nx")
    with ScriptedProvider() as provider, pytest.raises(SettingError) as caught:
        densify(story(3), provider.model())
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_keyring_is_asked_when_the_environment_has_no_key(monkeypatch):
    """An installed keyring may hold the key."""
    ring = types.ModuleType("keyring")
    ring.get_password = lambda service, name: SECRET if (service, name) == ("brimful", "OPENAI_API_KEY") else None
    ring.__spec__ = types.SimpleNamespace(name="keyring")
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedProvider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        densify(story(3), model_for("openai:gpt-4o", limit=4_000))
    assert provider.calls[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("opnai:gpt-4o", ChoiceError, "did you mean 'openai'"),
        ("gpt-4o", ChoiceError, "unknown provider"),
        ("http://localhost:8080/v1", SettingError, "#name"),
        ("http://me:secret@localhost/v1#x", SettingError, "no password"),
        ("azure:mine", SettingError, "AZURE_OPENAI_BASE_URL"),
        ("openai:", SettingError, "which model"),
    ],
)
def test_names_that_mean_nothing(name, error, message):
    """A name that means no model is an error with the remedy, and shows no password."""
    with pytest.raises(error, match=message) as caught:
        model_for(name)
    assert "secret" not in str(caught.value)


def test_apple_elsewhere_is_a_clear_error(monkeypatch):
    """On another system `apple:` says so; nothing is imported before it is used."""
    monkeypatch.setattr("platform.system", lambda: "Linux")
    model = model_for("apple:")
    assert model.small
    assert model.limit() == 4_096
    with pytest.raises(MissingPartError, match="macOS"):
        densify(story(3), model)


def test_apple_through_its_package(monkeypatch):
    """On a Mac the package's session answers, its errors are classified, and a long text starts in parts."""
    asked = []

    class Session:
        async def respond(self, prompt: str) -> str:
            asked.append(prompt)
            if len(prompt) > 9_000:
                raise RuntimeError("Context window size exceeded: ...")
            return "Tea."

    sdk = types.ModuleType("apple_fm_sdk")
    sdk.LanguageModelSession = Session
    sdk.__spec__ = types.SimpleNamespace(name="apple_fm_sdk")
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setitem(sys.modules, "apple_fm_sdk", sdk)
    digest = densify(story(150), model_for("apple:"))
    assert digest.parts > 1
    assert digest.is_complete
    with pytest.raises(ContextLimitError, match="Context window"):
        model_for("apple:").complete("x" * 9_001, max_output_tokens=9, stop=Stop())


def test_a_model_with_an_unknown_vocabulary_is_estimated_by_name():
    """A local model's tokens are estimated, and the digest says so."""
    with ScriptedProvider() as provider:
        digest = densify(story(3), model_for(f"{provider.url}#tiny", limit=4_000))
    assert digest.counter == "unknown-vocabulary"
    assert not digest.exact


def test_errors_in_a_stream_are_errors():
    """Status 200 with an error event raises what the event means."""
    for body, kind in (
        ({"message": "maximum context length is 100 tokens", "code": 400}, ContextLimitError),
        ({"type": "overloaded_error", "message": "Overloaded"}, RateLimitError),
        ("Provider disconnected", UnavailableError),
    ):
        with ScriptedProvider(every=Fault("in_stream", body=body)) as provider, pytest.raises(kind):
            provider.model().complete("Tea.", max_output_tokens=9, stop=Stop())


def test_the_models_endpoint_is_asked_once():
    """However often the limit is needed, the server hears of it once."""
    with ScriptedProvider(limit=900, tells_limit=True) as provider:
        model = provider.model()
        assert model.limit() == model.limit() == 900
    assert model.limit() == 900


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ({"data": [{"id": "m", "context_length": 8_192}, {"id": "n", "context_length": 1_024}]}, 8_192),
        ({"data": [{"id": "m", "max_model_len": 4_096}]}, 4_096),
        ({"data": [{"id": "m", "context_window": 131_072}]}, 131_072),
        ({"data": [{"id": "other", "meta": {"n_ctx": 2_048, "n_ctx_train": 131_072}}]}, 2_048),
        ({"default_generation_settings": {"n_ctx": 1_024}}, 1_024),
        ({"name": "models/m", "inputTokenLimit": 1_048_576}, 1_048_576),
        ({"id": "m", "max_input_tokens": 200_000}, 200_000),
        ({"data": [{"id": "m", "loaded_context_length": 4_096, "max_context_length": 131_072}]}, 4_096),
        ({"data": [{"id": "m"}]}, None),
        ({"data": "what"}, None),
        ("<html>", None),
        ({"data": [{"id": "m", "context_length": True}]}, None),
    ],
)
def test_what_models_endpoints_tell(body, limit):
    """Each server's own name for the limit is understood; what is loaded counts, not what could be."""
    assert limit_in(body, "m") == limit


def test_limits_named_in_errors():
    """The number that an overflow names is the limit, not the size of the request."""
    wanted = {
        "anthropic": 200_000, "gemini": 1_048_575, "vertex": 1_048_576, "xai": 131_072, "openrouter": 400_000,
        "copilot": 64_000, "kimi": 262_144, "mistral": 32_768, "cerebras": 8_192, "together-tgi": 4_096,
        "fireworks": 131_071, "cohere": 4_081, "dashscope": 30_720, "deepinfra": 32_768, "watsonx": 4_096,
        "databricks": 131_072, "vllm": 4_096, "vllm-decoder": 8_192, "vllm-output": 8_192, "sglang": 4_096,
        "tensorrt": 4_096, "lmstudio": 4_096, "tabby": 4_096, "ollama": None, "minimax": None, "bedrock": None,
    }  # fmt: skip
    overflows = {provider: body for want, provider, _, body in MESSAGES if want == "overflow"}
    assert {provider: learn(overflows[provider], 10**9) for provider in wanted} == wanted


def test_a_provider_that_counts_more_is_believed():
    """Where the provider counted more tokens than we did, its limit is turned into ours."""
    fields = {"error": {"message": "too long", "n_prompt_tokens": 3_000, "n_ctx": 1_024}}
    assert learn(fields, 2_000) == 682
    assert learn(fields, 3_500) == 1_024
    assert learn({"error": {"n_ctx": 1_024}}, 2_000) == 1_024


def test_the_extractive_model_answers_prompts_too():
    """It is a model like any other, for whoever wants one."""
    model = model_for("extractive:")
    assert isinstance(model, ExtractiveModel)
    assert isinstance(model, Model)
    assert model.complete("<text>\nTea at four.\n</text>", max_output_tokens=9, stop=Stop()).text == "Tea at four."


def test_reasoning_models_are_asked_in_their_own_way():
    """Models that think get no temperature and another name for the most tokens."""
    plain = json.dumps(_OPENAI.payload("gpt-4o", "x", 9))
    thinking = json.dumps(_OPENAI.payload("o3", "x", 9))
    assert '"max_tokens": 9' in plain
    assert '"max_completion_tokens": 9' in thinking
    assert "temperature" not in thinking
