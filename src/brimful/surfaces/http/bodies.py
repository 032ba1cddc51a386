"""Is a body JSON that means one thing only?

Refused are what readers disagree about or choke on: NaN and infinities, a key twice, half a surrogate pair, nesting
without end, numbers beyond all measure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NoReturn

from brimful.surfaces.http.problems import RefusedRequest

# Possessive, and fine with a text that never ends: no sequence of quotes makes it look twice at a byte.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONGEST_NUMBER = 400


def check_json(body: bytes, *, nesting: int) -> None:
    """Refuse what is not JSON, or can be read in more ways than one.

    >>> check_json(b'{"a": [1]}', nesting=2)
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        _refuse(f"byte {error.start} is not UTF-8; send JSON as UTF-8")
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > nesting:
        _refuse(f"it is nested {deepest} deep; {nesting} is the limit")
    try:
        found = json.loads(
            body, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_whole, parse_float=_finite
        )
    except RefusedRequest:
        raise
    except (ValueError, RecursionError) as error:
        _refuse(f"{error}; send one JSON object")
    if _SURROGATE.search(body):
        _no_surrogates(found)


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            _refuse(f"the key {name[:60]!r} stands there twice; send it once")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    _refuse(f"{name} is no number of JSON; leave it out or send null")


def _whole(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        _refuse(f"a number has {len(digits)} digits; {_LONGEST_NUMBER} is the limit")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits) if len(digits) <= _LONGEST_NUMBER else float("inf")
    if number in (float("inf"), float("-inf")):
        _refuse(f"{digits[:40]} is beyond what a number can hold")
    return number


def _no_surrogates(found: object) -> None:
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        _refuse("a text has half of a surrogate pair; send whole characters")


def _refuse(why: str) -> NoReturn:
    raise RefusedRequest("request.json", f"the body is refused: {why}")
