"""The page without a mouse."""

from playwright.sync_api import expect

from tests.surfaces.page.conftest import QUESTION


def held(page):
    """The id of what has the focus."""
    return page.evaluate("document.activeElement.id")


def test_a_question_is_asked_and_read_by_keys_alone(tab):
    """/ goes to the question, Enter asks, j and k walk the windows, Enter opens one, Esc comes back."""
    page = tab.open()
    page.keyboard.press("/")
    assert held(page) == "question"
    with tab.answering():
        page.keyboard.type(QUESTION)
        page.keyboard.press("Enter")
    page.locator("#question").blur()
    first, second = page.evaluate("[...document.querySelectorAll('#list article')].map(each => each.id)")[:2]
    for key, expected in (("j", first), ("j", second), ("k", first), ("k", first)):
        page.keyboard.press(key)
        assert held(page) == expected
    page.keyboard.press("Enter")
    page.locator(".sheet").wait_for()
    page.keyboard.press("Escape")
    assert held(page) == first
    page.keyboard.press("p")
    expect(page.locator("#comparison")).to_be_visible()


def test_letters_in_a_field_are_letters_and_keys_can_be_switched_off(tab):
    """Typing j, k, p or / in the question moves nothing; the help has a switch for single keys."""
    page = tab.open()
    page.focus("#question")
    page.keyboard.type("jkp/?")
    expect(page.locator("#question")).to_have_value("jkp/?")
    page.locator("#question").blur()
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert held(page) != "question"


def test_the_skip_link_goes_to_the_windows(tab):
    """The first stop of the Tab key is a link past everything, and it leaves the address as it was."""
    page = tab.open(QUESTION, budget=300)
    address = page.url
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    assert held(page) == "skip"
    expect(page.locator("#skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert held(page) == "windows"
    assert page.url == address


def test_the_focus_is_visible_wherever_it_is(tab):
    """Tab reaches every control of the page, and each shows an outline."""
    page = tab.open(QUESTION, budget=150, line_numbers="none")  # which opens the settings
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "(({id, dataset, localName, textContent}) => [id || dataset.copy || localName === 'body' || textContent,"
            " getComputedStyle(document.activeElement).outlineStyle])(document.activeElement)"
        )
        if found[0] is True:  # past the last one
            break
        reached.add(found[0])
        assert found[1] != "none", found
    wanted = {"question", "corpus-open", "captures-open", "help-open", "theme", "pin", "receipt-open", "text", "link"}
    assert wanted | {"slider", "budget", "sizing", "model"} <= reached


def test_a_dialog_keeps_the_focus_inside(tab):
    """Behind an open dialog nothing can be reached."""
    page = tab.open(QUESTION, budget=150)
    page.click("#help-open")
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement.localName === 'body' || document.activeElement.closest('dialog') !== null"
        )


def test_a_question_may_have_lines(tab):
    """A traceback is pasted with its lines and shown with them; Enter asks, Shift Enter begins a line."""
    page = tab.open()
    one = page.evaluate("document.getElementById('question').offsetHeight")
    page.focus("#question")
    page.keyboard.insert_text('Traceback:\n  File "src/kettle.py", line 1, in boil')
    page.keyboard.press("Shift+Enter")
    page.keyboard.insert_text("Tea: too cold")
    with tab.answering():
        page.keyboard.press("Enter")
    asked = 'Traceback:\n  File "src/kettle.py", line 1, in boil\nTea: too cold'
    expect(page.locator("#question")).to_have_value(asked)
    assert page.evaluate("document.getElementById('question').offsetHeight") > one + 30
    assert tab.texts(".window .path")[0] == "src/kettle.py"
    page.reload()
    tab.settled()
    expect(page.locator("#question")).to_have_value(asked)
    assert page.evaluate("document.getElementById('question').offsetHeight") > one + 30
