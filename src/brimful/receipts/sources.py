"""Which bytes do the cited documents have now, and which text do they give when it is written again?"""

from __future__ import annotations

import codecs
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from brimful.assembly.context import digest_document, written
from brimful.assembly.formats import Block, Fragment, form_for
from brimful.documents.documents import Document
from brimful.documents.encodings import decode
from brimful.documents.loaders import Loaded, load
from brimful.documents.reading import BLOCK_BYTES, read, read_blocks
from brimful.documents.skips import Reason, Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found
from brimful.errors import BrimfulError
from brimful.outline.kinds import SNIFF_BYTES, kind_of
from brimful.receipts.offline import Finding, Kind, counter_of, wrong
from brimful.receipts.receipt import CitedDocument, CitedWindow, Receipt
from brimful.store.snapshot import StoredSnapshot
from brimful.text.tokens import Measure, TokenCounter
from brimful.windows.seams import Seam
from brimful.windows.window import Window, goes_on_after, goes_on_before

if TYPE_CHECKING:
    from collections.abc import Sequence


# ---- observing: Which bytes does a cited document have now, in a store or in a file?

Span = tuple[int, int]

_SAID = re.compile(rb"\S")
_BLANK = b" \t\n\r\x0b\x0c"  # what \S leaves out
_VERBATIM = ("utf-8", "utf-8-bom")
_MEMBER = re.compile(r"#\d{4,}\Z")
_ALLOWED: tuple[Reason, ...] = ("secret", "binary", "encoding")  # what was let in once may be looked at again


@dataclass(frozen=True, slots=True)
class Seen:
    """A document as it is now: its hashes, its length, where it says anything, and the ranges that were asked for."""

    content_hash: str
    id: str
    length: int
    first_said: int  # the first and the last byte that is not blank; the length and -1 where none is
    last_said: int
    head: bytes
    _starts: tuple[int, ...]
    _parts: tuple[bytes, ...]
    _newlines: dict[int, int]

    def read(self, start: int, end: int) -> bytes:
        """A range that was asked for; what lies beyond the document's end is cut off."""
        at = bisect_right(self._starts, start) - 1
        return self._parts[at][start - self._starts[at] : end - self._starts[at]] if start < end and at >= 0 else b""

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """The first and last line that a range touches which was asked for."""
        return self._newlines[start] + 1, self._newlines[max(start, end - 1)] + 1


def observe(path: str, blocks: Iterable[bytes], spans: Iterable[Span]) -> Seen:
    """Read a document once, block by block, and keep only what is asked for, each byte once.

    >>> observe("a.md", [b"Tea at", b" four."], [(4, 11), (0, 6)]).read(4, 11)
    b'at four'
    """
    wanted = list(spans)
    places = sorted({place for start, end in wanted for place in (start, max(start, end - 1))})
    kept = _Kept(_united(wanted))
    content, named = blake3(), blake3(len(path.encode()).to_bytes(8, "big") + path.encode())
    newlines: dict[int, int] = {}
    at = next_place = lines = 0
    first, last, head = -1, -1, b""
    for block in blocks:
        content.update(block)
        named.update(block)
        kept.take(block, at)
        if at <= SNIFF_BYTES:
            head += block[: SNIFF_BYTES + 1 - at]
        if first < 0 and (said := _SAID.search(block)):
            first = at + said.start()
        if (end := len(block.rstrip(_BLANK))) > 0:
            last = at + end - 1
        counted = 0
        while next_place < len(places) and places[next_place] < at + len(block):
            place = places[next_place] - at
            lines += block.count(b"\n", counted, place)
            newlines[places[next_place]], counted = lines, place
            next_place += 1
        lines += block.count(b"\n", counted)
        at += len(block)
    newlines.update(dict.fromkeys(places[next_place:], lines))
    starts, parts = kept.result()
    first = at if first < 0 else first
    return Seen(content.hexdigest(), named.hexdigest(), at, first, last, head, starts, parts, newlines)


def _united(spans: Iterable[Span]) -> list[Span]:
    """The ranges in order, those that touch as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif start < end:
            found.append((start, end))
    return found


class _Kept:
    """The bytes of ranges that lie apart and in order, taken from blocks as they come."""

    def __init__(self, spans: list[Span]) -> None:
        self._spans = spans
        self._parts: list[list[bytes]] = [[] for _ in spans]
        self._first = 0

    def take(self, block: bytes, at: int) -> None:
        number = self._first
        while number < len(self._spans) and self._spans[number][0] < at + len(block):
            start, end = self._spans[number]
            self._parts[number].append(block[max(start - at, 0) : end - at])
            if end > at + len(block):
                break
            number += 1
        self._first = number

    def result(self) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        return tuple(start for start, _ in self._spans), tuple(b"".join(parts) for parts in self._parts)


class _SeenDocument(Document):
    """A document of which only the cited bytes are at hand: all that formats ask of one in order to write windows."""

    def __init__(self, cited: CitedDocument, seen: Seen) -> None:
        super().__init__(cited.path, b"", time=cited.time, kind="prose", language=cited.language, id=cited.id)
        self._seen = seen

    def __len__(self) -> int:
        return self._seen.length

    @property
    def is_whole(self) -> bool:
        """No: only what is cited was kept."""
        return False

    def goes_on(self, start: int, end: int) -> tuple[bool, bool]:
        """Whether the document says anything before a range, and after it."""
        return self._seen.first_said < start, self._seen.last_said >= end

    def text(self, start: int, end: int) -> str:
        """A cited range; what is not UTF-8 there is a UnicodeDecodeError."""
        return self._seen.read(start, end).decode()

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (from 1) that a cited range touches."""
        return self._seen.lines(start, end)


class Source(NamedTuple):
    """The bytes of a document as a store or a file has them, and what is known of it there."""

    blocks: Iterable[bytes]
    time: int | None
    kind: Kind  # what it is called where rule or language are others
    rule: str | None = None  # None: as they are, and the first of them say which
    language: str | None = None

    def facts(self, document: CitedDocument, seen: Seen) -> tuple[str, str | None]:
        """The rule and the language by which it was read, once it was seen."""
        if self.rule is not None:
            return self.rule, self.language
        rule = "utf-8-bom" if seen.head.startswith(codecs.BOM_UTF8) else "utf-8"
        return rule, kind_of(document.path, seen.head)[1]


def stored(snapshot: StoredSnapshot, document: CitedDocument) -> Source:
    """A document as a store has it, block by block; the store verifies what it reads."""
    row = snapshot.row(document.path)
    if row is None:
        raise FileNotFoundError(document.path)
    starts = range(0, row.length, BLOCK_BYTES)
    blocks = (snapshot.read(row.number, start, min(start + BLOCK_BYTES, row.length)) for start in starts)
    return Source(blocks, row.time, "receipt", row.rule, row.language)


_As = tuple[bytes, str, str | None]


class Files:
    """Documents as the files below a folder have them. What one file gave when it was converted is kept for the next
    document, which is often of the same file.
    """

    def __init__(self, root: Path, *, convert: bool, label: str | None = None) -> None:
        self._root, self._convert, self._label = root, convert, label
        self._last: tuple[tuple[str, str | None, int], list[Loaded | Skipped]] | None = None

    def read(self, document: CitedDocument) -> Source:
        """The document's bytes from its file: as they are, decoded by its rule, or converted again.

        Raises FileNotFoundError where there is no file, and a Refusal with the reason where it can't be compared.
        """
        is_text = _is_encoding(document.rule)
        found = _find(document.path, self._root, member=not is_text, label=self._label)
        if document.rule in _VERBATIM:
            return Source(read_blocks(found), document.time, "unchecked")
        if not is_text and not self._convert:
            raise Refusal(
                "malformed", f"made from its file by the rule {document.rule!r}: no byte of it stands there as it is"
            )
        # By the file's size, which the receipt does not state.
        allow = _ALLOWED[1:] if "masked" in document.rule.split(":") else _ALLOWED
        settings = SourceSettings(allow=allow, max_bytes=max(SourceSettings().max_bytes, 4 * found.size))
        readings = _decoded(_raw(found, settings), document) if is_text else self._converted(found, document, settings)
        content, rule, language = _best(readings, document)
        return Source([content], document.time, "unchecked", rule, language)

    def _converted(self, found: Found, document: CitedDocument, settings: SourceSettings) -> Iterator[_As]:
        """Nothing where the file no longer has such a document; a failed conversion is a Refusal."""
        _, _, encoding = document.rule.rpartition(":")
        for name in (None, encoding) if encoding else (None,):
            for each in self._loaded(found, name, settings):
                if isinstance(each, Loaded) and each.path == document.path:
                    yield each.content, each.rule, each.language
                elif isinstance(each, Skipped) and each.path in (document.path, found.path):
                    detail = f"it can't be converted again by the rule {document.rule!r}: {each.detail}"
                    raise Refusal(each.reason, detail)

    def _loaded(self, found: Found, encoding: str | None, settings: SourceSettings) -> list[Loaded | Skipped]:
        key = (found.path, encoding, settings.max_bytes)
        if self._last is None or self._last[0] != key:
            limits = SourceSettings(allow=settings.allow, max_bytes=settings.max_bytes, encoding=encoding)
            self._last = key, list(load(found.path, _raw(found, settings), settings=limits))
        return self._last[1]


def _raw(found: Found, settings: SourceSettings) -> bytes:
    raw = read(found, settings=settings)
    if isinstance(raw, Skipped):
        raise Refusal(raw.reason, raw.detail)
    return raw


def _best(readings: Iterable[_As], document: CitedDocument) -> _As:
    """The reading of a file that gives the cited document, or the first of all."""
    first: _As | None = None
    for reading in readings:
        if blake3(reading[0]).hexdigest() == document.content_hash:
            return reading
        first = reading if first is None else first
    if first is None:
        raise FileNotFoundError(document.path)
    return first


def _decoded(raw: bytes, document: CitedDocument) -> Iterator[_As]:
    for encoding in (None, document.rule):
        content, chosen = decode(raw, encoding=encoding)
        yield content, chosen.rule, kind_of(document.path, content)[1]


def _is_encoding(rule: str) -> bool:
    if rule == "bytes":
        return True
    try:
        codecs.lookup(rule.removesuffix("-bom"))
    except (LookupError, ValueError):
        return False
    return True


def _find(path: str, root: Path, *, member: bool, label: str | None) -> Found:
    """The file of a document, nowhere but below the root; a member of a file is found by the file's name."""
    names = [path, _MEMBER.sub("", path)] if member and _MEMBER.search(path) else [path]
    top = os.path.realpath(root)
    for name in names:
        pure = PurePosixPath(name)
        if "\0" in name or pure.is_absolute() or ".." in pure.parts:
            raise Refusal("outside", "its path leads out of the folder, so it was not opened")
        if str(pure) != name:  # another name of the same file, which a receipt could give it a thousand times
            raise Refusal("outside", "its path is not written as that of a file is, so it was not opened")
        for below in _below(name, top, label):
            location = os.path.realpath(os.path.join(top, below))  # noqa: PTH118 - a Path would tidy the name
            if os.path.commonpath((top, location)) != top:
                raise Refusal("outside", "a link leads out of the folder, so it was not opened")
            try:
                status = os.stat(location)  # noqa: PTH116 - the same name that is opened later
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise Refusal("unreadable", error.strerror or type(error).__name__) from error
            return Found(name, location, status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
    raise FileNotFoundError(path)


def _below(name: str, top: str, label: str | None) -> list[str]:
    """Where a document's file may lie below a folder: by its name, or without the folder's own name in front.

    >>> _below("docs/tea.md", "/work/docs", None), _below("handbook/tea.md", "/work/docs", "handbook")
    (['docs/tea.md', 'tea.md'], ['tea.md'])
    """
    if label is not None:
        return [name.removeprefix(f"{label}/")] if name.startswith(f"{label}/") else []
    parts, above = PurePosixPath(name).parts, PurePath(top).parts
    shared = [count for count in range(1, len(parts)) if above[-count:] == parts[:count]]
    return [name, *("/".join(parts[count:]) for count in shared)]


# ---- rebuilding: Which text do the sources of a receipt give? It is written again, by the format's own writer, and
# compared.
#
# Nothing of the text is taken from the receipt but what a model wrote: headers, markers, escapes and separators come
# from the format, everything else from the bytes that the windows and their seams name. So a receipt that fits itself
# but not its sources is found, whatever its hashes say.

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
        found.append(wrong("its sources give another text than the one that context_hash stands for"))
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
        each.path: _SeenDocument(each, seen[each.path]) for each in receipt.documents if each.path in seen
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
            return windows, [*found, wrong(f"no window can be cut there ({error})", cited)]
        if window.id != cited.id:
            window = replace(window, document=None, line=cited.line or None)
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
    if isinstance(document, _SeenDocument):
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
        yield wrong(f"the text has {tokens} tokens, not {receipt.tokens}")
    content = sum(tally.counter.count(window.text) for window in windows)
    if content != receipt.content_tokens:
        yield wrong(f"its windows have {content} tokens, not {receipt.content_tokens}")
