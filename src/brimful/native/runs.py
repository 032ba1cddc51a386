"""Which texts are alike, and where a text has what is looked for (shingles.c, search.c)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import compress

import numpy as np

from brimful.native import check_numbers, kernels, library, pointer

_SIGN_WORDS, _LONGEST_RUN = 16, 8


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

    def most_alike(
        self, number: int, document: int, others: array[int], documents: array[int]
    ) -> tuple[int, float] | None:
        """The place of the text among others that shares the most, and its share; None below `share`.

        `documents` has the document of each other, or -1; those of its own are passed over. The first of equals counts.
        """
        check_numbers(np.array([number, *others]), below=self._count)
        columns = (pointer(np.frombuffer(column, np.int64)) for column in (others, documents))
        arguments = (number, document, *columns, min(len(others), len(documents)))
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


def long_runs(text: bytes, marks: bytes, *, least: int) -> bytes:
    """Runs of at least `least` bytes that the table marks, with a newline between them."""
    if len(marks) != 256 or least < 1:
        raise ValueError("long runs need a table of all bytes, and a length of at least 1")
    out = np.empty(len(text) + 1, np.uint8)
    return out[: library().long_runs(text, len(text), marks, least, pointer(out))].tobytes()
