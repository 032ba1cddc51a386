"""From a question to hits: how it is understood, what narrows it, which places it has."""

from functools import partial

import pytest

from brimful import Document
from brimful.search.query import parse_query
from brimful.search.search import MOST_WORDS, best_of, parse_question
from brimful.search.search import search as search_text
from brimful.text.terms import terms_of

from .conftest import corpus

search = partial(search_text, operators=True)
read = partial(parse_query, operators=True)

DAY = 86_400
CORPUS = [
    Document("docs/tea.md", "Green tea is picked in spring. It steams in the pot.", time=10 * DAY),
    Document("docs/coffee.md", "Coffee is roasted. No tea here, only black tea.", time=20 * DAY),
    Document("notes/day.txt", "The tea was green, and the database base was slow.", time=30 * DAY),
    Document("src/brew.py", "def brew(tea):\n    return tea.green\n"),
    Document("stock.csv", "name,price\ntea,3\ngreen tea,9\n", time=40 * DAY),
]


def paths(found):
    """The documents of the hits, the best first, each once."""
    return list(dict.fromkeys(hit.path for hit in found.hits))


@pytest.fixture
def columns(laid):
    """Five documents in several segments."""
    return laid(CORPUS, batch=2)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("tea path:docs", {"docs/tea.md", "docs/coffee.md"}),
        ("tea path:*.py", {"src/brew.py"}),
        ("tea -path:docs", {"notes/day.txt", "src/brew.py", "stock.csv"}),
        ("tea kind:code", {"src/brew.py"}),
        ("tea kind:data", {"stock.csv"}),
        ("tea after:1970-01-22", {"notes/day.txt", "stock.csv"}),
        ("tea before:1970-01-21", {"docs/tea.md"}),
        ('"green tea"', {"docs/tea.md", "stock.csv"}),
        ('"black tea" roasted', {"docs/coffee.md"}),
        ("tea -coffee", {"docs/tea.md", "notes/day.txt", "src/brew.py", "stock.csv"}),
        ('tea -"green tea"', {"docs/coffee.md", "notes/day.txt", "src/brew.py"}),
        ("roas*", {"docs/coffee.md"}),
        ("tea path:nowhere", set()),
        ("tea kind:code -brew", set()),
    ],
)
def test_filters_narrow_before_ranking(columns, question, expected):
    """Paths, kinds, times, phrases, exclusions and beginnings: only what they leave is ranked, and all of it."""
    assert set(paths(search(columns, question))) == expected
    one = search(columns, question, limit=1)
    assert len(one.hits) == bool(expected)
    assert set(paths(one)) <= expected


def test_hits_are_units_with_their_words(columns):
    """A hit is a unit of its document, with its scores, its time and the words of the question that it has."""
    documents = {document.path: document for document in CORPUS}
    found = search(columns, "green tea")
    for hit in found.hits:
        names = terms_of(documents[hit.path].content[hit.start : hit.end]).names
        assert set(hit.terms) == {word for word in ("green", "tea") if word.encode() in names}
        assert hit.time == documents[hit.path].time
        assert hit.score > 0
        assert hit.lexical > 0
    assert [hit.order for hit in found.hits] == sorted(hit.order for hit in found.hits)


def test_the_word_itself_stands_above_its_inflections(laid):
    """Of two units that are alike but for the form of the word, the one with the question's own form is better."""
    english = "This is what the people of the house have been told about it. "
    documents = [Document("a.md", english + "The lamps burn."), Document("b.md", english + "The lampe burn.")]
    documents += [Document("c.md", english + "The lamp burns.")]
    columns = laid(documents)
    assert search(columns, "lamp").hits[0].path == "c.md"
    assert search(columns, "lamps").hits[0].path == "a.md"
    assert {"a.md", "c.md"} <= set(paths(search(columns, "lamp")))


def test_a_phrase_stands_above_its_neighbours(laid):
    """Units with the very words in quotation marks come first, however much their neighbours have of the words."""
    around = "Tea that is green, green and tea, so much tea and green leaf. " * 3
    columns = laid([Document("a.md", f"{around}Here green tea is named once. {around}"), Document("b.md", around)])
    found = search(columns, '"green tea"')
    assert paths(found) == ["a.md"]
    has = [b"green tea is" in columns.snapshot.read(1, hit.start, hit.end) for hit in found.hits]
    assert has.count(True) == 1
    assert has[0]
    assert [hit.order for hit in found.hits] == sorted(hit.order for hit in found.hits)
    assert paths(search(columns, '"green tea" "leaf. Here"')) == ["a.md"]


def test_a_phrase_that_stands_nowhere_is_asked_word_by_word(columns):
    """A title in quotation marks that no document has does not empty the answer."""
    assert "docs/coffee.md" in paths(search(columns, 'Is "coffee and scones" roasted?'))
    assert paths(search(columns, '"black tea" "coffee and scones"')) == ["docs/coffee.md"]


def test_a_phrase_in_a_script_without_blanks(laid):
    """Terms that overlap in the text are found side by side."""
    columns = laid([Document("a.md", "南美的亚马逊雨林。"), Document("b.md", "亚洲的马和逊色的雨林。")])
    assert paths(search(columns, "“亚马逊”雨林")) == ["a.md"]
    assert paths(search(columns, "「亚马逊雨林」")) == ["a.md"]


def test_filters_alone_give_beginnings(columns):
    """Without words, the first unit of each document that passes, the newest first and those without a time last."""
    found = search(columns, "-path:nowhere")
    assert paths(found) == ["stock.csv", "notes/day.txt", "docs/coffee.md", "docs/tea.md", "src/brew.py"]
    assert [path for path, _ in found.documents] == paths(found)
    assert all(hit.start == 0 for hit in found.hits[:5])
    assert [hit.path for hit in found.hits[5:8]] == ["stock.csv", "docs/coffee.md", "docs/tea.md"]
    assert [hit.order for hit in found.hits] == sorted(hit.order for hit in found.hits)
    assert sum(hit.end - hit.start for hit in found.hits) == sum(len(document) for document in CORPUS)
    for limit in range(1, 9):
        assert search(columns, "-path:nowhere", limit=limit).hits == found.hits[:limit]
    assert paths(search(columns, "path:docs -roasted")) == ["docs/tea.md"]
    assert search(columns, "path:nowhere").hits == ()
    assert search(columns, "qqq path:docs").hits == ()


@pytest.mark.parametrize("seed", range(3))
def test_filters_alone_take_turns(laid, seed):
    """Whatever the corpus, units come in turns: the k-th of any document before the next one of any other."""
    documents = corpus(seed)
    found = search(laid(documents, batch=4), "kind:prose", limit=10_000)
    turns: dict[str, int] = {}
    order = []
    for hit in found.hits:
        order.append(turns.setdefault(hit.path, 0))
        turns[hit.path] += 1
    assert order == sorted(order)
    assert {hit.path for hit in found.hits} == {each.path for each in documents if each.kind == "prose" and len(each)}


def test_a_question_that_was_understood_gives_the_best_of_any_number(laid):
    """Whatever was asked of it before, the best so many places are those of a search for as many."""
    columns = laid(corpus(3, count=40))
    for question in ("green tea in the harbour", "path:tea", "lamp -river"):
        asked = parse_question(columns, question, operators=True)
        for limit in (1, 500, 3, 900, 40):
            assert best_of(asked, limit=limit) == search(columns, question, limit=limit)


def test_limit_is_a_prefix(columns):
    """Fewer hits are the first of more."""
    every = search(columns, "green tea pot").hits
    for limit in (1, 2, len(every)):
        assert search(columns, "green tea pot", limit=limit).hits == every[:limit]


def test_census_counts_all_forms(columns):
    """How often each word stands in the corpus, inflections and words written apart included."""
    census = dict(search(columns, "greens databases tea").census)
    assert census == {"greens": 4, "databases": 1, "tea": 8}


def test_repair_never_touches_what_the_corpus_knows(columns):
    """A known word is taken at its word."""
    assert search(columns, "tea green coffee").corrections == ()


def test_a_word_of_weight_beats_words_that_only_ask(laid):
    """In code the words of a question are rare, and still say nothing."""
    columns = laid(
        [
            Document("a.py", "# how does it do that, what is it for, and why\nx = 1\n"),
            Document("b.py", "def parse_header(line):\n    return line.split()\n"),
        ]
    )
    assert paths(search(columns, "how does parse_header do that"))[0] == "b.py"


def test_newer_documents_gain_by_half_lives(laid):
    """The newest gains most, one half-life older half of that; a document without a time gains nothing."""
    text = "Tea at four."
    columns = laid([Document(f"{n}.md", text, time=time) for n, time in enumerate([0, 30 * DAY, 60 * DAY, None])])
    assert len({hit.score for hit in search(columns, "tea").hits}) == 1
    assert [hit.path for hit in search(columns, "tea", recent_days=30).hits] == ["2.md", "1.md", "0.md", "3.md"]


def test_recency_without_any_time(laid):
    """Where nothing has a time, nothing changes."""
    columns = laid([Document("a.md", "Tea."), Document("b.md", "Tea. Tea.")])
    assert search(columns, "tea", recent_days=1).hits == search(columns, "tea").hits


def test_another_questions_filters(columns):
    """`within` lends its filters and nothing else."""
    found = search(columns, "green", within=read("coffee path:notes"))
    assert paths(found) == ["notes/day.txt"]


def test_a_long_question_keeps_its_rarest_words(laid):
    """Beyond the limit common words go first, and absent ones before all."""
    many = " ".join(f"word{n}" for n in range(MOST_WORDS + 20))
    columns = laid([Document("a.md", f"{many}. " * 3), Document("b.md", "A zeppelin. Words: " + many)])
    found = search(columns, f"absent {many} zeppelin")
    assert len(found.query.terms) == MOST_WORDS
    assert "zeppelin" in dict(found.census)
    assert "absent" not in dict(found.census)


def test_a_name_lifts_its_document(laid):
    """A word in the path counts as if it stood in the text, for documents that say something of the question."""
    columns = laid([Document("a.md", "Tea is served."), Document("harbour.md", "Tea is served.")])
    assert paths(search(columns, "harbour tea"))[0] == "harbour.md"


def test_a_name_alone_finds_its_document(laid):
    """A word that stands in a path or title only leads to the beginning of that document."""
    long = Document("harbour.md", "Ships lie here. " * 200)
    columns = laid([Document("a.md", "Tea is served."), long, Document("harbour/empty.md", "")])
    found = search(columns, "harbour", limit=5)
    assert paths(found) == ["harbour.md"]
    assert found.hits[0].start <= len("Ships lie here. ")
    assert found.census == (("harbour", 0),)


@pytest.mark.parametrize(
    "question", ["", " ", "?!", "\x00", "\ud800", '"', "*", "-", "path:", "absent", "\u202e", "a" * 5_000]
)
def test_nothing_asked_nothing_found(columns, question):
    """No question is an error."""
    assert search(columns, question).hits == ()
