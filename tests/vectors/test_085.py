"""085a and 085b: the seeds' arithmetic and worked examples."""

import pytest

from brimful import Document, Hit, WindowSettings, inflate
from brimful.text.spans import Span, merge_spans
from brimful.windows.policies import density, padding_for, radial

SETTINGS = WindowSettings()


class Plain(WindowSettings):
    """Windows by the specification's arithmetic alone."""

    refill = False


PLAIN = Plain(snap=False)


def page(length: int) -> Document:
    """A document of so many bytes."""
    return Document("page.txt", "x" * length)


@pytest.mark.parametrize(
    ("budget", "hits", "kept", "share"),
    [
        (1_000, 10, 6, 150),  # SQUEEZE: 10 x 150 > 1,000, so 1,000 // 150 hits at 150
        (1_500, 10, 10, 150),  # just fits
        (4_000, 10, 10, 400),  # EXPAND: shared equally
        (100_000, 10, 10, 2_500),  # the largest window
        (None, 10, 10, 2_500),  # static fallback
    ],
)
@pytest.mark.seed(
    "085a §3.1",
    "every result gets an equal share, down to 150 bytes; too many are squeezed",
    where="windows/policies.py",
    ruling=3,
)
def test_density_arithmetic(budget, hits, kept, share):
    """085a §3.1: quantity first, down to 150 bytes each, then equal shares up to 2,500."""
    size = density(budget, [10] * hits, settings=SETTINGS)
    assert (size.kept, size.share_bytes) == (kept, share)
    assert size.squeezed == (kept < hits)


@pytest.mark.parametrize(
    ("share", "hit", "padding"), [(150, 100, 50), (400, 100, 150), (2_500, 100, 500), (200, 0, 100)]
)
@pytest.mark.seed("085a §3.2", "padding between 50 and 500 bytes", where="windows/policies.py", ruling=3)
def test_padding(share, hit, padding):
    """085a §3.2 as ruled: (window - hit) / 2, clamped to 50..500."""
    assert padding_for(share, hit, settings=SETTINGS) == padding


@pytest.mark.parametrize(("gap", "windows"), [(499, 1), (500, 2)])
@pytest.mark.seed(
    "085a §2.1", "hits of one document nearer than 500 bytes share a window", where="windows/cutting.py", ruling=4
)
def test_merge_threshold(gap, windows):
    """085a §2.1: hits closer than 500 bytes share a window; at 500 they do not."""
    hits = [Hit("page.txt", 2_000, 2_100, 1.0), Hit("page.txt", 2_100 + gap, 2_200 + gap, 0.5)]
    assert len(inflate(hits, [page(10_000)], max_bytes=720, settings=PLAIN)) == windows


@pytest.mark.seed("085a §2.1", "no window above 2,500 bytes", where="windows/cutting.py", ruling=26)
def test_no_window_above_the_cap():
    """085a §2.1: whatever merges, no window exceeds 2,500 bytes, and every hit is still shown."""
    hits = [Hit("page.txt", at, at + 100, 1.0) for at in range(1_000, 9_000, 400)]
    found = inflate(hits, [page(20_000)], budget=100_000, settings=PLAIN)
    assert all(len(window.span) <= 2_500 for window in found)
    assert {hit for window in found for hit in window.hits} == set(hits)
    for hit in hits:
        assert any(window.start <= hit.start and hit.end <= window.end for window in found if hit in window.hits)


@pytest.mark.parametrize(("tokens", "radius"), [(2_000, 400), (10_000, 2_000), (20_000, 4_000)])
@pytest.mark.seed("085b §5.2", "the radius follows the budget: 400, 2,000 and 4,000 bytes", where="windows/policies.py")
def test_radius_table(tokens, radius):
    """085b §5.2: 4 bytes a token, 10 results expected."""
    assert radial(tokens, 10, settings=SETTINGS).radius_bytes == radius
    (window,) = inflate([Hit("page.txt", 50_000)], [page(100_000)], budget=tokens, sizing="radial", settings=PLAIN)
    assert (window.start, window.end) == (50_000 - radius, 50_000 + radius)


@pytest.mark.seed("085b §5.4", "overlapping radial windows become one", where="windows/cutting.py", ruling=4)
def test_overlap_merge():
    """085b §5.4: positions 1000 and 1400 with radius 500 give one window [500, 1900)."""
    assert merge_spans([Span(500, 1_500), Span(900, 1_900)]) == [Span(500, 1_900)]
    hits = [Hit("page.txt", 1_000), Hit("page.txt", 1_400)]
    (window,) = inflate(hits, [page(10_000)], budget=2_500, sizing="radial", settings=PLAIN)
    assert (window.start, window.end) == (500, 1_900)


@pytest.mark.seed("085b §5.4", "a merged window radiates on", where="windows/cutting.py", ruling=4)
def test_a_merge_radiates_on():
    """085b §5.4 "continue radiating": the 600 bytes that the merge saved widen the merged window."""
    hits = [Hit("page.txt", 1_000), Hit("page.txt", 1_400)]
    settings = WindowSettings(snap=False)
    (window,) = inflate(hits, [page(10_000)], budget=2_500, sizing="radial", settings=settings)
    assert (window.start, window.end) == (200, 2_200)


@pytest.mark.seed("085b §3", "the bytes between near hits are shown", where="windows/cutting.py", ruling=2)
def test_gap_is_filled():
    """085b §3: A [1000, 1200) and B [1250, 1400) become one window with the bytes [1200, 1250) between."""
    text = "a" * 1_200 + "<gap>" * 10 + "b" * 1_000
    hits = [Hit("page.txt", 1_000, 1_200, 1.0), Hit("page.txt", 1_250, 1_400, 1.0)]
    assert Span(1_000, 1_200).gap_to(Span(1_250, 1_400)) == Span(1_200, 1_250)
    (window,) = inflate(hits, [Document("page.txt", text)], max_bytes=1_000, settings=PLAIN)
    assert "<gap>" * 10 in window.text
    assert (window.start, window.end) == (window.core.start - 300, window.core.end + 300)
    assert window.core == Span(1_000, 1_400)


@pytest.mark.seed(
    "085a §2.1", "a merged window spans from the first start to the last end", where="windows/cutting.py", ruling=4
)
def test_a_contained_hit_never_shortens_its_container():
    """Ruling 4: max(end), not the last end."""
    hits = [Hit("page.txt", 1_000, 2_000, 1.0), Hit("page.txt", 1_100, 1_200, 0.5)]
    (window,) = inflate(hits, [page(5_000)], budget=2_000, settings=PLAIN)
    assert window.start <= 1_000
    assert window.end >= 2_000


@pytest.mark.parametrize("gap", [100, 200, 300, 499])
@pytest.mark.parametrize("snap", [True, False])
@pytest.mark.seed("085a §3.1", "count before size: merged gaps cost no hit its share", where="windows/cutting.py")
def test_merged_gaps_cost_no_hit(gap, snap):
    """085a §3.1: exactly 150 bytes for each of twenty hits show all twenty, however near each other they lie."""
    step = 50 + gap
    text = "".join(
        f"Hit number {number:02} of them. ".ljust(50, ".") + "Filler stands here. " * 30 for number in range(20)
    )
    text = "".join(text[at : at + step] for at in range(0, len(text), 50 + 600))
    hits = [Hit("page.txt", number * step, number * step + 50, 1 - number / 100) for number in range(20)]
    found = inflate(hits, [Document("page.txt", text)], max_bytes=20 * 150, settings=WindowSettings(snap=snap))
    assert {hit for window in found for hit in window.hits} == set(hits)
    assert not found.dropped
    assert sum(len(window.span) for window in found) <= 20 * 150


@pytest.mark.parametrize(("sizing", "floor", "cap"), [("density", 200, 2_500), ("elastic", 400, 64_000)])
@pytest.mark.parametrize("budget", [200, 1_000, 40_000])
@pytest.mark.seed("085a §3.2", "200 bytes is the floor of a card", where="windows/cutting.py", ruling=26)
@pytest.mark.seed("105 §4", "radius between 200 and 32,000 bytes", where="windows/cutting.py", ruling=26)
def test_floors_and_caps_hold_for_what_is_shown(sizing, floor, cap, budget):
    """Ruling 26: where the budget allows it, no window is under the floor or over the cap once it has snapped."""
    sentences = "".join(f"This is sentence number {number:04} of a long and even page. " for number in range(3_000))
    page = Document("page.txt", sentences)
    hits = [Hit("page.txt", at, at + 40, 1 - at / 1e6) for at in range(7_000, 90_000, 1_700)]
    found = inflate(hits, [page], budget=budget, sizing=sizing)
    assert found.size.share_bytes >= floor or found.size.squeezed
    for window in found:
        assert len(window.span) <= cap
        assert len(window.span) >= min(floor, found.size.share_bytes)
