"""Settings, and where each value comes from.

option > environment (BRIMFUL_BUDGET) > project's file > user's file > default. The project's file is the nearest
`.brimful.toml`, or `pyproject.toml` with a `[tool.brimful]`, here or above. A project's file must not send its
readers' texts elsewhere, so it names no model that is sent them and no store outside its folder.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from brimful.budget import budget_of, memory_bytes
from brimful.choices import check_value, from_text
from brimful.errors import BrimfulError, ChoiceError, InputError, choose, suggest
from brimful.settings import ASKED, Ask, pairs
from brimful.store.address import is_address, masked
from brimful.surfaces.cli.places import check_unlinked, named_store

PREFIX = "BRIMFUL_"
PROJECT_FILE = ".brimful.toml"
DEFAULT = "default"
DEFAULTS: Mapping[str, str | float | None] = {
    **{name: choice.default for name, choice in ASKED.items() if choice.is_set},
    "synonyms": None,  # a file
    "embedder": "auto",
    "reranker": "none",
    "set": None,
    "condenser": "extractive:",
    "store": None,
    "max_memory": None,  # a quarter of the machine
}
"""Every setting with its default: choices of a question, then of the program."""
_OTHER_VARIABLES = ("BRIMFUL_CACHE", "BRIMFUL_CONFIG", "BRIMFUL_TOKEN")
_PERSONAL = ("densify", "condenser", "embedder", "reranker", "synonyms")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it comes from: `default`, an environment variable, or a file."""

    key: str
    value: str | float | None
    origin: str


def setting(key: str, places: Iterable[Path] | None = None) -> Setting:
    """The value without any option, checked; `places` are the files to read, if they were looked for already."""
    choose(key, DEFAULTS, what="setting")
    variable = f"{PREFIX}{key.upper()}"
    if value := os.environ.get(variable):
        return Setting(key, checked(key, value, where=f"the environment variable {variable}"), variable)
    for file in files() if places is None else places:
        table = _table(file)
        if key in table:
            return Setting(key, _from_file(file, key, table[key]), os.fspath(file))
    return Setting(key, DEFAULTS[key], DEFAULT)


def files() -> Iterator[Path]:
    """The files that exist, by precedence."""
    if (project := project_file()) is not None:
        yield project
    if (user := user_file()).is_file():
        yield user


def project_file() -> Path | None:
    """The nearest file of a project, here or above."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (file := folder / PROJECT_FILE).is_file():
            return file
        shared = folder / "pyproject.toml"
        if shared.is_file() and b"tool.brimful" in _bytes(shared):
            return shared
    return None


def user_file() -> Path:
    """The user's file: BRIMFUL_CONFIG, or the system's place for settings."""
    if chosen := os.environ.get("BRIMFUL_CONFIG"):
        return Path(chosen).expanduser()
    return platformdirs.user_config_path("brimful", appauthor=False) / "config.toml"


def unknown_variables() -> list[str]:
    """Variables of the environment that look like settings and are none."""
    variables = {*(f"{PREFIX}{key.upper()}" for key in DEFAULTS), *_OTHER_VARIABLES}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in variables)


def checked(key: str, value: object, *, where: str = "") -> str | float | None:
    """A value that its setting can have, or an error that names where the wrong one was set."""
    try:
        converted = _converted(key, value)
        _check_meaning(key, converted)
    except BrimfulError as error:
        kind = ChoiceError if isinstance(error, ChoiceError) else InputError
        raise kind(f"{where}{': ' if where else ''}{error}") from error
    return converted


def put(file: Path, key: str, value: str) -> str | float | None:
    """Write a setting into a file and keep its other lines; returns the value."""
    choose(key, DEFAULTS, what="setting")
    new = _from_file(file, key, checked(key, value))
    lines = [line for line in _text(file).splitlines() if line.partition("=")[0].strip() != key]
    # A JSON string of one line is one of TOML.
    lines.append(
        f"{key} = {str(new).lower() if isinstance(new, int | float) else json.dumps(value, ensure_ascii=False)}"
    )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{os.fspath(file)!r} can't be written ({error.strerror}); set BRIMFUL_CONFIG") from error
    return new


def _converted(key: str, value: object) -> str | float | None:
    """A value as its choice has it."""
    choice = ASKED.get(key) if key != "synonyms" else None
    if choice is None or choice.kind == "text":
        if not isinstance(value, str) or not value:
            raise InputError(f"{key} is {value!r}; it must be a text in quotes")
    elif choice.kind == "bool" and not isinstance(value, bool | str):
        raise InputError(f"{key} is {value!r}; it is true or false")
    if choice is None:
        return str(value)
    converted = from_text(choice, value)
    check_value(choice, converted, name=key)
    assert converted is None or isinstance(converted, str | int | float)
    return converted


def _check_meaning(key: str, value: str | float | None) -> None:
    """Refuse a value that only the part that uses it can check."""
    if key == "budget" and isinstance(value, float | int):
        budget_of(int(value))
    elif isinstance(value, str):
        if key == "set":
            Ask.of("", {}, value)
        elif key == "model":
            from brimful.text.vocabularies import tokens_for  # slow to import, as the next two: help does without them

            tokens_for(value)
        elif key in ("embedder", "reranker"):
            from brimful.neural.named import check_embedder, check_reranker

            (check_embedder if key == "embedder" else check_reranker)(value)
        elif key == "max_memory":
            memory_bytes(value)
        elif key in ("densify", "condenser"):
            from brimful.densify.models import model_for

            model_for(value)


def _from_file(file: Path, key: str, value: object) -> str | float | None:
    """A file's value; a project's file may name neither models that are sent texts nor stores elsewhere."""
    new = checked(key, value, where=os.fspath(file))
    is_shared = file != user_file()
    names = pairs(str(new)) if key == "set" else (key,)
    if is_shared and any(name in _PERSONAL for name in names):
        raise InputError(
            f"{os.fspath(file)}: {key} is {value!r}; a project may not choose who is sent its readers' texts, "
            f"so set it in your own file: brimful config set {key} {value}"
        )
    if key != "store":
        return new
    if is_address(new):
        if is_shared:
            raise InputError(
                f"{os.fspath(file)}: store is {masked(str(new))!r}; a project may not choose a server for its "
                "readers' texts, so set it in your own file (brimful config set store ADDRESS) or with --store"
            )
        return new
    place = file.parent / Path(str(new)).expanduser()
    if is_shared:
        if not place.resolve().is_relative_to(file.parent.resolve()):
            raise InputError(f"{os.fspath(file)}: store is {value!r}; a project's store stays within its folder")
        store = named_store(os.fspath(place))
        assert isinstance(store, Path)
        check_unlinked(store, within=file.parent)
    return os.fspath(place)


def _table(file: Path) -> Mapping[str, object]:
    """The settings of a file; an unknown key is an error with close names."""
    try:
        document = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{os.fspath(file)} is not TOML: {error}; correct it there") from error
    table = document.get("tool", {}).get("brimful", {}) if file.name == "pyproject.toml" else document
    if not isinstance(table, dict):
        raise InputError(f"{os.fspath(file)}: tool.brimful is {table!r}; it must be a table of settings")
    for key, value in table.items():
        if key not in DEFAULTS:
            names = ", ".join(DEFAULTS)
            raise InputError(
                f"{os.fspath(file)}: unknown setting {key!r} (= {value!r}); {suggest(key, DEFAULTS)}settings: {names}"
            )
    return table


def _text(file: Path) -> str:
    try:
        return _bytes(file).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(file)} is not UTF-8 at byte {error.start}; write it anew") from error


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"{os.fspath(file)!r} can't be read ({error.strerror}); correct its permissions") from error
