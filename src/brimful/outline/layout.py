"""Where may code be cut, and which names does a piece of it use?"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np

from brimful.native import Numbers
from brimful.native.definitions import DEFINITION, find_blocks, nest_blocks
from brimful.outline.cuts import (
    FILLED,
    LARGEST,
    SECTION_AIM,
    SECTION_LIMIT,
    UNIT_LIMIT,
    Cuts,
    break_long,
    gather,
    merged,
    settle,
)
from brimful.outline.masking import is_known, mask
from brimful.outline.outlines import Block, BlockKind, Nested, Outline
from brimful.outline.structures import Definition, Definitions, Structure, definition_row, has_rules, structure
from brimful.outline.structures import Definition as Defined

# ---- layout: Where may code be cut: statements, functions, classes?
#
# Definitions come from the outline (`structure`), statements from the lines and how far they are indented. In a
# language that the outline has no rules for, a line that defines something and that what follows is nested under is a
# definition.

_STATEMENTS_AIM = 300
"""Neighbouring statements are gathered into a unit up to this many bytes."""
_DEEPEST = 12
"""Statements nested deeper than this are gathered as if they were at this depth."""

_LINE = re.compile(rb"([ \t]*+)([^\r\n]*+)[^\n]*+(?:\n|\Z)")
_GOES_ON = re.compile(
    rb"(?:else|elif|elsif|elseif|except|finally|catch|rescue|ensure|when|case|default|then)\b", re.IGNORECASE
)
_CLOSES = re.compile(rb"[})\]]|(?:end|fi|done|esac)\w*\b(?![ \t]*[=(.])", re.IGNORECASE)
_OPENS = (b"{", b"begin", b"do")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*+\n")


def outline_code(content: bytes, *, language: str | None = None) -> Outline:
    """Statements as units, functions, classes and methods as sections."""
    found = structure(content, kind="code", language=language) if len(content) <= LARGEST else None
    code = mask(content, language).code if found and language is not None and is_known(language) else content
    lines = _lines(code, content)
    blocks = definition_blocks(content, found.definitions) if found else ()
    if language is None or not has_rules(language) or not found:
        blocks = _indented_blocks(content, lines)
    sections, definitions = _section_starts(content, lines, blocks)
    forced = settle(content, sections)
    statements = settle(content, _group(content, _statements(lines, blocks), forced.tolist()))
    units = break_long(content, statements, over=UNIT_LIMIT, by_line=True)
    return Outline(
        "code",
        language,
        len(content),
        units,
        _sections(content, units, forced, definitions=definitions),
        blocks=lambda: blocks,
        structure=(lambda: found) if found else None,
    )


def nested_blocks(content: bytes, found: Definitions) -> Nested:
    """The definitions of more than one line as blocks, each made when it is asked for."""
    return _nested_blocks(content, found.rows, found.name)


def definition_blocks(content: bytes, found: Sequence[Definition]) -> tuple[Block, ...]:
    """The same of definitions that were made."""
    rows = np.array([definition_row(each, at) for at, each in enumerate(found)], np.int64).reshape(-1, DEFINITION)
    nested = _nested_blocks(content, rows, lambda at: found[at].name)
    return tuple(nested[at] for at in range(len(nested.starts)))


def _nested_blocks(content: bytes, definitions: Numbers, name: Callable[[int], str]) -> Nested:
    rows = find_blocks(content, definitions)

    def made(at: int) -> Block:
        start, end, rank, signature, signature_end, level, _, number = rows[at].tolist()
        return Block(start, end, "function" if rank else "class", signature, signature_end, name(number), level)

    starts, ends, parents = rows[:, [0, 1, 6]].T.tolist()
    return Nested(starts, ends, parents, made)


_RANKS: tuple[BlockKind, ...] = ("class", "function", "heading")


def _nest(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Blocks in order and in each other, clipped where they cross, with their levels."""
    given = [
        (each.start, each.end, _RANKS.index(each.kind), each.signature_start, each.signature_end) for each in blocks
    ]
    rows = nest_blocks(np.array(given, np.int64).reshape(-1, 5)).tolist()
    return tuple(
        Block(start, end, _RANKS[rank], signature, signature_end, blocks[number].name, level)
        for start, end, rank, signature, signature_end, level, _, number in rows
    )


# ---- lines


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with words: where it starts (with the comments above it) and ends, its depth, its words."""

    start: int
    own: int
    end: int
    level: int
    words: bytes


def _lines(code: bytes, content: bytes) -> list[_Line]:
    """The lines of a source; lines of comments belong to the one below, lines inside of strings to the one above."""
    found: list[tuple[int, int, int, int, bytes]] = []
    lead = -1
    for line in _LINE.finditer(code):
        position = line.start()
        if line.end() == position:
            break
        words = line[2].rstrip()
        if not words:
            if content[position : line.end()].isspace():
                lead = -1
            elif lead < 0:
                lead = position
            continue
        if code is content and _COMMENT.match(words):
            lead = position if lead < 0 else lead
            continue
        start, lead = (lead if lead >= 0 else position), -1
        found.append((start, position, line.end(2), len(line[1].expandtabs(4)), words))
    return _levelled(code, found)


_COMMENT = re.compile(rb"(?://|#(?!include|define|if|endif|else|pragma)|--|/\*|\*|;;|%|@\w)")


def _levelled(code: bytes, found: list[tuple[int, int, int, int, bytes]]) -> list[_Line]:
    """Lines with their depth: by indentation, or where there is none by their braces."""
    indented = sum(1 for *_, width, _ in found if width)
    if indented * 20 >= len(found) or (b"{" not in code and b"end" not in code):
        steps = {width: rank for rank, width in enumerate(sorted({width for *_, width, _ in found}))}
        return [_Line(start, own, end, steps[width], words) for start, own, end, width, words in found]
    octets = np.frombuffer(code, dtype=np.uint8)
    braces = np.flatnonzero((octets == 123) | (octets == 125))
    depth = np.append(0, np.cumsum(np.where(octets[braces] == 123, 1, -1)))
    before = depth[braces.searchsorted([own for _, own, *_ in found])].tolist()
    return [
        _Line(start, own, end, max(nesting - words.startswith(b"}"), 0), words)
        for nesting, (start, own, end, _, words) in zip(before, found, strict=True)
    ]


def _statements(lines: Sequence[_Line], blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Where statements begin, and how deep; nothing begins inside of a signature or with what closes or goes on."""
    starts = [block.start for block in blocks]
    found = []
    level = 0
    for line in lines:
        if _CLOSES.match(line.words) or line.words in _OPENS:
            continue
        level = level if line.words.startswith(b"#") else line.level
        at = bisect_right(starts, line.start) - 1
        if at >= 0 and blocks[at].start < line.start < blocks[at].signature_end:
            continue
        found.append((line.start, min(level + bool(_GOES_ON.match(line.words)), _DEEPEST)))
    return found


def _section_starts(content: bytes, lines: Sequence[_Line], blocks: Sequence[Block]) -> tuple[list[int], set[int]]:
    """Where functions and classes begin that stand in no function, and what follows them; which are definitions."""
    begins = [line.start for line in lines]
    sections: list[int] = []
    definitions: set[int] = set()
    inside = -1  # how far the functions reach that were seen
    around: list[Block] = []
    for block in blocks:
        while around and around[-1].end <= block.start:
            around.pop()
        owner = around[-1] if around else None
        around.append(block)
        if block.start < inside:
            continue
        if block.kind == "function":
            inside = block.end
        definitions.add(block.start)
        if owner is None or content[owner.signature_end : block.start].strip(b" \t\r\n{:("):
            sections.append(block.start)
        after = bisect_left(begins, block.end)
        if after < len(begins) and not (owner and begins[after] >= owner.end):
            sections.append(begins[after])
    return sections, definitions


# ---- languages without rules

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
_LONGEST_SIGNATURE = 400


def _indented_blocks(content: bytes, lines: Sequence[_Line]) -> tuple[Block, ...]:
    """A line that what follows is nested under opens a block; it ends where the nesting does."""
    blocks: list[Block] = []
    opened: list[_Line] = []
    previous: _Line | None = None
    last_end = 0

    def close() -> None:
        line = opened.pop()
        definition = _definition_in(content[line.own : line.end].strip()[:_LONGEST_SIGNATURE])
        if definition is not None:
            kind, name = definition
            blocks.append(Block(line.start, max(last_end, line.end), kind, line.own, line.end, name, 0))

    for line in lines:
        closes = _CLOSES.match(line.words) is not None
        while opened and line.level <= opened[-1].level and not (line.level == opened[-1].level and closes):
            close()
        if previous is not None and line.level > previous.level:
            opened.append(previous)
        if not (line.words in _OPENS and previous is not None and line.level == previous.level):
            previous = line
        last_end = line.end
    while opened:
        close()
    return _nest(blocks)


def _definition_in(words: bytes) -> tuple[BlockKind, str] | None:
    """What a line that opens a block defines, and its name; None where it is no definition.

    >>> _definition_in(b"static int go(int n) {"), _definition_in(b"if (ready) {")
    (('function', 'go'), None)
    """
    if found := _FUNCTION.match(words):
        return "function", (found["name"] or found["call"] or b"").rstrip(b":").decode(errors="replace")
    if found := _CLASS.match(words):
        return "class", found["name"].rstrip(b":").decode(errors="replace")
    return None


# ---- cuts


def _filled_before(content: bytes, places: list[int]) -> list[int]:
    """How much that is not white space stands before each of these places, which ascend.

    >>> _filled_before(b"a b  cd", [0, 1, 4, 7])
    [0, 1, 2, 4]
    """
    filled = FILLED[np.frombuffer(content, np.uint8)]
    edges = np.array([0, *places], np.int64)
    counts = np.add.reduceat(np.append(filled, False), edges, dtype=np.int64)[:-1]  # from each place to the next
    return [int(size) for size in np.cumsum(np.where(np.diff(edges) > 0, counts, 0))]


def _group(content: bytes, statements: list[tuple[int, int]], forced: list[int]) -> list[int]:
    """Gather statements (position, depth) into units, cutting at the outermost depth that will do.

    White space does not count, so that indentation does not steer the choice (085b §5.3).

    >>> sorted(_group(b"x" * 400, [(0, 0), (100, 1), (200, 1), (290, 0)], [0, 400]))
    [0, 290, 400]
    """
    depth_at = dict.fromkeys(forced, 0)
    for position, depth in statements:
        depth_at[position] = min(depth, depth_at.get(position, _DEEPEST))
    places = sorted(depth_at)
    depths = [depth_at[place] for place in places]
    sizes = _filled_before(content, places)
    index_of = {place: index for index, place in enumerate(places)}
    walls = [index_of[place] for place in forced]
    kept = [places[wall] for wall in walls]
    todo = list(pairwise(walls))
    while todo:
        low, high = todo.pop()
        if sizes[high] - sizes[low] <= _STATEMENTS_AIM or high - low < 2:
            continue
        level = min(depths[low + 1 : high])
        edges = [low, *(at for at in range(low + 1, high) if depths[at] == level), high]
        start = low
        for edge, after in pairwise(edges[1:]):
            if sizes[after] - sizes[start] > _STATEMENTS_AIM:
                kept.append(places[edge])
                todo.append((start, edge))
                start = edge
        if start != low or level < _DEEPEST:
            todo.append((start, high))
    return kept


def _sections(content: bytes, units: Cuts, forced: Cuts, *, definitions: set[int]) -> Cuts:
    """Definitions stay whole; what stands between them is gathered, at blank lines where it can be."""
    blank = np.array([found.end() for found in _BLANK_LINE.finditer(content)], dtype=np.int64)
    loose = merged(units[blank.searchsorted(units, side="right") > blank.searchsorted(units)], forced)
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
    return merged(*added) if len(content) else forced


# ---- uses: Which names does a piece of code use, and where are they defined?

_UseKind = Literal["import", "function", "class", "variable"]

_FUNCTIONS = frozenset(("function", "method"))
_CLASSES = frozenset("class struct enum interface trait impl extension object module type table view".split())
_NAME = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*+")
_LEAST_MEMBERS = 2_000  # bytes of a class in which the first member must begin
# A line that gives a name a value or a type: `limit = 3`, `static int count;`, `let limit: u8 = 3`.
_VARIABLE = re.compile(
    rb"\n(?P<indent>[ \t]*+)(?P<words>(?:[\w<>\[\],.?:&*-]+[ \t]+){0,6}?)[*&]*(?P<name>[A-Za-z_$][\w$]*+)"
    rb"(?P<type>[ \t]*:[ \t]*[^=;\n]{1,80}+)?[ \t]*(?P<sign>(?:=(?![=>])|;)|(?=\r?\n|\Z))"
)
_NO_VARIABLE = frozenset(
    b"return else import from package use using goto break continue pass end throw raise yield await delete del assert "
    b"case default do done fi esac then begin module include require export if for while".split()
)


@dataclass(frozen=True, slots=True, order=True)
class _UsedDefinition:
    """A name and the bytes that show what it is.

    An import's statement, a function's or class's signature, the line of a variable. Several names
    may share one import, and so the same bytes.
    """

    start: int
    end: int
    name: str
    kind: _UseKind


def used_definitions(content: bytes, start: int, end: int, found: Structure) -> tuple[_UsedDefinition, ...]:
    r"""Definitions, outside `[start, end)`, of the names used inside it, sorted by where they stand.

    Looked for at the outermost level of the source and among the members of the classes around the span, in every
    language that the outline has rules for.

    >>> from brimful.outline.structures import structure
    >>> code = b"import os\n\ndef here():\n    return os.getcwd()\n"
    >>> [each.name for each in used_definitions(code, 11, len(code), structure(code, kind="code", language="python"))]
    ['os']
    """
    if found.language is None or not has_rules(found.language) or start >= end:
        return ()
    code = _code(content, found.language)
    used = {_text(name[0]) for name in _NAME.finditer(code, start, end) if _is_whole(code, *name.span(), start, end)}
    around = {at for at, each in enumerate(found.definitions) if each.start <= start and end <= each.end}
    candidates = (
        *_imports(content, found, used),
        *_defined(content, found.definitions, used, around),
        *_variables(code, found.definitions, used, around),
    )
    outside = {each for each in candidates if each.end <= start or each.start >= end}
    known: dict[tuple[int, str], _UsedDefinition] = {}
    for each in sorted(outside, key=lambda each: (each.start, each.name, each.kind == "variable", each.end, each.kind)):
        known.setdefault((each.start, each.name), each)
    return tuple(sorted(known.values()))


@lru_cache(maxsize=4)
def _code(content: bytes, language: str) -> bytes:
    return mask(content, language).code


def _is_whole(code: bytes, first: int, last: int, start: int, end: int) -> bool:
    """Whether a name is not the rest of one that the span cuts."""
    return (first > start or not _NAME.match(code, max(first - 1, 0), first)) and (
        last < end or last == len(code) or not (code[last : last + 1].isalnum() or code[last : last + 1] in b"_$")
    )


def _imports(content: bytes, found: Structure, used: set[str]) -> Iterator[_UsedDefinition]:
    for start, end in found.imports:
        for name in imported_names(content[start:end], found.language or ""):
            if name in used:
                yield _UsedDefinition(start, end, name, "import")


def _defined(
    content: bytes, definitions: Iterable[Defined], used: set[str], around: set[int]
) -> Iterator[_UsedDefinition]:
    """What is defined at the outermost level or beside the span; not what the span stands in, save classes."""
    for at, each in enumerate(definitions):
        kind: _UseKind = "function" if each.kind in _FUNCTIONS else "class" if each.kind in _CLASSES else "variable"
        if each.name not in used or each.parent not in (-1, *around) or (at in around and kind != "class"):
            continue
        line = content.rfind(b"\n", max(each.signature_start - 400, 0), each.signature_start) + 1
        start = line if not content[line : each.signature_start].strip() else each.signature_start
        end = each.signature_end
        if kind == "variable":
            newline = content.find(b"\n", each.signature_start, each.end)
            end = newline if newline >= 0 else each.end
            end = start + len(content[start : max(end, start)].rstrip())
        if end > start:
            yield _UsedDefinition(start, end, each.name, kind)


def _variables(
    code: bytes, definitions: tuple[Defined, ...], used: set[str], around: set[int]
) -> Iterator[_UsedDefinition]:
    """Lines that give a used name a value: at the margin, or as far in as the members of a class around the span."""
    owners = [definitions[at] for at in sorted(around) if definitions[at].kind in _CLASSES]
    places: list[tuple[int, int, bytes]] = [(0, len(code), b"")]
    for owner in owners:
        member = _MEMBER.search(code, owner.signature_end, min(owner.end, owner.signature_end + _LEAST_MEMBERS))
        if member is not None:
            places.append((owner.signature_end, owner.end, member[1]))
    for low, high, indent in places:
        for line in _VARIABLE.finditer(b"\n" + code[low:high]):
            name = _text(line["name"])
            words = line["words"].split()
            if line["indent"] != indent or name not in used or not (line["sign"] or (words and line["type"])):
                continue
            if {line["name"], *words} & _NO_VARIABLE or (line["sign"] == b";" and not words):
                continue
            begin = low + line.start("indent") - 1
            end = code.find(b"\n", begin)
            yield _UsedDefinition(
                begin, begin + len(code[begin : end if end >= 0 else len(code)].rstrip()), name, "variable"
            )


_MEMBER = re.compile(rb"\n([ \t]++)(?=[^\s{}])")


# ---- names that an import binds

_ITEM = re.compile(
    rb"(?P<path>[\w$*\x80-\xff]++(?:(?:\.|::|\\|/|-(?=\w))[\w$*\x80-\xff]++)*+)(?!\s*(?:::|\.|\\)\s*\{)"
    rb"(?:\s+as\s+(?P<alias>[\w$]+)|\s*=>\s*(?P<renamed>\w+))?"
)
_SCRIPTS = frozenset(("javascript", "typescript", "tsx"))
_FROM = re.compile(rb"\bfrom\s*[\"'`].*", re.DOTALL)
_QUOTED = re.compile(rb"(?:(?<![\w.])(?P<alias>[\w.]++)[ \t]++)?[\"`](?P<path>[^\"`\n]++)[\"`]")
_WORDS = frozenset(
    b"import from package use using static type typeof const let var export extern crate pub local require alias "
    b"qualified open include hiding public final function * _ default global mut self super".split()
)


def imported_names(statement: bytes, language: str) -> list[str]:
    r"""The names that an import binds: an alias where there is one, else the last part of each path.

    >>> imported_names(b"from a.b import c as d, e", "python"), imported_names(b"use a::{b, c as d};", "rust")
    (['d', 'e'], ['b', 'd'])
    """
    if statement.startswith(b"#"):
        return []  # what a header brings in stands in the header
    if language == "go":
        items = [(each["alias"], each["path"]) for each in _QUOTED.finditer(statement)]
        return _names(alias if alias and alias != b"import" else path.rpartition(b"/")[2] for alias, path in items)
    words, first = statement, False
    if language == "python":
        before, is_from, after = statement.partition(b" import ")
        words, first = (after, False) if is_from and before.startswith(b"from") else (statement, True)
    elif language in _SCRIPTS:
        words = statement.partition(b"=")[0] if b"require" in statement else _FROM.sub(b"", statement)
    elif b"require" in statement:
        words = statement.partition(b"=")[0]
    return _names(
        each["alias"] or each["renamed"] or _part(each["path"], first=first)
        for each in _ITEM.finditer(words)
        if each["path"] not in _WORDS or each["alias"]
    )


def _part(path: bytes, *, first: bool) -> bytes:
    parts = re.split(rb"\.|::|\\|/", path)
    return parts[0] if first else parts[-1]


def _names(found: Iterable[bytes]) -> list[str]:
    return sorted({_text(name) for name in found if name and name not in _WORDS})


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
