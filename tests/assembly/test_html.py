"""What notebooks show: tokens, windows, nothing that runs."""

from html.parser import HTMLParser

from brimful import Document, Hit, Window, inflate, pack
from brimful.assembly.notebook import SHOWN_OMISSIONS

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)> $\\href{javascript:1}{x}$ & \u202e \x00 \"'>"
ALLOWED = {"div", "span", "b", "br", "bdi", "pre", "details", "summary", "ul", "li"}


class Seen(HTMLParser):
    """Elements, attributes, and the texts of `<pre>`."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts, self._open = set(), set(), [], []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        """Note it."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag != "br":
            self._open.append(tag)
        if tag == "pre":
            self.texts.append("")

    def handle_endtag(self, tag):
        """What was opened last is closed."""
        assert self._open.pop() == tag

    def handle_data(self, text):
        """Text of a window."""
        if "pre" in self._open:
            self.texts[-1] += text


def test_text_of_documents_is_inert():
    """Names and texts that are markup are shown as they are, and add no element and no attribute."""
    context = pack([Window(f"a\n{HOSTILE}.md", HOSTILE)], budget=500)
    seen = Seen(context._repr_html_())
    assert seen.tags <= ALLOWED
    assert seen.attributes <= {"style", "class", "title", "role", "aria-label", "open"}
    assert seen.texts == [f"\n{HOSTILE}"]


def test_every_window_is_cited():
    """Path, lines, bytes; seams and cut edges as far as they are known."""
    page = Document("kettle.py", "class Kettle:\n" + "".join(f"    step{n} = {n}\n" for n in range(90)))
    context = pack(inflate([Hit.of(page, "step50")], [page], max_bytes=60), budget=300, fill="relevant")
    html = context._repr_html_()
    (window,) = context.windows
    first, last = window.lines
    assert f"lines {first}–{last}, bytes {window.start}–{window.end}" in html
    assert Seen(html).texts == [f"\nclass Kettle:\n… {window.text} …"]


def test_omissions_are_counted_and_some_are_shown():
    """A long list is cut; an empty context says so."""
    context = pack([Window(f"{n:02}.md", "Tea at four and no sooner.") for n in range(40)], budget=12, trim=False)
    html = context._repr_html_()
    assert f"{len(context.omitted)} left out" in html
    assert html.count("<li>") == SHOWN_OMISSIONS + 1
    assert "Nothing was found" in pack([], budget=5)._repr_html_()
