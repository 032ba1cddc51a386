"""Similarity of spellings, and corrections of words that the corpus lacks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.search.query import Query
from brimful.search.terms import KNOWN, WordForms, Words, forms_of, is_known, place_of

# ---- similarity: How alike are two spellings?
#
# As alike as PostgreSQL's pg_trgm says (Standard 105 §3.2, ruling 12). A string's words are its runs of
# alphabetic characters and digits, in small letters; each word is padded with two blanks before and one after,
# and every three characters in a row are a trigram. The similarity of two strings is the share of trigrams that
# both have in all that either has.
#
#     word   →  "  w" " wo" "wor" "ord" "rd "
#     words  →  "  w" " wo" "wor" "ord" "rds" "ds "       4 of 7: 0.571
#
# pg_trgm keeps a trigram in three bytes: as it is when it is ASCII, else the low bytes of a checksum. Two
# trigrams can so become one, and we let them, in order to be equal. Equal means: a UTF-8 database with LC_CTYPE
# C.UTF-8 (or any locale with Unicode's letters but Turkish and its kin) and a Unicode version that agrees.

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


def similarity(first: str, second: str) -> float:
    """Similarity by pg_trgm: 0 to 1, as precise as its `real`; 0 when either has no trigrams.

    >>> similarity("word", "two words")
    0.3636363744735718
    >>> similarity("conciousness", "consciousness") > similarity("limerance", "limerence") > 0.3
    True
    >>> similarity("", ""), similarity("C", "C++"), similarity("50%", "50")
    (0.0, 1.0, 1.0)
    """
    mine, theirs = trigrams_of(first), trigrams_of(second)
    if not mine or not theirs:
        return 0.0
    shared = len(mine & theirs)
    return float(np.float32(shared) / np.float32(len(mine) + len(theirs) - shared))


def trigrams_of(text: str) -> set[bytes]:
    """The distinct trigrams of a string, three bytes each.

    >>> sorted(trigrams_of("Cat"))
    [b'  c', b' ca', b'at ', b'cat']
    """
    trigrams: set[bytes] = set()
    for word in "".join(map(_in_word, text)).split():
        if word.isascii():
            padded = f"  {word} ".encode()
            trigrams.update(padded[start : start + 3] for start in range(len(padded) - 2))
        else:
            marked = f"  {word} "
            trigrams.update(_packed(marked[start : start + 3]) for start in range(len(marked) - 2))
    return trigrams


@lru_cache(1 << 12)
def _in_word(char: str) -> str:
    """A character of a word in small letters, any other one as a blank."""
    category, code = unicodedata.category(char), ord(char)
    is_mark = category in ("Mn", "Mc") and code in _letters(_ALPHABETIC_MARKS)
    is_letter = category[0] == "L" or category in ("Nd", "Nl") or is_mark or code in _letters(_ALPHABETIC_SYMBOLS)
    return (
        char.lower()[0] if is_letter else " "
    )  # one by one, so a final sigma is a sigma; and capital i with a dot is i


@cache
def _letters(ranges: str) -> frozenset[int]:
    edges = (span.partition("-") for span in ranges.split())
    return frozenset(code for first, _, last in edges for code in range(int(first, 16), int(last or first, 16) + 1))


def _packed(trigram: str) -> bytes:
    """The three bytes of a trigram in pg_trgm: beyond ASCII by PostgreSQL's legacy CRC-32, a reversed table."""
    if trigram.isascii():
        return trigram.encode()
    table, checksum = _checksum_table(), 0xFFFFFFFF
    for byte in trigram.encode():
        checksum = table[checksum >> 24 ^ byte] ^ (checksum << 8 & 0xFFFFFFFF)
    return (checksum ^ 0xFFFFFFFF).to_bytes(4, "little")[:3]


@cache
def _checksum_table() -> tuple[int, ...]:
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ _POLYNOMIAL if value & 1 else value >> 1 for value in table]
    return tuple(table)


# ---- spellings: Which known words are a few edits away from this one?

_SHORTEST: Final = 3
_LONGEST: Final = 24
_LEAST_SIMILARITY: Final = np.float32(0.3)
"""pg_trgm's own threshold (ruling 12)."""
_FAR = 100  # edits


class _Spelling(NamedTuple):
    """A known word that is spelled alike."""

    term: bytes
    similarity: float
    distance: int  # edits: insert, delete, replace, or swap two neighbours


class Spellings:
    """The words of 3 to 24 letters of a vocabulary, found by their spelling.

    >>> spellings = Spellings([b"conscience", b"consciousness", b"limerence", b"limerick"])
    >>> spellings.near("limerance", edits=2)
    [_Spelling(term=b'limerence', similarity=0.5384615659713745, distance=1)]
    """

    def __init__(self, names: Iterable[bytes] | bytes) -> None:
        """Take words, or one text with a word on each line; either way sorted."""
        self._lines = b"\n%b\n" % (names if isinstance(names, bytes) else b"\n".join(names)).strip(b"\n")

    def near(self, word: str, *, edits: int) -> list[_Spelling]:
        """The similar words at most `edits` edits away, the most similar first, then fewest edits, then by name.

        A word with another first letter is one letter away. The word itself is not among them.
        """
        known = np.array([*self._beginning(word[:1]), *self._other_beginning(word)])
        sizes = np.char.str_len(known) if len(known) else np.zeros(0, np.int64)
        spelled = []
        for size in range(max(_SHORTEST, len(word) - edits), min(_LONGEST, len(word) + edits) + 1):
            names = known[sizes == size].astype(f"<U{size}")
            distances = _edits_to(word, names.view("<u4").reshape(len(names), size), most=edits)
            for place in np.flatnonzero((distances > 0) & (distances <= edits)).tolist():
                name = str(names[place])
                if name.isalpha():
                    spelled.append(_Spelling(name.encode(), similarity(word, name), int(distances[place])))
        alike = [spelling for spelling in spelled if np.float32(spelling.similarity) >= _LEAST_SIMILARITY]
        return sorted(alike, key=lambda spelling: (-spelling.similarity, spelling.distance, spelling.term))

    def _beginning(self, prefix: str) -> list[str]:
        """The words with a prefix."""
        mark = b"\n" + prefix.encode()
        last = self._lines.rfind(mark)
        if last < 0:
            return []
        text = self._lines[self._lines.index(mark) + 1 : self._lines.index(b"\n", last + 1)]
        return text.decode("utf-8", "replace").split("\n")

    def _other_beginning(self, word: str) -> Iterator[str]:
        """The words that are this one with another first letter, or with one more or less."""
        ending, place = word[1:].encode() + b"\n", -1
        while (place := self._lines.find(ending, place + 1)) >= 0:
            name = self._lines[self._lines.rindex(b"\n", 0, place + 1) + 1 : place + len(ending) - 1].decode()
            if name[:1] != word[:1] and name in (word[1:], name[:1] + word[1:], name[:1] + word):
                yield name


def _edits_to(word: str, names: NDArray[np.uint32], *, most: int) -> NDArray[np.uint8]:
    """The edits from a word to each of some names of one length, given as rows of code points; many where above `most`.

    >>> _edits_to("tae", np.array([[*map(ord, "tea")], [*map(ord, "toe")], [*map(ord, "pot")]], np.uint32), most=2)
    array([1, 1, 3], dtype=uint8)
    """
    letters, size = [*map(ord, word)], names.shape[1]
    columns = np.full((3, size + 1, len(names)), _FAR, np.uint8)  # the last three rows of the table of edits
    columns[0] = np.arange(size + 1, dtype=np.uint8)[:, None]
    for row, letter in enumerate(letters, start=1):
        now, last, second = columns[row % 3], columns[(row - 1) % 3], columns[(row - 2) % 3]
        now[:] = _FAR
        now[0] = row
        for at in range(max(1, row - most), min(size, row + most) + 1):
            is_equal = names[:, at - 1] == letter
            now[at] = np.minimum(np.minimum(last[at], now[at - 1]) + 1, last[at - 1] + ~is_equal)
            if row > 1 and at > 1:
                is_swap = (names[:, at - 2] == letter) & (names[:, at - 1] == letters[row - 2])
                now[at] = np.minimum(now[at], np.where(is_swap, second[at - 2] + 1, _FAR))
    edits: NDArray[np.uint8] = columns[len(letters) % 3][size]
    return edits


# ---- repair: Which word was meant by one that the corpus does not have?
#
# One that begins with it, then two neighbours swapped or a word spelled alike (pg_trgm's similarity of at least 0.3,
# few edits), or a word that a blank has torn apart (Standard 105 §3, rulings 12 and 21). Repair is gated: it never
# touches a word that the corpus has, in any of its forms, nor one that is common in some language, and what is found
# counts less than the word itself.

How = Literal["swap", "spelling", "prefix", "joined"]

MOST_CORRECTIONS: Final = 3
"""For one word, of each tier."""
MOST_WORDS: Final = 32
"""How many words of a question are repaired, the first ones."""
_LEAST_LETTERS = 4
_MIDDLING, _LONG = 6, 8  # letters
_OTHER_INITIAL = 7  # letters; attested misspellings of shorter words begin like the right one
_COMPLETED = 5  # letters of a word that may be the beginning of any other
_LEAST_COMPLETED = 3
_EVERYDAY = 20_000  # a four-letter word before this place in the vocabulary is no typo
_SHORT_BY = 4  # letters that a shorter beginning lacks at most
_LONG_EDITS = 2
_LEAST_SIMILARITY_OF_TWO_EDITS = 0.4
_LOOKED_UP = 64  # candidates whose occurrences are counted
_WEIGHTS = {1: (650, 800, 900), 2: (550, 550, 550)}  # by edits; for short, middling and long words
_COMPLETION = 500
THOUSAND: Final = 1_000
_SHARES = ((1, 1), (2, 3), (1, 2))  # of the first, second and third candidate


@dataclass(frozen=True, slots=True)
class Correction:
    """A known term that was probably meant, and why. It goes into the receipt."""

    word: bytes  # as the question has it; two words with a blank between them if they were joined
    term: bytes
    how: How
    similarity: float
    distance: int  # edits
    weight: int  # thousandths, to be multiplied with the weight that the corrected term has by its own rarity


def corrections(
    query: Query,
    words: Words,
    spellings: Callable[[], Spellings],
    *,
    languages: Sequence[str] = (),
    forms: Sequence[WordForms] | None = None,
) -> tuple[Correction, ...]:
    """The corrections of all words of a question that need one, in the question's order.

    `spellings` is called only if a word needs it. Words in quotes, and parts of longer terms, are never corrected.
    `forms` are the forms of the question's terms, if they were computed already.

    >>> from brimful.search.query import parse_query
    >>> from brimful.search.terms import CountedWords
    >>> words = CountedWords({b"consciousness": 4, b"machine": 9, b"limerence": 1})
    >>> known = Spellings(words.names(b""))
    >>> for each in corrections(parse_query("conciousness machine limerance"), words, lambda: known):
    ...     print(each.word.decode(), each.term.decode(), each.how, each.distance, each.weight)
    conciousness consciousness spelling 1 900
    limerance limerence spelling 1 900
    """
    quoted = {term for phrase in query.phrases for term in phrase}
    forms_by_words = {word_forms.words: word_forms.forms for word_forms in forms or ()}
    strange: list[bytes] = []
    for term in query.terms:
        if term.is_part or term.is_prefix or term.term in quoted or not _can_be_completed(term.term):
            continue
        stands_for = forms_by_words.get((term.term,))
        if stands_for is None:
            stands_for = forms_of(term, words, languages=languages)
        if not any(words.census(form.terms[0]) for form in stands_for if len(form.terms) == 1):
            strange.append(term.term)
    repairs: list[Correction] = []
    hopeless: set[bytes] = set()
    for word in strange[:MOST_WORDS]:
        repaired = repair(word, words, spellings())
        repairs += repaired
        if not repaired:
            hopeless.add(word)
    for first, second in query.neighbours:
        if first in hopeless or second in hopeless:
            repairs += _rejoined(first, second, words, spellings())
    return tuple(repairs)


def repair(word: bytes, words: Words, spellings: Spellings) -> tuple[Correction, ...]:
    """The probable corrections of a word, tier by tier; none if the corpus has it (105 §3, ruling 21).

    First the words that begin with it, then similar spellings, which displace no completion and
    count no more than one. A common word of some language is spelled correctly, so it is only completed.
    """
    if words.census(word) or not _can_be_completed(word):
        return ()
    text = word.decode()
    least = 1 if len(text) >= _MIDDLING else 2
    ranked: list[tuple[int, int, float, bytes, How]] = []
    for spelling, how in _candidates(text, spellings, words) if _can_be_misspelt(word) and not is_known(word) else ():
        common = words.census(spelling.term)
        if common >= least:
            ranked.append((spelling.distance, -common, -spelling.similarity, spelling.term, how))
    # A swap is one edit, but the commonest slip of all; then fewest edits, and of these the commonest word.
    ranked.sort(key=lambda candidate: (candidate[4] != "swap", *candidate))
    alike = [
        Correction(word, term, how, -likeness, distance, _weight(len(text), distance, place))
        for place, (distance, _, likeness, term, how) in enumerate(ranked[:MOST_CORRECTIONS])
    ]
    weights = {correction.term: correction.weight for correction in alike}
    begun = [] if _is_short_word(word) else _completions(word, words, weights, least=least)[:MOST_CORRECTIONS]
    limit = min((correction.weight for correction in begun), default=THOUSAND)
    completed = {correction.term for correction in begun}
    return (
        *begun,
        *(
            replace(correction, weight=min(correction.weight, limit))
            for correction in alike
            if correction.term not in completed
        ),
    )


def _can_be_completed(word: bytes) -> bool:
    """Whether it may be the beginning of a word: three letters do."""
    text = word.decode("utf-8", "replace")
    return _LEAST_COMPLETED <= len(text) <= _LONGEST and text.isalpha()


def _is_short_word(word: bytes) -> bool:
    """Whether it is too short to be completed because everybody knows it as it is."""
    place, letters = place_of(word), len(word.decode("utf-8", "replace"))
    if letters >= _COMPLETED or place is None:
        return False
    return place < (KNOWN if letters < _LEAST_LETTERS else _EVERYDAY)


def _can_be_misspelt(word: bytes) -> bool:
    """Numbers, codes, short words and very long ones are taken at their word."""
    text = word.decode("utf-8", "replace")
    return _LEAST_LETTERS <= len(text) <= _LONGEST and text.isalpha()


def _candidates(text: str, spellings: Spellings, words: Words) -> Iterable[tuple[_Spelling, How]]:
    """Known words that are a slip away: swaps, then those alike within the edits that a word of this length may have.

    pg_trgm sees little likeness in a swap (`foucs`, `focus`: 0.2), so each swap is looked up.
    """
    swapped = {
        text[:position] + text[position + 1] + text[position] + text[position + 2 :]
        for position in range(len(text) - 1)
    } - {text}
    for name in sorted(swapped):
        if words.census(name.encode()):
            yield _Spelling(name.encode(), similarity(text, name), 1), "swap"
    edits = _LONG_EDITS if len(text) >= _LONG else 1
    near = (spelling for spelling in spellings.near(text, edits=edits) if spelling.term.decode() not in swapped)
    # Spellings may know words that are no longer in the corpus: they take nobody's place.
    plausible = (spelling for spelling in near if _is_plausible(text, spelling) and words.census(spelling.term))
    yield from ((spelling, "spelling") for spelling in islice(plausible, _LOOKED_UP))


def _is_plausible(text: str, spelling: _Spelling) -> bool:
    """Whether a misspelling is like attested ones: short words lose a letter, and the first is seldom wrong."""
    name = spelling.term.decode()
    if spelling.distance > 1 and spelling.similarity < _LEAST_SIMILARITY_OF_TWO_EDITS:
        return False
    if name[0] != text[0] and (spelling.distance > 1 or len(text) < _OTHER_INITIAL):
        return False
    if len(text) == _LEAST_LETTERS:
        return len(name) > len(text)
    return len(text) >= _MIDDLING or len(name) >= len(text)


def _weight(letters: int, distance: int, place: int) -> int:
    """Short words are alike by chance, so they count less; and each further candidate less than the one before.

    >>> _weight(12, 1, 0), _weight(5, 1, 0), _weight(12, 2, 1)
    (900, 650, 366)
    """
    kind = (letters >= _MIDDLING) + (letters >= _LONG)
    numerator, denominator = _SHARES[place]
    return _WEIGHTS[min(distance, _LONG_EDITS)][kind] * numerator // denominator


def _completions(word: bytes, words: Words, alike: Mapping[bytes, int], *, least: int) -> list[Correction]:
    """The commonest words with this prefix among the shortest; similar spellings keep the higher weight.

    A short beginning fits many words: what it was meant for is not much longer, and more than one place has it.
    """
    text = word.decode()
    is_short = len(text) < _COMPLETED
    nearest = sorted(words.names(word), key=lambda name: (len(name), name))[:_LOOKED_UP]
    counted = sorted((-words.census(name), name) for name in nearest if name.isalpha())
    return [
        Correction(
            word,
            name,
            "prefix",
            similarity(text, name.decode()),
            len(name.decode()) - len(text),
            max(alike.get(name, 0), _COMPLETION),
        )
        for count, name in counted
        if -count >= least and not (is_short and len(name.decode()) - len(text) > _SHORT_BY)
    ]


def _rejoined(first: bytes, second: bytes, words: Words, spellings: Spellings) -> list[Correction]:
    """The one word that two neighbours were, of which the corpus lacks at least one: `con ciousness`."""
    joined = first + second
    if len(joined.decode("utf-8", "replace")) < _LONG or not _can_be_misspelt(joined) or words.census(joined):
        return []
    alike = [
        correction
        for correction in repair(joined, words, spellings)
        if correction.how != "prefix" and correction.distance == 1
    ]
    return [
        Correction(
            first + b" " + second,
            correction.term,
            "joined",
            correction.similarity,
            correction.distance + 1,
            correction.weight,
        )
        for correction in alike[:1]
    ]
