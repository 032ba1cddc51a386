"""Cues in a question's wording, and its words that the corpus lacks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from brimful.search.query import AskedTerm, Query
from brimful.search.signals import idf
from brimful.search.spelling import Correction
from brimful.search.terms import (
    WordForms,
    is_inflection,
    is_stop_word,
    little_words,
    most_little_words,
    tells,
)

if TYPE_CHECKING:
    from brimful.search.candidates import TermHits
    from brimful.search.columns import CorpusColumns

_CAMEL = re.compile(rb"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]")
_BEGINS = re.compile(rb"(?:\A|[.!?:\n])\W*\Z")


class QuestionCues:
    """Cues in the wording of a question, computed on first use."""

    def __init__(self, columns: CorpusColumns, query: Query) -> None:
        self.columns, self.query = columns, query
        self._content = query.text.encode("utf-8", "replace")

    @property
    def wholes(self) -> list[AskedTerm]:
        """The question's words, without the parts of longer words."""
        return [word for word in self.query.terms if not word.is_part]

    @property
    def words(self) -> list[bytes]:
        """The terms of the question's words."""
        return [word.term for word in self.wholes]

    @cached_property
    def language(self) -> str | None:
        """The language that most of its words are little words of; None where two are as likely."""
        return most_little_words(self.words)

    def is_little(self, term: bytes) -> bool:
        """Whether a term is a little word of the corpus's languages or of the question's own."""
        languages = self.columns.languages or ("en",)
        return is_stop_word(term, languages if self.language is None else (*languages, self.language))

    @cached_property
    def written_as_names(self) -> set[bytes]:
        """The words that are written as names in code are: `lru_cache`, `HTTPServer`, `evolve()`."""
        content = self._content
        names = set()
        for word in self.wholes:
            text = content[word.start : word.end]
            is_mixed = b"_" in text.strip(b"_") or _CAMEL.search(text) is not None
            is_called = content[word.end : word.end + 1] == b"("
            is_member = content[word.start - 1 : word.start] == b"." and word.start > 1 and text.isascii()
            if is_mixed or is_called or is_member:
                names.add(word.term)
        return names

    @cached_property
    def names(self) -> set[bytes]:
        """The words that are names: written as in code, or with a capital inside of a sentence.

        Not where most words have one, as in a title, nor in German, where every noun does.
        """
        coded, content = self.written_as_names, self._content
        if self.language == "de":
            return coded
        capitals = [word for word in self.wholes if content[word.start : word.start + 1].isupper()]
        if 2 * len(capitals) > len(self.wholes):
            return coded
        inside = (word for word in capitals if not _BEGINS.search(content[: word.start]))
        return coded | {word.term for word in inside}


# ---- lacking: Which words of a question does the corpus lack, and do they decide that nothing answers it?

_MOST_DECIDING = 32
"""Distinct words of a question in which one that is missing may decide; a longer one is a paste."""
_FEW_NOTES = 20_000
"""Bytes of a corpus that is too small to recognise its language."""
_MOST_MISSING = 16
_LEAST_PART = 3  # characters
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
"""Chinese and Japanese: two characters side by side are indexed as one term, across the borders of words too."""
_ANYWHERE = 4  # the power that sets a name apart from a common word


class Missing(NamedTuple):
    """A word that no document has, and what it would be worth."""

    word: bytes
    worth: float


def missing_words(cues: QuestionCues, forms: Sequence[WordForms], repairs: Sequence[Correction]) -> tuple[Missing, ...]:
    """The words that say something and stand nowhere, neither in text nor in names, in no form and not repaired.

    A longer word is not missing where its parts of three characters or more stand somewhere: `FY2019`, `task_eager`.
    """
    columns = cues.columns
    present = {form.words[0] for form in forms if form.forms}
    present |= {form for repair in repairs for form in repair.word.split()}
    for word in cues.wholes:
        parts = [each.term for each in cues.query.terms if each.is_part and word.start <= each.start < word.end]
        telling = [part for part in parts if len(part) >= _LEAST_PART]
        present |= {word.term} if telling and all(map(columns.occurs, telling)) else set()
    rare = idf(1, max(len(columns), 1))
    return tuple(
        Missing(term, rare * tells(term))
        for term in cues.words
        if term not in present
        and not term[:1].isdigit()
        and not _IDEOGRAPH.search(term.decode("utf-8", "replace"))
        and not is_stop_word(term, ("en",))
        and not cues.is_little(term)
        and not columns.is_titled(term)
    )


def named_as_missing(cues: QuestionCues, forms: Sequence[WordForms], missing: Sequence[Missing]) -> list[bytes]:
    """The words to name as missing, in the question's order, with words that occur as derived words only.

    `parental` where there are `parents`: what is found may speak of something else, though it decides nothing. So may
    a part of a name.
    """
    languages = cues.columns.languages
    is_english = languages[:1] in ((), ("en",))
    lost = {absent.word for absent in missing}
    for word_forms in forms:
        word, forms_of_word = word_forms.words[0], word_forms.forms
        plain = word.replace(b"_", b"")
        says = is_english and not is_stop_word(word, languages)
        is_split = all(form.how == "split" and b"".join(form.terms) != plain for form in forms_of_word)
        is_derived = all(form.how == "inflection" and not is_inflection(word, form.terms[0]) for form in forms_of_word)
        if forms_of_word and (is_split or (says and is_derived)):
            lost.add(word)
    return list(dict.fromkeys(term for term in cues.words if term in lost))[:_MOST_MISSING]


def lacking(cues: QuestionCues, term_hits: Sequence[TermHits], missing: Sequence[Missing]) -> float:
    """How much of what a question says are words that no document has; nothing where they decide nothing.

    In a few notes every word is rare or common by chance: there a word counts by how common it is anywhere.
    """
    columns = cues.columns
    if not any(hits.occurrences for hits in term_hits) and missing:
        return 1.0
    present = [hits for hits in term_hits if not hits.is_minor]
    if not missing or not _decide(cues, missing, has_others=bool(present)):
        return 0.0
    if columns.length < _FEW_NOTES:
        lost = sum(tells(absent.word) ** _ANYWHERE for absent in missing)
        total = lost + sum(tells(hits.word) ** _ANYWHERE for hits in present)
    else:
        lost = sum(absent.worth for absent in missing)
        total = lost + sum(hits.weight * idf(hits.occurrences, len(columns)) for hits in present)
    return round(lost / total, 6)


def _decide(cues: QuestionCues, missing: Sequence[Missing], *, has_others: bool) -> bool:
    """Whether words that no document has say that nothing answers.

    Not in a paste, nor in a foreign language, nor where the corpus has the names of the question and lacks plain words,
    nor by one plain word among other content words: a synonym may be there.
    """
    columns, names = cues.columns, cues.written_as_names
    if len(missing) == 1 and has_others and missing[0].word not in cues.names:
        return False
    if len(cues.words) + cues.query.left_out > _MOST_DECIDING:
        return False
    if names and names.isdisjoint(absent.word for absent in missing):
        return False
    counts = little_words(cues.words)
    # A few notes have too few words to tell their language by: they are taken for English.
    languages = columns.languages or (("en",) if columns.length < _FEW_NOTES else ())
    most_of_corpus = max((counts.get(language, 0) for language in languages), default=-1)
    return max(counts.values(), default=0) <= most_of_corpus


def wording(query: Query, repairs: Sequence[Correction]) -> str:
    """The question as text: without operators and what they exclude, and with the words that were meant."""
    instead = {repair.word: repair.term for repair in reversed(repairs)}
    content = query.text.encode("utf-8", "replace")
    wholes = [word for word in query.terms if not word.is_part]
    if query.has_operators:
        words = [instead.get(word.term, content[word.start : word.end]) for word in wholes]
        return b" ".join(words).decode("utf-8", "replace")
    for word in reversed(wholes):
        if word.term in instead:
            content = content[: word.start] + instead[word.term] + content[word.end :]
    return content.decode("utf-8", "replace")
