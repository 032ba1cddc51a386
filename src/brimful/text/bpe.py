"""What does a byte-pair vocabulary count, in a whole text, in a slice, and in a sum of texts?"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, final
from unicodedata import category, normalize

from brimful.errors import MissingPartError, install
from brimful.text import joints as fitting
from brimful.text import token_tables
from brimful.text.joints import is_joint, last_joint, next_joint, words

if TYPE_CHECKING:
    from types import ModuleType

    from splintr import AnyTokenizer

    from brimful.native.tokens import TokenTable


# ---- contractions: Where does a word end in an apostrophe and a long s? Some patterns take that for an `'s`, and
# splintr does not.
#
# `(?i:'s|'t|…)` folds case as Unicode does, so that U+017F (long s) is an s; of the other letters of contractions none
# has a fold beyond ASCII. The patterns of o200k and Kimi take a contraction into the piece of the word before it, and
# what follows begins a new piece. Only words that hold such an apostrophe are looked at.

_LONG_S = "'\u017f"
"""What is looked for: an apostrophe and a long s."""

_CONTRACTION = re.compile("'(?:[sS\u017f]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])")
_HAN = re.compile(
    "[\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9"
    "\U00016fe2\U00016fe3\U00016ff0\U00016ff1\U00020000-\U000323af]"
)
_JOINED = " I"  # the one word that has a token together with the apostrophe after it


def _with_long_s(length: Callable[[str], int], *, han_apart: bool) -> Callable[[str], int]:
    """Wrap a count so that contractions with a long s belong to the word before them."""

    def count(text: str) -> int:
        if _LONG_S not in text:
            return length(text)
        total = 0
        plain: list[str] = []
        for word in words(text):  # cut before spaces, where every piece ends
            if _LONG_S in word:
                total += length("".join(plain)) + _count(word, length, han_apart=han_apart)
                plain = []
            else:
                plain.append(word)
        return total + length("".join(plain))

    return count


def _count(text: str, length: Callable[[str], int], *, han_apart: bool) -> int:
    total = start = position = 0
    while position < len(text):
        word = _word(text, position, han_apart=han_apart)
        contraction = _CONTRACTION.match(text, word) if word else None
        if contraction and contraction[0] == _LONG_S:
            prefix_tokens = length(text[start:position])
            if text[position - 1 : position].isspace() and not text[position].isspace() and start < position:
                prefix_tokens = length(f"{text[start:position]}1") - 1
            total += prefix_tokens + length(text[position:word]) + length(_LONG_S)
            total -= text[position:word] == _JOINED
            start = contraction.end()
        position = (contraction.end() if contraction else word) or _other(text, position, han_apart=han_apart)
    return total + (length(text[start:]) if start < len(text) else 0)


def _word(text: str, position: int, *, han_apart: bool) -> int:
    """The end of the word at `position`, which may begin with one other character; 0 if there is none."""
    has_prefix = text[position] not in "\r\n" and category(text[position])[0] not in "LN"
    starts = [position + 1, position] if has_prefix else [position]
    for least_lower in (True, False):
        for start in starts:
            if end := _run(text, start, han_apart=han_apart, least_lower=least_lower):
                return end
    return 0


def _run(text: str, start: int, *, han_apart: bool, least_lower: bool) -> int:
    """Upper-case letters, then lower-case ones, of which at least one is wanted, or at least one of the former."""
    end = start
    last_both = 0
    while end < len(text) and (kind := _class(text[end], han_apart)) in ("upper", "both"):
        end += 1
        last_both = end if kind == "both" else last_both
    upper = end
    while end < len(text) and _class(text[end], han_apart) in ("lower", "both"):
        end += 1
    if least_lower:
        return end if end > upper else last_both
    return end if upper > start else 0


def _other(text: str, position: int, *, han_apart: bool) -> int:
    """The end of a piece that is no word: a run of Han, up to three digits, punctuation or white space."""
    end = position
    if han_apart and _HAN.match(text[position]):
        while end < len(text) and _HAN.match(text[end]):
            end += 1
        return end
    if _class(text[position], han_apart) == "number":
        while end < min(len(text), position + 3) and _class(text[end], han_apart) == "number":
            end += 1
        return end
    end += text[position] == " " and position + 1 < len(text) and _is_sign(text[position + 1])
    if _is_sign(text[end]):
        while end < len(text) and _is_sign(text[end]):
            end += 1
        after = "\r\n" if han_apart else "\r\n/"
        while end < len(text) and text[end] in after:
            end += 1
        return end
    while end < len(text) and text[end].isspace():
        end += 1
    if newline := max(text.rfind("\n", position, end), text.rfind("\r", position, end)) + 1:
        return newline
    return end if end in (len(text), position + 1) else end - 1


def _is_sign(character: str) -> bool:
    return not character.isspace() and category(character)[0] not in "LN"


@lru_cache(maxsize=4096)
def _class(character: str, han_apart: bool) -> str:  # noqa: FBT001
    """How a pattern calls a character: `both` is what it takes for upper case as well as for lower case."""
    if han_apart and _HAN.match(character):
        return "han"
    kind = category(character)
    if kind in ("Lm", "Lo") or kind[0] == "M":
        return "both"
    return {"Lu": "upper", "Lt": "upper", "Ll": "lower"}.get(kind, "number" if kind[0] == "N" else "other")


# ---- bpe: What does a byte-pair vocabulary count, in a whole text, in a slice, and in a sum of texts?
#
# A slice or a sum is counted exactly without the whole, because tokens never cross a joint (`joints.py`): only
# the pieces between the ends and their nearest joints are tokenised, the rest is a difference of sums.

_AT_ONCE = 1 << 17  # characters whose tokens are listed at once, where a joint follows them
_STRIDE = 64  # characters between two kept joints of a prepared text
_REMEMBERED = 65_536  # short texts whose count is kept
_REMEMBERED_CHARACTERS = 1 << 21  # of all of them together
_SHORT = 4_096  # characters of a short text

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
        self._memory = _Memory(self._tokens_of_word if self._word_by_word else self.run)
        self._measured: tuple[str, _BpeMeasure | None] = ("", None)  # the last one
        # The count of `run`, cached for short texts.
        self.short_run: Callable[[str], int] = self.run if self._word_by_word else self._memory.__getitem__

    def __repr__(self) -> str:
        return f"BpeCounter({self.name!r})"

    @cached_property
    def _length(self) -> Callable[[str], int]:
        return _load(self.name)

    def count(self, text: str) -> int:
        """The tokens of a whole text."""
        try:
            if not self._word_by_word:  # where it stands makes no difference then
                return self._memory[text]
            first, *remaining = words(text)
            return self._length(first) + sum(map(self._memory.__getitem__, remaining))
        except UnicodeEncodeError:
            fitting.utf8(text)  # says where, as a DocumentError
            raise

    def run(self, text: str) -> int:
        """The tokens that a text adds after a joint."""
        if self._word_by_word:
            return sum(map(self._memory.__getitem__, words(text)))
        return self._length(text) if len(text) <= _AT_ONCE else sum(map(self._length, _parts(text)))

    def truncate(self, text: str, max_tokens: int, *, marker: str = "...") -> str:
        """The text if it fits, else its longest prefix that fits with the marker appended."""
        text = fitting.surely_too_long(self, text, max_tokens)
        return fitting.truncate(self, text, max_tokens, marker=marker)

    def prepare(self, text: str) -> _BpeText:
        """The text's joints, some 64 characters apart, with the tokens up to each."""
        return _BpeText(self, text)

    def measure(self, text: str) -> _BpeMeasure:
        """The text's ends up to their nearest joints, and the tokens between."""
        previous, measure = self._measured
        if text is previous and measure is not None:  # who asks for a bound first asks for all of it then
            return measure
        if not text.isascii():
            fitting.utf8(text)  # says where it can't be counted
        head, inside, tail = _cut_at_joints(text)
        measure = _BpeMeasure(self, head, self.short_run(inside) if inside else 0, tail)
        self._measured = text, measure
        return measure

    def measures(self, texts: Sequence[str]) -> list[_BpeMeasure]:
        """The measure of each text; what is between their joints is counted together."""
        for text in texts:
            text.isascii() or fitting.utf8(text)
        cuts = [_cut_at_joints(text) for text in texts]
        self._learn([inside for _, inside, _ in cuts])
        return [_BpeMeasure(self, head, self.short_run(inside), tail) for head, inside, tail in cuts]

    def _learn(self, texts: Iterable[str]) -> None:
        """Remember what `run` says of some texts, counted together."""
        if self._word_by_word or (table := table_of(self.name)) is None:
            return
        fresh = [text for text in dict.fromkeys(texts) if text not in self._memory and len(text) <= _SHORT]
        for text in fresh:
            tokens = table.count(text.encode())
            if tokens is not None:
                self._memory.keep(text, tokens)

    def row(self, pieces: Iterable[Any]) -> _BpeMeasure:
        """The measure of texts one after the other, of measures and of short texts that were not measured.

        >>> counter = BpeCounter("o200k_base")
        >>> counter.row(["Fills the con", counter.measure("text to the"), " brim."]).tokens
        8
        """
        head, inner, tail = "", 0, ""
        has_joint = False
        try:
            for piece in pieces:
                if type(piece) is str:
                    tail += piece
                    continue
                _, first, more, last = _in_parts(piece)
                if last is None:
                    tail += first
                elif has_joint:
                    inner += self.short_run(tail + first) + more
                    tail = last
                else:
                    has_joint, head, inner, tail = True, tail + first, more, last
        except UnicodeEncodeError:
            fitting.utf8(tail + first)
            raise
        return _BpeMeasure(self, head, inner, tail) if has_joint else self.measure(tail)

    def _tokens_of_word(self, word: str) -> int:
        return self._length(self._lead + word) - len(self._lead)


def _parts(text: str) -> Iterator[str]:
    """The text cut at joints, so that no more than some of it is held as tokens at once."""
    start = 0
    while len(text) - start > _AT_ONCE and (end := next_joint(text, start + _AT_ONCE)):
        yield text[start:end]
        start = end
    yield text[start:] if start else text


def _cut_at_joints(text: str) -> tuple[str, str, str | None]:
    """A text up to its first joint, from there to its last one, and from there on; all of it where it has none.

    >>> _cut_at_joints("to the brim"), _cut_at_joints("brimful")
    (('to', ' the', ' brim'), ('brimful', '', None))
    """
    start = next_joint(text)
    if not start:
        return text, "", None
    end = last_joint(text)
    return text[:start], text[start:end], text[end:]


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


_Parts = tuple[BpeCounter, str, int, str | None]
_in_parts: Callable[[Any], _Parts] = attrgetter("_counter", "_head", "_inner", "_tail")


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


class _Memory(dict[str, int]):
    """Counts of short texts, forgotten all at once when there are too many."""

    def __init__(self, count: Callable[[str], int]) -> None:
        super().__init__()
        self._count = count
        self._characters = 0

    def __missing__(self, text: str) -> int:
        tokens = self._count(text)
        if len(text) <= _SHORT:
            self.keep(text, tokens)
        return tokens

    def keep(self, text: str, tokens: int) -> None:
        """Remember what was counted of a short text."""
        self._characters += len(text)
        if len(self) >= _REMEMBERED or self._characters > _REMEMBERED_CHARACTERS:
            self.clear()
            self._characters = len(text)
        self[text] = tokens


@cache
def tokenizer_of(vocabulary: str) -> AnyTokenizer:
    """The tokenizer of a vocabulary, loaded once: it takes a tenth of a second, and its first text as much again."""
    try:
        tokenizer: AnyTokenizer = _splintr(vocabulary).Tokenizer.from_pretrained(vocabulary)
    except ValueError as error:
        raise MissingPartError(
            f"the installed splintr-rs has no vocabulary {vocabulary!r}; "
            f"run: {install(package='splintr-rs>=0.22,<0.23')}"
        ) from error
    return tokenizer


def _splintr(vocabulary: str) -> ModuleType:
    try:
        import splintr
    except ImportError as error:
        raise MissingPartError(
            f"counting {vocabulary!r} tokens needs the splintr-rs package ({error}); "
            f"run: {install(package='splintr-rs>=0.22,<0.23')}, or count with tokens_for('approximate')"
        ) from error
    return splintr


def _version_of_splintr(vocabulary: str) -> str:
    """Its version, by the folder that was installed with it: to load it for that takes longer than to count."""
    spec = find_spec("splintr")
    parent = Path(spec.origin).parent.parent if spec is not None and spec.origin else None
    names = [folder.name for folder in parent.glob("splintr_rs-*.dist-info")] if parent is not None else []
    if len(names) == 1:
        return names[0].removeprefix("splintr_rs-").removesuffix(".dist-info")
    return str(_splintr(vocabulary).__version__)


@cache
def table_of(vocabulary: str) -> TokenTable | None:
    """The tokens of a vocabulary as a kernel counts them, written down by the first process that needs them."""
    if vocabulary not in token_tables.CASED:
        return None
    path = token_tables.path_of(vocabulary, _version_of_splintr(vocabulary))
    if path is None:
        return None
    table = token_tables.read(path, is_cased=token_tables.CASED[vocabulary])
    if table is None:
        token_tables.write(path, tokenizer_of(vocabulary))
        table = token_tables.read(path, is_cased=token_tables.CASED[vocabulary])
    return table


def lowest_token(vocabulary: str, texts: Sequence[str]) -> int | None:
    """The lowest number of a token that one of the texts is; None where each of them is several.

    >>> lowest_token("o200k_base", [" brim", " brimful"]), lowest_token("o200k_base", [" brimful"])
    (156462, None)
    """
    table = table_of(vocabulary)
    numbers = table.single([text.encode() for text in texts]) if table is not None else None
    if numbers is None:
        encoded = [tokenizer_of(vocabulary).encode_ordinary(text) for text in texts]
        numbers = [tokens[0] for tokens in encoded if len(tokens) == 1]
    return min(numbers, default=None)


def _load(vocabulary: str) -> Callable[[str], int]:
    table = table_of(vocabulary)
    if table is None:
        return _by_tokenizer(vocabulary)
    slowly = cache(_by_tokenizer)

    def count(text: str) -> int:
        tokens = table.count(text.encode())
        return slowly(vocabulary)(text) if tokens is None else tokens

    return count


def _by_tokenizer(vocabulary: str) -> Callable[[str], int]:
    tokenizer = tokenizer_of(vocabulary)
    # encode() and its batch forms would turn text that looks like a special token into that token.
    encode = tokenizer.encode_ordinary
    if vocabulary in _WITH_TAGS:
        return _beside_tags(tokenizer)
    if vocabulary in _COMPOSED:
        return lambda text: len(encode(text if text.isascii() else normalize("NFC", text)))
    if vocabulary in _WITH_CONTRACTIONS:
        return _with_long_s(lambda text: len(encode(text)), han_apart=vocabulary.startswith("kimi"))
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
