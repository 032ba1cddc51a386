"""Nothing that a document says or is called is ever markup."""

import re
from pathlib import Path

from playwright.sync_api import expect

import brimful.surfaces.http
from tests.surfaces.page.conftest import HOSTILE_TEXT

WEB = Path(brimful.surfaces.http.__file__).parent / "web"


def test_scripts_in_documents_and_names_stay_text(tab):
    """They are shown as they are written, run nowhere, and break no rule of the policy: the console stays silent."""
    page = tab.open("tea for strangers", **{"budget": 500, "pin.q": "strangers", "pin.budget": 90})
    shown = [text for text in tab.texts(".window pre") if "<script>" in text]
    assert shown == [HOSTILE_TEXT]
    expect(page.locator(".window .path", has_text="<img src=x")).to_have_text(
        '<img src=x onerror="window.broken=1">\\u000a\\u202egnp.md'
    )
    page.locator(".window .cite", has_text="<img src=x").click()
    page.locator(".sheet").wait_for()
    assert "".join(tab.texts(".row code")) == HOSTILE_TEXT.removesuffix("\n")
    page.keyboard.press("Escape")
    page.click("#corpus-open")
    page.locator("#documents").wait_for()
    assert page.evaluate("window.broken") is None
    assert page.locator("main img, main script, main style, dialog img, dialog script").count() == 0
    assert page.locator("body").is_visible()


def test_a_question_and_a_link_stay_text(tab):
    """What an address brings is a value of fields, never markup."""
    page = tab.open("<img src=x onerror=window.broken=1> tea", budget=200, model="o200k_base")
    expect(page.locator("#question")).to_have_value("<img src=x onerror=window.broken=1> tea")
    assert page.evaluate("window.broken") is None
    assert page.locator("main img").count() == 0


def test_the_policy_forbids_what_the_page_does_not_need(tab):
    """Scripts and styles of this server only, no frames, no forms that leave."""
    response = tab.page.goto(tab.address)
    policy = response.headers["content-security-policy"]
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} <= {
        each.strip() for each in policy.split(";")
    }
    assert "unsafe" not in policy


def test_the_page_has_no_way_to_turn_text_into_markup():
    """No module parses a string as HTML or as a script, and nothing is fetched from elsewhere."""
    for file in sorted(WEB.rglob("*")):
        if file.suffix not in (".js", ".html", ".css"):
            continue
        text = file.read_text(encoding="utf-8")
        parsing = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|srcdoc"
        assert not re.search(parsing, text), file
        assert not re.search(r"<script(?![^>]*src=)|\sstyle=|\son\w+=\"", text), file
        assert re.findall(r"https?://(?!www\.w3\.org)", text) == [], file
