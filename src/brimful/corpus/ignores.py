"""Which names do .gitignore and .ignore files leave out?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from brimful.patterns import compiled

MAX_IGNORE_BYTES = 1_048_576
_MOST_STARS = 3  # `**` in one rule; each multiplies the ways to match a path


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring rules that say the same: one search for all of them."""

    keeps: bool
    names: re.Pattern[str] | None
    paths: re.Pattern[str] | None

    def matches(self, path: str, name: str) -> bool:
        return bool((self.names and self.names.fullmatch(name)) or (self.paths and self.paths.fullmatch(path)))


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one ignore file, for paths relative to its folder; a folder's path ends with a slash.

    >>> rules = IgnoreRules.parse("*.log\\n!keep.log\\nbuild/\\n/top.txt\\ndocs/**/*.tmp")
    >>> rules.verdict("a/b.log"), rules.verdict("a/keep.log"), rules.verdict("a/build/"), rules.verdict("a/build")
    (True, False, True, None)
    >>> rules.verdict("top.txt"), rules.verdict("a/top.txt"), rules.verdict("docs/x/y/z.tmp")
    (True, None, True)
    """

    groups: tuple[_Group, ...]  # the last rule first: it decides

    @classmethod
    def parse(cls, text: str) -> IgnoreRules:
        """Read an ignore file; a rule that can't match anything is passed over, as git does."""
        rules = [rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r")))]
        groups = []
        for keeps, run in groupby(reversed(rules), key=lambda rule: rule[0]):
            members = list(run)
            groups.append(
                _Group(
                    keeps,
                    _any_of([pattern for _, in_path, pattern in members if not in_path]),
                    _any_of([pattern for _, in_path, pattern in members if in_path]),
                )
            )
        return cls(tuple(groups))

    def verdict(self, path: str) -> bool | None:
        """True to leave out, False to keep, None when no rule speaks of this path."""
        name = path[path.rfind("/", 0, -1) + 1 :]
        for group in self.groups:
            if group.matches(path, name):
                return not group.keeps
        return None


def _any_of(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(patterns), re.DOTALL) if patterns else None


def _rule(line: str) -> tuple[bool, bool, str] | None:
    """(keeps, speaks of a path rather than a name, pattern); None for comments and what can't match."""
    line = _without_blanks(line)
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    line = line[1:] if keeps else line
    folder_only = line.endswith("/")
    line = line.removesuffix("/")
    in_path = "/" in line
    pattern = glob_pattern(line.removeprefix("/"))
    if pattern is None or not line:
        return None
    return keeps, in_path, pattern + ("/" if folder_only else "/?")


def _without_blanks(line: str) -> str:
    """A rule without the blanks at its end; one behind a backslash that is not escaped itself belongs to it.

    >>> _without_blanks("tea  "), _without_blanks("tea\\\\ "), _without_blanks("tea\\\\\\\\ ")
    ('tea', 'tea\\\\ ', 'tea\\\\\\\\')
    """
    rest = line.rstrip(" ")
    escapes = len(rest) - len(rest.rstrip("\\"))
    return rest + " " if escapes % 2 and len(rest) < len(line) else rest


def glob_pattern(glob: str) -> str | None:
    """The regular expression for a glob: `*` within a name, `**` across folders, `?`, `[a-z]`, `[!a]`, `\\*`.

    A star takes as little as it can and never gives back: the first place where what follows it fits
    is as good as any later one, so a hostile glob costs no more than a plain one.

    >>> bool(re.fullmatch(glob_pattern("src/**/*.py"), "src/a/b/c.py"))
    True
    """
    pieces: list[str] = []
    parts = re.sub(r"(?:\*\*/){2,}", "**/", glob).split("/")
    if sum(part == "**" for part in parts) > _MOST_STARS:
        return None
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**" and last:
            pieces.append("[^/]+(?:/[^/]+)*" if at else "(?:[^/]+/)*[^/]+")
        elif part == "**":
            pieces.append("(?:[^/]+/)*")
        else:
            name = _name_pattern(part)
            if name is None:
                return None
            pieces.append(name if last else name + "/")
    pattern = "(?:" + "".join(pieces) + ")"
    try:
        re.compile(pattern)
    except re.error:
        return None  # a reversed range such as [z-a]: it matches nothing
    return pattern


_TOKEN = compiled(r"\\(.)|(\*+)|(\?)|(\[[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])|(.)", re.DOTALL)


def _name_pattern(part: str) -> str | None:
    """One name of a path; None when a bracket or a backslash is left open."""
    stars: list[str] = [""]
    at = 0
    while at < len(part):
        token = _TOKEN.match(part, at)
        if token is None or (token[5] in ("[", "\\")):
            return None
        at = token.end()
        if token[2]:
            stars.append("")
        else:
            stars[-1] += _one(token)
    first, *rest = stars
    if not rest:
        return first
    # Every star but the last takes the first fit; the last one is followed by what ends the name.
    return first + "".join(f"(?>[^/]*?{after})" for after in rest[:-1]) + "[^/]*" + rest[-1]


def _one(token: re.Match[str]) -> str:
    escaped, _, question, bracket, plain = token.groups()
    if question:
        return "[^/]"
    if bracket:
        return _bracket(bracket)
    return re.escape(escaped or plain)


_CLASSES = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:xdigit:]": "0-9A-Fa-f",
}


def _bracket(bracket: str) -> str:
    inside = bracket[1:-1]
    negated = inside[:1] in ("!", "^")
    inside = inside[1:] if negated else inside
    body = ""
    for found in re.finditer(r"\[:\w+:\]|\\(.)|(.)", inside, re.DOTALL):
        if found[0] in _CLASSES:
            body += _CLASSES[found[0]]
        elif found[1]:
            body += re.escape(found[1])
        else:
            body += found[0] if found[0] == "-" or found[0].isalnum() else re.escape(found[0])
    return f"(?!/)[{'^' if negated else ''}{body}]"
