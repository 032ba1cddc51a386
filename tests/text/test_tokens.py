"""Counting, cutting, slicing and adding agree with each other for every vocabulary."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.errors import BudgetError, DocumentError, SettingError, SpanError
from brimful.text import bpe
from brimful.text.tokens import (
    APPROXIMATE,
    BpeCounter,
    EstimatedCounter,
    TokenCounter,
    counting,
    in_row,
)
from brimful.text.vocabularies import VOCABULARIES, tokens_for

FRAGMENTS = [
    *(" ", "  ", "\n", "\n\n", "\t", "\r\n", "\u3000", "\xa0", "\x1c", "\x00", "\ufeff", "\u2028"),
    *(".", ",", ", ", ". ", "。", "，", "、", "」", "(", ")", '"', "'", "'s", "'ll", "/", "//", "_", "-", "=="),
    *("a", "e", "h", "the", " the", " context", "Brimful", "HTTPServer", "İ", "ß", "ǅ", "ſ", "K", "é", "e\u0301"),
    *("1", "12", "1234", "²", "x²", "½", "٣", "中", "中文", "你好，世界。", "日本語", "カー", "한국어", "\u1100\u1161"),
    *("👩", "👩\u200d👩\u200d👧", "🇩🇪", "\u0301", "\u200d", "กา", "का", "مرحبا", "שלום", "Привет"),
    *("▁", " ▁", "> </", ">", "</p>", "<h1>", "</h1>", "<table>", "<s>", "</s>", "<|endoftext|>", "<|im_start|>"),
    *("    return x\n", "def f(a, b):\n", "if (x > 0) {\n", "a1b2c3d4", "SGVsbG8gd29ybGQ=", "https://x.io/a?b=1"),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), max_size=60).map("".join)
OPENAI = ("o200k_base", "cl100k_base")
OTHERS = tuple(name for name in VOCABULARIES if name not in OPENAI)
ESTIMATES = ("approximate", "claude", "claude-legacy", "gemini")
MANY = settings(max_examples=200, deadline=None)
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check_sum(counter: TokenCounter, texts: tuple[str, str, str]) -> None:
    """Measures add up to the count of the joined text, in any grouping, and nothing adds nothing."""
    first, second, third = texts
    a, b, c = (counter.measure(text) for text in texts)
    for row in ((texts[0], b, texts[2]), (a, texts[1], c), texts):
        assert in_row(counter, row).tokens == counter.count("".join(texts))
    assert a.tokens == counter.count(first)
    assert (a + b).tokens == counter.count(first + second)
    assert ((a + b) + c).tokens == counter.count(first + second + third)
    assert (a + (b + c)).tokens == counter.count(first + second + third)
    empty = counter.measure("")
    assert (a + empty).tokens == (empty + a).tokens == a.tokens


def check_slices(counter: TokenCounter, text: str, cuts: list[int], max_tokens: int) -> None:
    """Slices cost what a fresh count says, and what fits fits."""
    prepared, raw = counter.prepare(text), text.encode()
    places = sorted(min(cut, len(text)) for cut in cuts)
    for low, high in pairwise(places):
        start, end = len(text[:low].encode()), len(text[:high].encode())
        assert prepared.count(start, end) == counter.count(text[low:high])
        fitting = prepared.fit(start, max_tokens)
        assert start <= fitting <= len(raw)
        kept = raw[start:fitting].decode()
        assert counter.count(kept) <= max_tokens
        if counter.count(text[low:]) <= max_tokens:
            assert kept == text[low:]


def check_truncation(counter: TokenCounter, text: str, max_tokens: int, marker: str) -> None:
    """A cut text keeps to its limit and to its beginning."""
    cut = counter.truncate(text, max_tokens, marker=marker)
    assert counter.count(cut) <= max_tokens
    if counter.count(text) <= max_tokens:
        assert cut == text
    elif counter.count(marker) <= max_tokens:
        kept = cut.removesuffix(marker)
        assert cut.endswith(marker)
        assert text.startswith(kept)
        assert kept == kept.rstrip()
    else:
        assert text.startswith(cut)


def check_laws(counter: TokenCounter, texts: tuple[str, str, str], cuts: list[int], room: int, marker: str) -> None:
    """Sums, slices and cuts are exact with respect to `count`."""
    check_sum(counter, texts)
    check_slices(counter, "".join(texts), cuts, room)
    check_truncation(counter, "".join(texts), room, marker)


LAWS = given(
    texts=st.tuples(TEXTS, TEXTS, TEXTS),
    cuts=st.lists(st.integers(0, 400), min_size=2, max_size=6),
    room=st.integers(0, 80),
    marker=st.sampled_from(["...", "", " […]", "\n<cut here>\n"]),
)


@pytest.mark.parametrize("name", OPENAI)
@MANY
@LAWS
def test_counters_of_openai_keep_the_laws(
    name: str, texts: tuple[str, str, str], cuts: list[int], room: int, marker: str
) -> None:
    """Measures add up in any grouping, slices cost what a fresh count says, and a cut text fits with its marker."""
    check_laws(tokens_for(name), texts, cuts, room, marker)


@pytest.mark.parametrize("name", [*OTHERS, *ESTIMATES, "one's own"])
@FEW
@LAWS
def test_every_other_counter_keeps_the_same_laws(
    name: str, texts: tuple[str, str, str], cuts: list[int], room: int, marker: str
) -> None:
    """Every vocabulary, every estimate, and a function brought by the user."""
    counter = counting(name, len) if name == "one's own" else tokens_for(name)
    check_laws(counter, texts, cuts, room, marker)


@pytest.mark.parametrize("name", [*OTHERS, *OPENAI])
def test_word_by_word_counting_is_the_vocabularys_own(name: str) -> None:
    """Counting at joints, as some families do for speed, gives the number of tokens of the whole text."""
    from splintr import Tokenizer

    text = "".join(fragment for fragment in FRAGMENTS if "<" not in fragment and "\u0301" not in fragment)
    text = " ".join([text.replace("\u1100\u1161", ""), text[::3], text[::7]])
    assert tokens_for(name).count(text) == len(Tokenizer.from_pretrained(name).encode_ordinary(text))


def test_long_runs_without_a_joint_are_still_exact() -> None:
    """A text with nowhere to cut, such as one word of 5,000 letters, is counted as a whole."""
    counter = tokens_for("o200k_base")
    text = "ab" * 2_500 + "=" * 999
    prepared = counter.prepare(text)
    assert prepared.count(7, 5_001) == counter.count(text[7:5_001])
    end = prepared.fit(3, 100)
    assert counter.count(text[3:end]) <= 100 < counter.count(text[3 : end + 40])
    assert (counter.measure(text) + counter.measure(text)).tokens == counter.count(text + text)


def test_fit_walks_past_a_dip() -> None:
    """A longer prefix may cost less: the fit looks beyond the first prefix that does not fit."""
    counter = tokens_for("o200k_base")
    assert counter.count("unbeliev") > 1
    word = " internationalization"
    assert counter.prepare(word + " x").fit(0, counter.count(word)) == len(word)


def test_the_cfs_approximation() -> None:
    """CFS §4: bytes divided by four, rounded up, with the marker counted as well."""
    counter = APPROXIMATE
    assert [counter.count(text) for text in ("", "a", "abcd", "abcde", "é" * 4)] == [0, 1, 1, 2, 2]
    assert counter.truncate("word " * 10, 5) == "word word word wo..."
    assert not counter.exact


def test_truncation_trims_white_space_before_the_marker() -> None:
    """CFS §4 trims what is left before it adds the marker."""
    counter = tokens_for("o200k_base")
    cut = counter.truncate("one two three four five six seven eight", 4)
    assert cut == "one two three..."


def test_truncation_without_room_for_the_marker() -> None:
    """When not even the marker fits, the longest prefix stands alone, and nothing at all fits in 0."""
    counter = tokens_for("o200k_base")
    assert counter.truncate("one two three four", 2, marker=" a very long marker") == "one two"
    assert counter.truncate("one two three four", 0) == ""
    assert counter.truncate("", 0) == ""


def test_truncation_of_a_long_text_reads_only_its_beginning() -> None:
    """A text of megabytes is cut without counting all of it."""
    counter = BpeCounter("o200k_base")
    length, counted = counter._length, []
    counter.__dict__["_length"] = lambda text: counted.append(len(text)) or length(text)
    assert counter.truncate("some words and more " * 100_000, 50).endswith("...")
    assert sum(counted) < 20_000


def test_a_negative_limit_is_refused() -> None:
    """A limit below zero names itself."""
    with pytest.raises(BudgetError, match="-1"):
        tokens_for("o200k_base").truncate("x", -1)


@pytest.mark.parametrize("name", ["o200k_base", "mistral_v1", "gemma3", "claude", "approximate"])
def test_a_lone_surrogate_is_named_with_its_place(name: str) -> None:
    """Half a surrogate pair can't be UTF-8, and every way in says which character it is."""
    counter = tokens_for(name)
    text = "some words come first \ud800 and then"
    for question in (counter.count, counter.measure, counter.prepare):
        with pytest.raises(DocumentError, match=r"character 22 .* U\+D800"):
            question(text)


@pytest.mark.parametrize("name", ["o200k_base", "approximate", "claude"])
def test_slices_outside_the_text_are_refused(name: str) -> None:
    """A slice beyond the text or inside a character is an error that names the offset."""
    prepared = tokens_for(name).prepare("aé")
    for start, end in ((0, 4), (-1, 1), (2, 1)):
        with pytest.raises(SpanError, match=rf"bytes {start} to {end}"):
            prepared.count(start, end)
    with pytest.raises(SpanError, match="byte 2 is inside"):
        prepared.count(0, 2)
    with pytest.raises(SpanError, match="byte 2 is inside"):
        prepared.fit(2, 5)


def test_measures_of_different_counters_do_not_mix() -> None:
    """Adding measures of two vocabularies would be meaningless, and fails."""
    with pytest.raises(TypeError):
        tokens_for("o200k_base").measure("a") + tokens_for("cl100k_base").measure("b")  # type: ignore[operator]


def test_a_counter_of_ones_own_must_return_a_count() -> None:
    """A function that returns anything but a whole number from 0 is named."""
    with pytest.raises(SettingError, match="'mine' said -1"):
        counting("mine", lambda _: -1).count("x")


def test_an_estimate_is_the_largest_share_rounded_up() -> None:
    """Ratios are applied in integers: 3 tokens at 145 percent are 5."""
    base = BpeCounter("o200k_base")
    assert base.count("one two three") == 3
    assert EstimatedCounter("mine", {base: 145}).count("one two three") == 5
    assert EstimatedCounter("mine", {base: 100}).count("one two three") == 3


def test_eight_threads_count_the_same() -> None:
    """A counter shared by threads, loaded by whichever comes first, gives every thread the same counts."""
    counter = BpeCounter("mistral_v1")
    texts = ["".join(FRAGMENTS[start::7]) for start in range(7)] * 20
    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(lambda _: [counter.measure(text).tokens for text in texts], range(8)))
    assert all(each == counted[0] for each in counted)
    assert counted[0] == [tokens_for("mistral_v1").count(text) for text in texts]


def test_memory_is_bounded() -> None:
    """Counts of short texts are remembered up to a number, and long texts never are."""
    counter = BpeCounter("mistral_v1")
    counter.count(" ".join(f"word{number}" for number in range(bpe._REMEMBERED + 9)) + " " + "x" * 1_000)
    assert counter._remembered.cache_info().currsize == bpe._REMEMBERED
    counter._remembered.cache_clear()
    counter.count("one " + "x" * 1_000)
    assert counter._remembered.cache_info().currsize == 1  # the empty word at its end
