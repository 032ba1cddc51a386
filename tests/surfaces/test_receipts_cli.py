import json

import pytest


@pytest.fixture
def asked(brimful, own, tmp_path):
    """A context's text and its receipt, in files."""
    text, receipt = tmp_path / "context.txt", tmp_path / "receipt.json"
    done = brimful("context", "When was tea sold as medicine?", own, "-b", "66", "--receipt", receipt)
    text.write_text(done.out, encoding="utf-8", newline="")
    assert "receipt written" in done.err
    return text, receipt


def test_a_receipt_holds_against_text_files_and_store(brimful, own, asked, tmp_path):
    """Files and store give the text again; with the text or alone, it is said loudly that nothing cited was read."""
    text, receipt = asked
    store = tmp_path / "notes.db"
    brimful("add", own, "--store", store)
    for against in (
        ["--files", own],
        ["--store", store],
        ["--store", store, "--replay"],
        ["--files", own, "--text", text],
    ):
        done = brimful("verify", receipt, *against)
        assert done.code == 0, done.err
        assert done.out.startswith("verified: ")
        assert "compared: the text of 2 windows" in done.err
        assert ("not checked: the ranking" in done.err) == ("--replay" not in against)
    for against in ([], ["--text", text]):
        alone = brimful("verify", receipt, *against)
        assert (alone.code, "NOT checked" in alone.out, "verified" in alone.out) == (3, True, False)
        assert "--files FOLDER" in alone.err
        record = json.loads(brimful("verify", receipt, *against, "--json").out)
        assert (record["against"], record["verified"]) == ("text" if against else "itself", False)
    assert brimful("verify", receipt, "--replay").code == 2


def test_a_receipt_is_explained_by_asking_it_again(brimful, own, asked):
    """Each window's words and scores; the same bytes, until the corpus changes."""
    _, receipt = asked
    done = brimful("explain", receipt, own)
    assert done.code == 0
    assert "equal bytes again" in done.out
    assert "tea.md:" in done.out
    assert "medicine" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    (own / "tea.md").write_text("Tea was sold as medicine, they say.\n", encoding="utf-8")
    record = json.loads(brimful("explain", receipt, own, "--json").out)
    assert record["cited"]["same"] is False
    assert record["budget"] == 66


def test_a_question_is_explained_with_what_was_left_out(brimful, own):
    """Why each window is in, and at which budget the next one enters."""
    done = brimful("explain", "tea", own, "-b", "30")
    record = json.loads(brimful("explain", "tea", own, "-b", "30", "--json").out)
    assert "tea" in record["windows"][0]["terms"]
    assert record["omitted"]
    assert all(each["enters_at"] is None or each["enters_at"] > 30 for each in record["omitted"])
    assert f"enters at {record['omitted'][0]['enters_at']:,} tokens" in done.out


def test_an_explanation_names_a_misspelt_word_as_it_was_read(brimful, own):
    """With what stands in its place; windows hold that word, and what was left out is placed by its lines."""
    told = brimful("explain", "mediicne tea", own, "-b", "30").out.splitlines()
    assert "mediicne → medicine 1×" in told[0]
    assert any("): medicine" in line for line in told[1:])
    assert not any("mediicne" in line for line in told[1:])
    record = json.loads(brimful("explain", "mediicne tea", own, "-b", "30", "--json").out)
    assert record["omitted"]
    assert all(each["lines"] for each in record["omitted"])


def test_a_file_that_is_no_receipt_is_not_taken_for_a_question(brimful, own):
    """Its name was meant as a receipt's: exit code 2."""
    assert brimful("explain", own / "tea.md", own).code == 2


def test_a_changed_byte_is_named(brimful, own, asked):
    """In a file or in the text: exit code 1, and the path or the place."""
    text, receipt = asked
    page = own / "tea.md"
    page.write_bytes(page.read_bytes().replace(b"1610", b"1611"))
    done = brimful("verify", receipt, "--files", own)
    assert done.code == 1
    assert "tea.md" in done.out
    record = json.loads(brimful("verify", receipt, "--files", own, "--json").out)
    assert record["verified"] is False
    assert {each["path"] for each in record["findings"]} == {"own/tea.md"}
    text.write_text(text.read_text(encoding="utf-8").replace("medicine", "medicina"), encoding="utf-8", newline="")
    assert brimful("verify", receipt, "--text", text).code == 1


def test_a_changed_receipt_is_refused(brimful, asked):
    """A receipt that was edited is an input error that names the field."""
    _, receipt = asked
    receipt.write_text(receipt.read_text(encoding="utf-8").replace('"tokens":', '"tokens":1'), encoding="utf-8")
    done = brimful("verify", receipt)
    assert done.code == 2
    assert "id" in done.err
