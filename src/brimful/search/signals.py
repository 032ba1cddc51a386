"""Signals of relevance: rarity of words, definitions, entries of contents, repeated lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from decimal import Context as DecimalContext
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import dropwhile
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from brimful.index.segments import Numbers, Postings
from brimful.native.question import ChosenUnits, WordsInUnits
from brimful.native.terms import find_rows
from brimful.text.terms import Names, terms_of

if TYPE_CHECKING:
    from brimful.search.columns import CorpusColumns, Ids
    from brimful.search.field import TermHits


# ---- rarity: How much does an occurrence of a word say?

_DIGITS = DecimalContext(prec=20)


@lru_cache(4_096)
def plain_rarity(occurrences: int, total: int) -> float:
    """BM25's inverse document frequency of a word, in decimals so that all machines agree.

    >>> plain_rarity(1, 1000) > plain_rarity(10, 1000) > plain_rarity(1000, 1000) > 0
    True
    """
    occurrences = min(occurrences, total)
    odds = 1 + Decimal(2 * (total - occurrences) + 1) / Decimal(2 * occurrences + 1)
    return float(odds.ln(_DIGITS))


def idf(occurrences: int, total: int) -> float:
    """Inverse document frequency for a passage: to the power of five quarters, so rare words count more."""
    plain = plain_rarity(occurrences, total)
    return plain * sqrt(sqrt(plain))


# ---- candidates: Which units are scored, and where are they?


class Candidates:
    """Ascending units of a corpus, with the columns that scoring needs."""

    def __init__(self, chosen: ChosenUnits) -> None:
        self.units = chosen.units
        # Its extent, where it lies on its axis, its document and where it begins there, and its run of neighbours.
        self.extents, self.starts, self.ends, self.rows, self.offsets, self.firsts, self.lasts = chosen.placed
        self.bounds = chosen.bounds  # the first of each segment, and the end

    @property
    def sizes(self) -> Numbers:
        """How long each is."""
        sizes: Numbers = self.ends - self.starts
        return sizes

    @cached_property
    def begins(self) -> Numbers:
        """The first unit of each run."""
        return np.flatnonzero(self.firsts == np.arange(len(self.units)))

    def __len__(self) -> int:
        return len(self.units)


# ---- signals: What else counts for a unit?
#
# That it defines a name which the question uses; that it is no entry of a table of contents.

Scores = NDArray[np.float64]


_MOST_DEFINITIONS = 400  # lines and units that are read to see which name they define
_LONGEST_HEAD = 300
_DEFINED = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*(?:(?:\.|::)[\w$\x80-\xff]+)*")
# What stands before an option in a line that says what it does: nothing but markup, its short form, or the call of
# a library that reads command lines. The signs of manual pages are taken out first.
_LISTED = re.compile(
    rb"(?:.*\b(?i:add_argument|add_option|option|flag|arg)(?:\(|::))?[^A-Za-z0-9]*"
    rb"(?:-\w(?:[ =][^A-Za-z0-9\s]?[A-Z]+)?[^A-Za-z0-9]+)?"
)
_ROFF = re.compile(rb"\A\.\w+ (?:(?:Fl|Op|Ic) )*|\\f.")
# What may stand before a name that a line defines: types, modifiers, the object it is put on.
_TYPED = re.compile(rb"[ \t]*[\w$&*:<>,.\[\] \t~]*")
_CALLED = re.compile(rb"\b(?:return|await|yield|new|throw|else|if|while|case|in|not|and|or|goto|delete|typeof)[ \t]+$")
_BODY = re.compile(rb"[ \t]*(?:<[^<>\n]{0,80}>)?\([^;{}]{0,600}\)[^;{}()=]{0,80}(?:\{|=>)")
_VALUE = re.compile(
    rb"[ \t]*(?::[^=\n]{0,80})?=[ \t]*(?:async[ \t]+)?(?:function\b|class\b|\(|\w+[ \t]*=>|lambda\b)"
    rb"|[ \t]*:[ \t]*(?:async[ \t]+)?function\b"
)


def definitions(
    columns: CorpusColumns,
    chosen: Candidates,
    counted: WordsInUnits,
    term_hits: Sequence[TermHits],
    lexical: Scores,
) -> list[list[int]]:
    """For each word the units that begin the definition of a name that is this word, each once.

    The names of definitions are known from the index. Of a word that is written as a name
    (`LZ4_compress`, `res.redirect`, `evolve()`) the units that have it are read, since not every language says so.
    Where those are very many, the units that are worth most by their words are read, however the corpus is stored.
    """
    defining: list[dict[int, None]] = [{} for _ in term_hits]
    wanted = [not hits.is_minor and not hits.is_literal for hits in term_hits]
    mentions = counted.defining(wanted, [hits.is_name for hits in term_hits])
    if mentions.shape[1] > _MOST_DEFINITIONS:
        mentions = mentions[:, _best_mentions(chosen, mentions, np.rint(lexical * 1_000_000).astype(np.int64))]
    if not mentions.shape[1]:
        return [[] for _ in term_hits]
    words, places, units, heads = mentions
    begins, ends, owners = (
        chosen.starts[units],
        chosen.ends[units],
        np.array(chosen.bounds[1:]).searchsorted(units, "right"),
    )
    spellings = [(hits.word, *hits.names) for hits in term_hits]
    for number in sorted(set(owners.tolist())):
        in_segment = np.flatnonzero(owners == number)
        heading, start, end = heads[in_segment], begins[in_segment], ends[in_segment]
        tree = columns.heading_tree(number)
        if tree is not None:
            in_head = heading >= 0
            names = columns.segments[number].view.heads.names
            start = np.where(in_head, names[heading], start)
            end = np.where(in_head, np.minimum(tree.ends[heading], start + _LONGEST_HEAD), end)
        texts = columns.segments[number].view.texts(start.tolist(), end.tolist())
        rows = (words[in_segment], units[in_segment], heading, places[in_segment] - start)
        for word, unit, head, position, text in zip(*(row.tolist() for row in rows), texts, strict=True):
            is_one = (
                _name(text) in spellings[word]
                if head >= 0
                else _begins_definition(text, position, len(term_hits[word].word))
            )
            if is_one:
                defining[word][unit] = None
    return [list(units) for units in defining]


def _best_mentions(chosen: Candidates, mentions: Numbers, scores: Numbers) -> Numbers:
    """The mentions to read, up to the limit, of the best units; ties go by document and offset."""
    words, places, units, _ = mentions
    ranks = np.empty(len(chosen), np.int64)
    ranks[np.lexsort((chosen.offsets, chosen.rows, -scores))] = np.arange(len(chosen))
    return np.sort(np.lexsort((places, words, ranks[units]))[:_MOST_DEFINITIONS])


def _begins_definition(text: bytes, position: int, size: int) -> bool:
    """Whether a name that stands here is being defined: a body or a value follows, and nothing calls it.

    >>> code = b"int LZ4_compress(const char* src, int n)\\n{\\n    return LZ4_fast(src, n);\\n}"
    >>> _begins_definition(code, 4, 12), _begins_definition(code, code.index(b"LZ4_fast"), 8)
    (True, False)
    >>> _begins_definition(b"res.redirect = function redirect(url) {", 4, 8)
    True
    >>> _begins_definition(b"  -r, --recursive  Read all files", 8, 9), _begins_definition(b"grep --all x", 7, 3)
    (True, False)
    """
    line_head = text[text.rfind(b"\n", 0, position) + 1 : position]
    if line_head.endswith(b"-"):
        return _LISTED.fullmatch(_ROFF.sub(b"", line_head)) is not None
    if _CALLED.search(line_head) is not None or not _TYPED.fullmatch(line_head):
        return False
    return _VALUE.match(text, position + size) is not None or (
        _BODY.match(text, position + size) is not None and not line_head.rstrip().endswith(b".")
    )


def _name(text: bytes) -> bytes:
    """The name that a text begins with, as a term; nothing if it begins with none.

    >>> _name(b"Merge(*iterables):"), _name(b"res.redirect = function () {"), _name(b"# Classes")
    (b'merge', b'redirect', b'')
    """
    name = _DEFINED.match(text)
    return b"" if name is None else name[0].replace(b"::", b".").rpartition(b".")[2].lower().strip(b"_$")


# A line that only leads elsewhere in the corpus: an item or a row that is one link to a place of this page or to
# a page near it, an entry with dots up to a page number, a directive that lists pages.
_LEADS = re.compile(
    rb"\s*(?:[-*+|]|\d+[.)])?\s*(?:\d+(?:\.\d+)*\.?\s+)?(?:"
    rb"\[[^\]\n]*\]\((?:#|(?!\w+:|//)[^)\s#]*\.(?:md|markdown|rst|html?|txt|adoc)\b)[^)\n]*\)"
    rb"|:(?:ref|doc|any):`[^`\n]*`|`[^`\n]+`_{1,2}"
    rb"|[^\n]{1,200}?(?:\.{4,}|(?:\. ){4,})\s*\d+"
    rb")[\s.,;:|]*|\s*\.\. (?:toctree|contents)::.*",
    re.DOTALL,
)


_MAY_LEAD = re.compile(rb"`|\]\(|::|\.{4}|(?:\. ){4}")
"""The signs of which each line has one that leads elsewhere."""


_LONGEST_ENTRY = 200
_ITEM = re.compile(rb"\s*(?:[-*+]|\xe2\x80\xa2|\d+[.)]|\d+(?:\.\d+)+\.?)\s")
_TITLE_WORDS = re.compile(rb"[0-9A-Za-z\x80-\xff]+")


def _leads_elsewhere(text: bytes) -> bool:
    """Whether a unit is an entry of a table of contents: it names what stands elsewhere, and says nothing of it.

    >>> _leads_elsewhere(b"- [Restoring a backup](#restore)"), _leads_elsewhere(b"4.2 Backups ........ 17")
    (True, True)
    >>> _leads_elsewhere(b"- [requests](https://pypi.org/p/requests)"), _leads_elsewhere(b"- See [backups](#b) too.")
    (False, False)
    """
    return _MAY_LEAD.search(text) is not None and _LEADS.fullmatch(text) is not None


def words_of_title(text: bytes) -> tuple[bytes, ...]:
    """The words of a heading, or of a line that repeats one, without its number.

    >>> words_of_title(b"## 4.2 Restoring a Backup"), words_of_title(b" 4.2. Restoring a backup")
    ((b'restoring', b'a', b'backup'), (b'restoring', b'a', b'backup'))
    """
    words = _TITLE_WORDS.findall(text.lower())
    return tuple(dropwhile(bytes.isdigit, words))


def entries(columns: CorpusColumns, chosen: Candidates, looked_at: Numbers) -> Numbers:
    """The candidates among `looked_at`, ascending numbers, that only link elsewhere or repeat a heading."""
    looked_at = looked_at[chosen.sizes[looked_at] <= _LONGEST_ENTRY]
    leading = []
    for place, text in zip(looked_at.tolist(), columns.texts(chosen.units[looked_at]), strict=True):
        if _leads_elsewhere(text):
            leading.append(place)
        elif _ITEM.match(text):
            number = bisect_right(chosen.bounds, place) - 1
            if columns.repeats_heading(number, int(chosen.starts[place]), int(chosen.ends[place]), text):
                leading.append(place)
    return np.array(leading, np.int64)


def postings_of_names(paths: Sequence[str], titles: Sequence[str | None]) -> Postings:
    """The terms of documents' paths and titles, each with the rows that have it, once for each time."""
    lines = [f"{path} {title or ''}".replace("\n", " ") for path, title in zip(paths, titles, strict=True)]
    text = "\n".join(lines).encode("utf-8", "replace")
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    terms = terms_of(text)
    return Postings(Names.of(terms.names), terms.offsets, find_rows(np.append(0, ends), terms.starts))


# ---- repeats: Which units say again what better ones have said?

_NUMBERED = re.compile(rb"\b\w*\d\w*")
_SHOWN = 3  # of units that are alike
_LOOKED_AT = 400  # of the best places
_SIZE, _IS_RECORD = 1, 2  # columns of a place, after its document
_SHORT = 80  # bytes of a unit that, outside of records, says nothing new where it stands again


def repeats(columns: CorpusColumns, units: Ids, rows: Numbers) -> Numbers:
    """The places, among units from the best on, of repetitions of better ones in their document.

    A pasted log line may occur hundreds of times: a few of them say so, and more would fill the budget before its
    explanation. A reference may repeat a line below each entry. Records repeat each other if they differ in numbers
    only; where a document's best records mostly do, all further ones count as repeated.
    """
    is_record = columns.records[rows]
    *_, sizes = columns.placed(units[:_LOOKED_AT])
    best = (column[:_LOOKED_AT].tolist() for column in (rows, sizes, is_record))
    places = list(zip(*best, strict=True))
    alike = Counter(places)
    looked_at = [
        rank
        for rank, place in enumerate(places)
        if place[_IS_RECORD] or (place[_SIZE] <= _SHORT and alike[place] > _SHOWN)
    ]
    if len(looked_at) <= _SHOWN:
        return np.zeros(0, np.int64)
    times: Counter[tuple[int, bytes]] = Counter()
    again: list[int] = []
    shares: Counter[int] = Counter()  # per document, repeated less new among its best records
    for rank, text in zip(looked_at, columns.texts(units[looked_at]), strict=True):
        row, _, numbered = places[rank]
        shape = (row, _NUMBERED.sub(b"0", text) if numbered else text)
        times[shape] += 1
        is_again = times[shape] > _SHOWN
        again += [rank] if is_again else []
        shares[row] += (1 if is_again else -1) if numbered else 0
    mostly = np.zeros(len(columns.documents), np.bool_)
    mostly[np.array([row for row, share in shares.items() if share > 0], np.int64)] = True
    further = _LOOKED_AT + np.flatnonzero(is_record[_LOOKED_AT:] & mostly[rows[_LOOKED_AT:]])
    return np.concatenate((np.array(again, np.int64), further))
