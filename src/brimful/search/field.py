"""How much does each place of the corpus matter for a question? The relevance field (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from brimful.classes import dataclass
from brimful.index.segments import Numbers
from brimful.index.vectors import NOTHING
from brimful.kernels.codes import WeighedUnits, order_units
from brimful.kernels.columns import Columns, HeadingsAbove
from brimful.search.columns import CorpusColumns, Ids, headings_above
from brimful.search.signals import Candidates, called_by, definitions, entries, idf, plain_rarity, runs
from brimful.settings import FieldSettings
from brimful.text.outline import merged

# ---- fusion: How do two orders become one? Reciprocal ranks in whole numbers (ruling 11).

WHOLE, _BEHIND = 1_000_000, 60


def reciprocal_ranks(legs: Sequence[tuple[Numbers, int | None]], ties: Sequence[Numbers]) -> Numbers:
    """The sum over all legs of a million by sixty and the rank, from 1; what scores nothing in a leg has no rank there.

    A leg is its scores and how many of the best it may send (None: all). `ties` decide among equals, the first
    first: without them an order would depend on where things happen to stand.

    >>> lexical, semantic = np.array([9, 5, 0]), np.array([0, 7, 8])
    >>> reciprocal_ranks([(lexical, None), (semantic, None)], [np.arange(3)]).tolist()
    [16393, 32258, 16393]
    """
    fused = np.zeros(len(ties[0]), np.int64)
    for scores, most in legs:
        order = np.lexsort((*reversed(ties), -scores))
        order = order[scores[order] > 0][:most]
        fused[order] += WHOLE // (_BEHIND + np.arange(1, len(order) + 1))
    return fused


# ---- field: How much does each place of the corpus matter for a question? The relevance field (DESIGN §4).
#
# A word of the question counts at four scales: in the unit itself, in its near and its wide surroundings, and in its
# whole document. Surroundings slide with the unit, so no border of a section cuts a thought in two. At each scale the
# words add up as in BM25, places that have more of the question count for more, and the best place is worth one. What
# is alike in meaning adds a little, and every unit shares some of its worth with its neighbours.
#
# Only where rare words stand is looked at closely: blocks of neighbouring units are compared first. Sums run in a fixed
# order and are rounded to whole millionths before they decide anything.

THOUSAND, MILLION = 1_000, 1_000_000
MOST_PLACES = 200_000
"""Positions that are looked at to narrow a question down: the rarest words first, at least one of them."""

_BELOW = (0.8, 0.5)
"""What the two units below the first line of a definition have of what it is worth."""

_MOST_ENTRIES = 50
"""Of the best places are read to see whether they are entries of a table of contents."""
_ENTRY = 100
"""What a word counts there, in thousandths: an entry has the words of what it names, and says nothing of it."""

_OF_RECORDS = 4
"""One of so many blocks that are looked at may be of records, where enough others have words of the question."""

_CLEARLY = 1.0
"""Above this a question means one document of a series, by a word and a number of its name (`called_by`)."""

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TermHits:
    """A word of the question and where it stands: weights with positions, segment by segment.

    A position counts the weights of all groups that hold it; the last group holds all positions.
    """

    word: bytes
    weight: float
    places: tuple[tuple[int, Columns], ...]  # the weights in thousandths
    names: tuple[bytes, ...] = ()  # as which it may stand in paths and titles
    is_minor: bool = False  # it only asks, or is a part of a longer word: no place is looked at for its sake
    is_name: bool = False  # it is written as names are in code
    is_literal: bool = False  # a phrase in quotation marks: what has it stands above all that has not
    census: int = field(init=False)  # how often it stands anywhere

    def __post_init__(self) -> None:
        census = sum(places.total for _, places in self.places[-1:])
        object.__setattr__(self, "census", census)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The units that were looked at, the best first, with their scores in millionths."""

    units: Ids
    rows: Numbers  # the document of each
    scores: Numbers
    lexical: Numbers
    semantic: Numbers
    words: NDArray[np.bool_]  # for each word, which of the units that were looked at have it themselves
    places: Numbers  # of each unit among these
    documents: Numbers  # what each document is worth by itself and by its best unit, by row
    covered: int  # how much of what the question says the best place has, in millionths

    def has(self, limit: int) -> NDArray[np.bool_]:
        """For each word, whether the best so many units have it."""
        return self.words.take(self.places[:limit], axis=1)


def in_order(field: Field) -> Field:
    """The best first; of the same worth, as they stood."""
    return taken(field, np.lexsort((np.arange(len(field.scores)), -field.scores)))


def taken(field: Field, order: Numbers) -> Field:
    """The units at some places, in this order."""
    return replace(
        field,
        units=field.units[order],
        rows=field.rows[order],
        scores=field.scores[order],
        lexical=field.lexical[order],
        semantic=field.semantic[order],
        places=field.places[order],
    )


def relevance(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    *,
    settings: FieldSettings,
    blocks: int,
    allowed: NDArray[np.bool_] | None = None,
    favour: Numbers | None = None,
    meaning: Numbers | None = None,
    sequence: Sequence[int] = (),
    pointed_at: Sequence[tuple[int, int]] = (),
    lacking: float = 0.0,
    extra: Ids | None = None,
) -> Field:
    """The field over the most promising blocks.

    `allowed` says which documents may be shown, `favour` how many thousandths each counts, both by row. `sequence`
    are the words of the question in its order, as numbers of `term_hits`; `pointed_at` are bytes of documents, by row,
    that it points at; `lacking` is what its words are worth that the corpus does not have. `extra` are units
    that are looked at whatever their words, and given though they are worth nothing by them.
    """
    present = [each for each in term_hits if each.census or _is_name(columns, each)]
    extra = np.zeros(0, np.int64) if extra is None else extra
    if not (present or len(extra)) or not len(columns):
        nothing = np.zeros(0, np.int64)
        no_documents = np.zeros(len(columns.documents), np.int64)
        return Field(*(nothing,) * 5, np.zeros((len(term_hits), 0), bool), nothing, no_documents, 0)
    documents = _documents(columns, term_hits, settings)
    blocks_chosen = _promising(columns, present, documents, settings, most=blocks, allowed=allowed)
    chosen = Candidates(columns, _units_of(columns, merged(blocks_chosen, columns.blocks_of(extra)), settings))
    rows, offsets = chosen.rows, chosen.offsets
    named = called_by(columns, term_hits) if settings.called else np.zeros(len(documents))
    near = _Surroundings(chosen)
    above = headings_above(columns, chosen)
    has, counts, told = _counted(columns, chosen, above, term_hits, named > _CLEARLY, settings)
    weighed = WeighedUnits(counts, told, near.firsts, near.lasts, chosen.sizes)
    by_document, is_record = documents[rows], columns.records[rows]
    lexical = _at_all_scales(columns, term_hits, weighed, by_document, is_record, settings)
    leading = entries(columns, chosen, _best_places(lexical)) if settings.priors else ()
    if len(leading):
        counts[:, leading] = np.minimum(counts[:, leading], _ENTRY)
        weighed = WeighedUnits(counts, told, near.firsts, near.lasts, chosen.sizes)
        lexical = _at_all_scales(columns, term_hits, weighed, by_document, is_record, settings)
    alike = _semantic(columns, chosen.units, weighed, meaning, settings)
    if settings.definition:
        defined = _defined(columns, chosen, above, term_hits, np.rint(lexical * MILLION).astype(np.int64))
        lexical = lexical + settings.definition * near.below(defined, _BELOW)
    if settings.runs:
        in_a_row = runs(chosen, term_hits, sequence)
        lexical = lexical + settings.runs * in_a_row / (in_a_row + 6)
    if pointed_at and settings.frame:
        lexical = lexical + settings.frame * _pointed(chosen, pointed_at)
    lexical = lexical + settings.called * named[rows]
    lexical = lexical * _known_share(columns, term_hits, lacking)
    total = lexical + alike
    total = np.where(is_record, total, near.spread(total, settings.spread))
    best = np.zeros(len(documents))
    np.maximum.at(best, rows, lexical + settings.document_meaning * alike)
    whole = documents + _to_one(best)
    if favour is not None:
        total, whole = total * (favour / THOUSAND)[rows], whole * (favour / THOUSAND)
    if allowed is not None:
        whole = np.where(allowed, whole, 0.0)
    scores = np.rint(total * MILLION).astype(np.int64)
    if settings.fusion == "rrf":
        legs = [(np.rint(leg * MILLION).astype(np.int64), settings.leg_k) for leg in (lexical, alike)]
        scores = reciprocal_ranks(legs, [rows.astype(np.int64), offsets])
    literal = [at for at, each in enumerate(term_hits) if each.is_literal]
    if literal:
        scores += has[literal].sum(axis=0, dtype=np.int64) * scores.max(initial=0)
    kept = scores > 0
    kept[chosen.units.searchsorted(extra)] = True  # the candidates hold all of them
    order = near.ordered(kept, rows, offsets, scores)
    return Field(
        chosen.units[order],
        rows[order],
        scores[order],
        np.rint(lexical[order] * MILLION).astype(np.int64),
        np.rint(alike[order] * MILLION).astype(np.int64),
        has,
        order,
        np.rint(whole * MILLION).astype(np.int64),
        _covered(columns, term_hits, weighed, lacking, settings),
    )


def _best_places(lexical: Scores) -> Numbers:
    """Which places are among the best, ascending: the only ones that are read to see whether they lead elsewhere."""
    scores = np.rint(lexical * MILLION).astype(np.int64)
    least = np.partition(scores, -_MOST_ENTRIES)[-_MOST_ENTRIES] if len(scores) > _MOST_ENTRIES else 1
    return np.flatnonzero(scores >= max(int(least), 1))


def _at_all_scales(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    weighed: WeighedUnits,
    by_document: Scores,
    is_record: NDArray[np.bool_],
    settings: FieldSettings,
) -> Scores:
    """What each unit is worth by the words in it, around it and in its document; records stand for themselves."""
    own = _scale(columns, term_hits, weighed, 0, settings)
    lexical = settings.unit * own + settings.document * np.where(is_record, own, by_document)
    for reach, share in ((settings.near_reach, settings.near), (settings.wide_reach, settings.wide)):
        around = _scale(columns, term_hits, weighed, reach, settings)
        lexical = lexical + share * np.where(is_record, own, around)
    return lexical


def _counted(
    columns: CorpusColumns,
    chosen: Candidates,
    above: HeadingsAbove,
    term_hits: Sequence[TermHits],
    is_named: NDArray[np.bool_],
    settings: FieldSettings,
) -> tuple[NDArray[np.bool_], Numbers, Numbers]:
    """Which units have each word; how often it counts in each, and what headings and its document's name say of it."""
    counts, told = (np.zeros((len(term_hits), len(chosen)), np.int64) for _ in range(2))
    share = round(settings.heading * THOUSAND)
    for each, own, said in zip(term_hits, counts, told, strict=True):
        for weight, places in each.places:
            chosen.add_counts(own, places, weight=weight)
        for _, places in each.places[-1:]:
            above.tell(places, share, told=said)
        if len(called := columns.titled(each.names)):
            np.add(said, _called(columns, called, chosen.rows, settings), out=said)
    has = counts > 0
    if is_named.any():
        for each, own in zip(term_hits, counts, strict=True):
            _beside_name(columns, each, own, chosen.rows, is_named)
    _tell_columns(columns, chosen, term_hits, counts, told, share)
    return has, counts, told


def _tell_columns(
    columns: CorpusColumns,
    chosen: Candidates,
    term_hits: Sequence[TermHits],
    counts: Numbers,
    told: Numbers,
    share: int,
) -> None:
    """The names of a table's columns count for every row as a heading does, and for no more where they stand.

    They are shown above each row. What is asked for is the row that has the value.
    """
    for row in merged(chosen.rows[columns.tables[chosen.rows]]).tolist():
        header = columns.header_of(row)
        if header is None:
            continue
        units = np.flatnonzero(chosen.rows == row)
        is_top = chosen.offsets[units] < header.end
        top, below = units[is_top], units[~is_top]
        for at, each in enumerate(term_hits):
            if not header.words.isdisjoint((each.word, *each.names)):
                told[at, below] += share
        counts[:, top] = np.minimum(counts[:, top], share)


def _documents(columns: CorpusColumns, term_hits: Sequence[TermHits], settings: FieldSettings) -> Scores:
    """What each document is worth as a whole by BM25, its path and title included; the best is worth one."""
    scores, counted = np.zeros(len(columns.documents)), columns.counted_documents()
    name = round(settings.name * THOUSAND)
    for each in term_hits:
        for weight, places in each.places:
            if weight:
                counted.add(places, weight=weight)
        if name and len(called := columns.titled(each.names)):
            counted.add_rows(called, weight=name)
        worth = each.weight * plain_rarity(len(counted), len(scores))
        sizes, k1, b = columns.document_sizes, settings.saturation, settings.length
        counted.weigh(sizes, worth, saturation=k1, length=b, scores=scores)
    return _to_one(scores)


def _promising(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    documents: Scores,
    settings: FieldSettings,
    *,
    most: int,
    allowed: NDArray[np.bool_] | None,
) -> Ids:
    """The blocks that have most of the rare words, ascending."""
    worth, read = np.zeros(columns.blocks.count), 0
    for each in sorted(term_hits, key=lambda each: (each.is_minor, each.census, each.word)):
        if read and (read + each.census > MOST_PLACES or each.is_minor):
            continue
        read += each.census
        gain = each.weight * idf(each.census, len(columns))
        for _, places in each.places[-1:] if each.census else ():
            columns.blocks.add(places, gain, worth=worth)
        if not each.census:
            worth[_named(columns, each)] += gain
    blocks = np.flatnonzero(worth != 0)
    rows = columns.block_rows[blocks]
    kept = slice(None) if allowed is None else np.flatnonzero(allowed[rows])
    chosen = blocks[kept]
    if len(chosen) > most:
        rows = rows[kept]
        ranks = np.rint((worth[chosen] / worth.max() + settings.document * documents[rows]) * MILLION).astype(np.int64)
        ordered = (ranks, rows, columns.block_offsets[chosen])
        best = _best(*ordered, most=most)
        if settings.priors:
            best = _beside_records(best, columns.records[rows], ordered, most=most)
        chosen = np.sort(chosen[best])
    return chosen


def _beside_records(best: Ids, is_record: NDArray[np.bool_], ordered: tuple[Numbers, ...], *, most: int) -> Ids:
    """The best blocks, of records no more than a share where other blocks have something of the question.

    A line that is pasted from a log stands in hundreds of its blocks, whole; what explains it has a part of the words.
    """
    others = np.flatnonzero(~is_record)
    room = max(most // _OF_RECORDS, most - len(others))
    if np.count_nonzero(is_record[best]) <= room:
        return best
    records = np.flatnonzero(is_record)
    parts = ((records, room), (others, most - room))
    return np.concatenate([each[_best(*(column[each] for column in ordered), most=count)] for each, count in parts])


def _units_of(columns: CorpusColumns, chosen: Ids, settings: FieldSettings) -> Ids:
    """The units of some blocks, with their surroundings."""
    return columns.between(columns.block_firsts[chosen], columns.block_lasts(chosen), reach=settings.wide_reach)


def _best(ranks: Numbers, rows: Numbers, offsets: Numbers, *, most: int) -> Ids:
    """Which are the best so many, by path and place where ranks are equal; only these have to be sorted.

    >>> _best(np.array([3, 1, 2, 2, 2]), np.array([0, 0, 1, 0, 1]), np.array([9, 9, 5, 9, 4]), most=3).tolist()
    [0, 3, 4]
    """
    least = np.partition(ranks, len(ranks) - most)[len(ranks) - most]
    above, equal = np.flatnonzero(ranks > least), np.flatnonzero(ranks == least)
    order = np.lexsort((offsets[equal], rows[equal]))
    return np.concatenate((above, equal[order[: most - len(above)]]))


def _is_name(columns: CorpusColumns, term_hits: TermHits) -> bool:
    return len(columns.titled(term_hits.names)) > 0


def _named(columns: CorpusColumns, term_hits: TermHits) -> Ids:
    """The first blocks of the documents that are called by a word which no text has."""
    rows = np.zeros(len(columns.documents), bool)
    rows[columns.titled(term_hits.names)] = True
    return np.flatnonzero(rows[columns.block_rows] & (columns.block_offsets == 0))


def _beside_name(
    columns: CorpusColumns, term_hits: TermHits, counts: Numbers, rows: Numbers, is_named: NDArray[np.bool_]
) -> None:
    """A word does not count in units whose document is clearly called by it, which says it for all of them."""
    called = np.zeros(len(is_named), bool)
    for name in term_hits.names:
        called[columns.path_names.of(name)[0]] = True
    counts[(called & is_named)[rows]] = 0


def _pointed(chosen: Candidates, places: Sequence[tuple[int, int]]) -> Scores:
    """One for the units that hold these bytes of documents, and half for their neighbours."""
    found = np.zeros(len(chosen))
    for row, offset in places:
        at = np.flatnonzero(
            (chosen.rows == row) & (chosen.offsets <= offset) & (offset < chosen.offsets + chosen.sizes)
        )
        for unit in at.tolist():
            for step, share in ((0, 1.0), (-1, 0.5), (1, 0.5)):
                if 0 <= unit + step < len(found) and chosen.rows[unit + step] == row:
                    found[unit + step] = max(found[unit + step], share)
    return found


def _covered(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    weighed: WeighedUnits,
    lacking: float,
    settings: FieldSettings,
) -> int:
    """How much of what the question says stands together at the best place, in millionths of the whole."""
    worths, whole = [], lacking
    for each in term_hits:
        worths.append(0.0 if each.is_minor else each.weight * idf(each.census, len(columns)))
        whole += worths[-1]
    return round(weighed.covered(worths, reach=settings.near_reach) / whole * MILLION) if whole else 0


def _known_share(columns: CorpusColumns, term_hits: Sequence[TermHits], lacking: float) -> float:
    """What words say of a question at all: less where the corpus has only those that ask, and lacks the others."""
    if any(each.census and not each.is_minor for each in term_hits):
        return 1.0
    worth = sum(each.weight * idf(each.census, len(columns)) for each in term_hits)
    return worth / (worth + lacking) if worth else 0.0


def _defined(
    columns: CorpusColumns,
    chosen: Candidates,
    above: HeadingsAbove,
    term_hits: Sequence[TermHits],
    scores: Numbers,
) -> Scores:
    """What each unit is worth for the names of the question that it defines; the rarest name is worth one.

    A plain word that happens to be defined somewhere says half of what a word that is written as a name says.
    """
    rarities = [each.weight * idf(each.census, len(columns)) for each in term_hits]
    most = max(rarities, default=0.0) or 1.0
    worths = [worth * (1.0 if each.is_name else 0.5) for worth, each in zip(rarities, term_hits, strict=True)]
    found = np.zeros(len(chosen))
    for worth, defining in zip(worths, definitions(columns, chosen, above, term_hits, scores), strict=True):
        found[defining] += worth / most
    return found


def _called(columns: CorpusColumns, called: Numbers, rows: Numbers, settings: FieldSettings) -> Numbers:
    """What the names of some documents say of a word in each unit, in thousandths."""
    has = np.zeros(len(columns.document_sizes), np.int64)
    has[called] = round(settings.name_in_unit * THOUSAND)
    return has[rows]


def _scale(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    weighed: WeighedUnits,
    reach: int,
    settings: FieldSettings,
) -> Scores:
    """What the surroundings of each unit are worth; the best is worth one."""
    around = 2 * reach + 1  # units
    return weighed.scores(
        [each.weight * idf(each.census * around, len(columns)) for each in term_hits],
        reach=reach,
        unit_bytes=columns.unit_size * around,
        saturation=settings.saturation,
        length=settings.length,
    )


def _semantic(
    columns: CorpusColumns, units: Ids, weighed: WeighedUnits, meaning: Numbers | None, settings: FieldSettings
) -> Scores:
    """What likeness in meaning adds: how far a unit, and its near surroundings, stand out from the others."""
    found = columns.likeness(units, meaning) if meaning is not None and settings.meaning else None
    if found is None or not len(units):
        return np.zeros(len(units))
    known = found != NOTHING
    found = np.where(known, found, int(found[known].min(initial=0)))
    around = weighed.means(found, reach=settings.near_reach)
    return settings.meaning * (_standing_out(found) + _standing_out(around))


def _standing_out(values: Numbers) -> Scores:
    """How many standard deviations above the mean, at least none; whole sums, so that it is the same everywhere."""
    count, total = len(values), int(values.sum())
    spread = isqrt(count * int((values * values).sum()) - total * total)
    return np.maximum(values * count - total, 0) / max(spread, 1)


def _to_one(scores: Scores) -> Scores:
    most = float(scores.max(initial=0.0))
    return scores / most if most > 0 else scores


class _Surroundings:
    """Sums over the neighbours of each of some ascending units, within its extent."""

    def __init__(self, chosen: Candidates) -> None:
        self.firsts, self.lasts = chosen.firsts, chosen.lasts
        self._at = np.arange(len(chosen))

    def ordered(self, kept: NDArray[np.bool_], rows: Numbers, offsets: Numbers, scores: Numbers) -> Numbers:
        """The units that are kept, those with the highest scores first; of equal ones by document and offset."""
        begins = np.flatnonzero(self.firsts == self._at)
        order = begins[np.lexsort((offsets[begins], rows[begins]))]
        sizes = self.lasts[order] + 1 - order  # inside of its run a unit has its place already
        by_place = np.repeat(order - np.cumsum(sizes) + sizes, sizes) + self._at
        return order_units(scores, by_place[kept[by_place]])

    def below(self, values: Scores, shares: Sequence[float]) -> Scores:
        """Each value, and shares of it in the units that follow: what a first line stands above belongs to it."""
        found = values
        for step, share in enumerate(shares, start=1):
            above = self._at - step
            found = np.maximum(found, np.where(above >= self.firsts, share * values[np.maximum(above, 0)], 0.0))
        return found

    def spread(self, values: Scores, share: float) -> Scores:
        """Each value with a share of both neighbours'."""
        before = np.where(self._at > self.firsts, np.roll(values, 1), 0.0)
        after = np.where(self._at < self.lasts, np.roll(values, -1), 0.0)
        return values + share * (before + after)
