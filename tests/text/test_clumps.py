"""Clumps: looked at once, found everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.native import terms as kernels
from brimful.text.terms import clumps_of, query_terms, terms_of

SIGNS = "aB1_.,-'+# =<\u0338\u00ad\u0301é\u2019Ｃ漢…\n"
TEXT = st.lists(st.text(SIGNS, max_size=6) | st.sampled_from(["C++", "c#", "1,000", "it's", "w" * 20, "w" * 70])).map(
    "".join
)


def places(content: bytes) -> dict[bytes, list[int]]:
    """Terms with their places, by way of clumps."""
    terms = terms_of(content)
    return {
        name: terms.starts[first:last].tolist()
        for name, first, last in zip(terms.names, terms.offsets[:-1], terms.offsets[1:], strict=True)
    }


def by_rules_alone(text: str) -> dict[bytes, list[int]]:
    """Terms with their places, the rules applied to the whole text."""
    found: dict[bytes, list[int]] = {}
    for term, start, _, _ in query_terms(text):
        found.setdefault(term, []).append(start)
    return {name: sorted(starts) for name, starts in sorted(found.items())}


@given(TEXT)
def test_a_clump_has_the_terms_that_its_bytes_have_in_the_text(text: str) -> None:
    """Cutting a text into clumps takes no term away and adds none, whatever signs and marks stand around them."""
    assert places(text.encode()) == by_rules_alone(text)


@given(text=TEXT, copies=st.integers(2, 9))
def test_a_bad_hash_changes_nothing(text: str, copies: int) -> None:
    """Which clumps share a place in the table can't be seen in the terms."""
    text = "\n".join([text] * copies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "multiplier_of", lambda _: 0)
        assert places(text.encode()) == by_rules_alone(text)


def test_copies_are_kept_once() -> None:
    """A text of few words has few clumps."""
    text = b"tea at four, never at five\n" * 50_000 + kernels.ROOM
    found = clumps_of(text)
    firsts, lengths = found.strings.firsts.tolist(), found.strings.lengths.tolist()
    different = [text[first : first + length] for first, length in zip(firsts, lengths, strict=True)]
    assert different == [b"tea", b"at", b"four", b"never", b"five"]
    assert len(found.starts) == 300_000
