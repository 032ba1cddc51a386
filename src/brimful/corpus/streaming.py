"""How does a text of any size become a document without being held?

    streamed(path, source) -> LongText | Skipped | None    None: it must be read as a whole
    LongDocument.of(path, text, …)                         hashed, ready to be stored

The encoding is found in a first pass over the source, the hashes are taken in a second, and a last one lays the text
down and compares: a text that is not the same twice is refused as changing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from blake3 import blake3

from brimful.classes import dataclass
from brimful.corpus.documents import check_path, check_time
from brimful.corpus.encodings import Source, converted, rule_of
from brimful.corpus.skips import Refusal, Skipped, SourceSettings
from brimful.corpus.sources import Found, is_remote
from brimful.text.kinds import Kind, kind_of

if TYPE_CHECKING:
    from brimful.corpus.sources import Found

LONG_BYTES = 8 << 20
"""A text above this is read block by block; below it, holding it costs less than reading it three times."""


@dataclass(frozen=True, slots=True)
class LongText:
    """Which text the bytes of a source mean: what a Loaded is for a text that is held."""

    path: str
    kind: Kind
    language: str | None
    rule: str
    source: Source = field(repr=False, compare=False)

    def blocks(self) -> Iterator[bytes]:
        """The text as UTF-8."""
        return converted(self.source(), self.rule)


@dataclass(frozen=True, slots=True)
class LongDocument:
    """A document whose content is read when it is needed; `content_hash` says what it must then be."""

    path: str
    time: int | None
    kind: Kind
    language: str | None
    id: str = field(repr=False)
    content_hash: bytes = field(repr=False)
    length: int
    blocks: Callable[[], Iterator[bytes]] = field(repr=False, compare=False)

    @classmethod
    def of(cls, path: str, text: LongText, *, time: int | None = None) -> LongDocument:
        """Hash a text; the document is the one that `Document(path, content)` would be."""
        name = check_path(path)
        check_time(time, where=path)
        named, plain, length = blake3(len(name).to_bytes(8, "big") + name), blake3(), 0
        for block in text.blocks():
            named.update(block)
            plain.update(block)
            length += len(block)
        return cls(path, time, text.kind, text.language, named.hexdigest(), plain.digest(), length, text.blocks)

    def __len__(self) -> int:
        return self.length


def streamed_file(found: Found, *, settings: SourceSettings | None = None) -> LongText | Skipped | None:
    """A file as a long text; one that does not hold still is tried again, then skipped."""
    from brimful.corpus.reading import fetched_blocks, read_blocks

    blocks = fetched_blocks if is_remote(found.location) else read_blocks
    return streamed(found.path, partial(blocks, found), settings=settings)


def streamed(path: str, source: Source, *, settings: SourceSettings | None = None) -> LongText | Skipped | None:
    """Find out what a source's bytes mean; None where it is a format that is converted as a whole."""
    from brimful.corpus.reading import ATTEMPTS

    settings = settings or SourceSettings()
    for attempt in range(ATTEMPTS):
        try:
            return _streamed(path, source, settings)
        except Refusal as refusal:
            if refusal.reason != "changing" or attempt == ATTEMPTS - 1:
                return refusal.at(path)
    return None


def _streamed(path: str, source: Source, settings: SourceSettings) -> LongText | None:
    from brimful.corpus.loaders import CHAT_SNIFF_BYTES, is_streamable  # a question reads no files
    from brimful.corpus.loaders.loaded import check_escaped
    from brimful.corpus.secrets import PREFIX_BYTES, secret_in

    head = _head(source(), CHAT_SNIFF_BYTES)
    if not is_streamable(path, head):
        return None
    rule = rule_of(source, encoding=settings.encoding)
    if rule.size > settings.max_bytes and not settings.allows("too_large"):
        raise Refusal("too_large", f"{rule.size} bytes, more than max_bytes = {settings.max_bytes}")
    check_escaped(rule.escaped, rule.size, settings)
    opening = _head(converted(source(), rule.name), PREFIX_BYTES)
    secret = None if settings.allows("secret") else secret_in(opening)
    if secret:
        raise Refusal("secret", secret)
    kind, language = kind_of(path, opening)
    return LongText(path, kind, language, rule.name, source)


def _head(blocks: Iterable[bytes], size: int) -> bytes:
    """The first bytes of blocks, which are let go at once."""
    iterator = iter(blocks)
    head = b""
    try:
        while len(head) < size and (block := next(iterator, None)) is not None:
            head += block
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
    return head[:size]


def same_again(document: LongDocument) -> Iterator[bytes]:
    """A document's content once more; a Refusal at the end if it is not what was hashed."""
    hasher = blake3()
    for block in document.blocks():
        hasher.update(block)
        yield block
    if hasher.digest() != document.content_hash:
        raise Refusal("changing", "written to between two passes over it; add it again later")
