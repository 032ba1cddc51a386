"""LangChain: real chains with a model that answers nothing, and exactly the budget in its prompt."""

import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumps
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough

import brimful
from brimful import Budget, DocumentError
from brimful.surfaces.adapters.langchain import BrimfulCompressor, BrimfulRetriever, add_documents
from tests.oracles import tokens
from tests.surfaces.adapters.conftest import BUDGETS, PAGES, PIECES, QUESTION


class Heard(BaseCallbackHandler):
    """What a model and a retriever were asked and gave."""

    def __init__(self):
        self.prompts, self.retrieved, self.errors = [], [], []

    def on_chat_model_start(self, serialized, messages, **kwargs):
        """A prompt as it is sent."""
        self.prompts += [message.content for message in messages[0]]

    def on_retriever_end(self, documents, **kwargs):
        """Documents as they are given on."""
        self.retrieved.append(documents)

    def on_retriever_error(self, error, **kwargs):
        """Why there are none."""
        self.errors.append(error)


def joined(documents):
    """As LangChain's chains join documents."""
    return "\n\n".join(document.page_content for document in documents)


def chain(retriever):
    """A question answered from documents."""
    prompt = ChatPromptTemplate.from_messages([("user", "{context}"), ("user", "{question}")])
    given = {"context": retriever | RunnableLambda(joined), "question": RunnablePassthrough()}
    return given | prompt | FakeListChatModel(responses=["At four."]) | StrOutputParser()


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_a_chain_sends_is_the_budget(engine, budget):
    """The prompt's context is the context that the engine makes, to the byte, and counts at most the budget."""
    heard = Heard()
    retriever = BrimfulRetriever(engine=engine, budget=budget)
    assert chain(retriever).invoke(QUESTION, config={"callbacks": [heard]}) == "At four."
    context, question = heard.prompts
    assert question == QUESTION
    assert context == engine.context(QUESTION, budget=budget, format="windows").text
    assert tokens(context) <= budget
    assert len(heard.retrieved) == 1


def test_documents_cite_their_bytes(engine):
    """Path, range, lines, words, receipt and state: enough to find and to check every document."""
    documents = BrimfulRetriever(engine=engine, budget=400).invoke("When is conciousness or Tee serverd für alle?")
    context = engine.context("When is conciousness or Tee serverd für alle?", budget=400, format="windows")
    assert len(documents) == len(context.windows) > 1
    for document, window in zip(documents, context.windows, strict=True):
        cited = document.metadata
        content = engine.document(cited["path"]).content
        assert content[cited["start"] : cited["end"]].decode() == document.page_content
        assert cited["source"] == cited["path"]
        assert tuple(cited["lines"]) == engine.document(cited["path"]).lines(cited["start"], cited["end"])
        assert cited["terms"] == sorted({term for hit in window.hits for term in hit.terms})
        assert (cited["score"], cited["receipt"], cited["root"]) == (window.score, context.receipt.id, engine.root)
        assert (cited["tokens"], cited["budget"]) == (context.tokens, 400)
        assert {"word": "conciousness", "term": "consciousness"}.items() <= cited["corrections"][0].items()
    assert engine.verify(context.receipt) == []
    assert len({document.id for document in documents}) == len(documents)


@pytest.mark.parametrize("form", ["plain", "markdown", "xml", "json"])
def test_other_formats_are_one_document(engine, form):
    """The whole context with its headers, and all citations in its metadata."""
    (document,) = BrimfulRetriever(engine=engine, budget=300, format=form).invoke(QUESTION)
    context = engine.context(QUESTION, budget=300, format=form)
    assert document.page_content == context.text
    assert tokens(document.page_content) == context.tokens <= 300
    assert [each["path"] for each in document.metadata["windows"]] == [window.path for window in context.windows]


def test_all_ways_to_call_give_the_same(engine):
    """invoke, batch, ainvoke, abatch, stream, a budget for one call, a configured budget."""
    retriever = BrimfulRetriever(engine=engine, budget=120)
    expected = retriever.invoke(QUESTION)
    assert retriever.batch([QUESTION, QUESTION]) == [expected, expected]
    assert asyncio.run(retriever.ainvoke(QUESTION)) == expected
    assert asyncio.run(retriever.abatch([QUESTION])) == [expected]
    assert list(retriever.stream(QUESTION)) == [expected]
    assert BrimfulRetriever(engine=engine).invoke(QUESTION, budget=120) == expected
    assert asyncio.run(BrimfulRetriever(engine=engine).ainvoke(QUESTION, budget=120)) == expected
    field = ConfigurableField(id="budget")
    configured = BrimfulRetriever(engine=engine).configurable_fields(budget=field)
    assert configured.with_config(configurable={"budget": 120}).invoke(QUESTION) == expected
    reserved = BrimfulRetriever(engine=engine, budget=Budget(920)).invoke(QUESTION)
    assert joined(reserved) == joined(expected)  # only its receipt names the reserves
    named = retriever.with_config(run_name="tea", tags=["x"])
    assert named.invoke(QUESTION) == expected


def test_the_loop_goes_on_meanwhile(engine, ticking):
    """Asking from an event loop does not stop it."""

    async def ask():
        return (await asyncio.gather(BrimfulRetriever(engine=engine, budget=60).ainvoke(QUESTION), ticking()))[0]

    assert asyncio.run(ask())


def test_threads_get_the_same(engine):
    """One retriever for many threads."""
    retriever = BrimfulRetriever(engine=engine, budget=150)
    questions = [QUESTION, "kettle boil", "consciousness", "cake"] * 6
    expected = [retriever.invoke(question) for question in questions]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(retriever.invoke, questions)) == expected


def test_nothing_found_is_no_document(engine):
    """No hits, no documents, no error."""
    assert BrimfulRetriever(engine=engine).invoke("xylophone zzyzx") == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0}, "give at least 1"),
        ({"budget": True}, "whole number of tokens"),
        ({"budget": "many"}, "whole number of tokens"),
        ({"model": "gtp-4o"}, "did you mean 'gpt-4o"),
        ({"format": "messages"}, "choices: windows, plain"),
        ({"choices": {"sizing": "fild"}}, "did you mean 'field'"),
        ({"choices": {"sizzing": 1}}, "sizzing"),
        ({"engine": "store.db"}, "brimful.open"),
        ({"buget": 100}, "buget"),
    ],
)
def test_bad_input_is_refused_when_it_is_given(engine, given, message):
    """The error names the value and the remedy; it is a ValueError, as pydantic's are."""
    with pytest.raises(ValueError, match=message):
        BrimfulRetriever(**{"engine": engine, **given})


def test_errors_reach_callbacks_and_caller(engine):
    """A bad budget for one call is the caller's error."""
    heard = Heard()
    with pytest.raises(ValueError, match="at least 1"):
        BrimfulRetriever(engine=engine).invoke(QUESTION, config={"callbacks": [heard]}, budget=-5)
    assert len(heard.errors) == 1


def test_an_open_store_is_not_serialised(engine):
    """LangChain's own serialisation says "not implemented", with no store in it; pickling is an error."""
    retriever = BrimfulRetriever(engine=engine, budget=70)
    assert '"type": "not_implemented"' in dumps(retriever)
    assert "Engine" not in repr(retriever)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(retriever)


# ---- the compressor


def brought():
    """As another retriever brings them, best first."""
    return [
        Document(page_content=text, metadata={"source": f"s{n}", "mine": n}, id=f"id{n}")
        for n, text in enumerate(PIECES)
    ]


@pytest.mark.parametrize("budget", BUDGETS)
def test_any_documents_fit(budget):
    """What is left counts at most the budget, begins with the best, and fills it where there is enough."""
    kept = BrimfulCompressor(budget=budget).compress_documents(brought(), QUESTION)
    whole = tokens("\n\n".join(PIECES))
    assert tokens(joined(kept)) <= budget
    assert tokens(joined(kept)) >= min(budget * 0.97 - 1, whole)
    if kept:
        assert kept[0].metadata["mine"] == 0


def test_what_was_cut_is_said():
    """Metadata and ids are kept, and what is shown is named byte by byte."""
    given = brought()
    kept = BrimfulCompressor(budget=100).transform_documents(given)
    assert [document.metadata["mine"] for document in kept] == sorted(d.metadata["mine"] for d in kept)
    for document in kept:
        number = document.metadata["mine"]
        said = document.metadata["brimful"]
        assert document.id == f"id{number}"
        assert said["ranks"] == [number]
        assert PIECES[number].encode()[said["start"] : said["end"]].decode() == document.page_content
        assert (said["cut_start"], said["cut_end"]) == (False, document.page_content.strip() != PIECES[number].strip())
    assert sum(document.metadata["brimful"]["cut_end"] for document in kept) <= 1
    assert given == brought()


def test_windows_grow_around_what_was_found_in_its_source():
    """With the whole texts at hand, pieces that meet become one window, and the budget is filled from their sources."""
    pages = [PAGES["house1.md"], PAGES["house2.md"]]
    pieces = [pages[0][300:340], pages[0][360:400], pages[1][700:730]]
    found = [Document(page_content=text, metadata={"source": f"p{n // 2}"}) for n, text in enumerate(pieces)]
    kept = BrimfulCompressor(budget=200, sources={"p0": pages[0], "p1": pages[1]}).compress_documents(found, "tea")
    assert [document.metadata["brimful"]["ranks"] for document in kept] == [[0, 1], [2]]
    assert pages[0][300:400] in kept[0].page_content
    assert 190 <= tokens(joined(kept)) <= 200
    with pytest.raises(DocumentError, match="not among the 1 sources"):
        BrimfulCompressor(sources={"p0": pages[0]}).compress_documents(found, "tea")
    with pytest.raises(DocumentError, match="does not name"):
        BrimfulCompressor(sources={}).transform_documents([Document(page_content="x")])


def test_compressing_in_a_chain_and_beside_a_loop(engine):
    """After any retriever, sync and async; duplicates go where that is asked for."""
    compressor = BrimfulCompressor(budget=80)
    after = BrimfulRetriever(engine=engine, budget=500) | RunnableLambda(compressor.transform_documents)
    assert tokens(joined(after.invoke(QUESTION))) <= 80
    both = compressor.transform_documents(brought())
    assert asyncio.run(compressor.acompress_documents(brought(), QUESTION)) == both
    assert asyncio.run(compressor.atransform_documents(brought())) == both
    twice = [*brought()[:2], *brought()[:2]]
    assert len(BrimfulCompressor(dedup_threshold=0.8).transform_documents(twice)) == 2
    assert len(BrimfulCompressor().transform_documents(twice)) == 4
    assert BrimfulCompressor().transform_documents([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        BrimfulCompressor(dedup_threshold=2)


def test_documents_of_loaders_can_be_stored(tmp_path):
    """Under their source; pages of one source get numbers, and a nameless one is refused."""
    with brimful.open(tmp_path) as engine:
        pages = [Document(page_content=f"Page {n} of tea.", metadata={"source": "tea.pdf"}) for n in range(2)]
        assert add_documents(engine, [*pages, Document(page_content="Cake.", id="cake")]) == 3
        assert engine.document("tea.pdf#2").content == b"Page 1 of tea."
        assert engine.document("cake").content == b"Cake."
        with pytest.raises(DocumentError, match="document 0 has no name"):
            add_documents(engine, [Document(page_content="x")])
