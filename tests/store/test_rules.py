"""Which rules made a store: kept by it, named by receipts, and pinned by what they give for three files.

After a version in `brimful/rules.py` was raised, `PYTHONPATH=src python -m tests.store.test_rules` pins anew.
"""

import json
import tempfile
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from blake3 import blake3

import brimful
from brimful import rules
from brimful.documents.documents import Document
from brimful.errors import StoreRulesError
from brimful.index.build import Extent
from brimful.outline import units
from brimful.store.address import Address
from brimful.store.opening import opened
from brimful.store.upkeep import verify
from brimful.text.stems import SNOWBALL, stems_by_language, telling_words
from tests.index.segment import build_segment

from .test_sqlite import dump, entry

PLACE = Path(__file__).parent / "rules"
PINS = PLACE / "pins.json"
FILES = {name: (PLACE / name).read_bytes() for name in ("barrels.js", "garden.md", "harvest.csv")}
QUESTIONS = (
    "When is the second barrel mended, and what does a new one cost?",
    "daysLeft",
    "how heavy were the pumpkins of the school bed",
    "wattering in the sun",
)


@cache
def given():
    """What each rule gives for the three files, as JSON says it."""
    found = {name: {} for name in rules.VERSIONS}
    for path, content in FILES.items():
        document = Document(path, content)
        segment = build_segment([Extent(content, document.kind, document.language)])
        postings = segment.postings
        names = list(postings.names)
        found["headings"][path] = [column.tolist() for column in segment.heads]
        found["units"][path] = {"units": segment.units.tolist(), "sections": segment.sections.tolist()}
        found["terms"][path] = digest(names, postings.offsets.tolist(), postings.positions.tolist())
        found["stems"][path] = digest(stems_by_language(names, SNOWBALL), telling_words())
    with tempfile.TemporaryDirectory() as folder, brimful.open(folder, embedder="none") as engine:
        engine.add_documents([Document(path, content) for path, content in FILES.items()])
        for question in QUESTIONS:
            found["ranking"][question] = [[hit.path, hit.start, hit.score] for hit in engine.search(question).hits[:9]]
            context = engine.context(question, budget=400)
            found["windows"][question] = [[window.path, window.start, window.end] for window in context.windows]
    return json.loads(json.dumps(found))


def digest(*values):
    """A few digits of a hash over some values."""
    return blake3(repr(values).encode()).hexdigest(8)


def pin():
    """Pin what today's rules give, once a version says that they are others."""
    before = json.loads(PINS.read_text(encoding="utf-8")) if PINS.exists() else {"versions": None}
    changed = [name for name, value in given().items() if before.get(name) != value]
    if changed and before["versions"] == rules.VERSIONS:
        raise SystemExit(f"raise {', '.join(changed)} in src/brimful/rules.py first")
    lines = [
        f"{json.dumps(name)}: {json.dumps(value)}" for name, value in {"versions": rules.VERSIONS, **given()}.items()
    ]
    PINS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@pytest.mark.parametrize("name", rules.VERSIONS)
def test_other_results_need_another_version(name):
    """Whatever a rule gives otherwise than before, its version was raised, and the new results are pinned."""
    pinned = json.loads(PINS.read_text(encoding="utf-8"))
    assert pinned["versions"] == rules.VERSIONS, f"a version was raised: pin the results anew ({__doc__})"
    assert pinned[name] == given()[name], (
        f"{name!r} gives something else than before, and stores do not know: raise the version in src/brimful/rules.py "
        f"of the rule that was changed, then pin the results anew ({__doc__})"
    )


_numbers = count(1)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a store may lie."""
    if request.param == "sqlite":
        return tmp_path / "garden.db"
    return Address.of(request.getfixturevalue("postgres_server").address(f"rules-{next(_numbers)}"))


@pytest.fixture
def other_rules(monkeypatch):
    """Units of 40 bytes, as another version of this program might cut them."""

    def change():
        monkeypatch.setattr(units, "_GATHERED", 40)
        monkeypatch.setattr(rules, "RULES", rules.RULES.replace("units 4", "units 5"))

    return change


def test_a_store_of_other_rules_is_refused_until_it_is_rebuilt(place, other_rules):
    """The error names both rules and the remedy, and what was rebuilt equals a fresh store."""
    with opened(place) as store:
        store.add([entry(path, content) for path, content in FILES.items()])
        before = dump(store)
    other_rules()
    with pytest.raises(StoreRulesError, match=r"units 4.*units 5.*brimful stores rebuild --store"):
        opened(place)
    brimful.rebuild(place)
    with opened(place) as store:
        rebuilt = dump(store)
        assert rebuilt != before
        store.add([entry(path, content) for path, content in FILES.items()])
        assert dump(store) == rebuilt
    assert verify(place) == []


def test_nothing_is_added_to_a_store_that_others_rebuilt(place, other_rules):
    """A program that goes on after another version has rebuilt the store would put units of two rules into it."""
    with opened(place) as store:
        store.add([entry("garden.md", FILES["garden.md"])])
        other_rules()
        with pytest.raises(StoreRulesError, match=r"units 4.*units 5"):
            store.add([entry("barrels.js", FILES["barrels.js"])])
        with store.snapshot() as now:
            assert [row.path for row in now.rows()] == ["garden.md"]


def test_asking_again_names_the_rules_first(place, other_rules):
    """A receipt names the rules of its context; with others the question is not asked again, and nothing is guessed."""
    with brimful.open(place, embedder="none") as engine:
        engine.add_documents([Document(path, content) for path, content in FILES.items()])
        receipt = engine.context(QUESTIONS[0], budget=400).receipt
        assert receipt.settings["rules"] == rules.RULES
        assert engine.verify(receipt, replay=True).verified
    other_rules()
    brimful.rebuild(place)
    with brimful.open(place, embedder="none") as engine:
        (finding,) = engine.verify(receipt, replay=True)
        assert "made by other rules" in finding.message
        assert (
            finding.message.index("units 4")
            < finding.message.index("this program has")
            < finding.message.index("units 5")
        )
        with pytest.raises(StoreRulesError, match="made by other rules"):
            engine.replay(receipt)


if __name__ == "__main__":
    pin()
