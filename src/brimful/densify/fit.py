"""How is a text condensed to at most so many tokens, exactly?

A model is asked for a size and gives about that. What is over is left out by sentences, the least central first, so
that the count holds to the token, and every sentence that stays keeps its places.
"""

from __future__ import annotations

from dataclasses import replace

from brimful.corpus.documents import Document
from brimful.densify.digest import Digest
from brimful.densify.extractive import extract, join
from brimful.errors import BudgetError
from brimful.text.tokens import TokenCounter


def fit_digest(digest: Digest, tokens: int, *, counter: TokenCounter) -> Digest:
    """The digest if it fits, else its best sentences that do, in their order; `tokens` is counted by `counter`.

    >>> from brimful.densify.densify import densify
    >>> from brimful.text.vocabularies import tokens_for
    >>> whole = densify("Tea is at four. Cake is at five. Tea and cake are in the garden at four and five.")
    >>> short = fit_digest(whole, 8, counter=tokens_for("approximate"))
    >>> short.tokens <= 8, short.text in whole.text
    (True, True)
    """
    if tokens < 1:
        raise BudgetError(f"a digest can't be cut to {tokens} tokens; give at least 1")
    counted = counter.count(digest.text)
    if counted <= tokens:
        return replace(digest, tokens=counted, counter=counter.name, exact=counter.exact)
    document = Document("digest", "\n".join(cited.text for cited in digest.sentences), kind="prose", language="text")
    spans = extract(document, tokens, counter=counter)
    text, _ = join(document, spans)
    starts, at = [], 0
    for cited in digest.sentences:
        starts.append(at)
        at += len(cited.text.encode()) + 1
    kept = []
    for span in spans:
        owner = max(number for number, start in enumerate(starts) if start <= span.start)
        kept.append(replace(digest.sentences[owner], text=document.text(span.start, span.end)))
    return replace(
        digest,
        text=text,
        sentences=tuple(kept),
        tokens=counter.count(text),
        counter=counter.name,
        exact=counter.exact,
    )
