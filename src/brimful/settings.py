"""The settings of a question, with their defaults.

    Ask ─┬─ budget      how much may be filled, and what is kept for the rest of the call
         ├─ settings    AskSettings; in it `windows` (WindowSettings) and `condensing` (DensifySettings)
         └─ field       FieldSettings: what counts how much

A choice is declared here and nowhere else; its option, key, schema and docs are derived.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from dataclasses import field as later
from functools import partial
from typing import Any, ClassVar, Literal, get_args

from brimful.budget import LARGEST, Budget, budget_of
from brimful.choices import Choice, check, choice, choices_of, from_text, normalise
from brimful.errors import SettingError, choose
from brimful.rules import VERSION as _VERSION

Sizing = Literal["density", "radial", "elastic", "field"]
Strategy = Literal["adjacent", "temporal", "semantic", "narrative"]
Packing = Literal["greedy", "interleaved", "score_weighted"]
Fill = Literal["brim", "relevant"]
Order = Literal["relevance", "best", "ends"]
Meaning = Literal["auto", "words"]
LineNumbers = Literal["ranges", "every", "none"]
FormatName = Literal["plain", "markdown", "xml", "json", "messages", "anthropic", "windows"]
_DensifyProfile = Literal["computed", "seed"]

SIZINGS: tuple[Sizing, ...] = get_args(Sizing)
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
PACKINGS: tuple[Packing, ...] = get_args(Packing)
FILLS: tuple[Fill, ...] = get_args(Fill)
ORDERS: tuple[Order, ...] = get_args(Order)
MEANINGS: tuple[Meaning, ...] = get_args(Meaning)
FORMATS: tuple[FormatName, ...] = get_args(FormatName)
LINE_NUMBERS: tuple[LineNumbers, ...] = get_args(LineNumbers)

DEFAULT_MODEL = "o200k_base"
DEFAULT_BUDGET = 4_000
_MOST_MAP_PERCENT = 50
VERSION = _VERSION


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How hits become windows. The seeds' constants, in bytes (ruling 1).

    >>> WindowSettings(max_window_bytes=-1)
    Traceback (most recent call last):
    brimful.errors.SettingError: max_window_bytes is -1; it must be at least 200
    """

    # Their other numbers are constants: 085a §2-§3 for "density", 085b §5.2 for "radial", 105 §2.2 for "elastic".
    merge_gap_bytes: ClassVar[int] = 500
    min_viable_bytes: ClassVar[int] = 150
    min_window_bytes: ClassVar[int] = 200
    min_padding_bytes: ClassVar[int] = 50
    max_padding_bytes: ClassVar[int] = 500
    chars_per_token: ClassVar[int] = 4
    expected_results: ClassVar[int] = 10
    min_radius_bytes: ClassVar[int] = 200
    max_radius_bytes: ClassVar[int] = 32_000
    refill: ClassVar[bool] = True  # what a sizing leaves unspent, or a merge saves, widens the windows
    trail_share: ClassVar[int] = 32  # of prose, for one byte of the headings above it: more costs text
    whole_share: ClassVar[int] = 20  # percent of the budget, at most, for whole things around what was found

    max_window_bytes: int = choice(2_500, "Sizing density: the longest window.", unit="bytes", low=min_window_bytes)
    snap: bool = choice(True, "Move the edges of windows to the nearest natural boundary.")
    definitions: bool = choice(False, "Code: also show imports and definitions of the names that a window uses.")

    def __post_init__(self) -> None:
        check(self)


_weight = partial(choice, low=0, high=1_000)


@dataclass(frozen=True, slots=True)
class FieldSettings:
    """Weights of the signals that score units; the defaults were measured on the evaluation sets."""

    unit: float = _weight(1.0, "A word in the unit itself.")
    near: float = _weight(1.0, "A word in its near surroundings.")
    near_reach: int = _weight(2, "How far the surroundings reach on each side.", unit="units")
    document: float = _weight(1.5, "A word anywhere in the document.")
    saturation: float = _weight(1.2, "BM25's k1.")
    length: float = _weight(0.75, "BM25's b.")
    name: float = _weight(2.0, "How often a word in the path or title counts as if it stood in the text.")
    heading: float = _weight(0.3, "A word in a heading, in each unit below it.")
    definition: float = _weight(0.75, "A unit that defines a name of the question.")
    priors: bool = choice(True, "Tests, examples, change logs, generated text and repeated lines count less.")
    asking: float = _weight(0.2, "Words that only ask, against a word's one.")
    repeated: float = _weight(4.0, "BM25's k3: how much more a word counts that a question repeats; 0 counts it once.")

    def __post_init__(self) -> None:
        check(self)


_tokens = partial(choice, low=1, unit="tokens")


@dataclass(frozen=True, slots=True)
class DensifySettings:
    """How a text is condensed. `seed` has DENS's constants; `computed` derives them from the context limit.

    >>> DensifySettings(attempts=0)
    Traceback (most recent call last):
    brimful.errors.SettingError: attempts is 0; it must be a whole number from 1 to 100
    """

    profile: _DensifyProfile = choice(
        "computed", "Work out the parts from the model's limit, or take fixed ones.", names=get_args(_DensifyProfile)
    )
    target_tokens: int | None = _tokens(None, "How long the digest should be; none: one answer of the model.")
    input_limit_tokens: int | None = _tokens(None, "Refuse a longer text before any call.")
    output_percent: ClassVar[int] = 12  # of the model's limit, for its answer
    least_output_tokens: ClassVar[int] = 96
    attempts: int = choice(2, "How often a call is tried.", low=1, high=100)
    parallel: int = choice(4, "Calls at a time.", low=1, high=256)
    deadline_seconds: float | None = choice(None, "All of it ends after this.", low=1, unit="seconds")
    allow_gaps: bool = choice(False, "Name the parts that failed instead of failing.")

    def __post_init__(self) -> None:
        check(self)


_twins = partial(
    choice, help="Show passages this similar in several documents once; none shows every one.", low=0, high=1
)


@dataclass(frozen=True, slots=True)
class PackSettings:
    """How windows become a context (CFS AssemblyConfig)."""

    packing: Packing = choice("greedy", "Which windows get in first.", names=PACKINGS, common=True)
    # "brim" grows windows into their documents until the next unit would not fit; "relevant" adds nothing.
    fill: Fill = choice("brim", "Fill the rest of the budget, or stop at what matters.", names=FILLS, common=True)
    trim: bool = choice(True, "Cut the best window that does not fit, so that its hits still get in.")
    order: Order = choice(
        "relevance",
        "Documents by their best window, the three best windows first, or the best documents at both ends.",
        names=ORDERS,
        common=True,
    )
    dedup_threshold: float | None = choice(
        None, "Leave out windows this similar to a better one; 0.8 in CFS, none keeps all.", low=0, high=1
    )
    twin_threshold: float | None = _twins(None)
    max_per_document: int | None = choice(None, "Windows of one document at most.", low=1)
    prefer_recent: bool = choice(False, "Let newer documents count for more; what is a month older gains half as much.")
    recent_half_life_days: ClassVar[int] = 30
    include_metadata: bool = choice(False, "Show title, kind, language and time of each document.")
    line_numbers: LineNumbers = choice(
        "ranges", "Name the lines of each window, number every line, or neither.", names=LINE_NUMBERS, common=True
    )

    def __post_init__(self) -> None:
        check(self)


_narrows = partial(choice, common=True, searches=True, is_set=False)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may answer; a single text is taken as a tuple of one.

    >>> Filters(path="docs/", without=["draft"])
    Filters(path=('docs/',), not_path=(), kind=(), after=None, before=None, phrase=(), without=('draft',))
    """

    path: tuple[str, ...] = ()
    not_path: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    phrase: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        normalise(self, **{name: _texts(name, getattr(self, name)) for name in _SEVERAL})
        for name in ("after", "before"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise SettingError(f"{name} is {value!r}; it is a year, month, day or time, such as '2024-05-12'")


_SEVERAL = ("path", "not_path", "kind", "phrase", "without")
FILTER_NAMES: tuple[str, ...] = tuple(item.name for item in fields(Filters))


def _texts(name: str, value: object) -> tuple[str, ...]:
    """One text or several, none of them empty."""
    several = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else None
    if several is None or not all(isinstance(item, str) and item.strip() for item in several):
        raise SettingError(f"{name} is {value!r}; it is a text, or several, and none of them empty")
    return several


@dataclass(frozen=True, slots=True)
class AskSettings(PackSettings):
    """All choices of a question but its budget."""

    model: str = choice(DEFAULT_MODEL, "Whose tokens: a model or a vocabulary.", unit="name", common=True)
    format: FormatName = choice("plain", "How the context is written.", names=FORMATS, common=True)
    sizing: Sizing = choice("field", "How much surrounds a hit.", names=SIZINGS, common=True)
    strategy: Strategy = choice("adjacent", "Which windows belong together.", names=STRATEGIES, common=True)
    twin_threshold: float | None = _twins(0.9)
    # `Context.prompt` has the map, the context and the question, and the budget covers all three.
    with_question: bool | None = choice(
        None, "Add the question after the context; default: only in messages.", flag="question"
    )
    map_percent: int = choice(
        0,
        "Share of the budget for a map of the corpus at the beginning.",
        low=0,
        high=_MOST_MAP_PERCENT,
        unit="percent",
        flag="map",
    )
    top_k: int | None = choice(
        None, "Units that are ranked at most; none ranks as many as fill the budget.", low=1, high=100_000
    )
    # Which documents may answer. Nothing inside a question narrows it, unless `operators` says so.
    path: tuple[str, ...] = _narrows(
        (), "Only where the path has this, or fits this pattern; any of several.", unit="text"
    )
    not_path: tuple[str, ...] = _narrows((), "Not where the path has this.", unit="text")
    kind: tuple[str, ...] = _narrows((), "Only this kind of text; any of several.", names=("prose", "code", "data"))
    after: str | None = _narrows(None, "Only from this year, month, day or time on.", unit="time")
    before: str | None = _narrows(None, "Only before this year, month, day or time.", unit="time")
    phrase: tuple[str, ...] = _narrows((), "Only with these words side by side; all of them.", unit="words")
    without: tuple[str, ...] = _narrows((), "Only without this word or phrase.", unit="words")
    operators: bool = _narrows(False, 'Read "phrases", -words, stars and path: in the question as a search does.')
    repair: bool = choice(
        True, "Look for likely spellings of words that no document has.", off="as-typed", common=True, searches=True
    )
    priors: bool = choice(True, "Let tests, lock files and the like count for less.", common=True, searches=True)
    meaning: Meaning = choice(
        "auto",
        "Let a model read the best places, where one is installed, or go by words alone.",
        names=MEANINGS,
        searches=True,
    )
    anyway: bool = choice(
        False, "Show what is nearest where words that decide are missing.", off="not-anyway", common=True
    )
    # 085b §5.5
    related: bool = choice(False, "Keep a share of the budget for related terms; not with sizing field.")
    synonyms: tuple[str, ...] = choice((), "Lines of `word: synonym, synonym`, for related.", unit="lines")
    windows: WindowSettings | None = None
    densify: str | None = choice(
        None, "Condense what does not fit, through this model: extractive:, openai:NAME.", unit="model"
    )
    densify_percent: int = choice(15, "Share of the budget for what is condensed.", low=1, high=90, unit="percent")
    condensing: DensifySettings | None = later(default=None, metadata={"written": "unless empty"})  # in receipts

    def __post_init__(self) -> None:
        check(self)
        normalise(self, synonyms=_texts("synonyms", self.synonyms), **asdict(self.filters))
        if self.related and self.sizing == "field":
            raise SettingError(
                "related=True shares the budget out over pools of hits, which sizing 'field' does not have; "
                "choose sizing density, radial or elastic"
            )

    @property
    def shows_question(self) -> bool:
        """Whether the question follows the context."""
        return self.format == "messages" if self.with_question is None else self.with_question

    @property
    def filters(self) -> Filters:
        """The filters among the choices."""
        return Filters(**{name: getattr(self, name) for name in FILTER_NAMES})


CFS = AskSettings(sizing="density", trim=False, order="best", dedup_threshold=0.8, top_k=100, line_numbers="none")
"""The profile of CFS: a hundred candidates, duplicates out, first fit, none cut to fit, the budget covered; headers
name the document alone (ruling 29)."""

_PROFILES: Mapping[str, tuple[AskSettings, FieldSettings]] = {
    "default": (AskSettings(), FieldSettings()),
    "cfs": (CFS, FieldSettings()),
}
"""Settings that go together, by name."""


_OF_BUDGET: Mapping[str, Choice] = {
    "budget": Choice("Tokens to fill.", low=1, high=LARGEST, unit="tokens", name="budget", kind="int")._replace(
        default=DEFAULT_BUDGET
    ),
    **{name: choice._replace(default=0) for name, choice in choices_of(Budget).items()},
}
_NESTED = {"windows": WindowSettings, "field": FieldSettings, "densify": DensifySettings}

ASKED: Mapping[str, Choice] = {**_OF_BUDGET, **choices_of(AskSettings)}
"""The choices with a field in every request, by name."""

CHOICES: Mapping[str, Choice] = dict(
    sorted(
        {
            **ASKED,
            **{f"{part}.{name}": choice for part, kind in _NESTED.items() for name, choice in choices_of(kind).items()},
        }.items()
    )
)
"""All choices by name; the ones of `windows`, `field` and `densify` with that name before a dot."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its budget and choices: every surface makes one, an engine answers it."""

    question: str
    budget: Budget
    settings: AskSettings = AskSettings()
    field: FieldSettings = FieldSettings()

    @classmethod
    def of(cls, question: str, chosen: Mapping[str, object], more: str | Mapping[str, object] = "") -> Ask:
        """An ask from choices by name; the others are as the profile has them.

        `chosen` holds values, or text for them. `more` adds to it, as a mapping or as `name=value; name=value`.
        `windows.name`, `field.name` and `densify.name` are the fields of `WindowSettings`,
        `FieldSettings` and `DensifySettings`; `profile` is `default` or `cfs`. Reserves are taken from the budget.

        >>> ask = Ask.of("Tea?", {"fill": "relevant"}, "order=best; windows.snap=off; field.near=0.25")
        >>> ask.settings.order, ask.settings.fill, ask.settings.windows.snap, ask.field.near
        ('best', 'relevant', False, 0.25)
        >>> Ask.of("Tea?", {"budget": 900, "reserved_response": 500}).budget.available
        400
        >>> Ask.of("Tea?", {"ordr": "best"})
        Traceback (most recent call last):
        brimful.errors.ChoiceError: unknown setting 'ordr'; did you mean 'order'?
        """
        values = {**chosen, **(pairs(more) if isinstance(more, str) else more)}
        profile = choose(str(values.pop("profile", "default")), tuple(_PROFILES), what="profile")
        parts: dict[str, dict[str, Any]] = {"": {}, "budget": {}, "windows": {}, "field": {}, "densify": {}}
        for name, value in values.items():
            choice = CHOICES[choose(name, CHOICES, what="setting")]
            part = "budget" if name in _OF_BUDGET else name.partition(".")[0] if "." in name else ""
            parts[part][choice.name] = value if isinstance(value, Budget) else from_text(choice, value, name=name)
        base, field = _PROFILES[profile]
        if parts["windows"]:
            parts[""]["windows"] = replace(base.windows or WindowSettings(), **parts["windows"])
        if parts["densify"]:
            parts[""]["condensing"] = DensifySettings(**parts["densify"])
        return cls(question, _budget(parts["budget"]), replace(base, **parts[""]), replace(field, **parts["field"]))


def condensing(chosen: str | Mapping[str, object], **decided: Any) -> DensifySettings:
    """The `densify.*` choices of `Ask.of`; choices of a question are ignored.

    >>> condensing("densify.attempts=3; order=best", target_tokens=90).attempts
    3
    """
    settings = Ask.of("", {}, chosen).settings.condensing or DensifySettings()
    return replace(settings, **{name: value for name, value in decided.items() if value is not None})


def _budget(chosen: Mapping[str, Any]) -> Budget:
    """The budget with the reserves that are named."""
    reserves = {name: value for name, value in chosen.items() if name != "budget"}
    return replace(budget_of(chosen.get("budget", DEFAULT_BUDGET)), **reserves)


def pairs(text: str) -> dict[str, object]:
    """`name=value; name=value` as a dictionary; a name that comes again adds to a list."""
    values: dict[str, object] = {}
    for part in filter(None, (item.strip() for item in text.split(";"))):
        name, sign, value = (item.strip() for item in part.partition("="))
        if not sign:
            raise SettingError(f"{part!r:.60} has no value; write name=value, and a semicolon before the next one")
        first = values.get(name)
        values[name] = value if first is None else [*(first if isinstance(first, list) else [first]), value]
    return values
