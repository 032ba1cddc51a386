"""Small corpora in a store, and the columns over them."""

import random

import pytest

from brimful import Document
from brimful.search.candidates import ChosenUnits, WordsInUnits
from brimful.search.columns import CorpusColumns
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument

WORDS = ["tea", "pot", "cup", "harbour", "ledger", "lamp", "river", "stone", "green", "brass"]


def counts_in(columns, units, places):
    """How many of some positions lie in each of some ascending units."""
    bounds = [*units.searchsorted(columns.grid.begins).tolist(), len(units)]
    chosen = ChosenUnits(units, columns.placed(units), bounds)
    return WordsInUnits(columns, chosen, [[(1, places)]], heading=0).counts[0].tolist()


def sentence(chance: random.Random) -> str:
    """Some words, with a capital and a stop."""
    return " ".join(chance.choices(WORDS, k=chance.randrange(3, 12))).capitalize() + ". "


def corpus(seed: int, *, count: int = 12, longest: int = 40) -> list[Document]:
    """Documents of a few to many sentences, some with headings, an empty one, some of code and data."""
    chance = random.Random(seed)
    documents = [Document("empty.md", ""), Document("blank.txt", " \n\n ")]
    for number in range(count):
        parts = []
        for at in range(chance.randrange(1, longest)):
            if at % 9 == 0 and chance.random() < 0.5:
                parts.append(f"\n\n# {chance.choice(WORDS)} {at}\n\n")
            parts.append(sentence(chance))
        documents.append(Document(f"{chance.choice(WORDS)}/{number:02}.md", "".join(parts), time=number * 86_400))
    documents.append(
        Document("pour.py", "def pour(cup):\n    tea = cup + 1\n    return tea\n\n\ndef lamp():\n    pass\n")
    )
    documents.append(Document("stock.csv", "name,price\ntea,3\npot,9\nlamp,4\n"))
    return documents


@pytest.fixture
def laid(tmp_path):
    """Lay documents down in several segments, with some that are gone, and give the columns over them."""
    opened = []

    def lay(documents, *, batch=3, gone=()):
        store = SqliteStore(tmp_path / f"{len(opened)}.db")
        entries = [NewDocument(document) for document in [*gone, *documents]]
        for at in range(0, len(entries), batch):
            store.add(entries[at : at + batch])
        store.remove([document.path for document in gone])
        snapshot = store.snapshot()
        opened.extend((snapshot, store))
        return CorpusColumns(snapshot)

    yield lay
    for each in opened:
        each.close()
