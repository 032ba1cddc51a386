"""Which definitions does a source hold whose bodies end by the column of a line?

Python, OCaml and Haskell end a body where a line is indented no more than its head; Ruby, Lua, Elixir, Julia and the
shell write an `end` or brace in the column of the head. Well kept code is indented so, and other code says less.
"""

from __future__ import annotations

import re

import numpy as np

from brimful.patterns import compiled
from brimful.text.brackets import Brackets, Indentation
from brimful.text.cuts import merged
from brimful.text.declarations import REACH, Found, Head, Source, heads_in, line_end, trimmed
from brimful.text.rules import NAME, family_of, rule_of


def declared_by_column(source: Source) -> list[Found]:
    """The definitions of a language that has a rule whose bodies end by the column of a line."""
    language, rule = family_of(source.language), rule_of(source.language)
    heads = heads_in(source, rule) if rule is not None else []
    flat = language in ("haskell", "julia")
    lines = Indentation(source.code, source.pairs if flat else None, _GOING_ON.get(language, b""))
    if language == "ocaml":
        heads = _outer_let(source.code, heads, lines)
    ends = closing_lines(lines, [head.start for head in heads])
    closer = _CLOSERS.get(language)
    if language == "julia":
        ends = [_module_end(source.code, head, lines, line) for head, line in zip(heads, ends, strict=True)]
    found = []
    for head, line in zip(heads, ends, strict=True):
        signature_end = _signature_end(source, head, language)
        end = _column_end(source, head, lines, line, closer)
        found.append(Found(head.start, head.name, head.kind, min(signature_end, end), end))
    return _joined(found) if language == "haskell" else found


# Words that stand in the column of what they go on with.
_GOING_ON = {
    "ruby": rb"rescue\b|ensure\b|else\b|elsif\b|when\b|\)|\]|\}|&?\.\w",
    "elixir": rb"rescue\b|catch\b|after\b|else\b|\)|\]|\}|\|>",
    "julia": rb"catch\b|finally\b|else\b|elseif\b",
    "lua": rb"else\b|elseif\b|\)|\}",
    "ocaml": rb"\||sig\b|struct\b|object\b|fun\b|\)|\]|\}",
}
_CLOSERS = {
    "ruby": compiled(rb"[ \t]*+end\b"),
    "lua": compiled(rb"[ \t]*+end\b"),
    "elixir": compiled(rb"[ \t]*+end\b"),
    "julia": compiled(rb"[ \t]*+end\b"),
    "bash": compiled(rb"[ \t]*+[})]"),
    "ocaml": compiled(rb"[ \t]*+end\b"),
}


_FEW_COLUMNS = 12


def closing_lines(lines: Indentation, starts: list[int]) -> list[int]:
    """For each definition the number of the first line below that is indented no more."""
    if not starts or not lines.starts:
        return [0] * len(starts)
    columns, count = lines.columns_of_lines, len(lines.columns)
    numbers = np.array([lines.line_of(start) for start in starts], np.int64)
    own = columns[numbers]
    several = merged(own)
    if len(several) > _FEW_COLUMNS:
        return _closing_one_by_one(lines, starts)
    found = np.empty(len(starts), np.int64)
    for column in several.tolist():
        outer = np.append(np.flatnonzero(columns <= column), count)
        chosen = own == column
        found[chosen] = outer[outer.searchsorted(numbers[chosen], side="right")]
    return found.tolist()


def _closing_one_by_one(lines: Indentation, starts: list[int]) -> list[int]:
    """The same in one pass, however many columns there are."""
    numbers = [lines.line_of(start) for start in starts]
    found = [len(lines.starts)] * len(starts)
    columns = lines.columns
    opened: list[int] = []
    most = max((columns[number] for number in numbers if number < len(columns)), default=-1)
    each = 0
    for number, column in enumerate(columns):
        if column > most:
            continue
        while opened and columns[numbers[opened[-1]]] >= column:
            found[opened.pop()] = number
        while each < len(numbers) and numbers[each] <= number:
            if numbers[each] == number:
                opened.append(each)
            each += 1
    return found


def _column_end(source: Source, head: Head, lines: Indentation, line: int, closer: re.Pattern[bytes] | None) -> int:
    code = source.code
    own = lines.line_of(head.start)
    below = code[lines.starts[line] : lines.starts[line] + 80].strip() if line < len(lines.starts) else b""
    if line == own + 1 and source.language == "bash" and below[:1] in (b"{", b"("):  # the brace on a line of its own
        line = next(
            (later for later in range(line + 1, len(lines.starts)) if lines.columns[later] <= lines.columns[own]),
            len(lines.starts),
        )
    if closer is not None and line < len(lines.starts) and lines.columns[line] == lines.columns[own]:
        closed = closer.match(code, lines.starts[line])
        if closed is not None and not (line == own + 1 and _closed_on_line(code, lines, own)):
            return closed.end()
    stop = lines.starts[line] if line < len(lines.starts) else len(code)
    return lines.end_of(line - 1, stop)


def _module_end(code: bytes, head: Head, lines: Indentation, line: int) -> int:
    """The body of a Julia module is often not indented: then it ends with the file."""
    if head.kind != "module" or line >= len(lines.starts) or _CLOSERS["julia"].match(code, lines.starts[line]):
        return line
    last = len(lines.starts) - 1
    return last if _CLOSERS["julia"].match(code, lines.starts[last]) else line


def _closed_on_line(code: bytes, lines: Indentation, own: int) -> bool:
    """Does the line that begins a definition also end it?"""
    line = code[lines.starts[own] : line_end(code, lines.starts[own])].rstrip()
    return line.endswith((b"end", b"}")) or re.search(rb"\bend\b[)\]},;]*$|\)[ \t]*=[^=>~]", line) is not None


def _signature_end(source: Source, head: Head, language: str) -> int:
    code, pairs = source.code, source.pairs
    end = line_end(code, head.after)
    if code[head.after : head.after + 1] == b"(" and language != "bash":
        end = max(head.after, min(line_end(code, pairs.after(head.after)), head.after + REACH))
    return trimmed(code, head.start, end)


def _outer_let(code: bytes, heads: list[Head], lines: Indentation) -> list[Head]:
    """OCaml's `let` inside of an expression is none: only what stands in no column, or right in a module."""
    kept: list[Head] = []
    modules: list[int] = []  # columns of the modules around
    inner: list[int | None] = []  # the column in which each of them has its parts
    for head in heads:
        column = lines.columns[lines.line_of(head.start)] if lines.columns else 0
        while modules and column <= modules[-1]:
            modules.pop()
            inner.pop()
        if column and not modules:
            continue
        if modules:
            if inner[-1] is None:
                inner[-1] = column
            if column != inner[-1]:
                continue
        kept.append(head)
        if head.kind == "module" and _OPENS_MODULE.search(code, head.after, min(head.after + 600, len(code))):
            modules.append(column)
            inner.append(None)
    return kept


_OPENS_MODULE = compiled(rb"\b(?:struct|sig)\b")


def _joined(found: list[Found]) -> list[Found]:
    """Haskell writes a function in several equations, its type before them: one definition."""
    joined: list[Found] = []
    for each in found:
        last = joined[-1] if joined else None
        if last is not None and last.name == each.name and last.kind == each.kind == "function":
            joined[-1] = last._replace(end=each.end)
        else:
            joined.append(each)
    return joined


# Python, whose constants and docstrings no other language has.

_PYTHON = compiled(
    rb"\n(?:[ \t]*+(?P<word>(?:async[ \t]++)?def|class)[ \t]++(?P<name>" + NAME + rb")"
    rb"|(?P<constant>[A-Z][A-Z0-9_]++)[ \t]*+(?::[^=\n]*+)?=(?!=))"
)
_COLON = compiled(rb"[(\[{:\n]")


def declared_in_python(source: Source) -> list[Found]:
    """Functions, classes and the constants of a module, decorators included."""
    code, pairs = source.code, source.pairs
    lines = Indentation(code, pairs)
    matches = [(found, lines.line_of(found.end() - 2)) for found in _PYTHON.finditer(b"\n" + code)]
    matches = [(found, line) for found, line in matches if lines.starts and lines.starts[line] == found.start()]
    ends = closing_lines(lines, [found.start() for found, _ in matches])
    found_all = []
    for (found, own), line in zip(matches, ends, strict=True):
        is_constant = found["word"] is None
        low, high = found.span("constant" if is_constant else "name")
        name = code[low - 1 : high - 1].decode(errors="replace")
        if is_constant:
            end = lines.end_of(own, lines.starts[own + 1] if own + 1 < len(lines.starts) else len(code))
            found_all.append(Found(low - 1, name, "constant", min(line_end(code, high), end), end))
            continue
        stop = lines.starts[line] if line < len(lines.starts) else len(code)
        end = lines.end_of(line - 1, stop)
        first = own
        while first and code[lines.starts[first - 1] + lines.indents[first - 1]] == 64:  # @
            first -= 1
        start = lines.starts[first] + lines.indents[first]
        kind = "class" if found["word"] == b"class" else "function"
        found_all.append(Found(start, name, kind, min(_colon(code, pairs, high - 1), end), end))
    return found_all


_PLAIN_HEAD = compiled(rb"[ \t]*+(?:\([^()]*+\))?+[^:()\[\]{}\n]*+:")


def _colon(code: bytes, pairs: Brackets, position: int) -> int:
    """Behind the colon that ends the head of a function or class."""
    plain = _PLAIN_HEAD.match(code, position, position + REACH)
    if plain is not None:
        return plain.end()
    stop = min(position + REACH, len(code))
    while (sign := _COLON.search(code, position, stop)) is not None:
        if sign[0] == b":":
            return sign.end()
        if sign[0] == b"\n":
            return sign.start()
        position = pairs.after(sign.start())
        stop = min(position + REACH, len(code))
    return line_end(code, position)
