"""Parts of a question are answered where the segments lie: the same bytes, and no codes and no vocabulary travel.

Ray itself is asked in test_ray; here its calls are made in this process, through pickle, and counted.
"""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import brimful
from brimful.errors import BrimfulError, StoreUnreachableError
from brimful.index.vectors import DIMENSIONS
from brimful.store.cluster import RayStore
from brimful.store.format import CODES, PAGE, kind_of_key

from .corpus import documents
from .test_stores import KINDS, compare, replaced


class HereRay:
    """Actors that live in this process; everything that goes to one or comes back is pickled."""

    class exceptions:  # noqa: N801 - as Ray names it
        """What a task raised comes in an error of Ray's; the others are never raised here."""

        RayTaskError = type("RayTaskError", (Exception,), {"cause": None})
        RayActorError = ActorDiedError = ObjectLostError = type("NeverError", (Exception,), {})

    def __init__(self):
        self.sent = []  # what each call was, and what came back

    def remote(self, kind):
        """A class whose objects are actors."""
        made = SimpleNamespace(remote=lambda *given: _Actor(self, kind(*given)))
        return SimpleNamespace(options=lambda **_: made)

    def get(self, begun):
        """What a call has brought."""
        name, raw, cause = begun
        if cause is not None:
            error = self.exceptions.RayTaskError(name)
            error.cause = cause
            raise error
        self.sent.append((name, pickle.loads(raw)))
        return self.sent[-1][1]

    def kill(self, actor):
        """End one."""


class _Actor:
    def __init__(self, ray, served):
        self._ray, self._served = ray, served

    def __getattr__(self, name):
        def remote(*given, **named):
            given, named = pickle.loads(pickle.dumps((given, named)))
            try:
                return name, pickle.dumps(getattr(self._served, name)(*given, **named)), None
            except BrimfulError as error:
                return name, b"", error

        return SimpleNamespace(remote=remote)


@pytest.fixture
def here(monkeypatch):
    """Ray in this process."""
    monkeypatch.setattr("brimful.store.cluster._next_node", lambda: None)
    found = HereRay()
    monkeypatch.setattr("brimful.store.cluster.connect", lambda _: found)
    return found


@pytest.fixture
def places(tmp_path):
    """Where three shards lie."""
    return [tmp_path / f"{name}.db" for name in "abc"]


def test_questions_in_rounds_have_the_same_answer(here, places, tmp_path):
    """Words and meaning that are looked up by three actors: contexts and receipts are those of one file, also when
    documents were removed and replaced.
    """
    with brimful.open(tmp_path / "one.db") as file, brimful.open(places, ray="here") as shards:
        given = list(documents())
        for engine in (file, shards):
            engine.add_documents(given)
        assert compare([file, shards], seed=41, most=4 * KINDS) > 2 * KINDS
        for engine in (file, shards):
            engine.remove(*[document.path for document in given[::3]])
            engine.add_documents([replaced(document) for document in given[::6]])
        assert any(view.dead for view in shards.columns.snapshot.segments())
        assert compare([file, shards], seed=42, most=4 * KINDS)
    called = {name for name, _ in here.sent}
    assert called >= {"near", "scores", "words"}


def test_a_segment_that_is_all_dead_is_passed_over(here, places, tmp_path):
    """Documents that came together and went together leave nothing that is near, and no error."""
    with brimful.open(tmp_path / "one.db") as file, brimful.open(places, ray="here") as shards:
        for engine in (file, shards):
            engine.add_documents([brimful.Document(f"gone{n}.md", f"Order {n} of green tea.") for n in range(9)])
            engine.add_documents(list(documents()))
            engine.remove(*[f"gone{n}.md" for n in range(9)])
        assert compare([file, shards], seed=44, most=KINDS)


def test_neither_codes_nor_the_vocabulary_travel(here, places):
    """No blob of codes is fetched, and a question with a slip of the fingers fetches few pages of many."""
    with brimful.open(places, ray="here") as shards:
        shards.add_documents(list(documents()))
        words = [" ".join(f"{name}{_letters(n)}" for n in range(30_000)) for name in ("ka", "mo", "zu")]
        shards.add_documents([brimful.Document(f"words/{n}.txt", text) for n, text in enumerate(words)])
        shards.context("Who bougt chests of tea in Kyotto?", budget=400)
        pages = sum(len(view.firsts) for view in shards.columns.snapshot.segments())
    kept = [key for name, found in here.sent if name == "blobs" for key in found]
    assert "words" in {name for name, _ in here.sent}
    assert CODES not in map(kind_of_key, kept)
    assert 0 < sum(kind_of_key(each) == PAGE for each in kept) < pages


def _letters(number):
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def test_documents_that_have_moved_are_not_counted_twice(here, places, tmp_path, monkeypatch):
    """A move that was broken off before the first shard has forgotten the documents: each is near once, and the best
    of those that stayed are not pushed out by those that left.
    """
    with brimful.open(tmp_path / "one.db") as file, brimful.open(places) as shards:
        for engine in (file, shards):
            engine.add_documents(list(documents()))
        monkeypatch.setattr("brimful.store.store.Store.give_up", _broken_off)
        with pytest.raises(KeyboardInterrupt):
            shards._store.rebalance(leave=[0])
        monkeypatch.undo()
        monkeypatch.setattr("brimful.store.cluster._next_node", lambda: None)
        monkeypatch.setattr("brimful.store.cluster.connect", lambda _: here)
        with brimful.open(places, ray="here") as again:
            assert any(view.is_part for view in again.columns.snapshot.segments())
            assert compare([file, again], seed=43, most=2 * KINDS)


def _broken_off(*_, **__):
    raise KeyboardInterrupt


def test_a_segment_number_that_is_given_again_is_read_anew(here, places):
    """A file gives the number of a segment that is gone to a new one: nothing that was kept of the first is shown."""
    with brimful.open(places, ray="here") as shards:
        for word in ("kettle", "teapot", "samovar"):
            shards.add_documents([brimful.Document(f"{n}.md", f"The {word} number {n} is hot.") for n in range(12)])
            numbers = [view.number for view in shards.columns.snapshot.segments()]
            assert word in shards.context(f"Which {word} is hot?", budget=300).text
            shards.remove(*[document.path for document in shards.documents()])
            shards._store.compact()
        assert set(numbers) == {1}


def test_a_snapshot_whose_actor_is_gone_is_lost(here, places):
    """An actor that was started again has no snapshots: a part of a question that asks one is a typed error."""
    with brimful.open(places[0]) as plain:
        plain.add_text("tea.md", "Tea at four.")
    store = RayStore(places[0], ray=here)
    held = store.snapshot()
    views = held.segments()
    store._actor._served._held.clear()
    with pytest.raises(StoreUnreachableError, match="ask again"):
        held.near_elsewhere(views, np.ones(DIMENSIONS, np.int64), least=0, limit=3)
    assert held.is_lost


def test_far_shards_are_all_begun_before_one_is_waited_for(here, places, monkeypatch):
    """The parts of a question are sent to all shards, and only then is the first answer looked at."""
    order = []
    begun, got = RayStore.begin, here.get
    monkeypatch.setattr(RayStore, "begin", lambda self, *given: order.append(("sent", given[0])) or begun(self, *given))
    monkeypatch.setattr(here, "get", lambda ref: order.append(("got", ref[0])) or got(ref))
    with brimful.open(places, ray="here") as shards:
        shards.add_documents(list(documents()))
        order.clear()
        shards.context("Nobody paid the invoice", budget=300)
    for name in ("near", "scores"):
        steps = [step for step, what in order if what == name]
        assert steps[:6] == ["sent"] * 3 + ["got"] * 3
