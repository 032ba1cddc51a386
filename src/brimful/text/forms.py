"""Which definitions do Lisps, configuration and build files hold?"""

from __future__ import annotations

import re

from brimful.patterns import compiled
from brimful.text.declarations import Found, Source

_LISP = compiled(
    rb"\n(?P<head>[(](?P<word>(?:[\w.*+!?-]+/)?(?:def|cl-def|define|ert-def|use-package|ns\b|in-ns\b)[^\s()\[\]\"]*+)\s++"
    rb"(?:\^(?:\{(?:[^{}]++|\{[^{}]*+\})*+\}|[\w:.-]++)\s*+)*+(?P<name>\(?(?:setf\s+)?'?[^\s()\[\]{}\"';][^\s()\[\]{}\";]*+|\(\([^\s()]++))"
)
_LISP_KINDS = (
    ("macro", ("macro", "syntax", "subst", "modify")),
    ("class", ("class", "struct", "record", "type", "protocol", "condition", "group", "interface")),
    ("constant", ("var", "const", "param", "custom", "face", "local", "once", "alias", "dynamic")),
    ("module", ("package", "module", "ns", "system", "library")),
)
_NOT_LISP = frozenset(b"define-key define-abbrev default defaults".split())
_YAML = compiled(
    rb"\n(?P<blanks>[ ]*+)(?:(?P<item>-(?=[ \r\n]|\Z))"
    rb"|(?P<name>[\w\"'./$<*-][^\n:#{}\[\],]*+)[ \t]*:(?=[ \t\r\n]|\Z)(?P<scalar>[ \t]*[|>][-+\d]*[ \t\r]*(?=\n|\Z))?)"
)
_TABLE = compiled(rb"\n[ \t]*+(?P<head>\[\[?[ \t]*+(?P<name>[^\]\n]++)\]\]?)")
_TARGET = compiled(rb"\n(?:(?P<name>[^\s\#:=?+!][^\n:=\#\t]*+)::?(?![=:])|define[ \t]+(?P<define>[\w.$()-]+))")
_STAGE = compiled(rb"\nFROM[ \t]+(?:--\S+[ \t]+)*+(?P<image>\S+)(?:[ \t]+AS[ \t]+(?P<name>\S+))?", re.IGNORECASE)
_FORMS = frozenset(("commonlisp", "clojure", "scheme", "elisp", "racket", "yaml", "toml", "ini", "make", "dockerfile"))


def is_form(language: str) -> bool:
    """Is a language read here?"""
    return language in _FORMS


def declared_in_forms(source: Source) -> list[Found]:
    """Forms of a Lisp, keys, tables, targets or stages of a build."""
    language = source.language
    if language == "yaml":
        return _keys(source)
    if language in ("toml", "ini"):
        return _tables(source)
    if language == "make":
        return _targets(source)
    if language == "dockerfile":
        return _stages(source)
    return _lisp(source)


def _lisp(source: Source) -> list[Found]:
    code, pairs = source.code, source.pairs
    found = []
    for head in _LISP.finditer(b"\n" + code):
        word = head["word"].rpartition(b"/")[2]
        if word in _NOT_LISP:
            continue
        start = head.start("head") - 1
        name = re.sub(rb"^setf\s+", b"", head["name"].lstrip(b"(':#")).decode(errors="replace")
        end = pairs.after(start)
        line = code.find(b"\n", head.end() - 1)
        signature_end = min(line if line >= 0 else len(code), end)
        opening = code.find(b"(", head.end() - 1, min(head.end() + 80, end))
        if 0 <= opening <= signature_end:
            signature_end = max(signature_end, min(pairs.after(opening), end))
        found.append(Found(start, name, _lisp_kind(word.decode(errors="replace"), head["name"]), signature_end, end))
    return found


def _lisp_kind(word: str, name: bytes) -> str:
    for kind, parts in _LISP_KINDS:
        if any(part in word for part in parts):
            return kind
    if word == "def" or (word == "define" and not name.startswith(b"(")):
        return "constant"
    return "function"


_NONE = 1 << 30


def _keys(source: Source) -> list[Found]:
    """The keys of a YAML file at the outermost level and those right below them."""
    code, content = source.code, source.content
    second: int | None = None
    barrier = _NONE  # what is indented more stands in a list or in a text
    kept: list[tuple[int, int, bytes]] = []
    for found in _YAML.finditer(b"\n" + code):
        column = len(found["blanks"])
        if column > barrier or (found["item"] is not None and column == barrier):
            continue
        barrier = _NONE
        if found["item"] is not None or found["scalar"] is not None:
            barrier = column
        if found["item"] is not None:
            continue
        second = None if not column else column if second is None and kept else second
        if column in (0, second):
            low, high = (place - 1 for place in found.span("name"))
            kept.append((found.start(), column, content[low:high]))
    ends = _ends_by_column([(start, column) for start, column, _ in kept], len(code))
    found_all = []
    for (start, column, name), end in zip(kept, ends, strict=True):
        line = code.find(b"\n", start)
        stop = start + len(code[start:end].rstrip())
        signature_end = min(line if line >= 0 else len(code), stop)
        words = name.strip().strip(b"\"'").decode(errors="replace")
        found_all.append(
            Found(start + column, words, "key", max(signature_end, start + column), max(stop, start + column))
        )
    return found_all


def _ends_by_column(heads: list[tuple[int, int]], length: int) -> list[int]:
    ends = [length] * len(heads)
    opened: list[int] = []
    for number, (start, column) in enumerate(heads):
        while opened and heads[opened[-1]][1] >= column:
            ends[opened.pop()] = start
        opened.append(number)
    return ends


def _tables(source: Source) -> list[Found]:
    code, content = source.code, source.content
    heads = list(_TABLE.finditer(b"\n" + code))
    found = []
    for number, head in enumerate(heads):
        start = head.start("head") - 1
        stop = heads[number + 1].start() if number + 1 < len(heads) else len(code)
        name = content[head.start("name") - 1 : head.end("name") - 1].strip().decode(errors="replace")
        end = start + len(code[start:stop].rstrip())
        found.append(Found(start, name, "table", head.end() - 1, end))
    return found


def _targets(source: Source) -> list[Found]:
    """What a makefile makes: the target, with the lines below that begin with a tab."""
    code = source.code
    text = b"\n" + code
    found = []
    for head in _TARGET.finditer(text):
        start = head.start()
        line = code.find(b"\n", start)
        line = line if line >= 0 else len(code)
        if head["define"] is not None:
            close = re.compile(rb"\nendef\b").search(code, start)
            end = close.end() if close is not None else line
            found.append(Found(start, head["define"].decode(errors="replace"), "macro", line, end))
            continue
        while code[line - 1 : line] == b"\\":
            following = code.find(b"\n", line + 1)
            line = following if following >= 0 else len(code)
        recipe = _RECIPE.match(code, line)
        end = recipe.end() if recipe is not None and recipe[0].strip() else line
        end = start + len(code[start:end].rstrip())
        found += [
            Found(start, name.decode(errors="replace"), "target", min(line, end), end)
            for name in head["name"].split()
            if not (name.startswith(b".") and name[1:].isupper())
        ]
    return found


_RECIPE = compiled(rb"(?:\n(?:\t[^\n]*+|(?=\n)|[ ]*+(?:ifn?eq|ifn?def|else|endif)[^\n]*+))*+")


def _stages(source: Source) -> list[Found]:
    code = source.code
    heads = list(_STAGE.finditer(b"\n" + code))
    found = []
    for number, head in enumerate(heads):
        start = head.start()
        stop = heads[number + 1].start() if number + 1 < len(heads) else len(code)
        name = (head["name"] or head["image"]).decode(errors="replace")
        found.append(Found(start, name, "stage", head.end() - 1, start + len(code[start:stop].rstrip())))
    return found
