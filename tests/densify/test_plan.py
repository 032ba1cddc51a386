from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, SettingError, tokens_for
from brimful.densify.plan import (
    SEED,
    Allowances,
    Slicer,
    allowances,
    check_input,
    groups_of,
    halved,
    halved_merge,
    missing,
    overhead,
    prompt,
)
from brimful.errors import InputTooLongError
from brimful.settings import DensifySettings
from brimful.text.spans import Span, merge_spans

COUNTER = tokens_for("o200k_base")
ROUGH = tokens_for("approximate")
PARAGRAPH = "The pump failed at noon. Ada restarted it by hand. It held until four, then the seal broke again.\n\n"


@pytest.mark.seed("DENS budgets", "320, 1,800, 2,000, 100,000 and 64,000", where="densify/plan.py", ruling=15)
def test_seed_constants():
    """The seed profile has DENS's numbers: 64,000 in, 100,000 and 1,800 to start, merges of 2,000, floor 320."""
    assert SEED.attempts == 2
    remote = allowances(None, COUNTER, SEED, small=False)
    apple = allowances(4_096, COUNTER, SEED, small=True)
    assert (remote.part, remote.merge) == (100_000, 2_000)
    assert (apple.part, apple.merge) == (1_800, 1_800)
    at, seen = remote, []
    while (after := halved(at, at.part, SEED)) is not None:
        at = after
        seen.append((at.part, at.merge))
    assert [part for part, _ in seen] == [50_000, 25_000, 12_500, 6_250, 3_125, 1_562, 781, 390, 320]
    assert [merge for _, merge in seen] == [2_000] * 5 + [1_562, 781, 390, 320]


@pytest.mark.seed("DENS design", "allowances from the context limit", where="densify/plan.py", ruling=15)
def test_an_allowance_is_what_the_limit_leaves():
    """Limit = overhead + text + reserve + margin + the provider's wrapping, to the token."""
    found = allowances(8_000, COUNTER, DensifySettings(), small=False)
    assert found.output == found.reserve == 960
    assert found.part == 8_000 - overhead(COUNTER, "part") - 960 - 160 - 16
    assert found.merge == 8_000 - overhead(COUNTER, "merge") - 960 - 160 - 16


def test_an_estimate_gets_a_wider_margin():
    """Where tokens are only estimated, more of the limit is kept free."""
    exact = allowances(8_000, COUNTER, DensifySettings(), small=False)
    rough = allowances(8_000, ROUGH, DensifySettings(), small=False)
    assert rough.part + overhead(ROUGH, "part") < exact.part + overhead(COUNTER, "part")


def test_a_limit_without_room_for_text_is_refused():
    """A limit that prompt and output eat up is an error that names it."""
    with pytest.raises(SettingError, match="a context limit of 150 tokens leaves no room"):
        allowances(150, COUNTER, DensifySettings(), small=False)


@pytest.mark.seed("DENS flow 2", "above 64,000 tokens refused early", where="densify/plan.py", ruling=15)
def test_a_long_input_is_refused_with_the_counts():
    """Above the input limit nothing is sent, and both numbers are named."""
    check_input(64_000, SEED)
    with pytest.raises(InputTooLongError, match="64001 tokens and the input limit is 64000"):
        check_input(64_001, SEED)
    check_input(10**9, DensifySettings())


def test_a_merge_is_halved_alone():
    """A merge overflow leaves the parts' allowance as it is, and ends where two partials are all there was."""
    now = Allowances(50_000, 2_000, 512, 512)
    assert halved_merge(now, 1_999, pair=900) == Allowances(50_000, 1_000, 512, 512)
    assert halved_merge(now, 1_999, pair=1_300) == Allowances(50_000, 1_300, 512, 512)
    assert halved_merge(now, 1_300, pair=1_300) is None


@pytest.mark.seed("DENS chunks 2", "the prompt says what to keep", where="densify/prompts")
def test_prompts_say_what_to_keep():
    """The prompts name what DENS keeps and the number of words, and put nothing into the text."""
    for task in ("part", "merge"):
        text = prompt(task, "{{text}} {{words}}", words=77)
        for word in ("fact", "intent", "action", "outcome", "constraint", "error", "77 words", "{{text}} {{words}}"):
            assert word in text
        assert text.count("77") == 1


def test_parts_end_at_paragraphs_where_that_costs_nothing():
    """With room to spare a part ends where a paragraph ends."""
    text = PARAGRAPH * 40
    slicer = Slicer(Document("a.txt", text), COUNTER)
    parts = slicer.cut([Span(0, len(text))], slicer.tokens // 3)
    assert all(slicer.text(part).endswith("\n\n") for part in parts)


def test_a_long_word_is_cut_between_code_points():
    """Text without any boundary is cut between code points, and nothing is lost."""
    text = "漢字" * 400
    slicer = Slicer(Document("a.txt", text), COUNTER)
    parts = slicer.cut([Span(0, len(text.encode()))], 100)
    assert "".join(map(slicer.text, parts)) == text
    assert max(map(slicer.count, parts)) <= 100


@given(
    text=st.lists(st.sampled_from(["word ", "Sentence ends. ", "\n\n", "漢字", "x" * 50, "\r\n", "é"]), max_size=80),
    allowance=st.integers(1, 60),
)
@pytest.mark.seed("DENS chunks 1", "a text is split by token estimates", where="densify/plan.py")
def test_parts_hold_every_byte_once(text, allowance):
    """Parts are in order, disjoint, within the allowance (save a lone character), and leave out only blank space."""
    whole = "".join(text)
    document = Document("a.txt", whole)
    slicer = Slicer(document, COUNTER)
    parts = slicer.cut([Span(0, len(document))] if whole else [], allowance)
    assert all(slicer.count(part) <= allowance or len(slicer.text(part)) == 1 for part in parts)
    assert all(one.end <= two.start for one, two in pairwise(parts))
    gaps = missing([Span(part.start, part.end) for part in parts], len(document))
    assert not any(slicer.text(gap).strip() for gap in gaps)


@given(paragraphs=st.integers(1, 60), allowance=st.integers(60, 400))
def test_hardly_a_part_more_than_needed(paragraphs, allowance):
    """Natural boundaries cost at most one part in eight beyond what the tokens need."""
    text = PARAGRAPH * paragraphs
    slicer = Slicer(Document("a.txt", text), COUNTER)
    parts = slicer.cut([Span(0, len(text))], allowance)
    needed = -(-slicer.tokens // allowance)
    assert len(parts) <= needed + 1 + needed // 8


@given(sizes=st.lists(st.integers(1, 50), max_size=30), allowance=st.integers(1, 100), between=st.integers(0, 5))
def test_groups_hold_every_partial_once(sizes, allowance, between):
    """Groups are neighbours, in order, and fit unless they are single."""
    groups = groups_of(sizes, allowance, between=between)
    assert [at for group in groups for at in group] == list(range(len(sizes)))
    for group in groups:
        total = sum(sizes[at] for at in group) + between * (len(group) - 1)
        assert len(group) == 1 or total <= allowance


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=8))
def test_merged_and_missing_are_complements(ends):
    """Every byte is either in a merged span or in a missing one."""
    spans = [Span(low, high) for low, high in ends]
    inside = {at for span in merge_spans(spans) for at in range(span.start, span.end)}
    outside = {at for span in missing(spans, 40) for at in range(span.start, span.end)}
    assert inside == {at for span in spans for at in range(span.start, span.end)}
    assert inside | outside == set(range(40))
    assert not inside & outside
