"""Which lines look like code? By patterns, to compare with."""

import re

_CODE_SIGNS = (b";", b"{", b"}")
_CODE_ENDS = (b":", b"then", b"do", b"begin")
_CODE_END = re.compile(rb"(?:.*\)\s*(?:->[^:]+)?:|.*\b(?:then|do|begin))$")
_CODE_WORD = re.compile(
    rb"\s*(?:import|from|def|class|function|func|fn|package|using|#include|#define|use|const|let|var|return"
    rb"|public|private|static|if|elif|else|end|for|while|try|except)\b"
)


def is_code(line: bytes) -> bool:
    """Does a line end as statements do, or begin with a word of theirs?"""
    words = line[:300].rstrip(b" \t\r")
    if words.endswith(_CODE_SIGNS):
        return True
    if words.endswith(_CODE_ENDS) and _CODE_END.match(words):
        return True
    return _CODE_WORD.match(line, 0, 300) is not None
