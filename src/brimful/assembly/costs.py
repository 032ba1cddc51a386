"""What does a context cost with these windows in these places? Exact, and without being written again.

What stands between two windows depends on both (the marker of the gap, a trail that they share), and on no others.
Measures add up exactly (`TokenCounter.measure`), so what was counted once is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from brimful.assembly.formats import Form, Fragment, Showing
from brimful.text.tokens import Measure, TokenCounter, in_row
from brimful.windows.window import Window

_Piece = Measure | str
"""A text that was measured, or a short one as it is."""


class Costs:
    """The costs of windows in a format. Keys are identities, so the values hold their windows."""

    def __init__(self, form: Form, counter: TokenCounter, showing: Showing) -> None:
        self.counter = counter
        self._form, self._showing = form, showing
        self._texts: dict[tuple[str, int, int], tuple[Window, Measure]] = {}
        self._pieces: dict[int, tuple[Window, tuple[_Piece, ...]]] = {}
        self._leads: dict[tuple[int, int], tuple[Window | None, Window, str]] = {}
        self._blocks: dict[tuple[int, ...], tuple[Sequence[Window], Measure]] = {}

    def of(self, blocks: Sequence[Sequence[Window]]) -> int:
        """The tokens of a context of exactly these blocks."""
        keys = [(not number, *map(id, block)) for number, block in enumerate(blocks)]
        for key, block in zip(keys, blocks, strict=True):
            if key not in self._blocks:
                self._blocks[key] = block, self._block(block, is_first=bool(key[0]))
        measures = [self._blocks[key][1] for key in keys]
        return in_row(self.counter, [self._form.opening, *measures, self._form.closing]).tokens if measures else 0

    def of_text(self, window: Window) -> Measure:
        """The measure of a window's own text."""
        key = (window.path, window.start, window.end)
        remembered = self._texts.get(key)
        if remembered is None or remembered[0].text != window.text:
            remembered = self._texts[key] = window, self.counter.measure(window.text)
        return remembered[1]

    def _block(self, windows: Sequence[Window], *, is_first: bool) -> Measure:
        """A block with the separator before it."""
        form, first, last = self._form, windows[0], windows[-1]
        pieces: list[_Piece] = ["" if is_first else form.block_separator, form.head(first.path, first, self._showing)]
        pieces += [self._lead(None, first), *self._body(first)]
        for previous, window in pairwise(windows):
            pieces += [self._lead(previous, window), *self._body(window)]
        return in_row(self.counter, [*pieces, _text_of(form.tail(last, self._showing))])

    def _lead(self, previous: Window | None, window: Window) -> str:
        """The text above a window."""
        key = (id(previous), id(window))
        if key not in self._leads:
            self._leads[key] = previous, window, _text_of(self._form.lead(previous, window, self._showing))
        return self._leads[key][2]

    def _body(self, window: Window) -> tuple[_Piece, ...]:
        """A window as it is written."""
        if id(window) not in self._pieces:
            written = _text_of(self._form.body(window, self._showing))
            pieces: tuple[_Piece, ...] = (self.counter.measure(written),)
            if written.startswith(window.text):
                pieces = (self.of_text(window), written[len(window.text) :])
            self._pieces[id(window)] = window, pieces
        return self._pieces[id(window)][1]


def _text_of(fragments: Iterable[Fragment]) -> str:
    return "".join([fragment.text for fragment in fragments])
