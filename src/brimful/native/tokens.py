"""How many tokens a text has, and which (tokens.c)."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from brimful.native import Places, library, places_of, pointer, struct

PAGE_CODES = 128
"""Code points of which one page of kinds tells."""

_SHORTS = 1 << 15  # short pieces whose tokens are remembered


def index_tokens(tokens: bytes, offsets: Places) -> NDArray[np.uint64]:
    """A table of hashes over tokens: token t is `tokens[offsets[t]:offsets[t + 1]]`, each is there once."""
    offsets = places_of(offsets)
    _check_tokens(tokens, offsets)
    bits = max((4 * len(offsets)).bit_length() - 1, 4)
    slots = np.zeros(1 << bits, np.uint64)
    inputs = (pointer(np.frombuffer(tokens, np.uint8)), pointer(offsets), len(offsets) - 1)
    count = library().index_tokens(*inputs, pointer(slots), bits)
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


class TokenTable:
    """A vocabulary of byte pairs, in memory that may be a file's: how many tokens a text has, which token a text is.

    `slots` are what `index_tokens` made of these tokens; `pages` and `kinds` say of every code point what it is.
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
        self._vocabulary = struct(
            "vocabulary",
            is_cased=is_cased,
            bytes=np.frombuffer(tokens, np.uint8),
            offsets=offsets,
            count=len(offsets) - 1,
            longest=int(np.diff(offsets).max()),
            slots=slots,
            bits=bits,
            pages=np.ascontiguousarray(pages, np.uint16),
            kinds=np.ascontiguousarray(kinds, np.uint8),
            shorts=np.zeros(_SHORTS, np.uint64),
        )

    def count(self, text: bytes) -> int | None:
        """The tokens of a text that is UTF-8; None where it has a character of no known kind, or a very long piece."""
        tokens: int = library().count_tokens(self._vocabulary, text, len(text))
        return tokens if tokens >= 0 else None

    def find(self, text: bytes) -> int | None:
        """The number of the token that a text is."""
        token: int = library().find_token(self._vocabulary, text, len(text))
        return token if token >= 0 else None

    def single(self, texts: Iterable[bytes]) -> list[int] | None:
        """Tokens of the texts that are a single one; None where the tokens of a text are not known."""
        tokens = []
        for text in texts:
            count = self.count(text)
            if count is None:
                return None
            token = self.find(text) if count == 1 else None
            tokens += [] if token is None else [token]
        return tokens
