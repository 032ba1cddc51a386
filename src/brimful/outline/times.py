"""When was this record made, in whole seconds of UTC?"""

from __future__ import annotations

import datetime as dt
import re

_MONTHS = {
    name: number
    for number, name in enumerate(
        (b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"),
        start=1,
    )
}
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = rb"(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?"
_ZONE = rb"(?:[ ]?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)(?![\w:]))?"

# Each pattern's groups are year, month, day, hour, minute, second, zone, in the order of `_ORDERS`.
_ISO = re.compile(rb"(\d{4})[-/.](\d\d)[-/.](\d\d)(?!\d)(?:(?:[T_]|,? )" + _CLOCK + _ZONE + rb")?")
_BASIC = re.compile(rb"(\d{4})(\d\d)(\d\d)[T_-](\d\d)(\d\d)(\d\d)?(?:[.,]\d+)?" + _ZONE)
_COMMON = re.compile(rb"(\d{1,2})/(" + _MONTH + rb")/(\d{4})[: ]" + _CLOCK + _ZONE)
_MAIL = re.compile(
    rb"(?:[A-Z][a-z]{2},? )?(\d{1,2})[ -](" + _MONTH + rb")[a-z]*[ -](\d{4})(?:,?[ T]" + _CLOCK + _ZONE + rb")?"
)
_C_TIME = re.compile(
    rb"(?:[A-Z][a-z]{2} )?(" + _MONTH + rb") +(\d{1,2}) " + _CLOCK + rb"(?: (UTC|GMT|Z))? (\d{4})(?!\d)"
)
_AMERICAN = re.compile(rb"(" + _MONTH + rb")[a-z]* (\d{1,2}), (\d{4})(?:,? " + _CLOCK + _ZONE + rb")?")
_ORDERS: tuple[tuple[re.Pattern[bytes], tuple[int, ...]], ...] = (
    (_ISO, (1, 2, 3, 4, 5, 6, 7)),
    (_BASIC, (1, 2, 3, 4, 5, 6, 7)),
    (_COMMON, (3, 2, 1, 4, 5, 6, 7)),
    (_MAIL, (3, 2, 1, 4, 5, 6, 7)),
    (_C_TIME, (7, 1, 2, 3, 4, 5, 6)),
    (_AMERICAN, (3, 1, 2, 4, 5, 6, 7)),
)
_EPOCH = re.compile(rb"(\d{9,10})(?:\.\d*)?(?![\d.])|(\d{10})(\d{3}|\d{6}|\d{9})(?!\d)")
_EPOCH_LATEST = 4_102_444_800  # 2100-01-01


def time_of(text: bytes, start: int = 0, end: int | None = None, *, epoch: bool = False) -> int | None:
    """The time of the stamp at `start`, or None; a stamp without a zone is in UTC.

    A bare number is taken for seconds (or milli-, micro-, nanoseconds) only when `epoch` is set. A
    stamp without a year gives None: no clock is read.

    >>> time_of(b"2024-05-01T12:00:00+02:00")
    1714557600
    >>> time_of(b"01/May/2024:10:00:00 +0000")
    1714557600
    >>> time_of(b"1714557600123", epoch=True)
    1714557600
    """
    stop = len(text) if end is None else end
    for pattern, order in _ORDERS:
        stamp = pattern.match(text, start, stop)
        if stamp is not None:
            return _seconds(*stamp.group(*order))
    if epoch and (stamp := _EPOCH.match(text, start, stop)):
        seconds = int(stamp[1] or stamp[2])
        return seconds if seconds <= _EPOCH_LATEST else None
    return None


def epoch_of(number: float) -> int | None:
    """Seconds from a number that may count in smaller units, or None when it can't be a time.

    >>> epoch_of(1714557600123)
    1714557600
    >>> epoch_of(12) is None
    True
    """
    for divisor in (1, 1_000, 1_000_000, 1_000_000_000):
        if 100_000_000 * divisor <= number <= _EPOCH_LATEST * divisor:
            return int(number // divisor)
    return None


def _seconds(
    year: bytes,
    month: bytes,
    day: bytes,
    hour: bytes | None,
    minute: bytes | None,
    second: bytes | None,
    zone: bytes | None,
) -> int | None:
    midnight = _midnight(year, month, day)
    if midnight is None:
        return None
    if hour is None:
        return midnight
    hours, minutes, seconds = int(hour), int(minute or 0), int(second or 0)
    if hours > 24 or minutes > 59 or seconds > 60:
        return None
    return midnight + hours * 3600 + minutes * 60 + seconds - (_offset(zone) if zone else 0)


def _midnight(year: bytes, month: bytes, day: bytes) -> int | None:
    number = _MONTHS.get(month.lower()) or (int(month) if month.isdigit() else 0)
    try:
        return (dt.date(int(year), number, int(day)).toordinal() - 719_163) * 86_400
    except ValueError:
        return None


def _offset(zone: bytes) -> int:
    if zone[:1] not in b"+-":
        return 0
    digits = zone[1:].replace(b":", b"")
    seconds = int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60
    return -seconds if zone[:1] == b"-" else seconds
