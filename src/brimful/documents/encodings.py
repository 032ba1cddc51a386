"""Which text do bytes mean, few or more than can be held?"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from blake3 import blake3

from brimful.native import runs as kernels

# ---- encodings: Which text do these bytes mean?
#
# The first rule that fits decides, and its name is kept with the document; docs/loaders.md lists them in order.
# Nothing is ever replaced: `encode_back` gives the file's bytes again for every rule.

SNIFF_BYTES = 8_192
_BLOCK = 1_048_576
_VERBATIM = ("utf-8", "utf-8-bom")
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS = tuple(mark for mark, _ in MARKS)
_ANY_MARK = (codecs.BOM_UTF8, *_MARKS)
_decoder = codecs.getincrementaldecoder("utf-8")
_CONTROLS = bytes(sorted({*range(32), 127} - set(b"\t\n\v\f\r\b\x1b")))
_SHORTEST_PATTERN = 8  # bytes; two letters with zeros between them prove nothing
_BINARY_SHARE = 10  # one control byte in ten makes a file binary
# Signatures that no text has; formats that begin with plain letters show by their control bytes.
_MAGIC = (
    b"\x89PNG\r\n",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf",
    b"\x28\xb5\x2f\xfd",
    b"\x7fELF",
    b"MZ\x90",
    b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe",
    b"SQLite format 3\0",
    b"\0asm",
    b"%PDF-",
    b"\xd0\xcf\x11\xe0",
    b"\x93NUMPY",
)
# Codecs that stand for a way of writing text down; zlib, punycode and the like do not.
_TEXT_CODECS = re.compile(
    r"ascii|utf-(?:8|8-sig|16|16-le|16-be|32|32-le|32-be)|iso8859-\d+|iso2022_\w+|cp\d+|koi8-\w|gb2312|gbk|gb18030|hz"
    r"|big5|big5hkscs|shift_jis(?:_2004|x0213)?|euc_\w+|johab|mac-\w+|ptcp154|tis-620|kz1048"
)

# Rule "bytes": a byte that is no UTF-8 becomes a private-use character of its own, U+10F880 to U+10F8FF.
# The characters of that range, should a file have them, count as invalid, so that the way back is unique.
_ESCAPE = 0x10F800
_TO_ESCAPES = {0xDC00 + byte: _ESCAPE + byte for byte in range(0x80, 0x100)} | {
    _ESCAPE + byte: "".join(chr(_ESCAPE + part) for part in chr(_ESCAPE + byte).encode()) for byte in range(0x80, 0x100)
}
_FROM_ESCAPES = {_ESCAPE + byte: 0xDC00 + byte for byte in range(0x80, 0x100)}
_HIGH = re.compile(rb"[\x80-\xff]+")
_INVALID = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Decoded:
    """Text as valid UTF-8, the rule that made it, and whether it is the file's own bytes."""

    content: bytes = field(repr=False)
    rule: str
    is_verbatim: bool
    escaped: int = 0  # bytes that rule "bytes" had to escape


def decode(raw: bytes, *, encoding: str | None = None) -> _Decoded:
    """Apply the rules above; every input has a result.

    >>> decode("naïve".encode())
    _Decoded(rule='utf-8', is_verbatim=True, escaped=0)
    >>> decode("naïve".encode("latin-1")).content.decode()
    'naïve'
    """
    if encoding is None and _is_plain(raw):  # what nearly every file is, and rule_of would say
        return _Decoded(raw, "utf-8", True)  # noqa: FBT003
    rule = rule_of(lambda: (raw,), encoding=encoding)
    content = b"".join(converted((raw,), rule.name))
    return _Decoded(content, rule.name, rule.name in _VERBATIM, rule.escaped)


def _is_plain(raw: bytes) -> bool:
    """Whether bytes are UTF-8 without a mark, and no zeros at the beginning could stand for anything else."""
    if raw.startswith(_ANY_MARK) or b"\0" in raw[:SNIFF_BYTES]:
        return False
    return raw.isascii() or kernels.is_utf8(raw)


def encode_back(content: bytes, rule: str) -> bytes:
    """The file's bytes that `decode` turned into `content` by `rule`.

    >>> encode_back(decode(b"caf\\xe9").content, "windows-1252")
    b'caf\\xe9'
    """
    if rule in _VERBATIM:
        return content
    text = content.decode()
    if rule == "bytes":
        return text.translate(_FROM_ESCAPES).encode("utf-8", "surrogateescape")
    name = rule.removesuffix("-bom")
    mark = next((mark for mark, known in MARKS if known == name), b"") if rule.endswith("-bom") else b""
    return mark + text.encode(name)


def is_utf8(blocks: Iterable[bytes]) -> bool:
    """Whether the blocks, taken together, are valid UTF-8; memory stays that of one block.

    >>> is_utf8([b"caf\\xc3", b"\\xa9"])
    True
    """
    return _first_pass(blocks)[2]


def looks_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text: a known signature, or one control byte in ten.

    UTF-16 and UTF-32 are text though they are full of zeros.

    >>> looks_binary(b"\\x89PNG\\r\\n\\x1a\\n"), looks_binary("Tee\\n".encode("utf-16")), looks_binary(b"a\\0b" * 9)
    (True, False, True)
    """
    head = head[:SNIFF_BYTES]
    if head.startswith(_MAGIC):
        return True
    if head.startswith(_MARKS) or _zero_pattern(head, len(head) & ~3):
        return False
    return (len(head) - len(head.translate(None, _CONTROLS))) * _BINARY_SHARE > len(head)


def _text_codec(encoding: str) -> str | None:
    """The name of a codec that stands for text, other than UTF-8 itself.

    >>> _text_codec("latin-1"), _text_codec("rot13"), _text_codec("nonsense")
    ('iso8859-1', None, None)
    """
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return None
    return name if name != "utf-8" and _TEXT_CODECS.fullmatch(name) else None


def _zero_pattern(head: bytes, size: int) -> str | None:
    """UTF-16 or UTF-32 without a mark, by where the zeros of its Latin letters stand in its first bytes."""
    head = head[: min(size, SNIFF_BYTES)]
    if size < _SHORTEST_PATTERN or b"\0" not in head:
        return None
    zeros = [head[place::4].count(0) * 4 / len(head) for place in range(4)]
    if size % 4 == 0:
        if zeros[0] < 0.1 and min(zeros[2:]) > 0.9 and zeros[1] > 0.5:
            return "utf-32-le"
        if zeros[3] < 0.1 and min(zeros[:2]) > 0.9 and zeros[2] > 0.5:
            return "utf-32-be"
    even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    if size % 2 == 0:
        if even < 0.05 and odd > 0.5:
            return "utf-16-le"
        if odd < 0.05 and even > 0.5:
            return "utf-16-be"
    return None


Source = Callable[[], Iterable[bytes]]
"""Called for every pass over the bytes; gives them in blocks."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rule for a source, how many bytes it holds, and how many of them rule "bytes" has to escape."""

    name: str
    size: int
    escaped: int = 0


def rule_of(source: Source, *, encoding: str | None = None) -> _Rule:
    """The first of the rules above that fits: one pass over the bytes for UTF-8, a few for the others.

    >>> rule_of(lambda: [b"caf", b"\\xe9"]), rule_of(lambda: [b"caf\\xc3", b"\\xa9"])
    (_Rule(name='windows-1252', size=4, escaped=0), _Rule(name='utf-8', size=5, escaped=0))
    """
    head, size, is_valid = _first_pass(source())
    named = _named_rule(source, encoding) if encoding is not None else None
    if named is not None:
        return _Rule(named, size)
    if head.startswith(codecs.BOM_UTF8) and is_valid:
        return _Rule("utf-8-bom", size)
    for mark, name in MARKS:
        if head.startswith(mark) and _fits(_without(source(), len(mark)), name):
            return _Rule(f"{name}-bom", size)
    pattern = _zero_pattern(head, size)
    if pattern and _fits(source(), pattern):
        return _Rule(pattern, size)
    if is_valid:
        return _Rule("utf-8", size)
    return _single_byte_rule(source, size)


def converted(blocks: Iterable[bytes], rule: str) -> Iterator[bytes]:
    """The text that the bytes mean by a rule, as UTF-8.

    >>> b"".join(converted([b"caf", b"\\xe9"], "windows-1252")).decode()
    'café'
    """
    if rule in _VERBATIM:
        yield from blocks
        return
    if rule == "bytes":
        for text in _decoded(blocks, "utf-8", errors="surrogateescape"):
            yield text.translate(_TO_ESCAPES).encode()
        return
    name = rule.removesuffix("-bom")
    mark = next((mark for mark, known in MARKS if known == name), b"") if rule.endswith("-bom") else b""
    for text in _decoded(_without(blocks, len(mark)), name):
        yield text.encode()


def _first_pass(blocks: Iterable[bytes]) -> tuple[bytes, int, bool]:
    """The first bytes, the size, and whether all is UTF-8; read to the end, which says whether the file holds still."""
    head, size, is_valid, decoder = b"", 0, True, _decoder()
    for block in blocks:
        head += block[: SNIFF_BYTES - len(head)]
        size += len(block)
        is_valid = is_valid and _is_decoded(decoder, block)
    return head, size, is_valid and _is_decoded(decoder, b"", final=True)


def _is_decoded(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    if block.isascii() and not final and not decoder.getstate()[0]:
        return True
    try:
        for start in range(0, len(block) or 1, _BLOCK):
            decoder.decode(block[start : start + _BLOCK], final)
    except UnicodeDecodeError:
        return False
    return True


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


def _named_rule(source: Source, encoding: str) -> str | None:
    """The rule for an encoding that the caller names, if it fits and leads back to the same bytes."""
    name = _text_codec(encoding)
    if name is None:
        return None
    before, text_hash, back = blake3(), blake3(), blake3()
    encoder = codecs.getincrementalencoder(name)()

    def noted(blocks: Iterable[bytes]) -> Iterator[bytes]:
        for block in blocks:
            before.update(block)
            yield block

    try:
        for text in _decoded(noted(source()), name):
            text_hash.update(text.encode())
            back.update(encoder.encode(text))
        back.update(encoder.encode("", final=True))
    except UnicodeError:
        return None
    if text_hash.digest() == before.digest():
        return "utf-8"
    return name if back.digest() == before.digest() else None


def _single_byte_rule(source: Source, size: int) -> _Rule:
    invalid = beyond = 0
    for text in _decoded(source(), "utf-8", errors="surrogateescape"):
        invalid += len(_INVALID.findall(text))
        beyond += len(_BEYOND_ASCII.findall(text))
    if beyond <= invalid and _is_western(source()) and _fits(source(), "cp1252"):
        return _Rule("windows-1252", size)
    return _Rule("bytes", size, invalid)


def _is_western(blocks: Iterable[bytes]) -> bool:
    """Accents stand alone in western words, without control bytes; Cyrillic, Greek or Chinese bytes come in runs."""
    runs = high = 0
    before = b""
    for block in blocks:
        if len(block) != len(block.translate(None, _CONTROLS)):
            return False
        found = _HIGH.findall(block)
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
