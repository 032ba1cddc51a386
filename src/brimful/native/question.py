"""A question over a corpus: its documents, its units, what words and other signals are worth (question.c, field.c)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.native import Numbers, Reals, kernels, library, null, numbers_of, pointer, pointers, struct, structs
from brimful.native.columns import Columns, CountedRows, HeadingTree, UnitGrid, is_common

if TYPE_CHECKING:
    from brimful.native import Field

_MOST_SCORE = 1 << 61
_MOST_KEPT = 1 << 22  # bytes of an array that the next question works in
_AT_FIRST = 1_024  # places of definitions that there is room for


_SCALES = 2
"""The unit itself, and its surroundings."""


class Rows:
    """Some rows of documents, which a kernel finds without a look at each."""

    __slots__ = ("most", "values")

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = numbers_of(values)
        if int(self.values.min(initial=0)) < 0:
            raise ValueError("no row is negative")
        self.most = int(self.values.max(initial=-1))

    def __len__(self) -> int:
        return len(self.values)


class _Room:
    """Memory that kernels of one question work in; what has to be 0 is left so."""

    def __init__(self, documents: int, blocks: int) -> None:
        self.worth, self.seen, self.counts = np.zeros(blocks), np.zeros(blocks, np.int32), np.zeros(documents, np.int64)
        self.is_called, self.known = np.zeros(documents, np.uint8), np.empty(documents, np.int64)
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: type[Any]) -> NDArray[Any]:
        """An array of any numbers, which stays until it is asked for again: fresh memory takes time."""
        size = prod(shape)
        kept = self._arrays.get(name)
        if kept is None or len(kept) < size:
            kept = self._arrays[name] = np.empty(size + size // 4, dtype)
        return kept[:size].reshape(shape)

    def let_go(self) -> None:
        """Keep no array that only a large question needs."""
        self._arrays = {name: kept for name, kept in self._arrays.items() if kept.nbytes <= _MOST_KEPT}


class ChosenUnits(NamedTuple):
    """The units that a question is asked of, ascending, and where they lie (`UnitGrid.placed`)."""

    units: Numbers
    placed: Numbers  # seven rows
    bounds: list[int]  # of the units of each segment


class CorpusPlaces:
    """Where everything of a corpus lies that a question is asked of, as one structure that kernels are given.

    Extents begin at `bases`, segment by segment, and belong to `rows`; blocks begin at `block_starts`, and have the row
    and the first unit that `block_rows` and `block_firsts` say. `records` says of each row whether it is made of
    records. All of it is checked once, when it is made.
    """

    def __init__(
        self,
        bases: Columns,
        rows: Columns,
        *,
        block_starts: Columns,
        block_rows: NDArray[np.int32],
        block_firsts: Numbers,
        records: NDArray[np.bool_],
        grid: UnitGrid,
    ) -> None:
        block_rows, block_firsts = np.ascontiguousarray(block_rows, np.int32), numbers_of(block_firsts)
        records, self.documents, self.blocks = np.ascontiguousarray(records, np.bool_), len(records), len(block_rows)
        self.segments = len(bases)
        if len(rows) != len(bases) or bases.sizes != rows.sizes or len(block_starts) != len(bases):
            raise ValueError("every segment needs its extents, every extent its row, and every segment its blocks")
        if len(block_firsts) != self.blocks or block_starts.total != self.blocks or grid.segments != len(bases):
            raise ValueError("every block needs its row and its first unit")
        for each in (*rows, block_rows, grid.rows):
            if len(each) and not 0 <= int(each.min()) <= int(each.max()) < self.documents:
                raise ValueError(f"there are {self.documents} rows")
        if self.blocks and (
            block_firsts[0] != 0 or (np.diff(block_firsts) <= 0).any() or block_firsts[-1] >= len(grid)
        ):
            raise ValueError("blocks must ascend from the first unit on")
        sizes = np.array(block_starts.sizes, np.int64)
        self.units, self.widest = len(grid), int(np.diff(block_firsts, append=len(grid)).max(initial=0))
        self._extents = (bases, rows)
        self._kept = (block_starts, grid)
        self.records = records
        self.struct = struct(
            "corpus",
            segments=len(bases),
            bases=bases.struct,
            rows=rows.struct,
            block_starts=block_starts.struct,
            block_numbers=np.cumsum(sizes) - sizes,
            blocks=self.blocks,
            block_rows=block_rows,
            block_firsts=block_firsts,
            units=len(grid),
            records=records,
            grid=grid.struct,
        )
        self._rooms: list[_Room] = []

    def room(self) -> _Room:
        """Memory to work in: that of an earlier question, if nobody else works there."""
        try:
            return self._rooms.pop()
        except IndexError:
            return _Room(self.documents, self.blocks)

    def leave(self, room: _Room) -> None:
        """Give it back, as it was found."""
        room.let_go()
        self._rooms.append(room)

    def counted(self, positions: Columns) -> dict[str, object]:
        """The rows that have many positions, and how often they have them; nothing where these are few."""
        if not is_common(positions, self.documents):
            return {}
        bases, rows = self._extents
        if positions.counted is None or positions.counted[0] is not bases:
            counted = CountedRows(bases, rows, count=self.documents)
            counted.add(positions, weight=1)
            assert positions.counted is not None
        _, known, times = positions.counted
        return {"rows": known, "times": times, "row_count": len(known)}


class AskedWords:
    """Words with their places in a corpus: of each word weights in thousandths with positions, segment by segment.

    No position is in two groups of a word, and the first ones count most. `called` are the documents whose names have
    each word. What kernels make of them stands in memory that the next question uses once these are `close`d, but for
    what is said to stay.
    """

    def __init__(
        self, corpus: CorpusPlaces, words: Sequence[Sequence[tuple[int, Columns]]], called: Sequence[Rows]
    ) -> None:
        self.corpus, self._kept, self.room = corpus, (words, called), corpus.room()
        if len(called) != len(words) or max((each.most for each in called), default=-1) >= corpus.documents:
            raise ValueError(f"every word needs the documents that it calls, of {corpus.documents}")
        fields, self._groups = [], []
        for groups, documents in zip(words, called, strict=True):
            rows = []
            for weight, places in groups:
                if len(places) != corpus.segments or weight < 0:
                    raise ValueError("every segment needs its positions, and these a weight from 0 on")
                rows.append({"positions": places.struct, "weight": weight, **corpus.counted(places)})
            self._groups.append({"groups": structs("group", rows), "group_count": len(rows)})
            fields.append({**self._groups[-1], "called": documents.values, "called_count": len(documents.values)})
        self.totals = [sum(places.total for _, places in word) for word in words]
        self.struct = structs("word", fields)

    def __len__(self) -> int:
        return len(self.totals)

    def close(self) -> None:
        """Let the next question work in the memory of this one."""
        self.corpus.leave(self.room)

    def choose(
        self,
        ordered: Sequence[tuple[int, float]],
        *,
        named: dict[int, Numbers],
        documents: Reals,
        document: float,
        most: int,
        of_records: int,
        allowed: NDArray[np.bool_] | None,
        reach: int,
    ) -> ChosenUnits:
        """The units of the best blocks by their words, with so many more on both sides.

        `ordered` are the words that are looked at, each with what it adds to a block that has it; `named` the blocks
        that a word without places has. A block counts by these, the best one's being one, and by `document` times what
        its document is worth. No more than one in `of_records` are of records while others have anything; 0 for any.
        """
        corpus, words = self.corpus, [word for word, _ in ordered]
        if len(documents) != corpus.documents or documents.dtype != np.float64 or most < 1 or reach < 0:
            raise ValueError("every document needs its worth, and at least one block is chosen")
        if allowed is not None and (len(allowed) != corpus.documents or allowed.dtype != np.bool_):
            raise ValueError("of every document it must be said whether it is allowed")
        if any(not gain >= 0.0 for _, gain in ordered):
            raise ValueError("a word adds something to a block, or nothing")
        if any(len(each) and not 0 <= int(each.min()) <= int(each.max()) < corpus.blocks for each in named.values()):
            raise ValueError(f"there are {corpus.blocks} blocks")
        room = self.room
        gains: list[dict[str, Field]] = []
        for word, gain in ordered:
            blocks = numbers_of(named[word]) if word in named else None
            gains.append({"gain": gain})
            gains[-1] |= self._groups[word] if blocks is None else {"blocks": blocks, "block_count": len(blocks)}
        allowed = None if allowed is None else np.ascontiguousarray(allowed)
        positions = sum(len(named[word]) if word in named else self.totals[word] for word in words)
        most_touched = min(positions, corpus.blocks)
        asked = struct(
            "narrowing",
            words=len(words),
            gains=structs("gain", gains),
            allowed=allowed,
            documents=documents,
            document=document,
            most=most,
            of_records=of_records,
            touched=most_touched,
            reach=reach,
        )
        touched = room.array("touched", (4 * most_touched + 2 * most,), np.int64)
        limit = min(min(most, corpus.blocks) * (corpus.widest + 2 * reach), corpus.units)
        units, placed = room.array("units", (limit,), np.int64), room.array("placed", (7 * limit,), np.int64)
        bounds = np.empty(corpus.segments + 1, np.int64)
        rooms = (*pointers(room.worth, room.seen, touched, units), limit, pointer(placed), pointer(bounds))
        made = library().choose_units(corpus.struct, asked, *rooms)
        if made < 0:
            raise ValueError("there are no such units")
        return ChosenUnits(units[:made], placed[: 7 * made].reshape(7, made), bounds.tolist())


class WordsInUnits:
    """How often words count in some units, and what is told of them above these, in thousandths: a row for each word.

    A word counts `heading` in every unit under a heading that has it.
    """

    def __init__(
        self,
        words: AskedWords,
        chosen: ChosenUnits,
        trees: Sequence[HeadingTree | None],
        *,
        deepest: int,
        heading: int,
    ) -> None:
        corpus = words.corpus
        if len(trees) != corpus.segments or deepest < 1:
            raise ValueError("every segment needs its headings, or none")
        self._words, self._trees = words, structs("tree", [{} if each is None else each.fields for each in trees])
        units = len(chosen.units)
        _, starts, ends, rows, _, firsts, lasts = chosen.placed
        self._starts, self._lasts, self._firsts, self._rows = starts, lasts, firsts, rows
        self._sizes = ends - starts
        bounds = np.array(chosen.bounds, np.int64)
        heads = [0 if each is None else len(each.starts) for each in trees]
        most = sum(
            min(some, (high - low) * deepest) for some, (low, high) in zip(heads, pairwise(chosen.bounds), strict=True)
        )
        width = max(heads, default=0) // 64 + 1
        bits, ranks = np.zeros(width, np.uint64), np.empty(width, np.int64)
        room = words.room
        chains, owners = room.array("chains", (units, deepest), np.int32), room.array("owners", (units,), np.int32)
        told, lines = room.array("told", (units,), np.uint8), room.array("lines", (3, most), np.int64)
        used = np.empty(corpus.segments + 1, np.int64)
        self._units = struct(
            "candidates",
            count=units,
            starts=starts,
            ends=ends,
            rows=rows,
            lasts=lasts,
            bounds=bounds,
            deepest=deepest,
            bits=bits,
            ranks=ranks,
            owners=owners,
            chains=chains,
            told=told,
            head_starts=lines[0],
            head_ends=lines[1],
            used=used,
        )
        self.counts, self.told = room.array("counts", (2, len(words), units), np.int64)
        self.counts.fill(0)
        self.told.fill(0)
        self.has = np.empty((len(words), units), np.bool_)  # this stays
        made = (lines[2], self.counts, self.told, self.has)
        asked = (corpus.struct, self._trees, self._units, words.struct, len(words), heading)
        library().count_words(*asked, *pointers(*made))

    def defining(self, wanted: Sequence[bool], anywhere: Sequence[bool]) -> Numbers:
        """Where words may be defined, by the places that count most: those that `wanted` names.

        In headings, and of words that `anywhere` names everywhere. Four rows: the word, the place, its unit, and the
        heading of its segment, -1 for none; the places of a word stand together and ascend in each segment.
        """
        words = self._words
        if not len(wanted) == len(anywhere) == len(words):
            raise ValueError("of every word it must be said whether and where it may be defined")
        chosen = [words.struct + word if is_wanted else null() for word, is_wanted in enumerate(wanted)]
        names, most, made = np.array([*anywhere, False], np.uint8), 0, _AT_FIRST
        given = (words.corpus.struct, self._trees, self._units, kernels().types.new("word *[]", chosen))
        while made > most:
            most = made
            found = np.empty((4, most), np.int64)
            made = library().find_defining(*given, pointer(names), len(words), pointer(found), most)
        return found[:, :made]

    def scales(
        self,
        worths: Sequence[Sequence[float]],
        *,
        reaches: Sequence[int],
        unit_bytes: Sequence[int],
        covering: Sequence[float],
        documents: Reals,
        shares: Sequence[float],
        saturation: float,
        length: float,
        best: int,
    ) -> ScaledUnits:
        """What each unit is worth by its words, at two scales and in its document; records stand for themselves.

        Of each scale: what each word is worth there, how far it reaches, how many bytes it has on average. `shares` are
        what the unit, its document and its surroundings count; `covering` what words are worth where the
        question is covered. So many are the `best`, and those that are worth as much.
        """
        words, (_, units) = self._words, self.counts.shape
        if (
            not len(worths) == len(reaches) == len(unit_bytes) == _SCALES
            or min(reaches) < 0
            or len(shares) != _SCALES + 1
        ):
            raise ValueError(f"there are {_SCALES} scales, which reach from 0 on")
        if any(len(each) != len(words) for each in (*worths, covering)):
            raise ValueError(f"{len(words)} words need as many worths")
        if len(documents) != words.corpus.documents or documents.dtype != np.float64:
            raise ValueError("every document needs its worth")
        scales = [
            {"reach": reach, "bytes": size, "worths": pointer(np.array(worth, np.float64))}
            for reach, size, worth in zip(reaches, unit_bytes, worths, strict=True)
        ]
        unit_share, document_share, near_share = shares
        asked = struct(
            "weighing",
            words=len(words),
            units=units,
            counts=self.counts,
            told=self.told,
            lasts=self._lasts,
            sizes=self._sizes,
            rows=self._rows,
            documents=documents,
            records=words.corpus.records,
            scales=scales,
            covering=np.array(covering, np.float64),
            k1=saturation,
            b=length,
            unit_share=unit_share,
            document_share=document_share,
            near_share=near_share,
        )
        kept, most = words.room, np.empty(1)
        has, room = kept.array("has", (len(words), units), np.uint8), kept.array("room", (4 * units,), np.int64)
        made, found = kept.array("scales", (_SCALES + 1, units), np.float64), kept.array("best", (units,), np.int64)
        rooms = pointers(has, room, made, made[_SCALES:], found, most)
        count = library().weigh_scales(asked, best, *rooms)
        return ScaledUnits(made[0], made[1], made[2], found[:count], float(most[0]))


class ScaledUnits(NamedTuple):
    """What units are worth at each scale, the best one's being one, and all in all."""

    own: Reals
    near: Reals
    lexical: Reals
    best: Numbers  # the best units, ascending
    covered: float  # what the words are worth that the unit with most of them has near it


class Signal(NamedTuple):
    """What speaks for units beside their words, and how much it counts."""

    values: Reals
    share: float
    by_row: bool = False  # a number for each document, not for each unit


class WeighedDocuments:
    """What documents are worth by BM25, word by word of a question.

    A document's name counts so many thousandths for each word that it has; `sizes` are those of documents against the
    others. Of each word is first counted which documents have it, then weighed.
    """

    def __init__(self, words: AskedWords, *, name: int, sizes: Reals, saturation: float, length: float) -> None:
        if sizes.dtype != np.float64 or len(sizes) != words.corpus.documents or name < 0:
            raise ValueError("every document needs its size, and a name counts from 0 on")
        self._words, self._name, self.scores = words, name, np.zeros(words.corpus.documents)
        self._sizes, self._saturation, self._length = sizes, saturation, length
        self._made = 0

    def count(self, word: int) -> int:
        """How many documents have a word, which is counted in each of them."""
        words, room = self._words, self._words.room
        asked = (words.corpus.struct, words.struct + word, self._name)
        self._made = int(library().count_documents(*asked, pointer(room.counts), pointer(room.known)))
        return self._made

    def weigh(self, worth: float) -> None:
        """Let the word that was counted last be worth so much."""
        room = self._words.room
        counted = (pointer(room.known), self._made, pointer(room.counts), pointer(self._sizes))
        library().weigh_rows(*counted, worth, self._saturation, self._length, pointer(self.scores))
        self._made = 0


class _SettledUnits(NamedTuple):
    """What units and documents are worth with all that speaks for them."""

    lexical: Reals
    scores: Numbers  # in millionths
    documents: Numbers  # in millionths, by row


def settle_units(
    words: AskedWords,
    chosen: ChosenUnits,
    lexical: Reals,
    signals: Sequence[Signal],
    *,
    documents: Reals,
    known: float,
    favour: Numbers | None,
    allowed: NDArray[np.bool_] | None,
) -> _SettledUnits:
    """Words and signals added up, times what is `known` of a question.

    A document is worth what it is as a whole, and its best unit; `favour` says how many thousandths each counts,
    `allowed` whether it is shown.
    """
    corpus, room, units = words.corpus, words.room, len(chosen.units)
    for each in signals:
        if each.values.dtype != np.float64 or each.values.shape != (corpus.documents if each.by_row else units,):
            raise ValueError("a signal says something of every unit, or of every document")
    if len(lexical) != units or len(documents) != corpus.documents:
        raise ValueError("every unit and every document needs its worth")
    for some in (favour, allowed):
        if some is not None and len(some) != corpus.documents:
            raise ValueError("every document needs its favour")
    values = [np.ascontiguousarray(each.values) for each in signals]
    added = [
        {"values": own, "share": each.share, "by_row": each.by_row} for own, each in zip(values, signals, strict=True)
    ]
    favour = None if favour is None else numbers_of(favour)
    allowed = None if allowed is None else np.ascontiguousarray(allowed, np.bool_)
    rows = chosen.placed[3]
    asked = struct(
        "settling",
        units=units,
        documents=corpus.documents,
        rows=rows,
        by_document=documents,
        signals=len(added),
        added=structs("added_signal", added),
        favour=favour,
        allowed=allowed,
        known=known,
    )
    made, best = (
        room.array("settled", (units,), np.float64),
        room.array("best_units", (corpus.documents,), np.float64),
    )
    made[:] = lexical
    scores, whole = room.array("scores", (units,), np.int64), np.empty(corpus.documents, np.int64)  # the second stays
    library().settle_units(asked, *pointers(made, best, scores, whole))
    return _SettledUnits(made, scores, whole)


def order_field(words: AskedWords, chosen: ChosenUnits, scores: Numbers, lexical: Reals) -> Numbers:
    """The units that are worth anything, the best first; equal ones by path and place.

    Five rows: places among the chosen, units, documents, scores, and what words are worth in millionths. These stay.
    """
    units, scores = len(chosen.units), numbers_of(scores)
    if not len(scores) == len(lexical) == units:
        raise ValueError(f"{units} units need as many scores")
    if units and max(-int(scores.min()), int(scores.max())) > _MOST_SCORE:
        raise ValueError("a score must be below 2 to the 61")
    _, _, _, rows, offsets, _, lasts = chosen.placed
    made, room = (
        words.room.array(name, (size,), np.int64) for name, size in (("ordered", 5 * units), ("order", units))
    )
    columns = (chosen.units, rows, offsets, lasts, scores, lexical)
    count = library().order_field(units, *pointers(*columns, room, made))
    return made.reshape(5, units)[:, :count].copy()
