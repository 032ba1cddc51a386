"""How is anything shown to a person, and kept plain for a program?

Data goes to standard output, as exact bytes through a pipe; everything else goes to standard error. Colour and motion
are for terminals only, and for none with NO_COLOR. What comes from documents and file names can't steer a terminal.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from brimful.errors import InputError
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
    r"""A path or a message on one line, harmless too.

    >>> one_line("a\nb\u202e")
    'a\\nb\\u202e'
    """
    return _HARMFUL_IN_A_LINE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape", "surrogatepass").decode()


def is_plain(stream: TextIO) -> bool:
    """Whether colour and motion are unwanted there."""
    return not stream.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def width() -> int:
    """Columns to fill, 80 where nobody knows."""
    return max(min(shutil.get_terminal_size().columns, _WIDEST), 20)


def tint(style: str, text: str, *, stream: TextIO | None = None) -> str:
    """A text in colour, if its stream wants any."""
    stream = stream or sys.stderr
    return text if is_plain(stream) else f"\033[{_STYLES[style]}m{text}\033[0m"


def say(text: str = "") -> None:
    """A line for the person, never mixed with the data; a text that is harmless already."""
    _write(sys.stderr, text + "\n")


def give(text: str) -> None:
    """The data: its exact bytes through a pipe, made harmless on a terminal."""
    if sys.stdout.isatty():
        _write(sys.stdout, harmless(text) + ("" if text.endswith("\n") or not text else "\n"))
        sys.stdout.flush()
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def show(text: str) -> None:
    """Lines made here for standard output: harmless already, and perhaps in colour."""
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
    """A path and a place in it; on a terminal cut to so many columns, since the end of a path tells files apart.

    Whoever reads a pipe or a file gets all of it.
    """
    if not stream.isatty() or len(path) + len(where) <= room:
        return path + where
    where = where if len(where) <= room // 2 else f"{where[: room // 2 - 1]}…"
    return (path if len(path) <= room - len(where) else f"…{path[len(path) - (room - len(where)) + 1 :]}") + where


def bar(parts: Sequence[tuple[str, int, str]], room: int) -> str:
    """Shares of a whole as one line: (style, amount, mark) each; every amount above zero gets a cell if there is room.

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
_TICK_SECONDS = 1.0


@contextmanager
def progress(task: str) -> Iterator[Callable[[str], None] | None]:
    """Something to call with the name of each file; on a terminal it shows them, and leaves nothing behind.

    Files come in batches of many: in between the clock goes on, so that nobody takes it for stuck.
    """
    if is_plain(sys.stderr):
        yield None
        return
    began = shown = time.monotonic()
    count, last = 0, ""
    is_done, drawing = threading.Event(), threading.Lock()

    def put() -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        number = f" {count:,}" if count else ""
        line = shortened(f"{task}{number} {minutes}:{seconds:02}", width() - 1)
        name = shortened(one_line(last), min(30, width() - len(line) - 2))
        with drawing:
            if not is_done.is_set():
                sys.stderr.write(f"\r\x1b[2K{line} {tint('faint', name)}" if name else f"\r\x1b[2K{line}")
                sys.stderr.flush()

    def tick() -> None:
        while not is_done.wait(_TICK_SECONDS):
            put()

    def advance(name: str) -> None:
        nonlocal count, shown, last
        count, last = count + 1, name
        if time.monotonic() - shown >= _SHOWN_SECONDS:  # more often is seen by nobody, and takes longer than the work
            shown = time.monotonic()
            put()

    put()
    clock = threading.Thread(target=tick, name="brimful-progress", daemon=True)
    clock.start()
    try:
        yield advance
    finally:
        with drawing:
            is_done.set()
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
        clock.join()


# ---- clipboard: How does a text get on the clipboard? With the system's own program, or through the terminal itself
# (OSC 52).

_PROGRAMS = (
    ("pbcopy", ()),
    ("wl-copy", ()),
    ("xclip", ("-selection", "clipboard")),
    ("xsel", ("--clipboard", "--input")),
    ("clip.exe", ()),
)
_NEEDS_DISPLAY = {"wl-copy": "WAYLAND_DISPLAY", "xclip": "DISPLAY", "xsel": "DISPLAY"}
_MOST_BYTES = 74_994  # what xterm, tmux and others take at once, before base64
_SECONDS = 10


def copy(text: str) -> str:
    """Put a text on the clipboard; returns what did it."""
    for program, options in _PROGRAMS:
        needs = _NEEDS_DISPLAY.get(program)
        found = shutil.which(program) if needs is None or os.environ.get(needs) else None
        if found is not None:
            _run([found, *options], text)
            return program
    if not sys.stderr.isatty():
        names = ", ".join(program for program, _ in _PROGRAMS)
        raise InputError(f"--copy finds no clipboard here: none of {names}, and no terminal; leave it out, or pipe")
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > _MOST_BYTES:
        raise InputError(f"a terminal's clipboard takes {_MOST_BYTES:,} bytes and this is {len(data):,}; install xclip")
    sys.stderr.write(f"\033]52;c;{base64.b64encode(data).decode()}\a")
    sys.stderr.flush()
    return "the terminal"


def say_copied(by: str | None) -> None:
    """What put a text on the clipboard, if anything did."""
    if by is not None:
        say(f"copied to the clipboard by {by}")


def _run(command: list[str], text: str) -> None:
    try:
        # xclip and wl-copy stay in the background to serve the text, so nothing waits for their output.
        subprocess.run(  # noqa: S603  (a fixed program, the text goes through its standard input)
            command,
            input=text.encode("utf-8", "surrogateescape"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{command[0]} could not take the text ({error}); leave --copy out, or pipe") from error
