"""Is everything as a receipt says, why is each window in, and does an answer's every quotation stand?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from brimful.assembly.citing import Checked, check_answer
from brimful.assembly.formats import Payload
from brimful.assembly.pack import parse
from brimful.engine import open as open_store
from brimful.errors import InputError, choose
from brimful.receipts.checking import check, check_files
from brimful.receipts.offline import Findings
from brimful.receipts.receipt import Receipt
from brimful.settings import FORMATS, FormatName
from brimful.surfaces import records
from brimful.surfaces.cli import views
from brimful.surfaces.cli.commands import ask_of, asked, corpus_of, exit_for
from brimful.surfaces.cli.configuration import store_to_ask
from brimful.surfaces.cli.dispatch import FOUND, NOTHING, PARTIAL
from brimful.surfaces.cli.terminal import give, one_line, say, show, tint

# ---- receipts: Is everything as a receipt says, and why is each window in?

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
        folder, label = _folder(files)
        found, against = check_files(cited, folder, text=shown, label=label), "files"
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


def _folder(files: str) -> tuple[Path, str | None]:
    """FOLDER, or NAME=FOLDER for one that was added under a name."""
    label, equals, folder = files.partition("=")
    return (Path(folder), label) if equals and not Path(files).exists() else (Path(files), None)


def explain(
    *,
    question: str,
    paths: Sequence[str],
    ask: Mapping[str, object],
    set: str | None,  # noqa: A002
    synonyms: str | None,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Ask a question, or a receipt's own again, and say why each window is in."""
    chosen = ask_of(ask, set, synonyms)
    cited = _receipt(question)
    corpus = corpus_of(store, paths)
    with corpus.engine as engine:
        why = engine.explain(replace(chosen, question=asked(question)) if cited is None else cited)
        record = records.explanation_record(why)
        if cited is not None:
            record["cited"] = {"receipt": cited.id, "same": record["receipt"] == cited.id}
        show(records.as_json(record) if as_json else views.explanation(record))
        if not quiet:
            views.show_understood(len(engine.columns.documents), why.context)
            views.show_skips(corpus.report.skipped)
    return exit_for(corpus, found=bool(why.context.windows))


def _read_receipt(file: str) -> Receipt:
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


# ---- citing: Where does a citation lead, and does an answer's every quotation stand?

_GOOD = ("stands", "shown")
_LONGEST = 70


def cite(
    *,
    place: str | None,
    answer: str | None,
    receipt: str | None,
    context: str | None,
    format: str,  # noqa: A002
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Resolve a citation, or check an answer."""
    if (place is None) == (answer is None):
        raise InputError("cite takes a citation (tea.md:12-30) or --answer FILE, one of the two")
    if place is not None:
        return _resolved(place, store, as_json=as_json, quiet=quiet)
    if (receipt is None) == (context is None):
        raise InputError("an answer is checked against --receipt FILE or --context FILE, one of the two")
    assert answer is not None
    said = asked("-") if answer == "-" else read_text(answer)
    if context is not None:
        form = cast("FormatName", choose(format, FORMATS, what="format"))
        found = check_answer(said, parse(_payload(read_text(context), form), format=form))
    else:
        assert receipt is not None
        with open_store(store_to_ask(store)) as engine:
            found = engine.check_answer(said, _read_receipt(receipt))
    show(records.as_json(records.checked_record(found)) if as_json else _lines(found))
    if not quiet and not as_json:
        _say_sum(found)
    return FOUND if found.holds else NOTHING


def _payload(text: str, form: FormatName) -> Payload:
    """A context as it was printed: the text itself, or the JSON of a provider's structure."""
    if form not in ("messages", "anthropic", "windows"):
        return text
    try:
        found: Payload = json.loads(text)
    except ValueError as error:
        raise InputError(f"the context is not the JSON that --format {form} prints: {error}") from error
    return found


def _resolved(place: str, store: str | None, *, as_json: bool, quiet: bool) -> int:
    with open_store(store_to_ask(store)) as engine, engine.corpus():
        cited = engine.cite(place)
        record = {**records.cited_passage(engine, cited), "root": engine.root, "store": str(engine.path)}
    if as_json:
        give(records.as_json(record))
        return FOUND
    give(cited.text)
    if not quiet:
        first, last = cited.lines or (0, 0)
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        say(f"{one_line(cited.path)} {lines}, bytes {cited.start}-{cited.end}")
    return FOUND


def _lines(found: Checked) -> str:
    rows = []
    for quotation in found.quotations:
        where = ", ".join(map(str, quotation.places[:3])) or "-"
        if quotation.verdict == "elsewhere":
            where += f" (cited as {quotation.cited})"
        rows.append(_row(quotation.verdict, where, f'"{quotation.text}"'))
    rows += [_row(citation.verdict, str(citation.place), citation.said) for citation in found.citations]
    rows += [_row("changed", each, "the store has other bytes there now") for each in found.changed]
    return "".join(rows)


def _row(verdict: str, where: str, said: str) -> str:
    word = tint("good" if verdict in _GOOD else "warn", f"{verdict:<9}", stream=sys.stdout)
    said = one_line(said)
    said = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
    return f"{word} {one_line(where)}  {said}\n"


def _say_sum(found: Checked) -> None:
    quoted = sum(each.verdict == "stands" for each in found.quotations)
    cited = sum(each.verdict == "shown" for each in found.citations)
    say(
        f"{quoted} of {len(found.quotations)} quotations stand, "
        f"{cited} of {len(found.citations)} citations are shown in the context"
    )
