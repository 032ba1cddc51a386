"""Parse a question into terms, phrases, exclusions and filters."""

from __future__ import annotations

import bisect
import datetime as dt
import fnmatch
import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from brimful.errors import SettingError, choose
from brimful.outline.kinds import Kind
from brimful.settings import Filters
from brimful.text.terms import QueryTerm, query_terms

# ---- filters: Which documents may answer? Those whose path and time a question's filters name.

MOST_FILTERS: Final = 64
"""What stands beyond is literal text."""

_WILD = re.compile(r"[*?\[]")
_TIME = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?P<fraction>\.[0-9]{1,9})?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A part of a path, or with `*`, `?` or `[` a pattern for all of it or for its end from a folder on.

    >>> PathPattern("Docs/").matches("src/docs/query.md"), PathPattern("test_*.py").matches("tests/test_api.py")
    (True, True)
    >>> PathPattern("*.py").matches("notes/python.md")
    False
    """

    text: str

    def matches(self, path: str) -> bool:
        """Whether the path is meant; capitals do not matter."""
        plain = _plain(path)
        if _plain(self.text) in plain:  # also `pages/[slug].ts`
            return True
        return _WILD.search(self.text) is not None and _pattern(self.text).match(plain) is not None


@functools.lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    full_path = fnmatch.translate(_plain(text))
    path_end = fnmatch.translate("*/" + _plain(text))
    return re.compile(f"{full_path}|{path_end}")


def _plain(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def time_bound(text: str) -> int | None:
    """The first second of a year, month, day or the time itself, in UTC unless it has a zone; None if it is no time.

    Documents' times are whole seconds, so a fraction is rounded up: nothing lies between.

    >>> time_bound("1970"), time_bound("1970-01-02"), time_bound("1970-01-01T01:00:00.5+01:00")
    (0, 86400, 1)
    >>> time_bound("tomorrow"), time_bound("2024-13")
    (None, None)
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    try:
        moment = dt.datetime(
            int(match["year"]),
            int(match["month"] or 1),
            int(match["day"] or 1),
            int(match["hour"] or 0),
            int(match["minute"] or 0),
            int(match["second"] or 0),
            tzinfo=dt.UTC,
        )
    except ValueError:
        return None
    seconds = (moment - _EPOCH) // dt.timedelta(seconds=1)
    zone = match["zone"] or "Z"
    if zone != "Z":
        digits = zone.replace(":", "")
        hours, minutes = int(digits[1:3]), int(digits[3:5])
        if hours > 23 or minutes > 59:
            return None
        seconds -= (1 if zone[0] == "+" else -1) * (hours * 3600 + minutes * 60)
    return seconds + (1 if (match["fraction"] or "").strip(".0") else 0)


@dataclass(slots=True)
class _FilterReader:
    """The filters of one question as they are read."""

    paths: list[PathPattern] = field(default_factory=list)
    excluded_paths: list[PathPattern] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    excluded_kinds: list[Kind] = field(default_factory=list)
    after: int | None = None
    before: int | None = None
    count: int = 0

    def take(self, name: str, value: str, *, without: bool) -> bool:
        """Whether this is a filter indeed; one that means nothing is literal text."""
        if self.count >= MOST_FILTERS or (without and name in ("after", "before")):
            return False
        if name == "path":
            (self.excluded_paths if without else self.paths).append(PathPattern(value))
        elif name == "kind":
            if value not in get_args(Kind):
                return False
            (self.excluded_kinds if without else self.kinds).extend(kind for kind in get_args(Kind) if kind == value)
        else:
            seconds = time_bound(value)
            if seconds is None:
                return False
            if name == "after":
                self.after = seconds if self.after is None else max(self.after, seconds)
            else:
                self.before = seconds if self.before is None else min(self.before, seconds)
        self.count += 1
        return True

    def chosen_kinds(self) -> tuple[Kind, ...]:
        """The kinds asked for without the excluded ones, unless nothing would be left."""
        wanted: Sequence[Kind] = self.kinds or (get_args(Kind) if self.excluded_kinds else ())
        remaining = [kind for kind in wanted if kind not in self.excluded_kinds]
        return tuple(dict.fromkeys(remaining or self.kinds))


# ---- query: What does a question ask for?
#
# A question is text: nothing in it narrows or excludes, and quotation marks raise the places that have the phrase
# (ruling 17). Only `search` reads operators: "exact phrases", beginnings*,
# -excluded words, and filters: `path:`, `kind:`, `after:`, `before:`. Everything that is not clearly one of these is
# literal text, so no question is ever a syntax error; `docs/query.md` has the rules.

MOST_CHARACTERS: Final = 100_000
"""How much of a question is read; a longer one is cut between words."""
MOST_TERMS: Final = 2_048
"""How many distinct terms of a question are kept, the first ones; `rarest` keeps fewer."""
_MOST_RARE_TERMS: Final = 512
MOST_PHRASES: Final = 64
_PHRASE_TERMS = 32  # a longer quotation is text to look for word by word
_PHRASE_CHARACTERS = 1_000

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_Role = Literal["filter", "excluded", "phrase"]

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
_OPENING = frozenset(_OPENERS)
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
    """A parsed question. Offsets are bytes of `text` in UTF-8."""

    text: str
    terms: tuple[AskedTerm, ...] = ()  # in order of first occurrence, terms of phrases included
    sequence: tuple[int, ...] = ()  # the term of each whole word of the text; -1 for a word that was left out
    quoted: tuple[tuple[bytes, ...], ...] = ()  # quotations: they raise a document, and exclude none
    phrases: tuple[tuple[bytes, ...], ...] = ()  # what a document must have, word for word
    required: tuple[tuple[bytes, ...], ...] = ()  # phrases of filters: they exclude even where no document has them
    excluded: tuple[AskedTerm, ...] = ()
    excluded_phrases: tuple[tuple[bytes, ...], ...] = ()
    paths: tuple[PathPattern, ...] = ()  # any of them; none: all paths
    excluded_paths: tuple[PathPattern, ...] = ()
    kinds: tuple[Kind, ...] = ()  # any of them; none: all kinds
    after: int | None = None  # seconds of UTC, this one included
    before: int | None = None  # this one not included
    paths_beside: tuple[PathPattern, ...] = ()  # filters outside of the question's text
    kinds_beside: tuple[Kind, ...] = ()
    neighbours: tuple[tuple[bytes, bytes], ...] = ()  # words with one blank or hyphen between them
    has_operators: bool = False  # some of the text is not words but says which documents are meant
    left_out: int = 0  # distinct terms over the limit, and a last one for text that was not read

    def allows(self, path: str, kind: Kind, time: int | None = None) -> bool:
        """Whether the filters let this document pass; a document without a time passes no filter of time."""
        for patterns in (self.paths, self.paths_beside):
            if patterns and not any(pattern.matches(path) for pattern in patterns):
                return False
        if any(pattern.matches(path) for pattern in self.excluded_paths):
            return False
        if any(kinds and kind not in kinds for kinds in (self.kinds, self.kinds_beside)):
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
            bool(self.paths or self.paths_beside or self.excluded_paths or self.kinds or self.kinds_beside)
            or self.after is not None
            or self.before is not None
        )


@dataclass(slots=True)
class _Marks:
    """The operators of a question, in characters: stretches with a role, and stars after a word."""

    stretches: list[tuple[int, int, _Role]] = field(default_factory=list)
    stars: list[int] = field(default_factory=list)
    filters: _FilterReader = field(default_factory=_FilterReader)


def parse_query(text: str, *, operators: bool = False) -> Query:
    """Parse a question; any text is valid. `operators` turns its signs into operators.

    >>> query = parse_query('why does path:docs say "context window" -- and not -draft?')
    >>> [term.term.decode() for term in query.terms]
    ['why', 'does', 'path', 'docs', 'say', 'context', 'window', 'and', 'not', 'draft']
    >>> query.quoted, query.phrases, query.paths, query.excluded
    (((b'context', b'window'),), (), (), ())
    >>> query = parse_query('who wrote "context window" in path:docs -draft after:2024?', operators=True)
    >>> [term.term.decode() for term in query.terms], query.phrases
    (['who', 'wrote', 'context', 'window', 'in'], ((b'context', b'window'),))
    >>> [term.term for term in query.excluded], query.paths[0].text, query.after
    ([b'draft'], 'docs', 1704067200)
    >>> [term.term.decode() for term in parse_query("path: kind:banana --flag", operators=True).terms]
    ['path', 'kind', 'banana', 'flag']
    """
    read = _readable(text)
    all_terms = query_terms(read)
    places = _byte_places(read)
    marks = _marks(read, places, all_terms, operators=operators)
    wanted, excluded, phrases, excluded_phrases = _sorted_out(all_terms, marks, places)
    if not wanted and (excluded or excluded_phrases) and not marks.filters.count:
        # Nothing but exclusions: a list, an option of a command, a dash that slipped in.
        wanted, excluded, phrases, excluded_phrases = all_terms, [], excluded_phrases, []
    stars = {int(places[star]) for star in marks.stars}
    terms = _distinct(wanted, stars)
    filters = marks.filters
    numbers = {term.term: number for number, term in enumerate(terms[:MOST_TERMS])}
    distinct = tuple(dict.fromkeys(phrases))[:MOST_PHRASES]
    return Query(
        text=text,
        terms=terms[:MOST_TERMS],
        sequence=tuple(numbers[term.term] for term in wanted if not term.is_part and term.term in numbers),
        quoted=() if operators else distinct,
        phrases=distinct if operators else (),
        excluded=_distinct([term for term in excluded if not term.is_part], stars)[:MOST_TERMS],
        excluded_phrases=tuple(dict.fromkeys(excluded_phrases))[:MOST_PHRASES],
        paths=tuple(dict.fromkeys(filters.paths)),
        excluded_paths=tuple(dict.fromkeys(filters.excluded_paths)),
        kinds=filters.chosen_kinds(),
        after=filters.after,
        before=filters.before,
        neighbours=_neighbours(wanted, read.encode("utf-8", "replace")),
        has_operators=operators and bool(marks.stretches),
        left_out=max(0, len(terms) - MOST_TERMS) + (len(read) < len(text)),
    )


def narrowed(query: Query, filters: Filters) -> Query:
    """The question, asked only of what the filters leave.

    >>> narrowed(parse_query("tea"), Filters(path="docs/", phrase="green tea", without="draft")).excluded[0].term
    b'draft'
    """
    unwanted = [tuple(term.term for term in query_terms(text) if not term.is_part) for text in filters.without]
    wanted = [tuple(term.term for term in query_terms(text) if not term.is_part) for text in filters.phrase]
    for text, terms in zip((*filters.without, *filters.phrase), (*unwanted, *wanted), strict=True):
        if not terms:
            raise SettingError(f"{text!r} has no word; phrase and without are words that a document has or has not")
    return replace(
        query,
        paths_beside=tuple(map(PathPattern, filters.path)),
        excluded_paths=(*query.excluded_paths, *map(PathPattern, filters.not_path)),
        kinds_beside=tuple(map(_kind, filters.kind)),
        after=max(_given(query.after, _bound("after", filters.after)), default=None),
        before=min(_given(query.before, _bound("before", filters.before)), default=None),
        phrases=tuple(dict.fromkeys((*query.phrases, *wanted))),
        required=tuple(dict.fromkeys((*query.required, *wanted))),
        excluded=(*query.excluded, *(AskedTerm(terms[0], 0, len(terms[0])) for terms in unwanted if len(terms) == 1)),
        excluded_phrases=(*query.excluded_phrases, *(terms for terms in unwanted if len(terms) > 1)),
    )


def _kind(name: str) -> Kind:
    choose(name, KINDS, what="kind")
    return cast("Kind", name)


def _given(*bounds: int | None) -> list[int]:
    return [bound for bound in bounds if bound is not None]


def _bound(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    seconds = time_bound(text)
    if seconds is None:
        raise SettingError(
            f"{name} is {text!r}; it is a year, month, day or time: 2024, 2024-05, 2024-05-12, 2024-05-12T08:00Z"
        )
    return seconds


def rarest(query: Query, census: Callable[[bytes], int], *, limit: int = _MOST_RARE_TERMS) -> Query:
    """The question with its rarest terms only, in their order; terms that the corpus lacks are dropped first.

    >>> counts = {b"the": 90, b"cat": 3, b"dog": 5}
    >>> [term.term for term in rarest(parse_query("the cat, the dog"), counts.__getitem__, limit=2).terms]
    [b'cat', b'dog']
    """
    if len(query.terms) <= limit:
        return query
    counts = [census(term.term) for term in query.terms]
    ranked = sorted(range(len(counts)), key=lambda place: (counts[place] == 0, counts[place], place))
    chosen = sorted(ranked[:limit])
    numbers = {old: new for new, old in enumerate(chosen)}
    return replace(
        query,
        terms=tuple(query.terms[place] for place in chosen),
        sequence=tuple(numbers.get(place, -1) for place in query.sequence),
        left_out=query.left_out + len(counts) - len(chosen),
    )


def _readable(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    head = text[:MOST_CHARACTERS]
    return head[: max((blank.end() for blank in re.finditer(r"\s", head[-1_000:])), default=1_000) - 1_000 or None]


def _byte_places(text: str) -> Sequence[int] | NDArray[np.int64]:
    """The byte offset of each character, and of the end."""
    if text.isascii():
        return range(len(text) + 1)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    widths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    widths[(points >= 0xD800) & (points < 0xE000)] = 1  # half a surrogate pair is written as a question mark
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])


def _marks(
    text: str, places: Sequence[int] | NDArray[np.int64], terms: Sequence[QueryTerm], *, operators: bool
) -> _Marks:
    """Read the signs from left to right; each is looked at once, and no look ahead is longer than a phrase."""
    marks = _Marks()
    wholes = [term.start for term in terms if not term.is_part]

    def fits(start: int, end: int) -> bool:
        first, last = int(places[start]), int(places[end])
        return 0 < bisect.bisect_left(wholes, last) - bisect.bisect_left(wholes, first) <= _PHRASE_TERMS

    asides = [(aside.end(), aside[0] != "\n") for aside in _DASH_PAIRS.finditer(text)]
    starts_list = "\n" in text.strip()
    last = len(text.rstrip())
    emphasis = -1
    position = 0
    has_marks = operators or not _OPENING.isdisjoint(text)  # without operators only quotations mean something
    while has_marks and (sign := _MARK.search(text, position)):
        position = sign.end()
        if not operators and sign["negated"]:
            position = sign.start("negated")  # a dash before a quotation, which raises like any other
        elif not operators and not (sign["straight"] or sign["opener"]):
            position = sign.start() + 1  # text
        elif sign["filter"]:
            position = _filter(sign, marks, at_end=position >= last)
        elif sign["opening"]:
            emphasis = position
        elif sign["star"]:
            if emphasis < 0 or "\n" in text[emphasis:position]:
                marks.stars.append(sign.start())
            emphasis = -1
        elif sign["word"]:
            is_listed = sign.start() == 0 and starts_list
            if (
                is_listed
                or _OPTION.match(sign["word"])
                or _in_aside(asides, position)
                or not fits(sign.start(), position)
            ):
                position = sign.start("word")
            else:
                marks.stretches.append((sign.start(), position, "excluded"))
                marks.stars += [position - 1] if sign["word"].endswith("*") else []
        else:
            position = _quotation(text, sign, marks, fits)
    return marks


def _filter(sign: re.Match[str], marks: _Marks, *, at_end: bool) -> int:
    """Take a filter if it means something; where to read on."""
    value = sign["quoted"] or sign["curled"] or sign["plain"].rstrip(",;.?!" if at_end else ",;")
    if not value or not marks.filters.take(sign["name"], value, without=bool(sign["without"])):
        return sign.end("name")
    marks.stretches.append((sign.start(), sign.end(), "filter"))
    return sign.end()


def _in_aside(asides: list[tuple[int, bool]], position: int) -> bool:
    """Whether another dash follows on this line -like here- so that the first one excludes nothing."""
    closing = bisect.bisect_left(asides, (position, False))
    return closing < len(asides) and asides[closing][1]


def _quotation(text: str, sign: re.Match[str], marks: _Marks, fits: Callable[[int, int], bool]) -> int:
    """Note the phrase that a quote opens, if it is one; where to read on."""
    opener = sign["negated"] or sign["straight"] or sign["opener"]
    close = _CLOSING[opener].search(text, sign.end(), sign.end() + _PHRASE_CHARACTERS)
    if close is None or not fits(sign.end(), close.start()):
        return sign.end()
    marks.stretches.append((sign.start(), close.end(), "excluded" if sign["negated"] else "phrase"))
    return close.end()


_Sorted = tuple[list[QueryTerm], list[QueryTerm], list[tuple[bytes, ...]], list[tuple[bytes, ...]]]


def _sorted_out(all_terms: list[QueryTerm], marks: _Marks, places: Sequence[int] | NDArray[np.int64]) -> _Sorted:
    """The terms asked for and excluded, and the phrases of both."""
    stretches = [(int(places[start]), int(places[end]), role) for start, end, role in marks.stretches]
    begins = [start for start, _, _ in stretches]
    inside: list[list[QueryTerm]] = [[] for _ in stretches]
    wanted: list[QueryTerm] = []
    for term in all_terms:
        place = bisect.bisect_right(begins, term.start) - 1
        if place >= 0 and term.start < stretches[place][1]:
            inside[place].append(term)
            if stretches[place][2] == "phrase":
                wanted.append(term)
        else:
            wanted.append(term)
    excluded: list[QueryTerm] = []
    phrases: dict[bool, list[tuple[bytes, ...]]] = {True: [], False: []}
    for (_, _, role), terms in zip(stretches, inside, strict=True):
        wholes = tuple(term.term for term in terms if not term.is_part)
        if role == "excluded" and len(wholes) == 1:
            excluded += terms
        elif role != "filter":
            phrases[role == "phrase"].append(wholes)
    return wanted, excluded, phrases[True], phrases[False]


def _distinct(terms: Sequence[QueryTerm], stars: set[int]) -> tuple[AskedTerm, ...]:
    """Each term once, where it stands first; whole if it is whole anywhere, a beginning if it is one anywhere."""
    distinct: dict[bytes, AskedTerm] = {}
    for term, start, end, is_part in terms:
        is_prefix = end in stars and len(term) > 1
        earlier = distinct.get(term)
        if earlier is None:
            distinct[term] = AskedTerm(term, start, end, is_part, is_prefix)
        else:
            distinct[term] = replace(
                earlier,
                is_part=earlier.is_part and is_part,
                is_prefix=earlier.is_prefix or is_prefix,
                count=earlier.count + 1,
            )
    return tuple(distinct.values())


def _neighbours(terms: Sequence[QueryTerm], content: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Whole terms that stand side by side, with one blank or hyphen between them."""

    def pairs() -> Iterator[tuple[bytes, bytes]]:
        wholes = [term for term in terms if not term.is_part]
        for first, second in itertools.pairwise(wholes):
            if content[first.end : second.start] in _JOINTS:
                yield first.term, second.term

    return tuple(dict.fromkeys(pairs()))[:MOST_TERMS]
