"""Texts that are kept and condensed."""

import pytest
from playwright.sync_api import expect

import brimful
from brimful.densify.captures import Capture, Captures
from tests.browser import served

MEETING = "The marmalade recipe needs seven oranges and a lemon. We wrote it down in the garden. " * 3


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server over a store of its own, with a capture that failed."""
    store = tmp_path_factory.mktemp("captures") / "store.db"
    with brimful.open(store) as engine:
        engine.add_text("tea.md", "Tea is served at four.\n")
        original = brimful.Document("broken", MEETING)
        Captures(engine.memory)._write(Capture("broken", "extractive:", "failed", original, "provider: <b>no</b> answer"))
    with served(store) as found:
        yield found


def test_a_capture_becomes_a_document_that_is_found(tab):
    """Captured on the page, it is listed as done, counted, and answers the next question."""
    page = tab.open()
    page.click("#captures-open")
    page.fill("#capture-text", MEETING)
    page.fill("#capture-name", "meeting")
    page.click("form.capture button")
    expect(page.locator("#capture-outcome")).to_have_text("meeting: done")
    expect(page.locator(".captures li", has_text="meeting")).to_contain_text("done")
    page.keyboard.press("Escape")
    expect(page.locator("#corpus-open")).to_contain_text("2 documents")
    with tab.answering():
        page.fill("#question", "marmalade recipe")
        page.keyboard.press("Enter")
    expect(page.locator(".window").first).to_contain_text("capture:meeting")


def test_a_failed_capture_says_why_and_can_be_tried_again(tab):
    """Its message is shown as text; a retry condenses it."""
    page = tab.open()
    page.click("#captures-open")
    row = page.locator(".captures li", has_text="broken")
    expect(row).to_contain_text("failed")
    expect(row).to_contain_text("<b>no</b> answer")
    row.get_by_role("button", name="Retry broken").click()
    expect(page.locator("#capture-outcome")).to_have_text("broken: done")
    expect(page.locator(".captures li", has_text="broken")).to_contain_text("done")
