"""What stands behind an answer: documents, the corpus, the receipt."""

import re

from playwright.sync_api import expect

import brimful
from tests.browser import Tab, served
from tests.surfaces.page.conftest import QUESTION


def test_a_citation_opens_its_document_with_the_span_marked(tab, engine):
    """The dialog shows the document around the span and marks exactly its bytes; Esc gives the focus back."""
    page = tab.open(QUESTION, budget=300)
    window = max(engine.context(QUESTION, budget=300).windows, key=lambda each: each.score)
    page.locator(".window .cite").first.click()
    page.locator(".sheet").wait_for()
    expect(page.locator("#dialog-title")).to_contain_text(window.path)
    assert "".join(tab.texts(".row mark")) == window.text.replace("\n", "")
    assert tab.texts(".row code") == window.document.content.decode().removesuffix("\n").split("\n")
    first = page.evaluate("document.querySelector('.row:has(mark) span').textContent")
    assert int(first) == window.lines[0]
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()
    assert page.evaluate("document.activeElement.className") == "cite"


def test_a_document_says_how_long_it_is_and_whether_all_of_it_is_shown(tab, engine):
    """A short one is there as a whole; of a long one a part, until more of it is asked for."""
    page = tab.open(QUESTION, budget=300)
    page.locator(".window .cite").first.click()
    page.locator(".sheet").wait_for()
    expect(page.locator("#dialog-body .aside")).to_have_text(re.compile(r"The whole document, [0-9.]+ KB"))
    expect(page.get_by_role("button", name="Show more around it")).to_have_count(0)


def test_a_long_document_is_shown_in_part_until_more_is_asked_for(browser, tmp_path):
    """With its size, and a button that goes when all of it is there."""
    store = tmp_path / "long.db"
    with brimful.open(store) as engine:
        engine.add_text(
            "long.md", "Nothing is said here.\n\n" * 1000 + "Tea is served at four.\n\n" + "Nor here.\n\n" * 1000
        )
    with served(store) as address:
        tab = Tab(browser, address)
        page = tab.open("When is tea served?", budget=60)
        page.locator(".window .cite").first.click()
        expect(page.locator("#dialog-body .aside")).to_have_text("A part of the document, 33 KB")
        page.get_by_role("button", name="Show more around it").click()
        expect(page.locator("#dialog-body .aside")).to_have_text("The whole document, 33 KB")
        expect(page.get_by_role("button", name="Show more around it")).to_have_count(0)
        tab.close()


def test_the_corpus_is_described(tab, engine):
    """How many documents and bytes, the state root, and the documents, each of which can be read."""
    page = tab.open(QUESTION, budget=300)
    page.click("#corpus-open")
    expect(page.locator("#root")).to_have_text(engine.root)
    expect(page.locator("#documents li")).to_have_count(14)
    page.locator("#documents .cite", has_text="src/kettle.py").click()
    expect(page.locator(".sheet")).to_contain_text("def boil(water):")


def test_a_receipt_is_shown_and_verified(tab, engine):
    """The receipt's id is the engine's, and checking it verifies it."""
    page = tab.open(QUESTION, budget=300)
    page.click("#receipt-open")
    expect(page.locator("#dialog-body")).to_contain_text(engine.context(QUESTION, budget=300).receipt.id)
    page.click("#verify")
    expect(page.locator("#verified")).to_contain_text("Verified: ")


def test_a_document_that_changed_is_found_by_its_receipt(browser, workshop):
    """Verifying after a change names what has changed; a link to the old state says so too."""
    store, address = workshop
    with brimful.open(store) as engine:
        engine.add_text("tea.md", "Tea is served at four.\n")
        root = engine.root
        tab = Tab(browser, address)
        page = tab.open("tea", budget=100, root=root)
        expect(page.locator("#notice")).to_be_hidden()
        page.click("#receipt-open")
        page.locator("#verify").wait_for()
        engine.add_text("tea.md", "Tea is served at five.\n")
        page.click("#verify")
        expect(page.locator("#verified")).to_contain_text("tea.md, bytes 0–23: the cited bytes are no longer there")
        page.reload()
        tab.settled()
        expect(page.locator("#notice")).to_contain_text("The corpus has changed since this link was made")
        tab.close()
