"""Packing with the same choices again and again."""

import pytest

from brimful import Window, pack
from brimful.assembly.formats import FORMS, form_for
from brimful.assembly.pack import Packer
from brimful.budget import LARGEST, budget_of
from brimful.settings import PackSettings
from brimful.text.vocabularies import tokens_for

WINDOWS = [
    Window(f"{name}.md", f"{name} said that tea number {at} is cold.\n", 100 * at, score=1.0 / (at + number + 1))
    for number, name in enumerate(("anna", "ben", "carl"))
    for at in range(4)
]


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("choices", [{}, {"order": "ends"}, {"max_per_document": 2}, {"include_metadata": True}])
def test_the_cost_of_all_is_that_of_their_context(form, choices):
    """What all windows cost together is the size of the context that has room for all of them."""
    counter = tokens_for("o200k_base")
    packer = Packer(counter, form_for(form), PackSettings(**choices))
    whole = pack(WINDOWS, budget=LARGEST, fill="relevant", trim=False, format=form, **choices)
    assert packer.cost(WINDOWS) == whole.tokens


def test_packing_again_changes_nothing():
    """What is remembered of windows changes no context, however often and at which budgets they are packed."""
    counter = tokens_for("o200k_base")
    packer = Packer(counter, form_for("plain"), PackSettings())
    for budget in (200, 60, 90, 60, 200):
        assert packer.pack(WINDOWS, budget_of(budget)).text == pack(WINDOWS, budget=budget).text
