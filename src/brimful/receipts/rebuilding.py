"""The text of a receipt, written again from its documents by the format's own writer, and compared.

Nothing of the text is taken from the receipt but a model's own words: headers, markers, escapes and separators come
from the format, all else from the bytes that the windows and their seams name. A receipt that fits itself but not its
sources is found, whatever its hashes say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from brimful.assembly.context import digest_document, written
from brimful.assembly.formats import Block, Fragment, form_for
from brimful.documents.documents import Document
from brimful.errors import BrimfulError
from brimful.receipts.offline import Finding, counter_of, wrong
from brimful.receipts.receipt import CitedDocument, CitedWindow, Receipt, hash_of
from brimful.receipts.sources import ObservedDocument
from brimful.windows.seams import Seam
from brimful.windows.window import Window, goes_on_after, goes_on_before

_Written = list[tuple[Window | None, Fragment]]


def rebuild(
    receipt: Receipt, observed: Mapping[str, ObservedDocument], *, text: str | None
) -> tuple[list[Finding], int]:
    """Compare a receipt, and its text where it is at hand, with the text that its documents give.

    The number counts windows of another retriever: they know no document that says where they are cut.
    """
    windows, findings = _windows(receipt, observed)
    if findings:
        return findings, 0
    without_document = sum(window.document is None for window in windows)
    fragments = list(_written(receipt, windows))
    rebuilt = "".join(fragment.text for _, fragment in fragments)
    if text is not None:
        findings += _differences(fragments, text)
    if hash_of(rebuilt) != receipt.context_hash:
        findings.append(wrong("its sources give another text than the one that context_hash stands for"))
    counter = counter_of(receipt)
    if isinstance(counter, Finding):
        return [counter, *findings], without_document
    tokens, content = counter.count(rebuilt), sum(counter.count(window.text) for window in windows)
    if tokens != receipt.tokens:
        findings.append(wrong(f"the text has {tokens} tokens, not {receipt.tokens}"))
    if content != receipt.content_tokens:
        findings.append(wrong(f"its windows have {content} tokens, not {receipt.content_tokens}"))
    return findings, without_document


def _differences(fragments: _Written, text: str) -> list[Finding]:
    """The differing parts of a text, in order; after a change of length only the first, since the rest has moved."""
    raw_text, position = text.encode(errors="surrogatepass"), 0
    findings: dict[object, Finding] = {}  # one for a window
    for window, fragment in fragments:
        raw = fragment.text.encode()
        start, position = position, position + len(raw)
        if raw_text.startswith(raw, start):
            continue
        if window is None or fragment.kind == "literal":
            findings[start] = Finding("text", None, start, position, "the template's own text differs")
        else:
            message = "it reads differently in the text"
            findings.setdefault(window.id, Finding("window", window.path, window.start, window.end, message))
    surplus = len(raw_text) - position
    if not surplus:
        return list(findings.values())
    more = "longer" if surplus > 0 else "shorter"
    message = f"it is {abs(surplus)} bytes {more} than what its sources give"
    return [Finding("text", None, None, None, message), *list(findings.values())[:1]]


# ---- windows


class _CitedPart(Document):
    """A document with only its cited bytes, which is all that formats need to write windows."""

    def __init__(self, cited: CitedDocument, observed: ObservedDocument) -> None:
        super().__init__(cited.path, b"", time=cited.time, kind="prose", language=cited.language, id=cited.id)
        self._observed = observed

    def __len__(self) -> int:
        return self._observed.length

    @property
    def is_whole(self) -> bool:
        """No: only what is cited was kept."""
        return False

    def goes_on(self, start: int, end: int) -> tuple[bool, bool]:
        """Whether the document says anything before a range, and after it."""
        return self._observed.first_visible < start, self._observed.last_visible >= end

    def text(self, start: int, end: int) -> str:
        """A cited range; a UnicodeDecodeError where it is no UTF-8."""
        return self._observed.read(start, end).decode()

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (from 1) of a cited range."""
        return self._observed.lines(start, end)


def _windows(receipt: Receipt, observed: Mapping[str, ObservedDocument]) -> tuple[list[Window], list[Finding]]:
    """The windows of a receipt, cut again from its documents."""
    documents: dict[str, Document] = {
        cited.path: _CitedPart(cited, observed[cited.path]) for cited in receipt.documents
    }
    documents |= {digest.path: digest_document(digest.path, digest.text) for digest in receipt.digests}
    windows: list[Window] = []
    findings: list[Finding] = []
    for cited in receipt.windows:
        document = documents[cited.path]
        try:
            window = _cut(cited, document)
        except (BrimfulError, UnicodeDecodeError) as error:
            return windows, [*findings, wrong(f"no window can be cut there ({error})", cited)]
        if window.id != cited.id:
            window = replace(window, document=None, line=cited.line or None)
        findings += _wrong_window(cited, window, document)
        windows.append(window)
    return windows, findings


def _cut(cited: CitedWindow, document: Document) -> Window:
    return Window(
        cited.path,
        document.text(cited.start, cited.end),
        cited.start,
        cited.end,
        score=float(cited.score),
        sequence=cited.sequence,
        document=document,
        filling=cited.filling,
        cut_start=cited.cut_start,
        cut_end=cited.cut_end,
        seams=tuple(Seam(kind, start, end, document.text(start, end)) for kind, start, end, _ in cited.seams),
        time=cited.time,
    )


def _wrong_window(cited: CitedWindow, window: Window, document: Document) -> Iterator[Finding]:
    if hash_of(window.text) != cited.hash:
        yield wrong("its hash is not that of the bytes there", cited)
    if window.document is None and cited.line and cited.line != document.lines(cited.start, cited.end)[0]:
        yield wrong("it begins in another line than it says", cited)
    if window.id != cited.id:
        yield wrong("its id is not that of a window there", cited)
    elif window.document is not None:
        if cited.sequence or cited.line:
            yield wrong("it has a sequence or a line, which only windows without a document have", cited)
        if (cited.cut_start, cited.cut_end) != _edges(document, cited.start, cited.end):
            yield wrong("its edges are marked otherwise than its document goes on there", cited)


def _edges(document: Document, start: int, end: int) -> tuple[bool, bool]:
    if isinstance(document, _CitedPart):
        return document.goes_on(start, end)
    return goes_on_before(document, start), goes_on_after(document, end)


def _written(receipt: Receipt, windows: Sequence[Window]) -> Iterator[tuple[Window | None, Fragment]]:
    blocks, first = [], 0
    for size in receipt.blocks:
        blocks.append(Block(windows[first].path, tuple(windows[first : first + size])))
        first += size
    return written(blocks, form=form_for(receipt.format), showing=receipt.showing)
