"""What lies ready beside a store is believed for its state alone, and only where it is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import brimful
from brimful.corpus.documents import Document
from brimful.engine import Engine
from brimful.store.ready import SUFFIX, Ready

TEXTS = {
    "tea.md": "# Tea\n\nTea is served at four. The kettle whistles.\n",
    "pot.py": "def kettle():\n    return 'whistle'\n",
    "de/tee.md": "# Tee\n\nDer Kessel pfeift um vier.\n",
    "en/tee.md": "# Tea\n\nThe kettle whistles at four.\n",
}
QUESTIONS = ("When is tea served?", "kettel whistels", "kettle", "Wann pfeift der Kessel?")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with code and prose in two languages."""
    path = tmp_path / "store.db"
    with brimful.open(path, embedder="none") as engine:
        for name, text in TEXTS.items():
            engine.add_text(name, text)
    return path


def answers(path: Path, *, write: bool = False) -> list[str]:
    """What a new process says, which may write down what it has made."""
    with brimful.open(path, embedder="none") as engine:
        found = [engine.context(question, budget=200).text for question in QUESTIONS]
        if write:
            engine.leave_ready()
    return found


def written(path: Path) -> list[str]:
    """The same; two processes that are asked one after the other have written down everything."""
    answers(path, write=True)
    return answers(path, write=True)


def beside(path: Path) -> Path:
    """Where things lie ready."""
    return path.with_name(path.name + SUFFIX)


def made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the parts that questions had to make."""
    made: set[str] = set()
    with monkeypatch.context() as patched:
        patched.setattr(Ready, "keep", lambda _, name, __: made.add(name))
        answers(path)
    return made


def test_answers_are_the_same_by_what_lies_ready(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that finds columns ready answers as one that makes them, and makes none."""
    before = answers(store)
    assert not beside(store).exists()  # a library writes nothing that it was not asked for
    assert answers(store, write=True) == before
    assert beside(store).stat().st_size < 200  # only which state was asked
    assert made_anew(store, monkeypatch) >= {"words"}
    assert answers(store, write=True) == before
    assert made_anew(store, monkeypatch) == set()
    assert answers(store) == before


def test_parts_are_added_to_those_that_are_there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a later process makes is written beside what an earlier one has written."""
    for _ in range(2):
        with brimful.open(store, embedder="none") as engine:
            engine.context("kettle", budget=100)
            engine.leave_ready()
    assert made_anew(store, monkeypatch) == {"words"}
    answers(store, write=True)
    assert made_anew(store, monkeypatch) == set()


def _added(engine: Engine) -> None:
    engine.add_text("cup.md", "A cup of tea.")


def _removed(engine: Engine) -> None:
    engine.remove("tea.md")


def _changed(engine: Engine) -> None:
    engine.add_text("tea.md", "Tea is served at five.")


@pytest.mark.parametrize("change", [_added, _removed, _changed])
def test_what_is_of_another_state_is_not_believed(
    store: Path, change: Callable[[Engine], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any change everything is made anew, and answers are those of a store beside which nothing lies."""
    written(store)
    with brimful.open(store, embedder="none") as engine:
        change(engine)
    assert made_anew(store, monkeypatch) >= {"words"}
    found = answers(store)
    beside(store).unlink()
    assert answers(store) == found


def test_a_store_that_was_copied_over_is_another(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same texts in other segments have the same root, and what lay ready of the others is not believed."""
    written(store)
    other = tmp_path / "other.db"
    with brimful.open(other, embedder="none") as engine:
        engine.add_documents(Document(name, text) for name, text in TEXTS.items())
    store.write_bytes(other.read_bytes())
    assert made_anew(store, monkeypatch) >= {"words"}


def _places(size: int) -> Iterator[int]:
    yield from range(400)
    yield from range((1 << 16) - 8, size, 7)


def test_a_flipped_bit_is_noticed(store: Path) -> None:
    """Whatever byte of the file is another, answers are the same; one that is cut off likewise."""
    before = written(store)
    whole = beside(store).read_bytes()
    for at in [*_places(len(whole))][:: max(len([*_places(len(whole))]) // 60, 1)]:
        broken = bytearray(whole)
        broken[at] ^= 0x40
        beside(store).write_bytes(broken)
        assert answers(store) == before
    for size in (0, 1, 79, 1000, len(whole) // 2, len(whole) - 1):
        beside(store).write_bytes(whole[:size])
        assert answers(store) == before


def test_arrays_of_other_types_are_refused(store: Path) -> None:
    """Where what lies ready is not what is needed, it is made: answers are the same, whatever the arrays are."""
    before = written(store)
    with brimful.open(store, embedder="none") as engine, engine.corpus() as corpus:
        ready = corpus.snapshot.ready
        names = [name for name in ready._parts()[1] if name != "description"]
        for name in names:
            arrays = ready.arrays(name)
            assert arrays is not None
            ready.keep(name, [array.astype(np.float64) for array in arrays])
        ready.write()
    assert len(names) > 5
    assert answers(store) == before


def test_where_nobody_may_write_nothing_is_written(tmp_path: Path) -> None:
    """A folder that can't be written to is no error."""
    ready = Ready(tmp_path / "gone" / "store.db", lambda: bytes(32))
    assert ready.arrays("units") is None
    ready.keep("units", [np.arange(2)])
    ready.write()


def test_only_who_may_read_the_store_may_read_what_lies_ready(store: Path) -> None:
    """The file has the rights of the store."""
    store.chmod(0o600)
    written(store)
    assert beside(store).stat().st_mode & 0o777 == 0o600


def test_purging_leaves_nothing_ready(store: Path) -> None:
    """Words of what was removed are nowhere beside a purged store."""
    written(store)
    with brimful.open(store, embedder="none") as engine:
        engine.remove("tea.md")
        engine.purge()
    assert not beside(store).exists()


def test_what_a_killed_process_left_is_removed(store: Path) -> None:
    """Half a file that was never put in its place stays until the next one is written, and no longer."""
    half = store.with_name(f"{store.name}{SUFFIX}-1")
    half.write_bytes(b"half")
    other = store.with_name(f"other{SUFFIX}-1")
    other.write_bytes(b"of another store")
    written(store)
    assert beside(store).exists()
    assert not half.exists()
    assert other.exists()
