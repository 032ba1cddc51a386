"""Is everything still as a receipt says: the receipt itself, the text, the store, the files?

    check(receipt, text=…)                  offline: hashes, proofs, and every byte of the text
    check_store(receipt, snapshot, text=…)  also against what a store holds
    check_files(receipt, root, text=…)      also against the files below a folder

Each returns findings; an empty list means that all is as cited. A receipt is not signed: it proves that documents are
under its state root, and whether that root is the right one is for the store, or the reader's own record of it, to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from brimful.assembly.cited import CitedDigest, CitedDocument, DigestSource, Quote
from brimful.assembly.observing import Seen, Span, bytes_in_file, bytes_in_store, observe
from brimful.assembly.offline import Finding, Kind, Reading, check
from brimful.assembly.receipt import Receipt, hash_of
from brimful.corpus.skips import Refusal
from brimful.errors import DocumentError, StoreError
from brimful.store.protocol import Snapshot

__all__ = ["Finding", "check", "check_files", "check_store"]


def check_store(receipt: Receipt, snapshot: Snapshot, *, text: str | None = None) -> list[Finding]:
    """Check a receipt, and every document that it cites against a store; each is read and hashed as a whole.

    Where the store's state is another one, that is named, and each document is still checked by itself.
    """
    comparison = _Comparison(receipt, text)
    for document in receipt.documents:
        try:
            _compare_stored(document, snapshot, comparison)
        except StoreError as error:
            comparison.add("unchecked", document.path, f"the store can't read it: {error}")
    found = comparison.finish(check(receipt, text=text))
    root = snapshot.root.hex()
    if root != receipt.state_root:
        tally = comparison.tally()
        message = f"the store's state root is {root}, the receipt's is {receipt.state_root}; cited documents: {tally}"
        found.insert(0, Finding("state", None, None, None, message))
    return found


def _compare_stored(document: CitedDocument, snapshot: Snapshot, comparison: _Comparison) -> None:
    row = snapshot.row(document.path)
    if row is None:
        comparison.gone(document, "the document is not in the store")
        return
    if row.time != document.time:
        comparison.add("time", document.path, f"its time was {document.time} and is {row.time} (seconds since 1970)")
    comparison.compare(document, observe(row.path, bytes_in_store(snapshot, row), comparison.spans(document)))


def check_files(receipt: Receipt, root: Path, *, text: str | None = None, convert: bool = True) -> list[Finding]:
    """Check a receipt, and every document that it cites against the files below a folder.

    Text is compared byte by byte, in the encoding by which it was read. What was converted (PDF, mail, Office) has no
    bytes of its own in a file: it is converted again and the results are compared, or called `unchecked` where
    `convert` is False. Nothing outside the folder is opened, and the times of files are not compared.
    """
    if not root.is_dir():
        raise DocumentError(f"{str(root)!r} is not a folder; name the one that the documents were added from")
    comparison = _Comparison(receipt, text)
    for document in receipt.documents:
        try:
            blocks = bytes_in_file(document, root, convert=convert)
            comparison.compare(document, observe(document.path, blocks, comparison.spans(document)))
        except FileNotFoundError:
            comparison.gone(document, "there is no such file")
        except Refusal as refusal:
            comparison.add("unchecked", document.path, refusal.detail)
    return comparison.finish(check(receipt, text=text))


# ---- documents, wherever they are


class _Comparison:
    """Cited bytes against documents as they are now."""

    def __init__(self, receipt: Receipt, text: str | None) -> None:
        self._receipt = receipt
        self._reading = None if text is None else Reading.of(receipt, text)
        self._found: list[Finding] = []
        self._verdicts: dict[str, str] = {}
        self._own: dict[int, bytes] = {}  # the windows' bytes as they are now
        self._changed: set[int] = set()  # the windows whose bytes are no longer there
        self._windows: dict[str, list[int]] = {}
        self._quotes: dict[str, list[Quote]] = {}
        for number, window in enumerate(receipt.windows):
            self._windows.setdefault(window.path, []).append(number)
        for piece in receipt.pieces:
            if isinstance(piece, Quote) and piece.source is not None and piece.window < len(receipt.windows):
                self._quotes.setdefault(receipt.windows[piece.window].path, []).append(piece)

    def add(self, kind: Kind, path: str, message: str) -> None:
        """Note something about a whole document."""
        self._found.append(Finding(kind, path, None, None, message))
        self._verdicts[path] = kind if kind == "unchecked" else self._verdicts.get(path, "changed")

    def gone(self, document: CitedDocument, message: str) -> None:
        """Note a missing document."""
        self._found.append(Finding("gone", document.path, None, None, message))
        self._verdicts[document.path] = "gone"

    def spans(self, document: CitedDocument) -> list[Span]:
        """The ranges of a document that are cited: its windows, and the seams around them."""
        windows = (self._receipt.windows[number] for number in self._windows.get(document.path, ()))
        found = {(int(window.start), int(window.end)) for window in windows}
        found |= {(int(each.start), int(each.end)) for _, each in self._sources(document)}
        seams = (quote for quote in self._quotes.get(document.path, ()) if not self._is_inside(quote))
        return sorted(found | {(int(quote.start), int(quote.end)) for quote in seams})

    def _sources(self, document: CitedDocument) -> Iterator[tuple[CitedDigest, DigestSource]]:
        """What digests condense of a document."""
        for digest in self._receipt.digests:
            if digest.source == document.path:
                yield from ((digest, each) for each in digest.sources)

    def _changed_sources(self, document: CitedDocument, seen: Seen) -> Iterator[Finding]:
        for digest, each in self._sources(document):
            if hash_of(seen.parts[int(each.start), int(each.end)]) != each.hash:
                message = f"the bytes that {digest.path} condenses are no longer there"
                yield Finding("changed", document.path, each.start, each.end, message)

    def _is_inside(self, quote: Quote) -> bool:
        window = self._receipt.windows[quote.window]
        return window.start <= quote.start <= quote.end <= window.end

    def compare(self, document: CitedDocument, seen: Seen) -> None:
        """Note what of a document is not as cited."""
        found = [
            *self._changed_windows(document, seen),
            *self._changed_quotes(document, seen),
            *self._changed_sources(document, seen),
        ]
        same = (seen.content_hash, seen.id, seen.length) == (document.content_hash, document.id, document.length)
        if not same and not found:
            message = (
                f"the cited bytes are there, but the document has changed elsewhere ({_difference(document, seen)})"
            )
            found.append(Finding("elsewhere", document.path, None, None, message))
        if found:
            self._found.extend(found)
            self._verdicts[document.path] = "changed"

    def _changed_windows(self, document: CitedDocument, seen: Seen) -> Iterator[Finding]:
        for number in self._windows.get(document.path, ()):
            window = self._receipt.windows[number]
            here = self._own[number] = seen.parts[window.start, window.end]
            if hash_of(here) != window.hash:
                self._changed.add(number)
                message = f"the cited bytes are no longer there{self._first_difference(number, here)}"
                yield Finding("changed", window.path, window.start, window.end, message)

    def _changed_quotes(self, document: CitedDocument, seen: Seen) -> Iterator[Finding]:
        """Seams and escapes, whose source stands in the receipt; those inside a changed window were named with it."""
        for quote in self._quotes.get(document.path, ()):
            start, end = int(quote.start), int(quote.end)
            if not self._is_inside(quote):
                here = seen.parts[start, end]
            elif quote.window in self._changed:
                continue
            else:
                first = self._receipt.windows[quote.window].start
                here = self._own[quote.window][start - first : end - first]
            if here != (quote.source or "").encode():
                message = f"it was {quote.source!r} and is {here.decode(errors='backslashreplace')!r}"
                yield Finding("changed", document.path, start, end, message)

    def _first_difference(self, number: int, here: bytes) -> str:
        """Where the change begins, if the text is at hand and tells what was there."""
        if self._reading is None or number in self._reading.wrong_windows:
            return ""
        was = self._reading.windows[number]
        first = next((at for at, (a, b) in enumerate(zip(was, here, strict=False)) if a != b), min(len(was), len(here)))
        return f"; the first difference is at byte {self._receipt.windows[number].start + first}"

    def finish(self, offline: list[Finding]) -> list[Finding]:
        """Everything found; where nothing is, the pieces put together must give the very text of the receipt."""
        found = [*offline, *self._found]
        if not found and hash_of(self._rebuilt()) != self._receipt.context_hash:
            message = "what it cites does not give the text that its context_hash stands for"
            found.append(Finding("receipt", None, None, None, message))
        return found

    def _rebuilt(self) -> bytes:
        parts = []
        for piece in self._receipt.pieces:
            if isinstance(piece, str) or piece.written is not None:
                parts.append((piece if isinstance(piece, str) else piece.written or "").encode())
            else:
                first = self._receipt.windows[piece.window].start
                parts.append(self._own[piece.window][piece.start - first : piece.end - first])
        return b"".join(parts)

    def tally(self) -> str:
        """How many documents are as cited, and how many are not."""
        verdicts = [self._verdicts.get(document.path, "unchanged") for document in self._receipt.documents]
        kinds = ("unchanged", "changed", "gone", "unchecked")
        return ", ".join(
            f"{verdicts.count(kind)} {kind}" for kind in kinds if verdicts.count(kind) or kind == "unchanged"
        )


def _difference(document: CitedDocument, seen: Seen) -> str:
    if seen.length != document.length:
        return f"{document.length} bytes then, {seen.length} now"
    return "as many bytes, another hash" if seen.content_hash != document.content_hash else "its id is another one"
