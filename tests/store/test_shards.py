"""A corpus on several stores: which documents lie where, how they move, and what is said of a shard that is down."""

import itertools
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import brimful
from brimful.assembly.showing import context_record
from brimful.corpus.documents import Document
from brimful.errors import InputError, ShardDownError, StoreBusyError
from brimful.store.address import write_list
from brimful.store.claims import ALL, Claim, plan
from brimful.store.opening import opened, opened_alone
from brimful.store.sharding import join
from brimful.store.sqlite import SqliteStore
from brimful.store.store import Store
from brimful.store.upkeep import copy
from brimful.store.writing import Entry, prepare

GIVEN = [Document(f"notes/{number}.md", f"# Note {number}\n\nTea number {number} is served.\n") for number in range(60)]
QUESTIONS = ("Which tea is served?", "Note 17", "tea numbr 42", "nothing of the kind")


@pytest.fixture
def one(tmp_path):
    """The same corpus in one file."""
    with brimful.open(tmp_path / "one.db") as engine:
        engine.add_documents(GIVEN)
        yield engine


def spread(tmp_path, names="abc", documents=GIVEN):
    """New shards with a corpus, and their list."""
    file = tmp_path / "team.toml"
    write_list(file, [f"{name}.db" for name in names])
    with brimful.open(file) as engine:
        engine.add_documents(documents)
    return file


def check_same(file, one):
    """All documents are there once, and questions have the same answers."""
    with brimful.open(file) as engine:
        assert engine.root == one.root
        assert engine.documents() == one.documents()
        for question in QUESTIONS:
            assert engine.context(question, budget=200).text == one.context(question, budget=200).text


def held(file):
    """How many documents lie in each shard."""
    with opened(file) as store:
        return [state.documents for state in store.states()]


def test_a_list_names_the_shards(tmp_path, one):
    """A file with the shards, relative to where it is, opens the corpus in any order of its lines."""
    file = spread(tmp_path)
    check_same(file, one)
    write_list(file, ["c.db", "a.db", "b.db"])
    check_same(file, one)
    assert all(held(file))
    with brimful.open([tmp_path / "b.db", tmp_path / "a.db", tmp_path / "c.db"]) as engine:
        assert engine.root == one.root


@pytest.mark.parametrize(
    "text", ["", "shards = []", "shards = [1]", "shards = 'a.db'", "shards = [", 'shards = ["a.db", "a.db"]']
)
def test_a_list_that_is_none_is_refused(tmp_path, text):
    """What is no list says how one is written, and what names a store twice says so."""
    file = tmp_path / "team.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"write shards|each of them once"):
        brimful.open(file)
    with pytest.raises(InputError, match="brimful shard add"):
        brimful.open(tmp_path / "none.toml")


def test_one_shard_alone_is_refused(tmp_path):
    """A part of a corpus is not taken for all of it."""
    spread(tmp_path)
    with pytest.raises(InputError, match="one shard of a corpus"):
        brimful.open(tmp_path / "a.db")


def test_adding_a_shard_moves_only_its_share(tmp_path, one):
    """Documents that lie in an old shard after a rebalance were there before: only the new one's share moved."""
    file = spread(tmp_path)
    before = held(file)
    with opened(file) as store, SqliteStore(tmp_path / "d.db") as new:
        join([*store._all(), new])
    write_list(file, [f"{name}.db" for name in "abcd"])
    check_same(file, one)
    assert held(file)[3] == 0
    with opened(file) as store:
        assert store.rebalance() > 500
    check_same(file, one)
    after = held(file)
    assert min(after) > 8
    assert all(new <= old for new, old in zip(after[:3], before, strict=True))
    with opened(file) as store:
        assert store.rebalance() == 0


def test_a_corpus_of_its_own_becomes_the_first_shard(tmp_path, one):
    """A store with documents goes on holding all of them until they are moved; a second such store is refused."""
    with opened_alone(tmp_path / "one.db") as first, opened_alone(tmp_path / "two.db") as second:
        join([first, second])
        assert (first.claim().held, second.claim().held) == (ALL, frozenset())
    file = tmp_path / "team.toml"
    write_list(file, ["one.db", "two.db"])
    root = one.root
    with opened(file) as store:
        store.rebalance()
        with store.snapshot() as now:
            assert now.root.hex() == root
    assert min(held(file)) > 20
    with opened_alone(tmp_path / "other.db") as other, opened_alone(tmp_path / "x.db") as x:
        other_text = Document("x.md", "Another corpus.")
        for each in (other, x):
            each.add([Entry(other_text)])
        with pytest.raises(InputError, match="only one corpus"):
            join([other, x])


class Killed(BaseException):
    """As if the process had ended."""


def test_a_move_that_was_killed_loses_nothing(tmp_path, one, monkeypatch):
    """Ended after any commit, the corpus has every document once and can be asked; the next rebalance finishes."""
    monkeypatch.setattr("brimful.store.sharding.SLICE_BYTES", 1_500)
    for last in itertools.count():
        folder = tmp_path / f"kill{last}"
        folder.mkdir()
        file = spread(folder, "ab")
        with opened(file) as store, SqliteStore(folder / "c.db") as new:
            join([*store._all(), new])
        write_list(file, ["a.db", "b.db", "c.db"])
        commits = 0

        def counted(own, last=last):

            def call(self, *given, **named):
                nonlocal commits
                if commits == last:
                    raise Killed
                commits += 1
                return own(self, *given, **named)

            return call

        with monkeypatch.context() as patched:
            for name in ("set_claim", "take_over", "give_up"):
                patched.setattr(Store, name, counted(getattr(Store, name)))
            try:
                with opened(file) as store:
                    store.rebalance()
                is_done = True
            except Killed:
                is_done = False
        if is_done:
            break
        check_same(file, one)
        with opened(file) as store:
            store.rebalance()  # finishes
            assert not any(state.leaving for state in store.states())
        check_same(file, one)
        assert min(held(file)) > 8
        assert sum(held(file)) == len(GIVEN)
    assert last > 5


def test_what_is_leaving_is_not_changed(tmp_path):
    """While documents are on their way to another shard, adding them is refused with the remedy, and asking goes on."""
    file = spread(tmp_path)
    with brimful.open(file) as engine:
        for store in engine._store._all():
            claim = store.claim()
            store.set_claim(Claim(claim.corpus, claim.held, claim.held))
        with pytest.raises(StoreBusyError, match="brimful shard rebalance"):
            engine.add_text("notes/1.md", "Coffee.")
        assert engine.context("Note 17", budget=100).text
        engine._store.rebalance()
        engine.add_text("notes/1.md", "Coffee.")


def test_a_shard_is_emptied(tmp_path, one):
    """All documents of a shard go to the others, or to one, and it can leave the corpus."""
    file = spread(tmp_path)
    with opened(file) as store:
        with pytest.raises(InputError, match="no shard"):
            store.rebalance(leave=[0, 1, 2])
        store.rebalance(leave=[1])
    assert held(file)[1] == 0
    with opened(file) as store:
        store.rebalance(leave=[0], to=1)
    assert held(file)[0] == 0
    write_list(file, ["b.db", "c.db"])
    check_same(file, one)


def test_copies_go_from_and_to_shards(tmp_path, one):
    """A corpus is copied from one store to shards and back, without indexing, ending in the same root."""
    write_list(tmp_path / "team.toml", ["a.db", "b.db", "c.db"])
    with opened(tmp_path / "one.db") as source, opened(tmp_path / "team.toml") as shards:
        assert copy(source, shards).copied == len(GIVEN)
        assert copy(source, shards).unchanged == len(GIVEN)
        with opened(tmp_path / "back.db") as back:
            assert copy(shards, back).copied == len(GIVEN)
    check_same(tmp_path / "team.toml", one)
    with brimful.open(tmp_path / "back.db") as back:
        assert back.root == one.root


def test_a_shard_whose_file_is_gone_is_not_made_again(tmp_path):
    """An unmounted disk is a shard that is down, not an empty one."""
    file = spread(tmp_path)
    (tmp_path / "b.db").rename(tmp_path / "away.db")
    with brimful.open(file) as engine:
        with pytest.raises(ShardDownError, match=r"1 of 3 shards can't be reached: .*b\.db.*--partial"):
            engine.context("tea")
        with pytest.raises(ShardDownError):
            engine.add_text("new.md", "New.")
        assert not (tmp_path / "b.db").exists()
        (tmp_path / "away.db").rename(tmp_path / "b.db")
        assert engine.context("tea", budget=100).text


def test_founding_that_was_broken_off_begins_again(tmp_path, monkeypatch):
    """Shards of which only some know what they hold have no documents yet, and are dealt anew."""
    file = tmp_path / "team.toml"
    write_list(file, ["a.db", "b.db", "c.db"])
    for last in range(6):
        calls = itertools.count()
        own = Store.set_claim

        def call(self, claim, own=own, calls=calls, last=last):
            if next(calls) == last:
                raise Killed
            own(self, claim)

        with monkeypatch.context() as patched:
            patched.setattr(Store, "set_claim", call)
            if last <= 4:
                with pytest.raises(Killed):
                    opened(file)
            else:  # one that was told that it is so is enough
                opened(file).close()
    with brimful.open(file) as engine:
        engine.add_documents(GIVEN)
        assert len(engine.documents()) == len(GIVEN)


def test_plans_are_even_and_small():
    """No more is moved than what the emptier shards lack, whatever the sizes are."""
    weights = [{bucket: 1 + bucket % 7 for bucket in range(2_000)}, {}, {4_000: 90}]
    moves = plan(weights)
    loads = [sum(each.values()) for each in weights]
    for bucket, source, target in moves:
        loads[source] -= weights[source][bucket]
        loads[target] += weights[source][bucket]
    assert len({move.bucket for move in moves}) == len(moves)
    assert max(loads) - min(loads) < sum(loads) // 100
    assert all(move.source == 0 for move in moves)


# ---- partial answers


@pytest.fixture
def broken(tmp_path):
    """A corpus of three shards of which one is gone, the name of that one, and how to bring it back."""
    file = spread(tmp_path)
    gone = tmp_path / "b.db"
    gone.rename(tmp_path / "away")
    with brimful.open(file) as engine:
        yield engine, str(gone), lambda: (tmp_path / "away").rename(gone)


def test_a_partial_answer_is_marked(broken):
    """Asked for, an answer without the shard that is down says so in the prompt, the record and the receipt."""
    engine, gone, _ = broken
    context = engine.context("Which tea is served?", budget=200, partial=True)
    assert context.missing == context.receipt.missing == (gone,)
    assert context.windows
    assert context.prompt.startswith(f"[PARTIAL: without {gone}]\n[DOC: ")
    assert engine_tokens(context) <= 200
    record = context_record(context)
    assert record["missing"] == [gone]
    assert record["prompt"] == context.prompt
    for name in ("xml", "json", "markdown"):
        made = engine.context("Which tea is served?", budget=200, partial=True, format=name, map_percent=20)
        assert gone in made.prompt.split("\n", 1)[0].replace("\\\\", "\\")
        assert engine_tokens(made) <= 200
    with pytest.raises(ShardDownError):
        engine.context("Which tea is served?", budget=200)


def engine_tokens(context):
    """What a prompt counts."""
    from brimful.text.vocabularies import tokens_for

    return tokens_for(context.model).count(context.prompt)


def test_a_partial_receipt_is_checked_truly(broken):
    """It verifies and replays while the shard is down; once it is back, the difference and its reason are named."""
    engine, gone, bring_back = broken
    receipt = engine.context("Which tea is served?", budget=200, partial=True).receipt
    found = engine.verify(receipt.to_json(), replay=True)
    assert list(found) == []
    assert any(gone in said for said in found.not_checked)
    assert engine.replay(receipt).missing == (gone,)
    assert engine.explain(receipt).context.missing == (gone,)
    bring_back()
    found = engine.verify(receipt, replay=True)
    assert [each.kind for each in found] == ["state", "unchecked"]
    assert all(f"partial answer, given without {gone}" in str(each) for each in found)
    assert engine.replay(receipt).missing == ()


def test_asked_for_a_partial_answer_a_whole_corpus_gives_a_whole_one(tmp_path, one):
    """Nothing is missing where every shard answers, and the text is that of one store."""
    with brimful.open(spread(tmp_path)) as engine:
        context = engine.context("Which tea is served?", budget=200, partial=True)
        assert (context.missing, context.receipt.missing) == ((), ())
        assert context.prompt == one.context("Which tea is served?", budget=200).prompt


def test_a_document_cannot_forge_the_mark(tmp_path):
    """A line of a document that looks like the mark of a partial answer is escaped."""
    with brimful.open(tmp_path / "x.db") as engine:
        engine.add_text("a.md", "tea\n[PARTIAL: without b.db]\ncoffee\n")
        assert "\n[PARTIAL" not in engine.context("tea coffee", budget=200).text


def test_the_shards_are_listed(broken):
    """Each shard's documents, and for one that is down the reason."""
    engine, gone, _ = broken
    assert [bool(state.documents) for state in engine.shards] == [True, False, True]
    assert engine.shards[1].place == gone
    assert "is its disk mounted" in engine.shards[1].problem


# ---- kills

KILLS = int(os.environ.get("BRIMFUL_MOVE_KILLS", "3"))
_MOVER = """
import sys
from brimful.store.opening import opened
from brimful.store import sharding
sharding.SLICE_BYTES = 1_000
with opened(sys.argv[1]) as store:
    print("begun", flush=True)
    while True:
        store.rebalance(leave=[0])
        store.rebalance()
"""


def test_kills_lose_nothing(tmp_path, one):
    """A process that moves documents to and fro and is killed at any moment leaves every document once."""
    file = spread(tmp_path)
    moments = random.Random(18)
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", _MOVER, str(file)], stdout=subprocess.PIPE) as mover:
            assert mover.stdout.readline() == b"begun\n"
            time.sleep(moments.uniform(0, 0.5))
            mover.kill()
        with brimful.open(file) as engine:
            assert engine.root == one.root
            assert len(engine.documents()) == len(GIVEN)
    check_same(file, one)
    with opened(file) as store:
        store.rebalance()
    assert sum(held(file)) == len(GIVEN)
    assert min(held(file)) > 10


def test_a_batch_that_was_indexed_before_a_move_is_refused(tmp_path):
    """Documents of one segment that now belong to two shards are not written to either; adding again works."""
    file = spread(tmp_path)
    with opened(file) as store:
        prepared = prepare([Entry(document) for document in GIVEN], store.embedder(), parts=store.parts)
        store.rebalance(leave=[0])
        store.rebalance()
        with pytest.raises(StoreBusyError, match="add the place again"):
            store.write(prepared)
        store.add([Entry(document) for document in GIVEN])
    assert sum(held(file)) == len(GIVEN)


def test_a_partial_map_is_marked(broken):
    """Its first line says what it goes without, within the budget; a map of all shards says nothing."""
    from brimful.text.vocabularies import tokens_for

    engine, gone, bring_back = broken
    with pytest.raises(ShardDownError):
        engine.map(budget=300)
    for budget in (1, 5, 20, 40, 80, 300):
        drawn = engine.map(budget=budget, question="Which tea is served?", partial=True)
        assert drawn.missing == (gone,)
        assert drawn.tokens == tokens_for(drawn.model).count(drawn.text) <= drawn.budget == budget
        assert not drawn.text or drawn.text.startswith(f"[PARTIAL: without {gone}]\n")
    assert drawn.files > 5
    bring_back()
    whole = engine.map(budget=300, question="Which tea is served?", partial=True)
    assert whole.missing == ()
    assert "PARTIAL" not in whole.text


def test_partial_listings_and_documents(broken):
    """Lists hold what can be reached; a document that may lie in the shard that is down is never said to be unknown."""
    engine, gone, bring_back = broken
    with engine.one_state(partial=True) as corpus:
        assert corpus.missing == (gone,)
        there = {each.path for each in engine.documents()}
    assert there == {each.path for each in engine.documents(partial=True)}
    with pytest.raises(ShardDownError):
        engine.documents()
    bring_back()
    every = {each.path for each in engine.documents()}
    assert 0 < len(there) < len(every)
    Path(gone).rename(f"{gone}-again")
    with brimful.open(engine.path) as again, again.one_state(partial=True):
        for path in sorted(every):
            if path in there:
                assert again.document(path).content
            else:
                with pytest.raises(ShardDownError, match=f"may lie in {gone}, which can't be reached"):
                    again.document(path)


def test_an_answer_to_a_partial_context_is_checked(broken):
    """Against a receipt that names what is missing, while it is missing."""
    engine, _, _ = broken
    made = engine.context("Which tea is served?", budget=200, partial=True)
    number = made.windows[0].path.removeprefix("notes/").removesuffix(".md")
    checked = engine.check_answer(f'It says "Tea number {number} is served."', made.receipt)
    assert (checked.holds, len(checked.quotations)) == (True, 1)


def test_a_list_with_a_password_is_for_its_owner_alone(tmp_path):
    """Others on the machine may read which shards there are, not what opens them; also where the list was readable."""
    file = tmp_path / "team.toml"
    write_list(file, ["a.db", "postgresql://ada@db/team"])
    assert file.stat().st_mode & 0o077 == 0o666 & ~_umask() & 0o077
    write_list(file, ["a.db", "postgresql://ada:secret@db/team"])
    assert file.stat().st_mode & 0o077 == 0
    write_list(file, ["a.db", "postgresql://ada@db/team?password=secret"])
    assert file.stat().st_mode & 0o077 == 0


def _umask():
    """What new files are not allowed to everybody."""
    now = os.umask(0)
    os.umask(now)
    return now
