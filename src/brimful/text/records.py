"""Where may data be cut: rows, elements, log entries?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from brimful.patterns import compiled
from brimful.text.cuts import UNIT_LIMIT, break_long, gather, line_starts, settle
from brimful.text.elements import read_json, read_json_lines, read_xml
from brimful.text.kinds import kind_of
from brimful.text.logs import read_log
from brimful.text.outline import Outline, Record
from brimful.text.rows import read_rows

# The newline (one is put in front of the text) before a line that starts a top-level block.
_TOP = {"yaml": compiled(rb"\n(?=[^\s#}\])])"), "toml": compiled(rb"\n(?=\[)"), "ini": compiled(rb"\n(?=\[)")}


def outline_data(content: bytes, *, language: str | None = None) -> Outline:
    """Records as units (cut further where one is long), groups of records as sections.

    Without a language the format is guessed from the beginning; unknown formats go by lines.
    """
    records, header = records_in(content, language=language)
    edges = [edge for record in records for edge in (record.start, record.end)]
    cuts = settle(content, np.array(edges, dtype=np.int64))
    units = break_long(content, cuts, over=UNIT_LIMIT)
    return Outline("data", language, len(content), units, gather(cuts), records=tuple(records), header=header)


def records_in(content: bytes, *, language: str | None = None) -> tuple[list[Record], tuple[int, int] | None]:
    """The records of data with their times and categories, and the bytes of a table's header."""
    named = language or kind_of("", content)[1]
    header: tuple[int, int] | None = None
    if not content:
        records: list[Record] = []
    elif named in ("csv", "tsv"):
        records, header = read_rows(content, named)
    else:
        records = _read(content, named) or _by_line(content)
    return _aligned(content, records), header


def _read(content: bytes, language: str | None) -> list[Record]:
    if language == "jsonl":
        return read_json_lines(content)
    if language == "json":
        return read_json(content)
    if language == "log":
        return read_log(content)
    if language == "xml":
        return read_xml(content)
    if language in _TOP:
        starts = [found.start() for found in _TOP[language].finditer(b"\n" + content)]
        edges = sorted({0, *(_with_comments(content, start) for start in starts), len(content)})
        return [Record(start, end) for start, end in pairwise(edges)]
    return []


def _with_comments(content: bytes, start: int) -> int:
    """Where a block starts when the comment lines directly above it belong to it."""
    while start:
        line = content.rfind(b"\n", 0, start - 1) + 1
        if content[line : line + 1] not in (b"#", b";"):
            break
        start = line
    return start


def _by_line(content: bytes) -> list[Record]:
    starts = line_starts(content)
    ends = np.append(starts[1:], len(content))
    return [Record(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _aligned(content: bytes, records: list[Record]) -> list[Record]:
    """Only records with safe edges and words in them: a blank line is no record."""
    safe = set(settle(content, [edge for record in records for edge in (record.start, record.end)]).tolist())
    return [
        record
        for record in records
        if record.start in safe and record.end in safe and not content[record.start : record.end].isspace()
    ]
