"""Which patterns has a module, without compiling them before one is used?

Every start of the program reads some hundred modules with some 350 patterns, and a question needs a few dozen of them:
compiling all took longer than the question itself. A pattern from here is compiled when something is first asked of it.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr

_ASKED = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split", "scanner")
_TOLD = ("pattern", "flags", "groups", "groupindex")


class _Later:
    """A pattern that is compiled at its first use; from then on its methods are the compiled pattern's own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED and name not in _TOLD:
            raise AttributeError(f"a pattern has no {name!r}")
        made = re.compile(self._source, self._flags)
        for each in (*_ASKED, *_TOLD):  # so that nobody comes here twice
            setattr(self, each, getattr(made, each))
        return getattr(made, name)


def compiled(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern to be used as `re.compile` gives it, though not with the functions of `re`.

    >>> compiled("b+").sub("c", "abba")
    'aca'
    """
    made: Any = _Later(source, int(flags))
    return made  # type: ignore[no-any-return]
