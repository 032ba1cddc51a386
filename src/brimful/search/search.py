"""Search a corpus: parse a question, find its words, score the units, name what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as new
from itertools import compress
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brimful.documents.documents import Hit
from brimful.search.candidates import MILLION, THOUSAND, TermHits
from brimful.search.columns import CorpusColumns, following, literal
from brimful.search.field import ScoredUnits, fused, in_order, relevance, reordered
from brimful.search.late import READ_UNITS, LateEncoder, ReadReport, read_again, read_late
from brimful.search.query import Query, narrowed, parse_query, rarest
from brimful.search.reading import (
    Missing,
    QuestionCues,
    lacking,
    missing_words,
    named_as_missing,
    wording,
)
from brimful.search.signals import repeats
from brimful.search.spelling import Correction, corrections
from brimful.search.terms import Form, WordForms, forms_of, is_stop_word, joined_forms
from brimful.search.translation import translated
from brimful.settings import FieldSettings, Filters
from brimful.store.rows import NO_TIME
from brimful.text.terms import matches_in

if TYPE_CHECKING:
    from brimful.neural.embedders import Reranker

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
    blocks = np.sort(_in_turn(blocks, columns.block_rows[blocks], columns.block_offsets[blocks], ranks, limit))
    units = columns.grid.between(*columns.units_of_blocks(blocks), reach=0)
    placed = columns.placed(units)
    placed = columns.placed(_in_turn(units, placed.rows, placed.offsets, ranks, limit))
    places = zip(placed.rows.tolist(), placed.offsets.tolist(), placed.sizes.tolist(), strict=True)
    return tuple(
        Hit(paths[row], start, start + size, 1 / place, time=None if times[row] == NO_TIME else int(times[row]))
        for place, (row, start, size) in enumerate(places, 1)
    )


def _in_turn(
    items: NDArray[np.int64],
    rows: NDArray[np.integer],
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int64],
    limit: int,
) -> NDArray[np.int64]:
    """The first item of each document, then the second of each, up to `limit`."""
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
_END_SHARE, _MOST_RELEVANT = 5, 15
"""Relevance ends below a fifth of the best score, and after fifteen hits and what ties with the last (decision 023)."""
_AGAIN = 3
"""A unit that repeats better ones keeps a third of its score."""
_OF_FURTHER = np.array([1_000, 667, 444, 296])
"""Thousandths that a unit of a source file counts after none, one, two, or more units of that file."""
_LEAST_BLOCKS = 400
_RECENT = 500  # thousandths


@dataclass(frozen=True, slots=True)
class MatchedWord:
    """A word of a question, and the terms that it was looked for as; two terms mean that one follows the other."""

    word: str
    forms: tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: the best units first, and how the question was read."""

    query: Query
    hits: tuple[Hit, ...]
    corrections: tuple[Correction, ...] = ()
    documents: tuple[tuple[str, float], ...] = ()  # the best documents as wholes
    census: tuple[tuple[str, int], ...] = ()  # occurrences of each word of the question, in all its forms
    forms: tuple[frozenset[bytes], ...] = ()  # the terms as which each of these may stand
    senses: tuple[MatchedWord, ...] = ()  # words that say something, unless all of them only ask
    missing: tuple[str, ...] = ()  # words that say something and that no document has
    lacking: float = 0.0  # how much of what the question says these words are; 0 where it is in another language
    lacks_name: bool = False  # one of them is a name, which no other words say
    covered: float = 1.0  # how much of what the question says stands together at the best place
    read: ReadReport | None = None  # the report of the models; None without one
    relevant: int = 0  # how many of the hits are relevant; later ones only fill (ruling 19)

    @property
    def end(self) -> float:
        """The score below which hits only fill; what belongs to a hit counts a last digit less than it."""
        return nextafter(self.hits[self.relevant - 1].score, -inf) if self.relevant else 0.0

    @property
    def is_unanswerable(self) -> bool:
        """Whether the corpus lacks a name and a third of the question, or most of the question and its meaning."""
        if self.lacks_name:
            return self.lacking >= _NAME_DECIDES
        is_meant = self.read is not None and self.read.failed is None and self.read.nearest >= _MEANT
        return self.lacking >= _DECIDES and not is_meant


@dataclass(frozen=True, slots=True, eq=False)
class ParsedQuestion:
    """A question parsed against a corpus, for any number of results."""

    cues: QuestionCues
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
    # By number of blocks.
    scored: dict[int, tuple[ScoredUnits, ReadReport | None]] = new(default_factory=dict, repr=False)
    reranked: dict[str, int] = new(default_factory=dict, repr=False)  # texts that the reranker has read


def search(columns: CorpusColumns, question: str | Query, *, limit: int = 100, **how: Any) -> Found:
    """The best units for a question, each with its scores and words; `parse_question` takes the options."""
    return best_of(parse_question(columns, question, **how), limit=limit)


def parse_question(
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
) -> ParsedQuestion:
    """Parse a question and find its words, once for any number of results.

    Filters narrow the corpus before anything is ranked; filters alone give the beginnings of what they leave. Words
    that the corpus lacks are repaired if it has a likely one, and every correction is named. `recent_days` is the
    half-life of the bonus for recent documents, counted back from the newest one (ruling 10). The filters of `within`,
    another question, replace the question's. `operators` turns on its operators; `filters` apply either way. `late`
    compares the best units with the question by a model; `reranker` orders the very best.
    """
    settings = settings or FieldSettings()
    query = parse_query(question, operators=operators) if isinstance(question, str) else question
    query = rarest(query if filters is None else narrowed(query, filters), columns.census, limit=MOST_WORDS)
    columns.snapshot.expect_terms([each.term for each in query.terms])
    allowed = _allowed(columns, within or query)
    if allowed is not None and not query.terms and query.has_filters:
        return ParsedQuestion(QuestionCues(columns, query), settings, allowed)
    cues, forms = QuestionCues(columns, query), _forms(columns, query)
    foreign, as_read = translated(cues, forms, late.table) if late is not None and repair else ((), "")
    strangers = {each.words for each in foreign}
    forms = (*(each for each in forms if each.words not in strangers), *foreign)
    repairs: tuple[Correction, ...] = ()
    if repair and not foreign:
        repairs = corrections(query, columns, lambda: columns.spellings, languages=columns.languages, forms=forms)
    term_hits = _term_hits(cues, forms, repairs, settings)
    missing = missing_words(cues, forms, repairs)
    as_read = as_read or wording(query, repairs)
    return ParsedQuestion(
        cues,
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


def best_of(parsed: ParsedQuestion, *, limit: int) -> Found:
    """The best `limit` results for a parsed question."""
    cues, term_hits, missing = parsed.cues, parsed.term_hits, parsed.missing
    columns, query = cues.columns, cues.query
    if parsed.allowed is not None and not query.terms and query.has_filters:
        hits = listed(columns, parsed.allowed, limit)
        best = dict.fromkeys(hit.path for hit in hits)
        return Found(query, hits, documents=tuple((path, 1 / (place + 1)) for place, path in enumerate(best)))
    scored, read = _weighed(parsed, max(_LEAST_BLOCKS, limit))
    words = tuple((each.word.decode("utf-8", "replace"), each.occurrences) for each in term_hits)
    forms_of_words = tuple(frozenset(each.names or each.word.split()) for each in term_hits)
    return Found(
        query,
        _hits(columns, scored, [word for word, _ in words], limit),
        parsed.repairs,
        _documents(columns, scored, limit),
        words,
        forms_of_words,
        _senses(columns, parsed.forms, parsed.repairs),
        missing=tuple(word.decode("utf-8", "replace") for word in named_as_missing(cues, parsed.forms, missing)),
        lacking=lacking(cues, term_hits, missing),
        lacks_name=bool(missing) and not cues.names.isdisjoint(each.word for each in missing),
        covered=scored.covered / MILLION,
        read=read,
        relevant=_relevant(scored.scores[:limit]),
    )


def _relevant(scores: NDArray[np.int64]) -> int:
    """How many of the scores, best first, are relevant: what ties with the last of them is too."""
    if not len(scores):
        return 0
    last = scores[min(len(scores), _MOST_RELEVANT) - 1]
    return int(np.count_nonzero((scores >= last) & (scores * _END_SHARE >= scores[0])))


def _weighed(parsed: ParsedQuestion, blocks: int) -> tuple[ScoredUnits, ReadReport | None]:
    """The scored units of `blocks` blocks, and the report of the models; kept for the next call."""
    if blocks not in parsed.scored:
        columns, late, report = parsed.cues.columns, parsed.late, None
        scored = relevance(
            columns,
            parsed.term_hits,
            settings=parsed.settings,
            blocks=blocks,
            allowed=parsed.allowed,
            favour=_favour(parsed.cues, parsed.recent_days, parsed.settings),
            lacking=sum(absent.worth for absent in parsed.missing),
        )
        if len(scored.units):
            likeness = None
            if late is not None:
                likeness, report = read_late(columns, scored.units[:READ_UNITS], parsed.as_read, late)
                if likeness is not None:
                    scored.semantic[:READ_UNITS] = likeness
            scored = fused(columns, scored, likeness)
        if parsed.reranker is not None and len(scored.units):
            scored, report = read_again(
                columns, scored, parsed.as_read, parsed.reranker, report, earlier_scores=parsed.reranked
            )
        scored = _worth_something(scored)
        if parsed.settings.priors:
            scored = _files_first(columns, _said_once(columns, scored))
        parsed.scored[blocks] = scored, report
    return parsed.scored[blocks]


def with_matches(columns: CorpusColumns, results: Found) -> Found:
    """The results with the places of the question's words in each hit as `Hit.matches`, rarest words first.

    Each hit's text is read for it, so this is for those who show less than a hit.
    """
    ranks = [
        (is_stop_word(word.encode(), columns.languages), occurrences, word) for word, occurrences in results.census
    ]
    names = [results.forms[place] for place in sorted(range(len(ranks)), key=lambda place: (ranks[place], place))]

    def placed(hit: Hit) -> Hit:
        row = columns.snapshot.row(hit.path)
        assert row is not None
        text = columns.snapshot.read(row.number, hit.start, hit.end).decode("utf-8", "replace")
        return replace(hit, matches=tuple((hit.start + a, hit.start + b) for a, b in matches_in(text, names)))

    return replace(results, hits=tuple(placed(hit) for hit in results.hits))


def _forms(columns: CorpusColumns, query: Query) -> tuple[WordForms, ...]:
    """The forms of each word.

    Two neighbours that the corpus also writes as one word (`data base`, `database`) both have it as a form.
    """
    joined: dict[bytes, list[Form]] = {}
    for pair in joined_forms(query, columns.occurs):
        if not any(is_stop_word(word, columns.languages) for word in pair.words):
            for word in pair.words:
                joined.setdefault(word, []).extend(pair.forms)
    return tuple(
        WordForms((term.term,), (*columns.forms_of(term.term, is_prefix=term.is_prefix), *joined.get(term.term, ())))
        for term in query.terms
    )


def _favour(cues: QuestionCues, recent_days: int | None, settings: FieldSettings) -> NDArray[np.int64] | None:
    """How many thousandths each document counts: by the kind of its file, and by how recent it is."""
    columns = cues.columns
    favour = None if recent_days is None else _recent(columns, recent_days)
    if not settings.priors:
        return favour
    kinds = columns.file_kinds.counted(term.term for term in cues.query.terms)
    return kinds if favour is None else kinds * favour // THOUSAND


def _senses(
    columns: CorpusColumns, forms: Sequence[WordForms], repairs: Sequence[Correction]
) -> tuple[MatchedWord, ...]:
    """The content words of a question with their forms and corrections, to mark in the text."""
    forms_by_word: dict[bytes, list[tuple[bytes, ...]]] = {}
    for word in forms:
        forms_by_word.setdefault(b" ".join(word.words), []).extend(form.terms for form in word.forms)
    for repair in repairs:
        forms_by_word.setdefault(repair.word, []).append((repair.term,))
    telling = [word for word in forms_by_word if not is_stop_word(word, columns.languages)] or list(forms_by_word)
    return tuple(
        MatchedWord(word.decode("utf-8", "replace"), tuple(forms_by_word[word]))
        for word in telling
        if forms_by_word[word]
    )


def _term_hits(
    cues: QuestionCues,
    forms: Sequence[WordForms],
    repairs: Sequence[Correction],
    settings: FieldSettings,
) -> list[TermHits]:
    """Every word of the question with all its places, each place once."""
    columns, query = cues.columns, cues.query
    parts = {term.term for term in query.terms if term.is_part}
    repeated = {term.term: term.count for term in query.terms}
    repaired: dict[bytes, list[Form]] = {}
    for repair in repairs:
        repaired.setdefault(repair.word, []).append(Form((repair.term,), "exact", repair.weight))
    term_hits: list[TermHits] = []
    form_sets: set[frozenset[tuple[bytes, ...]]] = set()
    for word in forms:
        term = b" ".join(word.words)
        word_forms = [*word.forms, *repaired.pop(term, [])]
        key = frozenset(form.terms for form in word_forms) or frozenset(((term,),))
        if key in form_sets or not (word_forms or columns.is_titled(term)):
            continue  # another form of a word that is sought already, or a word that is nowhere
        form_sets.add(key)
        is_asking, times = cues.is_little(term), repeated.get(term, 1)
        weight = settings.asking if is_asking else 1.0
        weight *= times * (settings.repeated + 1) / (times + settings.repeated)
        names = tuple(form.terms[0] for form in word_forms if len(form.terms) == 1) or (term,)
        is_minor = term in parts or is_asking
        term_hits.append(TermHits(term, weight, columns.places_of(tuple(word_forms)), names, is_minor))
    for term, word_forms in repaired.items():  # two words that are one
        names = tuple(form.terms[0] for form in word_forms)
        term_hits.append(TermHits(term, 1.0, columns.places_of(tuple(word_forms)), names))
    phrases = [(terms, True) for terms in query.phrases] + [(terms, False) for terms in query.quoted if len(terms) > 1]
    for terms, is_literal in phrases:
        places = ((THOUSAND, literal(columns, terms)),)
        term_hits.append(TermHits(b" ".join(terms), 1.0, places, is_literal=is_literal))
    return term_hits


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
        having = columns.document_counts((1, literal(columns, phrase))) > 0
        # A quotation that stands nowhere is a title, or somebody's words: it narrows nothing.
        if having.any() or phrase in query.required:
            allowed &= having
    unwanted = [following(columns, form.terms) for word in query.excluded for form in forms_of(word, columns)]
    for places in (*unwanted, *(literal(columns, terms) for terms in query.excluded_phrases)):
        allowed &= columns.document_counts((1, places)) == 0
    return allowed


def _recent(columns: CorpusColumns, half_life_days: int) -> NDArray[np.int64]:
    """The weight of each document by its age, in thousandths: 1,500 for the newest."""
    times = columns.documents.times
    dated = times != NO_TIME
    if not dated.any():
        return np.full(len(times), THOUSAND, np.int64)
    ages = (int(times[dated].max()) - np.where(dated, times, 0)).tolist()
    half_life = half_life_days * 86_400
    gains = [
        round(_RECENT * 2.0 ** -min(age / half_life, 64.0)) if there else 0
        for age, there in zip(ages, dated.tolist(), strict=True)
    ]
    return THOUSAND + np.array(gains, np.int64)


def _worth_something(scored: ScoredUnits) -> ScoredUnits:
    """The scored units with a score above zero."""
    count = int(np.count_nonzero(scored.scores > 0))  # the best come first
    return scored if count == len(scored.scores) else reordered(scored, np.arange(count))


def _said_once(columns: CorpusColumns, scored: ScoredUnits) -> ScoredUnits:
    """The scored units, with lower scores for repetitions within a document."""
    again = repeats(columns, scored.units, scored.rows)
    if not len(again):
        return scored
    scores = scored.scores.copy()
    scores[again] //= _AGAIN
    return in_order(replace(scored, scores=scores))


def _files_first(columns: CorpusColumns, scored: ScoredUnits) -> ScoredUnits:
    """The scored units, with ever lower scores for further units of a source file, so that other files come first.

    A source file is about one thing, which its best unit names; a manual is about many.
    """
    places = np.flatnonzero(columns.sources[scored.rows])
    rows = scored.rows[places]
    by_row = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[by_row], prepend=-1))
    earlier = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
    scores = scored.scores.copy()
    scores[places[by_row]] = scores[places[by_row]] * _OF_FURTHER[np.minimum(earlier, len(_OF_FURTHER) - 1)] // THOUSAND
    return in_order(replace(scored, scores=scores))


def _documents(columns: CorpusColumns, scored: ScoredUnits, limit: int) -> tuple[tuple[str, float], ...]:
    """The best documents with their scores; ties go by path."""
    rows = np.flatnonzero(scored.documents > 0)
    best = rows[np.argsort(-scored.documents[rows], kind="stable")[:limit]]
    worth = scored.documents[best].tolist()
    return tuple(
        (columns.documents.paths[row], value / MILLION) for row, value in zip(best.tolist(), worth, strict=True)
    )


def _hits(columns: CorpusColumns, scored: ScoredUnits, words: Sequence[str], limit: int) -> tuple[Hit, ...]:
    units = scored.units[:limit]
    placed = columns.placed(units)
    worth = ((column[:limit] / MILLION).tolist() for column in (scored.scores, scored.lexical, scored.semantic))
    times = columns.documents.times[placed.rows].tolist()
    places = (column.tolist() for column in (placed.rows, placed.offsets, placed.sizes))
    return tuple(
        Hit(
            columns.documents.paths[row],
            start,
            start + size,
            score,
            lexical=lexical,
            semantic=semantic,
            terms=tuple(compress(words, present)),
            time=None if time == NO_TIME else time,
        )
        for row, start, size, score, lexical, semantic, time, present in zip(
            *places, *worth, times, scored.has_words(limit).T.tolist(), strict=True
        )
    )
