"""What is set, where does it come from, and how is it set?"""

from __future__ import annotations

import os
from pathlib import Path

from brimful.errors import BrimfulError, InputError, choose
from brimful.store.address import masked
from brimful.surfaces import records
from brimful.surfaces.cli import configuration as known
from brimful.surfaces.cli.exits import FOUND, USAGE
from brimful.surfaces.cli.terminal import one_line, say, show, tint
from brimful.surfaces.cli.views import labelled

ACTIONS = ("show", "path", "get", "set")


def config(*, action: str, key: str | None, value: str | None, project: bool, dry_run: bool, as_json: bool) -> int:
    """Show the settings, the files, one setting; or set one."""
    choose(action, ACTIONS, what="action")
    if action == "show":
        return _show(as_json=as_json)
    if action == "path":
        return _paths(as_json=as_json)
    if key is None or (action == "set") != (value is not None):
        raise InputError(f"give a key{' and a value' if action == 'set' else ''}: brimful config {action} budget …")
    if action == "set":
        assert value is not None
        return _set(key, value, project=project, dry_run=dry_run, as_json=as_json)
    found = known.setting(key)
    record: dict[str, object] = {"key": key, "value": _shown(found.value), "origin": found.origin}
    show(records.as_json(record) if as_json else f"{_written(found.value)}\n")
    return FOUND


def _show(*, as_json: bool) -> int:
    found, wrong = [], []
    for key in known.DEFAULTS:
        try:
            found.append(known.setting(key))
        except BrimfulError as error:
            wrong.append(str(error))
    wrong = list(dict.fromkeys(wrong))
    strangers = known.unknown_variables()
    if as_json:
        settings = [{"key": each.key, "value": _shown(each.value), "origin": each.origin} for each in found]
        show(records.as_json({"settings": settings, "errors": wrong, "unknown_variables": strangers}))
    else:
        show(labelled([(each.key, f"{_written(each.value):<20} {one_line(each.origin)}") for each in found]))
        for each in strangers:
            say(tint("warn", f"{one_line(each)} is set, but is no setting of this program"))
        for each in wrong:
            say(f"{tint('bad', 'brimful:')} {one_line(each)}")
    return USAGE if wrong else FOUND


def _paths(*, as_json: bool) -> int:
    user, project = known.user_file(), known.project_file()
    record: dict[str, object] = {
        "project": None if project is None else os.fspath(project),
        "user": os.fspath(user),
        "user_exists": user.is_file(),
    }
    if as_json:
        show(records.as_json(record))
    else:
        rows = [("project", one_line(os.fspath(project)) if project else f"none ({known.PROJECT_FILE})")]
        rows.append(("user", f"{one_line(os.fspath(user))}{'' if user.is_file() else ' (not there)'}"))
        show(labelled(rows))
    return FOUND


def _set(key: str, value: str, *, project: bool, dry_run: bool, as_json: bool) -> int:
    file = Path.cwd() / known.PROJECT_FILE if project else known.user_file()
    new = known.checked(choose(key, known.DEFAULTS, what="setting"), value)
    if not dry_run:
        new = known.put(file, key, value)
    record: dict[str, object] = {"key": key, "value": _shown(new), "file": os.fspath(file), "dry_run": dry_run}
    verb = "would be set" if dry_run else "is set"
    show(records.as_json(record) if as_json else f"{key} = {_written(new)} {verb} in {one_line(os.fspath(file))}\n")
    return FOUND


def _shown(value: str | int | None) -> str | int | None:
    """A value without the password of an address."""
    return masked(value) if isinstance(value, str) else value


def _written(value: str | int | None) -> str:
    return "-" if value is None else one_line(masked(str(value)))
