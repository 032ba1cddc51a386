"""The kernel that counts tokens, against the tokenizer whose vocabulary it reads."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.kernels import tokens as kernels
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
def test_many_texts_are_counted_as_each_by_itself(tables, name, texts):
    """Whatever was counted before, which is remembered of short pieces; what stands behind a text tells nothing."""
    table, count = tables[name]
    raw = [text.encode() for text in texts]
    told = table.count_each(raw)
    assert told == [-1 if (found := table.count(text)) is None else found for text in raw]
    assert all(number in (-1, count(text)) for number, text in zip(told, texts, strict=True))
    memory = table.counting.memory[-1]
    memory[:] = 0
    assert table.count_each(raw) == told


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


LETTERS = [chr(97 + at) for at in range(4)] + ["é", "\u2581", "A"]


def joined_by_hand(word, numbers, ranks):
    """Pairs are joined in the order of the list, the leftmost of equals first."""
    parts = []
    for letter in "\u2581" + word.replace(" ", "\u2581"):
        parts += [letter] if letter in numbers else [f"<{byte:02x}>" for byte in letter.encode()]
    while True:
        known = [(ranks[pair], at) for at, pair in enumerate(itertools.pairwise(parts)) if pair in ranks]
        if not known:
            return [numbers[part] for part in parts]
        _, at = min(known)
        parts[at : at + 2] = ["".join(parts[at : at + 2])]


@given(st.data(), st.lists(st.text("abcdeé A漢", max_size=12), max_size=8))
def test_words_are_joined_by_a_list_of_pairs(data, words):
    """Tokens of words agree with those of plain Python, for any list of pairs; whole words are looked up."""
    tokens = [f"<{byte:02x}>" for byte in range(256)] + LETTERS
    pairs = []
    for _ in range(data.draw(st.integers(0, 12))):
        pair = data.draw(st.tuples(st.sampled_from(tokens[256:]), st.sampled_from(tokens[256:])))
        if pair not in pairs:
            pairs.append(pair)
            tokens += [] if "".join(pair) in tokens else ["".join(pair)]
    numbers = {token: number for number, token in enumerate(tokens)}
    rows = "\n".join(" ".join(pair) for pair in pairs).encode()
    parts = [token.encode() for token in tokens]
    table = kernels.WordTokens(b"".join(parts), np.cumsum([0, *map(len, parts)]), rows, np.arange(256))
    lengths = np.array([len(word.encode()) for word in words], np.int32)
    given = ("".join(words).encode(), np.cumsum(lengths) - lengths, lengths)
    cut, ends = table.of(*given, whole=np.full(len(words), -1))
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    assert [part.tolist() for part in np.split(cut, ends[:-1])][: len(words)] == [
        joined_by_hand(word, numbers, ranks) for word in words
    ]
    asked, ends = table.of(*given, whole=np.full(len(words), table.ASKED))
    for word, part in zip(words, np.split(asked, ends[:-1]), strict=False):
        sign = "\u2581" + word.replace(" ", "\u2581")
        capital = sign[0] + sign[1:2].upper() + sign[2:] if sign[1:2].isascii() else sign
        known = numbers.get(sign, numbers.get(capital))
        assert part.tolist() == ([known] if known is not None else joined_by_hand(word, numbers, ranks))


def test_words_and_pairs_again_from_their_arrays():
    """The same tokens; arrays that would lead a kernel beyond them are refused."""
    table = kernels.WordTokens(
        bytes(range(256)) + b"te", np.array([*range(257), 258]), b"t e\n", np.arange(256, dtype=np.int32)
    )
    again = kernels.WordTokens.of_arrays(table.arrays)
    for each in (table, again):
        assert each.of(b"te", [0], [2], whole=[-1])[0].tolist() == [*"\u2581".encode(), 256]
        assert [each.find(text) for text in (b"te", b"t", b"tea", b"")] == [256, ord("t"), -1, -1]
    for place, wrong in (
        (0, table.arrays[0][:-1]),
        (1, table.arrays[1][::-1].copy()),
        (2, table.arrays[2] | np.uint64(1 << 20)),
        (2, table.arrays[2][:-1]),
        (3, table.arrays[3] | np.uint64(2)),
        (3, table.arrays[3] | np.uint64(1)),
        (4, table.arrays[4] + 1),
        (5, table.arrays[5] - 1),
        (5, table.arrays[5][1:]),
    ):
        arrays = [wrong if at == place else each for at, each in enumerate(table.arrays)]
        with pytest.raises(ValueError, match="token"):
            kernels.WordTokens.of_arrays(arrays)


def test_words_outside_their_text_are_refused():
    """No kernel reads beyond a text, or a word that is longer than its room."""
    words = bytes(range(256))
    table = kernels.WordTokens(words, np.arange(257), b"", np.arange(256))
    for start, length, whole in ((0, 4, -1), (-1, 1, -1), (0, -1, -1), (0, 1, -3)):
        with pytest.raises(ValueError, match=r"inside its text|at most"):
            table.of(b"tea", np.array([start]), np.array([length]), whole=np.array([whole]))
    with pytest.raises(ValueError, match="at most 256"):
        table.of(b"t" * 300, np.array([0]), np.array([257]), whole=np.array([-1]))
    given = (words + b"te", np.array([*range(257), 258]))
    found, _ = kernels.WordTokens(*given, b"t e\n", np.arange(256)).of(b"te", [0], [2], whole=[-1])
    assert found.tolist() == [*"\u2581".encode(), 256]
    for pairs in (b"t x", b"t", b"te ", b" te", b"t  e", b"\n", b"t e\nt e", b"t" * 300 + b" " + b"e" * 300):
        with pytest.raises(ValueError, match="pair"):
            kernels.WordTokens(*given, pairs, np.arange(256))
