"""105: elastic radius and its constraints."""

import pytest

from brimful import Document, Hit, WindowSettings, inflate
from brimful.windows.policies import elastic

SETTINGS = WindowSettings()


class Plain(WindowSettings):
    """Windows by the specification's arithmetic alone."""

    refill = False


PLAIN = Plain(snap=False)


@pytest.mark.parametrize(
    ("budget", "hits", "radius"),
    [(100_000, 1, 32_000), (100_000, 2, 25_000), (100_000, 10, 5_000), (100_000, 250, 200), (4_000, 10, 200)],
)
@pytest.mark.seed("105 §2.2", "radius = budget / hits / 2, clamped", where="windows/policies.py", ruling=3)
def test_clamp(budget, hits, radius):
    """105 §2.2: budget / hits / 2, between 200 and 32,000 bytes."""
    assert elastic(budget, hits, settings=SETTINGS).radius_bytes == radius


@pytest.mark.seed("105 §4", "the floor of 200 bytes never overshoots the budget", where="windows/policies.py", ruling=3)
def test_floor_can_not_overshoot():
    """Ruling 3: the squeeze runs before the floor, so 200 bytes a side never exceed the budget."""
    size = elastic(4_000, 1_000, settings=SETTINGS)
    assert (size.kept, size.radius_bytes) == (10, 200)
    assert size.kept * 2 * size.radius_bytes <= 4_000


@pytest.mark.seed("105 §2.2", "few hits get large windows, many hits small ones", where="windows/policies.py")
def test_rare_terms_get_chapters_and_common_ones_snippets():
    """105 §2.2: one hit in 100,000 bytes of budget shows 64,000 bytes, 100 hits show 1,000 each."""
    page = Document("page.txt", "x" * 1_000_000)
    (rare,) = inflate([Hit("page.txt", 500_000)], [page], max_bytes=100_000, sizing="elastic", settings=PLAIN)
    assert len(rare.span) == 64_000
    hits = [Hit("page.txt", at) for at in range(5_000, 1_000_000, 9_950)]
    common = inflate(hits, [page], max_bytes=100_000, sizing="elastic", settings=PLAIN)
    assert {len(window.span) for window in common} == {1_000}
    assert sum(len(window.span) for window in common) == 100_000


@pytest.mark.parametrize("sizing", ["density", "radial", "elastic"])
@pytest.mark.parametrize("limit", [1, 10, 399, 400, 1_000, 12_345])
@pytest.mark.seed("105 §4", "the user's limit is never exceeded", where="windows/cutting.py", ruling=5)
def test_max_bytes_is_strict(sizing, limit):
    """105 §4: the caller's max_chars is never exceeded, whatever the policy."""
    page = Document("page.txt", ("Some words stand here. " * 9 + "\n") * 200)
    hits = [Hit("page.txt", at, at + 40, float(at)) for at in range(100, 40_000, 700)]
    found = inflate(hits, [page], max_bytes=limit, sizing=sizing)
    assert 0 < sum(len(window.span) for window in found) <= limit
