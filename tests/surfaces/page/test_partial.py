"""A shard that is down: the page says so before anybody asks, answers without it when told to, and marks it."""

import pytest
from playwright.sync_api import expect

import brimful
from brimful.store.address import write_list
from tests.browser import Tab, served


@pytest.fixture
def tab(browser, tmp_path):
    """A page over two shards of which one is gone."""
    write_list(tmp_path / "team.toml", ["a.db", "b.db"])
    with brimful.open(tmp_path / "team.toml") as engine:
        for number in range(20):
            engine.add_text(f"note-{number:02}.md", f"# Note {number}\n\nTea number {number} is served at four.\n")
    (tmp_path / "b.db").rename(tmp_path / "away")
    with served(tmp_path / "team.toml") as address:
        found = Tab(browser, address)
        yield found
        found.complaints = [each for each in found.complaints if "503" not in each]  # the refusal that is tested
        found.close()


def test_a_partial_answer_is_asked_for_and_marked(tab):
    """A question is refused with the shard's name; told to, the page answers without it, and says so in every view."""
    page = tab.open()
    expect(page.locator("#shards-down")).to_contain_text("b.db is down.")
    page.fill("#question", "Which tea is served?")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("1 of 2 shards can't be reached")
    with tab.answering():
        page.click("#allow-partial")
    expect(page.locator("#shards-down")).to_contain_text("Partial answer, without")
    expect(page.locator("#shards-down code")).to_contain_text("b.db")
    expect(page.locator("#allow-partial")).to_have_count(0)
    expect(page.locator("#notice")).to_be_hidden()
    assert "partial=true" in page.url
    page.locator(".window .cite").first.click()
    expect(page.locator(".sheet")).to_contain_text("is served at four.")
    page.keyboard.press("Escape")
    page.click("#corpus-open")
    expect(page.locator("#list-partial")).to_contain_text("Partial list, without")
    expect(page.locator("#shards li", has_text="b.db")).to_contain_text("down")
    assert 0 < page.locator("#documents li").count() < 20


def test_nothing_is_marked_where_all_shards_answer(browser, address):
    """The mark is hidden over a whole corpus."""
    found = Tab(browser, address)
    page = found.open("When is tea served?")
    expect(page.locator("#shards-down")).to_be_hidden()
    page.click("#corpus-open")
    expect(page.locator("#documents li").first).to_be_visible()
    expect(page.locator("#list-partial")).to_have_count(0)
    found.close()
