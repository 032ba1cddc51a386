"""What are the rows of a table: CSV and TSV?"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from brimful.patterns import compiled
from brimful.text.cuts import Cuts, line_starts
from brimful.text.outline import Record
from brimful.text.times import time_of

_SAMPLE_ROWS, _SAMPLE_BYTES = 50, 2_048  # what is read of a table, and of each row, to know its columns
_TIME_NAME = compiled(
    r"(?:.*[_ .-])?(?:time|timestamp|date|datetime|ts|created|updated|modified|published|when|day)"
    r"(?:[_ ]?(?:at|on|utc))?$"
    r"|(?:event|start|end|log)(?:time|date)$|zeit|datum|zeitstempel|fecha"
)
_CATEGORY_NAME = compiled(
    r"(?:.*[_ .-])?(?:category|type|kind|level|status|class|label|group|severity|genre|tag|topic"
    r"|kategorie|typ)$"
)
_NUMBER = compiled(rb"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?$")


def read_rows(content: bytes, language: str) -> tuple[list[Record], tuple[int, int] | None]:
    """Every row with its time and category where a column says so, and the header's bytes."""
    separator = b"\t" if language == "tsv" else _separator(content)
    starts = row_starts(content, separator)
    ends = np.append(starts[1:], len(content))
    sample = [
        _cells(content[start : min(end, start + _SAMPLE_BYTES)], separator)
        for start, end in zip(starts[:_SAMPLE_ROWS].tolist(), ends[:_SAMPLE_ROWS].tolist(), strict=True)
    ]
    sample = [cells for cells in sample if any(cells)]
    header = bool(sample) and _has_header(sample)
    names = [cell.decode(errors="replace").strip().lower() for cell in sample[0]] if header else []
    body = sample[1:] if header else sample
    when, by_name = _time_column(names, body)
    category = next((index for index, name in enumerate(names) if _CATEGORY_NAME.match(name) and index != when), None)
    records = _records(content, starts, ends, separator=separator, when=when, category=category, epoch=by_name)
    if not header:
        return records, None
    blank = next((at for at, record in enumerate(records) if content[record.start : record.end].strip()), 0)
    first = records.pop(blank)
    return records, (first.start, first.start + len(content[first.start : first.end].rstrip(b"\r\n")))


def _separator(content: bytes) -> bytes:
    """The sign that divides the first lines most evenly."""
    lines = [re.sub(rb'"[^"]*"', b"", line) for line in content[:16_384].split(b"\n")[:20] if line.strip()]
    best = (0, 0, b",")
    for rank, sign in enumerate((b",", b"\t", b";", b"|")):
        counts = Counter(line.count(sign) for line in lines)
        counts.pop(0, None)
        if counts:
            best = max(best, (max(counts.values()), -rank, sign))
    return best[2]


def _field(separator: bytes) -> bytes:
    sign = re.escape(separator)
    return rb'(?>[ ]*+"(?:[^"]++|"")*+"(?=' + sign + rb"|[\r\n]|\Z)|[^" + sign + rb"\r\n]*+)"


def row_starts(content: bytes, separator: bytes | None = None) -> Cuts:
    r"""Line starts, save those inside a quoted field; a quotation mark that nothing closes quotes nothing.

    >>> row_starts(b'id,note\n1,"two\nlines"\n2,5" wide\n').tolist()
    [0, 8, 22]
    """
    separator = separator or _separator(content)
    starts = line_starts(content)
    if b'"' not in content:
        return starts
    octets = np.frombuffer(content, dtype=np.uint8)
    marks = np.flatnonzero(octets == 34)
    if not (np.searchsorted(marks, starts) % 2).any():
        return starts  # every line closes the quotation marks that it opens
    sign = re.escape(separator)
    quoted = re.compile(rb"(?:(?<=[\n" + sign + rb'])|\A)"(?:[^"]++|"")*+"(?=' + sign + rb"|[\r\n]|\Z)")
    inside = [found.span() for found in quoted.finditer(content) if b"\n" in found[0]]
    if not inside:
        return starts
    begins, ends = np.array(inside, dtype=np.int64).T
    place = np.searchsorted(begins, starts, side="left") - 1
    kept: Cuts = starts[(place < 0) | (starts >= ends[np.maximum(place, 0)])]
    return kept


def _cells(row: bytes, separator: bytes) -> list[bytes]:
    cells = re.findall(
        rb"(" + _field(separator) + rb")(?:" + re.escape(separator) + rb"|[\r\n]|\Z)", row.rstrip(b"\r\n")
    )
    if len(cells) > 1 and not cells[-1] and not row.rstrip(b"\r\n").endswith(separator):
        cells.pop()
    return [_plain(cell) for cell in cells]


def _plain(cell: bytes) -> bytes:
    cell = cell.strip()
    return cell[1:-1].replace(b'""', b'"') if len(cell) > 1 and cell[:1] == cell[-1:] == b'"' else cell


def _has_header(sample: list[list[bytes]]) -> bool:
    """Names: filled, distinct, no numbers or times, and unlike the rows below or known as names."""
    first, rest = sample[0], sample[1:]
    if not first or not all(first) or len(set(first)) != len(first):
        return False
    if any(_NUMBER.match(cell) or time_of(cell) is not None or len(cell) > 80 for cell in first):
        return False
    names = [cell.decode(errors="replace").lower() for cell in first]
    if any(_TIME_NAME.match(name) or _CATEGORY_NAME.match(name) or name in ("id", "name") for name in names):
        return True
    if not rest:
        return False
    typed = [cell for cells in rest for cell in cells if _NUMBER.match(cell) or time_of(cell) is not None]
    longer = sum(map(len, rest[0])) > 2 * sum(map(len, first))
    return bool(typed) or longer or all(re.fullmatch(r"[\w .#/-]+", name) for name in names)


def _time_column(names: list[str], body: list[list[bytes]]) -> tuple[int | None, bool]:
    """The column of times, by name and content, else by content alone; and whether a name said so."""
    width = max((len(cells) for cells in body), default=0)
    for index, name in enumerate(names):
        if _TIME_NAME.match(name) and _share(body, index, epoch=True):
            return index, True
    return next((index for index in range(width) if _share(body, index, epoch=False)), None), False


def _share(body: list[list[bytes]], index: int, *, epoch: bool) -> bool:
    """Do at least two thirds of a column's filled cells read as times?"""
    cells = [cells[index] for cells in body if index < len(cells) and cells[index]]
    good = sum(time_of(cell, epoch=epoch) is not None for cell in cells)
    return good > 0 and good * 3 >= len(cells) * 2


def _records(
    content: bytes,
    starts: Cuts,
    ends: Cuts,
    *,
    separator: bytes,
    when: int | None,
    category: int | None,
    epoch: bool,
) -> list[Record]:
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    wanted = sorted(column for column in (when, category) if column is not None)
    if not wanted:
        return [Record(start, end) for start, end in spans]
    one, sign = _field(separator), re.escape(separator)
    pattern, before = rb"", 0
    for column in wanted:
        pattern += rb"(?>%b%b){%d}(%b)" % (one, sign, column - before, one)
        pattern += sign if column != wanted[-1] else b""
        before = column + 1
    match = re.compile(pattern).match
    time_group = wanted.index(when) + 1 if when is not None else 0
    category_group = wanted.index(category) + 1 if category is not None else 0
    labels: dict[bytes, str | None] = {}
    records: list[Record] = []
    for start, end in spans:
        found = match(content, start, end)
        time = label = None
        if found is not None:
            if time_group:
                time = time_of(_plain(found[time_group]), epoch=epoch)
            if category_group:
                cell = found[category_group]
                if cell not in labels:
                    labels[cell] = _plain(cell).decode(errors="replace") or None
                label = labels[cell]
        records.append(Record(start, end, time, label))
    return records
