"""At which budget would a window that was left out be in? Found by asking again: windows change with the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from brimful.assembly.context import Context, Omitted
from brimful.windows.window import Window

_STEP = 64  # of so many tokens one, at first
_MOST_TIMES = 64  # the budget that is tried at last


class Prices:
    """The prices of what one context left out; what is asked for one window serves the others."""

    def __init__(self, ask: Callable[[int], Context], available: int) -> None:
        self._ask = ask
        self._available = available
        self._shown: dict[int, frozenset[tuple[str, int, int]]] = {}

    def put_on(self, omitted: Omitted) -> Omitted:
        """The same with a price that is worked out when it is asked for."""
        return replace(omitted, _price=lambda _: self.of(omitted))

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
