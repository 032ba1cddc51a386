"""Which texts and words are alike, and where a text has what is looked for (shingles.c, spelling.c, search.c)."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress, pairwise

import numpy as np
from numpy.typing import NDArray

from brimful.native import MOST_BYTES, Places, kernels, library, places_of, pointer

_SIGN_WORDS, _LONGEST_RUN = 16, 8
_MOST_GROUPS = 8


class RunSets:
    """Texts as sets of runs of words, and which of them share much.

    `marks` says what each byte is: 0 between words, 1 inside of one, 2 the first of another.

    >>> marks = bytes(byte not in b" ." for byte in range(256))
    >>> sets = RunSets(marks, run=2, share=0.6)
    >>> [sets.add(text) for text in (b"tea at four", b"then tea at four.", b"coffee at noon", b"tea")]
    [0, 1, 2, 3]
    >>> sets.are_alike([0, 1, 2, 3])
    [True, True, False, False]
    """

    def __init__(self, marks: bytes, *, run: int, share: float) -> None:
        if len(marks) != 256 or max(marks) > 2 or not 1 <= run <= _LONGEST_RUN or not 0 <= share <= 1:
            raise ValueError("sets of runs need a table of all bytes, runs of 1 to 8 words, and a share from 0 to 1")
        self._marks, self._run, self._share = marks, run, share
        self._count = 0
        self._sets, self._offsets = np.empty(1 << 12, np.uint64), np.zeros(65, np.int64)
        self._signs, self._alike = np.empty(64 * _SIGN_WORDS, np.uint64), np.zeros(64, np.uint8)
        self._note_places()

    def __len__(self) -> int:
        return self._count

    def add(self, text: bytes) -> int:
        """The number of a text, from 0 on."""
        number = self._count
        first = int(self._offsets[number])
        self._make_room(first + len(text))
        outputs = (pointer(self._sets[first:]), pointer(self._signs[_SIGN_WORDS * number :]))
        inputs = (text, len(text), self._marks, self._run, *outputs)
        self._offsets[number + 1] = first + library().hash_runs(*inputs)
        library().mark_alike(*self._given, number, self._share, self._alike_at)
        self._count += 1
        return number

    def are_alike(self, numbers: Sequence[int]) -> list[bool]:
        """Whether each text shares more than `share` of the shorter one's runs with any other."""
        is_alike: list[bool] = self._alike[: self._count][numbers].astype(bool).tolist()
        return is_alike

    def most_alike(self, number: int, document: int, texts: KeptTexts) -> tuple[int, float] | None:
        """The place of the kept text of another document that shares the most, and its share; None below `share`.

        The first of equals is taken.
        """
        if not 0 <= number < self._count or texts.most >= self._count:
            raise ValueError(f"there are {self._count} texts, and others were asked for")
        columns = (pointer(np.frombuffer(column, np.int64)) for column in (texts.numbers, texts.documents))
        arguments = (number, document, *columns, len(texts.numbers))
        place = library().most_alike(*self._given, *arguments, self._share, self._overlap_at)
        return None if place < 0 else (place, float(self._overlap[0]))

    def _make_room(self, hashes: int) -> None:
        """Grow the arrays for one more text, and this number of hashes in all."""
        is_full = self._count == len(self._alike)
        if hashes <= len(self._sets) and not is_full:
            return
        while hashes > len(self._sets):
            self._sets = np.concatenate((self._sets, self._sets))
        if is_full:
            self._offsets = np.concatenate((self._offsets, self._offsets[1:]))
            self._signs = np.concatenate((self._signs, self._signs))
            self._alike = np.concatenate((self._alike, np.zeros_like(self._alike)))
        self._note_places()

    def _note_places(self) -> None:
        """Take the pointers of the present arrays."""
        self._given = (pointer(self._sets), pointer(self._offsets), pointer(self._signs))
        self._alike_at = pointer(self._alike)
        self._overlap = np.zeros(1)
        self._overlap_at = pointer(self._overlap)


class KeptTexts:
    """Texts of some sets of runs that are kept, each with the number of its document, or -1 where it has none."""

    def __init__(self) -> None:
        self.numbers, self.documents = array("q"), array("q")
        self.most = -1  # of the numbers

    def add(self, number: int, document: int) -> None:
        """Add a text."""
        if number < 0:
            raise ValueError(f"texts are numbered from 0 on, not {number}")
        self.numbers.append(number)
        self.documents.append(document)
        self.most = max(self.most, number)


def sign_words(
    text: bytes, starts: Places, lengths: Places, *, factors: NDArray[np.uint32]
) -> tuple[bytes, NDArray[np.uint64]]:
    """Words of a text in ASCII, one after the other, and the signature of each: a bit for each of its trigrams.

    A trigram's bit is the upper six of the sum of its letters times three factors, in 32 bits; two blanks stand before
    a word, and one follows it.
    """
    starts, lengths = places_of(starts), places_of(lengths)
    factors = np.ascontiguousarray(factors, np.uint32)
    if len(starts) != len(lengths) or len(factors) != 3:
        raise ValueError("every word needs its length, and a trigram three factors")
    size = min(len(text), MOST_BYTES)
    if len(starts) and (starts.min() < 0 or lengths.min() < 0 or (starts > size - lengths).any()):
        raise ValueError("a word must lie inside its text")
    letters, signatures = np.empty(int(lengths.sum()), np.uint8), np.empty(len(starts), np.uint64)
    inputs = (pointer(starts), pointer(lengths), len(starts), pointer(factors))
    library().sign_words(text, *inputs, pointer(letters), pointer(signatures))
    return letters.tobytes(), signatures


class SpelledWords:
    """Words by their length in letters: words of n letters begin at number `firsts[n]`.

    First of them come the `plain[n]` in ASCII, sorted. Word w has the bytes from `offsets[w]` of `letters` on, and a
    signature of 64 bits, one for each of its trigrams.
    """

    LONGEST = 24  # letters

    def __init__(
        self,
        letters: bytes,
        offsets: Places,
        signatures: NDArray[np.uint64],
        *,
        firsts: Sequence[int],
        plain: Sequence[int],
    ) -> None:
        if len(letters) > MOST_BYTES:
            raise ValueError(f"{len(letters)} letters of words are too many")
        self._letters, self._firsts, self._plain = letters, firsts, plain
        self._offsets, self._signatures = places_of(offsets), np.ascontiguousarray(signatures, np.uint64)
        ends = self._offsets
        if len(ends) != len(signatures) + 1 or ends[0] != 0 or ends[-1] != len(letters) or (ends[1:] < ends[:-1]).any():
            raise ValueError("every word needs its letters and its signature")
        steps = [after - first for first, after in pairwise(firsts)]
        if firsts[0] != 0 or firsts[-1] != len(signatures) or len(steps) != len(plain):
            raise ValueError("the words of all lengths must follow each other")
        if not all(0 <= in_ascii <= step for in_ascii, step in zip(plain, steps, strict=True)):
            raise ValueError("the words in ASCII must be among the words of their length")
        sizes = [int(ends[first + in_ascii] - ends[first]) for first, in_ascii in zip(firsts, plain, strict=False)]
        if sizes != [size * in_ascii for size, in_ascii in enumerate(plain)]:
            raise ValueError("a word in ASCII must have a byte for each letter")
        if len(self._firsts) > self.LONGEST + 2:
            raise ValueError(f"a word must have at most {self.LONGEST} letters")
        self._given = (pointer(self._signatures), letters, pointer(self._offsets))

    def alike(
        self, word: str, masks: Sequence[int], *, trigrams: int, share: tuple[int, int], edits: int
    ) -> list[tuple[int, int, int]]:
        """Words at most `edits` away that share enough trigrams: where each begins and ends, and its edits.

        `masks[t]` has the bits on which more than t of the word's trigrams fall.
        """
        low, high = max(len(word) - edits, 0), min(len(word) + edits, len(self._firsts) - 2)
        if low > high:
            return []
        characters, marks = np.array([*map(ord, word)], np.uint32), np.array(masks, np.uint64)
        first, last = self._firsts[low], self._firsts[high + 1]
        rows = np.empty((last - first, 2), np.int64)
        bits = (pointer(marks), len(marks), trigrams, *share)
        arguments = (*self._given, first, last, *bits, pointer(characters), len(characters), edits, pointer(rows))
        numbers, distances = rows[: library().spelled_alike(*arguments)].T
        starts, ends = self._offsets[numbers], self._offsets[numbers + 1]
        return list(zip(starts.tolist(), ends.tolist(), distances.tolist(), strict=True))

    def contains(self, word: bytes) -> bool:
        """Whether a word in ASCII is among them; words of one length are sorted."""
        if len(word) >= len(self._plain):
            return False
        first = self._firsts[len(word)]
        plain = range(first, first + self._plain[len(word)])
        number = first + bisect_left(plain, word, key=self._word)
        return number in plain and self._word(number) == word

    def _word(self, number: int) -> bytes:
        return self._letters[self._offsets[number] : self._offsets[number + 1]]


class Anchors:
    """Strings that are searched in many texts, all at once.

    >>> sorted(Anchors([b"tea", b"pot"]).within(b"a teapot")), Anchors([b"tea"]).within(b"te")
    ([b'pot', b'tea'], set())
    """

    def __init__(self, anchors: Iterable[bytes]) -> None:
        self._anchors = sorted(set(anchors))
        if not all(self._anchors):
            raise ValueError("an anchor must not be empty")
        self._text = b"".join(self._anchors)
        self._bounds = np.cumsum([0, *map(len, self._anchors)]).astype(np.int32)
        heads = np.array([anchor[0] for anchor in self._anchors], np.int64)
        self._firsts = heads.searchsorted(np.arange(257)).astype(np.int32)
        self.given = (self._text, pointer(self._bounds), pointer(self._firsts))

    def within(self, text: bytes) -> set[bytes]:
        """The strings that a text has."""
        is_inside = bytearray(len(self._anchors))
        library().find_anchors(text, len(text), *self.given, kernels().types.from_buffer("uint8_t[]", is_inside))
        return set(compress(self._anchors, is_inside))


def mark_lines(text: bytes, groups: Sequence[Iterable[bytes]]) -> NDArray[np.uint8]:
    r"""Of each line of a text, by bits, which of up to eight groups has a string in it; with a byte beyond ASCII all.

    >>> mark_lines("teapot\ncup\nthé".encode(), [[b"tea", b"cup"], [b"pot"]]).tolist()
    [3, 1, 3]
    """
    bits: dict[bytes, int] = {}
    for number, group in enumerate(groups):
        for anchor in group:
            bits[anchor] = bits.get(anchor, 0) | 1 << number
    if len(groups) > _MOST_GROUPS or not all(bits) or any(b"\n" in anchor for anchor in bits):
        raise ValueError("lines are marked by up to 8 groups of strings, none of them empty or with a newline")
    anchors = Anchors(bits)
    marks = np.zeros(text.count(b"\n") + 1, np.uint8)
    of_anchors = bytes(bits[anchor] for anchor in sorted(bits))
    library().mark_lines(text, len(text), *anchors.given, of_anchors, (1 << len(groups)) - 1, pointer(marks))
    return marks


def long_runs(text: bytes, marks: bytes, *, least: int) -> bytes:
    """Runs of at least `least` bytes that the table marks, with a newline between them."""
    if len(marks) != 256 or least < 1:
        raise ValueError("long runs need a table of all bytes, and a length of at least 1")
    out = np.empty(len(text) + 1, np.uint8)
    return out[: library().long_runs(text, len(text), marks, least, pointer(out))].tobytes()
