"""What would the context cost with this window in it? Exactly, without rendering it anew.

A layout has blocks, and a block has slots, in the order in which they will be read. What is written between two windows
depends on both (the marker of the gap, a trail that they share), and on no others. Costs are measures
(`TokenCounter.measure`), which add up exactly, held in a tree over the slots of a block and one over the blocks:
changing one slot costs a handful of additions. While only the last block changes, what stands before it is one sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from brimful.assembly.formats import Form, Fragment, Showing
from brimful.text.tokens import Measure, TokenCounter, least_tokens
from brimful.windows.window import Window

Costs = dict[tuple[object, ...], tuple[Window | None, Measure]]
"""What windows cost, by all that is written of them, and what stands between them by its text. A window is kept with
its cost, so that its place is no other's."""

_EDGE_TOKENS = 24  # more than what a format writes at the edges of a window, the lines of its neighbour included


_Node = TypeVar("_Node")


class _Tree(Generic[_Node]):
    """The sum of the filled slots in order, as `join` adds neighbours; slots appear as they are used."""

    __slots__ = ("_join", "_nodes", "_size")

    def __init__(self, join: Callable[[_Node, _Node], _Node]) -> None:
        self._size = 1
        self._nodes: list[_Node | None] = [None, None]
        self._join = join

    def put(self, slot: int, value: _Node | None) -> list[_Node | None]:
        """Fill or clear a slot; returns what `undo` needs to take it back."""
        while slot >= self._size:
            self._double()
        nodes, node = self._nodes, self._size + slot
        held = [nodes[node]]
        nodes[node] = value
        while node > 1:
            node >>= 1
            held.append(nodes[node])
            nodes[node] = self._joined(nodes[2 * node], nodes[2 * node + 1])
        return held

    def fill(self, values: Sequence[_Node | None]) -> None:
        """Fill the first slots of an empty tree at once: one addition a slot, where `put` needs one a level."""
        while self._size < len(values):
            self._size *= 2
        self._nodes = nodes = [None] * self._size + [*values] + [None] * (self._size - len(values))
        for node in range(self._size - 1, 0, -1):
            nodes[node] = self._joined(nodes[2 * node], nodes[2 * node + 1])

    def undo(self, slot: int, held: list[_Node | None]) -> None:
        """Put back what the last `put` into this slot replaced."""
        node = self._size + slot
        for value in held:
            self._nodes[node] = value
            node >>= 1

    @property
    def total(self) -> _Node | None:
        """The sum, or None while every slot is empty."""
        return self._nodes[1]

    def _joined(self, left: _Node | None, right: _Node | None) -> _Node | None:
        if left is None or right is None:
            return right if left is None else left
        return self._join(left, right)

    def _double(self) -> None:
        """Put the tree under a new root, as its left half."""
        nodes: list[_Node | None] = [None] * (4 * self._size)
        nodes[1] = self._nodes[1]
        width = 1
        while width <= self._size:
            nodes[2 * width : 3 * width] = self._nodes[width : 2 * width]
            width *= 2
        self._nodes, self._size = nodes, 2 * self._size


class _Run(NamedTuple):
    """Neighbouring windows of a block, and what they cost from the first one's text to the last one's.

    What stands before a window depends on its neighbour, so it is added where two runs meet.
    """

    first: Window
    last: Window
    cost: Measure


class Layout:
    """Windows in their places, and the exact number of tokens of the text they would render to."""

    def __init__(
        self, *, form: Form, counter: TokenCounter, showing: Showing | None = None, costs: Costs | None = None
    ) -> None:
        """`costs` are remembered beyond this layout, where several are laid out with the same windows."""
        self._counter, self._form, self._showing = counter, form, showing or Showing()
        self._costs: Costs = {} if costs is None else costs
        self._opening, self._closing = self._literal(form.opening), self._literal(form.closing)
        self._between_blocks = self._literal(form.block_separator)
        self._paths: list[str] = []
        self._slots: list[_Tree[_Run]] = []
        self._blocks: _Tree[Measure] | None = None  # made when another block than the last one changes
        self._before: Measure | None = None  # until then, what stands before the last one
        self.tokens = 0
        self.wanted = 0  # what the last `put` would have come to

    def add_block(self, path: str) -> int:
        """A new, empty block at the end; it costs nothing until a window is put into it."""
        if self._blocks is None and self._slots:
            self._before = self._last()
        self._paths.append(path)
        self._slots.append(_Tree(self._meet))
        return len(self._slots) - 1

    def lay_out(self, blocks: Sequence[tuple[str, Sequence[Window | None]]]) -> None:
        """Add blocks with all their windows at once, whether they fit or not; None leaves a slot empty."""
        for path, windows in blocks:
            self._slots[self.add_block(path)].fill([self._run(window) if window else None for window in windows])
        self.tokens = self.wanted = self._total(self._last())

    def put(self, block: int, slot: int, window: Window | None, *, available: int) -> bool:
        """Put a window into a slot (None clears it) if the whole then fits; else change nothing."""
        if self._blocks is None and block < len(self._slots) - 1:
            self._blocks = _Tree(self._meet_blocks)
            self._blocks.fill([self._block(number) for number in range(len(self._slots))])
        slot_before = self._slots[block].put(slot, self._run(window) if window else None)
        if self._blocks is None:
            block_before, whole = None, self._last()
        else:
            block_before = self._blocks.put(block, self._block(block))
            whole = self._blocks.total
        tokens = self.wanted = self._total(whole)
        if tokens > available:
            self._slots[block].undo(slot, slot_before)
            if self._blocks is not None and block_before is not None:
                self._blocks.undo(block, block_before)
            return False
        self.tokens = tokens
        return True

    def is_surely_over(self, window: Window, added: str, *, available: int) -> bool:
        """Whether a window that is laid out can't grow by some text: most can't, and need not be written to know it.

        What growing may save is its edges and its seams; the rest of the text stays, and what is inside the added
        text comes to it.
        """
        room = available - self.tokens
        if len(added) <= room:
            return False
        least = least_tokens(self._counter, added) - _EDGE_TOKENS
        return least > room and least - self._seams(window) > room

    def _seams(self, window: Window) -> int:
        """About what its seams cost, rather too much than too little."""
        return sum(self._counter.count(seam.text) + _EDGE_TOKENS * (1 + seam.text.count("\n")) for seam in window.seams)

    def _run(self, window: Window) -> _Run:
        return _Run(window, window, self._cost(window))

    def _meet(self, left: _Run, right: _Run) -> _Run:
        """Two runs side by side, with what is written between them."""
        between = self._written(self._form.lead(left.last, right.first, self._showing))
        cost = left.cost if between is None else left.cost + between
        return _Run(left.first, right.last, cost + right.cost)

    def _meet_blocks(self, left: Measure, right: Measure) -> Measure:
        return left + right if self._between_blocks is None else left + self._between_blocks + right

    def _cost(self, window: Window) -> Measure:
        """The measure of one window as it will be written."""
        text = window.text
        key = (window.path, window.start, id(text), window.score)
        known = self._costs.get(key)
        if known is None or not _is_written_alike(known[0], window):
            written = self._form.body(window, self._showing)
            known = window, self._counter.measure("".join([fragment.text for fragment in written]))
            self._costs[key] = known
        return known[1]

    def _last(self) -> Measure | None:
        """All blocks, of which only the last one has changed."""
        block = self._block(len(self._slots) - 1) if self._slots else None
        if block is None or self._before is None:
            return self._before if block is None else block
        return self._meet_blocks(self._before, block)

    def _block(self, block: int) -> Measure | None:
        run = self._slots[block].total
        if run is None:
            return None
        head = self._form.head(self._paths[block], run.first, self._showing)
        above = self._written([Fragment(head), *self._form.lead(None, run.first, self._showing)])
        below = self._written(self._form.tail(run.last, self._showing))
        cost = run.cost if above is None else above + run.cost
        return cost if below is None else cost + below

    def _written(self, fragments: Sequence[Fragment]) -> Measure | None:
        """The measure of what is written around windows: the same few texts again and again."""
        text = "".join([fragment.text for fragment in fragments])
        if not text:
            return None
        known = self._costs.get((text,))
        if known is None:
            known = self._costs[(text,)] = None, self._counter.measure(text)
        return known[1]

    def _total(self, total: Measure | None) -> int:
        if total is None:
            return 0
        if self._opening is not None:
            total = self._opening + total
        return (total + self._closing if self._closing is not None else total).tokens

    def _literal(self, text: str) -> Measure | None:
        return self._counter.measure(text) if text else None


def _is_written_alike(kept: Window | None, window: Window) -> bool:
    """Whether what was kept is the window that the key means: identities are given again once their object is gone."""
    return kept is not None and (kept.text is window.text and kept.time == window.time and kept.line == window.line)
