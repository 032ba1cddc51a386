"""What does a question ask for?

Words, "exact phrases", beginnings*, -excluded words, and filters: `path:`, `kind:`, `after:`, `before:`.
Everything that is not clearly one of these is literal text, so no question is ever a syntax error;
`docs/query.md` has the rules.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from brimful.search.filters import Filters, PathPattern
from brimful.text.kinds import Kind
from brimful.text.terms import QueryTerm, query_terms

MOST_CHARACTERS: Final = 100_000
"""How much of a question is read; a longer one is cut between words."""
MOST_TERMS: Final = 2_048
"""How many distinct terms of a question are kept, the first ones; `rarest` keeps fewer."""
MOST_RARE_TERMS: Final = 512
MOST_PHRASES: Final = 64
_PHRASE_TERMS = 32  # a longer quotation is text to look for word by word
_PHRASE_CHARACTERS = 1_000

Role = Literal["filter", "excluded", "phrase"]

# A letter or digit of a script that separates its words; Thai, Lao and Han text runs on around a quotation.
_SPACED = r"[^\W\u0e00-\u0eff\u2e80-\u9fff]"
_CLOSERS = {
    '"': '"”“',
    "“": '”“"',
    "„": '“”"',
    "”": "”",
    "‟": "”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "〝": "〞〟",
    "＂": "＂",
}
_OPENERS = "".join(_CLOSERS)
_CLOSING = {
    opener: re.compile(f"[{closers}]" + (f"(?!{_SPACED})" if opener == '"' else ""))
    for opener, closers in _CLOSERS.items()
}
_MARK = re.compile(
    r"(?<!\S)(?P<filter>(?P<without>-?)(?P<name>path|kind|after|before):"
    r"(?:(?:\"(?P<quoted>[^\"\n]{1,1000})\"|“(?P<curled>[^”\n]{1,1000})”)(?![^\s,;.?!)])"
    rf"|(?P<plain>[^\s{_OPENERS}]\S{{0,999}})(?!\S)))"
    rf"|(?:^|(?<=[^\S\r\n]))-(?:(?P<word>[^\W\d_][^\s{_OPENERS}]*)|(?P<negated>[{_OPENERS}])(?=\S))"
    rf"|(?<!{_SPACED})(?P<straight>\")(?=[^\s\"])|(?P<opener>[{_OPENERS.replace(chr(34), '')}])"
    r"|(?P<opening>(?<![\w*])\*+(?=\w))|(?<=\w)(?P<star>\*)(?![\w*])"
)
_DASH_PAIRS = re.compile(r"\w-(?=[\s,.;:!?)]|$)|\n")  # a dash that closes an aside, or a line's end
_OPTION = re.compile(r"[A-Za-z](?!\w)")
_JOINTS = frozenset((b" ", b"-", "\u2010".encode(), "\u2011".encode()))


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A distinct term of a question, with the bytes where it stands first."""

    term: bytes
    start: int
    end: int
    is_part: bool = False  # it stands only inside longer terms of the question
    is_prefix: bool = False  # whatever begins so is meant
    count: int = 1


@dataclass(frozen=True, slots=True)
class Query:
    """A question, understood. Offsets are bytes of `text` in UTF-8."""

    text: str
    terms: tuple[AskedTerm, ...] = ()  # in order of their first occurrence, those of phrases included
    phrases: tuple[tuple[bytes, ...], ...] = ()
    excluded: tuple[AskedTerm, ...] = ()
    excluded_phrases: tuple[tuple[bytes, ...], ...] = ()
    paths: tuple[PathPattern, ...] = ()  # any of them; none: all paths
    excluded_paths: tuple[PathPattern, ...] = ()
    kinds: tuple[Kind, ...] = ()  # any of them; none: all kinds
    after: int | None = None  # seconds of UTC, this one included
    before: int | None = None  # this one not included
    neighbours: tuple[tuple[bytes, bytes], ...] = ()  # words with one blank or hyphen between them
    left_out: int = 0  # distinct terms over the limit, and a last one for text that was not read

    def allows(self, path: str, kind: Kind, time: int | None = None) -> bool:
        """Whether the filters let this document pass; a document without a time passes no filter of time."""
        if self.paths and not any(pattern.matches(path) for pattern in self.paths):
            return False
        if any(pattern.matches(path) for pattern in self.excluded_paths):
            return False
        if self.kinds and kind not in self.kinds:
            return False
        if self.after is None and self.before is None:
            return True
        if time is None:
            return False
        return (self.after is None or time >= self.after) and (self.before is None or time < self.before)

    @property
    def has_filters(self) -> bool:
        """Whether any document could be refused."""
        return (
            bool(self.paths or self.excluded_paths or self.kinds) or self.after is not None or self.before is not None
        )


@dataclass(slots=True)
class _Marks:
    """What the signs of a question mean, in characters: stretches with a role, and stars behind a word."""

    stretches: list[tuple[int, int, Role]] = field(default_factory=list)
    stars: list[int] = field(default_factory=list)
    filters: Filters = field(default_factory=Filters)


def parse_query(text: str) -> Query:
    """Understand a question; any text is one.

    >>> query = parse_query('who wrote "context window" in path:docs -draft after:2024?')
    >>> [term.term.decode() for term in query.terms], query.phrases
    (['who', 'wrote', 'context', 'window', 'in'], ((b'context', b'window'),))
    >>> [term.term for term in query.excluded], query.paths[0].text, query.after
    ([b'draft'], 'docs', 1704067200)
    >>> [term.term.decode() for term in parse_query("path: kind:banana --flag").terms]
    ['path', 'kind', 'banana', 'flag']
    """
    read = _readable(text)
    found = query_terms(read)
    places = _byte_places(read)
    marks = _marks(read, places, found)
    asked, excluded, phrases, excluded_phrases = _sorted_out(found, marks, places)
    if not asked and (excluded or excluded_phrases) and not marks.filters.count:
        # Nothing but exclusions: a list, an option of a command, a dash that slipped in.
        asked, excluded, phrases, excluded_phrases = found, [], excluded_phrases, []
    stars = {int(places[star]) for star in marks.stars}
    terms = _distinct(asked, stars)
    filters = marks.filters
    return Query(
        text=text,
        terms=terms[:MOST_TERMS],
        phrases=tuple(dict.fromkeys(phrases))[:MOST_PHRASES],
        excluded=_distinct([term for term in excluded if not term.is_part], stars)[:MOST_TERMS],
        excluded_phrases=tuple(dict.fromkeys(excluded_phrases))[:MOST_PHRASES],
        paths=tuple(dict.fromkeys(filters.paths)),
        excluded_paths=tuple(dict.fromkeys(filters.excluded_paths)),
        kinds=filters.chosen_kinds(),
        after=filters.after,
        before=filters.before,
        neighbours=_neighbours(asked, read.encode("utf-8", "replace")),
        left_out=max(0, len(terms) - MOST_TERMS) + (len(read) < len(text)),
    )


def rarest(query: Query, census: Callable[[bytes], int], *, most: int = MOST_RARE_TERMS) -> Query:
    """The question with its rarest terms only, in their order; those that the corpus lacks are dropped before all.

    >>> counts = {b"the": 90, b"cat": 3, b"dog": 5}
    >>> [term.term for term in rarest(parse_query("the cat, the dog"), counts.__getitem__, most=2).terms]
    [b'cat', b'dog']
    """
    if len(query.terms) <= most:
        return query
    counts = [census(term.term) for term in query.terms]
    ranked = sorted(range(len(counts)), key=lambda at: (counts[at] == 0, counts[at], at))
    kept = tuple(query.terms[at] for at in sorted(ranked[:most]))
    return replace(query, terms=kept, left_out=query.left_out + len(counts) - len(kept))


def _readable(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    head = text[:MOST_CHARACTERS]
    return head[: max((found.end() for found in re.finditer(r"\s", head[-1_000:])), default=1_000) - 1_000 or None]


def _byte_places(text: str) -> NDArray[np.int64]:
    """The byte offset of each character, and of the end."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    widths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    widths[(points >= 0xD800) & (points < 0xE000)] = 1  # half a surrogate pair is written as a question mark
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])


def _marks(text: str, places: NDArray[np.int64], found: Sequence[QueryTerm]) -> _Marks:
    """Read the signs from left to right; each is looked at once, and no look ahead is longer than a phrase."""
    marks = _Marks()
    wholes = [term.start for term in found if not term.is_part]

    def fits(start: int, end: int) -> bool:
        first, last = int(places[start]), int(places[end])
        return 0 < bisect.bisect_left(wholes, last) - bisect.bisect_left(wholes, first) <= _PHRASE_TERMS

    asides = [(aside.end(), aside[0] != "\n") for aside in _DASH_PAIRS.finditer(text)]
    starts_list = "\n" in text.strip()
    last = len(text.rstrip())
    emphasis = -1
    at = 0
    while sign := _MARK.search(text, at):
        at = sign.end()
        if sign["filter"]:
            at = _filter(sign, marks, at_end=at >= last)
        elif sign["opening"]:
            emphasis = at
        elif sign["star"]:
            if emphasis < 0 or "\n" in text[emphasis:at]:
                marks.stars.append(sign.start())
            emphasis = -1
        elif sign["word"]:
            is_listed = sign.start() == 0 and starts_list
            if is_listed or _OPTION.match(sign["word"]) or _in_aside(asides, at) or not fits(sign.start(), at):
                at = sign.start("word")
            else:
                marks.stretches.append((sign.start(), at, "excluded"))
                marks.stars += [at - 1] if sign["word"].endswith("*") else []
        else:
            at = _quotation(text, sign, marks, fits)
    return marks


def _filter(sign: re.Match[str], marks: _Marks, *, at_end: bool) -> int:
    """Take a filter if it means something; where to read on."""
    value = sign["quoted"] or sign["curled"] or sign["plain"].rstrip(",;.?!" if at_end else ",;")
    if not value or not marks.filters.take(sign["name"], value, without=bool(sign["without"])):
        return sign.end("name")
    marks.stretches.append((sign.start(), sign.end(), "filter"))
    return sign.end()


def _in_aside(asides: list[tuple[int, bool]], at: int) -> bool:
    """Whether a dash closes behind this place on the same line -like here- so that the first did not exclude."""
    behind = bisect.bisect_left(asides, (at, False))
    return behind < len(asides) and asides[behind][1]


def _quotation(text: str, sign: re.Match[str], marks: _Marks, fits: Callable[[int, int], bool]) -> int:
    """Note the phrase that a quote opens, if it is one; where to read on."""
    opener = sign["negated"] or sign["straight"] or sign["opener"]
    close = _CLOSING[opener].search(text, sign.end(), sign.end() + _PHRASE_CHARACTERS)
    if close is None or not fits(sign.end(), close.start()):
        return sign.end()
    marks.stretches.append((sign.start(), close.end(), "excluded" if sign["negated"] else "phrase"))
    return close.end()


_Sorted = tuple[list[QueryTerm], list[QueryTerm], list[tuple[bytes, ...]], list[tuple[bytes, ...]]]


def _sorted_out(found: list[QueryTerm], marks: _Marks, places: NDArray[np.int64]) -> _Sorted:
    """The terms asked for and excluded, and the phrases of both."""
    stretches = [(int(places[start]), int(places[end]), role) for start, end, role in marks.stretches]
    begins = [start for start, _, _ in stretches]
    inside: list[list[QueryTerm]] = [[] for _ in stretches]
    asked: list[QueryTerm] = []
    for term in found:
        at = bisect.bisect_right(begins, term.start) - 1
        if at >= 0 and term.start < stretches[at][1]:
            inside[at].append(term)
            if stretches[at][2] == "phrase":
                asked.append(term)
        else:
            asked.append(term)
    excluded: list[QueryTerm] = []
    phrases: dict[bool, list[tuple[bytes, ...]]] = {True: [], False: []}
    for (_, _, role), terms in zip(stretches, inside, strict=True):
        wholes = tuple(term.term for term in terms if not term.is_part)
        if role == "excluded" and len(wholes) == 1:
            excluded += terms
        elif role != "filter":
            phrases[role == "phrase"].append(wholes)
    return asked, excluded, phrases[True], phrases[False]


def _distinct(terms: Sequence[QueryTerm], stars: set[int]) -> tuple[AskedTerm, ...]:
    """Each term once, where it stands first; whole if it is whole anywhere, a beginning if it is one anywhere."""
    kept: dict[bytes, AskedTerm] = {}
    for term, start, end, is_part in terms:
        is_prefix = end in stars and len(term) > 1
        known = kept.get(term)
        if known is None:
            kept[term] = AskedTerm(term, start, end, is_part, is_prefix)
        else:
            kept[term] = replace(
                known,
                is_part=known.is_part and is_part,
                is_prefix=known.is_prefix or is_prefix,
                count=known.count + 1,
            )
    return tuple(kept.values())


def _neighbours(terms: Sequence[QueryTerm], content: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Whole terms that stand side by side, with one blank or hyphen between them."""

    def pairs() -> Iterator[tuple[bytes, bytes]]:
        wholes = [term for term in terms if not term.is_part]
        for one, other in itertools.pairwise(wholes):
            if content[one.end : other.start] in _JOINTS:
                yield one.term, other.term

    return tuple(dict.fromkeys(pairs()))[:MOST_TERMS]
