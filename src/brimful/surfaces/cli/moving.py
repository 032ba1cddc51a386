"""How does a person move a corpus, and set up a server for several of them?"""

from __future__ import annotations

from brimful.errors import InputError, choose
from brimful.store.address import Address
from brimful.store.copying import copy as copied
from brimful.store.opening import opened
from brimful.surfaces import records
from brimful.surfaces.cli.exits import FOUND, NOTHING
from brimful.surfaces.cli.stores import store_to_ask, store_to_fill
from brimful.surfaces.cli.terminal import one_line, progress, show

ACTIONS = ("roles", "terms")


def copy(*, source: str, target: str, delete: bool, as_json: bool, quiet: bool) -> int:
    """Copy a store, and say what was done."""
    places = store_to_ask(source), store_to_fill(target, (), adding=False)
    if str(places[0]) == str(places[1]):
        raise InputError(f"{one_line(str(places[0]))} can't be copied to itself; name another store")
    with opened(places[0]) as one, opened(places[1]) as two, progress("copying") as advance:
        done = copied(one, two, delete=delete, progress=None if quiet else advance)
    record = {"source": str(places[0]), "target": str(places[1]), **done._asdict()}
    said = (
        f"{done.copied:,} documents copied, {done.unchanged:,} were there, {done.deleted:,} deleted; root {done.root}\n"
    )
    show(records.as_json(record) if as_json else said)
    return FOUND if done.copied + done.unchanged else NOTHING


def postgres(*, action: str, role: str | None, readers: str | None, store: str | None, as_json: bool) -> int:
    """Print a role's statements, or fill the table of terms."""
    choose(action, ACTIONS, what="action")
    place = store_to_fill(store, (), adding=False) if store else None
    if not isinstance(place, Address):
        raise InputError("name a corpus on a server: --store postgresql://USER@HOST/DATABASE?corpus=NAME")
    if action == "roles":
        return _roles(place, role, readers, as_json=as_json)
    from brimful.store.postgres.terms import list_terms

    count = list_terms(place)
    show(records.as_json({"store": str(place), "terms": count}) if as_json else f"{count:,} terms listed\n")
    return FOUND if count else NOTHING


def _roles(place: Address, role: str | None, readers: str | None, *, as_json: bool) -> int:
    from brimful.store.postgres.layout import roles

    if role is None:
        raise InputError("name the role that may use the corpus: brimful postgres roles --role NAME")
    script = roles(place.schema, place.corpus, role, readers=readers)
    show(records.as_json({"store": str(place), "sql": script}) if as_json else script)
    return FOUND
