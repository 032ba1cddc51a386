"""The engine: what the seeds promise, end to end; hostile questions; many who ask at once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product

import pytest

import brimful.engine
import brimful.store.documents
from brimful import Document, tokens_for
from brimful.corpus import KEPT_CONTEXTS
from brimful.engine import open as open_store
from brimful.errors import InputError, SettingError, StoreError
from brimful.neural.embedders import wrap
from brimful.search import search as searching
from brimful.settings import CFS, SIZINGS, AskSettings, FieldSettings
from brimful.store.writing import NewDocument

FILLER = "The ship lay in the harbour and the crew slept below. Nobody spoke of the voyage that evening. "
CHAPTER = (
    "# Limerence\n\n"
    "Limerence is a state of mind that comes from a romantic attraction. It is not the same as love. "
    "Whoever is in limerence thinks of little else. Some call it an obsession, others a fever of the heart. "
    + "It fades within three years for most, and leaves them wondering. " * 10
    + "\n\n"
)


@pytest.fixture
def engine(tmp_path):
    """A small library: one chapter about limerence, a letter in every book, and one on consciousness."""
    with open_store(tmp_path / "store.db") as made:
        made.add_documents(
            [
                Document("minds.md", FILLER * 30 + CHAPTER + "# Later\n\n" + FILLER * 30, time=1_000),
                *(
                    Document(
                        f"book{n}.md",
                        "".join(map(f"{FILLER * 12}Letter %d came to captain {n}. ".__mod__, range(8))),
                        time=86_400 * n,
                    )
                    for n in range(12)
                ),
                Document(
                    "mind.md", "Consciousness is awareness of oneself. Philosophers argue about consciousness. " * 4
                ),
                Document(
                    "machines.md", "A machine is built of parts. Every machine wears out. Machines need oil. " * 30
                ),
            ]
        )
        yield made


# ---- the seeds' statements


@pytest.mark.parametrize("sizing", ["field", "elastic", "density"])
@pytest.mark.seed("105 §2.1", "narrow questions get large windows", where="building.py")
def test_a_rare_term_gets_a_large_window_and_a_common_one_many_small_ones(engine, sizing):
    """085a §3, 105 §2.2: the same budget is one long window for a rare term, many short ones for a common term."""
    rare = engine.context("limerence", budget=900, sizing=sizing, fill="relevant")
    common = engine.context("letter", budget=900, sizing=sizing, fill="relevant")

    def longest(context):
        return max(window.end - window.start for window in context.windows)

    assert len(rare.windows) <= 3 < 8 <= len(common.windows)
    assert longest(rare) > 2 * longest(common)
    assert "romantic attraction" in rare.text


def test_a_typo_finds_what_was_meant(engine):
    """105 §3: "conciousness" finds consciousness, "limerance" limerence, and the context says so."""
    context = engine.context("conciousness", budget=200)
    assert context.windows[0].path == "mind.md"
    assert [(each.word, each.term) for each in context.corrections] == [(b"conciousness", b"consciousness")]
    assert engine.context("limerance", budget=200).windows[0].path == "minds.md"


@pytest.mark.parametrize("sizing", SIZINGS)
def test_a_typo_does_not_leave_the_other_word_alone(engine, sizing):
    """105 §3.1: "conciousness machine" does not fall back to windows about machines alone."""
    context = engine.context("conciousness machine", budget=600, sizing=sizing)
    assert "onsciousness" in context.text
    if sizing == "field":
        assert context.windows[0].path == "mind.md"


@pytest.mark.seed("105 §5", "large budgets return large blocks", where="building.py")
def test_large_budgets_return_large_coherent_blocks(tmp_path):
    """105 §5: 12,000 tokens are blocks of text, not fragmented sentences."""
    with open_store(tmp_path) as made:
        chapter = "The lighthouse keeper wrote of the storm. " + FILLER * 60
        made.add_documents([Document(f"volume{n}.md", chapter * 6) for n in range(4)])
        question = "What did the lighthouse keeper write of the storm?"
        context = made.context(question, budget=12_000, twin_threshold=None)  # the volumes are copies of one another
        assert context.tokens >= 11_760
        sizes = [window.end - window.start for window in context.windows]
        assert sum(sizes) / len(sizes) >= 2_000
        for window in context.windows:
            cuts = set(window.document.outline.units.tolist())
            assert (window.start in cuts) + (window.end in cuts) >= 1, "at most the last one ends at a word"


@pytest.mark.seed("105 §2.3", "census, calculation, inflation", where="building.py")
def test_census_decides_the_radius_before_anything_is_inflated(engine):
    """105 §2.3: twice the hits, half the radius; the budget is in bytes, the census is of the whole corpus."""
    sizes = {}
    for word, budget in (("limerence", 4_000), ("letter", 4_000)):
        context = engine.context(word, budget=budget, sizing="elastic", fill="relevant")
        hits = {hit for window in context.windows for hit in window.hits}
        census = engine.columns.census(word.encode())
        assert len(hits) <= census
        sizes[word] = max(window.end - window.start for window in context.windows) / 2
        radius = min(max(budget * 4 // census // 2, 200), 32_000)
        assert sizes[word] <= 3 * radius
    assert sizes["limerence"] > 4 * sizes["letter"]


def test_seventy_thirty_end_to_end(tmp_path):
    """085b §5.5: with related terms, two words share the most of the budget evenly, and company gets the rest."""
    with open_store(tmp_path) as made:
        made.add_documents(
            [Document(f"tea{n}.md", "The tea is in the samovar. " + FILLER * 6) for n in range(9)]
            + [Document(f"rum{n}.md", "The rum is in the barrel. " + FILLER * 6) for n in range(9)]
            + [Document(f"sam{n}.md", "A samovar of brass. " + FILLER * 6) for n in range(9)]
            + [Document(f"none{n}.md", FILLER * 6) for n in range(20)]
        )
        choices = {"sizing": "radial", "fill": "relevant", "trim": False}
        context = made.context("tea rum", budget=4_000, related=True, **choices)
        shares = dict.fromkeys(("tea", "rum", "sam"), 0)
        for window in context.windows:
            shares[window.path[:3]] += len(window.text)
        assert 0.6 < shares["tea"] / shares["rum"] < 1.7
        assert 0 < shares["sam"] < shares["tea"] + shares["rum"]
        alone = made.context("tea rum", budget=4_000, **choices)
        assert not any(window.path.startswith("sam") for window in alone.windows)


@pytest.mark.seed("CFS §11", "fifty candidates a leg, a hundred in all, packed", where="settings.py", ruling=6)
def test_cfs_profile(engine):
    """CFS §11: a hundred candidates, first fit, nothing cut; deterministic; the top three are among the first five."""
    for question in ("letter captain", "consciousness machine", "limerence", "ship harbour crew"):
        context = engine.context(question, budget=1_500, settings=CFS)
        assert engine.verify_determinism(question, budget=1_500, settings=CFS)
        assert not context.trimmed
        assert 0 < context.tokens <= 1_500
        best = sorted(context.windows, key=lambda window: window.order)[:3]
        first = context.windows[:5]
        assert all(window in first for window in best), question
        assert sum(len(window.hits) for window in context.windows) <= 100


# ---- what was asked, what is given


@pytest.mark.seed(
    "085b requirements §1", "window, source, start, end, molecules, strategy, coherence", where="windows/window.py"
)
def test_windows_are_as_the_interface_says(engine):
    """Path, bytes, lines, text, score; tokens are those of the text; no hits are an empty text, not an error."""
    context = engine.context("limerence", budget=500)
    assert context.tokens == tokens_for("o200k_base").count(context.text)
    for window in context.windows:
        content = engine.document(window.path).content
        assert content[window.start : window.end].decode() == window.text
        assert window.lines == (content[: window.start].count(b"\n") + 1, window.lines[1])
        assert window.score > 0
    nothing = engine.context("zeppelin", budget=500)
    assert (nothing.text, nothing.tokens, nothing.windows, nothing.omitted) == ("", 0, (), ())
    assert nothing.question == "zeppelin"


def test_filters_hold_to_the_last_window(engine):
    """Growing and related terms stay within what the filters allow."""
    for choices in ({}, {"sizing": "radial", "related": True}, {"strategy": "semantic"}):
        context = engine.context("letter", budget=3_000, path="book3.md", **choices)
        assert {window.path for window in context.windows} == {"book3.md"}
    after = engine.context("letter", budget=3_000, after="1970-01-10", twin_threshold=None)
    assert {window.path for window in after.windows} == {"book9.md", "book10.md", "book11.md"}


@pytest.mark.seed("CFS configuration", "prefer_recent", where="search/search.py", ruling=10)
def test_prefer_recent_puts_newer_first(engine):
    """Of the same words the newest come first, measured against the newest document, not against now."""
    recent = {"prefer_recent": True, "twin_threshold": None}  # the books are alike
    context = engine.context("letter", budget=4_000, **recent)
    paths = list(dict.fromkeys(window.path for window in context.windows))
    assert paths[:6] == [f"book{n}.md" for n in range(11, 5, -1)]


def test_another_time_is_another_context(engine):
    """The same text at another time is not what was kept: windows carry the new one."""
    engine.add_text("note.md", "A zeppelin came.", time=5)
    assert engine.context("zeppelin", budget=50).windows[0].time == 5
    engine.add_text("note.md", "A zeppelin came.", time=7)
    assert engine.context("zeppelin", budget=50).windows[0].time == 7
    assert engine.context("zeppelin", budget=50, include_metadata=True).text.count("1970-01-01T00:00:07Z") == 1


def test_another_title_is_another_context(engine):
    """A title counts in the ranking, so a context made before it changed is not given again."""
    note = Document("note.md", "Nothing is said here.")
    engine._store.add([NewDocument(note, title="Old")])
    assert engine.context("zeppelin", budget=50).text == ""
    engine._store.add([NewDocument(note, title="The zeppelin")])
    assert engine.context("zeppelin", budget=50).windows[0].path == "note.md"


def test_contexts_of_large_documents_are_let_go_sooner(engine):
    """What is kept holds no more bytes of documents than it may, the newest context aside."""
    engine.add_text("long.md", "Tea is served at four, and the kettle sings. " * 200)
    engine._contexts.most_bytes = 20_000
    for number in range(5):
        engine.context(f"When is tea number {number}?", budget=200)
    assert 1 <= len(engine._contexts) < 5
    engine._contexts.most_bytes = 1
    engine.context("Who sings?", budget=200)
    assert len(engine._contexts) == 1


@pytest.mark.seed("CFS caching", "contexts are cached by question, state and budget", where="corpus.py", ruling=16)
def test_contexts_are_kept_and_let_go(engine):
    """The same question is answered from the cache, which holds a bounded number; a change empties it."""
    first = engine.context("letter", budget=300)
    assert engine.context("letter", budget=300) is first
    assert engine.context("letter", budget=301) is not first
    assert engine.context("letter", budget=300, field=FieldSettings(near=0.2)) is not first
    for number in range(KEPT_CONTEXTS + 1):
        engine.context(f"letter {number}", budget=20)
    assert len(engine._contexts) == KEPT_CONTEXTS
    assert engine.context("letter", budget=300) is not first
    kept = engine.context("letter", budget=300)
    engine.add_text("z.md", "letter")
    assert engine.context("letter", budget=300) is not kept


def test_documents_are_kept_within_bounds(engine):
    """What was read is kept up to a size; the documents of the question itself always are."""
    engine._documents._kept.most_bytes = 10_000
    for question in ("limerence", "letter", "machine", "consciousness"):
        text = engine.context(question, budget=400).text
        assert text
    assert 0 < engine._documents._kept.held <= 10_000


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "3"])
def test_limits_are_checked(engine, limit):
    """A limit is a whole number of at least one."""
    with pytest.raises(SettingError, match="at least 1"):
        engine.search("tea", limit=limit)


@pytest.mark.parametrize(
    "choices", [{"sizing": "huge"}, {"format": "pdf"}, {"model": "nobody"}, {"top_k": 0}, {"budget": 0}]
)
def test_choices_are_checked(engine, choices):
    """A wrong choice is an error that names it, before anything is read."""
    with pytest.raises(InputError):
        engine.context("tea", **choices)


@pytest.mark.parametrize("question", [None, 3, b"tea", ["tea"]])
def test_a_question_is_a_text(engine, question):
    """Anything else is an error that says so."""
    with pytest.raises(InputError, match="question"):
        engine.context(question, budget=50)
    with pytest.raises(InputError, match="question"):
        engine.search(question)


# ---- chats


MAY = 1_714_557_600


def export():
    """Two conversations as ChatGPT exports them: trees of messages with times."""

    def conversation(title, start, said):
        mapping, parent = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}, "root"
        for number, (role, text) in enumerate(said):
            mapping[str(number)] = {
                "id": str(number),
                "parent": parent,
                "children": [str(number + 1)] if number + 1 < len(said) else [],
                "message": {
                    "author": {"role": role},
                    "create_time": start + 600.0 * number,
                    "content": {"content_type": "text", "parts": [text]},
                },
            }
            parent = str(number)
        return {"title": title, "create_time": start, "mapping": mapping, "current_node": parent}

    trip = [
        ("user", "Ada wants to visit Lisbon in May. Which hotel near the harbour is quiet?"),
        ("assistant", "The Albatroz in Lisbon is quiet, and the harbour is five minutes away."),
        ("user", "Ada booked the Albatroz for the tenth."),
    ]
    later = [
        ("user", "Ada is back from Lisbon. The hotel lost her green suitcase."),
        ("assistant", "Write to the Albatroz hotel, and describe the suitcase."),
    ]
    other = [("user", "How long do I boil an egg?"), ("assistant", "Seven minutes for a firm hotel breakfast egg.")]
    return [
        conversation("Lisbon", MAY, trip),
        conversation("Suitcase", MAY + 3_000, later),
        conversation("Eggs", MAY + 300 * 86_400, other),
    ]


@pytest.fixture
def chats(tmp_path):
    """The export, added as a file."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "conversations.json").write_text(json.dumps(export()))
    with open_store(tmp_path / "chats.db") as made:
        made.add(tmp_path / "in")
        yield made


def test_chats_are_linked_by_time(chats):
    """What was said within the hour about the same stands together in time order; the rest by itself."""
    context = chats.context("hotel Albatroz", budget=600, strategy="temporal", fill="relevant")
    times = [window.time for window in context.windows]
    assert all(window.strategy == "temporal" for window in context.windows)
    lisbon = [time for time in times if time < MAY + 86_400]
    assert len(lisbon) >= 2
    assert lisbon == sorted(lisbon)
    places = [at for at, time in enumerate(times) if time < MAY + 86_400]
    assert places == list(range(places[0], places[0] + len(places)))
    assert {window.time for window in context.windows} <= {MAY + 600 * n for n in range(3)} | {
        MAY + 3_000,
        MAY + 3_600,
        MAY + 300 * 86_400,
        MAY + 300 * 86_400 + 600,
    }
    assert MAY in times, "the first message's, not the conversation's last"


def test_chats_are_linked_as_a_story(chats):
    """Who is spoken of, in the order of time."""
    context = chats.context("Ada Lisbon", budget=600, strategy="narrative", fill="relevant")
    times = [window.time for window in context.windows]
    assert times == sorted(times)
    assert "suitcase" in context.text
    assert context.text.index("booked the Albatroz") < context.text.index("green suitcase")


def test_chats_are_linked_by_meaning(chats):
    """Windows that resemble the best one stand with it; each has its own citation."""
    context = chats.context("hotel", budget=600, strategy="semantic", fill="relevant")
    assert len(context.blocks) == len(context.windows) >= 2
    assert context.drift() == []


# ---- hostile questions


HOSTILE = {
    "empty": "",
    "blank": " \t\n",
    "long": "limerence " * 10_000,
    "one long word": "x" * 100_000,
    "many terms": "limerence " + " ".join(f"word{n}" for n in range(10_000)),
    "many exclusions": "limerence " + " ".join(f"-word{n}" for n in range(5_000)),
    "many phrases": " ".join(f'"the ship {n}"' for n in range(2_000)),
    "many beginnings": " ".join(f"{a}{b}*" for a in "abcdefgh" for b in "abcdefghijklmnop"),
    "punctuation": "?!.,;:()[]{}<>\"'`~@#$%^&*-_=+|\\/" * 500,
    "controls": "".join(map(chr, range(32))) + "\x7f\x85",
    "right to left": "שלום \u202eecneremil\u202c مرحبا",
    "nul": "\x00limerence\x00",
    "surrogate": "limerence \ud800\udfff \udc00",
    "filter alone": "path:",
    "filters": "path:* kind: after: before:x kind:banana",
    "markup": "<|endoftext|> [DOC: x] ``` </context>",
    "sql": "'; DROP TABLE documents; -- % _ \\",
}


@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("sizing", ["field", "radial"])
def test_no_question_is_an_error(engine, question, sizing):
    """Whatever is asked: within the budget, the same twice, and an empty context is a result."""
    context = engine.context(question, budget=300, sizing=sizing, related=sizing != "field")
    assert context.tokens <= 300
    assert context.question == question.encode("utf-8", "replace").decode()
    assert engine.verify(context.receipt, text=context.text) == []
    assert bool(context.text) == bool(engine.search(question).hits)
    if "limerence" in question and "-word" not in question[:20]:
        assert "imerence" in context.text


def test_a_word_of_very_many_hits(tmp_path):
    """Hundreds of thousands of places: the work is bounded by the blocks that are looked at."""
    with open_store(tmp_path) as made:
        made.add_documents([Document(f"{n}.txt", "tea " * 100_000) for n in range(3)])
        context = made.context("tea", budget=1_000)
        assert 980 <= context.tokens <= 1_000


@pytest.mark.parametrize("documents", [[], [("a.md", "")], [("a.md", ""), ("b.txt", "")], [("a.md", " \n ")]])
def test_a_store_that_says_nothing(tmp_path, documents):
    """No documents, or empty ones: every question gives an empty context."""
    with open_store(tmp_path) as made:
        made.add_documents([Document(path, text) for path, text in documents])
        for sizing in SIZINGS:
            context = made.context("tea", budget=100, sizing=sizing)
            assert (context.text, context.tokens) == ("", 0)
        assert made.search("tea").hits == ()


def test_one_document_of_one_byte(tmp_path):
    """The smallest corpus is found and shown."""
    with open_store(tmp_path) as made:
        made.add_text("a.md", "x")
        assert made.context("x", budget=20).text == "[DOC: a.md]\nx\n"
        assert made.context("x", budget=1).text == ""


# ---- documents too long to be read whole


@pytest.mark.parametrize("sizing", SIZINGS)
@pytest.mark.parametrize("strategy", ["adjacent", "narrative"])
def test_long_documents_are_shown_in_stretches(engine, monkeypatch, sizing, strategy):
    """Windows of documents that are read in places are packed and cited right, beside short ones, no byte twice."""
    whole = {path: engine.document(path) for path in engine.columns.documents.paths}
    monkeypatch.setattr(brimful.store.documents, "LONGEST_WHOLE", 5_000)
    context = engine.context(
        "limerence romantic attraction machine consciousness",
        budget=900,
        sizing=sizing,
        strategy=strategy,
        related=sizing != "field",
    )
    parts = [window for window in context.windows if not window.document.is_whole]
    assert {window.path for window in parts} & {"minds.md", "machines.md"}
    for window in context.windows:
        assert window.lines == whole[window.path].lines(window.start, window.end)
    shown = sorted((window.path, window.start, window.end) for window in context.windows)
    for one, other in pairwise(shown):
        assert one[0] != other[0] or one[2] <= other[1]
    assert context.drift(whole) == []
    assert engine.verify(context.receipt, text=context.text) == []
    assert 882 <= context.tokens <= 900


@pytest.mark.parametrize(("sizing", "budget"), list(product(SIZINGS, (60, 500, 3_000))))
def test_a_long_document_is_shown_as_a_short_one_is(tmp_path, monkeypatch, sizing, budget):
    """What was read around the hits gives the same context, bytes and lines as the document read whole."""
    with open_store(tmp_path) as engine:
        lines = [f"Line {n} is about é tea. It says number {n * n}.\n" * (1 + n % 3) for n in range(4_000)]
        lines[1_700] = "Only here limerence is said. " * 3 + "\n\n"
        lines[3_900] = "Limerence again, " * 40 + "\n\n"
        engine.add_text("long.txt", "".join(lines))
        for question in ("limerence", "number 2890000 limerence tea"):
            whole = engine.context(question, budget=budget, sizing=sizing)
            expected = [window.lines for window in whole.windows]
            engine._contexts.clear()
            with monkeypatch.context() as patch:
                patch.setattr(brimful.store.documents, "LONGEST_WHOLE", 5_000)
                parts = engine.context(question, budget=budget, sizing=sizing)
                found = engine.lines("long.txt", 90_000, 90_100), engine.text("long.txt", 90_000, 90_100)
            assert parts.text == whole.text
            assert not any(window.document.is_whole for window in parts.windows)
            assert [window.lines for window in parts.windows] == expected
            assert engine.verify(parts.receipt, text=parts.text) == []
            assert found == (engine.lines("long.txt", 90_000, 90_100), engine.text("long.txt", 90_000, 90_100))


def test_hits_that_touch_are_one_stretch(engine, monkeypatch):
    """The chapter of a long document comes as a block, marked where the document goes on."""
    monkeypatch.setattr(brimful.store.documents, "LONGEST_WHOLE", 5_000)
    context = engine.context("limerence romantic attraction", budget=400)
    best = min(context.windows, key=lambda window: window.order)
    assert best.path == "minds.md"
    assert len(best.hits) > 2
    assert best.cut_start
    assert best.cut_end


# ---- at the same time


def test_asking_while_another_adds(tmp_path):
    """Eight threads ask while one adds: every answer is that of some state of the corpus, none is an error."""
    with open_store(tmp_path) as made:
        made.add_text("0.md", "Tea number 0.")
        answers, done = [], threading.Event()

        def ask():
            while not done.is_set():
                answers.append(made.context("tea", budget=2_000).text)
            return True

        with ThreadPoolExecutor(8) as threads:
            asking = [threads.submit(ask) for _ in range(8)]
            for number in range(1, 25):
                made.add_text(f"{number}.md", f"Tea number {number}.")
            done.set()
            assert all(each.result() for each in asking)
        sizes = {text.count("[DOC: ") for text in answers}
        assert sizes <= set(range(1, 26))
        assert made.context("tea", budget=2_000).text.count("[DOC: ") == 25
        with open_store(tmp_path / "again.db") as again:
            again.add_documents([Document(f"{number}.md", f"Tea number {number}.") for number in range(25)])
            assert again.context("tea", budget=2_000).text == made.context("tea", budget=2_000).text


def test_two_engines_on_one_file(tmp_path):
    """What one adds or removes, the other sees at its next question."""
    with open_store(tmp_path) as one, open_store(tmp_path) as other:
        one.add_text("a.md", "Tea at four.")
        assert other.context("tea", budget=50).windows[0].path == "a.md"
        other.add_text("b.md", "Tea at five. Tea at six.")
        assert {window.path for window in one.context("tea", budget=99).windows} == {"a.md", "b.md"}
        one.remove("a.md", "b.md")
        assert other.context("tea", budget=50).text == ""
        assert one.root == other.root


def test_a_closed_engine_says_so(tmp_path):
    """Asking, adding and removing after `close` are errors that name the store; closing twice is none."""
    engine = open_store(tmp_path)
    engine.add_text("a.md", "Tea.")
    engine.close()
    engine.close()
    for use in (
        lambda: engine.context("tea"),
        lambda: engine.search("tea"),
        lambda: engine.add_text("b.md", "x"),
        lambda: engine.add(tmp_path),
        lambda: engine.remove("a.md"),
        lambda: engine.root,
        lambda: engine.columns,
        engine.purge,
        lambda: engine.verify_determinism("tea"),
    ):
        with pytest.raises(StoreError, match=r"brimful\.db was closed; open it again"):
            use()


def test_closing_while_others_ask(tmp_path):
    """Whoever asks first gets a whole answer, whoever asks later the error; nobody gets half of one."""
    engine = open_store(tmp_path)
    engine.add_documents([Document(f"{n}.md", "Tea at four. " * 50) for n in range(20)])
    whole = {engine.context("tea", budget=400 + n).text for n in range(40)}
    engine._contexts.clear()

    def ask(n):
        try:
            return engine.context("tea", budget=400 + n % 40).text
        except StoreError as error:
            return error

    with ThreadPoolExecutor(8) as threads:
        asking = [threads.submit(ask, n) for n in range(120)]
        engine.close()
        answers = [each.result() for each in asking]
    assert all(answer in whole or "was closed" in str(answer) for answer in answers)
    assert isinstance(ask(0), StoreError)


def test_settings_may_be_given_whole_or_one_by_one(engine):
    """`settings` and single choices mean the same; a choice overrides its setting."""
    whole = engine.context("letter", budget=200, settings=AskSettings(format="json"))
    assert engine.context("letter", budget=200, format="json") is whole
    assert engine.context("letter", budget=200, settings=AskSettings(format="xml"), format="json") is whole


def test_an_explanation_names_words_windows_and_prices(tmp_path):
    """It says how often each word stands, why a window is in, and at which budget the next one enters."""
    with brimful.open(tmp_path / "store.db") as engine:
        for number in range(6):
            engine.add_text(f"{number}.md", f"Scones number {number} are baked with care and served warm. " * 4)
        told = str(engine.explain("scones", budget=60))
    assert "scones: 24 occurrences" in told
    assert all(each in told for each in ("in  ", "out ", "enters at"))


def test_a_question_is_understood_once_for_all_prices(tmp_path, monkeypatch):
    """Though prices try dozens of budgets, an explanation reads the question once: hostile ones cost reading twice."""
    reads = []
    real = searching.parse_query
    monkeypatch.setattr(searching, "parse_query", lambda *given, **named: reads.append(1) or real(*given, **named))
    with brimful.open(tmp_path / "store.db") as engine:
        for number in range(40):
            baked = (f"Scones number {number} are baked with care and served at {hour}. " for hour in range(40))
            engine.add_text(f"{number}.md", "".join(baked))
        context = engine.context("scones baked with care", budget=600)
        assert len(reads) == 1
        told = engine.explain("scones baked with care", budget=600)
        assert len([each.enters_at for each in told.context.omitted[:5] if each.enters_at]) == 5
        assert len(reads) == 2
        assert told.context.text == context.text


@pytest.mark.parametrize("sizing", ["radial", "field"])
def test_a_price_holds_when_the_question_is_asked_again(tmp_path, sizing):
    """With as many tokens as a left-out window costs the engine shows it whole, with one less it does not."""
    with brimful.open(tmp_path / "store.db") as engine:
        for number in range(12):
            engine.add_text(f"{number}.md", f"Scones number {number} are baked with care. Nobody counts them. " * 4)
        context = engine.context("scones", budget=120, sizing=sizing)
        assert not any(out.enters_at for out in context.omitted), "nobody has asked for them"
        left = [out for out in engine.prices(context, most=3).omitted if out.enters_at]
        assert left
        for out in left:
            for tokens, is_in in ((out.enters_at, True), (out.enters_at - 1, False)):
                shown = engine.context("scones", budget=tokens, sizing=sizing).windows
                holds = [w for w in shown if w.path == out.window.path]
                assert any(w.start <= out.window.start and out.window.end <= w.end for w in holds) is is_in


def test_a_context_is_one_json_object(tmp_path):
    """Text, windows with their places, the receipt's id and what was left out."""
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add_text("tea.md", "Tea is served at four.")
        context = engine.context("tea", budget=100)
    record = json.loads(context.to_json())
    assert record["text"] == context.text
    assert [(each["path"], each["start"], each["end"]) for each in record["windows"]] == [("tea.md", 0, 22)]
    assert record["receipt"] == context.receipt.id


def test_the_best_places_are_never_crowded_out(tmp_path):
    """A rare row is shown at small budgets, of a long table and of one with many columns; and the best of two pages."""
    rows = [f"{n},{('Ann', 'Bob', 'Cem')[n * n % 3]},Oslo,{n * 37 % 9973}" for n in range(2_000)]
    rows[1_717] = "1717,Zebulon,Timbuktu,424242"
    names = ",".join(f"measurement_{n}_of_a_sensor" for n in range(200))
    filler = "".join(f"Every kettle number {n} was sold as it is.\n\n" for n in range(40))
    with open_store(tmp_path) as engine:
        engine.add_text("table.csv", "\n".join(["id,name,city,amount", *rows]) + "\n")
        engine.add_text("wide.csv", f"{names}\n" + "1,2,3\n" * 99 + "Quokka,2,3\n" + "1,2,3\n" * 99)
        engine.add_text("one.md", f"# Kettles\n\nThe quetzal kettle whistles.\n\n{filler}")
        engine.add_text("two.md", "# Notes\n\nA quetzal kettle costs nine pounds.\n")
        for budget in (60, 150, 300):
            assert "1717,Zebulon,Timbuktu,424242" in engine.context("Zebulon", budget=budget).text
            assert "Quokka,2,3" in engine.context("Quokka", budget=budget).text
        shown = engine.context("quetzal kettle", budget=150).text
    assert "The quetzal kettle whistles." in shown
    assert "A quetzal kettle costs nine pounds." in shown


@pytest.mark.parametrize("budget", [28, 40, 120])
@pytest.mark.parametrize("sizing", ["field", "density", "radial", "elastic"])
def test_a_unit_longer_than_the_budget_shows_the_words_asked_for(tmp_path, budget, sizing):
    """Minified JSON, a long line of a log and a long sentence are cut around the word, inflected or misspelt."""
    with brimful.open(tmp_path) as engine:
        fields = ",".join(f'"key{number}":"w{number}ord"' for number in range(20))
        more = fields.replace("key", "kex")
        engine.add_text("a.json", f'{{{fields},"colour":"ultramarine",{more}}}')
        engine.add_text("b.log", "2024-01-01 ERROR " + "x=1;" * 90 + "ultraviolet " + "y=2;" * 90 + "\n")
        engine.add_text("c.txt", "some more words " * 18 + "on limerence effects " + "and others still " * 18)
        for question, word in (("ultramarin colour", "ultramarine"), ("ultraviolet", "ultraviolet")):
            assert word in engine.context(question, budget=budget, sizing=sizing).text
        assert "limerence" in engine.context("limerence effect", budget=budget, sizing=sizing).text


def _lengths(texts):
    return [[len(text) % 7 - 3, *(text.count(letter) - 1 for letter in "aeiou")] for text in texts]


def test_a_misspelt_question_is_read_as_it_was_meant(tmp_path):
    """A model reads the repaired word in its place."""
    read = []

    def embed(texts):
        read.extend(texts)
        return _lengths(texts)

    with open_store(tmp_path, embedder=wrap("own", embed, dimensions=6)) as engine:
        engine.add_text("a.md", "On consciousness. " * 5)
        engine.search("What is conciousness, now?")
        assert "What is consciousness, now?" in read


@pytest.mark.parametrize("sizing", SIZINGS)
def test_filters_alone_fill_a_context(engine, sizing):
    """A question of filters shows the documents that pass, and fills the budget with them."""
    context = engine.context("", path="minds.md", budget=300, sizing=sizing)
    assert {window.path for window in context.windows} == {"minds.md"}
    assert context.tokens >= 294
    assert engine.context("", path="nowhere", budget=300, sizing=sizing).text == ""
    assert engine.replay(context.receipt).text == context.text


def test_other_titles_on_the_same_root_are_named(tmp_path):
    """Titles move ranks and are not under the root: a receipt tells when they are not those of its state."""
    page = Document("a.md", "It is served at four.", time=1)
    receipts = []
    for title in ("Tea", "Coffee"):
        with open_store(tmp_path / f"{title}.db") as engine:
            engine._store.add([NewDocument(page, title=title)])
            receipts.append(engine.context("served", budget=50).receipt)
            assert engine.replay(receipts[-1]).text
            if len(receipts) == 2:
                assert receipts[0].state_root == receipts[1].state_root
                with pytest.raises(StoreError, match="other titles, kinds or languages"):
                    engine.replay(receipts[0])


def test_prices_of_one_context_search_once(tmp_path, monkeypatch):
    """All budgets that need as many hits share one search, so a long question is not looked up for each of them."""
    searched = []

    def counted(asked, *, limit):
        searched.append(limit)
        return searching.best_of(asked, limit=limit)

    monkeypatch.setattr("brimful.building.best_of", counted)
    with open_store(tmp_path / "store.db") as engine:
        for number in range(12):
            engine.add_text(f"{number}.md", f"Tea number {number} is served at four. " * 12)
        context = engine.context("tea served at four", budget=120)
        searched.clear()
        priced = engine.prices(context, most=len(context.omitted))
    assert any(each.enters_at for each in priced.omitted), "a price is a number, which outlives the engine"
    assert priced == context
    assert len(searched) == len(set(searched))
