"""Find terms related to a question, and divide the budget between its words and these."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np

from brimful.documents.documents import Hit
from brimful.errors import InputError
from brimful.search.columns import CorpusColumns
from brimful.search.search import Found, search
from brimful.search.terms import Words, is_common, is_stop_word
from brimful.text.stems import NO_LANGUAGE, stems_by_language
from brimful.text.terms import query_terms, terms_of

# ---- synonyms: Which words does the user call synonyms? A text file says so, one word a line.

Synonyms = Mapping[bytes, tuple[tuple[bytes, ...], ...]]
"""By term; each synonym is the sequence of its terms."""

_SHOWN = 60


def synonym_lines(path: Path | str | None) -> tuple[str, ...]:
    """The lines of a synonyms file that say something, checked, as `AskSettings.synonyms` has them; none of no file."""
    if path is None:
        return ()
    synonyms = load_synonyms(path)
    return tuple(
        f"{term.decode()}: {', '.join(b' '.join(phrase).decode() for phrase in several)}"
        for term, several in synonyms.items()
    )


def load_synonyms(path: Path | str) -> Synonyms:
    """Read lines of the form `word: synonym, another synonym`; `#` begins a comment.

    Synonyms apply from left to right only. A word on several lines has the synonyms of all of them.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"the synonyms file {str(path)!r} can't be read ({error.strerror}); name one that can"
        ) from error
    return parse_synonyms(content, name=str(path))


def parse_synonyms(content: bytes, *, name: str = "synonyms") -> Synonyms:
    r"""Read the lines of a synonyms file from bytes.

    >>> parse_synonyms(b"# drinks\ntea: infusion, hot drink\n")
    {b'tea': ((b'infusion',), (b'hot', b'drink'))}
    >>> parse_synonyms(b"tea\n")
    Traceback (most recent call last):
    brimful.errors.InputError: synonyms, line 1: no colon in 'tea'; write `word: synonym, synonym`
    """
    by_term: dict[bytes, dict[tuple[bytes, ...], None]] = {}
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        where = f"{name}, line {number}"
        try:
            line = raw.decode().partition("#")[0].strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: not UTF-8; save the file in that encoding") from error
        if not line:
            continue
        word, colon, listed = line.partition(":")
        if not colon:
            raise InputError(f"{where}: no colon in {line[:_SHOWN]!r}; write `word: synonym, synonym`")
        term = _terms(word)
        if len(term) != 1:
            raise InputError(f"{where}: {word.strip()[:_SHOWN]!r} is not one word; write one word before the colon")
        synonyms = [synonym for part in listed.split(",") if (synonym := _terms(part)) and synonym != term]
        if not synonyms:
            raise InputError(f"{where}: no synonym for {word.strip()[:_SHOWN]!r}; write some behind the colon")
        by_term.setdefault(term[0], {}).update(dict.fromkeys(synonyms))
    return {term: tuple(by_term[term]) for term in sorted(by_term)}


def _terms(text: str) -> tuple[bytes, ...]:
    return tuple(term.term for term in query_terms(text) if not term.is_part)


# ---- related: Which terms belong to this one, though nobody asked for them?
#
# Five for each term of a question fill the related pool (085b §5.5): the user's synonyms first, then terms that keep
# its company in the corpus far oftener than chance.

_MOST_RELATED: Final = 5
MOST_UNITS: Final = 200
"""How many units with the term are read, evenly from the first to the last."""
_MOST_CANDIDATES: Final = 512
"""How many terms of these units are looked up, those in most units."""
_LEAST_RATIO: Final = 10_000
"""Less could be chance: one term in a thousand reaches 10.8 without being related."""
_LEAST_UNITS = 2
_LEAST_LETTERS = 3
_OFTENER = 2  # times as often as elsewhere

How = Literal["synonym", "company"]


class Units(Protocol):
    """The units of a corpus, by their terms."""

    def units_with(self, term: bytes) -> Sequence[int]:
        """The numbers of all units that hold a term, ascending."""

    def text(self, unit: int) -> bytes:
        """The text of a unit."""


@dataclass(frozen=True, slots=True)
class Related:
    """A term, or several in sequence, that belongs to one of the question's."""

    terms: tuple[bytes, ...]
    how: How
    score: int  # comparable among the related of one term


@dataclass(frozen=True, slots=True)
class _Candidate:
    term: bytes
    units: int
    count: int  # occurrences in the units that were read


def related_terms(
    term: bytes,
    units: Units,
    words: Words,
    *,
    total: int,
    limit: int = _MOST_RELATED,
    languages: Sequence[str] = (),
    synonyms: Synonyms | None = None,
) -> tuple[Related, ...]:
    """The terms that belong to this one, the closest first; `total` is the number of all occurrences of all terms.

    Forms of the term itself and common words are not among them.
    """
    own_synonyms = (synonyms or {}).get(term, ())[:limit]
    related = [Related(terms, "synonym", 0) for terms in own_synonyms]
    if len(related) < limit:
        scores = _company(term, units, words, total=total, languages=languages)
        ranked = sorted((-score, name) for name, score in scores.items() if (name,) not in own_synonyms)
        related += [Related((name,), "company", -score) for score, name in ranked[: limit - len(related)]]
    return tuple(related)


def sample(numbers: Sequence[int], limit: int = MOST_UNITS) -> list[int]:
    """At most `limit` of the numbers, evenly spread, without chance.

    >>> sample(range(10, 20), 4)
    [10, 12, 15, 17]
    """
    if len(numbers) <= limit:
        return list(numbers)
    return [numbers[place * len(numbers) // limit] for place in range(limit)]


def _company(term: bytes, units: Units, words: Words, *, total: int, languages: Sequence[str]) -> dict[bytes, int]:
    """Terms at least twice as frequent in this one's units as elsewhere, with their likelihood ratio."""
    texts = [units.text(unit) for unit in sample(units.units_with(term))]
    candidates, read = _candidates(texts)
    names = [candidate.term for candidate in candidates]
    is_form = np.zeros(len(names), np.bool_)
    for stem_of_term, *stems in stems_by_language([term, *names], (NO_LANGUAGE, *languages)).values():
        is_form |= np.fromiter((stem == stem_of_term for stem in stems), np.bool_, len(names))
    scores: dict[bytes, int] = {}
    for candidate, same in zip(candidates, is_form.tolist(), strict=True):
        occurrences = 0 if same else max(words.census(candidate.term), candidate.count)
        if not occurrences or is_common(occurrences, total):
            continue
        score = likelihood_ratio(candidate.count, read, occurrences - candidate.count, max(total - read, 1))
        if score >= _LEAST_RATIO:
            scores[candidate.term] = score
    return scores


def _candidates(texts: Sequence[bytes]) -> tuple[list[_Candidate], int]:
    """Words of letters that several of the texts hold, those in most of them; and how many occurrences were read."""
    terms = terms_of(b"\n".join(texts))
    sizes = np.fromiter((len(text) + 1 for text in texts), np.int64, len(texts))
    unit = np.searchsorted(np.cumsum(sizes), terms.starts, "right")
    counts = np.diff(terms.offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    fresh = np.ones(len(rows), np.bool_)  # positions ascend within a term, so units do
    fresh[1:] = (rows[1:] != rows[:-1]) | (unit[1:] != unit[:-1])
    spread = np.bincount(rows[fresh], minlength=len(counts))
    candidates = [
        _Candidate(name, held, count)
        for name, held, count in zip(terms.names, spread.tolist(), counts.tolist(), strict=True)
        if held >= _LEAST_UNITS and (text := name.decode("utf-8", "replace")).isalpha() and len(text) >= _LEAST_LETTERS
    ]
    candidates.sort(key=lambda candidate: (-candidate.units, candidate.term))
    return candidates[:_MOST_CANDIDATES], int(counts.sum())


def likelihood_ratio(here: int, read: int, elsewhere: int, unread: int) -> int:
    """How surprising it is that a term occurs `here` times in `read` and `elsewhere` times in `unread`, in thousandths.

    The log-likelihood ratio of two samples; 0 unless the term is at least twice as frequent here.

    >>> likelihood_ratio(10, 1_000, 10, 100_000), likelihood_ratio(1, 1_000, 100, 100_000)
    (64776, 0)
    """
    if here * unread < _OFTENER * elsewhere * read:
        return 0
    both, all_read = here + elsewhere, read + unread
    ratio = sum(
        count * math.log(count * all_read / (size * both))
        for count, size in ((here, read), (elsewhere, unread))
        if count
    )
    return round(2_000 * ratio)


# ---- pools: Who gets which share of the budget? Seventy for the question's words, thirty for related ones (085b §5.5).

DIRECT_PERCENT = 70
RELATED_SHARE = 0.25
"""What a hit of a related term counts against one of the question's own: it fills what they leave."""

_RELATED_HITS = 64
_LEAST_ASKED_LETTERS = 2
_BYTES_PER_WORD = 6  # about


@dataclass(frozen=True, slots=True)
class Pool:
    """Hits that share some tokens, sized by their own number."""

    hits: tuple[Hit, ...]
    tokens: int
    is_related: bool = False


def pools_of(
    columns: CorpusColumns,
    results: Found,
    *,
    tokens: int,
    related: Sequence[Related] = (),
    hits: Sequence[Hit] | None = None,
) -> list[Pool]:
    """A pool for each word of the question that has hits, evenly, and one for each related term; each hit in one.

    Without related terms all of the budget is direct. Words that are written as one with a neighbour, phrases and parts
    of names share the pool of their word. `hits` are the results to divide; all by default.
    """
    hits = results.hits if hits is None else hits
    direct = _by_word(columns, results, hits)
    if not direct:  # filters alone, what is only alike, or nothing
        return [Pool(tuple(hits), tokens)] if hits else []
    direct_places = {(hit.path, hit.start) for group in direct for hit in group}
    near = _near(columns, results, related, direct_places)
    share = tokens * DIRECT_PERCENT // 100 if near else tokens
    return [
        *(Pool(group, max(share // len(direct), 1)) for group in direct),
        *(Pool(group, max((tokens - share) // len(near), 1), is_related=True) for group in near),
    ]


def one_pool(columns: CorpusColumns, results: Found, *, tokens: int, hits: Sequence[Hit]) -> list[Pool]:
    """All hits that have a word of the question, in their order; all of them where none has."""
    having_words = {(hit.path, hit.start) for group in _by_word(columns, results, hits) for hit in group}
    counted = tuple(hit for hit in hits if (hit.path, hit.start) in having_words) or tuple(hits)
    return [Pool(counted, tokens)] if counted else []


def _by_word(columns: CorpusColumns, results: Found, hits: Sequence[Hit]) -> list[tuple[Hit, ...]]:
    """The hits of each word, each hit once: where it has several words, with the one that has the fewest bytes yet."""
    counted = [word for word, occurrences in results.census if occurrences]
    words = [word for word in counted if not is_stop_word(word.encode(), columns.languages)] or counted
    whole_words = {term.term.decode("utf-8", "replace") for term in results.query.terms if not term.is_part}
    main = [word for word in words if word in whole_words] or words
    # What is written together shares the pool of a word that it is made of.
    homes = {word: [part for part in word.split() if part in main] or [word] for word in words}
    shared: dict[str, list[Hit]] = {}
    sizes: dict[str, int] = {}
    for hit in hits:
        having = [home for word in hit.terms if word in homes for home in homes[word]]
        if not having:
            continue
        least = min(having, key=lambda word: (sizes.get(word, 0), words.index(word)))
        shared.setdefault(least, []).append(hit)
        sizes[least] = sizes.get(least, 0) + hit.end - hit.start
    return [tuple(shared[word]) for word in words if word in shared]


def related_to(columns: CorpusColumns, results: Found, *, synonyms: Synonyms | None = None) -> tuple[Related, ...]:
    """Five related terms for each word of the question, each once, and none that the question has."""
    asked_terms = {term.term for term in results.query.terms}
    gathered: dict[tuple[bytes, ...], Related] = {}
    for term in results.query.terms:
        if term.is_part or is_stop_word(term.term, columns.languages) or len(term.term) < _LEAST_ASKED_LETTERS:
            continue  # a single letter keeps everybody's company
        for related in related_terms(
            term.term,
            columns,
            columns,
            total=max(columns.length // _BYTES_PER_WORD, 1),
            languages=columns.languages,
            synonyms=synonyms,
        ):
            if not asked_terms.intersection(related.terms):
                gathered.setdefault(related.terms, related)
    return tuple(gathered.values())


def _near(
    columns: CorpusColumns, results: Found, related: Sequence[Related], direct_places: Collection[tuple[str, int]]
) -> list[tuple[Hit, ...]]:
    """The best places of each related term that no word of the question has, counted for less.

    The search includes the question's words, so that places near an answer come first.
    """
    if not related:
        return []
    question_terms = [term.term for term in results.query.terms if not term.is_part]
    named = [b" ".join(relation.terms).decode("utf-8", "replace") for relation in related]
    text = " ".join([*(term.decode("utf-8", "replace") for term in question_terms), *named])
    limit = 2 * len(results.hits) + _RELATED_HITS * len(related)  # the direct ones come first, and are left out
    nearby = search(columns, text, limit=limit, repair=False, within=results.query)
    shared: dict[str, list[Hit]] = {}
    for hit in nearby.hits:
        having = [name for name in named if all(word in hit.terms for word in name.split())]
        if having and (hit.path, hit.start) not in direct_places:
            least = min(having, key=lambda name: (len(shared.get(name, ())), named.index(name)))
            shared.setdefault(least, []).append(replace(hit, score=hit.score * RELATED_SHARE))
    return [tuple(shared[name]) for name in dict.fromkeys(named) if name in shared]
