"""Where may code be cut when there is no grammar for it: by indentation and braces?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from brimful.text.outline import Block, BlockKind


@dataclass(slots=True)
class Shape:
    """What a reader of code found, before cuts are chosen."""

    statements: list[tuple[int, int]] = field(default_factory=list)  # line start, nesting depth
    sections: list[int] = field(default_factory=list)
    definitions: set[int] = field(default_factory=set)  # the sections that are one function or class
    blocks: list[Block] = field(default_factory=list)


_LINE = re.compile(rb"([ \t]*+)([^\r\n]*+)[^\n]*+(?:\n|\Z)")
_CLASS = re.compile(
    rb"(?:[\w@\[\]().]+[ \t]+){0,4}?(?:class|struct|interface|enum|trait|impl|module|namespace|union|object|record"
    rb"|protocol|extension|type|package|contract)\b[ \t]*(?P<name>[\w.:]*)",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    rb"(?:[\w@\[\]*&<>,.:]+[ \t]+){0,6}?(?:def|func|function|fn|fun|sub|proc|procedure|method|macro|defp|defmacro|task)"
    rb"\b[ \t]*(?P<name>[\w.:?!]*)"
    rb"|(?!(?:if|for|while|switch|catch|else|return|until|with|foreach|elseif|elif|do|try|case|when)\b)"
    rb"(?:[\w*&<>,.:\[\]]+[ \t]+){0,6}?[*&]*(?P<call>[\w.:~]+)[ \t]*\([^;]*\)[^;]*\{?[ \t]*$",
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"(?://|#(?!include|define|if|endif|else|pragma)|--|/\*|\*|;;|%|@\w)")
_LONGEST_SIGNATURE = 400


def read_layout(content: bytes) -> Shape:
    r"""A line that what follows is nested under opens a block; it ends where the nesting does.

    >>> [block.name for block in read_layout(b"func go() {\n  run();\n}\n").blocks]
    ['go']
    """
    lines = _lines(content)
    shape = Shape()
    opened: list[tuple[int, int, int, int]] = []  # level, start, signature start, signature end
    lead = -1
    previous: tuple[int, int, int, int] | None = None  # level, start (with comments), own start, text end
    last_end = 0
    for position, level, end, text in lines:
        if not text:
            lead = -1
            continue
        while opened and level <= opened[-1][0] and not (level == opened[-1][0] and _closes(text)):
            _close(content, shape, opened, last_end)
        if previous is not None and level > previous[0]:
            opened.append(previous)
        if _COMMENT.match(text):
            lead = position if lead < 0 else lead
            start = lead
        else:
            start, lead = (lead if lead >= 0 else position), -1
        brace = text in (b"{", b"begin", b"do")
        if not (brace and previous is not None and level == previous[0]):
            previous = (level, start, position, end)
        shape.statements.append((position, min(level, 12)))
        last_end = end
    while opened:
        _close(content, shape, opened, last_end)
    _add_sections(shape, lines)
    return shape


def _lines(content: bytes) -> list[tuple[int, int, int, bytes]]:
    """Position, nesting level, end of its words, and words of every line."""
    found = []
    for line in _LINE.finditer(content):
        if line.end() == line.start():
            break
        found.append((line.start(), len(line[1].expandtabs(4)), line.end(2), line[2].rstrip()))
    indented = sum(1 for _, width, _, text in found if width and text)
    if indented * 20 >= len(found) or (b"{" not in content and b"end" not in content):
        steps = {width: rank for rank, width in enumerate(sorted({width for _, width, _, text in found if text}))}
        return [(start, steps.get(width, 0), end, text) for start, width, end, text in found]
    octets = np.frombuffer(content, dtype=np.uint8)
    nesting = np.cumsum((octets == 123).astype(np.int64) - (octets == 125))
    flat = []
    for start, _, end, text in found:
        before = int(nesting[start - 1]) if start else 0
        flat.append((start, max(before - text.startswith(b"}"), 0), end, text))
    return flat


def _closes(text: bytes) -> bool:
    return text[:1] in b"})]" or text.lower().startswith(b"end")


def _close(content: bytes, shape: Shape, opened: list[tuple[int, int, int, int]], end: int) -> None:
    _, start, own, signature_end = opened.pop()
    kind, name = definition_in(content[own:signature_end].strip()[:_LONGEST_SIGNATURE]) or ("block", "")
    shape.blocks.append(Block(start, max(end, signature_end), kind, own, max(signature_end, own), name, 0))


def definition_in(words: bytes) -> tuple[BlockKind, str] | None:
    """What a line that opens a block defines, and its name; None where it is no definition.

    >>> definition_in(b"static int go(int n) {"), definition_in(b"if (ready) {")
    (('function', 'go'), None)
    """
    if found := _FUNCTION.match(words):
        return "function", (found["name"] or found["call"] or b"").rstrip(b":").decode(errors="replace")
    if found := _CLASS.match(words):
        return "class", found["name"].rstrip(b":").decode(errors="replace")
    return None


def _add_sections(shape: Shape, lines: list[tuple[int, int, int, bytes]]) -> None:
    """Functions and classes that stand at the outermost level are sections, and what follows them."""
    starts = np.array([position for position, _, _, text in lines if text], dtype=np.int64)
    reach = 0
    for block in sorted(shape.blocks, key=lambda found: (found.start, -found.end)):
        if block.kind in ("function", "class") and block.start >= reach:
            reach = block.end
            shape.sections.append(block.start)
            shape.definitions.add(block.start)
            after = int(np.searchsorted(starts, block.end))
            if after < len(starts):
                shape.sections.append(int(starts[after]))


def nest(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Sort the blocks, clip what would cross its container, and number the levels from 1."""
    nested: list[Block] = []
    around: list[int] = []
    for block in sorted(blocks, key=lambda found: (found.start, -found.end, found.kind, found.signature_start)):
        while around and around[-1] <= block.start:
            around.pop()
        end = min(block.end, around[-1]) if around else block.end
        if end <= block.start:
            continue
        around.append(end)
        signature_end = min(block.signature_end, end)
        signature_start = min(block.signature_start, signature_end)
        nested.append(Block(block.start, end, block.kind, signature_start, signature_end, block.name, len(around)))
    return tuple(sorted(nested, key=lambda found: (found.start, -found.end)))
