import os
from dataclasses import replace

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, Window, pack
from brimful.errors import CorruptError, DocumentError
from brimful.ingest.folders import ingest
from brimful.receipts.checking import check, check_files, check_store
from brimful.receipts.offline import ONLY_BY_ASKING
from brimful.receipts.receipt import CitedSeam, Receipt, make_receipt
from brimful.settings import FORMATS
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument
from tests.receipts.test_receipt import CODE, TEA, context_of, documents, everything, receipt_of


@pytest.fixture
def folder(tmp_path):
    """The two documents as files."""
    root = tmp_path / "files"
    (root / "notes").mkdir(parents=True)
    for document in documents():
        (root / document.path).write_bytes(document.content)
    return root


@pytest.fixture
def store(tmp_path):
    """A store with the two documents and others."""
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([NewDocument(document) for document in everything()])
        yield store


class Made(list):
    """Pairs of receipt and text, and the state that they are of; short when Hypothesis shows it."""

    now = None

    def __repr__(self):
        return "Made(...)"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Receipts and texts in every format, with metadata and without."""
    with SqliteStore(tmp_path_factory.mktemp("made") / "store.db") as store:
        store.add([NewDocument(document) for document in everything()])
        with store.snapshot() as now:
            contexts = [
                context_of(documents(), form=form, include_metadata=metadata)
                for form in FORMATS
                for metadata in (False, True)
            ]
            receipts = Made((receipt_of(now, context), context.text) for context in contexts)
            receipts.now = now
            yield receipts


def kinds(findings):
    """The kinds of findings, without doubles."""
    return sorted({finding.kind for finding in findings})


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("metadata", [False, True])
def test_a_fresh_receipt_is_verified(store, folder, form, metadata):
    """A fresh receipt holds offline, against its store and against the files, with the text and without."""
    context = context_of(documents(), form=form, include_metadata=metadata)
    with store.snapshot() as now:
        receipt = Receipt.from_json(receipt_of(now, context).to_json())
        for text in (None, context.text):
            assert check(receipt, text=text) == []
            assert check_store(receipt, now, text=text) == []
            assert check_files(receipt, folder, text=text) == []


def test_the_result_says_what_was_compared_and_what_was_not(made, folder):
    """Without sources next to nothing is shown; with them the text and tokens are; asking again is always left."""
    receipt, text = made[0]
    alone = check(receipt)
    assert len(alone.compared) == 1
    assert alone.not_checked[0].endswith("no document was read")
    assert any("hash and the number of tokens" in said for said in check(receipt, text=text).compared)
    again = "the text of 3 windows, written again in the format 'plain', with the text"
    for found in (check_store(receipt, made.now, text=text), check_files(receipt, folder, text=text)):
        assert any(again in said for said in found.compared)
        assert any("tokens, counted again by 'o200k_base'" in said for said in found.compared)
        assert set(ONLY_BY_ASKING) < set(found.not_checked)
    assert any("state root" in said for said in check_files(receipt, folder).not_checked)
    assert not any("state root" in said for said in check_store(receipt, made.now).not_checked)


# ---- the text


@given(data=st.data())
def test_any_changed_character_of_the_text_is_found_and_named(made, data):
    """Whichever character is another one, something is found, and it names a window or a place in the text."""
    receipt, text = made[data.draw(st.integers(0, len(made) - 1))]
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda character: character != text[at]))
    assert [f.kind for f in check(receipt, text=text[:at] + other + text[at + 1 :])] == ["text"]
    findings = check_store(receipt, made.now, text=text[:at] + other + text[at + 1 :])
    assert findings
    assert kinds(findings) in (["text"], ["window"], ["text", "window"])
    if len(other.encode(errors="surrogatepass")) == len(text[at].encode()):
        (finding,) = findings
        assert finding.start is not None
        if finding.kind == "text":
            assert finding.start <= len(text[:at].encode()) < finding.end


@given(data=st.data())
def test_text_that_is_missing_or_added_is_found(made, data):
    """A text that is longer or shorter is said to be so, and where the difference begins."""
    receipt, text = made[data.draw(st.integers(0, len(made) - 1))]
    at = data.draw(st.integers(0, len(text)))
    added = data.draw(st.text(min_size=1, max_size=9))
    findings = check_store(receipt, made.now, text=text[:at] + added + text[at:])
    assert f"it is {len(added.encode())} bytes longer" in findings[0].message
    assert len(findings) == (1 if at == len(text) or len(findings) == 1 else 2)
    shorter = check_store(receipt, made.now, text=text[:at])
    assert (shorter == []) == (at == len(text))


def test_a_change_in_a_window_names_the_window(made):
    """The finding has the path and the range of the window whose bytes differ in the text."""
    receipt, text = made[0]
    (finding,) = check_store(receipt, made.now, text=text.replace("at four", "at five", 1))
    window = receipt.windows[0]
    assert (finding.kind, finding.path, finding.start, finding.end) == ("window", window.path, window.start, window.end)
    assert str(finding) == f"notes/tea.md [0, {window.end}): it reads differently in the text"


def test_a_change_in_a_seam_is_found(made):
    """Seams are written again from their source, so a change in one is found; `windows` shows none."""
    for receipt, text in made:
        if receipt.format == "windows":
            assert "class Pot" not in text
            continue
        (finding,) = check_store(receipt, made.now, text=text.replace("class Pot", "class Pan", 1))
        assert (finding.kind, finding.path) == ("window", "pot.py")


# ---- the receipt


def forged(receipt, **changes):
    """A receipt with other fields and an id that fits them."""
    draft = replace(receipt, **changes)
    return replace(draft, id=draft.hashed())


def test_a_receipt_that_was_changed_is_found(made):
    """A receipt with another field and its old id, or another question, is named."""
    receipt, _ = made[0]
    (finding,) = check(replace(receipt, tokens=3))
    assert str(finding).startswith("the receipt: its id is not the hash")
    (finding,) = check(replace(receipt, question="Other?"))
    assert "question" in finding.message


def with_seam(receipt, number, start, end):
    """The windows with one more seam."""
    windows = list(receipt.windows)
    windows[number] = replace(windows[number], seams=(CitedSeam("heading", start, end, "0" * 64),))
    return {"windows": tuple(windows)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: {"tokens": 401}, "401 tokens are more than the 400 available"),
        (lambda r: {"documents": r.documents[::-1]}, "not sorted by path"),
        (lambda r: {"documents": r.documents[:1]}, "the window's document is not among the documents"),
        (lambda r: {"windows": r.windows[:2]}, "its blocks are not of 2 windows"),
        (lambda r: {"blocks": (3, 0)}, "its blocks are not of 3 windows"),
        (lambda r: {"blocks": (3,)}, "windows of two documents stand under one header"),
        (lambda r: {"windows": (replace(r.windows[0], end=9_999), *r.windows[1:])}, "its document has"),
        (lambda r: {"windows": (replace(r.windows[0], start=10, end=5), *r.windows[1:])}, "its document has"),
        (lambda r: with_seam(r, 0, 0, 9), "a seam is not outside of it"),
        (lambda r: with_seam(r, 0, 9_998, 9_999), "a seam is not outside of it"),
    ],
)
def test_a_receipt_that_contradicts_itself_is_found(made, store, folder, change, message):
    """Even with an id that fits, a receipt whose parts do not agree is found, and no check raises."""
    receipt, text = made[0]
    broken = forged(receipt, **change(receipt))
    assert any(message in finding.message for finding in check(broken))
    with store.snapshot() as now:
        for findings in (check(broken, text=text), check_store(broken, now, text=text), check_files(broken, folder)):
            assert any(message in finding.message for finding in findings)


@given(data=st.data())
def test_a_document_that_is_not_under_the_root_is_found(made, data):
    """With another path, time, content hash, sibling or side, a proof no longer leads to the state root."""
    receipt, _ = made[0]
    document = receipt.documents[0]
    step = data.draw(st.integers(0, len(document.proof) - 1))
    side = {"left": "right", "right": "left"}[document.proof[step].side]
    steps = list(document.proof)
    changes = [
        {"time": data.draw(st.integers(0, 10**9))},
        {"time": None},
        {"content_hash": blake3(data.draw(st.binary())).hexdigest()},
        {"proof": (*steps[:step], steps[step]._replace(side=side), *steps[step + 1 :])},
        {"proof": (*steps[:step], steps[step]._replace(hash="0" * 64), *steps[step + 1 :])},
        {"proof": tuple(steps[:step])},
    ]
    changed = replace(document, **data.draw(st.sampled_from(changes)))
    findings = check(forged(receipt, documents=(changed, *receipt.documents[1:])))
    assert [(finding.kind, finding.path) for finding in findings] == [("proof", document.path)]


# ---- the store


def test_another_state_is_named_and_each_document_checked(made, store):
    """After a commit elsewhere the state differs, and the cited documents are said to be unchanged."""
    receipt, _ = made[0]
    store.add([NewDocument(Document("new.md", "New."))])
    with store.snapshot() as now:
        (finding,) = check_store(receipt, now)
    assert finding.kind == "state"
    assert finding.message.endswith("cited documents: 2 unchanged")


def test_changed_and_missing_documents_are_named(made, store):
    """A document that was changed is named with the windows that differ, one that was removed as gone."""
    receipt, text = made[0]
    store.remove(["pot.py"])
    content = (TEA * 4).encode()
    store.add([NewDocument(Document("notes/tea.md", content.replace(b"four", b"five", 1), time=1_700_000_000))])
    with store.snapshot() as now:
        state, changed, gone = check_store(receipt, now, text=text)
    assert state.message.endswith("0 unchanged, 1 changed, 1 gone")
    assert (changed.kind, changed.path, changed.start) == ("changed", "notes/tea.md", 0)
    assert changed.message.endswith(f"the first difference is at byte {TEA.index('four') + 1}")
    assert (gone.kind, gone.path) == ("gone", "pot.py")


def test_a_change_outside_the_windows_is_named(made, store):
    """A document that changed elsewhere is named though the cited bytes are still there."""
    receipt, _ = made[0]
    content = TEA * 3 + TEA.replace("four", "nine")
    store.add([NewDocument(Document("notes/tea.md", content, time=1_700_000_001))])
    with store.snapshot() as now:
        state, time, elsewhere = check_store(receipt, now)
    assert state.message.endswith("1 unchanged, 1 changed")
    assert (time.kind, elsewhere.kind) == ("time", "elsewhere")
    assert "as many bytes, another hash" in elsewhere.message


def test_a_store_that_can_not_read_is_a_finding(made, store):
    """A damaged block is named with its document; the others are still checked."""
    receipt, _ = made[0]

    class Damaged:
        def __init__(self, inner):
            self.root, self.row = inner.root, inner.row

        def read(self, number, start, end):
            raise CorruptError("blob 7 fails its checksum")

    with store.snapshot() as now:
        findings = check_store(receipt, Damaged(now))
    assert [finding.kind for finding in findings if finding.path] == ["unchecked", "unchecked"]
    assert "blob 7" in findings[-1].message


# ---- files


@given(which=st.integers(0, 99), at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_any_changed_byte_of_a_file_is_found_and_named(made, tmp_path_factory, which, at, flip):
    """Whichever byte of a cited file is another one, it is named: in its window, or elsewhere in the document."""
    root = tmp_path_factory.mktemp("files")
    (root / "notes").mkdir()
    for document in documents():
        (root / document.path).write_bytes(document.content)
    receipt, text = made[which % len(made)]
    document = documents()[which // len(made) % 2]
    at %= len(document)
    content = bytearray(document.content)
    content[at] ^= flip
    (root / document.path).write_bytes(content)
    findings = check_files(receipt, root, text=text)
    assert findings
    windows = [w for w in receipt.windows if w.path == document.path and w.start <= at < w.end]
    seam = document.path == "pot.py" and at < 30
    # What is no letter, or none any more, may be escaped, or may not be read at all: then no byte is named. So is what
    # a line was escaped for.
    letters = chr(content[at]).isalnum() and content[at] < 128 and document.content[at : at + 1].isalnum()
    letters = letters and b"DOC" not in document.content[max(at - 2, 0) : at + 3]
    letters = letters and receipt.format not in ("anthropic", "windows")  # which are not read back from text
    for finding in findings:
        assert finding.path == document.path
        assert finding.kind == ("changed" if windows or seam else "elsewhere")
    if windows:
        assert [(f.start, f.end) for f in findings] == [(w.start, w.end) for w in windows]
        assert all(f"byte {at}" in finding.message for finding in findings if letters)
        assert all(f"byte {at}" in finding.message for finding in findings if " byte " in finding.message)


def test_files_that_grew_shrank_or_vanished_are_named(made, folder):
    """Added and cut bytes are found, and a missing file is gone."""
    receipt, _ = made[0]
    tea = folder / "notes/tea.md"
    whole = tea.read_bytes()
    tea.write_bytes(whole + b"!")
    (finding,) = check_files(receipt, folder)
    assert f"{len(whole)} bytes then, {len(whole) + 1} now" in finding.message
    tea.write_bytes(whole[:10])
    assert {finding.kind for finding in check_files(receipt, folder)} == {"changed"}
    tea.unlink()
    (finding,) = check_files(receipt, folder)
    assert (finding.kind, finding.path) == ("gone", "notes/tea.md")
    with pytest.raises(DocumentError, match="is not a folder"):
        check_files(receipt, tea)


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/hostname", "notes/../../secret.txt", "link.txt", "linked/secret.txt", "a\0b"]
)
def test_nothing_outside_the_folder_is_opened(made, folder, path):
    """A path or a link that leads out of the folder is refused, even where the bytes would match."""
    receipt, _ = made[0]
    (folder.parent / "secret.txt").write_bytes(CODE.encode())
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "linked").symlink_to(folder.parent)
    documents = sorted((receipt.documents[0], replace(receipt.documents[1], path=path)), key=lambda each: each.path)
    windows = (*receipt.windows[:2], replace(receipt.windows[2], path=path))
    findings = check_files(forged(receipt, documents=tuple(documents), windows=windows), folder)
    assert ("unchecked", path) in {(finding.kind, finding.path) for finding in findings}
    assert any("so it was not opened" in finding.message for finding in findings)


def test_special_files_are_not_waited_for(made, folder):
    """A folder or a FIFO in the place of a file is said to be no file."""
    receipt, _ = made[0]
    (folder / "pot.py").unlink()
    os.mkfifo(folder / "pot.py")
    (folder / "notes/tea.md").unlink()
    (folder / "notes/tea.md").mkdir()
    assert [finding.kind for finding in check_files(receipt, folder)] == ["unchecked", "unchecked"]


FILES = {
    "utf16.txt": "Tea in Lisbon.\n".encode("utf-16"),
    "latin.txt": "Café, naïve, déjà vu.\n".encode("cp1252"),
    "mark.txt": b"\xef\xbb\xbfTea.\n",
    "damaged.txt": "茶は".encode() + b"\xff and then a long line of plain text that follows.\n",
    "page.html": b"<html><body><h1>Tea</h1><p>At four.</p></body></html>",
    "jwt.md": b"A token of three parts, as in "
    + b".".join([b"eyJ" + b"hbGciOiJub25l" * 2] * 3)
    + b", is signed.\n" * 20,
    "mail.mbox": b"From a@b Thu Jan  1 00:00:00 2026\nFrom: a@b\nSubject: Tea\n\nAt four.\n\n"
    b"From c@d Thu Jan  1 00:00:00 2026\nFrom: c@d\nSubject: Cups\n\nTwo of them.\n",
}


@pytest.fixture
def converted(tmp_path):
    """Files that are not stored as they are, and the receipt of a context that cites all of them whole."""
    root = tmp_path / "converted"
    root.mkdir()
    for name, content in FILES.items():
        (root / name).write_bytes(content)
    with SqliteStore(tmp_path / "converted.db") as store:
        assert ingest(store, root).skipped == []
        with store.snapshot() as now:
            windows = [
                Window(row.path, now.read(row.number, 0, row.length).decode(), score=1.0 / row.number)
                for row in now.rows()
            ]
            context = pack(windows, budget=2_000)
            return root, make_receipt(context, question="Tea?", snapshot=now, settings={})


def test_other_encodings_and_formats_are_read_again(converted):
    """A file in another encoding or format is read as it was when it was added, and then compared."""
    root, receipt = converted
    rules = {document.path: document.rule for document in receipt.documents}
    assert rules["converted/utf16.txt"] == "utf-16-le-bom"
    assert rules["converted/damaged.txt"] == "bytes"
    assert rules["converted/jwt.md"] == "masked:utf-8"
    assert rules["converted/mail.mbox#0002"] == "eml"
    assert check_files(receipt, root) == []
    assert check_files(receipt, root.parent) == []


def test_a_folder_that_was_added_under_a_name_is_found_by_that_name(tmp_path):
    """The files of a folder that was added as NAME are compared when the name is given; without it they are gone."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("Tea at four.\n")
    with SqliteStore(tmp_path / "store.db") as store:
        ingest(store, folder, label="handbook")
        with store.snapshot() as now:
            context = pack([Window("handbook/tea.md", "Tea at four.\n", score=1.0)], budget=200)
            receipt = make_receipt(context, question="Tea?", snapshot=now, settings={})
    assert check_files(receipt, folder, label="handbook") == []
    for found in (
        check_files(receipt, folder),
        check_files(receipt, tmp_path),
        check_files(receipt, folder, label="x"),
    ):
        assert {(each.kind, each.path) for each in found} == {("gone", "handbook/tea.md")}


@pytest.mark.parametrize(
    ("name", "old", "new", "path"),
    [
        ("utf16.txt", "L".encode("utf-16-le"), "R".encode("utf-16-le"), "utf16.txt"),
        ("latin.txt", b"\xe9", b"e", "latin.txt"),
        ("damaged.txt", b"\xff", b"\xfe", "damaged.txt"),
        ("jwt.md", b"signed", b"sealed", "jwt.md"),
        ("page.html", b"four", b"five", "page.html"),
        ("mail.mbox", b"Two", b"Six", "mail.mbox#0002"),
    ],
)
def test_a_change_in_a_converted_file_is_found(converted, name, old, new, path):
    """What changes a converted document is found, in that document alone."""
    root, receipt = converted
    (root / name).write_bytes((root / name).read_bytes().replace(old, new))
    assert {(finding.kind, finding.path) for finding in check_files(receipt, root)} == {
        ("changed", f"converted/{path}")
    }


def test_without_conversion_converted_documents_are_said_to_be_unchecked(converted):
    """Only text can be compared byte by byte, and the documents that can't are each named."""
    root, receipt = converted
    findings = check_files(receipt, root, convert=False)
    assert [(f.kind, f.path) for f in findings] == [
        ("unchecked", "converted/jwt.md"),
        ("unchecked", "converted/mail.mbox#0001"),
        ("unchecked", "converted/mail.mbox#0002"),
        ("unchecked", "converted/page.html"),
    ]
    assert "'html:utf-8'" in findings[-1].message


def test_a_member_that_is_no_longer_in_its_file_is_gone(converted):
    """A mailbox with fewer messages than before has lost the later ones."""
    root, receipt = converted
    (root / "mail.mbox").write_bytes(FILES["mail.mbox"].split(b"From c@d")[0])
    assert {(f.kind, f.path) for f in check_files(receipt, root)} == {("gone", "converted/mail.mbox#0002")}


# ---- size


def test_a_proof_stands_once_for_a_document(tmp_path):
    """A thousand windows of four documents have four proofs, and a receipt of less than a kilobyte a window."""
    texts = [Document(f"{name}.log", "".join(f"{n:04} line of a log\n" for n in range(2_000))) for name in "abcd"]
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([NewDocument(document) for document in texts])
        windows = [Window.cut(texts[n % 4], n // 4 * 152, n // 4 * 152 + 19, score=1.0 + n) for n in range(1_000)]
        context = pack(windows, budget=60_000, fill="relevant")
        with store.snapshot() as now:
            proofs = []
            receipt = make_receipt(context, question="?", snapshot=_Counting(now, proofs), settings={})
            assert len(receipt.windows) == 1_000
            assert sorted(proofs) == ["a.log", "b.log", "c.log", "d.log"]
            back = Receipt.from_json(receipt.to_json())
            assert len(receipt.to_json()) < 1_000_000
            assert check_store(back, now, text=context.text) == []


class _Counting:
    """A snapshot that notes what is proven."""

    def __init__(self, inner, proofs):
        self.root, self.generation, self.row, self.read = inner.root, inner.generation, inner.row, inner.read
        self.expect = inner.expect
        self._inner, self._proofs = inner, proofs

    def prove(self, path):
        self._proofs.append(path)
        return self._inner.prove(path)
