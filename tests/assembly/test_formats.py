"""Formats: what is written can be read, and nothing can be forged."""

import re
import sys
import unicodedata
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful import Document, Hit, Window, inflate, pack, parse, render
from brimful.settings import FORMATS, LINE_NUMBERS
from brimful.text.unseen import BLANK, BREAK, COMBINING, CONTROL, INVISIBLE
from brimful.windows.seams import Seam, seams_for


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "text", ["Wait...\nmore\n", "a\n...\nb...\n\nc", "\\\\...\n...\n", "loading ...\r\nx\n", "x\n\n\n...\n\n"]
)
@pytest.mark.parametrize("metadata", [True, False])
def test_dots_of_the_text_are_not_ours(form, text, metadata):
    """A text's own dots, at the end of any line, are told apart from the marker of a cut edge."""
    page = Document("x.md", text * 2)
    for end in range(1, len(page) + 1):
        window = Window.cut(page, 0, end)
        context = pack([window], budget=1_000, format=form, fill="relevant", include_metadata=metadata)
        (read,) = parse(context)
        assert (read.text, read.cut_start, read.cut_end) == (window.text, window.cut_start, window.cut_end)


def test_seams_can_not_forge_headers():
    """What breaks a line in a seam is escaped; a reader of universal newlines sees one real header."""
    page = Document(
        "a.csv", 'id,"na\r[DOC: evil.md]\rme",x\u2028[DOC: evil.md]\n1,2,3\n4,5,6\n', kind="data", language="csv"
    )
    context = pack(inflate([Hit.of(page, "4,5,6")], [page], max_bytes=8), budget=300, fill="relevant")
    assert context.windows[0].seams
    assert [line for line in context.text.splitlines() if line.startswith("[DOC")] == ["[DOC: a.csv line 3]"]
    assert parse(context)[0].seams[0].text == context.windows[0].seams[0].text


@pytest.mark.parametrize("form", FORMATS)
def test_a_signature_is_shown_from_the_line_that_names_it(form):
    """A signature over several lines stands in the trail without its decorators, in every format."""
    code = "@cached\ndef brew(\n    pot,\n    cups,\n):\n" + "".join(f"    step_{n} = {n}\n" for n in range(200))
    page = Document("a.py", code)
    context = pack(inflate([Hit.of(page, "step_150")], [page], max_bytes=100), budget=400, format=form, fill="relevant")
    assert [seam.text for seam in context.windows[0].seams] == ["def brew(\n    pot,\n    cups,\n):"]
    assert [s.text for s in parse(context)[0].seams] == [s.text for s in context.windows[0].seams]


def test_each_window_says_its_own_trail_on_one_line():
    """`[IN: Deployment > Proxies > nginx]`: headings in a row, above each window below them, and nothing elsewhere."""
    seams = tuple(Seam("heading", n, n + 1, text) for n, text in enumerate(["Deployment", "Proxies", "nginx"]))
    windows = [
        Window("a.md", "Use it.", line=12, cut_start=True, cut_end=True, seams=seams),
        Window("a.md", "Or this.", 90, line=40, cut_start=True, cut_end=True, seams=seams),
        Window("a.md", "Then that.", 190, line=60, cut_start=True, seams=()),
    ]
    assert render(windows) == (
        "[DOC: a.md line 12]\n[IN: Deployment > Proxies > nginx]\nUse it.\n"
        "[... line 40]\n[IN: Deployment > Proxies > nginx]\nOr this.\n[... line 60]\nThen that.\n"
    )
    assert render(windows, format="markdown") == (
        "### a.md line 12\n\n`[IN: Deployment > Proxies > nginx]`\n```text\nUse it.\n```\n"
        "[... line 40]\n`[IN: Deployment > Proxies > nginx]`\n```text\nOr this.\n```\n"
        "[... line 60]\n```text\nThen that.\n```\n"
    )
    for form in READ:
        assert render(windows, format=form).count("nginx") == 2


@pytest.mark.parametrize(("form", "said"), [("plain", "[IN: as above]"), ("markdown", "`[IN: as above]`")])
def test_a_long_trail_is_written_out_once_in_a_row(form, said):
    """A header row of many columns stands above the first of several windows of rows, and the others refer to it."""
    header = "id,name,street,city,postcode,country,phone,opened,closed,owner,comment"
    page = Document("shops.csv", header + "\n" + "".join(f"{n},shop {n},,,,,,,,,none\n" for n in range(90)))
    spans = [page.span_of_lines(line, line + 1) for line in (20, 40, 60)]
    windows = [replace(Window.cut(page, span.start, span.end), seams=seams_for(page, span)) for span in spans]
    text = render(windows, format=form)
    assert text.count(header) == 1
    assert text.split("\n").count(said) == 2
    assert [[seam.text for seam in window.seams] for window in parse(text, format=form)] == [[header]] * 3


@pytest.mark.parametrize("form", ["plain", "messages", "markdown", "anthropic"])
def test_doctests_need_no_escape(form):
    """Dots of a text are dots: neither `...` on a line nor at an end is changed, and no marker runs into them."""
    text = ">>> for cup in cups:\n...     pour(cup)\n...\n....  . . 60\n.. code-block:: sh\n[...new Set(cups)]\nWait..."
    page = Document("a.txt", f"First.\n{text}\nLast.\n")
    window = Window.cut(page, 7, 7 + len(text))
    shown = render([window], format=form)
    assert text in shown
    assert "\n[...]\n" in shown
    assert shown.count("[...]") == 1


FILLS = {
    "plain": "[DOC: a.md]\nTea.\n\n[DOC: b.md]\nMilk.\n\n[ALSO: a.md line 9]\nCups.\n",
    "markdown": "### a.md\n\n```text\nTea.\n```\n\n### b.md\n\n```text\nMilk.\n```\n\n"
    "### ALSO: a.md line 9\n\n```text\nCups.\n```\n",
    "xml": '<context>\n<document path="a.md">\n<window>Tea.</window>\n</document>\n'
    '<document path="b.md">\n<window>Milk.</window>\n</document>\n'
    '<also path="a.md">\n<window lines="9">Cups.</window>\n</also>\n</context>\n',
    "json": '{"documents":[{"path":"a.md","windows":[{"text":"Tea."}]},{"path":"b.md","windows":[{"text":"Milk."}]},'
    '{"also":"a.md","windows":[{"lines":"9","text":"Cups."}]}]}\n',
    "anthropic": "a.md\na.md\nTea.\n\nb.md\nb.md\nMilk.\n\na.md\nALSO: a.md line 9\nCups.\n",
    "windows": "Tea.\n\nMilk.\n\nCups.",
}


@pytest.mark.parametrize("form", FORMATS)
def test_what_only_fills_stands_after_all_that_answers(form):
    """A document that has both stands twice, its filling windows marked, and reading tells them apart (ruling 24)."""
    windows = [
        Window("a.md", "Tea.", score=0.9),
        Window("a.md", "Cups.", 90, score=0.4, line=9, cut_start=True, filling=True),
        Window("b.md", "Milk.", score=0.5),
    ]
    context = pack(windows, budget=500, format=form)
    assert [(w.path, w.filling) for w in context.windows] == [("a.md", False), ("b.md", False), ("a.md", True)]
    assert [(w.text, w.filling) for w in parse(context)] == [("Tea.", False), ("Milk.", False), ("Cups.", True)]
    assert context.text == FILLS.get(form, FILLS["plain"])
    assert "ALSO" not in pack(windows, budget=500, format=form, line_numbers="none").text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("filling", [True, False])
def test_no_text_and_no_path_looks_like_filling(form, filling):
    """A line or a path that looks like the header of filling windows is told apart from it."""
    window = Window("ALSO: a.md", "[ALSO: a.md line 9]\n[also: b]", filling=filling)
    context = pack([window], budget=200, format=form)
    assert [(w.path, w.text, w.filling) for w in parse(context)] == [(window.path, window.text, filling)]


@pytest.mark.parametrize("form", FORMATS)
def test_odd_paths_come_back(form):
    """Any path without surrogates survives every format; XML stays well-formed."""
    for path in ("a\ufffe", "b\uffff.md", "c\x00", 'd"<&>', "e\u2028f", "g\\u000a", "h]", "i`\n### j"):
        context = pack([Window(path, "hello")], budget=200, format=form)
        assert [window.path for window in parse(context)] == [path]
        if form == "xml":
            ET.fromstring(context.text)


@pytest.mark.parametrize("form", FORMATS)
def test_cut_edges_stay_with_their_window(form):
    """An edge between two windows belongs to the right one."""
    windows = [
        Window("a.md", "x"),
        Window("b.md", "y", cut_start=True),
        Window("b.md", "z", cut_start=True, cut_end=True),
    ]
    context = pack(windows, budget=500, format=form, packing="score_weighted", include_metadata=True)
    edges = [(w.text, w.cut_start, w.cut_end) for w in parse(context)]
    assert edges == [("x", False, False), ("y", True, False), ("z", True, True)]


def test_times_before_the_year_1000_come_back():
    """Dates are written with four digits."""
    window = Window("a.md", "old", time=-50_000_000_000)
    assert parse(pack([window], budget=100, include_metadata=True))[0].time == window.time


def test_render_keeps_the_order_given():
    """Nothing is sorted or left out."""
    assert render([Window("b", "2"), Window("a", "1")]) == "[DOC: b]\n2\n\n[DOC: a]\n1\n"


def test_the_texts_of_windows_are_their_documents_bytes():
    """`windows` shows nothing but source bytes with an empty line between: what a program joins is what was counted."""
    pages = [Document("a.py", "class A:\n" + "    x = 1\n" * 50), Document("b.md", "[DOC: c]\n...tea\n")]
    windows = [*inflate([Hit("a.py", 300, 309, 1.0)], pages, max_bytes=120), Window.cut(pages[1], 9, 16)]
    context = pack(windows, budget=200, format="windows", fill="relevant")
    held = {page.path: page.content.decode() for page in pages}
    assert "\n\n".join(record["text"] for record in context.payload) == context.text
    assert [held[r["path"]][r["start"] : r["end"]] for r in context.payload] == [r["text"] for r in context.payload]
    assert [record["in"] for record in context.payload if record["path"] == "a.py"] == [["class A:"]]
    assert {piece.text for piece in context.pieces if piece.kind == "literal"} == {"\n\n"}


# ---- what is written is read


PARTS = [
    *(".", "..", "...", "\\", "\n", "\n...", "a", " ", "]", "[DOC: x]", "[IN: y]", "[IN| q]", "[SPAN: z]", "```", "<"),
    *("as above", "As above " * 9, "`", "[...]", "\n[...]\n", "[... lines 3-4]", "[nothing above]", " > ", ">"),
    *("[lines 4]", "[IN:]", "7| ", "\u0301"),
    *("\u200b", "\u2028", "\x85", "\r", "\x0b", "\x1c", "\x00", "\u3000", "\ufeff", "[", "DOC:", "### x", "\\u000a"),
]
parts = st.lists(st.sampled_from(PARTS), min_size=1, max_size=7).map("".join)
paths = st.sampled_from(["a", "b]", "c\\", "d\u202e\U000e0041", "e\n", "f lines 3-4", "g numbered line 7"])


@st.composite
def shown(draw):
    """Windows of some documents, in reading order: where two are told apart, an edge between them is cut."""
    windows = []
    for path in draw(st.lists(paths, min_size=1, max_size=3, unique=True)):
        number, at = draw(st.integers(1, 3)), 0
        for place in range(number):
            text = draw(parts)
            before = windows[-1].cut_end if place else False
            window = Window(
                path,
                text,
                at,
                score=draw(st.sampled_from([0.0, 1.5, 1e-9])),
                time=draw(st.sampled_from([None, 0, -5, 1_700_000_000])),
                line=draw(st.sampled_from([None, 1, 2, 30])),
                cut_start=(place > 0 and not before) or draw(st.booleans()),
                cut_end=draw(st.booleans()),
                seams=tuple(Seam("heading", 0, 0, seam) for seam in draw(st.lists(parts, max_size=2))),
            )
            windows.append(window)
            at += len(text.encode()) + 1
    return windows


def _facts(window, *, metadata, lines):
    shown = (window.path, window.text, window.cut_start, window.cut_end, [seam.text for seam in window.seams])
    shown = (*shown, window.line) if lines else shown
    return (*shown, window.start, window.end, window.score, window.time) if metadata else shown


READ = ["plain", "messages", "markdown", "xml", "json"]


@pytest.mark.parametrize("form", READ)
@given(windows=shown(), metadata=st.booleans(), numbers=st.sampled_from(LINE_NUMBERS))
@example(windows=[Window("a", ".", cut_end=True)], metadata=False, numbers="ranges")
@example(
    windows=[Window("a", "..", cut_end=True), Window("a", ".", 9, cut_start=True)], metadata=False, numbers="ranges"
)
@example(windows=[Window("a", "b...\n..", cut_end=True, line=7)], metadata=True, numbers="every")
@example(windows=[Window("a", "\\[...]", line=2), Window("b", "x", 9, cut_start=True)], metadata=False, numbers="every")
def test_what_is_written_is_read(form, windows, metadata, numbers):
    """Text, edges, seams, lines and details of every window come back, whatever they say."""
    text = render(windows, format=form, include_metadata=metadata, line_numbers=numbers)
    read = parse(text, format=form)
    lines = metadata or numbers == "every"
    assert [_facts(w, metadata=metadata, lines=lines) for w in read] == [
        _facts(w, metadata=metadata, lines=lines) for w in windows
    ]
    if numbers == "ranges" and not metadata:
        told = [w.line for w in windows]
        assert all(w.line in (line, None) for w, line in zip(read, told, strict=True))
        assert render(read, format=form) == text


@given(windows=shown(), numbers=st.sampled_from(LINE_NUMBERS))
def test_search_results_are_read(windows, numbers):
    """The blocks for Anthropic give back the same windows, also where nothing else tells them apart."""
    context = pack(windows, budget=10_000, format="anthropic", fill="relevant", line_numbers=numbers)
    assert [_facts(w, metadata=False, lines=numbers == "every") for w in parse(context)] == [
        _facts(w, metadata=False, lines=numbers == "every") for w in context.windows
    ]


def test_lines_stand_in_headers_and_markers():
    """Path and lines in the header, the next window's lines at the gap, nothing of it for a whole document."""
    page = Document("notes/tea.md", "".join(f"Line {n}.\n" for n in range(1, 61)))
    spans = [page.span_of_lines(12, 30), page.span_of_lines(40, 52)]
    windows = [Window.cut(page, span.start, span.end) for span in spans]
    text = render(windows)
    assert text.startswith("[DOC: notes/tea.md lines 12-30]\nLine 12.\n")
    assert "\nLine 30.\n\n[... lines 40-52]\nLine 40.\n" in text
    assert text.endswith("\nLine 52.\n\n[...]\n")
    assert render([Window.cut(page, 0, len(page))]).startswith("[DOC: notes/tea.md]\nLine 1.\n")
    assert '<window lines="12-30">' in render(windows, format="xml")
    assert render(windows, format="markdown").startswith("### notes/tea.md lines 12-30\n\n```")
    assert '"lines":"40-52"' in render(windows, format="json")
    assert render(windows, line_numbers="none").startswith("[DOC: notes/tea.md]\n[...]\nLine 12.\n")
    every = render(windows, line_numbers="every")
    assert every.startswith("[DOC: notes/tea.md numbered lines 12-30]\n12| Line 12.\n13| Line 13.\n")
    assert "[... numbered lines 40-52]\n40| Line 40.\n" in every


# ---- what a reader sees


UNSEEN = re.compile(f"[{BLANK}{CONTROL}{INVISIBLE}]")
VISIBLE_CONTROLS = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"  # number signs, and the like


def test_whatever_unicode_calls_a_format_or_a_blank_is_unseen():
    """Every control, format character, separator and variation selector is known, but for the few that are drawn."""
    drawn = re.compile(f"[{VISIBLE_CONTROLS}{BREAK}]")
    unknown = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if (char := chr(code))
        and (
            unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp")
            or "VARIATION SELECTOR" in unicodedata.name(char, "")
        )
        and not UNSEEN.match(char)
        and not drawn.match(char)
    ]
    assert unknown == []


def test_nothing_unseen_hides_a_header():
    """With any invisible or blank character before a header, or any invisible one inside of it, a line is escaped."""
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if not UNSEEN.match(char):
            continue
        lines = [f"{char}[DOC: x]", f"{char} {char}[doc: x]", f"{char}[IN: x]", f"{char}[...]", f"{char}[SPAN: x]"]
        lines += [f"{char}[... lines 4-5]", f"{char}[lines 4-5]", f"{char}[nothing above]", f"[...]{char}"]
        if re.match(f"[{CONTROL}{INVISIBLE}]", char):
            lines += [f"[{char}DOC: x]", f"[D{char}O{char}C{char}: x]", f"[.{char}..]"]
        text = "\n".join(["tea", *lines, "cups"])
        written = render([Window("a.md", text)])
        unescaped = [line for line in written.split("\n")[2 : 2 + len(lines)] if "\\" not in line]
        assert not unescaped, (hex(code), unescaped)
        assert [window.text for window in parse(written)] == [text]


BRACKETED = ("plain", "messages", "anthropic")
OUR_LINES = (
    *("[DOC: x]", "[IN: x]", "[IN| x]", "[IN:]", "[SPAN: bytes 0-4]", "[...]", "[nothing above]", "[MAP]"),
    *("[QUESTION]",),
    *("[... above line 4]", "[... below line 4]", "[... line 4]", "[... lines 4-5]", "[... numbered lines 4-5]"),
    *("[line 4]", "[lines 4-5]", "[numbered line 4]", "[numbered lines 4-5]"),
)


@pytest.mark.parametrize("form", BRACKETED)
def test_nothing_unseen_hides_any_line_of_ours(form):
    """Each blank, invisible, control or combining character is seen through before every kind of line of ours."""
    for char in filter(
        re.compile(f"[{BLANK}{CONTROL}{INVISIBLE}{COMBINING}]").match, map(chr, range(sys.maxunicode + 1))
    ):
        text = "tea\n" + "".join(f"{char}{line}\n" for line in OUR_LINES) + "cups"
        written = render([Window("a.md", text)], format=form)
        lines = [line for line in written.split("\n") if line.startswith((char, "\\"))]
        assert [line.lstrip(char)[0] for line in lines] == ["\\"] * len(OUR_LINES), hex(ord(char))


@pytest.mark.parametrize("form", FORMATS)
def test_no_trail_hides_a_line_of_ours(form):
    """A heading that reads like a line of ours, behind any unseen character, stays inside the trail and comes back."""
    kinds = ("\u200b", "\u00a0", "\u3164", "\u2800", "\U000e0041", "\u0301", "\x85", "\u2028", "\v", "\x00")
    for char in kinds:
        for line in OUR_LINES:
            seam = Seam("heading", 0, len(f"{char}{line}".encode()), f"{char}{line}")
            window = Window("a.md", "tea", start=900, seams=(seam,))
            context = pack([window], budget=500, format=form)
            if form in BRACKETED:  # elsewhere a trail stands in a fence, an element or a string
                told = [each for each in context.text.splitlines() if each.lstrip(f"{char} ") == line]
                assert not told, (hex(ord(char)), line)
            assert [each.text for each in parse(context)[0].seams] == [seam.text]


def test_nothing_unseen_hides_a_fence():
    """Backticks with something invisible between them look like a fence: Markdown's own is longer."""
    written = render([Window("a.md", "tea\n``\u200b``\u2060`\ncups")], format="markdown")
    assert "\n``````text\n" in written


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_unseen_stands_in_the_name_of_a_document(form):
    """Zero-width, direction and tag characters of a path are written out in every header, and read back."""
    path = "pay\u200b\u202elld.exe\U000e0041\ufe0f\u2066.md"
    context = pack([Window(path, "tea")], budget=300, format=form)
    assert [window.path for window in parse(context)] == [path]
    assert not re.search(f"[{INVISIBLE}]", context.text)
