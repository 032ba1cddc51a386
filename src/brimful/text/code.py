"""Where may code be cut: statements, functions, classes?"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brimful.text.cuts import FILLED, SECTION_AIM, SECTION_LIMIT, UNIT_LIMIT, Cuts, break_long, gather, settle
from brimful.text.grammars import (
    BLOCK,
    BODY,
    CLASS,
    COMMENT,
    FUNCTION,
    IMPORT,
    LAMBDA,
    LARGEST_PARSE,
    MARK,
    OTHER,
    body_start,
    broken_bytes,
    grammar,
    is_tangled,
    name_of,
    parse,
    role_in,
    roles,
)
from brimful.text.layout import Shape, nest, read_layout
from brimful.text.outline import Block, BlockKind, Outline

if TYPE_CHECKING:
    from tree_sitter import Node

STATEMENTS_AIM = 300
"""Neighbouring statements are gathered into a unit up to this many bytes."""
DEEPEST = 12
"""Statements nested deeper than this are gathered as if they were at this depth."""

_ERROR_ID = 65535
_BLOCK_KINDS: dict[int, BlockKind] = {
    FUNCTION: "function",
    LAMBDA: "function",
    CLASS: "class",
    BLOCK: "block",
}
_KEYWORDS = re.compile(rb"[ \t]*(?:[a-z]+[ \t]+)*")  # what may stand before a definition: export default, pub
_WORDY = b" \t\r\n_" + bytes(octet for octet in range(256) if octet >= 128 or bytes((octet,)).isalnum())
_WIDEST = 256  # no indentation is wider
_BLANK_LINE = re.compile(rb"\n[ \t\r]*+\n")


def outline_code(content: bytes, *, language: str | None = None) -> Outline:
    """Statements as units, functions, classes and methods as sections, by grammar or else by layout."""
    shape: Shape | None = None
    if language is not None and _is_parseable(content) and grammar(language) is not None:
        shape = _Reader(content, language).read()
    if shape is None:
        shape = read_layout(content)
    forced = settle(content, shape.sections)
    statements = settle(content, _group(content, shape.statements, forced.tolist()))
    units = break_long(content, statements, over=UNIT_LIMIT, by_line=True)
    return Outline(
        kind="code",
        language=language,
        length=len(content),
        units=units,
        sections=_sections(content, units, forced, definitions=shape.definitions),
        blocks=nest(shape.blocks),
    )


def _is_parseable(content: bytes) -> bool:
    """Small enough, and mostly words: long runs of signs make a parser try everything for seconds."""
    if not 0 < len(content) <= LARGEST_PARSE or b"\0" in content:
        return False
    return len(content.translate(None, _WORDY)) * 5 <= len(content) * 3


def _group(content: bytes, statements: list[tuple[int, int]], forced: list[int]) -> list[int]:
    """Gather statements (position, depth) into units, cutting at the outermost depth that will do.

    White space does not count, so that indentation does not steer the choice (085b §5.3).

    >>> sorted(_group(b"x" * 400, [(0, 0), (100, 1), (200, 1), (290, 0)], [0, 400]))
    [0, 290, 400]
    """
    depth_at = dict.fromkeys(forced, 0)
    for position, depth in statements:
        depth_at[position] = min(depth, depth_at.get(position, DEEPEST))
    places = sorted(depth_at)
    depths = [depth_at[place] for place in places]
    filled = np.cumsum(FILLED[np.frombuffer(content, np.uint8)], dtype=np.int64)
    sizes = np.concatenate((np.zeros(1, np.int64), filled))[places].tolist()
    index_of = {place: index for index, place in enumerate(places)}
    walls = [index_of[place] for place in forced]
    kept = [places[wall] for wall in walls]
    todo = list(pairwise(walls))
    while todo:
        low, high = todo.pop()
        if sizes[high] - sizes[low] <= STATEMENTS_AIM or high - low < 2:
            continue
        level = min(depths[low + 1 : high])
        edges = [low, *(at for at in range(low + 1, high) if depths[at] == level), high]
        start = low
        for edge, after in pairwise(edges[1:]):
            if sizes[after] - sizes[start] > STATEMENTS_AIM:
                kept.append(places[edge])
                todo.append((start, edge))
                start = edge
        if start != low or level < DEEPEST:
            todo.append((start, high))
    return kept


def _sections(content: bytes, units: Cuts, forced: Cuts, *, definitions: set[int]) -> Cuts:
    """Definitions stay whole; what stands between them is gathered, at blank lines where it can be."""
    blank = np.array([found.end() for found in _BLANK_LINE.finditer(content)], dtype=np.int64)
    loose = np.union1d(np.intersect1d(units, blank), forced)
    added = [forced]
    for start, end in zip(forced[:-1].tolist(), forced[1:].tolist(), strict=True):
        if start in definitions or end - start <= SECTION_AIM:
            continue
        first, last = np.searchsorted(loose, (start, end))
        cuts = gather(loose[first : last + 1])
        for left in np.flatnonzero(np.diff(cuts) > SECTION_LIMIT).tolist():
            low, high = np.searchsorted(units, cuts[left : left + 2])
            added.append(gather(units[low : high + 1]))
        added.append(cuts)
    return np.unique(np.concatenate(added)) if len(content) else forced


class _Visit(NamedTuple):
    """A node whose children are still to be read, and what they inherit."""

    node: Node
    role: int
    depth: int
    sectional: bool  # may its statements be sections?
    anchor: int  # start of the line that the statement around it starts on
    anchor_row: int


@dataclass(slots=True)
class _Reader:
    """Walks the multi-line nodes of a syntax tree once, without recursion."""

    content: bytes
    language: str
    shape: Shape = field(default_factory=Shape)
    table: tuple[int, ...] = ()
    lifted: dict[tuple[int, int], int] = field(default_factory=dict)  # definition -> where its lead starts

    def read(self) -> Shape | None:
        """The shape by grammar, or None when most of the text is not in the language."""
        self.table = roles(self.language)
        if is_tangled(self.content, self.language):
            return None
        root = parse(self.content, self.language).root_node
        if broken_bytes(root) * 2 > len(self.content):
            return None
        todo = [_Visit(root, BODY, depth=0, sectional=True, anchor=0, anchor_row=-1)]
        while todo:
            visit = todo.pop()
            self._children(visit, todo)
        return self.shape

    def _children(self, visit: _Visit, todo: list[_Visit]) -> None:
        content, shape = self.content, self.shape
        container = visit.role in (BODY, BLOCK) or visit.node.kind_id == _ERROR_ID
        table, kinds = self.table, len(self.table)
        lead, lead_row, lead_role = -1, -1, OTHER
        first, forced_next = True, False
        for child in visit.node.named_children:
            kind = child.kind_id
            role = table[kind] if kind < kinds else OTHER
            start = child.start_byte
            row, column = child.start_point
            end_row, end_column = child.end_point
            line = start - column
            own = not column or (column <= _WIDEST and content[line:start].isspace())
            if role == OTHER and row == end_row and not (own and container):
                continue
            begin = start
            if own:
                begin = line
                if container and role != BODY:
                    if lead >= 0 and (lead_role == MARK or row <= lead_row + 1):
                        begin = lead
                    else:
                        shape.statements.append((line, min(visit.depth, DEEPEST)))
                    if role in (COMMENT, MARK):
                        lead, lead_row, lead_role = begin, end_row - (not end_column), role
                        if forced_next:
                            shape.sections.append(begin)
                            forced_next = False
                        continue
                    lead = -1
                    defined = visit.sectional and self._lift(child, role, begin, multiline=row != end_row)
                    if forced_next or (defined and not first):
                        shape.sections.append(begin)
                    if defined:
                        shape.definitions.add(begin)
                    forced_next = defined
                    first = False
            anchor, anchor_row = (line, row) if own else (visit.anchor, visit.anchor_row)
            if role in _BLOCK_KINDS:
                self._add_block(child, role, begin, anchor if row == anchor_row else start)
            if row != end_row and role not in (COMMENT, MARK, IMPORT):
                todo.append(self._descend(visit, child, role, anchor, anchor_row))

    def _descend(self, visit: _Visit, child: Node, role: int, anchor: int, anchor_row: int) -> _Visit:
        long = role == LAMBDA and child.end_byte - child.start_byte > SECTION_LIMIT
        passes = role in (OTHER, CLASS, BODY) or long or (role == BLOCK and child.type.startswith("preproc"))
        return _Visit(
            child,
            role,
            visit.depth + (role in (BODY, BLOCK)),
            visit.sectional and passes,
            anchor,
            anchor_row,
        )

    def _lift(self, node: Node, role: int, begin: int, *, multiline: bool) -> bool:
        """Is this statement a definition, perhaps wrapped (decorated, exported, assigned)?"""
        if not multiline:
            return False
        inner = node
        for _ in range(5):
            if role in (FUNCTION, CLASS, LAMBDA):
                self.lifted[inner.start_byte, inner.end_byte] = begin
                return True
            if role != OTHER or not inner.named_child_count:
                return False
            last = inner.named_child(inner.named_child_count - 1)
            if last is None or last.start_point[0] == last.end_point[0]:
                return False
            inner, role = last, role_in(self.table, last)
        return False

    def _add_block(self, node: Node, role: int, begin: int, anchor: int) -> None:
        """Record a block, unless it is only a mention (`struct x *p`) or on one line without its own start."""
        content = self.content
        start, end = node.start_byte, node.end_byte
        row, column = node.start_point
        body = body_start(self.table, node)
        if row == node.end_point[0] and (role in (LAMBDA, BLOCK) or body is None or begin == start > 0 < column):
            return
        if body is None and node.type.endswith("_specifier"):
            return
        own, column = self._past_marks(node) if role != BLOCK else (start, column)
        line = own - column
        if own == start and anchor < start and line <= anchor:
            signature = anchor
        else:
            signature = line if column <= _WIDEST and _KEYWORDS.fullmatch(content, line, own) else own
        until = body if body is not None and body > own else content.find(b"\n", own, end)
        until = end if until < 0 else min(until, end)
        signature_end = signature + len(content[signature:until].rstrip())
        start = min(self.lifted.get((start, end), begin), begin, anchor, signature)
        name = name_of(node, role=role) if role != BLOCK else ""
        self.shape.blocks.append(
            Block(start, end, _BLOCK_KINDS[role], signature, max(signature_end, signature), name, 0)
        )

    def _past_marks(self, node: Node) -> tuple[int, int]:
        """Where a definition's own words start (byte, column): after annotations on lines of their own."""
        inner = node
        for _ in range(2):
            first = inner.child(0)
            if first is not None and "modifier" in first.type:
                inner = first
                continue
            while first is not None and role_in(self.table, first) in (MARK, COMMENT):
                after = first.next_sibling
                if after is None:  # nothing but annotations among the modifiers
                    after = inner.next_sibling
                if after is None or after.end_byte > node.end_byte:
                    break
                marked = role_in(self.table, after) in (MARK, COMMENT)
                if not marked and after.start_point[0] > first.end_point[0]:
                    return after.start_byte, after.start_point[1]
                first = after
            break
        return node.start_byte, node.start_point[1]
