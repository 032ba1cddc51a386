"""How many tokens a text has, and which (tokens.c)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from brimful.kernels import Places, library, places_of

PAGE_CODES = 128
"""Code points of which one page of kinds tells."""

_SHORTS = 1 << 15  # short pieces whose tokens are remembered
_LETTERS = 128  # of ASCII
_MANY_WORDS = 512


def index_tokens(tokens: bytes, offsets: Places) -> NDArray[np.uint64]:
    """A table of hashes over tokens: token t is `tokens[offsets[t]:offsets[t + 1]]`, each is there once."""
    offsets = places_of(offsets)
    _check_tokens(tokens, offsets)
    bits = max((4 * len(offsets)).bit_length() - 1, 4)
    slots = np.zeros(1 << bits, np.uint64)
    count = library().index_tokens(tokens, offsets.ctypes.data, len(offsets) - 1, slots.ctypes.data, bits)
    if count < len(offsets) - 1:
        raise ValueError(f"token {count} of a vocabulary is empty, or is there twice")
    return slots


def _check_tokens(tokens: bytes | memoryview, offsets: Places) -> None:
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(tokens) or (np.diff(offsets) < 1).any():
        raise ValueError("the tokens of a vocabulary must follow each other, none of them empty")


def _check_table(slots: NDArray[np.uint64], *, below: int) -> None:
    numbers = slots.view(np.uint32)[sys.byteorder == "big" :: 2]  # the lower halves
    bits = len(slots).bit_length() - 1
    if len(slots) != 1 << bits or bits < 1 or numbers.max() >= below or numbers.min() > 0:
        raise ValueError("a table of tokens must name tokens only, and have empty places")


class Counting(NamedTuple):
    """The compiled function that counts the tokens of a text, and what it is given behind the text and its size.

    The text is UTF-8; -1 stands for one that has a character of no known kind, or a very long piece. Whoever calls it
    holds on to all of this: the memory is what it reads.
    """

    tell: Callable[..., int]
    given: tuple[int, ...]
    memory: tuple[NDArray[Any], ...]


class TokenTable:
    """A vocabulary of byte pairs, in memory that may be a file's: how many tokens a text has, which token a text is.

    `slots` are what `index_tokens` made of the same tokens; `pages` and `kinds` say of every code point what it is.
    """

    def __init__(
        self,
        tokens: memoryview,
        offsets: Places,
        slots: NDArray[np.uint64],
        pages: NDArray[np.uint16],
        kinds: NDArray[np.uint8],
        *,
        is_cased: bool,
    ) -> None:
        offsets = places_of(offsets)
        _check_tokens(tokens, offsets)
        bits = len(slots).bit_length() - 1
        slots = np.ascontiguousarray(slots, np.uint64)
        _check_table(slots, below=len(offsets))
        if len(pages) != (sys.maxunicode + 1) // PAGE_CODES or (int(pages.max()) + 1) * PAGE_CODES > len(kinds):
            raise ValueError("every code point needs its kind")
        codes = np.frombuffer(tokens, np.uint8)
        self._kept = (codes, offsets, slots, np.ascontiguousarray(pages), np.ascontiguousarray(kinds))
        shorts = np.zeros(_SHORTS, np.uint64)
        at = [each.ctypes.data for each in (*self._kept, shorts)]
        self._words = (at[0], at[1], len(offsets) - 1, int(np.diff(offsets).max()), at[2], bits)
        self._given = (int(is_cased), *self._words, *at[3:])
        self.counting = Counting(library().count_tokens, self._given, (*self._kept, shorts))
        self._count_each = library().count_each
        self._find = library().find_token

    def count(self, text: bytes) -> int | None:
        """The tokens of a text that is UTF-8; None where that is not known."""
        found = self.counting.tell(text, len(text), *self._given)
        return found if found >= 0 else None

    def count_each(self, texts: Sequence[bytes]) -> list[int]:
        """The tokens of each of some texts; -1 where that is not known."""
        ends = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts))
        counts = np.empty(len(texts), np.int64)
        self._count_each(b"".join(texts), ends.ctypes.data, len(texts), counts.ctypes.data, *self._given)
        return counts.tolist()

    def find(self, text: bytes) -> int | None:
        """The number of the token that a text is."""
        found: int = self._find(text, len(text), *self._words)
        return found if found >= 0 else None

    def single(self, texts: Iterable[bytes]) -> list[int] | None:
        """The tokens that some texts are, of those that are one; None where the tokens of a text are not known."""
        found = []
        for text in texts:
            count = self.count(text)
            if count is None:
                return None
            token = self.find(text) if count == 1 else None
            found += [] if token is None else [token]
        return found


class WordTokens:
    """A vocabulary whose pairs are joined in the order of a list: which tokens a word has.

    Token t is `tokens[offsets[t]:offsets[t + 1]]`; `pairs` are lines of two tokens, a blank between; `byte_tokens`
    stand for the bytes of a character that is no token.
    """

    LONGEST = 256
    ASKED = -2
    """For a word of which the kernel is to find out whether it is a token."""

    def __init__(self, tokens: bytes, offsets: Places, pairs: bytes, byte_tokens: Places) -> None:
        offsets = places_of(offsets)
        lines = pairs.count(b"\n") + bool(pairs and not pairs.endswith(b"\n"))
        table = np.zeros(1 << max((2 * lines).bit_length(), 4), np.uint64)
        codes, joined = np.frombuffer(tokens, np.uint8), np.zeros(lines, np.int32)
        self._keep(codes, offsets, index_tokens(tokens, offsets), table, joined, places_of(byte_tokens))
        read = library().index_pairs(pairs, len(pairs), *self._given[:-1])
        if read < lines:
            raise ValueError(f"pair {read} of a list is not two tokens that become one, or is there twice")

    @classmethod
    def of_arrays(cls, arrays: Sequence[NDArray[Any]]) -> Self:
        """The same vocabulary again, of its `arrays`: in memory that may be a file's."""
        made = cls.__new__(cls)
        made._keep(*arrays)  # noqa: SLF001  (its own)
        return made

    def _keep(
        self,
        codes: NDArray[np.uint8],
        offsets: Places,
        slots: NDArray[np.uint64],
        table: NDArray[np.uint64],
        joined: Places,
        byte_tokens: Places,
    ) -> None:
        """Hold on to what the kernel reads, once it can't be led beyond it."""
        most, bits = len(offsets) - 1, (len(slots).bit_length() - 1, len(table).bit_length() - 1)
        _check_tokens(codes.data, offsets)
        if len(byte_tokens) != 256 or most > 1 << 16 or not 0 <= byte_tokens.min() <= byte_tokens.max() < most:
            raise ValueError("a vocabulary has up to 65,536 tokens, one of them for every byte")
        _check_table(slots, below=len(offsets))
        _check_table(table, below=len(joined) + 1)
        if len(joined) and not 0 <= joined.min() <= joined.max() < most:
            raise ValueError("a pair must become one of the tokens")
        self.arrays = (codes, offsets, slots, table, joined, byte_tokens)
        at = [each.ctypes.data for each in self.arrays]
        self._words = (at[0], at[1], most, int(np.diff(offsets).max()), at[2], bits[0])
        self._given = (*self._words, at[3], bits[1], at[4], at[5])

    @cached_property
    def _ranks(self) -> Places:
        """Where in the list of pairs each two letters of ASCII stand: for very many words."""
        ranks = np.empty(_LETTERS * _LETTERS, np.int32)
        library().rank_letters(*self._given[:8], ranks.ctypes.data)
        return ranks

    def find(self, text: bytes) -> int:
        """The number of the token that a text is; -1 where it is none."""
        return int(library().find_token(text, len(text), *self._words))

    def of(self, text: bytes, starts: Places, lengths: Places, *, whole: Places) -> tuple[Places, Places]:
        """The tokens of words of a text, one word after the other, and where those of each end.

        `whole` says of each word which token it is, -1 for none; ASKED looks for it, also with an ASCII capital.
        """
        starts, lengths, whole = places_of(starts), places_of(lengths), places_of(whole)
        if not len(starts) == len(lengths) == len(whole):
            raise ValueError("every word needs a length, and whether it is a token")
        if len(starts) and (starts.min() < 0 or lengths.min() < 0 or int((starts + lengths).max()) > len(text)):
            raise ValueError("a word must lie inside its text")
        if int(lengths.max(initial=0)) > self.LONGEST or int(whole.min(initial=0)) < self.ASKED:
            raise ValueError(f"a word must have at most {self.LONGEST} bytes")
        tokens = np.empty(3 * int(lengths.sum(dtype=np.int64)) + 3 * len(starts), np.int32)
        ends = np.empty(len(starts), np.int32)
        given = (text, starts.ctypes.data, lengths.ctypes.data, len(starts), whole.ctypes.data)
        ranks = self._ranks.ctypes.data if len(starts) >= _MANY_WORDS else None
        count = library().word_tokens(*given, *self._given, ranks, tokens.ctypes.data, ends.ctypes.data)
        return tokens[:count].copy(), ends
