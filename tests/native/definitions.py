"""Which definitions does Python hold, which stands in which, and which blocks are they? Definition by definition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from re import compile as compiled
from typing import cast

from brimful.outline.declarations import NAME, REACH, Found, Source, line_end
from brimful.outline.languages import _closing_lines
from brimful.outline.masking import Brackets, Indentation
from brimful.outline.structures import Definition, DefinitionKind

_Places = tuple[list[int], list[int]]  # starts and ends
_OWNERS = frozenset(("class", "struct", "enum", "interface", "trait", "impl", "extension", "object"))
_PYTHON = compiled(
    rb"\n(?:[ \t]*+(?P<word>(?:async[ \t]++)?def|class)[ \t]++(?P<name>" + NAME + rb")"
    rb"|(?P<constant>[A-Z][A-Z0-9_]++)[ \t]*+(?::[^=\n]*+)?=(?!=))"
)
_COLON = compiled(rb"[(\[{:\n]")


def declared_in_python(code: bytes, pairs: Brackets, whole: bytes, begin: int) -> list[Found]:
    """Functions, classes and the constants of a module, decorators included."""
    lines = Indentation(code, pairs)
    matches = [(found, lines.line_of(found.end() - 2)) for found in _PYTHON.finditer(b"\n" + code)]
    matches = [(found, line) for found, line in matches if lines.starts and lines.starts[line] == found.start()]
    ends = _closing_lines(lines, [found.start() for found, _ in matches])
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
        found_all.append(Found(start, name, kind, min(_colon(code, pairs, high - 1, whole, begin), end), end))
    return found_all


_PLAIN_HEAD = compiled(rb"[ \t]*+(?:\([^()]*+\))?+[^:()\[\]{}\n]*+:")


def _colon(code: bytes, pairs: Brackets, position: int, whole: bytes, begin: int) -> int:
    """Behind the colon that ends the head of a function or class; the code begins at this place of the whole."""
    # Brackets that do not match each other may reach beyond the code.
    plain = _PLAIN_HEAD.match(whole, begin + position, begin + position + REACH)
    if plain is not None:
        return plain.end() - begin
    stop = min(position + REACH, len(code))
    while (sign := _COLON.search(code, position, stop)) is not None:
        if sign[0] == b":":
            return sign.end()
        if sign[0] == b"\n":
            return sign.start()
        position = pairs.after(sign.start())
        stop = min(position + REACH, len(code))
    return line_end(code, position)


def nested(source: Source, remarks: tuple[_Places, _Places], found: list[Found]) -> tuple[Definition, ...]:
    """Put every definition into the one that holds it, and what stands in front of it before it."""
    content, code = source.content, source.code
    comments, strings = remarks
    ordered = sorted(found, key=lambda each: (each.start, -each.end, each.name, each.kind))
    result: list[Definition] = []
    around: list[int] = []
    for one in ordered:
        each = one
        while around and (result[around[-1]].end <= each.start or result[around[-1]].signature_start == each.start):
            around.pop()  # two names of one thing stand side by side
        end = min(each.end, result[around[-1]].end) if around else each.end
        parent = around[-1] if around else -1
        if end <= each.start or (parent >= 0 and result[parent].kind == "macro"):
            continue  # what a macro would write is not written yet
        low = result[parent].signature_end if parent >= 0 else 0
        if source.language in _ATTRIBUTED:
            each = _attributed(source, each, low)
        front = _front(content, code, comments, each.start, low)
        owner = result[parent] if parent >= 0 else None
        kind = "method" if each.kind == "function" and owner is not None and owner.kind in _OWNERS else each.kind
        kind = "method" if kind == "function" and each.owner else kind
        name = f"{each.owner}.{each.name}" if each.owner else each.name
        qualified = name if owner is None else f"{owner.qualified}.{name}"
        signature_end = min(max(each.signature_end, each.start), end)
        doc = (front, each.start) if front < each.start else _docstring(content, code, strings, signature_end, end)
        around.append(len(result))
        result.append(
            Definition(
                front, end, each.name, qualified, cast("DefinitionKind", kind), parent, each.start, signature_end, doc
            )
        )
    return tuple(result)


_ATTRIBUTE = compiled(rb"[ \t]*+(?:@[A-Za-z]|\#\[)")
_ATTRIBUTE_NAME = compiled(rb"@[\w.:]++|\#(?=\[)")
_DOCSTRINGS = frozenset(("python", "clojure", "commonlisp", "elisp"))
_ELIXIR = compiled(rb"@(?:doc|spec|impl|deprecated|since|dialyzer)\b")
_ATTRIBUTED = frozenset("rust kotlin swift scala javascript typescript tsx php elixir".split())
_ABOVE = 2_000  # bytes of blanks, a comment perhaps, that may stand between an attribute and what it belongs to


def _attributed(source: Source, found: Found, low: int) -> Found:
    """Move the start up over the lines of attributes and decorators above it."""
    code, start = source.code, found.start
    while (line := code.rfind(b"\n", low, start)) >= 0 and not code[line:start].strip():
        above = _before_blanks(code, low, line)
        first = max(code.rfind(b"\n", low, above) + 1, low)
        if above > low and code[above - 1] in b")]" and not _ATTRIBUTE.match(code, first):
            opener = source.pairs.open_of(above - 1)
            first = max(code.rfind(b"\n", low, opener) + 1, low) if opener is not None and opener > low else first
        attribute = _ATTRIBUTE.match(code, first)
        if above <= low or attribute is None or not _only_attributes(source, attribute.end() - 2, above):
            break
        start = attribute.end() - 2
    return found if start == found.start else found._replace(start=start)


def _only_attributes(source: Source, position: int, end: int) -> bool:
    """Is everything up to `end` attributes with their arguments? In Elixir they have no brackets."""
    if source.language == "elixir":
        return _ELIXIR.match(source.code, position) is not None
    while (name := _ATTRIBUTE_NAME.match(source.code, position)) is not None:
        position = name.end()
        if source.code[position : position + 1] in (b"(", b"["):
            position = source.pairs.after(position)
        if position >= end:
            return True
        rest = source.code[position : position + _ABOVE]
        position += len(rest) - len(rest.lstrip())
    return False


def _before_blanks(code: bytes, low: int, end: int) -> int:
    begin = max(low, end - _ABOVE)
    return begin + len(code[begin:end].rstrip())


def _front(content: bytes, code: bytes, comments: tuple[list[int], list[int]], start: int, low: int) -> int:
    """Where the comment lines directly above a definition begin."""
    starts, ends = comments
    at = bisect_right(ends, start) - 1
    while at >= 0 and starts[at] >= low and start - ends[at] < _ABOVE:
        between = content[ends[at] : start]
        if between.strip() or between.count(b"\n") > 1:
            break
        line = content.rfind(b"\n", 0, starts[at]) + 1
        if code[line : starts[at]].strip():
            break
        start = starts[at]
        at -= 1
    return start


def _docstring(
    content: bytes, code: bytes, strings: tuple[list[int], list[int]], start: int, end: int
) -> tuple[int, int] | None:
    """The string that stands right behind a signature."""
    starts, ends = strings
    at = bisect_left(starts, start)
    if at == len(starts) or ends[at] > end or code[start : starts[at]].strip():
        return None
    return (starts[at], ends[at]) if b"\n" in content[start : starts[at]] else None
