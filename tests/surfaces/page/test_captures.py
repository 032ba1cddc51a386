"""Texts that are kept and condensed."""

import pytest
from playwright.sync_api import expect

from tests.browser import Tab
from tests.surfaces.page.conftest import MEETING


@pytest.fixture
def tab(browser, workshop):
    """A page over the store that may be changed."""
    found = Tab(browser, workshop[1])
    yield found
    found.close()


def test_a_capture_becomes_a_document_that_is_found(tab):
    """Captured on the page, it is listed as done, counted, and answers the next question."""
    page = tab.open()
    before = int(page.locator("#corpus-open").text_content().split()[0])
    page.click("#captures-open")
    page.fill("#capture-text", MEETING)
    page.fill("#capture-name", "meeting")
    page.click("form.capture button")
    expect(page.locator("#capture-outcome")).to_have_text("meeting: done")
    expect(page.locator(".captures li", has_text="meeting")).to_contain_text("done")
    page.keyboard.press("Escape")
    expect(page.locator("#corpus-open")).to_contain_text(f"{before + 2} documents")  # the text and its digest
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
