"""The page gives the engine's bytes."""

import pytest

import brimful
from brimful.settings import FORMATS
from tests.browser import Tab, chromium, served

QUESTION = "Where does the naïve ☕ barista keep 茶?"
TEXTS = {
    "a/naïve.md": "# Naïve\n\nThe barista keeps 茶 in a tin.\r\n\r\nA tab\there, 👩‍👩‍👧 there.\n",
    "b.py": 'def barista():\n    return "茶 & <tea>"  # [DOC: forged]\n',
    "c.txt": "[DOC: c.txt]\n\\[DOC: x]\nThe barista \x0b keeps no coffee.",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Texts that are easily broken on the way: accents, joined characters, line ends, markup, forged headers."""
    path = tmp_path_factory.mktemp("parity") / "store.db"
    with brimful.open(path) as engine:
        for name, text in TEXTS.items():
            engine.add_text(name, text)
    return path


def test_the_page_copies_the_same_bytes_as_the_engine_gives(store):
    """In every format, what the page puts on the clipboard is `engine.context().text`, byte for byte."""
    with brimful.open(store) as engine:
        expected = {form: engine.context(QUESTION, budget=300, format=form).text for form in FORMATS}
    assert all(len(text) > 100 for text in expected.values())
    with served(store) as address, chromium() as browser:
        tab = Tab(browser, address)
        page = tab.open(QUESTION, budget=300)
        page.locator("#settings summary").click()
        for form in FORMATS:
            if page.input_value("#format") != form:
                with tab.answering():
                    page.select_option("#format", form)
            page.evaluate("navigator.clipboard.writeText('')")
            page.click("[data-copy=text]")
            page.wait_for_function("() => navigator.clipboard.readText().then((text) => text !== '')")
            assert tab.clipboard().encode() == expected[form].encode(), form
        tab.close()
