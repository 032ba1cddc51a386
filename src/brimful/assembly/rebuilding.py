"""Which text do the sources of a receipt give? It is written again, by the format's own writer, and compared.

Nothing of the text is taken from the receipt but what a model wrote: headers, markers, escapes and separators come from
the format, everything else from the bytes that the windows and their seams name. So a receipt that fits itself but not
its sources is found, whatever its hashes say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from blake3 import blake3

from brimful.assembly.cited import CitedWindow
from brimful.assembly.context import digest_document, written
from brimful.assembly.formats import Block, Fragment, form_for
from brimful.assembly.observing import Seen, SeenDocument
from brimful.assembly.offline import Finding, counter_of
from brimful.assembly.receipt import Receipt
from brimful.corpus.documents import Document
from brimful.errors import BrimfulError
from brimful.text.tokens import Measure, TokenCounter
from brimful.windows.seams import Seam
from brimful.windows.window import Window, goes_on_after, goes_on_before

if TYPE_CHECKING:
    from collections.abc import Sequence

_COUNTED = 1 << 16  # characters that are counted at once


def rebuild(receipt: Receipt, seen: Mapping[str, Seen], *, text: str | None) -> tuple[list[Finding], int]:
    """Write the text of a receipt again from its documents as they were seen, and compare all that is said of it.

    The number is that of windows which another retriever brought: they know no document that says where they are cut.
    """
    windows, found = _windows(receipt, seen)
    if found:
        return found, 0
    counter = counter_of(receipt)
    found = [counter] if isinstance(counter, Finding) else []
    tally = None if isinstance(counter, Finding) else _Tally(counter)
    reading = _Reading(windows, None if text is None else text.encode(errors="surrogatepass"))
    hasher = blake3()
    for window, fragment in _written(receipt, windows):
        raw = fragment.text.encode()
        hasher.update(raw)
        reading.compare(window, fragment, raw)
        if tally is not None:
            tally.add(fragment.text)
    found += reading.findings(receipt)
    if hasher.hexdigest() != receipt.context_hash:
        found.append(_wrong("its sources give another text than the one that context_hash stands for"))
    if tally is not None:
        found += _recounted(receipt, tally, windows)
    return found, sum(window.document is None for window in windows)


def first_differences(receipt: Receipt, seen: Mapping[str, Seen], text: str) -> dict[int, int]:
    """For windows that have changed since: the first byte of the document that the text has otherwise.

    Only where that is sure, because the template's text stands where it should behind the window: up to the first
    document that is gone, and not where a change has moved what follows.
    """
    windows = _windows(receipt, seen, as_they_are=True)[0]
    reading = _Reading(windows, text.encode(errors="surrogatepass"))
    sure: dict[int, int] = {}
    for window, fragment in _written(receipt, windows):
        if window is None and fragment.text:
            if not reading.stands(fragment.text.encode()):
                break
            sure = reading.first_bytes()
        reading.compare(window, fragment, fragment.text.encode())
    else:
        if len(windows) == len(receipt.windows) and not reading.surplus:
            sure = reading.first_bytes()
    return sure


# ---- windows


def _windows(
    receipt: Receipt, seen: Mapping[str, Seen], *, as_they_are: bool = False
) -> tuple[list[Window], list[Finding]]:
    """The windows of a receipt, cut again from its documents."""
    documents: dict[str, Document] = {
        each.path: SeenDocument(each, seen[each.path]) for each in receipt.documents if each.path in seen
    }
    documents |= {each.path: digest_document(each.path, each.text) for each in receipt.digests}
    windows: list[Window] = []
    found: list[Finding] = []
    for cited in receipt.windows:
        document = documents.get(cited.path)
        if document is None:
            return windows, found
        try:
            window = _cut(cited, document)
        except (BrimfulError, UnicodeDecodeError) as error:
            return windows, [*found, _wrong(f"no window can be cut there ({error})", cited)]
        own = window.id == cited.id
        if not own:
            window = window.changed(document=None, line=cited.line or None)
        if not as_they_are:
            found += _wrong_window(cited, window, document)
        windows.append(window)
    return windows, found


def _cut(cited: CitedWindow, document: Document) -> Window:
    return Window(
        cited.path,
        document.text(cited.start, cited.end),
        cited.start,
        cited.end,
        score=float(cited.score),
        sequence=cited.sequence,
        document=document,
        cut_start=cited.cut_start,
        cut_end=cited.cut_end,
        seams=tuple(Seam(kind, start, end, document.text(start, end)) for kind, start, end, _ in cited.seams),
        time=cited.time,
    )


def _wrong_window(cited: CitedWindow, window: Window, document: Document) -> Iterator[Finding]:
    if blake3(window.text.encode()).hexdigest() != cited.hash:
        yield _wrong("its hash is not that of the bytes there", cited)
    if window.document is None and cited.line and cited.line != document.lines(cited.start, cited.end)[0]:
        yield _wrong("it begins in another line than it says", cited)
    if window.id != cited.id:
        yield _wrong("its id is not that of a window there", cited)
    elif window.document is not None:
        if cited.sequence or cited.line:
            yield _wrong("it has a sequence or a line, which only windows without a document have", cited)
        if (cited.cut_start, cited.cut_end) != _edges(document, cited.start, cited.end):
            yield _wrong("its edges are marked otherwise than its document goes on there", cited)


def _edges(document: Document, start: int, end: int) -> tuple[bool, bool]:
    if isinstance(document, SeenDocument):
        return document.goes_on(start, end)
    return goes_on_before(document, start), goes_on_after(document, end)


# ---- the text


def _written(receipt: Receipt, windows: Sequence[Window]) -> Iterator[tuple[Window | None, Fragment]]:
    blocks, at = [], 0
    for size in receipt.blocks:
        if at < len(windows):
            blocks.append(Block(windows[at].path, tuple(windows[at : at + size])))
        at += size
    return written(blocks, form=form_for(receipt.format), showing=receipt.showing)


class _Reading:
    """A text, read along what the sources give: where it differs."""

    def __init__(self, windows: Iterable[Window], held: bytes | None) -> None:
        self._held = held
        self._at = 0
        self._numbers = {id(window): number for number, window in enumerate(windows)}
        self._literals: list[tuple[int, int]] = []
        self._windows: dict[int, tuple[int, int | None]] = {}  # where in the text, and at which byte of the document

    def compare(self, window: Window | None, fragment: Fragment, raw: bytes) -> None:
        """Compare the next piece."""
        start, self._at = self._at, self._at + len(raw)
        if self._held is None or self._held.startswith(raw, start):
            return
        if window is None or fragment.kind == "literal":
            self._literals.append((start, self._at))
            return
        here = self._held[start : self._at]
        off = next((at for at, (a, b) in enumerate(zip(raw, here, strict=False)) if a != b), len(here))
        byte = fragment.start + (off if fragment.kind == "source" else 0)
        self._windows.setdefault(self._numbers[id(window)], (start, byte))

    def stands(self, raw: bytes) -> bool:
        """Whether the text has this next."""
        return self._held is None or self._held.startswith(raw, self._at)

    @property
    def surplus(self) -> int:
        """How many bytes longer the text is; negative where it is shorter."""
        return 0 if self._held is None else len(self._held) - self._at

    def first_bytes(self) -> dict[int, int]:
        """The first byte of each window's document that the text has otherwise."""
        return {number: byte for number, (_, byte) in self._windows.items() if byte is not None}

    def findings(self, receipt: Receipt) -> list[Finding]:
        """What differs, in order; after a change of length only the first place, since all that follows has moved."""
        places = [
            (start, Finding("text", None, start, end, "the template's own text differs"))
            for start, end in self._literals
        ]
        for number, (at, _) in self._windows.items():
            window = receipt.windows[number]
            message = "it reads differently in the text"
            places.append((at, Finding("window", window.path, window.start, window.end, message)))
        found = [finding for _, finding in sorted(places, key=lambda place: place[0])]
        if not self.surplus:
            return found
        more = "longer" if self.surplus > 0 else "shorter"
        message = f"it is {abs(self.surplus)} bytes {more} than what its sources give"
        return [Finding("text", None, None, None, message), *found[:1]]


class _Tally:
    """The tokens of a text that comes in pieces."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self._total: Measure | None = None
        self._pending: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Count one more piece."""
        self._pending.append(text)
        self._size += len(text)
        if self._size >= _COUNTED:
            self._settle()

    def tokens(self) -> int:
        """How many there are."""
        self._settle()
        return 0 if self._total is None else self._total.tokens

    def _settle(self) -> None:
        if self._size:
            measure = self.counter.measure("".join(self._pending))
            self._total = measure if self._total is None else self._total + measure
            self._pending, self._size = [], 0


def _recounted(receipt: Receipt, tally: _Tally, windows: Iterable[Window]) -> Iterator[Finding]:
    tokens = tally.tokens()
    if tokens != receipt.tokens:
        yield _wrong(f"the text has {tokens} tokens, not {receipt.tokens}")
    content = sum(tally.counter.count(window.text) for window in windows)
    if content != receipt.content_tokens:
        yield _wrong(f"its windows have {content} tokens, not {receipt.content_tokens}")


def _wrong(message: str, window: CitedWindow | None = None) -> Finding:
    if window is None:
        return Finding("receipt", None, None, None, message)
    return Finding("receipt", window.path, window.start, window.end, message)
