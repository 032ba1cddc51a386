"""Which kinds of files seldom hold the answer? Tests, examples, change logs, lock files, minified and generated text.

They repeat the words of what they serve, often more densely than the text that explains it. So they count for less,
unless the question asks for them. So do translations of what is there in the question's own language. Told by paths
alone; `FieldSettings(priors=False)` counts all alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from brimful.classes import dataclass
from brimful.patterns import compiled

ONE: Final = 1_000
"""What an ordinary file counts, in thousandths."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A kind of file, what it counts, and the words of a question that ask for it."""

    name: str
    thousandths: int
    pattern: re.Pattern[str]
    asked_by: frozenset[bytes]
    hints: tuple[bytes, ...]  # one of them is in every path in ASCII that the pattern finds something in

    def __str__(self) -> str:
        return f"{self.name}: counts {self.thousandths / ONE:g}"


def _prior(name: str, thousandths: int, pattern: str, asked_by: str, *, hints: str) -> Prior:
    words = frozenset(asked_by.encode().split())
    return Prior(name, thousandths, compiled(pattern, re.IGNORECASE), words, tuple(hints.encode().split()))


_PRIORS: Final = (
    _prior(
        "test",
        600,
        r"(?:^|/)(?:tests?|__tests__|specs?|e2e|testdata|testsuite|fixtures)/|(?:^|/)(?:test_[^/]*|conftest)\.py$"
        r"|[^/]+(?:_tests?|\.tests?|[._-]spec)\.\w{1,4}$|(?:^|/)[^/]*(?-i:Tests?)\.(?:java|kt|cs|swift|scala)$",
        "test tests testing tested unittest unittests pytest spec specs fixture fixtures assert asserts assertion mock",
        hints="test spec e2e/ fixtures/",
    ),
    _prior(
        "example",
        850,
        r"(?:^|/)(?:examples?|samples?|demos?|tutorials?)/",
        "example examples sample samples demo demos tutorial",
        hints="example sample demo tutorial",
    ),
    _prior(
        "change log",
        700,
        r"(?:^|/)(?:change[-_]?logs?|changes|history|news|rel(?:ease)?[-_]?notes?|whats[-_]?new|upgrading|releases?)"
        r"(?:[-_.]\w[^/]*|/.*)?$|(?:^|/)(?:changelog|whatsnew)[^/]*/",
        "changelog changes change changed history news release released releases version versions since upgrade"
        " upgrading migrate migration new added deprecated removed fixed fixes cve",
        hints="change history news release relnote rel-note rel_note whats upgrading",
    ),
    _prior(
        "lock file",
        400,
        r"(?:^|/)(?:[^/]+[.-]lock(?:\.json|\.yaml)?|npm-shrinkwrap\.json|go\.sum|pnpm-lock\.yaml|gemfile\.lock)$",
        "lock lockfile locked pinned pin dependency dependencies shrinkwrap resolved integrity",
        hints="lock npm-shrinkwrap go.sum",
    ),
    _prior(
        "minified",
        400,
        r"\.min\.\w{2,4}$|\.(?:umd|bundle)\.m?js$|\.map$",
        "minified bundle umd sourcemap",
        hints=".min. .umd. .bundle. .map",
    ),
    _prior(
        "generated",
        600,
        r"_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|cc|h)$|[._]generated\.\w+$|\.g\.dart$|\.designer\.cs$|(?:^|/)generated/",
        "generated protobuf stub stubs",
        hints="_pb2 .pb. generated .g.dart .designer.cs",
    ),
)


TRANSLATION: Final = Prior("translation", 500, compiled(r"(?!)"), frozenset(), ())
"""A document that is there in the language of the question too."""

# A language in a path: `en-US/`, `pt_BR/`, `de/`, `guide.fr.md`.
_LANGUAGE = compiled(rb"([a-z]{2})(?:[-_][A-Za-z]{2,4})?")
_LONGEST_LANGUAGE = 7  # bytes
_KEPT_LANGUAGES = 8


def priors_of(path: str) -> tuple[Prior, ...]:
    """The kinds that a path is of.

    >>> [prior.name for prior in priors_of("tests/test_heapq.py")], priors_of("heapq.py")
    (['test'], ())
    >>> [prior.name for path in ("uv.lock", "a/jquery.min.js", "CHANGES.rst") for prior in priors_of(path)]
    ['lock file', 'minified', 'change log']
    """
    return tuple(prior for prior in _PRIORS if prior.pattern.search(path))


def prior_for(path: str, words: Iterable[bytes]) -> Prior | None:
    """The kind that decides what a document counts for a question with these words, if any does.

    >>> prior_for("test/test_heapq.py", [b"merge"]).name, prior_for("test/test_heapq.py", [b"test", b"merge"])
    ('test', None)
    """
    asked = set(words)
    left = [prior for prior in priors_of(path) if prior.asked_by.isdisjoint(asked)]
    return min(left, key=lambda prior: (prior.thousandths, prior.name), default=None)


def _perhaps_of_a_kind(paths: Sequence[str]) -> list[list[int]]:
    """For each kind, which paths have a hint of it in them, or letters beyond ASCII; the others need no pattern."""
    lines = [path.encode("utf-8", "replace") for path in paths]
    bounds = np.cumsum([0, *(len(line) + 1 for line in lines)])
    joined = b"\n".join(lines).lower()
    beyond = np.flatnonzero(np.frombuffer(joined, np.uint8) > 0x7F).tolist()
    rows = []
    for prior in _PRIORS:
        places = beyond + [place for hint in prior.hints for place in _places(joined, hint)]
        found = bounds.searchsorted(np.array(places, np.int64), side="right") - 1
        rows.append(sorted(set(found.tolist())))
    return rows


def _places(text: bytes, wanted: bytes) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


class FileKinds:
    """The kinds that the documents of a corpus are of, and what each counts for a question.

    >>> kinds = FileKinds(["heapq.py", "test/test_heapq.py"])
    >>> kinds.counted([b"merge"]).tolist(), kinds.counted([b"test", b"merge"]).tolist()
    ([1000, 600], [1000, 1000])
    """

    def __init__(self, paths: Sequence[str]) -> None:
        found: dict[int, tuple[Prior, ...]] = {}
        for prior, rows in zip(_PRIORS, _perhaps_of_a_kind(paths), strict=True):
            for row in rows:
                if prior.pattern.search(paths[row]):
                    found[row] = (*found.get(row, ()), prior)
        numbers: dict[tuple[Prior, ...], int] = {(): 0}
        self._of = np.zeros(len(paths), np.int64)
        for row, kinds in found.items():
            self._of[row] = numbers.setdefault(kinds, len(numbers))
        self._kinds = tuple(numbers)

    def counted(self, words: Iterable[bytes]) -> NDArray[np.int64]:
        """What each document counts for a question with these words, in thousandths."""
        asked = set(words)
        values = [
            min((prior.thousandths for prior in kind if prior.asked_by.isdisjoint(asked)), default=ONE)
            for kind in self._kinds
        ]
        return np.array(values, np.int64)[self._of] if values else self._of


class Translations:
    """Which documents are one text in several languages: their paths are the same but for a language's code.

    One that has none beside `README.fr.md` is in the language of the corpus.

    >>> paths = ["de/setup.md", "en/setup.md", "fr/setup.md", "fr/notes.md", "is/even.js", "README.md", "README.fr.md"]
    >>> rows, _ = Translations(paths, unmarked="en").into_others("en")
    >>> rows.tolist()
    [0, 2, 6]
    """

    def __init__(self, paths: Sequence[str], *, unmarked: str) -> None:
        lines = [path.replace("\n", " ").encode("utf-8", "replace") for path in paths]
        starts = np.cumsum([0, *(len(line) + 1 for line in lines)])
        plain = {line: row for row, line in enumerate(lines)}
        self._paths = paths
        self.into_others = lru_cache(_KEPT_LANGUAGES)(self._into_others)
        self._texts: dict[bytes, list[tuple[str, int]]] = {}
        for low, high in _short_parts(b"\n".join([*lines, b""])):
            row = int(starts.searchsorted(low, side="right")) - 1
            line, start = lines[row], int(starts[row])
            if name := _LANGUAGE.fullmatch(line, low - start, high - start):
                same = b"%b\n%b" % (line[: low - start], line[high - start :])
                texts = self._texts.setdefault(same, [])
                texts.append((name[1].decode(), row))
                without = line[: max(low - start - 1, 0)] + line[high - start :]
                if line[high - start : high - start + 1] == b"." and without in plain:
                    texts.append((unmarked, plain[without]))

    def _into_others(self, language: str) -> tuple[NDArray[np.int64], frozenset[str]]:
        """Rows, ascending, and paths of those in other languages than this one, where there is one in this."""
        others = {
            row
            for texts in self._texts.values()
            if any(name == language for name, _ in texts)
            for name, row in texts
            if name != language
        }
        return np.array(sorted(others), np.int64), frozenset(self._paths[row] for row in others)


def _short_parts(text: bytes) -> Iterator[tuple[int, int]]:
    """Where in lines of paths folders, or names between two dots, have two letters, or a dash or bar behind two."""
    codes = np.frombuffer(text, np.uint8)
    is_slash, is_dot, is_end = (codes == ord(sign) for sign in "/.\n")
    for is_open, is_close in ((is_slash | is_end, is_slash), (is_dot, is_dot)):
        marks = np.append(-1, np.flatnonzero(is_slash | is_end | is_close))
        sizes = np.diff(marks) - 1
        third = codes[np.minimum(marks[:-1] + 3, len(codes) - 1)]
        is_code = (sizes == 2) | ((sizes <= _LONGEST_LANGUAGE) & ((third == ord("-")) | (third == ord("_"))))
        opened = np.append(is_close is is_slash, is_open[marks[1:-1]])
        at = np.flatnonzero(is_code & opened & is_close[marks[1:]])
        yield from zip((marks[at] + 1).tolist(), marks[at + 1].tolist(), strict=True)
