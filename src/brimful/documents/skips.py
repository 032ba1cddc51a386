"""Why is a file left out, and what lets it in?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from brimful.choices import normalise
from brimful.errors import SettingError, choose

_Liftable = Literal["hidden", "ignored", "derived", "secret", "binary", "too_large", "outside", "encoding"]
"""Reasons that `allow` may lift; with any other there is nothing to read."""
_Final = Literal[
    "excluded", "link", "loop", "broken", "special", "unreadable", "name", "too_deep", "changing", "malformed", "empty"
]
Reason = Literal[_Liftable, _Final, "missing_part"]
"""Closed list of reasons; docs/loaders.md says what each means and what to do about it."""
_LIFTABLE: tuple[Reason, ...] = get_args(_Liftable)
REASONS: tuple[Reason, ...] = get_args(Reason)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not in the corpus; a folder's path ends with a slash and includes everything below."""

    path: str
    reason: Reason
    detail: str = ""


def matching(skipped: Iterable[Skipped], question: str) -> list[Skipped]:
    """Skipped files whose name shares a word of at least 4 letters, or its beginning, with a question.

    >>> [file.path for file in matching([Skipped("docs/usage.rst", "secret"), Skipped(".env", "secret")], "Usage?")]
    ['docs/usage.rst']
    """
    words = set(_WORD.findall(question.casefold()))

    def is_named(file: Skipped) -> bool:
        names = _WORD.findall(file.path.rstrip("/").rpartition("/")[2].rpartition(".")[0].casefold())
        return any(name.startswith(word) or word.startswith(name) for name in names for word in words)

    return [file for file in skipped if is_named(file)]


_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Which files are read, and the limits of what they may become.

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
    # What can only be converted as a whole (PDF, Office, mail, HTML, chats) is held in memory.
    max_whole_bytes: int = 50_000_000
    # Patterns as in an ignore file. `include` alone is read, unless it is empty.
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    # What a converted file may become: its text, its pages or messages, and its parts when unzipped.
    max_text_bytes: int = 100_000_000
    max_pages: int = 20_000
    max_unpacked_bytes: int = 200_000_000
    max_cells: int = 2_000_000
    # A page of HTML or a part of Word or PowerPoint, which their parsers hold as a whole at up to 30 times its size.
    max_part_bytes: int = 10_000_000
    # Memory and processor time (and ten seconds more for each megabyte of the file) of the process that parses PDF,
    # Office, EPUB and mail, where the system has such limits.
    max_parser_bytes: int = 1_000_000_000
    max_parser_seconds: int = 60

    def __post_init__(self) -> None:
        for reason in self.allow:
            choose(reason, _LIFTABLE, what="reason to allow")
        normalise(self, allow=frozenset(self.allow))
        for name in ("exclude", "include"):
            value = getattr(self, name)
            patterns = (value,) if isinstance(value, str) else tuple(value)
            if not all(isinstance(pattern, str) and pattern.strip() and "\n" not in pattern for pattern in patterns):
                raise SettingError(f"{name} is {value!r}; it is a pattern such as '*.log' or 'old/', or several")
            normalise(self, **{name: patterns})
        for name in (name for name in self.__slots__ if name.startswith("max_")):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingError(f"{name} is {value!r}; it must be at least 1")

    def check_whole(self, size: int) -> None:
        """Refuse to hold a file that is too large to be held in memory."""
        for name in ("max_bytes", "max_whole_bytes"):
            limit = getattr(self, name)
            if size > limit and not self.allows("too_large"):
                raise Refusal("too_large", f"{size} bytes, more than {name} = {limit}")

    def allows(self, reason: Reason) -> bool:
        """Whether the caller lifted this reason."""
        return reason in self.allow


class Refusal(Exception):  # noqa: N818 - never leaves the package: it becomes a Skipped
    """Raised where a file turns out to be unusable, caught where its path is known."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def at(self, path: str) -> Skipped:
        """The skip to list for `path`."""
        return Skipped(path, self.reason, self.detail)


_PACKAGES = frozenset({"node_modules", "bower_components", "jspm_packages", "site-packages", "Pods"})
_CACHES = frozenset({"__pycache__", "CVS"})
_BUILT = {  # folders that a build makes, if one of these files is their sibling
    "target": ("pom.xml", "Cargo.toml", "build.sbt"),
    "build": ("pyproject.toml", "setup.py", "build.gradle", "build.gradle.kts", "CMakeLists.txt"),
    "dist": ("pyproject.toml", "setup.py", "webpack.config.js", "rollup.config.js", "vite.config.js", "vite.config.ts"),
    "_build": ("conf.py", "mix.exs", "dune-project"),
    "bin": ("obj/",),
    "obj": ("bin/",),
}


def derived_folder(name: str, *, siblings: Collection[str], entries: Collection[str]) -> str:
    """Describe a folder that nobody wrote by hand: packages, build output, a cache; "" if it may be anything else.

    >>> derived_folder("node_modules", siblings=(), entries=())
    "others' code, from a package manager"
    >>> derived_folder("build", siblings={"setup.py"}, entries=())
    'build output, next to setup.py'
    >>> derived_folder("build", siblings={"conf.py"}, entries=())
    ''
    """
    if name in _PACKAGES:
        return "others' code, from a package manager"
    if name in _CACHES or name.endswith(".egg-info"):
        return "what a program keeps for itself"
    if build_file := next((file for file in _BUILT.get(name, ()) if file in siblings), ""):
        return f"build output, next to {build_file}"
    if "pyvenv.cfg" in entries:
        return "a virtual environment of Python"
    return "a cache, as its CACHEDIR.TAG says" if "CACHEDIR.TAG" in entries else ""
