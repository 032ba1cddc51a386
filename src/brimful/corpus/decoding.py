"""Which text do bytes mean that are too many to hold? The rules of `encodings`, block by block.

rule_of(source) -> Rule      the rule that `decode` would choose; one pass for UTF-8, a few for the others
converted(blocks, rule)      the text as UTF-8, in blocks
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from blake3 import blake3

from brimful.corpus.encodings import (
    BEYOND_ASCII,
    INVALID,
    MARKS,
    SNIFF_BYTES,
    TO_ESCAPES,
    high_runs,
    holds_controls,
    is_utf8,
    text_codec,
    zero_pattern,
)

Source = Callable[[], Iterable[bytes]]
"""Called for every pass over the bytes; gives them in blocks."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for a source, how many bytes it holds, and how many of them rule "bytes" has to escape."""

    name: str
    size: int
    escaped: int = 0


def rule_of(source: Source, *, encoding: str | None = None) -> Rule:
    """Apply the rules of `encodings` in their order.

    >>> rule_of(lambda: [b"caf", b"\\xe9"]), rule_of(lambda: [b"caf\\xc3", b"\\xa9"])
    (Rule(name='windows-1252', size=4, escaped=0), Rule(name='utf-8', size=5, escaped=0))
    """
    head, size, is_valid = _first_pass(source())
    named = _named(source, encoding) if encoding is not None else None
    if named is not None:
        return Rule(named, size)
    if head.startswith(codecs.BOM_UTF8) and is_valid:
        return Rule("utf-8-bom", size)
    for mark, name in MARKS:
        if head.startswith(mark) and _fits(_without(source(), len(mark)), name):
            return Rule(f"{name}-bom", size)
    pattern = zero_pattern(head, size)
    if pattern and _fits(source(), pattern):
        return Rule(pattern, size)
    if is_valid:
        return Rule("utf-8", size)
    return _single_bytes(source, size)


def converted(blocks: Iterable[bytes], rule: str) -> Iterator[bytes]:
    """The text that the bytes mean by a rule, as UTF-8.

    >>> b"".join(converted([b"caf", b"\\xe9"], "windows-1252")).decode()
    'café'
    """
    if rule in ("utf-8", "utf-8-bom"):
        yield from blocks
        return
    if rule == "bytes":
        for text in _decoded(blocks, "utf-8", errors="surrogateescape"):
            yield text.translate(TO_ESCAPES).encode()
        return
    name = rule.removesuffix("-bom")
    mark = next((mark for mark, known in MARKS if known == name), b"") if rule.endswith("-bom") else b""
    for text in _decoded(_without(blocks, len(mark)), name):
        yield text.encode()


def _first_pass(blocks: Iterable[bytes]) -> tuple[bytes, int, bool]:
    """The first bytes, the size, and whether all is UTF-8."""
    head, size = b"", 0

    def noted() -> Iterator[bytes]:
        nonlocal head, size
        for block in blocks:
            head += block[: SNIFF_BYTES - len(head)]
            size += len(block)
            yield block

    passing = noted()
    is_valid = is_utf8(passing)
    for _ in passing:
        pass  # the size is wanted, and whether the file holds still
    return head, size, is_valid


def _decoded(blocks: Iterable[bytes], name: str, *, errors: str = "strict") -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(name)(errors)
    for block in blocks:
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def _fits(blocks: Iterable[bytes], name: str) -> bool:
    """Whether the bytes are text in this encoding, and the text is UTF-8 that can be written down."""
    try:
        for text in _decoded(blocks, name):
            text.encode()
    except UnicodeError:
        return False
    return True


def _named(source: Source, encoding: str) -> str | None:
    """The rule for an encoding that the caller names, if it fits and leads back to the same bytes."""
    name = text_codec(encoding)
    if name is None:
        return None
    before, text_hash, back = blake3(), blake3(), blake3()
    encoder = codecs.getincrementalencoder(name)()

    def noted(blocks: Iterable[bytes]) -> Iterator[bytes]:
        for block in blocks:
            before.update(block)
            yield block

    leads_back = True
    try:
        for text in _decoded(noted(source()), name):
            text_hash.update(text.encode())
            leads_back = leads_back and _encoded(encoder, text, back)
        leads_back = leads_back and _encoded(encoder, "", back, final=True)
    except UnicodeError:
        return None
    if text_hash.digest() == before.digest():
        return "utf-8"
    return name if leads_back and back.digest() == before.digest() else None


def _encoded(encoder: codecs.IncrementalEncoder, text: str, hasher: blake3, *, final: bool = False) -> bool:
    """Encode a piece into a hash; False where the encoding does not have its characters."""
    try:
        hasher.update(encoder.encode(text, final))
    except UnicodeEncodeError:
        return False
    return True


def _single_bytes(source: Source, size: int) -> Rule:
    invalid = beyond = 0
    for text in _decoded(source(), "utf-8", errors="surrogateescape"):
        invalid += len(INVALID.findall(text))
        beyond += len(BEYOND_ASCII.findall(text))
    if beyond <= invalid and _is_western(source()) and _fits(source(), "cp1252"):
        return Rule("windows-1252", size)
    return Rule("bytes", size, invalid)


def _is_western(blocks: Iterable[bytes]) -> bool:
    """As in `encodings`: no control bytes, and accents that stand alone."""
    runs = high = 0
    before = b""
    for block in blocks:
        if holds_controls(block):
            return False
        found = high_runs(block)
        joined = bool(found) and block[0] >= 0x80 and before[-1:] >= b"\x80"
        runs += len(found) - joined
        high += sum(map(len, found))
        before = block or before
    return (high - runs) * 4 <= high


def _without(blocks: Iterable[bytes], count: int) -> Iterator[bytes]:
    """Blocks without the first bytes."""
    for block in blocks:
        yield block[count:]
        count -= min(count, len(block))
