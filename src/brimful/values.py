"""What is a value? A class of named fields, made as `dataclasses` makes it, in a quarter of the time.

Every start of the program makes some 130 of them. The standard library writes six functions of source for each frozen
one and compiles them one by one, half a millisecond a class. Here only `__init__` is compiled; what compares, hashes,
shows and refuses changes is the same function for every class, over the names of its fields. A `Field` stays a
`Field`: `fields`, `replace` and `asdict` see no difference.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError, asdict, field, fields, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING

__all__ = ["asdict", "dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass

    from _typeshed import DataclassInstance
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, order=False, init=True):
        """As `dataclasses.dataclass`, with the options that this package uses."""

        def made(cls):
            own = set(vars(cls))
            if order or not frozen:  # few, and what can be changed needs no care
                return dataclasses.dataclass(cls, frozen=frozen, slots=slots, eq=eq, order=order, init=init)
            found = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
            if init:
                found.__init__ = _init(found)
            for name, function in (_FROZEN_WITH_SLOTS if slots else _FROZEN).items():
                setattr(found, name, function)
            if "__repr__" not in own:
                found.__repr__ = _shown
            if eq:
                _compare(found, own)
            return found

        return made if cls is None else made(cls)


class _Anew:
    """Stands in a signature for a value that is made for each one."""

    def __repr__(self) -> str:
        return "<factory>"


_ANEW = _Anew()


def _init(cls: type) -> object:
    """The one function that is compiled: it gives every field its value, past the refusal of changes."""
    given, body = [], []
    known: dict[str, object] = {"_set": object.__setattr__, "_ANEW": _ANEW}
    kept = fields(cls)
    keyword_only = [each for each in kept if each.kw_only]
    for each in (*(each for each in kept if not each.kw_only), *keyword_only):
        name, value = each.name, each.name
        if keyword_only and each is keyword_only[0]:
            given.append("*")
        if each.default is not MISSING:
            known[f"_default_{name}"] = each.default
        if each.default_factory is not MISSING:
            known[f"_new_{name}"] = each.default_factory
            value = f"_new_{name}() if {name} is _ANEW else {name}" if each.init else f"_new_{name}()"
        if each.init:
            default = "_ANEW" if each.default_factory is not MISSING else f"_default_{name}"
            has_default = each.default is not MISSING or each.default_factory is not MISSING
            given.append(f"{name}={default}" if has_default else name)
        elif each.default is not MISSING:
            value = f"_default_{name}"
        elif each.default_factory is MISSING:
            continue
        body.append(f' _set(self,"{name}",{value})')
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    exec("\n".join([f"def __init__(self,{','.join(given)}):", *(body or [" pass"])]), known)  # noqa: S102 - names of fields
    init = known["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__  # type: ignore[attr-defined]
    init.__annotations__ = {each.name: each.type for each in kept if each.init} | {"return": None}
    return init


def _compare(cls: type, own: set[str]) -> None:
    """Two are equal if they are of one class and their fields are."""
    kept = fields(cls)
    compared = _getter([each.name for each in kept if each.compare])
    hashed = _getter([each.name for each in kept if (each.compare if each.hash is None else each.hash)])

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(hashed(self))

    if "__eq__" not in own:
        cls.__eq__ = __eq__  # type: ignore[assignment]
    if "__hash__" not in own or ("__eq__" in own and vars(cls).get("__hash__") is None):
        cls.__hash__ = __hash__  # type: ignore[assignment]


def _getter(names: list[str]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


@recursive_repr()
def _shown(self: DataclassInstance) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _set(self: object, name: str, value: object) -> None:  # noqa: ARG001 - as Python calls it
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> None:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: DataclassInstance) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: DataclassInstance, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_FROZEN = {"__setattr__": _set, "__delattr__": _delete}
_FROZEN_WITH_SLOTS = {**_FROZEN, "__getstate__": _state, "__setstate__": _restore}
