import json

import pytest


@pytest.fixture
def asked(brimful, own, tmp_path):
    """A context's text and its receipt, in files."""
    text, receipt = tmp_path / "context.txt", tmp_path / "receipt.json"
    done = brimful("context", "When was tea sold as medicine?", own, "-b", "60", "--receipt", receipt)
    text.write_text(done.out, encoding="utf-8", newline="")
    assert "receipt written" in done.err
    return text, receipt


def test_a_receipt_holds_against_text_files_and_store(brimful, own, asked, tmp_path):
    """All is as cited, by itself and against each of the three."""
    text, receipt = asked
    store = tmp_path / "notes.db"
    brimful("add", own, "--store", store)
    for against in ([], ["--files", own], ["--store", store], ["--files", own, "--text", text]):
        done = brimful("verify", receipt, *against)
        assert done.code == 0, done.err
        assert done.out.startswith("as cited: ")


def test_a_changed_byte_is_named(brimful, own, asked):
    """In a file or in the text: exit code 1, and the path or the place."""
    text, receipt = asked
    page = own / "tea.md"
    page.write_bytes(page.read_bytes().replace(b"1610", b"1611"))
    done = brimful("verify", receipt, "--files", own)
    assert done.code == 1
    assert "tea.md" in done.out
    record = json.loads(brimful("verify", receipt, "--files", own, "--json").out)
    assert record["as_cited"] is False
    assert {each["path"] for each in record["findings"]} == {"tea.md"}
    text.write_text(text.read_text(encoding="utf-8").replace("medicine", "medicina"), encoding="utf-8", newline="")
    assert brimful("verify", receipt, "--text", text).code == 1


def test_a_changed_receipt_is_refused(brimful, asked):
    """A receipt that was edited is an input error that names the field."""
    _, receipt = asked
    receipt.write_text(receipt.read_text(encoding="utf-8").replace('"tokens":', '"tokens":1'), encoding="utf-8")
    done = brimful("verify", receipt)
    assert done.code == 2
    assert "id" in done.err
