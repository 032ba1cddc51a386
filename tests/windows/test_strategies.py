"""Strategies: which windows are linked, and why."""

import pytest

from brimful import Document, Hit, Window, WindowSettings, inflate, pack
from brimful.windows.strategies import link
from brimful.windows.window import Cluster

HOUR = 3_600


def chat(name, text, time=None, **known):
    """One message as a document of its own, wholly hit."""
    document = Document(f"{name}.txt", text, time=time, **known)
    return document, Hit(document.path, 0, len(document), 1.0)


def clusters(strategy, *messages):
    """The paths of each cluster, and of each window that is in none."""
    documents, hits = zip(*messages, strict=True)
    found = inflate(hits, documents, strategy=strategy)
    members = (item.windows if isinstance(item, Cluster) else (item,) for item in found.items)
    return found, sorted(tuple(window.path[0] for window in each) for each in members)


@pytest.mark.seed(
    "085b requirements §3", "temporal: close times and related content", where="windows/strategies.py", ruling=14
)
def test_temporal_needs_close_times_and_related_content():
    """Close and related are linked; close but unrelated are not; related but far apart are not."""
    _, found = clusters(
        "temporal",
        chat("a", "the kettle whistles in the kitchen", 0),
        chat("b", "that kettle is far too loud", 600),
        chat("c", "quarterly numbers look poor", 700),
        chat("d", "the kettle whistles in the kitchen", 600 + 2 * HOUR),
    )
    assert found == [("a", "b"), ("c",), ("d",)]


def test_temporal_order_is_time_order():
    """A cluster is shown in the order of its times, whatever the scores."""
    inflation, _ = clusters(
        "temporal",
        chat("b", "kettle loud indeed", 600),
        chat("a", "kettle loud maybe", 0),
        chat("c", "kettle loud", 900),
    )
    context = pack(inflation, budget=200)
    assert [window.path for window in context.windows] == ["a.txt", "b.txt", "c.txt"]
    assert context.text.count("[DOC: ") == 3


@pytest.mark.seed("085b requirements §3", "semantic: high similarity", where="windows/strategies.py", ruling=14)
def test_semantic_by_vectors():
    """High similarity of vectors links, whatever the words."""
    _, found = clusters(
        "semantic",
        chat("a", "one", vector=(1.0, 0.0)),
        chat("b", "two", vector=(0.9, 0.1)),
        chat("c", "three", vector=(0.0, 1.0)),
    )
    assert found == [("a", "b"), ("c",)]


def test_semantic_by_words():
    """Without vectors the words decide."""
    _, found = clusters(
        "semantic",
        chat("a", "copper kettles boil water quickly"),
        chat("b", "kettles of copper boil water"),
        chat("c", "parliament debated taxes yesterday"),
    )
    assert found == [("a", "b"), ("c",)]


@pytest.mark.seed(
    "085b requirements §3",
    "narrative: shared entities and time moving forward",
    where="windows/strategies.py",
    ruling=14,
)
def test_narrative_needs_shared_entities_and_time_moving_forward():
    """Ada's story is followed in time; Grace's is another."""
    inflation, found = clusters(
        "narrative",
        chat("c", "Later Ada sold it.", 3_000_000),
        chat("a", "Ada bought a brewery.", 1_000_000),
        chat("b", "Then Ada repaired it.", 2_000_000),
        chat("d", "Grace found a moth.", 1_500_000),
    )
    assert found == [("a", "b", "c"), ("d",)]
    story = next(cluster for cluster in inflation.clusters if len(cluster.windows) == 3)
    assert [window.time for window in story.windows] == [1_000_000, 2_000_000, 3_000_000]


def test_narrative_uses_given_entities():
    """Entities that the caller knows replace the guess."""
    _, found = clusters(
        "narrative",
        chat("a", "she left", 1, entities=("Ada",)),
        chat("b", "he stayed", 2, entities=("Charles",)),
        chat("c", "she returned", 3, entities=("Ada",)),
    )
    assert found == [("a", "c"), ("b",)]


@pytest.mark.seed("085b §1", "only adjacent pieces merge bytes", where="windows/strategies.py", ruling=14)
def test_only_adjacent_merges_bytes():
    """Linked windows keep their own ranges and citations (ruling 14)."""
    inflation, _ = clusters("temporal", chat("a", "kettle on", 0), chat("b", "kettle off", 10))
    assert [len(window.span) for window in inflation] == [9, 10]
    assert all(window.strategy == "temporal" for window in inflation)
    assert inflate([], [], strategy="temporal").clusters == ()


def test_coherence_of_a_cluster_is_explained():
    """Each part says its value, weight and reason; the score is their mean."""
    inflation, _ = clusters("narrative", chat("a", "Here Ada came.", 0), chat("b", "Then Ada went.", 60))
    coherence = inflation.clusters[0].coherence
    assert [part.name for part in coherence.parts] == ["likeness", "closeness", "entities", "windows"]
    assert all(part.why and 0 <= part.value <= 1 for part in coherence.parts)
    assert 0.5 < coherence.score < 1.0


@pytest.mark.parametrize("strategy", ["adjacent", "temporal", "semantic", "narrative"])
def test_every_window_is_in_exactly_one_cluster(strategy):
    """Linking loses nothing and doubles nothing."""
    windows = [Window(f"{n}.md", f"Ada said {n} things about tea", score=n % 3, time=n * 900) for n in range(20)]
    linked = [
        window.path
        for item in link(windows, strategy)
        for window in (item.windows if isinstance(item, Cluster) else (item,))
    ]
    assert sorted(linked) == sorted(window.path for window in windows)


@pytest.mark.parametrize("strategy", ["temporal", "semantic", "narrative"])
@pytest.mark.seed(
    "085b §1", "what belongs to no cluster stays in its document", where="windows/strategies.py", ruling=20
)
def test_a_window_that_links_to_none_stays_in_its_document(strategy):
    """Ruling 20: nine unrelated windows of one document stand under one header, read from the best one on."""
    words = "kettle harbour lantern orchard granite velvet copper meadow thunder".split()
    text = "\n\n".join(f"{word} {word} {word}." + "." * 600 for word in words)
    page = Document("page.txt", text)
    hits = [Hit.of(page, f"{word} {word} {word}", score=at * 7 % 9) for at, word in enumerate(words)]
    inflation = inflate(hits, [page], max_bytes=1_500, strategy=strategy, settings=WindowSettings(snap=False))
    assert len(inflation) > 1
    assert inflation.clusters == ()
    context = pack(inflation, budget=2_000, fill="relevant")
    assert context.text.count("[DOC: ") == 1
    starts = [window.start for window in context.windows]
    first = starts.index(min(starts))  # a document begins with its best window and goes on from there
    assert [*starts[first:], *starts[:first]] == sorted(starts)
    assert {window.strategy for window in context.windows} == {"adjacent"}


MONTH = 30 * 24 * HOUR


@pytest.mark.seed("085b requirements §3", "temporal progression has an end", where="windows/strategies.py")
def test_narrative_does_not_link_after_a_long_pause():
    """The same name a year later is another story."""
    story = [chat("a", "Here Ada came.", 0), chat("b", "Then Ada went.", 60)]
    later = chat("c", "Again Ada came.", 12 * MONTH)
    assert clusters("narrative", *story, later)[1] == [("a", "b"), ("c",)]


@pytest.mark.seed("085b requirements §3", "entities are names, not large letters", where="windows/strategies.py")
def test_narrative_by_names_not_by_large_letters():
    """A word that begins sentences, or that also stands small, names nobody."""
    _, found = clusters(
        "narrative",
        chat("a", "Wow, the market opened. Tomorrow we go.", 0),
        chat("b", "Wow, nobody paid. Market day is over tomorrow.", 60),
    )
    assert found == [("a",), ("b",)]


def test_narrative_in_german_is_not_about_every_noun():
    """Nouns are written large there: only Ada Lovelace links, not the house or the water."""
    _, found = clusters(
        "narrative",
        chat("a", "Gestern sah Ada Lovelace das Haus am Wasser und die Mühle im Wald.", 0),
        chat("b", "Heute brannte das Haus am Wasser, und die Leute vom Dorf kamen mit Eimern.", 60),
        chat("c", "Morgen schreibt Ada Lovelace einen Brief an die Leute im Tal.", 120),
    )
    assert found == [("a", "c"), ("b",)]


def test_narrative_ignores_what_everybody_names():
    """Ten messages that all name the same two people are no story; the two about Porto are."""
    messages = [
        chat(str(at), f"So on that day Melanie had asked Caroline all about {word} over some cake and tea.", at * 60)
        for at, word in enumerate("tea rum trips pots Porto paint songs Porto clay runs".split())
    ]
    _, found = clusters("narrative", *messages)
    assert [each for each in found if len(each) > 1] == [("4", "7")]


def test_narrative_follows_answers():
    """An answer has the subject of the mail that it answers, whatever it names."""
    _, found = clusters(
        "narrative",
        chat("a", "Subject: The kettle\n\nIt leaks.", 0),
        chat("b", "Subject: AW: Re: the kettle\n\nSend it back.", 60),
        chat("c", "Subject: Lunch\n\nAt noon.", 90),
    )
    assert found == [("a", "b"), ("c",)]


def test_narrative_follows_a_word_that_points_back():
    """A window that opens with `She` belongs to the one shortly before it."""
    filler = "Nothing else was said that day in the long hall. " * 12
    text = f"Once the old baker sold bread. {filler}She closed the shop at noon. {filler * 4}The river rose by night."
    page = Document("page.txt", text)
    hits = [Hit.of(page, each) for each in ("old baker sold", "closed the shop", "river rose")]
    windows = [Window.cut(page, hit.start - offset, hit.end + 4) for hit, offset in zip(hits, (9, 4, 4), strict=True)]
    linked = link(windows, "narrative")
    assert [len(item.windows) for item in linked if isinstance(item, Cluster)] == [2]
