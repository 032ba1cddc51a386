"""No pattern takes a hundred times as long for ten times as much: hostile text costs no more than its length.

Every pattern in the package is found (compiled objects in its modules, and literals handed to `re`), its worst inputs
are made from its own parts, and the time for such an input is compared with the time for one ten times as long.
Linear work gives about 10, quadratic 100; the bound of 40 leaves room for a busy machine.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

import brimful
from brimful.densify.wording import shown
from brimful.documents.ignores import IgnoreRules
from brimful.documents.loaders.html import read_page
from brimful.documents.loaders.office import _tidy
from brimful.documents.secrets import secret_in
from tests.properties.growth import growth, seconds

BOUND = 40
SMALL, LARGE = 1_000, 10_000  # characters
NOTICED_SECONDS = 0.004
"""Below this nothing is compared: a pattern that is quadratic is far above it at the larger size."""

BOUNDED = {
    # Patterns that see a bounded piece of text only, with what bounds it.
    "brimful.assembly.formats.plain._END": "the end of a window, from where its text was said to end",
    "brimful.documents.loaders.html._CHARSET": "the first 4,096 bytes of a page",
    "brimful.documents.loaders.html._PROLOG": "the first 1,024 bytes of a page",
    "brimful.densify.failures._BROKEN": "a provider's message of 4,000 characters",
    "brimful.densify.failures._OVER": "a provider's message of 4,000 characters",
    "brimful.densify.failures._QUOTA": "a provider's message of 4,000 characters",
    "brimful.densify.extractive._PROMPTED_TEXT": "a prompt of our own, which always ends with what it looks for",
    "brimful.testing.provider._TEXT": "the same",
    "brimful.outline.markup._MAN": "the first 2,000 bytes of a text",
    "brimful.outline.statements._OWNER": "the 400 bytes before a name",
    **{
        f"brimful.outline.languages._CLOSERS{at}": "tried at the start of a line only"
        for at in ("", *(f"[{n}]" for n in range(1, 6)))
    },
    "brimful.outline.kinds._CODE_END": "the first 300 bytes of a line",
    "brimful.text.vocabularies._BEDROCK": "the name of a model",
    **{f"brimful.outline.kinds._GUESSES[{n}]": "the first 8,192 bytes of a file" for n in range(1, 12)},
}


ANCHORED = {"match", "fullmatch"}


@dataclass(frozen=True)
class Found:
    """A pattern, and whether it is only ever tried at one place of a text."""

    pattern: re.Pattern[str] | re.Pattern[bytes]
    anchored: bool


def patterns() -> dict[str, Found]:
    """Every pattern of the package by where it stands."""
    found: dict[str, Found] = {}
    for module in pkgutil.walk_packages(brimful.__path__, "brimful."):
        if ".adapters" in module.name or module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        tree = ast.parse(Path(loaded.__file__ or "").read_text())
        called = uses(tree)
        for name, value in vars(loaded).items():
            for number, each in enumerate(compiled(value)):
                ways = called.get(name, set()) if isinstance(value, re.Pattern) else {"search"}
                if ways:  # where it is only imported, it is looked at where it stands
                    where = f"{module.name}.{name}{f'[{number}]' if number else ''}"
                    found[where] = Found(each, anchored=ways <= ANCHORED)
        found.update(literals(module.name, tree))
    return {name: each for name, each in found.items() if name not in BOUNDED}


def compiled(value: object) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    """The patterns in a value of a module."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from compiled(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from compiled(each)


def literals(module: str, tree: ast.AST) -> Iterator[tuple[str, Found]]:
    """The patterns that are written where they are used."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re") or node.func.attr == "compile":
            continue
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str | bytes):
            flags = re.MULTILINE if "MULTILINE" in ast.dump(node) else re.RegexFlag(0)
            pattern = re.compile(first.value, flags)
            yield f"{module}:{first.value!r:.60}", Found(pattern, anchored=node.func.attr in ANCHORED)


def uses(tree: ast.AST) -> dict[str, set[str]]:
    """By name of a pattern, how it is called."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(node.attr)
    return found


def sample(item: tuple[object, object]) -> str:
    """A short text that a part of a pattern matches; nothing where that is not plain to see."""
    code, value = item
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if code is codes.ANY:
        return "a"
    if code is codes.IN:
        return of_class(value)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        low, _, inner = value
        return "".join(map(sample, inner)) * min(max(low, 1), 50)
    if code is codes.SUBPATTERN:
        return "".join(map(sample, value[3]))
    if code is codes.BRANCH:
        return "".join(map(sample, value[1][0]))
    if code is codes.ATOMIC_GROUP:
        return "".join(map(sample, value))
    return ""


def of_class(items: list[tuple[object, object]]) -> str:
    """A character that a class holds."""
    probe = re.compile(f"[{''.join(map(written, items))}]")
    return next((letter for letter in "aA0 _-\t\n<>/=\"'`.,#*é" if probe.match(letter)), "")


def written(item: tuple[object, object]) -> str:
    """A part of a class as it is written."""
    code, value = item
    if code is codes.NEGATE:
        return "^"
    if code is codes.LITERAL:
        return re.escape(chr(value))
    if code is codes.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    names = {
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_WORD: r"\W",
    }
    return names[value]


def fragments(pattern: re.Pattern[str] | re.Pattern[bytes]) -> set[tuple[str, str]]:
    """Texts to put once in front and to repeat: what leads to each part of a pattern, and each part by itself."""
    found: set[tuple[str, str]] = {("", each) for each in " \t\n<a0\\[(&"}
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    todo = [list(parser.parse(text, pattern.flags & ~re.UNICODE & ~re.LOCALE))]
    while todo:
        items = todo.pop()
        before = ""
        for item in items:
            here = sample(item)
            found |= {("", before), ("", before + here), ("", here), (before, here), (before + here, here[:1])}
            before += here
            todo += parts_of(item)
    return {(lead, each) for lead, each in found if each}


def parts_of(item: tuple[object, object]) -> list[list[tuple[object, object]]]:
    """The parts that a part is made of."""
    code, value = item
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [list(value[2])]
    if code is codes.SUBPATTERN:
        return [list(value[3])]
    if code is codes.BRANCH:
        return [list(each) for each in value[1]]
    if code is codes.ATOMIC_GROUP:
        return [list(value)]
    return []


def ratio(make: Callable[[int], Callable[[], object]]) -> float:
    """How much longer ten times as much takes; 0 where even that takes no time worth speaking of."""

    def measure() -> float:
        large = seconds(make(LARGE))
        return large / max(seconds(make(SMALL)), 1e-6) if large >= NOTICED_SECONDS else 0.0

    return growth(measure, BOUND)


FOUND = patterns()


@pytest.mark.parametrize("name", sorted(FOUND))
def test_ten_times_as_much_takes_no_hundred_times_as_long(name: str) -> None:
    """A pattern searched through texts made of its own parts takes time in proportion to their length."""
    pattern, anchored = FOUND[name].pattern, FOUND[name].anchored

    def searching(size: int, lead: str, part: str) -> Callable[[], object]:
        text = lead + part * (size // len(part) + 1)
        given = text if isinstance(pattern.pattern, str) else text.encode()
        if anchored:
            return lambda: (pattern.match(given), pattern.fullmatch(given))  # type: ignore[arg-type]
        return lambda: sum(1 for _ in pattern.finditer(given))  # type: ignore[arg-type]

    for lead, part in sorted(fragments(pattern)):
        found = ratio(lambda size, lead=lead, part=part: searching(size, lead, part))
        assert found < BOUND, f"{name} with {lead[:40]!r} and many {part[:40]!r}: {found:.0f} times"


KEY = "-----BEGIN RSA PRIVATE KEY-----\n"
WHOLE: dict[str, tuple[Callable[[str], object], str, str]] = {
    "secrets: keys that never begin": (lambda text: secret_in(text.encode()), "", KEY + "Proc-Type: 4\n"),
    "secrets: one key, many headers": (lambda text: secret_in(text.encode()), KEY, "Proc-Type: 4,ENCRYPTED\n"),
    "secrets: half an OpenAI key": (lambda text: secret_in(text.encode()), "T3BlbkFJ ", "sk-"),
    "secrets: assignments": (lambda text: secret_in(text.encode()), "", "secret_key="),
    "secrets: letters and digits": (lambda text: secret_in(text.encode()), "AccountKey=", "aA0"),
    "ignores: question marks": (IgnoreRules.parse, "", "?"),
    "ignores: many rules": (IgnoreRules.parse, "", "*a?/**/b\n"),
    "ignores: blanks": (IgnoreRules.parse, "", " "),
    "ignores: escaped blanks": (IgnoreRules.parse, "", "\\ "),
    "ignores: brackets": (IgnoreRules.parse, "", "[[:a"),
    "html: names without values": (read_page, "<div role ", "a"),
    "html: names and blanks": (read_page, "<div role ", "a "),
    "html: quotes": (read_page, "<a name=", "\"'"),
    "html: unclosed tags": (read_page, "", "<a "),
    "html: unclosed comments": (read_page, "", "<!--"),
    "html: navigation": (read_page, "", "<nav><h1>"),
    "failures: brackets": (lambda text: shown(text, None), "", "<"),
    "failures: keys": (lambda text: shown(text, None), "", "sk-"),
    "pdf: blanks": (_tidy, "a", " "),
    "pdf: broken words": (_tidy, "", " \ufffe\r"),
}


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_what_hung_once_takes_time_in_proportion(name: str) -> None:
    """The functions that hostile text once held up for minutes: ten times the text, about ten times the time."""
    work, lead, part = WHOLE[name]

    def doing(size: int) -> Callable[[], object]:
        text = lead + part * (5 * size // len(part))
        return lambda: work(text)

    assert ratio(doing) < BOUND
