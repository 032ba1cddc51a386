"""Captures: texts that are written down before they are condensed (DENS: snapshots, the CaptureWorkflow).

A capture is `pending`, then `done` with its digest, or `failed` with the message. The original is kept in every case,
so a failed capture can be tried again, and pays only for what is missing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Literal, get_args

from blake3 import blake3

from brimful.densify.calls import Model
from brimful.densify.densify import densify
from brimful.densify.digest import CitedSentence
from brimful.densify.memory import Memory, Row
from brimful.densify.models import model_for
from brimful.densify.run import Progress
from brimful.documents.documents import Document
from brimful.errors import BrimfulError, CorruptError, DocumentError, choose
from brimful.settings import DensifySettings
from brimful.store.format import seal_of
from brimful.text.spans import Span

_CaptureStatus = Literal["pending", "done", "failed"]
CAPTURED = "capture:"
_STATUSES: tuple[_CaptureStatus, ...] = get_args(_CaptureStatus)


@dataclass(frozen=True, slots=True)
class Capture:
    """A captured text, its status and its digest (DENS: snapshot)."""

    name: str
    model: str
    status: _CaptureStatus
    original: Document = field(repr=False)
    message: str = ""
    digest: str = ""
    sentences: tuple[CitedSentence, ...] = field(default=(), repr=False)

    @property
    def path(self) -> str:
        """The path of the text in a store."""
        return f"{CAPTURED}{self.name}"

    @property
    def digest_path(self) -> str | None:
        """The path of its digest in a store; None where it has none, or the digest is the text itself."""
        if self.status != "done" or self.digest.split() == self.original.content.decode().split():
            return None
        return digest_path(self.path)

    def document(self) -> Document:
        """The text as a document that a store takes and search finds (ruling 22)."""
        named = Document(self.name, self.original.content)
        return Document(self.path, self.original.content, kind=named.kind, language=named.language)

    def digest_document(self) -> Document | None:
        """The digest as a document that says what it was made from."""
        if self.digest_path is None:
            return None
        text = f"Digest of {self.path}, by {self.model}\n\n{self.digest}"
        return Document(self.digest_path, text, kind="prose", language="text")


def digest_path(path: str) -> str:
    """The path of the digest of a captured text."""
    return f"{path}/digest"


def name_of(text: str | Document) -> str:
    """The name of a capture that nobody named, which follows from its text.

    >>> name_of("Tea at four.")
    'c3c34248b68e'
    """
    if isinstance(text, Document):
        return text.path
    return blake3(text.encode("utf-8", "replace")).hexdigest()[:12]


class Captures:
    """The captures in a memory."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def capture(
        self,
        source: str | Document,
        model: Model | str = "extractive:",
        *,
        name: str,
        settings: DensifySettings | None = None,
        progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> Capture:
        """Write a text down, condense it, and write down how that ended.

        Errors of this package become the status `failed`; Ctrl-C leaves the capture pending.
        """
        original = source if isinstance(source, Document) else Document(name, source)
        if not original.content.strip():
            raise DocumentError(f"there is nothing to capture as {name!r}: the text is empty; give it some words")
        chosen = model_for(model) if isinstance(model, str) else model
        self._write(Capture(name, chosen.name, "pending", original))
        try:
            digest = densify(
                original, chosen, settings=settings, memory=self.memory, progress=progress, cancel=cancel, sleep=sleep
            )
        except BrimfulError as error:
            return self._write(Capture(name, chosen.name, "failed", original, message=f"{error.code}: {error}"))
        return self._write(
            Capture(name, digest.model, "done", original, digest=digest.text, sentences=digest.sentences)
        )

    def retry(
        self,
        name: str,
        model: Model | str | None = None,
        *,
        settings: DensifySettings | None = None,
        cancel: threading.Event | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> Capture:
        """Try a failed or pending capture again, with its model or another; a done one is returned as it is."""
        earlier = self.get(name)
        if earlier.status == "done":
            return earlier
        model = model or earlier.model
        return self.capture(earlier.original, model, name=name, settings=settings, cancel=cancel, sleep=sleep)

    def get(self, name: str) -> Capture:
        """One capture by its name."""
        row = next(self.memory.captures(name), None)
        if row is None:
            raise DocumentError(f"there is no capture {name!r}; list them for the names")
        return _read(row)

    def list(self, status: _CaptureStatus | None = None) -> list[Capture]:
        """All captures, or the captures of one status, by name."""
        if status is not None:
            choose(status, _STATUSES, what="status")
        return [capture for capture in map(_read, self.memory.captures()) if status in (None, capture.status)]

    def purge(self, stored: Collection[str]) -> None:
        """Erase all partials, and each done capture whose document is not stored."""
        for capture in self.list("done"):
            if capture.path not in stored:
                self.memory.write("DELETE FROM captures WHERE name = ?", (capture.name,))
        self.memory.purge()

    def _write(self, capture: Capture) -> Capture:
        sources = json.dumps(
            [[cited.text, [[span.start, span.end] for span in cited.sources]] for cited in capture.sentences],
            ensure_ascii=False,
        )
        values = (capture.name, capture.model, capture.status, capture.message, capture.original.content)
        row = (*values, capture.digest, sources)
        self.memory.keep_capture((*row, seal_of(*row)))
        return capture


def _read(row: Row) -> Capture:
    *values, seal = row
    name, model, status, message, original, digest, sources = values
    if seal_of(*values) != seal:
        raise CorruptError(f"capture {name!r} is not what was written; capture its text again")
    sentences = tuple(
        CitedSentence(text, tuple(Span(start, end) for start, end in spans)) for text, spans in json.loads(sources)
    )
    return Capture(name, model, status, Document(name, original), message, digest, sentences)
