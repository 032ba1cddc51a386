"""Two runs beside each other."""

from playwright.sync_api import expect

from tests.surfaces.page.conftest import QUESTION


def spans(context):
    """The windows of a context as plain values."""
    return [(window.path, window.start, window.end) for window in context.windows]


def test_a_pinned_run_is_compared_with_the_present_one(tab, engine):
    """Pin, turn a knob: which windows came, went and grew, and both bars on one scale."""
    page = tab.open(QUESTION, budget=300)
    page.click("#pin")
    expect(page.locator("#comparison")).to_contain_text("the same settings")
    with tab.answering():
        page.fill("#budget", "600")
        page.keyboard.press("Enter")
    before, now = spans(engine.context(QUESTION, budget=300)), spans(engine.context(QUESTION, budget=600))

    def touches(one, other):
        return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]

    came = [each for each in now if not any(touches(each, old) for old in before)]
    went = [each for each in before if not any(touches(each, new) for new in now)]
    expect(page.locator(".change-came")).to_have_count(len(came))
    expect(page.locator(".change-went")).to_have_count(len(went))
    assert came
    expect(page.locator("#counts")).to_contain_text(f"{len(came)} came in")
    expect(page.locator(".side").first).to_contain_text("budget 300")
    expect(page.locator(".side").last).to_contain_text("budget 600")
    widths = page.evaluate(
        "[...document.querySelectorAll('.side .bar')].map(each => each.getBoundingClientRect().width)"
    )
    assert abs(widths[0] / widths[1] - 0.5) < 0.01
    assert tab.texts(".window .change").count("came in") == len(came)


def test_a_pinned_run_that_is_refused_does_not_stay(tab):
    """A link whose pinned run can't be assembled says why; trying again shows the present run alone."""
    page = tab.open()
    page.goto(f"{tab.address}/#q=tea&budget=200&pin.q=tea&pin.sizing=fied")
    expect(page.locator("#notice")).to_contain_text("did you mean 'field'?")
    with tab.answering():
        page.click("#notice button")
    expect(page.locator("#comparison")).to_be_hidden()
    assert all("422" in said for said in tab.complaints), "the browser itself logs the status"
    tab.complaints.clear()


def test_a_comparison_is_in_the_address_and_can_be_swapped_and_ended(browser, tab):
    """Its link shows the same two runs; swap exchanges them; unpin leaves the present one."""
    page = tab.open(QUESTION, **{"budget": 600, "pin.q": QUESTION, "pin.budget": 300})
    expect(page.locator(".side").first).to_contain_text("budget 300")
    came = page.locator(".change-came").count()
    page.click("#swap")
    expect(page.locator("#budget")).to_have_value("300")
    expect(page.locator(".change-went")).to_have_count(came)
    assert "pin.budget=600" in page.url
    page.click("#unpin")
    expect(page.locator("#comparison")).to_be_hidden()
    assert "pin" not in page.url
    assert page.evaluate("document.activeElement.id") == "pin"
