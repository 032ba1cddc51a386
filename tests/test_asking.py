import pytest

import brimful
from brimful.asking import _holds

PAGES = {
    f"day{number}.md": f"# Day {number}\n\nTea was served at {number}. Nobody came.\n\nThe garden had {number} roses, "
    f"and rain fell on all of them.\n\nTea and cake {number} times over.\n"
    for number in range(40)
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Forty days of tea."""
    with brimful.open(tmp_path_factory.mktemp("store")) as engine:
        for path, text in PAGES.items():
            engine.add_text(path, text)
        yield engine


@pytest.mark.parametrize("budget", [100, 300, 900])
def test_a_price_is_a_budget_that_buys(engine, budget):
    """A larger budget than the present one; asked with it, the window that was left out is in."""
    left = [each for each in engine.context("tea and roses", budget=budget).omitted if each.reason == "budget"][:5]
    assert left
    for each in left:
        assert each.enters_at > budget
        assert _holds(engine.context("tea and roses", budget=each.enters_at), each.window)
