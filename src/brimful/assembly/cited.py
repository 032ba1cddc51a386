"""What does a receipt say of each document and window that it cites or leaves out?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from brimful.assembly.context import Reason
from brimful.assembly.notation import UNLESS_EMPTY, Hash, Moment, Natural, Score
from brimful.store.merkle import Proof, leaf_hash
from brimful.windows.seams import SeamKind


class Sibling(NamedTuple):
    """A hash beside the way from a document to the state root."""

    side: Literal["left", "right"]
    hash: Hash


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A document that windows were cut from, with the proof that it is under the state root.

    `rule` says how its bytes came from a file: "utf-8" as they are, "pdf" and the like converted. `language` is what
    some formats name above its windows.
    """

    path: str
    id: str
    content_hash: Hash
    length: Natural
    time: Moment | None
    rule: str
    language: str | None
    proof: tuple[Sibling, ...] = field(repr=False)

    def root(self) -> str:
        """The state root that the proof leads to."""
        leaf = leaf_hash(self.path, self.time, bytes.fromhex(self.content_hash))
        steps = tuple((step.side == "left", bytes.fromhex(step.hash)) for step in self.proof)
        return Proof(steps).root(leaf).hex()


class CitedSeam(NamedTuple):
    """Bytes `[start, end)` of a window's document that are shown before it, and their hash."""

    kind: SeamKind
    start: Natural
    end: Natural
    hash: Hash


@dataclass(frozen=True, slots=True)
class CitedWindow:
    """Bytes `[start, end)` of a document that stand in the context, their hash, and what brought them there.

    With the document it is all that a format needs in order to write the window again. `sequence` is part of the id of
    a window that another retriever brought, and `line` the first line that it says it has.
    """

    path: str
    start: Natural
    end: Natural
    id: str
    hash: Hash
    score: Score
    terms: tuple[str, ...]
    time: Moment | None
    cut_start: bool = field(default=False, metadata=UNLESS_EMPTY)
    cut_end: bool = field(default=False, metadata=UNLESS_EMPTY)
    seams: tuple[CitedSeam, ...] = field(default=(), metadata=UNLESS_EMPTY)
    sequence: int = field(default=0, metadata=UNLESS_EMPTY)
    line: Natural = field(default=Natural(0), metadata=UNLESS_EMPTY)
    coherence: Score | None = field(default=None, metadata=UNLESS_EMPTY)
    cluster: str | None = field(default=None, metadata=UNLESS_EMPTY)  # windows with the same one are linked
    also_in: tuple[str, ...] = field(default=(), metadata=UNLESS_EMPTY)  # documents that say nearly the same


@dataclass(frozen=True, slots=True)
class OmittedWindow:
    """A candidate that is not in the context, and why (`Omitted` has the reasons)."""

    path: str
    start: Natural
    end: Natural
    score: Score
    reason: Reason
    duplicate_of: str | None
    enters_at: Natural | None


class DigestSource(NamedTuple):
    """Bytes `[start, end)` of a document that a digest condenses, and their hash."""

    start: Natural
    end: Natural
    hash: Hash


class DigestSentence(NamedTuple):
    """Bytes `[start, end)` of a digest, and the numbers of the sources that they came from."""

    start: Natural
    end: Natural
    sources: tuple[Natural, ...]


@dataclass(frozen=True, slots=True)
class CitedDigest:
    """A text that a model wrote from parts of a document. It stands here, since no source has it."""

    path: str
    model: str
    text: str = field(repr=False)
    source: str
    sources: tuple[DigestSource, ...] = field(repr=False)
    sentences: tuple[DigestSentence, ...] = field(repr=False)
