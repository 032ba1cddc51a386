from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.outline.outlines import Outline, outline
from brimful.outline.records import Records
from brimful.outline.times import epoch_of, time_of

NOON = 1714557600  # 2024-05-01T10:00:00Z


def read(content: bytes, language: str | None) -> Outline:
    """The outline of data."""
    return outline(content, kind="data", language=language)


def texts(content: bytes, found: Outline) -> list[bytes]:
    """The records as bytes."""
    return [content[record.start : record.end] for record in found.records]


def test_csv_rows() -> None:
    """Rows are units and records; the header is known, and named columns give time and category."""
    content = b'id,created_at,type,note\n1,2024-05-01T10:00:00Z,a,"x, y"\n2,2024-05-01 12:00:00+02:00,"b",z\n'
    found = read(content, "csv")
    assert found.header == (0, 23)
    assert found.units.tolist() == [0, 24, 24 + 32, len(content)]
    assert [(record.time, record.category) for record in found.records] == [(NOON, "a"), (NOON, "b")]


def test_csv_quoted_newlines() -> None:
    """A newline inside a quoted field does not end its row, and a stray quotation mark spoils only its own."""
    content = b'a,b\n1,"two\nlines, ""quoted"""\n2,5" pipe\n3,x\n'
    assert texts(content, read(content, "csv")) == [b'1,"two\nlines, ""quoted"""\n', b'2,5" pipe\n', b"3,x\n"]


@pytest.mark.parametrize("separator", [b",", b";", b"|", b"\t"])
def test_separators(separator: bytes) -> None:
    """The separator is found from the rows."""
    rows = (b"name", b"date", b"level"), (b"Ann", b"2024-05-01", b"low"), (b"Bob", b"2024-05-02", b"high")
    content = b"\r\n".join(separator.join(row) for row in rows) + b"\r\n"
    found = read(content, "tsv" if separator == b"\t" else "csv")
    assert [record.category for record in found.records] == ["low", "high"]
    assert [record.time for record in found.records] == [1714521600, 1714608000]
    assert found.header == (0, 15)


def test_csv_without_header() -> None:
    """Without a header every row is a record, and times are found by what the cells hold."""
    content = b"1,2024-05-01T10:00:00,x\n2,2024-05-01T10:00:00,y\n"
    found = read(content, "csv")
    assert found.header is None
    assert [record.time for record in found.records] == [NOON, NOON]


def test_numbers_are_times_only_by_name() -> None:
    """A column of large numbers holds times when its name says so, and only then."""
    for name, time in ((b"timestamp", NOON), (b"account", None)):
        content = b"id," + name + b"\n1,1714557600\n2,1714557600\n"
        assert [record.time for record in read(content, "csv").records] == [time, time]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text("ab,\"\n '", max_size=6), min_size=2, max_size=4), min_size=1, max_size=8))
def test_csv_agrees_with_the_standard_library(rows: list[list[str]]) -> None:
    """Rows written by the csv module come back as the same rows."""
    table = io.StringIO(newline="")
    csv.writer(table, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["id", "name"], *rows])
    content = table.getvalue().encode()
    found = read(content, "csv")
    assert found.header == (0, 11)
    parsed = [next(csv.reader(io.StringIO(text.decode(), newline=""))) for text in texts(content, found)]
    assert parsed == rows


def test_json_lines() -> None:
    """One record a line, with the time and category of its own keys, not of nested ones."""
    content = b'{"type": "a", "ts": 1714557600123}\n\n'
    content += b'{"in": {"type": "x"}, "time": "2024-05-01T10:00:00Z", "level": "b"}\n{broken "type": "c"\n'
    found = read(content, "jsonl")
    assert [(record.time, record.category) for record in found.records] == [(NOON, "a"), (NOON, "b"), (None, "c")]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_array(indent: int | None) -> None:
    """The elements of the top array are the records, whatever the layout."""
    elements = [{"type": f"t{at}", "x": ["]", "a,b", {"y": '\\"'}]} for at in range(4)]
    content = json.dumps(elements, indent=indent).encode()
    found = read(content, "json")
    assert [record.category for record in found.records] == ["t0", "t1", "t2", "t3"]
    assert (found.records[0].start, found.records[-1].end) == (0, len(content))


def test_json_object() -> None:
    """In an object the array that fills most of it gives the records, else its members do."""
    content = json.dumps({"meta": 1, "items": [{"kind": "a", "x": "y" * 50}, {"kind": "b"}], "end": True}).encode()
    assert [record.category for record in read(content, "json").records] == ["a", "b"]
    content = b'{\n  "a": 1,\n  "b": {"c": [1, 2]},\n  "d": 3\n}\n'
    assert texts(content, read(content, "json")) == [b'{\n  "a": 1,\n', b'  "b": {"c": [1, 2]},\n', b'  "d": 3\n}\n']


def test_broken_json() -> None:
    """A missing quotation mark spoils its own line; deep nesting does not recurse."""
    content = b'[\n  {"a": "x},\n  {"kind": "b"},\n  {"kind": "c"}\n]\n'
    assert "c" in [record.category for record in read(content, "json").records]
    deep = b"[" * 50_000
    assert read(deep, "json").length == len(deep)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda kids: st.lists(kids, max_size=3) | st.dictionaries(st.text(max_size=4), kids, max_size=3),
            max_leaves=6,
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_json_agrees_with_the_standard_library(elements: list[object], indent: int | None, ascii_only: bool) -> None:
    """The records of an array written by the json module are its elements."""
    content = json.dumps(elements, indent=indent, ensure_ascii=ascii_only).encode()
    pieces = texts(content, read(content, "json"))
    joined = b"".join(pieces)
    assert joined == content
    assert len(pieces) == len(elements)
    bare = [pieces[0][1:], *pieces[1:]]
    bare[-1] = bare[-1].rstrip()[:-1]
    assert [json.loads(piece.strip().rstrip(b",")) for piece in bare] == elements


def test_logs() -> None:
    """A log record is its first line and the lines that continue it; its level is the category."""
    content = (
        b"2024-05-01 10:00:00,123 ERROR [main] failed\nTraceback:\n  at x\n\n"
        b"2024-05-01T10:00:00Z INFO fine\n[2024-05-01 10:00:00] app.WARNING: odd\nDEBUG no time\n"
    )
    found = read(content, "log")
    assert [(record.time, record.category) for record in found.records] == [
        (NOON, "ERROR"),
        (NOON, "INFO"),
        (NOON, "WARNING"),
        (None, "DEBUG"),
    ]
    assert texts(content, found)[0].endswith(b"  at x\n\n")


@pytest.mark.parametrize(
    ("line", "time", "level"),
    [
        (b'1.2.3.4 - bob [01/May/2024:12:00:00 +0200] "GET / HTTP/1.1" 200 1', NOON, None),
        (b"May  1 10:00:00 host sshd[1]: no year", None, None),
        (b"[Wed May 01 10:00:00 2024] [error] no", NOON, "ERROR"),
        (b"E0501 10:00:00.000000 1 file.go:1] klog has no year", None, "ERROR"),
        (b"2024/05/01 10:00:00 [warn] 1#1: nginx", NOON, "WARN"),
        (b'ts=2024-05-01T10:00:00Z level=info msg="x"', NOON, "INFO"),
        (b"<34>1 2024-05-01T10:00:00.003Z host su - x", NOON, None),
        (b"1714557600.123 event", NOON, None),
    ],
)
def test_log_formats(line: bytes, time: int | None, level: str | None) -> None:
    """The usual log formats are read; a stamp without a year gives no time."""
    records = read(line + b"\n" + line + b"\n", "log").records
    assert [(record.time, record.category) for record in records] == [(time, level)] * 2


def test_settings_files() -> None:
    """YAML, TOML and INI fall into their top-level blocks, comments above included."""
    content = b"# about a\na:\n  b: 1\n\nc:\n- 1\n- 2\n"
    assert texts(content, read(content, "yaml"))[:2] == [b"# about a\na:\n  b: 1\n\n", b"c:\n"]
    content = b"top = 1\n\n# about s\n[s]\na = 1\n\n[[t]]\nb = 2\n"
    assert texts(content, read(content, "toml")) == [b"top = 1\n\n", b"# about s\n[s]\na = 1\n\n", b"[[t]]\nb = 2\n"]
    content = b"; c\n[s]\na=1\n[t]\nb=2\n"
    assert texts(content, read(content, "ini")) == [b"; c\n[s]\na=1\n", b"[t]\nb=2\n"]


def test_xml() -> None:
    """The elements directly inside the root are the records."""
    content = b"<?xml version='1.0'?>\n<r>\n  <!-- <i> -->\n  <i a='>'>\n    <i/>\n  </i>\n  <j/>\n</r>\n"
    assert texts(content, read(content, "xml")) == [b"  <i a='>'>\n    <i/>\n  </i>\n", b"  <j/>\n"]


def test_long_records_are_cut() -> None:
    """A record longer than a unit may be is still one record, and its units hold all of it."""
    content = b'{"a": "' + b"word " * 500 + b'"}\n{"a": 1}\n'
    found = read(content, "jsonl")
    assert len(found.records) == 2
    assert len(found.units) > 4
    assert found.records[0].end in found.units.tolist()


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (b"2024-05-01T10:00:00Z", NOON),
        (b"2024-05-01T10:00:00.999", NOON),
        (b"2024-05-01 12:00:00 +0200", NOON),
        (b"2024-05-01T05:30:00-04:30", NOON),
        (b"2024-05-01", 1714521600),
        (b"20240501T100000Z", NOON),
        (b"Wed, 01 May 2024 10:00:00 GMT", NOON),
        (b"1 May 2024", 1714521600),
        (b"May 1, 2024", 1714521600),
        (b"1969-12-31T23:59:59Z", -1),
        (b"2024-02-30", None),
        (b"2024-05-01T99:00:00Z", None),
        (b"05/01/2024", None),
        (b"1714557600", None),
        (b"", None),
    ],
)
def test_times(text: bytes, time: int | None) -> None:
    """Time stamps are whole seconds of UTC; what is ambiguous or impossible is None."""
    assert time_of(text) == time


def test_epochs() -> None:
    """Seconds, milli-, micro- and nanoseconds are told apart by size."""
    for divisor in (1, 1_000, 1_000_000, 1_000_000_000):
        assert epoch_of(NOON * divisor) == NOON
        assert time_of(str(NOON * divisor).encode(), epoch=True) == NOON
    assert epoch_of(float("inf")) is None
    assert epoch_of(float("nan")) is None


def test_what_a_record_says_is_read_when_it_is_asked_for():
    """Of many records only those that are looked at are read; a range of them reads none."""
    asked = []

    def said(start, end):
        asked.append((start, end))
        return start, "even" if start % 20 == 0 else None

    edges = np.arange(0, 1_010, 10)
    records = Records(edges[:-1], edges[1:], said)
    near = records.touching(35, 51)
    assert (len(records), len(near), asked) == (100, 3, [])
    assert [(each.start, each.category) for each in near] == [(30, None), (40, "even"), (50, None)]
    assert [each.start for each in records.between(35, 50)] == [30, 40, 50]
    assert len(asked) == 6
    assert records.have_categories
    assert len(asked) == 7
    assert not Records(edges[:-1], edges[1:], said, have_categories=False).have_categories


@pytest.mark.parametrize(
    ("line", "category"),
    [
        (b'{"type": "tea"}', "tea"),
        (rb'{"\u0074ype": "tea"}', "tea"),
        (b'["type", "tea"]', None),
        (b'{"Type": "tea"}', None),
        (b"12", None),
    ],
)
def test_json_tells_categories_by_its_keys(line, category):
    """However a key is written: whether any record has a category is what the records say."""
    found = read(line + b"\n12\n", "jsonl")
    assert [each.category for each in found.records] == [category, None]
    assert found.records.have_categories == (category is not None)
