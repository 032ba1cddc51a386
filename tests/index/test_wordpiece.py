"""Tokens as BERT reads them, beside the `tokenizers` library as the oracle."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.errors import MissingPartError
from brimful.index import minilm
from brimful.index.embedders import package_folder
from brimful.index.minilm import WordPiece, read_wordpiece

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TEXTS = [
    "Hello, world! It's 3.14 — don't e-mail a@b.co.",
    "Ünïcödé ÀÉÎÕÜ ß İstanbul ŁÓDŹ ǅ ﬁne",
    "東京タワーは高い。한국어 텍스트 हिन्दी पाठ עברית العربية ไทย",
    "Ελληνικά ΣΊΣΥΦΟΣ Русский ёж Ґ",
    "def f(x_1: int) -> None:\n\treturn x_1 ** 2  # ok\r\n",
    "😀👩\u200d👩\u200d👧 \u00a0\u3000\u2028 a\u00adb \ufeff \ufffd \0 \x7f \x85",
    "a" * 100 + " " + "b" * 101 + " antidisestablishmentarianism",
    "e\u0301\u0327 n\u0303 \u0301alone ㍿ ½ ™ ² ﷺ",
    "",
    " ",
    "...!!!???",
    "x" * 20_000,
    "``quoted'' $5.00 100% a&b <tag/> [brackets] {braces} ~ ^ | \\\\",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    """Where the weights' package keeps its vocabulary."""
    return package_folder(minilm.PACKAGE, remedy="") / "model"


@pytest.fixture(scope="module")
def pieces(folder: Path) -> WordPiece:
    """Our own reading of it."""
    found = read_wordpiece((folder / "tokenizer.json").read_bytes(), where=folder)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def oracle(folder: Path) -> Callable[[str], list[int]]:
    """The library's."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: list(tokenizer.encode(text).ids)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_have_the_tokens_of_the_library(pieces: WordPiece, oracle: Callable[[str], list[int]], text: str) -> None:
    """Prose, code, many scripts and noise are cut as the library cuts them."""
    assert pieces.tokens(text, limit=1 << 20) == oracle(text)


def test_every_character_has_the_tokens_of_the_library(pieces: WordPiece, oracle: Callable[[str], list[int]]) -> None:
    """Within a word, every character of Unicode 3.2 but four whose category changed since is read alike."""
    old = unicodedata.ucd_3_2_0
    known = [chr(code) for code in range(0x30000) if old.category(chr(code)) not in ("Cn", "Cs")]
    assert len(known) > 90_000
    differing = {ord(each) for each in known if pieces.tokens(f"ab{each}cd", limit=99) != oracle(f"ab{each}cd")}
    assert differing <= {0x166D, 0x1734, 0x1885, 0x1886}


_LETTERS = st.characters(codec="utf-8").filter(lambda each: unicodedata.ucd_3_2_0.category(each) != "Cn")


@given(st.text(_LETTERS | st.sampled_from("aeinst .,-'\u0301漢"), max_size=60))
@settings(max_examples=300)
def test_any_text_has_the_tokens_of_the_library(
    pieces: WordPiece, oracle: Callable[[str], list[int]], text: str
) -> None:
    """Random texts are read alike, wherever the two know the same Unicode."""
    if not any(0x166D <= ord(each) <= 0x1886 for each in text):
        assert pieces.tokens(text, limit=1 << 20) == oracle(text)


def test_a_text_forges_no_mark(pieces: WordPiece) -> None:
    """The name of a mark in a text is read as what it is, brackets and letters; the library would take it for one."""
    for name in SPECIAL:
        inside = pieces.tokens(name, limit=99)[1:-1]
        assert len(inside) >= 3
        assert not {0, 101, 102, 103} & set(inside)


def test_a_limit_holds_with_both_marks(pieces: WordPiece) -> None:
    """A text that is cut off has so many tokens, begins and ends with its marks, and is a beginning of the whole."""
    text = "one two three four five " * 100
    whole = pieces.tokens(text, limit=1 << 20)
    for limit in (3, 7, 256):
        assert pieces.tokens(text, limit=limit) == [*whole[: limit - 1], whole[-1]]


def test_other_tokenizers_are_told_apart() -> None:
    """Another kind is None, noise is an error, and a vocabulary without BERT's marks is refused."""
    assert read_wordpiece(b'{"model": {"type": "BPE", "vocab": {}}, "normalizer": null}', where="x") is None
    for raw in (b"", b"[]", b"{}", b"\xff", b'{"model": [], "normalizer": {"type": "BertNormalizer"}}'):
        with pytest.raises(MissingPartError, match="x is not a tokenizer"):
            read_wordpiece(raw, where="x")
    with pytest.raises(MissingPartError, match=r"\[CLS\]"):
        WordPiece(["[UNK]", "tea"])
