"""Which numbers and choices steer the pipeline, and what do they default to?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from brimful.classes import dataclass
from brimful.errors import SettingError, choose
from brimful.version import VERSION as _VERSION

Sizing = Literal["density", "radial", "elastic", "field"]
Strategy = Literal["adjacent", "temporal", "semantic", "narrative"]
Packing = Literal["greedy", "interleaved", "score_weighted"]
Fill = Literal["brim", "relevant"]
Order = Literal["relevance", "best", "ends"]
Fusion = Literal["field", "rrf"]
Meaning = Literal["auto", "late", "full", "words"]
LineNumbers = Literal["ranges", "every", "none"]
FormatName = Literal["plain", "markdown", "xml", "json", "messages", "anthropic", "windows"]

SIZINGS: tuple[Sizing, ...] = get_args(Sizing)
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
PACKINGS: tuple[Packing, ...] = get_args(Packing)
FILLS: tuple[Fill, ...] = get_args(Fill)
ORDERS: tuple[Order, ...] = get_args(Order)
MEANINGS: tuple[Meaning, ...] = get_args(Meaning)
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
FORMATS: tuple[FormatName, ...] = get_args(FormatName)
LINE_NUMBERS: tuple[LineNumbers, ...] = get_args(LineNumbers)

DEFAULT_MODEL = "o200k_base"
MOST_MAP_PERCENT = 50
VERSION = _VERSION


_MAY_BE_NONE = (
    "merge_gap_bytes",
    "min_padding_bytes",
    "temporal_gap_seconds",
    "narrative_gap_seconds",
    "trail_share",
    "whole_share",
)


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How hits become windows. The seeds' constants, in bytes (ruling 1).

    >>> WindowSettings(max_window_bytes=-1)
    Traceback (most recent call last):
    brimful.errors.SettingError: max_window_bytes is -1; it must be at least 1
    """

    # 085a §2-§3, sizing "density"
    merge_gap_bytes: int = 500
    min_viable_bytes: int = 150
    min_window_bytes: int = 200
    max_window_bytes: int = 2_500
    min_padding_bytes: int = 50
    max_padding_bytes: int = 500
    # 085b §5.2, sizing "radial"
    chars_per_token: int = 4
    expected_results: int = 10
    # 105 §2.2, sizing "elastic"
    min_radius_bytes: int = 200
    max_radius_bytes: int = 32_000
    # What a policy leaves unspent, or a merge saves, widens the windows (ruling 3 and 4).
    refill: bool = True
    # Edges move to the nearest natural boundary of the document's kind.
    snap: bool = True
    # Code: also show imports and definitions of the names that a window uses.
    definitions: bool = False
    # Prose: one byte of the headings above a window for so many of its own; 0 shows no headings and no speakers.
    trail_share: int = 32
    # Sizing "field": a window is shown with what is missing of its function, paragraph or list at the edges where that
    # is at most so many percent of it; 0 shows what was found and no more.
    whole_share: int = 25

    # Strategies that link windows into clusters (085b §3)
    temporal_gap_seconds: int = 3_600
    narrative_gap_seconds: int = 2_592_000
    related_similarity: float = 0.10
    semantic_similarity: float = 0.50
    shared_entities: int = 1

    def __post_init__(self) -> None:
        _check_numbers(self, lowest=dict.fromkeys(_MAY_BE_NONE, 0))
        for low, high in (
            ("min_padding_bytes", "max_padding_bytes"),
            ("min_radius_bytes", "max_radius_bytes"),
            ("min_window_bytes", "max_window_bytes"),
            ("min_viable_bytes", "max_window_bytes"),
        ):
            if getattr(self, low) > getattr(self, high):
                raise SettingError(
                    f"{low} is {getattr(self, low)}, above {high} = {getattr(self, high)}; swap or adjust them"
                )


@dataclass(frozen=True, slots=True)
class FieldSettings:
    """What counts how much in the relevance field; measured on the evaluation sets, one default for all."""

    # The share of each scale: the unit, its near and wide surroundings (so many units on both sides), the document.
    unit: float = 1.0
    near: float = 1.0
    near_reach: int = 2
    wide: float = 0.8
    wide_reach: int = 8
    document: float = 1.5
    spread: float = 0.1
    # BM25's k1 and b.
    saturation: float = 1.2
    length: float = 0.75
    # How often a word in the path or title counts as if it stood in the text.
    name: float = 2.0
    # A word of the path or title in each unit of the document, and the share of the question that the name says.
    name_in_unit: float = 0.2
    called: float = 1.0
    # And a word in a heading above, in each unit below it.
    heading: float = 0.3
    # A unit that defines a name of the question, and four words of it in a row.
    definition: float = 1.5
    runs: float = 0.5
    # A line that a pasted traceback points at.
    frame: float = 1.0
    # Tests, examples, change logs, lock files, minified and generated files count for less.
    priors: bool = True
    # Words that only ask, and parts of longer words, against a word's one.
    asking: float = 0.2
    part: float = 0.7
    # How much more a word counts that a question has several times (BM25's k3); 0 counts it once.
    repeated: float = 4.0
    # To which power a word counts that is common in general language; 0 leaves it to the corpus.
    common: float = 0.5
    phrase: float = 2.0
    quoted: float = 1.0
    # Likeness in meaning, for each standard deviation; 0 leaves it out. It says more of whole documents.
    meaning: float = 0.1
    document_meaning: float = 4.0
    # The same where a model has read units and question, which says more than a table of words.
    model_meaning: float = 0.4
    # The same where a model reads the best places when they are asked for, and how many units that are.
    late: float = 0.8
    late_candidates: int = 200
    # Units that are candidates because their codes are near to the question's, whatever their words; and passages,
    # where a model has read all of them.
    near_candidates: int = 32
    full_candidates: int = 32
    # "rrf" adds the reciprocal ranks of words and meaning instead of their worth, of so many of the best of each.
    fusion: Fusion = "field"
    leg_k: int | None = None

    def __post_init__(self) -> None:
        choose(self.fusion, FUSIONS, what="fusion")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("fusion", "priors") or value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1_000:
                raise SettingError(f"{field.name} is {value!r}; it must be a number from 0 to 1000")
            if field.name.endswith(("reach", "candidates")) and not isinstance(value, int):
                raise SettingError(f"{field.name} is {value!r}; it must be a whole number of units")


@dataclass(frozen=True, slots=True)
class PackSettings:
    """How windows become a context (CFS AssemblyConfig)."""

    packing: Packing = "greedy"
    dedup_threshold: float | None = None  # CFS's 0.8 where duplicates are to go; None keeps them
    twin_threshold: float | None = None  # the same between documents only
    max_per_document: int | None = None
    prefer_recent: bool = False
    recent_half_life_days: int = 30
    include_metadata: bool = False
    line_numbers: LineNumbers = "ranges"
    order: Order = "relevance"
    # Cut the best window that does not fit at a boundary, so that its hits still get in.
    trim: bool = True
    # "brim" grows windows into their documents until the next unit would not fit; "relevant" adds nothing.
    fill: Fill = "brim"

    def __post_init__(self) -> None:
        choose(self.packing, PACKINGS, what="packing")
        choose(self.order, ORDERS, what="order")
        choose(self.fill, FILLS, what="fill")
        choose(self.line_numbers, LINE_NUMBERS, what="line_numbers")
        _check_numbers(self)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may answer, said beside a question; a single text stands for a tuple of one.

    >>> Filters(path="docs/", without=["draft"])
    Filters(path=('docs/',), not_path=(), kind=(), after=None, before=None, phrase=(), without=('draft',))
    """

    path: tuple[str, ...] = ()  # a part of the path or a pattern; any of them
    not_path: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()  # prose, code, data; any of them
    after: str | None = None  # a year, month, day or time; documents without a time pass neither
    before: str | None = None
    phrase: tuple[str, ...] = ()  # words that stand side by side in the document; all of them
    without: tuple[str, ...] = ()  # words or phrases that the document does not have

    def __post_init__(self) -> None:
        for name in _SEVERAL:
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        for name in ("after", "before"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise SettingError(f"{name} is {value!r}; it is a year, month, day or time, such as '2024-05-12'")


_SEVERAL = ("path", "not_path", "kind", "phrase", "without")
FILTER_NAMES: tuple[str, ...] = tuple(each.name for each in fields(Filters))


def _texts(name: str, value: object) -> tuple[str, ...]:
    """One text or several, none of them empty."""
    several = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else None
    if several is None or not all(isinstance(each, str) and each.strip() for each in several):
        raise SettingError(f"{name} is {value!r}; it is a text, or several, and none of them empty")
    return several


@dataclass(frozen=True, slots=True)
class AskSettings:
    """Everything beside question and budget that changes a context."""

    model: str = DEFAULT_MODEL
    format: FormatName = "plain"
    sizing: Sizing = "field"
    strategy: Strategy = "adjacent"
    packing: Packing = "greedy"
    fill: Fill = "brim"
    trim: bool = True
    # "relevance": documents by their best window, windows as they are read; "best": the three best windows first;
    # "ends": the best documents at both ends.
    order: Order = "relevance"
    # CFS's 0.8 where all that is said twice is to go; None leaves it to the next.
    dedup_threshold: float | None = None
    # What several documents say nearly alike is shown once, and the others are named; None shows it every time.
    twin_threshold: float | None = 0.9
    max_per_document: int | None = None
    prefer_recent: bool = False
    recent_half_life_days: int = 30
    include_metadata: bool = False
    # "ranges" names the lines of each window, "every" also numbers each line, "none" names none.
    line_numbers: LineNumbers = "ranges"
    # Put the question behind the context, and a map of the corpus that takes so many per cent of the budget before it:
    # `Context.prompt` has all three, and the budget covers them.
    with_question: bool | None = None  # None: for `messages`, which are sent as they are
    map_percent: int = 0
    # How many units are ranked at most; None asks for as many as surely fill the budget.
    top_k: int | None = None
    # Which documents may answer: the fields of `Filters`. Nothing inside a question narrows it, unless `operators` says
    # so: then "phrases", -words, stars and path: mean what they mean in a search.
    path: tuple[str, ...] = ()
    not_path: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    phrase: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    operators: bool = False
    # Look for likely spellings of words that no document has.
    repair: bool = True
    # Tests, examples, change logs, lock files, minified and generated files count for less.
    priors: bool = True
    # "late" lets the engine's model read the best places, if it has one; "full" compares every passage, and needs a
    # corpus that was warmed; "auto" does so where it was; "words" leaves the model out.
    meaning: Meaning = "auto"
    # Show what is nearest where the corpus lacks the words that decide, instead of nothing.
    anyway: bool = False
    # A share of the budget for related terms (085b §5.5); not with sizing "field". `synonyms` are lines of a synonyms
    # file (`word: synonym, another`): they come before what the corpus suggests.
    related: bool = False
    synonyms: tuple[str, ...] = ()
    windows: WindowSettings | None = None
    # The model that condenses what does not fit ("extractive:", "openai:…"), the share of the budget that is kept for
    # it, and how many budgets' worth of text are looked at.
    densify: str | None = None
    densify_percent: int = 15
    densify_breadth: int = 4

    def __post_init__(self) -> None:
        choose(self.sizing, SIZINGS, what="sizing")
        choose(self.strategy, STRATEGIES, what="strategy")
        choose(self.packing, PACKINGS, what="packing")
        choose(self.fill, FILLS, what="fill")
        choose(self.order, ORDERS, what="order")
        choose(self.meaning, MEANINGS, what="meaning")
        choose(self.format, FORMATS, what="format")
        choose(self.line_numbers, LINE_NUMBERS, what="line_numbers")
        for name in ("top_k", "max_per_document", "recent_half_life_days", "densify_percent", "densify_breadth"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise SettingError(f"{name} is {value!r}; it must be at least 1")
        share = self.map_percent
        if isinstance(share, bool) or not isinstance(share, int) or not 0 <= share <= MOST_MAP_PERCENT:
            raise SettingError(f"map_percent is {share!r}; it must be a whole number from 0 to {MOST_MAP_PERCENT}")
        object.__setattr__(self, "synonyms", _texts("synonyms", self.synonyms))
        for name, value in asdict(self.filters).items():
            object.__setattr__(self, name, value)
        if self.related and self.sizing == "field":
            raise SettingError(
                "related=True shares the budget out over pools of hits, which sizing 'field' does not have; "
                "choose sizing density, radial or elastic"
            )
        if self.densify_percent > 90:
            raise SettingError(f"densify_percent is {self.densify_percent}; above 90 nothing is shown as it is")

    @property
    def asks(self) -> bool:
        """Whether the question stands behind the context."""
        return self.format == "messages" if self.with_question is None else self.with_question

    @property
    def filters(self) -> Filters:
        """Which documents may answer."""
        return Filters(**{name: getattr(self, name) for name in FILTER_NAMES})


def chosen(*, model: str, format: str, sizing: str, strategy: str, packing: str, fill: str) -> AskSettings:  # noqa: A002
    """Settings from names that a person typed; one that is not among the choices is a ChoiceError with close ones."""
    for what, name, names in (
        ("format", format, FORMATS),
        ("sizing", sizing, SIZINGS),
        ("strategy", strategy, STRATEGIES),
        ("packing", packing, PACKINGS),
        ("fill", fill, FILLS),
    ):
        choose(name, names, what=what)
    return AskSettings(
        model=model,
        format=cast("FormatName", format),
        sizing=cast("Sizing", sizing),
        strategy=cast("Strategy", strategy),
        packing=cast("Packing", packing),
        fill=cast("Fill", fill),
    )


CFS = AskSettings(sizing="density", trim=False, fill="relevant", order="best", dedup_threshold=0.8, top_k=100)
"""The profile of CFS: a hundred candidates, duplicates out, first fit, nothing cut and nothing grown."""

CFS_FIELD = FieldSettings(fusion="rrf", leg_k=50)
"""Its search: the fifty best by words and the fifty best by meaning, fused by rank."""


PROFILES: Mapping[str, tuple[AskSettings, FieldSettings]] = {
    "default": (AskSettings(), FieldSettings()),
    "cfs": (CFS, CFS_FIELD),
}
"""Settings that go together, by name."""

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NESTED = {"windows": WindowSettings, "field": FieldSettings}


def profiled(settings: AskSettings, given: str | Mapping[str, object]) -> tuple[AskSettings, FieldSettings]:
    """Settings with further choices by name, whichever they are; every surface takes them in this one way.

    A text holds them as `name=value`, parted by semicolons; `windows.name` and `field.name` are those of
    `WindowSettings` and `FieldSettings`, and `profile` is one of `PROFILES`, which decides what is left as it is by
    default.

    >>> chosen, field = profiled(AskSettings(fill="relevant"), "order=best; top_k=5; windows.snap=off; field.runs=0.25")
    >>> chosen.order, chosen.fill, chosen.top_k, chosen.windows.snap, field.runs
    ('best', 'relevant', 5, False, 0.25)
    >>> profiled(AskSettings(), "ordr=best")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown setting 'ordr'; did you mean 'order'? choices: after, anyway, ...
    """
    values = _pairs(given) if isinstance(given, str) else dict(given)
    profile = values.pop("profile", "default")
    base, field = PROFILES[choose(str(profile), tuple(PROFILES), what="profile")]
    plain = AskSettings()
    same = {each.name: getattr(base, each.name) for each in fields(AskSettings)}
    told: dict[str, Any] = {
        name: getattr(settings, name) for name in same if getattr(settings, name) != getattr(plain, name)
    }
    names = sorted(
        same.keys() - {"windows"} | {f"{part}.{n.name}" for part, kind in _NESTED.items() for n in fields(kind)}
    )
    nested: dict[str, dict[str, Any]] = {"windows": {}, "field": {}}
    for name, value in values.items():
        choose(name, names, what="setting")
        part, dot, inner = name.partition(".")
        if dot:
            nested[part][inner] = _as_kind(name, value, _NESTED[part], inner)
        else:
            told[name] = _as_kind(name, value, AskSettings, name)
    if nested["windows"]:
        told["windows"] = replace(settings.windows or WindowSettings(), **nested["windows"])
    return replace(base, **{**same, **told}), replace(field, **nested["field"])


def _pairs(text: str) -> dict[str, object]:
    """`name=value; name=value` as a dictionary; a name that comes again adds to a list."""
    found: dict[str, object] = {}
    for part in filter(None, (each.strip() for each in text.split(";"))):
        name, sign, value = (each.strip() for each in part.partition("="))
        if not sign:
            raise SettingError(f"{part!r:.60} has no value; write name=value, and a semicolon before the next one")
        before = found.get(name)
        found[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return found


def _as_kind(name: str, value: object, kind: type, field_name: str) -> object:
    """A value as its field has it: words of a person become numbers and switches."""
    hint = get_type_hints(kind)[field_name]
    kinds = get_args(hint) or (hint,)
    if get_origin(hint) is tuple or tuple in (get_origin(each) for each in kinds):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    if not isinstance(value, str):
        return value
    if type(None) in kinds and value.casefold() in ("none", "null", ""):
        return None
    if bool in kinds:
        if value.casefold() not in _WORDS:
            raise SettingError(f"{name} is {value!r:.60}; it is on or off")
        return _WORDS[value.casefold()]
    for number in (int, float):
        if number in kinds:
            try:
                return number(value)
            except ValueError:
                continue
    if {int, float} & set(kinds):
        raise SettingError(f"{name} is {value!r:.60}; it is a number")
    return value


def _check_numbers(settings: WindowSettings | PackSettings, *, lowest: dict[str, int] | None = None) -> None:
    """Whole numbers are at least 1 (or their own lowest value), fractions lie in 0..1."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(field.default, bool) or isinstance(value, str) or value is None:
            continue
        if isinstance(field.default, float) or field.name.endswith("threshold"):
            if not (isinstance(value, int | float) and 0.0 <= value <= 1.0):
                raise SettingError(f"{field.name} is {value!r}; it must lie between 0 and 1")
            continue
        least = (lowest or {}).get(field.name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise SettingError(f"{field.name} is {value!r}; it must be at least {least}")
