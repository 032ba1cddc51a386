"""A condensed text: its sentences with their sources, and what it cost.

A sentence of a partial comes from the part that was condensed. A sentence of a merge comes from the sentences it
shares terms with, and has all their sources; where it shares none, it has the sources of everything that was merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from brimful.documents.documents import Document
from brimful.text.spans import Span, merge_spans
from brimful.text.terms import query_terms

_MIN_LETTERS = 4  # shorter words (the, and, of) tie everything to everything


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence and the source ranges of what it came from."""

    text: str
    sources: tuple[Span, ...]


Partial = tuple[CitedSentence, ...]
"""An answer, sentence by sentence (DENS: partial, merged partial)."""


def text_of(*partials: Partial) -> str:
    """Answers as one text, a blank line between them."""
    return "\n\n".join(" ".join(sentence.text for sentence in partial) for partial in partials)


def _sentences_of(text: str) -> list[str]:
    """The sentences of a model's answer.

    >>> _sentences_of("Tea at four. Cake at five.")
    ['Tea at four.', 'Cake at five.']
    """
    document = Document("digest.txt", text, kind="prose", language="text")
    cuts = document.outline.units.tolist()
    pieces = [document.text(start, end) for start, end in pairwise(cuts)]
    return [" ".join(piece.split()) for piece in pieces if piece.strip()]


def from_part(text: str, span: Span) -> Partial:
    """The answer to one part: every sentence comes from it."""
    return tuple(CitedSentence(sentence, (span,)) for sentence in _sentences_of(text))


def from_merge(text: str, inputs: Sequence[Partial]) -> Partial:
    """The answer to a merge: each sentence with the sources of the sentences that it rests on.

    >>> one = from_part("Tea at four.", Span(0, 90))
    >>> two = from_part("Cake is served at five.", Span(90, 180))
    >>> [cited.sources for cited in from_merge("They serve cake. Rain.", [one, two])]
    [(Span(start=90, end=180),), (Span(start=0, end=180),)]
    """
    merged = [cited for partial in inputs for cited in partial]
    terms = [_terms(cited.text) for cited in merged]
    sentences = []
    for sentence in _sentences_of(text):
        shared = [len(_terms(sentence) & of_merged) for of_merged in terms]
        best = max(shared, default=0)
        resting = [cited for cited, count in zip(merged, shared, strict=True) if best and 2 * count >= best] or merged
        spans = merge_spans(span for cited in resting for span in cited.sources)
        sentences.append(CitedSentence(sentence, tuple(spans)))
    return tuple(sentences)


def _terms(text: str) -> frozenset[bytes]:
    return frozenset(
        term
        for term, _, _, _ in query_terms(text)
        if len(term) >= _MIN_LETTERS or term.isdigit() or term[:1] >= b"\x80"
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of the source that reached no partial, and why."""

    span: Span
    reason: str


@dataclass(frozen=True, slots=True)
class Digest:
    """A condensed text (DENS: dense output).

    `joined`: the partials follow each other because no merge could make them fewer. `limit`: the context limit at the
    run's end, in the counter's tokens. `covered`: ranges of the source that reached a partial; `gaps` has the others.
    """

    text: str
    sentences: tuple[CitedSentence, ...]
    source: str  # the source's id
    source_bytes: int
    source_tokens: int
    covered: tuple[Span, ...]
    gaps: tuple[Gap, ...]
    model: str
    counter: str
    exact: bool
    tokens: int
    limit: int | None = None
    parts: int = 1
    passes: int = 0
    joined: bool = False
    calls: int = 0
    retries: int = 0
    overflows: int = 0
    remembered: int = 0
    tokens_sent: int = 0
    tokens_received: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every range with a word in it reached a partial."""
        return not self.gaps

    def document(self, path: str) -> Document:
        """The digest as a document that a store can take."""
        return Document(path, self.text, kind="prose", language="text")
