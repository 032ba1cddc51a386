"""How much may go into one request, where is a text cut for it, what is a model asked, and what would it all cost?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from brimful.densify.calls import Model
from brimful.densify.extractive import ExtractiveModel
from brimful.documents.documents import Document
from brimful.errors import InputTooLongError, SettingError
from brimful.settings import DensifySettings
from brimful.text.spans import Span, merge_spans, on_to_code_point
from brimful.text.tokens import PreparedText, TokenCounter

Task = Literal["part", "merge"]


@cache
def template(task: Task) -> str:
    """The prompt for a task from its file, with a place for the text and for the number of words."""
    return files(__package__).joinpath("prompts", f"{task}.txt").read_text("utf-8").rstrip("\n")


def prompt(task: Task, text: str, *, words: int) -> str:
    """The prompt with a text; nothing in the text is taken for a place to fill.

    >>> prompt("part", "{{words}}", words=80).count("80")
    1
    """
    opening, _, closing = template(task).partition("{{text}}")
    return f"{opening.replace('{{words}}', str(words))}{text}{closing}"


# The allowances of a request:
#
#     context limit = prompt overhead + text + output reserve + safety margin
#
# So the text's allowance follows from the limit, for each run (DESIGN §5.15). The seed's constants (DENS, budget
# values) are the `seed` profile, and guards around the computed values.

# Guards and budget values of DENS.
FLOOR_TOKENS = 320  # parts are not halved below this
_FIRST_PART_TOKENS = 100_000  # a part after a first overflow, where no limit is known
_SMALL_PART_TOKENS = 1_800  # a part for a small model, where no limit is known
_MERGE_CEILING_TOKENS = 2_000  # what the seed profile merges at once
_MOST_OUTPUT_TOKENS = 1_024  # no digest of one part is longer
_MARGIN_PERCENT = 2  # of the limit, unused: providers count some tokens of their own
_ESTIMATE_MARGIN_PERCENT = 10  # where tokens are only estimated
_WRAPPING_TOKENS = 16
"""What a provider adds around a message: roles, special tokens."""
_ROOMY_TOKENS = 32_768
_THOUGHT_TOKENS = 4_096
"""Models with `_ROOMY_TOKENS` may think before they write, and are charged for it from the output's reserve."""
_MIN_TARGET_TOKENS = 48


_SEED_INPUT_TOKENS = 64_000
SEED = DensifySettings(profile="seed")
"""The constants of DENS: 64,000 in, 100,000 or 1,800 to start, halving down to 320, merges of 2,000, 2 attempts."""


@dataclass(frozen=True, slots=True)
class Allowances:
    """Tokens of text for a part and for a merge, and tokens that an answer may have."""

    part: int
    merge: int
    output: int  # what a partial should have at most
    reserve: int  # the most that the provider may send

    def target(self, tokens: int) -> int:
        """The length of an answer to `tokens` of text: two fifths of them, within the output's limit."""
        return min(self.output, max(_MIN_TARGET_TOKENS, tokens * 2 // 5))

    def words(self, tokens: int) -> int:
        """The target as a number of words, which a model can follow; six to ten tokens, so that it is seldom cut.

        >>> Allowances(part=1_000, merge=1_000, output=200, reserve=200).words(1_000)
        120
        """
        return self.target(tokens) * 6 // 10


def allowances(limit: int | None, counter: TokenCounter, settings: DensifySettings, *, small: bool) -> Allowances:
    """A run's first allowances. Without a known limit a small model starts at 1,800, others with the whole text.

    >>> from brimful.text.vocabularies import tokens_for
    >>> allowances(4_096, tokens_for("gpt-4o"), DensifySettings(), small=False).part
    3420
    """
    if limit is None or settings.profile == "seed":
        output = _MOST_OUTPUT_TOKENS // 2
        part = _SMALL_PART_TOKENS if small else _FIRST_PART_TOKENS
        return Allowances(part, _merge_for(part, settings), output, output)
    output = min(max(limit * settings.output_percent // 100, settings.least_output_tokens), _MOST_OUTPUT_TOKENS)
    if settings.target_tokens is not None:
        output = min(output, max(settings.target_tokens, _MIN_TARGET_TOKENS))
    reserve = output + (_THOUGHT_TOKENS if limit >= _ROOMY_TOKENS else 0)
    percent = _MARGIN_PERCENT if counter.exact else _ESTIMATE_MARGIN_PERCENT
    room = limit - reserve - -(-limit * percent // 100) - _WRAPPING_TOKENS
    part = room - overhead(counter, "part")
    merge = room - overhead(counter, "merge")
    if min(part, merge) < 1:
        raise SettingError(
            f"a context limit of {limit} tokens leaves no room for text after the prompt and {reserve} tokens of "
            "output; take a larger model"
        )
    return Allowances(part, merge, output, reserve)


def _merge_for(part: int, settings: DensifySettings) -> int:
    """DENS: max(320, min(part, 2,000)) in its profile; without a known limit, what a part may have."""
    if settings.profile == "seed":
        return max(FLOOR_TOKENS, min(part, _MERGE_CEILING_TOKENS))
    return part


def halved(now: Allowances, overflowed: int, settings: DensifySettings) -> Allowances | None:
    """The allowances after a part of `overflowed` tokens was too long; None where there is nothing left to halve.

    An allowance that would send an equal part again is skipped (DESIGN §5.15).

    >>> halved(Allowances(100_000, 2_000, 512, 512), 40_000, SEED).part
    25000
    >>> halved(Allowances(400, 400, 96, 96), 390, SEED).part, halved(Allowances(320, 320, 96, 96), 320, SEED)
    (320, None)
    """
    if min(now.part, overflowed) <= FLOOR_TOKENS:
        return None
    part = max(now.part // 2, FLOOR_TOKENS)
    while part >= overflowed:
        part = max(part // 2, FLOOR_TOKENS)
    # A part that barely fits leaves no room for a long answer, so the answer shrinks with it.
    output = min(now.output, max(part // 3, _MIN_TARGET_TOKENS))
    return Allowances(part, min(now.merge, _merge_for(part, settings)), output, max(output, now.reserve // 2))


def halved_merge(now: Allowances, overflowed: int, *, pair: int) -> Allowances | None:
    """The allowances after a merge of `overflowed` tokens was too long; that of parts stays.

    `pair` is what the smallest two neighbours need; None where they are all there was to merge.

    >>> halved_merge(Allowances(8_000, 2_000, 512, 512), 1_900, pair=700).merge
    1000
    >>> halved_merge(Allowances(8_000, 2_000, 512, 512), 700, pair=700)
    """
    merge = max(min(now.merge // 2, overflowed * 3 // 4), pair)
    return replace(now, merge=merge) if merge < overflowed else None


def overhead(counter: TokenCounter, task: Task) -> int:
    """The tokens of a prompt without its text."""
    return counter.count(prompt(task, "", words=1_000))


def check_input(tokens: int, settings: DensifySettings) -> None:
    """Refuse a text above the input limit before anything is paid (DENS, densificationInputTooLong)."""
    limit = settings.input_limit_tokens or (_SEED_INPUT_TOKENS if settings.profile == "seed" else None)
    if limit is not None and tokens > limit:
        raise InputTooLongError(
            f"the text has {tokens} tokens and the input limit is {limit}; "
            "raise input_limit_tokens or condense it in pieces"
        )


# Where a text is cut into parts, and which partials are merged together: at the best boundary that leaves the fewest
# parts: section, unit (sentence, statement, record), line, word, code point.

_SLACK = 99
"""Percent to which later parts are planned to be filled; where that is too little room, a part ends within a sentence
rather than that the text takes one part more."""


class Slicer:
    """A source, prepared once and cut as often as allowances change."""

    def __init__(self, document: Document, counter: TokenCounter) -> None:
        self._raw = document.content
        self._prepared: PreparedText = counter.prepare(document.content.decode())
        self._levels: tuple[Sequence[int], ...] = (document.outline.sections.tolist(), document.outline.units.tolist())

    @property
    def tokens(self) -> int:
        """The tokens of the whole source."""
        return self._prepared.count(0, len(self._raw))

    def text(self, part: Span) -> str:
        """A slice as text."""
        return self._raw[part.start : part.end].decode()

    def count(self, part: Span) -> int:
        """The tokens of a slice."""
        return self._prepared.count(part.start, part.end)

    def cut(self, spans: Iterable[Span], allowance: int) -> list[Span]:
        r"""Parts of at most `allowance` tokens that hold every byte of the spans, save blank ones.

        >>> from brimful.text.vocabularies import tokens_for
        >>> slicer = Slicer(Document("a.txt", "One two.\n\nThree four.\n\nFive six."), tokens_for("approximate"))
        >>> [slicer.text(part) for part in slicer.cut([Span(0, 32)], 6)]
        ['One two.\n\nThree four.\n\n', 'Five six.']
        """
        parts = [part for span in spans for part in self._cut(span.start, span.end, max(allowance, 1))]
        return [part for part in parts if self._raw[part.start : part.end].strip()]

    def _cut(self, start: int, end: int, allowance: int) -> Iterator[Span]:
        while start < end:
            tokens = self._prepared.count(start, end)
            stop = end if tokens <= allowance else self._stop(start, end, tokens, allowance)
            yield Span(start, stop)
            start = stop

    def _stop(self, start: int, end: int, tokens: int, allowance: int) -> int:
        """The end of the part at `start`: the last boundary of the best level that costs no part more."""
        furthest = min(max(self._prepared.fit(start, allowance), start), end)
        if furthest <= start:  # a single character over the allowance
            return on_to_code_point(self._raw, start + 1)
        parts_left = max(-(-tokens // allowance) - 1, 1)
        must_take = max(tokens - parts_left * allowance * _SLACK // 100, 1)
        nearest = start + max((furthest - start) * min(must_take, allowance) // allowance, 1)
        for level in self._levels:
            if (cut := _last_between(level, nearest, furthest)) > start:
                return cut
        for gap in (b"\n", b" ", b"\t"):
            if (cut := self._raw.rfind(gap, nearest, furthest) + 1) > start:
                return cut
        return furthest


def _last_between(cuts: Sequence[int], low: int, high: int) -> int:
    last = bisect_right(cuts, high) - 1
    return cuts[last] if last >= bisect_left(cuts, low) and last >= 0 else -1


def missing(spans: Iterable[Span], length: int) -> list[Span]:
    """The ranges of `[0, length)` that the spans leave out.

    >>> [(gap.start, gap.end) for gap in missing([Span(2, 4), Span(4, 6)], 9)]
    [(0, 2), (6, 9)]
    """
    gaps, reached = [], 0
    for span in merge_spans(spans):
        if span.start > reached:
            gaps.append(Span(reached, span.start))
        reached = max(reached, span.end)
    return gaps + ([Span(reached, length)] if reached < length else [])


def groups_of(sizes: Sequence[int], allowance: int, *, between: int) -> list[range]:
    """The fewest groups of neighbours that fit; a group has at least one item.

    >>> groups_of([3, 3, 3, 9, 2], 8, between=1)
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    groups: list[range] = []
    first, used = 0, 0
    for number, size in enumerate(sizes):
        if number > first and used + between + size > allowance:
            groups.append(range(first, number))
            first, used = number, 0
        used += size + (between if number > first else 0)
    return [*groups, range(first, len(sizes))] if sizes else groups


_BETWEEN_TOKENS = 2


@dataclass(frozen=True, slots=True)
class _Forecast:
    """Parts, calls and tokens of a run in which every answer has its target's length and none overflows."""

    model: str
    source_tokens: int
    parts: int
    calls: int
    tokens_sent: int
    tokens_received: int
    exact: bool


def forecast(document: Document, model: Model, *, settings: DensifySettings | None = None) -> _Forecast:
    """The calls of a run that nothing is remembered of; retries and smaller parts come on top.

    >>> from brimful.densify.models import model_for
    >>> forecast(Document("a.txt", "Tea is at four."), model_for("extractive:")).calls
    0
    """
    settings = settings or DensifySettings()
    slicer = Slicer(document, model.counter)
    check_input(slicer.tokens, settings)
    exact = model.counter.exact
    if isinstance(model, ExtractiveModel):
        return _Forecast(model.name, slicer.tokens, 1, 0, 0, 0, exact)
    now = allowances(model.limit(), model.counter, settings, small=model.small)
    parts = slicer.cut([Span(0, len(document))], now.part)
    sizes = [now.target(slicer.count(part)) for part in parts]
    sent = sum(slicer.count(part) + overhead(model.counter, "part") for part in parts)
    calls, received = len(parts), sum(sizes)
    while len(sizes) > 1 and (settings.target_tokens is None or sum(sizes) > settings.target_tokens):
        groups = groups_of(sizes, now.merge, between=_BETWEEN_TOKENS)
        if len(groups) == len(sizes):
            break  # no two of them fit into one request
        totals = [(sum(sizes[group.start : group.stop]), len(group) > 1) for group in groups]
        merges = [tokens for tokens, is_merge in totals if is_merge]
        sizes = [now.target(tokens) if is_merge else tokens for tokens, is_merge in totals]
        calls += len(merges)
        sent += sum(merges) + len(merges) * overhead(model.counter, "merge")
        received += sum(map(now.target, merges))
    return _Forecast(model.name, slicer.tokens, len(parts), calls, sent, received, exact)
