"""Where does a citation lead, and does an answer's every quotation stand?"""

from __future__ import annotations

import json
import sys
from typing import cast

from brimful.assembly.citing import Checked, check_answer
from brimful.assembly.formats import Payload
from brimful.assembly.pack import parse
from brimful.engine import open as open_store
from brimful.errors import InputError, choose
from brimful.settings import FORMATS, FormatName
from brimful.surfaces import records
from brimful.surfaces.cli.commands import asked
from brimful.surfaces.cli.exits import FOUND, NOTHING
from brimful.surfaces.cli.receipts import read_receipt, read_text
from brimful.surfaces.cli.stores import store_to_ask
from brimful.surfaces.cli.terminal import give, one_line, say, show, tint

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
            found = engine.check_answer(said, read_receipt(receipt))
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
    with open_store(store_to_ask(store)) as engine, engine.one_state():
        cited = engine.cite(place)
        record = {**records.cited_passage(engine, cited), "root": engine.root, "store": str(engine.path)}
    if as_json:
        give(records.as_json(record))
        return FOUND
    give(cited.text)
    if not quiet:
        first, last = cited.lines or (0, 0)
        say(f"{one_line(cited.path)} lines {first}-{last}, bytes {cited.start}-{cited.end}")
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
