"""How much may go into one request, and how much may come back?

    context limit = prompt overhead + text + output reserve + safety margin

So the text's allowance follows from the limit, for each run (DESIGN §5.15). The seed's constants (DENS, budget values)
are the `seed` profile, and guards around the computed values.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from brimful.densify.prompts import prompt
from brimful.errors import InputTooLongError, SettingError, choose
from brimful.text.tokens import TokenCounter

Profile = Literal["computed", "seed"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

_WRAPPING_TOKENS = 16
"""What a provider adds around a message: roles, special tokens."""
_ROOMY_TOKENS = 32_768
_THOUGHT_TOKENS = 4_096
"""Models with so much room may think before they write, and are charged for it from the output's reserve."""
_LEAST_TARGET_TOKENS = 48


@dataclass(frozen=True, slots=True)
class DensifySettings:
    """How a text is condensed. `seed` has DENS's constants; `computed` derives them from the context limit.

    >>> DensifySettings(attempts=0)
    Traceback (most recent call last):
    brimful.errors.SettingError: attempts is 0; it must be at least 1
    """

    profile: Profile = "computed"
    target_tokens: int | None = None  # how long the digest should be; None: one answer of the model
    input_limit_tokens: int | None = None  # longer texts are refused before any call; 64,000 in the seed
    # Guards (DENS, budget values)
    floor_tokens: int = 320  # halving stops here
    first_part_tokens: int = 100_000  # where no limit is known, after a first overflow
    small_part_tokens: int = 1_800  # where no limit is known, for a model that is known to be small
    merge_ceiling_tokens: int = 2_000  # seed profile only
    # What is left out of the allowance
    output_percent: int = 12
    least_output_tokens: int = 96
    most_output_tokens: int = 1_024
    margin_percent: int = 2
    estimate_margin_percent: int = 10  # instead, where tokens are only estimated
    # The run
    most_passes: int = 16
    attempts: int = 2
    parallel: int = 4
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 60.0
    deadline_seconds: float | None = None
    allow_gaps: bool = False  # name the parts that failed instead of failing

    def __post_init__(self) -> None:
        choose(self.profile, PROFILES, what="profile")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool | str) or value is None:
                continue
            least = 0 if field.name.endswith(("percent", "wait_seconds")) else 1
            if not isinstance(value, int | float) or not value >= least:
                raise SettingError(f"{field.name} is {value!r}; it must be at least {least}")
        if self.output_percent + max(self.margin_percent, self.estimate_margin_percent) >= 90:
            raise SettingError(
                f"output_percent {self.output_percent} and the margin leave under 10 percent for the text; lower one"
            )


SEED = DensifySettings(profile="seed", input_limit_tokens=64_000)
"""The constants of DENS: 64,000 in, 100,000 or 1,800 to start, halving down to 320, merges of 2,000, 2 attempts."""


@dataclass(frozen=True, slots=True)
class Allowances:
    """Tokens of text for a part and for a merge, and tokens that an answer may have."""

    part: int
    merge: int
    output: int  # what a partial should have at most
    reserve: int  # what the provider is told as the most

    def target(self, tokens: int) -> int:
        """How long the answer to so much text should be: two fifths of it, within the output's limit."""
        return min(self.output, max(_LEAST_TARGET_TOKENS, tokens * 2 // 5))

    def words(self, tokens: int) -> int:
        """The target as a number of words, which a model can follow; six to ten tokens, so that it is seldom cut.

        >>> Allowances(part=1_000, merge=1_000, output=200, reserve=200).words(1_000)
        120
        """
        return self.target(tokens) * 6 // 10


def allowances(limit: int | None, counter: TokenCounter, settings: DensifySettings, *, small: bool) -> Allowances:
    """What a run starts with. Without a known limit a small model starts at 1,800, others with the whole text.

    >>> from brimful.text.vocabularies import tokens_for
    >>> allowances(4_096, tokens_for("gpt-4o"), DensifySettings(), small=False).part
    3420
    """
    if limit is None or settings.profile == "seed":
        output = settings.most_output_tokens // 2
        part = settings.small_part_tokens if small else settings.first_part_tokens
        return Allowances(part, _merge_for(part, settings), output, output)
    output = min(max(limit * settings.output_percent // 100, settings.least_output_tokens), settings.most_output_tokens)
    if settings.target_tokens is not None:
        output = min(output, max(settings.target_tokens, _LEAST_TARGET_TOKENS))
    reserve = output + (_THOUGHT_TOKENS if limit >= _ROOMY_TOKENS else 0)
    percent = settings.margin_percent if counter.exact else settings.estimate_margin_percent
    room = limit - reserve - -(-limit * percent // 100) - _WRAPPING_TOKENS
    part = room - overhead(counter, "part")
    merge = room - overhead(counter, "merge")
    if min(part, merge) < 1:
        raise SettingError(
            f"a context limit of {limit} tokens leaves no room for text beside the prompt and {reserve} tokens of "
            "output; take a larger model or lower least_output_tokens"
        )
    return Allowances(part, merge, output, reserve)


def _merge_for(part: int, settings: DensifySettings) -> int:
    """DENS: max(320, min(part, 2,000)) in its profile; without a known limit, what a part may have."""
    if settings.profile == "seed":
        return max(settings.floor_tokens, min(part, settings.merge_ceiling_tokens))
    return part


def halved(now: Allowances, overflowed: int, settings: DensifySettings) -> Allowances | None:
    """The allowances after a part of so many tokens overflowed; None where there is nothing left to halve.

    An allowance that would send the same part again is skipped (DESIGN §5.15).

    >>> halved(Allowances(100_000, 2_000, 512, 512), 40_000, SEED).part
    25000
    >>> halved(Allowances(400, 400, 96, 96), 390, SEED).part, halved(Allowances(320, 320, 96, 96), 320, SEED)
    (320, None)
    """
    if min(now.part, overflowed) <= settings.floor_tokens:
        return None
    part = max(now.part // 2, settings.floor_tokens)
    while part >= overflowed:
        part = max(part // 2, settings.floor_tokens)
    # A part that barely fits leaves no room for a long answer, so the answer shrinks with it.
    output = min(now.output, max(part // 3, _LEAST_TARGET_TOKENS))
    return Allowances(part, min(now.merge, _merge_for(part, settings)), output, max(output, now.reserve // 2))


def halved_merge(now: Allowances, overflowed: int, *, pair: int) -> Allowances | None:
    """The allowances after a merge of so many tokens overflowed, the parts' own untouched.

    `pair` is what the smallest two neighbours need; None where they are all there was to merge.

    >>> halved_merge(Allowances(8_000, 2_000, 512, 512), 1_900, pair=700).merge
    1000
    >>> halved_merge(Allowances(8_000, 2_000, 512, 512), 700, pair=700)
    """
    merge = max(min(now.merge // 2, overflowed * 3 // 4), pair)
    return replace(now, merge=merge) if merge < overflowed else None


def overhead(counter: TokenCounter, task: Literal["part", "merge"]) -> int:
    """The tokens of a prompt without its text."""
    return counter.count(prompt(task).render("", words=1_000))


def check_input(tokens: int, settings: DensifySettings) -> None:
    """Refuse a text above the input limit before anything is paid (DENS, densificationInputTooLong)."""
    if settings.input_limit_tokens is not None and tokens > settings.input_limit_tokens:
        raise InputTooLongError(
            f"the text has {tokens} tokens and the input limit is {settings.input_limit_tokens}; "
            "raise input_limit_tokens or condense it in pieces"
        )
