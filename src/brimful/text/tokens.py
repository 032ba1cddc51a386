"""How many tokens will the model count?

Every counter answers four questions about ordinary text (text that looks like a special token is text): how
many tokens, which prefix fits, what does a slice of this document cost, what do two texts cost together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import Protocol, Self, final, runtime_checkable

from brimful.errors import SettingError
from brimful.text import joints
from brimful.text.bpe import BpeCounter
from brimful.text.spans import back_to_code_point

__all__ = [
    "APPROXIMATE",
    "BpeCounter",
    "EstimatedCounter",
    "Measure",
    "PreparedText",
    "TokenCounter",
    "counting",
    "in_row",
    "least_tokens",
]


class Measure(Protocol):
    """The token cost of a text, which adds up without the text being counted again."""

    @property
    def tokens(self) -> int:
        """The count of the text."""

    def __add__(self, following: Self) -> Self:
        """The exact cost of this text followed by another."""


def in_row(counter: TokenCounter, pieces: Iterable[Measure | str]) -> Measure:
    """The cost of texts one after the other; short ones need not be measured before.

    >>> counter = BpeCounter("o200k_base")
    >>> in_row(counter, ["Fills the context ", counter.measure("to the brim.")]).tokens
    8
    """
    measures = (counter.measure(piece) if isinstance(piece, str) else piece for piece in pieces if piece != "")
    return reduce(add, measures, counter.measure(""))


class PreparedText(Protocol):
    """A text whose slices are counted in microseconds. Offsets are bytes of its UTF-8 form."""

    def count(self, start: int, end: int) -> int:
        """The tokens of the slice `[start, end)`, exactly what the counter says of it."""

    def fit(self, start: int, max_tokens: int) -> int:
        """The largest end, on a code point, at which the slice from `start` still fits."""


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of ordinary text."""

    @property
    def name(self) -> str:
        """The vocabulary or estimate, as `tokens_for` knows it."""

    @property
    def exact(self) -> bool:
        """Whether the count equals the model's; false for estimates."""

    def count(self, text: str) -> int:
        """The tokens of a whole text."""

    def truncate(self, text: str, max_tokens: int, *, marker: str = "...") -> str:
        """The text if it fits, else its longest prefix that fits with the marker appended."""

    def prepare(self, text: str) -> PreparedText:
        """The text in a form that counts its slices."""

    def measure(self, text: str) -> Measure:
        """The text's cost in a form that adds up."""


@final
class EstimatedCounter:
    """An estimate for a model without a public vocabulary: the largest of some exact counts times a ratio.

    Ratios are whole percents and the products are rounded up, so an estimate is equal on every machine.

    >>> counter = EstimatedCounter("mine", {BpeCounter("o200k_base"): 145})
    >>> counter.count("Fills the context to the brim.")
    12
    """

    exact = False

    def __init__(self, name: str, percents: dict[BpeCounter, int]) -> None:
        self.name = name
        self._counters = tuple(percents)
        self._percents = tuple(percents.values())

    def __repr__(self) -> str:
        return f"EstimatedCounter({self.name!r}, {dict(zip(self._counters, self._percents, strict=True))})"

    def count(self, text: str) -> int:
        """The estimate for a whole text."""
        return _largest((counter.count(text) for counter in self._counters), self._percents)

    def least(self, text: str) -> int:
        """The least that a text adds to the estimate of any text around it."""
        shares = zip(self._counters, self._percents, strict=True)
        return min(counter.measure(text).inner * percent // 100 for counter, percent in shares)

    def truncate(self, text: str, max_tokens: int, *, marker: str = "...") -> str:
        """The text if it fits, else its longest prefix that fits with the marker appended."""
        text = joints.surely_too_long(self, text, max_tokens)
        return joints.truncate(self, text, max_tokens, marker=marker)

    def prepare(self, text: str) -> PreparedText:
        """The text prepared for every count that the estimate is made of."""
        return _EstimatedText(text, tuple(counter.prepare(text) for counter in self._counters), self._percents)

    def measure(self, text: str) -> Measure:
        """The measures of every count that the estimate is made of."""
        return _EstimatedMeasure(tuple(counter.measure(text) for counter in self._counters), self._percents)


def counting(name: str, function: Callable[[str], int]) -> TokenCounter:
    """A counter from your own function, for a model whose vocabulary is not here.

    That it is exact is your word. Nothing is assumed of the function, so a measure keeps its text, and a sum
    counts the joined text again.

    >>> words = counting("words", lambda text: len(text.split()))
    >>> (words.measure("to the br") + words.measure("im")).tokens
    3
    >>> words.truncate("one two three", 2, marker=" …")
    'one …'
    """
    return _FunctionCounter(name, function)


def least_tokens(counter: TokenCounter, text: str) -> int:
    """Tokens that a text has at least, wherever it is put in: those between its joints; 0 where a counter can't say.

    >>> least_tokens(BpeCounter("o200k_base"), "Fills the context to the brim.")
    5
    """
    if isinstance(counter, BpeCounter):
        return counter.measure(text).inner
    if isinstance(counter, EstimatedCounter):
        return counter.least(text)
    return 0


@final
class _FunctionCounter:
    """Counts by a function of the text, of which nothing is assumed: a sum counts the joined text."""

    def __init__(self, name: str, function: Callable[[str], int], *, exact: bool = True) -> None:
        self.name = name
        self.exact = exact
        self._function = function

    def __repr__(self) -> str:
        return f"counting({self.name!r}, {self._function!r})"

    def count(self, text: str) -> int:
        tokens = self._function(text)
        if not isinstance(tokens, int) or tokens < 0:
            raise SettingError(
                f"token counter {self.name!r} said {tokens!r} for a text of {len(text)} characters; "
                "it must return a whole number from 0"
            )
        return tokens

    def truncate(self, text: str, max_tokens: int, *, marker: str = "...") -> str:
        return joints.truncate(self, text, max_tokens, marker=marker)

    def prepare(self, text: str) -> PreparedText:
        return _FunctionText(self, text)

    def measure(self, text: str) -> Measure:
        joints.utf8(text)
        return _FunctionMeasure(self, text)


APPROXIMATE = _FunctionCounter("approximate", lambda text: (len(joints.utf8(text)) + 3) // 4, exact=False)
"""Four bytes to a token, rounded up, as CFS §4 approximates."""


@final
class _EstimatedMeasure:
    __slots__ = ("_percents", "parts")

    def __init__(self, parts: tuple[Measure, ...], percents: tuple[int, ...]) -> None:
        self.parts = parts
        self._percents = percents

    @property
    def tokens(self) -> int:
        return _largest((part.tokens for part in self.parts), self._percents)

    def __add__(self, following: Self) -> Self:
        if not isinstance(following, _EstimatedMeasure) or following._percents != self._percents:
            return NotImplemented
        return type(self)(tuple(map(add, self.parts, following.parts)), self._percents)


@final
class _FunctionMeasure:
    __slots__ = ("_counter", "_text")

    def __init__(self, counter: _FunctionCounter, text: str) -> None:
        self._counter = counter
        self._text = text

    @property
    def tokens(self) -> int:
        return self._counter.count(self._text)

    def __add__(self, following: Self) -> Self:
        if not isinstance(following, _FunctionMeasure) or following._counter is not self._counter:
            return NotImplemented
        return type(self)(self._counter, self._text + following._text)


@final
class _EstimatedText:
    __slots__ = ("_parts", "_percents", "_raw")

    def __init__(self, text: str, parts: tuple[PreparedText, ...], percents: tuple[int, ...]) -> None:
        self._raw = joints.utf8(text)
        self._parts = parts
        self._percents = percents

    def count(self, start: int, end: int) -> int:
        return _largest((part.count(start, end) for part in self._parts), self._percents)

    def fit(self, start: int, max_tokens: int) -> int:
        shares = zip(self._parts, self._percents, strict=True)
        end = min(part.fit(start, max_tokens * 100 // percent) for part, percent in shares)
        while end > start and self.count(start, end) > max_tokens:
            end = back_to_code_point(self._raw, end - 1)
        return end


@final
class _FunctionText:
    __slots__ = ("_counter", "_raw")

    def __init__(self, counter: _FunctionCounter, text: str) -> None:
        self._counter = counter
        self._raw = joints.utf8(text)

    def count(self, start: int, end: int) -> int:
        joints.check_slice(self._raw, start, end)
        return self._counter.count(self._raw[start:end].decode())

    def fit(self, start: int, max_tokens: int) -> int:
        joints.check_slice(self._raw, start, len(self._raw))
        return start + len(joints.longest(self._counter.count, self._raw[start:].decode(), max_tokens).encode())


def _largest(counts: Iterable[int], percents: tuple[int, ...]) -> int:
    return max(-(-count * percent // 100) for count, percent in zip(counts, percents, strict=True))
