"""Values: classes of fields that are made faster than by the standard library, and behave the same."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from typing import Any

import pytest

from brimful import values


def both() -> list[Any]:
    """The same class, by the standard library and by us."""

    def made(dataclass: Any) -> Any:
        @dataclass(frozen=True, slots=True)
        class Kettle:
            """Boils."""

            litres: float
            maker: str = "none"
            parts: list[str] = dataclasses.field(default_factory=list, compare=False)
            secret: str = dataclasses.field(default="s", repr=False, kw_only=True)
            twice: float = dataclasses.field(init=False, hash=False)

            def __post_init__(self) -> None:
                object.__setattr__(self, "twice", 2 * self.litres)

        return Kettle

    return [made(dataclasses.dataclass), made(values.dataclass)]


def test_a_value_is_what_the_standard_library_makes() -> None:
    """Signature, fields, what is shown, what is equal and the hash are the same."""
    theirs, ours = both()
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    named = [[each.name for each in dataclasses.fields(cls)] for cls in (ours, theirs)]
    assert named[0] == named[1]
    for arguments, more in (((1.5,), {}), ((1.5, "a", ["b"]), {"secret": "t"}), ((), {"litres": 2.0})):
        one, other = theirs(*arguments, **more), ours(*arguments, **more)
        assert repr(one) == repr(other)
        assert hash(one) == hash(other)
        assert dataclasses.asdict(one) == dataclasses.asdict(other)
        assert other == ours(*arguments, **more) != dataclasses.replace(other, litres=9.0)
        assert other != one
        assert copy.copy(other) == copy.deepcopy(other) == other
    assert ours(1.0, parts=["x"]) == ours(1.0, parts=["y"])
    assert ours(1.0).parts is not ours(1.0).parts


def test_a_value_does_not_change() -> None:
    """What is set or deleted is refused, as by the standard library."""
    for cls in both():
        kettle = cls(1.0)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'maker'"):
            kettle.maker = "b"
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'maker'"):
            del kettle.maker
        with pytest.raises(TypeError, match="litres"):
            cls()


def test_what_a_class_says_itself_stays() -> None:
    """A class's own comparison, hash and text are kept; without comparison, a value equals only itself."""
    for dataclass in (dataclasses.dataclass, values.dataclass):

        @dataclass(frozen=True, slots=True)
        class Own:
            """Compares by nothing."""

            number: int

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Own)

            def __hash__(self) -> int:
                return 7

            def __repr__(self) -> str:
                return "own"

        @dataclass(frozen=True, slots=True, eq=False)
        class Single:
            """Is itself."""

            number: int

        assert (Own(1) == Own(2), hash(Own(1)), repr(Own(1))) == (True, 7, "own")
        assert Single(1) != Single(1)
        assert len({Single(1), Single(1)}) == 2


def test_one_that_changes_or_has_an_order_is_the_standard_library_s() -> None:
    """What is not frozen can't be hashed and may change; what has an order is sorted by its fields."""

    @values.dataclass(slots=True)
    class Changing:
        """Changes."""

        number: int

    @values.dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        """Has an order."""

        number: int

    changing = Changing(1)
    changing.number = 2
    assert changing == Changing(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(changing)
    assert sorted([Ordered(2), Ordered(1)]) == [Ordered(1), Ordered(2)]
