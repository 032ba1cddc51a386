import pytest

from brimful.densify import densify, model_for
from brimful.errors import SettingError
from brimful.testing import ScriptedProvider
from tests.densify.test_densify import story


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    """HTTP_PROXY serves a provider elsewhere, and NO_PROXY takes one out."""
    with ScriptedProvider() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        model = model_for("http://model.invalid/v1#scripted", limit=8_000)
        assert densify(story(3), model).calls == len(proxy.calls) == 1
        monkeypatch.setenv("NO_PROXY", "model.invalid")
        with pytest.raises(Exception, match="did not answer"):
            densify(story(3), model, sleep=lambda seconds: None)
    assert proxy.calls[0].headers["host"] == "model.invalid"


def test_this_machine_is_asked_without_a_proxy(monkeypatch):
    """What goes to a server on loopback, a key with it, leaves the machine for no proxy."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("BRIMFUL_API_KEY", "sk-0123456789")
    with ScriptedProvider() as provider:
        assert densify(story(3), provider.model(limit=8_000)).calls == 1


@pytest.mark.parametrize(("name", "value"), [("ALL_PROXY", "ftp://proxy"), ("SSL_CERT_FILE", "/nowhere.pem")])
def test_an_environment_that_can_not_be_used_is_named(name, value, monkeypatch):
    """A proxy of an unknown kind or a missing file of certificates is the user's to mend."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError, match=name):
        densify(story(3), model_for("HTTPS://model.invalid/v1#scripted", limit=8_000))
