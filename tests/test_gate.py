"""Every way into a store passes the same gate for credentials."""

import asyncio

import pytest

import brimful
from brimful import Document
from brimful.async_engine import open_async
from brimful.errors import SecretError

KEY = "key = AKIA" + "Q7ZK2VW9RT4LX8BN"


@pytest.fixture
def engine(tmp_path):
    """An empty engine."""
    with brimful.open(tmp_path / "store.db") as made:
        yield made


@pytest.mark.parametrize(("path", "text"), [("notes.md", KEY), ("deploy/.env", "A=1"), (".aws/config", "region = x")])
def test_a_text_is_refused_as_a_file_would_be(engine, path, text):
    """By what it holds, by its name and by its folder; the message names the kind, not the credential."""
    with pytest.raises(SecretError) as refused:
        engine.add_text(path, text)
    assert "allow=('secret',)" in str(refused.value)
    assert KEY[6:] not in str(refused.value)
    assert engine.length(path) is None
    engine.add_text(path, text, allow=("secret",))
    assert engine.length(path) == len(text)


def test_one_credential_refuses_a_whole_list(engine):
    """Documents that are given together are stored together or not at all."""
    with pytest.raises(SecretError):
        engine.add_documents([Document("tea.md", "Tea at four."), Document("notes.md", KEY)])
    assert engine.length("tea.md") is None


def test_a_capture_is_refused_before_it_is_written_down(engine):
    """Neither the original nor a digest of a credential is kept, and no model sees it."""
    with pytest.raises(SecretError):
        engine.capture(f"Tea at four. {KEY}", name="tea")
    assert engine.captures() == []
    assert engine.capture(f"Tea at four. {KEY}", name="tea", allow=("secret",)).status == "done"


def test_the_asynchronous_engine_has_the_same_gate(tmp_path):
    """Awaited or not, the answer is the same."""

    async def ask():
        async with open_async(tmp_path / "store.db") as engine:
            with pytest.raises(SecretError):
                await engine.add_text("notes.md", KEY)
            await engine.add_text("notes.md", KEY, allow=("secret",))

    asyncio.run(ask())
