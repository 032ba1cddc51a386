import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful import tokens_for
from brimful.densify import DensifySettings, Memory, densify, fit_digest
from brimful.errors import BudgetError, CancelledError, ContextLimitError, RateLimitError, UnavailableError
from brimful.testing import FakeModel
from tests.densify.test_densify import story

SENTENCES = st.lists(
    st.sampled_from(
        [
            "The pump failed at noon. ",
            "Ada restarted it by hand, twice, before the seal broke. ",
            "It held until four.\n\n",
            "def restart(pump): return pump.seal()\n",
            "漢字の文です。",
            "x" * 90 + " ",
            "\r\n",
        ]
    ),
    min_size=1,
    max_size=120,
)


class Flaky:
    """Fails at the numbered calls, in the numbered way."""

    def __init__(self, faults: dict[int, int]) -> None:
        self.faults = faults

    def __call__(self, number: int) -> None:
        """Raise what is scripted for this call."""
        kind = self.faults.get(number)
        if kind is not None:
            raise (
                RateLimitError("slow down", status=429),
                UnavailableError("gone", status=502),
                ContextLimitError("too long", status=400, body="context size has been exceeded"),
            )[kind]


@given(
    pieces=SENTENCES,
    limit=st.integers(500, 1_500),
    told=st.booleans(),
    faults=st.dictionaries(st.integers(1, 12), st.integers(0, 2), max_size=4),
)
@settings(max_examples=150, deadline=None)
def test_whatever_happens_every_word_is_condensed_once(pieces, limit, told, faults):
    """Any text, limit and passing faults: full coverage, no answer twice; only a merge wrongly refused is retried."""
    text = "".join(pieces)
    model = FakeModel(limit=limit, stated_limit=limit if told else None, fails=Flaky(faults))
    if not text.strip():
        return
    choice = {"settings": DensifySettings(parallel=2, attempts=6), "sleep": lambda seconds: None}
    with Memory() as memory:
        try:
            digest = densify(text, model, **choice, memory=memory)
        except ContextLimitError:
            if told and 2 not in faults.values():
                raise
            return  # a limit that was not told, or an overflow that was none, may leave no way to go on
        assert digest.is_complete
        assert [(span.start, span.end) for span in digest.covered] == [(0, len(text.encode()))]
        assert digest.calls == model.calls
        assert all(cited.sources for cited in digest.sentences)
        again = densify(text, model, **choice, memory=memory)
        assert again.is_complete
        if 2 not in map(faults.get, range(1, digest.calls + 1)):
            assert (again.text, model.calls) == (digest.text, digest.calls)
    assert len(model.answered) == len(set(model.answered))


@given(stop_at=st.integers(1, 14), second=st.integers(1, 14))
@settings(max_examples=40, deadline=None)
def test_a_run_may_be_stopped_anywhere(stop_at, second):
    """Stopped after any call, and again after any other, the third run asks only for what is missing."""
    asked: list[str] = []
    with Memory() as memory:
        for most in (stop_at, second, None):
            cancel = threading.Event()

            def fails(number: int, most: int | None = most, cancel: threading.Event = cancel) -> None:
                if most is not None and number >= most:
                    cancel.set()

            model = FakeModel(limit=900, stated_limit=900, fails=fails)
            choice = DensifySettings(parallel=1)
            try:
                digest = densify(story(60), model, settings=choice, memory=memory, cancel=cancel)
            except CancelledError:
                digest = None
            asked += model.answered
        assert digest is not None
        assert digest.is_complete
    # A call that was under way when the run was stopped is answered to no one, and asked again.
    assert len(asked) - len(set(asked)) <= 2


@given(tokens=st.integers(1, 80))
@settings(max_examples=40, deadline=None)
def test_a_digest_fits_to_the_token(tokens):
    """Cut to any size a digest is never over it, and its sentences keep their places."""
    counter = tokens_for("o200k_base")
    model = FakeModel(
        stated_limit=900, reply=lambda prompt: "Ada sealed the pump. " * 3 + f"Noon {len(prompt)} passed. The end came."
    )
    digest = densify(story(40), model)
    short = fit_digest(digest, tokens, counter=counter)
    assert counter.count(short.text) == short.tokens <= tokens
    known = {cited.sources for cited in digest.sentences}
    assert all(cited.sources in known for cited in short.sentences)
    assert short.covered == digest.covered


def test_a_digest_of_nothing_is_refused():
    """No digest has no tokens."""
    with pytest.raises(BudgetError, match="0 tokens"):
        fit_digest(densify("Tea at four, cake at five."), 0, counter=tokens_for("o200k_base"))
