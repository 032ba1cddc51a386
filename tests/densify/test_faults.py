import signal
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from brimful.densify.calls import bound_parallel
from brimful.densify.densify import densify
from brimful.densify.models import model_for
from brimful.errors import AuthError, ProviderError, RateLimitError, SettingError, UnavailableError
from brimful.settings import DensifySettings
from brimful.testing import Fault, ScriptedProvider, unanswered_address
from brimful.transport import Timeouts
from tests.densify.test_densify import story

SHORT = Timeouts(connect_seconds=2, idle_seconds=0.3)
PASSING = {
    "429 with Retry-After": Fault.status(429, {"error": "slow"}, headers={"Retry-After": "7"}),
    "429 without": Fault.status(429),
    "500": Fault.status(500, {"error": {"message": "The server had an error", "type": "server_error"}}),
    "502": Fault.status(502, "<html><h1>502 Bad Gateway</h1></html>"),
    "503": Fault.status(503, {"error": {"message": "overloaded"}}),
    "529": Fault.status(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "hang": Fault("hang"),
    "hang in the stream": Fault("hang_in_stream"),
    "reset": Fault("reset"),
    "truncated JSON": Fault("truncated"),
    "HTML": Fault("html"),
    "empty": Fault("empty"),
    "schema": Fault("schema"),
    "stream cut off": Fault("cut_stream"),
    "of unknown meaning": Fault.status(400, {"error": {"message": "temperature is not supported"}}),
    "overloaded in the stream": Fault("in_stream", body={"type": "overloaded_error", "message": "Overloaded"}),
}


LASTING = {
    "key": Fault.status(401),
    "money": Fault.status(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}),
    "model": Fault.status(404, {"error": {"message": "no such model"}}),
    "wait": Fault.status(429, {"error": {"message": "Rate limit reached"}}, headers={"retry-after": "3600"}),
    "refusal": Fault("refusal"),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
@pytest.mark.seed("DENS capture", "what may pass is tried once more", where="densify/calls.py", ruling=28)
def test_what_may_pass_is_tried_once_more(fault):
    """Ruling 28: a passing fault costs one more request, no part and no answer: 2 attempts in total."""
    waits = []
    with ScriptedProvider(faults={1: fault}) as provider:
        digest = densify(story(4), provider.model(timeouts=SHORT), sleep=waits.append)
    assert len(provider.calls) == digest.calls == 2
    assert (digest.retries, digest.parts, digest.overflows) == (1, 1, 0)
    assert waits == [7.0 if fault.headers else 1.0]


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_does_not_pass_is_bounded(fault):
    """A lasting fault ends after the second request, with an error of the right kind and the provider's name in it."""
    with ScriptedProvider(every=fault) as provider:
        model = provider.model(timeouts=SHORT)
        with pytest.raises(ProviderError, match=model.name):
            densify(story(4), model, sleep=lambda seconds: None)
    assert len(provider.calls) == 2


@pytest.mark.parametrize("fault", LASTING.values(), ids=LASTING)
@pytest.mark.seed("DENS capture", "what will not pass is tried once", where="densify/calls.py", ruling=28)
def test_what_will_not_pass_is_not_tried_again(fault):
    """Ruling 28: a key, money, a model that is not there, a refusal or a wait beyond the longest ends a run at once."""
    with ScriptedProvider(every=fault) as provider, pytest.raises(ProviderError):
        densify(story(4), provider.model(), sleep=lambda seconds: None)
    assert len(provider.calls) == 1


def test_waits_double_up_to_the_longest():
    """Without a word from the provider each wait is twice the one before, up to the longest."""
    waits = []
    settings = DensifySettings(attempts=8)
    with ScriptedProvider(every=Fault.status(503)) as provider, pytest.raises(RateLimitError):
        densify(story(4), provider.model(), settings=settings, sleep=waits.append)
    assert waits == [1, 2, 4, 8, 16, 32, 60]
    assert len(provider.calls) == 8


@pytest.mark.parametrize(
    ("headers", "body", "wanted"),
    [
        ({"Retry-After": "3"}, None, 3.0),
        ({"retry-after-ms": "250"}, None, 0.25),
        ({}, {"error": {"message": "Rate limit reached. Please try again in 644ms."}}, 0.644),
        ({}, {"error": {"message": "Rate limit reached. Please try again in 1m5.5s."}}, 65.5),
        (
            {},
            {"error": {"details": [{"retryDelay": "34s"}], "message": "Quota per minute. Please retry in 34.0s."}},
            34.0,
        ),
    ],
)
def test_the_providers_own_word_is_waited_for(headers, body, wanted, monkeypatch):
    """A header in seconds or milliseconds, or the message's own words, say how long."""
    waits = []
    monkeypatch.setattr("brimful.densify.calls._LONGEST_WAIT_SECONDS", 120)
    with ScriptedProvider(faults={1: Fault.status(429, body, headers=headers)}) as provider:
        densify(story(4), provider.model(), sleep=waits.append)
    assert waits == [wanted]


def test_a_date_is_waited_for():
    """Retry-After may be a date."""
    waits = []
    headers = {"Retry-After": formatdate(time.time() + 30, usegmt=True)}
    with ScriptedProvider(faults={1: Fault.status(429, headers=headers)}) as provider:
        densify(story(4), provider.model(), sleep=waits.append)
    assert 20 < waits[0] <= 30


def test_a_connection_that_is_never_taken_ends():
    """A server that does not accept connections is unavailable, after the time for connecting."""
    with unanswered_address() as address, pytest.raises(UnavailableError, match="did not answer"):
        densify(story(4), model_for(f"{address}#x", limit=8_000, timeouts=SHORT), sleep=lambda seconds: None)


def test_nobody_there_is_unavailable():
    """A refused connection is unavailable, and the message names the address."""
    with ScriptedProvider() as provider:
        address = provider.url
    with pytest.raises(UnavailableError, match=address):
        densify(story(4), model_for(f"{address}#x", limit=8_000, timeouts=SHORT), sleep=lambda seconds: None)


def test_a_failure_of_one_part_does_not_lose_the_others(tmp_path):
    """When a part fails for good, the parts under way are still received and remembered."""
    broken = Fault.status(401, {"error": {"message": "Incorrect API key provided"}})
    settings = DensifySettings(parallel=4)
    with ScriptedProvider(limit=1_000, faults={2: broken}) as provider:
        model = provider.model(limit=1_000)
        with pytest.raises(AuthError):
            densify(story(100), model, memory=tmp_path / "m.db", settings=settings)
        answered = {call.text for call in provider.answered}
        again = densify(story(100), model, memory=tmp_path / "m.db", settings=settings)
    assert again.remembered == len(answered) >= 1
    texts = [call.text for call in provider.answered]
    assert len(texts) == len(set(texts))


SCRIPT = """
import sys
from brimful.densify.densify import densify
from brimful.densify.models import model_for
from brimful.settings import DensifySettings
from brimful import tokens_for
sys.path.insert(0, sys.argv[4])
from tests.densify.test_densify import story
model = model_for(sys.argv[1] + "#scripted", limit=int(sys.argv[3]), counter=tokens_for("o200k_base"))
try:
    densify(story(200), model, memory=sys.argv[2], settings=DensifySettings(parallel=2))
except KeyboardInterrupt:
    sys.exit(77)
"""


def start(provider: ScriptedProvider, path, limit: int) -> subprocess.Popen:
    """A run in a process of its own."""
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen([sys.executable, "-c", SCRIPT, provider.url, path, str(limit), root])


@pytest.mark.parametrize("answers", [1, 4, 9])
def test_after_kill_9_no_finished_partial_is_requested_again(tmp_path, answers):
    """A process killed in the middle loses at most the calls under way; the next run asks only for what is missing."""
    text, path = story(200), tmp_path / "m.db"
    enough = threading.Event()

    def reply(prompt: str) -> str:
        if len(provider.answered) >= answers:
            enough.set()
            provider.released.wait(60)
        return f"{prompt[-60:-10].split(maxsplit=1)[0]} done."

    with ScriptedProvider(limit=1_000, reply=reply) as provider:
        process = start(provider, path, 1_000)
        assert enough.wait(60)
        time.sleep(0.2)  # the answers before this one are on the disk by now
        process.kill()
        process.wait()
        before = [call.text for call in provider.answered]
        provider.released.set()
        digest = densify(text, provider.model(limit=1_000), memory=path, settings=DensifySettings(parallel=2))
        after = [call.text for call in provider.answered[len(before) :]]
    # Those that were answered into a dead process are not known to be finished.
    finished = before[: max(answers - 1, 0)]
    assert not set(finished) & set(after)
    assert digest.remembered >= len(finished)
    assert digest.is_complete


def test_after_kill_9_and_an_overflow_parts_of_both_sizes_are_kept(tmp_path):
    """Partials from before a halving are taken up too, though no cut of today would make them."""
    over = Fault.status(400, {"error": {"message": "Context size has been exceeded."}})
    text, path = story(200), tmp_path / "m.db"
    settings = DensifySettings(parallel=1)
    fail = Fault.status(401)
    with ScriptedProvider(limit=1_600, faults={3: over, 6: fail}) as provider:
        model = provider.model(limit=1_600)
        with pytest.raises(AuthError):
            densify(text, model, memory=path, settings=settings)
        kept = [call.text for call in provider.answered]
        assert len({len(part) // 1_000 for part in kept}) > 1
        digest = densify(text, model, memory=path, settings=settings)
        texts = [call.text for call in provider.answered]
    assert len(texts) == len(set(texts))
    assert digest.remembered == len(kept)
    assert digest.is_complete


def test_ctrl_c_ends_calls_under_way(tmp_path):
    """An interrupt ends a run whose provider hangs, and what was finished is remembered."""
    path = tmp_path / "m.db"
    hung = threading.Event()

    def reply(prompt: str) -> str:
        if len(provider.answered) >= 3:
            hung.set()
            provider.released.wait(60)
        return "Done."

    with ScriptedProvider(limit=1_000, reply=reply) as provider:
        process = start(provider, path, 1_000)
        assert hung.wait(60)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 77
        provider.released.set()
        digest = densify(story(200), provider.model(limit=1_000), memory=path)
    assert digest.remembered >= 3


def test_the_bound_can_be_changed():
    """An endpoint's bound holds for runs that ask for more."""
    with ScriptedProvider(limit=800) as provider:
        bound_parallel(provider.url, 1)
        try:
            densify(story(100), provider.model(limit=800), settings=DensifySettings(parallel=8))
        finally:
            bound_parallel(provider.url, 64)  # another provider may get the same port
    assert provider.most_at_once == 1
    with pytest.raises(SettingError, match="0 calls"):
        bound_parallel("x", 0)
