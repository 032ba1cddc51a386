"""How much may go into one request, what is a model asked, and what would it all cost?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from brimful.densify.calls import Model
from brimful.densify.extractive import ExtractiveModel
from brimful.densify.slicing import Slicer, groups_of
from brimful.documents.documents import Document
from brimful.errors import InputTooLongError, SettingError
from brimful.settings import DensifySettings
from brimful.text.spans import Span
from brimful.text.tokens import TokenCounter

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
