"""Where may data be cut: elements, rows, log entries?"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from brimful.outline.cuts import FILLED, Cuts, line_starts, settle
from brimful.outline.kinds import kind_of
from brimful.outline.times import epoch_of, time_of


@dataclass(frozen=True, slots=True)
class Record:
    """One data record: half-open bytes that begin and end at unit cuts (its separator included).

    `time` is in whole seconds since 1970 in UTC.
    """

    start: int
    end: int
    time: int | None = None
    category: str | None = None


_Reader = Callable[[int, int], tuple[int | None, str | None]]
"""Reads the time and category of the record of a range."""


class Records(Sequence[Record]):
    """The records of data in order, in columns: a file has a hundred thousand, of which a window shows ten.

    Time and category of a record are read at access.

    >>> Records(np.array([0, 4]), np.array([4, 9]), lambda start, end: (end, None))[1]
    Record(start=4, end=9, time=9, category=None)
    """

    def __init__(self, starts: Cuts, ends: Cuts, read: _Reader | None = None, *, have_categories: bool = True) -> None:
        self.starts, self.ends = starts, ends
        self._read, self._have_categories = read, read is not None and have_categories

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Records: ...
    def __getitem__(self, index: int | slice) -> Record | Records:
        if isinstance(index, slice):
            return self.select(index)
        start, end = int(self.starts[index]), int(self.ends[index])
        return Record(start, end, *(self._read(start, end) if self._read else ()))

    def __eq__(self, value: object) -> bool:
        return list(self) == list(value) if isinstance(value, Records) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list

    @cached_property
    def have_categories(self) -> bool:
        """Whether any record has a category."""
        return self._have_categories and any(record.category for record in self)

    def select(self, which: slice | NDArray[np.bool_]) -> Records:
        """The chosen records."""
        return Records(self.starts[which], self.ends[which], self._read, have_categories=self._have_categories)

    def touching(self, start: int, end: int) -> Records:
        """The records that share a byte with a range."""
        return self[int(self.ends.searchsorted(start, side="right")) : int(self.starts.searchsorted(end, side="left"))]

    def between(self, start: int, end: int) -> Records:
        """From the one that holds a byte, or the first, to the one that holds another."""
        first = max(int(self.starts.searchsorted(start, side="right")) - 1, 0)
        return self[first : int(self.starts.searchsorted(end, side="right"))]


NO_RECORDS = Records(np.empty(0, np.int64), np.empty(0, np.int64))


# ---- elements: What are the records of a nested text: JSON, JSON Lines, XML?

_REMEMBERED = 256  # records of JSON: neighbours are read repeatedly
_LARGEST_LOAD = 65_536
"""A larger record is read for its time and category by pattern, not by a full parse."""

_TIME_KEYS = (
    "timestamp", "time", "@timestamp", "datetime", "date", "ts", "created_at", "created", "createdAt",
    "published_at", "published", "updated_at", "updated", "updatedAt", "event_time", "start_time", "modified",
)  # fmt: skip
_CATEGORY_KEYS = (
    "category", "type", "kind", "level", "severity", "status", "class", "label", "group", "event", "topic",
)  # fmt: skip
_PAIR = re.compile(
    rb'"(' + b"|".join(re.escape(key.encode()) for key in (*_TIME_KEYS, *_CATEGORY_KEYS)) + rb')"\s*:\s*'
    rb'("(?:[^"\\\n]++|\\.)*+"|-?\d+(?:\.\d+)?)'
)
_XML_TAG = re.compile(
    rb"<(?:(?P<close>/)[^<>]*+>|(?P<other>!--(?:.*?-->|.*)|!\[CDATA\[(?:.*?\]\]>|.*)|[?!][^>]*+(?:>|\Z))"
    rb"|[A-Za-z_:\x80-\xff](?:[^<>\"'/]++|\"[^\"]*+\"|'[^']*+'|/(?!>))*+(?P<empty>/)?>)",
    re.DOTALL,
)


_CATEGORY_KEY = re.compile(b'"(?:' + b"|".join(re.escape(key.encode()) for key in _CATEGORY_KEYS) + b')"')


def _read_json_lines(content: bytes) -> Records:
    """One record a line."""
    return _with_keys(content, *_lines(content))


def _with_keys(content: bytes, starts: Cuts, ends: Cuts) -> Records:
    """Records with the times and categories that their own keys give; a key may be written with escapes."""
    may_tell = b"\\u" in content or b"\0" in content or _CATEGORY_KEY.search(content) is not None
    cached = lru_cache(_REMEMBERED)(partial(_read_by_keys, content))
    return Records(starts, ends, cached, have_categories=may_tell)


def _read_json(content: bytes) -> Records:
    r"""Elements of the top array, or of the array that fills most of the top object, or its members.

    >>> [(record.start, record.end) for record in _read_json(b'[{"a": 1},\n {"a": 2}]')]
    [(0, 11), (11, 21)]
    """
    elements = _elements(*_signs(content), length=len(content))
    return NO_RECORDS if elements is None else _between(content, *elements)


def json_cuts(content: bytes) -> tuple[Cuts, Cuts]:
    """The starts of the elements of `_read_json`, and of everything after a comma, at any depth.

    >>> [cuts.tolist() for cuts in json_cuts(b'[{"a":1,"b":2},{"a":[3,4]}]')]
    [[15], [8, 15, 23]]
    """
    signs, kinds = _signs(content)
    elements = _elements(signs, kinds, length=len(content))
    tops = np.array([] if elements is None else elements[2], np.int64)
    return tops + 1, signs[kinds == 44] + 1


# From sign to sign, over strings and escaped quotation marks; a string ends on its line.
_SIGN = re.compile(rb'(?:"(?:[^"\\\n]++|\\.)*+"|(?:\\\\)++|\\"|[^"\\,\[\]{}]++|["\\])*+(?:([,\[\]{}])|\Z)')


def _signs(content: bytes) -> tuple[Cuts, NDArray[np.uint8]]:
    """The offsets of commas, brackets and braces outside strings, and their bytes."""
    signs = np.array([sign.start(1) for sign in _SIGN.finditer(content) if sign[1]], np.int64)
    return signs, np.frombuffer(content, dtype=np.uint8)[signs]


def _elements(signs: Cuts, kinds: NDArray[np.uint8], *, length: int) -> tuple[int, int, list[int]] | None:
    """The opening and closing bracket of the elements, and the commas between them."""
    opening, closing = (kinds | 32) == 123, (kinds | 32) == 125
    depth = np.cumsum(opening.astype(np.int64) - closing)
    tops = np.flatnonzero(opening)
    if not len(tops):
        return None
    first = int(tops[0])
    inner = _largest_array(signs, kinds, depth, first=first, length=length) if kinds[first] == 123 else None
    if inner is None:
        begin, level = first, int(depth[first])
        after = np.flatnonzero(closing[first:] & (depth[first:] < level))
        finish = first + int(after[0]) if len(after) else len(signs)
    else:
        begin, finish = inner
        level = int(depth[begin])
    commas = np.flatnonzero((kinds[begin:finish] == 44) & (depth[begin:finish] == level)) + begin
    open_at = int(signs[begin])
    close_at = int(signs[finish]) if finish < len(signs) else length
    return open_at, close_at, signs[commas].tolist()


def _largest_array(
    signs: Cuts, kinds: NDArray[np.uint8], depth: Cuts, *, first: int, length: int
) -> tuple[int, int] | None:
    """The array directly inside the top object that takes at least half of the text, if any."""
    level = int(depth[first])
    opened = np.flatnonzero((kinds == 91) & (depth == level + 1))
    closed = np.flatnonzero((kinds == 93) & (depth == level))
    best: tuple[int, int] | None = None
    widest = length // 2
    ends = np.searchsorted(closed, opened, side="right")
    for begin, place in zip(opened.tolist(), ends.tolist(), strict=True):
        finish = int(closed[place]) if place < len(closed) else len(signs)
        width = (int(signs[finish]) if finish < len(signs) else length) - int(signs[begin])
        if width > widest:
            best, widest = (begin, finish), width
    return best


def _between(content: bytes, open_at: int, close_at: int, commas: list[int]) -> Records:
    """Records between an opening sign, commas, and a closing sign, each with its own indentation."""
    starts = [_element_start(content, open_at + 1)]
    starts += [_element_start(content, comma + 1) for comma in commas]
    if not content[:open_at].strip():
        starts[0] = 0
    remainder = content[close_at:].strip(b" \t\r\n]}")
    end = len(content) if not remainder else min(close_at + 1, len(content))
    edges = np.array([*sorted({start for start in starts if start < end}), end], np.int64)
    return _with_keys(content, edges[:-1], edges[1:])


_BLANKS = re.compile(rb"[ \t\r]*+\n|[ \t]*+")


def _element_start(content: bytes, position: int) -> int:
    """After the blanks that end a line; the next line's indentation belongs to its element."""
    blank = _BLANKS.match(content, position)
    return blank.end() if blank is not None else position


def _read_by_keys(content: bytes, start: int, end: int) -> tuple[int | None, str | None]:
    """The time and category of a record that its own keys give."""
    if end - start <= _LARGEST_LOAD:
        text = content[start:end].strip(b" \t\r\n,")
        if text.startswith(b"{"):
            try:
                loaded = json.loads(text)
            except (ValueError, RecursionError):
                loaded = None
            if isinstance(loaded, dict):
                return _time_in(loaded), _category_in(loaded)
    time: int | None = None
    category: str | None = None
    for pair in _PAIR.finditer(content, start, min(end, start + _LARGEST_LOAD)):
        key, value = pair[1].decode(), pair[2].strip(b'"')
        if key in _TIME_KEYS:
            time = time_of(value, epoch=True) if time is None else time
        elif category is None:
            category = value.decode(errors="replace") or None
        if time is not None and category is not None:
            break
    return time, category


def _time_in(record: dict[str, object]) -> int | None:
    for key in _TIME_KEYS:
        value = record.get(key)
        if isinstance(value, str):
            time = time_of(value.encode(errors="replace"), epoch=True)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            time = epoch_of(value)
        else:
            continue
        if time is not None:
            return time
    return None


def _category_in(record: dict[str, object]) -> str | None:
    for key in _CATEGORY_KEYS:
        value = record.get(key)
        if isinstance(value, str) and 0 < len(value) <= 80:
            return value
    return None


def _read_xml(content: bytes) -> Records:
    """The elements directly inside the root; a text without two of them has no records."""
    starts: list[int] = []
    depth = end = 0
    for tag in _XML_TAG.finditer(content):
        kind = tag.lastgroup
        if kind == "other":
            continue
        if kind == "close":
            depth -= 1
            end = tag.end() if depth == 1 else end
        else:
            if depth == 1:
                starts.append(tag.start())
            if kind != "empty":
                depth += 1
            elif depth == 1:
                end = tag.end()
    if len(starts) < 2:
        return NO_RECORDS
    lines = [_line_or_self(content, start) for start in starts]
    edges = [*sorted(set(lines)), max(end, lines[-1])]
    newline = content.find(b"\n", edges[-1])
    if newline >= 0 and not content[edges[-1] : newline].strip():
        edges[-1] = newline + 1
    return _parted(edges)


def _parted(edges: list[int]) -> Records:
    """Records between ascending edges, without times and categories."""
    cuts = np.array(edges, np.int64)
    return Records(cuts[:-1], cuts[1:]).select(cuts[1:] > cuts[:-1])


def _line_or_self(content: bytes, position: int) -> int:
    line = content.rfind(b"\n", 0, position) + 1
    return line if not content[line:position].strip() else position


# ---- rows: What are the rows of a table: CSV and TSV?

_SAMPLE_ROWS, _SAMPLE_BYTES = 50, 2_048  # what is read of a table, and of each row, to know its columns
_TIME_NAME = re.compile(
    r"(?:.*[_ .-])?(?:time|timestamp|date|datetime|ts|created|updated|modified|published|when|day)"
    r"(?:[_ ]?(?:at|on|utc))?$"
    r"|(?:event|start|end|log)(?:time|date)$|zeit|datum|zeitstempel|fecha"
)
_CATEGORY_NAME = re.compile(
    r"(?:.*[_ .-])?(?:category|type|kind|level|status|class|label|group|severity|genre|tag|topic"
    r"|kategorie|typ)$"
)
_NUMBER = re.compile(rb"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?$")


def _read_rows(content: bytes, language: str) -> tuple[Records, tuple[int, int] | None]:
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
    read = _read_by_cells(content, separator=separator, when=when, category=category, epoch=by_name)
    records = Records(starts, ends, read, have_categories=category is not None)
    if not header:
        return records, None
    spans = enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
    first = next((number for number, (start, end) in spans if content[start:end].strip()), 0)
    start, end = int(starts[first]), int(ends[first])
    return records.select(np.arange(len(starts)) != first), (start, start + len(content[start:end].rstrip(b"\r\n")))


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
    inside = [field.span() for field in quoted.finditer(content) if b"\n" in field[0]]
    if not inside:
        return starts
    begins, ends = np.array(inside, dtype=np.int64).T
    place = np.searchsorted(begins, starts, side="left") - 1
    outside: Cuts = starts[(place < 0) | (starts >= ends[np.maximum(place, 0)])]
    return outside


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
    first, body = sample[0], sample[1:]
    if not first or not all(first) or len(set(first)) != len(first):
        return False
    if any(_NUMBER.match(cell) or time_of(cell) is not None or len(cell) > 80 for cell in first):
        return False
    names = [cell.decode(errors="replace").lower() for cell in first]
    if any(_TIME_NAME.match(name) or _CATEGORY_NAME.match(name) or name in ("id", "name") for name in names):
        return True
    if not body:
        return False
    typed = [cell for cells in body for cell in cells if _NUMBER.match(cell) or time_of(cell) is not None]
    longer = sum(map(len, body[0])) > 2 * sum(map(len, first))
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


def _read_by_cells(
    content: bytes, *, separator: bytes, when: int | None, category: int | None, epoch: bool
) -> _Reader | None:
    """A reader of a row's time and category from their columns."""
    if when is None and category is None:
        return None

    def read_row(start: int, end: int) -> tuple[int | None, str | None]:
        cells = dict(enumerate(_cells(content[start:end], separator)))
        time = time_of(cells.get(-1 if when is None else when, b""), epoch=epoch)
        return time, cells.get(-1 if category is None else category, b"").decode(errors="replace") or None

    return read_row


# ---- logs: What are the records of a log?

_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVELS = rb"TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|ALERT|EMERG|PANIC|VERBOSE"
# A newline (one is put in front of the text) and what a first line starts with.
_STAMPED = (
    rb"\n(?:<\d{1,3}>(?:\d )?)?[\[(]?(?P<stamp>\d{4}[-/.]\d\d[-/.]\d\d[T _,]|\d{8}[T_-]\d{6}|\d{1,2}/"
    + _MONTH
    + rb"/\d{4}"
    rb"|(?:[A-Z][a-z]{2},? )?(?:\d{1,2} )?" + _MONTH + rb" [ \d]?\d[ ,]|\d\d-\d\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d"
    rb"|\d{9,10}(?:\.\d+|\d{3})?[\] ]|[IWEF]\d{4} \d\d:)"
)
_STARTS = re.compile(
    _STAMPED + rb"|\n[^\s\[]{1,64} [^\s\[]{1,64} [^\[\n]{1,64} \[(?P<access>\d{1,2}/" + _MONTH + rb"/\d{4}:)"
    rb"|\n[\[<]?(?P<level>" + _LEVELS + rb")\b|\n(?:[\w.]+=\S+ )*?(?:ts|time|timestamp)=\"?(?P<key>\d)"
)


# Both start with plain letters, which lets the engine skip; a letter before is looked for afterwards.
_LEVEL = re.compile(rb"(" + _LEVELS + rb")(?![A-Za-z])")
_QUIET_LEVEL = re.compile(
    rb"[\[<](trace|debug|info|notice|warn|warning|error|crit|alert|emerg|fatal)[\]>]"
    rb"|(?:level|lvl|severity)=\"?(\w+)"
)
_KLOG = {b"I": "INFO", b"W": "WARNING", b"E": "ERROR", b"F": "FATAL"}
_LEVEL_REACH = 120
"""How far into a record its level is looked for."""


def _read_log(content: bytes) -> Records:
    r"""A record is a line that starts with a time stamp or a level, with the lines that continue it.

    Without any such line every line is a record.

    >>> [(log.end, log.category) for log in _read_log(b"ERROR no\n  at x\nINFO ok\n")]
    [(16, 'ERROR'), (24, 'INFO')]
    """
    text = b"\n" + content
    edges = np.array([match.start() for match in _STARTS.finditer(text)] + [len(content)], np.int64)
    if len(edges) < 2:
        return NO_RECORDS
    edges[0] = 0
    return Records(edges[:-1], edges[1:], partial(_read_by_stamp, text))


def _read_by_stamp(text: bytes, start: int, end: int) -> tuple[int | None, str | None]:
    """The time and level of an entry, of which the first may have lines before it; `text` has a newline in front."""
    match = _STARTS.search(text, start)
    assert match is not None
    kind = match.lastgroup
    stamp = match.start(kind or 0)
    time = None if kind == "level" else time_of(text, stamp, end + 1, epoch=True)
    return time, None if kind == "access" else _level(text, match.start() + 1, end + 1, stamp=stamp)


def _level(content: bytes, start: int, end: int, *, stamp: int) -> str | None:
    reach = min(end, start + _LEVEL_REACH)
    for word in _LEVEL.finditer(content, start, reach):
        if not word.start() or not content[word.start() - 1 : word.start()].isalpha():
            return word[1].decode()
    if content[stamp + 5 : stamp + 6] == b" " and content[stamp : stamp + 1] in _KLOG:
        return _KLOG[content[stamp : stamp + 1]]
    quiet = _QUIET_LEVEL.search(content, start, reach)
    return (quiet[1] or quiet[2]).decode(errors="replace").upper() if quiet is not None else None


# ---- records: Where may data be cut: rows, elements, log entries?

# The newline (one is put in front of the text) before a line that starts a top-level block.
_TOP = {"yaml": re.compile(rb"\n(?=[^\s#}\])])"), "toml": re.compile(rb"\n(?=\[)"), "ini": re.compile(rb"\n(?=\[)")}


def records_in(content: bytes, *, language: str | None = None) -> tuple[Records, tuple[int, int] | None]:
    """The records of data with their times and categories, and the bytes of a table's header."""
    named = language or kind_of("", content)[1]
    header: tuple[int, int] | None = None
    if not content:
        records = NO_RECORDS
    elif named in ("csv", "tsv"):
        records, header = _read_rows(content, named)
    else:
        records = _read(content, named) or Records(*_lines(content))
    return _aligned(content, records), header


def _read(content: bytes, language: str | None) -> Records:
    if language == "jsonl":
        return _read_json_lines(content)
    if language == "json":
        return _read_json(content)
    if language == "log":
        return _read_log(content)
    if language == "xml":
        return _read_xml(content)
    if language in _TOP:
        starts = [block.start() for block in _TOP[language].finditer(b"\n" + content)]
        return _parted(sorted({0, *(_with_comments(content, start) for start in starts), len(content)}))
    return NO_RECORDS


def _with_comments(content: bytes, start: int) -> int:
    """The start of a block with the comment lines directly above it."""
    while start:
        line = content.rfind(b"\n", 0, start - 1) + 1
        if content[line : line + 1] not in (b"#", b";"):
            break
        start = line
    return start


def _lines(content: bytes) -> tuple[Cuts, Cuts]:
    """The starts and ends of lines."""
    starts = line_starts(content)
    return starts, np.append(starts[1:], len(content))


def _aligned(content: bytes, records: Records) -> Records:
    """Only records with safe edges and words in them: a blank line is no record."""
    if not len(records):
        return records
    starts, ends = records.starts, records.ends
    safe = settle(content, np.stack((starts, ends), axis=1).ravel())  # in order, as a rule
    is_safe = (safe[safe.searchsorted(starts)] == starts) & (safe[safe.searchsorted(ends)] == ends)
    for row in np.flatnonzero(~FILLED[np.frombuffer(content, np.uint8)[starts]]).tolist():
        is_safe[row] &= not content[starts[row] : ends[row]].isspace()
    return records if is_safe.all() else records.select(is_safe)
