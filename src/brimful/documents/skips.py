"""Why is a file left out, and what lets it in? What ignore files name, and every other reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

from brimful.choices import normalise
from brimful.errors import SettingError, choose

# ---- skips: Why is a file left out, and what lets it in?

Reason = Literal[
    "hidden",
    "ignored",
    "derived",
    "excluded",
    "secret",
    "binary",
    "too_large",
    "outside",
    "link",
    "loop",
    "broken",
    "special",
    "unreadable",
    "name",
    "too_deep",
    "changing",
    "encoding",
    "malformed",
    "empty",
    "missing_part",
]
"""Closed list of reasons; docs/loaders.md says what each means and what to do about it."""

REASONS: tuple[Reason, ...] = get_args(Reason)
_OVERRIDABLE: tuple[Reason, ...] = get_args(
    Literal["hidden", "ignored", "derived", "secret", "binary", "too_large", "outside", "encoding"]
)
"""What `allow` may name. Behind every other reason there is nothing that could be read."""


_MOST_WORKERS = 16


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not in the corpus; a folder's path ends with a slash and stands for all in it."""

    path: str
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What is taken in, and how much of it.

    `allow` lifts reasons, `encoding` is tried before the rules of `brimful.documents.encodings`.

    >>> SourceSettings(allow=("hidden",)).allows("hidden")
    True
    >>> SourceSettings(allow=("loop",))
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown reason to allow 'loop'; choices: hidden, ignored, ...
    """

    allow: Iterable[Reason] = ()
    encoding: str | None = None
    # A text is read block by block, so its size costs time and disk, not memory: some minutes for a text of this size.
    max_bytes: int = 2_000_000_000
    # What can only be converted as a whole (PDF, Office, mail, HTML, chats) and is therefore held in memory.
    max_whole_bytes: int = 50_000_000
    ignore_files: tuple[str, ...] = (".gitignore", ".ignore")  # a later name overrules an earlier one
    # Patterns as in an ignore file: what is left out beside all else, and what alone is taken in (empty: everything).
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    # What a converted file may become: its text, its pages or messages, and its parts when unzipped.
    max_text_bytes: int = 100_000_000
    max_pages: int = 20_000
    max_unpacked_bytes: int = 200_000_000
    max_cells: int = 2_000_000
    # A page of HTML or a part of Word or PowerPoint, which their parsers hold as a whole at up to 30 times its size.
    max_part_bytes: int = 10_000_000
    # Of memory and of processor time (and ten seconds more for each megabyte of the file): what the parsers of PDF and
    # Office may take, which run in a process of their own, where the system has such limits.
    max_parser_bytes: int = 1_000_000_000
    max_parser_seconds: int = 60
    # Threads: one reads and writes, the others index; None: two where there are two cores.
    workers: int | None = None

    def __post_init__(self) -> None:
        for reason in self.allow:
            choose(reason, _OVERRIDABLE, what="reason to allow")
        normalise(self, allow=frozenset(self.allow))
        for name in ("exclude", "include"):
            value = getattr(self, name)
            several = (value,) if isinstance(value, str) else tuple(value)
            if not all(isinstance(each, str) and each.strip() and "\n" not in each for each in several):
                raise SettingError(f"{name} is {value!r}; it is a pattern such as '*.log' or 'old/', or several")
            normalise(self, **{name: several})
        for name in (name for name in self.__slots__ if name.startswith("max_")):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingError(f"{name} is {value!r}; it must be at least 1")
        if self.workers is not None and (type(self.workers) is not int or not 1 <= self.workers <= _MOST_WORKERS):
            raise SettingError(f"workers is {self.workers!r}; give a number from 1 to {_MOST_WORKERS}")

    def check_whole(self, size: int) -> None:
        """Refuse to hold a file that is too large to be held."""
        for name in ("max_bytes", "max_whole_bytes"):
            limit = getattr(self, name)
            if size > limit and not self.allows("too_large"):
                raise Refusal("too_large", f"{size} bytes, more than {name} = {limit}")

    def allows(self, reason: Reason) -> bool:
        """Whether the caller lifted this reason."""
        return reason in self.allow


_OTHERS_CODE = frozenset({"node_modules", "bower_components", "jspm_packages", "site-packages", "Pods"})
_CACHES = frozenset({"__pycache__", "CVS"})
_BUILT = {  # what a build makes, beside the file that says how it is built
    "target": ("pom.xml", "Cargo.toml", "build.sbt"),
    "build": ("pyproject.toml", "setup.py", "build.gradle", "build.gradle.kts", "CMakeLists.txt"),
    "dist": ("pyproject.toml", "setup.py", "webpack.config.js", "rollup.config.js", "vite.config.js", "vite.config.ts"),
    "_build": ("conf.py", "mix.exs", "dune-project"),
    "bin": ("obj/",),
    "obj": ("bin/",),
}


def derived_folder(name: str, *, beside: Collection[str], inside: Collection[str]) -> str:
    """What a folder is that nobody wrote by hand: others' code, build output, a cache; nothing if it may be anything.

    >>> derived_folder("node_modules", beside=(), inside=())
    "others' code, as a package manager put it there"
    >>> derived_folder("build", beside={"setup.py"}, inside=())
    'what a build made, beside setup.py'
    >>> derived_folder("build", beside={"conf.py"}, inside=())
    ''
    """
    if name in _OTHERS_CODE:
        return "others' code, as a package manager put it there"
    if name in _CACHES or name.endswith(".egg-info"):
        return "what a program keeps for itself"
    if maker := next((each for each in _BUILT.get(name, ()) if each in beside), ""):
        return f"what a build made, beside {maker}"
    if "pyvenv.cfg" in inside:
        return "a virtual environment of Python"
    return "a cache, as its CACHEDIR.TAG says" if "CACHEDIR.TAG" in inside else ""


class Refusal(Exception):  # noqa: N818 - never leaves the package: it becomes a Skipped
    """Raised where a file turns out to be unusable, caught where its path is known."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def at(self, path: str) -> Skipped:
        """The skip to list for `path`."""
        return Skipped(path, self.reason, self.detail)


# ---- ignores: Which names do .gitignore and .ignore files leave out?

MAX_IGNORE_BYTES = 262_144
_MOST_CHARACTERS = 4_096  # of one rule; the longest path that a system has
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
            names: list[str] = []
            paths: list[str] = []
            for _, in_path, pattern in run:
                (paths if in_path else names).append(pattern)
            groups.append(_Group(keeps, _any_of(names), _any_of(paths)))
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
    if len(glob) > _MOST_CHARACTERS or sum(part == "**" for part in parts) > _MOST_STARS:
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
    if "[" in glob:
        try:
            re.compile(pattern)
        except re.error:
            return None  # a reversed range such as [z-a]: it matches nothing
    return pattern


_TOKEN = re.compile(r"\\(.)|(\*+)|(\?)|(\[[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])|(.)", re.DOTALL)


def _name_pattern(part: str) -> str | None:
    """One name of a path; None when a bracket or a backslash is left open."""
    stars: list[list[str]] = [[]]
    at = 0
    while at < len(part):
        token = _TOKEN.match(part, at)
        if token is None or token[5] in ("[", "\\"):
            return None
        at = token.end()
        if token[2]:
            stars.append([])
        else:
            stars[-1].append(_one(token))
    first, *rest = map("".join, stars)
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
