"""How is a class of fields made, without compiling six methods for each, and what is closed at a block's end?

The standard library writes every method of a dataclass as text and compiles it, and reads every annotation to see
whether it is a field's: a hundred classes took longer to make than a question takes to answer. Here only `__init__` is
compiled, when it has been called some times; the other methods are the same functions for all classes, over the names
of the fields. What the standard library knows of a dataclass (`fields`, `replace`, `match`) it knows of these too.
Named tuples likewise: the standard library compiles a method and every annotation of each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from operator import attrgetter, ge, gt, le, lt
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  (for type checkers it is that one)
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  (likewise)
else:
    from _collections import _tuplegetter  # as `collections.namedtuple` reads a field

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        order: bool = False,
        repr: bool = True,  # noqa: A002  (as in the standard library)
        kw_only: bool = False,
    ) -> Any:
        """A class of fields, as `dataclasses.dataclass` makes it.

        >>> @dataclass(frozen=True, slots=True)
        ... class Cup:
        ...     tea: str
        ...     sugar: int = 0
        >>> Cup("mint"), Cup("mint") == Cup("mint", 0), len({Cup("mint"), Cup("mint", 2)})
        (Cup(tea='mint', sugar=0), True, 2)
        """

        def made(given: type) -> type:
            own = set(vars(given))
            fields = _fields(given, kw_only=kw_only)
            fresh = _slotted(given, [field.name for field in fields]) if slots else given
            methods = {"__init__": _LaterInit(fresh, frozen=frozen)} if "__init__" not in own else {}
            if repr:
                methods["__repr__"] = _repr([field.name for field in fields if field.repr])
            if eq:
                compared = _values([field for field in fields if field.compare])
                methods["__eq__"] = _eq(compared)
                hashed = [field for field in fields if (field.compare if field.hash is None else field.hash)]
                methods["__hash__"] = _hash(_values(hashed)) if frozen else None
            if order:
                methods |= _ordering(compared)
            if frozen:
                methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
            if frozen and slots:
                methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
            for name, method in methods.items():
                if name not in own or (name == "__hash__" and vars(given)[name] is None and "__eq__" not in own):
                    if method is not None and name != "__init__":
                        method.__qualname__ = f"{fresh.__qualname__}.{name}"
                    setattr(fresh, name, method)
            return fresh

        return made if cls is None else made(cls)

    class _NamedTuples(type):
        """Makes named tuples; what makes an instance of one is compiled when the first is made."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            hints = body["__annotations__"] if "__annotations__" in body else type(name, (), dict(body)).__annotations__
            names = tuple(hints)  # from 3.14 on a class makes its annotations when it is asked
            defaults = {each: body.pop(each) for each in names if each in body}
            getters = {each: _tuplegetter(at, f"Alias for field number {at}") for at, each in enumerate(names)}
            known = {"__slots__": (), "_fields": names, "_field_defaults": defaults, "__match_args__": names}
            others = tuple(base for base in bases if base is not NamedTuple)
            made = type(name, (_NamedTuple, *others), {"__doc__": None, **body, **known, **getters})
            made.__new__ = _later_new(made)
            return made

    NamedTuple = type.__new__(_NamedTuples, "NamedTuple", (), {"__doc__": "A tuple whose places have names."})


class _NamedTuple(tuple[Any, ...]):
    """What all named tuples can do."""

    __slots__ = ()
    if TYPE_CHECKING:  # who reads the hints of a named tuple finds its own only
        _fields: tuple[str, ...] = ()

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        """A tuple of as many values as there are fields.

        >>> class Cup(NamedTuple):
        ...     tea: str
        ...     sugar: int = 0
        >>> Cup._make(["mint", 2]), Cup("mint")._replace(sugar=1), Cup("mint")._asdict()
        (Cup(tea='mint', sugar=2), Cup(tea='mint', sugar=1), {'tea': 'mint', 'sugar': 0})
        """
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **values: Any) -> Self:
        """The same with other values."""
        made = self._make([values.pop(name, value) for name, value in zip(self._fields, self, strict=True)])
        if values:
            raise ValueError(f"Got unexpected field names: {list(values)!r}")
        return made

    __replace__ = _replace  # of `copy.replace`, from 3.13 on

    def _asdict(self) -> dict[str, Any]:
        """The values by name."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
        return f"{type(self).__name__}({shown})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


def _later_new(cls: Any) -> Callable[..., Any]:
    """`__new__` of a named tuple until it is first called: it compiles what takes the fields, in order or by name."""

    def __new__(_cls: type, /, *given: Any, **named: Any) -> Any:  # noqa: N807
        names = ", ".join(cls._fields)
        known: dict[str, Any] = {"__builtins__": {}, "_new": tuple.__new__, "__name__": cls.__module__}
        made = eval(f"lambda _cls, {names}: _new(_cls, ({names}{',' if names else ''}))", known)  # noqa: S307  (names)
        made.__defaults__ = tuple(cls._field_defaults.values()) or None
        made.__name__, made.__qualname__ = "__new__", f"{cls.__qualname__}.__new__"
        cls.__new__ = made
        return made(_cls, *given, **named)

    return __new__


class Closing:
    """What is closed when the block that it was opened for ends."""

    __slots__ = ()

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_LEAST_OPENED = 3  # fields of a class for which to open it pays


_TWINS: dict[type, Any] = {}


def open_twin(cls: type) -> Any:
    """A class with the same slots whose instances may be changed, and become frozen ones by their `__class__`.

    To set a field of a frozen class takes five times as long, and a question makes thousands. None where what a class
    is derived from is frozen too.

    >>> @dataclass(frozen=True, slots=True)
    ... class Cup:
    ...     tea: str
    >>> cup = object.__new__(open_twin(Cup))
    >>> cup.tea = "mint"
    >>> cup.__class__ = Cup
    >>> cup
    Cup(tea='mint')
    """
    if cls not in _TWINS:
        slots = vars(cls).get("__slots__")
        is_free = type(cls) is type and not any("__setattr__" in vars(base) for base in cls.__mro__[1:-1])
        _TWINS[cls] = type(cls.__name__, cls.__bases__, {"__slots__": slots}) if slots and is_free else None
    return _TWINS[cls]


def copier(names: Sequence[str]) -> Callable[[Any, Any], None]:
    """What copies attributes of one object to another, faster than a loop over their names.

    >>> cup, other = Exception(), Exception()
    >>> cup.tea = "mint"
    >>> copier(["tea"])(cup, other)
    >>> other.tea
    'mint'
    """
    known: dict[str, Any] = {}
    lines = [f"other.{name} = each.{name}" for name in names]
    exec("\n ".join(["def copy(each, other):", *lines]), known)  # noqa: S102  (names of fields, which are identifiers)
    made: Callable[[Any, Any], None] = known["copy"]
    return made


class _Sample:
    """What the standard library marks a class and a field with."""

    field: int


_SAMPLE: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(_Sample)
_A_FIELD: Any = dataclasses.fields(_SAMPLE)[0]


def _fields(cls: Any, *, kw_only: bool) -> list[dataclasses.Field[Any]]:
    """The fields of a class, those of the classes that it is derived from first, noted where `dataclasses` looks."""
    found: dict[str, Any] = {}
    for base in cls.__mro__[-1:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, kind in cls.__annotations__.items():
        if str(kind).removeprefix("typing.").startswith("ClassVar"):
            continue
        default = getattr(cls, name, dataclasses.MISSING)
        if isinstance(default, dataclasses.Field):
            field: Any = default
            if field.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, field.default)
        else:  # what a class above has a slot for has no default
            field = dataclasses.field(
                default=dataclasses.MISSING if isinstance(default, MemberDescriptorType) else default
            )
        if type(field.default).__hash__ is None:
            raise ValueError(f"mutable default {type(field.default)} for field {name} is not allowed")
        field.name, field.type = name, kind
        field._field_type = _A_FIELD._field_type  # noqa: SLF001  (what `dataclasses.fields` knows a field by)
        if field.kw_only is dataclasses.MISSING:
            field.kw_only = kw_only
        found[name] = field
    places = tuple(each.name for each in found.values() if each.init and not each.kw_only)
    cls.__dataclass_fields__, cls.__dataclass_params__ = found, _SAMPLE.__dataclass_params__
    setattr(cls, "__match_args__", places)  # noqa: B010  (a type checker has its own idea of them)
    return list(found.values())


def _slotted(cls: Any, names: list[str]) -> type:
    """The same class with slots for its fields, save for those that a class above has slots for."""
    above = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__", *names)}
    body["__slots__"] = tuple(name for name in names if name not in above)
    fresh: type = type(cls)(cls.__name__, cls.__bases__, body)
    fresh.__qualname__ = cls.__qualname__
    return fresh


_FEW = 16
"""Instances that are filled field by field: to compile the method takes as long as some dozens of them."""


class _LaterInit:
    """`__init__` of a class until it has been called some times, which most classes of a start never see."""

    def __init__(self, cls: Any, *, frozen: bool) -> None:
        self._cls, self._frozen, self._left = cls, frozen, _FEW

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
        if instance is None or self._left <= 0:  # threads may have counted at the same time
            return self._compiled(instance, owner)
        self._left -= 1
        return partial(self._fill, instance)

    def _fill(self, instance: Any, /, *given: Any, **named: Any) -> None:
        """Set the fields one by one; where something is missing or too much, the compiled method says what."""
        values = {**dict(zip(self._cls.__match_args__, given, strict=False)), **named}
        known, needed = self._names
        if len(values) < len(given) + len(named) or not needed <= values.keys() <= known:
            self._compiled(instance, type(instance))(*given, **named)
            return
        for field in self._cls.__dataclass_fields__.values():
            if field.name in values:
                object.__setattr__(instance, field.name, values[field.name])
            elif field.default_factory is not dataclasses.MISSING:
                object.__setattr__(instance, field.name, field.default_factory())
            elif field.default is not dataclasses.MISSING:
                object.__setattr__(instance, field.name, field.default)
        if hasattr(self._cls, "__post_init__"):
            instance.__post_init__()

    @cached_property
    def _names(self) -> tuple[set[str], set[str]]:
        """The fields that may be given, and those that must be."""
        given = [field for field in self._cls.__dataclass_fields__.values() if field.init]
        missing = dataclasses.MISSING
        needed = {field.name for field in given if field.default is missing is field.default_factory}
        return {field.name for field in given}, needed

    def _compiled(self, instance: object, owner: type | None) -> Callable[..., None]:
        made = _init(self._cls, frozen=self._frozen)
        if vars(self._cls).get("__init__") is self:
            setattr(self._cls, "__init__", made)  # noqa: B010  (a type checker knows that classes have one)
        bound: Callable[..., None] = made.__get__(instance, owner)
        return bound


def _init(cls: type, *, frozen: bool) -> Callable[..., None]:
    """The one method that is compiled: it takes the fields in their order, or by name."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_made": dataclasses.MISSING}
    plain, named, body = list[str](), list[str](), list[tuple[str, str]]()
    for field in dataclasses.fields(cls):
        value, name = field.name, field.name
        if field.default is not dataclasses.MISSING:
            known[f"_d_{name}"] = field.default
        if field.default_factory is not dataclasses.MISSING:
            known[f"_f_{name}"] = field.default_factory
            value = f"_f_{name}() if {name} is _made else {name}" if field.init else f"_f_{name}()"
        elif not field.init and field.default is dataclasses.MISSING:
            continue
        elif not field.init:
            value = f"_d_{name}"
        if field.init:
            default = f"=_d_{name}" if f"_d_{name}" in known else "=_made" if f"_f_{name}" in known else ""
            (named if field.kw_only else plain).append(f"{name}{default}")
        body.append((name, value))
    lines = [f"self.{name} = {value}" for name, value in body] or ["pass"]
    if frozen:
        opened, lines = lines, [f"_set(self, {name!r}, {value})" for name, value in body] or ["pass"]
        if len(body) >= _LEAST_OPENED and (twin := open_twin(cls)) is not None:
            known |= {"_open": twin, "_cls": cls}
            opened = ["_set(self, '__class__', _open)", *opened, "self.__class__ = _cls"]
            lines = [
                "if type(self) is _cls:",
                *(f" {line}" for line in opened),
                "else:",
                *(f" {line}" for line in lines),
            ]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    takes = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    text = "\n ".join([f"def __init__({takes}):", *lines])
    exec(text, known)  # noqa: S102  (names of fields, which are identifiers)
    made: Any = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init}
    made.__annotations__["return"] = None
    found: Callable[..., None] = made
    return found


def _values(fields: list[dataclasses.Field[Any]]) -> Callable[[Any], object]:
    """The values of some fields, to be compared or hashed."""
    names = [field.name for field in fields]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda each: tuple(getattr(each, name) for name in names)


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _eq(values: Callable[[Any], object]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _ordering(values: Callable[[Any], Any]) -> dict[str, Callable[[Any, Any], bool]]:
    def compared(how: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        def compare(self: Any, other: Any) -> bool:
            return how(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

        return compare

    return {f"__{how.__name__}__": compared(how) for how in (lt, le, gt, ge)}


def _hash(values: Callable[[Any], object]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _refuse(self: Any, name: str, *value: object) -> None:  # noqa: ARG001
    verb = "assign to" if value else "delete"
    raise dataclasses.FrozenInstanceError(f"cannot {verb} field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
