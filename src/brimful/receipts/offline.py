"""A receipt checked without its sources, and its text by the hash.

This proves little: anyone can write a receipt that fits itself, and any text. Writing the text again from its sources
(`rebuilding`) proves more, asking the question again proves the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Literal

from brimful.assembly.context import DIGEST_PREFIX, Context
from brimful.errors import BrimfulError, StoreError
from brimful.receipts.notation import canonical
from brimful.receipts.receipt import MOST_OVERLAP, CitedWindow, Receipt, hash_of, most_shown
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for

Kind = Literal[
    "receipt", "proof", "text", "window", "state", "changed", "elsewhere", "time", "gone", "unchecked", "replay"
]

ONLY_BY_ASKING: Mapping[str, tuple[str, ...]] = {
    "that this was asked: question, settings, packing, format and metadata where they leave no trace, budget beyond "
    "its being kept": (
        *("question", "question_hash", "settings", "packing", "format", "include_metadata", "line_numbers"),
        *("model", "budget"),
    ),
    "the ranking: which windows and seams were chosen, under which headers and in which order, their scores, terms "
    "and times, how coherent and with what they are linked, which other documents say the same": (
        *("windows", "windows[].score", "windows[].terms", "windows[].time", "windows[].seams", "blocks"),
        *("windows[].coherence", "windows[].cluster", "windows[].also_in", "windows[].filling"),
    ),
    "what was left out and why, corrections, whether it was truncated": ("omitted", "corrections", "truncated"),
}
"""What no source can show, in words, and the fields that say it: `Engine.verify(…, replay=True)` compares them."""

UNVOUCHED = "the facts of the run (`run`), which no hash covers"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as the receipt says.

    - `receipt`: the receipt contradicts itself, or its sources; `proof`: a document is not under its state root;
    - `text`: the template's own part of the text differs; `window`: a window reads differently in the text;
    - `state`: the store is in another state; `time`: a document has another time there;
    - `changed`: cited bytes are no longer there; `elsewhere`: they are, but the rest of the document has changed;
    - `gone`: the document is missing; `unchecked`: it can't be compared, and the message says why;
    - `replay`: the question, asked again, gives something else.

    `start` and `end` are bytes of the document, or of the text for the kind `text`.
    """

    kind: Kind
    path: str | None
    start: int | None
    end: int | None
    message: str

    def __str__(self) -> str:
        where = self.path or {"text": "the text", "receipt": "the receipt", "replay": "asked again"}.get(self.kind, "")
        span = "" if self.start is None else f" [{self.start}, {self.end})"
        return f"{where}{span}: {self.message}" if where else self.message


class Findings(list[Finding]):
    """Differences from a receipt; it also lists what was compared, and what was not."""

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        *,
        compared: Iterable[str] = (),
        not_checked: Iterable[str] = (),
        is_rebuilt: bool = False,
    ) -> None:
        super().__init__(findings)
        self.compared = tuple(compared)
        self.not_checked = tuple(not_checked)
        self._is_rebuilt = is_rebuilt

    @property
    def verified(self) -> bool:
        """Whether the whole text was made again, from sources or by asking again, and nothing differs."""
        return not self and self._is_rebuilt

    def with_(self, *more: Finding, replayed: bool = False) -> Findings:
        """The findings with more; asking again compares all fields that only it can."""
        compared, skipped = self.compared, self.not_checked
        if replayed:
            compared = (*compared, "the question, asked again: every field of the receipt")
            skipped = tuple(part for part in skipped if part.endswith(UNVOUCHED))
        rebuilt = self._is_rebuilt or replayed
        return Findings([*self, *more], compared=compared, not_checked=skipped, is_rebuilt=rebuilt)


def check(receipt: Receipt, *, text: str | None = None) -> Findings:
    """Check a receipt without its sources and, if `text` is given, that its hash is the one the receipt names."""
    findings = contradictions(receipt)
    compared = ["the receipt with itself: hashes, ranges, proofs"]
    if text is not None and not findings:
        findings = list(_text_findings(receipt, text))
        compared.append("the text with the hash and the number of tokens that the receipt states")
    missing = "all that the receipt says of documents and text: no document was read"
    return Findings(findings, compared=compared, not_checked=(missing, *ONLY_BY_ASKING, UNVOUCHED))


def compared_again(receipt: Receipt, findings: Findings, *, root: str, again: Callable[[], Context]) -> Findings:
    """Findings with the differences of a receipt after its question was replayed on an equal state."""
    try:
        receipt.check_rules()
        if receipt.state_root != root:
            raise StoreError(f"the store's state root is {root}, the receipt's is {receipt.state_root}")
        fresh = again().receipt
    except BrimfulError as error:
        return findings.with_(Finding("unchecked", None, None, None, f"it can't be asked again: {error}"))
    assert fresh is not None
    return findings.with_(*_replay_findings(receipt, fresh), replayed=True)


def _replay_findings(receipt: Receipt, again: Receipt) -> list[Finding]:
    """The fields in which a receipt differs from the one that its question gives now."""
    findings = []
    for field in fields(Receipt):
        was, now = getattr(receipt, field.name), getattr(again, field.name)
        if field.name not in ("id", "question", "run") and canonical([was]) != canonical([now]):
            message = f"{field.name} is {_in_short(now)}, not {_in_short(was)}"
            findings.append(Finding("replay", None, None, None, message))
    return findings


def _in_short(value: object) -> str:
    if isinstance(value, tuple):
        return f"another list of {len(value)}"
    return repr(value) if isinstance(value, str | int) else "another"


def counter_of(receipt: Receipt) -> TokenCounter | Finding:
    """The token counter of a receipt, or the reason why its tokens can't be counted."""
    try:
        counter = tokens_for(receipt.model)
    except BrimfulError as error:
        return Finding("unchecked", None, None, None, f"its tokens can't be counted again: {error}")
    if (counter.name, counter.exact) != (receipt.model, receipt.exact):
        counts = "exactly" if counter.exact else "by an estimate"
        return wrong(f"{receipt.model!r} counts as {counter.name!r}, {counts}, which is not what it says")
    return counter


def _text_findings(receipt: Receipt, text: str) -> Iterator[Finding]:
    if hash_of(text.encode(errors="surrogatepass")) != receipt.context_hash:
        yield Finding("text", None, None, None, f"its hash is not {receipt.context_hash}")
        return
    counter = counter_of(receipt)
    if isinstance(counter, Finding):
        yield counter
    elif (tokens := counter.count(text)) != receipt.tokens:
        yield wrong(f"the text has {tokens} tokens, not {receipt.tokens}")


# ---- the receipt alone


def contradictions(receipt: Receipt) -> list[Finding]:
    """Statements of a receipt that can't be true, whatever its sources are."""
    return [*_contradictions(receipt), *_proofs(receipt)]


def _contradictions(receipt: Receipt) -> Iterator[Finding]:
    if receipt.id != receipt.hashed():
        yield wrong("its id is not the hash of what it says; something in it was changed")
    if receipt.question is not None and hash_of(receipt.question) != receipt.question_hash:
        yield wrong("its question is not the one that question_hash stands for")
    if receipt.tokens > receipt.budget.available:
        yield wrong(f"{receipt.tokens} tokens are more than the {receipt.budget.available} available")
    if any(first.path >= second.path for first, second in pairwise(receipt.documents)):
        yield wrong("its documents are not sorted by path, each once")
    lengths = {document.path: int(document.length) for document in receipt.documents}
    yield from _wrong_digests(receipt, lengths)
    lengths = {digest.path: len(digest.text.encode()) for digest in receipt.digests} | lengths
    yield from _wrong_windows(receipt, lengths)
    yield from _wrong_blocks(receipt)


def wrong(message: str, window: CitedWindow | None = None) -> Finding:
    """A finding about a receipt, or one of its windows, that can't be true."""
    if window is None:
        return Finding("receipt", None, None, None, message)
    return Finding("receipt", window.path, window.start, window.end, message)


def _wrong_windows(receipt: Receipt, lengths: Mapping[str, int]) -> Iterator[Finding]:
    cited: Counter[str] = Counter()
    number = Counter(window.path for window in receipt.windows)
    for window in receipt.windows:
        length = lengths.get(window.path)
        if length is None:
            yield wrong("the window's document is not among the documents", window)
        elif not window.start <= window.end <= length:
            yield wrong(f"its document has {length} bytes", window)
        elif not all(
            start <= end <= length and (end <= window.start or window.end <= start) for _, start, end, _ in window.seams
        ):
            yield wrong(f"a seam is not outside of it, or not among the {length} bytes of its document", window)
        else:
            cited[window.path] += window.end - window.start + sum(end - start for _, start, end, _ in window.seams)
    for path, size in sorted(cited.items()):
        if size > most_shown(lengths[path], number[path]):
            yield wrong(f"its windows show {path} more than {MOST_OVERLAP} times over, which no receipt does")
    used = {window.path for window in receipt.windows}
    for path in sorted(lengths.keys() - used - {digest.source for digest in receipt.digests if digest.path in used}):
        yield wrong(f"the document {path} is listed, but no window is cut from it")


def _wrong_blocks(receipt: Receipt) -> Iterator[Finding]:
    if sum(receipt.blocks) != len(receipt.windows) or not all(receipt.blocks):
        yield wrong(f"its blocks are not of {len(receipt.windows)} windows")
        return
    first = 0
    for size in receipt.blocks:
        windows = receipt.windows[first : first + size]
        if len({window.path for window in windows}) > 1:
            yield wrong("windows of two documents stand under one header", windows[0])
        if len({window.filling for window in windows}) > 1:
            yield wrong("what answers and what only fills stand under one header", windows[0])
        first += size


def _wrong_digests(receipt: Receipt, lengths: Mapping[str, int]) -> Iterator[Finding]:
    paths = Counter(digest.path for digest in receipt.digests)
    sizes_of: dict[str, list[int]] = {}
    for digest in receipt.digests:
        length = lengths.get(digest.source, -1)
        sizes_of.setdefault(digest.source, []).extend(end - start for start, end, _ in digest.sources)
        if digest.path in lengths or paths[digest.path] > 1:
            yield wrong(f"the digest {digest.path} has the path of another document")
        prefixes = (len(digest.path) - len(digest.source)) // len(DIGEST_PREFIX)
        if prefixes < 1 or digest.path != DIGEST_PREFIX * prefixes + digest.source:
            yield wrong(f"{digest.path} is not how a digest of {digest.source} is named")
        if length < 0 or any(not start <= end <= length for start, end, _ in digest.sources):
            yield wrong(f"the digest {digest.path} condenses bytes that {digest.source} does not have")
        digest_bytes = len(digest.text.encode())
        if any(
            not start <= end <= digest_bytes or any(number >= len(digest.sources) for number in sources)
            for start, end, sources in digest.sentences
        ):
            yield wrong(f"the digest {digest.path} has a sentence that lies outside of it or names no source")
    for path, sizes in sorted(sizes_of.items()):
        if sum(sizes) > most_shown(lengths.get(path, 0), len(sizes)):
            yield wrong(f"its digests condense {path} more than {MOST_OVERLAP} times over, which no receipt does")


def _proofs(receipt: Receipt) -> Iterator[Finding]:
    for document in receipt.documents:
        root = document.root()
        if root != receipt.state_root:
            message = f"path, time and content hash lead to the root {root}, not to {receipt.state_root}"
            yield Finding("proof", document.path, None, None, message)
