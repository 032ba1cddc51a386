"""What would a condensation ask of its model? Counted before anything is paid."""

from __future__ import annotations

from dataclasses import dataclass

from brimful.corpus.documents import Document
from brimful.densify.extractive import ExtractiveModel
from brimful.densify.model import Model
from brimful.densify.parts import Slicer, groups_of
from brimful.densify.plan import DensifySettings, allowances, check_input, overhead
from brimful.text.spans import Span

_BETWEEN_TOKENS = 2


@dataclass(frozen=True, slots=True)
class Forecast:
    """Parts, calls and tokens of a run in which every answer has its target's length and none overflows."""

    model: str
    source_tokens: int
    parts: int
    calls: int
    tokens_sent: int
    tokens_received: int
    exact: bool


def forecast(document: Document, model: Model, *, settings: DensifySettings | None = None) -> Forecast:
    """The calls of a run that nothing is remembered of; retries and smaller parts come on top.

    >>> from brimful.densify.models import model_for
    >>> forecast(Document("a.txt", "Tea is at four."), model_for("extractive:")).calls
    0
    """
    settings = settings or DensifySettings()
    slicer = Slicer(document, model.counter)
    check_input(slicer.tokens, settings)
    exact = model.counter.exact
    if isinstance(model, ExtractiveModel):
        return Forecast(model.name, slicer.tokens, 1, 0, 0, 0, exact)
    now = allowances(model.limit(), model.counter, settings, small=model.small)
    parts = slicer.cut([Span(0, len(document))], now.part)
    sizes = [now.target(part.tokens) for part in parts]
    sent = sum(part.tokens + overhead(model.counter, "part") for part in parts)
    calls, received = len(parts), sum(sizes)
    while len(sizes) > 1 and (settings.target_tokens is None or sum(sizes) > settings.target_tokens):
        groups = groups_of(sizes, now.merge, between=_BETWEEN_TOKENS)
        if len(groups) == len(sizes):
            break  # no two of them fit into one request
        whole = [sum(sizes[group.start : group.stop]) for group in groups]
        merges = [tokens for tokens, group in zip(whole, groups, strict=True) if len(group) > 1]
        sizes = [now.target(tokens) if len(group) > 1 else tokens for tokens, group in zip(whole, groups, strict=True)]
        calls += len(merges)
        sent += sum(merges) + len(merges) * overhead(model.counter, "merge")
        received += sum(now.target(tokens) for tokens in merges)
    return Forecast(model.name, slicer.tokens, len(parts), calls, sent, received, exact)
