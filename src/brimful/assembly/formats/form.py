"""What is a format? Literals around windows, and a way to write each window's own text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from brimful.settings import FormatName
from brimful.text.unseen import BREAK, CONTROL, INVISIBLE
from brimful.windows.window import Window

Payload = str | list[dict[str, object]]
"""What is sent to a model: the text itself, or a provider's own structure around it."""


class Fragment(NamedTuple):
    """A run of rendered text: source bytes, an escape that stands for source bytes, or a template literal."""

    text: str
    kind: Literal["source", "escape", "literal"] = "literal"
    start: int = -1
    end: int = -1


class Block(NamedTuple):
    """Consecutive windows under one header."""

    path: str
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One format. A context is `opening + join(block_separator, blocks) + closing`, and a block is
    `block_opening(path) + join(window_separator, windows) + block_closing`.
    """

    name: FormatName
    block_opening: Callable[[str], str]
    write: Callable[[Window, bool], list[Fragment]]
    read: Callable[[Payload], list[Window]]
    payload: Callable[[Sequence[Block], str, bool], Payload]
    opening: str = ""
    closing: str = ""
    block_separator: str = ""
    block_closing: str = ""
    window_separator: str = ""


_LAST_OF_FOUR_DIGITS = 0xFFFF
_UNSAFE_IN_NAMES = re.compile(f"[\\\\{BREAK}{CONTROL}{INVISIBLE}\ufffe\uffff]")
_ESCAPED_IN_NAMES = re.compile(r"\\(?:u([0-9a-f]{4})|U([0-9a-f]{8}))")


def safe_name(path: str) -> str:
    r"""A path on one line as it is seen: controls, invisible characters and backslashes as \uXXXX.

    >>> safe_name("a\nb\U000e0041")
    'a\\u000ab\\U000e0041'
    """
    return _UNSAFE_IN_NAMES.sub(_written_out, path)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code <= _LAST_OF_FOUR_DIGITS else f"\\U{code:08x}"


def read_name(name: str) -> str:
    r"""The inverse of `safe_name`.

    >>> read_name(safe_name("a\n\\b")) == "a\n\\b"
    True
    """
    return _ESCAPED_IN_NAMES.sub(_read_back, name)


def _read_back(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= sys.maxunicode else match[0]


def details(window: Window) -> dict[str, object]:
    """What `include_metadata` shows of a window, in a fixed order (CFS include_metadata)."""
    shown: dict[str, object] = {"bytes": f"{window.start}-{window.end}"}
    if window.lines:
        shown["lines"] = f"{window.lines[0]}-{window.lines[1]}"
    shown["score"] = repr(window.score)
    if window.time is not None:
        shown["time"] = datetime.fromtimestamp(window.time, UTC).isoformat().replace("+00:00", "Z")
    return shown


def read_details(found: dict[str, str]) -> tuple[int, int, float, int | None]:
    """Start, end, score and time from what `details` wrote."""
    start, end = found["bytes"].split("-")
    time = found.get("time")
    seconds = int(datetime.fromisoformat(time).timestamp()) if time else None
    return int(start), int(end), float(found["score"]), seconds


def with_escapes(text: str, start: int, pattern: re.Pattern[str], escape: Callable[[str], str]) -> list[Fragment]:
    """Source text as fragments, with every match of `pattern` replaced by its escape."""
    fragments: list[Fragment] = []
    at, byte = 0, start
    for match in pattern.finditer(text):
        if match.start() > at:
            run = text[at : match.start()]
            fragments.append(Fragment(run, "source", byte, byte := byte + len(run.encode())))
        raw = match.group()
        fragments.append(Fragment(escape(raw), "escape", byte, byte := byte + len(raw.encode())))
        at = match.end()
    if at < len(text):
        run = text[at:]
        fragments.append(Fragment(run, "source", byte, byte + len(run.encode())))
    return fragments
