"""Contexts as the arguments of providers' clients: nothing but the context, the question and the system prompt."""

import tempfile

import pytest

import brimful
from brimful import Budget, FormatError, InputError, Window, pack
from brimful.settings import FORMATS
from tests.oracles import tokens

SYSTEM = "Answer from the context. Cite the file."
QUESTION = "When is tea served?"


@pytest.fixture(scope="module")
def engine():
    """A store with more to say than any budget here."""
    with tempfile.TemporaryDirectory() as folder, brimful.open(folder) as made:
        for n in range(6):
            made.add_text(f"house{n}.md", f"# House {n}\n\n" + f"Tea is served at {n}. Cake comes later. " * 60)
        yield made


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "anthropic"])
@pytest.mark.parametrize("room", [40, 333, 1_000])
def test_messages_are_the_counted_text_and_the_question(engine, form, room):
    """The text stands in the user message as it was counted; with the reserves, all of it is within the total."""
    budget = Budget(room + 90, reserved_system=20, reserved_query=20, reserved_response=50)
    context = engine.context(QUESTION, budget=budget, format=form)
    system, user = context.to_openai_messages(SYSTEM)
    assert system == {"role": "system", "content": SYSTEM}
    assert user["role"] == "user"
    assert user["content"].startswith(context.text)
    assert user["content"].removeprefix(context.text).lstrip("\n") == QUESTION
    assert tokens(context.text) == context.tokens <= room
    assert tokens(user["content"]) <= room + budget.reserved_query
    assert tokens(system["content"]) + tokens(user["content"]) + budget.reserved_response <= budget.total


def test_the_question_can_be_another_or_none(engine):
    """What is given replaces the context's own question, an empty one leaves it out."""
    context = engine.context(QUESTION, budget=60)
    assert context.to_openai_messages(question="And cake?")[0]["content"] == f"{context.text}\nAnd cake?"
    assert context.to_openai_messages(question="") == [{"role": "user", "content": context.text}]


def test_an_empty_context_still_asks():
    """Without windows the question goes alone; without either there is nothing to send."""
    empty = pack([], budget=10, format="anthropic")
    assert empty.to_anthropic(question="Tea?")["messages"][0]["content"] == [{"type": "text", "text": "Tea?"}]
    assert pack([], budget=10).to_openai_messages(question="Tea?") == [{"role": "user", "content": "Tea?"}]
    for send in (empty.to_anthropic, pack([], budget=10).to_openai_messages):
        with pytest.raises(InputError, match="nothing to send"):
            send()


@pytest.mark.parametrize("room", [40, 333, 1_000])
def test_anthropic_gets_search_results_with_citations(engine, room):
    """One search result a document, citations on; sources, titles and texts count at most the budget."""
    context = engine.context(QUESTION, budget=room, format="anthropic")
    arguments = context.to_anthropic(SYSTEM)
    assert arguments["system"] == SYSTEM
    (message,) = arguments["messages"]
    *results, asked = message["content"]
    assert asked == {"type": "text", "text": QUESTION}
    assert message["role"] == "user"
    assert [result["source"] for result in results] == [block.path for block in context.blocks]
    assert all(result["type"] == "search_result" and result["citations"] == {"enabled": True} for result in results)
    written = [
        f"{result['source']}\n{result['title']}\n" + "\n".join(part["text"] for part in result["content"]) + "\n"
        for result in results
    ]
    assert tokens("\n".join(written)) == context.tokens <= room


def test_shapes_that_were_not_counted_are_refused():
    """A context is sent in the shape that it was counted in."""
    with pytest.raises(FormatError, match="format='anthropic'"):
        pack([Window("a", "Tea.")], budget=50).to_anthropic()
    with pytest.raises(FormatError, match="format='messages'"):
        pack([Window("a", "Tea.")], budget=50, format="anthropic").to_openai_messages()
