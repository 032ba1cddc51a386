import json
import re
from pathlib import Path

from brimful import limits

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_the_page_has_every_tool_and_argument(client):
    """Nothing that a model can say is undocumented, and every bound is the true one."""
    rows = {name: row for row in PAGE.splitlines() for name in re.findall(r"^\| `(\w+)` \|", row)}
    found = client.list_tools().tools
    assert set(rows) == {tool.name for tool in found}
    for tool in found:
        assert [name for name in tool.input_schema["properties"] if f"`{name}`" not in rows[tool.name]] == []
    for number in (limits.MODEL_BUDGET_TOKENS, limits.MODEL_PASSAGE_BYTES, limits.CAPTURED_CHARACTERS):
        assert f"{number:,}" in PAGE
    assert f"to {limits.MODEL_RESULTS} (10)" in PAGE
    assert f"{limits.HIT_CHARACTERS:,} characters" in PAGE
    assert f"last {limits.MODEL_RECEIPTS}" in PAGE


def test_the_configurations_are_json():
    """What is copied from the page is read by the client: one server each, started or reached."""
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert [next(iter(block)) for block in blocks] == ["mcpServers", "mcpServers", "servers"]
    for block in blocks:
        (server,) = next(iter(block.values())).values()
        assert server.get("args", ["mcp"])[0] == "mcp"
        assert ("command" in server) != ("url" in server)
