"""What in the corpus answers a question? Read it, find its words, weigh every place, say what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as new
from itertools import compress
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brimful.documents.documents import Hit
from brimful.index.segments import Numbers
from brimful.search.columns import NO_WORD, CorpusColumns, following, literal
from brimful.search.field import MILLION, THOUSAND, Field, TermHits, fused, in_order, relevance, taken
from brimful.search.late import READ_UNITS, LateEncoder, ReadReport, read_again, read_late
from brimful.search.mentions import DateAsked, dates_in, options_in
from brimful.search.priors import SOURCE, TRANSLATION
from brimful.search.query import Query, narrowed, parse_query, rarest
from brimful.search.reading import MOST_DECIDING, Missing, Reading, lacking, missing_words, named_as_missing, wording
from brimful.search.signals import idf, repeats
from brimful.search.spelling import Correction, corrections
from brimful.search.terms import (
    ASKED_WEIGHTS,
    Form,
    WordForms,
    forms_of,
    is_stop_word,
    joined_forms,
    longest_run,
)
from brimful.search.translation import translated
from brimful.settings import FieldSettings, Filters
from brimful.store.rows import NO_TIME
from brimful.text.terms import matches_in, query_terms

if TYPE_CHECKING:
    from brimful.neural.rerankers import Reranker

# ---- listing: What is shown of documents that were only filtered, not asked anything? Their beginnings, the newest
# first.


def listed(columns: CorpusColumns, allowed: NDArray[np.bool_], limit: int) -> tuple[Hit, ...]:
    """The first unit of every document, then the second of every one, and so on; newest first, then by path.

    Documents without a time come last. Scores only say the place in this order.
    """
    times, paths = columns.documents.times, columns.documents.paths
    ranks = np.empty(len(times), np.int64)
    ranks[np.lexsort((np.arange(len(times)), -times, times == NO_TIME))] = np.arange(len(times))
    blocks = np.flatnonzero(allowed[columns.block_rows]) if len(columns) else np.zeros(0, np.int64)
    blocks = _in_turn(blocks, columns.block_rows[blocks], columns.block_offsets[blocks], ranks, limit)
    blocks.sort()
    units = columns.between(columns.block_firsts[blocks], columns.block_lasts(blocks), reach=0)
    units = _in_turn(units, columns.rows[units], columns.offsets[units], ranks, limit)
    rows, starts, sizes = columns.rows[units].tolist(), columns.offsets[units].tolist(), columns.sizes[units].tolist()
    return tuple(
        Hit(paths[row], start, start + size, 1 / place, time=None if times[row] == NO_TIME else int(times[row]))
        for place, (row, start, size) in enumerate(zip(rows, starts, sizes, strict=True), 1)
    )


def _in_turn(
    items: NDArray[np.int64],
    rows: NDArray[np.integer],
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int64],
    limit: int,
) -> NDArray[np.int64]:
    """The first item of each document, then the second of each, at most so many."""
    order = np.lexsort((offsets, rows))
    sorted_rows = rows[order]
    begins = np.flatnonzero(np.diff(sorted_rows, prepend=-1))
    turn = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    return items[order[np.lexsort((ranks[sorted_rows], turn))[:limit]]]


# ---- search: From a question to the places that matter: read it, find its words, weigh every place.

MOST_WORDS = 64
"""Words of a question that are looked up: the rarest of a longer one."""

_DECIDES, _NAME_DECIDES = 0.6, 1 / 3
"""Where words that no document has are this much of a question, nothing answers it; less, if one of them is a name."""
_MEANT = 700_000
"""A passage that a model finds this much alike, in millionths, may answer in other words."""
_END_SHARE = (1, 4)
"""Relevance ends where a hit is worth less than this share of the best one."""
_AGAIN = 3
"""What a unit counts that says again what others have said: one of so many parts."""
_OF_FURTHER = np.array([1_000, 667, 444, 296])
"""Thousandths that a unit of a source file counts after none, one, two, or more units of that file."""
_LEAST_PART = 3
"""Characters of a part of a word that means the same elsewhere."""
_LETTERS_AND_DIGITS = re.compile(rb"(?=.*[0-9])(?=.*[a-z])[a-z0-9]+")
_RUN = re.compile(rb"[a-z]+|[0-9]+")
_LEAST_BLOCKS = 400
_RECENT = 500  # thousandths


@dataclass(frozen=True, slots=True)
class Sense:
    """A word of a question, and the terms that it was looked for as; two terms mean that one follows the other."""

    word: str
    forms: tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a question found: the best units first, and how it was understood."""

    query: Query
    hits: tuple[Hit, ...]
    corrections: tuple[Correction, ...] = ()
    documents: tuple[tuple[str, float], ...] = ()  # the best documents as wholes
    census: tuple[tuple[str, int], ...] = ()  # how often each word of the question stands anywhere, in all its forms
    forms: tuple[frozenset[bytes], ...] = ()  # the terms as which each of these may stand
    senses: tuple[Sense, ...] = ()  # words that say something, unless all of them only ask
    missing: tuple[str, ...] = ()  # words that say something and that no document has
    lacking: float = 0.0  # how much of what the question says these words are; 0 where it is in another language
    lacks_name: bool = False  # one of them is a name, which no other words say
    covered: float = 1.0  # how much of what the question says stands together at the best place
    read: ReadReport | None = None  # what a model made of the best places; None where none was asked
    translations: frozenset[str] = frozenset()  # documents that counted less: they are there in its own language too
    sources_less: bool = False  # sources counted less than what explains them: the question asks how
    relevant: int = 0  # how many of the hits belong to the answer; those behind them only fill (ruling 19)

    @property
    def is_unanswerable(self) -> bool:
        """Whether the corpus lacks a name and much else, or most of the question and anything that means the same."""
        if self.lacks_name:
            return self.lacking >= _NAME_DECIDES
        is_meant = self.read is not None and self.read.failed is None and self.read.nearest >= _MEANT
        return self.lacking >= _DECIDES and not is_meant


@dataclass(frozen=True, slots=True, eq=False)
class Understood:
    """A question as a corpus understands it: all that does not depend on how many places are wanted."""

    reading: Reading
    settings: FieldSettings
    allowed: NDArray[np.bool_] | None
    forms: tuple[WordForms, ...] = ()
    repairs: tuple[Correction, ...] = ()
    term_hits: Sequence[TermHits] = ()
    missing: Sequence[Missing] = ()
    as_read: str = ""
    recent_days: int | None = None
    late: LateEncoder | None = None
    reranker: Reranker | None = None
    fields: dict[int, tuple[Field, ReadReport | None]] = new(
        default_factory=dict, repr=False
    )  # by blocks that were weighed
    reranked: dict[str, int] = new(default_factory=dict, repr=False)  # texts that the reranker has read


def search(columns: CorpusColumns, question: str | Query, *, limit: int = 100, **how: Any) -> Found:
    """The units that matter most for a question, each with its scores and which words it has; `understand` says how."""
    return best_of(understand(columns, question, **how), limit=limit)


def understand(
    columns: CorpusColumns,
    question: str | Query,
    *,
    settings: FieldSettings | None = None,
    repair: bool = True,
    recent_days: int | None = None,
    within: Query | None = None,
    operators: bool = False,
    filters: Filters | None = None,
    late: LateEncoder | None = None,
    reranker: Reranker | None = None,
) -> Understood:
    """Read a question and find its words, once for all the numbers of places that are wanted of it.

    Filters narrow the corpus before anything is ranked; filters alone give the beginnings of what they leave. Words
    that the corpus lacks are repaired if it has a likely one, and every correction is named. `recent_days` is the
    half-life after which what is said loses half of what being new gives it, counted back from the newest document
    (ruling 10). `within` is another question, whose filters hold instead of its own. With `operators` those of the
    question count; `filters` narrow it either way. `late` reads the best units with a
    model; `reranker` puts the very best in order.
    """
    settings = settings or FieldSettings()
    query = parse_query(question, operators=operators) if isinstance(question, str) else question
    query = rarest(query if filters is None else narrowed(query, filters), columns.census, most=MOST_WORDS)
    columns.snapshot.expect_terms([each.term for each in query.terms])
    allowed = _allowed(columns, within or query)
    if allowed is not None and not query.terms and query.has_filters:
        return Understood(Reading(columns, query), settings, allowed)
    query = _in_parts(columns, query)
    reading, forms = Reading(columns, query), _forms(columns, query)
    foreign, as_read = translated(reading, forms, late.table) if late is not None and repair else ((), "")
    strangers = {each.words for each in foreign}
    forms = (*(each for each in forms if each.words not in strangers), *foreign)
    repairs: tuple[Correction, ...] = ()
    if repair and not foreign:
        repairs = corrections(query, columns, columns.spellings, languages=columns.languages, forms=forms)
    dates = dates_in(query.text, languages=columns.languages)
    term_hits = [*_term_hits(reading, forms, repairs, settings), *_dated(columns, dates)]
    missing = missing_words(reading, forms, repairs)
    as_read = as_read or wording(query, repairs)
    return Understood(
        reading,
        settings,
        allowed,
        forms,
        repairs,
        term_hits,
        missing,
        as_read,
        recent_days,
        late,
        reranker,
    )


def best_of(asked: Understood, *, limit: int) -> Found:
    """The best so many places for a question that was understood."""
    reading, term_hits, missing = asked.reading, asked.term_hits, asked.missing
    columns, query = reading.columns, reading.query
    if asked.allowed is not None and not query.terms and query.has_filters:
        hits = listed(columns, asked.allowed, limit)
        best = dict.fromkeys(hit.path for hit in hits)
        return Found(query, hits, documents=tuple((path, 1 / (place + 1)) for place, path in enumerate(best)))
    field, read = _weighed(asked, max(_LEAST_BLOCKS, limit))
    words = tuple((each.word.decode("utf-8", "replace"), each.census) for each in term_hits)
    forms_of_words = tuple(frozenset(each.names or each.word.split()) for each in term_hits)
    return Found(
        query,
        _hits(columns, field, [word for word, _ in words], limit),
        asked.repairs,
        _documents(columns, field, limit),
        words,
        forms_of_words,
        _senses(columns, asked.forms, asked.repairs),
        missing=tuple(word.decode("utf-8", "replace") for word in named_as_missing(reading, asked.forms, missing)),
        lacking=lacking(reading, term_hits, missing),
        lacks_name=bool(missing) and not reading.names.isdisjoint(each.word for each in missing),
        covered=field.covered / MILLION,
        read=read,
        translations=reading.translations[1] if asked.settings.priors else frozenset(),
        sources_less=asked.settings.priors and reading.asks_how,
        relevant=int(np.count_nonzero(field.scores[:limit] * _END_SHARE[1] >= field.scores[:1] * _END_SHARE[0])),
    )


def _weighed(asked: Understood, blocks: int) -> tuple[Field, ReadReport | None]:
    """Every place of so many blocks with its worth, and what models made of the best ones; kept for the next time."""
    if blocks not in asked.fields:
        columns, late, report = asked.reading.columns, asked.late, None
        field = _by_words(asked, asked.settings, blocks, _favour(asked.reading, asked.recent_days, asked.settings))
        if len(field.units):
            likeness = None
            if late is not None:
                likeness, report = read_late(columns, field.units[:READ_UNITS], asked.as_read, late)
                if likeness is not None:
                    field.semantic[:READ_UNITS] = likeness
            field = fused(columns, field, likeness)
        if asked.reranker is not None and len(field.units):
            field, report = read_again(columns, field, asked.as_read, asked.reranker, report, known=asked.reranked)
        field = _worth_something(field)
        if asked.settings.priors:
            field = _files_first(columns, _said_once(columns, field))
        asked.fields[blocks] = field, report
    return asked.fields[blocks]


def _by_words(asked: Understood, settings: FieldSettings, blocks: int, favour: Numbers | None) -> Field:
    """Every place of so many blocks with its worth by words; definitions thrice if they are meant."""
    reading = asked.reading
    if reading.where:
        settings = replace(settings, definition=3 * settings.definition)
    return relevance(
        reading.columns,
        asked.term_hits,
        settings=settings,
        blocks=blocks,
        allowed=asked.allowed,
        favour=favour,
        lacking=sum(each.worth for each in asked.missing),
    )


def with_matches(columns: CorpusColumns, found: Found) -> Found:
    """The same with the places of the question's words in each hit, as `Hit.matches`: the rarest word first.

    Each hit's text is read for it, so this is for those who show less than a hit.
    """
    told = [(is_stop_word(word.encode(), columns.languages), census, word) for word, census in found.census]
    names = [found.forms[at] for at in sorted(range(len(told)), key=lambda at: (told[at], at))]

    def placed(hit: Hit) -> Hit:
        row = columns.snapshot.row(hit.path)
        assert row is not None
        text = columns.snapshot.read(row.number, hit.start, hit.end).decode("utf-8", "replace")
        return replace(hit, matches=tuple((hit.start + a, hit.start + b) for a, b in matches_in(text, names)))

    return replace(found, hits=tuple(placed(hit) for hit in found.hits))


def _in_parts(columns: CorpusColumns, query: Query) -> Query:
    """The question with letters and digits apart where the corpus never writes them as one: `FY2018`, `2018`.

    Only where those that tell stand somewhere and none is a single character: `E1234` is not what `1234` is.
    """
    written: dict[bytes, bool] = {}  # the words that change, and whether each is a part from now on
    for whole in query.terms:
        if whole.is_part or not _LETTERS_AND_DIGITS.fullmatch(whole.term) or columns.stands(whole.term):
            continue
        runs = _RUN.findall(whole.term)
        telling = [run for run in runs if len(run) >= _LEAST_PART]
        if telling and all(len(run) > 1 for run in runs) and all(map(columns.stands, telling)):
            written |= {whole.term: True, **dict.fromkeys(telling, False)}
    if not written:
        return query
    terms = (replace(each, is_part=written.get(each.term, each.is_part)) for each in query.terms)
    return replace(query, terms=tuple(terms))


def _forms(columns: CorpusColumns, query: Query) -> tuple[WordForms, ...]:
    """What each word stands for; the columns remember the words of earlier questions.

    What the corpus also writes as one word with a neighbour (`data base`, `database`) stands for both of them.
    """
    joined: dict[bytes, list[Form]] = _side_by_side(columns, query)
    for pair in joined_forms(query, columns, weights=ASKED_WEIGHTS):
        if not any(is_stop_word(word, columns.languages) for word in pair.words):
            for word in pair.words:
                joined.setdefault(word, []).extend(pair.forms)
    return tuple(
        WordForms((each.term,), (*columns.forms_of(each.term, is_prefix=each.is_prefix), *joined.get(each.term, ())))
        for each in query.terms
    )


def _side_by_side(columns: CorpusColumns, query: Query) -> dict[bytes, list[Form]]:
    """Names that no document writes as the question does, as the parts of them that stand side by side somewhere.

    `CELERY_TASK_ALWAYS_EAGER` finds `task_always_eager`, which finds it, and `taskAlwaysEager`. Two of the parts
    say something: `is_in_list` is not what `is in` is.
    """

    def stands(run: tuple[bytes, ...]) -> bool:
        telling = {part for part in run if len(part) >= _LEAST_PART and not is_stop_word(part, (*languages, "en"))}
        return len(telling) > 1 and all(map(columns.census, run)) and any(map(len, following(columns, run)))

    content, languages = query.text.encode("utf-8", "replace"), columns.languages
    found: dict[bytes, list[Form]] = {}
    for asked in query.terms if len(query.sequence) <= MOST_DECIDING else ():
        if asked.is_part or columns.stands(asked.term):
            continue
        pieces = query_terms(content[asked.start : asked.end].decode("utf-8", "replace"))
        begins = [each.start for each in pieces[1:]]
        parts = [each.term for each, after in zip(pieces, (*begins, inf), strict=True) if after >= each.end]
        if run := longest_run(parts, stands):
            found[asked.term] = [Form(run, "split", ASKED_WEIGHTS.split)]
    return found


def _dated(columns: CorpusColumns, dates: Sequence[DateAsked]) -> list[TermHits]:
    """The dates that a question names, each in all its spellings."""
    found = []
    for date in dates:
        forms = [Form(terms, "exact", THOUSAND) for terms in date.spellings if all(map(columns.census, terms))]
        singles = tuple(terms[0] for terms in date.spellings if len(terms) == 1)
        if forms or any(map(columns.is_titled, singles)):
            found.append(TermHits(date.name, 1.0, columns.places_of(tuple(forms)), singles))
    return found


def _favour(reading: Reading, recent_days: int | None, settings: FieldSettings) -> NDArray[np.int64] | None:
    """How many thousandths each document counts: by the kind of its file, and by how recent it is."""
    columns = reading.columns
    favour = None if recent_days is None else _recent(columns, recent_days)
    if not settings.priors:
        return favour
    kinds = columns.file_kinds.counted(each.term for each in reading.query.terms)
    if reading.asks_how:
        kinds[columns.sources] = kinds[columns.sources] * SOURCE.thousandths // THOUSAND
    others, _ = reading.translations
    if len(others):
        kinds[others] = kinds[others] * TRANSLATION.thousandths // THOUSAND
    return kinds if favour is None else kinds * favour // THOUSAND


def _senses(columns: CorpusColumns, forms: Sequence[WordForms], repairs: Sequence[Correction]) -> tuple[Sense, ...]:
    """What a reader would mark: all that a word stands for, and what was looked for in its place."""
    found: dict[bytes, list[tuple[bytes, ...]]] = {}
    for word in forms:
        found.setdefault(b" ".join(word.words), []).extend(form.terms for form in word.forms)
    for each in repairs:
        found.setdefault(each.word, []).append((each.term,))
    telling = [word for word in found if not is_stop_word(word, columns.languages)] or list(found)
    return tuple(Sense(word.decode("utf-8", "replace"), tuple(found[word])) for word in telling if found[word])


def _term_hits(
    reading: Reading,
    forms: Sequence[WordForms],
    repairs: Sequence[Correction],
    settings: FieldSettings,
) -> list[TermHits]:
    """Every word of the question with all its places, each place once."""
    columns, query = reading.columns, reading.query
    parts = {asked.term for asked in query.terms if asked.is_part}
    runs = {run for whole in query.terms for run in _RUN.findall(whole.term) if run != whole.term}
    scraps = {run for run in runs if len(run) < _LEAST_PART}
    repeated = {asked.term: asked.count for asked in query.terms}
    repaired: dict[bytes, list[Form]] = {}
    for each in repairs:
        repaired.setdefault(each.word, []).append(Form((each.term,), "exact", each.weight))
    glued, written, where = reading.glued_names, reading.written_as_names, reading.where
    found: list[TermHits] = []
    seen: set[frozenset[tuple[bytes, ...]]] = set()
    for word in forms:
        asked = b" ".join(word.words)
        whole = [*word.forms, *repaired.pop(asked, [])]
        key = frozenset(form.terms for form in whole) or frozenset(((asked,),))
        if key in seen or not (whole or asked in glued or columns.is_titled(asked)):
            continue  # another form of a word that is sought already, or a word that is nowhere
        seen.add(key)
        is_asking = is_stop_word(asked, columns.languages) or asked == where
        weight = settings.asking if is_asking else 1.0
        if asked in parts:
            weight *= settings.part
        if asked in scraps:  # two letters of a longer word mean something else elsewhere
            weight = min(weight, settings.asking)
        times = repeated.get(asked, 1)
        weight *= times * (settings.repeated + 1) / (times + settings.repeated)
        names = tuple(form.terms[0] for form in whole if len(form.terms) == 1) or (asked,)
        names = (*names, *glued.get(asked, ()))
        minor = asked in parts or is_asking
        found.append(
            TermHits(asked, weight, columns.places_of(tuple(whole)), names, minor, asked in written or bool(where))
        )
    for asked, whole in repaired.items():  # two words that are one
        names = tuple(form.terms[0] for form in whole)
        found.append(TermHits(asked, 1.0, columns.places_of(tuple(whole)), names))
    return [
        *_bounded(columns, found, settings),
        *(
            TermHits(b" ".join(terms), settings.phrase, ((THOUSAND, literal(columns, terms)),), is_literal=True)
            for terms in query.phrases
        ),
        *(
            TermHits(b" ".join(terms), 1.0, ((THOUSAND, literal(columns, terms)),))
            for terms in query.quoted
            if len(terms) > 1
        ),
        *_options(columns, query),
    ]


def _options(columns: CorpusColumns, query: Query) -> Iterator[TermHits]:
    """Options of the question (`--no-deps`) that stand somewhere word for word: each is one more word of it."""
    for option in options_in(query.text):
        terms = tuple(term.term for term in query_terms(option) if not term.is_part)
        if len(terms) > 1 and terms not in (*query.quoted, *query.phrases):
            hits = TermHits(b" ".join(terms), 1.0, ((THOUSAND, following(columns, terms, gap=NO_WORD)),), is_name=True)
            if hits.census:
                yield hits


def _bounded(columns: CorpusColumns, term_hits: Sequence[TermHits], settings: FieldSettings) -> list[TermHits]:
    """A word that only asks counts no more than its share of the rarest that says something, however rare it is."""
    worth = [idf(each.census, len(columns)) for each in term_hits]
    asks = [is_stop_word(each.word, columns.languages) for each in term_hits]
    most = settings.asking * max((one for one, only in zip(worth, asks, strict=True) if not only), default=inf)
    return [
        replace(each, weight=min(each.weight, most / one)) if only else each
        for each, one, only in zip(term_hits, worth, asks, strict=True)
    ]


def _allowed(columns: CorpusColumns, query: Query) -> NDArray[np.bool_] | None:
    """Which documents may be shown, by row: what the filters, phrases and exclusions leave; None for all."""
    if not (query.has_filters or query.phrases or query.excluded or query.excluded_phrases):
        return None
    documents = columns.documents
    allowed = np.ones(len(documents), bool)
    if query.has_filters:
        times = documents.times.tolist()
        for row, (path, kind) in enumerate(zip(documents.paths, documents.kinds, strict=True)):
            allowed[row] = query.allows(path, kind, None if times[row] == NO_TIME else times[row])
    for phrase in query.phrases:
        has = columns.document_counts(literal(columns, phrase)) > 0
        # A quotation that stands nowhere is a title, or somebody's words: it narrows nothing.
        if has.any() or phrase in query.required:
            allowed &= has
    unwanted = [following(columns, form.terms) for asked in query.excluded for form in forms_of(asked, columns)]
    for places in (*unwanted, *(literal(columns, terms) for terms in query.excluded_phrases)):
        allowed &= columns.document_counts(places) == 0
    return allowed


def _recent(columns: CorpusColumns, half_life_days: int) -> NDArray[np.int64]:
    """What being recent is worth to each document, in thousandths: half as much again for the newest."""
    times = columns.documents.times
    known = times != NO_TIME
    if not known.any():
        return np.full(len(times), THOUSAND, np.int64)
    ages = (int(times[known].max()) - np.where(known, times, 0)).tolist()
    half_life = half_life_days * 86_400
    gains = [
        round(_RECENT * 2.0 ** -min(age / half_life, 64.0)) if there else 0
        for age, there in zip(ages, known.tolist(), strict=True)
    ]
    return THOUSAND + np.array(gains, np.int64)


def _worth_something(field: Field) -> Field:
    """The field without what turned out to be worth nothing."""
    count = int(np.count_nonzero(field.scores > 0))  # the best come first
    return field if count == len(field.scores) else taken(field, np.arange(count))


def _said_once(columns: CorpusColumns, field: Field) -> Field:
    """The field where units that repeat better ones of their document count less."""
    again = repeats(columns, field.units, field.rows)
    if not len(again):
        return field
    scores = field.scores.copy()
    scores[again] //= _AGAIN
    return in_order(replace(field, scores=scores))


def _files_first(columns: CorpusColumns, field: Field) -> Field:
    """The field where the second to fourth unit of a source file count less and less: another file comes before them.

    A source file is about one thing, which its best unit names; a manual is about many.
    """
    places = np.flatnonzero(columns.sources[field.rows])
    rows = field.rows[places]
    by_row = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[by_row], prepend=-1))
    earlier = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
    scores = field.scores.copy()
    scores[places[by_row]] = scores[places[by_row]] * _OF_FURTHER[np.minimum(earlier, len(_OF_FURTHER) - 1)] // THOUSAND
    return in_order(replace(field, scores=scores))


def _documents(columns: CorpusColumns, field: Field, limit: int) -> tuple[tuple[str, float], ...]:
    """The best documents, those of the same worth by path."""
    rows = np.flatnonzero(field.documents > 0)
    best = rows[np.argsort(-field.documents[rows], kind="stable")[:limit]]
    worth = field.documents[best].tolist()
    return tuple((columns.documents.paths[row], each / MILLION) for row, each in zip(best.tolist(), worth, strict=True))


def _hits(columns: CorpusColumns, field: Field, words: Sequence[str], limit: int) -> tuple[Hit, ...]:
    units = field.units[:limit]
    placed = columns.placed(units)
    worth = ((column[:limit] / MILLION).tolist() for column in (field.scores, field.lexical, field.semantic))
    times = columns.documents.times[placed[0]].tolist()
    places = (column.tolist() for column in placed)
    return tuple(
        Hit(
            columns.documents.paths[row],
            start,
            start + size,
            score,
            lexical=lexical,
            semantic=semantic,
            terms=tuple(compress(words, has)),
            time=None if time == NO_TIME else time,
        )
        for row, start, size, score, lexical, semantic, time, has in zip(
            *places, *worth, times, field.has(limit).T.tolist(), strict=True
        )
    )
