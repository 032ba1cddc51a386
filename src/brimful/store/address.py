"""The server, database and corpus of an address.

    postgresql://user@host:5432/database?corpus=notes&schema=brimful

`corpus` names one of many in a database (default: main), `schema` where the tables are (default: brimful). Whatever
else follows the question mark is libpq's (`sslmode`, `passfile`, `connect_timeout`, …). A password is better kept
in ~/.pgpass or PGPASSWORD; one in an address is used, and never shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from brimful.errors import InputError

_SCHEMES = ("postgresql", "postgres")
_MAIN, _SCHEMA = "main", "brimful"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_CORPUS = re.compile(r"\S(?:.{0,98}\S)?")
_SECRET = re.compile(r"(?i)(^|[?&])((?:ssl)?password)=[^&]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A corpus on a server. Shown without its password.

    >>> place = Address.of("postgresql://ada:secret@db.example:5433/team?corpus=notes&sslmode=require")
    >>> str(place), place.corpus, place.schema
    ('postgresql://ada@db.example:5433/team?corpus=notes&sslmode=require', 'notes', 'brimful')
    """

    shown: str
    corpus: str
    schema: str
    settings: tuple[tuple[str, str], ...] = field(repr=False)
    """The settings of libpq, the password included."""

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address; errors show no password."""
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise InputError(f"{masked(text)!r:.200} is not an address; {_SHAPE}") from None
        libpq = dict(options)
        if parts.scheme not in _SCHEMES or parts.fragment or len(libpq) != len(options):
            raise InputError(f"{masked(text)!r:.200} is not an address; {_SHAPE}")
        corpus, schema = libpq.pop("corpus", _MAIN), libpq.pop("schema", _SCHEMA)
        if not _CORPUS.fullmatch(corpus) or not corpus.isprintable():
            raise InputError(f"corpus {corpus!r:.200} can't be used; a name has 1 to 100 visible characters")
        if not _NAME.fullmatch(schema):
            raise InputError(f"schema {schema!r:.200} can't be used; small letters, digits and _, as PostgreSQL has it")
        named = {
            "host": unquote(host) if host else None,
            "port": str(port) if port else None,
            "user": unquote(parts.username) if parts.username else None,
            "password": unquote(parts.password) if parts.password else None,
            "dbname": unquote(parts.path.removeprefix("/")) or None,
        }
        settings = {**libpq, **{name: value for name, value in named.items() if value is not None}}
        return cls(masked(text), corpus, schema, tuple(sorted(settings.items())))

    def __str__(self) -> str:
        return self.shown

    @property
    def key(self) -> str:
        """One text for a corpus: server, database, schema and name, without user and options."""
        settings = dict(self.settings)
        return urlencode([(name, settings.get(name, "")) for name in ("host", "port", "dbname")]) + (
            f"&schema={self.schema}&corpus={quote(self.corpus)}"
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Passwords, which must not be shown."""
        return tuple(value for name, value in self.settings if name in ("password", "sslpassword") and value)


Place = Path | Address
"""Where a corpus lies: in a file or on a server."""

STORE_NAME = "brimful.db"
"""The file of a store that is named by its folder."""

_SHAPE = "write postgresql://USER@HOST:PORT/DATABASE?corpus=NAME"


def is_address(text: object) -> bool:
    """Whether a store is named by an address, not by a path.

    >>> is_address("postgresql://localhost/team"), is_address("notes.db")
    (True, False)
    """
    return isinstance(text, str) and text.lower().startswith(tuple(f"{scheme}://" for scheme in _SCHEMES))


def masked(text: str) -> str:
    """An address without its password; any other text as it is.

    >>> masked("postgresql://ada:secret@db/team?password=secret&sslmode=require"), masked("notes.db")
    ('postgresql://ada@db/team?sslmode=require', 'notes.db')
    """
    if not is_address(text):
        return text
    start, mark, query = text.partition("?")
    scheme, _, location = start.partition("://")
    account, separator, place = location.rpartition("@")
    address = f"{scheme}://{account.partition(':')[0]}{separator}{place}"
    harmless = "&".join(option for option in query.split("&") if not _SECRET.match(option))
    return address + (mark + harmless if harmless else "")
