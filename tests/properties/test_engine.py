"""The invariants of the whole way, from documents in a store to a context, over whatever Hypothesis can think of."""

import os
import random
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from brimful import Document, parse, tokens_for
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.settings import FORMATS, PACKINGS, SIZINGS, STRATEGIES, WindowSettings
from brimful.store import store as storing
from brimful.store import writing
from tests.properties.strategies import documents, long_texts, texts

MODELS = ["o200k_base", "cl100k_base", "llama3", "mistral_v1", "claude", "approximate"]
QUESTIONS = [
    *("tea", "When did the tea arrive in Lisbon?", "pour cup level", "disk ERROR failed", "茶 天气", "Straße"),
    *("lisbonn arived", '"tea arrived" -Ada', "te* path:a.md", "kind:code pour", "supercalifragilistic word", ""),
    *("absent",),
]
questions = st.sampled_from(QUESTIONS)
few = settings(max_examples=int(os.environ.get("BRIMFUL_EXAMPLES", "40")))


def engine_of(docs, *, folder) -> Engine:
    """A new store with these documents."""
    engine = open_store(Path(tempfile.mkdtemp(dir=folder)))
    engine.add_documents(docs)
    return engine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the stores of all examples lie."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def small_segments():
    """Segments of a few hundred bytes, so that small corpora lie in many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "SEGMENT_BYTES", 300)
        patch.setattr(storing, "SEGMENT_BYTES", 300)
        yield


COPIES = {"twin_threshold": None, "with_question": False}
"""The documents of these corpora say nearly the same, and all of it is wanted; the budget is the context's alone."""

choices = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "format": st.sampled_from(FORMATS),
        "sizing": st.sampled_from(SIZINGS),
        "strategy": st.sampled_from(STRATEGIES),
        "packing": st.sampled_from(PACKINGS),
        "fill": st.sampled_from(["brim", "relevant"]),
        "trim": st.booleans(),
        "order": st.sampled_from(["relevance", "ends"]),
        "include_metadata": st.booleans(),
        "related": st.booleans(),
        "with_question": st.just(False),
        "prefer_recent": st.booleans(),
        "dedup_threshold": st.sampled_from([None, 0.8]),
        "max_per_document": st.sampled_from([None, 2]),
        "windows": st.sampled_from([None, WindowSettings(definitions=True)]),
    }
).filter(lambda chosen: not (chosen["related"] and chosen["sizing"] == "field"))


@few
@given(
    docs=documents(text=st.one_of(texts, long_texts)), question=questions, choice=choices, budget=st.integers(1, 900)
)
def test_never_over_and_every_byte_accounted_for(folder, docs, question, choice, budget):
    """In every format, for every model and choice: at most the budget, and each byte is the store's or a literal."""
    with engine_of(docs, folder=folder) as engine:
        context = engine.context(question, budget=budget, **choice)
        counter = tokens_for(choice["model"])
        assert counter.count(context.text) == context.tokens <= budget
        stored = [engine.document(path) for path in sorted({document.path for document in docs})]
        assert [document.id for document in stored] == [document.id for document in sorted(docs, key=lambda d: d.path)]
        assert context.drift(stored) == []
        raw, at = context.text.encode(), 0
        for piece in context.pieces:
            assert piece.start == at
            at = piece.end
            assert raw[piece.start : piece.end] == piece.text.encode()
        assert at == len(raw)
        shown = sorted((window.path, window.start, window.end) for window in context.windows)
        for one, other in pairwise(shown):
            assert one[0] != other[0] or one[2] <= other[1], "a byte is shown once"
        assert [(w.path, w.text) for w in parse(context)] == [(w.path, w.text) for w in context.windows]
        assert bool(context.text) == bool(context.windows)
        assert engine.verify(context.receipt, text=context.text) == []
        engine._contexts.clear()
        assert engine.replay(context.receipt.to_json()).text == context.text


@few
@given(
    docs=documents(text=long_texts, most=4),
    question=st.sampled_from(["tea", "When did the tea arrive?", "Lisbon Ada word", "pour"]),
    model=st.sampled_from(MODELS),
    form=st.sampled_from(FORMATS),
    budget=st.integers(500, 3_000),
)
def test_filled_to_the_brim(folder, docs, question, model, form, budget):
    """With sizing "field" and fill "brim", at least 98 % are used where the documents that have hits have more."""
    with engine_of(docs, folder=folder) as engine:
        context = engine.context(question, budget=budget, model=model, format=form, **COPIES)
        found = {hit.path for hit in engine.search(question, limit=100_000).hits}
        count = tokens_for(model).count
        assume(sum(count(doc.content.decode()) for doc in docs if doc.path in found) > budget * 1.2)
        assert budget * 0.98 <= context.tokens <= budget


@few
@given(st.integers(0, 10**6), st.sampled_from(["plain", "messages"]), st.integers(500, 6_000))
def test_many_short_documents_fill_the_brim(folder, seed, form, budget):
    """Hundreds of one-line documents: 98 %, or less is left than one more of them may cost."""
    chance = random.Random(seed)
    words = ["tea", "pot", "cup", "in Lisbon", "at four", "again"]
    docs = [
        Document(f"{n}.md", f"Tea {' '.join(chance.choices(words, k=chance.randrange(1, 9)))}.") for n in range(500)
    ]
    docs.append(Document("long.md", "Nothing about it in this very long sentence of many words. " * 400))
    with engine_of(docs, folder=folder) as engine:
        context = engine.context("tea", budget=budget, format=form, **COPIES)
        dearest = max(tokens_for("o200k_base").count(f"\n[DOC: {d.path}]\n{d.content.decode()}\n") for d in docs[:-1])
        assert context.tokens >= budget * 0.98 or budget - context.tokens < dearest


histories = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "edit", "compact", "purge", "reopen"]),
        st.integers(0, 5),
        st.one_of(texts, st.sampled_from(["Tea again. Lisbonne arrivals. " * 9, "teas teapots teatime lisbons"])),
    ),
    max_size=10,
)


@few
@given(docs=documents(text=st.one_of(texts, long_texts), most=4), history=histories, question=questions, choice=choices)
def test_history_does_not_matter(folder, small_segments, docs, history, question, choice):
    """After any history of adding, editing, removing and merging the bytes are those of a fresh store."""
    place = Path(tempfile.mkdtemp(dir=folder))
    engine = open_store(place)
    for at, (what, number, text) in enumerate(history):
        path = f"other{number}.md"
        if what in ("add", "edit"):
            engine.add_documents([Document(path, text, time=at)])
        elif what == "remove":
            engine.remove(path)
        elif what == "compact":
            engine._store.compact()
        elif what == "purge":
            engine.purge()
        else:
            engine.close()
            engine = open_store(place)
        if at < 3 < number:
            engine.add_documents(docs[:1])
            engine.context(question, budget=100)
    engine.remove(*(f"other{number}.md" for number in range(6)))
    for document in reversed(docs):
        engine.add_documents([document])
    with engine, engine_of(docs, folder=folder) as fresh:
        assert engine.root == fresh.root
        mine, theirs = engine.context(question, budget=400, **choice), fresh.context(question, budget=400, **choice)
        assert mine.text == theirs.text
        assert mine.corrections == theirs.corrections
        assert [hit for window in mine.windows for hit in window.hits] == [
            hit for window in theirs.windows for hit in window.hits
        ]
        assert [(out.window.id, out.reason) for out in mine.omitted] == [
            (out.window.id, out.reason) for out in theirs.omitted
        ]


@few
@given(docs=documents(text=st.one_of(texts, long_texts), most=4), question=questions, choice=choices)
def test_determinism_is_verified(folder, docs, question, choice):
    """Assembled twice from a new snapshot, ids and bytes are the same (CFS §12)."""
    with engine_of(docs, folder=folder) as engine:
        assert engine.verify_determinism(question, budget=300, **choice)


PROGRAM = """
import sys
from brimful.engine import open as open_store
from brimful.settings import CFS, SIZINGS, STRATEGIES
with open_store(sys.argv[1]) as engine:
    for question in ("tea in Lisbon", "lisbonn arived", "word -Ada", "pour the cup"):
        for sizing in SIZINGS:
            for strategy in STRATEGIES:
                chosen = {"sizing": sizing, "strategy": strategy, "related": sizing != "field"}
                context = engine.context(question, budget=700, **chosen)
                print(context.text, [(w.id, [h.terms for h in w.hits]) for w in context.windows])
                print([(out.window.id, out.reason) for out in context.omitted], context.corrections)
        print(engine.context(question, budget=700, settings=CFS).text)
"""


def varied(seed: int, count: int = 30) -> list[Document]:
    """Documents of many kinds of text."""
    from tests.properties.strategies import PIECES

    chance = random.Random(seed)
    return [
        Document(f"{n:02}.{chance.choice(['md', 'py', 'txt'])}", "".join(chance.choices(PIECES, k=80)), time=n * 900)
        for n in range(count)
    ]


def test_hash_seeds_orders_and_processes_do_not_matter(tmp_path, small_segments):
    """Three seeds and three orders of adding, in processes of their own and with unit codes, give identical bytes."""
    docs = varied(1)
    outputs = set()
    for seed in range(3):
        random.Random(seed).shuffle(docs)
        with open_store(tmp_path / f"{seed}.db") as engine:
            for at in range(0, len(docs), 1 + 7 * seed):
                engine.add_documents(docs[at : at + 1 + 7 * seed])
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / f"{seed}.db")]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 50_000
