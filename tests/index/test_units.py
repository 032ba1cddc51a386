"""Units and sections at index time: bounded, whole where they fit, each text by itself."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.index.build import Extent
from brimful.outline.cuts import SECTION_AIM, UNIT_AIM, UNIT_LIMIT
from tests.index.segment import build_segment
from tests.properties.strategies import PIECES

KINDS = [
    ("prose", "markdown"),
    ("prose", "rst"),
    ("prose", "text"),
    ("code", "python"),
    ("code", None),
    ("data", "csv"),
    ("data", "json"),
    ("data", "log"),
]
LINES = [
    *PIECES,
    "\n",
    "\n\n",
    "# Head\n",
    "```\n",
    "---\n",
    "- item. One. ",
    "Ann: hi.\n",
    "é" * 500,
    "x" * 900,
    "。",
    "\r\n",
]
texts = st.lists(st.sampled_from(LINES), max_size=40).map("".join)
extents = st.lists(
    st.builds(lambda text, kind: Extent(text.encode(), *kind), texts, st.sampled_from(KINDS)), min_size=1, max_size=5
)


def parts_of(text, kind="prose", language="text", *, of="units"):
    """The pieces that a text is cut into."""
    segment = build_segment([Extent(text.encode(), kind, language)])
    cuts = [*getattr(segment, of).tolist(), segment.length]
    return [segment.padded[start:end].decode() for start, end in itertools.pairwise(cuts)]


@given(extents)
@settings(max_examples=200)
def test_heads_units_and_sections_are_those_of_a_text_alone(laid):
    """What stands beside a text on the axis changes none of its cuts and heads."""
    together = build_segment(laid)
    for base, one in zip(together.bases.tolist(), laid, strict=True):
        alone, end = build_segment([one]), base + len(one.content)
        for name in ("units", "sections"):
            column = getattr(together, name)
            assert (column[(column >= base) & (column < end)] - base).tolist() == getattr(alone, name).tolist()
        inside = (together.heads.starts >= base) & (together.heads.starts < end)
        for name, shift in (("starts", base), ("ends", base), ("levels", 0)):
            mine, own = getattr(together.heads, name), getattr(alone.heads, name)
            assert (mine[inside] - shift).tolist() == own.tolist()


@given(extents)
@settings(max_examples=100)
def test_units_and_sections_are_bounded(laid):
    """No unit has more than 800 bytes, of prose not more than 400 or one word; no section more than 1,800."""
    segment = build_segment(laid)
    for base, one in zip(segment.bases.tolist(), laid, strict=True):
        end = base + len(one.content)
        for column, limit in ((segment.units, UNIT_LIMIT), (segment.sections, SECTION_AIM)):
            cuts = [*column[(column >= base) & (column < end)].tolist(), end]
            assert all(high - low <= limit for low, high in itertools.pairwise(cuts))


def test_sentences_are_units():
    """Prose is cut where sentences end, and not after abbreviations, initials, ordinals or before small letters."""
    text = "Dr. Ada paid 3.50 e.g. for tea. It was no. 3. Mai tea. Fine (really). And good! yes?"
    assert parts_of(text) == [
        "Dr. Ada paid 3.50 e.g. for tea. ",
        "It was no. 3. Mai tea. ",
        "Fine (really). ",
        "And good! yes?",
    ]
    directives = "Tea is hot.\n\n.. note:: Mind. Now.\n   .. _pot: The pot. Wait... Then.\n"
    assert parts_of(directives, "prose", "rst") == [
        "Tea is hot.\n\n",
        ".. note:: Mind. ",
        "Now.\n",
        "   .. _pot: The pot. ",
        "Wait... ",
        "Then.\n",
    ]
    session = "So:\n\n    >>> class Tea:\n    ...     Name = 1\n    ...     Price = 3\n\n"
    session += "He said ... Nothing.\n... Then. Fine.\n"
    assert parts_of(session, "prose", "rst") == [
        "So:\n\n",
        "    >>> class Tea:\n    ...     Name = 1\n    ...     Price = 3\n\n",
        "He said ... ",
        "Nothing.\n",
        "... Then. ",
        "Fine.\n",
    ]
    assert parts_of("茶是热的。我喜欢。好") == ["茶是热的。", "我喜欢。", "好"]


@pytest.mark.parametrize(
    ("text", "kind", "language"),
    [
        ("Ann: Tea. Now?\nBen: No. Later.\nAnn: Fine. Bye.\n", "prose", "text"),
        ("- One. Two.\n- Three. Four.\n* Five. Six.\n12. Seven. Eight.\n", "prose", "markdown"),
        ("| a. B | c |\n| d. E | f |\n", "prose", "markdown"),
        ("id,text\n1,Tea. Hot.\n2,Milk. Cold.\n", "data", "csv"),
        ('{"a": "One. Two."}\n{"a": "Three."}\n', "data", "jsonl"),
    ],
)
def test_turns_items_and_rows_stay_whole(text, kind, language):
    """A chat turn, a list item, a row of a table and a record of one line are one unit each."""
    assert parts_of(text, kind, language) == text.splitlines(keepends=True)


def test_a_long_row_is_whole_up_to_the_limit():
    """A row of 700 bytes is one unit, a longer one is cut."""
    row = "1," + "word " * 139 + "\n"
    assert parts_of(row * 2, "data", "csv") == [row, row]
    assert len(parts_of("1," + "word " * 300 + "\n", "data", "csv")) > 1


def test_a_log_record_keeps_its_indented_lines():
    """A trace belongs to the line above it."""
    text = "12:00:01 ERROR no\n  at x\n  at y\n12:00:02 INFO yes\n"
    assert parts_of(text, "data", "log") == ["12:00:01 ERROR no\n  at x\n  at y\n", "12:00:02 INFO yes\n"]


def test_paragraphs_are_sections():
    """A section is a paragraph; a heading takes the one below it along; a fenced block is one."""
    text = "# Tea\n\nHot tea.\n\nMilk.\n\n```\na = 1\n\nb = 2\n```\nEnd.\n"
    assert parts_of(text, language="markdown", of="sections") == [
        "# Tea\n\nHot tea.\n\n",
        "Milk.\n\n",
        "```\na = 1\n\nb = 2\n```\n",
        "End.\n",
    ]


def test_lines_of_data_are_gathered():
    """Pretty-printed JSON is cut at lines, about 400 bytes at a time."""
    text = "[\n" + '  {"name": "value"},\n' * 100 + "]\n"
    units = parts_of(text, "data", "json")
    assert all(unit.endswith("\n") and len(unit) <= UNIT_AIM for unit in units)
    assert len(units) < 10


@pytest.mark.parametrize("size", [3, 12, 60])
def test_elements_of_json_on_one_line_stay_whole(size):
    """Minified JSON is cut between its elements, small ones gathered; a long element between its own members."""
    rows = [
        json.dumps({"id": n, "note": "a, {b} [c] " * (n % 3), "tags": list(range(size))}, separators=(",", ":"))
        for n in range(40)
    ]
    parts = parts_of(f"[{','.join(rows)}]", "data", "json")
    for part in parts:
        assert json.loads(f"[{part.strip().strip(',').strip('[]')}]")
        assert len(part) <= UNIT_LIMIT
    members = ",".join(f'"key{n}":"some, value"' for n in range(100))
    cut = parts_of(f'[{{"a":{{{members}}}}}]', "data", "json")
    assert len(cut) > 3
    assert all(part.startswith(('[{"a"', '"key')) for part in cut)


def test_json_over_many_lines_is_cut_at_lines():
    """JSON that was written for people keeps its lines."""
    rows = ",\n".join(f'  {{"id": {n}, "note": "one, two"}}' for n in range(60))
    assert all(part.startswith(("[", "  {", "]")) for part in parts_of(f"[\n{rows}\n]", "data", "json"))


@pytest.mark.parametrize(("language", "sign"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_a_quoted_field_may_hold_line_ends(language, sign):
    """A row of a table is one unit, whatever lines its quoted fields have."""
    rows = [f'{n}{sign}"said ""so""\n{n} times\n\nand more"{sign}end\n' for n in range(9)]
    assert parts_of("".join(rows), "data", language) == rows


def test_a_quotation_mark_that_nothing_closes_quotes_nothing():
    """Where quotation marks do not balance, a line is a row, as if they were letters."""
    rows = ["id,size\n", '1,5" wide\n', "2,small\n", '3,"open\n', "4,last\n"]
    assert parts_of("".join(rows), "data", "csv") == rows
