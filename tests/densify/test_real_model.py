from pathlib import Path

import pytest

from brimful.densify import Stop, model_for
from brimful.densify.densify import densify
from brimful.errors import ContextLimitError
from brimful.settings import DensifySettings
from brimful.transport import Timeouts
from tests.densify.smollm2 import smollm2

LIMIT = 1_024
PATIENT = Timeouts(idle_seconds=600)
TEXT = "\n\n".join(
    (Path(__file__).parents[2] / name).read_text("utf-8")
    for name in ("docs/internals/store.md", "docs/internals/windows.md", "docs/pack.md")
)[:16_000]
SHORT = DensifySettings(target_tokens=48, parallel=1)


@pytest.fixture(scope="module")
def address():
    """A server with a limit of 1,024 tokens."""
    with smollm2(LIMIT) as found:
        yield found


def test_the_server_tells_its_limit(address):
    """llama.cpp's list of models names the limit that it runs with, not the one that the model was made for."""
    assert model_for(f"{address}#smollm2").limit() == LIMIT


def test_a_genuine_overflow_is_one(address):
    """What llama.cpp itself says about a prompt that is too long is classified, and its count is not above ours."""
    model = model_for(f"{address}#smollm2", timeouts=PATIENT)
    with pytest.raises(ContextLimitError, match="exceeds the available context size") as caught:
        model.complete(TEXT, max_output_tokens=16, stop=Stop())
    said = caught.value.body["error"]
    assert said["n_ctx"] == LIMIT
    assert LIMIT < said["n_prompt_tokens"] <= model.count(TEXT)


def test_a_text_several_times_the_limit_is_condensed(address, tmp_path):
    """Told a wrong limit, a run overflows once, learns the true one and covers the whole; the next costs nothing."""
    model = model_for(f"{address}#smollm2", limit=8_192, timeouts=PATIENT)
    assert model.count(TEXT) > 3 * LIMIT
    digest = densify(TEXT, model, settings=SHORT, memory=tmp_path / "m.db")
    assert digest.overflows == 1
    assert LIMIT * 3 // 4 <= digest.limit <= LIMIT
    assert digest.parts >= 4
    assert digest.is_complete
    assert [(span.start, span.end) for span in digest.covered] == [(0, len(TEXT.encode()))]
    assert digest.text
    assert all(cited.sources for cited in digest.sentences)
    again = densify(TEXT, model, settings=SHORT, memory=tmp_path / "m.db")
    assert (again.calls, again.text) == (0, digest.text)
