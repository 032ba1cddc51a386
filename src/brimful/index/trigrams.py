"""How alike are two spellings, and which known words could one be?"""

from __future__ import annotations

import bisect
import functools
import itertools
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.classes import dataclass
from brimful.errors import MissingPartError, SettingError, install

# ---- trigrams: How alike are two spellings?
#
# As alike as PostgreSQL's pg_trgm says (Standard 105 §3.2, ruling 12). A string's words are its runs of
# alphabetic characters and digits, in small letters; each word is padded with two blanks before and one behind,
# and every three characters in a row are a trigram. The similarity of two strings is the share of trigrams that
# both have among those that either has.
#
#     word   →  "  w" " wo" "wor" "ord" "rd "
#     words  →  "  w" " wo" "wor" "ord" "rds" "ds "       4 of 7: 0.571
#
# pg_trgm keeps a trigram in three bytes: as it is when it is ASCII, else the low bytes of a checksum. Two
# trigrams can so become one, and we let them, in order to be equal. Equal means: a UTF-8 database with LC_CTYPE
# C.UTF-8 (or any locale with Unicode's letters but Turkish and its kin) and a Unicode version that agrees.

_BLANK = 0x20
_LAST_LETTER = 0x3FFFF  # no letters in Unicode's planes beyond
_BATCH = 50_000  # names
_POLYNOMIAL = 0xEDB88320
# The marks and symbols that Unicode counts as alphabetic (vowel signs, circled letters); not in `unicodedata`.
_ALPHABETIC_MARKS = """
    345 5b0-657 659-6dc 6e1-6e8 6ed-73f 7a6-7b0 816-817 81b-82c 8d4-8df 8e3-8e9 8f0-93b 93e-94c 94e-94f 955-983 9be-9cc
    9d7-9e3 a01-a03 a3e-a4c a51-a83 abe-acc ae2-afc b01-b03 b3e-b4c b56-bcc bd7-c03 c3e-c4c c55-c83 cbe-ccc cd5-d03
    d3e-d4c d57-d83 dcf-e3a e4d eb1-eb9 ebb-ebc ecd f71-f81 f8d-fbc 102b-1036 1038 103b-109d 1712-1713 1732-1733
    1752-1773 17b6-17c8 1885-1938 1a17-1a5e 1a61-1a74 1abf-1ac0 1acc-1b04 1b35-1b43 1b80-1ba9 1bac-1bad 1be7-1bf1
    1c24-1c36 1de7-1df4 2de0-2dff a674-a67b a69e-a69f a802 a80b-a827 a880-a8c3 a8c5 a8ff-a92a a947-a952 a980-a983
    a9b4-a9bf a9e5-aabe aaeb-aaf5 abe3-abea fb1e 10376-10a0f 10d24-10eac 11000-11045 11073-11074 11082-110b8
    110c2-11132 11145-11146 11180-111bf 111ce-11234 11237-112e8 11300-11303 1133e-1134c 11357-11363 11435-11441
    11443-11445 114b0-114c1 115af-115be 115dc-1163e 11640-116b5 1171d-1172a 1182c-11838 11930-1193c 11940-11942
    119d1-119df 119e4-11a0a 11a35-11a3e 11a51-11a97 11c2f-11c3e 11c92-11d41 11d43 11d47-11d96 11ef3-11ef6 16f4f-16f92
    16ff0-16ff1 1bc9e 1e000-1e02a 1e947
"""
_ALPHABETIC_SYMBOLS = "24b6-24e9 1f130-1f149 1f150-1f169 1f170-1f189"


def similarity(one: str, other: str) -> float:
    """What pg_trgm calls similarity: 0 to 1, as precise as its `real`; 0 when either has no trigrams.

    >>> similarity("word", "two words")
    0.3636363744735718
    >>> similarity("conciousness", "consciousness") > similarity("limerance", "limerence") > 0.3
    True
    >>> similarity("", ""), similarity("C", "C++"), similarity("50%", "50")
    (0.0, 1.0, 1.0)
    """
    mine, theirs = set(trigrams_of(one).tolist()), set(trigrams_of(other).tolist())
    if not mine or not theirs:
        return 0.0
    shared = len(mine & theirs)
    return float(np.float32(shared) / np.float32(len(mine) + len(theirs) - shared))


def trigrams_of(text: str) -> NDArray[np.int64]:
    """The distinct trigrams of a string as 24-bit numbers, ascending.

    >>> [code.to_bytes(3, "big") for code in trigrams_of("Cat").tolist()]
    [b'  c', b' ca', b'at ', b'cat']
    """
    _, codes = _trigrams([text.encode("utf-8", "replace")])
    codes.sort()
    return codes[_changes(codes)]


def trigram_index(names: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """The distinct trigrams of all names, ascending; where the rows of each begin and end; and these rows.

    >>> codes, offsets, rows = trigram_index([b"ab", b"b"])
    >>> [code.to_bytes(3, "big") for code in codes.tolist()], offsets.tolist(), rows.tolist()
    ([b'  a', b'  b', b' ab', b' b ', b'ab '], [0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0])
    """
    batches = [np.zeros(0, np.int64)]
    for first in range(0, len(names), _BATCH):  # the columns of a batch are many times its text
        rows, codes = _trigrams(names[first : first + _BATCH])
        batches.append(codes << 32 | rows + first)
    pairs = np.concatenate(batches)
    del batches
    pairs.sort()
    pairs = pairs[_changes(pairs)]
    rows32 = (pairs & 0xFFFFFFFF).astype(np.int32)
    pairs >>= 32
    firsts = np.flatnonzero(_changes(pairs))
    return pairs[firsts].astype(np.int32), np.append(firsts, len(pairs)), rows32


def _changes(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a value differs from the one before it."""
    changes = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _trigrams(names: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every trigram with the row it is from, in order, doubles and all."""
    joined = b"\n".join(names).decode("utf-8", "replace")  # the newline is in no word, so it also ends one
    if joined.isascii():
        points = np.frombuffer(joined.encode(), np.uint8).astype(np.int64)
    else:
        points = np.frombuffer(joined.encode("utf-32-le"), "<u4").astype(np.int64)
        points = np.minimum(points, _LAST_LETTER)  # itself in no word
    alphabet = _alphabet()
    alphabet.learn(points)
    inside = np.concatenate([[False], alphabet.in_word[points], [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    row_of_start = np.searchsorted(np.flatnonzero(points == ord("\n")), starts)

    # Lay the words out behind one another, each with its blanks; every window of three is then a trigram, but for
    # the two at each seam.
    lengths = ends - starts
    places = np.cumsum(lengths + 3) - (lengths + 3)
    padded = np.full(int(places[-1] + lengths[-1] + 3), _BLANK, np.int64)
    shift = np.repeat(places + 2 - starts, lengths)
    letters = np.flatnonzero(inside[1:-1])
    padded[letters + shift] = alphabet.small[points[letters]]
    counts = lengths + 1
    windows = np.arange(int(counts.sum())) + np.repeat(places - (np.cumsum(counts) - counts), counts)
    return np.repeat(row_of_start, counts), _codes(padded, windows)


def _codes(padded: NDArray[np.int64], windows: NDArray[np.int64]) -> NDArray[np.int64]:
    first, second, third = padded[windows], padded[windows + 1], padded[windows + 2]
    codes = first << 16 | second << 8 | third
    beyond = np.flatnonzero((first | second | third) > 0x7F)
    if len(beyond):
        checksum = np.full(len(beyond), 0xFFFFFFFF, np.int64)
        for points in (first, second, third):
            checksum = _checksum(checksum, points[beyond])
        low = checksum ^ 0xFFFFFFFF
        codes[beyond] = (low & 0xFF) << 16 | (low & 0xFF00) | (low >> 16 & 0xFF)
    return codes


def _checksum(checksum: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Carry PostgreSQL's legacy CRC-32 on over the UTF-8 bytes of these characters."""
    table = _checksum_table()
    extra = (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)  # bytes after the first
    lead = np.array([0, 0xC0, 0xE0, 0xF0])[extra] | points >> 6 * extra
    checksum = table[(checksum >> 24 ^ lead) & 0xFF] ^ (checksum << 8 & 0xFFFFFFFF)
    for left in (3, 2, 1):
        has = extra >= left
        byte = 0x80 | (points >> 6 * (left - 1) & 0x3F)
        further = table[(checksum >> 24 ^ byte) & 0xFF] ^ (checksum << 8 & 0xFFFFFFFF)
        checksum = np.where(has, further, checksum)
    return checksum


@functools.cache
def _checksum_table() -> NDArray[np.int64]:
    """The usual table of CRC-32; PostgreSQL's legacy variant reads it from the other end."""
    table = np.arange(256, dtype=np.int64)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ _POLYNOMIAL, table >> 1)
    return table


class _Alphabet:
    """By code point: does it belong to a word, and what is it in small letters? Found out for those that occur."""

    def __init__(self) -> None:
        size = _LAST_LETTER + 1
        self.in_word = np.zeros(size, np.bool_)
        self.small = np.zeros(size, np.int32)
        self._known = np.zeros(size, np.bool_)
        self._marks, self._symbols = _within(_ALPHABETIC_MARKS, size), _within(_ALPHABETIC_SYMBOLS, size)

    def learn(self, points: NDArray[np.int64]) -> None:
        """Make these code points known."""
        fresh = points[~self._known[points]]
        for code in set(fresh.tolist()) if len(fresh) else ():
            category = unicodedata.category(chr(code))
            is_mark = category in ("Mn", "Mc") and bool(self._marks[code])
            has = category[0] == "L" or category in ("Nd", "Nl") or is_mark or bool(self._symbols[code])
            # Character by character, so a final sigma is a sigma; and capital i with a dot is i.
            self.in_word[code], self.small[code] = has, ord(chr(code).lower()[0]) if has else code
            self._known[code] = True


_alphabet = functools.cache(_Alphabet)


def _within(ranges: str, size: int) -> NDArray[np.bool_]:
    inside = np.zeros(size, np.bool_)
    for each in ranges.split():
        first, _, last = each.partition("-")
        inside[int(first, 16) : int(last or first, 16) + 1] = True
    return inside


# ---- vocabulary: Which known words could this one be?
#
# Exactly this one, then one that begins with it, then one spelled alike (Standard 105 §3.2, ruling 12). Nothing
# here is a pattern: `%`, `_` and `\` are characters like others.

How = Literal["exact", "prefix", "trigram"]


class Likeness(NamedTuple):
    """A known word that is spelled alike."""

    id: int
    similarity: float
    distance: int  # edits: insert, delete, replace, or swap two neighbours


@dataclass(frozen=True, slots=True)
class Match:
    """A known word and how it was found."""

    id: int
    how: How
    similarity: float


class Vocabulary:
    """Distinct terms in bytewise order, looked up by name, beginning and spelling. A term's id is its place.

    >>> words = Vocabulary([b"conscience", b"consciousness", b"limerence", b"limerick"])
    >>> words.exact(b"limerence"), words.exact(b"limerance")
    (2, None)
    >>> words.prefix(b"lim", limit=5)
    [3, 2]
    >>> [(words.names[each.id], each.distance) for each in words.similar(b"limerance")]
    [(b'limerence', 1), (b'limerick', 3)]
    >>> [(words.names[match.id], match.how) for match in words.expand(b"conciousness")]
    [(b'consciousness', 'trigram')]
    """

    def __init__(self, names: Sequence[bytes]) -> None:
        for one, other in itertools.pairwise(names):
            if one >= other:
                raise SettingError(f"terms must be distinct and ascend bytewise, but {one!r} stands before {other!r}")
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def exact(self, term: bytes) -> int | None:
        """The id of this very term, if it is known."""
        place = bisect.bisect_left(self.names, term)
        return place if place < len(self.names) and self.names[place] == term else None

    def prefix(self, prefix: bytes, *, limit: int) -> list[int]:
        """The ids of terms that begin so, the shortest first, then in their order; the term itself is one of them."""
        start, end = self._range(prefix)
        shortest = np.argsort(self._lengths[start:end], kind="stable")[: max(limit, 0)]
        return [start + each for each in shortest.tolist()]

    def similar(self, term: bytes, *, threshold: float = 0.3, limit: int = 10) -> list[Likeness]:
        """The terms most alike by pg_trgm's similarity, then by fewest edits, then in their order.

        The threshold is compared as precisely as similarities are (`real`), so 7 of 10 is not below 0.7.
        """
        if not 0 < threshold <= 1:
            raise SettingError(f"a similarity threshold lies above 0 and up to 1, got {threshold!r}")
        text = term.decode("utf-8", "replace")
        wanted = trigrams_of(text)
        ids, found = self._candidates(wanted, threshold)
        if not len(ids) or limit <= 0:
            return []
        if len(ids) > limit:  # edits decide among equals only, so count them for nobody behind the last place
            last = np.partition(found, len(found) - limit)[len(found) - limit]
            ids, found = ids[found >= last], found[found >= last]
        distance = _edit_distance()
        ranked = sorted(
            (-alike, distance(text, self.names[known].decode("utf-8", "replace")), known)
            for known, alike in zip(ids.tolist(), found.tolist(), strict=True)
        )
        return [Likeness(known, -alike, edits) for alike, edits, known in ranked[:limit]]

    def expand(self, term: bytes, *, threshold: float = 0.3, limit: int = 10) -> list[Match]:
        """The term itself, then what begins with it, then what is spelled alike: at most `limit` of each."""
        if not term:
            return []
        text = term.decode("utf-8", "replace")
        exact = self.exact(term)
        begins = [each for each in self.prefix(term, limit=limit + 1) if each != exact][:limit]
        start, end = self._range(term)
        alikes = self.similar(term, threshold=threshold, limit=limit + end - start)
        return [
            *([] if exact is None else [Match(exact, "exact", 1.0)]),
            *(Match(each, "prefix", similarity(text, self.names[each].decode("utf-8", "replace"))) for each in begins),
            *[Match(each.id, "trigram", each.similarity) for each in alikes if not start <= each.id < end][:limit],
        ]

    def _range(self, prefix: bytes) -> tuple[int, int]:
        """The ids from the first to behind the last term that begins so."""
        start = bisect.bisect_left(self.names, prefix)
        return start, bisect.bisect_left(self.names, prefix + b"\xff", lo=start)  # 0xFF is in no UTF-8 text

    def _candidates(self, wanted: NDArray[np.int64], threshold: float) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ids of all terms that reach the threshold, and their similarities."""
        codes, offsets, ids, sizes = self._trigrams
        starts = offsets[np.searchsorted(codes, wanted, "left")].tolist()
        ends = offsets[np.searchsorted(codes, wanted, "right")].tolist()
        slices = [ids[start:end] for start, end in zip(starts, ends, strict=True)]
        shared = np.bincount(np.concatenate([*slices, ids[:0]]))
        # Both have at least as many trigrams together as the one has, so this few shared ones can't be enough.
        fewest = max(1, int(threshold * len(wanted) * 0.999))
        likely = np.flatnonzero(shared >= fewest)
        either = sizes[likely] + len(wanted) - shared[likely]
        alike = np.divide(shared[likely], either, dtype=np.float32)
        enough = alike >= np.float32(threshold)
        return likely[enough], alike[enough]

    @functools.cached_property
    def _lengths(self) -> NDArray[np.int32]:
        return np.fromiter(map(len, self.names), np.int32, len(self.names))

    @functools.cached_property
    def _trigrams(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Trigrams, where the ids of each begin and end, these ids, and how many trigrams each term has."""
        codes, offsets, ids = trigram_index(self.names)
        return codes, offsets, ids, np.bincount(ids, minlength=len(self.names)).astype(np.int32)


def _edit_distance() -> Callable[[str, str], int]:
    try:
        from rapidfuzz.distance import OSA
    except ImportError as error:
        raise MissingPartError(
            f"similar words are ranked with rapidfuzz; install it: {install(package='rapidfuzz')}"
        ) from error
    return OSA.distance
