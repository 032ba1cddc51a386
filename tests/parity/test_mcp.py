"""The same bytes from MCP as from Python."""

import json

import pytest

import brimful
from brimful.surfaces import records
from tests.surfaces.conftest import write_pages
from tests.surfaces.mcp.talking import talking, text_of

QUESTIONS = ["When did tea come to Europe?", "consciousness", "boil water", "tea coffe path:tea", "xylophone tea"]
CHOICES = [
    {},
    {"format": "markdown", "budget": 60},
    {"format": "xml", "packing": "interleaved"},
    {"format": "json", "fill": "relevant"},
    {"sizing": "density", "strategy": "semantic", "model": "cl100k_base"},
    {"path": ["tea", "src/*"], "kind": "prose", "without": "cold", "repair": False, "priors": False, "anyway": True},
    {"operators": True, "not_path": "src/", "phrase": ["came to"]},
]


@pytest.fixture(scope="module", params=["stdio", "http"])
def both(request, tmp_path_factory):
    """An engine, and a client of a server over the same store."""
    folder = write_pages(tmp_path_factory.mktemp("corpus"))
    file = tmp_path_factory.mktemp("store") / "corpus.db"
    with brimful.open(file) as engine:
        engine.add(folder)
        with talking(file, request.param) as client:
            yield engine, client


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_a_context_is_the_engines(both, question, choices):
    """Text, citations, counts, root and receipt are those of `engine.context`."""
    engine, client = both
    context = engine.context(question, **choices)
    result = client.call_tool("get_context", {"question": question, **choices})
    found = result.structured_content
    assert found["text"] == context.text
    assert text_of(result) == (context.text or found["note"])
    record = json.loads(records.as_json(records.answer_record(context)))
    for name in ("tokens", "budget", "model", "exact", "truncated", "receipt", "root"):
        assert found[name] == record[name]
    assert found["relevance"] == {name: record["relevance"][name] for name in found["relevance"]}
    assert found["windows"] == [{name: window[name] for name in found["windows"][0]} for window in record["windows"]]


@pytest.mark.parametrize("question", QUESTIONS)
def test_hits_are_the_engines(both, question):
    """Places, scores and texts of `engine.search`."""
    engine, client = both
    hits = client.call_tool("search", {"question": question}).structured_content["hits"]
    record = json.loads(records.as_json(records.found_record(engine, engine.search(question))))
    assert hits == [{name: hit[name] for name in hits[0]} for hit in record["hits"]]
