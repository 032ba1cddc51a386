"""What comes out: the condensed text, where each sentence is from, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from brimful.corpus.documents import Document
from brimful.densify.cite import CitedSentence
from brimful.text.spans import Span


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of the source that reached no partial, and why."""

    span: Span
    reason: str


@dataclass(frozen=True, slots=True)
class Digest:
    """A condensed text (DENS: dense output).

    `joined` says that partials stand one after the other because no merge could make them fewer; `limit` is the context
    limit that the run ended with, in the counter's own tokens. `covered` are the ranges of the source that reached a
    partial: all of it, or `gaps` names what is missing.
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
    limit: int | None
    parts: int
    passes: int
    joined: bool
    calls: int
    retries: int
    overflows: int
    remembered: int
    tokens_sent: int
    tokens_received: int

    @property
    def is_complete(self) -> bool:
        """Whether every range with a word in it reached a partial."""
        return not self.gaps

    def document(self, path: str, *, time: int | None = None) -> Document:
        """The digest as a document that a store can take."""
        return Document(path, self.text, time=time, kind="prose", language="text")
