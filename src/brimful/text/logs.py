"""What are the records of a log?"""

from __future__ import annotations

from itertools import pairwise

from brimful.patterns import compiled
from brimful.text.outline import Record
from brimful.text.times import time_of

_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVELS = rb"TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|ALERT|EMERG|PANIC|VERBOSE"
# A newline (one is put in front of the text) and what a first line starts with.
_START = compiled(
    rb"\n(?:<\d{1,3}>(?:\d )?)?[\[(]?(?P<stamp>\d{4}[-/.]\d\d[-/.]\d\d[T _,]|\d{8}[T_-]\d{6}|\d{1,2}/"
    + _MONTH
    + rb"/\d{4}"
    rb"|(?:[A-Z][a-z]{2},? )?(?:\d{1,2} )?" + _MONTH + rb" [ \d]?\d[ ,]|\d\d-\d\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d"
    rb"|\d{9,10}(?:\.\d+|\d{3})?[\] ]|[IWEF]\d{4} \d\d:)"
    rb"|\n[^\s\[]{1,64} [^\s\[]{1,64} [^\[\n]{1,64} \[(?P<access>\d{1,2}/" + _MONTH + rb"/\d{4}:)"
    rb"|\n[\[<]?(?P<level>" + _LEVELS + rb")\b"
    rb"|\n(?:[\w.]+=\S+ )*?(?:ts|time|timestamp)=\"?(?P<key>\d)"
)
# Both start with plain letters, which lets the engine skip; a letter before is looked for afterwards.
_LEVEL = compiled(rb"(" + _LEVELS + rb")(?![A-Za-z])")
_QUIET_LEVEL = compiled(
    rb"[\[<](trace|debug|info|notice|warn|warning|error|crit|alert|emerg|fatal)[\]>]"
    rb"|(?:level|lvl|severity)=\"?(\w+)"
)
_KLOG = {b"I": "INFO", b"W": "WARNING", b"E": "ERROR", b"F": "FATAL"}
_LEVEL_REACH = 120
"""How far into a record its level is looked for."""


def read_log(content: bytes) -> list[Record]:
    r"""A record is a line that starts with a time stamp or a level, with the lines that continue it.

    Without any such line every line is a record.

    >>> [(log.end, log.category) for log in read_log(b"ERROR no\n  at x\nINFO ok\n")]
    [(16, 'ERROR'), (24, 'INFO')]
    """
    text = b"\n" + content
    found = [(match.start(), match.lastgroup, match.start(match.lastgroup or 0) - 1) for match in _START.finditer(text)]
    if not found:
        return []
    edges = [start for start, _, _ in found] + [len(content)]
    edges[0] = 0
    records = []
    for (start, kind, at), (low, high) in zip(found, pairwise(edges), strict=True):
        time = None if kind == "level" else time_of(content, at, high, epoch=True)
        level = None if kind == "access" else _level(content, start, high, at=at)
        records.append(Record(low, high, time, level))
    return records


def _level(content: bytes, start: int, end: int, *, at: int) -> str | None:
    reach = min(end, start + _LEVEL_REACH)
    for found in _LEVEL.finditer(content, start, reach):
        if not found.start() or not content[found.start() - 1 : found.start()].isalpha():
            return found[1].decode()
    if content[at + 5 : at + 6] == b" " and content[at : at + 1] in _KLOG:
        return _KLOG[content[at : at + 1]]
    quiet = _QUIET_LEVEL.search(content, start, reach)
    return (quiet[1] or quiet[2]).decode(errors="replace").upper() if quiet is not None else None
