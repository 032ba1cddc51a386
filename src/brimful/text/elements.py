"""What are the records of a nested text: JSON, JSON Lines, XML?"""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from brimful.patterns import compiled
from brimful.text.cuts import Cuts, line_starts
from brimful.text.outline import Record
from brimful.text.times import epoch_of, time_of

_LARGEST_LOAD = 65_536
"""A larger record is read for its time and category by pattern, not by a full parse."""

_TIME_KEYS = (
    "timestamp", "time", "@timestamp", "datetime", "date", "ts", "created_at", "created", "createdAt",
    "published_at", "published", "updated_at", "updated", "updatedAt", "event_time", "start_time", "modified",
)  # fmt: skip
_CATEGORY_KEYS = (
    "category", "type", "kind", "level", "severity", "status", "class", "label", "group", "event", "topic",
)  # fmt: skip
_PAIR = compiled(
    rb'"(' + b"|".join(re.escape(key.encode()) for key in (*_TIME_KEYS, *_CATEGORY_KEYS)) + rb')"\s*:\s*'
    rb'("(?:[^"\\\n]++|\\.)*+"|-?\d+(?:\.\d+)?)'
)
_XML_TAG = compiled(
    rb"<(?:(?P<close>/)[^<>]*+>|(?P<other>!--(?:.*?-->|.*)|!\[CDATA\[(?:.*?\]\]>|.*)|[?!][^>]*+(?:>|\Z))"
    rb"|[A-Za-z_:\x80-\xff](?:[^<>\"'/]++|\"[^\"]*+\"|'[^']*+'|/(?!>))*+(?P<empty>/)?>)",
    re.DOTALL,
)


def read_json_lines(content: bytes) -> list[Record]:
    """One record a line."""
    starts = line_starts(content)
    spans = zip(starts.tolist(), np.append(starts[1:], len(content)).tolist(), strict=True)
    return [_record(content, start, end) for start, end in spans]


def read_json(content: bytes) -> list[Record]:
    r"""Elements of the top array, or of the array that fills most of the top object, or its members.

    >>> [(record.start, record.end) for record in read_json(b'[{"a": 1},\n {"a": 2}]')]
    [(0, 11), (11, 21)]
    """
    found = _elements(*_signs(content), length=len(content))
    return [] if found is None else _between(content, *found)


def json_cuts(content: bytes) -> tuple[Cuts, Cuts]:
    """Where elements begin, as `read_json` finds them, and where anything follows a comma, at any depth.

    >>> [cuts.tolist() for cuts in json_cuts(b'[{"a":1,"b":2},{"a":[3,4]}]')]
    [[15], [8, 15, 23]]
    """
    signs, kinds = _signs(content)
    found = _elements(signs, kinds, length=len(content))
    tops = np.array([] if found is None else found[2], np.int64)
    return tops + 1, signs[kinds == 44] + 1


def _signs(content: bytes) -> tuple[Cuts, NDArray[np.uint8]]:
    """Where commas, brackets and braces stand outside of strings, and which they are."""
    octets = np.frombuffer(content, dtype=np.uint8)
    outside = _outside_strings(octets)
    signs = np.flatnonzero(((octets == 44) | ((octets | 32) == 123) | ((octets | 32) == 125)) & outside)
    return signs, octets[signs]


def _elements(signs: Cuts, kinds: NDArray[np.uint8], *, length: int) -> tuple[int, int, list[int]] | None:
    """Where the elements' brackets open and close, and the commas between them."""
    opening, closing = (kinds | 32) == 123, (kinds | 32) == 125
    depth = np.cumsum(opening.astype(np.int64) - closing)
    tops = np.flatnonzero(opening)
    if not len(tops):
        return None
    first = int(tops[0])
    inner = _largest_array(signs, kinds, depth, first=first, length=length) if kinds[first] == 123 else None
    if inner is None:
        begin, level = first, int(depth[first])
        after = np.flatnonzero(closing[first:] & (depth[first:] < level))
        finish = first + int(after[0]) if len(after) else len(signs)
    else:
        begin, finish = inner
        level = int(depth[begin])
    commas = np.flatnonzero((kinds[begin:finish] == 44) & (depth[begin:finish] == level)) + begin
    open_at = int(signs[begin])
    close_at = int(signs[finish]) if finish < len(signs) else length
    return open_at, close_at, signs[commas].tolist()


def _outside_strings(octets: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """True where a byte is not inside a string.

    A string can't hold a newline, so every line starts outside one: a missing quotation mark
    spoils one line, not the rest of the text.
    """
    quotes = octets == 34
    slashes = np.flatnonzero(octets == 92)
    if len(slashes):
        breaks = np.flatnonzero(np.diff(slashes) != 1) + 1
        first = slashes[np.concatenate(([0], breaks))]
        last = slashes[np.concatenate((breaks - 1, [len(slashes) - 1]))]
        escaped = last[(last - first) % 2 == 0] + 1
        escaped = escaped[escaped < len(octets)]
        quotes[escaped] = False
    marks = np.flatnonzero(quotes)
    newlines = np.flatnonzero(octets == 10)
    # Drop the last mark of every line that has an odd number of them.
    line = np.searchsorted(newlines, marks)
    if len(marks):
        last_of_line = np.append(line[1:] != line[:-1], True)
        counts = np.diff(np.concatenate(([0], np.flatnonzero(last_of_line) + 1)))
        keep = np.ones(len(marks), dtype=np.bool_)
        keep[np.flatnonzero(last_of_line)[counts % 2 == 1]] = False
        marks = marks[keep]
    flips = np.zeros(len(octets), dtype=np.int8)
    flips[marks[0::2]] = 1
    flips[marks[1::2]] = -1
    outside: NDArray[np.bool_] = np.cumsum(flips, dtype=np.int8) == 0
    return outside


def _largest_array(
    signs: Cuts, kinds: NDArray[np.uint8], depth: Cuts, *, first: int, length: int
) -> tuple[int, int] | None:
    """The array directly inside the top object that takes at least half of the text, if any."""
    level = int(depth[first])
    opened = np.flatnonzero((kinds == 91) & (depth == level + 1))
    closed = np.flatnonzero((kinds == 93) & (depth == level))
    best: tuple[int, int] | None = None
    widest = length // 2
    ends = np.searchsorted(closed, opened, side="right")
    for begin, place in zip(opened.tolist(), ends.tolist(), strict=True):
        finish = int(closed[place]) if place < len(closed) else len(signs)
        width = (int(signs[finish]) if finish < len(signs) else length) - int(signs[begin])
        if width > widest:
            best, widest = (begin, finish), width
    return best


def _between(content: bytes, open_at: int, close_at: int, commas: list[int]) -> list[Record]:
    """Records between an opening sign, commas, and a closing sign, each with its own indentation."""
    starts = [_element_start(content, open_at + 1)]
    starts += [_element_start(content, comma + 1) for comma in commas]
    if not content[:open_at].strip():
        starts[0] = 0
    rest = content[close_at:].strip(b" \t\r\n]}")
    end = len(content) if not rest else min(close_at + 1, len(content))
    edges = [*sorted({start for start in starts if start < end}), end]
    return [_record(content, start, stop) for start, stop in pairwise(edges)]


_BLANKS = compiled(rb"[ \t\r]*+\n|[ \t]*+")


def _element_start(content: bytes, position: int) -> int:
    """After the blanks that end a line; the next line's indentation belongs to its element."""
    found = _BLANKS.match(content, position)
    return found.end() if found is not None else position


def _record(content: bytes, start: int, end: int) -> Record:
    """A record with the time and category that its own keys give."""
    if end - start <= _LARGEST_LOAD:
        text = content[start:end].strip(b" \t\r\n,")
        if text.startswith(b"{"):
            try:
                loaded = json.loads(text)
            except (ValueError, RecursionError):
                loaded = None
            if isinstance(loaded, dict):
                return Record(start, end, _time_in(loaded), _category_in(loaded))
    time: int | None = None
    category: str | None = None
    for found in _PAIR.finditer(content, start, min(end, start + _LARGEST_LOAD)):
        key, value = found[1].decode(), found[2].strip(b'"')
        if key in _TIME_KEYS:
            time = time_of(value, epoch=True) if time is None else time
        elif category is None:
            category = value.decode(errors="replace") or None
        if time is not None and category is not None:
            break
    return Record(start, end, time, category)


def _time_in(record: dict[str, object]) -> int | None:
    for key in _TIME_KEYS:
        value = record.get(key)
        if isinstance(value, str):
            time = time_of(value.encode(errors="replace"), epoch=True)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            time = epoch_of(value)
        else:
            continue
        if time is not None:
            return time
    return None


def _category_in(record: dict[str, object]) -> str | None:
    for key in _CATEGORY_KEYS:
        value = record.get(key)
        if isinstance(value, str) and 0 < len(value) <= 80:
            return value
    return None


def read_xml(content: bytes) -> list[Record]:
    """The elements directly inside the root; a text without two of them has no records."""
    starts: list[int] = []
    depth = end = 0
    for found in _XML_TAG.finditer(content):
        kind = found.lastgroup
        if kind == "other":
            continue
        if kind == "close":
            depth -= 1
            end = found.end() if depth == 1 else end
        else:
            if depth == 1:
                starts.append(found.start())
            if kind != "empty":
                depth += 1
            elif depth == 1:
                end = found.end()
    if len(starts) < 2:
        return []
    lines = [_line_or_self(content, start) for start in starts]
    edges = [*sorted(set(lines)), max(end, lines[-1])]
    newline = content.find(b"\n", edges[-1])
    if newline >= 0 and not content[edges[-1] : newline].strip():
        edges[-1] = newline + 1
    return [Record(start, stop) for start, stop in pairwise(edges) if stop > start]


def _line_or_self(content: bytes, position: int) -> int:
    line = content.rfind(b"\n", 0, position) + 1
    return line if not content[line:position].strip() else position
