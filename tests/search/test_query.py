"""Questions: what each sign means, and that nothing else means anything."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brimful
from brimful.search.query import (
    MOST_CHARACTERS,
    MOST_FILTERS,
    MOST_PHRASES,
    MOST_TERMS,
    PathPattern,
    Query,
    parse_query,
    rarest,
    time_bound,
)
from brimful.text.terms import query_terms

read = partial(parse_query, operators=True)

SIGNS = [
    *'"“”„«»「」*-:\\/?.,\n\t ',
    " -",
    ' -"',
    "path:",
    "-path:",
    "kind:",
    "kind:code",
    "after:",
    "before:2024",
    "after:2024-02-30",
    "foo",
    "getAtom",
    "atom_positions",
    "e-mail",
    "3.11",
    "2026-01-02",
    "猫と犬",
    "한국어",
    "שלום",
    "مرحبا",
    "\ud800",
    "\x00",
    "\u202e",
    "é",
    "🙂",
]
texts = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(SIGNS), max_size=25).map("".join))
words = st.lists(st.text("abcdefghijklmnopqrstuvwxyzäñ", min_size=2, max_size=8), min_size=1, max_size=8)


def asked(query: Query) -> list[str]:
    """The whole terms of a question, as text."""
    return [term.term.decode() for term in query.terms if not term.is_part]


@pytest.mark.parametrize(
    "text",
    [
        *("path:", "path: docs", "kind:banana", "kind:", "after:tomorrow", "before:2024-13", "after:20240501", '"'),
        *('lone " quote', '""', "-", "a - b", "*", "a * b", "**kwargs", "foo:bar", "a-b", "--flag value"),
        *("std::vector", "C:\\dir", "http://x", "grep -r pattern", "it was -5 degrees"),
        *("an aside -like this one- is text", '5" disk and 3" disk', "xpath:foo", "PATH:/usr/bin", "- one\n- two"),
        *("-one thing\n-another", "50% of _all_ \\ signs", "don't 'quote' me", "-draft", '-"all of this"'),
        *("-after:2024 x", "word –dash"),
    ],
)
def test_text_that_is_no_sign_is_literal(text):
    """What is not clearly a sign is text: all its words are asked for, and nothing is filtered or excluded."""
    query = read(text)
    phrases = query.phrases
    assert [term.term for term in query.terms] == list(dict.fromkeys(term.term for term in query_terms(text)))
    assert not query.excluded + query.excluded_phrases
    assert not query.has_filters
    assert phrases == (((b"all", b"of", b"this"),) if "all of" in text else ())
    assert not any(term.is_prefix for term in query.terms)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('the "context window" here', [("context", "window")]),
        ("the “context window” here", [("context", "window")]),
        ("das „Kontext Fenster“ hier", [("kontext", "fenster")]),
        ("la «fenêtre de contexte»", [("fenêtre", "de", "contexte")]),
        ("»Fenster auf«, ”öppet fönster”", [("fenster", "auf"), ("öppet", "fönster")]),
        ('他说"你好吗"的', [("你好", "好吗")]),
        ("彼は「猫と犬」と言った", [("猫と", "と犬")]),
        ('"getAtom now"', [("getatom", "now")]),
        ('"word"', [("word",)]),
        ('say ("yes please")', [("yes", "please")]),
        ('"kind:code -x path:y"', [("kind", "code", "x", "path", "y")]),
    ],
)
def test_phrases(text, phrases):
    """Straight and typographic quotes hold a phrase; its words are asked for too, and signs inside are text."""
    query = read(text)
    assert [tuple(term.decode() for term in phrase) for phrase in query.phrases] == phrases
    assert {term.encode() for phrase in phrases for term in phrase} <= {term.term for term in query.terms}
    assert not query.has_filters


def test_a_long_quotation_is_text():
    """A quotation of more than 32 words is looked for word by word, and excludes nothing."""
    quotation = " ".join(f"word{number}" for number in range(33))
    for text in (f'"{quotation}"', f'x -"{quotation}"'):
        query = read(text)
        assert not query.phrases
        assert not query.excluded_phrases
        assert "word32" in asked(query)


def test_excluded():
    """A dash at a word's start excludes the whole word, a compound as a phrase, a quotation as a phrase."""
    query = read('tea -getAtom -state-of-art -"too hot" -cof* milk')
    assert asked(query) == ["tea", "milk"]
    assert [(term.term, term.is_prefix) for term in query.excluded] == [(b"getatom", False), (b"cof", True)]
    assert query.excluded_phrases == ((b"state", b"of", b"art"), (b"too", b"hot"))


def test_exclusions_alone_with_a_filter_stay():
    """Under a filter a question may consist of exclusions; without one they would leave nothing, so they are words."""
    assert [term.term for term in read("path:docs -draft").excluded] == [b"draft"]
    assert asked(read("-draft -old")) == ["draft", "old"]


def test_prefixes():
    """A star right behind a word asks for what begins so; emphasis and multiplication do not."""
    query = read("limer* *stressed* *two words* get_at* 2*3 a* (atom*)")
    prefixes = {term.term for term in query.terms if term.is_prefix}
    assert prefixes == {b"limer", b"get_at", b"at", b"atom"}


def test_paths():
    """Several paths mean any of them, -path: none of them; a pattern holds for a whole path or from a folder on."""
    query = read('x path:docs path:"my notes/*.txt", -path:old')
    assert query.allows("Docs/a.md", "prose")
    assert query.allows("home/my notes/b.txt", "prose")
    assert not query.allows("docs/old/a.md", "prose")
    assert not query.allows("src/a.py", "code")
    assert asked(query) == ["x"]
    assert PathPattern("a[bc]?.py").matches("src/abx.py")
    assert not PathPattern("a[bc]?.py").matches("src/adx.py")
    assert PathPattern("[").matches("odd[name")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("kind:code x", ("code",)),
        ("kind:data kind:code", ("data", "code")),
        ("-kind:data", ("prose", "code")),
        ("kind:code -kind:code", ("code",)),
        ("-kind:data -kind:code -kind:prose", ()),
    ],
)
def test_kinds(text, kinds):
    """Kinds add up; excluded ones are taken away unless nothing would be left."""
    assert read(text).kinds == kinds


def test_times():
    """`after` begins with its second, `before` ends ahead of its own, and the narrowest of several holds."""
    query = read("after:2024 after:2024-05 before:2024-06? ")
    may = time_bound("2024-05-01T00:00:00Z")
    assert query.after == may
    assert query.before == time_bound("2024-06-01")
    assert query.allows("a", "prose", may)
    assert not query.allows("a", "prose", may - 1)
    assert not query.allows("a", "prose", query.before)
    assert not query.allows("a", "prose", None)
    assert read('after:"2024-05-01 02:00+02:00"').after == may


@pytest.mark.parametrize(
    "text", ["0000", "2024-00", "2024-02-30", "2024-01-01T25:00", "2024-01-01T00:00+99:00", "٢٠٢٤", "2024-1", ""]
)
def test_what_is_no_time(text):
    """A time that no calendar has is no time."""
    assert time_bound(text) is None


def test_terms_are_counted_once_each():
    """A term stands once, with how often it occurs, and is whole if it is whole anywhere."""
    query = read("getAtom, atom: Atom")
    assert [(term.term, term.is_part, term.count) for term in query.terms] == [
        (b"getatom", False, 1),
        (b"get", True, 1),
        (b"atom", False, 3),
    ]


def test_neighbours():
    """Words with one blank or hyphen between them may be one word elsewhere; a comma keeps them apart."""
    assert read("data base, e-mail").neighbours == ((b"data", b"base"), (b"e", b"mail"))
    assert read("data -base x").neighbours == ()


def test_limits():
    """A question of any length gives a bounded number of terms, phrases and filters, and says what it left out."""
    query = read(" ".join(f"word{number}" for number in range(20_000)))
    assert len(query.terms) == MOST_TERMS
    assert query.left_out > 0
    assert len(read(" ".join(f'"a b{n}"' for n in range(500))).phrases) == MOST_PHRASES
    many = read(" ".join(f"path:p{number}" for number in range(MOST_FILTERS + 1)))
    assert len(many.paths) == MOST_FILTERS
    assert asked(many) == ["path", "p64"]
    cut = read("x" * 10 + " " + "y" * MOST_CHARACTERS + " z")
    assert "z" not in asked(cut)
    assert cut.left_out == 1


def test_rarest_keeps_order_and_counts():
    """Only the rarest terms are kept, in their order; a term the corpus lacks goes before all others."""
    counts = {b"the": 1000, b"cat": 5, b"sat": 7, b"zzz": 0}
    kept = rarest(read("the zzz sat the cat"), counts.__getitem__, limit=2)
    assert [term.term for term in kept.terms] == [b"sat", b"cat"]
    assert kept.left_out == 2


@given(texts)
def test_any_text_is_a_question(text):
    """Nothing raises; every offset names the bytes that the term was made of; the result is a value."""
    query = read(text)
    content = text.encode("utf-8", "replace")
    assert query.text == text
    for term in (*query.terms, *query.excluded):
        assert 0 <= term.start < term.end <= len(content)
        again = query_terms(content[term.start : term.end].decode("utf-8", "replace"))
        assert term.term in {found.term for found in again}
    known = {found.term for found in query_terms(text)}
    assert {term.term for term in query.terms} <= known
    assert {term for phrase in query.phrases for term in phrase} <= {term.term for term in query.terms}
    assert all(query.phrases)
    assert all(len(phrase) > 1 for phrase in query.excluded_phrases)
    assert read(text) == query


@given(words)
def test_literal_words_come_back(plain):
    """Plain words are asked for as they stand, in order, each once, with their counts."""
    query = read(" ".join(plain))
    wholes = [term for term in query.terms if not term.is_part]
    assert [(term.term.decode(), term.count) for term in wholes] == [
        (word, plain.count(word)) for word in dict.fromkeys(plain)
    ]
    assert not query.phrases + query.excluded
    assert not query.has_filters


@given(words, words, words)
def test_signs_come_back(plain, phrase, without):
    """Words, a phrase and exclusions that were written together are found again."""
    text = f'{" ".join(plain)} "{" ".join(phrase)}" ' + " ".join(f"-{word}" for word in without)
    query = read(text)
    assert query.phrases == (tuple(word.encode() for word in phrase),)
    assert [term.term.decode() for term in query.excluded] == list(dict.fromkeys(without))


def test_filters_beside_a_question_narrow_what_it_says_itself(tmp_path):
    """A kind or path in the question and another one beside it leave what passes both, not either."""
    with brimful.open(tmp_path / "a.db") as engine:
        engine.add_text("docs/tea.md", "Tea is served at four.")
        engine.add_text("src/tea.py", "def tea():\n    return 4\n")
        both = engine.search("tea kind:code", kind="prose")
        assert not both.hits
        assert [hit.path for hit in engine.search("tea path:src", path="*.py").hits] == ["src/tea.py"]
        assert not engine.search("tea path:src", path="docs/").hits
        assert {hit.path for hit in engine.search("tea", path=["docs/", "src/"]).hits} == {"docs/tea.md", "src/tea.py"}
