"""Which words of the corpus mean what a question in another language asks?

A table of words in many languages says which of the corpus's words lie nearest. Words are looked for as these, and a
model reads the question with these words instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from brimful.search.reading import QuestionCues
from brimful.search.terms import Form, WordForms, is_stop_word
from brimful.text.terms import query_terms

_UNBLANKED = re.compile("[\u3040-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese, which are written without blanks."""
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_LEAST_LETTERS = 3
_LEAST_ALIKE = 300_000
"""Millionths of a cosine; two words below it differ in meaning."""
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
    """A word of the question that the corpus lacks, with its place in the question."""

    text: str
    start: int  # characters
    end: int


def translated(
    cues: QuestionCues, forms: Sequence[WordForms], load: Callable[[], Table | None]
) -> tuple[tuple[WordForms, ...], str]:
    """The corpus's words for missing words of a foreign question, and the question as a model reads it.

    No words, and no text, where the question is in the corpus's language or no table is there.
    """
    lacking = {word for word_forms in forms if not word_forms.forms for word in word_forms.words} - cues.names
    lost = [term for term in cues.wholes if term.term in lacking and not cues.columns.is_titled(term.term)]
    table = load() if lost and _is_foreign(cues, [term.term for term in lost]) else None
    if table is None:
        return (), ""
    text = cues.query.text
    content = text.encode("utf-8", "replace")
    strangers = [*_unblanked(cues, table)]
    for term in lost:
        word = content[term.start : term.end].decode("utf-8", "replace")
        says = len(word) >= _LEAST_LETTERS and not is_stop_word(term.term, (cues.language or "",))
        if says and word.isalpha() and not _UNBLANKED.search(word):
            position = len(content[: term.start].decode("utf-8", "replace"))
            strangers.append(_Stranger(word.lower(), position, position + len(word)))
    strangers = sorted(strangers, key=lambda stranger: (stranger.start, stranger.end))[:_MOST_WORDS]
    meant, read, position = [], "", 0
    meanings = table.nearest([stranger.text for stranger in strangers]) if strangers else []
    for stranger, near in zip(strangers, meanings, strict=True):
        words = _meanings(cues, near)
        if words:
            meant.append(WordForms((stranger.text.encode(),), words))
            if stranger.start >= position:
                read += f"{text[position : stranger.start]} {words[0].terms[0].decode()} "
                position = stranger.end
    return tuple(meant), " ".join(_HIRAGANA.sub(" ", read + text[position:]).split())


def _is_foreign(cues: QuestionCues, lost: Sequence[bytes]) -> bool:
    """Whether a question is in another language than the corpus: by its little words, or by letters beyond ASCII."""
    if cues.language not in (None, cues.columns.language):
        return True
    return 2 * sum(not term.isascii() for term in lost) >= len(cues.words)


def _unblanked(cues: QuestionCues, table: Table) -> Iterator[_Stranger]:
    """The words of a question in Chinese or Japanese whose characters the corpus does not have side by side."""
    for run in _UNBLANKED.finditer(cues.query.text):
        for start, part in table.parts(run[0]):
            is_present = any(cues.columns.census(term.term) for term in query_terms(part))
            if not is_present and not _HIRAGANA.fullmatch(part):
                yield _Stranger(part, run.start() + start, run.start() + start + len(part))


def _meanings(cues: QuestionCues, near: Sequence[tuple[str, int]]) -> tuple[Form, ...]:
    """The nearest words that the corpus has and that say something, each as a form of the word."""
    columns, best, forms = cues.columns, 0, list[Form]()
    for word, alike in near:
        if alike < max(_LEAST_ALIKE, best * _NEAR_BEST[0] // _NEAR_BEST[1]) or len(forms) == _MOST_MEANINGS:
            break
        term = word.encode()
        if columns.census(term) and not is_stop_word(term, (*columns.languages, "en")):
            best = best or alike
            forms.append(Form((term,), "translation", _WEIGHT * alike // best))
    return tuple(forms)
