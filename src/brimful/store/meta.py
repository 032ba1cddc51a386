"""What is true of a store as a whole, and by which rules were its terms made?"""

from __future__ import annotations

import unicodedata
import warnings
from pathlib import Path

import apsw

from brimful.errors import CorruptError, OutdatedWarning, StoreVersionError
from brimful.store.schema import fetch, seal_of
from brimful.store.shelf import check_seal
from brimful.text.characters import TERM_RULES


def sealed_meta(cursor: apsw.Cursor, key: str) -> bytes:
    """A value that every store has."""
    value = find_meta(cursor, key)
    if value is None:
        raise CorruptError(f"the store has lost its {key}")
    return value


def find_meta(cursor: apsw.Cursor, key: str) -> bytes | None:
    """A value of the store, None where there is none yet."""
    found = fetch(cursor, "SELECT value, seal FROM meta WHERE key = ?", (key,))
    if not found:
        return None
    ((value, seal),) = found
    check_seal(key, seal, key, value)
    return bytes(value)


def write_meta(cursor: apsw.Cursor, key: str, value: bytes) -> None:
    """Note a value, with its seal."""
    cursor.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, value, seal_of(key, value)))


def stored_model(cursor: apsw.Cursor) -> str | None:
    """Whose vectors the unit codes were made of; None in a store without any."""
    name = find_meta(cursor, "model")
    return name.decode() if name else None


def write_rules(cursor: apsw.Cursor) -> None:
    """Note by which rules terms are made from now on."""
    write_meta(cursor, "term_rules", str(TERM_RULES).encode())
    write_meta(cursor, "unicode", unicodedata.unidata_version.encode())


def check_rules(cursor: apsw.Cursor, path: Path, *, refuse: bool) -> bool:
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
