import json

import pytest
from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

import brimful
from brimful.receipts.receipt import Receipt
from brimful.surfaces.mcp.resources import DOCUMENTS, MOST_LISTED, RECEIPTS, document_uri, receipt_of
from brimful.surfaces.serving import Receipts
from tests.surfaces.mcp.conftest import HOSTILE_NAME, INJECTION, PAGES
from tests.surfaces.mcp.talking import receipt_of as receipt_in
from tests.surfaces.mcp.talking import talking, text_of


def test_the_templates_and_the_prompt_are_listed(client):
    """Documents and receipts by address, one prompt with its arguments."""
    templates = {each.uri_template: each.mime_type for each in client.list_resource_templates().resource_templates}
    assert templates == {RECEIPTS: "application/json", DOCUMENTS: "text/plain"}
    (prompt,) = client.list_prompts().prompts
    assert [(each.name, each.required) for each in prompt.arguments] == [("question", True), ("budget", False)]


def test_every_listed_resource_can_be_read(client):
    """An address that is listed is one that is there, save for documents that are too long for one reading."""
    client.call_tool("get_context", {"question": "tea"})
    found = client.list_resources().resources
    assert {each.uri for each in found} >= {document_uri(path) for path in PAGES}
    assert any(each.uri.startswith("brimful://receipts/") for each in found)
    for each in found:
        if not each.uri.endswith("/huge.txt"):
            (content,) = client.read_resource(each.uri).contents
            assert (content.uri, content.mime_type) == (each.uri, each.mime_type)
        assert each.name.isprintable()


@pytest.mark.parametrize(("path", "text"), [*PAGES.items(), (HOSTILE_NAME, INJECTION)])
def test_a_document_is_its_own_text(client, path, text):
    """Whatever its name holds, as text and no more; one that is too long names the way to read it."""
    if path == "huge.txt":
        with pytest.raises(MCPError, match=r"input\.document: 'huge\.txt' has 1200000 bytes.*read_span"):
            client.read_resource(document_uri(path))
    else:
        (content,) = client.read_resource(document_uri(path)).contents
        assert (content.text, content.mime_type) == (text, "text/plain")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("brimful://documents/../../etc/passwd", "input.document: '../../etc/passwd' is not in the store"),
        ("brimful://documents/..%2F..%2Fetc%2Fpasswd", "input.document: '../../etc/passwd' is not in the store"),
        ("brimful://documents//etc/passwd", "input.document: '/etc/passwd' is not in the store"),
        ("brimful://documents/tea.md", "did you mean 'docs/tea.md'?"),
        ("brimful://documents/docs%2Ftea.md%00", "did you mean 'docs/tea.md'?"),
        ("brimful://documents/%ff%fe", "is not in the store"),
        ("brimful://documents/" + "x" * 20_000, "is not in the store"),
        ("brimful://receipts/" + "0" * 64, "input.document: there is no receipt"),
        ("brimful://receipts/../documents/mind.md", "Unknown resource"),
        ("file:///etc/passwd", "Unknown resource"),
        ("brimful://", "Unknown resource"),
    ],
)
def test_an_address_that_is_not_there(client, uri, message):
    """Nothing but what the store holds is ever read, and no file is."""
    with pytest.raises(MCPError) as refused:
        client.read_resource(uri)
    assert message in str(refused.value)
    assert refused.value.error.code == -32602


def test_a_receipt_can_be_verified(client, store):
    """The resource is the receipt itself: read back, and checked against the store."""
    answer = client.call_tool("get_context", {"question": "tea in Europe"})
    (content,) = client.read_resource(f"brimful://receipts/{receipt_in(answer)}").contents
    assert content.mime_type == "application/json"
    receipt = Receipt.from_json(content.text)
    assert receipt.id.startswith(receipt_in(answer))
    with brimful.open(store) as engine:
        assert engine.verify(receipt, text=text_of(answer)) == []
    assert json.loads(content.text)["question"] == "tea in Europe"


def test_the_oldest_receipt_goes_first(store):
    """A server keeps a bounded number of receipts; one that is used stays."""
    with brimful.open(store) as engine:
        made = [engine.context("tea", budget=budget).receipt for budget in (50, 60, 70)]
    kept = Receipts(most=2)
    kept.keep(made[0])
    kept.keep(made[1])
    assert kept.get(made[0].id) == made[0]
    kept.keep(made[2])
    assert kept.ids() == [made[2].id, made[0].id]
    with pytest.raises(brimful.DocumentError, match="the last 2 of this server"):
        receipt_of(kept, made[1].id)


def test_paths_are_completed(client):
    """What begins like the value comes before what contains it."""
    documents = ResourceTemplateReference(type="ref/resource", uri=DOCUMENTS)
    found = client.complete(documents, {"name": "path", "value": "m"}).completion
    assert found.values[0] == "mind.md"
    assert {"docs/tea.md", "empty.md"} <= set(found.values)
    assert client.complete(documents, {"name": "path", "value": "xylophone"}).completion.values == []
    prompt = PromptReference(type="ref/prompt", name="cited_answer")
    assert client.complete(prompt, {"name": "question", "value": "t"}).completion.values == []
    receipt = receipt_in(client.call_tool("get_context", {"question": "tea"}))
    receipts = ResourceTemplateReference(type="ref/resource", uri=RECEIPTS)
    assert len(client.complete(receipts, {"name": "id", "value": receipt}).completion.values) == 1


def test_a_large_corpus_is_listed_in_part(tmp_path):
    """Listing and completing are bounded; what is not listed is read by its address all the same."""
    with brimful.open(tmp_path / "many.db") as engine:
        engine.add_documents(brimful.Document(f"{number:04}.md", f"Page {number}.") for number in range(1_000))
    with talking(tmp_path / "many.db", "stdio") as client:
        assert len(client.list_resources().resources) == MOST_LISTED
        reference = ResourceTemplateReference(type="ref/resource", uri=DOCUMENTS)
        found = client.complete(reference, {"name": "path", "value": "0"}).completion
        assert (len(found.values), found.total, found.has_more) == (100, 1_000, True)
        assert client.read_resource(document_uri("0999.md")).contents[0].text == "Page 999."


def test_the_prompt_holds_the_context_and_its_citations(client, store):
    """Instructions, the context byte for byte, the citations with the question: three messages of the user."""
    found = client.get_prompt("cited_answer", {"question": "When did tea come?", "budget": "100"})
    with brimful.open(store) as engine:
        context = engine.context("When did tea come?", budget=100)
    instructions, text, asked = [message.content.text for message in found.messages]
    assert {message.role for message in found.messages} == {"user"}
    assert "cite" in instructions
    assert text == context.text
    assert all(f"{window.path}, lines {window.lines[0]}-{window.lines[1]}" in asked for window in context.windows)
    assert asked.endswith("Question: When did tea come?")
    nothing = client.get_prompt("cited_answer", {"question": "xylophone"})
    assert "nothing" in nothing.messages[1].content.text


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("cited_answer", {}, "input: cited_answer needs the argument 'question'"),
        ("cited_answer", {"question": "tea", "budget": "many"}, "input.budget: budget is 'many'; "),
        ("cited_answer", {"question": "tea", "budget": "0"}, "from 1 to 200000"),
        ("cited_answer", {"question": "tea", "budget": "9" * 5_000}, "from 1 to 200000"),
        ("cited_answer", {"question": "tea", "bugdet": "9"}, "did you mean 'budget'?"),
        ("cited_answer", {"question": "x" * 10_001}, "question has 10001 characters; give 1 to 10000"),
        ("cited_answer", {"question": ""}, "question has 0 characters"),
        ("cited_anser", {"question": "tea"}, "did you mean 'cited_answer'?"),
    ],
)
def test_a_wrong_prompt_says_how_to_fix_it(client, name, given, message):
    """The same care as for tools: value, remedy, code."""
    with pytest.raises(MCPError) as refused:
        client.get_prompt(name, given)
    assert message in str(refused.value)
    assert refused.value.error.code == -32602
