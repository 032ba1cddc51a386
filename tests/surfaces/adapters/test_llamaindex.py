"""LlamaIndex: real query engines with a model that answers nothing, and exactly the budget in its prompt."""

import asyncio

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import Document, MetadataMode, NodeRelationship, NodeWithScore, TextNode

from brimful import DocumentError
from brimful.surfaces.adapters.llamaindex import BrimfulPostprocessor, BrimfulRetriever
from tests.oracles import tokens
from tests.surfaces.adapters.conftest import BUDGETS, PAGES, PIECES, QUESTION

PROMPT = PromptTemplate("<<{context_str}>>{query_str}")


class EchoModel(MockLLM):
    """A model with room for everything, whose answer is what it was sent."""

    @property
    def metadata(self):
        """Its limits."""
        return super().metadata.model_copy(update={"context_window": 1_000_000})


def sent(retriever, *, postprocessors=()):
    """The context in the prompt of a real query engine."""
    synthesizer = get_response_synthesizer(llm=EchoModel(), response_mode="compact", text_qa_template=PROMPT)
    engine = RetrieverQueryEngine(retriever, synthesizer, node_postprocessors=list(postprocessors))
    answer = str(engine.query(QUESTION))
    assert answer.endswith(f">>{QUESTION}")
    return answer.removeprefix("<<").removesuffix(f">>{QUESTION}")


def joined(nodes):
    """As LlamaIndex's synthesizers join nodes."""
    return "\n\n".join(each.node.get_content(MetadataMode.LLM) for each in nodes)


@pytest.mark.parametrize("budget", BUDGETS[1:])
def test_what_a_query_engine_sends_is_within_the_budget(engine, budget):
    """The nodes are the engine's context to the byte; the synthesizer only strips white space around them."""
    retriever = BrimfulRetriever(engine, budget=budget)
    nodes = retriever.retrieve(QUESTION)
    assert joined(nodes) == engine.context(QUESTION, budget=budget, format="windows").text
    assert tokens(joined(nodes)) <= budget
    context = sent(retriever)
    assert "".join(context.split()) == "".join(joined(nodes).split())
    assert tokens(context) <= budget


def test_nodes_cite_their_bytes_and_show_no_metadata(engine):
    """Citations are in the metadata, which neither a model nor an embedder is shown; the source is a relationship."""
    nodes = BrimfulRetriever(engine, budget=300).retrieve("When is conciousness or Tee serverd für alle?")
    assert len(nodes) > 1
    for each in nodes:
        cited = each.node.metadata
        content = engine.document(cited["path"]).content
        assert content[cited["start"] : cited["end"]].decode() == each.node.text
        assert each.node.get_content(MetadataMode.LLM) == each.node.get_content(MetadataMode.EMBED) == each.node.text
        assert each.node.relationships[NodeRelationship.SOURCE].node_id == each.node.ref_doc_id == cited["path"]
        assert each.score == cited["score"]
        assert {"receipt", "root", "terms", "corrections", "lines"} <= set(cited)
    assert len({each.node.node_id for each in nodes}) == len(nodes)


def test_other_formats_are_one_node(engine):
    """The whole context with its headers."""
    (node,) = BrimfulRetriever(engine, budget=200, format="markdown").retrieve(QUESTION)
    assert node.node.get_content(MetadataMode.LLM) == engine.context(QUESTION, budget=200, format="markdown").text
    assert sent(BrimfulRetriever(engine, budget=200, format="markdown")) == node.node.text.strip()
    assert BrimfulRetriever(engine).retrieve("xylophone zzyzx") == []


def test_async_is_the_same_and_lets_the_loop_go_on(engine, ticking):
    """`aretrieve` gives what `retrieve` gives, while the loop turns."""
    retriever = BrimfulRetriever(engine, budget=150)

    async def ask():
        return (await asyncio.gather(retriever.aretrieve(QUESTION), ticking()))[0]

    assert asyncio.run(ask()) == retriever.retrieve(QUESTION)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0}, "at least 1"),
        ({"format": "anthropic"}, "choices: windows"),
        ({"model": "gtp-4o"}, "did you mean"),
    ],
)
def test_bad_input_is_refused_when_it_is_given(engine, given, message):
    """The error names the value and the remedy."""
    with pytest.raises(ValueError, match=message):
        BrimfulRetriever(engine, **given)
    with pytest.raises(ValueError, match=r"brimful\.open"):
        BrimfulRetriever("store.db")


# ---- the postprocessor


def brought(*, shown=True, template=None):
    """Nodes as another retriever brings them, with metadata that the model is shown, or not."""
    nodes = []
    for number, text in enumerate(PIECES):
        node = TextNode(text=text, id_=f"id{number}", metadata={"title": f"Piece number {number}", "mine": number})
        node.excluded_llm_metadata_keys = ["mine"] if shown else ["mine", "title"]
        if template:
            node.text_template = template
        nodes.append(NodeWithScore(node=node, score=1.0 - number / 100))
    return nodes


@pytest.mark.parametrize("budget", [*BUDGETS, 31, 46, 55])
@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize("template", [None, "{metadata_str} // {content} // {metadata_str}"])
def test_any_nodes_fit_as_the_model_is_shown_them(budget, shown, template):
    """Metadata that is shown counts; what is left counts at most the budget, and fills it but for a node's metadata."""
    given = brought(shown=shown, template=template)
    kept = BrimfulPostprocessor(budget=budget).postprocess_nodes(given, query_str=QUESTION)
    assert tokens(joined(kept)) <= budget
    assert tokens(joined(kept)) >= min(budget * 0.97 - (16 if shown else 1), tokens(joined(given)))
    assert given == brought(shown=shown, template=template)


def test_what_was_cut_is_said():
    """Ids, scores and metadata are kept; only the last is cut, at its end."""
    kept = BrimfulPostprocessor(budget=120).postprocess_nodes(brought(), query_str=QUESTION)
    for each in kept:
        number = each.node.metadata["mine"]
        said = each.node.metadata["brimful"]
        assert (each.node.node_id, each.score) == (f"id{number}", 1.0 - number / 100)
        assert said["ranks"] == [number]
        assert each.node.get_content(MetadataMode.LLM).startswith(f"title: Piece number {number}")
        assert PIECES[number].startswith(each.node.text.strip())
        assert said["cut_end"] == (each.node.text.strip() != PIECES[number].strip())
    assert sum(each.node.metadata["brimful"]["cut_end"] for each in kept) <= 1


def test_nodes_of_metadata_alone_are_whole_or_left_out():
    """A node without a text of its own is never cut."""
    node = NodeWithScore(node=TextNode(text=" ", metadata={"title": "A long title about tea at four"}))
    assert BrimfulPostprocessor(budget=4).postprocess_nodes([node]) == []
    assert len(BrimfulPostprocessor(budget=40).postprocess_nodes([node])) == 1


def test_windows_grow_around_what_was_found_in_its_source():
    """With the whole texts at hand, windows are grown around the nodes, and their metadata is not shown."""
    page = Document(text=PAGES["house1.md"], id_="house1")
    node = TextNode(text=PAGES["house1.md"][300:340], metadata={"title": "House"})
    node.relationships = {NodeRelationship.SOURCE: page.as_related_node_info()}
    fit = BrimfulPostprocessor(budget=100, sources={"house1": page.text})
    (kept,) = fit.postprocess_nodes([NodeWithScore(node=node, score=0.5)], query_str=QUESTION)
    said = kept.node.metadata["brimful"]
    assert kept.node.get_content(MetadataMode.LLM) == PAGES["house1.md"][said["start"] : said["end"]]
    assert 95 <= tokens(kept.node.get_content(MetadataMode.LLM)) <= 100
    assert kept.node.metadata["title"] == "House"
    with pytest.raises(DocumentError, match="does not name"):
        fit.postprocess_nodes([NodeWithScore(node=TextNode(text="x"))])


def test_in_a_query_engine_and_beside_a_loop(engine):
    """After any retriever, sync and async; it is saved and read back."""
    fit = BrimfulPostprocessor(budget=90)
    assert 0 < tokens(sent(BrimfulRetriever(engine, budget=600), postprocessors=[fit])) <= 90
    assert asyncio.run(fit.apostprocess_nodes(brought())) == fit.postprocess_nodes(brought())
    assert BrimfulPostprocessor.from_dict(fit.to_dict()).postprocess_nodes(brought()) == fit.postprocess_nodes(
        brought()
    )
    assert fit.postprocess_nodes([]) == []
    with pytest.raises(ValueError, match="at least 1"):
        BrimfulPostprocessor(budget=0)
