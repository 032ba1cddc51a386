"""The bodies of HTTP requests and responses as pydantic models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, create_model, model_validator

from brimful.assembly.citing import Citation as AnswerCitation
from brimful.assembly.citing import Quotation
from brimful.assembly.context import Account, Relevance
from brimful.assembly.outline_map import CorpusMap
from brimful.budget import LARGEST
from brimful.choices import Choice, choices_of
from brimful.errors import choose
from brimful.receipts.offline import Finding
from brimful.results import ExplainedWindow, LeftOut, ShownCluster, ShownCorrection, ShownHit, ShownPassage, ShownWindow
from brimful.search.query import MOST_CHARACTERS
from brimful.settings import DEFAULT_BUDGET, DEFAULT_MODEL, AskSettings, FormatName

LONGEST_PATH = 4_096
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH)]
Tokens = Annotated[int, Field(ge=0, le=LARGEST)]
_MOST_TEXTS, _LONGEST_TEXT = 64, 1_000
Text = Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT)]
_SEVERAL = Annotated[list[Text], Field(max_length=_MOST_TEXTS)]
Texts = Annotated[
    _SEVERAL,
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=_SEVERAL | Text),
]
"""One text, or several."""
Seconds = Annotated[int, Field(ge=_FIRST_SECOND, le=_LAST_SECOND, description="Seconds since 1970, UTC")]


class _Body(BaseModel):
    """The body of a request: its fields with strict types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, body: Any) -> Any:
        for name in body if isinstance(body, dict) else ():
            choose(name, cls.model_fields, what="field")
        return body


class BudgetBody(_Body):
    """A whole model call's tokens, some of them reserved."""

    total: Annotated[int, Field(ge=1, le=LARGEST)]
    reserved_system: Tokens = 200
    reserved_query: Tokens = 100
    reserved_response: Tokens = 500


_Room = Annotated[
    Annotated[int, Field(ge=1, le=LARGEST), Tag("tokens")] | Annotated[BudgetBody, Tag("reserves")],
    Discriminator(lambda value: "reserves" if isinstance(value, dict | BudgetBody) else "tokens"),
]


def typed(choice: Choice) -> Any:
    """A choice as the type of a field: its values, or its range."""
    if choice.kind == "texts":
        return Texts
    kind: Any = bool if choice.kind == "bool" else Text
    if choice.kind in ("int", "float"):
        number = int if choice.kind == "int" else float
        low, high = number(choice.low or 0), number(LARGEST if choice.high is None else choice.high)
        kind = Annotated[number, Field(ge=low, le=high)]
    elif choice.names:
        kind = Literal[choice.names]
    return kind | None if choice.may_be_none else kind


def _fields(choices: Iterable[Choice], **defaults: object) -> dict[str, Any]:
    """Choices as fields of a body, for `create_model`."""
    fields = {}
    for choice in choices:
        default = defaults.get(choice.name, choice.default)
        described = Field([] if choice.kind == "texts" else default, description=choice.help.rstrip("."))
        fields[choice.name] = (typed(choice), described)
    return fields


class Question(_Body):
    """A question."""

    question: Annotated[str, Field(max_length=MOST_CHARACTERS)]


Choices = dict[str, str | int | float | bool | None]
Set = Annotated[
    Choices,
    Field(max_length=64, description="Any choice by name: `windows.snap`, `reserved_response`, `profile`, …"),
]
_CHOSEN = choices_of(AskSettings).values()

if TYPE_CHECKING:

    class _Chosen(Question): ...

    class _Searched(Question): ...

else:
    _Chosen = create_model("Chosen", __base__=Question, **_fields(_CHOSEN))
    _Searched = create_model(
        "Searched", __base__=Question, **_fields((each for each in _CHOSEN if each.searches), operators=True)
    )


class ContextRequest(_Chosen):
    """A question, a budget and choices; a text alone is taken as a list of one."""

    budget: _Room = Field(
        DEFAULT_BUDGET, description="Tokens for the context itself, or a whole call's tokens with reserves"
    )
    set: Set = Field({})
    prices: bool = Field(default=False, description="Work out at which budget the best of what was left out enters")


class SearchRequest(_Searched):
    """A question, what may answer it, and how many places are wanted."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 10


class TextBody(_Body):
    """A text to store under a path that it is cited by; no file is read or written."""

    path: Name
    text: str
    time: Seconds | None = None


class AddRequest(_Body):
    """Texts to store; texts of equal paths are replaced."""

    documents: Annotated[list[TextBody], Field(min_length=1, max_length=1_000)]


class DensifyRequest(_Body):
    """A text to condense: one's own, or a stored document's."""

    text: str | None = None
    path: Name | None = None
    model: Annotated[str, Field(max_length=200)] = "extractive:"
    target_tokens: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    set: Set = Field({})

    @model_validator(mode="after")
    def _one_source(self) -> DensifyRequest:
        if (self.text is None) == (self.path is None):
            raise ValueError("give either text or path")
        return self


class CaptureRequest(_Body):
    """A text to keep and to condense."""

    text: str
    name: Name | None = None
    model: Annotated[str, Field(max_length=200)] = "extractive:"
    set: Set = Field({})


class RetryRequest(_Body):
    """A capture to try again."""

    name: Name
    model: Annotated[str, Field(max_length=200)] | None = None
    set: Set = Field({})


class VerifyRequest(_Body):
    """A receipt as it was given, and the text that it is for, if that is to be checked too."""

    receipt: dict[str, object]
    text: str | None = None
    replay: bool = Field(default=False, description="Also ask the question again: ranking, omissions, settings")


class MapRequest(_Body):
    """A budget for a map of the corpus, and what it is to show first."""

    budget: Annotated[int, Field(ge=1, le=LARGEST)] = DEFAULT_BUDGET
    question: Annotated[str, Field(max_length=MOST_CHARACTERS)] | None = Field(
        None, description="The files that it finds are shown first, opened"
    )
    model: Annotated[str, Field(max_length=200)] = Field(DEFAULT_MODEL, description="The model whose tokens count")
    path: Texts = Field([], description="Parts of paths or patterns; any of them")
    tokens: bool = Field(default=False, description="Also the length of each file")


class CiteRequest(_Body):
    """A citation to resolve."""

    place: Annotated[str, Field(min_length=1, max_length=4_200)] = Field(
        description="A path with lines, as in tea.md:12-30"
    )


class AnswerRequest(_Body):
    """An answer, with the receipt or the text of the context that it was made from."""

    answer: str
    receipt: dict[str, object] | None = None
    context: str | None = None
    format: FormatName = Field("plain", description="How that text is written")

    @model_validator(mode="after")
    def _one_source(self) -> AnswerRequest:
        if (self.receipt is None) == (self.context is None):
            raise ValueError("an answer is checked against a receipt or a context; give one of the two")
        return self


class ProblemBody(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(description="urn:brimful:error: and the code")
    title: str
    status: int
    detail: str
    code: str
    errors: list[FieldError] | None = None


class FieldError(BaseModel):
    """A field or parameter that can't be used, and why."""

    where: str
    problem: str


class ContextBody(BaseModel):
    """A full context with its citations and its account."""

    question: str | None
    text: str
    prompt: str | list[dict[str, object]] | None = Field(description="With map and question, where they were asked for")
    payload: list[dict[str, object]] | None
    tokens: int
    content_tokens: int
    budget: int
    account: Account
    model: str
    exact: bool
    format: str
    packing: str
    truncated: bool
    windows: list[ShownWindow]
    clusters: list[ShownCluster]
    relevance: Relevance | None
    digests: list[dict[str, object]]
    receipt: str | None
    corrections: list[ShownCorrection]
    omitted: list[LeftOut]
    root: str


class ExplanationBody(ContextBody):
    """A context, and how often each word of the question stands anywhere, in all its forms."""

    windows: list[ExplainedWindow]  # type: ignore[assignment]
    census: dict[str, int]


class FoundBody(BaseModel):
    """The places that matter most, best first."""

    question: str
    hits: list[ShownHit]
    corrections: list[ShownCorrection]
    census: dict[str, int]
    missing: list[str] = Field(description="Words of the question that no document has")
    relevant: int = Field(
        description="How many of the hits belong to the answer; the following ones are far less relevant"
    )
    root: str


class ListedBody(BaseModel):
    """A stored document without its text."""

    path: str
    title: str | None
    bytes: int
    kind: str
    language: str | None
    time: int | None


class DocumentsBody(BaseModel):
    """A page of the documents by path; `next` is the cursor of the page after it."""

    documents: list[ListedBody]
    total: int
    next: str | None
    root: str


@dataclass(frozen=True, slots=True)
class PassageBody(ShownPassage):
    """Whole characters of a document, and the state that they are of; `next_start` is where it goes on."""

    root: str


class DigestBody(BaseModel):
    """A condensed text with its citations and its cost."""

    text: str
    sentences: list[dict[str, object]]
    complete: bool
    model: str
    tokens: int
    source_bytes: int
    source_tokens: int
    gaps: list[dict[str, object]]
    calls: int


class CaptureBody(BaseModel):
    """A capture without its original."""

    name: str
    status: Literal["pending", "done", "failed"]
    model: str
    message: str
    path: str
    digest_path: str | None
    original_bytes: int
    digest: str
    sentences: list[dict[str, object]]


class CapturesBody(BaseModel):
    """A page of the captures by name."""

    captures: list[CaptureBody]
    total: int
    next: str | None


class VerifiedBody(BaseModel):
    """The findings of a check, with what it compared and what it could not."""

    receipt: str
    against: str
    verified: bool
    findings: list[Finding]
    compared: list[str]
    not_checked: list[str]


class StatusBody(BaseModel):
    """The contents of the store in numbers, and the choices of a request."""

    version: str
    store: str
    store_bytes: int
    root: str
    documents: int
    bytes: int
    kinds: dict[str, int]
    places: list[str]
    folders: dict[str, str] = Field(description="What each of these places is called in the names of its documents")
    choices: dict[str, list[str]] = Field(description="The names that a request may choose from")
    controls: list[dict[str, object]] = Field(description="Each choice: its values or range, default, unit and help")
    limits: dict[str, float] = Field(description="How much a request may ask for")
    defaults: dict[str, object]


@dataclass(frozen=True, slots=True)
class MapBody(CorpusMap):
    """Files with their headings and definitions as indented lines, and the state that they are of."""

    root: str


class CheckedBody(BaseModel):
    """Verdicts on the quotations and citations of an answer; `changed` are windows that could not be read."""

    holds: bool
    quotations: list[Quotation]
    citations: list[AnswerCitation]
    changed: list[str]
