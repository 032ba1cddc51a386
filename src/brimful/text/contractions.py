"""Where does a word end in an apostrophe and a long s? Some patterns take that for an `'s`, and splintr does not.

`(?i:'s|'t|…)` folds case as Unicode does, so that U+017F (long s) is an s; of the other letters of contractions none
has a fold beyond ASCII. Behind a word the patterns of o200k and Kimi take the contraction into the word's piece, and
what follows is a piece of its own. Only words that hold such an apostrophe are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from unicodedata import category

from brimful.patterns import compiled
from brimful.text.joints import words

LONG_S = "'\u017f"
"""What is looked for: an apostrophe and a long s."""

_CONTRACTION = compiled("'(?:[sS\u017f]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])")
_HAN = compiled(
    "[\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9"
    "\U00016fe2\U00016fe3\U00016ff0\U00016ff1\U00020000-\U000323af]"
)
_JOINED = " I"  # the one word that has a token together with the apostrophe behind it


def with_long_s(length: Callable[[str], int], *, han_apart: bool) -> Callable[[str], int]:
    """The same count, with such contractions taken into their words."""

    def count(text: str) -> int:
        if LONG_S not in text:
            return length(text)
        total = 0
        plain: list[str] = []
        for word in words(text):  # cut before spaces, where every piece ends
            if LONG_S in word:
                total += length("".join(plain)) + _count(word, length, han_apart=han_apart)
                plain = []
            else:
                plain.append(word)
        return total + length("".join(plain))

    return count


def _count(text: str, length: Callable[[str], int], *, han_apart: bool) -> int:
    total = start = at = 0
    while at < len(text):
        word = _word(text, at, han_apart=han_apart)
        contraction = _CONTRACTION.match(text, word) if word else None
        if contraction and contraction[0] == LONG_S:
            before = length(text[start:at])
            if text[at - 1 : at].isspace() and not text[at].isspace() and start < at:
                before = length(f"{text[start:at]}1") - 1  # white space is cut otherwise where nothing follows it
            total += before + length(text[at:word]) + length(LONG_S)
            total -= text[at:word] == _JOINED
            start = contraction.end()
        at = (contraction.end() if contraction else word) or _other(text, at, han_apart=han_apart)
    return total + (length(text[start:]) if start < len(text) else 0)


def _word(text: str, at: int, *, han_apart: bool) -> int:
    """Where the word ends that begins here, one character of something else before it included; 0 if there is none."""
    has_prefix = text[at] not in "\r\n" and category(text[at])[0] not in "LN"
    starts = [at + 1, at] if has_prefix else [at]
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


def _other(text: str, at: int, *, han_apart: bool) -> int:
    """Where ends what is no word: a run of Han, up to three digits, punctuation, white space."""
    end = at
    if han_apart and _HAN.match(text[at]):
        while end < len(text) and _HAN.match(text[end]):
            end += 1
        return end
    if _class(text[at], han_apart) == "number":
        while end < min(len(text), at + 3) and _class(text[end], han_apart) == "number":
            end += 1
        return end
    end += text[at] == " " and at + 1 < len(text) and _is_sign(text[at + 1])
    if _is_sign(text[end]):
        while end < len(text) and _is_sign(text[end]):
            end += 1
        after = "\r\n" if han_apart else "\r\n/"
        while end < len(text) and text[end] in after:
            end += 1
        return end
    while end < len(text) and text[end].isspace():
        end += 1
    if newline := max(text.rfind("\n", at, end), text.rfind("\r", at, end)) + 1:
        return newline
    return end if end in (len(text), at + 1) else end - 1


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
