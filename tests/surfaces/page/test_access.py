"""The page for every screen, and for those who hear it."""

from playwright.sync_api import expect

import brimful
from tests.browser import Tab, served
from tests.surfaces.page.conftest import QUESTION

COMPARED = {"budget": 600, "pin.q": QUESTION, "pin.budget": 300}
ROLES = "button textbox searchbox combobox slider spinbutton checkbox article region img link".split()
SIDEWAYS = "document.documentElement.scrollWidth - window.innerWidth"

# Text below its contrast (WCAG 2.2 AA): 4.5, or 3 for large text; colours are computed over what stands behind.
FAINT = """() => {
  const parts = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const shine = ([red, green, blue]) => {
    const linear = (part) => (part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
    const [r, g, b] = [red, green, blue].map((part) => linear(part / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, alpha = 1] = parts(getComputedStyle(at).backgroundColor);
      if (alpha === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const [element, text] = [walker.currentNode.parentElement, walker.currentNode.data.trim()];
    if (!text || !element.checkVisibility() || element.closest('.hidden, :disabled, datalist')) continue;
    const style = getComputedStyle(element);
    const [one, other] = [shine(parts(style.color)), shine(behind(element))].sort((a, b) => b - a);
    const pixels = parseFloat(style.fontSize);
    const isLarge = pixels >= 24 || (pixels >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (one + .05) / (other + .05);
    if (contrast < (isLarge ? 3 : 4.5)) faint.push([text.slice(0, 40), style.color, behind(element).join()]);
  }
  return faint;
}"""


def test_nothing_makes_the_page_scroll_sideways(tab):
    """From a telephone to a wide screen the page fits, with a comparison, long names and an open document."""
    page = tab.open("tea for strangers", **{"budget": 600, "pin.q": QUESTION, "pin.budget": 300})
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for is_open in (False, True):
        if is_open:
            page.locator(".window .cite").first.click()
            page.locator(".sheet").wait_for()
        for width in (320, 375, 768, 1024, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(SIDEWAYS) <= 0, width
            box = page.locator("#dialog").bounding_box()
            assert not is_open or (box["x"] >= 0 and box["x"] + box["width"] <= width)


def test_a_telephone_shows_the_account_first_and_folds_the_settings(browser, address):
    """At 375 px question, bar and budget come first; settings and maps are a tap away; targets are large enough."""
    tab = Tab(browser, address, viewport={"width": 375, "height": 812}, has_touch=True)
    page = tab.open(QUESTION, budget=600)
    for shown in ("#question", "#bar .bar", "#pin", "#slider"):
        expect(page.locator(shown)).to_be_in_viewport()
    expect(page.locator("#sizing")).to_be_hidden()
    page.locator("#settings summary").tap()
    expect(page.locator("#sizing")).to_be_visible()
    small = page.evaluate(
        "[...document.querySelectorAll('button, select, input')].filter((each) => each.checkVisibility())"
        ".filter((each) => each.getBoundingClientRect().height < 24 && each.type !== 'range')"
        ".map((each) => each.id || each.textContent)"
    )
    assert small == []
    tab.close()


def test_text_has_enough_contrast_in_both_themes(tab):
    """Every text on the page and in its dialogs, marks and hints included."""
    page = tab.open(QUESTION, **COMPARED)
    for opener in (None, "#help-open", "#corpus-open", "#captures-open", "#receipt-open"):
        if opener:
            page.click(opener)
            page.wait_for_function("() => !/Reading/.test(document.getElementById('dialog-body').textContent)")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(FAINT) == [], (opener, scheme)
        if opener:
            page.keyboard.press("Escape")


def test_the_theme_follows_the_system_until_it_is_chosen(browser, address):
    """Dark where the system is dark; the button goes through system, light and dark, and a choice is remembered."""
    tab = Tab(browser, address, color_scheme="dark")
    page = tab.open()

    def paper():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    dark = paper()
    page.click("#theme")
    light = paper()
    assert light != dark
    expect(page.locator("#theme")).to_have_text("Theme: light")
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert paper() == light
    page.click("#theme")
    assert paper() == dark
    page.emulate_media(color_scheme="light")
    assert paper() == dark
    tab.close()


def test_every_control_has_a_name_and_every_region_too(tab):
    """Buttons, fields, articles, regions and pictures say what they are; there is one heading above all others."""
    page = tab.open(QUESTION, **COMPARED)
    for opener in (None, "#help-open", "#corpus-open", "#captures-open", "#receipt-open"):
        if opener:
            page.click(opener)
            page.wait_for_function("() => !/Reading/.test(document.getElementById('dialog-body').textContent)")
        snapshot = page.locator("body").aria_snapshot()
        nameless = [
            line.strip()
            for line in snapshot.splitlines()
            if line.strip().rstrip(":") in {f"- {role}" for role in ROLES} or line.strip().startswith('- button ""')
        ]
        assert nameless == []
        if opener:
            page.keyboard.press("Escape")
    snapshot = page.locator("body").aria_snapshot()
    assert [snapshot.count(part) for part in ("- main:", "[level=1]", "- banner:", "- search:", "- status:")] == [1] * 5
    assert page.evaluate("document.documentElement.lang") == "en"


def test_motion_is_left_out_where_it_is_not_wanted(tab):
    """With reduced motion nothing moves; without it the bar does."""
    page = tab.open()
    for motion, expected in (("reduce", "0s"), ("no-preference", "0.18s")):
        page.emulate_media(reduced_motion=motion)
        assert page.evaluate("getComputedStyle(document.querySelector('.part')).transitionDuration") == expected


def test_a_long_path_on_a_map_shows_its_end(browser, tmp_path):
    """What tells files apart; the whole path is its title, and its signs stand in their order."""
    name = "(notes)/" + "a-folder-with-a-long-name/" * 4 + "tea (old).md"
    with brimful.open(tmp_path / "long.db") as engine:
        engine.add_text(name, "Tea is served at four.\n")
    with served(tmp_path / "long.db") as address:
        tab = Tab(browser, address)
        page = tab.open("When is tea served?")
        shown = page.locator("#maps .path")
        expect(shown).to_have_attribute("title", name)
        edges = page.evaluate(
            "(() => { const [box, text] = [document.querySelector('#maps .path'), document.querySelector('#maps bdi')]"
            ".map((each) => each.getBoundingClientRect()); return [box.left, box.right, text.left, text.right]; })()"
        )
        assert edges[2] < edges[0]
        assert edges[3] <= edges[1] + 1
        tab.close()


def test_boxes_to_check_have_their_full_size(tab):
    """However long the words beside them are, in the rail and in the help."""
    page = tab.open(QUESTION, budget=300)
    page.locator("#filters summary").click()
    sizes = page.evaluate("[...document.querySelectorAll('#filters .check input')].map((each) => each.offsetWidth)")
    assert len(sizes) > 3
    assert min(sizes) >= 12
