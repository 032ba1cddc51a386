"""Does a receipt hold together, and is a text the one that it was made for? Nothing but the two is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from brimful.assembly.cited import CitedWindow, Quote
from brimful.assembly.receipt import Receipt, hash_of

Kind = Literal["receipt", "proof", "text", "window", "state", "changed", "elsewhere", "time", "gone", "unchecked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as cited.

    - `receipt`: the receipt contradicts itself; `proof`: a document is not under its state root;
    - `text`: the template's own part of the text differs; `window`: a window reads differently in the text;
    - `state`: the store is in another state; `time`: a document has another time there;
    - `changed`: cited bytes are no longer there; `elsewhere`: they are, but the rest of the document has changed;
    - `gone`: the document is missing; `unchecked`: it can't be compared, and the message says why.

    `start` and `end` are bytes of the document, or of the text for the kind `text`.
    """

    kind: Kind
    path: str | None
    start: int | None
    end: int | None
    message: str

    def __str__(self) -> str:
        where = self.path or ("the text" if self.kind == "text" else "the receipt" if self.kind == "receipt" else "")
        span = "" if self.start is None else f" [{self.start}, {self.end})"
        return f"{where}{span}: {self.message}" if where else self.message


def check(receipt: Receipt, *, text: str | None = None) -> list[Finding]:
    """Check a receipt by itself and, if it is given, the text that it was made for."""
    found = [*_contradictions(receipt), *_proofs(receipt)]
    return found if text is None else [*found, *_text_findings(receipt, Reading.of(receipt, text))]


# ---- the receipt by itself


def _contradictions(receipt: Receipt) -> Iterator[Finding]:
    if receipt.id != receipt.hashed():
        yield _wrong("its id is not the hash of what it says; something in it was changed")
    if receipt.question is not None and hash_of(receipt.question) != receipt.question_hash:
        yield _wrong("its question is not the one that question_hash stands for")
    if receipt.tokens > receipt.budget.available:
        yield _wrong(f"{receipt.tokens} tokens are more than the {receipt.budget.available} available")
    if any(first.path >= second.path for first, second in pairwise(receipt.documents)):
        yield _wrong("its documents are not sorted by path, each once")
    lengths = {document.path: int(document.length) for document in receipt.documents}
    yield from _wrong_digests(receipt, lengths)
    lengths = {digest.path: int(digest.length) for digest in receipt.digests} | lengths
    yield from _wrong_windows(receipt, lengths)
    for at, piece in enumerate(receipt.pieces):
        if isinstance(piece, Quote) and (reason := _bad_quote(receipt, piece, lengths)):
            yield _wrong(f"pieces[{at}] {reason}")


def _wrong(message: str, window: CitedWindow | None = None) -> Finding:
    if window is None:
        return Finding("receipt", None, None, None, message)
    return Finding("receipt", window.path, window.start, window.end, message)


def _wrong_windows(receipt: Receipt, lengths: Mapping[str, int]) -> Iterator[Finding]:
    for window in receipt.windows:
        if window.path not in lengths:
            yield _wrong("the window's document is not among the documents", window)
        elif not window.start <= window.end <= lengths[window.path]:
            yield _wrong(f"its document has {lengths[window.path]} bytes", window)
    used = {window.path for window in receipt.windows} | {digest.source for digest in receipt.digests}
    for path in sorted(lengths.keys() - used):
        yield _wrong(f"the document {path} is listed, but no window is cut from it")


def _wrong_digests(receipt: Receipt, lengths: Mapping[str, int]) -> Iterator[Finding]:
    for digest in receipt.digests:
        length = lengths.get(digest.source, -1)
        if digest.path in lengths or [each.path for each in receipt.digests].count(digest.path) > 1:
            yield _wrong(f"the digest {digest.path} has the path of another document")
        if any(not start <= end <= length for start, end, _ in digest.sources):
            yield _wrong(f"the digest {digest.path} condenses bytes that {digest.source} does not have")
        if any(
            not start <= end <= digest.length or any(number >= len(digest.sources) for number in sources)
            for start, end, sources in digest.sentences
        ):
            yield _wrong(f"the digest {digest.path} has a sentence that lies outside of it or names no source")


def _bad_quote(receipt: Receipt, quote: Quote, lengths: Mapping[str, int]) -> str | None:
    if quote.window >= len(receipt.windows):
        return f"quotes window {quote.window}, and there are {len(receipt.windows)}"
    if (quote.written is None) != (quote.source is None):
        return "has one of written and source; it needs both or none"
    window = receipt.windows[quote.window]
    inside = window.start <= quote.start <= quote.end <= window.end
    if quote.written is None and not inside:
        return f"quotes [{quote.start}, {quote.end}), outside of its window"
    if not quote.start <= quote.end <= lengths.get(window.path, quote.end):
        return f"quotes [{quote.start}, {quote.end}), outside of its document"
    return None


def _proofs(receipt: Receipt) -> Iterator[Finding]:
    for document in receipt.documents:
        root = document.root()
        if root != receipt.state_root:
            message = f"path, time and content hash lead to the root {root}, not to {receipt.state_root}"
            yield Finding("proof", document.path, None, None, message)


# ---- the text


@dataclass(slots=True)
class Reading:
    """A text, read along the receipt's pieces: what differs, where, and the windows' bytes as the text has them."""

    is_same: bool
    surplus: int = 0  # bytes beyond what the pieces account for; negative where some are missing
    literals: list[tuple[int, int]] = field(default_factory=list)  # of the template's own text, those that differ
    windows: list[bytes] = field(default_factory=list)
    wrong_windows: set[int] = field(default_factory=set)
    begins: dict[int, int] = field(default_factory=dict)  # where in the text a window begins

    @classmethod
    def of(cls, receipt: Receipt, text: str) -> Reading:
        """Read a text along a receipt, which need not hold together."""
        held = text.encode(errors="surrogatepass")
        reading = cls(hash_of(held) == receipt.context_hash)
        parts: list[list[bytes]] = [[] for _ in receipt.windows]
        ends = [int(window.start) for window in receipt.windows]
        at = 0
        for piece in receipt.pieces:
            shown = _shown(piece)
            size = len(shown) if shown is not None else _size(piece)
            here = held[at : at + size]
            if isinstance(piece, str):
                if here != shown:
                    reading.literals.append((at, at + size))
            elif piece.window < len(parts):
                reading.begins.setdefault(piece.window, at)
                if shown is not None and here != shown:
                    reading.wrong_windows.add(piece.window)
                if piece.start == ends[piece.window] and piece.end <= receipt.windows[piece.window].end:
                    parts[piece.window].append(here if piece.source is None else piece.source.encode())
                    ends[piece.window] = piece.end
            at += size
        reading.surplus = len(held) - at
        reading.windows = [b"".join(part) for part in parts]
        for number, (window, content) in enumerate(zip(receipt.windows, reading.windows, strict=True)):
            if ends[number] != window.end or hash_of(content) != window.hash:
                reading.wrong_windows.add(number)
        return reading


def _shown(piece: str | Quote) -> bytes | None:
    """What the text must show for a piece, or None where only the document knows."""
    said = piece if isinstance(piece, str) else piece.written
    return None if said is None else said.encode()


def _size(piece: str | Quote) -> int:
    return 0 if isinstance(piece, str) else max(piece.end - piece.start, 0)


def _text_findings(receipt: Receipt, reading: Reading) -> list[Finding]:
    """What differs, piece by piece; after a change of length only the first place, since all that follows has moved."""
    found = [
        (start, Finding("text", None, start, end, "the template's own text differs")) for start, end in reading.literals
    ]
    for number in reading.wrong_windows:
        window = receipt.windows[number]
        finding = Finding("window", window.path, window.start, window.end, "it reads differently in the text")
        found.append((reading.begins.get(number, -1), finding))
    found.sort(key=lambda pair: (pair[0], str(pair[1])))
    findings = [finding for _, finding in found]
    if reading.surplus:
        more = "longer" if reading.surplus > 0 else "shorter"
        message = f"it is {abs(reading.surplus)} bytes {more} than what the receipt accounts for"
        return [Finding("text", None, None, None, message), *findings[:1]]
    if not reading.is_same and not findings:
        return [Finding("text", None, None, None, f"its hash is not {receipt.context_hash}")]
    return findings
