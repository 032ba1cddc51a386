"""The same bytes from MCP as from Python."""

import pytest

import brimful
from brimful.settings import Ask
from tests.surfaces.conftest import write_pages
from tests.surfaces.mcp.talking import note_of, talking, text_of

QUESTIONS = ["When did tea come to Europe?", "consciousness", "boil water", "tea coffe path:tea", "xylophone tea"]
CHOICES = [
    "",
    "format=markdown; reserved_response=90",
    "format=xml; packing=interleaved",
    "format=json; fill=relevant",
    "sizing=density; strategy=semantic; model=cl100k_base",
    "path=tea; path=src/*; kind=prose; without=cold; repair=off; priors=off; anyway=on",
    "operators=on; not_path=src/; phrase=came to",
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
@pytest.mark.parametrize("choices", CHOICES)
def test_a_context_is_the_engines(both, question, choices):
    """Text, count and receipt are those of `engine.context`."""
    engine, client = both
    context = engine.context(Ask.of(question, {}, choices))
    result = client.call_tool("get_context", {"question": question, "set": choices})
    note = f"{context.tokens} of {context.budget.available} tokens; receipt {context.receipt.id[:12]}."
    assert note in note_of(result)
    assert text_of(result) == (context.text or note_of(result))


@pytest.mark.parametrize("question", QUESTIONS)
def test_hits_are_the_engines(both, question):
    """Places, scores and texts of `engine.search`, best first."""
    engine, client = both
    text = text_of(client.call_tool("search", {"question": question}))
    at = 0
    for number, hit in enumerate(engine.search(question).hits, 1):
        first, last = engine.lines(hit.path, hit.start, hit.end)
        place = f"{number}. {hit.path}, lines {first}-{last} (bytes {hit.start}-{hit.end}), score {hit.score:.3f}"
        at = text.index(place, at)
        assert engine.text(hit.path, hit.start, hit.end).splitlines()[0] in text[at:]
