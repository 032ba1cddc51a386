"""Receipts checked: by themselves, against a store, against files.

    check(receipt, text=…)                  the receipt alone, and the text by its hash: no source is read
    check_store(receipt, snapshot, text=…)  the text written again from a store
    check_files(receipt, root, text=…)      the text written again from the files below a folder

Each returns `Findings`: a list that is empty where all that was compared is as the receipt says, and which also says
what was compared and what was not. A receipt is not signed: it proves that documents are under its state root, and
whether that root is the right one is for the store, or the reader's own record of it, to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from brimful.assembly.pack import parse
from brimful.documents.skips import Refusal
from brimful.errors import DocumentError, FormatError, StoreError
from brimful.receipts.offline import (
    ONLY_BY_ASKING,
    UNVOUCHED,
    Finding,
    Findings,
    Kind,
    check,
    compared_again,
    contradictions,
)
from brimful.receipts.rebuilding import rebuild
from brimful.receipts.receipt import CitedDigest, CitedDocument, Receipt, hash_of, most_shown
from brimful.receipts.sources import Files, ObservedDocument, Source, observe, stored
from brimful.store.snapshot import StoredSnapshot

__all__ = [
    "Finding",
    "Findings",
    "check",
    "check_files",
    "check_store",
    "compared_again",
]


def check_store(receipt: Receipt, snapshot: StoredSnapshot, *, text: str | None = None) -> Findings:
    """Write a receipt's text again from a store and compare it; each cited document is read and hashed as a whole.

    A store in another state is reported, and each document is checked nevertheless.
    """
    comparison = _Comparison(receipt, text, partial(stored, snapshot))
    findings = comparison.run(source="the store", gone="the document is not in the store", not_checked=())
    root = snapshot.root.hex()
    if root != receipt.state_root:
        message = f"the store's state root is {root}, the receipt's is {receipt.state_root}"
        findings.insert(0, Finding("state", None, None, None, f"{message}; cited documents: {comparison.tally()}"))
    return findings


def check_files(
    receipt: Receipt, root: Path, *, text: str | None = None, convert: bool = True, label: str | None = None
) -> Findings:
    """Write a receipt's text again from the files below a folder and compare it.

    The folder is the one in which the documents' names open, or the added folder itself; `label` is the name under
    which it was added, if it was given one. Text is compared byte by byte, in the encoding by which it was read. What
    was converted (PDF, mail, Office) is converted again and the results are compared, or called `unchecked` where
    `convert` is False. Nothing outside the folder is opened, and the times of files are not compared.
    """
    if not root.is_dir():
        raise DocumentError(f"{str(root)!r} is not a folder; name the one that the documents were added from")
    comparison = _Comparison(receipt, text, Files(root, convert=convert, label=label).read)
    unread = "the state root, and the times of documents under it: only their store has them"
    return comparison.run(source="the files", gone="there is no such file", not_checked=(unread,))


_Cited = tuple[int, int, str, str, int | None]
"""A cited range of a document: start, end, hash, the message where the hash is another one, and the window's number."""


class _Comparison:
    """Cited bytes against documents as they are now."""

    def __init__(self, receipt: Receipt, text: str | None, read: Callable[[CitedDocument], Source]) -> None:
        self._receipt, self._text, self._read = receipt, text, read
        self._findings: list[Finding] = []
        self._verdicts: dict[str, str] = {}
        self._observed: dict[str, ObservedDocument] = {}
        self._changed: dict[int, int] = {}  # window -> its finding
        self._windows: dict[str, list[int]] = {}
        self._digests: dict[str, list[CitedDigest]] = {}
        for number, window in enumerate(receipt.windows):
            self._windows.setdefault(window.path, []).append(number)
        for digest in receipt.digests:
            self._digests.setdefault(digest.source, []).append(digest)

    def run(self, *, source: str, gone: str, not_checked: Iterable[str]) -> Findings:
        """Compare everything with a source: the receipt with itself, its documents, then the text."""
        receipt = self._receipt
        broken = contradictions(receipt)
        compared = ["the receipt with itself: hashes, ranges, proofs"]
        if any(finding.kind == "receipt" for finding in broken):  # nothing that it says can be relied upon
            missing = (
                f"all that the receipt says of documents and text: it contradicts itself, so {source} were not read"
            )
            return Findings(broken, compared=compared, not_checked=(missing, *ONLY_BY_ASKING, UNVOUCHED))
        for document in receipt.documents:
            self._compare(document, gone=gone)
        compared.append(f"{_count(len(receipt.documents), 'cited document')} with {source}, each hashed whole")
        skipped = [*not_checked, *ONLY_BY_ASKING, UNVOUCHED]
        if self._findings or broken:
            rebuilt = self._compare_old_text()
            skipped.insert(0, "headers, markers and tokens: the text can't be written again from what has changed")
        else:
            rebuilt, without_document = rebuild(receipt, self._observed, text=self._text)
            against = "the text, byte by byte, and its hash" if self._text is not None else "the hash of the text"
            count = _count(len(receipt.windows), "window")
            compared.append(f"the text of {count}, written again in the format {receipt.format!r}, with {against}")
            compared.append(f"the tokens, counted again by {receipt.model!r}")
            if without_document:
                skipped.insert(0, f"the edges of {_count(without_document, 'window')} that came without a document")
        if receipt.digests:
            count = _count(len(receipt.digests), "digest")
            words = f"the words of {count}, which model wrote them, and which bytes each sentence came from"
            skipped.insert(0, f"{words}: no source has them")
        findings = [*broken, *self._findings, *rebuilt]
        return Findings(findings, compared=compared, not_checked=skipped, is_rebuilt=not receipt.digests)

    def _compare_old_text(self) -> list[Finding]:
        """The text where its sources have changed: its hash, and the first byte of each change."""
        if self._text is None:
            return []
        if hash_of(self._text.encode(errors="surrogatepass")) != self._receipt.context_hash:
            return [Finding("text", None, None, None, f"its hash is not {self._receipt.context_hash}")]
        try:
            windows = parse(self._text, format=self._receipt.format)
        except FormatError:
            return []
        old_texts = {hash_of(window.text): window.text.encode() for window in windows}
        for number, index in self._changed.items():
            window, finding = self._receipt.windows[number], self._findings[index]
            if (old := old_texts.get(window.hash)) is not None:
                new = self._observed[window.path].read(window.start, window.end)
                shorter = min(len(old), len(new))
                byte = window.start + next((place for place in range(shorter) if old[place] != new[place]), shorter)
                message = f"{finding.message}; the first difference is at byte {byte}"
                self._findings[index] = replace(finding, message=message)
        return []

    def _add(self, kind: Kind, path: str, message: str) -> None:
        """Note something about a whole document."""
        self._findings.append(Finding(kind, path, None, None, message))
        self._verdicts[path] = kind if kind == "unchecked" else self._verdicts.get(path, "changed")

    def _cited(self, document: CitedDocument) -> Iterator[_Cited]:
        """The ranges of a document that are cited: windows, then the seams around them, then what digests condense."""
        windows = [(number, self._receipt.windows[number]) for number in self._windows.get(document.path, ())]
        for number, window in windows:
            yield window.start, window.end, window.hash, "the cited bytes are no longer there", number
        message = "the bytes that are shown before a window are no longer there"
        yield from ((*seam[1:], message, None) for _, window in windows for seam in window.seams)
        for digest in self._digests.get(document.path, ()):
            message = f"the bytes that {digest.path} condenses are no longer there"
            yield from ((*source, message, None) for source in digest.sources)

    def _compare(self, document: CitedDocument, *, gone: str) -> None:
        """Note what of a document is not as cited."""
        try:
            source = self._read(document)
            if source.time != document.time:
                message = f"its time was {document.time} and is {source.time} (seconds since 1970)"
                self._add("time", document.path, message)
            observed = observe(document.path, source.blocks, [(start, end) for start, end, *_ in self._cited(document)])
        except FileNotFoundError:
            self._findings.append(Finding("gone", document.path, None, None, gone))
            self._verdicts[document.path] = "gone"
        except Refusal as refusal:
            self._add("unchecked", document.path, refusal.detail)
        except StoreError as error:
            self._add("unchecked", document.path, f"the store can't read it: {error}")
        else:
            self._compare_bytes(document, observed)
            self._compare_facts(document, source, observed)

    def _compare_bytes(self, document: CitedDocument, observed: ObservedDocument) -> None:
        cited = list(self._cited(document))
        cited_bytes = sum(max(min(end, observed.length) - start, 0) for start, end, *_ in cited)
        windows = len(self._windows.get(document.path, ()))
        if observed.length != document.length and cited_bytes > most_shown(observed.length, windows):
            self._add("changed", document.path, f"it has other bytes than it had ({_difference(document, observed)})")
            return
        self._observed[document.path] = observed
        changed = dict.fromkeys(span for span in cited if hash_of(observed.read(*span[:2])) != span[2])
        for start, end, _, message, window in changed:
            if window is not None:
                self._changed[window] = len(self._findings)
            self._findings.append(Finding("changed", document.path, start, end, message))
        is_equal = (observed.content_hash, observed.id, observed.length) == (
            document.content_hash,
            document.id,
            document.length,
        )
        if not is_equal and not changed:
            message = (
                f"the cited bytes are there, but the document has changed elsewhere ({_difference(document, observed)})"
            )
            self._findings.append(Finding("elsewhere", document.path, None, None, message))
        if changed or not is_equal:
            self._verdicts[document.path] = "changed"

    def _compare_facts(self, document: CitedDocument, source: Source, observed: ObservedDocument) -> None:
        """Note where a document was read by another rule, or has another language, than the receipt says."""
        if document.path in self._verdicts:
            return
        rule, language = source.facts(document, observed)
        for name, was, now in (("rule", document.rule, rule), ("language", document.language, language)):
            if was != now:
                self._add(source.kind, document.path, f"the receipt says that its {name} is {was!r}, and it is {now!r}")

    def tally(self) -> str:
        """How many documents are as cited, and how many are not."""
        verdicts = [self._verdicts.get(document.path, "unchanged") for document in self._receipt.documents]
        kinds = ("unchanged", "changed", "gone", "unchecked")
        return ", ".join(
            f"{verdicts.count(kind)} {kind}" for kind in kinds if verdicts.count(kind) or kind == "unchanged"
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _difference(document: CitedDocument, observed: ObservedDocument) -> str:
    if observed.length != document.length:
        return f"{document.length} bytes then, {observed.length} now"
    return "as many bytes, another hash" if observed.content_hash != document.content_hash else "its id is another one"
