"""Terms with accents are found without them, and nothing else changes."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.index.build import Extent
from brimful.index.segments import Postings
from brimful.native.terms import ROOM
from brimful.text.terms import indexed_terms, plain_forms, terms_of
from tests.index.plain_forms import with_plain_forms
from tests.index.segment import build_segment

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
    assert plain_forms([term.encode()])[0].decode() == plain


@given(words)
def test_a_plain_term_stands_where_its_accented_forms_do(chosen):
    """Each term keeps its positions; a plain form has those of all its forms, sorted, each once."""
    terms = terms_of(" ".join(chosen).encode())
    before = Postings(terms.names, terms.offsets, terms.starts)
    expected = defaultdict(set)
    for name in before.names:
        for key in {name, plain_forms([name])[0]}:
            expected[key] |= set(before.of(name).tolist())
    after = with_plain_forms(before)
    assert after.names == sorted(expected)
    assert {name: after.of(name).tolist() for name in after.names} == {
        name: sorted(places) for name, places in expected.items()
    }


@given(st.text() | words.map(" ".join) | st.text("éeèſʼ㌔ﬁキロ_Aa1ά\u0301 ", max_size=30))
def test_plain_forms_are_found_before_terms_are_placed(text):
    """The terms of an index are those of the text, with plain forms added to what is made of them."""
    terms, found = terms_of(text.encode()), indexed_terms(text.encode() + ROOM)
    wanted = with_plain_forms(Postings(terms.names, terms.offsets, terms.starts))
    assert (list(found.names), found.offsets.tolist()) == (wanted.names, wanted.offsets.tolist())
    assert found.starts.tolist() == wanted.positions.tolist()
    assert found.starts.dtype == terms.starts.dtype


def test_a_segment_is_searched_without_accents():
    """`cafe` finds `café` in a segment, `café` does not find `cafe`."""
    postings = build_segment([Extent("café cafe".encode(), "prose", None)]).postings
    assert postings.of(b"cafe").tolist() == [0, 6]
    assert postings.of("café".encode()).tolist() == [0]
