"""Which names do .gitignore and .ignore files leave out?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

MAX_IGNORE_BYTES = 262_144
_MAX_RULE_CHARACTERS = 4_096  # the longest path that a system has
_MAX_DOUBLE_STARS = 3  # in one rule; each multiplies the ways to match a path


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of an ignore file, for paths relative to its folder; a folder's path ends with a slash.

    >>> rules = IgnoreRules.parse("*.log\\n!keep.log\\nbuild/\\n/top.txt\\ndocs/**/*.tmp")
    >>> rules.verdict("a/b.log"), rules.verdict("a/keep.log"), rules.verdict("a/build/"), rules.verdict("a/build")
    (True, False, True, None)
    >>> rules.verdict("top.txt"), rules.verdict("a/top.txt"), rules.verdict("docs/x/y/z.tmp")
    (True, None, True)
    """

    # Of neighbouring rules: whether they keep, their names, their paths. The last rule comes first and decides.
    groups: tuple[tuple[bool, re.Pattern[str], re.Pattern[str]], ...]

    @classmethod
    def parse(cls, text: str) -> IgnoreRules:
        """Read an ignore file; a rule that can't match anything is passed over, as git does."""
        rules = [rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r")))]
        groups = []
        for keeps, run in groupby(reversed(rules), key=lambda rule: rule[0]):
            patterns = list(run)
            names, paths = ("|".join(p for _, is_path, p in patterns if is_path == wanted) for wanted in (False, True))
            groups.append((keeps, re.compile(names or _NOTHING, re.DOTALL), re.compile(paths or _NOTHING, re.DOTALL)))
        return cls(tuple(groups))

    def verdict(self, path: str) -> bool | None:
        """True to leave out, False to keep, None when no rule names this path."""
        name = path[path.rfind("/", 0, -1) + 1 :]
        for keeps, names, paths in self.groups:
            if names.fullmatch(name) or paths.fullmatch(path):
                return not keeps
        return None


_NOTHING = r"(?!)"


def _rule(line: str) -> tuple[bool, bool, str] | None:
    """(keeps, names a path rather than a name, pattern); None for comments and what can't match."""
    line = _without_blanks(line)
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    line = line[1:] if keeps else line
    ending = "/" if line.endswith("/") else "/?"
    line = line.removesuffix("/")
    pattern = glob_pattern(line.removeprefix("/"))
    return (keeps, "/" in line, pattern + ending) if line and pattern is not None else None


def _without_blanks(line: str) -> str:
    """A rule without the blanks at its end; a blank after an unescaped backslash stays.

    >>> _without_blanks("tea  "), _without_blanks("tea\\\\ "), _without_blanks("tea\\\\\\\\ ")
    ('tea', 'tea\\\\ ', 'tea\\\\\\\\')
    """
    stripped = line.rstrip(" ")
    escapes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if escapes % 2 and len(stripped) < len(line) else stripped


def glob_pattern(glob: str) -> str | None:
    """The regular expression for a glob: `*` within a name, `**` across folders, `?`, `[a-z]`, `[!a]`, `\\*`.

    A star takes as little as it can and never gives back: the first place where what follows it fits
    is as good as any later one, so a hostile glob costs no more than a plain one.

    >>> bool(re.fullmatch(glob_pattern("src/**/*.py"), "src/a/b/c.py"))
    True
    """
    *folders, name = re.sub(r"(?:\*\*/){2,}", "**/", glob).split("/")
    if len(glob) > _MAX_RULE_CHARACTERS or [*folders, name].count("**") > _MAX_DOUBLE_STARS:
        return None
    pattern = ""
    for folder in folders:
        part = _name_pattern(folder)
        if part is None:
            return None
        pattern += "(?:[^/]+/)*" if folder == "**" else part + "/"
    last = "(?:[^/]+/)*[^/]+" if name == "**" else _name_pattern(name)
    if last is None:
        return None
    pattern = f"(?:{pattern}{last})"
    try:
        re.compile(pattern)
    except re.error:
        return None  # a reversed range such as [z-a] matches nothing
    return pattern


_TOKEN = re.compile(r"\\(.)|(\*+)|(\?)|(\[[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])|(.)", re.DOTALL)


def _name_pattern(part: str) -> str | None:
    """The pattern of one name in a path; None when a bracket or a backslash is left open."""
    between: list[str] = [""]  # the stars
    position = 0
    while token := _TOKEN.match(part, position):
        escaped, stars, question, bracket, plain = token.groups()
        if plain in ("[", "\\"):
            return None
        position = token.end()
        if stars:
            between.append("")
        else:
            between[-1] += "[^/]" if question else _bracket(bracket) if bracket else re.escape(escaped or plain)
    first, *segments = between
    if not segments:
        return first
    # Every star but the last takes the first fit; the last one is followed by what ends the name.
    return first + "".join(f"(?>[^/]*?{after})" for after in segments[:-1]) + "[^/]*" + segments[-1]


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
    body = ""
    for part in re.finditer(r"\[:\w+:\]|\\(.)|(.)", inside[negated:], re.DOTALL):
        if part[0] in _CLASSES:
            body += _CLASSES[part[0]]
        elif part[1]:
            body += re.escape(part[1])
        else:
            body += part[0] if part[0] == "-" or part[0].isalnum() else re.escape(part[0])
    return f"(?!/)[{'^' if negated else ''}{body}]"
