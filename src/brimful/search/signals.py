"""Where do the units lie that a question is asked of, and what speaks for each of them?

How often it has a word, how much that word says, runs of words, definitions, the name of its document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Context as DecimalContext
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import dropwhile, pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from brimful.classes import NamedTuple
from brimful.index.segments import Numbers, place_of
from brimful.kernels import Places
from brimful.kernels.columns import Columns, HeadingsAbove, Stretches
from brimful.kernels.terms import find_rows, group_by_row, smallest_words
from brimful.patterns import compiled
from brimful.text.outline import merged
from brimful.text.terms import Names, terms_of

if TYPE_CHECKING:
    from brimful.search.columns import CorpusColumns, Ids
    from brimful.search.field import TermHits


# ---- rarity: How much does it say that a word stands somewhere? BM25's inverse document frequency, the same on every
# machine.

_DIGITS = DecimalContext(prec=20)


@lru_cache(4_096)
def plain_rarity(census: int, total: int) -> float:
    """How much it says that a word stands somewhere: the logarithm of BM25, the same on every machine.

    >>> plain_rarity(1, 1000) > plain_rarity(10, 1000) > plain_rarity(1000, 1000) > 0
    True
    """
    census = min(census, total)
    odds = 1 + Decimal(2 * (total - census) + 1) / Decimal(2 * census + 1)
    return float(odds.ln(_DIGITS))


def idf(census: int, total: int) -> float:
    """The same for a passage, where rare words count for still more: to the power of five quarters."""
    plain = plain_rarity(census, total)
    return plain * sqrt(sqrt(plain))


# ---- chosen: Where do the units lie that a question is asked of, and how often does each have a word?


class Candidates:
    """Some ascending units of a corpus, with everything that is asked of them more than once."""

    def __init__(self, columns: CorpusColumns, units: Ids) -> None:
        self.units = units
        # Its extent, where it lies on its axis, its document and where it begins there, and its run of neighbours.
        self.extents, self.starts, self.ends, self.rows, self.offsets, self.firsts, self.lasts = columns.grid.placed(
            units
        )
        self.sizes: Numbers = self.ends - self.starts
        # The first of each segment, and one behind the last.
        self.bounds: list[int] = [*units.searchsorted(columns.firsts).tolist(), len(units)]
        self._found: dict[int, tuple[Columns, tuple[Numbers, Numbers, list[int]]]] = {}  # by columns, which are held

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def _stretches(self) -> Stretches:
        return Stretches(self.starts, self.ends, self.bounds)

    def counts(self, places: Sequence[Numbers]) -> Numbers:
        """How many of the positions lie in each."""
        return self._stretches.count(places)

    def add_counts(self, counts: Numbers, places: Columns, *, weight: int) -> None:
        """Add so much for each of the positions to the count of its unit."""
        self._stretches.count(places, weight=weight, counts=counts)

    def find(self, places: Columns) -> tuple[Numbers, Numbers, list[int]]:
        """The positions that lie in one of the units, which one that is, and how many there are before each segment."""
        known = self._found.get(id(places))
        if known is None:
            known = self._found[id(places)] = places, self._stretches.find(places)
        return known[1]

    def inside(self, places: Columns) -> list[tuple[Numbers, Numbers]]:
        """Of each segment the positions that lie in one of the units, and which of its units that is."""
        found, units, behind = self.find(places)
        return [
            (found[first:last], units[first:last] - low)
            for low, (first, last) in zip(self.bounds, pairwise(behind), strict=False)
        ]


# ---- signals: What else speaks for a place, beside how often it has the question's words?
#
# That it has several of them in a row, as the question does; that it defines a name which the question uses; that its
# document is called by them.

Scores = NDArray[np.float64]


_KEPT_NAMES = 4_096
_LEAST_RUN: Final = 4
"""Words in a row that say more than each by itself."""
_FOLDER_SHARE: Final = 0.5
"""What a word of a folder's name says against one of the file's own."""
_GAP = 3  # bytes between two words of a run
_MOST_DEFINITIONS = 400  # lines and units that are read to see which name they define
_LONGEST_HEAD = 300
_DEFINED = compiled(
    rb"(?:def|class|function\*?|fn|func|fun|struct|interface|impl|trait|enum|module|namespace|sub|proc|procedure|macro"
    rb"|union|protocol|extension|object|record|defmodule|defp|defmacro|contract|type|macro_rules!)"
    rb"[ \t]+(?:\([^)\n]{0,80}\)[ \t]*|class[ \t]+)?([A-Za-z_$\x80-\xff][\w$\x80-\xff]*(?:(?:\.|::)[\w$\x80-\xff]+)*)"
)
# What stands before an option in a line that says what it does: nothing but markup, its short form, or the call of
# a library that reads command lines. The signs of manual pages are taken out first.
_LISTED = compiled(
    rb"(?:.*\b(?i:add_argument|add_option|option|flag|arg)(?:\(|::))?[^A-Za-z0-9]*"
    rb"(?:-\w(?:[ =][^A-Za-z0-9\s]?[A-Z]+)?[^A-Za-z0-9]+)?"
)
_ROFF = compiled(rb"\A\.\w+ (?:(?:Fl|Op|Ic) )*|\\f.")
# What may stand before a name that a line defines: types, modifiers, the object it is put on.
_TYPED = compiled(rb"[ \t]*[\w$&*:<>,.\[\] \t~]*")
_CALLED = compiled(rb"\b(?:return|await|yield|new|throw|else|if|while|case|in|not|and|or|goto|delete|typeof)[ \t]+$")
_BODY = compiled(rb"[ \t]*(?:<[^<>\n]{0,80}>)?\([^;{}]{0,600}\)[^;{}()=]{0,80}(?:\{|=>)")
_VALUE = compiled(
    rb"[ \t]*(?::[^=\n]{0,80})?=[ \t]*(?:async[ \t]+)?(?:function\b|class\b|\(|\w+[ \t]*=>|lambda\b)"
    rb"|[ \t]*:[ \t]*(?:async[ \t]+)?function\b"
)


def runs(chosen: Candidates, term_hits: Sequence[TermHits], sequence: Sequence[int]) -> Numbers:
    """How many runs of four words of the question, in its order, begin in each unit.

    `sequence` has the number of each word of the question in `term_hits`, -1 for one that is not there. A longer run
    counts once for each four words of it.
    """
    counts = np.zeros(len(chosen), np.int64)
    follows = np.zeros((len(term_hits) + 1, len(term_hits) + 1), bool)
    for one, other in pairwise(sequence):
        follows[one, other] = one >= 0 and other >= 0
    if len(sequence) < _LEAST_RUN or not follows.any():
        return counts
    wanted = sorted({number for number in sequence if number >= 0})
    found = [(number, chosen.inside(columns)) for number in wanted for _, columns in term_hits[number].places[-1:]]
    for segment, (low, high) in enumerate(pairwise(chosen.bounds)):
        if low == high or not found:
            continue
        places, numbers, at = _in_order([(number, *inside[segment]) for number, inside in found])
        if len(places) < _LEAST_RUN:
            continue
        sizes = np.array([len(each.word) for each in term_hits])[numbers]
        linked = follows[numbers[:-1], numbers[1:]] & (np.diff(places) - sizes[:-1] <= _GAP)
        linked &= np.diff(places) > 0
        whole = linked[:-2] & linked[1:-1] & linked[2:]
        counts[low:high] += np.bincount(at[:-3][whole], minlength=high - low)
    return counts


def _in_order(found: Sequence[tuple[int, Numbers, Numbers]]) -> tuple[Numbers, Numbers, Numbers]:
    """Where words stand in units, in order; which word each is, and which unit that is."""
    places = np.concatenate([places for _, places, _ in found])
    numbers = np.repeat([number for number, _, _ in found], [len(places) for _, places, _ in found])
    units = np.concatenate([units for _, _, units in found])
    order = np.lexsort((numbers, places))
    return places[order], numbers[order], units[order]


class _Asked(NamedTuple):
    """A word with the places in units that may define it: its number, and of each place the unit and the heading."""

    word: int
    each: TermHits
    places: Numbers
    units: Numbers
    heads: Numbers  # of its segment; -1 for none
    bounds: list[int]  # of the places of each segment


def definitions(
    columns: CorpusColumns,
    chosen: Candidates,
    above: HeadingsAbove,
    term_hits: Sequence[TermHits],
    scores: Numbers,
) -> list[list[int]]:
    """For each word the units that begin the definition of a name that is this word, each once.

    A line that says so by its first word is known from the index. Of a word that is written as a name
    (`LZ4_compress`, `res.redirect`, `evolve()`) the units that have it are read, since not every language says so.
    Where those are very many, the units with the highest `scores` are read, however the corpus is stored.
    """
    found: list[dict[int, None]] = [{} for _ in term_hits]
    asked = [
        _may_define(chosen, above, word, each)
        for word, each in enumerate(term_hits)
        if not each.is_minor and not each.is_literal and each.places
    ]
    if sum(len(each.places) for each in asked) > _MOST_DEFINITIONS:
        asked = _best_asked(chosen, asked, scores)
    for number, segment in enumerate(columns.segments):
        for word, each, places, units, heads, bounds in asked:
            some = slice(*bounds[number : number + 2])
            if some.start == some.stop:
                continue
            own, column, heading = units[some], places[some], heads[some]
            in_head, begins, until = heading >= 0, chosen.starts[own], chosen.ends[own]
            tree = columns.heading_tree(number)
            if tree is not None and in_head.any():
                begins = np.where(in_head, tree.starts[heading], begins)
                until = np.where(in_head, np.minimum(tree.ends[heading], begins + _LONGEST_HEAD), until)
            texts = segment.view.texts(begins.tolist(), until.tolist())
            for unit, is_line, at, text in zip(
                own.tolist(), in_head.tolist(), (column - begins).tolist(), texts, strict=True
            ):
                names = (each.word, *each.names)
                if _name(text) in names if is_line else _begins_definition(text, at, len(each.word)):
                    found[word][unit] = None
    return [list(units) for units in found]


def _may_define(chosen: Candidates, above: HeadingsAbove, word: int, each: TermHits) -> _Asked:
    """The places in units where a word, as it was asked, may be defined: in headings, and anywhere if it is a name."""
    places, units, behind = chosen.find(each.places[0][1])
    heads = above.holding(places, behind)
    if each.is_name:
        return _Asked(word, each, places, units, heads, behind)
    kept = np.flatnonzero(heads >= 0)
    return _Asked(word, each, places[kept], units[kept], heads[kept], kept.searchsorted(behind).tolist())


def _best_asked(chosen: Candidates, asked: Sequence[_Asked], scores: Numbers) -> list[_Asked]:
    """As many of the places as are read, those in the best units; of equal ones by document and offset."""
    ranks = np.empty(len(chosen), np.int64)
    ranks[np.lexsort((chosen.offsets, chosen.rows, -scores))] = np.arange(len(chosen))
    sizes = [len(each.places) for each in asked]
    places, units = (np.concatenate([getattr(each, name) for each in asked]) for name in ("places", "units"))
    kept = np.zeros(len(places), np.bool_)
    kept[np.lexsort((places, np.repeat(np.arange(len(asked)), sizes), ranks[units]))[:_MOST_DEFINITIONS]] = True
    found = []
    for each, own in zip(asked, np.split(kept, np.cumsum(sizes[:-1])), strict=True):
        at = np.flatnonzero(own)
        bounds = at.searchsorted(each.bounds).tolist()
        found.append(_Asked(each.word, each.each, each.places[at], each.units[at], each.heads[at], bounds))
    return found


def _begins_definition(text: bytes, at: int, size: int) -> bool:
    """Whether a name that stands here is being defined: a body or a value follows, and nothing calls it.

    >>> code = b"int LZ4_compress(const char* src, int n)\\n{\\n    return LZ4_fast(src, n);\\n}"
    >>> _begins_definition(code, 4, 12), _begins_definition(code, code.index(b"LZ4_fast"), 8)
    (True, False)
    >>> _begins_definition(b"res.redirect = function redirect(url) {", 4, 8)
    True
    >>> _begins_definition(b"  -r, --recursive  Read all files", 8, 9), _begins_definition(b"grep --all x", 7, 3)
    (True, False)
    """
    before = text[text.rfind(b"\n", 0, at) + 1 : at]
    if before.endswith(b"-"):
        return _LISTED.fullmatch(_ROFF.sub(b"", before)) is not None
    if _CALLED.search(before) is not None or not _TYPED.fullmatch(before):
        return False
    return _VALUE.match(text, at + size) is not None or (
        _BODY.match(text, at + size) is not None and not before.rstrip().endswith(b".")
    )


def _name(line: bytes) -> bytes:
    """The name that a line defines, as a term; nothing if it defines none.

    >>> _name(b"async def Merge(*iterables):"), _name(b"func (r *Reader) Read(p []byte)"), _name(b"# Classes")
    (b'merge', b'read', b'')
    """
    found = _DEFINED.search(line)
    if found is None:
        return b""
    return re.split(rb"\.|::", found[1])[-1].lower().strip(b"_$")


# A line that only leads elsewhere in the corpus: an item or a row that is one link to a place of this page or to
# a page beside it, an entry with dots up to a page number, a directive that lists pages.
_LEADS = compiled(
    rb"\s*(?:[-*+|]|\d+[.)])?\s*(?:\d+(?:\.\d+)*\.?\s+)?(?:"
    rb"\[[^\]\n]*\]\((?:#|(?!\w+:|//)[^)\s#]*\.(?:md|markdown|rst|html?|txt|adoc)\b)[^)\n]*\)"
    rb"|:(?:ref|doc|any):`[^`\n]*`|`[^`\n]+`_{1,2}"
    rb"|[^\n]{1,200}?(?:\.{4,}|(?:\. ){4,})\s*\d+"
    rb")[\s.,;:|]*|\s*\.\. (?:toctree|contents)::.*",
    re.DOTALL,
)


def _may_lead(text: bytes) -> bool:
    """Whether a line has one of the signs that each line has which leads elsewhere."""
    return b"`" in text or b"](" in text or b"::" in text or b"...." in text or b". . . . " in text


_LONGEST_ENTRY = 200
_ITEM = compiled(rb"\s*(?:[-*+]|\xe2\x80\xa2|\d+[.)]|\d+(?:\.\d+)+\.?)\s")
_TITLE_WORDS = compiled(rb"[0-9A-Za-z\x80-\xff]+")


def _leads_elsewhere(text: bytes) -> bool:
    """Whether a unit is an entry of a table of contents: it names what stands elsewhere, and says nothing of it.

    >>> _leads_elsewhere(b"- [Restoring a backup](#restore)"), _leads_elsewhere(b"4.2 Backups ........ 17")
    (True, True)
    >>> _leads_elsewhere(b"- [requests](https://pypi.org/p/requests)"), _leads_elsewhere(b"- See [backups](#b) too.")
    (False, False)
    """
    return _may_lead(text) and _LEADS.fullmatch(text) is not None


def words_of_title(text: bytes) -> tuple[bytes, ...]:
    """The words of a heading, or of a line that repeats one, without its number.

    >>> words_of_title(b"## 4.2 Restoring a Backup"), words_of_title(b" 4.2. Restoring a backup")
    ((b'restoring', b'a', b'backup'), (b'restoring', b'a', b'backup'))
    """
    words = _TITLE_WORDS.findall(text.lower())
    return tuple(dropwhile(bytes.isdigit, words))


def entries(columns: CorpusColumns, chosen: Candidates, looked_at: Numbers) -> Numbers:
    """Which of some units, given by ascending numbers among the candidates, lead elsewhere or repeat a heading."""
    found = []
    looked_at = looked_at[chosen.sizes[looked_at] <= _LONGEST_ENTRY]
    for number, (low, high) in enumerate(pairwise(chosen.bounds)):
        here = looked_at[(looked_at >= low) & (looked_at < high)]
        starts, ends = chosen.starts[here].tolist(), chosen.ends[here].tolist()
        texts = columns.segments[number].view.texts(starts, ends) if starts else ()
        for at, start, end, text in zip(here.tolist(), starts, ends, texts, strict=True):
            if _leads_elsewhere(text) or (_ITEM.match(text) and columns.repeats_heading(number, start, end, text)):
                found.append(at)
    return np.array(found, np.int64)


def called_by(columns: CorpusColumns, term_hits: Sequence[TermHits]) -> Scores:
    """How clearly a question names each document, from nothing to one.

    How much of what the best named document shares with the question each one shares, times how much of its own name
    that is: `csv.py` is named by a question about csv, `large_collections.rst` hardly by one about large files. A
    number beside a word tells documents of one kind apart: `acme_2018.pdf` is twice as clearly named by both.
    """
    names = columns.path_names
    worth, has = np.zeros(len(columns.documents)), np.zeros(len(columns.documents))
    words, numbers = np.zeros(len(worth), np.int64), np.zeros(len(worth), np.int64)
    for each in term_hits:
        parts = [part for name in each.names if len((part := names.of(name))[0])]
        for own, weights in parts:
            has[own] = np.maximum(has[own], weights)  # a document is there once
        rows = parts[0][0] if len(parts) == 1 else merged(*(own for own, _ in parts))
        worth[rows] += min(each.weight, 1.0) * has[rows]
        if len(each.word) > 1 and not each.is_minor:
            (numbers if each.word.isdigit() else words)[rows[has[rows] > 0]] += 1
        has[rows] = 0.0
    most = float(worth.max(initial=0.0))
    rows = np.flatnonzero(worth)
    shared = worth[rows]
    worth[rows] = shared / most * (shared / np.maximum(names.totals(rows), shared))
    worth[rows[(words[rows] > 0) & (numbers[rows] > 0)]] *= 2
    return worth


class NamedDocuments(NamedTuple):
    """The paths and titles of documents as one text, a line each, and its terms."""

    text: bytes
    starts: Numbers  # where each line begins, and the end
    path_ends: Numbers  # where the path ends that each begins with
    names: Names  # of the terms, sorted
    offsets: Numbers  # where those of each term begin among `rows`, and the end
    rows: Places  # of each of the terms' places, the line
    smallest: tuple[Places, ...]  # of paths alone: what `smallest_words` says

    @classmethod
    def of(cls, paths: Sequence[str], titles: Sequence[str | None]) -> NamedDocuments:
        """A path, a blank and a title on each line."""
        lines = [f"{path} {title or ''}" for path, title in zip(paths, titles, strict=True)]
        joined = "\n".join(lines)
        if joined.count("\n") >= max(len(lines), 1):
            joined = "\n".join([line.replace("\n", " ") for line in lines])
        text = joined.encode("utf-8", "replace")
        names = paths if text.isascii() else [path.encode("utf-8", "replace") for path in paths]
        ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")), len(text)) + 1
        starts = np.append(0, ends) if lines else np.zeros(1, np.int64)
        sizes, terms = np.fromiter(map(len, names), np.int64, len(names)), terms_of(text)
        path_ends, rows = starts[:-1] + sizes, find_rows(starts[:-1], terms.starts)
        smallest = smallest_words(terms.names, terms.offsets, terms.starts, rows=rows, ends=path_ends)
        return cls(text, starts, path_ends, Names.of(terms.names), terms.offsets, rows, smallest)

    def arrays(self) -> list[NDArray[Any]]:
        """All of it as arrays."""
        text, names = (np.frombuffer(raw, np.uint8) for raw in (self.text, self.names.lines))
        return [text, self.starts, self.path_ends, names, self.names.bounds, self.offsets, self.rows, *self.smallest]

    @classmethod
    def of_arrays(cls, *arrays: NDArray[Any], count: int) -> NamedDocuments:
        """The same back, of so many documents; a ValueError where they are no such arrays."""
        text, starts, path_ends, lines, bounds, offsets, rows, *smallest = arrays
        wide, narrow = np.dtype(np.int64), np.dtype(np.int32)
        if [each.dtype for each in arrays[1:]] != [wide, wide, np.uint8, narrow, wide, narrow, *[narrow] * 5]:
            raise ValueError("these are not the names of documents")
        if bounds[:1].tolist() != [0] or bounds[-1] != len(lines) or (bounds[1:] <= bounds[:-1]).any():
            raise ValueError("every name must lie inside its text")
        if not len(starts) - 1 == len(path_ends) == count or len(offsets) != len(bounds):
            raise ValueError("every document needs a line, and every name its places")
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < count:
            raise ValueError("a name must be a document's")
        return cls(text.tobytes(), starts, path_ends, Names(lines.tobytes(), bounds), offsets, rows, tuple(smallest))


_NO_ROWS = (np.zeros(0, np.int64), np.zeros(0))


class PathNames:
    """The words of the documents' paths, the smallest ones, and what each says of which document.

    A word is worth its rarity among the names, in a folder half of it; what stands behind the last dot is nothing.
    What words are worth is worked out for those that are asked for. Columns have four bytes a number: names of a
    million documents have ten million words.
    """

    def __init__(self, called: NamedDocuments) -> None:
        self._text, self._starts, self._path_ends, self._names, *_ = called
        count = len(self._path_ends)
        # Words come in order, the places of each in order, and so do their documents; titles come behind the paths.
        self._places, self._firsts, self._words, self._rows, self._bounds = called.smallest
        # Of each line where the file's name begins and what stands behind its last dot, of each word how rare it is.
        self._bases, self._dots = (np.full(count, -1, np.int32) for _ in range(2))
        self._rarities: Scores = np.full(len(self._names), -1.0)
        self._totals: Scores = np.full(count, -1.0)
        self.of = lru_cache(_KEPT_NAMES)(self._of)

    def __contains__(self, name: bytes) -> bool:
        part = self._part(name)
        return bool(part.stop > part.start)

    def _of(self, name: bytes) -> tuple[Numbers, Scores]:
        """The documents whose path has this word, and what it is worth for each."""
        part = self._part(name)
        if part.start == part.stop:
            return _NO_ROWS
        return self._rows[part].astype(np.int64), self._weights(np.arange(part.start, part.stop))

    def totals(self, rows: Numbers) -> Scores:
        """What all words of each of these documents' names are worth together; worked out once for each."""
        new = rows[self._totals[rows] < 0]
        if len(new):
            bounds, order = self._by_row
            firsts, sizes = bounds[new], (bounds[new + 1] - bounds[new]).astype(np.int64)
            begins = np.cumsum(sizes) - sizes
            pairs = order[np.repeat(firsts - begins, sizes) + np.arange(int(sizes.sum()))].astype(np.int64)
            weights = self._weights(pairs)  # those of a row are added up one after the other
            self._totals[new] = np.bincount(np.repeat(np.arange(len(new)), sizes), weights, minlength=len(new))
        return self._totals[rows]

    @cached_property
    def _by_row(self) -> tuple[Places, Places]:
        """Where the words of each document begin, and which these are among all."""
        return group_by_row(self._rows, count=len(self._totals))

    def _part(self, name: bytes) -> slice:
        at = place_of(self._names, name)
        if at < 0:
            return slice(0, 0)
        return slice(int(self._bounds[at]), int(self._bounds[at + 1]))

    def _weights(self, pairs: Numbers) -> Scores:
        """What some words are worth for their documents: as much as where they stand best there."""
        if not len(pairs):
            return np.zeros(0)
        sizes = (self._firsts[pairs + 1] - self._firsts[pairs]).astype(np.int64)
        begins = np.cumsum(sizes) - sizes
        places = self._places[np.repeat(self._firsts[pairs] - begins, sizes) + np.arange(int(sizes.sum()))]
        rows, words = np.repeat(self._rows[pairs], sizes).astype(np.int64), self._words[pairs].astype(np.int64)
        for row in _new(rows, self._dots):
            line = self._text[self._starts[row] : self._path_ends[row]]
            self._bases[row], self._dots[row] = line.rfind(b"/") + 1, _extension(line)
        for word in _new(words, self._rarities):
            count = int(self._bounds[word + 1] - self._bounds[word])
            self._rarities[word] = plain_rarity(count, len(self._path_ends))
        inside = places - self._starts[rows]
        shares = np.where(inside >= self._bases[rows], 1.0, _FOLDER_SHARE) * (inside < self._dots[rows])
        best: Scores = np.maximum.reduceat(shares, begins)
        return best * self._rarities[words]


def _new(numbers: Numbers, known: NDArray[Any]) -> list[int]:
    """Those of some numbers, each once, of which nothing is known yet: their values are negative."""
    new = numbers[known[numbers] < 0]
    found: list[int] = sorted(set(new.tolist()))  # `np.unique` loads masked arrays first
    return found


def _extension(path: bytes) -> int:
    """Where what stands behind the last dot of a file's name begins; its length if nothing does."""
    dot = path.rfind(b".")
    return dot if dot > path.rfind(b"/") + 1 and path[dot + 1 :].isalnum() and len(path) - dot <= 7 else len(path)


# ---- repeats: Which records say again what better ones have said?

_NUMBERED = compiled(rb"\w*\d\w*")
_SHOWN = 3  # of records that differ in nothing but numbers
_LOOKED_AT = 400  # of the best places


def repeats(columns: CorpusColumns, units: Ids, rows: Numbers) -> Numbers:
    """The places, among units ordered by their worth, of records that differ from better ones in numbers only.

    A pasted line of a log stands in it hundreds of times: a few of them say so, and the rest would fill the budget
    before what explains it gets a place. Of a document whose best records are mostly such, all further ones are.
    """
    records = np.flatnonzero(columns.records[rows])
    looked_at = records[records < _LOOKED_AT]
    if len(looked_at) <= _SHOWN:
        return np.zeros(0, np.int64)
    every, (rows, starts, sizes) = rows, columns.placed(units[looked_at])
    places = (column.tolist() for column in (columns.documents.numbers[rows], starts, starts + sizes))
    times: Counter[tuple[int, bytes]] = Counter()
    again = np.zeros(len(looked_at), np.bool_)
    for at, (number, start, end) in enumerate(zip(*places, strict=True)):
        shape = (number, _NUMBERED.sub(b"0", columns.snapshot.read(number, start, end)))
        times[shape] += 1
        again[at] = times[shape] > _SHOWN
    mostly = [row for row in set(rows.tolist()) if 2 * np.count_nonzero(again[rows == row]) > (rows == row).sum()]
    further = records[len(looked_at) :]
    return np.concatenate((looked_at[again], further[np.isin(every[further], mostly)]))
