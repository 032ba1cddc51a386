"""What does the wording of a question say beside its words, and which of these does the corpus lack?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from brimful.index.segments import Numbers
from brimful.search.mentions import asking_where, options_in
from brimful.search.priors import asks_how
from brimful.search.query import AskedTerm, Query
from brimful.search.signals import idf
from brimful.search.spelling import Correction
from brimful.search.terms import (
    WordForms,
    is_inflection,
    is_stop_word,
    little_words,
    most_little_words,
    only_asks,
    tells,
)

if TYPE_CHECKING:
    from brimful.search.columns import CorpusColumns
    from brimful.search.field import TermHits

# ---- reading: What does the wording of a question say beside its words?

_MOST_GLUED = 4
"""Words of a question that may be one in a document's name."""
_CAMEL = re.compile(rb"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]")
_BEGINS = re.compile(rb"(?:\A|[.!?:\n])\W*\Z")


class Reading:
    """A question that is read against a corpus; what its wording says is found out once, when it is first asked."""

    def __init__(self, columns: CorpusColumns, query: Query) -> None:
        self.columns, self.query = columns, query
        self._content = query.text.encode("utf-8", "replace")

    @property
    def wholes(self) -> list[AskedTerm]:
        """Its words, without the parts of longer ones."""
        return [asked for asked in self.query.terms if not asked.is_part]

    @property
    def words(self) -> list[bytes]:
        """The same as terms."""
        return [asked.term for asked in self.wholes]

    @cached_property
    def language(self) -> str | None:
        """The language that most of its words are little words of; None where two are as likely."""
        return most_little_words(self.words)

    @cached_property
    def only_asking(self) -> set[bytes]:
        """The words that only ask: what happens, how long, how many."""
        terms = self.query.terms
        words = [b"", *(terms[at].term if at >= 0 else b"" for at in self.query.sequence)]
        return {term for before, term in pairwise(words) if only_asks(before, term)}

    @cached_property
    def written_as_names(self) -> set[bytes]:
        """The words that are written as names in code are: `lru_cache`, `HTTPServer`, `evolve()`, `--all`."""
        content = self._content
        found = {option.lower().encode() for option in options_in(self.query.text)}
        for asked in self.wholes:
            text = content[asked.start : asked.end]
            is_mixed = b"_" in text.strip(b"_") or _CAMEL.search(text) is not None
            is_called = content[asked.end : asked.end + 1] == b"("
            is_member = content[asked.start - 1 : asked.start] == b"." and asked.start > 1 and text.isascii()
            if is_mixed or is_called or is_member:
                found.add(asked.term)
        return found

    @cached_property
    def names(self) -> set[bytes]:
        """The words that are names: written as in code, or with a capital inside of a sentence.

        Not where most words have one, as in a title, nor in German, where every noun does.
        """
        found, content = self.written_as_names, self._content
        if self.language == "de":
            return found
        capitals = [asked for asked in self.wholes if content[asked.start : asked.start + 1].isupper()]
        if 2 * len(capitals) > len(self.wholes):
            return found
        inside = (asked for asked in capitals if not _BEGINS.search(content[: asked.start]))
        return found | {asked.term for asked in inside}

    @cached_property
    def glued_names(self) -> dict[bytes, list[bytes]]:
        """Names that are written as one word of two to four of its words: `American Express`, AMERICANEXPRESS."""
        found: dict[bytes, list[bytes]] = {}
        terms, is_titled = self.query.terms, self.columns.is_titled
        wholes = [terms[at].term if at >= 0 else b" " for at in self.query.sequence]
        for size in range(2, _MOST_GLUED + 1):
            for at in range(len(wholes) - size + 1):
                parts = wholes[at : at + size]
                name = b"".join(parts)
                if is_titled(name) and not is_stop_word(parts[0], self.columns.languages):
                    for part in parts:
                        found.setdefault(part, []).append(name)
        return found

    @cached_property
    def asks_how(self) -> bool:
        """Whether it asks what manuals tell, and names nothing as code does; sources and prose are there."""
        columns = self.columns
        return columns.has_sources and columns.has_prose and asks_how(self.query.text) and not self.written_as_names

    @cached_property
    def where(self) -> bytes:
        """The word by which it asks where code defines something; nothing where there is no code."""
        return asking_where(self.query.text) if self.columns.has_sources else b""

    @cached_property
    def translations(self) -> tuple[Numbers, frozenset[str]]:
        """The rows and paths of documents that are there in the question's own language too, and are not in it.

        A few keywords tell no language: in ASCII they are taken for the commonest one's.
        """
        language = self.language
        if language is None and self.query.text.isascii():
            language = self.columns.language
        return self.columns.translations.into_others(language or "")


# ---- lacking: Which words of a question does the corpus lack, and do they decide that nothing answers it?

MOST_DECIDING = 32
"""Distinct words of a question in which one that is missing may decide; a longer one is a paste."""
_FEW_NOTES = 20_000
"""Bytes of a corpus whose language can't be told by its little words."""
_MOST_MISSING = 16
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
"""Chinese and Japanese: two characters side by side are indexed as one term, across the borders of words too."""
_ANYWHERE = 4  # the power that sets a name apart from a common word


class Missing(NamedTuple):
    """A word that no document has, and what it would be worth."""

    word: bytes
    worth: float


def missing_words(reading: Reading, forms: Sequence[WordForms], repairs: Sequence[Correction]) -> tuple[Missing, ...]:
    """The words that say something and stand nowhere, neither in text nor in names, in no form and not repaired."""
    columns = reading.columns
    known = {word.words[0] for word in forms if word.forms}
    known |= {word for each in repairs for word in each.word.split()} | set(reading.glued_names)
    rare = idf(1, max(len(columns), 1))
    return tuple(
        Missing(term, rare * tells(term))
        for term in reading.words
        if term not in known
        and not term[:1].isdigit()
        and not _IDEOGRAPH.search(term.decode("utf-8", "replace"))
        and not is_stop_word(term, (*columns.languages, "en"))
        and term not in reading.only_asking
        and not columns.is_titled(term)
    )


def named_as_missing(reading: Reading, forms: Sequence[WordForms], missing: Sequence[Missing]) -> list[bytes]:
    """The words to name as missing, in the question's order: also those of which only derived words stand somewhere.

    `parental` where there are `parents`: what is found may speak of something else, though it decides nothing. So may
    a part of a name.
    """
    languages = reading.columns.languages
    is_english = languages[:1] in ((), ("en",))
    lost = {each.word for each in missing}
    for each in forms:
        word, found = each.words[0], each.forms
        plain = word.replace(b"_", b"")
        says = is_english and not is_stop_word(word, languages) and word not in reading.only_asking
        is_split = all(form.how == "split" and b"".join(form.terms) != plain for form in found)
        is_derived = all(form.how == "inflection" and not is_inflection(word, form.terms[0]) for form in found)
        if found and (is_split or (says and is_derived)):
            lost.add(word)
    return list(dict.fromkeys(term for term in reading.words if term in lost))[:_MOST_MISSING]


def lacking(reading: Reading, term_hits: Sequence[TermHits], missing: Sequence[Missing]) -> float:
    """How much of what a question says are words that no document has; nothing where they decide nothing.

    In a few notes every word is rare or common by chance: there a word counts by how common it is anywhere.
    """
    columns = reading.columns
    if not any(each.census for each in term_hits) and missing:
        return 1.0
    present = [each for each in term_hits if not each.is_minor]
    if not missing or not _decide(reading, missing, has_others=bool(present)):
        return 0.0
    if columns.length < _FEW_NOTES:
        lost = sum(tells(each.word) ** _ANYWHERE for each in missing)
        whole = lost + sum(tells(each.word) ** _ANYWHERE for each in present)
    else:
        lost = sum(each.worth for each in missing)
        whole = lost + sum(each.weight * idf(each.census, len(columns)) for each in present)
    return round(lost / whole, 6)


def _decide(reading: Reading, missing: Sequence[Missing], *, has_others: bool) -> bool:
    """Whether words that no document has say that nothing answers.

    Not in a paste, nor in a foreign language, nor where the corpus has the names of the question and lacks plain words,
    nor by one plain word beside others that say something: it may be said otherwise.
    """
    columns, names = reading.columns, reading.written_as_names
    if len(missing) == 1 and has_others and missing[0].word not in reading.names:
        return False
    if len(reading.words) + reading.query.left_out > MOST_DECIDING:
        return False
    if names and names.isdisjoint(each.word for each in missing):
        return False
    counts = little_words(reading.words)
    # A few notes have too few words to tell their language by: they are taken for English.
    languages = columns.languages or (("en",) if columns.length < _FEW_NOTES else ())
    own = max((counts.get(language, 0) for language in languages), default=-1)
    return max(counts.values(), default=0) <= own


def wording(query: Query, repairs: Sequence[Correction]) -> str:
    """The question as text: without operators and what they exclude, and with the words that were meant."""
    instead = {each.word: each.term for each in reversed(repairs)}
    content = query.text.encode("utf-8", "replace")
    wholes = [asked for asked in query.terms if not asked.is_part]
    if query.has_operators:
        words = [instead.get(asked.term, content[asked.start : asked.end]) for asked in wholes]
        return b" ".join(words).decode("utf-8", "replace")
    for asked in reversed(wholes):
        if asked.term in instead:
            content = content[: asked.start] + instead[asked.term] + content[asked.end :]
    return content.decode("utf-8", "replace")
