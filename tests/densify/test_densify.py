import threading

import pytest

from brimful import Document, tokens_for
from brimful.densify.densify import densify
from brimful.densify.memory import Memory
from brimful.densify.plan import SEED
from brimful.errors import (
    CancelledError,
    ContextLimitError,
    DocumentError,
    ProviderError,
    RequestSizeError,
)
from brimful.settings import DensifySettings
from brimful.testing import Fault, ScriptedProvider, first_sentence

COUNTER = tokens_for("o200k_base")


def story(paragraphs: int) -> str:
    """So many paragraphs, each with a name of its own."""
    return "\n\n".join(
        f"Visitor{number} reached gate {number} at noon. The keeper wrote the hour down. "
        f"Nothing else of note happened there until the evening, when visitor{number} left by boat."
        for number in range(paragraphs)
    )


def long_reply(words: int):
    """A reply of so many words, the text's own first ones."""
    return lambda prompt: " ".join(first_sentence(prompt).split()[:4] + ["word"] * words) + "."


def test_a_text_that_fits_is_one_call():
    """Within the limit a text is condensed whole, in one request, and every sentence cites all of it."""
    with ScriptedProvider(limit=8_000) as provider:
        digest = densify(story(3), provider.model(limit=8_000))
    assert len(provider.calls) == digest.calls == 1
    assert (digest.parts, digest.passes, digest.joined, digest.overflows) == (1, 0, False, 0)
    assert digest.text == "Visitor0 reached gate 0 at noon."
    assert [(span.start, span.end) for span in digest.sentences[0].sources] == [(0, len(story(3)))]


def test_a_known_limit_never_overflows():
    """Where the limit is known, parts and merges fit at the first try."""
    with ScriptedProvider(limit=1_024) as provider:
        digest = densify(story(60), provider.model(limit=1_024))
    assert provider.overflows == digest.overflows == 0
    assert digest.parts > 1
    assert digest.is_complete
    assert digest.limit == 1_024


def test_the_provider_tells_its_limit():
    """A limit in the list of models is used before the first request."""
    with ScriptedProvider(limit=1_024, tells_limit=True) as provider:
        digest = densify(story(60), provider.model())
    assert digest.limit == 1_024
    assert provider.overflows == 0


@pytest.mark.seed("DENS entry", "others try the whole first", where="densify/densify.py", ruling=15)
def test_an_unknown_limit_is_learnt_from_one_overflow():
    """The first request holds everything; the error names the limit, and nothing overflows again."""
    with ScriptedProvider(limit=1_024) as provider:
        digest = densify(story(60), provider.model())
    assert provider.overflows == digest.overflows == 1
    assert provider.calls[0].text == story(60)
    assert digest.limit == 1_024
    assert digest.is_complete


@pytest.mark.seed("DENS example", "three parts, one merge", where="densify/densify.py")
def test_seed_example_of_three_parts():
    """DENS, example: the whole overflows, half of 100,000 does too, three parts pass, one merge joins the three."""
    text = story(1_500)
    assert 50_000 < COUNTER.count(text) < 64_000
    settings = DensifySettings(profile="seed", parallel=1)
    with ScriptedProvider(limit=30_000, names_limit=False) as provider:
        digest = densify(text, provider.model(), settings=settings)
    assert [call.status for call in provider.calls] == [400, 400, 200, 200, 200, 200]
    assert provider.calls[0].text == text
    assert 49_000 < COUNTER.count(provider.calls[1].text) <= 50_000
    parts = provider.calls[2:5]
    assert "\n\n".join(call.text for call in parts) == text
    assert max(COUNTER.count(call.text) for call in parts) <= 25_000
    assert [call.is_merge for call in provider.calls] == [False] * 5 + [True]
    assert (digest.parts, digest.passes, digest.calls, digest.overflows) == (3, 1, 6, 2)


@pytest.mark.seed("DENS chunks 3", "partials are merged in groups, pass by pass", where="densify/run.py")
def test_seed_example_in_groups(monkeypatch):
    """DENS, example: when all partials do not fit together, they merge as groups, then in another pass."""
    monkeypatch.setattr("brimful.densify.plan.FLOOR_TOKENS", 64)
    with ScriptedProvider(limit=700, reply=long_reply(60)) as provider:
        digest = densify(story(160), provider.model(limit=700))
    merges = [call for call in provider.answered if call.is_merge]
    assert digest.passes >= 2
    assert len(merges) > digest.passes
    assert not digest.joined
    assert digest.is_complete


@pytest.mark.seed("DENS entry", "a small model starts in parts", where="densify/densify.py", ruling=15)
def test_a_small_model_starts_in_parts():
    """DENS, Apple: no request with the whole text; parts of at most 1,800 tokens in the seed profile."""
    with ScriptedProvider(limit=4_096) as provider:
        model = provider.model()
        model.small = True
        digest = densify(story(120), model, settings=SEED)
    parts = [call for call in provider.calls if not call.is_merge]
    assert provider.overflows == 0
    assert digest.parts == len(parts) > 1
    assert max(COUNTER.count(call.text) for call in parts) <= 1_800


@pytest.mark.seed("DENS retry", "halve on overflow, down to 320", where="densify/densify.py", ruling=15)
def test_halving_ends_at_the_floor():
    """Allowances halve from below the text down to 320; a part of 320 that overflows is the end."""
    text = story(40)
    with ScriptedProvider(limit=200, names_limit=False) as provider, pytest.raises(ContextLimitError, match="320"):
        densify(text, provider.model(), settings=DensifySettings(parallel=1))
    sizes = [COUNTER.count(call.text) for call in provider.calls]
    tokens = COUNTER.count(text)
    expected = [size for size in (tokens, 1_562, 781, 390, 320) if size <= tokens]
    assert len(sizes) == len(expected)
    assert all(size <= most for size, most in zip(sizes, expected, strict=True))


def test_an_overflow_in_mid_run_keeps_what_is_finished():
    """Only the part that overflowed and the ones not sent yet are cut anew; finished ones are not asked again."""
    text = story(200)
    fault = Fault.status(400, {"error": {"message": "Context size has been exceeded."}})
    with ScriptedProvider(limit=1_200, faults={3: fault}) as provider:
        digest = densify(text, provider.model(limit=1_200), settings=DensifySettings(parallel=1))
    parts = [call.text for call in provider.answered if not call.is_merge]
    assert len(parts) == len(set(parts)) == digest.parts
    assert sorted(parts, key=text.index) == parts
    assert "\n\n".join(parts) == text
    assert digest.overflows == 1
    failed = provider.calls[2].text
    assert all(COUNTER.count(part) <= COUNTER.count(failed) // 2 + 1 for part in parts[2:])


@pytest.mark.seed("DENS merge overflow", "recovered by regrouping, partials kept", where="densify/run.py", ruling=15)
def test_a_merge_overflow_is_recovered_locally():
    """After a merge overflows, its partials are regrouped; no part is condensed again."""
    text = story(60)
    fault = Fault.status(400, {"error": {"message": "Context size has been exceeded."}})
    with ScriptedProvider(limit=1_000, reply=long_reply(40)) as provider:
        parts = densify(text, provider.model(limit=1_000)).parts
    assert parts >= 3
    with ScriptedProvider(limit=1_000, reply=long_reply(40), faults={parts + 1: fault}) as provider:
        digest = densify(text, provider.model(limit=1_000), settings=DensifySettings(parallel=1))
    part_calls = [call for call in provider.calls if not call.is_merge]
    assert len(part_calls) == digest.parts == parts
    assert digest.overflows == 1
    assert len(digest.sentences) >= 1
    assert digest.is_complete


def test_merges_that_fail_at_their_smallest_lead_to_smaller_parts():
    """When not even two partials merge, the part allowance is halved; the text is still condensed completely."""
    text = story(60)
    over = Fault.status(400, {"error": {"message": "Context size has been exceeded."}})
    settings = DensifySettings(parallel=1)
    with ScriptedProvider(limit=1_200) as provider:
        parts = densify(text, provider.model(limit=1_200), settings=settings).parts
    faults = {parts + number: over for number in range(1, parts)}
    with ScriptedProvider(limit=1_200, faults=faults) as provider:
        digest = densify(text, provider.model(limit=1_200), settings=settings)
    assert digest.parts > parts
    assert not digest.joined
    assert digest.is_complete


def test_partials_that_can_not_be_merged_are_joined():
    """When nothing can be merged at all, everything that was condensed is given, marked as joined."""
    text = story(60)
    over = Fault.status(400, {"error": {"message": "Context size has been exceeded."}})
    settings = DensifySettings(parallel=1)
    with ScriptedProvider(limit=1_200) as provider:
        provider.fault = lambda number: over if provider.merging else None
        provider.merging = False
        model = provider.model(limit=1_200)
        complete = model.complete

        def watched(prompt, **rest):
            provider.merging = prompt.startswith("The notes")
            return complete(prompt, **rest)

        model.complete = watched
        digest = densify(text, model, settings=settings)
    assert digest.joined
    assert digest.is_complete
    assert digest.text.count("\n\n") == digest.parts - 1


@pytest.mark.seed("DENS chunks 4", "merges that make no fewer end in joining", where="densify/run.py", ruling=15)
def test_the_guard_joins_what_no_merge_makes_fewer(monkeypatch):
    """DENS, guard: when every group has one partial, they are joined, marked, and no merge is called."""
    monkeypatch.setattr("brimful.densify.plan._MERGE_CEILING_TOKENS", 320)
    monkeypatch.setattr("brimful.densify.plan._SMALL_PART_TOKENS", 400)
    with ScriptedProvider(limit=None, reply=long_reply(300)) as provider:
        settings = DensifySettings(profile="seed")
        model = provider.model()
        model.small = True
        digest = densify(story(30), model, settings=settings)
    assert digest.joined
    assert digest.passes == 0
    assert not any(call.is_merge for call in provider.calls)
    assert digest.text.count("\n\n") == digest.parts - 1


def test_passes_are_bounded(monkeypatch):
    """A model whose merges never get shorter ends at the pass limit, joined."""
    with ScriptedProvider(limit=None, reply=long_reply(200)) as provider:
        monkeypatch.setattr("brimful.densify.run._MOST_PASSES", 1)
        digest = densify(story(80), provider.model(limit=1_000))
    assert digest.passes == 1
    assert digest.joined


@pytest.mark.seed("DENS entry", "other failures are returned at once", where="densify/run.py", ruling=28)
def test_unknown_errors_never_split():
    """A failure of unknown meaning is tried once more with the text in one piece, never in parts."""
    bad = Fault.status(400, {"error": {"message": "Unsupported value: 'temperature'"}})
    with ScriptedProvider(every=bad) as provider, pytest.raises(ProviderError, match="temperature"):
        densify(story(40), provider.model(), sleep=lambda seconds: None)
    assert [call.text for call in provider.calls] == [story(40)] * 2


def test_a_rate_limit_never_counts_as_an_overflow():
    """A rate limit with an overflow's words in it is waited for, not split for."""
    message = "Rate limit: maximum context length of 100 tokens per minute"
    with ScriptedProvider(faults={1: Fault.status(429, {"error": {"message": message}})}) as provider:
        digest = densify(story(10), provider.model(), sleep=lambda seconds: None)
    assert (digest.parts, digest.retries, digest.overflows) == (1, 1, 0)


def test_a_request_that_is_too_large_is_split_and_teaches_no_limit(tmp_path):
    """`shrink` cuts the request in parts, and leaves no limit behind."""
    large = Fault.status(413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}})
    with ScriptedProvider(faults={1: large}) as provider, Memory(tmp_path / "memory.db") as memory:
        model = provider.model()
        digest = densify(story(40), model, memory=memory)
        assert digest.parts > 1
        assert digest.overflows == 0
        assert memory.limit(model.endpoint, model.name, "named") is None
        assert memory.limit(model.endpoint, model.name, "overflowed") is None
    with ScriptedProvider(every=large) as provider, pytest.raises(RequestSizeError):
        densify(story(40), provider.model())


def test_silent_truncation_is_an_overflow():
    """A provider that reports far fewer tokens than were sent has cut the text: smaller parts are sent."""
    with ScriptedProvider(faults={1: Fault("silent_truncation")}) as provider:
        digest = densify(story(40), provider.model())
    assert digest.overflows == 1
    assert digest.parts > 1
    assert digest.is_complete


def test_no_output_for_lack_of_room_is_an_overflow():
    """`length` with nothing written is an overflow too."""
    with ScriptedProvider(faults={1: Fault("no_output")}) as provider:
        digest = densify(story(40), provider.model())
    assert digest.overflows == 1
    assert digest.parts > 1


def test_citations_follow_the_merges():
    """Each sentence of a merged digest cites the part that the words came from."""
    text = story(60)

    def reply(prompt: str) -> str:
        if prompt.startswith("The notes"):
            found = [word for word in prompt.split() if word.startswith("Visitor")]
            return " ".join(f"{word} was seen." for word in found)
        return first_sentence(prompt)

    with ScriptedProvider(limit=1_000, reply=reply) as provider:
        digest = densify(text, provider.model(limit=1_000))
    assert digest.passes >= 1
    assert len(digest.sentences) == digest.parts
    for cited in digest.sentences:
        visitor = cited.text.split()[0]
        (span,) = cited.sources
        assert f"{visitor} reached" in text.encode()[span.start : span.end].decode()
        assert len(span) < len(text)
    assert [(span.start, span.end) for span in digest.covered] == [(0, len(text.encode()))]


def test_a_gap_is_named():
    """With `allow_gaps` a part that is refused becomes a gap with its reason; without it the run fails."""
    text = story(60)
    with ScriptedProvider(limit=1_000, faults={2: Fault("refusal")}) as provider:
        settings = DensifySettings(allow_gaps=True, parallel=1)
        digest = densify(text, provider.model(limit=1_000), settings=settings)
    (gap,) = digest.gaps
    assert "declined" in gap.reason
    assert not digest.is_complete
    lost = text.encode()[gap.span.start : gap.span.end].decode()
    assert lost.strip() == provider.calls[1].text
    held = sum(len(span) for span in digest.covered)
    assert held + len(gap.span) == len(text.encode())


def test_progress_counts_up():
    """The callback hears of every stage, and the last report of each is complete."""
    seen = []
    with ScriptedProvider(limit=1_000) as provider:
        digest = densify(story(60), provider.model(limit=1_000), progress=seen.append)
    stages = [report.stage for report in seen]
    assert stages == sorted(stages, reverse=True)
    last = [report for report in seen if report.stage == "parts"][-1]
    assert last.done == last.total == digest.parts
    assert seen[-1].calls == digest.calls


@pytest.mark.seed("DENS chunks 2", "parallel calls are bounded", where="densify/calls.py")
def test_parallelism_is_bounded_across_runs():
    """Two runs at once never have more calls under way at one endpoint than its bound."""
    slow = threading.Event()

    def reply(prompt: str) -> str:
        slow.wait(0.02)
        return first_sentence(prompt)

    with ScriptedProvider(limit=800, reply=reply) as provider:
        settings = DensifySettings(parallel=2)
        texts = [story(40), story(40).replace("Visitor", "Guest")]
        runs = [
            threading.Thread(target=densify, args=(text, provider.model(limit=800)), kwargs={"settings": settings})
            for text in texts
        ]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
    assert len(provider.calls) >= 8
    assert provider.most_at_once == 2


def test_cancelling_ends_calls_under_way(tmp_path):
    """The event ends a run whose provider hangs; what was finished is there for the next run."""
    cancel = threading.Event()
    with ScriptedProvider(limit=1_000, faults={3: Fault("hang")}) as provider:
        model = provider.model(limit=1_000)
        stop_at = threading.Timer(0.5, cancel.set)
        stop_at.start()
        with pytest.raises(CancelledError, match="stopped"):
            densify(story(60), model, memory=tmp_path / "m.db", cancel=cancel, settings=DensifySettings(parallel=1))
        first = [call.text for call in provider.answered]
        assert len(first) == 2
        provider.released.set()
        digest = densify(story(60), model, memory=tmp_path / "m.db")
    assert digest.remembered == 2
    texts = [call.text for call in provider.answered]
    assert len(texts) == len(set(texts))


def test_a_deadline_ends_the_run():
    """The run's own clock decides when its time is up."""
    now = iter(range(0, 10_000, 5))
    with ScriptedProvider(every=Fault("hang")) as provider, pytest.raises(CancelledError, match="deadline of 20"):
        densify(
            story(4), provider.model(), settings=DensifySettings(deadline_seconds=20), clock=lambda: float(next(now))
        )


def test_a_second_run_pays_nothing(tmp_path):
    """With a memory, the same text, model and settings need no call at all."""
    with ScriptedProvider(limit=1_000) as provider:
        model = provider.model(limit=1_000)
        once = densify(story(60), model, memory=tmp_path / "m.db")
        calls = len(provider.calls)
        again = densify(story(60), model, memory=tmp_path / "m.db")
        assert len(provider.calls) == calls
    assert again.text == once.text
    assert again.sentences == once.sentences
    assert again.calls == 0


def test_a_limit_is_learnt_once(tmp_path):
    """A limit that an error named, or an overflow that named none, is not paid for by the next run."""
    for names in (True, False):
        with ScriptedProvider(limit=1_000, names_limit=names) as provider:
            path = tmp_path / f"{names}.db"
            densify(story(60), provider.model(), memory=path)
            before = provider.overflows
            assert before >= 1
            densify(story(61).replace("noon", "dawn"), provider.model(), memory=path)
            assert provider.overflows == before


def test_content_is_remembered_wherever_it_stands(tmp_path):
    """A part of another document with the same content is not asked for again."""
    with ScriptedProvider(limit=8_000) as provider:
        model = provider.model(limit=8_000)
        densify(Document("a.txt", story(5)), model, memory=tmp_path / "m.db")
        digest = densify(Document("b.txt", story(5)), model, memory=tmp_path / "m.db")
        assert len(provider.calls) == 1
    assert digest.remembered == 1


def test_partials_within_the_target_are_not_merged():
    """When the partials together are as short as asked, no merge is paid for."""
    with ScriptedProvider(limit=1_000) as provider:
        settings = DensifySettings(target_tokens=400)
        digest = densify(story(60), provider.model(limit=1_000), settings=settings)
    assert digest.joined
    assert digest.tokens <= 400
    assert digest.calls == digest.parts


def test_nothing_to_condense_is_an_error():
    """A blank text is refused, not sent."""
    with pytest.raises(DocumentError, match="nothing to condense"):
        densify(" \n ")
