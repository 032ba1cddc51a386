"""Condenses a text: whole or in parts, then merges, until one text is left.

    source -> parts -> partials -> merges -> Digest

What a model has answered is never asked again: a part that overflows is cut anew with only what is unfinished, a merge
that overflows is regrouped with its partials kept, a run that ends early is taken up where it ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from brimful.densify.calls import Caller, Model
from brimful.densify.digest import CitedSentence, Digest, text_of
from brimful.densify.extractive import ExtractiveModel, extract, join
from brimful.densify.memory import Memory
from brimful.densify.models import model_for
from brimful.densify.plan import Slicer, check_input
from brimful.densify.run import Merging, Parting, Progress, Run
from brimful.documents.documents import Document
from brimful.errors import ContextLimitError, DocumentError
from brimful.settings import DensifySettings
from brimful.text.spans import Span
from brimful.transport import Stop

_DEFAULT_TARGET_TOKENS = 512


def densify(
    source: str | Document,
    model: Model | str = "extractive:",
    *,
    settings: DensifySettings | None = None,
    memory: Memory | Path | str | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] | None = None,
) -> Digest:
    """Condense a text through a model, whatever their sizes.

    `memory` (a file, or an open Memory) makes a later run go on where an earlier one ended. `cancel` ends the run with
    a CancelledError, as does `settings.deadline_seconds`; Ctrl-C ends it as usual. What was finished is remembered.

    >>> text = "Tea is at four. The weather is fine. Tea and cake are at four in the garden. Bring a chair."
    >>> densify(text, settings=DensifySettings(target_tokens=12)).text
    'Tea and cake are at four in the garden.'
    """
    settings = settings or DensifySettings()
    document = source if isinstance(source, Document) else Document("text", source)
    if not document.content.strip():
        raise DocumentError(f"{document.path} has no words; there is nothing to condense")
    model = model_for(model) if isinstance(model, str) else model
    if isinstance(model, ExtractiveModel):
        return _extracted(document, model, settings)
    slicer = Slicer(document, model.counter)
    check_input(slicer.tokens, settings)
    stop = Stop()
    with nullcontext(memory) if isinstance(memory, Memory) else Memory(memory) as answers:
        run = Run(
            document=document,
            slicer=slicer,
            memory=answers,
            caller=Caller(model, settings, stop, sleep or stop.wait),
            progress=progress,
            cancel=cancel,
            clock=clock,
        )
        with run:
            return _digest(run, _condense(run))


def _condense(run: Run) -> Merging:
    """Parts, then merges; where no two partials merge, smaller parts; joined partials as the last resort."""
    parting = Parting(run)
    while True:
        merging = Merging(run, parting.condense())
        try:
            merging.merge()
        except ContextLimitError:
            if parting.start_smaller():
                continue
            merging.joined = True
        return merging


def _digest(run: Run, merged: Merging) -> Digest:
    text, paid, model = text_of(*merged.partials), run.caller.paid, run.model
    return Digest(
        text=text,
        sentences=tuple(sentence for partial in merged.partials for sentence in partial),
        source=run.document.id,
        source_bytes=len(run.document),
        source_tokens=run.slicer.tokens,
        covered=run.covered(),
        gaps=tuple(run.gaps),
        model=model.name,
        counter=model.counter.name,
        exact=model.counter.exact,
        tokens=model.count(text),
        limit=run.limit,
        parts=len(run.finished),
        passes=merged.passes,
        joined=merged.joined,
        calls=paid["calls"],
        retries=paid["retries"],
        overflows=paid["overflows"],
        remembered=paid["remembered"],
        tokens_sent=paid["tokens_sent"],
        tokens_received=paid["tokens_received"],
    )


def _extracted(document: Document, model: ExtractiveModel, settings: DensifySettings) -> Digest:
    """The text's own sentences, each with its exact place."""
    tokens = model.count(document.content.decode())
    check_input(tokens, settings)
    target = settings.target_tokens or min(_DEFAULT_TARGET_TOKENS, max(tokens // 4, 16))
    spans = extract(document, target, counter=model.counter)
    text = join(document, spans)
    return Digest(
        text=text,
        sentences=tuple(CitedSentence(document.text(span.start, span.end), (span,)) for span in spans),
        source=document.id,
        source_bytes=len(document),
        source_tokens=tokens,
        covered=(Span(0, len(document)),),
        gaps=(),
        model=model.name,
        counter=model.counter.name,
        exact=model.counter.exact,
        tokens=model.count(text),
    )
