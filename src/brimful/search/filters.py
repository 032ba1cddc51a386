"""Which documents may answer? Those whose path and time a question's filters name."""

from __future__ import annotations

import datetime as dt
import fnmatch
import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, get_args

from brimful.patterns import compiled
from brimful.text.kinds import Kind

MOST_FILTERS: Final = 64
"""What stands beyond is literal text."""

_WILD = compiled(r"[*?\[]")
_TIME = compiled(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?P<fraction>\.[0-9]{1,9})?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A part of a path, or with `*`, `?` or `[` a pattern for all of it or for its end from a folder on.

    >>> PathPattern("Docs/").matches("src/docs/query.md"), PathPattern("test_*.py").matches("tests/test_api.py")
    (True, True)
    >>> PathPattern("*.py").matches("notes/python.md")
    False
    """

    text: str

    def matches(self, path: str) -> bool:
        """Whether the path is meant; capitals do not matter."""
        plain = _plain(path)
        if _plain(self.text) in plain:  # also `pages/[slug].ts`
            return True
        return _WILD.search(self.text) is not None and _pattern(self.text).match(plain) is not None


@functools.lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    whole = fnmatch.translate(_plain(text))
    below = fnmatch.translate("*/" + _plain(text))
    return re.compile(f"{whole}|{below}")


def _plain(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def time_bound(text: str) -> int | None:
    """The first second of a year, month, day or the time itself, in UTC unless it has a zone; None if it is no time.

    Documents' times are whole seconds, so a fraction is rounded up: nothing lies between.

    >>> time_bound("1970"), time_bound("1970-01-02"), time_bound("1970-01-01T01:00:00.5+01:00")
    (0, 86400, 1)
    >>> time_bound("tomorrow"), time_bound("2024-13")
    (None, None)
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    try:
        moment = dt.datetime(
            int(found["year"]),
            int(found["month"] or 1),
            int(found["day"] or 1),
            int(found["hour"] or 0),
            int(found["minute"] or 0),
            int(found["second"] or 0),
            tzinfo=dt.UTC,
        )
    except ValueError:
        return None
    seconds = (moment - _EPOCH) // dt.timedelta(seconds=1)
    zone = found["zone"] or "Z"
    if zone != "Z":
        digits = zone.replace(":", "")
        hours, minutes = int(digits[1:3]), int(digits[3:5])
        if hours > 23 or minutes > 59:
            return None
        seconds -= (1 if zone[0] == "+" else -1) * (hours * 3600 + minutes * 60)
    return seconds + (1 if (found["fraction"] or "").strip(".0") else 0)


@dataclass(slots=True)
class FilterReader:
    """The filters of one question as they are read."""

    paths: list[PathPattern] = field(default_factory=list)
    excluded_paths: list[PathPattern] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    excluded_kinds: list[Kind] = field(default_factory=list)
    after: int | None = None
    before: int | None = None
    count: int = 0

    def take(self, name: str, value: str, *, without: bool) -> bool:
        """Whether this is a filter indeed; one that means nothing is literal text."""
        if self.count >= MOST_FILTERS or (without and name in ("after", "before")):
            return False
        if name == "path":
            (self.excluded_paths if without else self.paths).append(PathPattern(value))
        elif name == "kind":
            if value not in get_args(Kind):
                return False
            (self.excluded_kinds if without else self.kinds).extend(kind for kind in get_args(Kind) if kind == value)
        else:
            seconds = time_bound(value)
            if seconds is None:
                return False
            if name == "after":
                self.after = seconds if self.after is None else max(self.after, seconds)
            else:
                self.before = seconds if self.before is None else min(self.before, seconds)
        self.count += 1
        return True

    def chosen_kinds(self) -> tuple[Kind, ...]:
        """The kinds asked for without the excluded ones, unless nothing would be left."""
        asked: Sequence[Kind] = self.kinds or (get_args(Kind) if self.excluded_kinds else ())
        left = [kind for kind in asked if kind not in self.excluded_kinds]
        return tuple(dict.fromkeys(left or self.kinds))
