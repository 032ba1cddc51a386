"""What does a receipt say of each document and window that it cites or leaves out?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from brimful.assembly.context import Reason
from brimful.assembly.notation import Hash, Moment, Natural, Score
from brimful.store.merkle import Proof, leaf_hash


class Sibling(NamedTuple):
    """A hash beside the way from a document to the state root."""

    side: Literal["left", "right"]
    hash: Hash


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A document that windows were cut from, with the proof that it is under the state root.

    `rule` says how its bytes came from a file: "utf-8" as they are, "pdf" and the like converted.
    """

    path: str
    id: str
    content_hash: Hash
    length: Natural
    time: Moment | None
    rule: str
    proof: tuple[Sibling, ...] = field(repr=False)

    def root(self) -> str:
        """The state root that the proof leads to."""
        leaf = leaf_hash(self.path, self.time, bytes.fromhex(self.content_hash))
        steps = tuple((step.side == "left", bytes.fromhex(step.hash)) for step in self.proof)
        return Proof(steps).root(leaf).hex()


@dataclass(frozen=True, slots=True)
class CitedWindow:
    """Bytes `[start, end)` of a document that stand in the context, their hash, and what brought them there."""

    path: str
    start: Natural
    end: Natural
    id: str
    hash: Hash
    score: Score
    terms: tuple[str, ...]


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
    """A text that a model wrote from parts of a document. Its hash shows that it is that text, not that it is true."""

    path: str
    model: str
    content_hash: Hash
    length: Natural
    source: str
    sources: tuple[DigestSource, ...] = field(repr=False)
    sentences: tuple[DigestSentence, ...] = field(repr=False)


class Quote(NamedTuple):
    """Some bytes of the text that come from the document of a window (its number among the windows).

    Where the text shows them in another way (an escape), or they are a seam's or a digest's, `written` is what it shows
    and `source` what the document or digest has; otherwise they are the window's own bytes as they are.
    """

    window: Natural
    start: Natural
    end: Natural
    written: str | None = None
    source: str | None = None
