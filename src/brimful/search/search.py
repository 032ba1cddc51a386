"""From a question to the places that matter: read it, find its words, weigh every place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from brimful.corpus.documents import Hit
from brimful.index.columns import Numbers
from brimful.index.vectors import TermVectors
from brimful.search.field import MILLION, THOUSAND, Field, Sought, rarity, relevance
from brimful.search.forms import Form, FormWeights, WordForms, forms_of, joined_forms
from brimful.search.ground import Ground, union
from brimful.search.listing import listed
from brimful.search.meaning import QuestionVectors, meaning_of
from brimful.search.phrases import following, literal
from brimful.search.query import AskedTerm, Query, parse_query, rarest
from brimful.search.repair import Correction, corrections
from brimful.search.stopping import only_asks
from brimful.settings import FieldSettings
from brimful.store.protocol import NO_TIME
from brimful.text.matches import matches_in

MOST_WORDS = 64
"""Words of a question that are looked up: the rarest of a longer one."""

_LEAST_BLOCKS = 400
_BLOCK_BYTES = 4_096
_WEIGHTS = FormWeights(inflection=990)  # the word itself decides only where nothing else does
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


def search(
    ground: Ground,
    question: str | Query,
    *,
    limit: int = 100,
    settings: FieldSettings | None = None,
    vectors: TermVectors | QuestionVectors | None = None,
    repair: bool = True,
    recent_days: int | None = None,
    within: Query | None = None,
) -> Found:
    """The units that matter most for a question, each with its scores and which words it has.

    Filters narrow the corpus before anything is ranked; filters alone give the beginnings of what they leave. Words
    that the corpus lacks are repaired if it has a likely one, and every correction is named. `recent_days` is the
    half-life after which what is said loses half of what being new gives it, counted back from the newest document
    (ruling 10). `within` is another question, whose filters hold instead of its own.
    """
    settings = settings or FieldSettings()
    if isinstance(vectors, QuestionVectors) and settings.meaning:
        settings = replace(settings, meaning=settings.model_meaning)
    query = parse_query(question) if isinstance(question, str) else question
    query = rarest(query, ground.census, most=MOST_WORDS)
    allowed = _allowed(ground, within or query)
    if allowed is not None and not query.terms and query.has_filters:
        hits = listed(ground, allowed, limit)
        best = dict.fromkeys(hit.path for hit in hits)
        return Found(query, hits, documents=tuple((path, 1 / (place + 1)) for place, path in enumerate(best)))
    forms = _forms(ground, query)
    mended = corrections(query, ground, ground.spellings, languages=ground.languages, forms=forms) if repair else ()
    sought = _sought(ground, query, forms, mended, settings)
    field = relevance(
        ground,
        sought,
        settings=settings,
        blocks=max(_LEAST_BLOCKS, limit),
        allowed=allowed,
        favour=None if recent_days is None else _recent(ground, recent_days),
        meaning=meaning_of(query, mended, vectors) if vectors is not None and settings.meaning else None,
    )
    words = tuple((each.word.decode("utf-8", "replace"), each.census) for each in sought)
    hits = _hits(ground, field, [word for word, _ in words], limit)
    forms_of_words = tuple(frozenset(each.names or each.word.split()) for each in sought)
    return Found(
        query, hits, mended, _documents(ground, field, limit), words, forms_of_words, _senses(ground, forms, mended)
    )


def with_matches(ground: Ground, found: Found) -> Found:
    """The same with the places of the question's words in each hit, as `Hit.matches`: the rarest word first.

    Each hit's text is read for it, so this is for those who show less than a hit.
    """
    told = [(only_asks(word.encode(), ground.languages), census, word) for word, census in found.census]
    names = [found.forms[at] for at in sorted(range(len(told)), key=lambda at: (told[at], at))]

    def placed(hit: Hit) -> Hit:
        row = ground.snapshot.row(hit.path)
        assert row is not None
        text = ground.snapshot.read(row.number, hit.start, hit.end).decode("utf-8", "replace")
        return replace(hit, matches=tuple((hit.start + a, hit.start + b) for a, b in matches_in(text, names)))

    return replace(found, hits=tuple(placed(hit) for hit in found.hits))


def _forms(ground: Ground, query: Query) -> tuple[WordForms, ...]:
    """What each word stands for, as `all_forms` finds it; the ground remembers the words of earlier questions."""
    asked = (AskedTerm(each.term, 0, len(each.term), is_prefix=each.is_prefix) for each in query.terms)
    singles = (WordForms((each.term,), ground.forms_of(each, _WEIGHTS)) for each in asked)
    return (*singles, *joined_forms(query, ground, weights=_WEIGHTS))


def _senses(ground: Ground, forms: Sequence[WordForms], mended: Sequence[Correction]) -> tuple[Sense, ...]:
    """What a reader would mark: all that a word stands for, and what was looked for in its place."""
    found: dict[bytes, list[tuple[bytes, ...]]] = {}
    for word in forms:
        found.setdefault(b" ".join(word.words), []).extend(form.terms for form in word.forms)
    for each in mended:
        found.setdefault(each.word, []).append((each.term,))
    telling = [word for word in found if not only_asks(word, ground.languages)] or list(found)
    return tuple(Sense(word.decode("utf-8", "replace"), tuple(found[word])) for word in telling if found[word])


def _sought(
    ground: Ground, query: Query, forms: Sequence[WordForms], mended: Sequence[Correction], settings: FieldSettings
) -> list[Sought]:
    """Every word of the question with all its places, each place once."""
    parts = {asked.term for asked in query.terms if asked.is_part}
    repaired: dict[bytes, list[Form]] = {}
    for each in mended:
        repaired.setdefault(each.word, []).append(Form((each.term,), "exact", each.weight))
    found: list[Sought] = []
    seen: set[frozenset[tuple[bytes, ...]]] = set()
    for word in forms:
        asked = b" ".join(word.words)
        whole = [*word.forms, *repaired.pop(asked, [])]
        key = frozenset(form.terms for form in whole) or frozenset(((asked,),))
        if key in seen or not (whole or len(ground.titles.of(asked))):
            continue  # another form of a word that is sought already, or a word that is nowhere
        seen.add(key)
        weight = settings.asking if only_asks(asked, ground.languages) else 1.0
        if asked in parts:
            weight *= settings.part
        names = tuple(form.terms[0] for form in whole if len(form.terms) == 1) or (asked,)
        found.append(Sought(asked, weight, _placed(ground, whole), names))
    for asked, whole in repaired.items():  # two words that are one
        names = tuple(form.terms[0] for form in whole)
        found.append(Sought(asked, 1.0, _placed(ground, whole), names))
    return [
        *_bounded(ground, found, settings),
        *(
            Sought(b" ".join(terms), settings.phrase, ((THOUSAND, literal(ground, terms)),), is_literal=True)
            for terms in query.phrases
        ),
    ]


def _bounded(ground: Ground, sought: Sequence[Sought], settings: FieldSettings) -> list[Sought]:
    """A word that only asks counts no more than its share of the rarest that says something, however rare it is."""
    worth = [rarity(each.census, len(ground)) for each in sought]
    asks = [only_asks(each.word, ground.languages) for each in sought]
    most = settings.asking * max((one for one, only in zip(worth, asks, strict=True) if not only), default=inf)
    return [
        replace(each, weight=min(each.weight, most / one)) if only else each
        for each, one, only in zip(sought, worth, asks, strict=True)
    ]


def _placed(ground: Ground, forms: Iterable[Form]) -> tuple[tuple[int, tuple[Numbers, ...]], ...]:
    """The places of some forms, the heaviest first, so that each counts as its heaviest form does.

    A group holds those before it too, and counts what its weight has over the next one's: they add up.
    """
    by_weight: dict[int, list[tuple[Numbers, ...]]] = {}
    for form in forms:
        places = ground.places(form.terms[0]) if len(form.terms) == 1 else following(ground, form.terms)
        by_weight.setdefault(form.weight, []).append(places)
    placed: list[tuple[int, tuple[Numbers, ...]]] = []
    held: tuple[Numbers, ...] = tuple(np.zeros(0, np.int64) for _ in ground.plots)
    weights = sorted(by_weight, reverse=True)
    for weight, lighter in pairwise([*weights, 0]):
        groups = [held, *by_weight[weight]]
        held = tuple(
            union([places[number] for places in groups if len(places[number])]) for number in range(len(ground.plots))
        )
        placed.append((weight - lighter, held))
    return tuple(placed)


def _allowed(ground: Ground, query: Query) -> NDArray[np.bool_] | None:
    """Which documents may be shown, by row: what the filters, phrases and exclusions leave; None for all."""
    if not (query.has_filters or query.phrases or query.excluded or query.excluded_phrases):
        return None
    documents = ground.documents
    allowed = np.ones(len(documents), bool)
    if query.has_filters:
        times = documents.times.tolist()
        for row, (path, kind) in enumerate(zip(documents.paths, documents.kinds, strict=True)):
            allowed[row] = query.allows(path, kind, None if times[row] == NO_TIME else times[row])
    for phrase in query.phrases:
        has = ground.document_counts(literal(ground, phrase)) > 0
        if has.any():  # one that stands nowhere is a title, or somebody's words: it narrows nothing
            allowed &= has
    unwanted = [following(ground, form.terms) for asked in query.excluded for form in forms_of(asked, ground)]
    for places in (*unwanted, *(literal(ground, terms) for terms in query.excluded_phrases)):
        allowed &= ground.document_counts(places) == 0
    return allowed


def _recent(ground: Ground, half_life_days: int) -> NDArray[np.int64]:
    """What being recent is worth to each document, in thousandths: half as much again for the newest."""
    times = ground.documents.times
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


def _documents(ground: Ground, field: Field, limit: int) -> tuple[tuple[str, float], ...]:
    """The best documents, those of the same worth by path."""
    rows = np.flatnonzero(field.documents > 0)
    best = rows[np.argsort(-field.documents[rows], kind="stable")[:limit]]
    worth = field.documents[best].tolist()
    return tuple((ground.documents.paths[row], each / MILLION) for row, each in zip(best.tolist(), worth, strict=True))


def _hits(ground: Ground, field: Field, words: Sequence[str], limit: int) -> tuple[Hit, ...]:
    units = field.units[:limit]
    rows, starts, sizes = ground.rows[units].tolist(), ground.offsets[units].tolist(), ground.sizes[units].tolist()
    paths = ground.documents.paths
    times = [None if time == NO_TIME else time for time in ground.documents.times[ground.rows[units]].tolist()]
    terms = _Terms(words)
    return tuple(
        Hit.known(
            paths[row],
            start,
            start + size,
            score / MILLION,
            lexical=lexical / MILLION,
            semantic=semantic / MILLION,
            terms=terms[has],
            time=time,
        )
        for row, start, size, score, lexical, semantic, has, time in zip(
            rows,
            starts,
            sizes,
            field.scores[:limit].tolist(),
            field.lexical[:limit].tolist(),
            field.semantic[:limit].tolist(),
            map(tuple, field.has[:, :limit].T.tolist()),
            times,
            strict=True,
        )
    )


class _Terms(dict[tuple[bool, ...], tuple[str, ...]]):
    """The words of a question that a unit has, by which of them it has: units with the same ones share them."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, has: tuple[bool, ...]) -> tuple[str, ...]:
        found = self[has] = tuple(word for word, there in zip(self._words, has, strict=True) if there)
        return found
