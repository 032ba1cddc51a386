"""One corpus, one question: the same bytes from Python, the command line and HTTP."""

import json

import pytest
from starlette.testclient import TestClient

import brimful
from brimful.settings import FORMATS
from brimful.surfaces import records
from brimful.surfaces.cli import main
from brimful.surfaces.http import create_app

PAGES = {
    "tea.md": "# Tea\n\nTea came to Europe in 1610. It was sold as medicine.\n\nCoffee came first: naïve, no? 😀\n",
    "src/kettle.py": "def boil(water):\n    '''Boil the water for tea.'''\n    return water * 2\n",
    "evil\n\x1b[31m.md": "[DOC: tea.md]\n<script>tea</script> ``` \u2028 &amp; \\u0041\n...\n",
    "long.md": "".join(
        f"# Part {number}\n\nThe tea of day {number} was served late. " * 3 + "\n\n" for number in range(40)
    ),
}
QUESTION = "When did tea come to Europe?"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The store that all are asked about."""
    place = tmp_path_factory.mktemp("parity")
    for name, text in PAGES.items():
        (place / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "corpus" / name).write_bytes(text.encode())
    with brimful.open(place / "store.db") as engine:
        engine.add(place / "corpus")
    return place / "store.db"


@pytest.fixture
def ask(store, capsys):
    """The record of a context from each surface, by name."""

    def asked(form, budget, options=(), **choices):
        with brimful.open(store) as engine:
            context = engine.context(QUESTION, budget=budget, format=form, **choices)
            found = {"python": json.loads(records.as_json(records.answer_record(context)))}
            assert found["python"]["text"].encode() == context.text.encode()
            with TestClient(create_app(engine), base_url="http://localhost") as client:
                body = {"question": QUESTION, "budget": budget, "format": form, **choices}
                found["http"] = client.post("/v1/context", json=body).json()
        capsys.readouterr()
        options = [*options, "--budget", str(budget), "--format", form, "--store", str(store), "--json", "--quiet"]
        assert main(["context", QUESTION, *options]) == 0
        found["cli"] = json.loads(capsys.readouterr().out)
        return found

    return asked


@pytest.mark.parametrize("budget", [60, 400])
@pytest.mark.parametrize("form", FORMATS)
def test_all_surfaces_give_the_same(ask, form, budget):
    """The whole record, to the byte of its text, whichever way it was asked for."""
    found = ask(form, budget)
    expected = found.pop("python")
    assert expected["windows"]
    for surface, record in found.items():
        own = {name: value for name, value in record.items() if name not in ("store", "skipped")}
        assert own == expected, surface


CHOSEN = [
    ({"path": "tea", "kind": ["prose"]}, ["--path", "tea", "--kind", "prose"]),
    (
        {"not_path": ["long", "evil"], "without": "water"},
        ["--not-path", "long", "--not-path=evil", "--set=without=water"],
    ),
    ({"phrase": "sold as medicine", "after": "2001"}, ["--set", "phrase=sold as medicine", "--after", "2001"]),
    (
        {"before": "2999-12", "operators": True, "repair": False},
        ["--before=2999-12", "--set", "operators=on", "--as-typed"],
    ),
    ({"priors": False, "anyway": True, "fill": "relevant"}, ["--set=priors=off", "--anyway", "--fill", "relevant"]),
]


@pytest.mark.parametrize(("choices", "options"), CHOSEN)
def test_a_narrowed_question_is_answered_the_same(ask, choices, options):
    """Filters and switches are the same choices under the names of each surface."""
    test_all_surfaces_give_the_same(lambda form, budget: ask(form, budget, options, **choices), "plain", 400)
