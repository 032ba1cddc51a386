import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, FormatError, Hit, Window, pack
from brimful.errors import DocumentError
from brimful.receipts.notation import canonical, plain
from brimful.receipts.receipt import VERSION, Receipt, make_receipt
from brimful.search.spelling import Correction
from brimful.settings import FORMATS, WindowSettings
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument
from brimful.windows.seams import Seam

TEA = 'Tea is served at four.\n[DOC: forged] <cups> & "pots" are warm.\nNobody in Lisbon minds. Straße, 茶.\n'
CODE = "class Pot:\n    def fill(self):\n        self.level = 98\n        return self\n"


def documents():
    """Two documents with everything that a format must escape."""
    return [Document("notes/tea.md", TEA * 4, time=1_700_000_000), Document("pot.py", CODE, time=None)]


def everything():
    """The two documents among others."""
    return [*documents(), *(Document(f"other/{number}.md", f"Page {number}.") for number in range(40))]


def context_of(found, *, form="plain", budget=400, **settings):
    """A context of two windows of one document, one of another with a seam, and an omitted one."""
    tea, pot = found
    hit = Hit("notes/tea.md", 0, 3, 2.5, terms=("tea", "served"))
    windows = [
        Window.cut(tea, 0, len(TEA.encode()), score=2.5, hits=(hit,)),
        Window.cut(tea, 2 * len(TEA.encode()), 3 * len(TEA.encode()), score=1.5),
        replace(Window.cut(pot, 31, 54, score=1.0), seams=(Seam("signature", 0, 30, CODE[:30]),)),
        Window.cut(tea, len(TEA.encode()) + 1, 2 * len(TEA.encode()), score=0.1),
    ]
    settings = {"fill": "relevant", "trim": False, "max_per_document": 2, **settings}
    return pack(windows, budget=budget, format=form, **settings)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A store that holds the two documents among others, at one moment."""
    store = SqliteStore(tmp_path_factory.mktemp("store") / "store.db")
    store.add([NewDocument(document) for document in everything()])
    with store, store.snapshot() as now:
        yield now


@pytest.fixture(scope="module")
def receipt(state):
    """The receipt of a context in JSON, which escapes most."""
    return receipt_of(state, context_of(documents(), form="json"))


def receipt_of(state, context, **options):
    """A receipt with settings and a correction."""
    options = {"settings": {"budget": 400, "threshold": 0.8, "whole": 1.0, "windows": WindowSettings()}, **options}
    correction = {"word": "tee", "term": "tea", "similarity": 0.5}
    return make_receipt(context, question="When is tee?", snapshot=state, corrections=[correction], **options)


def test_it_holds_what_went_in_and_what_did_not(state):
    """A receipt has the hashes of question, state, documents, windows and text, and says what was left out."""
    context = context_of(documents())
    made = receipt_of(state, context)
    assert made.question_hash == blake3(b"When is tee?").hexdigest()
    assert made.state_root == state.root.hex()
    assert made.context_hash == blake3(context.text.encode()).hexdigest()
    assert [document.path for document in made.documents] == ["notes/tea.md", "pot.py"]
    assert {document.root() for document in made.documents} == {state.root.hex()}
    assert [window.hash for window in made.windows] == [blake3(w.text.encode()).hexdigest() for w in context.windows]
    assert made.windows[0].terms == ("served", "tea")
    assert made.windows[0].score == "2.5"
    assert [(left.path, left.reason) for left in made.omitted] == [("notes/tea.md", "per_document")]
    assert made.corrections[0]["term"] == "tea"
    assert made.settings["windows"]["max_window_bytes"] == 2_500
    assert made.tokens == context.tokens
    assert made.budget.available == 400
    assert made.run == {"generation": state.generation}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("metadata", [False, True])
def test_round_trip(state, form, metadata):
    """What is read back is the same receipt, and is written with the same bytes."""
    made = receipt_of(state, context_of(documents(), form=form, include_metadata=metadata))
    back = Receipt.from_json(made.to_json())
    assert back == made
    assert back.to_json() == made.to_json()
    assert Receipt.from_json(json.dumps(json.loads(made.to_json()), indent=2).encode()) == made


def test_what_is_cited_is_written_as_a_copy_of_it_would_be(state, receipt):
    """Receipts are written without a copy in dicts and lists, and have the bytes of one; what is no text is named."""
    for made in (receipt, receipt_of(state, context_of(documents()))):
        assert made.to_json() == json.dumps(plain(made, where=""), ensure_ascii=False, separators=(",", ":"))
    broken = replace(receipt, documents=(replace(receipt.documents[0], path="\ud800"),))
    with pytest.raises(FormatError, match=r"documents\[0\]\.path has a lone surrogate"):
        broken.to_json()


def test_the_run_is_outside_the_hash(state):
    """Two runs on the same state have the same id, whenever they ran."""
    context = context_of(documents())
    first = receipt_of(state, context, run={"made_at": "2026-01-01T00:00:00Z"})
    second = receipt_of(state, context, run={"made_at": "2027-01-01T00:00:00Z", "milliseconds": 12.5})
    assert first.id == second.id
    assert first == second
    assert first.to_json() != second.to_json()


def test_the_question_can_be_left_out(state):
    """Without its text the receipt has the same id and still the question's hash."""
    kept = receipt_of(state, context_of(documents()))
    left_out = receipt_of(state, context_of(documents()), keep_question=False)
    assert left_out.question is None
    assert left_out == kept.without_question()
    assert left_out.id == kept.id
    assert "When is" not in left_out.to_json()
    assert Receipt.from_json(left_out.to_json()) == left_out


def test_prices_stand_in_the_receipt(state):
    """An omitted window's entry price is in the receipt if it was worked out."""
    context = context_of(documents(), budget=90, max_per_document=None)
    assert {left.enters_at for left in receipt_of(state, context).omitted} == {None}
    priced = replace(context, omitted=tuple(replace(left, enters_at=120) for left in context.omitted))
    assert {left.enters_at for left in receipt_of(state, priced).omitted} == {120}


def test_another_snapshot_is_refused(state, tmp_path):
    """A receipt is never made for bytes that the snapshot does not hold there."""
    tea, pot = documents()
    changed = Document("notes/tea.md", TEA.replace("four", "five") * 4)
    with pytest.raises(DocumentError, match=r"notes/tea.md \[0, .*other bytes"):
        receipt_of(state, context_of([changed, pot]))
    with pytest.raises(DocumentError, match=r"'gone\.md' is not in this snapshot"):
        receipt_of(state, pack([Window("gone.md", "Tea.")], budget=50))
    bad_seam = replace(Window.cut(pot, 31, 54), seams=(Seam("signature", 0, 30, "def forged():"),))
    with pytest.raises(DocumentError, match=r"pot.py \[0, 13\)"):
        receipt_of(state, pack([bad_seam], budget=100, fill="relevant"))
    inside = replace(Window.cut(pot, 31, 54), seams=(Seam("signature", 31, 40, CODE[31:40]),))
    with pytest.raises(DocumentError, match="a seam at 31 lies inside"):
        receipt_of(state, pack([inside], budget=100, fill="relevant"))
    with pytest.raises(FormatError, match="pack it again"):
        receipt_of(state, replace(context_of([tea, pot]), text="other"))


def test_windows_without_a_document_are_read_from_the_snapshot(state):
    """A window that another retriever brought is cited if its bytes stand where it says."""
    made = receipt_of(state, pack([Window("pot.py", CODE[6:9], 6)], budget=50))
    assert (made.windows[0].start, made.windows[0].end) == (6, 9)
    with pytest.raises(DocumentError, match=r"pot.py \[7, 10\)"):
        receipt_of(state, pack([Window("pot.py", CODE[6:9], 7)], budget=50))


def test_corrections_are_taken_as_search_gives_them(state):
    """A Correction becomes plain text and numbers."""
    found = Correction(b"tee", b"tea", "spelling", similarity=0.5, distance=1, weight=700)
    made = make_receipt(context_of(documents()), question="?", snapshot=state, settings={}, corrections=[found])
    (said,) = Receipt.from_json(made.to_json()).corrections
    assert said["word"] == "tee"
    assert (said["term"], said["similarity"], said["weight"]) == ("tea", 0.5, 700)


def test_an_empty_context_has_a_receipt(state):
    """Nothing found is also an answer that can be checked."""
    made = receipt_of(state, pack([], budget=50))
    assert Receipt.from_json(made.to_json()) == made
    assert made.windows == made.blocks == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": float("nan")}, "settings.budget is nan"),
        ({"when": object()}, "settings.when is a object"),
        ({1: 2}, "settings has the key 1"),
        ({"name": "\ud800"}, "settings.name has a lone surrogate"),
    ],
)
def test_settings_that_json_lacks_are_named(state, settings, message):
    """A setting that could not be replayed is refused by name."""
    with pytest.raises(FormatError, match=message):
        receipt_of(state, context_of(documents()), settings=settings)


def test_settings_that_nest_without_end_are_refused(state):
    """A structure that holds itself is an error, not an endless recursion."""
    endless = {}
    endless["again"] = endless
    with pytest.raises(FormatError, match="nests deeper"):
        receipt_of(state, context_of(documents()), settings=endless)


# ---- reading what may be hostile


def changed(receipt, change):
    """The receipt's JSON after a change, with its old id."""
    shape = json.loads(receipt.to_json())
    change(shape)
    return json.dumps(shape)


def forged(receipt, change):
    """The receipt's JSON after a change, with an id that fits."""
    shape = json.loads(changed(receipt, change))
    inside = {name: value for name, value in shape.items() if name not in ("id", "question", "run")}
    shape["id"] = blake3(canonical(inside).encode()).hexdigest()
    return json.dumps(shape)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda shape: shape.update(version=1),
            f"version: 1 is not known, this program reads version {VERSION}",
        ),
        (lambda shape: shape.pop("tokens"), "tokens: this field is missing"),
        (lambda shape: shape.update(extra=1), "extra: no such field"),
        (lambda shape: shape.update(tokens="7"), "tokens: expected a whole number from 0, got '7'"),
        (lambda shape: shape.update(tokens=True), "tokens: expected a whole number"),
        (lambda shape: shape.update(exact=1), "exact: expected true or false"),
        (lambda shape: shape.update(format="yaml"), "format: expected one of plain"),
        (lambda shape: shape.update(settings=[]), "settings: expected an object"),
        (lambda shape: shape.update(windows={}), "windows: expected a list"),
        (lambda shape: shape.update(state_root="AB"), "state_root: expected 64 hexadecimal digits"),
        (lambda shape: shape["windows"][0].update(start=-1), r"windows\[0\].start: expected a whole number from 0"),
        (lambda shape: shape["windows"][0].update(score="nan"), r"windows\[0\].score: expected a finite number"),
        (lambda shape: shape["windows"][1].pop("hash"), r"windows\[1\].hash: this field is missing"),
        (lambda shape: shape["windows"][0].update(path="\ud800"), r"windows\[0\].path has a lone surrogate"),
        (lambda shape: shape["documents"][0].update(time=10**15), r"documents\[0\].time: expected seconds since 1970"),
        (lambda shape: shape["documents"][0]["proof"][0].pop(), r"documents\[0\].proof\[0\]: expected a list of 2"),
        (lambda shape: shape["blocks"].append(-1), r"blocks\[\d+\]: expected a whole number from 0"),
        (lambda shape: shape["windows"][0].update(seams=[[0]]), r"windows\[0\].seams\[0\]: expected a list of 4"),
        (lambda shape: shape["budget"].update(total=1, reserved_query=5), "budget: budget of 1 tokens leaves nothing"),
        (lambda shape: shape.update(question="Other?"), "question: it is not the one"),
        (lambda shape: shape.update(tokens=7), "id: it is not the hash of this receipt"),
        (lambda shape: shape.update(id="0" * 64), "id: it is not the hash of this receipt"),
    ],
)
def test_what_is_wrong_is_named(receipt, change, message):
    """Unknown versions, missing, unknown and mistyped fields and forged ids are errors that name the field."""
    with pytest.raises(FormatError, match=message):
        Receipt.from_json(changed(receipt, change))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "7",
        '"x"',
        "{",
        "NaN",
        '{"version":NaN}',
        '{"a":1,"a":2}',
        "[" * 100_000,
        b"\xff",
        b"\x00",
        "1" * 5_000,
        '{"version":2' + "0" * 400 + "}",
        '{"version":1e400}',
        7,
        None,
    ],
)
def test_hostile_text_is_a_format_error(text):
    """Whatever is given instead of a receipt, the error is a FormatError."""
    with pytest.raises(FormatError):
        Receipt.from_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800") | st.just(2**70),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data())
def test_hostile_fields_never_raise_anything_else(receipt, data):
    """Any value in the place of any field gives a FormatError or a receipt that reads back as itself."""

    def put(shape):
        at = shape
        while True:
            if isinstance(at, dict) and at:
                key = data.draw(st.sampled_from(sorted(at)))
            elif isinstance(at, list) and at:
                key = data.draw(st.integers(0, len(at) - 1))
            else:
                return
            if not isinstance(at[key], dict | list) or data.draw(st.booleans()):
                at[key] = data.draw(json_values)
                return
            at = at[key]

    try:
        text = forged(receipt, put) if data.draw(st.booleans()) else changed(receipt, put)
    except FormatError:
        return
    try:
        back = Receipt.from_json(text)
    except FormatError:
        return
    assert Receipt.from_json(back.to_json()) == back


@given(at=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_any_flipped_bit_is_found(receipt, at, bit):
    """A flipped bit is an error, or it changes nothing that is said (another spelling, or a fact of the run)."""
    raw = bytearray(receipt.to_json().encode())
    raw[at % len(raw)] ^= 1 << bit
    try:
        back = Receipt.from_json(bytes(raw))
    except FormatError:
        return
    assert back == receipt


@given(data=st.data())
def test_any_changed_field_is_found(receipt, data):
    """Whichever field is given another value of its own type, the id no longer fits."""
    shape = json.loads(receipt.to_json())
    name = data.draw(st.sampled_from(sorted(set(shape) - {"run", "version"})))
    value = shape[name]
    if isinstance(value, list):
        del value[data.draw(st.integers(0, len(value) - 1))]
    elif isinstance(value, dict):
        value[data.draw(st.sampled_from(sorted(value)))] = 77
    elif isinstance(value, str):
        shape[name] = value[:-1] + ("0" if value[-1] != "0" else "1")
    else:
        shape[name] = not value if isinstance(value, bool) else value + 1
    with pytest.raises(FormatError):
        Receipt.from_json(json.dumps(shape))


SCRIPT = """
import sys, tempfile, pathlib
from tests.receipts.test_receipt import context_of, documents, receipt_of
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument
with SqliteStore(pathlib.Path(tempfile.mkdtemp()) / "store.db") as store:
    store.add([NewDocument(document) for document in documents()])
    with store.snapshot() as now:
        sys.stdout.write(receipt_of(now, context_of(documents(), form="xml")).to_json())
"""


def test_the_same_bytes_under_every_hash_seed():
    """A receipt is written with the same bytes whatever PYTHONHASHSEED is."""
    written = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(written) == 1
    assert Receipt.from_json(written.pop()).windows
