"""Output for a person or a program.

Data goes to stdout, as exact bytes through a pipe; everything else goes to stderr. Colour and motion are for terminals
only, and for none with NO_COLOR. Text of documents and file names can't steer a terminal.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from brimful.text.unseen import INVISIBLE

_CONTROLS = f"\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff{INVISIBLE}"
_HARMFUL = re.compile(f"[{_CONTROLS}]")
_HARMFUL_IN_A_LINE = re.compile(f"[\\t\\n{_CONTROLS}]")
_WIDEST = 100
_STYLES = {"strong": "1", "faint": "2", "path": "36", "good": "32", "warn": "33", "bad": "31"}


def harmless(text: str) -> str:
    r"""A text that can't steer a terminal or hide in it: controls and invisible characters are written out.

    >>> harmless("red \x1b[31m\n")
    'red \\x1b[31m\n'
    """
    return _HARMFUL.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    r"""A path or a message on one line, with its controls written out.

    >>> one_line("a\nb\u202e")
    'a\\nb\\u202e'
    """
    return _HARMFUL_IN_A_LINE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape", "surrogatepass").decode()


def is_plain(stream: TextIO) -> bool:
    """Whether a stream takes neither colour nor motion."""
    return not stream.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def width() -> int:
    """Columns to fill, 80 where the terminal does not say."""
    return max(min(shutil.get_terminal_size().columns, _WIDEST), 20)


def tint(style: str, text: str, *, stream: TextIO | None = None) -> str:
    """A text in colour, if its stream wants any."""
    stream = stream or sys.stderr
    return text if is_plain(stream) else f"\033[{_STYLES[style]}m{text}\033[0m"


def say(text: str = "") -> None:
    """Print a line for the person on stderr; the text is harmless already."""
    _write(sys.stderr, text + "\n")


def give(text: str) -> None:
    """Print data on stdout: exact bytes through a pipe, made harmless on a terminal."""
    if sys.stdout.isatty():
        _write(sys.stdout, harmless(text) + ("" if text.endswith("\n") or not text else "\n"))
        sys.stdout.flush()
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def show(text: str) -> None:
    """Print lines for stdout that are harmless already, and perhaps in colour."""
    if sys.stdout.isatty():
        _write(sys.stdout, text)
        sys.stdout.flush()
    else:
        give(text)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))


def shortened(text: str, room: int) -> str:
    """A line cut in its middle, so that the end of a path stays visible.

    >>> shortened("documentation/chapter-one.md:10-20", 20)
    'documen…one.md:10-20'
    """
    if len(text) <= room or room < 2:
        return text
    tail = (room - 1) * 2 // 3
    return f"{text[: room - 1 - tail]}…{text[len(text) - tail :]}"


def shown_place(path: str, where: str, room: int, *, stream: TextIO) -> str:
    """A path and a place in it, cut to `room` columns on a terminal; the end of a path tells files apart."""
    if not stream.isatty() or len(path) + len(where) <= room:
        return path + where
    where = where if len(where) <= room // 2 else f"{where[: room // 2 - 1]}…"
    return (path if len(path) <= room - len(where) else f"…{path[len(path) - (room - len(where)) + 1 :]}") + where


def bar(parts: Sequence[tuple[str, int, str]], room: int) -> str:
    """Shares of a total as one line of (style, amount, mark); every amount above zero gets a cell if there is room.

    >>> bar([("good", 6, "#"), ("warn", 1, "="), ("faint", 3, ".")], 10)
    '######=...'
    """
    total = sum(amount for _, amount, _ in parts)
    if not total:
        return ""
    cells = [amount * room // total for _, amount, _ in parts]
    cells = [max(size, 1) if part[1] else 0 for size, part in zip(cells, parts, strict=True)]
    largest = max(range(len(parts)), key=lambda at: (cells[at], -at))
    cells[largest] += room - sum(cells)
    return "".join(tint(style, mark * size) for (style, _, mark), size in zip(parts, cells, strict=True) if size > 0)


_SHOWN_SECONDS = 0.1
_SURE_SECONDS = 2.0  # sooner, the time left would be a guess


_Advance = Callable[[str, int, int], None]
"""Shows progress: the name of what is done, how many are done, and of how many (0: unknown)."""


@contextmanager
def progress(task: str) -> Iterator[_Advance | None]:
    """Show progress with the time left on a terminal, and leave nothing there; None elsewhere."""
    if is_plain(sys.stderr):
        yield None
        return
    began = drawn = time.monotonic()

    def advance(name: str, done: int, total: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - drawn < _SHOWN_SECONDS:  # drawing more often would take longer than the work
            return
        drawn, seconds = now, now - began
        count = f" {done:,} of {total:,}" if total else f" {done:,}" if done else ""
        is_sure = 0 < done < total and seconds > _SURE_SECONDS
        left = f", {_clock(seconds * (total - done) / done)} left" if is_sure else ""
        line = shortened(f"{task}{count} {_clock(seconds)}{left}", width() - 1)
        last = shortened(one_line(name), min(30, width() - len(line) - 2))
        sys.stderr.write(f"\r\x1b[2K{line} {tint('faint', last)}" if last else f"\r\x1b[2K{line}")
        sys.stderr.flush()

    sys.stderr.write(f"\r\x1b[2K{task}")
    sys.stderr.flush()
    try:
        yield advance
    finally:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    """Minutes and seconds, as in 2:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def confirmed(question: str) -> bool:
    """Whether a person says yes; without a terminal nobody can."""
    if not sys.stdin.isatty():
        say(f"{question} Nobody can be asked here: add --yes.")
        return False
    say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
