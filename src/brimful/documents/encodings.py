"""Which text do bytes mean, few or more than can be held in memory?

The first rule that fits decides, and its name is kept with the document; docs/loaders.md lists them in order.
Nothing is replaced: `encode_back` gives the file's bytes again for every rule.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from blake3 import blake3

SNIFF_BYTES = 8_192
_BLOCK = 1_048_576
_VERBATIM = ("utf-8", "utf-8-bom")
_MARKS = {
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
_CONTROLS = bytes(sorted({*range(32), 127} - set(b"\t\n\v\f\r\b\x1b")))
_SHORTEST_PATTERN = 8  # bytes; two letters with zeros between them prove nothing
_BINARY_SHARE = 10  # one control byte in ten makes a file binary
_MAGIC = tuple(
    map(
        bytes.fromhex,
        "89504e470d0a ffd8ff 504b0304 504b0506 1f8b fd377a585a00 377abcaf 28b52ffd 7f454c46 4d5a90 cafebabe cffaedfe "
        "53514c69746520666f726d6174203300 0061736d 255044462d d0cf11e0 934e554d5059".split(),
    )
)
"""PNG, JPEG, zip, gzip, xz, 7z, Zstandard, ELF, Windows, Java, Mach-O, SQLite, WebAssembly, PDF, OLE, NumPy."""
# Codecs for text, unlike zlib, punycode and so on.
_TEXT_CODECS = re.compile(
    r"ascii|utf-(?:8|8-sig|16|16-le|16-be|32|32-le|32-be)|iso8859-\d+|iso2022_\w+|cp\d+|koi8-\w|gb2312|gbk|gb18030|hz"
    r"|big5|big5hkscs|shift_jis(?:_2004|x0213)?|euc_\w+|johab|mac-\w+|ptcp154|tis-620|kz1048"
)

# Rule "bytes": a byte that is no UTF-8 becomes a private-use character, U+10F880 to U+10F8FF.
# The characters of that range, should a file have them, count as invalid, so that the way back is unique.
_ESCAPE = 0x10F800
_TO_ESCAPES = {0xDC00 + byte: _ESCAPE + byte for byte in range(0x80, 0x100)} | {
    _ESCAPE + byte: "".join(chr(_ESCAPE + part) for part in chr(_ESCAPE + byte).encode()) for byte in range(0x80, 0x100)
}
_FROM_ESCAPES = {_ESCAPE + byte: 0xDC00 + byte for byte in range(0x80, 0x100)}
_HIGH = re.compile(rb"[\x80-\xff]+")
_INVALID = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")


Source = Callable[[], Iterable[bytes]]
"""Called for every pass over the bytes; gives them in blocks."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The rule for some bytes, their number, and how many of them rule "bytes" escapes."""

    rule: str
    size: int
    escaped: int = 0


def decode(raw: bytes, *, encoding: str | None = None) -> tuple[bytes, Encoding]:
    """Text as UTF-8, and the rule that made it; every input has a result.

    >>> decode("naïve".encode("latin-1"))[0].decode()
    'naïve'
    """
    chosen = encoding_of(lambda: (raw,), encoding=encoding)
    return b"".join(converted((raw,), chosen.rule)), chosen


def is_verbatim(rule: str) -> bool:
    """Whether a rule keeps the file's bytes."""
    return rule in _VERBATIM


def encode_back(content: bytes, rule: str) -> bytes:
    """The file's bytes that `decode` turned into `content` by `rule`.

    >>> encode_back(decode(b"caf\\xe9")[0], "windows-1252")
    b'caf\\xe9'
    """
    if rule in _VERBATIM:
        return content
    text = content.decode()
    if rule == "bytes":
        return text.translate(_FROM_ESCAPES).encode("utf-8", "surrogateescape")
    name = rule.removesuffix("-bom")
    mark = _MARKS[name] if rule.endswith("-bom") else b""
    return mark + text.encode(name)


def looks_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text: a known signature, or one control byte in ten.

    UTF-16 and UTF-32 are text though they are full of zeros.

    >>> looks_binary(b"\\x89PNG\\r\\n\\x1a\\n"), looks_binary("Tee\\n".encode("utf-16")), looks_binary(b"a\\0b" * 9)
    (True, False, True)
    """
    head = head[:SNIFF_BYTES]
    if head.startswith(_MAGIC):
        return True
    if head.startswith(tuple(_MARKS.values())) or _zero_pattern(head, len(head) & ~3):
        return False
    return (len(head) - len(head.translate(None, _CONTROLS))) * _BINARY_SHARE > len(head)


def _text_codec(encoding: str) -> str | None:
    """The name of a codec for text, other than UTF-8.

    >>> _text_codec("latin-1"), _text_codec("rot13"), _text_codec("nonsense")
    ('iso8859-1', None, None)
    """
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return None
    return name if name != "utf-8" and _TEXT_CODECS.fullmatch(name) else None


def _zero_pattern(head: bytes, size: int) -> str | None:
    """UTF-16 or UTF-32 without a mark, by the places of zeros among its first bytes."""
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


def encoding_of(source: Source, *, encoding: str | None = None) -> Encoding:
    """The first of the rules above that fits: one pass over the bytes for UTF-8, a few for the others.

    >>> encoding_of(lambda: [b"caf", b"\\xe9"]), encoding_of(lambda: [b"caf\\xc3", b"\\xa9"])
    (Encoding(rule='windows-1252', size=4, escaped=0), Encoding(rule='utf-8', size=5, escaped=0))
    """
    head, size, is_valid = _first_pass(source())
    named = _named_rule(source, encoding) if encoding is not None else None
    if named is not None:
        return Encoding(named, size)
    if head.startswith(codecs.BOM_UTF8) and is_valid:
        return Encoding("utf-8-bom", size)
    for name, mark in _MARKS.items():
        if head.startswith(mark) and _fits(_without(source(), len(mark)), name):
            return Encoding(f"{name}-bom", size)
    pattern = _zero_pattern(head, size)
    if pattern and _fits(source(), pattern):
        return Encoding(pattern, size)
    if is_valid:
        return Encoding("utf-8", size)
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
    mark = _MARKS[name] if rule.endswith("-bom") else b""
    for text in _decoded(_without(blocks, len(mark)), name):
        yield text.encode()


def _first_pass(blocks: Iterable[bytes]) -> tuple[bytes, int, bool]:
    """The first bytes, the size, and whether all is UTF-8; read to the end, which says whether the file holds still."""
    head, size, is_valid, decoder = b"", 0, True, codecs.getincrementaldecoder("utf-8")()
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
    """The rule for an encoding that the caller names, if it fits and leads back to these bytes."""
    name = _text_codec(encoding)
    if name is None:
        return None
    raw_hash, text_hash, back_hash = blake3(), blake3(), blake3()
    encoder = codecs.getincrementalencoder(name)()

    def hashed(blocks: Iterable[bytes]) -> Iterator[bytes]:
        for block in blocks:
            raw_hash.update(block)
            yield block

    try:
        for text in _decoded(hashed(source()), name):
            text_hash.update(text.encode())
            back_hash.update(encoder.encode(text))
        back_hash.update(encoder.encode("", final=True))
    except UnicodeError:
        return None
    if text_hash.digest() == raw_hash.digest():
        return "utf-8"
    return name if back_hash.digest() == raw_hash.digest() else None


def _single_byte_rule(source: Source, size: int) -> Encoding:
    invalid = beyond = 0
    for text in _decoded(source(), "utf-8", errors="surrogateescape"):
        invalid += len(_INVALID.findall(text))
        beyond += len(_BEYOND_ASCII.findall(text))
    if beyond <= invalid and _is_western(source()) and _fits(source(), "cp1252"):
        return Encoding("windows-1252", size)
    return Encoding("bytes", size, invalid)


def _is_western(blocks: Iterable[bytes]) -> bool:
    """Accents stand alone in western words, without control bytes; Cyrillic, Greek or Chinese bytes come in runs."""
    runs = high = 0
    last = b""
    for block in blocks:
        if len(block) != len(block.translate(None, _CONTROLS)):
            return False
        in_block = _HIGH.findall(block)
        is_joined = bool(in_block) and block[0] >= 0x80 and last[-1:] >= b"\x80"
        runs += len(in_block) - is_joined
        high += sum(map(len, in_block))
        last = block or last
    return (high - runs) * 4 <= high


def _without(blocks: Iterable[bytes], count: int) -> Iterator[bytes]:
    """Blocks without the first bytes."""
    for block in blocks:
        yield block[count:]
        count -= min(count, len(block))
