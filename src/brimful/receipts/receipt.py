"""The record of a context: what went in, from which state, and why the rest did not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from blake3 import blake3

from brimful import rules
from brimful.assembly.context import Condensed, Context, Omitted, Reason, digest_document, text_of
from brimful.assembly.formats import Showing, form_for
from brimful.budget import Budget
from brimful.documents.documents import Document
from brimful.errors import DocumentError, FormatError, StoreRulesError
from brimful.receipts.notation import (
    UNLESS_EMPTY,
    Hash,
    Moment,
    Natural,
    Score,
    canonical,
    parsed,
    plain,
    read_value,
    written_fields,
)
from brimful.settings import FormatName, LineNumbers, Packing
from brimful.store.merkle import Proof, leaf_hash
from brimful.store.rows import Row
from brimful.store.snapshot import StoredSnapshot
from brimful.windows.seams import Seam, SeamKind
from brimful.windows.window import Window, goes_on_after, goes_on_before

# ---- its parts


class _Sibling(NamedTuple):
    """A hash next to the way from a document to the state root."""

    side: Literal["left", "right"]
    hash: Hash


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A document that windows were cut from, with the proof that it is under the state root.

    `rule` says how its bytes came from a file: "utf-8" as they are, "pdf" and the like converted. `language` is what
    some formats name above its windows.
    """

    path: str
    id: str
    content_hash: Hash
    length: Natural
    time: Moment | None
    rule: str
    language: str | None
    proof: tuple[_Sibling, ...] = field(repr=False)

    def root(self) -> str:
        """The state root that the proof leads to."""
        leaf = leaf_hash(self.path, self.time, bytes.fromhex(self.content_hash))
        steps = tuple((step.side == "left", bytes.fromhex(step.hash)) for step in self.proof)
        return Proof(steps).root(leaf).hex()


class CitedSeam(NamedTuple):
    """Bytes `[start, end)` of a window's document that are shown before it, and their hash."""

    kind: SeamKind
    start: Natural
    end: Natural
    hash: Hash


@dataclass(frozen=True, slots=True)
class CitedWindow:
    """Bytes `[start, end)` of a document in the context, their hash, and what brought them there.

    With the document it is all that a format needs in order to write the window again. `sequence` is part of the id of
    a window that another retriever brought, and `line` the first line that it says it has.
    """

    path: str
    start: Natural
    end: Natural
    id: str
    hash: Hash
    score: Score
    terms: tuple[str, ...]
    time: Moment | None
    filling: bool = field(default=False, metadata=UNLESS_EMPTY)
    cut_start: bool = field(default=False, metadata=UNLESS_EMPTY)
    cut_end: bool = field(default=False, metadata=UNLESS_EMPTY)
    seams: tuple[CitedSeam, ...] = field(default=(), metadata=UNLESS_EMPTY)
    sequence: int = field(default=0, metadata=UNLESS_EMPTY)
    line: Natural = field(default=Natural(0), metadata=UNLESS_EMPTY)
    coherence: Score | None = field(default=None, metadata=UNLESS_EMPTY)
    cluster: str | None = field(default=None, metadata=UNLESS_EMPTY)  # linked windows share it
    also_in: tuple[str, ...] = field(default=(), metadata=UNLESS_EMPTY)  # near duplicates


@dataclass(frozen=True, slots=True)
class _OmittedWindow:
    """A candidate that is not in the context, and why (`Omitted` has the reasons)."""

    path: str
    start: Natural
    end: Natural
    score: Score
    reason: Reason
    duplicate_of: str | None
    enters_at: Natural | None


class _DigestSource(NamedTuple):
    """Bytes `[start, end)` of a document that a digest condenses, and their hash."""

    start: Natural
    end: Natural
    hash: Hash


class _DigestSentence(NamedTuple):
    """Bytes `[start, end)` of a digest, and the numbers of the sources that they came from."""

    start: Natural
    end: Natural
    sources: tuple[Natural, ...]


@dataclass(frozen=True, slots=True)
class CitedDigest:
    """A text that a model wrote from parts of a document. It stands here, since no source has it."""

    path: str
    model: str
    text: str = field(repr=False)
    source: str
    sources: tuple[_DigestSource, ...] = field(repr=False)
    sentences: tuple[_DigestSentence, ...] = field(repr=False)


# ---- the receipt
#
# A receipt's `id` is a hash over everything that two runs on one state have in common. Facts of the run (when, how
# long, by which version, at which generation) are in `run`, outside of the hash (ruling 10). The question's text is
# outside too: its hash is inside.

VERSION = 4
MOST_OVERLAP = 8
"""The most often that windows of one document may show it, plus the allowances of `most_shown`: so the work of a check
grows with the documents and the receipt, not with their product."""
_ANY_DOCUMENT_BYTES = 1 << 16
_ANY_WINDOW_BYTES = 1 << 14
_OUTSIDE = ("id", "question", "run")
_UNKNOWN = Hash("0" * 64)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of one context (ContextMetadata).

    Of the text it holds only a model's words: `windows` name bytes of `documents`, `blocks` count the windows under
    each header, and `format` says how they are written. Anyone with the documents can write the text again.
    """

    version: Natural
    id: Hash
    question: str | None
    question_hash: Hash
    state_root: Hash
    settings: Mapping[str, object]
    model: str
    exact: bool
    format: FormatName
    packing: Packing
    include_metadata: bool
    line_numbers: LineNumbers
    budget: Budget
    tokens: Natural
    content_tokens: Natural
    truncated: bool
    documents: tuple[CitedDocument, ...] = field(repr=False)
    windows: tuple[CitedWindow, ...] = field(repr=False)
    blocks: tuple[Natural, ...] = field(repr=False)
    corrections: tuple[Mapping[str, object], ...] = field(repr=False)
    omitted: tuple[_OmittedWindow, ...] = field(repr=False)
    context_hash: Hash
    run: Mapping[str, object] = field(compare=False)
    digests: tuple[CitedDigest, ...] = field(default=(), repr=False, metadata=UNLESS_EMPTY)

    @property
    def showing(self) -> Showing:
        """The facts of each window that its text shows."""
        return Showing(self.include_metadata, self.line_numbers)

    def to_json(self) -> str:
        """One line of JSON; equal receipts have equal bytes everywhere."""
        return canonical(self)

    @classmethod
    def of(cls, receipt: Receipt | str | bytes) -> Receipt:
        """A receipt as it is, or read back."""
        return receipt if isinstance(receipt, Receipt) else cls.from_json(receipt)

    @classmethod
    def from_json(cls, text: str | bytes) -> Receipt:
        """Read a receipt back; a FormatError names the field that is missing, mistyped or changed."""
        fields = parsed(text)
        version = fields.get("version") if isinstance(fields, dict) else VERSION
        if isinstance(version, int) and not isinstance(version, bool) and version != VERSION:
            readable = f"this program reads version {VERSION}"
            raise FormatError(f"version: {str(version)[:20]} is not known, {readable}; use the program that wrote it")
        receipt = read_value(cls, fields, where="")
        if receipt.id != receipt.hashed():
            raise FormatError("id: it is not the hash of this receipt, so something in it was changed; get it again")
        if receipt.question is not None and hash_of(receipt.question) != receipt.question_hash:
            raise FormatError("question: it is not the one that question_hash stands for; get the receipt again")
        return receipt

    def check_rules(self) -> None:
        """Refuse a receipt that other rules made: asked again, its question may give something else."""
        if (made_by := self.settings.get("rules")) != rules.RULES:
            raise StoreRulesError(
                f"it was made by other rules: {made_by}, this program has {rules.RULES}; ask its question anew"
            )

    def hashed(self) -> Hash:
        """The hash over everything but the id itself, the question's text and the facts of the run."""
        inside = {name: value for name, value in written_fields(self).items() if name not in _OUTSIDE}
        return hash_of(canonical(inside))

    def without_question(self) -> Receipt:
        """This receipt with only the question's hash, under an equal id."""
        return replace(self, question=None)


def make_receipt(
    context: Context,
    *,
    question: str,
    snapshot: StoredSnapshot,
    settings: Mapping[str, object],
    corrections: Iterable[object] = (),
    keep_question: bool = True,
    run: Mapping[str, object] | None = None,
) -> Receipt:
    """The receipt for a context that was made from this snapshot.

    `settings` are all that change output, as JSON values or settings dataclasses, so that a replay can use them;
    so are `corrections`. `run` holds what may differ from run to run; the generation is added to it.
    """
    rows = _rows(context, snapshot)
    _check_text(context, rows, snapshot)
    draft = Receipt(
        version=Natural(VERSION),
        id=_UNKNOWN,
        question=_checked(question) if keep_question else None,
        question_hash=hash_of(_checked(question)),
        state_root=Hash(snapshot.root.hex()),
        settings=_mapping(settings, "settings"),
        model=context.model,
        exact=context.exact,
        format=context.format,
        packing=context.packing,
        include_metadata=context.include_metadata,
        line_numbers=context.line_numbers,
        budget=context.budget,
        tokens=Natural(context.tokens),
        content_tokens=Natural(context.content_tokens),
        truncated=context.truncated,
        documents=tuple(_document(row, snapshot) for _, row in sorted(rows.items())),
        digests=tuple(_digest(item, rows[item.source], snapshot) for item in context.digests),
        windows=tuple(map(_window, context.windows)),
        blocks=tuple(Natural(len(block.windows)) for block in context.blocks if block.windows),
        corrections=tuple(_mapping(item, f"corrections[{number}]") for number, item in enumerate(corrections)),
        omitted=tuple(map(_omitted, context.omitted)),
        context_hash=hash_of(context.text),
        run=_mapping({"generation": snapshot.generation, **(run or {})}, "run"),
    )
    return replace(draft, id=draft.hashed())


def hash_of(value: str | bytes) -> Hash:
    """The BLAKE3 of some bytes, or of a text's UTF-8."""
    return Hash(blake3(value.encode() if isinstance(value, str) else value).hexdigest())


def _checked(question: str) -> str:
    if not isinstance(question, str):
        raise FormatError(f"question must be text, got {type(question).__name__}")
    return str(plain(question, where="question"))


def _mapping(value: object, where: str) -> Mapping[str, object]:
    mapping = plain(value, where=where)
    if not isinstance(mapping, dict):
        raise FormatError(f"{where} must be a mapping or a dataclass, got {type(value).__name__}")
    return mapping


def _rows(context: Context, snapshot: StoredSnapshot) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    sources = {digest.path: digest.source for digest in context.digests}
    snapshot.expect({sources.get(window.path, window.path) for window in context.windows}, proofs=True)
    for window in context.windows:
        path = sources.get(window.path, window.path)
        row = rows.get(path) or snapshot.row(path)
        if row is None:
            raise DocumentError(f"{path!r} is not in this snapshot; add it, or use the snapshot that was asked")
        rows[path] = row
    return rows


def _document(row: Row, snapshot: StoredSnapshot) -> CitedDocument:
    steps = snapshot.prove(row.path).siblings
    return CitedDocument(
        path=row.path,
        id=row.id,
        content_hash=Hash(row.content_hash.hex()),
        length=Natural(row.length),
        time=None if row.time is None else Moment(row.time),
        rule=row.rule,
        language=row.language,
        proof=tuple(_Sibling("left" if on_left else "right", Hash(sibling.hex())) for on_left, sibling in steps),
    )


def _digest(digest: Condensed, row: Row, snapshot: StoredSnapshot) -> CitedDigest:
    spans = sorted({span for sentence in digest.sentences for span in sentence.sources})
    numbers = {span: Natural(number) for number, span in enumerate(spans)}
    return CitedDigest(
        path=digest.path,
        model=digest.model,
        text=digest.document.content.decode(),
        source=digest.source,
        sources=tuple(
            _DigestSource(Natural(start), Natural(end), hash_of(snapshot.read(row.number, start, end)))
            for start, end in ((span.start, span.end) for span in spans)
        ),
        sentences=tuple(
            _DigestSentence(Natural(span.start), Natural(span.end), tuple(numbers[source] for source in sources))
            for span, sources in digest.sentences
        ),
    )


def _window(window: Window) -> CitedWindow:
    return CitedWindow(
        path=window.path,
        start=Natural(window.start),
        end=Natural(window.end),
        id=window.id,
        hash=hash_of(window.text),
        score=Score(repr(window.score)),
        terms=tuple(sorted({term for hit in window.hits for term in hit.terms})),
        time=None if window.time is None else Moment(window.time),
        filling=window.filling,
        cut_start=window.cut_start,
        cut_end=window.cut_end,
        seams=tuple(
            CitedSeam(seam.kind, Natural(seam.start), Natural(_end(seam)), hash_of(seam.text)) for seam in window.seams
        ),
        sequence=0 if window.document is not None else window.sequence,
        line=Natural((window.document is None and window.line) or 0),
        coherence=None if window.document is None else Score(repr(window.coherence.score)),
        cluster=window.cluster,
        also_in=window.also_in,
    )


def _end(seam: Seam) -> int:
    return seam.start + len(seam.text.encode())


def _omitted(omitted: Omitted) -> _OmittedWindow:
    window, price = omitted.window, omitted.enters_at
    return _OmittedWindow(
        path=window.path,
        start=Natural(window.start),
        end=Natural(window.end),
        score=Score(repr(window.score)),
        reason=omitted.reason,
        duplicate_of=omitted.duplicate_of,
        enters_at=None if price is None else Natural(price),
    )


def _check_text(context: Context, rows: Mapping[str, Row], snapshot: StoredSnapshot) -> None:
    """Refuse a context whose text can't be written again from the snapshot's documents."""
    digests = {digest.path: digest for digest in context.digests}
    shown_bytes: dict[str, list[int]] = {}
    for window in context.windows:
        if window.path in digests:
            _check_window(window, digest_document(window.path, digests[window.path].document.content), snapshot)
            continue
        _check_window(window, rows[window.path], snapshot)
        sizes = shown_bytes.setdefault(window.path, [])
        sizes.append(len(window.span) + sum(len(seam.text.encode()) for seam in window.seams))
    for path, sizes in shown_bytes.items():
        if sum(sizes) > most_shown(rows[path].length, len(sizes)):
            raise DocumentError(
                f"{path}: its windows show it more than {MOST_OVERLAP} times over; leave out those that overlap"
            )
    text = text_of(context.blocks, form=form_for(context.format), showing=context.showing)
    if text != context.text:
        raise FormatError("the context's text is not what its windows say; pack it again")


def most_shown(length: int, windows: int) -> int:
    """The bytes that a number of windows may show of a document together, their seams included."""
    return MOST_OVERLAP * length + _ANY_DOCUMENT_BYTES + windows * _ANY_WINDOW_BYTES


def _check_window(window: Window, source: Row | Document, snapshot: StoredSnapshot) -> None:
    """Refuse a window with other bytes, edges or seams than its source has."""
    document = window.document
    if document is not None and (document.id, document.language) != (source.id, source.language):
        raise _other_bytes(window, window.start, window.end)
    content = document or source  # a window's own copy has the document's id, so the store need not be read again

    def read(start: int, end: int) -> bytes:
        if isinstance(content, Document):
            return content.content[start:end]
        return snapshot.read(content.number, min(start, content.length), min(end, content.length))

    if document is not None:
        edges = goes_on_before(document, window.start), goes_on_after(document, window.end)
        if (window.cut_start, window.cut_end) != edges:
            raise DocumentError(
                f"{window.path} [{window.start}, {window.end}): its edges are marked otherwise than the document goes "
                "on there; make it with Window.cut"
            )
    elif window.line is not None and read(0, window.start).count(b"\n") + 1 != window.line:
        raise DocumentError(
            f"{window.path} [{window.start}, {window.end}): it does not begin in line {window.line}; "
            "leave `line` out or correct it"
        )
    if read(window.start, window.end) != window.text.encode():
        raise _other_bytes(window, window.start, window.end)
    for seam in window.seams:
        start, end = seam.start, _end(seam)
        if start < window.end and window.start < end:
            raise DocumentError(
                f"{window.path} [{window.start}, {window.end}): a seam at {start} lies inside the window; drop it"
            )
        if read(start, end) != seam.text.encode():
            raise _other_bytes(window, start, end)


def _other_bytes(window: Window, start: int, end: int) -> DocumentError:
    return DocumentError(
        f"{window.path} [{start}, {end}): the snapshot has other bytes there; "
        "make the receipt from the snapshot that the windows were cut from"
    )
