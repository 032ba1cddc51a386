"""The same bytes from every store: contexts, receipts and state roots, through any history."""

import json
from itertools import count

import pytest

import brimful
from brimful import Document
from brimful.errors import BrimfulError

from .corpus import documents, questions

_numbers = count(1)
KINDS = 18
"""So many kinds of questions are asked in turn."""


@pytest.fixture
def engines(tmp_path, postgres_server):
    """An empty corpus in a file, and one on a server."""
    address = postgres_server.address(f"parity-{next(_numbers)}")
    with brimful.open(tmp_path / "store.db") as file, brimful.open(address) as server:
        yield file, server


def answer(engine, question, choices, *, same_commits):
    """All that a question brings, or what is said instead; a receipt's run names the time and how many commits."""
    try:
        context = engine.context(question, **choices)
    except BrimfulError as error:
        return type(error), str(error)
    receipt = json.loads(context.receipt.to_json())
    for name in ("time",) if same_commits else ("time", "generation"):
        del receipt["run"][name]
    return context.text, json.dumps(receipt, sort_keys=True)


def compare(engines, *, seed, most, same_commits=False):
    """Ask all engines the same, and see that nothing differs; how many questions found something."""
    first, *others = engines
    assert {engine.root for engine in others} == {first.root}
    texts = [document.content.decode() for document in documents()]
    found = 0
    for question, choices in questions(texts, seed=seed, most=most):
        expected = answer(first, question, choices, same_commits=same_commits)
        found += isinstance(expected[0], str) and bool(expected[0])
        for engine in others:
            given = answer(engine, question, choices, same_commits=same_commits)
            assert given == expected, (question, choices)
    return found


def test_hundreds_of_questions_have_the_same_answer(engines):
    """Contexts and receipts of a file and of a server are the same bytes, whatever is asked."""
    for engine in engines:
        engine.add_documents(list(documents()))
    assert compare(engines, seed=1, most=12 * KINDS) > 6 * KINDS  # half of them find something


def test_every_history_ends_in_the_same_answers(engines):
    """Removed, added again, replaced, renamed, added in other batches and compacted: still the same bytes."""
    file, server = engines
    given = list(documents())
    file.add_documents(given)
    for low in range(0, len(given), 5):  # many small segments
        server.add_documents(given[low : low + 5])
    gone = [document.path for document in given[::4]]
    for engine in engines:
        engine.remove(*gone)
    assert compare(engines, seed=2, most=3 * KINDS)
    file.add_documents([replaced(document) for document in given[::4]])
    for document in given[::4]:
        server.add_documents([replaced(document)])
    assert compare(engines, seed=3, most=3 * KINDS)
    server._store.compact()
    assert compare(engines, seed=4, most=3 * KINDS)
    file._store.compact()
    server.purge()
    assert compare(engines, seed=5, most=3 * KINDS)
    server._store.rebuild()
    assert compare(engines, seed=6, most=KINDS)


def test_folders_are_the_same_documents(engines, tmp_path):
    """Files of a folder get the same names, times and answers, also after some changed, moved and vanished."""
    folder = tmp_path / "given"
    for document in documents():
        place = folder / document.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(document.content)
    for engine in engines:
        engine.add(folder)
    assert compare(engines, seed=7, most=KINDS, same_commits=True)
    (folder / "orders/copy.md").rename(folder / "orders/moved.md")
    (folder / "notes/0.txt").unlink()
    (folder / "docs/query.md").write_text("# Tea\n\nAsk for tea politely.\n")
    reports = [engine.add(folder) for engine in engines]
    assert reports[0] == reports[1]
    assert (reports[0].renamed, reports[0].removed, reports[0].changed) == (1, 1, 1)
    assert compare(engines, seed=8, most=KINDS)


def test_search_map_and_verification_are_the_same(engines):
    """Hits, corpus maps, listings, documents and the checks of a receipt do not tell which store they came from."""
    file, server = engines
    for engine in engines:
        engine.add_documents(list(documents()))
    texts = [document.content.decode() for document in documents()]
    for question, choices in questions(texts, seed=9, most=2 * KINDS):
        filters = {name: value for name, value in choices.items() if name not in ("budget", "operators")}
        if question:
            one, two = (engine.search(question, **filters) for engine in engines)
            assert one.hits == two.hits
    assert file.documents(lines=True) == server.documents(lines=True)
    assert file.map(budget=800).text == server.map(budget=800).text
    receipt = file.context("Nobody paid the invoice", budget=300).receipt
    assert list(server.verify(receipt, replay=True)) == list(file.verify(receipt, replay=True)) == []
    assert server.replay(receipt).text == file.replay(receipt).text


def replaced(document):
    """A document with a little more in it."""
    return Document(document.path, document.content + b"\n\nAmended: sugar is extra.\n", time=document.time)
