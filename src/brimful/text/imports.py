"""Which lines of a source bring in other sources?"""

from __future__ import annotations

import re
from functools import lru_cache

from brimful.patterns import compiled
from brimful.text.declarations import Source
from brimful.text.masking import Masked

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
_INCLUDE = compiled(rb"\#[ \t]*(?:include|import)\b")
_OPENER = compiled(rb"[({\[]")


def imports_in(source: Source, masked: Masked) -> tuple[tuple[int, int], ...]:
    """Where each import starts and ends."""
    content = source.content
    starts, ends = masked.directives
    found = [
        (start, start + len(content[start:end].rstrip()))
        for start, end in zip(starts, ends, strict=True)
        if _INCLUDE.match(content, start, end)
    ]
    pattern = _pattern(_ALIASES.get(source.language, source.language))
    if pattern is not None:
        code = source.code
        for line in pattern.finditer(b"\n" + code):
            start = line.start(1) - 1
            found.append((start, _end(source, start)))
    return tuple(sorted(found))


@lru_cache(maxsize=32)
def _pattern(language: str) -> re.Pattern[bytes] | None:
    words = _WORDS.get(language)
    return re.compile(rb"\n[ \t]*+(" + words + rb")") if words is not None else None


def _end(source: Source, start: int) -> int:
    """With the line, or with the bracket that is opened on it."""
    code = source.code
    newline = code.find(b"\n", start)
    end = newline if newline >= 0 else len(code)
    opener = _OPENER.search(code, start, end)
    if opener is not None:
        after = source.pairs.after(opener.start())
        if after > end and after - start < 20_000:
            newline = code.find(b"\n", after)
            end = newline if newline >= 0 else len(code)
    while end > start and code[end - 1] in b" \t\r":
        end -= 1
    return end
