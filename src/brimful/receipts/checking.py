"""Is everything still as a receipt says: the receipt itself, the text, the store, the files?

    check(receipt, text=…)                  the receipt by itself, and the text by its hash: no source is read
    check_store(receipt, snapshot, text=…)  the text written again from what a store holds, and all that is said of it
    check_files(receipt, root, text=…)      the same from the files below a folder

Each returns `Findings`: a list that is empty where all that was compared is as the receipt says, and which also says
what was compared and what was not. A receipt is not signed: it proves that documents are under its state root, and
whether that root is the right one is for the store, or the reader's own record of it, to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from brimful.corpus.skips import Refusal
from brimful.errors import DocumentError, StoreError
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
from brimful.receipts.receipt import CitedDigest, CitedDocument, DigestSource, Receipt, hash_of, most_shown
from brimful.receipts.sources import (
    Files,
    Seen,
    Span,
    bytes_in_store,
    facts_in_file,
    first_differences,
    observe,
    rebuild,
)
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

    Where the store's state is another one, that is named, and each document is still checked by itself.
    """
    comparison = _Comparison(receipt, text)

    def compare(document: CitedDocument) -> None:
        row = snapshot.row(document.path)
        if row is None:
            comparison.gone(document, "the document is not in the store")
            return
        if row.time != document.time:
            message = f"its time was {document.time} and is {row.time} (seconds since 1970)"
            comparison.add("time", document.path, message)
        seen = observe(row.path, bytes_in_store(snapshot, row), comparison.spans(document))
        comparison.compare(document, seen)
        comparison.compare_facts(document, row.rule, row.language, kind="receipt")

    def guarded(document: CitedDocument) -> None:
        try:
            compare(document)
        except StoreError as error:
            comparison.add("unchecked", document.path, f"the store can't read it: {error}")

    found = comparison.run(guarded, source="the store", not_checked=())
    root = snapshot.root.hex()
    if root != receipt.state_root:
        message = f"the store's state root is {root}, the receipt's is {receipt.state_root}"
        found.insert(0, Finding("state", None, None, None, f"{message}; cited documents: {comparison.tally()}"))
    return found


def check_files(
    receipt: Receipt, root: Path, *, text: str | None = None, convert: bool = True, label: str | None = None
) -> Findings:
    """Write a receipt's text again from the files below a folder and compare it.

    The folder is the one in which the documents' names open, or the added folder itself; where that was named by a
    label of its own, `label` says which.
    Text is compared byte by byte, in the encoding by which it was read. What was converted (PDF, mail, Office) has no
    bytes of its own in a file: it is converted again and the results are compared, or called `unchecked` where
    `convert` is False. Nothing outside the folder is opened, and the times of files are not compared.
    """
    if not root.is_dir():
        raise DocumentError(f"{str(root)!r} is not a folder; name the one that the documents were added from")
    comparison, files = _Comparison(receipt, text), Files(root, convert=convert, label=label)

    def compare(document: CitedDocument) -> None:
        try:
            read = files.read(document)
            seen = observe(document.path, read.blocks, comparison.spans(document))
            comparison.compare(document, seen)
            comparison.compare_facts(document, *facts_in_file(document, read, seen), kind="unchecked")
        except FileNotFoundError:
            comparison.gone(document, "there is no such file")
        except Refusal as refusal:
            comparison.add("unchecked", document.path, refusal.detail)

    rest = "the state root, and the times of documents under it: only their store has them"
    return comparison.run(compare, source="the files", not_checked=(rest,))


# ---- documents, wherever they are


class _Comparison:
    """Cited bytes against documents as they are now."""

    def __init__(self, receipt: Receipt, text: str | None) -> None:
        self._receipt, self._text = receipt, text
        self._found: list[Finding] = []
        self._verdicts: dict[str, str] = {}
        self._seen: dict[str, Seen] = {}
        self._changed: dict[int, int] = {}  # where a finding stands that says so of a window
        self._windows: dict[str, list[int]] = {}
        self._digests: dict[str, list[CitedDigest]] = {}
        for number, window in enumerate(receipt.windows):
            self._windows.setdefault(window.path, []).append(number)
        for digest in receipt.digests:
            self._digests.setdefault(digest.source, []).append(digest)

    def run(self, compare: Callable[[CitedDocument], None], *, source: str, not_checked: Iterable[str]) -> Findings:
        """Compare everything with a source: the receipt with itself, its documents, then the text."""
        broken = contradictions(self._receipt)
        compared = ["the receipt with itself: hashes, ranges, proofs"]
        if any(each.kind == "receipt" for each in broken):  # nothing that it says can be relied upon
            missing = (
                f"all that the receipt says of documents and text: it contradicts itself, so {source} were not read"
            )
            return Findings(broken, compared=compared, not_checked=(missing, *ONLY_BY_ASKING, UNVOUCHED))
        for document in self._receipt.documents:
            compare(document)
        compared.append(f"{_count(len(self._receipt.documents), 'cited document')} with {source}, each hashed whole")
        left = [*not_checked, *ONLY_BY_ASKING, UNVOUCHED]
        if self._found or broken:
            self._locate()
            rebuilt = self._against_text() if self._text is not None else []
            left.insert(0, "headers, markers and tokens: the text can't be written again from what has changed")
        else:
            rebuilt, brought = rebuild(self._receipt, self._seen, text=self._text)
            compared += self._said()
            if brought:
                left.insert(0, f"the edges of {_count(brought, 'window')} that came without a document")
        if self._receipt.digests:
            number = _count(len(self._receipt.digests), "digest")
            said = f"the words of {number}, which model wrote them, and which bytes each sentence came from"
            left.insert(0, f"{said}: no source has them")
        found = [*broken, *self._found, *rebuilt]
        return Findings(found, compared=compared, not_checked=left, is_rebuilt=not self._receipt.digests)

    def _said(self) -> Iterator[str]:
        receipt = self._receipt
        count = _count(len(receipt.windows), "window")
        against = "the text, byte by byte, and its hash" if self._text is not None else "the hash of the text"
        yield f"the text of {count}, written again in the format {receipt.format!r}, with {against}"
        yield f"the tokens, counted again by {receipt.model!r}"

    def _against_text(self) -> list[Finding]:
        """The text where its sources have changed: its hash is all that is left."""
        if hash_of((self._text or "").encode(errors="surrogatepass")) == self._receipt.context_hash:
            return []
        return [Finding("text", None, None, None, f"its hash is not {self._receipt.context_hash}")]

    def _locate(self) -> None:
        """Say where a change of cited bytes begins, if the text is at hand and tells what was there."""
        if not self._changed or self._text is None or self._against_text():
            return
        for number, byte in first_differences(self._receipt, self._seen, self._text).items():
            if (at := self._changed.get(number)) is not None:
                was = self._found[at]
                message = f"{was.message}; the first difference is at byte {byte}"
                self._found[at] = Finding(was.kind, was.path, was.start, was.end, message)

    def add(self, kind: Kind, path: str, message: str) -> None:
        """Note something about a whole document."""
        self._found.append(Finding(kind, path, None, None, message))
        self._verdicts[path] = kind if kind == "unchecked" else self._verdicts.get(path, "changed")

    def gone(self, document: CitedDocument, message: str) -> None:
        """Note a missing document."""
        self._found.append(Finding("gone", document.path, None, None, message))
        self._verdicts[document.path] = "gone"

    def spans(self, document: CitedDocument) -> list[Span]:
        """The ranges of a document that are cited: its windows, the seams around them, what digests condense."""
        found: list[Span] = []
        for number in self._windows.get(document.path, ()):
            window = self._receipt.windows[number]
            found.append((window.start, window.end))
            found += [(start, end) for _, start, end, _ in window.seams]
        found += [(each.start, each.end) for _, each in self._sources(document)]
        return found

    def _cited_bytes(self, document: CitedDocument, length: int) -> int:
        """How many bytes of a document of that length are cited, each as often as it is."""
        return sum(max(min(end, length) - start, 0) for start, end in self.spans(document))

    def _sources(self, document: CitedDocument) -> Iterator[tuple[CitedDigest, DigestSource]]:
        """What digests condense of a document."""
        for digest in self._digests.get(document.path, ()):
            yield from ((digest, each) for each in digest.sources)

    def compare(self, document: CitedDocument, seen: Seen) -> None:
        """Note what of a document is not as cited."""
        if seen.length != document.length and self._cited_bytes(document, seen.length) > most_shown(
            seen.length, len(self._windows.get(document.path, ()))
        ):
            self.add("changed", document.path, f"it has other bytes than it had ({_difference(document, seen)})")
            return
        self._seen[document.path] = seen
        found = [
            *self._changed_windows(document, seen),
            *self._changed_seams(document, seen),
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

    def compare_facts(self, document: CitedDocument, rule: str, language: str | None, *, kind: Kind) -> None:
        """Note where a document was read by another rule, or has another language, than the receipt says."""
        if document.path in self._verdicts:
            return
        for name, was, now in (("rule", document.rule, rule), ("language", document.language, language)):
            if was != now:
                self.add(kind, document.path, f"the receipt says that its {name} is {was!r}, and it is {now!r}")

    def _changed_windows(self, document: CitedDocument, seen: Seen) -> Iterator[Finding]:
        at = len(self._found)
        for number in self._windows.get(document.path, ()):
            window = self._receipt.windows[number]
            if hash_of(seen.read(window.start, window.end)) != window.hash:
                self._changed[number], at = at, at + 1
                yield Finding("changed", window.path, window.start, window.end, "the cited bytes are no longer there")

    def _changed_seams(self, document: CitedDocument, seen: Seen) -> Iterator[Finding]:
        seams = {
            seam: None
            for number in self._windows.get(document.path, ())
            for seam in self._receipt.windows[number].seams
        }
        for _, start, end, cited in seams:
            if hash_of(seen.read(start, end)) != cited:
                message = "the bytes that are shown before a window are no longer there"
                yield Finding("changed", document.path, start, end, message)

    def _changed_sources(self, document: CitedDocument, seen: Seen) -> Iterator[Finding]:
        for digest, each in self._sources(document):
            if hash_of(seen.read(each.start, each.end)) != each.hash:
                message = f"the bytes that {digest.path} condenses are no longer there"
                yield Finding("changed", document.path, each.start, each.end, message)

    def tally(self) -> str:
        """How many documents are as cited, and how many are not."""
        verdicts = [self._verdicts.get(document.path, "unchanged") for document in self._receipt.documents]
        kinds = ("unchanged", "changed", "gone", "unchecked")
        return ", ".join(
            f"{verdicts.count(kind)} {kind}" for kind in kinds if verdicts.count(kind) or kind == "unchanged"
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _difference(document: CitedDocument, seen: Seen) -> str:
    if seen.length != document.length:
        return f"{document.length} bytes then, {seen.length} now"
    return "as many bytes, another hash" if seen.content_hash != document.content_hash else "its id is another one"
