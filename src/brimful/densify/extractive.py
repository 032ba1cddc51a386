"""Which sentences say most of a text, in at most so many tokens? Without a model."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate, pairwise
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from brimful.densify.digest import Digest
from brimful.densify.model import Completion
from brimful.documents.documents import Document
from brimful.errors import BudgetError, SettingError
from brimful.limits import EXTRACT_BYTES
from brimful.text.spans import Span
from brimful.text.terms import terms_of
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.transport import Stop

# ---- extractive: Which sentences say most of a text, in how many tokens?
#
# No model: the text's own units, chosen one by one. A unit is worth the weights of its terms; a term that some units
# share weighs most, one that half of them share hardly anything, and each time a chosen unit has said it, half as much.
# So the choice is central and does not repeat itself. Weights and gains are whole numbers, and the order is the reading
# order. Where no unit fits, the beginning of the first is cut at a word.

_TEXT = re.compile(r"<text>\n(.*)\n</text>", re.DOTALL)
_FIXED_TOKENS = 8  # added to a unit's price, so that the shortest do not win by being short
_LEAST_TERMS = 3  # a unit with fewer terms is a heading or a stray word
_MOST_SHARED = 16
_SCALE = 1_024


def extract(document: Document, target_tokens: int, *, counter: TokenCounter) -> tuple[Span, ...]:
    """The units to keep, in reading order, that together have at most `target_tokens` when joined as `join` does.

    >>> text = "Tea is at four. The weather is fine. Tea and cake are at four in the garden. Bring a chair."
    >>> counter = tokens_for("approximate")
    >>> [text[span.start : span.end] for span in extract(Document("a.txt", text), 12, counter=counter)]
    ['Tea and cake are at four in the garden.']
    """
    if target_tokens < 1:
        raise SettingError(f"a digest of {target_tokens} tokens says nothing; give at least 1")
    units = _units(document)
    owners, terms, weights = _terms(document, units)
    prices = _prices(document, units, counter)
    chosen: list[int] = []
    left = target_tokens
    covered = np.zeros(len(weights), np.int64)
    open_units = prices <= left
    rich = np.bincount(owners, minlength=len(units)) >= _LEAST_TERMS
    if (open_units & rich).any():
        open_units &= rich
    while open_units.any():
        left_of = weights >> np.minimum(covered, 62)
        worth = np.zeros(len(units), np.int64)
        np.add.at(worth, owners, left_of[terms])
        rates = np.where(open_units, worth * _SCALE // (prices + _FIXED_TOKENS), -1)
        best = int(rates.argmax())  # the first of equals, so the earliest
        if rates[best] <= 0:
            break
        chosen.append(best)
        left -= int(prices[best])
        covered[terms[owners == best]] += 1
        open_units[best] = False
        open_units &= prices <= left
    return _fitting(document, units, chosen, target_tokens, counter) or _beginning(
        document, units, target_tokens, counter
    )


def join(document: Document, spans: tuple[Span, ...]) -> str:
    r"""The kept units as one text, a new line where a section ends between them.

    >>> join(Document("a.txt", "One. Two.\n\nThree."), (Span(0, 4), Span(5, 9), Span(11, 17)))
    'One. Two.\nThree.'
    """
    pieces: list[str] = []
    for at, span in enumerate(spans):
        if at:
            pieces.append(" " if document.outline.section_before(span.start) <= spans[at - 1].start else "\n")
        pieces.append(document.text(span.start, span.end))
    return "".join(pieces)


def _units(document: Document) -> list[Span]:
    """The units without the blank space around them, empty ones left out."""
    cuts = document.outline.units.tolist()
    found = []
    for start, end in pairwise(cuts):
        raw = document.content[start:end]
        if stripped := raw.strip():
            begin = start + raw.index(stripped[:1])
            found.append(Span(begin, begin + len(stripped)))
    return found


def _terms(document: Document, units: list[Span]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Each term of each unit once: the unit's number, the term's number; and the terms' weights.

    Terms are told apart by 64 bits of a hash: as names, those of a text in which every word is another one would take
    fifty times its room.
    """
    pairs = [_pairs(document, units, stretch) for stretch in _stretches(units)]
    owners = np.concatenate([of_units for of_units, _ in pairs] or [np.zeros(0, np.int32)])
    hashes = np.concatenate([of_terms for _, of_terms in pairs] or [np.zeros(0, np.uint64)])
    del pairs
    known, spread = np.unique(hashes, return_counts=True)
    terms = known.searchsorted(hashes).astype(np.int32)
    weights = np.zeros(int(spread.max(initial=0)) + 1, np.int64)  # by how many units share a term
    for shared in np.unique(spread).tolist():
        weights[shared] = _weight(shared, len(units))
    return owners, terms, weights[spread]


def _stretches(units: list[Span]) -> Iterator[range]:
    """Neighbouring units of about a megabyte: more at once is held several times over while its terms are found.

    >>> list(_stretches([Span(0, 5), Span(5, 9), Span(9, 2 << 20), Span(2 << 20, 3 << 20)]))
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    first = 0
    for at in range(1, len(units) + 1):
        if at == len(units) or units[at].end - units[first].start > EXTRACT_BYTES:
            yield range(first, at)
            first = at


def _pairs(document: Document, units: list[Span], stretch: range) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """The units of a stretch and the hashes of their terms."""
    begin, end = units[stretch.start].start, units[stretch.stop - 1].end
    found = terms_of(document.content[begin:end])
    known = np.frombuffer(b"".join(blake2b(name, digest_size=8).digest() for name in found.names), np.uint64)
    starts = np.array([units[at].start - begin for at in stretch], np.int64)
    owners = stretch.start + starts.searchsorted(found.starts, side="right") - 1
    # One number a pair: sorting columns would copy them many times.
    local = np.repeat(np.arange(len(known)), np.diff(found.offsets))
    of_units, of_terms = np.divmod(np.unique(owners * max(len(known), 1) + local), max(len(known), 1))
    return of_units.astype(np.int32), known[of_terms]


def _weight(shared: int, units: int) -> int:
    """A term's worth by how many units share it: little for one, most for some, hardly anything for half of them.

    >>> [_weight(shared, 100) for shared in (1, 2, 8, 20, 60)]
    [2944, 9994, 14960, 10923, 1]
    """
    if not shared:
        return 0
    rarity = ((4 * (units + 1)) ** 8 // shared**8).bit_length()  # eight times the binary logarithm
    return isqrt(((min(shared, _MOST_SHARED) - 1) << 16) + 4_096) * max(rarity - 24, 0) or 1


def _prices(document: Document, units: list[Span], counter: TokenCounter) -> NDArray[np.int64]:
    """The tokens of each unit, and one for what joins it to the next."""
    found = np.zeros(len(units), np.int64)
    for stretch in _stretches(units):
        begin, end = units[stretch.start].start, units[stretch.stop - 1].end
        prepared = counter.prepare(document.text(begin, end))
        found[stretch.start : stretch.stop] = [
            prepared.count(unit.start - begin, unit.end - begin) + 1 for unit in units[stretch.start : stretch.stop]
        ]
    return found


def _fitting(
    document: Document, units: list[Span], chosen: list[int], target: int, counter: TokenCounter
) -> tuple[Span, ...]:
    """The chosen units in order, the last choices dropped while the whole is over the target."""
    while chosen:
        spans = tuple(units[at] for at in sorted(chosen))
        if counter.count(join(document, spans)) <= target:
            return spans
        chosen = chosen[:-1]
    return ()


def _beginning(document: Document, units: list[Span], target: int, counter: TokenCounter) -> tuple[Span, ...]:
    """As much of the first unit as fits, to the end of a word where there is one."""
    if not units:
        return ()
    start = units[0].start
    end = min(counter.prepare(document.content.decode()).fit(start, target), units[0].end)
    if end < units[0].end:
        space = document.content.rfind(b" ", start, end + 1)
        end = space if space > start else end
    return (Span(start, end),) if end > start else ()


class ExtractiveModel:
    """`extractive:`, the embedded default: needs nothing, calls no one, invents nothing."""

    name = "extractive:"
    endpoint = "extractive:"
    small = False

    def __init__(self) -> None:
        self.counter: TokenCounter = tokens_for("o200k_base")

    def __repr__(self) -> str:
        return "ExtractiveModel()"

    def limit(self) -> int | None:
        """None: any text is accepted."""
        return None

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return self.counter.count(text)

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """The best sentences of what stands between the prompt's marks, or of the whole prompt."""
        stop.check()
        found = _TEXT.search(prompt)
        document = Document("text", found[1] if found else prompt)
        return Completion(join(document, extract(document, max_output_tokens, counter=self.counter)))


# ---- fit: How is a text condensed to at most so many tokens, exactly?
#
# A model is asked for a size and gives about that. What is over is left out by sentences, the least central first, so
# that the count holds to the token, and every sentence that stays keeps its places.


def fit_digest(digest: Digest, tokens: int, *, counter: TokenCounter) -> Digest:
    """The digest if it fits, else its best sentences that do, in their order; `tokens` is counted by `counter`.

    >>> from brimful.densify.densify import densify
    >>> from brimful.text.vocabularies import tokens_for
    >>> whole = densify("Tea is at four. Cake is at five. Tea and cake are in the garden at four and five.")
    >>> short = fit_digest(whole, 8, counter=tokens_for("approximate"))
    >>> short.tokens <= 8, short.text in whole.text
    (True, True)
    """
    if tokens < 1:
        raise BudgetError(f"a digest can't be cut to {tokens} tokens; give at least 1")
    counted = counter.count(digest.text)
    if counted <= tokens:
        return replace(digest, tokens=counted, counter=counter.name, exact=counter.exact)
    document = Document("digest", "\n".join(cited.text for cited in digest.sentences), kind="prose", language="text")
    spans = extract(document, tokens, counter=counter)
    text = join(document, spans)
    starts = list(accumulate((len(cited.text.encode()) + 1 for cited in digest.sentences), initial=0))
    owners = [digest.sentences[bisect_right(starts, span.start) - 1] for span in spans]
    kept = [replace(cited, text=document.text(at.start, at.end)) for cited, at in zip(owners, spans, strict=True)]
    return replace(
        digest,
        text=text,
        sentences=tuple(kept),
        tokens=counter.count(text),
        counter=counter.name,
        exact=counter.exact,
    )
