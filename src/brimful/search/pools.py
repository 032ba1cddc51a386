"""Who gets which share of the budget? Seventy for the question's words, thirty for related ones (085b §5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brimful.corpus.documents import Hit
from brimful.index.vectors import TermVectors
from brimful.search.ground import Ground
from brimful.search.query import Query
from brimful.search.related import Related, related_terms
from brimful.search.search import Found, search
from brimful.search.stopping import only_asks
from brimful.search.synonyms import Synonyms

DIRECT_PERCENT = 70
RELATED_SHARE = 0.25
"""What a hit of a related term counts against one of the question's own: it fills what they leave."""

_RELATED_HITS = 64
_BYTES_PER_WORD = 6  # about


@dataclass(frozen=True, slots=True)
class Pool:
    """Hits that share some tokens, by their own census."""

    hits: tuple[Hit, ...]
    tokens: int


def pools_of(ground: Ground, found: Found, *, tokens: int, related: Sequence[Related] = ()) -> list[Pool]:
    """A pool for each word of the question that has hits, evenly, and one for each related term.

    Without related terms all of the budget is direct. What a pool leaves unspent is filled when windows are packed.
    """
    had = {word for hit in found.hits for word in hit.terms}
    present = [word for word, census in found.census if census and word in had]
    words = [word for word in present if not only_asks(word.encode(), ground.languages)] or present
    if not words:  # filters alone, what is only alike, or nothing
        return [Pool(found.hits, tokens)] if found.hits else []
    near = [Pool(_hits_of(ground, each, within=found.query), 0) for each in related]
    near = [pool for pool in near if pool.hits]
    direct = tokens * DIRECT_PERCENT // 100 if near else tokens
    pools = [
        Pool(tuple(hit for hit in found.hits if word in hit.terms), max(direct // len(words), 1)) for word in words
    ]
    return [*pools, *(Pool(pool.hits, max((tokens - direct) // len(near), 1)) for pool in near)]


def related_to(
    ground: Ground, found: Found, *, vectors: TermVectors | None = None, synonyms: Synonyms | None = None
) -> tuple[Related, ...]:
    """Five related terms for each word of the question, each once, and none that the question has."""
    asked = {asked.term for asked in found.query.terms}
    gathered: dict[tuple[bytes, ...], Related] = {}
    for term in found.query.terms:
        if term.is_part or only_asks(term.term, ground.languages):
            continue
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


def _hits_of(ground: Ground, related: Related, *, within: Query) -> tuple[Hit, ...]:
    """The best places of a related term, counted for less, where the question's filters allow them."""
    text = b" ".join(related.terms).decode("utf-8", "replace")
    found = search(ground, text, limit=_RELATED_HITS, repair=False, within=within)
    return tuple(
        Hit(
            hit.path,
            hit.start,
            hit.end,
            hit.score * RELATED_SHARE,
            lexical=hit.lexical,
            semantic=hit.semantic,
            terms=hit.terms,
            time=hit.time,
        )
        for hit in found.hits
        if hit.terms  # a neighbour of such a place is none itself
    )
