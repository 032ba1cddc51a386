"""What is true of a store as a whole, and by which rules were its terms made?"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from typing import Any

from blake3 import blake3

from brimful.errors import CorruptError, OutdatedWarning, StoreVersionError
from brimful.store.cursors import Cursor
from brimful.store.merkle import state_root
from brimful.store.schema import seal_of
from brimful.store.shelf import check_seal
from brimful.text.characters import TERM_RULES

_NO_PATH = "the hashes of the store do not lead to its state root; verify it, or index the sources again"


def sealed_meta(cursor: Cursor, key: str) -> bytes:
    """A value that every store has."""
    value = find_meta(cursor, key)
    if value is None:
        raise CorruptError(f"the store has lost its {key}")
    return value


def find_meta(cursor: Cursor, key: str) -> bytes | None:
    """A value of the store, None where there is none yet."""
    found = cursor.fetch("SELECT value, seal FROM meta WHERE key = ?", (key,))
    if not found:
        return None
    ((value, seal),) = found
    check_seal(key, seal, key, value)
    return bytes(value)


def write_meta(cursor: Cursor, key: str, value: bytes) -> None:
    """Note a value, with its seal."""
    cursor.execute("DELETE FROM meta WHERE key = ?", (key,))
    cursor.execute("INSERT INTO meta VALUES (?, ?, ?)", (key, value, seal_of(key, value)))


def stored_model(cursor: Cursor) -> str | None:
    """Whose vectors the unit codes were made of; None in a store without any."""
    name = find_meta(cursor, "model")
    return name.decode() if name else None


def layout_of(cursor: Cursor, generation: int) -> bytes:
    """Which segments a generation has: where a row of them can't be found any more, the rest is not the corpus."""
    hasher = blake3()
    for number, seal in cursor.fetch("SELECT number, seal FROM segments ORDER BY number"):
        hasher.update(f"{number!r}:{seal!r};".encode())
    return generation.to_bytes(8, "big") + hasher.digest()


def check_layout(cursor: Cursor, generation: int) -> None:
    """Raise where segments are missing; a commit of a program that noted none can't be checked."""
    noted = find_meta(cursor, "layout")
    if noted is not None and noted[:8] == generation.to_bytes(8, "big") and noted != layout_of(cursor, generation):
        raise CorruptError("the store has lost a segment; verify it, or index the sources again")


def bucket_roots(cursor: Cursor) -> dict[int, bytes]:
    """The root of each bucket that holds documents."""
    found = cursor.fetch("SELECT number, root FROM buckets")
    if not all(isinstance(number, int) and isinstance(root, bytes) for number, root in found):
        raise CorruptError(_NO_PATH)
    return dict(found)


def checked_leaves(rows: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """The leaves of documents, where they are hashes at all."""
    found = [leaf for (leaf,) in rows if isinstance(leaf, bytes)]
    if len(found) != len(rows):
        raise CorruptError(_NO_PATH)
    return found


def checked_roots(cursor: Cursor, root: bytes) -> dict[int, bytes]:
    """The same, where they lead to the state root, which has a seal; they have none themselves."""
    found = bucket_roots(cursor)
    if state_root(found) != root:
        raise CorruptError(_NO_PATH)
    return found


def write_rules(cursor: Cursor) -> None:
    """Note by which rules terms are made from now on."""
    write_meta(cursor, "term_rules", str(TERM_RULES).encode())
    write_meta(cursor, "unicode", unicodedata.unidata_version.encode())


def check_rules(cursor: Cursor, path: object, *, refuse: bool) -> bool:
    """Whether terms were made by other rules than today's.

    Other term rules are refused: a question would be split differently from the text. Another version of Unicode
    knows a few characters more, so reading goes on with a warning, and only adding is refused.
    """
    remedy = "rebuild it from its own text: SqliteStore(path, outdated=True).rebuild()"
    rules, version = (sealed_meta(cursor, key).decode() for key in ("term_rules", "unicode"))
    if rules != str(TERM_RULES) and refuse:
        raise StoreVersionError(f"{path} has terms by rules {rules}, this program makes them by {TERM_RULES}; {remedy}")
    if version != unicodedata.unidata_version and refuse:
        warnings.warn(
            f"{path} was indexed with Unicode {version}, this Python has {unicodedata.unidata_version}: words with "
            f"characters that only one of them knows may not be found; {remedy}",
            OutdatedWarning,
            stacklevel=4,
        )
    return rules != str(TERM_RULES) or version != unicodedata.unidata_version
