"""Why is a file left out, and what lets it in?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from brimful.errors import SettingError, choose

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
OVERRIDABLE: tuple[Reason, ...] = (
    "hidden",
    "ignored",
    "derived",
    "secret",
    "binary",
    "too_large",
    "outside",
    "encoding",
)
"""What `allow` may name. Behind every other reason there is nothing that could be read."""


MOST_WORKERS = 16


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not in the corpus; a folder's path ends with a slash and stands for all in it."""

    path: str
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What is taken in, and how much of it.

    `allow` lifts reasons, `encoding` is tried before the rules of `brimful.corpus.encodings`.

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
    # Processes that read and index what is taken in; None: two where there are two cores and much to do, else one.
    workers: int | None = None

    def __post_init__(self) -> None:
        for reason in self.allow:
            choose(reason, OVERRIDABLE, what="reason to allow")
        object.__setattr__(self, "allow", frozenset(self.allow))
        for name in ("exclude", "include"):
            value = getattr(self, name)
            several = (value,) if isinstance(value, str) else tuple(value)
            if not all(isinstance(each, str) and each.strip() and "\n" not in each for each in several):
                raise SettingError(f"{name} is {value!r}; it is a pattern such as '*.log' or 'old/', or several")
            object.__setattr__(self, name, several)
        for name in (name for name in self.__slots__ if name.startswith("max_")):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingError(f"{name} is {value!r}; it must be at least 1")
        if self.workers is not None and (type(self.workers) is not int or not 1 <= self.workers <= MOST_WORKERS):
            raise SettingError(f"workers is {self.workers!r}; give a number from 1 to {MOST_WORKERS}")

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
