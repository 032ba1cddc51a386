"""Signals of relevance: rarity of words, definitions, names of documents, repeated lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Context as DecimalContext
from decimal import Decimal
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from brimful.index.segments import Numbers, Postings
from brimful.text.terms import Names, terms_of

if TYPE_CHECKING:
    from brimful.search.candidates import ChosenUnits, TermHits, WordsInUnits
    from brimful.search.columns import CorpusColumns, Ids


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


# ---- definitions: Which units define a name that the question uses?

_MOST_DEFINITIONS = 400  # headings that are read to see which name they define
_LONGEST_HEAD = 300
_DEFINED = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*(?:(?:\.|::)[\w$\x80-\xff]+)*")


def definitions(
    columns: CorpusColumns,
    chosen: ChosenUnits,
    counted: WordsInUnits,
    term_hits: Sequence[TermHits],
    lexical: NDArray[np.float64],
) -> list[list[int]]:
    """For each word the units that begin the definition of a name that is this word, each once.

    Where the words stand in very many headings, those of the units that are worth most by their words are read.
    """
    defining: list[dict[int, None]] = [{} for _ in term_hits]
    mentions = counted.in_headings([not hits.is_minor and not hits.is_literal for hits in term_hits])
    if mentions.shape[1] > _MOST_DEFINITIONS:
        mentions = mentions[:, _best_mentions(chosen, mentions, np.rint(lexical * 1_000_000).astype(np.int64))]
    words, _, units, heads = mentions
    owners = np.array(chosen.bounds[1:]).searchsorted(units, "right")
    for number in np.unique(owners).tolist():
        in_segment = np.flatnonzero(owners == number)
        tree, heading = columns.heading_tree(number), heads[in_segment]
        assert tree is not None
        view = columns.segments[number].view
        starts = view.heads.names[heading]
        texts = view.texts(starts.tolist(), np.minimum(tree.ends[heading], starts + _LONGEST_HEAD).tolist())
        for word, unit, text in zip(words[in_segment].tolist(), units[in_segment].tolist(), texts, strict=True):
            if _name(text) in (term_hits[word].word, *term_hits[word].names):
                defining[word][unit] = None
    return [list(units) for units in defining]


def _best_mentions(chosen: ChosenUnits, mentions: Numbers, scores: Numbers) -> Numbers:
    """The mentions to read, up to the limit, of the best units; ties go by document and offset."""
    words, places, units, _ = mentions
    ranks = np.empty(len(chosen.units), np.int64)
    ranks[np.lexsort((chosen.placed.offsets, chosen.placed.rows, -scores))] = np.arange(len(ranks))
    return np.sort(np.lexsort((places, words, ranks[units]))[:_MOST_DEFINITIONS])


def _name(text: bytes) -> bytes:
    """The name that a text begins with, as a term; nothing if it begins with none.

    >>> _name(b"Merge(*iterables):"), _name(b"res.redirect = function () {"), _name(b"# Classes")
    (b'merge', b'redirect', b'')
    """
    name = _DEFINED.match(text)
    return b"" if name is None else name[0].replace(b"::", b".").rpartition(b".")[2].lower().strip(b"_$")


def postings_of_names(paths: Sequence[str], titles: Sequence[str | None]) -> Postings:
    """The terms of documents' paths and titles, each with the rows that have it, once for each time."""
    lines = [f"{path} {title or ''}".replace("\n", " ") for path, title in zip(paths, titles, strict=True)]
    text = "\n".join(lines).encode("utf-8", "replace")
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    terms = terms_of(text)
    return Postings(Names.of(terms.names), terms.offsets, ends.searchsorted(terms.starts).astype(np.int32))


# ---- repeats: Which units say again what better ones have said?

_NUMBERED = re.compile(rb"\b\w*\d\w*")
_SHOWN = 3  # of units that are alike
_LOOKED_AT = 400  # of the best places


def repeats(columns: CorpusColumns, units: Ids, rows: Numbers) -> Numbers:
    """The places, among units from the best on, that repeat three better ones of their document but for numbers.

    A pasted log line may occur hundreds of times: more of them would fill the budget before its explanation.
    """
    times: Counter[tuple[int, bytes]] = Counter()
    again = []
    texts = columns.texts(units[:_LOOKED_AT])
    for place, (row, text) in enumerate(zip(rows[:_LOOKED_AT].tolist(), texts, strict=True)):
        shape = row, _NUMBERED.sub(b"0", text)
        times[shape] += 1
        if times[shape] > _SHOWN:
            again.append(place)
    return np.array(again, np.int64)
