"""Why each window is in the context, and the budgets at which others would be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from brimful.assembly.context import Context
from brimful.search.priors import Prior, prior_for
from brimful.search.search import Found
from brimful.windows.window import Window

PRICED = 5
"""The number of omitted windows that get a price, best first: each is found by asking again."""
_FIRST_STEP = 64
"""The first budget tried is larger by one part of this."""
_MAX_FACTOR = 64
"""The largest budget tried, as a multiple of the available one."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reading of a question, its hits, and which windows went in. `str` gives it line by line."""

    found: Found
    context: Context
    counts_kinds: bool = True  # whether some kinds of files, such as tests, counted for less

    def prior(self, window: Window) -> Prior | None:
        """The kind of file that made a window's document count for less, if any."""
        if not self.counts_kinds:
            return None
        return prior_for(window.path, (term.term for term in self.found.query.terms))

    def __str__(self) -> str:
        return "\n".join([*self._words(), *self._windows(), *self._omitted()])

    def _words(self) -> Iterator[str]:
        for word, occurrences in self.found.census:
            yield f"{word}: {occurrences} occurrence{'s' if occurrences != 1 else ''}"
        for fix in self.found.corrections:
            word, term = fix.word.decode("utf-8", "replace"), fix.term.decode("utf-8", "replace")
            yield f"{word}: searched as {term} too ({fix.how}, {fix.distance} edits, weight {fix.weight} of 1000)"
        if self.found.missing:
            yield f"no document has: {', '.join(self.found.missing)}"

    def _windows(self) -> Iterator[str]:
        context = self.context
        yield f"{context.tokens} of {context.budget.available} tokens, {len(context.windows)} windows"
        if context.relevance is not None and context.relevance.reason:
            yield f"empty: {context.relevance.reason}"
        for number, cluster in enumerate(context.clusters, start=1):
            places = ", ".join(f"{window.path} [{window.start}, {window.end})" for window in cluster.windows)
            yield f"{cluster.strategy} cluster {number}, coherence {cluster.coherence.score:.2f}: {places}"
        for window in context.windows:
            terms = ", ".join(sorted({term for hit in window.hits for term in hit.terms})) or "no word of the question"
            best = max(window.hits, key=lambda hit: hit.score, default=None)
            legs = f" (words {best.lexical or 0:.3f}, meaning {best.semantic or 0:.3f})" if best else ""
            marks = "".join(f"; {mark}" for mark in self._marks(window))
            yield f"in  {window.path} [{window.start}, {window.end}) score {window.score:.3f}{legs}: {terms}{marks}"

    def _marks(self, window: Window) -> Iterator[str]:
        if window.coherence.score < 1.0:
            reasons = ", ".join(part.why for part in window.coherence.parts if part.value < 1.0)
            yield f"coherence {window.coherence.score:.2f} ({reasons})"
        if window.also_in:
            yield f"also in {', '.join(window.also_in)}"
        if prior := self.prior(window):
            yield str(prior)
        if window.filling:
            yield "fills"

    def _omitted(self) -> Iterator[str]:
        for out in self.context.omitted:
            enters = f", enters at {out.enters_at} tokens" if out.enters_at else ""
            window = out.window
            yield f"out {window.path} [{window.start}, {window.end}) score {window.score:.3f}: {out.reason}{enters}"


def price_of(window: Window, shows: Callable[[int, Window], bool], *, available: int) -> int | None:
    """A budget that shows a window whole, while one token less does not; None where none was found.

    `shows` asks again at a budget, since windows change with it.
    """
    low, step = available, max(available // _FIRST_STEP, 1)
    while not shows(low + step, window):
        low, step = low + step, 2 * step
        if low > available * _MAX_FACTOR:
            return None
    budgets = range(low + 1, low + step + 1)
    return budgets[bisect_left(budgets, 1, key=lambda budget: shows(budget, window))]
