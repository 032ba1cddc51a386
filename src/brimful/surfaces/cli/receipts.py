"""Is everything as a receipt says, and why is each window in?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from brimful.assembly.checking import check, check_files
from brimful.assembly.offline import Findings
from brimful.assembly.receipt import Receipt
from brimful.engine import open as open_store
from brimful.errors import InputError
from brimful.search.synonyms import synonym_lines
from brimful.settings import chosen, profiled
from brimful.surfaces import records
from brimful.surfaces.cli import views
from brimful.surfaces.cli.commands import asked, corpus_of, exit_for
from brimful.surfaces.cli.exits import FOUND, NOTHING, PARTIAL
from brimful.surfaces.cli.stores import store_to_ask
from brimful.surfaces.cli.terminal import one_line, say, show, tint

_MOST_BYTES = 256 << 20
_LONGEST_NAME = 1_000


def verify(
    *,
    receipt: str,
    files: str | None,
    text: str | None,
    store: str | None,
    replay: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check a receipt by itself, and against the text, the files or the store that are named."""
    if files is not None and store is not None:
        raise InputError("a receipt is compared with --files or with --store, one at a time")
    if replay and store is None:
        raise InputError("--replay asks the question again, which needs its store: give --store FILE")
    cited = Receipt.from_json(_read(Path(receipt)))
    shown = None if text is None else _decoded(Path(text))
    if files is not None:
        found, against = check_files(cited, Path(files), text=shown), "files"
    elif store is not None:
        with open_store(store_to_ask(store)) as engine:
            found, against = engine.verify(cited, text=shown, replay=replay), "store"
    else:
        found, against = check(cited, text=shown), "itself" if text is None else "text"
    if as_json:
        show(records.as_json(records.findings_record(cited, found, against=against)))
    elif found:
        show(views.findings(found))
    elif against in ("itself", "text"):
        show(views.only_itself(len(cited.windows), len(cited.documents), with_text=text is not None))
    else:
        digests = 0 if found.verified else len(cited.digests)
        show(views.verified(len(cited.windows), len(cited.documents), against=against, digests=digests))
    if not quiet and not as_json:
        for each in found.compared:
            say(f"compared: {one_line(each)}")
        for each in found.not_checked:
            say(tint("warn", f"not checked: {one_line(each)}"))
        if against in ("itself", "text"):
            say(tint("warn", "Nothing that it cites was read: give --files FOLDER (what was read) or --store FILE."))
    return _exit(found)


def explain(
    *,
    question: str,
    paths: Sequence[str],
    budget: int,
    model: str,
    format: str,  # noqa: A002
    sizing: str,
    strategy: str,
    packing: str,
    fill: str,
    how: Mapping[str, Any],
    set: str | None,  # noqa: A002
    synonyms: str | None,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Ask a question, or a receipt's own again, and say why each window is in."""
    settings = chosen(model=model, format=format, sizing=sizing, strategy=strategy, packing=packing, fill=fill)
    settings, weights = profiled(replace(settings, **how, synonyms=synonym_lines(synonyms)), set or "")
    cited = _receipt(question)
    corpus = corpus_of(store, paths)
    with corpus.engine as engine:
        if cited is None:
            why = engine.explain(asked(question), budget=budget, settings=settings, field=weights)
        else:
            why = engine.explain(cited)
        record = records.explanation_record(engine, why)
        if cited is not None:
            record["cited"] = {"receipt": cited.id, "same": record["receipt"] == cited.id}
        lines = [each.window.lines for each in why.context.omitted]
        show(records.as_json(record) if as_json else views.explanation(record, omitted_lines=lines))
        if not quiet:
            views.show_understood(len(engine.ground.documents), why.context)
            views.show_skips(corpus.report.skipped)
    return exit_for(corpus, found=bool(why.context.windows))


def read_receipt(file: str) -> Receipt:
    """The receipt in a file."""
    return Receipt.from_json(_read(Path(file)))


def read_text(file: str) -> str:
    """A text of a file, in UTF-8."""
    return _decoded(Path(file))


def _receipt(question: str) -> Receipt | None:
    """The receipt in a file of that name, if there is one; a file that is none is a mistake."""
    if question == "-" or "\n" in question or len(question) > _LONGEST_NAME or not Path(question).is_file():
        return None
    return Receipt.from_json(_read(Path(question)))


def _exit(found: Findings) -> int:
    if not found:
        return FOUND if found.verified else PARTIAL
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
