"""Which bytes of a source are code, which branch of it is read, and which bracket closes which?"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from brimful.native.sources import (
    BLOCK,
    CHARACTERS,
    DIRECTIVE,
    LINE,
    QUOTED,
    RAW,
    REST,
    SHORT,
    TRIPLE,
    mask_source,
    pair_brackets,
)

# ---- masking: Which bytes of a source are code, and which are strings and comments?
#
# One pattern a language jumps from token to token; NumPy then writes the mask. Where a kernel knows every piece of a
# language, it does both. Strings that must end on their line do so even if nothing closes them; what may go on over
# lines and is never closed reaches to the end. Every pattern is possessive, so the work grows with the text and with
# nothing else.

_STRING, _BLANK, _DIRECTIVE = 34, 32, 35


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    r"""A source with its strings written as quotation marks and its comments as blanks, byte for byte.

    Line ends inside of both are gone too, so that a line of `code` is never the middle of a string.
    """

    code: bytes
    starts: NDArray[np.int64]  # of the tokens
    ends: NDArray[np.int64]
    kinds: NDArray[np.uint8]

    @property
    def comments(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The starts and ends of comments."""
        chosen = self.kinds == _BLANK
        return self.starts[chosen], self.ends[chosen]

    @property
    def strings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The starts and ends of strings."""
        chosen = self.kinds == _STRING
        return self.starts[chosen], self.ends[chosen]

    @property
    def directives(self) -> tuple[list[int], list[int]]:
        """The starts and ends of preprocessor lines."""
        chosen = self.kinds == _DIRECTIVE
        return self.starts[chosen].tolist(), self.ends[chosen].tolist()


# Pieces of patterns. Every alternative begins with a plain byte, so that the engine can jump to it: a pattern
# that looks back checks what precedes it, and an empty group at its end names the token.
_LINE = rb"//[^\n]*+"
_HASH = rb"\#[^\n]*+"
_BLOCK = rb"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
_DOUBLE = rb'"(?:[^"\\\n]++|\\.)*+"?'
_SINGLE = rb"'(?:[^'\\\n]++|\\.)*+'?"
_DOUBLE_LONG = rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)'
_SINGLE_LONG = rb"'(?:[^'\\]++|\\.)*+(?:'|\Z)"
_TRIPLE = rb'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)'
_TRIPLE_RAW = rb'"""(?:[^"]++|"(?!""(?!")))*+(?:"""|\Z)'
_TRIPLE_SINGLE = rb"'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\Z)"
_CHARACTER = rb"'(?:\\[^\n][^'\n]{0,10}+|[^'\\\n][\x80-\xbf]{0,3}+)'"  # exactly one: elsewhere ' means other things
_CHARACTERS = rb"'(?<![0-9A-Fa-f]')(?:[^'\\\n]++|\\.)*+'?"  # but not the 1'000 of C++
_PREPROCESSOR = rb"\#(?:[^\n\\/]++|\\\r?.|" + _BLOCK + rb"|/(?!\*))*+"
_DOLLAR = rb'"(?:[^"\\\n$]++|\\.|\$\{(?:[^{}"\n]++|"[^"\n]*+"|\{[^{}\n]*+\})*+\}|\$)*+"?'
_SWIFT = rb'"(?:[^"\\\n]++|\\\((?:[^()"\n]++|"[^"\n]*+"|\((?:[^()"\n]++|"[^"\n]*+"|\([^()\n]*+\))*+\))*+\)|\\.)*+"?'
_HASHED = rb'"(?:[^"\\\n#]++|\\.|\#\{(?:[^{}"\n]++|"[^"\n]*+"|\{[^{}\n]*+\})*+\}|\#)*+"?'
_HERE = rb"<<[-~]?(?P<quote>[\"'`]?)(?P<here>[A-Za-z_]\w{0,60}+)(?P=quote)(?P<rest>[^\n]{0,400}+)\n"
_HERE_PHP = (
    rb"<<<[ \t]*+[\"']?(?P<here>\w+)[\"']?\r?\n"
    rb"(?:[^\n]*+\n(?![ \t]*+(?P=here)\b))*+[^\n]*+(?:\n[ \t]*+(?P=here)|\Z)"
)
_RAW_CPP = rb'"(?<=R")(?P<raw>[^()\\\s"]{0,16})\((?:[^)]++|\)(?!(?P=raw)"))*+(?:\)(?P=raw)"|\Z)'
_RAW_RUST = rb'"(?<=r")[^"]*+(?:"|\Z)' + b"".join(
    rb'|"(?<=r%b")(?:[^"]++|"(?!%b))*+(?:"%b|\Z)' % (mark, mark, mark) for mark in (rb"\#" * 3, rb"\#" * 2, rb"\#")
)
_VERBATIM = rb'"(?:(?<=@")|(?<=@\$"))(?:[^"]++|"")*+(?:"|\Z)'
_NESTED_BLOCK = rb"/\*(?P<nested>)"
_SLASH = rb"/(?P<slash>)"
_LUA = rb"--\[(?P<level>=*)\[(?:[^\]]++|\](?!(?P=level)\]))*+(?:\](?P=level)\]|\Z)|--[^\n]*+"
_LUA_LONG = rb"\[(?P<equals>=*)\[(?:[^\]]++|\](?!(?P=equals)\]))*+(?:\](?P=equals)\]|\Z)"
_LISP_CHARACTER = rb"\#\\.|\\."

_BACKQUOTED = rb"`[^`]*+(?:`|\Z)"

_C = (_LINE, _BLOCK, _DOUBLE, _CHARACTERS, _PREPROCESSOR)
_JAVASCRIPT = (_LINE, _BLOCK, _DOUBLE, _SINGLE, rb"`(?:[^`\\$]++|\\.|\$(?!\{))*+(?:`|(?P<template>\$\{))", _SLASH)
_PATTERNS: dict[str, tuple[bytes, ...]] = {
    "python": (_HASH, _TRIPLE, _TRIPLE_SINGLE, _DOUBLE, _SINGLE),
    "c": _C,
    "cpp": (_LINE, _BLOCK, _RAW_CPP, _DOUBLE, _CHARACTERS, _PREPROCESSOR),
    "java": (_LINE, _BLOCK, _TRIPLE, _DOUBLE, _SINGLE),
    "csharp": (_LINE, _BLOCK, _TRIPLE_RAW, _VERBATIM, _DOUBLE, _SINGLE, _PREPROCESSOR),
    "kotlin": (_LINE, _NESTED_BLOCK, _TRIPLE_RAW, _DOLLAR, _SINGLE),
    "scala": (_LINE, _NESTED_BLOCK, _TRIPLE_RAW, _DOLLAR, _CHARACTER),
    "swift": (_LINE, _NESTED_BLOCK, _TRIPLE, _SWIFT, rb"\#(?:if|else|elseif|endif|warning|error)[^\n]*+"),
    "dart": (
        _LINE, _NESTED_BLOCK, _TRIPLE, _TRIPLE_SINGLE, _DOLLAR,
        rb"'(?:[^'\\\n$]++|\\.|\$\{(?:[^{}'\n]++|'[^'\n]*+'|\{[^{}\n]*+\})*+\}|\$)*+'?",
    ),
    "php": (
        _LINE, _BLOCK, rb"\#(?!\[)[^\n]*+", _DOUBLE_LONG, _SINGLE_LONG,
        _HERE_PHP,
    ),
    "javascript": _JAVASCRIPT,
    "go": (_LINE, _BLOCK, _DOUBLE, _SINGLE, _BACKQUOTED),
    "rust": (_LINE, _NESTED_BLOCK, _RAW_RUST, _DOUBLE_LONG, _CHARACTER),
    "ruby": (
        rb"=begin(?<=\n=begin)\b(?:[^\n]*+\n(?!=end))*+[^\n]*+(?:\n=end|\Z)", _HASH, _HASHED, _SINGLE, _SLASH,
        _HERE + rb"(?P<ruby>)", rb"%[wWiIqQr]?[\[({<|!](?P<percent>)",
    ),
    "lua": (_LUA, _LUA_LONG, _DOUBLE, _SINGLE),
    "elixir": (_HASH, _TRIPLE, _TRIPLE_SINGLE, _HASHED, _SINGLE, rb"\?\\?[^\s\w]"),
    "julia": (rb"\#=(?P<julia>)", _HASH, _TRIPLE, _DOUBLE_LONG, _CHARACTER),
    "bash": (
        rb"\#(?<![^\s;&|()]\#)[^\n]*+", rb"\\.", _DOUBLE_LONG, rb"'[^']*+(?:'|\Z)", _HERE + rb"(?P<shell>)",
    ),
    "sql": (rb"--[^\n]*+", _BLOCK, rb"'(?:[^']++|'')*+(?:'|\Z)",
            rb"\$(?P<tag>[A-Za-z_]?\w*)\$(?:[^$]++|\$(?!(?P=tag)\$))*+(?:\$(?P=tag)\$|\Z)"),
    "haskell": (rb"-(?<!--)-++(?![!#$%&*+./<=>?@^|~])[^\n]*+", rb"\{-(?P<haskell>)", _DOUBLE, _CHARACTER),
    "ocaml": (rb"\(\*(?!\))(?P<ocaml>)", _DOUBLE_LONG, _CHARACTER,
              rb"\{(?P<quoted>[a-z_]*)\|(?:[^|]++|\|(?!(?P=quoted)\}))*+(?:\|(?P=quoted)\}|\Z)"),
    "lisp": (rb";[^\n]*+", rb"\#\|(?P<lisp>)", _LISP_CHARACTER, _DOUBLE_LONG),
    "elisp": (rb";[^\n]*+", rb"\\.", rb"\?(?<=[\s(\[',]\?)[()\[\]\";{}]", _DOUBLE_LONG),
    "hash": (_HASH,),
    "toml": (_HASH, _TRIPLE, _TRIPLE_SINGLE, _DOUBLE, rb"'[^'\n]*+'?"),
    "ini": (rb"[#;](?<=\n.)[^\n]*+",),
    "hcl": (_LINE, _HASH, _BLOCK, _DOLLAR, _HERE + rb"(?P<shell>)"),
}  # fmt: skip
_ALIASES = {
    "typescript": "javascript", "tsx": "javascript", "objc": "cpp", "cuda": "cpp", "proto": "java", "groovy": "kotlin",
    "terraform": "hcl", "ocaml_interface": "ocaml", "make": "hash", "dockerfile": "hash", "yaml": "hash",
    "clojure": "lisp", "commonlisp": "lisp", "scheme": "lisp", "racket": "lisp", "fish": "bash",
}  # fmt: skip
# The pieces that a kernel reads too, by first byte. The kernel orders pieces with equal first bytes.
_COMPILED = {
    _LINE: (47, LINE), _BLOCK: (47, BLOCK), _RAW_CPP: (34, RAW), _TRIPLE: (34, TRIPLE), _TRIPLE_SINGLE: (39, TRIPLE),
    _CHARACTERS: (39, CHARACTERS), _DOUBLE: (34, SHORT), _SINGLE: (39, SHORT), _HASH: (35, REST),
    _PREPROCESSOR: (35, DIRECTIVE), _BACKQUOTED: (96, QUOTED),
}  # fmt: skip
# What opens and closes again inside comments that nest.
_NESTING = {
    "nested": re.compile(rb"/\*|\*/"),
    "julia": re.compile(rb"\#=|=\#"),
    "haskell": re.compile(rb"\{-|-\}"),
    "ocaml": re.compile(rb"\(\*|\*\)"),
    "lisp": re.compile(rb"\#\||\|\#"),
}
_OPENS = frozenset((b"/*", b"#=", b"{-", b"(*", b"#|"))
_REGEX = re.compile(rb"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,100}+\]){1,400}+/")
_BEFORE_REGEX = re.compile(
    rb"(?:[=(,:;!&|?{}\[\n>+~^%*-]|\b(?:return|typeof|case|in|of|do|else|when|if|and|or|unless|not))\Z"
)
_TEMPLATE = re.compile(rb"`|\$\{|[{}]|\\.|\"(?:[^\"\\\n]++|\\.)*+\"?|'(?:[^'\\\n]++|\\.)*+'?|//[^\n]*+|/\*", re.DOTALL)
_TEMPLATE_TEXT = re.compile(rb"(?:[^`\\$]++|\\.|\$(?!\{))*+(?:`|\$\{|\Z)", re.DOTALL)
_LONGEST_LIST = 4_000  # bytes of a `%w[…]` of Ruby
_CLOSERS = {b"[": b"]", b"(": b")", b"{": b"}", b"<": b">"}


@lru_cache(maxsize=64)
def _pattern(language: str) -> re.Pattern[bytes] | None:
    pieces = _PATTERNS.get(_ALIASES.get(language, language))
    return re.compile(b"|".join(pieces), re.DOTALL) if pieces is not None else None


def is_known(language: str | None) -> bool:
    """Are the strings and comments of a language known?"""
    return language is not None and _pattern(language) is not None


def mask(content: bytes, language: str) -> Masked:
    r"""Tell code from strings and comments; of an unknown language everything is code.

    >>> mask(b"f('{}') # (", "python").code.replace(b'"', b"?")
    b'f(????)    '
    """
    readers = _readers(language)
    if readers is not None and (masked := mask_source(content, readers, _table_of_kinds(language))) is not None:
        return Masked(*masked)
    return _masked_by_pattern(content, language)


def _masked_by_pattern(content: bytes, language: str) -> Masked:
    pattern = _pattern(language)
    spans: list[int] = []
    if pattern is not None:
        _read_tokens(content, pattern, spans)
    edges = np.array(spans, np.int64)
    starts, ends = edges[0::2], edges[1::2]
    codes = np.frombuffer(content, np.uint8)
    kinds = _kinds_of(codes, starts, language)
    if not len(starts):
        return Masked(content, starts, ends, kinds)
    fills = np.zeros(2 * len(starts) + 1, np.uint8)
    fills[1::2] = np.where(kinds == _DIRECTIVE, _BLANK, kinds)
    lengths = np.diff(np.concatenate(([0], edges, [len(content)])))
    fill = np.repeat(fills, lengths)
    return Masked(np.where(fill > 0, fill, codes).tobytes(), starts, ends, kinds)


@lru_cache(maxsize=64)
def _readers(language: str) -> NDArray[np.uint16] | None:
    """The kernel's readers by first byte; None for a language with a piece that the kernel lacks."""
    pieces = _PATTERNS.get(_ALIASES.get(language, language))
    if pieces is None or not all(piece in _COMPILED for piece in pieces):
        return None
    readers = np.zeros(256, np.uint16)
    for piece in pieces:
        first, reader = _COMPILED[piece]
        readers[first] |= reader
    return readers


@lru_cache(maxsize=64)
def _table_of_kinds(language: str) -> NDArray[np.uint8]:
    """The kind of a token by its first byte."""
    table = np.full(256, _STRING, np.uint8)
    family = _ALIASES.get(language, language)
    comments = {
        "lisp": b";#",
        "elisp": b";",
        "ini": b"#;",
        "sql": b"-/",
        "haskell": b"-{",
        "ocaml": b"(",
        "lua": b"-",
        "ruby": b"#=",
    }
    for code in comments.get(family, b"/#"):
        table[code] = _BLANK
    if family in ("c", "cpp", "csharp", "swift"):
        table[35] = _DIRECTIVE
    return table


def _kinds_of(codes: NDArray[np.uint8], starts: NDArray[np.int64], language: str) -> NDArray[np.uint8]:
    """The kind of each token by its first bytes."""
    table, family = _table_of_kinds(language), _ALIASES.get(language, language)
    kinds: NDArray[np.uint8] = table[codes[starts]] if len(starts) else np.zeros(0, np.uint8)
    if family in ("javascript", "ruby") and len(starts):  # a slash begins comments here, and regular expressions
        slashes = np.flatnonzero(codes[starts] == 47)
        following = codes[np.minimum(starts[slashes] + 1, len(codes) - 1)]
        kinds[slashes[(following != 47) & (following != 42)]] = _STRING
    return kinds


def _read_tokens(content: bytes, pattern: re.Pattern[bytes], spans: list[int]) -> None:
    """Append the start and end of every string and comment."""
    if _SPECIAL.keys().isdisjoint(pattern.groupindex):
        spans += chain.from_iterable(map(re.Match.span, pattern.finditer(content)))
        return
    position: int | None = 0
    while position is not None:
        position = _read_until_special(content, pattern, spans, position)


def _read_until_special(content: bytes, pattern: re.Pattern[bytes], spans: list[int], position: int) -> int | None:
    for token in pattern.finditer(content, position):
        kind = token.lastgroup
        if kind is None or kind not in _SPECIAL:
            spans += token.span()
            continue
        end = _SPECIAL[kind](content, token)
        if end:
            spans += (token.start(), end)
        if end != token.end():
            return end or token.start() + 1
    return None


def _nested_end(content: bytes, token: re.Match[bytes]) -> int:
    depth = 0
    for sign in _NESTING[token.lastgroup or ""].finditer(content, token.start()):
        depth += 1 if sign[0] in _OPENS else -1
        if not depth:
            return sign.end()
    return len(content)


def _slash_end(content: bytes, token: re.Match[bytes]) -> int:
    """The end of a regular expression; 0 if the slash divides."""
    start = token.start()
    words = content[max(start - 40, 0) : start].rstrip(b" \t")
    if start and words and not _BEFORE_REGEX.search(words):
        return 0
    literal = _REGEX.match(content, start)
    return literal.end() if literal is not None else 0


def _template_end(content: bytes, token: re.Match[bytes]) -> int:
    """The end of a template whose code may hold nested templates."""
    depths = [0]  # of braces in each piece of code
    position = token.end()
    while depths:
        sign = _TEMPLATE.search(content, position)
        if sign is None:
            return len(content)
        position, word = sign.end(), sign[0]
        if word == b"{" or word == b"${":
            depths[-1] += 1
        elif word == b"`" or (word == b"}" and not depths[-1]):
            if word == b"}":
                depths.pop()
            text = _TEMPLATE_TEXT.match(content, position)
            assert text is not None
            position = text.end()
            if text[0].endswith(b"${"):
                depths.append(0)
        elif word == b"}":
            depths[-1] -= 1
        elif word == b"/*":
            close = content.find(b"*/", position)
            position = close + 2 if close >= 0 else len(content)
    return position


def _here_end(content: bytes, token: re.Match[bytes]) -> int:
    """The end of a here document: the line that holds only its name."""
    if token["rest"] and b"<<" in token["rest"]:
        return 0  # several at once: say nothing
    name = token["here"]
    if token.group(0)[2:3] not in b"-~\"'`" and token.lastgroup == "ruby" and not name.isupper():
        return 0  # Ruby also appends with this sign
    ends = _lone_names(content).get(name, [])
    after = bisect_right(ends, token.end())
    return ends[after] if after < len(ends) else 0


_LONE_NAME = re.compile(rb"\n[ \t]*+([A-Za-z_]\w{0,60}+)[ \t]*+\r?(?=\n|\Z)")


@lru_cache(maxsize=1)
def _lone_names(content: bytes) -> dict[bytes, list[int]]:
    """The ends of lines that hold one name and nothing else, by name."""
    ends: dict[bytes, list[int]] = {}
    for line in _LONE_NAME.finditer(content):
        ends.setdefault(line[1], []).append(line.end())
    return ends


def _percent_end(content: bytes, token: re.Match[bytes]) -> int:
    """The end of `%w[a b]` and similar literals, on one line."""
    start, sign = token.start(), token[0][-1:]
    previous = content[start - 1 : start] if start else b" "
    if content[max(start - 4, 0) : start] == b"def ":
        return 0
    if len(token[0]) == 2 and (previous.isalnum() or previous in b")]_ ") and sign != b"(":
        return 0
    reach = start + _LONGEST_LIST
    if len(token[0]) == 2:
        line = content.find(b"\n", start, reach)
        reach = line if line >= 0 else reach
    close = content.find(_CLOSERS.get(sign, sign), token.end(), reach)
    return close + 1 if close >= 0 else 0


_SPECIAL: dict[str, Callable[[bytes, re.Match[bytes]], int]] = {
    **dict.fromkeys(_NESTING, _nested_end),
    "slash": _slash_end,
    "template": _template_end,
    "ruby": _here_end,
    "shell": _here_end,
    "percent": _percent_end,
}


# ---- preprocessor: Which branch of the preprocessor is read, where each branch opens a brace?

_DEEPEST = 32


def one_branch(content: bytes, masked: Masked) -> Masked:
    r"""Blank all branches but one of those whose brackets are uneven; what is even is kept as it is.

    >>> from brimful.outline.masking import mask
    >>> code = b"#if A\nint f() {\n#else\nint g() {\n#endif\n}\n"
    >>> one_branch(code, mask(code, "c")).code.split()
    [b'int', b'f()', b'{', b'}']
    """
    blanked = [span for group in _groups(content, masked) for span in _surplus(masked.code, group)]
    if not blanked:
        return masked
    code = bytearray(masked.code)
    for start, end in blanked:
        code[start:end] = b" " * (end - start)
    return replace(masked, code=bytes(code))


_BRANCH = re.compile(rb"\#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(?:[ \t]*(0)[ \t]*\r?(?=\n|\Z))?")
_SHAPES = ((b"{", b"}"), (b"(", b")"))


def _groups(content: bytes, masked: Masked) -> Iterator[tuple[list[int], int]]:
    """Of each group of branches where each begins and ends, one after the other, and which one is read.

    That is the first, after `#if 0` the second. Groups in too many others are all read.
    """
    opened: list[tuple[list[int], int]] = []
    for start, end in zip(*masked.directives, strict=True):
        branch = _BRANCH.match(content, start, end)
        if branch is None:
            continue
        if branch[1].startswith(b"if"):
            opened.append(([end], 1 if branch[2] else 0))
        elif opened:
            opened[-1][0].append(start)
            if branch[1] != b"endif":
                opened[-1][0].append(end)
            elif len((group := opened.pop())[0]) > 2 and len(opened) < _DEEPEST:
                yield group


def _surplus(code: bytes, group: tuple[list[int], int]) -> list[tuple[int, int]]:
    """All branches of a group but the one that is read, if the brackets of any are uneven."""
    edges, kept = group
    branches = list(zip(edges[::2], edges[1::2], strict=True))
    if all(code.count(opener, *span) == code.count(closer, *span) for span in branches for opener, closer in _SHAPES):
        return []
    return [span for number, span in enumerate(branches) if number != kept]


# ---- brackets: Which bracket closes which, and how far is each line of a source indented?

_TAB_WIDTH = 8
_TURN = bytes(1 if code in b"([{" else 255 if code in b")]}" else 0 for code in range(256))  # as signed bytes


class Brackets:
    """The brackets of a masked source, round, square and curly alike.

    A closer closes the last opener that is open, whatever its shape: in a source that is in order this is the
    bracket of its kind; in one that is not, no pairing is certain.

    >>> pairs = Brackets(b"f(a[1]) { g(); }")
    >>> pairs.close_of(1), pairs.close_of(8), pairs.close_of(0)
    (6, 15, None)
    """

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._length = len(code)

    @cached_property
    def turns(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """The places of brackets, the depth before each and after the last, and the close of each opener."""
        return pair_brackets(self._code, _TURN)

    @cached_property
    def _pairs(self) -> tuple[list[int], list[int], list[int]]:
        """The openers, the close of each (or -1), and the depth of each."""
        places, depths, closes = self.turns
        opening = np.flatnonzero(depths[1:] > depths[:-1])
        return places[opening].tolist(), closes[opening].tolist(), depths[opening + 1].tolist()

    @cached_property
    def _by_close(self) -> dict[int, int]:
        openers, closes, _ = self._pairs
        return dict(zip(closes, openers, strict=True))

    @cached_property
    def _by_depth(self) -> dict[int, list[int]]:
        openers_of: dict[int, list[int]] = {}
        openers, _, levels = self._pairs
        for place, level in zip(openers, levels, strict=True):
            openers_of.setdefault(level, []).append(place)
        return openers_of

    def close_of(self, opener: int) -> int | None:
        """The close of the bracket that opens here, or None."""
        openers, closes, _ = self._pairs
        row = bisect_left(openers, opener)
        if row == len(openers) or openers[row] != opener or closes[row] < 0:
            return None
        return closes[row]

    def open_of(self, closer: int) -> int | None:
        """The opener of the bracket that closes here, or None."""
        return self._by_close.get(closer)

    def after(self, opener: int) -> int:
        """The end of the bracket that closes this one; the end of the source if none does."""
        close = self.close_of(opener)
        return self._length if close is None else close + 1

    def around(self, position: int) -> int | None:
        """The innermost bracket that is open before a byte."""
        places, depths, _ = self.turns
        opened = self._by_depth.get(int(depths[places.searchsorted(position)]), [])
        row = bisect_left(opened, position) - 1
        return opened[row] if row >= 0 else None

    def depths_at(self, positions: NDArray[np.int64]) -> NDArray[np.int32]:
        """How many brackets are open before each of these bytes."""
        places, depths, _ = self.turns
        return depths[places.searchsorted(positions)]


_INDENT = re.compile(rb"\n([ \t]*+)(?=\S)")


class Indentation:
    """The lines of a masked source that have words and lie outside brackets, each with its column.

    Without brackets all lines count. Lines that begin with what is `passing` (a pattern) are left out.

    >>> code = b"if a:\\n  b(\\n1)\\n\\n  c\\nd"
    >>> lines = Indentation(code, Brackets(code))
    >>> lines.starts, lines.columns
    ([0, 6, 15, 19], [0, 2, 2, 0])
    """

    def __init__(self, code: bytes, brackets: Brackets | None, passing: bytes = b"") -> None:
        spans = [line.span(1) for line in _INDENT.finditer(b"\n" + code)]
        starts, firsts = np.array(spans, np.int64).reshape(-1, 2).T - 1
        if passing:
            passed = re.compile(passing).match
            is_kept = np.array([passed(code, first) is None for first in firsts.tolist()], np.bool_)
            starts, firsts = starts[is_kept], firsts[is_kept]
        columns = indents = firsts - starts
        if b"\t" in code:
            tabs = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.frombuffer(code, np.uint8) == 9)))
            columns = indents + (_TAB_WIDTH - 1) * (tabs[firsts] - tabs[starts])
        if brackets is not None:
            level = brackets.depths_at(starts) <= 0
            starts, indents, columns = starts[level], indents[level], columns[level]
        self.starts: list[int] = starts.tolist()
        self.indents: list[int] = indents.tolist()
        self.columns: list[int] = columns.tolist()
        self._code = code
        self._ends: dict[int, int] = {}

    def line_of(self, position: int) -> int:
        """The number of the line that holds a byte."""
        return max(bisect_right(self.starts, position) - 1, 0)

    def end_of(self, line: int, stop: int) -> int:
        """The end of a line's words and of the bracketed lines below it; the next line begins at `stop`."""
        if line not in self._ends:
            start = self.starts[line] if line < len(self.starts) else stop
            self._ends[line] = start + len(self._code[start:stop].rstrip())
        return self._ends[line]
