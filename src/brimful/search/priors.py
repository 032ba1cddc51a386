"""Which kinds of files seldom hold the answer? Tests, examples, change logs, generated text.

They repeat the words of what they serve, often more densely than the text that explains it. So they count for less,
unless the question asks for them. Only paths decide; `FieldSettings(priors=False)` turns this off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from brimful.index.segments import Numbers

ONE: Final = 1_000
"""What an ordinary file counts, in thousandths."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A kind of file, what it counts, and the words of a question that ask for it."""

    name: str
    thousandths: int
    pattern: re.Pattern[str]
    asked_by: frozenset[bytes]

    def __str__(self) -> str:
        return f"{self.name}: counts {self.thousandths / ONE:g}"


def _prior(name: str, thousandths: int, pattern: str, asked_by: str) -> Prior:
    return Prior(name, thousandths, re.compile(pattern, re.IGNORECASE), frozenset(asked_by.encode().split()))


_PRIORS: Final = (
    _prior(
        "test",
        600,
        r"(?:^|/)(?:tests?|unittests|__tests__|specs?|e2e|testdata|testsuite|fixtures)/|^(?:[^/]+/)?testing/"
        r"|(?:^|/)(?:test_[^/]*|conftest)\.py$"
        r"|[^/](?:_tests?|\.tests?|[._-]spec)\.\w{1,4}$|(?-i:Tests?)\.(?:java|kt|cs|swift|scala)$",
        "test tests testing tested unittest unittests pytest spec specs fixture fixtures assert asserts assertion mock",
    ),
    _prior(
        "example",
        850,
        r"(?:^|/)(?:examples?|samples?|demos?|tutorials?)/",
        "example examples sample samples demo demos tutorial",
    ),
    _prior(
        "change log",
        700,
        r"(?:^|/)(?:change[-_]?logs?|changes|history|news|rel(?:ease)?[-_]?notes?|whats[-_]?new|upgrading|releases?)"
        r"(?:[-_.]\w[^/]*|/.*)?$|(?:^|/)(?:changelog|whatsnew)[^/]*/",
        "changelog changes change changed history news release released releases version versions since upgrade"
        " upgrading migrate migration new added deprecated removed fixed fixes cve",
    ),
    _prior(
        "generated",
        500,
        r"(?:^|/)(?:[^/]+[.-]lock(?:\.json|\.yaml)?|npm-shrinkwrap\.json|go\.sum|pnpm-lock\.yaml)$"
        r"|\.min\.\w{2,4}$|\.(?:umd|bundle)\.m?js$|\.map$"
        r"|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|cc|h)$|[._]generated\.\w+$|(?:^|/)generated/",
        "lock lockfile locked pinned pin dependency dependencies minified bundle sourcemap generated protobuf stubs",
    ),
)


def priors_of(path: str) -> tuple[Prior, ...]:
    """The kinds that a path is of.

    >>> [prior.name for prior in priors_of("tests/test_heapq.py")], priors_of("heapq.py")
    (['test'], ())
    >>> [prior.name for prior in priors_of("tea/testing/cups.py")], priors_of("tea/numbers/testing/tools.py")
    (['test'], ())
    >>> [prior.name for path in ("uv.lock", "a/jquery.min.js", "CHANGES.rst") for prior in priors_of(path)]
    ['generated', 'generated', 'change log']
    """
    return tuple(prior for prior in _PRIORS if prior.pattern.search(path))


def prior_for(path: str, words: Iterable[bytes]) -> Prior | None:
    """The kind that decides what a document counts for a question with these words, if any does.

    >>> prior_for("test/test_heapq.py", [b"merge"]).name, prior_for("test/test_heapq.py", [b"test", b"merge"])
    ('test', None)
    """
    question_words = set(words)
    candidates = [prior for prior in priors_of(path) if prior.asked_by.isdisjoint(question_words)]
    return min(candidates, key=lambda prior: (prior.thousandths, prior.name), default=None)


class FileKinds:
    """The kinds that the documents of a corpus are of, and what each counts for a question.

    >>> kinds = FileKinds(["heapq.py", "test/test_heapq.py"])
    >>> kinds.counted([b"merge"]).tolist(), kinds.counted([b"test", b"merge"]).tolist()
    ([1000, 600], [1000, 1000])
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._count = len(paths)
        self._rows: list[NDArray[np.int64]] = [
            np.array([row for row, path in enumerate(paths) if prior.pattern.search(path)], np.int64)
            for prior in _PRIORS
        ]

    def counted(self, words: Iterable[bytes]) -> Numbers:
        """The weight of each document for a question with these words, in thousandths: the least of its kinds."""
        counted, question_words = np.full(self._count, ONE, np.int64), set(words)
        for prior, rows in zip(_PRIORS, self._rows, strict=True):
            if prior.asked_by.isdisjoint(question_words):
                counted[rows] = np.minimum(counted[rows], prior.thousandths)
        return counted
