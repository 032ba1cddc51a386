"""Why is each window in the context, and at which budget would the others be?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from brimful.assembly.context import Context, Omitted
from brimful.search.priors import SOURCE, TRANSLATION, Prior, prior_for
from brimful.search.search import Found
from brimful.windows.window import Window

# ---- explain: Why is each window in the context, and at which budget would the others be?

PRICED = 5
"""How many of the best windows that were left out are priced: each price is found by packing again."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a question was understood, what was found, what went in and what did not. `str` gives it line by line."""

    found: Found
    context: Context
    counts_kinds: bool = True  # whether tests, lock files and the like counted for less

    def prior(self, window: Window) -> Prior | None:
        """The kind of file for which a window's document counted less, if it did."""
        if not self.counts_kinds:
            return None
        kind = prior_for(window.path, (each.term for each in self.found.query.terms))
        if kind is None and window.path in self.found.translations:
            return TRANSLATION
        is_source = window.document is not None and window.document.kind == "code"
        return SOURCE if kind is None and is_source and self.found.sources_less else kind

    def __str__(self) -> str:
        return "\n".join([*self._words(), *self._windows(), *self._omitted()])

    def _words(self) -> Iterator[str]:
        for word, census in self.found.census:
            yield f"{word}: {census} occurrence{'s' if census != 1 else ''}"
        for each in self.found.corrections:
            word, term = each.word.decode("utf-8", "replace"), each.term.decode("utf-8", "replace")
            yield f"{word}: searched as {term} too ({each.how}, {each.distance} edits, weight {each.weight} of 1000)"
        if self.found.missing:
            yield f"no document has: {', '.join(self.found.missing)}"

    def _windows(self) -> Iterator[str]:
        context = self.context
        yield f"{context.tokens} of {context.budget.available} tokens, {len(context.windows)} windows"
        if context.relevance is not None and context.relevance.reason:
            yield f"empty: {context.relevance.reason}"
        for number, cluster in enumerate(context.clusters, start=1):
            places = ", ".join(f"{each.path} [{each.start}, {each.end})" for each in cluster.windows)
            yield f"{cluster.strategy} cluster {number}, coherence {cluster.coherence.score:.2f}: {places}"
        for window in context.windows:
            terms = ", ".join(sorted({term for hit in window.hits for term in hit.terms})) or "no word of the question"
            best = max(window.hits, key=lambda hit: hit.score, default=None)
            legs = f" (words {best.lexical or 0:.3f}, meaning {best.semantic or 0:.3f})" if best else ""
            marks = "".join(f"; {mark}" for mark in self._marks(window))
            yield f"in  {window.path} [{window.start}, {window.end}) score {window.score:.3f}{legs}: {terms}{marks}"

    def _marks(self, window: Window) -> Iterator[str]:
        if window.coherence.score < 1.0:
            missed = ", ".join(part.why for part in window.coherence.parts if part.value < 1.0)
            yield f"coherence {window.coherence.score:.2f} ({missed})"
        if window.also_in:
            yield f"also in {', '.join(window.also_in)}"
        if prior := self.prior(window):
            yield str(prior)
        if self.context.relevance is not None and self.context.relevance.is_filling(window):
            yield "fills"

    def _omitted(self) -> Iterator[str]:
        for number, each in enumerate(self.context.omitted):
            price = each.enters_at if number < PRICED else None
            enters = f", enters at {price} tokens" if price else ""
            window = each.window
            yield f"out {window.path} [{window.start}, {window.end}) score {window.score:.3f}: {each.reason}{enters}"


# ---- prices: At which budget would a window that was left out be in? Found by asking again: windows change with the
# budget.

_STEP = 64  # of so many tokens one, at first
_MOST_TIMES = 64  # the budget that is tried at last


class Prices:
    """The prices of what one context left out; what is asked for one window serves the others."""

    def __init__(self, ask: Callable[[int], Context], available: int) -> None:
        self._ask = ask
        self._available = available
        self._shown: dict[int, frozenset[tuple[str, int, int]]] = {}

    def of(self, omitted: Omitted) -> int | None:
        """A budget at which the window is shown whole, though not with one token less; None where none was found.

        What packing alone would ask for is where the search begins.
        """
        guess = omitted.enters_at
        if guess is None:
            return None
        low, high = self._around(omitted.window, max(guess, self._available + 1))
        while high is not None and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._shows(middle, omitted.window) else (middle, high)
        return high

    def _around(self, window: Window, guess: int) -> tuple[int, int | None]:
        """A budget without the window, and a larger one with it."""
        if self._shows(guess, window):
            step, high = 1, guess
            while high - step > self._available and self._shows(high - step, window):
                high, step = high - step, 2 * step
            return max(high - step, self._available), high
        step, low = max(self._available // _STEP, 1), guess
        while not self._shows(low + step, window):
            low, step = low + step, 2 * step
            if low > self._available * _MOST_TIMES:
                return low, None
        return low, low + step

    def _shows(self, budget: int, window: Window) -> bool:
        if budget not in self._shown:
            self._shown[budget] = frozenset((each.path, each.start, each.end) for each in self._ask(budget).windows)
        return any(
            path == window.path and start <= window.start and window.end <= end
            for path, start, end in self._shown[budget]
        )
