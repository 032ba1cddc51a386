"""How is a corpus spread over several stores?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from brimful.densify.memory import Memory, copy_answers
from brimful.errors import InputError, choose
from brimful.store.address import (
    Shards,
    is_address,
    is_list,
    is_on_server,
    listed,
    masked,
    placed,
    shards_of,
    write_list,
)
from brimful.store.opening import opened, opened_alone
from brimful.store.sharding import ShardedStore, join
from brimful.surfaces import records
from brimful.surfaces.cli import configuration, views
from brimful.surfaces.cli.dispatch import FOUND, PARTIAL
from brimful.surfaces.cli.terminal import one_line, progress, say, show

_ACTIONS = ("list", "add", "move", "remove", "rebalance")
_MOVED = 2


def shard(*, action: str, stores: Sequence[str] | None, store: str | None, as_json: bool, quiet: bool) -> int:
    """Do it, then show what each shard holds."""
    choose(action, _ACTIONS, what="action")
    name = store or configuration.setting("store").value
    if not name or is_address(str(name)) or not is_list(Path(str(name))):
        raise InputError("name the list of the shards, a file that ends in .toml: --store team.toml")
    file, named = Path(str(name)).expanduser(), list(stores or ())
    moved = 0
    if action == "add":
        _add(file, _several(named, action))
    elif named and action in ("list", "rebalance"):
        raise InputError(f"shard {action} takes no stores; the list names them")
    elif action != "list":
        with progress("moving") as advance:
            moved = _moved(action, file, named, None if quiet else advance)
    states = _states(shards_of(file))
    if as_json:
        show(records.as_json({"store": str(file), "moved": moved, "shards": states}))
    else:
        show(views.shards(states))
        if not quiet and action == "add":
            say("new shards hold nothing yet where there are documents; move their share: brimful shard rebalance")
        elif not quiet and action != "list":
            say(f"{moved:,} of 4,096 parts of the corpus moved")
    return PARTIAL if any(state["problem"] for state in states) else FOUND


def _several(named: Sequence[str], action: str) -> Sequence[str]:
    if not named:
        raise InputError(f"name the stores: brimful shard {action} STORE --store team.toml")
    return named


def _states(place: Shards) -> list[dict[str, object]]:
    with cast("ShardedStore", opened(place)) as found:
        return [state._asdict() for state in found.states()]


def _add(file: Path, named: Sequence[str]) -> None:
    known = listed(file) if file.is_file() else []
    names = [*known, *(name for name in named if name not in known)]
    places = [placed(name, file) for name in names]
    with ExitStack() as held:
        join(
            [
                held.enter_context(opened_alone(place, make=name in named))
                for name, place in zip(names, places, strict=True)
            ]
        )
    write_list(file, names)
    with opened(shards_of(file)) as whole:
        for place in places[len(known) :]:  # what each knew by itself, all of them know now
            with opened_alone(place) as alone:
                copy_answers(alone, whole)


def _moved(action: str, file: Path, named: Sequence[str], tell: Callable[[str], None] | None) -> int:
    names = listed(file)
    if action == "rebalance":
        return _rebalanced(shards_of(file), (), None, tell)
    given = _several(named, action)
    if len(given) != (_MOVED if action == "move" else 1):
        wanted = "OLD NEW" if action == "move" else "STORE"
        raise InputError(f"shard {action} takes {wanted}; got {len(given)}: {' '.join(map(masked, given))}")
    old = given[0]
    if old not in names:
        raise InputError(f"{masked(old)} is not in {file}; it lists: {one_line(', '.join(map(masked, names)))}")
    target = None
    if action == "move":
        _add(file, given[1:])
        names = listed(file)
        target = names.index(given[1])
    moved = _rebalanced(shards_of(file), [names.index(old)], target, tell)
    write_list(file, [name for name in names if name != old])
    with opened_alone(placed(old, file)) as emptied:
        emptied.set_claim(None)
        if is_on_server(emptied.path):
            with opened(shards_of(file)) as whole:
                copy_answers(emptied, whole)
            Memory(store=emptied).forget()
    return moved


def _rebalanced(place: Shards, leave: Sequence[int], to: int | None, tell: Callable[[str], None] | None) -> int:
    with cast("ShardedStore", opened(place)) as found:
        return found.rebalance(leave=leave, to=to, progress=tell)
