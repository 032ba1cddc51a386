"""What does a byte-pair vocabulary count, in a whole text, in a slice, and in a sum of texts?"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, final
from unicodedata import category, normalize

from brimful.text import joints as fitting
from brimful.text.joints import is_joint, last_joint, next_joint, words

if TYPE_CHECKING:
    from splintr import AnyTokenizer


# ---- contractions: Where does a word end in an apostrophe and a long s? Some patterns take that for an `'s`, and
# splintr does not.
#
# `(?i:'s|'t|…)` folds case as Unicode does, so that U+017F (long s) is an s; of the other letters of contractions none
# has a fold beyond ASCII. The patterns of o200k and Kimi take a contraction into the piece of the word before it, and
# what follows begins a new piece. Words that hold such an apostrophe are cut by the pattern itself, over one letter
# for the class of each character: U and L for case, B for letters of both, M for marks, N for numbers, H and R for Han.

_LONG_S = "'\u017f"
_JOINED = " I"  # the one word that has a token together with the apostrophe after it
_CONTRACTION = re.compile("'(?:[sS\u017f]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])")
_CLASSES = {"Lu": "U", "Lt": "U", "Ll": "L", "Lm": "B", "Lo": "B", "M": "M", "N": "N"}
_NO_BLANKS = "\x1c\x1d\x1e\x1f"  # to Python they are
_HAN = re.compile(
    "[\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9"
    "\U00016fe2\U00016fe3\U00016ff0\U00016ff1\U00020000-\U000323af]"
)
_PIECES = re.compile(
    r"[HR]+|(?P<word>[^ULBNH\n]?[UBM]*[LBM]+|[^ULBNH\n]?[UBM]+[LBM]*)|N{1,3}"
    r"| ?[^\sULBNH]+[\n/]*|\s*\n+|\s+(?!\S)|\s+"
)


def _with_long_s(length: Callable[[str], int], *, is_kimi: bool) -> Callable[[str], int]:
    """Wrap a count so that contractions with a long s belong to the word before them."""

    def count(text: str) -> int:
        if _LONG_S not in text:
            return length(text)
        total = 0
        plain: list[str] = []
        for word in words(text):  # cut before spaces, where every piece ends
            if _LONG_S in word:
                total += length("".join(plain)) + sum(map(length_of_piece, _pieces(word, is_kimi=is_kimi)))
                plain = []
            else:
                plain.append(word)
        return total + length("".join(plain))

    def length_of_piece(piece: str) -> int:
        before = piece.removesuffix(_LONG_S)
        if before in ("", piece):
            return length(piece)
        return length(before) + length(_LONG_S) - (before == _JOINED)

    return count


def _pieces(text: str, *, is_kimi: bool) -> Iterator[str]:
    """The pieces that the pattern of o200k, or of Kimi, cuts a text into.

    >>> list(_pieces("It'\u017fthe1234!", is_kimi=False))
    ["It'\u017f", 'the', '123', '4', '!']
    """
    classes = "".join(_class(character, is_kimi) for character in text)
    start = 0
    while piece := _PIECES.match(classes, start):
        end = piece.end()
        if piece["word"] and (contraction := _CONTRACTION.match(text, end)):
            end = contraction.end()
        yield text[start:end]
        start = end


@lru_cache(maxsize=4096)
def _class(character: str, is_kimi: bool) -> str:  # noqa: FBT001
    """One letter for what a pattern takes a character for; signs after which line breaks belong to a piece are kept."""
    kind = category(character)
    if is_kimi and _HAN.match(character):
        return "H" if kind[0] in "LN" else "R"
    if character.isspace() and character not in _NO_BLANKS:
        return "\n" if character in "\r\n" else " " if character == " " else "\t"
    if character == "/" and not is_kimi:
        return "/"
    return _CLASSES.get(kind) or _CLASSES.get(kind[0], ".")


# ---- bpe: What does a byte-pair vocabulary count, in a whole text, in a slice, and in a sum of texts?
#
# A slice or a sum is counted exactly without the whole, because tokens never cross a joint (`joints.py`): only
# the pieces between the ends and their nearest joints are tokenised, the rest is a difference of sums.

_AT_ONCE = 1 << 17  # characters whose tokens are listed at once, where a joint follows them
_STRIDE = 64  # characters between two kept joints of a prepared text
_REMEMBERED = 8_192  # short texts whose count is kept
_SHORT = 256  # characters of a short text

# These put a space before the text, so a text that follows a joint is counted after a letter instead.
_SPACE_FIRST = frozenset({"llama2", "codellama", "mistral_v1", "mistral_v2"})
# These have no pre-tokeniser and take ten times as long over a text as over its words.
_WORD_BY_WORD = _SPACE_FIRST | {"gemma2", "gemma3", "gemma4"}
# In these, SentencePiece's user-defined symbols include some HTML tags: each is one token of ordinary text.
_WITH_TAGS = frozenset({"gemma2", "gemma3"})
_LAST_TAG = 260
# These compose characters before anything else, which splintr leaves to the caller.
_COMPOSED = frozenset({"qwen3"})
# These take contractions into the word before them; a long s is an s in them, which splintr leaves to the caller.
_WITH_CONTRACTIONS = frozenset({"o200k_base", "kimi_k2", "kimi_k3"})


@final
class BpeCounter:
    """The tokens of a byte-pair vocabulary that splintr carries, loaded at the first count.

    >>> counter = BpeCounter("o200k_base")
    >>> counter.count("Fills the context to the brim.")
    8
    >>> (counter.measure("Fills the con") + counter.measure("text to the brim.")).tokens
    8
    >>> counter.prepare("Fills the context to the brim.").count(6, 17)
    2
    """

    exact = True

    def __init__(self, vocabulary: str) -> None:
        self.name = vocabulary
        self._lead = "a" if vocabulary in _SPACE_FIRST else ""
        self._word_by_word = vocabulary in _WORD_BY_WORD
        count = self._tokens_of_word if self._word_by_word else self.run
        self._remembered = lru_cache(_REMEMBERED)(count)

    def __repr__(self) -> str:
        return f"BpeCounter({self.name!r})"

    @cached_property
    def _length(self) -> Callable[[str], int]:
        return _load(self.name)

    def count(self, text: str) -> int:
        """The tokens of a whole text."""
        try:
            if not self._word_by_word:  # where it stands makes no difference then
                return self.short_run(text)
            first, *remaining = words(text)
            return self._length(first) + sum(map(self._word, remaining))
        except UnicodeEncodeError:
            fitting.utf8(text)  # says where, as a DocumentError
            raise

    def run(self, text: str) -> int:
        """The tokens that a text adds after a joint."""
        if self._word_by_word:
            return sum(map(self._word, words(text)))
        if len(text) <= _AT_ONCE:
            return self._length(text)
        tokens = sum(map(self._length, _parts(text)))
        tokenizer_of(self.name).clear_cache()  # of words that no other text may have
        return tokens

    def short_run(self, text: str) -> int:
        """The tokens that a text adds after a joint, remembered if it is short."""
        return self._remembered(text) if len(text) <= _SHORT and not self._word_by_word else self.run(text)

    def truncate(self, text: str, max_tokens: int, *, marker: str = "...") -> str:
        """The text if it fits, else its longest prefix that fits with the marker appended."""
        text = fitting.surely_too_long(self, text, max_tokens)
        return fitting.truncate(self, text, max_tokens, marker=marker)

    def prepare(self, text: str) -> _BpeText:
        """The text's joints, some 64 characters apart, with the tokens up to each."""
        return _BpeText(self, text)

    def measure(self, text: str) -> _BpeMeasure:
        """The text's ends up to their nearest joints, and the tokens between."""
        if not text.isascii():
            fitting.utf8(text)  # says where it can't be counted
        start = next_joint(text)
        if not start:
            return _BpeMeasure(self, text, 0, None)
        end = last_joint(text)
        return _BpeMeasure(self, text[:start], self.short_run(text[start:end]) if start < end else 0, text[end:])

    def _word(self, word: str) -> int:
        return self._remembered(word) if len(word) <= _SHORT else self._tokens_of_word(word)

    def _tokens_of_word(self, word: str) -> int:
        return self._length(self._lead + word) - len(self._lead)


def _parts(text: str) -> Iterator[str]:
    """The text cut at joints, so that no more than some of it is held as tokens at once."""
    start = 0
    while len(text) - start > _AT_ONCE and (end := next_joint(text, start + _AT_ONCE)):
        yield text[start:end]
        start = end
    yield text[start:] if start else text


@final
class _BpeMeasure:
    """A text as its head up to a joint, the tokens from there to a later joint, and its tail.

    Without a joint there is no tail. Adding re-reads only the tail of the one and the head of the other.
    """

    __slots__ = ("_counter", "_head", "_inner", "_tail", "_tokens")

    def __init__(self, counter: BpeCounter, head: str, inner: int, tail: str | None) -> None:
        self._counter = counter
        self._head = head
        self._inner = inner
        self._tail = tail
        self._tokens: int | None = None

    @property
    def inner(self) -> int:
        """The tokens between the first and last joint, which no surrounding text changes."""
        return self._inner

    @property
    def tokens(self) -> int:
        """The tokens of the whole text."""
        if self._tokens is None:
            self._tokens = self._count()
        return self._tokens

    def __add__(self, following: _BpeMeasure) -> _BpeMeasure:
        if type(following) is not _BpeMeasure or following._counter is not self._counter:
            return NotImplemented
        counter, tail = self._counter, following._tail
        if self._tail is not None and tail is not None:  # most have joints
            inner = self._inner + counter.short_run(self._tail + following._head) + following._inner
            return _BpeMeasure(counter, self._head, inner, tail)
        if not following._head:
            return self
        if not self._head:
            return following
        inner = self._inner + following._inner
        # Neither a head nor a tail has a joint inside: where they meet is the only place for one.
        if self._tail is None:
            if not is_joint(self._head[-1] + following._head[0]):
                return _BpeMeasure(counter, self._head + following._head, inner, tail)
            if tail is None:
                return _BpeMeasure(counter, self._head, inner, following._head)
            return _BpeMeasure(counter, self._head, inner + counter.short_run(following._head), tail)
        if is_joint(self._tail[-1] + following._head[0]):
            return _BpeMeasure(counter, self._head, inner + counter.short_run(self._tail), following._head)
        return _BpeMeasure(counter, self._head, inner, self._tail + following._head)

    def _count(self) -> int:
        # A head begins the text, so it is counted as a separate text.
        tokens = self._counter.count(self._head) + self._inner
        return tokens + self._counter.short_run(self._tail) if self._tail else tokens


@final
class _BpeText:
    """A text with the byte offsets of some joints and the tokens up to each: a slice counts only its ends."""

    __slots__ = ("_counter", "_joints", "_raw", "_upto")

    def __init__(self, counter: BpeCounter, text: str) -> None:
        self._counter = counter
        self._raw = fitting.utf8(text)
        self._joints = array("q", [0])
        self._upto = array("q", [0])
        single_bytes = len(self._raw) == len(text)
        position = offset = tokens = 0
        while position < len(text):
            end = next_joint(text, position + _STRIDE) or len(text)
            piece = text[position:end]
            offset += len(piece) if single_bytes else len(piece.encode())
            tokens += counter.run(piece)
            self._joints.append(offset)
            self._upto.append(tokens)
            position = end

    def count(self, start: int, end: int) -> int:
        """The tokens of the slice `[start, end)`."""
        fitting.check_slice(self._raw, start, end)
        # Even a slice that begins on a joint has its first piece counted as the start of a text.
        first = bisect_right(self._joints, start)
        last = bisect_right(self._joints, end) - 1
        if last < first:
            return self._counter.count(self._raw[start:end].decode())
        head = self._counter.count(self._raw[start : self._joints[first]].decode())
        tail = self._raw[self._joints[last] : end].decode()
        return head + self._upto[last] - self._upto[first] + (self._counter.short_run(tail) if tail else 0)

    def fit(self, start: int, max_tokens: int) -> int:
        """The largest end, on a code point, at which the slice from `start` still fits."""
        fitting.check_slice(self._raw, start, len(self._raw))
        if start == len(self._raw):
            return start
        counter, joints, upto = self._counter, self._joints, self._upto
        first = bisect_right(joints, start)
        piece = self._raw[start : joints[first]].decode()
        room = max_tokens - counter.count(piece)
        if room < 0:
            return start + len(fitting.longest(counter.count, piece, max_tokens).encode())
        last = bisect_right(upto, upto[first] + room) - 1
        if last == len(joints) - 1:
            return len(self._raw)
        room -= upto[last] - upto[first]
        piece = self._raw[joints[last] : joints[last + 1]].decode()
        return joints[last] + len(fitting.longest(counter.short_run, piece, room).encode())


@cache
def tokenizer_of(vocabulary: str) -> AnyTokenizer:
    """The tokenizer of a vocabulary, loaded once: it takes a tenth of a second, and its first text as much again."""
    import splintr

    tokenizer: AnyTokenizer = splintr.Tokenizer.from_pretrained(vocabulary)
    return tokenizer


def lowest_token(vocabulary: str, texts: Sequence[str]) -> int | None:
    """The lowest number of a token that one of the texts is; None where each of them is several.

    >>> lowest_token("o200k_base", [" brim", " brimful"]), lowest_token("o200k_base", [" brimful"])
    (156462, None)
    """
    encoded = map(tokenizer_of(vocabulary).encode_ordinary, texts)
    return min((tokens[0] for tokens in encoded if len(tokens) == 1), default=None)


def _load(vocabulary: str) -> Callable[[str], int]:
    tokenizer = tokenizer_of(vocabulary)
    # encode() and its batch forms would turn text that looks like a special token into that token.
    encode = tokenizer.encode_ordinary
    if vocabulary in _WITH_TAGS:
        return _beside_tags(tokenizer)
    if vocabulary in _COMPOSED:
        return lambda text: len(encode(text if text.isascii() else normalize("NFC", text)))
    if vocabulary in _WITH_CONTRACTIONS:
        return _with_long_s(lambda text: len(encode(text)), is_kimi=vocabulary.startswith("kimi"))
    return lambda text: len(encode(text))


def _beside_tags(tokenizer: AnyTokenizer) -> Callable[[str], int]:
    early = (tokenizer.decode_token_bytes(token).decode(errors="replace") for token in range(_LAST_TAG))
    names = [token for token in early if re.fullmatch(r"</?(?!unused|mask|2mass)[a-z]+[1-6]?>", token)]
    tag = re.compile("|".join(names))
    encode = tokenizer.encode_ordinary

    def length(text: str) -> int:
        if "<" not in text:
            return len(encode(text))
        between = tag.split(text)
        return len(between) - 1 + sum(len(encode(part)) for part in between if part)

    return length
