"""Haystack: real pipelines with a model that answers nothing, saved and loaded; the budget is in the prompt."""

import asyncio
from dataclasses import replace

import pytest
from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder, PromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from brimful import Budget, DocumentError, InputError
from brimful.surfaces.adapters.haystack import BrimfulPacker, BrimfulRetriever
from tests.oracles import tokens
from tests.surfaces.adapters.conftest import BUDGETS, PAGES, PIECES, QUESTION

TEMPLATE = "<<{{ documents | map(attribute='content') | join('\n\n') }}>>{{ query }}"


def asked(retriever):
    """A pipeline from a question to a prompt."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("prompt", PromptBuilder(template=TEMPLATE, required_variables=["documents", "query"]))
    pipeline.connect("retriever.documents", "prompt.documents")
    return pipeline


def context_of(result):
    """The context in a prompt."""
    return result["prompt"]["prompt"].removeprefix("<<").removesuffix(f">>{QUESTION}")


def ask(pipeline, **given):
    """Run a pipeline with the question."""
    return pipeline.run({"retriever": {"query": QUESTION, **given}, "prompt": {"query": QUESTION}})


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_a_prompt_holds_is_the_budget(engine, budget):
    """The prompt's context is the context that the engine makes, to the byte, and counts at most the budget."""
    context = context_of(ask(asked(BrimfulRetriever(engine, budget=budget))))
    assert context == engine.context(QUESTION, budget=budget, format="windows").text
    assert tokens(context) <= budget
    assert context_of(ask(asked(BrimfulRetriever(engine)), budget=budget)) == context


def test_a_model_is_sent_the_context(engine):
    """In a whole pipeline, up to the chat message that a generator gets."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", BrimfulRetriever(engine, budget=150))
    message = ChatMessage.from_user(TEMPLATE)
    pipeline.add_component("prompt", ChatPromptBuilder(template=[message], required_variables=["documents", "query"]))
    pipeline.add_component("model", MockChatGenerator(response_fn=lambda messages: messages[-1].text))
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    (reply,) = ask(pipeline)["model"]["replies"]
    expected = engine.context(QUESTION, budget=150, format="windows").text
    assert reply.text == f"<<{expected}>>{QUESTION}"


def test_documents_cite_their_bytes(engine):
    """Path, range, lines, words, receipt and state in `meta`, which can be saved as JSON."""
    documents = BrimfulRetriever(engine, budget=300).run("When is conciousness or Tee serverd für alle?")["documents"]
    assert len(documents) > 1
    for document in documents:
        cited = document.meta
        content = engine.document(cited["path"]).content
        assert content[cited["start"] : cited["end"]].decode() == document.content
        assert (document.score, cited["root"]) == (cited["score"], engine.root)
        assert {"receipt", "terms", "corrections", "lines"} <= set(cited)
        assert Document.from_dict(document.to_dict()) == document
    (whole,) = BrimfulRetriever(engine, budget=100, format="xml").run(QUESTION)["documents"]
    assert whole.content == engine.context(QUESTION, budget=100, format="xml").text
    assert BrimfulRetriever(engine).run("xylophone zzyzx") == {"documents": []}


@pytest.mark.parametrize("budget", [130, Budget(930)])
def test_a_pipeline_is_saved_and_loaded(engine, store, budget):
    """The store's path and the choices are saved, not the store; the loaded pipeline gives the same."""
    pipeline = asked(BrimfulRetriever(engine, budget=budget, choices={"sizing": "density", "max_per_document": 1}))
    text = pipeline.dumps()
    with pytest.raises(DeserializationError):
        Pipeline.loads(text)
    loaded = Pipeline.loads(text, allowed_modules=["brimful"])
    assert loaded.dumps() == text
    assert ask(loaded) == ask(pipeline)
    retriever = loaded.get_component("retriever")
    assert retriever.store == str(store)
    retriever.close()
    assert ask(loaded) == ask(pipeline)  # opened again
    retriever.close()


def test_a_store_is_opened_when_it_is_needed(tmp_path):
    """Making a component opens nothing; warming up does, once."""
    retriever = BrimfulRetriever(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    retriever.warm_up()
    first = retriever._engine
    retriever.warm_up()
    assert retriever._engine is first
    retriever.close()


def test_async_is_the_same_and_lets_the_loop_go_on(engine, ticking):
    """`run_async`, alone and in a pipeline, gives what `run` gives, while the loop turns."""
    retriever = BrimfulRetriever(engine, budget=150)

    async def both():
        alone, _ = await asyncio.gather(retriever.run_async(QUESTION), ticking())
        pipeline = asked(BrimfulRetriever(engine, budget=150))
        return alone, await pipeline.run_async({"retriever": {"query": QUESTION}, "prompt": {"query": QUESTION}})

    assert asyncio.run(both()) == (retriever.run(QUESTION), ask(asked(retriever)))


@pytest.mark.parametrize(
    ("given", "message"),
    [({"budget": 0}, "at least 1"), ({"format": "anthropic"}, "choices: windows"), ({"choices": {"x": 1}}, "'x'")],
)
def test_bad_input_is_refused_when_it_is_given(engine, given, message):
    """The error names the value and the remedy."""
    with pytest.raises(InputError, match=message):
        BrimfulRetriever(engine, **given)


# ---- the packer


def brought():
    """As another retriever brings them, best first."""
    return [Document(content=text, meta={"mine": n}, id=f"id{n}", score=1 / (n + 1)) for n, text in enumerate(PIECES)]


def joined(documents):
    """As the template joins them."""
    return "\n\n".join(document.content for document in documents)


@pytest.mark.parametrize("budget", BUDGETS)
def test_any_documents_fit(budget):
    """What is left counts at most the budget; ids, scores and meta are kept, and what was cut is said."""
    kept = BrimfulPacker(budget=budget).run(brought())["documents"]
    assert tokens(joined(kept)) <= budget
    assert tokens(joined(kept)) >= min(budget * 0.97 - 1, tokens("\n\n".join(PIECES)))
    assert BrimfulPacker().run(brought(), budget=budget)["documents"] == kept
    for document in kept:
        number, said = document.meta["mine"], document.meta["brimful"]
        assert (document.id, document.score, said["ranks"]) == (f"id{number}", 1 / (number + 1), [number])
        assert PIECES[number].encode()[said["start"] : said["end"]].decode() == document.content


def test_in_a_pipeline_after_another_retriever():
    """Saved, loaded, sync and async, with Haystack's own BM25 before it."""
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text) for text in PIECES])
    pipeline = Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=20))
    pipeline.add_component("packer", BrimfulPacker(budget=Budget(900), dedup_threshold=0.9))
    pipeline.connect("bm25.documents", "packer.documents")
    found = pipeline.run({"bm25": {"query": "tea detail"}})["packer"]["documents"]
    assert 90 <= tokens(joined(found)) <= 100
    assert Pipeline.loads(pipeline.dumps(), allowed_modules=["brimful"]).dumps() == pipeline.dumps()
    packer = BrimfulPacker(budget=60)
    assert asyncio.run(packer.run_async(brought())) == packer.run(brought())
    assert packer.run([]) == {"documents": []}


def test_windows_grow_around_what_was_found_in_its_source():
    """With the whole texts at hand, windows are grown around the documents."""
    found = [Document(content=PAGES["house1.md"][300:340], meta={"source_id": "house1"})]
    packer = BrimfulPacker(budget=100, sources={"house1": PAGES["house1.md"]})
    (kept,) = packer.run(found)["documents"]
    assert found[0].content in kept.content
    assert 95 <= tokens(kept.content) <= 100
    with pytest.raises(DocumentError, match="does not name"):
        packer.run([replace(found[0], meta={})])


def test_documents_without_text_are_refused():
    """Images and audio have no tokens here."""
    with pytest.raises(InputError, match="text 0 is NoneType"):
        BrimfulPacker().run([Document()])
