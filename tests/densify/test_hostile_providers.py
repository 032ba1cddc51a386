"""A provider that means no good, or is broken: nothing hangs, nothing is paid twice, nothing ends in a traceback."""

import json
import subprocess
import sys
import threading
import time

import pytest

from brimful.densify.calls import Caller, Completion
from brimful.densify.densify import densify
from brimful.densify.models import model_for
from brimful.densify.wording import shown
from brimful.errors import CancelledError, ProviderError, RateLimitError, UnavailableError
from brimful.limits import PATIENCE_SECONDS
from brimful.settings import DensifySettings
from brimful.testing import Fault, ScriptedProvider, unanswered_address
from brimful.transport import Stop, Timeouts
from tests.densify.test_densify import story

DRIPS = {
    "a body without a length": Fault("drip", body="data: x\n\n"),
    "headers without an end": Fault("drip", body="X-Tea: four\r\n", headers={"inside": "headers"}),
    "provisional answers without an end": Fault(
        "drip", body="HTTP/1.1 100 Continue\r\n\r\n", headers={"inside": "100"}
    ),
}
NUMBERS = [
    ({}, {"error": {"message": f"Rate limit reached. Please try again in {'9' * 5_000}m5s."}}),
    ({}, {"error": {"message": f"Rate limit reached. Please try again in {'9' * 5_000}s."}}),
    ({"Retry-After": "9" * 400}, None),
    ({"retry-after-ms": "9" * 4_000}, None),
    ({"Retry-After": f"Wed, 21 Oct {'9' * 30} 07:28:00 GMT"}, None),
    ({"Retry-After": "Mon, 01 Jan 0001 00:00:00 -0000"}, None),
    ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, None),
]


@pytest.mark.parametrize("fault", DRIPS.values(), ids=DRIPS)
def test_a_deadline_reaches_an_answer_that_drips(fault):
    """A provider that always sends one byte more is left at the deadline, and no thread stays behind."""
    before = threading.active_count()
    with ScriptedProvider(every=fault) as provider:
        with pytest.raises(CancelledError, match="deadline"):
            densify(story(4), provider.model(limit=8_000), settings=DensifySettings(deadline_seconds=1))
        assert not [each for each in threading.enumerate() if each.name.startswith("brimful-densify")]
    assert threading.active_count() <= before + 8  # the fake's own threads end by themselves


@pytest.mark.parametrize("fault", DRIPS.values(), ids=DRIPS)
def test_cancelling_reaches_an_answer_that_drips(fault):
    """Who sets `cancel` gets the run's end, whatever the provider sends meanwhile."""
    cancel = threading.Event()
    with ScriptedProvider(every=fault) as provider:
        threading.Timer(0.2, cancel.set).start()
        with pytest.raises(CancelledError):
            densify(story(4), provider.model(limit=8_000), cancel=cancel)


def test_an_answer_has_an_end():
    """Without a deadline too: a whole answer may take `answer_seconds`, however it drips."""
    with ScriptedProvider(every=DRIPS["a body without a length"]) as provider:
        model = provider.model(limit=8_000, timeouts=Timeouts(answer_seconds=0.3))
        with pytest.raises(UnavailableError, match=r"0\.3 s"):
            densify(story(4), model, sleep=lambda seconds: None)
    assert len(provider.calls) == 2


def test_a_limit_that_drips_is_not_waited_for():
    """The question for the limit has a short time of its own; then the table counts, or nothing."""
    with ScriptedProvider(drips_limit=True) as provider:
        digest = densify(story(4), provider.model(timeouts=Timeouts(limit_seconds=0.2)))
    assert (digest.calls, digest.limit) == (1, None)


def test_cancelling_does_not_wait_for_a_limit():
    """A run that is cancelled while the provider keeps its limit to itself ends at once, without a call."""
    cancel = threading.Event()
    with ScriptedProvider(drips_limit=True) as provider:
        threading.Timer(0.2, cancel.set).start()
        with pytest.raises(CancelledError):
            densify(story(4), provider.model(timeouts=Timeouts(limit_seconds=30)), cancel=cancel)
    assert provider.calls == []


def test_a_connection_that_is_never_taken_can_be_cancelled():
    """The wish to end reaches a socket that is not connected yet."""
    cancel = threading.Event()
    with unanswered_address() as address:
        threading.Timer(0.2, cancel.set).start()
        model = model_for(f"{address}#x", limit=8_000, timeouts=Timeouts(connect_seconds=300))
        with pytest.raises(CancelledError):
            densify(story(4), model, cancel=cancel)


def test_ctrl_c_ends_an_answer_that_drips():
    """The process ends by the signal, within moments."""
    code = (
        "import sys\nfrom brimful.densify.densify import densify\nfrom brimful.densify.models import model_for\n"
        "print('asking', flush=True)\n"
        "densify('Tea is at four. ' * 50, model_for(sys.argv[1], limit=8000), progress=print)\n"
    )
    with ScriptedProvider(every=DRIPS["a body without a length"]) as provider:
        command = [sys.executable, "-c", code, f"{provider.url}#scripted"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            while not provider.calls:
                time.sleep(0.01)
            process.send_signal(2)
            _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err


@pytest.mark.parametrize(("headers", "body"), NUMBERS)
def test_a_wait_beyond_all_measure_is_a_rate_limit(headers, body):
    """Whatever number stands there, the error is the provider's wish for patience, in seconds that can be told."""
    fault = Fault.status(429, body, headers=headers)
    with ScriptedProvider(every=fault) as provider, pytest.raises(RateLimitError) as caught:
        densify(story(4), provider.model(limit=8_000), sleep=lambda seconds: None)
    assert caught.value.wait_seconds is None or 0 <= caught.value.wait_seconds <= PATIENCE_SECONDS


def test_half_a_character_is_remembered(tmp_path):
    """An answer with half of a surrogate pair is kept with a mark in its place, so a second run pays nothing."""
    with ScriptedProvider(reply=lambda prompt: "Tea \ud800 at four \ud83c\udf75.") as provider:
        first, second = (
            densify(story(4), provider.model(limit=8_000), memory=tmp_path / "memory.db") for _ in range(2)
        )
    assert first.text == second.text == "Tea � at four 🍵."
    assert (len(provider.calls), second.calls) == (1, 0)


@pytest.mark.parametrize("count", [-1, 0, 1, 99, True, 10**30, "many", None, 1.5, [], -(10**30)])
def test_a_count_that_can_not_be_is_no_overflow(count):
    """What a provider says it counted is believed only where a model could have read so much."""
    with ScriptedProvider(every=Fault("count", body=count)) as provider:
        digest = densify(story(40), provider.model(limit=8_000))
    assert (len(provider.calls), digest.calls, digest.overflows) == (1, 1, 0)


def test_counts_of_any_model_are_checked():
    """A model of one's own may answer nonsense too: half a character, a count below nothing."""

    class Odd:
        name = endpoint = "odd:"
        small = False

        def __init__(self, provider):
            self.counter = provider.counter

        def limit(self):
            return None

        def count(self, text):
            return self.counter.count(text)

        def complete(self, prompt, *, max_output_tokens, stop):
            return Completion("Tea \udfff.", input_tokens=-7, output_tokens=-9)

    with ScriptedProvider() as provider:
        caller = Caller(Odd(provider), DensifySettings(), Stop(), lambda seconds: None)
        answer = caller.ask("tea " * 500, max_output_tokens=9)
    assert answer == "Tea �."
    assert caller.paid["tokens_received"] > 0


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        "[" * 3_000 + "]" * 3_000,
        '{"error":' * 3_000 + "1" + "}" * 3_000,
        "<" * 400_000,
        '"\\ud800"',
        json.dumps({"error": {"message": "\ud800 tea"}}),
        "9" * 10_000,
        json.dumps({"error": {"code": 10**4_000, "message": "x" * 100_000}}),
    ],
    ids=["open", "deep", "deep objects", "tags", "half", "half in a message", "digits", "long"],
)
def test_any_body_of_an_error_can_be_shown(body):
    """However deep, long or broken: one error of the provider's, whose words can be printed."""
    with ScriptedProvider(every=Fault.status(500, body)) as provider, pytest.raises(ProviderError) as caught:
        densify(story(4), provider.model(limit=8_000), sleep=lambda seconds: None)
    assert len(str(caught.value).encode()) < 2_000


def test_words_to_show_are_one_line_of_whole_characters():
    """What a terminal gets of a provider's message."""
    assert shown({"error": {"message": "a\n\ud800<b>c"}}, None) == "a � c"
