import pytest

from tests.surfaces.mcp.talking import talking, text_of

LONG = "x" * 20_000
REFUSED = [
    ("get_context", {}, "input.setting: question is missing; "),
    ("get_context", {"question": ""}, "input.setting: question is ''; "),
    ("get_context", {"question": LONG}, "at most 10000 characters"),
    ("get_context", {"question": ["tea"]}, "input.setting: question is ['tea']; "),
    ("get_context", {"question": "tea", "budget": 0}, "budget is 0; Input should be greater than or equal to 1"),
    ("get_context", {"question": "tea", "budget": -5}, "budget is -5; "),
    ("get_context", {"question": "tea", "budget": 10**30}, "less than or equal to 200000"),
    ("get_context", {"question": "tea", "budget": "a lot"}, "budget is 'a lot'; "),
    ("get_context", {"question": "tea", "budget": 1.5}, "budget is 1.5; "),
    ("get_context", {"question": "tea", "set": "format=markdwn"}, "did you mean 'markdown'?"),
    ("get_context", {"question": "tea", "set": "packing=greedyy"}, "did you mean 'greedy'?"),
    ("get_context", {"question": "tea", "set": "packing"}, "write name=value"),
    ("get_context", {"question": "tea", "set": "kind=cod"}, "did you mean 'code'"),
    ("get_context", {"question": "tea", "set": "after=tomorrow"}, "after is 'tomorrow'"),
    ("get_context", {"question": "tea", "set": "model=nobody-knows-it"}, "input.model: "),
    ("get_context", {"question": "tea", "set": "densify=openai:gpt-4o"}, "a tool asks no model"),
    ("get_context", {"question": "tea", "budgt": 5}, "input.choice: get_context has no argument 'budgt'; did you mean"),
    ("get_context", {"question": "tea", "kind": "code"}, "it is a choice: set='kind=code'"),
    ("get_context", {"question": "tea", "densify": "http://10.0.0.1"}, "input.choice: "),
    ("search", {"query": "tea"}, "search has no argument 'query'; did you mean 'question'? arguments: question, "),
    ("search", {"question": "tea", "top_k": 5}, "did you mean 'limit'?"),
    ("search", {"question": "tea", "set": "ordr=best"}, "unknown choice of a search 'ordr'"),
    ("read_span", {"path": "mind.md", "first_line": 2}, "did you mean 'lines'?"),
    ("read_span", {"path": "mind.md", "lines": "two"}, "lines is 'two'; write 12-30"),
    ("search", {"question": "tea", "limit": 51}, "limit is 51; "),
    ("search", {"question": "tea\x00", "limit": 0}, "limit is 0; "),
    ("read_span", {"path": "tea.md"}, "input.document: 'tea.md' is not in the store; did you mean 'docs/tea.md'?"),
    ("read_span", {"path": "../../../etc/passwd"}, "input.document: '../../../etc/passwd' is not in the store; "),
    ("read_span", {"path": "/etc/passwd"}, "input.document: '/etc/passwd' is not in the store; "),
    ("read_span", {"path": "docs/../docs/tea.md"}, "did you mean 'docs/tea.md'?"),
    ("read_span", {"path": "docs/tea.md\x00"}, "'docs/tea.md\\x00' is not in the store; did you mean 'docs/tea.md'?"),
    ("read_span", {"path": "a\nb\x1b[31m"}, "'a\\nb\\x1b[31m' is not in the store; "),
    ("read_span", {"path": LONG}, "at most 4096 characters"),
    ("read_span", {"path": "mind.md", "start": -1}, "start is -1; "),
    ("read_span", {"path": "mind.md", "start": 2**60}, "start is "),
    ("read_span", {"path": "mind.md", "start": 5, "lines": "2"}, "input: start counts bytes"),
    ("read_span", {"path": "mind.md", "lines": "99"}, "input.span: line 99 is beyond mind.md, which has 5 lines"),
    ("read_span", {"path": "mind.md", "lines": "3-2"}, "input.span: "),
    ("explain", {}, "input: give a question or a receipt"),
    ("explain", {"question": "tea", "receipt": "0" * 64}, "input: give a question or a receipt"),
    ("explain", {"question": "tea", "answer": "Tea."}, "give receipt too"),
    ("explain", {"receipt": "0" * 64}, "input.document: there is no receipt '000"),
    ("capture", {"text": ""}, "text is ''; "),
    ("capture", {"text": "x" * 1_000_001}, "at most 1000000 characters"),
    ("capture", {"text": "Tea.", "name": "two\nlines"}, "name is 'two\\nlines'; "),
    ("capture", {"text": "Tea.", "name": "red\x1b[31m"}, "name is 'red\\x1b[31m'; "),
    ("capture", {"text": "Tea.", "model": "http://127.0.0.1:1/v1#x"}, "input: model is 'http://127.0.0.1:1/v1#x'; "),
    ("capture", {"text": "Tea.", "model": " HTTPS://127.0.0.1:1/v1#x"}, "a call can't choose an address"),
    ("capture", {"text": "Tea.", "model": "opnai:gpt-4o"}, "input.choice: unknown provider in 'opnai:gpt-4o'; did you"),
    ("no_such_tool", {}, "no_such_tool"),
]


@pytest.mark.parametrize(("name", "given", "message"), REFUSED)
def test_a_wrong_call_says_how_to_fix_it(client, name, given, message):
    """An error is a result that a model reads: the code, the value, the remedy; and nothing was done."""
    result = client.call_tool(name, given)
    assert result.is_error
    assert result.structured_content is None
    assert message in text_of(result)
    assert len(text_of(result)) < 600
    assert "Traceback" not in text_of(result)
    assert "pydantic" not in text_of(result)


@pytest.mark.parametrize(
    "question",
    [
        "\x00\x01\x1b[2J",
        "\u202e\u2066",
        "🫖" * 2_000,
        '" OR 1=1; DROP TABLE --',
        "path:../..",
        "-",
        "((((",
        "*" * 9_999,
    ],
)
def test_an_odd_question_is_a_question(client, question):
    """No text that can be written down makes the server fail."""
    for name in ("get_context", "search", "explain"):
        assert not client.call_tool(name, {"question": question}).is_error


def test_a_capture_that_fails_keeps_the_text(own, monkeypatch):
    """The provider's error has its code and the remedy, and the text itself is found already."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with talking(own, "stdio") as client:
        failed = client.call_tool("capture", {"text": "Zeppelins at four.", "name": "four", "model": "openai:gpt-4o"})
        assert failed.is_error
        assert text_of(failed).startswith("provider.auth: ")
        assert "the text is kept as 'four'" in text_of(failed)
        assert "Zeppelins at four." in text_of(client.call_tool("get_context", {"question": "zeppelins"}))


def test_a_bug_tells_the_model_nothing_of_the_inside(own):
    """An unforeseen error is named to the operator alone."""
    bug = "from brimful.corpus import Corpus; Corpus.search = lambda *_, **__: 1 / 0"
    with talking(own, "stdio", before=bug) as client:
        failed = client.call_tool("search", {"question": "tea"})
        assert failed.is_error
        assert "division" not in text_of(failed)
        assert not client.call_tool("get_context", {"question": "tea"}).is_error
