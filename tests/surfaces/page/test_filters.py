"""What narrows a question on the page, how it is read, and what is said of an answer that falls short."""

import pytest
from playwright.sync_api import expect

from tests.surfaces.page.conftest import QUESTION

FILTERS = {
    "path": ("house-01; house-02", {"path": ["house-01", "house-02"]}),
    "not_path": ("notes/", {"not_path": "notes/"}),
    "phrase": ("can be made", {"phrase": "can be made"}),
    "without": ("scones; strangers", {"without": ["scones", "strangers"]}),
    "after": ("2999", {"after": "2999"}),
    "before": ("1999-12", {"before": "1999-12"}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_is_a_field_of_the_page(tab, engine, name):
    """What is typed narrows the answer, and stands in the address; several stand behind each other."""
    typed, choices = FILTERS[name]
    page = tab.open("tea", budget=600)
    page.locator("#filters summary").click()
    with tab.answering():
        page.fill(f"#{name}", typed)
        page.keyboard.press("Enter")
    windows = sorted(engine.context("tea", budget=600, **choices).windows, key=lambda window: window.order)
    assert tab.texts(".window pre") == [window.text for window in windows]
    expect(page.locator("#filters-sum")).to_have_text("1 set")
    expect(page.locator(f"#{name}")).to_have_value(typed)
    assert f"{name}=" in page.url
    with tab.answering():
        page.go_back()
    expect(page.locator(f"#{name}")).to_have_value("")


def test_kind_is_a_choice(tab):
    """Any kind of text, or one of those that the server names."""
    page = tab.open("tea", budget=600)
    page.locator("#filters summary").click()
    assert page.locator("#kind option").all_text_contents() == ["any", "prose", "code", "data"]
    with tab.answering():
        page.select_option("#kind", "code")
    assert [text.split(" ")[0] for text in tab.texts(".window h3")] == ["src/kettle.py"]


def test_a_link_holds_filters_and_switches(tab, engine):
    """The page shows them, and the answer is the engine's with the same choices."""
    page = tab.open("tea path:src", budget=600, operators="true", priors="false", not_path="house-03")
    expect(page.locator("#operators")).to_be_checked()
    expect(page.locator("#priors")).not_to_be_checked()
    expect(page.locator("#filters-sum")).to_have_text("3 set")
    windows = engine.context("tea path:src", budget=600, operators=True, priors=False, not_path="house-03").windows
    assert tab.texts(".window pre") == [window.text for window in windows]
    page.locator("#filters summary").click()
    with tab.answering():
        page.locator("#operators").uncheck()
    assert "operators" not in page.url
    assert len(tab.texts(".window pre")) > len(windows)


def test_a_repair_is_undone_by_a_button(tab):
    """What was searched for has a button beside it that takes the words as they are typed."""
    page = tab.open("When are sconse served?", budget=300)
    with tab.answering():
        page.get_by_role("button", name="As typed").click()
    expect(page.locator("#missing")).to_contain_text("No document has: sconse")
    expect(page.locator("#as-typed")).to_have_count(0)
    expect(page.locator("#repair")).not_to_be_checked()
    assert "repair=false" in page.url


def test_an_empty_answer_has_its_reason_and_a_way_on(tab):
    """Words that no document has are named; a button shows what is nearest, with the words named above it."""
    page = tab.open("parental leave tea", budget=300)
    expect(page.locator("#empty")).to_contain_text("No document has: parental, leave")
    with tab.answering():
        page.get_by_role("button", name="Show what is nearest").click()
    assert "anyway=true" in page.url
    expect(page.locator("#missing")).to_have_text("No document has: parental, leave")
    expect(page.locator(".window").first).to_be_visible()
    page = tab.open("zyzzyva", budget=300)
    expect(page.locator("#empty")).to_contain_text("No document has: zyzzyva")
    expect(page.locator("#nearest")).to_have_count(0)


def test_windows_that_only_fill_are_marked(tab, engine):
    """Those that the engine calls so, and no others."""
    question = "What is heated until tea can be made?"
    tab.open(question, budget=2_000)
    context = engine.context(question, budget=2_000)
    marks = [window.filling for window in context.windows]
    assert True in marks
    assert False in marks
    shown = tab.page.locator(".window .fills").evaluate_all("all => all.map(each => !each.hidden)")
    assert shown == marks
    assert set(tab.texts(".window .fills")) == {"fills the budget"}


def test_filters_are_part_of_a_comparison_and_of_what_is_copied(tab):
    """A pinned run differs by its filter, and the copied program has it."""
    page = tab.open(QUESTION, budget=300)
    page.locator("#pin").click()
    page.locator("#filters summary").click()
    with tab.answering():
        page.fill("#path", "house-01")
        page.keyboard.press("Enter")
    expect(page.locator("#comparison")).to_contain_text("path house-01")
    page.locator("[data-copy=python]").click()
    expect(page.locator("[data-copy=python]")).to_have_text("Copied")
    assert 'path=["house-01"],' in page.evaluate("navigator.clipboard.readText()")
