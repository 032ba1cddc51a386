"""A server that wants a token."""

from playwright.sync_api import expect

from tests.browser import Tab, served
from tests.surfaces.page.conftest import QUESTION

TOKEN = "a-token-of-the-tests-alone"


def test_a_token_is_asked_for_and_remembered_in_the_tab(browser, store):
    """Without it the page asks; a wrong one is refused; the right one opens and stays; curl gets a variable."""
    with served(store, token=TOKEN) as address:
        tab = Tab(browser, address)
        page = tab.page
        page.goto(f"{address}/#q=tea&budget=200")
        expect(page.locator("#notice")).to_contain_text("A bearer token is needed")
        page.fill("#token", "a-wrong-token-of-the-tests")
        page.keyboard.press("Enter")
        expect(page.locator("#token")).to_have_value("")
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        tab.settled()
        expect(page.locator("#account-title")).to_contain_text("of 200 tokens")
        page.click("[data-copy=curl]")
        expect(page.locator("[data-copy=curl]")).to_have_text("Copied")
        assert "$BRIMFUL_TOKEN" in tab.clipboard()
        assert TOKEN not in tab.clipboard() + page.url
        page.reload()
        tab.settled()
        with tab.answering():
            page.fill("#question", QUESTION)
            page.keyboard.press("Enter")
        assert all("401" in said for said in tab.complaints), "the browser itself logs the status"
        tab.complaints.clear()
        tab.close()
