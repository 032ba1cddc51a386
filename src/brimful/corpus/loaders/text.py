"""Which text is stored for a plain file: its own bytes wherever they are UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

from brimful.corpus.encodings import SNIFF_BYTES, decode, looks_binary
from brimful.corpus.loaders.loaded import Loaded
from brimful.corpus.skips import Refusal, SourceSettings
from brimful.text.kinds import kind_of

_MOST_ESCAPED = 20  # one byte in twenty that is no UTF-8 is a damaged text, more is another encoding


def load_text(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Prose, code, tables, JSON, logs: the bytes of the file, or their conversion to UTF-8 by a named rule."""
    if looks_binary(raw[:SNIFF_BYTES]) and not settings.allows("binary"):
        raise Refusal("binary", "its first bytes are those of a binary format")
    decoded = decode(raw, encoding=settings.encoding)
    check_escaped(decoded.escaped, len(raw), settings)
    kind, language = kind_of(path, decoded.content)
    yield Loaded(path, decoded.content, kind, language, decoded.rule, decoded.is_verbatim)


def check_escaped(escaped: int, size: int, settings: SourceSettings) -> None:
    """Refuse a text that is most likely in an encoding that must be named."""
    if escaped * _MOST_ESCAPED > size and not (settings.allows("encoding") or settings.allows("binary")):
        raise Refusal("encoding", f"{escaped} of {size} bytes are no UTF-8; name the file's encoding")
