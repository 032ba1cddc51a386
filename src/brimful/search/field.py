"""Score the units of a corpus for a question (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from brimful.index.segments import Numbers
from brimful.native import Reals, numbers_of
from brimful.search.candidates import MILLION, THOUSAND, ChosenUnits, TermHits, WordsInUnits, choose, millionths
from brimful.search.columns import CorpusColumns, Ids
from brimful.search.signals import definitions, idf, plain_rarity
from brimful.settings import FieldSettings

# A word of the question counts at three scales: in the unit itself, in its surroundings, and in its whole document.
# Surroundings slide with the unit, so no border of a section cuts a thought in two; a record stands for itself alone,
# and a unit of source code for itself and its document. At each scale the words add up as in BM25, places that have
# more of the question count for more, and the best place is worth one. Every unit gives some of it to its neighbours.
#
# Only where rare words stand is looked at closely: blocks of neighbouring units are compared first. Sums run in a fixed
# order and are rounded to whole millionths before they decide anything.

_MOST_HALVINGS = 16
_NEIGHBOUR = 5
"""A unit's neighbours get a fifth of its score."""


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
    if not any(hits.occurrences or columns.is_titled(*hits.names) for hits in term_hits) or not len(columns):
        nothing = np.zeros(0, np.int64)
        no_documents = np.zeros(len(columns.documents), np.int64)
        return ScoredUnits(*(nothing,) * 5, np.zeros((len(term_hits), 0), bool), nothing, no_documents, 0)
    documents = _documents(columns, term_hits, settings)
    chosen = choose(
        columns,
        term_hits,
        settings.document * documents,
        limit=blocks,
        allowed=allowed,
        spares_records=settings.priors,
    )
    words = [hits.places for hits in term_hits]
    counted = WordsInUnits(columns, chosen, words, heading=round(settings.heading * THOUSAND))
    lexical, covered = _by_words(columns, chosen, counted, term_hits, documents, settings)
    if settings.definition:
        lexical = lexical + settings.definition * _defined(columns, chosen, counted, term_hits, lexical)
    lexical = lexical * _known_share(columns, term_hits, lacking)
    rows, best = chosen.placed.rows, np.zeros(len(documents))
    np.maximum.at(best, rows, lexical)
    total, by_row = lexical, documents + _to_one(best)
    if favour is not None:
        total, by_row = total * (favour / THOUSAND)[rows], by_row * (favour / THOUSAND)
    scores = millionths(total)
    literal = [number for number, hits in enumerate(term_hits) if hits.is_literal]
    scores = scores + counted.present[literal].sum(axis=0, dtype=np.int64) * scores.max(initial=0)
    order = np.lexsort((chosen.placed.offsets, rows, -scores))
    order = order[scores[order] > 0]
    return ScoredUnits(
        chosen.units[order],
        rows[order],
        scores[order],
        millionths(lexical[order]),
        np.zeros(len(order), np.int64),
        counted.present,
        order,
        millionths(by_row if allowed is None else np.where(allowed, by_row, 0.0)),
        _covered(columns, term_hits, covered, lacking),
    )


def _by_words(
    columns: CorpusColumns,
    chosen: ChosenUnits,
    counted: WordsInUnits,
    term_hits: Sequence[TermHits],
    documents: Reals,
    settings: FieldSettings,
) -> tuple[Reals, float]:
    """The score of each unit by the words in it, near it and in its document; and the most that stands together.

    Records count by themselves alone, and units of source code without their surroundings.
    """
    placed, numbers, scores, covered = chosen.placed, np.arange(len(chosen.units)), [], 0.0
    for reach in (0, settings.near_reach):
        width = 2 * reach + 1
        around = (np.maximum(numbers - reach, placed.firsts), np.minimum(numbers + reach, placed.lasts) + 1)
        sizes = _summed(placed.sizes, *around) / (columns.unit_size * width)
        gains, present, together, whole = np.zeros(len(numbers)), np.zeros(len(numbers)), np.zeros(len(numbers)), 0.0
        for word, hits in enumerate(term_hits):
            worth = hits.weight * idf(hits.occurrences * width, len(columns))
            times = (_summed(counted.counts[word], *around) + counted.from_headings[word]) / THOUSAND
            gains += worth * _bm25(times, sizes, settings)
            present += worth * (times > 0)
            together += 0.0 if hits.is_minor else hits.weight * idf(hits.occurrences, len(columns)) * (times > 0)
            whole += worth
        scores.append(_to_one(gains * np.sqrt(present / whole) if whole else gains))
        covered = float(together.max(initial=0.0))
    alone, near = scores
    is_record, is_source = columns.records[placed.rows], columns.sources[placed.rows]
    lexical = settings.unit * alone + settings.document * np.where(is_record, alone, documents[placed.rows])
    return lexical + settings.near * np.where(is_record | is_source, alone, near), covered


def _bm25(times: Reals, sizes: Reals, settings: FieldSettings) -> Reals:
    """What a word counts that stands so often in texts of these sizes, relative to their mean."""
    k1, b = settings.saturation, settings.length
    weighed: Reals = times * (k1 + 1) / (times + k1 * (1 - b + b * sizes))
    return weighed


def _summed(values: Numbers, firsts: Numbers, ends: Numbers) -> Numbers:
    """The sums of values over some ranges."""
    sums = numbers_of(np.append(0, np.cumsum(values)))
    return sums[ends] - sums[firsts]


def _to_one(scores: Reals) -> Reals:
    """The best is worth one."""
    highest = float(scores.max(initial=0.0))
    return scores / highest if highest > 0 else scores


def _documents(columns: CorpusColumns, term_hits: Sequence[TermHits], settings: FieldSettings) -> Reals:
    """The BM25 score of each document with its path and title, divided by the highest."""
    scores = np.zeros(len(columns.documents))
    for hits in term_hits:
        counts = columns.document_counts(*hits.places)
        np.add.at(counts, columns.titled(hits.names), round(settings.name * THOUSAND))
        rows = np.flatnonzero(counts)
        worth = hits.weight * plain_rarity(len(rows), len(scores))
        scores[rows] += worth * _bm25(counts[rows] / THOUSAND, columns.document_sizes[rows], settings)
    return _to_one(scores)


def _covered(columns: CorpusColumns, term_hits: Sequence[TermHits], covered: float, lacking: float) -> int:
    """How much of what the question says stands together at the best place, in millionths of the whole."""
    total = lacking
    for hits in term_hits:
        total += 0.0 if hits.is_minor else hits.weight * idf(hits.occurrences, len(columns))
    return round(covered / total * MILLION) if total else 0


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
    lexical: Reals,
) -> Reals:
    """The score of each unit for words of the question that are names of what it defines; the rarest scores one."""
    rarities = [hits.weight * idf(hits.occurrences, len(columns)) for hits in term_hits]
    values = np.zeros(len(chosen.units))
    for rarity, places in zip(rarities, definitions(columns, chosen, counted, term_hits, lexical), strict=True):
        values[places] += rarity / (max(rarities) or 1.0)
    return values
