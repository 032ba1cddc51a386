"""Which definitions do other sources hold, and which lines bring in other sources?

Languages whose bodies end by the column of a line, Lisps, configuration and build files; C and its kin are in
`statements`, JavaScript and TypeScript in `scripts`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from brimful.outline.declarations import REACH, Found, Head, Source, family_of, heads_in, line_end, rule_of, trimmed
from brimful.outline.masking import Indentation, Masked

# ---- columns: Which definitions does a source hold whose bodies end by the column of a line?
#
# Python, OCaml and Haskell end a body where a line is indented no more than its head; Ruby, Lua, Elixir, Julia and the
# shell write an `end` or brace in the column of the head. Well kept code is indented so, and other code says less.


def declared_by_column(source: Source) -> list[Found]:
    """The definitions of a language that has a rule whose bodies end by the column of a line."""
    language = family_of(source.language)
    heads = heads_in(source, rule_of(language))
    flat = language in ("haskell", "julia")
    lines = Indentation(source.code, source.pairs if flat else None, _GOING_ON.get(language, b""))
    if language == "ocaml":
        heads = _outer_let(source.code, heads, lines)
    ends = _closing_lines(lines, [head.start for head in heads])
    closer = _CLOSERS.get(language)
    if language == "julia":
        ends = [_module_end(source.code, head, lines, line) for head, line in zip(heads, ends, strict=True)]
    definitions = []
    for head, line in zip(heads, ends, strict=True):
        signature_end = _signature_end(source, head, language)
        end = _column_end(source, head, lines, line, closer)
        definitions.append(Found(head.start, head.name, head.kind, min(signature_end, end), end))
    return _joined(definitions) if language == "haskell" else definitions


# Words at the column of the statement that they continue.
_GOING_ON = {
    "ruby": rb"rescue\b|ensure\b|else\b|elsif\b|when\b|\)|\]|\}|&?\.\w",
    "elixir": rb"rescue\b|catch\b|after\b|else\b|\)|\]|\}|\|>",
    "julia": rb"catch\b|finally\b|else\b|elseif\b",
    "lua": rb"else\b|elseif\b|\)|\}",
    "ocaml": rb"\||sig\b|struct\b|object\b|fun\b|\)|\]|\}",
}
_CLOSERS = {
    "ruby": re.compile(rb"[ \t]*+end\b"),
    "lua": re.compile(rb"[ \t]*+end\b"),
    "elixir": re.compile(rb"[ \t]*+end\b"),
    "julia": re.compile(rb"[ \t]*+end\b"),
    "bash": re.compile(rb"[ \t]*+[})]"),
    "ocaml": re.compile(rb"[ \t]*+end\b"),
}


def _closing_lines(lines: Indentation, starts: list[int]) -> list[int]:
    """For each definition, in order, the number of the first line below that is indented no more."""
    heads = [lines.line_of(start) for start in starts]
    columns, closing = lines.columns, [len(lines.columns)] * len(starts)
    opened: list[int] = []  # the definitions that no line has closed so far
    following = 0
    for line in range(heads[0] if columns and heads else len(columns), len(columns)):
        while opened and columns[heads[opened[-1]]] >= columns[line]:
            closing[opened.pop()] = line
        while following < len(heads) and heads[following] == line:
            opened.append(following)
            following += 1
    return closing


def _column_end(source: Source, head: Head, lines: Indentation, line: int, closer: re.Pattern[bytes] | None) -> int:
    code = source.code
    head_line = lines.line_of(head.start)
    below = code[lines.starts[line] : lines.starts[line] + 80].strip() if line < len(lines.starts) else b""
    if line == head_line + 1 and source.language == "bash" and below[:1] in (b"{", b"("):  # a brace on a separate line
        line = next(
            (later for later in range(line + 1, len(lines.starts)) if lines.columns[later] <= lines.columns[head_line]),
            len(lines.starts),
        )
    if closer is not None and line < len(lines.starts) and lines.columns[line] == lines.columns[head_line]:
        closed = closer.match(code, lines.starts[line])
        if closed is not None and not (line == head_line + 1 and _closed_on_line(code, lines, head_line)):
            return closed.end()
    stop = lines.starts[line] if line < len(lines.starts) else len(code)
    return lines.end_of(line - 1, stop)


def _module_end(code: bytes, head: Head, lines: Indentation, line: int) -> int:
    """The body of a Julia module is often not indented: then it ends with the file."""
    if head.kind != "module" or line >= len(lines.starts) or _CLOSERS["julia"].match(code, lines.starts[line]):
        return line
    last = len(lines.starts) - 1
    return last if _CLOSERS["julia"].match(code, lines.starts[last]) else line


def _closed_on_line(code: bytes, lines: Indentation, head_line: int) -> bool:
    """Does the line that begins a definition also end it?"""
    line = code[lines.starts[head_line] : line_end(code, lines.starts[head_line])].rstrip()
    return line.endswith((b"end", b"}")) or re.search(rb"\bend\b[)\]},;]*$|\)[ \t]*=[^=>~]", line) is not None


def _signature_end(source: Source, head: Head, language: str) -> int:
    code, pairs = source.code, source.pairs
    end = line_end(code, head.after)
    if code[head.after : head.after + 1] == b"(" and language != "bash":
        end = max(head.after, min(line_end(code, pairs.after(head.after)), head.after + REACH))
    return trimmed(code, head.start, end)


def _outer_let(code: bytes, heads: list[Head], lines: Indentation) -> list[Head]:
    """Drop OCaml's `let` inside expressions: a definition begins at the margin or directly in a module."""
    outer: list[Head] = []
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
        outer.append(head)
        if head.kind == "module" and _OPENS_MODULE.search(code, head.after, min(head.after + 600, len(code))):
            modules.append(column)
            inner.append(None)
    return outer


_OPENS_MODULE = re.compile(rb"\b(?:struct|sig)\b")


def _joined(definitions: list[Found]) -> list[Found]:
    """Haskell writes a function in several equations, its type before them: one definition."""
    joined: list[Found] = []
    for definition in definitions:
        last = joined[-1] if joined else None
        if last is not None and last.name == definition.name and last.kind == definition.kind == "function":
            joined[-1] = last._replace(end=definition.end)
        else:
            joined.append(definition)
    return joined


# ---- forms: Which definitions do Lisps, configuration and build files hold?

_LISP = re.compile(
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
_YAML = re.compile(
    rb"\n(?P<blanks>[ ]*+)(?:(?P<item>-(?=[ \r\n]|\Z))"
    rb"|(?P<name>[\w\"'./$<*-][^\n:#{}\[\],]*+)[ \t]*:(?=[ \t\r\n]|\Z)(?P<scalar>[ \t]*[|>][-+\d]*[ \t\r]*(?=\n|\Z))?)"
)
_TABLE = re.compile(rb"\n[ \t]*+(?P<head>\[\[?[ \t]*+(?P<name>[^\]\n]++)\]\]?)")
_TARGET = re.compile(rb"\n(?:(?P<name>[^\s\#:=?+!][^\n:=\#\t]*+)::?(?![=:])|define[ \t]+(?P<define>[\w.$()-]+))")
_STAGE = re.compile(
    rb"\n(?P<head>FROM[ \t]+(?:--\S+[ \t]+)*+(?P<image>\S+)(?:[ \t]+AS[ \t]+(?P<name>\S+))?)", re.IGNORECASE
)
_FORMS = frozenset(("commonlisp", "clojure", "scheme", "elisp", "racket", "yaml", "toml", "ini", "make", "dockerfile"))


def is_form(language: str | None) -> bool:
    """Is a language read here?"""
    return language in _FORMS


def declared_in_forms(source: Source) -> list[Found]:
    """Forms of a Lisp, keys, tables, targets or stages of a build."""
    language = source.language
    if language == "yaml":
        return _keys(source)
    if language in ("toml", "ini"):
        return _to_the_next(source, _TABLE, "table")
    if language == "make":
        return _targets(source)
    if language == "dockerfile":
        return _to_the_next(source, _STAGE, "stage")
    return _lisp(source)


def _lisp(source: Source) -> list[Found]:
    code, pairs = source.code, source.pairs
    definitions = []
    for head in _LISP.finditer(b"\n" + code):
        word = head["word"].rpartition(b"/")[2]
        if word in _NOT_LISP:
            continue
        start = head.start("head") - 1
        name = re.sub(rb"^setf\s+", b"", head["name"].lstrip(b"(':#")).decode(errors="replace")
        end = pairs.after(start)
        signature_end = min(line_end(code, head.end() - 1), end)
        opening = code.find(b"(", head.end() - 1, min(head.end() + 80, end))
        if 0 <= opening <= signature_end:
            signature_end = max(signature_end, min(pairs.after(opening), end))
        kind = _lisp_kind(word.decode(errors="replace"), head["name"])
        definitions.append(Found(start, name, kind, signature_end, end))
    return definitions


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
    barrier = _NONE  # lines indented more belong to a list or a text
    keys: list[tuple[int, int, bytes]] = []
    for key in _YAML.finditer(b"\n" + code):
        column = len(key["blanks"])
        if column > barrier or (key["item"] is not None and column == barrier):
            continue
        barrier = _NONE
        if key["item"] is not None or key["scalar"] is not None:
            barrier = column
        if key["item"] is not None:
            continue
        second = None if not column else column if second is None and keys else second
        if column in (0, second):
            low, high = (place - 1 for place in key.span("name"))
            keys.append((key.start(), column, content[low:high]))
    ends = _ends_by_column([(start, column) for start, column, _ in keys], len(code))
    definitions = []
    for (start, column, name), end in zip(keys, ends, strict=True):
        stop = start + len(code[start:end].rstrip())
        signature_end = min(line_end(code, start), stop)
        words = name.strip().strip(b"\"'").decode(errors="replace")
        definitions.append(
            Found(start + column, words, "key", max(signature_end, start + column), max(stop, start + column))
        )
    return definitions


def _ends_by_column(heads: list[tuple[int, int]], length: int) -> list[int]:
    ends = [length] * len(heads)
    opened: list[int] = []
    for number, (start, column) in enumerate(heads):
        while opened and heads[opened[-1]][1] >= column:
            ends[opened.pop()] = start
        opened.append(number)
    return ends


def _to_the_next(source: Source, pattern: re.Pattern[bytes], kind: str) -> list[Found]:
    """Definitions of which each ends where the next begins; one without a name is called by its image."""
    code, content = source.code, source.content
    heads = list(pattern.finditer(b"\n" + code))
    definitions = []
    for head, stop in zip(heads, [*(head.start() for head in heads[1:]), len(code)], strict=False):
        start, (low, high) = head.start("head") - 1, head.span("name" if head["name"] else "image")
        name = content[low - 1 : high - 1].strip().decode(errors="replace")
        definitions.append(Found(start, name, kind, head.end() - 1, start + len(code[start:stop].rstrip())))
    return definitions


def _targets(source: Source) -> list[Found]:
    """The targets of a makefile, with the lines below that begin with a tab."""
    code = source.code
    text = b"\n" + code
    definitions = []
    for head in _TARGET.finditer(text):
        start = head.start()
        line = line_end(code, start)
        if head["define"] is not None:
            close = re.compile(rb"\nendef\b").search(code, start)
            end = close.end() if close is not None else line
            definitions.append(Found(start, head["define"].decode(errors="replace"), "macro", line, end))
            continue
        while line < len(code) and code[line - 1 : line] == b"\\":
            line = line_end(code, line + 1)
        recipe = _RECIPE.match(code, line)
        end = recipe.end() if recipe is not None and recipe[0].strip() else line
        end = start + len(code[start:end].rstrip())
        definitions += [
            Found(start, name.decode(errors="replace"), "target", min(line, end), end)
            for name in head["name"].split()
            if not (name.startswith(b".") and name[1:].isupper())
        ]
    return definitions


_RECIPE = re.compile(rb"(?:\n(?:\t[^\n]*+|(?=\n)|[ ]*+(?:ifn?eq|ifn?def|else|endif)[^\n]*+))*+")


# ---- imports: Which lines of a source bring in other sources?

# What an import begins with. A bracket in it may go on over lines.
_WORDS: dict[str, bytes] = {
    "python": rb"(?:import|from)[ \t]",
    "javascript": (
        rb"(?:import\b(?![ \t]*\()|export[ \t]+(?:\*|\{[^{}]*+\})[^\n]*?\bfrom\b"
        rb"|(?:const|let|var)[ \t]+[^\n=]*+=[ \t]*require[ \t]*\()"
    ),
    "java": rb"(?:import|package)[ \t]",
    "csharp": rb"(?:global[ \t]+)?using[ \t]+(?![\w.<>]+[ \t]+\w+[ \t]*=)[\w.=<> \t]+;",
    "go": rb"(?:import|package)\b",
    "rust": rb"(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:use|extern[ \t]+crate)[ \t]",
    "ruby": rb"(?:require|require_relative|load|autoload)\b",
    "php": rb"(?:use|require|require_once|include|include_once)\b(?![ \t]*\()",
    "lua": rb"(?:local[ \t]+[\w, \t]+=[ \t]*)?require\b",
    "elixir": rb"(?:alias|import|use|require)[ \t]",
    "julia": rb"(?:using|import)[ \t]",
    "bash": rb"(?:source|\.)[ \t]+\S",
    "haskell": rb"import[ \t]",
    "ocaml": rb"(?:open|include)[ \t!]",
    "swift": rb"(?:@\w+[ \t]+)?import[ \t]",
    "dart": rb"(?:import|export|part|library)[ \t]",
    "proto": rb"(?:import|package)[ \t]",
    "make": rb"-?include[ \t]",
}
_ALIASES = {
    "typescript": "javascript", "tsx": "javascript", "kotlin": "java", "scala": "java", "groovy": "java",
    "ocaml_interface": "ocaml", "fish": "bash",
}  # fmt: skip
_INCLUDE = re.compile(rb"\#[ \t]*(?:include|import)\b")
_OPENER = re.compile(rb"[({\[]")


def imports_in(source: Source, masked: Masked) -> tuple[tuple[int, int], ...]:
    """The start and end of each import."""
    content = source.content
    starts, ends = masked.directives
    spans = [
        (start, start + len(content[start:end].rstrip()))
        for start, end in zip(starts, ends, strict=True)
        if _INCLUDE.match(content, start, end)
    ]
    pattern = _pattern(_ALIASES.get(source.language, source.language))
    if pattern is not None:
        code = source.code
        for line in pattern.finditer(b"\n" + code):
            start = line.start(1) - 1
            spans.append((start, _end(source, start)))
    return tuple(sorted(spans))


@lru_cache(maxsize=32)
def _pattern(language: str) -> re.Pattern[bytes] | None:
    words = _WORDS.get(language)
    return re.compile(rb"\n[ \t]*+(" + words + rb")") if words is not None else None


def _end(source: Source, start: int) -> int:
    """With the line, or with the bracket that is opened on it."""
    code = source.code
    end = line_end(code, start)
    opener = _OPENER.search(code, start, end)
    if opener is not None:
        after = source.pairs.after(opener.start())
        if after > end and after - start < 20_000:
            end = line_end(code, after)
    while end > start and code[end - 1] in b" \t\r":
        end -= 1
    return end
