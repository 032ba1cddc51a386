"""What does a web page say, as Markdown?"""

import pytest

from brimful.documents.loaders import Loaded, load
from brimful.documents.loaders.html import read_page
from brimful.documents.skips import Skipped, SourceSettings


def text_of(html: str | bytes) -> str:
    """The canonical text of a page."""
    (loaded,) = load("a.html", html.encode() if isinstance(html, str) else html)
    assert isinstance(loaded, Loaded)
    return loaded.content.decode()


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>Tea</h1><p>Hot &amp; <b>strong</b>.</p>", "# Tea\n\nHot & strong.\n"),
        ("<ul><li>one<ul><li>two</ul><li>three</ul>", "- one\n  - two\n- three\n"),
        ("<ol start=3><li>c<li>d</ol>", "3. c\n4. d\n"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2|3</table>", "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |\n"),
        ("<table><tr><td><h2>A</h2><p>b<td>c</table>", "## A\n\nb\n\nc\n"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```\n"),
        ("Run <code>make</code> now", "Run `make` now\n"),
        ("<code>name</code> <code>text</code><code> </code> or <tt>a</tt><tt>b</tt>", "`name` `text` or `ab`\n"),
        ("<blockquote><p>a</blockquote>b", "> a\n\nb\n"),
        ("a<br>b", "a\nb\n"),
        ("<a href='x>y'>link</a> <img alt='a cat'>", "link a cat\n"),
        ("<p>a<script>no()</script><style>no{}</style><!-- no -->b", "ab\n"),
        ("<svg><text>CREATE</text><text>TABLE</text><path d=x></svg>", "CREATE TABLE\n"),
        ("<p>so <math><mi>x</mi><mo>=</mo><mn>2</mn><annotation>x=2</annotation></math>", "so x=2\n"),
        ("<title>T</title><p>no head, no body", "# T\n\nno head, no body\n"),
        ("<head><meta x><body>a", "a\n"),
        ("a < b and c &lt; d", "a < b and c < d\n"),
        ("<script>if (a</b) '</scrip>' </SCRIPT >after", "after\n"),
        ("<p>cut <a href='", "cut\n"),
        ("<title> My  page </title><p>a", "# My page\n\na\n"),
        ("", ""),
    ],
)
def test_structure_becomes_markdown(html: str, text: str) -> None:
    """Headings, lists, tables, code and quotes are kept; scripts, styles and comments are not."""
    assert text_of(html) == text


def test_headings_are_the_map_back() -> None:
    """Each heading is a label, by its anchor where it has one, so a citation can link to it."""
    (loaded,) = load("a.html", b"<h1 id=top>T</h1>x<section id=s><h2>U</h2></section><h2>V</h2>")
    assert isinstance(loaded, Loaded)
    assert loaded.source_map is not None
    assert loaded.source_map.labels == ("#top", "#s", "V")
    for start, heading in zip(loaded.source_map.starts, (b"# T", b"## U", b"## V"), strict=True):
        assert loaded.content[start:].startswith(heading)


def test_a_page_may_name_its_encoding() -> None:
    """The encoding in the page's head is believed where it fits."""
    page = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>Съешь ещё'
    assert text_of(page.encode("koi8-r")) == "Съешь ещё\n"
    (loaded,) = load("a.html", page.encode("koi8-r"))
    assert isinstance(loaded, Loaded)
    assert loaded.rule == "html:koi8-r"
    assert text_of(b"<meta charset=ascii><p>caf\xc3\xa9") == "café\n"


HOSTILE = {
    "nesting": "<div>" * 200_000,
    "unclosed formatting": "".join(f"<font a{n}=1>" for n in range(20_000)) + "<p>x" * 20_000,
    "tables": "<table><tr><td>x" * 30_000,
    "lists": "<ul><li>x" * 30_000,
    "open quotes": '<a b="' * 100_000,
    "open comments": "<!--" * 100_000,
    "angle brackets": "<" * 300_000,
    "equals": "<a " + "=" * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_cost_what_their_size_does(name: str) -> None:
    """Pages made to blow up a parser are read in a pass; the text is no longer than a few times the page."""
    html = HOSTILE[name]
    page = read_page(html)  # quadratic work would take minutes
    assert sum(len(text) for text, _, _ in page.blocks) <= 10 * len(html)


def test_a_page_beyond_the_limit_is_a_skip() -> None:
    """A page larger than a part may be is refused before it is parsed."""
    (item,) = load("a.html", b"<p>" + b"x" * 200, settings=SourceSettings(max_part_bytes=100))
    assert isinstance(item, Skipped)
    assert item.reason == "too_large"


@pytest.mark.parametrize(
    "navigation",
    [
        "<nav><ul><li><a href=a>Ranking guide</a><li><a href=b>Filters</a></ul></nav>",
        '<div class=side role="navigation"><div>Ranking guide</div><p>Filters</div>',
        "<NAV>Ranking guide <nav>inner</nav> Filters</NAV>",
    ],
)
def test_navigation_is_left_out(navigation):
    """The links that every page of a site repeats are no part of what a page says, before or behind it."""
    for text in (f"{navigation}<h1>Tea</h1><p>Hot.", f"<h1>Tea</h1><p>Hot.</p>{navigation}"):
        assert [block for block, _, _ in read_page(text).blocks] == ["# Tea", "Hot."]


def test_a_page_of_nothing_but_navigation_keeps_it():
    """A table of contents says its links; its title stays too."""
    page = read_page("<title>Contents</title><nav><ol><li>Tea<li>Coffee</ol></nav>")
    assert page.title == "Contents"
    assert [block for block, _, _ in page.blocks] == ["1. Tea", "2. Coffee"]
    assert read_page("<title>Empty</title>").title == "Empty"


def test_navigation_that_never_ends_hides_nothing():
    """A page whose navigation is not closed is read whole."""
    blocks = [block for block, _, _ in read_page("<p>First.</p><nav>Links<p>Tea is hot.").blocks]
    assert blocks == ["First.", "Links", "Tea is hot."]


@pytest.mark.parametrize(
    "noise",
    [
        "<nav><a href=/>Home</a></nav>",
        "<footer>Copyright nobody</footer>",
        "<div class='sphinxsidebar'><ul><li>Contents</ul></div>",
        "<aside class='left sidebar'><p>Other pages</p></aside>",
        "<div id='cookie-banner'><p>We value your privacy</p><button>Accept</button></div>",
        "<div class='cookieconsent'>We value your privacy</div>",
        "<div role='contentinfo'>Made by nobody</div>",
        "<ul class='breadcrumbs'><li>Home<li>Docs</ul>",
        "<ul class='docnav top'><li><a href='apt.html'>Prev</a><li>The Handbook</ul>",
        "<div class='navheader'><table><tr><td>Prev<td>Next</table></div>",
    ],
)
def test_what_every_page_repeats_is_left_out(noise: str) -> None:
    """Navigation, sidebars, footers, breadcrumbs and cookie bars say nothing about the page."""
    page = f"<body>{noise}<main><h1>Tea</h1><p>Hot.</p></main>{noise}</body>"
    assert text_of(page) == "# Tea\n\nHot.\n"


@pytest.mark.parametrize(
    "heading",
    ["Tea<a class='headerlink' href='#tea'>\u00b6</a>", "Tea \u00b6", "Tea<a class='hash-link'>#</a>", "Tea\uf0c1"],
)
def test_signs_to_link_to_are_left_out(heading: str) -> None:
    """A heading is its words."""
    assert text_of(f"<h2>{heading}</h2><p>Hot.</p>") == "## Tea\n\nHot.\n"


@pytest.mark.parametrize(
    "page",
    [
        "<body class='sidebar'><p>Hot.</p></body>",
        "<div class='with-sidebar content'><p>Hot.</p></div>",
        "<div id='sidebar'><p>Hot.</p></div>",
        "<aside><p>Hot.</p></aside>",
        "<div class='footer'><p>Hot.</p>",
    ],
)
def test_what_a_page_says_is_kept(page: str) -> None:
    """A page that is all sidebar, or whose footer is never closed, is shown as it is; an aside is text."""
    assert text_of(page) == "Hot.\n"


NOTE = "<div class='sidebar'><div class='title'>GOING FURTHER <a href=x>Pots</a></div><p>Warm the pot first.</p></div>"


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        (f"<h1>Tea</h1><p>Hot.</p>{NOTE}", "Warm the pot"),
        ("<h1>Web</h1><div class=section id=cookies><h2>Cookies</h2><p>Set one.</p></div>", "Set one."),
        ("<div class='grid-for-nav'><nav><a href=a>Menu of the site</a></nav><h1>Tea</h1>Hot.</div>", "Hot."),
        ("<div class='nav-wrapper'><h1>Index</h1><ul><li><a href=a>Tea</a></ul></div><p>x</p>", "Tea"),
        (f"<h1>Tea</h1><footer>{'Steep for four minutes. ' * 100}</footer>", "Steep"),
        ("<h1>Tea</h1><p class='footer-note'>A note.</p><p>Hot.</p>", "A note."),
    ],
)
def test_a_name_alone_makes_nothing_navigation(page: str, kept: str) -> None:
    """What is called a sidebar, a footer or cookies is text unless it is mostly links, or a short bar at an edge."""
    assert kept in text_of(page)


@pytest.mark.parametrize(
    "bar", ["<div class='navheader'>Prev. Part II</div>", "<div id=cookie-note>We value you</div>"]
)
def test_many_bars_cost_what_their_size_does(bar: str) -> None:
    """Bars one after the other are looked at once each."""
    assert [text for text, _, _ in read_page(bar * 30_000 + "<h1>Tea</h1>Hot.").blocks] == ["# Tea", "Hot."]
    assert len(read_page(bar + ("<nav>x</nav><p>y</p>" + bar) * 30_000 + "<h1>Tea</h1>").blocks) == 30_001


def test_what_stands_beside_the_main_part_of_a_page_is_left_out() -> None:
    """Where a page says which part that is; without one all is kept, and so are notes and titles inside of it."""
    around = "<header>Shop</header><a class=skip-link>Skip to content</a><aside>Subscribe!</aside>"
    own = "<header><h1>Tea</h1></header><p>Served at four.</p><aside>Bring a cup.</aside>"
    assert text_of(f"{around}<main>{own}</main>{around}") == "# Tea\n\nServed at four.\n\nBring a cup.\n"
    assert text_of(f"{around}<div>{own}</div>").startswith("Shop\n\nSubscribe!\n\n# Tea")
    assert "Subscribe!" in text_of(f"{around}<main></main>")


def test_a_sign_that_never_ends_hides_nothing() -> None:
    """A link or a list of choices that is not closed does not take the rest of the page along."""
    assert "Hot." in text_of("<h1>Tea<a class=headerlink href=#tea>x</h1><p>Hot.</p>")
    assert "Hot." in text_of("<h1>Tea</h1><select><option>one<p>Hot.</p>")
