"""A small library that says more than any budget here holds, and texts as another retriever would bring them."""

import pytest

import brimful

PAGES = {
    **{
        f"house{n}.md": f"# House {n}\n\n"
        + "".join(f"Tea is served at {n} on day {d}. Cake comes later. " for d in range(40))
        for n in range(6)
    },
    "mind.md": "# Mind\n\nConsciousness is awareness of oneself. Philosophers argue about consciousness.\n" * 3,
    "kettle.py": "class Kettle:\n" + "".join(f"    def boil_{n}(self):\n        return {n}\n\n" for n in range(30)),
    "über/größe.md": "Größe zählt: 茶は四時に出されます。 Tea für alle 🫖.\n" * 10,
}
QUESTION = "When is tea served?"
PIECES = [f"Piece {n} says that tea is at {n}. " + f"It adds detail {n * 7}. " * (n % 5 + 1) for n in range(24)]
BUDGETS = [1, 7, 40, 99, 250, 1_000]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The path of a filled store."""
    path = tmp_path_factory.mktemp("store") / "brimful.db"
    with brimful.open(path) as engine:
        engine.add_documents([brimful.Document(name, text) for name, text in PAGES.items()])
    return path


@pytest.fixture(scope="module")
def engine(store):
    """The store, open."""
    with brimful.open(store) as opened:
        yield opened
