"""Where do the tokens of a budget go? Reserves, headers, seams, markers, content and what is free: all of them, once.

Texts that stand side by side can share a token, so parts can't be counted one by one. Each fragment is charged what
the text costs with it beyond what it costs without it, from the first to the last: the charges add up to the total.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from operator import add
from typing import TYPE_CHECKING, Literal

from brimful.assembly.formats import Fragment
from brimful.budget import Budget
from brimful.text.tokens import TokenCounter
from brimful.windows.window import Window

if TYPE_CHECKING:
    from collections.abc import Collection

Part = Literal["headers", "seams", "markers", "content", "digests"]


@dataclass(frozen=True, slots=True)
class Account:
    """A budget in tokens. The reserves, the five parts and `free` add up to `total`; the parts are `used`.

    - `headers`: what names documents and stands between windows, details and tags included;
    - `seams`: what explains a window from elsewhere in its document, with its frame;
    - `markers`: `[...]` at gaps and cut edges, and the lines that follow; backslashes before what looks like ours;
    - `content`: the windows' own bytes; `digests`: a model's words in their place.
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
    written: Sequence[tuple[Window | None, Fragment]],
    *,
    counter: TokenCounter,
    budget: Budget,
    generated: Collection[str] = (),
) -> Account:
    """The account of a text that was written from these fragments; `generated` are the paths of digests.

    >>> from brimful.text.vocabularies import tokens_for
    >>> made = [(None, Fragment("[DOC: a]\\n")), (Window("a", "Tea."), Fragment("Tea.", "source", 0, 4, "content"))]
    >>> found = account_of(made, counter=tokens_for("gpt-4o"), budget=Budget(20, 0, 0, 0))
    >>> found.headers, found.content, found.free
    (5, 2, 13)
    """
    shown = [(window, fragment) for window, fragment in written if fragment.text]
    parts = list(_parts(shown, generated))
    sums = dict.fromkeys(("headers", "seams", "markers", "content", "digests"), 0)
    for part, tokens in zip(parts, _charges([fragment.text for _, fragment in shown], counter), strict=True):
        sums[part] += tokens
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
    """What each text adds to those before it, never less than nothing."""
    if not texts:
        return []
    costs = [measure.tokens for measure in accumulate(map(counter.measure, texts), add)]
    # A longer text can cost less than its beginning: what is saved is taken from the text that was begun.
    low = list(accumulate(reversed(costs), min))[::-1]
    return [later - earlier for earlier, later in pairwise(chain([0], low))]


def _parts(shown: Sequence[tuple[Window | None, Fragment]], generated: Collection[str]) -> Iterator[Part]:
    for window, fragment in shown:
        is_generated = fragment.role == "content" and window is not None and window.path in generated
        yield "digests" if is_generated else fragment.role
