"""What does recall look like as the budget grows? One SVG, drawn here, readable on white and on black."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from brimful.errors import InputError

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 520, 50, 360  # the drawing; names stand to its right
_LINE_HEIGHT = 20
_LONGEST_NAME = 28
_MOST = 16
# Light and dark forms of colours that differ in brightness too; after eight, dashes tell lines apart.
_COLOURS = (
    ("#0b5fa5", "#6cb6ff"),
    ("#b3450b", "#ff9d5c"),
    ("#1a7f37", "#56d364"),
    ("#8250df", "#d2a8ff"),
    ("#9a6700", "#e3b341"),
    ("#bf3989", "#ff9bce"),
    ("#0e7c86", "#56d4dd"),
    ("#57606a", "#b1bac4"),
)
_DASHES = ("", "6 4")


def plot(series: Mapping[str, Mapping[int, float]], *, title: str = "Recall of evidence by budget") -> str:
    """An SVG of recall (0..1) by budget for each named series; the first is drawn last and heaviest.

    Budgets stand at equal distances in order of size, since each is usually twice the one before.
    """
    budgets = sorted({budget for points in series.values() for budget in points})
    if not budgets:
        raise InputError("nothing to draw: give at least one series with one budget")
    if len(series) > _MOST:
        raise InputError(f"{len(series)} series can't be told apart in one drawing; give at most {_MOST}")
    lowest = min(value for points in series.values() for value in points.values())
    floor = max(0, min(int(lowest * 10), 9))  # tenths
    lines = [_curve(number, points, budgets, floor) for number, points in enumerate(series.values())]
    names = [_name(number, name) for number, name in enumerate(series)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(_described(series))}</desc>",
        _style(),
        f'<text class="head" x="{_LEFT}" y="26">{escape(title)}</text>',
        *_grid(budgets, floor),
        *reversed(lines),
        *names,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _style() -> str:
    def rules(dark: int) -> str:
        drawn = "".join(f".c{n}{{stroke:{pair[dark]};fill:{pair[dark]}}}" for n, pair in enumerate(_COLOURS))
        return f"text{{fill:{('#1f2328', '#e6edf3')[dark]}}}.grid{{stroke:{('#d0d7de', '#3d444d')[dark]}}}{drawn}"

    return (
        "<style>text{font:13px sans-serif;stroke:none}.head{font-size:15px;font-weight:bold}"
        ".line{fill:none!important;stroke-width:2}.first{stroke-width:3.5}.grid{stroke-width:1}"
        f"{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"
    )


def _across(budgets: Sequence[int], budget: int) -> float:
    steps = max(len(budgets) - 1, 1)
    return _LEFT + (_RIGHT - _LEFT) * budgets.index(budget) / steps


def _up(value: float, floor: int) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (value * 10 - floor) / (10 - floor)


def _grid(budgets: Sequence[int], floor: int) -> list[str]:
    parts = []
    for tenth in range(floor, 11):
        y = _up(tenth / 10, floor)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for budget in budgets:
        x = _across(budgets, budget)
        parts.append(f'<text x="{x:.1f}" y="{_BOTTOM + 22}" text-anchor="middle">{budget:,}</text>')
    middle = (_LEFT + _RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{_BOTTOM + 46}" text-anchor="middle">budget in tokens</text>')
    return parts


def _look(number: int) -> tuple[str, str]:
    dash = _DASHES[number // len(_COLOURS)]
    return f"c{number % len(_COLOURS)}", f' stroke-dasharray="{dash}"' if dash else ""


def _curve(number: int, points: Mapping[int, float], budgets: Sequence[int], floor: int) -> str:
    colour, dash = _look(number)
    weight = " first" if number == 0 else ""
    places = [(_across(budgets, budget), _up(points[budget], floor)) for budget in sorted(points)]
    path = "".join(
        f'<line class="line {colour}{weight}"{dash} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        for (x1, y1), (x2, y2) in pairwise(places)
    )
    dots = "".join(f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places)
    return path + dots


def _name(number: int, name: str) -> str:
    colour, dash = _look(number)
    weight = " first" if number == 0 else ""
    y = _TOP + 10 + number * _LINE_HEIGHT
    shown = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    x = _RIGHT + 24
    return (
        f'<line class="line {colour}{weight}"{dash} x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}"/>'
        f'<text x="{x + 32}" y="{y}">{escape(shown)}</text>'
    )


def _described(series: Mapping[str, Mapping[int, float]]) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(f"{points[budget]:.3f} at {budget}" for budget in sorted(points))
        for name, points in series.items()
    )
