"""Where can a text be cut so that the tokens of its parts add up?

At a *joint*: a place that no token of any vocabulary here can cross, so that what is left and right of it is
tokenised independently. A joint lies after a visible character and before a space, and after a letter and
before a newline, a digit or closing punctuation.

The vocabularies with a pre-tokeniser split there by their pattern, whatever follows; for the others
`tests/text/test_joints.py` reads the vocabulary and finds no token that holds such a pair. The pairs left out
are left out for a reason: `>` and a space meet in Gemma's token `> </`, U+2581 is the space itself in the
SentencePiece vocabularies, and `h` and a digit meet in Gemma's `<h1>`.
"""

from __future__ import annotations

from brimful.patterns import compiled

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

_JOINT = compiled(rf"{BEFORE_SPACE}(?= )|(?!h[0-9])[{LETTER}](?=[{AFTER_LETTER}])")
_LAST = compiled(rf"(?s:.*)(?:{_JOINT.pattern})")
_WORD = compiled(r" *[^ ]*(?:(?<=[\s\u2581>]) +[^ ]*)*")


def next_joint(text: str, position: int = 0) -> int:
    """Where the first joint is, at least one character behind `position`; 0 if there is none.

    >>> next_joint("to the brim"), next_joint("brimful")
    (2, 0)
    """
    joint = _JOINT.search(text, position)
    return joint.end() if joint else 0


def last_joint(text: str) -> int:
    """Where the last joint is; 0 if there is none.

    >>> last_joint("to the brim")
    6
    """
    joint = _LAST.match(text)
    return joint.end() if joint else 0


def words(text: str) -> list[str]:
    """The text cut at every joint before a space.

    >>> words("to  the brim > <")
    ['to', '  the', ' brim', ' > <', '']
    """
    return _WORD.findall(text)
