"""Which kinds of files seldom hold the answer? Tests, examples, code of others, change logs, generated text.

They repeat the words of what they serve, often more densely than the text that explains it. So they count for less,
unless the question asks for them. So do translations, where a text exists in the question's language. Only paths
decide; `FieldSettings(priors=False)` turns this off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.native.runs import mark_lines

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
    rule: str = ""  # what the pattern was made of

    def __str__(self) -> str:
        return f"{self.name}: counts {self.thousandths / ONE:g}"


def _prior(name: str, thousandths: int, pattern: str, asked_by: str, *, hints: str) -> Prior:
    words = frozenset(asked_by.encode().split())
    return Prior(name, thousandths, re.compile(pattern, re.IGNORECASE), words, tuple(hints.encode().split()), pattern)


_PRIORS: Final = (
    _prior(
        "test",
        600,
        r"(?:^|/)(?:tests?|unittests|__tests__|specs?|e2e|testdata|testsuite|fixtures)/|^(?:[^/]+/)?testing/"
        r"|(?:^|/)(?:test_[^/]*|conftest)\.py$"
        r"|[^/](?:_tests?|\.tests?|[._-]spec)\.\w{1,4}$|(?-i:Tests?)\.(?:java|kt|cs|swift|scala)$",
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
        "vendored",
        700,
        r"(?:^|/)(?:_?vendor(?:ed)?|third[-_]?party|externals?|node_modules|bower_components)/.*"
        r"\.(?:py|[cm]?[jt]sx?|go|rs|rb|php|c|h|cc|cpp|hpp|java|kt|cs|swift|lua|pl|pm|css|scss)$",
        "vendor vendored vendoring third party",
        hints="vendor third-party third_party thirdparty external node_modules bower_components",
    ),
    _prior(
        "built",
        700,
        r"(?:^|/)(?:dist|build|out)/.*\.(?:[cm]?jsx?|css)$",
        "dist build builds built bundle bundles output",
        hints="dist/ build/ out/",
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


SOURCE: Final = Prior("source code, beside manuals", 880, re.compile(r"(?!)"), frozenset(), ())
"""A source, where a question asks how something is done or what it is, and the corpus has prose that may tell it."""

_ASKS_HOW = re.compile(
    r"\W*(?:(?:how (?:do|can|to|should|could|would)|can i|is (?:it possible|there a way)|what (?:is|are)"
    r"|wie (?:kann|mache?|geht|lasse|lässt|stelle|bekomme|werden|wird)|kann ich|gibt es|was (?:ist|sind)"
    r"|comment|peut-on|qu.est-ce|c[oó]mo|se puede|qu[eé] (?:es|son)|come (?:si|posso)|(?:che )?cosa|o que"
    r"|hoe|wat (?:is|zijn)|как|что такое|можно ли)\b|如何|怎么|怎样|什么是)",
    re.IGNORECASE,
)
_ABOUT_CODE = re.compile(
    r"\b(?:functions?|class(?:es)?|methods?|code|sources?|implement\w*|defined?|definition|call(?:s|ed)|raises?d?"
    r"|Funktion|Klasse|Methode|Quelltext|fonction|classe|méthode|función|clase|método|funzione|metodo|função)\b",
    re.IGNORECASE,
)


def asks_how(text: str) -> bool:
    """Whether a question asks how something is done, or what it is, and not for code.

    >>> [asks_how(text) for text in ("How do I set a timeout?", "What is a session", "Wie kann ich das Log drehen?")]
    [True, True, True]
    >>> [asks_how(text) for text in ("how to call the parse function", "session timeout", "how does it merge?")]
    [False, False, False]
    """
    return _ASKS_HOW.match(text) is not None and _ABOUT_CODE.search(text) is None


TRANSLATION: Final = Prior("translation", 500, re.compile(r"(?!)"), frozenset(), ())
"""A document that is there in the language of the question too."""

# A language in a path: `en-US/`, `pt_BR/`, `de/`, `guide.fr.md`.
_CODE = rb"([a-z]{2})(?:[-_][A-Za-z]{2,4})?(?=%b)"
_FOLDER, _ENDING = (re.compile(_CODE % close) for close in (rb"/", rb"\."))
_KEPT_LANGUAGES = 8
_KEPT_COUNTS = 64


def rules() -> str:
    """A hash of the rules for paths: what was found by others is not what would be found now."""
    return blake3(repr((_CODE, [(prior.name, prior.rule, prior.hints) for prior in _PRIORS])).encode()).hexdigest(8)


def priors_of(path: str) -> tuple[Prior, ...]:
    """The kinds that a path is of.

    >>> [prior.name for prior in priors_of("tests/test_heapq.py")], priors_of("heapq.py")
    (['test'], ())
    >>> [prior.name for prior in priors_of("tea/testing/cups.py")], priors_of("tea/numbers/testing/tools.py")
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
    question_words = set(words)
    candidates = [prior for prior in priors_of(path) if prior.asked_by.isdisjoint(question_words)]
    return min(candidates, key=lambda prior: (prior.thousandths, prior.name), default=None)


def _perhaps_of_a_kind(paths: Sequence[str]) -> list[list[int]]:
    """For each kind, which paths have a hint of it in them, or letters beyond ASCII; the others need no pattern."""
    marks = mark_lines(_one_a_line(paths).lower(), [prior.hints for prior in _PRIORS])[: len(paths)]
    return [np.flatnonzero(marks & 1 << number).tolist() for number in range(len(_PRIORS))]


def _one_a_line(paths: Sequence[str]) -> bytes:
    """Paths as one text, a line each: a newline in one of them is a blank, and half a pair a question mark."""
    text = "\n".join(paths)
    if text.count("\n") >= len(paths):
        text = "\n".join([path.replace("\n", " ") for path in paths])
    return text.encode("utf-8", "replace")


class FileKinds:
    """The kinds that the documents of a corpus are of, and what each counts for a question.

    >>> kinds = FileKinds.of(["heapq.py", "test/test_heapq.py"])
    >>> kinds.counted([b"merge"]).tolist(), kinds.counted([b"test", b"merge"]).tolist()
    ([1000, 600], [1000, 1000])
    """

    def __init__(self, marks: NDArray[np.uint16]) -> None:
        """Of a bit for each kind of each document."""
        self.marks = marks

    @classmethod
    def of(cls, paths: Sequence[str]) -> FileKinds:
        """The kinds of documents with these paths."""
        marks = np.zeros(len(paths), np.uint16)
        for number, (prior, rows) in enumerate(zip(_PRIORS, _perhaps_of_a_kind(paths), strict=True)):
            marks[[row for row in rows if prior.pattern.search(paths[row])]] |= np.uint16(1 << number)
        return cls(marks)

    def counted(self, words: Iterable[bytes], *, without: Sequence[str] = ()) -> NDArray[np.int64]:
        """The weight of each document for a question with these words, in thousandths."""
        question_words = set(words)
        counts = tuple(
            prior.thousandths if prior.asked_by.isdisjoint(question_words) and prior.name not in without else ONE
            for prior in _PRIORS
        )
        return _counts_of(counts)[self.marks]


@lru_cache(_KEPT_COUNTS)
def _counts_of(kinds: tuple[int, ...]) -> NDArray[np.int64]:
    """The weight for each set of kinds, a bit each: the least of its kinds."""
    counted = np.full(1 << len(kinds), ONE, np.int64)
    for number, thousandths in enumerate(kinds):
        is_of_kind = np.arange(len(counted)) >> number & 1 == 1
        counted[is_of_kind] = np.minimum(counted[is_of_kind], thousandths)
    return counted


class Translations:
    """Documents that are one text in several languages: their paths differ in a language code only.

    Without a code, `README.md` next to `README.fr.md` is in the language of the corpus.

    >>> paths = ["de/setup.md", "en/setup.md", "fr/setup.md", "fr/notes.md", "is/even.js", "README.md", "README.fr.md"]
    >>> rows, _ = Translations.of(paths, unmarked="en").into_others("en")
    >>> rows.tolist()
    [0, 2, 6]
    """

    def __init__(self, texts: NDArray[np.int64], *, paths: Sequence[str]) -> None:
        """Of documents that have a text in a language: the text's number, the language's two letters, and the row."""
        self.texts, self._paths = texts, paths
        self.into_others = lru_cache(_KEPT_LANGUAGES)(self._into_others)
        self._texts: dict[int, list[tuple[str, int]]] = {}
        for number, language, row in texts.reshape(-1, 3).tolist():
            self._texts.setdefault(number, []).append((language.to_bytes(2, "big").decode(), row))

    @classmethod
    def of(cls, paths: Sequence[str], *, unmarked: str) -> Translations:
        """The translations among documents with these paths."""
        texts: dict[bytes, int] = {}
        marked: list[tuple[int, int, int]] = []
        text = _one_a_line(paths)
        lines = text.split(b"\n")
        plain: dict[bytes, int] = {}
        for row, low, high, language in _language_codes(text):
            line = lines[row]
            number = texts.setdefault(b"%b\n%b" % (line[:low], line[high:]), len(texts))
            marked.append((number, int.from_bytes(language.encode(), "big"), row))
            if line[high : high + 1] == b".":
                plain = plain or {line: row for row, line in enumerate(lines)}
                without = line[: low - 1] + line[high:]
                if without in plain:
                    marked.append((number, int.from_bytes(unmarked.encode(), "big"), plain[without]))
        return cls(np.array(marked, np.int64).reshape(-1), paths=paths)

    def _into_others(self, language: str) -> tuple[NDArray[np.int64], frozenset[str]]:
        """Rows, ascending, and paths of those in other languages than this one, where there is one in this."""
        rows = {
            row
            for texts in self._texts.values()
            if any(name == language for name, _ in texts)
            for name, row in texts
            if name != language
        }
        return np.array(sorted(rows), np.int64), frozenset(self._paths[row] for row in rows)


def _language_codes(text: bytes) -> Iterator[tuple[int, int, int, str]]:
    """The language codes in lines of paths: the line, start and end within it, and two letters.

    A folder does, or what stands between two dots of a name.
    """
    codes = np.frombuffer(b"\n%b\n\n\n" % text, np.uint8)  # so that every look around stays inside
    starts = np.append(0, np.flatnonzero(codes[1:-3] == ord("\n")) + 1)
    is_letter = (codes >= ord("a")) & (codes <= ord("z"))
    opening, closing = codes[:-3], codes[3:]
    goes_on = (closing == ord("-")) | (closing == ord("_"))
    two = is_letter[1:-2] & is_letter[2:-1]
    is_folder, is_dot = (opening == ord("/")) | (opening == ord("\n")), opening == ord(".")
    for is_open, close, pattern in ((is_folder, ord("/"), _FOLDER), (is_dot, ord("."), _ENDING)):
        places = np.flatnonzero(is_open & two & (goes_on | (closing == close)))
        rows = starts.searchsorted(places, side="right") - 1
        for place, row, start in zip(places.tolist(), rows.tolist(), starts[rows].tolist(), strict=True):
            if match := pattern.match(text, place):
                yield row, place - start, match.end() - start, match[1].decode()
