"""Condenses a text to its own best sentences, without a model.

Units are chosen one by one. A unit is worth the weights of its terms. A term weighs most if some units share it, little
if half of them do, and half as much each time a chosen unit has said it: so the choice is central and does not repeat
itself. A unit brings what it leans on: the sentence before a pronoun, and the heading above. Weights and gains are
whole numbers. Where no unit fits, the beginning of the first is cut at a word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate, chain, pairwise
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from brimful.densify.calls import Completion
from brimful.densify.digest import Digest
from brimful.documents.documents import Document
from brimful.errors import BudgetError, SettingError
from brimful.limits import EXTRACT_BYTES
from brimful.text.spans import Span
from brimful.text.terms import terms_of
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.transport import Stop

_PROMPTED_TEXT = re.compile(r"<text>\n(.*)\n</text>", re.DOTALL)
_FIXED_TOKENS = 16  # added to a unit's price, so that the shortest do not win by being short
_MARK_TOKENS = 3  # a mark and the space around it
_MIN_TERMS = 3  # a unit with fewer terms is a heading or a stray word
_MAX_SHARED = 16
_MAX_SUPPORTS = 3  # sentences and a heading that a unit brings with it
_SCALE = 1_024
_MARK = "[...]"
_EMPTY_LINE = re.compile(rb"\n[ \t\r]*\n")
_LEANING = re.compile(
    r"\W*(?:and|but|so|yet|thus|hence|then|however|therefore|moreover|furthermore|instead|otherwise|similarly|"
    r"(?:(?:when|if|as|because|while|although|after|before|for|in|by|from|with|of) )?"
    r"(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those|such|both)|"
    r"aber|und|doch|denn|deshalb|daher|jedoch|er|sie|es|ihre?[mnrs]?|seine?[mnrs]?|diese?[mnrs]?|"
    r"mais|donc|ils?|elles?|ce|cela|cette|ces|ses|pero|ella|ellos|ellas|este|esta|estos)\b",
    re.IGNORECASE,
)
"""Beginnings of sentences that mean something only after the sentence before."""


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
    headings = _headings(document, units)
    supports = _supports(document, units, headings)
    times_said = np.zeros(len(weights), np.int64)
    candidates = np.bincount(owners, minlength=len(units)) >= _MIN_TERMS
    candidates[list(headings)] = False
    if not (candidates & (prices <= target_tokens)).any():
        candidates[:] = True
    is_open = np.ones(len(units) + 1, bool)  # and one unit of nothing, which all others lead to
    is_open[-1] = False
    choices: list[list[int]] = []
    tokens_left = target_tokens + _MARK_TOKENS
    while True:
        worth = np.zeros(len(units), np.int64)
        np.add.at(worth, owners, (weights >> np.minimum(times_said, 62))[terms])
        worth, open_prices = np.append(worth, 0) * is_open, np.append(prices, 0) * is_open
        gains = worth[:-1] + worth[supports].sum(0)
        costs = open_prices[:-1] + open_prices[supports].sum(0) + _MARK_TOKENS
        rates = np.where(
            candidates & is_open[:-1] & (costs <= tokens_left), gains * _SCALE // (costs + _FIXED_TOKENS), 0
        )
        if not rates.any():
            break
        best = int(rates.argmax())  # the first of equals, so the earliest
        choice = [unit for unit in (best, *supports[:, best].tolist()) if is_open[unit]]
        choices.append(choice)
        tokens_left -= int(costs[best])
        is_open[choice] = False
        np.add.at(times_said, terms[np.isin(owners, choice)], 1)
    return _fitting(document, units, choices, target_tokens, counter) or _beginning(
        document, units, target_tokens, counter
    )


def join(document: Document, spans: Sequence[Span]) -> str:
    r"""The kept units as one text, a mark where something between them is left out, a new line after a paragraph.

    >>> join(Document("a.txt", "One. Two. Three.\n\nFour."), (Span(0, 4), Span(10, 16), Span(18, 23)))
    'One. [...] Three.\nFour.'
    """
    pieces = [document.text(span.start, span.end) for span in spans[:1]]
    for previous, span in pairwise(spans):
        between = document.content[previous.end : span.start]
        ends_section = document.outline.section_before(span.start) > previous.start or _EMPTY_LINE.search(between)
        gap = "\n" if ends_section or document.kind != "prose" else " "
        pieces += [f"{gap}{_MARK}{gap}" if between.strip() else gap, document.text(span.start, span.end)]
    return "".join(pieces)


def _units(document: Document) -> list[Span]:
    """The units without the blank space around them, empty ones left out."""
    units = []
    for start, end in pairwise(document.outline.units.tolist()):
        raw = document.content[start:end]
        if stripped := raw.strip():
            begin = start + raw.index(stripped[:1])
            units.append(Span(begin, begin + len(stripped)))
    return units


def _headings(document: Document, units: list[Span]) -> dict[int, range]:
    """The units that are headings, each with the units of its section after it."""
    starts = [unit.start for unit in units]
    sections = {}
    for heading in document.outline.headings:
        number = bisect_right(starts, heading.start) - 1
        if number >= 0 and units[number].end <= heading.end:
            sections[number] = range(number + 1, bisect_right(starts, heading.section_end - 1))
    return sections


def _supports(document: Document, units: list[Span], headings: Mapping[int, range]) -> NDArray[np.int64]:
    """In columns by unit, the units that it brings: sentences before it while they lean, then the heading; -1 for none.

    >>> document = Document("a.md", "# Tea\\n\\nTea is at four. It is green. They like it.")
    >>> _supports(document, _units(document), {0: range(1, 4)}).tolist()
    [[-1, 0, 1, 2], [-1, -1, 0, 1], [-1, -1, -1, 0]]
    """
    leads = np.full(len(units) + 1, -1, np.int64)  # and one unit of nothing, which leads nowhere
    for number, section in headings.items():
        leads[section.start : section.stop] = number
    if document.kind == "prose":
        for number, unit in enumerate(units[1:], 1):
            opening = document.content[unit.start : unit.start + 40].decode(errors="replace")
            if number not in headings and number - 1 not in headings and _LEANING.match(opening):
                leads[number] = number - 1
    supports = [leads[:-1]]
    for _ in range(_MAX_SUPPORTS - 1):
        supports.append(leads[supports[-1]])
    return np.array(supports)


def _terms(document: Document, units: list[Span]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Each term of each unit once: the unit's number, the term's number; and the terms' weights.

    A term is 64 bits of a hash: names would take fifty times the room of a text in which no word comes twice.
    """
    pairs = [_pairs(document, units, stretch) for stretch in _stretches(units)]
    owners = np.concatenate([of_units for of_units, _ in pairs] or [np.zeros(0, np.int32)])
    hashes = np.concatenate([of_terms for _, of_terms in pairs] or [np.zeros(0, np.uint64)])
    del pairs
    distinct = np.unique(hashes)  # its inverse and counts would take twice the memory
    terms = distinct.searchsorted(hashes).astype(np.int32)
    spread = np.bincount(terms, minlength=len(distinct))
    weights = np.zeros(int(spread.max(initial=0)) + 1, np.int64)  # by how many units share a term
    for shared in np.unique(spread).tolist():
        weights[shared] = _weight(shared, len(units))
    return owners, terms, weights[spread]


def _stretches(units: list[Span]) -> Iterator[range]:
    """Neighbouring units of about a megabyte, which bounds the memory that finding their terms takes.

    >>> list(_stretches([Span(0, 5), Span(5, 9), Span(9, 2 << 20), Span(2 << 20, 3 << 20)]))
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    first = 0
    for after in range(1, len(units) + 1):
        if after == len(units) or units[after].end - units[first].start > EXTRACT_BYTES:
            yield range(first, after)
            first = after


def _pairs(document: Document, units: list[Span], stretch: range) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """The units of a stretch and the hashes of their terms."""
    begin, end = units[stretch.start].start, units[stretch.stop - 1].end
    terms = terms_of(document.content[begin:end])
    hashes = np.frombuffer(b"".join(blake2b(name, digest_size=8).digest() for name in terms.names), np.uint64)
    starts = np.array([units[number].start - begin for number in stretch], np.int64)
    owners = stretch.start + starts.searchsorted(terms.starts, side="right") - 1
    # One number a pair: sorting columns would copy them many times.
    local = np.repeat(np.arange(len(hashes)), np.diff(terms.offsets))
    of_units, of_terms = np.divmod(np.unique(owners * max(len(hashes), 1) + local), max(len(hashes), 1))
    return of_units.astype(np.int32), hashes[of_terms]


def _weight(shared: int, units: int) -> int:
    """A term's worth by how many units share it: little for one, most for some, hardly anything for half of them.

    >>> [_weight(shared, 100) for shared in (1, 2, 8, 20, 60)]
    [2944, 9994, 14960, 10923, 1]
    """
    if not shared:
        return 0
    rarity = ((4 * (units + 1)) ** 8 // shared**8).bit_length()  # eight times the binary logarithm
    return isqrt(((min(shared, _MAX_SHARED) - 1) << 16) + 4_096) * max(rarity - 24, 0) or 1


def _prices(document: Document, units: list[Span], counter: TokenCounter) -> NDArray[np.int64]:
    """The tokens of each unit."""
    prices = np.zeros(len(units), np.int64)
    for stretch in _stretches(units):
        begin, end = units[stretch.start].start, units[stretch.stop - 1].end
        prepared = counter.prepare(document.text(begin, end))
        prices[stretch.start : stretch.stop] = [
            prepared.count(unit.start - begin, unit.end - begin) for unit in units[stretch.start : stretch.stop]
        ]
    return prices


def _fitting(
    document: Document, units: list[Span], choices: list[list[int]], target: int, counter: TokenCounter
) -> tuple[Span, ...]:
    """The chosen units in order, the last choices dropped while the text is over the target."""
    while choices:
        spans = tuple(units[number] for number in sorted(chain.from_iterable(choices)))
        if counter.count(join(document, spans)) <= target:
            return spans
        choices = choices[:-1]
    return ()


def _beginning(document: Document, units: list[Span], target: int, counter: TokenCounter) -> tuple[Span, ...]:
    """The first unit as far as it fits, cut at a word where it has one."""
    if not units:
        return ()
    start = units[0].start
    end = min(counter.prepare(document.content.decode()).fit(start, target), units[0].end)
    if end < units[0].end:
        space = document.content.rfind(b" ", start, end + 1)
        end = space if space > start else end
    return (Span(start, end),) if end > start else ()


class ExtractiveModel:
    """`extractive:`, the default: needs no server and invents nothing."""

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
        match = _PROMPTED_TEXT.search(prompt)
        document = Document("text", match[1] if match else prompt)
        return Completion(join(document, extract(document, max_output_tokens, counter=self.counter)))


def fit_digest(digest: Digest, tokens: int, *, counter: TokenCounter) -> Digest:
    """The digest if it has at most `tokens`, counted by `counter`, else its best sentences that do, with their sources.

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
