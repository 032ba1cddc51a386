import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.densify import Failure, classify
from brimful.densify.failures import ran_out_of_room

# As providers word them in their documentation and in public reports, one a line, with the class each belongs to.
LINES = (Path(__file__).parent / "provider_messages.jsonl").read_text("utf-8").splitlines()
MESSAGES = [tuple(json.loads(line)[key] for key in ("class", "provider", "status", "body")) for line in LINES]
IDS = [f"{want}-{provider}" for want, provider, _, _ in MESSAGES]
OVERFLOWS = [
    body for want, _, status, body in MESSAGES if (want, status) == ("overflow", 400) and isinstance(body, dict)
]
CLASSES = set(get_args(Failure))

SEED_PHRASES = [
    "context window",
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "input token count (70000) exceeds the maximum (32000)",
]
SEED_VETOES = ["tokens per minute", "rpm", "quota"]


@pytest.mark.parametrize(("want", "provider", "status", "body"), MESSAGES, ids=IDS)
def test_a_failure_is_known_by_its_words(want, provider, status, body):
    """Each provider's own wording falls into its class, with no rule that names a provider."""
    assert classify(status, body) == want


@pytest.mark.parametrize(("want", "provider", "status", "body"), MESSAGES, ids=IDS)
def test_the_wrapping_does_not_matter(want, provider, status, body):
    """The same body as parsed JSON, as text and as bytes is the same failure."""
    if isinstance(body, dict) and status != 200:
        assert classify(status, json.dumps(body)) == want
        assert classify(status, json.dumps(body).encode()) == want
        assert classify(status, [body]) == want


@pytest.mark.parametrize("phrase", SEED_PHRASES)
@pytest.mark.parametrize("status", [400, None, 500, 200])
@pytest.mark.seed("DENS detection", "the phrases of an overflow", where="densify/failures.py", ruling=15)
def test_the_seeds_phrases_are_overflows(phrase, status):
    """Each of the five phrases of DENS is an overflow, whatever the status says."""
    assert classify(status, {"error": {"message": f"Request failed: {phrase}."}}) == "overflow"


@pytest.mark.parametrize("phrase", SEED_PHRASES)
@pytest.mark.parametrize("veto", SEED_VETOES)
@pytest.mark.parametrize("status", [400, 429, None, 200])
@pytest.mark.seed("DENS detection", "a rate limit is not an overflow", where="densify/failures.py", ruling=15)
def test_the_seeds_vetoes_hold(phrase, veto, status):
    """Words of a rate limit veto every phrase of an overflow, in any status."""
    assert classify(status, {"error": f"{phrase}: limit 30000 {veto}"}) in {"wait", "quota"}


@pytest.mark.parametrize("body", OVERFLOWS, ids=str)
def test_an_overflow_inside_a_stream_is_an_overflow(body):
    """A provider that answers 200 and puts the error into an event says the same."""
    inner = body.get("error", body)
    events = f"event: error\ndata: {json.dumps({'error': inner})}\n\n"
    assert classify(200, {"error": inner}) == "overflow"
    assert classify(200, events) == "overflow"


@pytest.mark.parametrize(
    ("status", "want"), [(401, "auth"), (403, "auth"), (402, "quota"), (429, "wait"), (503, "wait")]
)
def test_a_status_alone_is_enough(status, want):
    """With no body at all the status decides."""
    assert classify(status, None) == classify(status, "") == classify(status, {}) == want


@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError("timed out"), BrokenPipeError("x")])
def test_an_exception_is_a_body_too(error):
    """What a connection raised is a failure to reach the provider."""
    assert classify(None, error) == "unavailable"


def test_an_answer_that_talks_about_limits_is_an_answer():
    """What the model wrote is no error, whatever words it uses."""
    text = "maximum context length exceeded, insufficient quota, invalid api key"
    for body in (
        {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]},
        {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "type": "message"},
        {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]},
    ):
        assert classify(200, body) == "unknown"


def test_an_answer_without_a_word_for_lack_of_room_is_an_overflow():
    """`length` with nothing written means that the prompt took all the room; with thoughts it does not."""
    for body in (
        {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]},
        {"type": "message", "content": [], "stop_reason": "max_tokens", "usage": {"output_tokens": 0}},
        {"done": True, "done_reason": "length", "response": ""},
    ):
        assert ran_out_of_room(body)
        assert classify(200, body) == "overflow"
    thought = {"choices": [{"finish_reason": "length", "message": {"content": "", "reasoning_content": "hm"}}]}
    assert not ran_out_of_room(thought)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(SEED_PHRASES + SEED_VETOES),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "status", "choices", "x"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(status=st.none() | st.integers(-1, 700), body=JSON)
def test_nothing_makes_it_raise(status, body):
    """Any JSON under any status gets one of the seven classes."""
    assert classify(status, body) in CLASSES


@given(body=st.binary() | st.text() | st.from_regex(r"\A\{.*\}\Z"))
def test_no_bytes_make_it_raise(body):
    """Nor does any text, broken JSON or bytes that are no text."""
    assert classify(400, body) in CLASSES


@given(status=st.none() | st.integers(100, 600), veto=st.sampled_from(SEED_VETOES), body=st.sampled_from(OVERFLOWS))
def test_a_rate_never_teaches_a_limit(status, veto, body):
    """No status turns an overflow with words of a rate limit into an overflow again."""
    message = json.dumps(body)
    assert classify(status, {"error": {"message": f"{message} ({veto})"}}) != "overflow"
