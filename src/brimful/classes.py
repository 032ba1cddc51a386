"""How is a class of fields made, without compiling six methods for each, and what is closed at a block's end?

The standard library writes every method of a dataclass as text and compiles it: a hundred classes took longer to make
than a question takes to answer. Here only `__init__` is compiled, when it is first asked for; the other methods are the
same functions for all classes, over the names of the fields. What the standard library knows of a dataclass (`fields`,
`replace`, `match`) it knows of these too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  (for type checkers it is that one)
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
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
            fresh = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(given)
            fields = dataclasses.fields(fresh)
            methods = {"__init__": _LaterInit(fresh, frozen=frozen)} if "__init__" not in own else {}
            if repr:
                methods["__repr__"] = _repr([field.name for field in fields if field.repr])
            if eq:
                compared = _values([field for field in fields if field.compare])
                methods["__eq__"] = _eq(compared)
                hashed = [field for field in fields if (field.compare if field.hash is None else field.hash)]
                methods["__hash__"] = _hash(_values(hashed)) if frozen else None
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


class _LaterInit:
    """`__init__` of a class until somebody asks for it, which most classes of a start never see."""

    def __init__(self, cls: type, *, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
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
