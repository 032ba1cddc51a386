"""Which words does a corpus have, for those who look with SQL?

A table of terms with how often each stands in live text, filled when asked for: questions never read it, so that their
answers are those of any other store. Where the server has pg_trgm, an index finds terms by likeness and by any part.
"""

from __future__ import annotations

from brimful.store.address import Address
from brimful.store.postgres.store import PostgresStore

_AT_ONCE = 10_000


def list_terms(address: Address) -> int:
    """Write down all terms of a corpus that is there; returns how many."""
    with PostgresStore(address, make=False) as store, store.snapshot() as now:
        terms = now.terms()
        counted = ((term.decode("utf-8", "backslashreplace"), now.census(term)) for term in terms)
        return store.write_terms(counted, at_once=_AT_ONCE)
