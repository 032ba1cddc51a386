"""Which branch of the preprocessor is read, where each of them opens a brace of its own?"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from brimful.patterns import compiled
from brimful.text.masking import Masked

_BRANCH = compiled(rb"\#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(?:[ \t]*(0)[ \t]*\r?(?=\n|\Z))?")
_DEEPEST = 32
_PAIRS = ((b"{", b"}"), (b"(", b")"))


def one_branch(content: bytes, masked: Masked) -> Masked:
    r"""Blank all branches but one of those whose brackets are uneven; what is even is kept as it is.

    >>> from brimful.text.masking import mask
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


def _groups(content: bytes, masked: Masked) -> list[list[int]]:
    """For each group of branches where they begin and where the last one ends; the one of `#if 0` is not the first."""
    opened: list[list[int]] = []
    groups: list[list[int]] = []
    for start, end in zip(*masked.directives, strict=True):
        found = _BRANCH.match(content, start, end)
        if found is None:
            continue
        word = found[1]
        if word.startswith(b"if"):
            opened.append([-1 if found[2] else 1, end])
        elif opened:
            opened[-1].append(start)
            if word != b"endif":
                opened[-1].append(end)
                continue
            group = opened.pop()
            if len(group) > 3 and len(opened) < _DEEPEST:
                groups.append(group)
    return groups


def _surplus(code: bytes, group: list[int]) -> list[tuple[int, int]]:
    """The branches to blank: all but the first (the second after `#if 0`), if any is uneven."""
    order, *edges = group
    branches = list(pairwise(edges))[::2]
    if all(code.count(opener, *span) == code.count(closer, *span) for span in branches for opener, closer in _PAIRS):
        return []
    kept = branches[1] if order < 0 else branches[0]
    return [span for span in branches if span != kept]
