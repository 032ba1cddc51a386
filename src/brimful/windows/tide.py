"""Which windows do the best hits make while the line between them and the others moves?

Packing finds out where the water line lies by trying. From one try to the next most windows stay what they were, so
each is made once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from brimful.corpus.documents import Document, Hit
from brimful.settings import WindowSettings
from brimful.windows.cutting import Cut
from brimful.windows.inflate import window_of
from brimful.windows.water import Line, field_cuts
from brimful.windows.window import Window


class Tide:
    """Windows of one question's hits, which come from a search: in order, each once, inside their documents."""

    def __init__(self, settings: WindowSettings | None = None) -> None:
        self._settings = settings or WindowSettings()
        # What is kept holds its hits, so that none of their identities is given to another.
        self._cut: dict[tuple[object, ...], Window] = {}
        self._shown: dict[tuple[int, ...], tuple[Sequence[Hit], list[Window]]] = {}

    def windows(self, above: Sequence[Hit], below: Sequence[Hit], known: Mapping[str, Document]) -> tuple[Window, ...]:
        """Windows of the hits above the line, those that touch in one, and of each one below it by itself."""
        hits: dict[str, tuple[list[Hit], list[Hit]]] = {}
        for number, side in enumerate((above, below)):
            for hit in side:
                hits.setdefault(hit.path, ([], []))[number].append(hit)
        windows = [window for path, sides in hits.items() for window in self._document(known[path], *sides)]
        return tuple(sorted(windows, key=lambda window: window.order))

    def _document(self, document: Document, above: Sequence[Hit], below: Sequence[Hit]) -> Sequence[Window]:
        """The windows of one document; with the same hits they are the same."""
        key = (*map(id, above), -1, *map(id, below))
        if key not in self._shown:
            cuts = field_cuts(
                Line(tuple(above), tuple(below)),
                {document.path: document},
                whole_share=self._settings.whole_share,
            )
            windows = [self._window(cut, number) for number, cut in enumerate(cuts)]
            self._shown[key] = ((*above, *below), windows)
        return self._shown[key][1]

    def _window(self, cut: Cut, number: int) -> Window:
        key = (cut.document.path, cut.span.start, cut.span.end, *map(id, cut.hits))
        window = self._cut.get(key)
        if window is None:
            window = window_of(cut, number, self._settings)
        elif window.sequence != number:
            window = window.changed(sequence=number)
        self._cut[key] = window
        return window
