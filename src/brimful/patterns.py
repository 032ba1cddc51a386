"""Which patterns has a module, without compiling them before one is used, and which characters does nobody see?

Every start of the program reads some hundred modules with some 350 patterns, and a question needs a few dozen of them:
compiling all took longer than the question itself. A pattern from here is compiled when something is first asked of it;
the program keeps what was compiled for its next start (`keep_in`).
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import Any, AnyStr

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split", "scanner")
_FACTS = ("pattern", "flags", "groups", "groupindex")


class _Later:
    """A pattern that is compiled at its first use; from then on its methods are the compiled pattern's own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS and name not in _FACTS:
            raise AttributeError(f"a pattern has no {name!r}")
        made = _kept.made(self._source, self._flags) if _kept is not None else re.compile(self._source, self._flags)
        for each in (*_METHODS, *_FACTS):  # so that nobody comes here twice
            setattr(self, each, getattr(made, each))
        return getattr(made, name)


def compiled(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern to be used as `re.compile` gives it, though not with the functions of `re`.

    >>> compiled("b+").sub("c", "abba")
    'aca'
    """
    made: Any = _Later(source, int(flags))
    return made  # type: ignore[no-any-return]


# ---- kept: What has an earlier process compiled? Python reads a pattern in Python, which takes fifty times as long as
# to hand what came of it to the machine that runs it.

_Code = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
"""What that machine is given beside the pattern: flags, instructions, groups and their names."""


class _Kept:
    """Patterns as they were compiled, in a file that is named by this very Python."""

    def __init__(self, folder: str) -> None:
        from zlib import crc32

        self._path = os.path.join(folder, f"patterns-{_machine().MAGIC}-{crc32(sys.version.encode()):08x}.table")  # noqa: PTH118
        self._known, self._is_new = self._read(), False

    def _read(self) -> dict[tuple[str | bytes, int], _Code]:
        """What is in the file; nothing where it is not whole."""
        from marshal import loads

        from blake3 import blake3

        with contextlib.suppress(OSError), open(self._path, "rb") as file:  # noqa: PTH123  (a path object takes as long)
            digest, content = file.read(32), file.read()
            if blake3(content).digest() == digest:
                found: dict[tuple[str | bytes, int], _Code] = loads(content)  # noqa: S302  (as Python reads its own modules)
                return found
        return {}

    def made(self, source: str | bytes, flags: int) -> re.Pattern[Any]:
        """A pattern as `re.compile` makes it."""
        try:
            if (source, flags) not in self._known:
                self._known[source, flags], self._is_new = _read_pattern(source, flags), True
            every, code, *names = self._known[source, flags]
            made: re.Pattern[Any] = _machine().compile(source, every, memoryview(code).cast("I").tolist(), *names)
        except (AttributeError, ImportError, TypeError):  # a Python that does it in another way
            return re.compile(source, flags)
        return made

    def write(self) -> None:
        """Keep what is new, beside what others have kept meanwhile; left undone where there is no room."""
        if not self._is_new:
            return
        from marshal import dumps

        from blake3 import blake3

        content, fresh = dumps({**self._read(), **self._known}), f"{self._path}.{os.getpid()}"
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._path), exist_ok=True)  # noqa: PTH103, PTH120
            try:
                with open(fresh, "wb") as file:  # noqa: PTH123
                    file.write(blake3(content).digest() + content)
                os.replace(fresh, self._path)  # noqa: PTH105
            except OSError:
                os.remove(fresh)  # noqa: PTH107


def _machine() -> Any:
    """What runs patterns; a type checker does not know it."""
    import _sre  # type: ignore[import-not-found]

    return _sre


def _read_pattern(source: str | bytes, flags: int) -> _Code:
    """What `re.compile` finds out about a pattern, by the same functions."""
    from array import array
    from re import _compiler, _parser  # type: ignore[attr-defined]

    found = _parser.parse(source, flags)
    code = array("I", _compiler._code(found, flags))  # noqa: SLF001  (there is no other way to it)
    names, named = found.state.groupdict, [None] * found.state.groups
    for name, number in names.items():
        named[number] = name
    return flags | found.state.flags, code.tobytes(), found.state.groups - 1, names, tuple(named)


_kept: _Kept | None = None


def keep_in(folder: str) -> None:
    """Take patterns from this folder that an earlier process has compiled, and keep there what this one compiles.

    It takes effect at the end of the process, so a program says it, no library.
    """
    global _kept  # noqa: PLW0603  (one for all patterns of a process)
    import atexit

    _kept = _Kept(folder)
    atexit.register(_kept.write)


# ---- unseen: Which characters does nobody see? Bodies of character classes, for patterns that must judge a text as a
# reader does.
#
# `INVISIBLE` characters take no room: zero-width, direction and tag characters, variation selectors, fillers, soft
# hyphens (Unicode's default-ignorable ones), and the controls of layout. They can hide a message in a name, or turn it
# around, so in names and labels they are written out. `BLANK` ones take room and show nothing. `CONTROL` ones are those
# of ASCII and Latin-1 that break no line; `BREAK` ends a line for one reader or another. `COMBINING` ones are drawn
# over what stands before them, which at the start of a line is nothing.

BREAK = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
CONTROL = "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"
BLANK = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\U0001d159"
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
COMBINING = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ufe20-\ufe2f"

ASCII_BREAK, ASCII_CONTROL, ASCII_BLANK = "\n\r\v\f\x1c\x1d\x1e", "\x00-\x08\x0e-\x1b\x1f\x7f", " \t"
"""What of these is ASCII: for patterns that are only asked of ASCII."""
