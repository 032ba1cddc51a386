"""Find dates, command options and definitions that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

# ---- dates: Which day or month does a question name, and how else may a text write it?
#
# `12 May 2024`, `May 12th, 2024`, `2024-05-12`, `12.05.2024` and `2024/05/12` are one day, `May 2024` and `2024-05` one
# month. A date is looked for in all these spellings at once, as one word of the question.

_MONTHS: Final = {
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "en": "january february march april may june july august september october november december",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fi": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta"
    " marraskuuta joulukuuta",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "no": "januar februar mars april mai juni juli august september oktober november desember",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
}
_NAMES: Final = {language: names.split() for language, names in _MONTHS.items()}
_SHORT: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_NUMBERS: Final = {
    name: number
    for names in (*_NAMES.values(), _SHORT, [*_SHORT[:8], "sept"])
    for number, name in enumerate(names, start=1)
    if name != "mars" or number == 3
}
_LATEST_YEAR = 2_199
_MONTH = r"(?P<month{}>[^\W\d_]{{3,14}})\.?"
_DAY = r"(?P<day{}>[0-3]?\d)(?:st|nd|rd|th|\.|er|º|ª)?"
_YEAR = r"(?P<year{}>1[89]\d\d|2[01]\d\d)"
_DATE: Final = re.compile(
    r"(?<![\w.,/-])(?:"
     r"(?P<year0>1[89]\d\d|2[01]\d\d)(?P<sign>[-/.])(?P<month0>[01]?\d)(?:(?P=sign)(?P<day0>[0-3]?\d))?"
     r"|(?P<day1>[0-3]?\d)\.[ ]?(?P<month1>[01]?\d)\.[ ]?" + _YEAR.format(1)
    + "|" + _DAY.format(2) + r"[ \-](?:of |de |di )?" + _MONTH.format(2) + r",?[ \-](?:of |de |del )?" + _YEAR.format(2)
    + "|" + _MONTH.format(3) + "[ ]" + _DAY.format(3) + r",?[ ]" + _YEAR.format(3)
    + "|" + _MONTH.format(4) + r",?[ ](?:of |de |del )?" + _YEAR.format(4)
    + r")(?![\w/-]|[.,]\d)",
    re.IGNORECASE,
)  # fmt: skip
_MOST_DATES = 16

_Spelling = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class DateAsked:
    """A day or a month of a question: its characters there, and the terms as which a text may have it."""

    start: int
    end: int
    name: bytes  # as ISO writes it
    spellings: tuple[_Spelling, ...]


def dates_in(text: str, *, languages: Sequence[str] = ()) -> tuple[DateAsked, ...]:
    """The dates that a question names; month names of its corpus's languages and English are known.

    >>> [date.name for date in dates_in("What happened on 12 May 2024, and in Nov 2023?")]
    [b'2024-05-12', b'2023-11']
    >>> dates_in("12.5.2024")[0].spellings[:3]
    ((b'2024-05-12',), (b'12.05.2024',), (b'12.5.2024',))
    >>> dates_in("may I have 12 of 2024?")
    ()
    """
    return tuple(_dates(text, tuple(dict.fromkeys(("en", *languages)))))


def _dates(text: str, languages: Sequence[str]) -> Iterator[DateAsked]:
    count = 0
    for match in _DATE.finditer(text) if "1" in text or "2" in text else ():  # with which every year begins
        year, month, day = (_part(match, name) for name in ("year", "month", "day"))
        number = int(month) if month.isdigit() else _NUMBERS.get(month.casefold(), 0)
        if not 1 <= number <= 12 or (day and not 1 <= int(day) <= 31) or int(year) > _LATEST_YEAR:
            continue
        names = _names(number, languages)
        if day:
            name, spellings = f"{year}-{number:02}-{int(day):02}", _days(year, number, int(day), names)
        else:
            name, spellings = f"{year}-{number:02}", _months(year, number, names)
        yield DateAsked(match.start(), match.end(), name.encode(), tuple(dict.fromkeys(spellings)))
        count += 1
        if count == _MOST_DATES:
            return


def _part(match: re.Match[str], name: str) -> str:
    return next((part for number in range(5) if (part := match.groupdict().get(f"{name}{number}"))), "")


def _names(month: int, languages: Sequence[str]) -> list[bytes]:
    names = [_NAMES[language][month - 1] for language in languages if language in _NAMES]
    return [name.encode() for name in dict.fromkeys([*names, _SHORT[month - 1], *(["sept"] if month == 9 else [])])]


def _days(year: str, month: int, day: int, names: Sequence[bytes]) -> Iterator[_Spelling]:
    yield (f"{year}-{month:02}-{day:02}".encode(),)
    yield from (
        (f"{day_digits}.{month_digits}.{year}".encode(),)
        for day_digits in _digits(day)
        for month_digits in _digits(month)
    )
    yield (f"{year}.{month:02}.{day:02}".encode(),)
    yield (f"{year}{month:02}{day:02}".encode(),)
    parts = [
        (day_digits.encode(), month_digits.encode())
        for day_digits, month_digits in product(_digits(day), _digits(month))
    ]
    year_term = year.encode()
    for day_digits, month_digits in parts:
        yield from (
            (year_term, month_digits, day_digits),
            (day_digits, month_digits, year_term),
            (month_digits, day_digits, year_term),
        )
    for name, digits in product(names, (*_digits(day), _ordinal(day))):
        yield from ((digits.encode(), name, year_term), (name, digits.encode(), year_term))


def _months(year: str, month: int, names: Sequence[bytes]) -> Iterator[_Spelling]:
    year_term = year.encode()
    yield from ((name, year_term) for name in names)
    yield (year_term, f"{month:02}".encode())
    yield from ((digits.encode(), year_term) for digits in _digits(month))


def _digits(number: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys((f"{number:02}", str(number))))


def _ordinal(day: int) -> str:
    return f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


# ---- options: Which options of commands (`--no-deps`) does a question name?

_MOST_OPTIONS: Final = 16
_OPTION = re.compile(r"(?<![\w-])(?:--[A-Za-z]\w*(?:-\w+)*|-[A-Za-z]\w*(?:-\w+)+)(?![\w-])")


def options_in(text: str) -> tuple[str, ...]:
    """The options of commands that a text names, each once, without their dashes; of very many the first.

    >>> options_in("what do --no-deps, -fno-builtin and --verbose mean -- and well-known words?")
    ('no-deps', 'fno-builtin', 'verbose')
    """
    return tuple(dict.fromkeys(option[0].lstrip("-") for option in _OPTION.finditer(text)))[:_MOST_OPTIONS]


# ---- definitions: Does a question ask where something is defined?

_WHERE = re.compile(
    r"(?s:\b(?:where|wo|où|dónde|donde|dove|waar|which (?:file|module|package))\b.{1,200}?)"
    r"\b(defined|implemented|declared|definiert|implementiert|deklariert|défini|implémenté|define|definid[oa]|definit[oa]"
    r"|gedefinieerd)\b|\b(definition|implementation|declaration) of\b",
    re.IGNORECASE,
)
_LONGEST_WHERE = 300


def asking_where(text: str) -> bytes:
    """The word by which a question asks where something is defined, as a term; nothing if it does not.

    >>> [asking_where(text) for text in ("where is evolve() defined", "Wo wird das Limit definiert?", "where is it")]
    [b'defined', b'definiert', b'']
    """
    match = _WHERE.search(text) if len(text) <= _LONGEST_WHERE else None
    return b"" if match is None else (match[1] or match[2]).lower().encode()
