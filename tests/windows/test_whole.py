"""Windows made of whole things: what is missing at their edges is shown where it is little."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, Hit, WindowSettings, inflate, pack
from brimful.engine import open as open_store
from brimful.outline.prose import ends_naturally
from brimful.text.spans import Span
from brimful.windows.whole import LEAST_BYTES, completed
from tests.properties.strategies import long_texts

CODE = Document(
    "pots.py",
    '''import os


class Pot:
    """A pot.

    There is a lot to say about pots, and most of it is said here, so that the class is longer than what may be added to
    a few lines of one of its methods; a reader who wants all of it can read the file.
    """

    # Fill it first.
    @warm
    def pour(self, cups):
        """Pour some cups."""
        self.check()

        for cup in range(cups):
            fill(cup)
        return cups

    def drink(self):
        """Say nothing for so long that the end of the class is out of reach for what was found above, in the method
        before this one, which is the only thing that anybody asked for today."""
        return None
''',
)
LONG = " It is a long sentence about tea that nobody asked for." * 30
PAGE = Document(
    "tea.md",
    f"# Tea\n\nWarm the pot. Fill it.\nWait.\n\nYou need:\n\n- a pot\n- water\n- tea leaves\n\n"
    f"Start.{LONG}\n\nRun this:\n\n```\nboil --now\npour --slow\n```\n\nEnd.\n",
)


ROOM = 250


def whole(document: Document, text: str, room: int = ROOM) -> str:
    """A piece of a document with what makes it whole."""
    start = document.content.index(text.encode())
    span = completed(document, Span(start, start + len(text.encode())), room)
    return document.text(span.start, span.end)


def test_a_definition_is_shown_whole():
    """With the comment and the decorator above it, and to its end."""
    found = whole(CODE, "        for cup in range(cups):\n            fill(cup)\n")
    assert found.startswith("    # Fill it first.\n    @warm\n    def pour(")
    assert found.endswith("        return cups\n")


def test_lines_of_code_between_blank_ones_are_shown_whole():
    """A stretch that no function holds is shown from blank line to blank line."""
    page = Document(
        "table.py", "import os\n\nTEAS = {\n    1: 'green',\n    2: 'black',\n}\nPOTS = 3\n\n" + "x = 1\n" * 90
    )
    assert whole(page, "    2: 'black',\n") == "TEAS = {\n    1: 'green',\n    2: 'black',\n}\nPOTS = 3\n"


def test_a_paragraph_is_shown_whole():
    """A sentence gets the rest of a short paragraph, with the heading that stands over it."""
    assert whole(PAGE, "Fill it.\n") == "# Tea\n\nWarm the pot. Fill it.\nWait.\n\n"


def test_a_list_keeps_its_lead_in():
    """From the first item or a later one, and all of its items where they are few."""
    for item in ("- a pot\n", "- water\n"):
        assert whole(PAGE, item, room=60).startswith("You need:\n\n- a pot\n- water\n- tea leaves\n")


def test_a_lead_in_keeps_what_it_introduces():
    """A window that ends with the words before a list or a code block goes on to them."""
    assert "- a pot\n" in whole(PAGE, "You need:\n")


def test_a_code_block_is_shown_whole():
    """Not without its fence."""
    assert "```\nboil --now\npour --slow\n```\n" in whole(PAGE, "pour --slow\n")


def test_what_would_cost_too_much_is_left():
    """Of a long paragraph some sentences stay what was found."""
    start = PAGE.content.index(LONG.encode()) + 10 * 55
    assert completed(PAGE, Span(start, start + 4 * 55), ROOM) == Span(start, start + 4 * 55)


def test_no_scrap_of_a_paragraph():
    """A single short sentence is shown with those behind it, at the paragraph's end with those before it."""
    start = PAGE.content.index(LONG.encode()) + 10 * 55
    found = completed(PAGE, Span(start, start + 55), ROOM)
    assert found.start == start
    assert LEAST_BYTES <= len(found) < LEAST_BYTES + 55
    page = Document("end.md", f"Start.{LONG}\n\nNext one.{LONG}\n")
    end = page.content.index(b"\n\nNext")
    last = completed(page, Span(end - 55, end + 2), ROOM)
    assert last.end == end + 2
    assert LEAST_BYTES <= len(last) < LEAST_BYTES + 55


@pytest.mark.parametrize(
    ("said", "below"),
    [
        ("You need this:\n", "- one pot\n"),
        ("Run:\n\n", "    boil --now\n"),
        ('## Tea\n<a id="tea"></a>\n\n', "Green tea is best.\n"),
    ],
)
def test_what_announces_something_is_shown_with_it(said, below):
    """A window that would end with a colon or an anchor goes on to the next unit, however long what follows is."""
    page = Document("a.md", f"Tea.\n\n{said}{below}{below * 400}\nEnd.\n")
    end = page.content.index(said.encode()) + len(said)
    (window,) = inflate([Hit("a.md", end - len(said), end, 1.0)], [page], sizing="field")
    assert window.text.startswith((said, f"Tea.\n\n{said}"))
    assert below in window.text


def test_a_window_made_whole_shows_what_its_last_line_announces():
    """Also where the lead-in stands in the rest of the paragraph that was added to what was found."""
    code = "".join(f"    boil --cups {number} --slowly --and-do-not-stop\n" for number in range(60))
    page = Document("a.md", f"Tea needs hot water and a clean pot.\nA kettle gives it. For example:\n\n{code}\nEnd.\n")
    (window,) = inflate([Hit("a.md", 0, 37, 1.0)], [page], sizing="field")
    assert window.text.startswith(
        "Tea needs hot water and a clean pot.\nA kettle gives it. For example:\n\n    boil --cups 0"
    )


def test_a_directive_is_shown_with_what_it_is_about():
    """`.. py:data:: NAME` alone says nothing."""
    page = Document("conf.rst", "Options\n=======\n\n.. py:data:: LIFETIME\n\n    How long it lives.\n\nEnd.\n" * 9)
    start = page.content.index(b".. py:data::")
    (window,) = inflate([Hit("conf.rst", start, start + 23, 1.0)], [page], sizing="field")
    assert "How long it lives." in window.text


def test_a_long_sentence_is_shown_whole():
    """A unit that was cut at a clause is shown to the end of its sentence where that is near."""
    sentence = "The pot, " + "which is old, " * 36 + "sings. "
    page = Document("pot.txt", f"Tea is hot. {sentence}Nobody minds. " * 9)
    end = next(int(cut) for cut in page.outline.units if page.content[:cut].endswith(b"old, "))
    found = completed(page, Span(page.outline.cut_before(end - 1), end), ROOM)
    assert page.text(found.start, found.end).endswith(sentence)


def test_an_element_of_a_long_record_is_shown_whole():
    """A record that was cut inside is shown from one of its sentences or elements to the next."""
    turns = ", ".join(
        f'{{"content": "I said {n}, and {"so on, " * 8}then no more.", "role": "user"}}' for n in range(40)
    )
    page = Document("chat.log", f"[{turns}]\n")
    start = page.content.index(b"and so on", 2_000)
    found = completed(page, Span(start, start + 40), ROOM)
    assert page.content[: found.start].rstrip().endswith((b"},", b"."))
    assert page.text(found.start, found.end).rstrip().endswith(("},", "."))


def test_a_list_is_shown_whole_or_not_completed():
    """Steps get those before and after with their lead-in where there is room for them."""
    steps = [
        f"{n}. Take the pot number {n} and fill it with water that is hot, and wait for a bit more.\n"
        for n in range(1, 8)
    ]
    items = "".join(steps)
    page = Document("steps.md", f"{LONG}\n\nDo this:\n\n{items}\n{LONG}\n")
    start, end = page.content.index(b"3. Take"), page.content.index(b"7. Take")
    assert page.text(*edges(completed(page, Span(start, end), 300))).strip() == f"Do this:\n\n{items}".strip()
    assert page.text(*edges(completed(page, Span(start, end), 90))).strip() == "".join(steps[2:]).strip()


def edges(span: Span) -> tuple[int, int]:
    """The two ends of a span."""
    return span.start, span.end


HEADS = Document(
    "long.py",
    "import os\n\n\nclass Pot:\n"
    "    @warm\n    def pour(\n        self,\n        cups: int,\n    ) -> int:\n"
    '        """Pour some cups.\n\n        Of hot tea.\n        """\n'
    + "".join(f"        step_{n} = self.move(cups, {n})\n" for n in range(120))
    + "        return cups\n\n    def drink(self):\n"
    + "".join(f"        sip_{n} = self.sip({n})\n" for n in range(120)),
)


def code_span(first: str, last: str) -> Span:
    """The lines from one to another."""
    content = HEADS.content
    return Span(content.index(first.encode()) - 8, content.index(b"\n", content.index(last.encode())) + 1)


def test_a_window_inside_of_a_function_begins_with_its_signature():
    """Also where that has several lines: a budget shows it above what was found."""
    span = code_span("step_60 ", "step_65 ")
    (window,) = inflate([Hit("long.py", span.start, span.end, 1.0)], [HEADS], sizing="field", budget=200)
    assert [seam.text for seam in window.seams] == [
        "class Pot:",
        "def pour(\n        self,\n        cups: int,\n    ) -> int:",
    ]


def test_the_last_lines_of_a_function_are_not_lost_to_the_next_one(tmp_path):
    """Blank lines belong to the unit above them; that a function begins behind them is no reason to leave it away."""
    body = "".join(f"    if step == {number}:\n        prepare(step, {number})\n\n" for number in range(30))
    tail = '    for each in accepted:\n        warn(each)\n    raise Unidentified("cannot identify the walrus")\n\n\n'
    source = f"def open_file(step, accepted):\n{body}{tail}def close_file():\n    return None\n"
    with open_store(tmp_path) as engine:
        engine.add_documents([Document("image.py", source)])
        for budget in (80, 120, 200):
            assert "cannot identify the walrus" in engine.context("identify walrus", budget=budget).text


def test_nothing_is_added_to_data_and_chats():
    """A record is whole, and so is a message; what others said is another thing."""
    table = Document("a.csv", "a,b\n1,2\n3,4\n")
    assert completed(table, Span(4, 8), ROOM) == Span(4, 8)
    chat = Document("chat.txt", "Ann: Hi!\nBob: Tea?\nAnn: Yes.\nBob: Now.\n")
    assert completed(chat, Span(9, 19), ROOM) == Span(9, 19)


@given(long_texts, st.integers(0, 10_000), st.integers(1, 3_000), st.sampled_from(["a.md", "a.py", "a.rst", "a.c"]))
def test_made_whole_holds_what_was_found(text, at, size, path):
    """The span is inside of what is shown, which begins and ends between characters and grows by its room at most."""
    document = Document(path, text)
    units = document.outline.units.tolist()
    start = units[at % len(units)]
    end = document.outline.cut_after(min(start + size, len(document)))
    found = completed(document, Span(start, end), ROOM)
    assert found.start <= start <= end <= found.end <= len(document)
    assert len(found) - (end - start) <= ROOM + 1_600  # a scrap and a long sentence get a little more
    assert document.text(found.start, found.end).encode() == document.content[found.start : found.end]


@pytest.mark.parametrize("share", [0, 25, 100])
def test_whole_windows_do_not_overlap(share):
    """However much is added, no byte is shown twice, and every hit is shown."""
    hits = [Hit("tea.md", int(start), int(end), float(start % 7)) for start, end in pairwise(PAGE.outline.units)]
    settings = type("Settings", (WindowSettings,), {"whole_share": share})()
    windows = inflate(hits[::2], [PAGE], sizing="field", settings=settings)
    ordered = sorted(windows, key=lambda window: window.start)
    assert all(one.end <= other.start for one, other in pairwise(ordered))
    assert {hit for window in windows for hit in window.hits} == set(hits[::2])


def test_a_table_row_gets_its_header_once():
    """A window that begins in a table is shown with the header, however many rows it has."""
    rows = "".join(f"| row {n} | value {n} of a long table | more |\n" for n in range(60))
    page = Document("t.md", f"# T\n\n| name | value | note |\n|---|---|---|\n{rows}\nAfter.\n")
    start, end = page.content.index(b"| row 30"), page.content.index(b"| row 36")
    windows = inflate([Hit("t.md", start, end, 1.0)], [page], sizing="field")
    text = pack(windows, budget=400, fill="relevant").text
    assert text.count("| name | value | note |") == 1
    assert "| row 30 |" in text


def test_the_header_of_a_table_is_shown_once():
    """Where a row is shown the header stands above it anyway: a window of the header alone is none of its own then."""
    rows = "".join(f"A-{number:04},Bolt {number},{number}.50\n" for number in range(200))
    page = Document("prices.csv", f"sku,name,price\n{rows}")
    row = page.content.index(b"A-0123")
    header, found = Hit("prices.csv", 0, 15, 2.0), Hit("prices.csv", row, row + 23, 1.0)
    context = pack(inflate([header, found], [page], sizing="field"), budget=70)
    assert context.text.count("sku,name,price") == 1
    assert "A-0123,Bolt 123,123.50" in context.text
    assert "sku,name,price" in pack(inflate([header], [page], sizing="field"), budget=70).text


def test_an_item_of_a_long_list_gets_the_lead_in():
    """Where the beginning of the list is too far away, what introduces it is shown in front, once."""
    items = "".join(f"- item {n} of a list that is much too long to be shown\n" for n in range(60))
    page = Document("t.md", f"# T\n\nYou need all of these:\n\n{items}\nAfter.\n")
    start, end = page.content.index(b"- item 30"), page.content.index(b"- item 36")
    windows = inflate([Hit("t.md", start, end, 1.0)], [page], sizing="field", budget=400)
    text = pack(windows, budget=400, fill="relevant").text
    assert text.count("You need all of these:") == 1
    assert "- item 29" not in text


def test_how_does_asyncio_cancel_a_task(tmp_path):
    """The example of issue 14: the function is shown whole, from its head to its end, not two halves of two."""
    source = '''class Task:
    def before(self):
        """Nothing about it."""
        return self.done()

    def cancel(self, msg=None):
        """Request that this task cancel itself.

        This arranges for a CancelledError to be thrown into the task.
        """
        if self.done():
            return False

        self._must_cancel = True
        self._cancel_message = msg
        return True

    def after(self):
        """Nothing about it either."""
        return self.result()
'''
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "tasks.py").write_text(source)
    with open_store(tmp_path / "notes.db") as corpus:
        corpus.add(tmp_path / "files")
        shown = corpus.context("how does asyncio cancel a task", budget=150, fill="relevant").text
    assert "    def cancel(self, msg=None):\n" in shown
    assert "        self._cancel_message = msg\n        return True\n" in shown


_CLOSING = rb"(?:[\"')\]}*_`]|\xe2\x80[\x99\x9d]){0,4}"
_PATTERN = re.compile(
    rb"(?:(?<!\s\.)(?:[.!?:;]|\xe2\x80\xa6)" + _CLOSING + rb"|[\"')\]}>`*|]|\xe2\x80[\x99\x9d]|[}\]],)\s+\Z"
    rb"|(?:\xe3\x80[\x82\x8d\x8f]|\xef\xbc[\x81\x89\x9f])\s*\Z"
    rb"|\n[ \t\r]*\n\s*\Z|(?:\A|\n)[ \t]*#{1,6} [^\n]*\n\s*\Z|\A\s*\Z"
)
_SIGNS = [
    *(*"ab..!?:;\"')]}>`*|,_# \t\r\n\v\f", "\n", "\n", " ", "# ", "\u2026", "\u2019", "\u201d", "\u3002", "\uff1f"),
    *("\u00e9",),
]


@given(st.lists(st.sampled_from(_SIGNS), max_size=14), st.binary(max_size=3), st.booleans())
def test_natural_ends_are_those_of_one_pattern(signs: list[str], odd: bytes, is_apart: bool) -> None:
    """What is looked at from the end, byte by byte, ends naturally where one pattern over all of it says so."""
    before = odd + "".join(signs).encode()
    wanted = _PATTERN.search(before + b" " if is_apart else before) is not None
    assert ends_naturally(before, is_apart=is_apart) == wanted
