"""Terms with accents are found without them, and nothing else changes."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.index.build import Extent, build_segment, plain_form, with_plain_forms
from brimful.index.segments import Postings
from brimful.text.terms import terms_of

words = st.lists(
    st.sampled_from("café cafe cafè CAFÉ häuser hauser йод иод x\u0302y xy ガ カ ñ n Ω ώ ω".split()), max_size=20
)


@pytest.mark.parametrize(
    ("term", "plain"),
    [
        ("café", "cafe"),
        ("häuser", "hauser"),
        ("ñandú_año", "nandu_ano"),
        ("ώρα", "ωρα"),
        ("việt", "viet"),
        ("x\u0302", "x"),
        ("øl", "øl"),
        ("й", "й"),
        ("ё", "ё"),
        ("が", "が"),
        ("한국", "한국"),
        ("cafe", "cafe"),
    ],
)
def test_accents_of_latin_and_greek_go(term, plain):
    """A Latin or Greek letter loses its accent; a letter of its own and other scripts stay."""
    assert plain_form(term.encode()).decode() == plain


@given(words)
def test_a_plain_term_stands_where_its_accented_forms_do(chosen):
    """Each term keeps its positions; a plain form has those of all its forms, sorted, each once."""
    terms = terms_of(" ".join(chosen).encode())
    before = Postings(terms.names, terms.offsets, terms.starts)
    expected = defaultdict(set)
    for name in before.names:
        for key in {name, plain_form(name)}:
            expected[key] |= set(before.of(name).tolist())
    after = with_plain_forms(before)
    assert after.names == sorted(expected)
    assert {name: after.of(name).tolist() for name in after.names} == {
        name: sorted(places) for name, places in expected.items()
    }


def test_a_segment_is_searched_without_accents():
    """`cafe` finds `café` in a segment, `café` does not find `cafe`."""
    postings = build_segment([Extent("café cafe".encode(), "prose", None)]).postings
    assert postings.of(b"cafe").tolist() == [0, 6]
    assert postings.of("café".encode()).tolist() == [0]
