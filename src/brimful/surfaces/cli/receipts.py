"""Checking: `verify` a receipt, `explain` a context, `cite` a place or check an answer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
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
from brimful.surfaces.cli import FOUND, NOTHING, PARTIAL, views
from brimful.surfaces.cli.commands import ask_of, question_text
from brimful.surfaces.cli.opening import Line, asked_corpus
from brimful.surfaces.cli.places import store_to_ask
from brimful.surfaces.cli.terminal import give, one_line, say, tint

_MOST_BYTES = 256 << 20
_LONGEST_NAME = 1_000
_GOOD = ("stands", "shown")
_LONGEST_QUOTATION = 70


def verify(line: Line, *, receipt: str, files: str | None, text: str | None, replay: bool) -> int:
    """Check a receipt, and compare it with the text, the files or the store that are named."""
    if files is not None and line.store is not None:
        raise InputError("a receipt is compared with --files or with --store, one at a time")
    if replay and line.store is None:
        raise InputError("--replay asks the question again, which needs its store: give --store FILE")
    cited = Receipt.from_json(_read(Path(receipt)))
    shown = None if text is None else _decoded(Path(text))
    if files is not None:
        folder, label = _folder(files)
        findings, against = check_files(cited, folder, text=shown, label=label), "files"
    elif line.store is not None:
        with open_store(store_to_ask(line.store)) as engine:
            findings, against = engine.verify(cited, text=shown, replay=replay), "store"
    else:
        findings, against = check(cited, text=shown), "itself" if text is None else "text"
    lines = "".join(f"{one_line(str(finding))}\n" for finding in findings)
    line.show(records.findings_record(cited, findings, against=against), lines or _verdict(cited, findings, against))
    if not line.quiet and not line.as_json:
        for part in findings.compared:
            say(f"compared: {one_line(part)}")
        for part in findings.not_checked:
            say(tint("warn", f"not checked: {one_line(part)}"))
        if against in ("itself", "text"):
            say(tint("warn", "Nothing that it cites was read: give --files FOLDER (what was read) or --store FILE."))
    return _exit(findings)


def _verdict(cited: Receipt, findings: Findings, against: str) -> str:
    """One line for a receipt without findings: what was verified, or that its sources were not read."""
    held = f"{views.count(len(cited.windows), 'window')} of {views.count(len(cited.documents), 'document')}"
    if against in ("itself", "text"):
        label = "the receipt fits itself" + (" and the text" if against == "text" else "")
        return f"{tint('warn', label, stream=sys.stdout)}; what it cites ({held}) was NOT checked\n"
    label = tint("good", "verified", stream=sys.stdout)
    if cited.digests and not findings.verified:
        words = views.count(len(cited.digests), "digest")
        label = tint("warn", f"all but the words of {words} (a model's) verified", stream=sys.stdout)
    return f"{label}: {held}, written again from the {against}\n"


def _folder(files: str) -> tuple[Path, str | None]:
    """A folder and its label, from FOLDER or NAME=FOLDER."""
    label, equals, folder = files.partition("=")
    return (Path(folder), label) if equals and not Path(files).exists() else (Path(files), None)


def explain(line: Line, *, question: str, ask: Mapping[str, object], more: str | None) -> int:
    """Ask a question, or that of a receipt again, and show why each window is in."""
    chosen = ask_of(ask, more)
    cited = _receipt(question)
    corpus = asked_corpus(line)
    with corpus.engine as engine:
        why = engine.explain(replace(chosen, question=question_text(question)) if cited is None else cited)
        record = records.explanation_record(why)
        if cited is not None:
            record["cited"] = {"receipt": cited.id, "same": record["receipt"] == cited.id}
        line.show(record, views.explanation(record))
        if not line.quiet:
            views.show_understood(engine, why.context)
            views.show_skips(corpus.report.skipped)
    return corpus.exit_code(found=bool(why.context.windows))


def _receipt(question: str) -> Receipt | None:
    """The receipt in a file of this name, None if there is no such file."""
    if question == "-" or "\n" in question or len(question) > _LONGEST_NAME or not Path(question).is_file():
        return None
    return Receipt.from_json(_read(Path(question)))


def _exit(findings: Findings) -> int:
    if not findings:
        return FOUND if findings.verified else PARTIAL
    return PARTIAL if all(finding.kind == "unchecked" for finding in findings) else NOTHING


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


def cite(
    line: Line, *, place: str | None, answer: str | None, receipt: str | None, context: str | None, form: str
) -> int:
    """Print what a citation names, or check an answer."""
    if (place is None) == (answer is None):
        raise InputError("cite takes a citation (tea.md:12-30) or --answer FILE, one of the two")
    if place is not None:
        return _resolved(line, place)
    if (receipt is None) == (context is None):
        raise InputError("an answer is checked against --receipt FILE or --context FILE, one of the two")
    assert answer is not None
    answer_text = question_text("-") if answer == "-" else _decoded(Path(answer))
    if context is not None:
        chosen = cast("FormatName", choose(form, FORMATS, what="format"))
        checked = check_answer(answer_text, parse(_payload(_decoded(Path(context)), chosen), format=chosen))
    else:
        assert receipt is not None
        with open_store(store_to_ask(line.store)) as engine:
            checked = engine.check_answer(answer_text, Receipt.from_json(_read(Path(receipt))))
    line.show(records.checked_record(checked), _lines(checked))
    if not line.quiet and not line.as_json:
        quoted = sum(quotation.verdict == "stands" for quotation in checked.quotations)
        cited = sum(citation.verdict == "shown" for citation in checked.citations)
        say(
            f"{quoted} of {len(checked.quotations)} quotations stand, "
            f"{cited} of {len(checked.citations)} citations are shown in the context"
        )
    return FOUND if checked.holds else NOTHING


def _payload(text: str, form: FormatName) -> Payload:
    """A context as it was printed: a text, or the JSON of a provider's structure."""
    if form not in ("messages", "anthropic", "windows"):
        return text
    try:
        payload: Payload = json.loads(text)
    except ValueError as error:
        raise InputError(f"the context is not the JSON that --format {form} prints: {error}") from error
    return payload


def _resolved(line: Line, place: str) -> int:
    with open_store(store_to_ask(line.store)) as engine, engine.corpus() as corpus:
        cited = corpus.cite(place)
        record = {**records.cited_passage(corpus, cited), "root": corpus.root, "store": str(engine.path)}
    give(records.as_json(record) if line.as_json else cited.text)
    if not line.quiet and not line.as_json:
        first, last = cited.lines or (0, 0)
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        say(f"{one_line(cited.path)} {lines}, bytes {cited.start}-{cited.end}")
    return FOUND


def _lines(checked: Checked) -> str:
    """One line for each quotation and citation: its verdict, where it is, what it says."""
    rows = []
    for quotation in checked.quotations:
        where = ", ".join(map(str, quotation.places[:3])) or "-"
        if quotation.verdict == "elsewhere":
            where += f" (cited as {quotation.cited})"
        rows.append(_row(quotation.verdict, where, f'"{quotation.text}"'))
    rows += [_row(citation.verdict, str(citation.place), citation.said) for citation in checked.citations]
    rows += [_row("changed", path, "the store has other bytes there now") for path in checked.changed]
    return "".join(rows)


def _row(verdict: str, where: str, text: str) -> str:
    word = tint("good" if verdict in _GOOD else "warn", f"{verdict:<9}", stream=sys.stdout)
    text = one_line(text)
    text = text if len(text) <= _LONGEST_QUOTATION else f"{text[: _LONGEST_QUOTATION - 1]}…"
    return f"{word} {one_line(where)}  {text}\n"
