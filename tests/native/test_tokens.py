"""The kernel that counts tokens, against the tokenizer whose vocabulary it reads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.native import tokens as kernels
from brimful.text import bpe, token_tables

VOCABULARIES = sorted(token_tables.CASED)
FRAGMENTS = (
    *(
        "'s",
        "'LL",
        "'re",
        "'",
        "’s",
        " I",
        " the",
        "The",
        "HTTPServer",
        "naïve",
        "ÀÉ",
        "ß",
        "中文",
        "かな",
        "ไทย",
        "한국",
    ),
    *(" ", "  ", "\n", "\r\n", "\n\n ", "\t", "\u00a0", "\u2003", "\u3000", "\u2028", "\x85", "\x1c", "\0"),
    *("1", "12", "12345", "٣", "²", "Ⅷ", ".", "...", "/", "//\n", "=====", "_", "\u0301", "e\u0301", "ʰ", "ǅ"),
    *("\u200d",),
    *("😀", "👍🏽", "\ufe0f", "\ue000", "\U000e0fff", "\U0001fae9", "<|endoftext|>", "\u017f", "a" * 40),
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables of all vocabularies that have one, and what the tokenizer counts."""
    folder = tmp_path_factory.mktemp("tables")
    found = {}
    for name in VOCABULARIES:
        path = folder / name
        token_tables.write(path, bpe.tokenizer_of(name))
        table = token_tables.read(path, is_cased=token_tables.CASED[name])
        assert table is not None
        found[name] = (table, bpe._by_tokenizer(name))
    return found


@pytest.mark.parametrize("name", VOCABULARIES)
@given(text=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=16).map("".join))
def test_counts_are_those_of_the_tokenizer(tables, name, text):
    """Words, contractions, marks, white space of all sorts, digits of all scripts, characters that are not assigned."""
    table, count = tables[name]
    assert table.count(text.encode()) in (None, count(text))


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_character_is_of_the_kind_that_the_tokenizer_takes_it_for(tables, name):
    """Between letters, behind a blank, before digits: one in seven of the characters, and all up to U+0800."""
    table, count = tables[name]
    untold = 0
    for code in (*range(0x800), *range(0x800, 0xD800, 7), *range(0xE000, 0x32000, 7)):
        text = f"ab{chr(code)}cd {chr(code)}X1{chr(code)}\n{chr(code)}AB{chr(code)}{chr(code)}ing"
        told = table.count(text.encode())
        assert told in (None, count(text)), hex(code)
        untold += told is None
    assert untold < 12_000  # what is not assigned


@pytest.mark.parametrize("name", VOCABULARIES)
def test_what_is_plain_is_told(tables, name):
    """Prose, code and scripts without new characters need no tokenizer."""
    table, _ = tables[name]
    for text in ("Fills the context to the brim.", "def f(x):\n    return x  # naïve 中文\n", "", "Größe 😀"):
        assert table.count(text.encode()) is not None


@pytest.mark.parametrize("name", VOCABULARIES)
@given(raw=st.binary(max_size=40))
def test_no_bytes_are_read_outside_of_a_text(tables, name, raw):
    """What is no UTF-8 gets some number or none; a sanitizer watches."""
    told = tables[name][0].count(raw)
    assert told is None or 0 <= told <= len(raw)
    assert tables[name][0].find(raw) in (None, *range(200_000))


@pytest.mark.parametrize("name", VOCABULARIES)
@given(texts=st.lists(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=6).map("".join), max_size=6))
def test_what_was_counted_before_changes_no_count(tables, name, texts):
    """Short pieces are remembered."""
    table, count = tables[name]
    for text in (*texts, *texts):
        assert table.count(text.encode()) in (None, count(text))


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_token_is_found_by_its_bytes(tables, name):
    """Every hundredth token has its number; what is none has no number."""
    table, tokenizer = tables[name][0], bpe.tokenizer_of(name)
    assert [table.find(tokenizer.decode_token_bytes(at)) for at in range(0, 100_000, 100)] == [*range(0, 100_000, 100)]
    assert table.find(b"") is None
    assert table.find(b"no token of any vocabulary") is None


def test_a_long_piece_is_left_to_the_tokenizer(tables):
    """The pairs of a piece are compared with each other: of hundreds of bytes that is not the kernel's work."""
    table, count = tables["o200k_base"]
    assert table.count(b"xq" * 200) == count("xq" * 200)
    assert table.count(b"xq" * 300) is None


def test_the_numbers_of_single_tokens():
    """A text that is one token has its number, whichever way it is counted."""
    assert bpe.lowest_token("o200k_base", [" people"]) == bpe.tokenizer_of("o200k_base").encode_ordinary(" people")[0]
    assert bpe.lowest_token("o200k_base", [" \U000e0fff"]) is None
    assert bpe.lowest_token("llama3", [" people"]) == bpe.tokenizer_of("llama3").encode_ordinary(" people")[0]


def test_vocabularies_that_are_none_are_refused():
    """Tokens that are empty or there twice, tables without room or with numbers of no token, missing kinds."""
    with pytest.raises(ValueError, match="none of them empty"):
        kernels.index_tokens(b"ab", np.array([0, 1, 1, 2], np.int32))
    with pytest.raises(ValueError, match="there twice"):
        kernels.index_tokens(b"aa", np.array([0, 1, 2], np.int32))
    offsets = np.array([0, 1, 2], np.int32)
    slots = kernels.index_tokens(b"ab", offsets)
    pages, kinds = np.zeros(8_704, np.uint16), np.ones(128, np.uint8)
    with pytest.raises(ValueError, match="empty places"):
        kernels.TokenTable(memoryview(b"ab"), offsets, slots + np.uint64(9), pages, kinds, is_cased=True)
    with pytest.raises(ValueError, match="its kind"):
        kernels.TokenTable(memoryview(b"ab"), offsets, slots, pages + np.uint16(1), kinds, is_cased=True)
    assert kernels.TokenTable(memoryview(b"ab"), offsets, slots, pages, kinds, is_cased=True).find(b"b") == 1
