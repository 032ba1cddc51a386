"""Where may code be cut, and which names does a piece of it use?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from brimful.native.definitions import BLOCK, RANK
from brimful.outline.masking import mask
from brimful.outline.passages import Title
from brimful.outline.structures import Definition, Definitions, Structure

_BlockKind = Literal["function", "class", "heading"]


@dataclass(frozen=True, slots=True)
class Block:
    """Something with a beginning that explains it: a function, a class, a heading section.

    `start` includes leading decorators and comments; the signature starts at the definition's own
    line, indentation included, and ends before the body, without a trailing newline. `level` is the
    nesting depth counted from 1, or the heading's level.
    """

    start: int
    end: int
    kind: _BlockKind
    signature_start: int
    signature_end: int
    name: str
    level: int


class Nested:
    """Blocks in order, each with the number of its parent block or -1.

    Most are never asked for: `make` builds one at its first use.
    """

    def __init__(self, starts: list[int], ends: list[int], parents: list[int], make: Callable[[int], Block]) -> None:
        self.starts, self.ends, self.parents, self._make = starts, ends, parents, make
        self._made: dict[int, Block] = {}

    def __getitem__(self, index: int) -> Block:
        block = self._made.get(index)
        if block is None:
            block = self._made[index] = self._make(index)
        return block


def heading_block(heading: Title, end: int) -> Block:
    """A title as a block, up to the end of its section."""
    start, title_end, level, title = heading
    return Block(start, end, "heading", start, title_end, title.decode(errors="replace"), level)


def nested_blocks(content: bytes, definitions: Definitions) -> Nested:
    """The definitions of more than one line as blocks, each built at its first use; none crosses the one around it."""
    found = sorted(
        (_line_start(content, start), -end, what & RANK, row)
        for row, (start, end, signature, what) in enumerate(definitions.rows[:, [0, 1, 2, 8]].tolist())
        if what & BLOCK and content.find(b"\n", signature, end) >= 0
    )
    starts, ends, parents, levels, rows = list[int](), list[int](), list[int](), list[int](), list[int]()
    around: list[int] = []
    for start, before_end, _, row in found:
        while around and ends[around[-1]] <= start:
            around.pop()
        end = min(-before_end, ends[around[-1]]) if around else -before_end
        if end <= start:
            continue
        parents.append(around[-1] if around else -1)
        around.append(len(starts))
        for column, value in ((starts, start), (ends, end), (levels, len(around)), (rows, row)):
            column.append(value)

    def make(at: int) -> Block:
        signature, signature_end, what = definitions.rows[rows[at], [2, 3, 8]].tolist()
        signature, signature_end = _own_lines(content, signature, signature_end)
        signature_end = min(signature_end, ends[at])
        signature = max(min(signature, signature_end), starts[at])
        name = definitions.name(rows[at])
        kind: _BlockKind = "function" if what & RANK else "class"
        return Block(starts[at], ends[at], kind, signature, signature_end, name, levels[at])

    return Nested(starts, ends, parents, make)


_MARK = re.compile(rb"[ \t]*+(?:@[\w.:]++|\#!?(?=\[)|(?=\[))")  # of a decorator or an attribute
_INDENT = re.compile(rb"[ \t]*+")
_LONGEST_INDENT = 400


def _own_lines(content: bytes, start: int, end: int) -> tuple[int, int]:
    """A signature without the decorators on lines above it, with its indentation."""
    while (mark := _MARK.match(content, start, end)) is not None:
        after, depth = mark.end(), 0
        while after < end and (depth or content[after] in b"([" or content[after] not in b" \t\r\n"):
            depth += (content[after] in b"([{") - (content[after] in b")]}")
            after += 1
        line = content.find(b"\n", after, end)
        if line < 0 or content[after:line].strip():
            break
        start = line + 1
    start = _line_start(content, start + len(_INDENT.match(content, start, end)[0]))  # type: ignore[index]  # it always matches
    return start, start + len(content[start:end].rstrip().removesuffix(b"{").rstrip())


def _line_start(content: bytes, position: int) -> int:
    """The start of the line, where there is nothing else before the position."""
    line = content.rfind(b"\n", max(position - _LONGEST_INDENT, 0), position) + 1
    return line if not content[line:position].strip(b" \t") else position


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
    may share one import and its bytes.
    """

    start: int
    end: int
    name: str
    kind: _UseKind


def used_definitions(content: bytes, start: int, end: int, source: Structure) -> tuple[_UsedDefinition, ...]:
    r"""Definitions, outside `[start, end)`, of the names used inside it, sorted by place.

    Looked for at the outermost level of the source and among the members of the classes around the span, in every
    language that the outline has rules for.

    >>> from brimful.outline.structures import structure
    >>> code = b"import os\n\ndef here():\n    return os.getcwd()\n"
    >>> [each.name for each in used_definitions(code, 11, len(code), structure(code, kind="code", language="python"))]
    ['os']
    """
    if source.language is None or start >= end:
        return ()
    code = _code(content, source.language)
    used = {_text(name[0]) for name in _NAME.finditer(code, start, end) if _is_whole(code, *name.span(), start, end)}
    around = {number for number, item in enumerate(source.definitions) if item.start <= start and end <= item.end}
    candidates = (
        *_imports(content, source, used),
        *_defined(content, source.definitions, used, around),
        *_variables(code, source.definitions, used, around),
    )
    outside = {item for item in candidates if item.end <= start or item.start >= end}
    by_place: dict[tuple[int, str], _UsedDefinition] = {}
    for item in sorted(outside, key=lambda item: (item.start, item.name, item.kind == "variable", item.end, item.kind)):
        by_place.setdefault((item.start, item.name), item)
    return tuple(sorted(by_place.values()))


@lru_cache(maxsize=4)
def _code(content: bytes, language: str) -> bytes:
    return mask(content, language).code


def _is_whole(code: bytes, first: int, last: int, start: int, end: int) -> bool:
    """Whether a name is not the rest of one that the span cuts."""
    return (first > start or not _NAME.match(code, max(first - 1, 0), first)) and (
        last < end or last == len(code) or not (code[last : last + 1].isalnum() or code[last : last + 1] in b"_$")
    )


def _imports(content: bytes, source: Structure, used: set[str]) -> Iterator[_UsedDefinition]:
    for start, end in source.imports:
        for name in imported_names(content[start:end], source.language or ""):
            if name in used:
                yield _UsedDefinition(start, end, name, "import")


def _defined(
    content: bytes, definitions: Iterable[Definition], used: set[str], around: set[int]
) -> Iterator[_UsedDefinition]:
    """Definitions at the outermost level or next to the span; only classes of the definitions around it."""
    for number, item in enumerate(definitions):
        kind: _UseKind = "function" if item.kind in _FUNCTIONS else "class" if item.kind in _CLASSES else "variable"
        if item.name not in used or item.parent not in (-1, *around) or (number in around and kind != "class"):
            continue
        line = content.rfind(b"\n", max(item.signature_start - 400, 0), item.signature_start) + 1
        start = line if not content[line : item.signature_start].strip() else item.signature_start
        end = item.signature_end
        if kind == "variable":
            newline = content.find(b"\n", item.signature_start, item.end)
            end = newline if newline >= 0 else item.end
            end = start + len(content[start : max(end, start)].rstrip())
        if end > start:
            yield _UsedDefinition(start, end, item.name, kind)


def _variables(
    code: bytes, definitions: tuple[Definition, ...], used: set[str], around: set[int]
) -> Iterator[_UsedDefinition]:
    """Lines that give a used name a value: at the margin, or as far in as the members of a class around the span."""
    owners = [definitions[number] for number in sorted(around) if definitions[number].kind in _CLASSES]
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
        return []  # the names of a header are in the header
    if language == "go":
        items = [(item["alias"], item["path"]) for item in _QUOTED.finditer(statement)]
        return _names(alias if alias and alias != b"import" else path.rpartition(b"/")[2] for alias, path in items)
    words, first = statement, False
    if language == "python":
        module, is_from, after = statement.partition(b" import ")
        words, first = (after, False) if is_from and module.startswith(b"from") else (statement, True)
    elif language in _SCRIPTS:
        words = statement.partition(b"=")[0] if b"require" in statement else _FROM.sub(b"", statement)
    elif b"require" in statement:
        words = statement.partition(b"=")[0]
    return _names(
        item["alias"] or item["renamed"] or _part(item["path"], first=first)
        for item in _ITEM.finditer(words)
        if item["path"] not in _WORDS or item["alias"]
    )


def _part(path: bytes, *, first: bool) -> bytes:
    parts = re.split(rb"\.|::|\\|/", path)
    return parts[0] if first else parts[-1]


def _names(names: Iterable[bytes]) -> list[str]:
    return sorted({_text(name) for name in names if name and name not in _WORDS})


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
