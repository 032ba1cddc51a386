"""Who gets which share of the budget (085b §5.5, ruling 13)."""

from functools import partial

import pytest

from brimful import Document
from brimful.search.pools import RELATED_SHARE, Pool, Related, load_synonyms, pools_of, related_to
from brimful.search.query import parse_query
from brimful.search.search import search as search_text

search = partial(search_text, operators=True)
read = partial(parse_query, operators=True)


CORPUS = [
    Document("tea.md", "Tea is green. Tea steams in a kettle. The kettle sings. " * 4),
    Document("pot.md", "A pot of brass. The pot is old. The kettle is new. " * 4),
    Document("far.md", "Lamps by the harbour. The kettle whistles. " * 4),
]


@pytest.fixture
def columns(laid):
    """Three documents."""
    return laid(CORPUS)


def related(*words):
    """Related terms of somebody's choice."""
    return tuple(Related((word,), 500, "synonym") for word in words)


def test_without_related_terms_all_is_direct(columns):
    """The budget is split evenly over the question's words that have hits."""
    pools = pools_of(columns, search(columns, "tea pot absent"), tokens=1_000)
    assert [pool.tokens for pool in pools] == [500, 500]


@pytest.mark.seed(
    "085b §5.5", "70 % for the question's terms, evenly, 30 % for related ones", where="search/pools.py", ruling=13
)
def test_seventy_thirty(columns):
    """Seventy for the question's words, evenly; thirty for related ones, evenly."""
    found = search(columns, "tea pot")
    pools = pools_of(columns, found, tokens=1_000, related=related(b"kettle", b"harbour", b"absent"))
    assert [pool.tokens for pool in pools] == [350, 350, 150, 150]
    assert sum(pool.tokens for pool in pools) <= 1_000


def test_each_pool_has_the_hits_of_its_word(columns):
    """Each word by its own census: a hit is in a pool if and only if it has the pool's word."""
    found = search(columns, "tea pot")
    tea, pot, kettle = pools_of(columns, found, tokens=100, related=related(b"kettle"))
    assert tea.hits == tuple(hit for hit in found.hits if "tea" in hit.terms)
    assert pot.hits == tuple(hit for hit in found.hits if "pot" in hit.terms)
    assert all(hit.terms == ("kettle",) for hit in kettle.hits)
    assert {hit.path for hit in kettle.hits} == {"tea.md", "pot.md", "far.md"}


def test_related_hits_count_for_less(columns):
    """They are searched together with the question's own words, and count a quarter of what they are worth there."""
    beside = {(hit.path, hit.start): hit.score for hit in search(columns, "tea harbour").hits}
    *_, pool = pools_of(columns, search(columns, "tea"), tokens=100, related=related(b"harbour"))
    assert pool.is_related
    assert pool.hits
    assert all(hit.score == beside[hit.path, hit.start] * RELATED_SHARE for hit in pool.hits)


@pytest.mark.seed("085b §5.5", "each hit gets room once", where="search/pools.py", ruling=13)
def test_each_hit_is_in_one_pool(columns):
    """A place that has several words, related ones too, gets room once."""
    pools = pools_of(columns, search(columns, "tea kettle"), tokens=100, related=related(b"steams", b"sings", b"new"))
    places = [(hit.path, hit.start) for pool in pools for hit in pool.hits]
    assert len(places) == len(set(places))
    assert sum(not pool.is_related for pool in pools) == 2


@pytest.mark.seed("085b §5.5", "a word has one share, however it is written", where="search/pools.py")
def test_what_is_written_together_shares_the_pool_of_its_word(laid):
    """`data base` also stands as `database`, and a quoted phrase has its words' places: neither gets a share more."""
    columns = laid([Document("a.md", "The data base. A database of tea. Data is here. The base is there. " * 3)])
    for question in ("data base", '"data base" tea'):
        found = search_text(columns, question)
        pools = pools_of(columns, found, tokens=900)
        assert len(pools) == len({asked.term for asked in found.query.terms if not asked.is_part})


@pytest.mark.seed("085b §5.5", "related terms stay on topic", where="search/pools.py")
def test_a_single_letter_has_no_company(laid):
    """The d of "vitamin d" brings nothing of its own; what vitamin brings is searched beside it."""
    columns = laid(
        [Document("v.md", "Vitamin d deficiency weakens bones. " * 9), Document("e.md", "DNase d cuts chains. " * 9)]
    )
    near = related_to(columns, search(columns, "vitamin d"))
    assert b"dnase" not in {term for each in near for term in each.terms}


def test_filters_hold_for_related_terms_too(columns):
    """What the question refuses comes in by no side door."""
    for question in ("tea -path:far.md", "tea -harbour"):
        *_, pool = pools_of(columns, search(columns, question), tokens=100, related=related(b"kettle"))
        assert {hit.path for hit in pool.hits} == {"tea.md", "pot.md"}


def test_little_words_get_no_share(columns):
    """Words that only ask get a share only where there is nothing else."""
    assert len(pools_of(columns, search(columns, "is the tea in a pot"), tokens=100)) == 2
    assert len(pools_of(columns, search(columns, "is the"), tokens=100)) == 2


def test_nothing_found_no_pool(columns):
    """A question without hits shares nothing out."""
    assert pools_of(columns, search(columns, "zeppelin"), tokens=100) == []


def test_related_terms_are_none_of_the_questions(columns):
    """Up to five for each word, each once, and no word that was asked."""
    found = search(columns, "tea pot")
    near = related_to(columns, found)
    assert all(not {b"tea", b"pot"}.intersection(each.terms) for each in near)
    assert len({each.terms for each in near}) == len(near) <= 10


@pytest.mark.seed("085b §5.5", "five related terms from a synonym ring", where="search/pools.py", ruling=13)
def test_a_synonyms_file_decides(columns, tmp_path):
    """The user's own words come instead of what the corpus would suggest."""
    file = tmp_path / "synonyms.txt"
    file.write_text("tea: harbour, lamps\n")
    near = related_to(columns, search(columns, "tea"), synonyms=load_synonyms(file))
    assert {term for each in near for term in each.terms} >= {b"harbour", b"lamps"}


def test_a_pool_is_hits_and_tokens():
    """Nothing else is shared out."""
    assert Pool((), 3) == Pool(hits=(), tokens=3)


def test_question_is_understood_once(columns):
    """A query that was parsed already gives the same pools."""
    assert pools_of(columns, search(columns, read("tea pot")), tokens=9) == pools_of(
        columns, search(columns, "tea pot"), tokens=9
    )
