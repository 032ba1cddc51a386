"""What do the best places mean? A model reads them when a question needs them, and remembers what it read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.errors import CorruptError, EndpointError
from brimful.index.embedders import Embedder
from brimful.index.segments import Numbers
from brimful.index.vectors import Bytes, cosines, quantise, squares, text_key
from brimful.search.columns import CorpusColumns, Ids
from brimful.search.field import MILLION, THOUSAND, Field, in_order, taken
from brimful.search.query import Query
from brimful.search.spelling import Correction
from brimful.settings import FieldSettings

if TYPE_CHECKING:
    from brimful.index.named import Reranker


def wording(query: Query, repairs: Sequence[Correction]) -> str:
    """The question as text: without operators and what they exclude, and with the words that were meant."""
    instead = {each.word: each.term for each in reversed(repairs)}
    content = query.text.encode("utf-8", "replace")
    wholes = [asked for asked in query.terms if not asked.is_part]
    if query.has_operators:
        words = [instead.get(asked.term, content[asked.start : asked.end]) for asked in wholes]
        return b" ".join(words).decode("utf-8", "replace")
    for asked in reversed(wholes):
        if asked.term in instead:
            content = content[: asked.start] + instead[asked.term] + content[asked.end :]
    return content.decode("utf-8", "replace")


# ---- late: What do the best places mean? A model reads them when a question needs them, and remembers what it read.
#
# Words choose a fixed number of candidates; the passages that these stand in are embedded and compared with the
# question, and what stands out moves up. Vectors are kept in the store by content, so no text is read
# twice and no corpus has to be embedded before it can be asked (ruling 27). A passage is the units that begin in one
# cell of a document's bytes: it depends on the document alone, never on the question or on what was asked before.
#
# Where every passage was read ahead (`warm`), the nearest of them are candidates too, whatever their words. These
# vectors lie in stacks, one for each stretch of a document, so that all of them are found with few reads.

CELL_BYTES: Final = 600
"""Units that begin in the same so many bytes of a document are read together."""
_STACK_BYTES: Final = 1_024 * CELL_BYTES
"""Bytes of a document whose passages are kept in one stack: less than half a megabyte of vectors."""
_LIKENESS: Final = 0.3
"""What being wholly alike is worth by itself, against being the nearest of all."""
_BEHIND: Final = 80_000
"""A passage whose likeness is this much below the nearest one's, in millionths, is worth a quarter of it."""
_FIRST_PLACE: Final = 24
_PLACES: Final = 6
_KEPT_READINGS = 64
_BATCH = 32  # texts that are embedded before they are remembered
_READ_AS = "path > headings: text"  # what a model reads of a passage; kept vectors of another form are not used
_HEADING = 80  # characters of a heading that are read with what stands below it
_MARKS = "#=*~-_:{} \t\r\n"  # that make a line a heading
_PLACE = np.dtype("<u8")  # where in its document a passage begins


class _VectorMemory(Protocol):
    """Where vectors are kept by the text that they were made of."""

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> Known:
        """A row for each key, and which are missing."""

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep some; why not, where they could not be kept."""

    def stacks_known(self, model: str, keys: Sequence[bytes], *, width: int) -> Mapping[bytes, bytes]:
        """Those of these stacks that are kept."""

    def retain_vectors(self, model: str, keys: Sequence[bytes]) -> int:
        """Forget all vectors of a model but these; returns how many."""

    def remember_stack(self, model: str, key: bytes, stack: bytes, *, width: int) -> str | None:
        """Keep one; why not, where it could not be kept."""


class Known(Protocol):
    """What a memory has of some keys."""

    @property
    def rows(self) -> Bytes:
        """A row for each key, zeros where nothing is remembered."""

    @property
    def missing(self) -> Numbers:
        """The places of those."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a model did for a question."""

    model: str
    runtime: str
    passages: int  # that were compared
    embedded: int  # of these, that nobody had read before
    failed: str | None = None  # why words alone decided
    is_full: bool = False  # every passage of the corpus was compared
    nearest: int = 0  # the likeness of the passage that is nearest to the question, in millionths
    reranker: str | None = None  # who read the best passages again, together with the question
    reranked: int = 0  # how many passages that were
    not_reranked: str | None = None  # why it did not


class Passage(NamedTuple):
    """What is read together: its document's row, where it begins there, its first unit and the one behind its last."""

    row: int
    start: int
    first: int
    behind: int

    @property
    def stack(self) -> tuple[int, int]:
        """Which stack of which document it is kept in."""
        return self.row, self.start // _STACK_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Everything:
    """Every passage of a corpus with its vector, by its first unit."""

    firsts: Ids
    behinds: Ids
    rows: Numbers  # of their documents
    starts: Numbers  # where they begin there
    vectors: Bytes
    lengths: Numbers  # the vectors' squares

    def of(self, units: Ids) -> Numbers:
        """The passage that each of some units stands in."""
        found: Numbers = self.firsts.searchsorted(units, side="right") - 1
        return found


class Late:
    """An embedder and a memory of what it has read; safe to share between threads."""

    def __init__(self, embedder: Embedder, memory: _VectorMemory, *, runtime: str) -> None:
        self.name, self.runtime = embedder.name, runtime
        self._embedder, self._memory = embedder, memory
        self._question = lru_cache(_KEPT_READINGS)(self._of_question)
        self._everything: tuple[CorpusColumns, Everything | None] | None = None

    def _of_question(self, text: str) -> bytes:
        return bytes(quantise(self._embedder.embed([text]))[0].tobytes())

    def question(self, text: str) -> Bytes:
        """The vector of a question; the last ones are remembered."""
        return np.frombuffer(self._question(text), np.int8)

    def vectors(self, columns: CorpusColumns, passages: Sequence[Passage]) -> tuple[Bytes, int]:
        """The vectors of some passages, and how many of them had to be embedded; those are remembered by content."""
        rows = np.zeros((len(passages), self._embedder.dimensions), np.int8)
        new = self._from_stacks(columns, passages, rows)
        texts = passage_texts(columns, [passages[at] for at in new])
        keys = [text_key(text) for text in texts]
        known = self._memory.vectors_known(self.name, keys, width=rows.shape[1])
        rows[new] = known.rows
        missing = known.missing.tolist()
        for low in range(0, len(missing), _BATCH):
            part = missing[low : low + _BATCH]
            made = quantise(self._embedder.embed([texts[at] for at in part]))
            rows[[new[at] for at in part]] = made
            self._memory.remember_vectors(self.name, [keys[at] for at in part], made)
        return rows, len(missing)

    def _from_stacks(self, columns: CorpusColumns, passages: Sequence[Passage], rows: Bytes) -> list[int]:
        """Fill in what stacks have; returns which passages they lack."""
        stacks = self._stacks(columns, dict.fromkeys(each.stack for each in passages))
        lacking = []
        for at, each in enumerate(passages):
            if (stack := stacks.get(each.stack)) is None:
                lacking.append(at)
                continue
            place = int(stack[0].searchsorted(each.start))
            if place == len(stack[0]) or stack[0][place] != each.start:
                raise CorruptError(
                    "a stack of vectors lacks a passage; purge() forgets them, and `warm` makes them anew"
                )
            rows[at] = stack[1][place]
        return lacking

    def _stacks(self, columns: CorpusColumns, wanted: Mapping[tuple[int, int], None]) -> dict[tuple[int, int], _Stack]:
        """Those of some stacks that are kept."""
        keys = {_stack_key(_document_id(columns, row), part): (row, part) for row, part in wanted}
        width = self._embedder.dimensions
        found = self._memory.stacks_known(self.name, list(keys), width=width)
        return {keys[key]: _unstacked(raw, width) for key, raw in found.items()}

    def warm(self, columns: CorpusColumns, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Read every passage that is in no stack yet; returns how many there are.

        What was read stays read: a warm that was broken off goes on where it ended. Vectors of texts that are gone are
        forgotten.
        """
        passages = list(all_passages(columns))
        done, kept = 0, []
        for _, group in groupby(passages, key=lambda each: each.stack):
            each = list(group)
            key = _stack_key(_document_id(columns, each[0].row), each[0].stack[1])
            width = self._embedder.dimensions
            if not self._memory.stacks_known(self.name, [key], width=width):
                rows, _ = self.vectors(columns, each)
                starts = np.array([passage.start for passage in each], _PLACE)
                self._memory.remember_stack(self.name, key, starts.tobytes() + rows.tobytes(), width=width)
            kept.append(key)
            done += len(each)
            if progress is not None:
                progress(done, len(passages))
        self._memory.retain_vectors(self.name, kept)
        self._everything = None
        return len(passages)

    def everything(self, columns: CorpusColumns) -> Everything | None:
        """All passages of a corpus with their vectors; None where one was not read yet."""
        if self._everything is None or self._everything[0] is not columns:
            self._everything = (columns, self._loaded(columns))
        return self._everything[1]

    def missing(self, columns: CorpusColumns) -> int:
        """How many documents have passages that nobody has read ahead."""
        wanted = {each.stack: None for each in all_passages(columns)}
        found = self._stacks(columns, wanted)
        return len({row for row, part in wanted if (row, part) not in found})

    def _loaded(self, columns: CorpusColumns) -> Everything | None:
        firsts, behinds, rows, starts = _all_cells(columns)
        parts = starts // _STACK_BYTES
        news = np.flatnonzero(np.diff(rows, prepend=-1) | np.diff(parts, prepend=-1))
        stacks = dict.fromkeys(zip(rows[news].tolist(), parts[news].tolist(), strict=True))
        if not stacks or not self._stacks(columns, dict.fromkeys([next(iter(stacks))])):
            return None  # nobody warmed it: all of it need not be looked for
        found = self._stacks(columns, stacks)
        if len(found) < len(stacks):
            return None
        vectors = np.concatenate([found[each][1] for each in stacks])
        if not np.array_equal(np.concatenate([found[each][0] for each in stacks]), starts):
            raise CorruptError(
                "the stacks of vectors hold other passages; purge() forgets them, and `warm` makes them anew"
            )
        order = np.argsort(firsts)
        vectors = np.ascontiguousarray(vectors[order])
        return Everything(firsts[order], behinds[order], rows[order], starts[order], vectors, squares(vectors))


class _Stack(NamedTuple):
    starts: NDArray[np.uint64]
    rows: Bytes


def nearest_units(
    columns: CorpusColumns,
    everything: Everything,
    question: Bytes,
    *,
    limit: int,
    allowed: NDArray[np.bool_] | None = None,
) -> Ids:
    """The units of the passages that are nearest to a question, ascending; every passage is compared."""
    alike = cosines(everything.vectors, question, lengths=everything.lengths)
    if allowed is not None:
        alike = np.where(allowed[everything.rows], alike, -MILLION)
    best = np.flatnonzero(alike >= np.partition(alike, -limit)[-limit]) if len(alike) > limit else np.arange(len(alike))
    best = best[np.lexsort((everything.starts[best], everything.rows[best], -alike[best]))[:limit]]
    best = np.sort(best[alike[best] > 0])
    return columns.between(everything.firsts[best], everything.behinds[best] - 1, reach=0)


def beside_model(settings: FieldSettings) -> FieldSettings:
    """What counts how much where a model reads the best places: it sees their surroundings itself."""
    return replace(settings, near=settings.near * settings.late_around, wide=settings.wide * settings.late_around)


def read_late(
    columns: CorpusColumns,
    field: Field,
    question: str,
    late: Late,
    settings: FieldSettings,
    everything: Everything | None = None,
    near: Ids | None = None,
    favour: Numbers | None = None,
) -> tuple[Field, Read]:
    """The field with what a model makes of its best places; where the model fails, as it was.

    With `everything` the places that are `near` in meaning are among them, and nothing has to be embedded. `favour` is
    how many thousandths each document counts, by row.
    """
    read = np.arange(min(settings.late_candidates, len(field.units)))
    units = field.units[read]
    try:
        asked = late.question(question)
        if everything is not None:
            alike, embedded, passages = (
                cosines(everything.vectors[everything.of(units)], asked),
                0,
                len(everything.rows),
            )
        else:
            each, of_unit = _distinct(_passages(columns, units))
            rows, embedded = late.vectors(columns, each)
            alike, passages = cosines(rows, asked)[of_unit], len(each)
    except EndpointError as error:
        return field, Read(late.name, late.runtime, 0, 0, str(error))
    worth = settings.late * _worth(alike)
    gained = _gained(field, read, worth if favour is None else worth * (favour / THOUSAND)[field.rows[read]])
    if everything is not None and near is not None:
        at = np.flatnonzero(np.isin(field.units, near))
        passages_near = everything.of(field.units[at])
        alike_near = cosines(everything.vectors[passages_near], asked)
        scores = gained.scores.copy()
        scores[at] = np.maximum(scores[at], _floors(scores, passages_near, everything, alike_near))
        gained = replace(gained, scores=scores)
        units, alike = np.append(units, field.units[at]), np.append(alike, alike_near)
    gained = replace(gained, documents=_documents(columns, field, units, settings.late_document * _worth(alike)))
    nearest = int(alike.max(initial=0))
    read_by = Read(late.name, late.runtime, passages, embedded, is_full=everything is not None, nearest=nearest)
    return in_order(gained), read_by


def read_again(
    columns: CorpusColumns,
    field: Field,
    question: str,
    reranker: Reranker,
    settings: FieldSettings,
    read: Read | None,
    *,
    known: dict[str, int],
) -> tuple[Field, Read]:
    """The field with what a reranker makes of its best passages; where it fails, as it was.

    They change places among themselves: what it did not read stays behind them. `known` are the texts that it has read
    for this question, so that none is read twice.
    """
    read = read or Read("none", "none", 0, 0)
    each, of_unit = _distinct(_passages(columns, field.units[: settings.rerank_candidates]))
    texts = passage_texts(columns, each)
    new = [text for text in dict.fromkeys(texts) if text not in known]
    try:
        known.update(zip(new, reranker.scores(question, new) if new else (), strict=True))
    except EndpointError as error:
        return field, replace(read, reranker=reranker.name, not_reranked=str(error))
    count, worth = len(of_unit), np.array([known[text] for text in texts], np.int64)
    ranks = np.empty(len(each), np.int64)
    ranks[np.lexsort((np.arange(len(each)), -worth))] = np.arange(len(each))
    order = np.lexsort((np.arange(count), ranks[of_unit]))
    places = np.append(order, np.arange(count, len(field.units)))
    moved = replace(taken(field, places), scores=field.scores)  # the scores stay: they say the place
    return moved, replace(read, reranker=reranker.name, reranked=len(each))


def _worth(alike: Numbers) -> NDArray[np.float64]:
    """What likeness says: the nearest passage one, others less the farther they are behind it; and a little for itself.

    >>> _worth(np.array([700_000, 620_000, 0])).round(2).tolist()
    [1.21, 0.44, 0.01]
    """
    behind = (int(alike.max(initial=0)) - alike) / _BEHIND
    worth: NDArray[np.float64] = 1 / ((1 + behind) * (1 + behind)) + _LIKENESS * np.maximum(alike, 0) / MILLION
    return worth


def _documents(columns: CorpusColumns, field: Field, units: Ids, worth: NDArray[np.float64]) -> Numbers:
    """What documents are worth with what their best passage adds."""
    best = np.zeros(len(field.documents))
    np.maximum.at(best, columns.rows[units], worth)
    documents: Numbers = field.documents + np.rint(best * MILLION).astype(np.int64)
    return documents


def _gained(field: Field, at: Numbers, worth: NDArray[np.float64]) -> Field:
    """The field with what meaning adds to some of its units."""
    gains = np.rint(worth * MILLION).astype(np.int64)
    scores, semantic = field.scores.copy(), field.semantic.copy()
    scores[at] += gains
    semantic[at] += gains
    return replace(field, scores=scores, semantic=semantic)


def _floors(scores: Numbers, passages: Numbers, everything: Everything, alike: Numbers) -> Numbers:
    """What units of the nearest passages are worth at least, whatever their words.

    Behind the `_FIRST_PLACE` best places every `_PLACES`th one belongs to the next of them: small budgets stay with
    what words and model agree on, larger ones have room for what is said in other words.
    """
    order = np.lexsort((everything.starts[passages], everything.rows[passages], -alike))
    ranks = np.empty(len(passages), np.int64)
    ranks[order] = np.cumsum(np.diff(passages[order], prepend=-1) != 0) - 1
    descending = np.sort(scores)[::-1]
    floors: Numbers = descending[np.minimum(_FIRST_PLACE + ranks * _PLACES, len(descending) - 1)]
    return floors


def all_passages(columns: CorpusColumns) -> Iterator[Passage]:
    """Every passage of the corpus, by path and place."""
    firsts, behinds, rows, starts = (column.tolist() for column in _all_cells(columns))
    for row, start, first, behind in zip(rows, starts, firsts, behinds, strict=True):
        yield Passage(row, start, first, behind)


def passage_texts(columns: CorpusColumns, passages: Sequence[Passage]) -> list[str]:
    """What a model reads of some passages: the path of the document, the headings above and the text itself."""
    firsts = np.array([each.first for each in passages], np.int64)
    lasts = np.array([each.behind - 1 for each in passages], np.int64)
    sizes, ends = columns.sizes[firsts].tolist(), (columns.offsets[lasts] + columns.sizes[lasts]).tolist()
    numbers, paths, found = columns.documents.numbers, columns.documents.paths, []
    for passage, size, end in zip(passages, sizes, ends, strict=True):
        lines = columns.headings_above(passage.first, size=size)
        above = (line.decode("utf-8", "replace").strip(_MARKS)[:_HEADING] for line in lines)
        content = columns.snapshot.read(int(numbers[passage.row]), passage.start, end)
        names = " > ".join([paths[passage.row], *filter(None, above)])
        found.append(f"{names}: {content.decode('utf-8', 'replace')}")
    return found


def _all_cells(columns: CorpusColumns) -> tuple[Ids, Ids, Numbers, Numbers]:
    """Of every passage its first unit, the one behind its last, its document's row and its place there, in order."""
    units = np.arange(len(columns))
    extents, offsets = columns.extents[units], columns.offsets[units]
    firsts = np.flatnonzero(np.diff(extents, prepend=-1) | np.diff(offsets // CELL_BYTES, prepend=-1))
    behinds = np.append(firsts[1:], len(units))[: len(firsts)]
    rows, starts = columns.rows[firsts].astype(np.int64), offsets[firsts]
    order = np.lexsort((starts, rows))
    return firsts[order], behinds[order], rows[order], starts[order]


def _passages(columns: CorpusColumns, units: Ids) -> list[Passage]:
    """The passage that each of some units stands in."""
    order = np.argsort(units, kind="stable")
    ordered = units[order]
    rows, extents, starts = columns.rows[ordered], columns.extents[ordered], columns.starts[ordered]
    offsets = columns.offsets[ordered]
    origins = starts - offsets  # where the document begins on the axis, were it all there
    cells = offsets // CELL_BYTES
    segments = columns.firsts.searchsorted(ordered, side="right") - 1
    lows = origins + cells * CELL_BYTES
    firsts, behinds = np.empty(len(ordered), np.int64), np.empty(len(ordered), np.int64)
    for number in np.unique(segments).tolist():
        segment, here = columns.segments[number], segments == number
        kind = segment.starts.dtype  # as which edges are compared, so that not all starts are copied
        for column, edges in ((firsts, np.maximum(lows[here], 0)), (behinds, lows[here] + CELL_BYTES)):
            places = segment.starts.searchsorted(np.minimum(edges, np.iinfo(kind).max).astype(kind))
            column[here] = places + segment.first
    firsts = np.maximum(firsts, columns.extent_firsts[extents])
    behinds = np.minimum(behinds, columns.extent_behinds[extents])
    parts = (rows, columns.offsets[firsts], firsts, behinds)
    found = [Passage(*values) for values in zip(*(column.tolist() for column in parts), strict=True)]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return [found[at] for at in back.tolist()]


def _distinct(passages: Sequence[Passage]) -> tuple[list[Passage], list[int]]:
    """Each of some passages once, and which of these every one is."""
    each = list(dict.fromkeys(passages))
    places = {passage: at for at, passage in enumerate(each)}
    return each, [places[passage] for passage in passages]


def _document_id(columns: CorpusColumns, row: int) -> str:
    found = columns.snapshot.row(columns.documents.paths[row])
    assert found is not None
    return found.id


def _stack_key(document: str, part: int) -> bytes:
    """What the vectors of a stretch of a document are kept under; path and content are in its id."""
    return blake3(f"{_READ_AS} {CELL_BYTES} {_STACK_BYTES} {document} {part}".encode()).digest()


def _unstacked(raw: bytes, width: int) -> _Stack:
    count, rest = divmod(len(raw), _PLACE.itemsize + width)
    if rest:
        raise CorruptError("a stack of vectors is of another size; purge() forgets them, and `warm` makes them anew")
    starts = np.frombuffer(raw, _PLACE, count)
    return _Stack(starts, np.frombuffer(raw, np.int8, offset=starts.nbytes).reshape(count, width))
