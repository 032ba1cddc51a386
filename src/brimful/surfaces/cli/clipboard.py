"""How does a text get on the clipboard? With the system's own program, or through the terminal itself (OSC 52)."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys

from brimful.errors import InputError

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
