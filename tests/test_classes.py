"""Classes of fields: what the standard library makes of a class, with fewer methods compiled."""

import copy
import dataclasses
import pickle
import typing

import pytest

from brimful.classes import NamedTuple, dataclass


@dataclass(frozen=True, slots=True)
class Cup:
    """A frozen one with everything that fields can have."""

    tea: str
    sugar: int = 0
    guests: list[str] = dataclasses.field(default_factory=list, compare=False)
    note: str = dataclasses.field(default="", repr=False, kw_only=True)
    name: str = dataclasses.field(init=False)
    seen: list[int] = dataclasses.field(init=False, repr=False, default_factory=list)
    kind: str = dataclasses.field(init=False, default="cup")

    def __post_init__(self):
        object.__setattr__(self, "name", f"{self.tea} {self.sugar}")


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same by the standard library."""

    tea: str
    sugar: int = 0
    guests: list[str] = dataclasses.field(default_factory=list, compare=False)
    note: str = dataclasses.field(default="", repr=False, kw_only=True)
    name: str = dataclasses.field(init=False)
    seen: list[int] = dataclasses.field(init=False, repr=False, default_factory=list)
    kind: str = dataclasses.field(init=False, default="cup")

    def __post_init__(self):
        object.__setattr__(self, "name", f"{self.tea} {self.sugar}")


@dataclass(slots=True)
class Pot:
    """One that may be changed."""

    tea: str = "mint"


@dataclass(frozen=True)
class Large(Cup):
    """One that takes fields over, with a method of its own."""

    litres: int = 1

    def __repr__(self):
        return "large"


@dataclass(frozen=True, slots=True, eq=False)
class Itself:
    """One that is only like itself."""

    tea: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """One without fields."""


def test_it_is_what_the_standard_library_makes():
    """The same text, the same fields in the same order, the same values."""
    ours, theirs = Cup("mint", 2, note="hot"), Standard("mint", 2, note="hot")
    assert repr(ours) == repr(theirs).replace("Standard", "Cup")
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert [each.name for each in dataclasses.fields(Cup)] == [each.name for each in dataclasses.fields(Standard)]
    assert Cup.__match_args__ == Standard.__match_args__
    assert Cup.__slots__ == Standard.__slots__
    assert dataclasses.replace(ours, sugar=1) == Cup("mint", 1, note="hot")
    assert Cup.__init__.__annotations__ == Standard.__init__.__annotations__


def test_equal_fields_are_equal():
    """Whatever is not compared does not matter; another class never is the same."""
    assert Cup("mint", guests=["a"]) == Cup("mint", guests=["b"])
    assert hash(Cup("mint", guests=["a"]).tea) == hash(Cup("mint").tea)
    assert Cup("mint") != Cup("sage")
    assert Cup("mint") != Large("mint")
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert Itself("mint") != Itself("mint")
    assert len({Itself("mint"), Itself("mint")}) == 2


def test_frozen_ones_stay_as_they_are():
    """Neither set nor deleted; others may be, and have no hash."""
    with pytest.raises(dataclasses.FrozenInstanceError, match="assign to field 'sugar'"):
        Cup("mint").sugar = 3
    with pytest.raises(dataclasses.FrozenInstanceError, match="delete field 'tea'"):
        del Cup("mint").tea
    pot = Pot()
    pot.tea = "sage"
    assert pot == Pot("sage")
    with pytest.raises(TypeError, match="unhashable"):
        hash(pot)


def test_what_is_made_by_factories_is_made_anew():
    """No two share a list."""
    assert Cup("mint").guests is not Cup("mint").guests
    assert Cup("mint").seen is not Cup("mint").seen


def test_copies_are_the_same():
    """Pickled, and copied deeply."""
    cup = Cup("mint", 2, ["a"], note="hot")
    assert repr(pickle.loads(pickle.dumps(cup))) == repr(copy.deepcopy(cup)) == repr(cup)
    assert pickle.loads(pickle.dumps(cup)).note == "hot"


def test_what_is_missing_or_too_much_is_told():
    """As of any function."""
    with pytest.raises(TypeError, match="tea"):
        Cup()
    with pytest.raises(TypeError, match="positional"):
        Cup("mint", 1, [], "hot")


def test_own_methods_and_fields_of_others_stay():
    """What a class defines is its own; what it takes over comes first."""
    assert repr(Large("mint", 1, litres=3)) == "large"
    assert Large("mint").litres == 1
    assert Large("mint", litres=2) != Large("mint")


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One that comes before or behind others."""

    START: typing.ClassVar[int] = 1

    number: int
    name: str = dataclasses.field(default="", compare=False)


def test_they_come_in_the_order_of_their_fields():
    """Smaller ones first, by the fields that are compared; nothing is in order with another class."""
    assert sorted([Step(3), Step(1), Step(2)]) == [Step(1), Step(2), Step(3)]
    assert Step(1, "b") <= Step(1, "a") >= Step(1, "b")
    assert not Step(1) > Step(2)
    assert not Step(1, "a") < Step(1, "b")
    with pytest.raises(TypeError, match="not supported"):
        _ = Step(1) < 2


def test_what_belongs_to_the_class_is_not_a_field():
    """A class variable stays with the class."""
    assert [each.name for each in dataclasses.fields(Step)] == ["number", "name"]
    assert Step.START == Step(2).START == 1


def test_no_two_share_a_default_that_can_change():
    """Refused when the class is made, as the standard library does."""
    with pytest.raises(ValueError, match="mutable default <class 'list'> for field guests is not allowed"):

        @dataclass
        class _Shared:
            guests: list[str] = []  # noqa: RUF012


@pytest.mark.parametrize("made_before", [0, 40])
def test_the_first_ones_are_made_as_the_later_ones(made_before):
    """Given in order or by name, with what is left out, missing, too much or twice: from the first one on."""

    @dataclass(frozen=True, slots=True)
    class Tray:
        cups: int
        pot: str = "blue"
        guests: list[str] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="", kw_only=True)
        full: bool = dataclasses.field(init=False)
        kind: str = dataclasses.field(init=False, default="tray")

        def __post_init__(self):
            object.__setattr__(self, "full", self.cups > 3)

    for _ in range(made_before):
        Tray(1)
    assert repr(Tray(4, guests=["a"], note="hot")) == (
        f"{Tray.__qualname__}(cups=4, pot='blue', guests=['a'], note='hot', full=True, kind='tray')"
    )
    assert Tray(1).guests is not Tray(1).guests
    for given, named, why in (
        ((), {}, "missing 1 required positional argument: 'cups'"),
        ((1,), {"cups": 2}, "multiple values for argument 'cups'"),
        ((1, "red", [], "hot"), {}, "positional arguments"),
        ((1,), {"kind": "cup"}, "unexpected keyword argument 'kind'"),
    ):
        with pytest.raises(TypeError, match=why):
            Tray(*given, **named)


def test_a_class_that_is_derived_is_made_by_the_one_above():
    """Also where it says nothing of itself."""

    class Larger(Pot):
        """Nothing of its own."""

    assert [Larger("sage").tea for _ in range(20)] == ["sage"] * 20
    assert [Larger().tea for _ in range(20)] == ["mint"] * 20


class Spoon(NamedTuple):
    """One with a default and a method."""

    length: int
    wood: str = "beech"

    @property
    def is_long(self) -> bool:
        """Whether it reaches the ground of a pot."""
        return self.length > 20


class StandardSpoon(typing.NamedTuple):
    """The same by the standard library."""

    length: int
    wood: str = "beech"


class Ladle(Spoon):
    """One that is made in a way of its own."""

    def __new__(cls, length):
        """Longer than was asked for."""
        return super().__new__(cls, length + 10)


def test_named_tuples_are_what_the_standard_library_makes():
    """The same values, names, defaults, text, order and errors, before the first is made and after."""
    with pytest.raises(TypeError) as ours:
        Spoon()
    with pytest.raises(TypeError) as theirs:
        StandardSpoon()
    assert str(ours.value) == str(theirs.value).replace("Standard", "")
    one, same = Spoon(12), StandardSpoon(12)
    assert one == same == (12, "beech") == Spoon(wood="beech", length=12)
    assert repr(one) == repr(same).replace("Standard", "")
    assert (one.length, one.wood, one.is_long, Spoon(30).is_long) == (12, "beech", False, True)
    assert Spoon._fields == StandardSpoon._fields == Spoon.__match_args__
    assert Spoon._field_defaults == StandardSpoon._field_defaults
    assert typing.get_type_hints(Spoon) == typing.get_type_hints(StandardSpoon)
    assert one._replace(wood="ash") == same._replace(wood="ash") == Spoon._make([12, "ash"])
    assert one._asdict() == same._asdict()
    assert Spoon.__doc__ == "One with a default and a method."
    assert isinstance(one, tuple)
    assert not hasattr(one, "__dict__")


def test_named_tuples_refuse_what_the_standard_librarys_refuse():
    """A value too many or too few, a name that is no field's, and to be changed."""
    for wrong in (lambda kind: kind(1, "ash", 2), lambda kind: kind(1, height=2), lambda kind: kind._make([1])):
        with pytest.raises(TypeError) as ours:
            wrong(Spoon)
        with pytest.raises(TypeError) as theirs:
            wrong(StandardSpoon)
        assert str(ours.value) == str(theirs.value).replace("Standard", "")
    with pytest.raises(ValueError, match="unexpected field names"):
        Spoon(1)._replace(height=2)
    with pytest.raises(AttributeError):
        Spoon(1).length = 2


def test_named_tuples_are_copied_and_derived_from():
    """Pickled, copied deeply, and with a `__new__` of their own."""
    one = Spoon(12, "ash")
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    assert type(pickle.loads(pickle.dumps(one))) is Spoon
    assert repr(Ladle(5)) == "Ladle(length=15, wood='beech')"
