"""Where the tokens of a budget go: reserves, headers, seams, markers, content and what is free, each token once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from operator import add

from brimful.assembly.formats import Fragment
from brimful.budget import Budget
from brimful.text.tokens import TokenCounter
from brimful.windows.window import Window


@dataclass(frozen=True, slots=True)
class Account:
    """A budget in tokens. The reserves, the five parts and `free` add up to `total`; the parts are `used`.

    - `headers`: names of documents and text between windows, details and tags included;
    - `seams`: text from elsewhere in a document that explains a window, with its frame;
    - `markers`: `[...]` at gaps and cut edges with the lines that follow, and backslashes that escape look-alikes;
    - `content`: the windows' own bytes; `digests`: a model's words instead of them.
    """

    total: int
    reserved_system: int
    reserved_query: int
    reserved_response: int
    available: int
    used: int
    headers: int
    seams: int
    markers: int
    content: int
    digests: int
    free: int


def account_of(
    fragments: Sequence[tuple[Window | None, Fragment]],
    *,
    counter: TokenCounter,
    budget: Budget,
    generated: Collection[str] = (),
) -> Account:
    """The account of a text written from these fragments; `generated` are the paths of digests.

    Neighbouring fragments can share a token, so each is charged what it adds to the text before it.

    >>> from brimful.text.vocabularies import tokens_for
    >>> tea = [(None, Fragment("[DOC: a]\\n")), (Window("a", "Tea."), Fragment("Tea.", "source", 0, 4, "content"))]
    >>> account = account_of(tea, counter=tokens_for("gpt-4o"), budget=Budget(20, 0, 0, 0))
    >>> account.headers, account.content, account.free
    (5, 2, 13)
    """
    sums = dict.fromkeys(("headers", "seams", "markers", "content", "digests"), 0)
    charges = _charges([fragment.text for _, fragment in fragments], counter)
    for (window, fragment), tokens in zip(fragments, charges, strict=True):
        is_generated = fragment.role == "content" and window is not None and window.path in generated
        sums["digests" if is_generated else fragment.role] += tokens
    used = sum(sums.values())
    return Account(
        total=budget.total,
        reserved_system=budget.reserved_system,
        reserved_query=budget.reserved_query,
        reserved_response=budget.reserved_response,
        available=budget.available,
        used=used,
        **sums,
        free=budget.available - used,
    )


def _charges(texts: Sequence[str], counter: TokenCounter) -> list[int]:
    """The tokens that each text adds to the texts before it, never below zero."""
    totals = [measure.tokens for measure in accumulate(map(counter.measure, texts), add)]
    # A longer text can cost less than its beginning: what is saved is taken from the text that was begun.
    lowest = list(accumulate(reversed(totals), min))[::-1]
    return [later - earlier for earlier, later in pairwise(chain([0], lowest))]
