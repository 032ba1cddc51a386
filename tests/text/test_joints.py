"""The claim under every slice and sum: no token crosses a joint."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.text.bpe import BpeCounter
from brimful.text.joints import AFTER_LETTER, BEFORE_SPACE, LETTER, last_joint, next_joint, words
from brimful.text.vocabularies import VOCABULARIES

WITHOUT_PRE_TOKENISER = ("llama2", "codellama", "mistral_v1", "mistral_v2", "gemma2", "gemma3", "gemma4")
# Reserved names such as <unused7> or [control_8], which ordinary text never becomes.
RESERVED = re.compile(r"<unused\d+>|\[control_\d+\]|\[multimodal\]|<2mass>")


@pytest.mark.parametrize("vocabulary", WITHOUT_PRE_TOKENISER)
def test_no_token_of_a_vocabulary_without_pre_tokeniser_spans_a_joint(vocabulary: str) -> None:
    """Where any two characters may merge, no token of the vocabulary holds a pair that makes a joint."""
    from splintr import Tokenizer, base_vocab_size

    tokenizer = Tokenizer.from_pretrained(vocabulary)
    spanning = []
    for token in range(base_vocab_size(vocabulary)):
        text = tokenizer.decode_token_bytes(token).decode(errors="replace").replace("\u2581", " ")
        if next_joint(text) and (not RESERVED.fullmatch(text) or token in tokenizer.encode_ordinary(text)):
            spanning.append(text)
    assert spanning == []


def test_gemma_is_the_reason_for_two_exceptions() -> None:
    """Gemma 3 joins `> </` and `<h1>` into one token each, so no joint may lie inside them."""
    counter = BpeCounter("gemma3")
    assert counter.count("> </") == 1
    assert counter.count("<h1>") == 1
    assert next_joint("> </") == 0
    assert next_joint("<h1>") == 0
    assert next_joint("<x1>") == 2


@pytest.mark.parametrize("vocabulary", sorted(set(VOCABULARIES) - set(WITHOUT_PRE_TOKENISER)))
def test_a_pre_tokeniser_splits_at_every_kind_of_joint(vocabulary: str) -> None:
    """For letters of every script and every following character, both sides cost what they cost alone."""
    counter = BpeCounter(vocabulary)
    letters = "".join(chr(code) for code in range(0x10000) if re.match(f"[{LETTER}]", chr(code)))[::37]
    followers = [chr(code) for code in range(0x10000) if re.match(f"[{AFTER_LETTER}]", chr(code))]
    for place, letter in enumerate(letters):
        follower = followers[place % len(followers)]
        if letter == "h" and follower.isdigit():
            continue
        left, right = f" to {letter}{letter}", f"{follower}{follower} the 12{letter}"
        assert counter.count(left + right) == counter.count(left) + counter.count(right), (letter, follower)


def test_joint_letters_are_stable_letters() -> None:
    """Every letter of the table is a letter to Unicode and stays itself under NFC."""
    for code in range(0x10000):
        if re.match(f"[{LETTER}]", chr(code)):
            assert unicodedata.category(chr(code)).startswith("L"), hex(code)
            assert unicodedata.normalize("NFC", chr(code)) == chr(code), hex(code)


def test_what_follows_a_joint_never_composes_with_what_precedes_it() -> None:
    """NFC, which Qwen applies first, joins none of the following characters to a letter before them."""
    for code in range(0x10000):
        follower = chr(code)
        if re.match(f"[ {AFTER_LETTER}]", follower):
            assert unicodedata.combining(follower) == 0
            assert unicodedata.is_normalized("NFC", "e" + follower)


def test_white_space_is_never_taken_for_visible() -> None:
    """Python's white space includes all of Unicode's, so no space of a pre-tokeniser counts as visible."""
    unicode_spaces = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
        map(chr, range(0x2000, 0x200B))
    )
    assert not any(re.match(BEFORE_SPACE, space) for space in unicode_spaces)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("", 0, 0),
        ("brimful", 0, 0),
        ("to the brim", 2, 6),
        ("  indented", 0, 0),
        ("a > b", 1, 1),
        ("▁ ▁", 0, 0),
        ("x².", 0, 0),
        ("它企图了解智能，并生产。", 7, 11),
        ("word\nnext", 4, 4),
        ("don't", 0, 0),
    ],
)
def test_joints_of_small_texts(text: str, first: int, last: int) -> None:
    """The first and last joint are found, and 0 stands for none."""
    assert (next_joint(text), last_joint(text)) == (first, last)


@pytest.mark.parametrize("text", ["", " ", "to the  brim ", " a > b\n  c", "▁ a", "one", "a\n b"])
def test_words_lose_nothing(text: str) -> None:
    """The words of a text, joined, are the text."""
    assert "".join(words(text)) == text


@given(st.text("aZh19 \t\n.,;:!?)]}\"'>-_#\x1c\x1f\x7f", max_size=12))
def test_joints_of_ascii_are_those_of_any_text(text: str) -> None:
    """A letter beyond ASCII, where no joint is near it, changes none of them."""
    assert next_joint(f"{text}\u00e9") == next_joint(text)
    assert last_joint(f"{text}\u00e9") == last_joint(text)
