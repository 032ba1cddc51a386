"""Frozen values as canonical JSON, and back without trust.

A dataclass and a mapping become objects; a tuple and a NamedTuple become arrays (the latter without the Nones at its
end). Keys are sorted, nothing is blank, no number is spelled in two ways: a whole float is written as an int.
Reading follows the type hints and refuses whatever they do not allow, naming the field.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from brimful.documents.documents import check_time
from brimful.errors import FormatError, InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Hash = NewType("Hash", str)
"""32 bytes in hexadecimal."""
Natural = NewType("Natural", int)
"""A length, an offset or a count."""
Moment = NewType("Moment", int)
"""Seconds since 1970, UTC."""
Score = NewType("Score", str)
"""The float that decided, written so that no digit of it is lost."""

_DEEPEST = 32
"""Settings nest no deeper."""

UNLESS_EMPTY = {"written": "unless empty"}
"""The metadata of a field that came later: without it, a receipt is what it was before."""

_LARGEST = 2**63 - 1
_HASH = re.compile(r"[0-9a-f]{64}")
_AS_WRITTEN = "use the receipt as it was written"

T = TypeVar("T")


def canonical(value: object) -> str:
    """JSON with sorted keys and no blanks: equal values give equal text everywhere.

    >>> canonical({"b": (1, 2.0), "a": "é"})
    '{"a":"é","b":[1,2]}'
    """
    return json.dumps(plain(value, where="value"), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain(value: object, *, where: str, depth: int = _DEEPEST) -> object:
    """A value as dicts with their keys in order, lists, str, int, float, bool and None; a FormatError names what can't
    be written so.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str | bytes):
        return _text(value.decode(errors="backslashreplace") if isinstance(value, bytes) else value, where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(value, where)
    if depth == 0:
        raise FormatError(f"{where} nests deeper than {_DEEPEST}; flatten it")
    if isinstance(value, list | tuple):
        items = list(value)
        while hasattr(value, "_fields") and items and items[-1] is None:
            items.pop()
        return [plain(item, where=f"{where}[{number}]", depth=depth - 1) for number, item in enumerate(items)]
    if is_dataclass(value) and not isinstance(value, type):
        value = written_fields(value)
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        raise FormatError(f"{where} is a {kind}, which JSON does not have; give text, numbers, lists, dicts")
    for name in value:
        if not isinstance(name, str):
            raise FormatError(f"{where} has the key {name!r}; keys are text")
        _text(name, where)
    return {name: plain(value[name], where=f"{where}.{name}", depth=depth - 1) for name in sorted(value)}


def written_fields(value: DataclassInstance) -> dict[str, object]:
    """The fields of a dataclass that are written down."""
    return {
        field.name: item
        for field in fields(value)
        if not field.name.startswith("_") and ((item := getattr(value, field.name)) or field.metadata != UNLESS_EMPTY)
    }


def parsed(text: str | bytes) -> object:
    """JSON without NaN, without doubled keys; anything that is no such JSON is a FormatError."""
    if not isinstance(text, str | bytes):
        raise FormatError(f"a receipt is read from JSON text, got {type(text).__name__}; give what to_json() returned")
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode(), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except RecursionError as error:
        raise FormatError(f"not a receipt: it nests too deep; {_AS_WRITTEN}") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"not a receipt in JSON ({error}); {_AS_WRITTEN}") from error


def read_value(kind: type[T], value: object, *, where: str) -> T:
    """A value of that type from parsed JSON, strictly: unknown, missing and mistyped fields are named.

    >>> read_value(tuple[Natural, ...], [1, -2], where="starts")
    Traceback (most recent call last):
    brimful.errors.FormatError: starts[1]: expected a whole number from 0, got -2; use the receipt as it was written
    """
    return cast("T", _read(kind, value, where))


def _read(kind: object, value: object, where: str) -> object:
    if kind in _SIMPLE:
        expected, accepts = _SIMPLE[kind]
        if not accepts(value):
            raise _refused(where, expected, value)
        return _text(value, where) if isinstance(value, str) else value
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        if not isinstance(value, str) or value not in inner:
            raise _refused(where, f"one of {', '.join(map(str, inner))}", value)
        return value
    if origin in (Union, types.UnionType):
        return _one_of(inner, value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise _refused(where, "a list", value)
        return tuple(_read(inner[0], item, f"{where}[{number}]") for number, item in enumerate(value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _refused(where, "an object", value)
        return plain(value, where=where)
    assert isinstance(kind, type)
    return _dataclass(kind, value, where) if is_dataclass(kind) else _named_tuple(kind, value, where)


def _one_of(choices: tuple[object, ...], value: object, where: str) -> object:
    """A union has None, one simple type, and one that is written as a list."""
    if value is None and type(None) in choices:
        return None
    non_null = [choice for choice in choices if choice is not type(None)]
    simple = [choice for choice in non_null if choice in _SIMPLE]
    wanted = non_null if isinstance(value, list) or not simple else simple
    return _read(wanted[-1], value, where)


def _dataclass(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise _refused(where, "an object", value)
    hints, prefix = _hints(kind), f"{where}." if where else ""
    for name in value:
        if name not in hints:
            raise FormatError(f"{prefix}{name}: no such field in a receipt; {_AS_WRITTEN}")
    optional = {field.name for field in fields(kind) if field.metadata == UNLESS_EMPTY}
    for name in hints:
        if name not in value and name not in optional:
            raise FormatError(f"{prefix}{name}: this field is missing; {_AS_WRITTEN}")
    try:
        return kind(
            **{name: _read(hint, value[name], f"{prefix}{name}") for name, hint in hints.items() if name in value}
        )
    except InputError as error:
        raise FormatError(f"{where or 'receipt'}: {error}") from error


def _named_tuple(kind: type, value: object, where: str) -> object:
    hints = list(_hints(kind).values())
    least = len(hints) - len(getattr(kind, "_field_defaults", {}))
    if not isinstance(value, list) or not least <= len(value) <= len(hints):
        raise _refused(where, f"a list of {least} to {len(hints)} values", value)
    return kind(
        *(
            _read(hint, item, f"{where}[{number}]")
            for number, (hint, item) in enumerate(zip(hints, value, strict=False))
        )
    )


@lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, object]:
    return {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_natural(value: object) -> bool:
    return _is_int(value) and 0 <= cast("int", value) <= _LARGEST


def _is_moment(value: object) -> bool:
    try:
        check_time(value, where="")
    except InputError:
        return False
    return value is not None


def _is_score(value: object) -> bool:
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return False
    return math.isfinite(number) and repr(number) == value


_SIMPLE: dict[object, tuple[str, Callable[[object], bool]]] = {
    str: ("text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number", _is_int),
    float: ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    Natural: ("a whole number from 0", _is_natural),
    Moment: ("seconds since 1970", _is_moment),
    Score: ("a finite number as text", _is_score),
    Hash: (
        "64 hexadecimal digits",
        lambda value: isinstance(value, str) and _HASH.fullmatch(value) is not None,
    ),
}


def _refused(where: str, expected: str, value: object) -> FormatError:
    return FormatError(f"{where or 'receipt'}: expected {expected}, got {_short(value)}; {_AS_WRITTEN}")


def _short(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    if _is_int(value) and abs(cast("int", value)) > _LARGEST:
        return "a number of more than 18 digits"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _number(value: float, where: str) -> int | float:
    if not math.isfinite(value):
        raise FormatError(f"{where} is {value}, which JSON does not have; give a finite number")
    return int(value) if value.is_integer() else value


def _text(value: str, where: str) -> str:
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError as error:
        raise FormatError(f"{where} has a lone surrogate at character {error.start}; it is not UTF-8") from error
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        names = Counter(name for name, _ in pairs)
        twice = min(name for name in unique if names[name] > 1)
        raise FormatError(f"{_short(twice)} stands twice in one object; {_AS_WRITTEN}")
    return unique


def _no_constant(name: str) -> None:
    raise FormatError(f"{name} is not JSON; {_AS_WRITTEN}")
