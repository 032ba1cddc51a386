"""Which windows do the best hits make while the line between them and the others moves?

Packing finds out where the water line lies by trying. From one try to the next most windows stay what they were, so
each is made once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from brimful.corpus.documents import Document, Hit
from brimful.settings import WindowSettings
from brimful.windows.inflate import window_of
from brimful.windows.water import Line, field_cuts
from brimful.windows.window import Window


class Tide:
    """Windows of one question's hits, which come from a search: in order, each once, inside their documents."""

    def __init__(self, settings: WindowSettings | None = None) -> None:
        self._settings = settings or WindowSettings()
        self._made: dict[tuple[object, ...], Window] = {}

    def windows(self, above: Sequence[Hit], below: Sequence[Hit], known: Mapping[str, Document]) -> tuple[Window, ...]:
        """Windows of the hits above the line, those that touch in one, and of each one below it by itself."""
        numbers: dict[str, int] = defaultdict(int)
        windows: list[Window] = []
        for cut in field_cuts(Line(tuple(above), tuple(below)), known):
            path, number = cut.document.path, numbers[cut.document.path]
            # The window that is kept holds its hits, so that none of their identities is given to another.
            key = (path, cut.span.start, cut.span.end, *map(id, cut.hits))
            window = self._made.get(key)
            if window is None:
                window = window_of(cut, number, self._settings)
            elif window.sequence != number:
                window = window.changed(sequence=number)
            self._made[key] = window
            numbers[path] += 1
            windows.append(window)
        return tuple(sorted(windows, key=lambda window: window.order))
