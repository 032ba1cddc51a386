"""Which words of the corpus mean what a question in another language asks?

A table of words in many languages says which of the corpus's words lie nearest. Words are looked for as these, and a
model reads the question with them in place of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from brimful.search.reading import Reading
from brimful.search.terms import Form, WordForms, is_stop_word
from brimful.text.terms import query_terms

_UNBLANKED = re.compile("[\u3040-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese, which are written without blanks."""
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_LEAST_LETTERS = 3
_LEAST_ALIKE = 300_000
"""Millionths of a cosine below which two words do not mean the same."""
_NEAR_BEST = (4, 5)
_MOST_MEANINGS = 3
_MOST_WORDS = 24
_WEIGHT = 700
"""Thousandths that the nearest word counts of the word itself."""


class Table(Protocol):
    """Words of many languages by their meaning."""

    def parts(self, run: str) -> Iterator[tuple[int, str]]:
        """The words of a text without blanks, and where they begin."""

    def nearest(self, words: Sequence[str]) -> list[list[tuple[str, int]]]:
        """For each word those nearest to it, with their cosine in millionths."""


@dataclass(frozen=True, slots=True)
class _Stranger:
    """A word of the question that the corpus does not have, and where it stands in the question."""

    text: str
    start: int  # characters
    end: int


def translated(
    reading: Reading, forms: Sequence[WordForms], load: Callable[[], Table | None]
) -> tuple[tuple[WordForms, ...], str]:
    """The corpus's words for those of a foreign question that it lacks, and the question as a model reads it.

    No words, and no text, where the question is in the corpus's own language or no table is there.
    """
    lacking = {word for each in forms if not each.forms for word in each.words} - reading.names
    lost = [asked for asked in reading.wholes if asked.term in lacking and not reading.columns.is_titled(asked.term)]
    table = load() if lost and _is_foreign(reading, [asked.term for asked in lost]) else None
    if table is None:
        return (), ""
    text = reading.query.text
    content = text.encode("utf-8", "replace")
    strangers = [*_unblanked(reading, table)]
    for asked in lost:
        word = content[asked.start : asked.end].decode("utf-8", "replace")
        says = len(word) >= _LEAST_LETTERS and not is_stop_word(asked.term, (reading.language or "",))
        if says and word.isalpha() and not _UNBLANKED.search(word):
            at = len(content[: asked.start].decode("utf-8", "replace"))
            strangers.append(_Stranger(word.lower(), at, at + len(word)))
    strangers = sorted(strangers, key=lambda each: (each.start, each.end))[:_MOST_WORDS]
    found, read, at = [], "", 0
    meanings = table.nearest([each.text for each in strangers]) if strangers else []
    for stranger, near in zip(strangers, meanings, strict=True):
        words = _meanings(reading, near)
        if words:
            found.append(WordForms((stranger.text.encode(),), words))
            if stranger.start >= at:
                read += f"{text[at : stranger.start]} {words[0].terms[0].decode()} "
                at = stranger.end
    return tuple(found), " ".join(_HIRAGANA.sub(" ", read + text[at:]).split())


def _is_foreign(reading: Reading, lost: Sequence[bytes]) -> bool:
    """Whether a question is in another language than the corpus: by its little words, or by letters beyond ASCII."""
    if reading.language not in (None, reading.columns.language):
        return True
    return 2 * sum(not term.isascii() for term in lost) >= len(reading.words)


def _unblanked(reading: Reading, table: Table) -> Iterator[_Stranger]:
    """The words of a question in Chinese or Japanese whose characters the corpus does not have side by side."""
    for run in _UNBLANKED.finditer(reading.query.text):
        for at, part in table.parts(run[0]):
            stands = any(reading.columns.census(each.term) for each in query_terms(part))
            if not stands and not _HIRAGANA.fullmatch(part):
                yield _Stranger(part, run.start() + at, run.start() + at + len(part))


def _meanings(reading: Reading, near: Sequence[tuple[str, int]]) -> tuple[Form, ...]:
    """The nearest words that the corpus has and that say something, each as a form of the word."""
    columns, best, forms = reading.columns, 0, list[Form]()
    for word, alike in near:
        if alike < max(_LEAST_ALIKE, best * _NEAR_BEST[0] // _NEAR_BEST[1]) or len(forms) == _MOST_MEANINGS:
            break
        term = word.encode()
        if columns.census(term) and not is_stop_word(term, (*columns.languages, "en")):
            best = best or alike
            forms.append(Form((term,), "translation", _WEIGHT * alike // best))
    return tuple(forms)
