"""Ask, see, understand."""

import re

import pytest
from playwright.sync_api import expect

from brimful import Budget
from brimful.settings import ASKED, PACKINGS, SIZINGS
from tests.surfaces.page.conftest import QUESTION


def test_an_answer_shows_the_engine_s_windows_in_reading_order(tab, engine):
    """Each window has its citation and exactly its own text, in the order in which the model reads."""
    page = tab.open(QUESTION, budget=600)
    context = engine.context(QUESTION, budget=600)
    page.get_by_role("button", name="Reading order").click()
    assert tab.texts(".window pre") == [window.text for window in context.windows]
    cited = [f"{window.path} lines {window.lines[0]}–{window.lines[1]}" for window in context.windows]
    assert [text.replace("line ", "lines ") for text in tab.texts(".window h3")] == [
        one if window.lines[0] != window.lines[1] else f"{window.path} lines {window.lines[0]}"
        for one, window in zip(cited, context.windows, strict=True)
    ]
    said = f"{context.tokens} of 600 tokens"
    expect(page.locator("#account-title")).to_contain_text(said)
    expect(page.locator("#live")).to_contain_text(said)
    assert page.title() == f"{QUESTION} · Brimful"


def test_the_bar_says_where_every_token_went(tab, engine):
    """Its label and legend have the numbers of the account, and the parts are as wide as they say."""
    page = tab.open(QUESTION, budget=900, reserved_system=50, reserved_query=20, reserved_response=130)
    account = engine.context(QUESTION, budget=Budget(900, 50, 20, 130)).account
    legend = dict(zip(tab.texts("#bar dt"), tab.texts("#bar dd"), strict=True))
    assert legend["reserved"] == "200"
    assert legend["content"] == str(account.content)
    assert legend["headers"] == str(account.headers)
    assert legend["free"] == str(account.free)
    label = page.locator("#bar .bar").get_attribute("aria-label")
    assert label.startswith("Budget of 900 tokens: reserved 200, content ")
    assert f"free {account.free}." in label
    widths = page.evaluate(
        "[...document.querySelectorAll('#bar .part')].map(each => each.getBoundingClientRect().width)"
    )
    assert widths[0] / sum(widths) == pytest.approx(200 / 900, abs=0.02)


def test_matched_words_are_marked_where_the_engine_found_them(tab, engine):
    """Marks are the bytes of the record's matches: whole words, in all their forms."""
    tab.open(QUESTION, budget=2000)
    marked = tab.texts(".window mark")
    assert {"Tea", "tea", "served", "scones", "scone"} <= set(marked)
    assert not {"in", "the", "is"} & set(marked)


def test_a_window_says_why_it_is_in(tab, engine):
    """Rank, both legs of the score and the words it holds."""
    tab.open(QUESTION, budget=600)
    reasons = tab.texts(".window .why")
    assert all(" by score (words " in reason and "holds " in reason for reason in reasons)
    assert any(reason.startswith("1st of ") for reason in reasons)


def test_a_map_shows_where_the_windows_of_a_document_lie(tab, engine):
    """One strip a document, one stretch a window, at the share of the bytes where it stands."""
    page = tab.open(QUESTION, budget=600)
    windows = engine.context(QUESTION, budget=600).windows
    expect(page.locator("#maps li")).to_have_count(len({window.path for window in windows}))
    expect(page.locator(".stretch-in")).to_have_count(len(windows))
    left, width = page.evaluate("(({style}) => [style.left, style.width])(document.querySelector('.stretch-in'))")
    first = windows[0]
    assert float(left[:-1]) == pytest.approx(100 * first.start / len(first.document), abs=0.01)
    assert float(width[:-1]) == pytest.approx(100 * (first.end - first.start) / len(first.document), abs=0.01)
    page.locator(".stretch-in").last.click(force=True)
    lowest = [*dict.fromkeys(window.path for window in windows)][-1]
    number = max(number for number, window in enumerate(windows, 1) if window.path == lowest)
    assert page.evaluate("document.activeElement.id") == f"window-{number}"


def test_the_best_window_stands_first_and_the_reading_order_is_one_click_away(tab, engine):
    """Ranks ascend until the order of the text is asked for; what is shown stays the same."""
    page = tab.open(QUESTION, budget=900)
    windows = engine.context(QUESTION, budget=900).windows
    ranks = [int(re.match(r"\d+", reason)[0]) for reason in tab.texts(".window .why")]
    assert ranks == list(range(1, len(windows) + 1))
    page.get_by_role("button", name="Reading order").click()
    places = page.evaluate("[...document.querySelectorAll('#list article')].map(each => each.id)")
    assert places == [f"window-{number}" for number in range(1, len(windows) + 1)]
    assert [text.rstrip() for text in tab.texts(".window pre")] == [window.text.rstrip() for window in windows]
    expect(page.get_by_role("button", name="Reading order")).to_have_attribute("aria-pressed", "true")


def test_turning_a_knob_assembles_again(tab, engine):
    """The number, the slider and the choices: the page shows what the engine gives for them; so does the address."""
    page = tab.open(QUESTION, budget=600)
    page.get_by_role("button", name="Reading order").click()
    with tab.answering():
        page.fill("#budget", "300")
    page.locator("#budget").blur()
    assert "budget=300" in page.url
    assert tab.texts(".window pre") == [window.text for window in engine.context(QUESTION, budget=300).windows]
    with tab.answering():
        page.locator("#slider").focus()
        page.keyboard.press("End")
    expect(page.locator("#budget")).to_have_value("200000")
    page.locator("#settings summary").click()
    for name, values in (("packing", PACKINGS), ("sizing", SIZINGS)):
        with tab.answering():
            page.select_option(f"#{name}", values[1])
        assert f"{name}={values[1]}" in page.url
    assert (
        f"from {len({w.path for w in engine.context(QUESTION, budget=200_000, sizing=SIZINGS[1]).windows})} document"
        in (page.locator("#account-title").text_content())
    )


def test_another_model_counts_its_own_tokens(tab, engine):
    """The model's name is a knob like the others."""
    page = tab.open(QUESTION, budget=600)
    page.locator("#settings summary").click()
    with tab.answering():
        page.fill("#model", "claude")
        page.keyboard.press("Enter")
    expect(page.locator("#account-title")).to_contain_text("estimated for claude")


def test_a_runner_up_enters_at_its_price(tab, engine):
    """What is out says why and at which budget it enters; a click sets that budget, and it is in."""
    page = tab.open(QUESTION, budget=300)
    first = page.locator("#rest li").first
    expect(first).to_contain_text("did not fit in what was left")
    button = first.locator(".enter")
    button.wait_for()
    price = int("".join(sign for sign in button.text_content() if sign.isdigit()))
    path, best = first.locator(".path").text_content(), engine.context(QUESTION, budget=300).omitted[0].window
    assert path == best.path
    assert price > 300
    with tab.answering():
        button.click()
    expect(page.locator("#budget")).to_have_value(str(price))
    spans = [(text.split(" lines")[0].split(" line")[0]) for text in tab.texts(".window h3")]
    assert path in spans
    inside = page.evaluate(
        "([path, start, end]) => [...document.querySelectorAll('.window')].some(({dataset}) => {"
        " const [name, from, to] = dataset.key.split('\\0'); return name === path && +from <= start && end <= +to; })",
        [path, best.start, best.end],
    )
    assert inside


def test_an_answer_that_is_overtaken_is_never_shown(tab):
    """A slow answer to an older setting does not replace the newer one."""
    page = tab.open(QUESTION, budget=600)
    held = []

    def hold(route):
        if '"budget":250' in route.request.post_data and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/context", hold)
    page.fill("#budget", "250")
    page.wait_for_function("() => document.getElementById('windows').getAttribute('aria-busy') === 'true'")
    with tab.answering():
        page.fill("#budget", "500")
    assert held
    held[0].abort()
    page.wait_for_timeout(100)
    expect(page.locator("#account-title")).to_contain_text("of 500 tokens")
    expect(page.locator("#notice")).to_be_hidden()


def test_back_and_forward_go_through_what_was_asked(tab):
    """Each question and each setting is a step of the history."""
    page = tab.open(QUESTION, budget=600)
    page.locator("#settings summary").click()
    with tab.answering():
        page.select_option("#packing", "interleaved")
    with tab.answering():
        page.fill("#question", "kettle on the stove")
        page.keyboard.press("Enter")
    with tab.answering():
        page.go_back()
    expect(page.locator("#question")).to_have_value(QUESTION)
    expect(page.locator("#packing")).to_have_value("interleaved")
    with tab.answering():
        page.go_back()
    expect(page.locator("#packing")).to_have_value("greedy")
    with tab.answering():
        page.go_forward()
    expect(page.locator("#packing")).to_have_value("interleaved")


def test_a_misspelt_word_is_named(tab):
    """What was searched for in its place stands under the question, and a window names the words that it holds."""
    page = tab.open("When are sconse served?", budget=300)
    expect(page.locator("#heard")).to_contain_text("Searched for scone")
    expect(page.locator("#heard")).to_contain_text("instead of sconse")
    assert any("scones" in words for words in tab.texts(".window .why b"))
    assert not any("sconse" in words for words in tab.texts(".window .why"))


def test_what_was_left_out_is_placed_by_its_lines(tab, engine):
    """A runner-up names the lines at which an editor opens it, as the windows do."""
    page = tab.open(QUESTION, budget=300)
    left = [each.window.lines for each in engine.context(QUESTION, budget=300).omitted[:8]]
    said = [f"line {first}" if first == last else f"lines {first}–{last}" for first, last in left]
    assert said
    assert tab.texts("#rest .lines") == said
    expect(page.locator("#rest .lines").first).to_be_visible()


def test_a_budget_that_is_none_is_refused_in_its_field(tab):
    """What no budget or reserve can be is marked and explained by the browser, and the answer stands."""
    page = tab.open(QUESTION, budget=300)
    shown = tab.texts("#account-title")
    page.locator("#kept summary").click()
    for field, wrong in (("#budget", "0"), ("#budget", ""), ("#budget", "1.5"), ("#reserved_system", "-4")):
        page.fill(field, wrong)
        page.locator(field).blur()
        assert page.evaluate(f"document.querySelector('{field}').validationMessage"), (field, wrong)
        assert page.evaluate(f"document.querySelector('{field}').matches(':invalid:focus')"), (field, wrong)
        page.fill(field, "300" if field == "#budget" else "0")
    assert tab.texts("#account-title") == shown


def test_before_a_question_the_page_says_what_it_is_for(tab):
    """An empty page invites, and shows no account."""
    page = tab.open()
    expect(page.locator("#empty")).to_contain_text("What should the model read?")
    expect(page.locator("#empty")).to_contain_text("nothing here writes an answer")
    expect(page.locator("#example button")).to_have_text("What is said about house?")
    expect(page.locator("#corpus-open")).to_contain_text("14 documents")
    expect(page.locator("#account")).to_be_hidden()


def test_nothing_found_is_said(tab):
    """Neither an error nor an empty list."""
    page = tab.open("zyzzyva xylograph", budget=300)
    expect(page.locator("#empty")).to_contain_text("Nothing found")
    expect(page.locator("#account")).to_be_hidden()
    expect(page.locator("#live")).to_contain_text("Nothing found")


def test_every_choice_that_people_turn_has_its_control(tab, engine):
    """The server says which; the best windows may come first, and the address remembers it."""
    page = tab.open(QUESTION, budget=600)
    common = [name for name, told in ASKED.items() if told.common]
    assert len(common) > 15
    assert [name for name in common if page.locator(f"#{name}").count() != 1] == []
    page.get_by_role("button", name="Reading order").click()
    page.locator("#settings summary").click()
    with tab.answering():
        page.select_option("#order", "best")
    assert "order=best" in page.url
    context = engine.context(QUESTION, budget=600, order="best")
    assert tab.texts(".window pre") == [window.text for window in context.windows]


def test_a_refusal_is_shown_with_its_remedy(tab):
    """A problem of the server stands in place of the answer, and the next good setting removes it."""
    page = tab.open()
    page.goto(f"{tab.address}/#q=tea&sizing=fied")
    expect(page.locator("#notice")).to_contain_text("did you mean 'field'?")
    assert len(tab.complaints) == 1, "the browser itself logs the status"
    tab.complaints.clear()
    with tab.answering():
        page.select_option("#sizing", "field")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_server_that_does_not_answer_is_asked_again(tab):
    """The page says so, and goes on when it is back."""
    page = tab.open(QUESTION, budget=300)
    page.route("**/v1/context", lambda route: route.abort())
    page.locator("#settings summary").click()
    page.select_option("#fill", "relevant")
    expect(page.locator("#notice")).to_contain_text("The server does not answer")
    expect(page.locator("#notice")).to_contain_text("brimful serve")
    page.unroute("**/v1/context")
    with tab.answering():
        page.click("#notice button")
    expect(page.locator("#notice")).to_be_hidden()
    tab.complaints.clear()
