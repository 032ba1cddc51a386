"""Which questions could be asked of your own documents, without a model and without a person?

Passages are chosen by hash, one document after the other, and each becomes a question by one of four rules:

- `words`: its five rarest words, in order
- `heading`: the heading or function that it stands under, and its two rarest words
- `gap`: the passage itself without its rarest word
- `misspelt`: its rarest words, the longest of them misspelt

The passage is the evidence. The limits are plain: questions made of a passage's own words favour searching by
words over searching by meaning, none needs two passages, and none is asked as a person would ask. Such a set finds
what breaks (a loader, a language, a heading that is not searched) and compares settings on your own text; it does
not say how well people will be served.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from blake3 import blake3

from brimful.corpus.documents import Document, by_path
from brimful.errors import InputError, SettingError
from brimful.evaluation.sets import EvaluationSet, Evidence, Question
from brimful.text.terms import query_terms, terms_of

Rule = Literal["words", "heading", "gap", "misspelt"]
RULES: tuple[Rule, ...] = get_args(Rule)

_LEAST_BYTES, _MOST_BYTES = 40, 600  # of a passage
_LEAST_WORDS = 5  # that a passage has
_LEAST_WORD_BYTES = 3
_KEY_WORDS = 5
_HEADING_WORDS = 2
_LEAST_LETTERS = 5  # of a word that is misspelt


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a passage: where it stands there, as it is written, and how often the corpus has it."""

    start: int
    end: int
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A unit of a document that may become evidence."""

    document: Document
    start: int
    end: int
    words: tuple[Word, ...]  # in order of occurrence

    def rarest(self, number: int) -> list[Word]:
        """The rarest distinct words, in order of occurrence."""
        distinct = {word.text.casefold(): word for word in reversed(self.words)}
        kept = sorted(distinct.values(), key=lambda word: (word.count, word.start))[:number]
        return sorted(kept, key=lambda word: word.start)


def make_set(documents: Iterable[Document], *, questions: int = 100, name: str = "own") -> EvaluationSet:
    """Make a set from documents; the same documents give the same set, in whatever order they come.

    There are fewer questions where the documents have fewer passages: sentences, statements or records of 40 to 600
    bytes with five words or more, which stand nowhere else in the corpus.
    """
    if isinstance(questions, bool) or not isinstance(questions, int) or questions < 1:
        raise SettingError(f"questions is {questions!r}; ask for at least 1")
    known = sorted(by_path(documents).values(), key=lambda document: document.path)
    counts = _word_counts(known)
    made: dict[str, Question] = {}
    for passage in _spread(known, counts):
        question = _asked(passage, len(made), counts)
        if question is not None and question.text not in made and _stands_once(passage, known):
            made[question.text] = question
        if len(made) == questions:
            break
    if not made:
        raise InputError(
            f"{len(known)} documents hold no passage to ask for: none of {_LEAST_BYTES} to {_MOST_BYTES} bytes "
            f"with {_LEAST_WORDS} words; add longer texts"
        )
    return EvaluationSet(name, "qa", tuple(known), tuple(made.values()))


def misspell(word: str, *, known: Callable[[str], bool] = lambda _: False) -> str | None:
    """The word with one slip inside: two letters swapped, one left out, or one doubled, as a hash says.

    A slip that gives a `known` word is not taken; None where no slip is left.

    >>> misspell("lantern"), misspell("aaa")
    ('lanern', None)
    """
    slips = []
    for at in range(1, len(word) - 1):
        if word[at] != word[at + 1]:
            slips.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
        slips += [word[:at] + word[at + 1 :], word[: at + 1] + word[at:]]
    wrong = [slip for slip in slips if slip != word and len(set(slip)) > 1 and not known(slip)]
    return min(wrong, key=lambda slip: (_hash(word, slip), slip), default=None)


def _hash(*parts: str | int) -> bytes:
    return blake3("\0".join(map(str, parts)).encode()).digest()


def _word_counts(documents: Iterable[Document]) -> Counter[bytes]:
    counts: Counter[bytes] = Counter()
    for document in documents:
        terms = terms_of(document.content)
        sizes = terms.offsets[1:] - terms.offsets[:-1]
        counts.update(dict(zip(terms.names, sizes.tolist(), strict=True)))
    return counts


def _spread(documents: Iterable[Document], counts: Mapping[bytes, int]) -> Iterator[Passage]:
    """One passage of every document in turn, documents and passages each in the order of their hashes."""
    order = sorted(documents, key=lambda document: (_hash(document.path), document.path))
    waiting = [_passages(document, counts) for document in order]
    while waiting:
        going_on = []
        for passages in waiting:
            passage = next(passages, None)  # a document is outlined when its first turn comes
            if passage is not None:
                yield passage
                going_on.append(passages)
        waiting = going_on


def _passages(document: Document, counts: Mapping[bytes, int]) -> Iterator[Passage]:
    cuts = document.outline.units.tolist()
    units = sorted(pairwise(cuts), key=lambda unit: (_hash(document.path, *unit), unit))
    for first, last in units:
        text = document.content[first:last].decode()
        start = first + len(text[: len(text) - len(text.lstrip())].encode())
        end = start + len(text.strip().encode())
        if not _LEAST_BYTES <= end - start <= _MOST_BYTES:
            continue
        words = tuple(_words(document.text(start, end), counts))
        if len({word.text.casefold() for word in words}) >= _LEAST_WORDS:
            yield Passage(document, start, end, words)


def _words(text: str, counts: Mapping[bytes, int]) -> Iterator[Word]:
    """Words of a text that do not overlap, without parts of words and very short ones."""
    content = text.encode()
    reached = 0
    for term, start, end, is_part in query_terms(text):
        if is_part or start < reached or end - start < _LEAST_WORD_BYTES:
            continue
        yield Word(start, end, content[start:end].decode(), counts[term])
        reached = end


def _stands_once(passage: Passage, documents: Iterable[Document]) -> bool:
    text = passage.document.content[passage.start : passage.end]
    return sum(document.content.count(text) for document in documents) == 1


def _asked(passage: Passage, number: int, counts: Mapping[bytes, int]) -> Question | None:
    """The passage's question by the rule whose turn it is, or by the next one that has something to say."""
    turn = number % len(RULES)
    for rule in RULES[turn:] + RULES[:turn]:
        text = _question(rule, passage, counts)
        if text:
            where = passage.document.path, passage.start, passage.end
            evidence = Evidence(*where)
            return Question(f"{rule}-{_hash(*where).hex()[:12]}", text, evidence=(evidence,))
    return None


def _question(rule: Rule, passage: Passage, counts: Mapping[bytes, int]) -> str | None:
    if rule == "heading":
        return _under_heading(passage)
    if rule == "gap":
        return _with_gap(passage)
    words = [word.text for word in passage.rarest(_KEY_WORDS)]
    if rule == "misspelt":
        longest = max(words, key=lambda word: (len(word), word))
        if len(longest) < _LEAST_LETTERS or not longest.isalpha():
            return None
        wrong = misspell(longest, known=lambda slip: any(term in counts for term, *_ in query_terms(slip)[:1]))
        if wrong is None:
            return None
        words[words.index(longest)] = wrong
    return " ".join(words)


def _under_heading(passage: Passage) -> str | None:
    around = passage.document.outline.enclosing(passage.start, passage.end)
    names = [block.name.strip() for block in around if block.name.strip()]
    inside = around[-1].signature_end > passage.start if around else True
    if not names or inside:  # a heading is no passage of its own section
        return None
    return " ".join([names[-1], *(word.text for word in passage.rarest(_HEADING_WORDS))])


def _with_gap(passage: Passage) -> str:
    content = passage.document.content[passage.start : passage.end]
    (rarest,) = passage.rarest(1)
    return " ".join((content[: rarest.start] + content[rarest.end :]).decode().split())
