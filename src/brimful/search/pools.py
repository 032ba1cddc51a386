"""Who gets which share of the budget? Seventy for the question's words, thirty for related ones (085b §5.5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from brimful.corpus.documents import Hit
from brimful.index.vectors import TermVectors
from brimful.search.ground import Ground
from brimful.search.related import Related, related_terms
from brimful.search.search import Found, search
from brimful.search.stopping import only_asks
from brimful.search.synonyms import Synonyms

DIRECT_PERCENT = 70
RELATED_SHARE = 0.25
"""What a hit of a related term counts against one of the question's own: it fills what they leave."""

_RELATED_HITS = 64
_LEAST_LETTERS = 2
_BYTES_PER_WORD = 6  # about


@dataclass(frozen=True, slots=True)
class Pool:
    """Hits that share some tokens, by their own census."""

    hits: tuple[Hit, ...]
    tokens: int
    is_related: bool = False


def pools_of(
    ground: Ground, found: Found, *, tokens: int, related: Sequence[Related] = (), hits: Sequence[Hit] | None = None
) -> list[Pool]:
    """A pool for each word of the question that has hits, evenly, and one for each related term; each hit in one.

    Without related terms all of the budget is direct. Words that are written as one with a neighbour, phrases and parts
    of names share the pool of their word. `hits` are those of the found ones that are asked for, all without it.
    """
    hits = found.hits if hits is None else hits
    direct = _by_word(ground, found, hits)
    if not direct:  # filters alone, what is only alike, or nothing
        return [Pool(tuple(hits), tokens)] if hits else []
    taken = {(hit.path, hit.start) for own in direct for hit in own}
    near = _near(ground, found, related, taken)
    share = tokens * DIRECT_PERCENT // 100 if near else tokens
    return [
        *(Pool(own, max(share // len(direct), 1)) for own in direct),
        *(Pool(own, max((tokens - share) // len(near), 1), is_related=True) for own in near),
    ]


def _by_word(ground: Ground, found: Found, hits: Sequence[Hit]) -> list[tuple[Hit, ...]]:
    """The hits of each word, each hit once: where it has several words, with the one that has the fewest bytes yet."""
    counted = [word for word, census in found.census if census]
    words = [word for word in counted if not only_asks(word.encode(), ground.languages)] or counted
    own = {asked.term.decode("utf-8", "replace") for asked in found.query.terms if not asked.is_part}
    main = [word for word in words if word in own] or words
    # What is written together shares the pool of a word that it is made of.
    homes = {word: [each for each in word.split() if each in main] or [word] for word in words}
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


def related_to(
    ground: Ground, found: Found, *, vectors: TermVectors | None = None, synonyms: Synonyms | None = None
) -> tuple[Related, ...]:
    """Five related terms for each word of the question, each once, and none that the question has."""
    asked = {asked.term for asked in found.query.terms}
    gathered: dict[tuple[bytes, ...], Related] = {}
    for term in found.query.terms:
        if term.is_part or only_asks(term.term, ground.languages) or len(term.term) < _LEAST_LETTERS:
            continue  # a single letter keeps everybody's company
        for each in related_terms(
            term.term,
            ground,
            ground,
            total=max(ground.length // _BYTES_PER_WORD, 1),
            languages=ground.languages,
            vectors=vectors,
            synonyms=synonyms,
        ):
            if not asked.intersection(each.terms):
                gathered.setdefault(each.terms, each)
    return tuple(gathered.values())


def _near(
    ground: Ground, found: Found, related: Sequence[Related], taken: Collection[tuple[str, int]]
) -> list[tuple[Hit, ...]]:
    """The best places of each related term that no word of the question has, counted for less.

    They are searched together with the question's own words, so that those near to what was asked come first.
    """
    if not related:
        return []
    asked = [term.term for term in found.query.terms if not term.is_part]
    named = [b" ".join(each.terms).decode("utf-8", "replace") for each in related]
    text = " ".join([*(term.decode("utf-8", "replace") for term in asked), *named])
    limit = 2 * len(found.hits) + _RELATED_HITS * len(related)  # the direct ones come first, and are left out
    beside = search(ground, text, limit=limit, repair=False, within=found.query)
    shared: dict[str, list[Hit]] = {}
    for hit in beside.hits:
        having = [name for name in named if all(word in hit.terms for word in name.split())]
        if having and (hit.path, hit.start) not in taken:
            least = min(having, key=lambda name: (len(shared.get(name, ())), named.index(name)))
            shared.setdefault(least, []).append(replace(hit, score=hit.score * RELATED_SHARE))
    return [tuple(shared[name]) for name in dict.fromkeys(named) if name in shared]
