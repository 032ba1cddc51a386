"""Where can a text be cut so that the tokens of its parts add up, and which prefix of it fits?"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from brimful.errors import BudgetError, DocumentError, SpanError
from brimful.text.spans import back_to_code_point

if TYPE_CHECKING:
    from brimful.text.tokens import TokenCounter


# ---- joints: Where can a text be cut so that the tokens of its parts add up?
#
# At a *joint*: a place that no token of any vocabulary here can cross, so that what is left and right of it is
# tokenised independently. A joint lies after a visible character and before a space, and after a letter and
# before a newline, a digit or closing punctuation.
#
# The vocabularies with a pre-tokeniser split there by their pattern, whatever follows; for the others
# `tests/text/test_joints.py` reads the vocabulary and finds no token that holds such a pair. The pairs left out
# are left out for a reason: `>` and a space meet in Gemma's token `> </`, U+2581 is the space itself in the
# SentencePiece vocabularies, and `h` and a digit meet in Gemma's `<h1>`.

# Letters by explicit ranges, so that a newer Unicode in Python than in the vocabulary's tables can't matter.
LETTER = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1ea0-\u1ef9"  # Latin
    "\u0388-\u038a\u038e-\u03a1\u03a3-\u03ce\u0400-\u0481\u048a-\u052f"  # Greek, Cyrillic
    "\u0561-\u0586\u05d0-\u05ea\u0621-\u063a\u0641-\u064a"  # Armenian, Hebrew, Arabic
    "\u0905-\u0939\u0e01-\u0e30"  # Devanagari, Thai
    "\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"  # Kana, Han, Hangul
)
AFTER_LETTER = r"\n0-9,.;:!?)\]}\"、。，；：！？」）"
BEFORE_SPACE = r"[^\s\u2581>]"
# The character before a joint, and all text up to the last one.
_JOINT = re.compile(rf"{BEFORE_SPACE}(?= )|(?!h[0-9])[{LETTER}](?=[{AFTER_LETTER}])")
_LAST = re.compile(rf"(?s:.*)(?:{_JOINT.pattern})")
_WORD = re.compile(r" *[^ ]*(?:(?<=[\s\u2581>]) +[^ ]*)*")


def next_joint(text: str, position: int = 0) -> int:
    """The offset of the first joint, at least one character after `position`; 0 if there is none.

    >>> next_joint("to the brim"), next_joint("brimful")
    (2, 0)
    """
    joint = _JOINT.search(text, position)
    return joint.end() if joint else 0


def last_joint(text: str) -> int:
    """The offset of the last joint; 0 if there is none.

    >>> last_joint("to the brim")
    6
    """
    joint = _LAST.match(text)
    return joint.end() if joint else 0


@lru_cache(maxsize=4_096)
def is_joint(pair: str) -> bool:
    """Whether a joint lies between two characters: those around it decide alone.

    >>> is_joint("o "), is_joint("br")
    (True, False)
    """
    return next_joint(pair) == 1


def words(text: str) -> list[str]:
    """The text cut at every joint before a space.

    >>> words("to  the brim > <")
    ['to', '  the', ' brim', ' > <', '']
    """
    return _WORD.findall(text)


# ---- fitting: Which prefix of a text fits?

_REACH = 16  # characters that a search looks beyond the first prefix that does not fit
_LOOSE = 64  # bytes before the cut that are measured together with the marker


def longest(cost: Callable[[str], int], text: str, max_tokens: int) -> str:
    """The longest prefix found that fits: halving, then a walk, as a character more may be a token less.

    >>> longest(len, "brimful", 4)
    'brim'
    """
    fits, fails = 0, len(text) + 1
    guess = 4 * max(max_tokens, 0) + _REACH
    while guess < len(text) and cost(text[:guess]) <= max_tokens:
        fits, guess = guess, 2 * guess
    fails = min(fails, guess + 1)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if cost(text[:middle]) <= max_tokens:
            fits = middle
        else:
            fails = middle
    end = fits
    while (end := end + 1) <= min(fits + _REACH, len(text)):
        if cost(text[:end]) <= max_tokens:
            fits = end
    return text[:fits]


def truncate(counter: TokenCounter, text: str, max_tokens: int, *, marker: str) -> str:
    """The longest fitting prefix, trailing white space cut, then the marker (CFS §4, the marker included)."""
    if max_tokens < 0:
        raise BudgetError(f"a text can't be cut to {max_tokens} tokens; give 0 or more")
    if counter.count(text) <= max_tokens:
        return text
    prepared, raw = counter.prepare(text), text.encode()
    limit = prepared.fit(0, max_tokens)
    marker_tokens = counter.count(marker)
    if marker_tokens > max_tokens:
        return raw[:limit].decode()
    # The last characters are tried one by one, since a token may reach from the text into the marker.
    sure = min(limit, prepared.fit(0, max_tokens - marker_tokens))
    prefix = raw[: back_to_code_point(raw, max(sure - _LOOSE, 0))].decode().rstrip()
    measured = counter.measure(prefix)
    loose = raw[:limit].decode()[len(prefix) :]
    for end in range(len(loose), -1, -1):
        ending = loose[:end].rstrip() + marker
        if (measured + counter.measure(ending)).tokens <= max_tokens:
            return prefix + ending
    return truncate(counter, prefix, max_tokens, marker=marker)


def surely_too_long(counter: TokenCounter, text: str, max_tokens: int) -> str:
    """A prefix of a long text that can't fit, if there is one: what follows a joint only adds tokens."""
    size = 16 * max(max_tokens, 0) + 256
    while size < len(text):
        head = text[: last_joint(text[:size])]
        if counter.count(head) > max_tokens:
            return head
        size *= 4
    return text


def check_slice(raw: bytes, start: int, end: int) -> None:
    """Raise a SpanError unless `[start, end)` is a slice of whole characters."""
    length = len(raw)
    if not 0 <= start <= end <= length:
        raise SpanError(f"bytes {start} to {end} are not in a text of {length} bytes; give 0 <= start <= end")
    for offset in (start, end):
        if offset < length and raw[offset] & 0xC0 == 0x80:
            raise SpanError(f"byte {offset} is inside a character that starts at {back_to_code_point(raw, offset)}")


def utf8(text: str) -> bytes:
    """The text's bytes; a DocumentError for what UTF-8 can't hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"character {error.start} of the text is the lone surrogate U+{ord(text[error.start]):04X}, "
            "which UTF-8 can't hold; decode the source strictly, or replace it"
        ) from None
