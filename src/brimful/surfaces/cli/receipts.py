"""Is everything still as a receipt cites it?"""

from __future__ import annotations

import os
from pathlib import Path

from brimful.assembly.checking import check, check_files
from brimful.assembly.offline import Finding
from brimful.assembly.receipt import Receipt
from brimful.engine import open as open_store
from brimful.errors import InputError
from brimful.surfaces import records
from brimful.surfaces.cli import views
from brimful.surfaces.cli.exits import FOUND, NOTHING, PARTIAL
from brimful.surfaces.cli.stores import store_to_ask
from brimful.surfaces.cli.terminal import say, show

_MOST_BYTES = 256 << 20


def verify(file: Path, *, files: Path | None, text: Path | None, store: str | None, as_json: bool) -> int:
    """Check a receipt by itself, and against the text, the files or the store that are named."""
    if files is not None and store is not None:
        raise InputError("a receipt is compared with --files or with --store, one at a time")
    receipt = Receipt.from_json(_read(file))
    shown = None if text is None else _decoded(text)
    if files is not None:
        found, against = check_files(receipt, files, text=shown), "files"
    elif store is not None:
        with open_store(store_to_ask(store)) as engine:
            found, against = engine.verify(receipt, text=shown), "store"
    else:
        found, against = check(receipt, text=shown), "itself"
    if as_json:
        show(records.as_json(records.findings_record(receipt, found, against=against)))
    elif found:
        show(views.findings(found))
    else:
        show(views.all_cited(len(receipt.windows), len(receipt.documents)))
    if against == "itself" and not as_json:
        say("checked by itself; --files FOLDER or --store FILE also compare it with the documents")
    return _exit(found)


def _exit(found: list[Finding]) -> int:
    if not found:
        return FOUND
    return PARTIAL if all(each.kind == "unchecked" for each in found) else NOTHING


def _read(file: Path) -> bytes:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise InputError(f"{os.fspath(file)!r} is larger than any receipt; name a receipt's file")
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{os.fspath(file)!r} can't be read ({error.strerror}); check the path") from error


def _decoded(file: Path) -> str:
    try:
        return _read(file).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(file)!r} is not UTF-8 at byte {error.start}; contexts always are") from error
