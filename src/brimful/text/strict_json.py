"""Is this JSON that means one thing only?

Refused are what readers disagree about or choke on: NaN and infinities, a key twice, half a surrogate pair, nesting
without end, numbers beyond all measure. For whatever strangers send: bodies of HTTP, messages of MCP, providers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from brimful.limits import NESTING, NUMBER_DIGITS

# Possessive, and fine with a text that never ends: no sequence of quotes makes it look twice at a byte.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1


class StrictJsonError(ValueError):
    """Why a text is refused."""


def nesting_of(body: bytes) -> int:
    """How deep brackets stand within brackets, texts aside.

    >>> nesting_of(b'{"a": [1, "[[["]}'), nesting_of(b"7"), nesting_of(b"]]]")
    (2, 0, 0)
    """
    outside = np.frombuffer(_STRING.sub(b"", body) or b" ", np.uint8)
    steps = _STEPS[outside]
    return max(int(np.cumsum(steps, dtype=np.int64).max(initial=0)), 0)


def strict_json(body: bytes, *, nesting: int = NESTING) -> object:
    """Parse JSON; a StrictJsonError where it is malformed or can be read in more ways than one.

    >>> strict_json(b'{"a": [1]}')
    {'a': [1]}
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        _refuse(f"byte {error.start} is not UTF-8; send JSON as UTF-8")
    deepest = nesting_of(body)
    if deepest > nesting:
        _refuse(f"it is nested {deepest} deep; {nesting} is the limit")
    try:
        value: object = json.loads(
            body, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_whole, parse_float=_finite
        )
    except StrictJsonError:
        raise
    except (ValueError, RecursionError) as error:
        _refuse(f"{error}; send one JSON object")
    if _SURROGATE.search(body):
        _no_surrogates(value)
    return value


def whole_characters(text: str) -> str:
    r"""The text with every half of a surrogate pair replaced, so that it can be written down.

    >>> whole_characters("tea \ud83c\udf75 \ud800")
    'tea 🍵 �'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _is_broken(text) else text


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            _refuse(f"the key {name[:60]!r} stands there twice; send it once")
        members[name] = value
    return members


def _no_constant(name: str) -> NoReturn:
    _refuse(f"{name} is not a number in JSON; leave it out or send null")


def _whole(digits: str) -> int:
    if len(digits) > NUMBER_DIGITS:
        _refuse(f"a number has {len(digits)} digits; {NUMBER_DIGITS} is the limit")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits) if len(digits) <= NUMBER_DIGITS else float("inf")
    if number in (float("inf"), float("-inf")):
        _refuse(f"{digits[:40]} is beyond what a number can hold")
    return number


def _no_surrogates(value: object) -> None:
    if _is_broken(json.dumps(value, ensure_ascii=False)):
        _refuse("a text has half of a surrogate pair; send whole characters")


def _refuse(why: str) -> NoReturn:
    raise StrictJsonError(why)
