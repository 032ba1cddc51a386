"""What a window of prose gets back from above it: headings, who speaks and when; counted, and kept small."""

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, Hit, Window, WindowSettings, inflate, pack, parse, tokens_for
from brimful.engine import open as open_store
from brimful.settings import FORMATS
from brimful.text.spans import Span
from brimful.windows.seams import MAX_TRAIL_BYTES, seams_for, time_in
from tests.properties.strategies import long_texts

MARKED = [name for name in FORMATS if name != "windows"]  # that one gives each window by itself
BODY = "The kettle sings on the stove and the cups are warm. " * 24
PAGE = Document("tea.md", f"# Tea\n\n{BODY}\n\n## Pots\n\n{BODY}\n\n### Brass pots\n\n{BODY}\n\n## Cups\n\n{BODY}\n")


class ManyHeadings(WindowSettings):
    """Small windows that show their headings, and are not completed to whole passages."""

    trail_share = 16
    whole_share = 0


MANY_HEADINGS = ManyHeadings()


def at(text, size=1_272, *, page=PAGE, skip=60):
    """A span of the body below a heading, some bytes behind its beginning."""
    start = page.content.index(text.encode()) + len(text) + 2 + skip
    return Span(start, min(start + size - skip, len(page)))


def test_the_first_words_of_a_message_alone_need_no_speaker():
    """A speaker that is longer than a quarter of the window says too little for what it costs."""
    start = CHAT.content.index(b"It is quiet")
    assert trail(CHAT, Span(start, start + 30)) == []


@pytest.mark.parametrize(("size", "lines"), [(600, 3), (300, 2), (40, 2)])
def test_a_window_of_a_mail_shows_where_it_comes_from(size, lines):
    """Subject, sender and date, as far as they are short against the window; none that the window has itself."""
    headers = "Subject: Tea at four\nFrom: Ann <ann@example.org>\nTo: Bob\nDate: Wed, 01 May 2024 12:00:00 +0200\n\n"
    mail = Document("in.mbox#0001", headers + "Tea is hot and cups are small. " * 40, kind="prose", language="text")
    shown = ["Subject: Tea at four", "From: Ann <ann@example.org>", "Date: Wed, 01 May 2024 12:00:00 +0200"]
    assert trail(mail, Span(len(headers) + 310, len(headers) + 310 + size)) == shown[:lines]
    assert trail(mail, Span(0, size + len(headers))) == []


def trail(page, span):
    """The texts of a window's seams."""
    return [seam.text for seam in seams_for(page, span, trail_share=16)]


def test_headings_above_a_window_in_reading_order():
    """The words of its section's heading and of those around it, without `#`; none of another section."""
    assert trail(PAGE, at("# Tea")) == ["Tea"]
    assert trail(PAGE, at("### Brass pots")) == ["Tea", "Pots", "Brass pots"]
    assert trail(PAGE, at("## Cups")) == ["Tea", "Cups"]


def test_a_window_that_begins_with_its_heading_needs_only_those_above():
    """What stands in the window is not said twice."""
    start = PAGE.content.index(b"### Brass pots")
    assert trail(PAGE, Span(start, start + 500)) == ["Tea", "Pots"]
    assert trail(PAGE, Span(0, 500)) == []


def test_a_window_over_several_sections_gets_the_headings_of_its_beginning():
    """Where it begins is what a reader does not know."""
    span = at("### Brass pots")
    assert trail(PAGE, Span(span.start, len(PAGE))) == ["Tea", "Pots", "Brass pots"]


def test_a_small_window_gets_a_small_trail():
    """The nearest heading first, as far as a sixteenth of the window has room."""
    span = at("### Brass pots")
    assert trail(PAGE, Span(span.start, span.start + 16 * 22)) == ["Brass pots"]
    assert trail(PAGE, Span(span.start, span.start + 16 * 37)) == ["Pots", "Brass pots"]
    assert trail(PAGE, Span(span.start, span.start + 60)) == []


def test_long_headings_are_left_out():
    """A heading is shown whole or not at all."""
    page = Document("a.md", f"# {'Very ' * 40}long\n\n## Short\n\n{BODY * 8}")
    start = page.content.index(b"## Short") + 100
    assert trail(page, Span(start, len(page))) == ["Short"]


def test_no_heading_is_shown_without_those_below_it():
    """A trail is what stands nearest: where that is too long, the title of the whole book would say little."""
    page = Document("a.md", f"# Tea\n\n## {'Very ' * 40}long\n\n{BODY * 8}")
    start = page.content.index(b"long") + 100
    assert trail(page, Span(start, len(page))) == []


@pytest.mark.parametrize(
    ("path", "title", "words"),
    [
        ("a.md", "Green tea\n=========", "Green tea"),
        ("a.rst", "=========\nGreen tea\n=========", "Green tea"),
        ("a.rst", "=========\r\n Green tea\r\n=========", "Green tea"),
        ("a.md", "## Green tea", "Green tea"),
    ],
)
def test_a_heading_in_a_trail_is_one_line(path, title, words):
    """Of an underlined title only the line with its words is shown."""
    page = Document(path, f"{title}\n\n{BODY}\n\n{BODY}\n")
    start = page.content.rindex(b"The kettle")
    assert trail(page, Span(start - 600, start)) == [words]


def test_a_comment_in_a_text_is_no_heading(tmp_path):
    """`#` says something else in plain text, also where a store has found the headings."""
    page = Document("notes.txt", f"# remember the milk\n\n{BODY}\n\n{BODY}\n")
    with open_store(tmp_path) as corpus:
        corpus.add_documents([page])
        shown = corpus.context("kettle stove cups warm", budget=300)
    assert "[IN:" not in shown.text


@given(long_texts, st.integers(0, 10_000), st.integers(0, 4_000))
def test_trails_are_the_documents_bytes_and_small(text, start, size):
    """Seams of prose stand outside the window, in order, and headings take at most a sixteenth of it."""
    page = Document("a.md", text)
    units = page.outline.units.tolist()
    first = units[start % len(units)]
    span = Span(first, page.outline.cut_before(min(first + size, len(page))))
    if span.end < span.start:
        return
    found = seams_for(page, span, trail_share=16)
    assert seams_for(page, span) == ()
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(seam.end <= span.start for seam in found)
    assert all(page.content[seam.start : seam.end].decode() == seam.text for seam in found)
    assert sum(len(seam.text.encode()) for seam in found if seam.kind == "heading") <= len(span) // 16
    assert sum(len(seam.text.encode()) for seam in found) <= 2 * MAX_TRAIL_BYTES


def test_growing_and_trimming_take_the_seams_along():
    """A window that is moved over a heading gets the seams of where it begins now."""
    span = at("### Brass pots")
    (window,) = inflate([Hit("tea.md", span.start, span.end, 1.0)], [PAGE], sizing="field", settings=MANY_HEADINGS)
    assert [seam.text for seam in window.seams] == ["Tea", "Pots", "Brass pots"]
    earlier = window.resized(at("# Tea").start, window.end, hits=())
    assert [seam.text for seam in earlier.seams] == ["Tea"]
    later = earlier.resized(at("## Cups").start, len(PAGE), hits=())
    assert [seam.text for seam in later.seams] == ["Tea", "Cups"]
    brought = Window.cut(PAGE, span.start, span.end)
    assert brought.resized(span.start, span.end, hits=()).seams == ()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("budget", [60, 150, 400])
def test_seams_are_written_read_and_counted(form, budget):
    """In every format they stand before their window, come back when it is read, and are in the budget."""
    span = at("### Brass pots")
    found = inflate([Hit("tea.md", span.start, span.end, 1.0)], [PAGE], sizing="field", settings=MANY_HEADINGS)
    context = pack(found, budget=budget, format=form)
    assert context.tokens == tokens_for("o200k_base").count(context.text) <= budget
    read = parse(context)
    assert [(w.text, [s.text for s in w.seams]) for w in read] == [
        (w.text, [s.text for s in w.seams]) for w in context.windows
    ]
    assert context.drift([PAGE]) == []
    if budget == 150:
        assert any(seam.text == "Brass pots" for window in read for seam in window.seams)


CHAT = Document(
    "chat.md",
    "# Trip\n\n"
    "User (2024-05-01T10:00:00Z): Where shall we stay? It should be quiet. It should be near the harbour.\n\n"
    "Assistant (2024-05-01T10:00:09Z): Take the Albatroz. It is quiet. The harbour is near: five minutes.\n\n"
    "It also has a garden.\n\n"
    "User (2024-05-01T11:30:00Z): Booked. " + "We shall see how it is. " * 5,
    kind="prose",
    language="markdown",
)


def spoken(text):
    """The span of some words of the chat, and a good deal more behind them."""
    start = CHAT.content.index(text.encode())
    return Span(start, len(CHAT))


@pytest.mark.parametrize(
    ("text", "speaker", "time"),
    [
        ("It should be quiet", "User (2024-05-01T10:00:00Z):", 1_714_557_600),
        ("It is quiet", "Assistant (2024-05-01T10:00:09Z):", 1_714_557_609),
        ("five minutes", "Assistant (2024-05-01T10:00:09Z):", 1_714_557_609),
        ("It also has", "Assistant (2024-05-01T10:00:09Z):", 1_714_557_609),
        ("Booked", "User (2024-05-01T11:30:00Z):", 1_714_563_000),
    ],
)
def test_whoever_speaks_and_when(text, speaker, time):
    """A window that begins inside a message says whose it is; its time is the message's."""
    assert trail(CHAT, spoken(text))[-1] == speaker
    assert time_in(CHAT, spoken(text)) == time


def test_a_message_that_is_shown_from_its_beginning_needs_no_speaker():
    """The name stands there already; and above the first message nobody speaks."""
    span = spoken("Assistant (2024-05-01T10:00:09Z)")
    assert trail(CHAT, Span(span.start, span.end)) == ["Trip"]
    assert time_in(CHAT, span) == 1_714_557_609
    assert trail(CHAT, Span(0, 7)) == []
    assert time_in(CHAT, Span(0, 7)) is None
    assert time_in(CHAT, Span(0, 99)) == 1_714_557_600


def test_speakers_without_a_time():
    """A chat without times still has speakers."""
    page = Document("c.md", "User: Hello there. How are you today?\n\nAssistant: Well. And you? " + "Go on. " * 20)
    start = page.content.index(b"And you")
    assert trail(page, Span(start, len(page))) == ["Assistant:"]
    assert time_in(page, Span(start, len(page))) is None


def test_prose_is_no_chat():
    """A colon in a sentence is no speaker."""
    page = Document("n.md", "Note: the kettle (of 1902): it sings. User guides say so. " + BODY)
    assert trail(page, Span(40, len(page))) == []


def test_windows_carry_the_time_of_their_message():
    """Not that of the whole conversation, which is its last message's."""
    page = replace_time(CHAT, 1_714_563_000)
    span = spoken("It is quiet")
    (window,) = inflate([Hit("chat.md", span.start, span.start + 9, 1.0, time=page.time)], [page], sizing="field")
    assert window.time == 1_714_557_609
    (own,) = inflate([Hit("chat.md", span.start, span.start + 9, 1.0, time=77)], [page], sizing="field")
    assert own.time == 77


def replace_time(document, time):
    """The same document at a time."""
    return Document(document.path, document.content, time=time, kind=document.kind, language=document.language)


@given(long_texts, st.integers(0, 10**6), st.sampled_from(MARKED), st.integers(60, 700))
def test_gaps_never_join_two_sentences(text, seed, form, budget):
    """Between two windows of one document of which bytes are missing stands one marker, on a line or in a
    field of its own.
    """
    page = Document("a.md", text)
    chance = random.Random(seed)
    hits = [Hit("a.md", start, start + 5, chance.random()) for start in chance.choices(range(len(page) - 5), k=6)]
    context = pack(inflate(hits, [page], sizing="field", budget=budget), budget=budget, format=form)
    for one, other in pairwise(context.windows):
        if not page.content[one.end : other.start].strip():
            continue
        before = max(p.end for p in context.pieces if p.source_end == one.end and p.kind != "literal")
        after = min(p.start for p in context.pieces if p.source_start == other.start and p.start >= before)
        between = context.text.encode()[before:after].decode()
        assert between.count("[...") == 1
        assert form == "json" or any(line.startswith("[...") and line.endswith("]") for line in between.split("\n")[1:])
        assert one.cut_end
        assert other.cut_start


def test_seams_cost_a_few_per_cent(tmp_path):
    """On this project's own pages, which have headings everywhere: at most one token in twenty-five, and with the
    headers of tables, without which their rows say little, one in sixteen.
    """
    root = Path(__file__).parent.parent.parent
    pages = [Document(str(path.relative_to(root)), path.read_text()) for path in sorted(root.glob("docs/*.md"))]
    count = tokens_for("o200k_base").count
    with open_store(tmp_path) as engine:
        engine.add_documents(pages)
        for budget in (500, 2_000):
            spent = trails = used = shown = 0
            for question in ("how are tokens counted", "typo repair", "what is a seam", "state root", "formats"):
                context = engine.context(question, budget=budget)
                used += context.tokens
                lines = [line for line in context.text.split("\n") if line.startswith("[IN: ")]
                spent += sum(count(line + "\n") for line in lines)
                trails += sum(count(line + "\n") for line in lines if "|" not in line)
                shown += len(lines)
            assert shown
            assert trails * 25 <= used
            assert spent * 16 <= used


def test_windows_of_other_retrievers_keep_the_seams_that_they_have():
    """None are added when they grow, and those that they have stay outside of them."""
    seam = seams_for(PAGE, at("## Cups"), trail_share=16)[:1]
    window = replace(Window.cut(PAGE, *span_of("## Cups")), seams=seam)
    assert window.resized(window.start - 50, window.end, hits=()).seams == seam
    assert window.resized(0, window.end, hits=()).seams == ()


def span_of(text):
    """Start and end of a body."""
    span = at(text)
    return span.start, span.end


def test_no_seam_is_larger_than_what_it_explains():
    """A header row of many columns is left out, and a signature of many lines is shown by its first."""
    names = ",".join(f"column_{number}" for number in range(200))
    table = Document("wide.csv", f"{names}\n" + "1,2,3\n" * 9 + "zebra,2,3\n")
    at = table.content.index(b"zebra")
    assert seams_for(table, Span(at, len(table))) == ()
    arguments = "".join(f"    argument_{number}: int = {number},\n" for number in range(40))
    code = Document("long.py", f"def boil(\n{arguments}) -> None:\n    first = 1\n    zebra = 2\n", language="python")
    at = code.content.index(b"    zebra")
    assert [seam.text for seam in seams_for(code, Span(at, len(code) - 1))] == ["def boil("]


POURING = Document(
    "pots.py",
    "class Pot:\n"
    "    @warm\n"
    "    def pour(self, cups):\n"
    "        first = 1\n"
    "        return cups\n\n\n"
    "def drink(cups):\n"
    "    return None\n",
)


@pytest.mark.parametrize(
    ("first", "last", "trail"),
    [
        ("        return cups", "    return None\n", ["class Pot:", "def pour(self, cups):"]),
        ("        return cups", "\n\n\ndef", ["class Pot:", "def pour(self, cups):"]),
        ("\n\n\ndef drink", "    return None\n", []),
        ("    @warm", "        return cups\n", ["class Pot:"]),
    ],
)
def test_a_window_of_code_says_what_its_first_line_stands_in(first, last, trail):
    """Also where it goes on beyond the end of that function, and never what it begins with itself."""
    start = POURING.content.index(first.encode())
    end = POURING.content.index(last.encode(), start) + len(last) - (3 if last.endswith("def") else 0)
    assert [seam.text for seam in seams_for(POURING, Span(start, end))] == trail


def test_of_thousands_of_signatures_above_a_window_the_innermost_are_shown():
    """So a budget has room for the window itself, however deep it stands."""
    code = b"struct s {\n" * 5_000 + b"int needle(int a) {\n  return a;\n"
    page = Document("deep.c", code)
    at = code.index(b"  return")
    seams = seams_for(page, Span(at, len(code)))
    assert len(seams) == 32
    assert seams[-1].text == "int needle(int a)"
    context = pack(inflate([Hit("deep.c", at, len(code), 1.0)], [page], budget=300), budget=300)
    assert "return a;" in context.text
