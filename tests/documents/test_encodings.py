"""Which text do these bytes mean?"""

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.documents.encodings import decode, encode_back, encoding_of, is_verbatim, looks_binary

TEXT = "Zürich – naïve café, déjà vu.\r\n" * 3


@given(st.binary(max_size=200))
@example(b"\xf4\x8f\xa2\x80 \xff")
@example(codecs.BOM_UTF16_LE + b"\x00\xd8")
@example("Größe".encode() + b"\xff")
def test_every_input_has_a_reading_that_leads_back(raw: bytes) -> None:
    """Any bytes become valid UTF-8 by a named rule, verbatim if and only if they are the same, and lead back."""
    content, encoding = decode(raw)
    content.decode()
    assert is_verbatim(encoding.rule) == (content == raw)
    assert encode_back(content, encoding.rule) == raw


@given(st.text(max_size=100))
def test_valid_utf8_is_kept_byte_for_byte(text: str) -> None:
    """Text in UTF-8 stays the file's own bytes, unless its zeros make it UTF-16 or it begins with a mark."""
    raw = text.encode()
    content, _ = decode(raw)
    assert content == raw or b"\0" in raw
    assert content != raw or is_verbatim(encoding_of(lambda: [raw[:3], raw[3:]]).rule)


@pytest.mark.parametrize(
    ("raw", "rule", "text"),
    [
        (TEXT.encode(), "utf-8", TEXT),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8-bom", "\ufeff" + TEXT),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le-bom", TEXT),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be-bom", TEXT),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "utf-32-le-bom", TEXT),
        (codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), "utf-32-be-bom", TEXT),
        (TEXT.encode("utf-16-le"), "utf-16-le", TEXT),
        (TEXT.encode("utf-16-be"), "utf-16-be", TEXT),
        (TEXT.encode("utf-32-le"), "utf-32-le", TEXT),
        (TEXT.encode("utf-32-be"), "utf-32-be", TEXT),
        (TEXT.encode("cp1252"), "windows-1252", TEXT),
        ("caf\xe9".encode("latin-1"), "windows-1252", "café"),
        (b"one\r\ntwo\0three\r\n", "utf-8", "one\r\ntwo\0three\r\n"),
        (b"", "utf-8", ""),
    ],
)
def test_each_encoding_has_its_rule(raw: bytes, rule: str, text: str) -> None:
    """Every encoding the corpus knows is told apart and named; CRLF, NUL and the UTF-8 mark are kept."""
    content, encoding = decode(raw)
    assert (encoding.rule, content.decode()) == (rule, text)
    assert encode_back(content, rule) == raw


def test_one_bad_byte_does_not_spoil_a_utf8_text() -> None:
    """Damaged UTF-8 stays readable: only the bad byte is escaped, and counted."""
    raw = "Die Größe der Übung".encode() + b"\xff" + " überrascht".encode()
    content, encoding = decode(raw)
    assert (encoding.rule, encoding.escaped) == ("bytes", 1)
    assert content.decode() == "Die Größe der Übung\U0010f8ff überrascht"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("koi8-r", "Съешь ещё этих мягких булок"), ("gbk", "我能吞下玻璃而不伤身体"), ("shift_jis", "いろはにほへと")],
)
def test_other_encodings_are_not_taken_for_windows_1252(encoding: str, text: str) -> None:
    """Cyrillic, Chinese and Japanese bytes come in runs, so they are escaped rather than misread; a name settles it."""
    raw = text.encode(encoding)
    assert decode(raw)[1].rule == "bytes"
    content, named = decode(raw, encoding=encoding)
    assert content.decode() == text
    assert encode_back(content, named.rule) == raw


@pytest.mark.parametrize("name", ["zlib", "punycode", "rot13", "unicode_escape", "idna", "no-such", "utf-7", "a\0b"])
def test_only_encodings_of_text_can_be_named(name: str) -> None:
    """A name that is no plain text encoding is passed over."""
    assert decode(b"plain", encoding=name)[1].rule == "utf-8"


def test_binary_files_are_known_by_signature_or_control_bytes() -> None:
    """Pictures, archives and programs are binary; text with a stray NUL, in UTF-16, or with colour codes is not."""
    assert looks_binary(b"\x7fELF\x02\x01")
    assert looks_binary(bytes(range(32)) * 8)
    assert not looks_binary(b"a line with \0 in it, and quite some more text\n")
    assert not looks_binary(TEXT.encode("utf-16"))
    assert not looks_binary(TEXT.encode("utf-32-le"))
    assert not looks_binary(b"\x1b[31mred\x1b[0m\n")
    assert not looks_binary(b"")
