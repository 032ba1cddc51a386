"""Windows made of whole things: what is missing at their edges is shown where it is little."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, Hit, WindowSettings, inflate, pack
from brimful.engine import open as open_store
from brimful.text.spans import Span
from brimful.windows.waterline import LEAST_ROOM_BYTES, MOST_ROOM_BYTES, made_whole
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


def whole(document: Document, text: str, share: int = 25) -> str:
    """A piece of a document with what makes it whole."""
    start = document.content.index(text.encode())
    span = made_whole(document, Span(start, start + len(text.encode())), share)
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
        assert whole(PAGE, item).startswith("You need:\n\n- a pot\n- water\n- tea leaves\n")


def test_a_lead_in_keeps_what_it_introduces():
    """A window that ends with the words before a list or a code block goes on to them."""
    assert "- a pot\n" in whole(PAGE, "You need:\n")


def test_a_code_block_is_shown_whole():
    """Not without its fence."""
    assert "```\nboil --now\npour --slow\n```\n" in whole(PAGE, "pour --slow\n")


def test_what_would_cost_too_much_is_left():
    """Of a long paragraph the sentence stays what was found."""
    sentence = LONG[:55]
    start = PAGE.content.index(LONG.encode()) + 10 * 55
    span = Span(start, start + len(sentence))
    assert made_whole(PAGE, span, 25) == span


def test_nothing_is_added_to_data_and_chats():
    """A record is whole, and so is a message; what others said is another thing."""
    table = Document("a.csv", "a,b\n1,2\n3,4\n")
    assert made_whole(table, Span(4, 8), 25) == Span(4, 8)
    chat = Document("chat.txt", "Ann: Hi!\nBob: Tea?\nAnn: Yes.\nBob: Now.\n")
    assert made_whole(chat, Span(9, 19), 25) == Span(9, 19)


@given(long_texts, st.integers(0, 10_000), st.integers(1, 3_000), st.sampled_from(["a.md", "a.py", "a.rst", "a.c"]))
def test_made_whole_holds_what_was_found(text, at, size, path):
    """The span is inside of what is shown, which begins and ends between characters and grows by its room at most."""
    document = Document(path, text)
    units = document.outline.units.tolist()
    start = units[at % len(units)]
    end = document.outline.cut_after(min(start + size, len(document)))
    found = made_whole(document, Span(start, end), 25)
    assert found.start <= start <= end <= found.end <= len(document)
    assert len(found) - (end - start) <= max(LEAST_ROOM_BYTES, MOST_ROOM_BYTES)
    assert document.text(found.start, found.end).encode() == document.content[found.start : found.end]


@pytest.mark.parametrize("share", [0, 25, 100])
def test_whole_windows_do_not_overlap(share):
    """However much is added, no byte is shown twice, and every hit is shown."""
    hits = [Hit("tea.md", int(start), int(end), float(start % 7)) for start, end in pairwise(PAGE.outline.units)]
    windows = inflate(hits[::2], [PAGE], sizing="field", settings=WindowSettings(whole_share=share))
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


def test_an_item_of_a_long_list_gets_the_lead_in():
    """Where the beginning of the list is too far away, what introduces it is shown in front, once."""
    items = "".join(f"- item {n} of a list that is much too long to be shown\n" for n in range(60))
    page = Document("t.md", f"# T\n\nYou need all of these:\n\n{items}\nAfter.\n")
    start, end = page.content.index(b"- item 30"), page.content.index(b"- item 36")
    text = pack(inflate([Hit("t.md", start, end, 1.0)], [page], sizing="field"), budget=400, fill="relevant").text
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
