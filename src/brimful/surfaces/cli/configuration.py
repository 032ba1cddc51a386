"""Which value does a setting have, which store does a command mean, and where does either come from?"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import platformdirs

from brimful.choices import check_value, from_text
from brimful.errors import BrimfulError, ChoiceError, InputError, StoreError, choose, suggest
from brimful.settings import ASKED, Ask, pairs
from brimful.store.address import Address, Place, is_address, masked

# ---- configuration: Which value does a setting have, and where does it come from?
#
# option > environment (BRIMFUL_BUDGET) > project's file > user's file > default. The project's file is the nearest
# `.brimful.toml`, or `pyproject.toml` with a `[tool.brimful]`, here or above. Who can change a project's file must not
# be able to send its readers' texts elsewhere or to write elsewhere: it names no condensing model and no store outside.

PREFIX = "BRIMFUL_"
PROJECT_FILE = ".brimful.toml"
DEFAULT = "default"
DEFAULTS: Mapping[str, str | float | None] = {
    **{name: choice.default for name, choice in ASKED.items() if choice.is_set},
    "synonyms": None,  # a file of them
    "embedder": "auto",
    "reranker": "none",
    "set": None,
    "condenser": "extractive:",
    "store": None,
}
"""Every choice of a question that may be set for all of them, and what the program has besides."""
_OTHER_VARIABLES = ("BRIMFUL_CACHE", "BRIMFUL_CONFIG", "BRIMFUL_FAR_CACHE", "BRIMFUL_TABLES", "BRIMFUL_TOKEN")
_PERSONAL = ("densify", "condenser", "embedder", "reranker", "synonyms")
_MODELS = ("densify", "condenser")


@dataclass(frozen=True, slots=True)
class _Setting:
    """A value and where it comes from: `default`, an environment variable, or a file."""

    key: str
    value: str | float | None
    origin: str


def settings() -> list[_Setting]:
    """Every setting as it stands without options."""
    places = [*files()]
    return [setting(key, places) for key in DEFAULTS]


def setting(key: str, places: Iterable[Path] | None = None) -> _Setting:
    """The value that counts where no option is given, checked; from the files that are there, or from these."""
    choose(key, DEFAULTS, what="setting")
    variable = f"{PREFIX}{key.upper()}"
    if given := os.environ.get(variable):
        return _Setting(key, checked(key, given, where=f"the environment variable {variable}"), variable)
    for file in files() if places is None else places:
        table = _table(file)
        if key in table:
            return _Setting(key, _from_file(file, key, table[key]), os.fspath(file))
    return _Setting(key, DEFAULTS[key], DEFAULT)


def files() -> Iterator[Path]:
    """The files that are there, the first to be asked first."""
    if (project := project_file()) is not None:
        yield project
    if (user := user_file()).is_file():
        yield user


def project_file() -> Path | None:
    """The nearest file of a project, as git finds its own."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (own := folder / PROJECT_FILE).is_file():
            return own
        shared = folder / "pyproject.toml"
        if shared.is_file() and b"tool.brimful" in _bytes(shared):
            return shared
    return None


def user_file() -> Path:
    """The user's own file: BRIMFUL_CONFIG, or the system's place for such things."""
    if chosen := os.environ.get("BRIMFUL_CONFIG"):
        return Path(chosen).expanduser()
    return platformdirs.user_config_path("brimful", appauthor=False) / "config.toml"


def unknown_variables() -> list[str]:
    """Variables of the environment that look like settings and are none."""
    known = {*(f"{PREFIX}{key.upper()}" for key in DEFAULTS), *_OTHER_VARIABLES}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def checked(key: str, value: object, *, where: str = "") -> str | float | None:
    """A value that its setting can have, or an error that names where the wrong one stands."""
    try:
        return _converted(key, value)
    except BrimfulError as error:
        kind = ChoiceError if isinstance(error, ChoiceError) else InputError
        raise kind(f"{where}{': ' if where else ''}{error}") from error


def put(file: Path, key: str, value: str) -> str | float | None:
    """Write a setting into a file of settings, beside what stands there; returns the value."""
    choose(key, DEFAULTS, what="setting")
    new = _from_file(file, key, checked(key, value))
    kept = [line for line in _text(file).splitlines() if line.partition("=")[0].strip() != key]
    kept.append(f"{key} = {str(new).lower() if isinstance(new, int | float) else _quoted(str(value))}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(kept) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{os.fspath(file)!r} can't be written ({error.strerror}); set BRIMFUL_CONFIG") from error
    return new


def _converted(key: str, value: object) -> str | float | None:
    choice = ASKED.get(key) if key != "synonyms" else None
    if choice is None or choice.kind == "text":
        if not isinstance(value, str) or not value:
            raise InputError(f"{key} is {value!r}; it must be a text in quotes")
    elif choice.kind == "bool" and not isinstance(value, bool | str):
        raise InputError(f"{key} is {value!r}; it is true or false")
    found: Any = value if choice is None else from_text(choice, value)
    if choice is not None:
        check_value(choice, found, name=key)
    _check_meant(key, found)
    return found  # type: ignore[no-any-return]


def _check_meant(key: str, value: Any) -> None:
    """Refuse what only the part that it is for knows to be wrong."""
    if key == "budget":
        from brimful.budget import budget_of

        budget_of(value)
    elif key == "set":
        Ask.of("", {}, value)
    elif key == "model":
        from brimful.text.vocabularies import tokens_for

        tokens_for(value)
    elif key == "embedder":
        from brimful.neural.named import check_embedder

        check_embedder(value)
    elif key == "reranker":
        from brimful.neural.named import check_reranker

        check_reranker(value)
    elif key in _MODELS and value is not None:
        from brimful.densify.models import model_for

        model_for(value)


def _from_file(file: Path, key: str, value: object) -> str | float | None:
    """A file's value; one of a project may only name what stays in it."""
    found = checked(key, value, where=os.fspath(file))
    is_shared = file != user_file()
    names = pairs(str(found)) if key == "set" else (key,)
    if is_shared and any(each in _PERSONAL for each in names):
        raise InputError(
            f"{os.fspath(file)}: {key} is {value!r}; a project may not choose who is sent its readers' texts, "
            f"so set it in your own file: brimful config set {key} {value}"
        )
    if key == "store" and is_address(found):
        if is_shared:
            raise InputError(
                f"{os.fspath(file)}: store is {masked(str(found))!r}; a project may not choose a server for its "
                "readers' texts, so set it in your own file (brimful config set store ADDRESS) or with --store"
            )
        return found
    if key == "store":
        place = file.parent / Path(str(found)).expanduser()
        if is_shared and not place.resolve().is_relative_to(file.parent.resolve()):
            raise InputError(f"{os.fspath(file)}: store is {value!r}; a project's store stays within its folder")
        if is_shared:
            named = _named_store(os.fspath(place))
            assert isinstance(named, Path)
            _check_unlinked(named, within=file.parent)
        return os.fspath(place)
    return found


def _table(file: Path) -> Mapping[str, Any]:
    """What a file sets; a key that is no setting is an error with close names."""
    try:
        whole = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{os.fspath(file)} is not TOML: {error}; correct it there") from error
    table = whole.get("tool", {}).get("brimful", {}) if file.name == "pyproject.toml" else whole
    if not isinstance(table, dict):
        raise InputError(f"{os.fspath(file)}: tool.brimful is {table!r}; it must be a table of settings")
    for key, value in table.items():
        if key not in DEFAULTS:
            known = ", ".join(DEFAULTS)
            raise InputError(
                f"{os.fspath(file)}: unknown setting {key!r} (= {value!r}); {suggest(key, DEFAULTS)}settings: {known}"
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


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string of one line is one of TOML


# ---- stores: Which store does a command mean?
#
# 1. `--store`, or BRIMFUL_STORE: a file, or a folder that holds `brimful.db`.
# 2. Paths and no store: the user's cache has one store for exactly these paths, wherever the command is run. Nothing is
#    ever written beside the documents.
# 3. Neither: the nearest `.brimful` folder, here or above, as git finds its own; else the cached store of this folder,
#    or of the nearest one above that has been asked.

_STORE_FOLDER = ".brimful"
STORE_NAME = "brimful.db"
_NAME_LENGTH = 40


def _named_store(name: str) -> Place:
    """What `--store` means: a corpus on a server, or a file; a name without a suffix is a folder.

    >>> str(_named_store("notes.db")), _named_store(".brimful").name, str(_named_store("postgresql://ada:secret@db/team"))
    ('notes.db', 'brimful.db', 'postgresql://ada@db/team')
    """
    if is_address(name):
        return Address.of(name)
    path = Path(name).expanduser()
    if path.is_dir() or (not path.suffix and not path.is_file()):
        return path / STORE_NAME
    return path


def store_to_fill(store: str | None, paths: Sequence[str], *, adding: bool) -> Place:
    """Where paths are indexed; the folder is made."""
    place = place_to_fill(store, paths, adding=adding)
    return _made(place) if isinstance(place, Path) else place


def place_to_fill(store: str | None, paths: Sequence[str], *, adding: bool) -> Place:
    """The same, and nothing is made. `add` also fills the nearest `.brimful`."""
    if store:
        return _named_store(store)
    if adding and (nearest := _nearest()):
        return nearest
    return cached_store(paths)


def store_to_ask(store: str | None, paths: Sequence[str] = ()) -> Place:
    """The store that is there already, or an error that says how to get one."""
    if paths and not store:
        cached = cached_store(paths)
        if not cached.is_file():
            raise InputError(f"{' '.join(paths)!r} has no store yet; ask it first: brimful context QUESTION PATH")
        return cached
    if store:
        place = _named_store(store)
        if isinstance(place, Address):
            from brimful.store.postgres import reading

            with reading(place):  # an error where the server or the corpus is not there
                return place
        if not place.is_file():
            raise InputError(f"there is no store at {os.fspath(place)!r}; make it: brimful add PATH --store {store}")
        return place
    found = _nearest() or next((each for each in _cached_above() if each.is_file()), None)
    if found is None:
        raise InputError(
            f"no store is known for {os.fspath(Path.cwd())!r} or a folder above it; "
            "name what to read (brimful context QUESTION PATH), or a store (--store FILE)"
        )
    return found


def cached_store(paths: Iterable[str]) -> Path:
    """The cache's own store for exactly these paths, in whatever order they are named."""
    places = sorted({os.path.realpath(Path(path).expanduser()) for path in paths})
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(places[0]).name[:_NAME_LENGTH]) or "root"
    key = sha256("\0".join(places).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_folder() / f"{name}-{key}" / STORE_NAME


def cache_folder() -> Path:
    """Where stores are kept that nobody named: BRIMFUL_CACHE, or the system's place for such things."""
    if chosen := os.environ.get("BRIMFUL_CACHE"):
        return Path(chosen)
    return platformdirs.user_cache_path("brimful", appauthor=False) / "stores"


def _check_unlinked(place: Path, *, within: Path) -> Path:
    """The same place, where neither it nor a file beside it is a link.

    Who wrote a checkout must not say where we write. Links above the folder that it is looked for in are the user's.
    """
    suffixes = ("", "-wal", "-shm", "-lock", "-digests")
    beside = (place.with_name(place.name + suffix) for suffix in suffixes)
    between = [folder for folder in place.parents if folder != within and folder.is_relative_to(within)]
    for part in (*between, *beside):
        if part.is_symlink():
            raise InputError(
                f"{os.fspath(part)!r} is a link to {os.fspath(part.readlink())!r:.200}; a store that is found in a "
                f"folder is not followed out of it: name the store that you mean with --store"
            )
    return place


def found_in(store: str | None) -> Path | None:
    """The folder that a store was found in, where no user named it: that of a `.brimful`, or of a project's file."""
    if store is None:
        nearest = _nearest()
        return None if nearest is None else nearest.parent.parent

    project, named = project_file(), setting("store")
    return (
        project.parent if project is not None and (named.origin, named.value) == (os.fspath(project), store) else None
    )


def _nearest() -> Path | None:
    here = Path.cwd()
    for folder in (here, *here.parents):
        place = folder / _STORE_FOLDER / STORE_NAME
        if place.is_file() or place.is_symlink():
            return _check_unlinked(place, within=folder)
    return None


def _cached_above() -> Iterator[Path]:
    here = Path.cwd()
    for folder in (here, *here.parents):
        yield cached_store([os.fspath(folder)])


def _made(place: Path) -> Path:
    """The same place, with its folder; a `.brimful` keeps itself out of git, and the cache is the user's alone."""
    folder = place.parent
    if folder.is_dir():
        return place
    try:
        folder.mkdir(parents=True, mode=0o700)
        if folder.name == _STORE_FOLDER:
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{os.fspath(folder)!r} can't be made ({error.strerror}); name another place with --store or BRIMFUL_CACHE"
        ) from error
    return place
