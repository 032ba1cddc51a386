r"""Which tokens does a byte range hold, and which tokens does a budget buy?

Documents are tokenised once and laid one after the other on one axis of tokens. A token belongs to a range when
its first character that is not blank lies in it, so ranges that share no byte share no token, and a context
costs the document tokens it holds, each once, however its pieces were cut. Headers and separators are free here,
for everyone: this measures what was chosen, not how it is written down.

A token that ends inside a character (of Chinese, say) has the text up to that character, and one that starts
there has the character's own place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray

from brimful.corpus.documents import Document, by_path
from brimful.errors import MissingPartError, install

if TYPE_CHECKING:
    from splintr import AnyTokenizer

VOCABULARY = "cl100k_base"
"""What the published baselines were counted with; an axis may have another."""

_SLICE_CHARACTERS = 200_000  # longer texts are tokenised in slices that end at an empty line where there is one
_BLANKS = np.array([code for code in range(0x3001) if chr(code).isspace()], np.uint32)
_NEXT_TO_LEAD = 3  # a character has at most so many bytes behind its first


class Range(Protocol):
    """Anything that names bytes of a document: evidence, a citation, a window."""

    @property
    def path(self) -> str:
        """The document."""
        ...

    @property
    def start(self) -> int:
        """Its first byte."""
        ...

    @property
    def end(self) -> int:
        """The byte behind its last."""
        ...


class Cited(NamedTuple):
    """Bytes that an answerer put into its context; answers are sequences of these, the best first."""

    path: str
    start: int
    end: int


class Filled(NamedTuple):
    """What a budget bought: tokens in the order in which they were taken."""

    tokens: NDArray[np.int64]
    reached: frozenset[str]  # documents whose turn came before the budget was spent
    asked: int  # tokens of the whole answer, each once
    invalid: int  # citations of unknown documents or of bytes that a document does not have


@final
class TokenAxis:
    """The tokens of some documents, as columns.

    >>> axis = TokenAxis([Document("a.txt", "one two three")])
    >>> axis.span("a.txt", 4, 13)
    (1, 3)
    >>> axis.fill([Cited("a.txt", 4, 13), Cited("a.txt", 0, 13)], budget=2).tokens.tolist()
    [1, 2]
    """

    def __init__(self, documents: Iterable[Document], *, vocabulary: str = VOCABULARY) -> None:
        known = by_path(documents)
        content = b"".join(document.content for document in known.values())
        ends = np.cumsum([0, *(len(document) for document in known.values())])
        self._bases = dict(zip(known, ends.tolist(), strict=False))
        self._sizes = {path: len(document) for path, document in known.items()}
        tokens = _token_starts([document.content.decode() for document in known.values()], vocabulary)
        self._places, self.is_blank = _places(content, tokens)
        self._seen = np.zeros(len(tokens), bool)  # scratch: all false between calls

    def __len__(self) -> int:
        return len(self._places)

    def holds(self, cited: Range) -> bool:
        """Whether the range is one of a document that is here."""
        return cited.path in self._sizes and 0 <= cited.start <= cited.end <= self._sizes[cited.path]

    def span(self, path: str, start: int, end: int) -> tuple[int, int]:
        """The half-open range of tokens whose first character lies in `[start, end)` of the document."""
        base = self._bases[path]
        first, last = self._places.searchsorted((base + start, base + end))
        return int(first), int(last)

    def said(self, at: Range) -> NDArray[np.int64]:
        """The tokens of a range that are not blank: what counts as evidence."""
        first, last = self.span(at.path, at.start, at.end)
        return first + np.flatnonzero(~self.is_blank[first:last])

    def fill(self, ranked: Sequence[Range], *, budget: int) -> Filled:
        """Take ranges in order until the budget is spent; the last one is cut, a token taken twice is free."""
        valid = [cited for cited in ranked if self.holds(cited)]
        bases = [self._bases[cited.path] for cited in valid]
        firsts = self._places.searchsorted([base + at.start for base, at in zip(bases, valid, strict=True)])
        lasts = self._places.searchsorted([base + at.end for base, at in zip(bases, valid, strict=True)])
        taken: list[NDArray[np.int64]] = []
        reached = set()
        room = budget
        for cited, first, last in zip(valid, firsts.tolist(), lasts.tolist(), strict=True):
            reached.add(cited.path)
            # At most `budget` tokens are taken or were taken before, so no more need to be looked at.
            tokens = np.arange(first, min(last, first + budget))
            tokens = tokens[~self._seen[tokens]][:room]
            self._seen[tokens] = True
            taken.append(tokens)
            room -= len(tokens)
            if room <= 0:
                break
        together = np.concatenate([*taken, np.zeros(0, np.int64)])
        self._seen[together] = False
        return Filled(together, frozenset(reached), _union(firsts, lasts), len(ranked) - len(valid))

    def share(self, wanted: NDArray[np.int64], held: NDArray[np.int64]) -> int:
        """How many of the wanted tokens are held; neither has a token twice."""
        self._seen[held] = True
        shared = int(np.count_nonzero(self._seen[wanted]))
        self._seen[held] = False
        return shared


def _union(firsts: NDArray[np.int64], lasts: NDArray[np.int64]) -> int:
    """How many numbers lie in any of the ranges.

    >>> _union(np.array([0, 2, 8]), np.array([5, 4, 9]))
    6
    """
    if not len(firsts):
        return 0
    order = np.lexsort((lasts, firsts))
    starts, ends = firsts[order], lasts[order]
    before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])
    return int(np.maximum(ends - np.maximum(starts, before), 0).sum())


def _slices(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = at + _SLICE_CHARACTERS
        if end < len(text):
            gap = text.rfind("\n\n", at, end)
            end = gap + 2 if gap > at else end
        yield text[at:end]
        at = end


def _token_starts(texts: Iterable[str], vocabulary: str) -> NDArray[np.int64]:
    """Where each token starts in the joined UTF-8 of the texts; no token crosses from one to the next."""
    tokenizer = _load(vocabulary)
    encoded = [np.asarray(tokenizer.encode_ordinary(part), np.int64) for text in texts for part in _slices(text)]
    tokens = np.concatenate([*encoded, np.zeros(0, np.int64)])
    distinct, place = np.unique(tokens, return_inverse=True)
    lengths = np.array([len(tokenizer.decode_token_bytes(token)) for token in distinct.tolist()], np.int64)[place]
    return np.cumsum(lengths) - lengths


def _places(content: bytes, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each token says its first thing, and whether it says nothing."""
    is_lead = np.frombuffer(content, np.uint8) & 0xC0 != 0x80
    for _ in range(_NEXT_TO_LEAD):
        starts = starts - ~is_lead[starts]
    ends = np.append(starts[1:], len(content)) if len(starts) else starts
    codes = np.frombuffer(content.decode().encode("utf-32-le"), np.uint32)
    said = np.append(np.flatnonzero(is_lead)[~np.isin(codes, _BLANKS)], len(content))
    first = said[said.searchsorted(starts)]
    is_silent = first >= ends
    return np.where(is_silent, starts, first), is_silent & (ends > starts)


@cache
def _load(vocabulary: str) -> AnyTokenizer:
    try:
        from splintr import Tokenizer

        return Tokenizer.from_pretrained(vocabulary)
    except (ImportError, ValueError) as error:
        raise MissingPartError(
            f"measuring in {vocabulary!r} tokens needs splintr-rs with that vocabulary ({error}); "
            f"run: {install(package='splintr-rs>=0.22,<0.23')}"
        ) from error
