"""Results as a person reads them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brimful.assembly.context import Context
from brimful.documents.documents import Document
from brimful.documents.skips import Skipped, matching
from brimful.engine import Engine
from brimful.search.spelling import Correction
from brimful.surfaces.cli import FIXABLE
from brimful.surfaces.cli.terminal import bar, is_plain, one_line, say, shortened, shown_place, tint, width

if TYPE_CHECKING:
    from brimful.densify.digest import Digest

Record = Mapping[str, Any]
_MOST_CITATIONS = 20
_MOST_OMITTED = 8
_MOST_SKIPS = 5
_EXPECTED_SKIPS = ("hidden", "ignored", "excluded", "empty")
_SKIP_PHRASES = {
    "too_large": "too large",
    "outside": "outside the folder",
    "link": "below a link",
    "loop": "in a loop of links",
    "broken": "a link to nothing",
    "special": "not a regular file",
    "name": "with a name that can't be cited",
    "too_deep": "too deep in folders",
    "changing": "changing while read",
    "encoding": "in an unknown encoding",
    "missing_part": "in a format that needs an extra",
}
_REASONS = {"budget": "did not fit", "duplicate": "says what another window says", "empty": "has no text"}
_COUNTS = ("added", "changed", "renamed", "removed", "unchanged")
_LABEL = 10
_FILLS = "  fills"


def payload(context: Context) -> str:
    """The text or provider's JSON for the model, with the map and the question if they were chosen."""
    prompt = context.prompt
    return prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False) + "\n"


# On stderr


def show_context(engine: Engine, context: Context) -> None:
    """Corrections, the budget bar, and the place of each window."""
    if context.windows:
        say()
    show_understood(engine, context)
    if not context.windows:
        return
    budget, paths = context.budget.available, {window.path for window in context.windows}
    counted = context.model if context.exact else f"{context.model}, estimated"
    documents = count(len(engine.columns.documents), "document")
    say(
        tint("strong", f"{context.tokens:,} of {budget:,} tokens ({counted})")
        + f": {count(len(context.windows), 'window')} from {len(paths):,} of {documents}"
    )
    text_tokens = min(context.content_tokens, context.tokens)
    parts = [
        ("good", text_tokens, "█", "text"),
        ("warn", context.tokens - text_tokens, "▓", "headers"),
        ("faint", budget - context.tokens, "░", "free"),
    ]
    say(bar([part[:3] for part in parts], width()))
    say("   ".join(f"{tint(style, mark)} {name} {tokens:,}" for style, tokens, mark, name in parts))
    for window, origins in list(zip(context.windows, context.origins, strict=True))[:_MOST_CITATIONS]:
        path, where = one_line(window.path), f" bytes {window.start}-{window.end}"
        if window.lines is not None:
            path, where = place_of(window.path, window.lines, origins)
        fills = _FILLS if window.filling else ""
        place = shown_place(path, where, width() - 2 - len(fills), stream=sys.stderr)
        say(f"  {tint('path', place)}{tint('faint', fills)}" if fills else f"  {tint('path', place)}")
    for digest in context.digests:
        say(tint("warn", one_line(f"{digest.path} is {digest.source}, condensed by {digest.model}")))
    _say_rest(len(context.windows), _MOST_CITATIONS)


def show_digest(digest: Digest, document: Document) -> None:
    """The cost of a digest, and the source of each of its sentences."""
    counted = digest.counter if digest.exact else f"{digest.counter}, estimated"
    say()
    say(
        tint("strong", f"{digest.tokens:,} of {digest.source_tokens:,} tokens ({counted})")
        + f": {digest.model}, {count(digest.calls, 'call')}, {digest.remembered:,} remembered"
    )
    for cited in digest.sentences[:_MOST_CITATIONS]:
        lines = ",".join(_lines(document.lines(span.start, span.end)) for span in cited.sources)
        place = shown_place(one_line(document.path), f":{lines}", width() // 2, stream=sys.stderr)
        text = one_line(" ".join(cited.text.split()))
        say(f"  {tint('path', place)} {text if not sys.stderr.isatty() else shortened(text, width() - 3 - len(place))}")
    _say_rest(len(digest.sentences), _MOST_CITATIONS)
    if digest.joined:
        say(tint("warn", "no merge could make it shorter, so its parts follow each other"))
    for gap in digest.gaps:
        say(tint("bad", f"missing: bytes {gap.span.start}-{gap.span.end}; {one_line(gap.reason)}"))


def show_understood(engine: Engine, context: Context) -> None:
    """How a question was read, and why there is no answer if there is none."""
    show_corrections(context.corrections)
    relevance = context.relevance
    if context.windows:
        show_missing(() if relevance is None else relevance.missing)
    elif context.omitted:
        say(f"what was found does not fit into {count(context.budget.available, 'token')}; give a larger --budget")
    else:
        show_nothing(len(engine.columns.documents), (relevance and relevance.reason) or "")
        if relevance is not None and relevance.nearest:
            say("--anyway shows what is nearest")


def show_missing(words: Sequence[str]) -> None:
    """Name the words of the question that no document has."""
    if words:
        say(tint("warn", f"no document has: {one_line(', '.join(words))}"))


def show_nothing(documents: int, reason: str) -> None:
    """Say why there is no answer."""
    if documents:
        say(f"nothing found in {count(documents, 'document')}; {one_line(reason)}")
    else:
        say("nothing to search: no documents could be read there")


def show_corrections(corrections: Iterable[Correction]) -> None:
    """Name the words that were searched for in place of others, and how to undo it."""
    meant: dict[str, list[str]] = {}
    for correction in corrections:
        meant.setdefault(correction.word.decode("utf-8", "replace"), []).append(
            correction.term.decode("utf-8", "replace")
        )
    for number, (word, terms) in enumerate(meant.items(), 1):
        undo = f"; --as-typed takes {'it' if number == 1 else 'all'} as typed" if number == len(meant) else ""
        say(tint("warn", f"searched for {one_line(', '.join(terms))} instead of {one_line(word)}{undo}"))


def show_skips(skipped: Sequence[Skipped], *, question: str = "") -> None:
    """Count the skipped files by reason; name those that could be read after all, and secrets that match a question."""
    notable = [skip for skip in skipped if skip.reason not in _EXPECTED_SKIPS]
    if not notable:
        return
    counts = sorted(Counter(skip.reason for skip in notable).items(), key=lambda item: (-item[1], item[0]))
    reasons = ", ".join(f"{number:,} {_SKIP_PHRASES.get(reason, reason)}" for reason, number in counts)
    say(f"skipped: {reasons} (--json lists them)")
    likely = [one_line(skip.path) for skip in matching(skipped, question) if skip.reason == "secret"]
    if likely:
        matches = "1 secret matches" if len(likely) == 1 else f"{len(likely)} secrets match"
        say(tint("warn", f"  {matches} the question: {', '.join(likely[:_MOST_SKIPS])}; --allow secret"))
    fixable = [skip for skip in notable if skip.reason in FIXABLE]
    for skip in fixable[:_MOST_SKIPS]:
        say(tint("warn", f"  {one_line(skip.path)}: {skip.reason.replace('_', ' ')}; {one_line(skip.detail)}"))
    _say_rest(len(fixable), _MOST_SKIPS)


def _say_rest(total: int, shown: int) -> None:
    if total > shown:
        say(f"  … and {total - shown:,} more; --json lists them all")


# On stdout


def place_of(path: str, lines: Sequence[int], origins: Sequence[str]) -> tuple[str, str]:
    """A path, and the lines or the pages, cells or messages that a reader finds in that file.

    >>> place_of("tea.md", (3, 4), ()), place_of("tea.pdf", (1, 90), ("page 2", "page 3", "page 4"))
    (('tea.md', ':3-4'), ('tea.pdf', ', page 2 to page 4'))
    """
    if not origins:
        return one_line(path), f":{_lines(lines)}"
    first, last = one_line(origins[0]), one_line(origins[-1])
    return one_line(path), f", {first if first == last else f'{first} to {last}'}"


def hits(record: Record) -> str:
    """One line for each hit: path, lines, text; cut to the screen's width on a terminal only."""
    rows = []
    for hit in record["hits"]:
        text = one_line(" ".join(hit["text"].split()))
        if not text:
            continue  # a blank line between two that matter
        place = shown_place(*place_of(hit["path"], hit["lines"], hit["origins"]), width() // 2, stream=sys.stdout)
        room = width() - len(place) - 2
        if sys.stdout.isatty() and len(text) > room:
            text = text[: room - 1] + "…"
        rows.append(f"{_out('path', place)}: {text}\n")
    return "".join(rows)


def around(path: str, lines: Sequence[str], *, begin: int, hit: tuple[int, int]) -> str:
    """Numbered lines of a document, with a colon after the numbers of the hit and a hyphen after the others."""
    name = _out("path", one_line(path))
    rows = []
    for number, line in enumerate(lines, begin):
        sign = ":" if hit[0] <= number <= hit[1] else "-"
        rows.append(f"{name}{sign}{number}{sign}{one_line(line)}\n")
    return "".join(rows)


def report(record: Record) -> str:
    """The counts of adding, and the size of the store now."""
    return labelled([("files", _counts(record)), *_held(record)])


def preview(record: Record) -> str:
    """The counts that adding would have."""
    return labelled([("files", f"would be: {_counts(record)}"), ("store", one_line(record["store"]))])


def changed(record: Record) -> str:
    """One line for each changed file of a followed folder, or that it is up to date."""
    if record["files"]:
        return "".join(f"{file['done']:<7} {_out('path', one_line(file['path']))}\n" for file in record["files"])
    counts = _counts({**record, "unchanged": 0})
    return f"{_out('path', one_line(record['place']))}: {'up to date' if counts == 'none' else counts}\n"


def _counts(record: Record) -> str:
    return ", ".join(f"{record[name]:,} {name}" for name in _COUNTS if record[name]) or "none"


def status(record: Record) -> str:
    """The size, kinds and folders of a store."""
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in record["kinds"].items())
    rows = [*_held(record), ("kinds", kinds or "none"), ("state root", record["root"])]
    for place, folder in record["folders"].items():
        rows.append(("added", one_line(f"{place} as {folder}" if folder else place)))
    for skip in record.get("skipped", ()):
        detail = f" ({one_line(skip['detail'])})" if skip["detail"] else ""
        rows.append((skip["reason"].replace("_", " "), f"{one_line(skip['path'])}{detail}"))
    return labelled(rows)


def _held(record: Record) -> list[tuple[str, str]]:
    return [
        ("documents", f"{record['documents']:,}, {record['bytes']:,} bytes"),
        ("store", f"{one_line(record['store'])}, {record['store_bytes']:,} bytes"),
    ]


def captured(record: Record) -> str:
    """One line for each capture: status, model, name, message."""
    styles = {"done": "good", "failed": "bad", "pending": "warn"}
    return "".join(
        f"{_out(styles[capture['status']], capture['status'].ljust(_LABEL))} {one_line(capture['model'])} "
        f"{one_line(capture['name'])}{': ' if capture['message'] else ''}{one_line(capture['message'])}\n"
        for capture in record["captures"]
    )


def forecast(record: Record) -> str:
    """The cost of condensing, ahead of it."""
    counted = "" if record["exact"] else ", estimated"
    return labelled(
        [
            ("model", one_line(record["model"])),
            ("text", f"{record['source_tokens']:,} tokens{counted}"),
            ("parts", f"{record['parts']:,}"),
            ("calls", f"{record['calls']:,} at least, if nothing is remembered" if record["calls"] else "none"),
            ("sent", f"{record['tokens_sent']:,} tokens"),
            ("received", f"{record['tokens_received']:,} tokens at most"),
        ]
    )


def explanation(record: Record) -> str:
    """How a question was read, then each window: in, or out with the reason."""
    corrected: dict[str, list[str]] = {}
    for correction in record["corrections"]:
        corrected.setdefault(correction["word"], []).append(correction["term"])
    shown = {word: f"{word} → {', '.join(terms)}" for word, terms in corrected.items()}
    words = ", ".join(f"{one_line(shown.get(word, word))} {number:,}×" for word, number in record["census"].items())
    lines = [f"{_out('strong', 'words')}  {words or 'none'}"]
    if missing := (record["relevance"] or {}).get("missing"):
        lines.append(f"       no document has: {one_line(', '.join(missing))}")
    if cited := record.get("cited"):
        is_same = cited["same"]
        verdict = _out(*(("good", "equal bytes again") if is_same else ("bad", "other bytes: the corpus changed")))
        lines.append(f"{_out('strong', 'asked')}  {verdict}")
    filled = f"{record['tokens']:,} of {record['budget']:,} tokens ({one_line(record['model'])})"
    lines.append(f"{_out('strong', 'filled')} {filled}")
    for window in record["windows"]:
        prior = window["prior"]
        marks = f"; {prior['kind']}: counts {prior['counts']:g}" if prior else ""
        marks += "; fills" if window["filling"] else ""
        scores = f"words {window['lexical'] or 0:.2f}, meaning {window['semantic'] or 0:.2f}"
        lines += [
            f"{_out('good', 'in')}  {_out('path', _where(window))}",
            f"    {window['score']:.2f} ({scores}): {_terms(window, corrected)}{marks}",
        ]
    for window in record["omitted"][:_MOST_OMITTED]:
        price = f"; enters at {window['enters_at']:,} tokens" if window["enters_at"] else ""
        lines.append(f"{_out('faint', 'out')} {_out('path', _where(window))}")
        lines.append(
            f"    {window['score']:.2f}: {_REASONS.get(window['reason'], window['reason'].replace('_', ' '))}{price}"
        )
    if len(record["omitted"]) > _MOST_OMITTED:
        lines.append(f"… and {len(record['omitted']) - _MOST_OMITTED:,} more that did not fit; --json lists them all")
    return "".join(f"{line}\n" for line in lines)


def _terms(window: Record, corrected: Mapping[str, object]) -> str:
    """The words of the question in a window; a corrected word is named as the text has it."""
    text = window["text"].encode()
    matches = [match for match in window["matches"] if match["word"] in corrected]
    spans = ((match["start"] - window["start"], match["end"] - window["start"]) for match in matches)
    as_written = {text[start:end].decode("utf-8", "replace").lower() for start, end in spans}
    terms = sorted({term for term in window["terms"] if term not in corrected} | as_written)
    if terms:
        return one_line(", ".join(terms))
    return "no word of the question, but they are nearby" if window["lexical"] else "only its meaning"


def _where(window: Record) -> str:
    place = f":{_lines(window['lines'])}" if window["lines"] else f" bytes {window['start']}-{window['end']}"
    return shown_place(one_line(window["path"]), place, width() - 4, stream=sys.stdout)


def labelled(rows: Iterable[tuple[str, str]]) -> str:
    """A line for each label and its text, the texts in one column."""
    rows = list(rows)
    column = max((len(label) for label, _ in rows), default=0)
    return "".join(f"{_out('strong', label.ljust(max(column, _LABEL)))} {text}\n" for label, text in rows)


def _out(style: str, text: str) -> str:
    return text if is_plain(sys.stdout) else tint(style, text, stream=sys.stdout)


def _lines(lines: Sequence[int]) -> str:
    first, last = lines
    return str(first) if first == last else f"{first}-{last}"


def count(number: int, noun: str) -> str:
    """A number and its noun, as in 1 window, 2 windows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
