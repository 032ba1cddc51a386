"""Score the units of a corpus for a question (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from brimful.index.segments import Numbers
from brimful.native.columns import Columns
from brimful.native.question import (
    AskedWords,
    ChosenUnits,
    ScaledUnits,
    WeighedDocuments,
    WordsInUnits,
    order_field,
    settle_units,
)
from brimful.search.columns import DEEPEST, CorpusColumns, Ids
from brimful.search.signals import definitions, idf, plain_rarity
from brimful.settings import FieldSettings

# A word of the question counts at four scales: in the unit itself, in its near and its wide surroundings, and in its
# whole document. Surroundings slide with the unit, so no border of a section cuts a thought in two; a record stands for
# itself alone, and a unit of source code for itself and its document. At each scale the
# words add up as in BM25, places that have more of the question count for more, and the best place is worth one. Every
# unit shares some of its worth with its neighbours.
#
# Only where rare words stand is looked at closely: blocks of neighbouring units are compared first. Sums run in a fixed
# order and are rounded to whole millionths before they decide anything.

THOUSAND, MILLION = 1_000, 1_000_000
MOST_PLACES = 200_000
"""Positions that are looked at to narrow a question down: the rarest words first, at least one of them."""

_SURROUNDINGS = 8  # units scored on both sides of a chosen one
_MOST_HALVINGS = 16
_NEIGHBOUR = 5
"""A unit's neighbours get a fifth of its score."""
_OF_RECORDS = 4
"""At most one block in four is of records, where enough others have words of the question."""


Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TermHits:
    """A word of the question and where it stands: weights with positions, segment by segment.

    No position is in two of the groups, and the first ones count most.
    """

    word: bytes
    weight: float
    places: tuple[tuple[int, Columns], ...]  # the weights in thousandths
    names: tuple[bytes, ...] = ()  # its terms in paths and titles
    is_minor: bool = False  # it only asks, or is a part of a longer word: no place is looked at for its sake
    is_literal: bool = False  # a phrase in quotation marks: what has it stands above all that has not

    @property
    def occurrences(self) -> int:
        """How often the word occurs in the corpus."""
        return sum(places.total for _, places in self.places)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredUnits:
    """The units that were looked at, the best first, with their scores in millionths."""

    units: Ids
    rows: Numbers  # the document of each
    scores: Numbers
    lexical: Numbers
    semantic: Numbers
    words: NDArray[np.bool_]  # for each word, which of the units that were looked at have it themselves
    places: Numbers  # of each unit among these
    documents: Numbers  # the score of each document and its best unit, by row
    covered: int  # how much of what the question says the best place has, in millionths

    def has_words(self, limit: int) -> NDArray[np.bool_]:
        """For each word, which of the best `limit` units have it."""
        return self.words.take(self.places[:limit], axis=1)


def in_order(scored: ScoredUnits) -> ScoredUnits:
    """The best units first; ties keep their order."""
    return reordered(scored, np.lexsort((np.arange(len(scored.scores)), -scored.scores)))


def reordered(scored: ScoredUnits, order: Numbers) -> ScoredUnits:
    """The units at some places, in this order."""
    return replace(
        scored,
        units=scored.units[order],
        rows=scored.rows[order],
        scores=scored.scores[order],
        lexical=scored.lexical[order],
        semantic=scored.semantic[order],
        places=scored.places[order],
    )


def fused(columns: CorpusColumns, scored: ScoredUnits, alike: Numbers | None) -> ScoredUnits:
    """Scores by words, times how a model likes the best units; without a model the scores themselves count twice.

    A unit that is one standard deviation less alike than the best counts half as much; units that were not read count
    as the least alike. A share of each score goes to the neighbours: an answer often adjoins the sentence that the
    question is like.
    """
    scores = scored.scores * scored.scores // scored.scores.max() if alike is None else _halved(scored.scores, alike)
    scores = _spread(columns, scored.units, scores)
    documents = np.zeros_like(scored.documents)
    np.maximum.at(documents, scored.rows, scores)
    return in_order(replace(scored, scores=scores, documents=documents))


def _halved(scores: Numbers, alike: Numbers) -> Numbers:
    """Scores, half as high for each deviation from the most alike, with a straight line between two halvings.

    >>> _halved(np.array([800, 800, 800, 800]), np.array([700, 500, 600])).tolist()
    [800, 153, 353, 153]
    """
    count, total = len(alike), int(alike.sum())
    deviation = max(isqrt(count * int(alike @ alike) - total * total) // count, 1)
    distances = np.full(len(scores), alike.max() - alike.min())
    distances[:count] = alike.max() - alike
    halvings, part = np.divmod(distances, deviation)
    halved: Numbers = (scores * (2 * deviation - part) // (2 * deviation)) >> np.minimum(halvings, _MOST_HALVINGS)
    return halved


def _spread(columns: CorpusColumns, units: Ids, scores: Numbers) -> Numbers:
    """Scores with a share of the scores of adjacent units, except between records."""
    order = np.argsort(units, kind="stable")
    in_place, placed = scores[order], columns.placed(units[order])
    is_next = (np.diff(placed.firsts) == 0) & ~columns.records[placed.rows[1:]]
    gained = in_place.copy()
    gained[1:] += np.where(is_next, in_place[:-1] // _NEIGHBOUR, 0)
    gained[:-1] += np.where(is_next, in_place[1:] // _NEIGHBOUR, 0)
    spread = np.empty(len(units), np.int64)
    spread[order] = gained
    return spread


def relevance(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    *,
    settings: FieldSettings,
    blocks: int,
    allowed: NDArray[np.bool_] | None = None,
    favour: Numbers | None = None,
    lacking: float = 0.0,
) -> ScoredUnits:
    """The scored units of the most promising blocks.

    `allowed` says which documents may be shown, `favour` how many thousandths each counts, both by row; `lacking` is
    what words of the question are worth that the corpus does not have.
    """
    present = [hits for hits in term_hits if hits.occurrences or _is_name(columns, hits)]
    if not present or not len(columns):
        nothing = np.zeros(0, np.int64)
        no_documents = np.zeros(len(columns.documents), np.int64)
        return ScoredUnits(*(nothing,) * 5, np.zeros((len(term_hits), 0), bool), nothing, no_documents, 0)
    words = AskedWords(
        columns.asked_places, [hits.places for hits in term_hits], [columns.titled(hits.names) for hits in term_hits]
    )
    documents = _documents(columns, term_hits, words, settings)
    chosen = _promising(columns, term_hits, words, documents, settings, limit=blocks, allowed=allowed)
    trees = [
        columns.heading_tree(number) if low < high else None
        for number, (low, high) in enumerate(pairwise(chosen.bounds))
    ]
    heading = round(settings.heading * THOUSAND)
    counted = WordsInUnits(words, chosen, trees, deepest=DEEPEST, heading=heading)
    scaled = _scaled(columns, term_hits, counted, documents, settings)
    by_words = scaled.lexical
    if settings.definition:
        by_words = by_words + settings.definition * _defined(columns, chosen, counted, term_hits, by_words)
    by_words, scores, by_document = settle_units(
        words,
        chosen,
        by_words,
        documents=documents,
        share=_known_share(columns, term_hits, lacking),
        favour=favour,
        allowed=allowed,
    )
    literal = [number for number, hits in enumerate(term_hits) if hits.is_literal]
    if literal:
        scores = scores + counted.present[literal].sum(axis=0, dtype=np.int64) * scores.max(initial=0)
    order, units, rows, scores, lexical = order_field(chosen, scores, by_words)
    covered = _covered(columns, term_hits, scaled, lacking)
    return ScoredUnits(
        units, rows, scores, lexical, np.zeros_like(scores), counted.present, order, by_document, covered
    )


def _scaled(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    counted: WordsInUnits,
    documents: Scores,
    settings: FieldSettings,
) -> ScaledUnits:
    """The score of each unit by the words in it, near it and in its document."""
    reaches = (0, settings.near_reach)
    around = [2 * reach + 1 for reach in reaches]  # units
    total, size = len(columns), columns.unit_size
    return counted.scales(
        [[hits.weight * idf(hits.occurrences * units, total) for hits in term_hits] for units in around],
        reaches=reaches,
        unit_bytes=[size * units for units in around],
        covering=[0.0 if hits.is_minor else hits.weight * idf(hits.occurrences, total) for hits in term_hits],
        documents=documents,
        shares=(settings.unit, settings.document, settings.near),
        saturation=settings.saturation,
        length=settings.length,
    )


def _documents(
    columns: CorpusColumns, term_hits: Sequence[TermHits], words: AskedWords, settings: FieldSettings
) -> Scores:
    """The BM25 score of each document with its path and title, divided by the highest."""
    total = len(columns.documents)
    weighed = WeighedDocuments(
        words,
        name=round(settings.name * THOUSAND),
        sizes=columns.document_sizes,
        saturation=settings.saturation,
        length=settings.length,
    )
    for word, hits in enumerate(term_hits):
        weighed.weigh(hits.weight * plain_rarity(weighed.count(word), total))
    scores = weighed.scores
    highest = float(scores.max(initial=0.0))
    return scores / highest if highest > 0 else scores


def _promising(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    words: AskedWords,
    documents: Scores,
    settings: FieldSettings,
    *,
    limit: int,
    allowed: NDArray[np.bool_] | None,
) -> ChosenUnits:
    """The units of the blocks with most of the rare words, ascending.

    Blocks of records get a share only, where others have words of the question: a pasted log line is whole in hundreds
    of blocks, but the text that explains it has a part of its words.
    """
    read, ordered, named = 0, [], {}
    present = [number for number, hits in enumerate(term_hits) if hits.occurrences or _is_name(columns, hits)]
    for number in sorted(
        present, key=lambda number: (term_hits[number].is_minor, term_hits[number].occurrences, term_hits[number].word)
    ):
        hits = term_hits[number]
        if read and (read + hits.occurrences > MOST_PLACES or hits.is_minor):
            continue
        read += hits.occurrences
        ordered.append((number, hits.weight * idf(hits.occurrences, len(columns))))
        if not hits.occurrences:
            named[number] = _named(columns, hits)
    return words.choose(
        ordered,
        named=named,
        documents=documents,
        document=settings.document,
        limit=limit,
        of_records=_OF_RECORDS if settings.priors else 0,
        allowed=allowed,
        reach=_SURROUNDINGS,
    )


def _is_name(columns: CorpusColumns, term_hits: TermHits) -> bool:
    return len(columns.titled(term_hits.names)) > 0


def _named(columns: CorpusColumns, term_hits: TermHits) -> Ids:
    """The first blocks of the documents that are called by a word which no text has."""
    rows = np.zeros(len(columns.documents), bool)
    rows[columns.titled(term_hits.names)] = True
    return np.flatnonzero(rows[columns.block_rows] & (columns.block_offsets == 0))


def _covered(columns: CorpusColumns, term_hits: Sequence[TermHits], scaled: ScaledUnits, lacking: float) -> int:
    """How much of what the question says stands together at the best place, in millionths of the whole."""
    total = lacking
    for hits in term_hits:
        total += 0.0 if hits.is_minor else hits.weight * idf(hits.occurrences, len(columns))
    return round(scaled.covered / total * MILLION) if total else 0


def _known_share(columns: CorpusColumns, term_hits: Sequence[TermHits], lacking: float) -> float:
    """Share of the question's IDF that the corpus has; 1.0 if it has any content word."""
    if any(hits.occurrences and not hits.is_minor for hits in term_hits):
        return 1.0
    worth = sum(hits.weight * idf(hits.occurrences, len(columns)) for hits in term_hits)
    return worth / (worth + lacking) if worth else 0.0


def _defined(
    columns: CorpusColumns,
    chosen: ChosenUnits,
    counted: WordsInUnits,
    term_hits: Sequence[TermHits],
    lexical: Scores,
) -> Scores:
    """The score of each unit for words of the question that are names of what it defines; the rarest scores one."""
    rarities = [hits.weight * idf(hits.occurrences, len(columns)) for hits in term_hits]
    values = np.zeros(len(chosen.units))
    for rarity, places in zip(rarities, definitions(columns, chosen, counted, term_hits, lexical), strict=True):
        values[places] += rarity / (max(rarities) or 1.0)
    return values
