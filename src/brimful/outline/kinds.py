"""What kind of text is this?"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from brimful.native.runs import Anchors

Kind = Literal["prose", "code", "data"]

SNIFF_BYTES = 8_192
"""How much of a text is read to guess its kind; the guess never depends on the rest."""

_PROSE = {
    "markdown": "md markdown mdx mkd mdown qmd rmd",
    "rst": "rst rest",
    "html": "html htm xhtml shtml",
    "text": "txt text adoc asciidoc org tex latex textile wiki srt vtt eml",
}
_DATA = {
    "csv": "csv",
    "tsv": "tsv tab",
    "json": "json geojson ipynb webmanifest har avsc topojson",
    "jsonl": "jsonl ndjson jsonlines",
    "log": "log",
    "yaml": "yaml yml",
    "toml": "toml",
    "xml": "xml svg xsd xsl xslt rss atom plist wsdl csproj vcxproj kml gpx xliff",
    "ini": "ini cfg conf properties env editorconfig desktop service gitconfig",
}
_CODE = {
    "python": "py pyi pyw pyx pxd pxi",
    "javascript": "js mjs cjs jsx es6",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp",
    "csharp": "cs csx",
    "go": "go",
    "rust": "rs",
    "ruby": "rb rake gemspec",
    "php": "php phtml php5",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc sbt",
    "bash": "sh bash zsh ksh bats",
    "lua": "lua",
    "sql": "sql ddl dml psql",
    "perl": "pl pm",
    "r": "r",
    "julia": "jl",
    "haskell": "hs",
    "ocaml": "ml",
    "ocaml_interface": "mli",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc edn",
    "elm": "elm",
    "dart": "dart",
    "groovy": "groovy gradle",
    "objc": "m mm",
    "fsharp": "fs fsx",
    "powershell": "ps1 psm1 psd1",
    "fish": "fish",
    "vim": "vim",
    "nix": "nix",
    "zig": "zig",
    "nim": "nim",
    "d": "d",
    "pascal": "pas dpr",
    "fortran": "f f90 f95 f03 for",
    "ada": "adb ads",
    "asm": "asm s",
    "cuda": "cu cuh",
    "glsl": "glsl vert frag",
    "hlsl": "hlsl",
    "solidity": "sol",
    "verilog": "v sv svh",
    "vhdl": "vhd vhdl",
    "tcl": "tcl",
    "elisp": "el",
    "commonlisp": "lisp cl",
    "scheme": "scm ss",
    "racket": "rkt",
    "css": "css",
    "scss": "scss",
    "vue": "vue",
    "svelte": "svelte",
    "astro": "astro",
    "graphql": "graphql gql",
    "proto": "proto",
    "thrift": "thrift",
    "hcl": "hcl",
    "terraform": "tf tfvars",
    "make": "mk mak",
    "cmake": "cmake",
    "meson": "meson",
    "starlark": "bzl star",
    "prisma": "prisma",
    "gdscript": "gd",
    "wgsl": "wgsl",
    "matlab": "matlab",
}
_TABLES: tuple[tuple[Kind, dict[str, str]], ...] = (("prose", _PROSE), ("data", _DATA), ("code", _CODE))
_EXTENSIONS: dict[str, tuple[Kind, str]] = {
    extension: (kind, name)
    for kind, table in _TABLES
    for name, extensions in table.items()
    for extension in extensions.split()
}
_NAMES: dict[str, tuple[Kind, str]] = {
    "makefile": ("code", "make"),
    "gnumakefile": ("code", "make"),
    "dockerfile": ("code", "dockerfile"),
    "containerfile": ("code", "dockerfile"),
    "cmakelists.txt": ("code", "cmake"),
    "meson.build": ("code", "meson"),
    "gemfile": ("code", "ruby"),
    "rakefile": ("code", "ruby"),
    "vagrantfile": ("code", "ruby"),
    "jenkinsfile": ("code", "groovy"),
    "build.bazel": ("code", "starlark"),
    ".bashrc": ("code", "bash"),
    ".bash_profile": ("code", "bash"),
    ".profile": ("code", "bash"),
    ".zshrc": ("code", "bash"),
    ".vimrc": ("code", "vim"),
    "cargo.lock": ("data", "toml"),
    "poetry.lock": ("data", "toml"),
    "uv.lock": ("data", "toml"),
    "pipfile": ("data", "toml"),
    "yarn.lock": ("data", "yaml"),
    "syslog": ("data", "log"),
    ".env": ("data", "ini"),
    ".editorconfig": ("data", "ini"),
    ".gitconfig": ("data", "ini"),
    "readme": ("prose", "text"),
    "license": ("prose", "text"),
    "copying": ("prose", "text"),
    "changelog": ("prose", "text"),
    "authors": ("prose", "text"),
    "notice": ("prose", "text"),
}
_WEAK = frozenset({"txt", "text"})  # names that say little: their content may still be data
_INTERPRETERS = (
    (b"python", "python"),
    (b"node", "javascript"),
    (b"deno", "typescript"),
    (b"bun", "typescript"),
    (b"bash", "bash"),
    (b"zsh", "bash"),
    (b"fish", "fish"),
    (b"ruby", "ruby"),
    (b"perl", "perl"),
    (b"php", "php"),
    (b"lua", "lua"),
    (b"Rscript", "r"),
    (b"julia", "julia"),
    (b"tclsh", "tcl"),
    (b"pwsh", "powershell"),
    (b"sh", "bash"),
)
_JSON_START = re.compile(rb'\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[\[{"\d\]tfn-]|$))')
_STAMP = re.compile(
    rb"(?:<\d{1,3}>\d? ?)?[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d[.,]?\d* "
    rb"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d"
    rb"|[IWEF]\d{4} \d\d:\d\d:\d\d|\d{10}(?:\.\d+|\d{3})?[\] ]"
    rb"|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:)|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b[\]: ]"
)
_CPP_SIGNS = Anchors((b"class ", b"namespace ", b"template", b"public:", b"std::"))
_CPP = re.compile(
    rb"\n[ \t]*(?:class \w|namespace \w|template ?<|public:)"
)  # a newline is found faster than a line's start
_CODE_END = re.compile(rb".*(?:[;{}]|\)\s*(?:->[^:]+)?:|\b(?:then|do|begin))\Z", re.DOTALL)
_CODE_WORD = re.compile(
    rb"\s*(?:import|from|def|class|function|func|fn|package|using|#include|#define|use|const|let|var|return"
    rb"|public|private|static|if|elif|else|end|for|while|try|except)\b"
)
_CODE_LINE = 300  # bytes of a line that are looked at
# Before a language's pattern is tried, which takes a step for each byte, one of its signs must occur in the text: these
# are in small letters.
_GUESSES: tuple[tuple[str, tuple[bytes, ...], re.Pattern[bytes]], ...] = tuple(
    (name, signs, re.compile(pattern, re.MULTILINE))
    for name, signs, pattern in (
        ("php", (b"<?php",), rb"^<\?php"),
        (
            "python",
            (b"def ", b"class ", b"from ", b"import "),
            rb"^[ \t]*(?:def \w+\(.*|class \w+.*):[ \t\r]*$|^from [\w.]+ import |^import [\w.]+(?: as \w+)?[ \t\r]*$",
        ),
        ("go", (b"package ", b"func "), rb"^package \w+[ \t\r]*$|^func (?:\(\w+ \*?\w+\) )?\w+\("),
        ("rust", (b"fn ", b"use ", b"let mut "), rb"^[ \t]*(?:pub )?fn \w+.*\{[ \t\r]*$|^use \w+::|\blet mut "),
        (
            "java",
            (b"import ", b"public "),
            rb"^import (?:static )?[a-z]+\.[\w.]+;|^[ \t]*public (?:final |abstract )?(?:class|interface) ",
        ),
        ("csharp", (b"using ", b"namespace "), rb"^using [A-Z][\w.]+;|^namespace [A-Z]"),
        (
            "cpp",
            (b"template", b"namespace ", b"std::"),
            rb"^[ \t]*(?:template ?<|namespace \w+|using namespace)|std::",
        ),
        ("c", (b"include", b"define", b"ifdef"), rb"^#\s*(?:include|define|ifdef)\b"),
        (
            "typescript",
            (b"interface ", b"type ", b": string", b": number", b": boolean"),
            rb"^[ \t]*(?:export )?(?:interface|type) \w+|: (?:string|number|boolean)\b",
        ),
        (
            "javascript",
            (b"function", b"=>", b"const ", b"let ", b"var "),
            rb"^[ \t]*(?:export |async )?function\b|=> ?\{|^[ \t]*(?:const|let|var) \w+ =",
        ),
        ("ruby", (b"def ", b"require ", b"end"), rb"^[ \t]*def \w+[^:]*$|^require ['\"]|^[ \t]*end[ \t\r]*$"),
        (
            "sql",
            (b"select ", b"create ", b"insert into"),
            rb"(?i)^[ \t]*(?:select .* from|create (?:table|view|function|index)|insert into)\b",
        ),
        ("bash", (b"fi", b"done", b"esac", b"()"), rb"^[ \t]*(?:fi|done|esac)[ \t\r]*$|^\w+\(\) ?\{"),
    )
)
_GUESS_SIGNS = Anchors(sign for _, signs, _ in _GUESSES for sign in signs)


def kind_of(path: str, content: bytes) -> tuple[Kind, str | None]:
    r"""Tell prose, code and data apart, by name, then shebang, then a bounded look inside.

    The second value names the language (code) or the format (data, prose); None when unknown.

    >>> kind_of("src/app.py", b"")
    ('code', 'python')
    >>> kind_of("notes", b'{"a": 1}\n{"a": 2}\n')
    ('data', 'jsonl')
    """
    name = path[max(path.rfind("/"), path.rfind("\\")) + 1 :].lower()
    if name in ("", "."):
        name = PurePosixPath(path.replace("\\", "/")).name.lower()
    head = content[:SNIFF_BYTES].removeprefix(b"\xef\xbb\xbf")
    complete = len(content) <= SNIFF_BYTES
    extension = _extension(name)
    named = _NAMES.get(name) or _EXTENSIONS.get(extension)
    if named == ("prose", "text") and (not extension or extension in _WEAK) and _markup(head) == "rst":
        return "prose", "rst"
    if named is not None and extension not in _WEAK:
        return _refine(named, head, extension=extension, complete=complete)
    if head.startswith(b"#!"):
        line = head.split(b"\n", 1)[0]
        for word, language in _INTERPRETERS:
            if re.search(rb"[/ ]" + word + rb"[\d.]*(?:\s|$)", line):
                return "code", language
    if _may_be_data(head):
        guess = _data_format(head, _whole_lines(head, complete=complete), complete=complete)
        if guess is not None:
            return "data", guess
    if named is not None:
        return named
    return _sniff(head, complete=complete)


def _extension(name: str) -> str:
    """The part after the last dot; a rotated log's number is passed over ("app.log.1")."""
    parts = name.split(".")[1:]
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in ("bak", "orig", "old", "in", "dist")):
        parts.pop()
    return parts[-1] if parts else ""


def _refine(named: tuple[Kind, str], head: bytes, *, extension: str, complete: bool) -> tuple[Kind, str]:
    """Settle the few extensions that two formats share."""
    if extension == "h" and (signs := _CPP_SIGNS.within(head)) and (b"std::" in signs or _CPP.search(b"\n" + head)):
        return "code", "cpp"
    if extension == "m" and not re.search(
        rb"^[ \t]*(?:#import|@interface|@implementation|@import)", head, re.MULTILINE
    ):
        return "code", "matlab"
    if named == ("data", "json") and _is_json_lines(_whole_lines(head, complete=complete)):
        return "data", "jsonl"
    return named


def _whole_lines(head: bytes, *, complete: bool) -> list[bytes]:
    """The lines of the prefix that have words, without a last one that the prefix cut off."""
    lines = head.split(b"\n")
    if not complete and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line and not line.isspace()]


_DIRECTIVE = re.compile(rb"\n\.\. (?:[\w+-]+(?::[\w+-]+)*::|_[^\n]+:)")
_UNDERLINE = re.compile(rb"\n([=~^\"'`*+-])\1{2,}[ \t\r]*\n")
_ROLE = re.compile(rb":[\w.+-]+(?::[\w.+-]+)*:`")
_QUOTED = re.compile(rb'"[^"]*"')
_SEPARATED = re.compile(rb"[\t,;|]")


def _may_be_data(head: bytes) -> bool:
    """Whether it is worth looking at every line: most texts show in their first that they are no data."""
    text = head.lstrip()
    first = len(head) - len(text)
    line = head[head.rfind(b"\n", 0, first) + 1 : first] + text[: text.find(b"\n") % (len(text) + 1)]
    return text[:1] in (b"<", b"{", b"[") or bool(
        _SEPARATED.search(line) or _STAMP.match(line) or _JSON_START.match(head)
    )


def _is_json_lines(lines: list[bytes]) -> bool:
    ends = ((b"{", b"}"), (b"[", b"]"))
    return len(lines) >= 2 and any(
        all(line.lstrip().startswith(opening) and line.rstrip().endswith(closing) for line in lines)
        for opening, closing in ends
    )


def _data_format(head: bytes, lines: list[bytes], *, complete: bool) -> str | None:
    if not lines:
        return None
    start = head.lstrip()
    if start.startswith(b"<?xml"):
        return "xml"
    if _is_json_lines(lines):
        return "jsonl"
    if _JSON_START.match(head) and (start.rstrip().endswith((b"}", b"]")) or not complete):
        return "json"
    if _STAMP.match(lines[0]):
        stamped = sum(_STAMP.match(line) is not None for line in lines)
        if stamped * 3 >= len(lines) and (stamped >= 2 or len(lines) == 1):
            return "log"
    return _separated(lines)


def _separated(lines: list[bytes]) -> str | None:
    """CSV or TSV when at least three rows have an equal number of one separator."""
    if len(lines) < 3:
        return None
    plain = [_QUOTED.sub(b"", line) if b'"' in line else line for line in lines]  # outside of quotes
    for separator, name in ((b"\t", "tsv"), (b",", "csv"), (b";", "csv"), (b"|", "csv")):
        usual = plain[0].count(separator)
        if not usual:
            continue
        counts = [line.count(separator) for line in plain]
        if max(counts) == usual and counts.count(usual) * 10 >= len(lines) * 9:
            wordy = sum(separator + b" " in line for line in lines)
            if separator != b"\t" and wordy * 2 > len(lines) and usual < 3:
                continue  # commas followed by blanks are prose
            if any(line.rstrip().endswith((b";", b"{", b"}")) for line in lines) or lines[0].startswith(b"|"):
                continue  # code, or a Markdown table
            return name
    return None


def _sniff(head: bytes, *, complete: bool) -> tuple[Kind, str | None]:
    """Code by its punctuation and keywords; else prose, by its marks."""
    start = head.lstrip()[:200].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "prose", "html"
    is_php = start.startswith(b"<?php")
    coded, filled = _code_lines(head if complete else head[: head.rfind(b"\n") + 1] or head)
    if is_php or (coded >= 3 and coded * 5 >= filled * 2):
        there = _GUESS_SIGNS.within(head.lower())
        scores = [
            (0 if there.isdisjoint(signs) else len(pattern.findall(head)), -place, name)
            for place, (name, signs, pattern) in enumerate(_GUESSES)
        ]
        best, _, language = max(scores)
        if best:
            return "code", language
        if coded * 2 >= filled:
            return "code", None
    return "prose", _markup(head)


def _code_lines(text: bytes) -> tuple[int, int]:
    r"""How many lines end as statements do, or begin with a word of theirs; and how many are not blank.

    >>> _code_lines(b"def tea() -> str:\n  return 4;\n\nTea is at four.")
    (2, 3)
    """
    lines = [line[:_CODE_LINE].rstrip(b" \t\r") for line in text.split(b"\n") if line.strip()]
    coded = sum(_CODE_END.match(line) is not None or _CODE_WORD.match(line) is not None for line in lines)
    return coded, len(lines)


# What a text has where it is marked up: looked for all at once, many times faster than by patterns.
_RST_SIGNS = (b"\n.. ", b":`")
_SURE_SIGNS, _ITEM_SIGNS, _HEADING_SIGN = (b"\n```", b"](http:", b"](https:"), (b"\n- ", b"\n* "), b"\n#"
_MARKUP = Anchors((*_RST_SIGNS, *_SURE_SIGNS, *_ITEM_SIGNS, _HEADING_SIGN))


def _markup(head: bytes) -> str:
    """How prose is marked up: "rst", "markdown", or as plain "text"."""
    text = b"\n" + head
    signs = _MARKUP.within(text)
    if not signs:
        return "text"
    if _is_rst(text, signs):
        return "rst"
    return "markdown" if _is_markdown(text, signs) else "text"


def _is_rst(text: bytes, signs: set[bytes]) -> bool:
    """Is there a directive, a target or a role, and a second sign? Many projects call such files `.txt`."""
    directive, role = (
        sign in signs and pattern.search(text) is not None
        for sign, pattern in zip(_RST_SIGNS, (_DIRECTIVE, _ROLE), strict=True)
    )
    return (directive or role) and (directive is role or _UNDERLINE.search(text) is not None)


_HASHES = re.compile(rb"\n#")
_ALONE = re.compile(rb"(?:\A|\n[ \t\r]*+)\n#{1,6} \S[^\n]*+(?=\n[ \t\r]*+(?:\n|\Z)|\Z)")


def _is_markdown(text: bytes, signs: set[bytes]) -> bool:
    """Is there a fence or a link, do headings stand alone, or is there a list item?

    Lines of a comment stand below each other, or right above what they explain.
    """
    if not signs.isdisjoint(_SURE_SIGNS):
        return True
    if _HEADING_SIGN in signs:
        return 2 * len(_ALONE.findall(text)) >= len(_HASHES.findall(text))
    return not signs.isdisjoint(_ITEM_SIGNS) and re.search(rb"\n[-*] \S", text) is not None
