"""What does PostgreSQL say, in our words and without any password?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from brimful.errors import (
    CorruptError,
    StoreAccessError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
)
from brimful.store.address import Address

NOT_YOURS = (
    "{address}: this role may not use that corpus, or make it; ask an administrator for it "
    "(`brimful postgres roles` prints the statements)"
)
_REFUSED = ("password authentication failed", "no password supplied", "authentication failed", "pg_hba.conf", "role ")


@contextmanager
def translated(place: object) -> Iterator[None]:
    """PostgreSQL's errors in our words, without any password."""
    try:
        yield
    except psycopg.Error as error:
        raise _typed(place, error) from None


def _typed(place: object, error: psycopg.Error) -> StoreError:
    state = error.sqlstate or ""
    said = without(place, error)
    if state[:2] == "28" or (not state and any(sign in said for sign in _REFUSED)):
        return StoreAccessError(f"{place} refuses this role or its password ({said}); see ~/.pgpass or PGPASSWORD")
    if state == "3D000" or (not state and "database " in said and "does not exist" in said):
        return StoreAccessError(f"{place}: the server has no such database ({said}); make it: createdb NAME")
    if state == "42501":
        return StoreAccessError(f"{place}: this role may not do that ({said}); see `brimful postgres roles`")
    if state in ("55P03", "40P01", "40001") or state == "53300":
        return StoreBusyError(f"{place} is busy ({said}); try again, or wait longer")
    if state in ("53100", "53000"):
        return StoreFullError(f"no room left on the server of {place}; free some disk space, the last commit stands")
    if state == "25006":
        return StoreError(f"{place} is a standby or read-only, and can only be asked; write to its primary server")
    if state[:2] == "XX":
        return CorruptError(f"{place}: the server says that its files are damaged ({said}); restore a backup")
    if state[:2] in ("08", "57") and state != "57014":
        return StoreUnreachableError(_GONE.format(place=place, said=said))
    if not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnreachableError(_GONE.format(place=place, said=said))
    return StoreError(f"{place}: {said or type(error).__name__}; look at the server's log")


_GONE = (
    "{place} can't be reached ({said}); is the server running, and is the address right? "
    "What was committed is intact: try the same again"
)


def without(place: object, error: BaseException) -> str:
    """What a server said, on one line and without the password."""
    said = " ".join(str(error).split())
    for secret in place.secrets if isinstance(place, Address) else ():
        said = said.replace(secret, "***")
    return said[:300]
