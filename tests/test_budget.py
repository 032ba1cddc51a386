"""Budgets: what is left after the reserves."""

import pytest

from brimful import Budget, Window, pack
from brimful.budget import budget_of


def test_available_is_what_the_reserves_leave():
    """CFS §3."""
    assert Budget(10_000, reserved_system=1_000, reserved_query=50, reserved_response=2_000).available == 6_950


def test_an_int_is_the_room_for_the_context_itself():
    """Nothing is reserved from a plain number."""
    assert budget_of(150).available == 150
    assert budget_of(Budget(2_000)).available == 1_200


@pytest.mark.parametrize("total", [810, 2_000])
def test_pack_respects_the_reserves(total):
    """A Budget's reserves are kept free."""
    windows = [Window(f"{n}.md", f"Window number {n} says this.", score=n) for n in range(300)]
    assert pack(windows, budget=Budget(total)).tokens <= total - 800
