"""docs/http.md: its commands work, and it names every address and every problem."""

import json
import re
import shlex
from pathlib import Path

from brimful.errors import OUTCOMES

PAGE = Path(__file__).parents[3] / "docs" / "http.md"


def test_every_command_of_the_page_works(client, engine):
    """Each curl is answered with success, in their order, and all addresses of the description are asked."""
    engine.add_text("tokens.md", (PAGE.parent / "internals" / "tokens.md").read_text(encoding="utf-8"))
    made = engine.context("tokens", budget=100)
    client.post("/v1/context", json={"question": "tokens", "budget": 100})
    text = PAGE.read_text(encoding="utf-8").replace("$RECEIPT", made.receipt.id)
    text = text.replace("$(cat receipt.json)", made.receipt.to_json().replace('"', '\\"'))
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    asked = set()
    for line in blocks.splitlines():
        if line.startswith("curl"):
            method, address, headers, body = parsed(shlex.split(line)[1:])
            response = client.request(method, f"http://{address}", headers=headers, content=body)
            assert response.status_code == 200, (line, response.text)
            asked.add((response.url.path.replace(made.receipt.id, "{id}"), method.lower()))
    described = json.loads((PAGE.parent / "openapi.json").read_text(encoding="utf-8"))["paths"]
    assert asked == {(path, method) for path, operations in described.items() for method in operations}


def parsed(words):
    """Method, address, headers and body of a curl."""
    method, address, headers, body = None, None, {}, None
    at = 0
    while at < len(words):
        if words[at] in ("-H", "-d", "-X"):
            option, value, at = words[at], words[at + 1], at + 2
            if option == "-H":
                headers |= dict([value.split(": ", 1)])
            body, method = (value if option == "-d" else body), (value if option == "-X" else method)
        else:
            address, at = (address if words[at].startswith("-s") else words[at]), at + 1
    return method or ("POST" if body else "GET"), address, headers, body


def test_every_problem_has_its_row():
    """The table of the page is the table of outcomes."""
    rows = re.findall(r"^\| (\d{3}) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {(code, int(status)) for status, codes in rows for code in re.findall(r"`([a-z_.]+)`", codes)}
    assert shown == {(code, outcome.status) for code, outcome in OUTCOMES.items()}
