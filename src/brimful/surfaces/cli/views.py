"""What does a person see of a result?"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from brimful.assembly.context import Context
from brimful.documents.documents import Document
from brimful.documents.skips import Skipped
from brimful.engine import Engine
from brimful.search.spelling import Correction
from brimful.surfaces.cli.dispatch import FIXABLE
from brimful.surfaces.cli.terminal import bar, is_plain, one_line, say, shortened, shown_place, tint, width
from brimful.windows.window import Window

if TYPE_CHECKING:
    from brimful.densify.digest import Digest

_MOST_CITATIONS = 20
_MOST_OMITTED = 8
_MOST_SKIPS = 5
_QUIET_REASONS = ("hidden", "ignored", "excluded", "empty")  # what nobody expects to be read
_LABEL = 10
_FILLS = "  fills"


def payload(context: Context) -> str:
    """What to send to the model, with map and question where they were asked for: text, or a provider's JSON."""
    found = context.prompt
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False) + "\n"


# ---- to standard error


def show_context(engine: Engine, context: Context, *, receipt: Path | None, against: str) -> None:
    """Corrections, the budget bar, and where everything comes from; `against` is what a receipt is checked against."""
    documents = len(engine.columns.documents)
    if context.windows:
        say()
    show_understood(documents, context)
    if not context.windows:
        return
    room, paths = context.budget.available, {window.path for window in context.windows}
    counted = context.model if context.exact else f"{context.model}, estimated"
    say(
        tint("strong", f"{context.tokens:,} of {room:,} tokens ({counted})")
        + f": {_count(len(context.windows), 'window')} from {len(paths):,} of {_count(documents, 'document')}"
    )
    headers, free = max(context.tokens - context.content_tokens, 0), room - context.tokens
    parts = [
        ("good", min(context.content_tokens, context.tokens), "█", "text"),
        ("warn", headers, "▓", "headers"),
        ("faint", free, "░", "free"),
    ]
    say(bar([part[:3] for part in parts], width()))
    say("   ".join(f"{tint(style, mark)} {name} {tokens:,}" for style, tokens, mark, name in parts))
    for window in context.windows[:_MOST_CITATIONS]:
        is_filling = context.relevance is not None and context.relevance.is_filling(window)
        place = shown_place(*citation(engine, window), width() - 2 - len(_FILLS) * is_filling, stream=sys.stderr)
        say(f"  {tint('path', place)}{tint('faint', _FILLS) if is_filling else ''}")
    for digest in context.digests:
        words = f"{digest.path} is {digest.source}, condensed by {digest.model}"
        say(tint("warn", one_line(words)))
    if len(context.windows) > _MOST_CITATIONS:
        say(f"  … and {len(context.windows) - _MOST_CITATIONS} more; --json lists them all")
    if receipt is not None:
        name = one_line(os.fspath(receipt))
        say(f"receipt written to {name}; check it: brimful verify {quote(name)} {one_line(against)}")


def show_digest(digest: Digest, document: Document) -> None:
    """What a condensation cost, and where each sentence comes from."""
    counted = digest.counter if digest.exact else f"{digest.counter}, estimated"
    say()
    say(
        tint("strong", f"{digest.tokens:,} of {digest.source_tokens:,} tokens ({counted})")
        + f": {digest.model}, {_count(digest.calls, 'call')}, {digest.remembered:,} remembered"
    )
    for cited in digest.sentences[:_MOST_CITATIONS]:
        lines = ",".join(_lines(document.lines(span.start, span.end)) for span in cited.sources)
        place = shown_place(one_line(document.path), f":{lines}", width() // 2, stream=sys.stderr)
        said = one_line(" ".join(cited.text.split()))
        say(f"  {tint('path', place)} {said if not sys.stderr.isatty() else shortened(said, width() - 3 - len(place))}")
    if len(digest.sentences) > _MOST_CITATIONS:
        say(f"  … and {len(digest.sentences) - _MOST_CITATIONS} more; --json lists them all")
    if digest.joined:
        say(tint("warn", "no merge could make it shorter, so its parts stand one after the other"))
    for gap in digest.gaps:
        say(tint("bad", f"missing: bytes {gap.span.start}-{gap.span.end}; {one_line(gap.reason)}"))


def captured(record: Mapping[str, Any]) -> str:
    """One line a capture: status, model, name, message."""
    styles = {"done": "good", "failed": "bad", "pending": "warn"}
    return "".join(
        f"{_out(styles[each['status']], each['status'].ljust(_LABEL))} {one_line(each['model'])} "
        f"{one_line(each['name'])}{': ' if each['message'] else ''}{one_line(each['message'])}\n"
        for each in record["captures"]
    )


def citation(engine: Engine, window: Window) -> tuple[str, str]:
    """Where a window stands: pages, cells or messages of a converted file; else lines, or bytes of a long one."""
    if window.lines is None:
        return one_line(window.path), f" bytes {window.start}-{window.end}"
    return place_of(window.path, window.lines, engine.origins(window.path, window.start, window.end))


def place_of(path: str, lines: Sequence[int], origins: Sequence[str]) -> tuple[str, str]:
    """A path with what a reader can find in that file.

    >>> place_of("tea.md", (3, 4), ()), place_of("tea.pdf", (1, 90), ("page 2", "page 3", "page 4"))
    (('tea.md', ':3-4'), ('tea.pdf', ', page 2 to page 4'))
    """
    if not origins:
        return one_line(path), f":{_lines(lines)}"
    first, last = one_line(origins[0]), one_line(origins[-1])
    return one_line(path), f", {first if first == last else f'{first} to {last}'}"


def show_understood(documents: int, context: Context) -> None:
    """How a question was read, and why there is no answer where there is none."""
    show_corrections(context.corrections)
    about = context.relevance
    if context.windows:
        show_missing(() if about is None else about.missing)
    elif context.omitted:
        say(f"what was found does not fit into {_count(context.budget.available, 'token')}; give a larger --budget")
    else:
        show_nothing(documents, (about and about.reason) or "", nearest=about is not None and about.nearest)


def show_missing(words: Sequence[str]) -> None:
    """Which words of the question no document has."""
    if words:
        say(tint("warn", f"no document has: {one_line(', '.join(words))}"))


def show_nothing(documents: int, reason: str, *, nearest: bool = False) -> None:
    """Why there is no answer, and what to do about it."""
    if not documents:
        say("nothing to search: no documents could be read there")
        return
    say(f"nothing found in {_count(documents, 'document')}; {one_line(reason)}")
    if nearest:
        say("--anyway shows what is nearest")


def show_corrections(corrections: Iterable[Correction]) -> None:
    """Which words were searched for in place of others, and how to undo it."""
    meant: dict[str, list[str]] = {}
    for each in corrections:
        meant.setdefault(each.word.decode("utf-8", "replace"), []).append(each.term.decode("utf-8", "replace"))
    for number, (word, terms) in enumerate(meant.items(), 1):
        undo = f"; --as-typed takes {'it' if number == 1 else 'all'} as typed" if number == len(meant) else ""
        say(tint("warn", f"searched for {one_line(', '.join(terms))} instead of {one_line(word)}{undo}"))


_SKIPPED_AS = {
    "too_large": "too large",
    "outside": "outside the folder",
    "link": "behind a link",
    "loop": "in a loop of links",
    "broken": "a link to nothing",
    "special": "not a regular file",
    "name": "with a name that can't be cited",
    "too_deep": "too deep in folders",
    "changing": "changing while read",
    "encoding": "in an unknown encoding",
    "missing_part": "in a format that needs an extra",
}


def show_skips(skipped: Sequence[Skipped]) -> None:
    """What was left out, in a line; what could be read after all, one by one."""
    notable = [each for each in skipped if each.reason not in _QUIET_REASONS]
    if not notable:
        return
    counts = sorted(Counter(each.reason for each in notable).items(), key=lambda each: (-each[1], each[0]))
    reasons = ", ".join(f"{number:,} {_SKIPPED_AS.get(reason, reason)}" for reason, number in counts)
    say(f"skipped: {reasons} (--json lists them)")
    fixable = [each for each in notable if each.reason in FIXABLE]
    for each in fixable[:_MOST_SKIPS]:
        say(tint("warn", f"  {one_line(each.path)}: {each.reason.replace('_', ' ')}; {one_line(each.detail)}"))
    if len(fixable) > _MOST_SKIPS:
        say(f"  … and {len(fixable) - _MOST_SKIPS} more")


# ---- to standard output


def hits(record: Mapping[str, Any]) -> str:
    """One line a hit: path, lines and the text on one line; cut to the screen's width on a terminal only."""
    lines = []
    for hit in record["hits"]:
        text = one_line(" ".join(hit["text"].split()))
        if not text:
            continue  # a blank line between two that matter
        room = width()
        place = shown_place(*place_of(hit["path"], hit["lines"], hit["origins"]), room // 2, stream=sys.stdout)
        if sys.stdout.isatty():
            text = text if len(text) <= room - len(place) - 2 else text[: room - len(place) - 3] + "…"
        lines.append(f"{_out('path', place)}: {text}\n")
    return "".join(lines)


def around(path: str, lines: Sequence[str], *, begin: int, hit: tuple[int, int]) -> str:
    """Lines of a document with their numbers: a colon behind those of the hit, a hyphen behind the others."""
    name = _out("path", one_line(path))
    rows = []
    for number, line in enumerate(lines, begin):
        sign = ":" if hit[0] <= number <= hit[1] else "-"
        rows.append(f"{name}{sign}{number}{sign}{one_line(line)}\n")
    return "".join(rows)


def report(record: Mapping[str, Any]) -> str:
    """What adding did, and what the store holds now."""
    done = ", ".join(
        f"{record[name]:,} {name}" for name in ("added", "changed", "renamed", "removed", "unchanged") if record[name]
    )
    return labelled([("files", done or "none"), *_held(record)])


def status(record: Mapping[str, Any]) -> str:
    """What a store holds."""
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in record["kinds"].items())
    rows = [*_held(record), ("kinds", kinds or "none"), ("state root", record["root"])]
    for place, folder in record["folders"].items():
        rows.append(("added", one_line(f"{place} as {folder}" if folder else place)))
    for each in record.get("skipped", ()):
        detail = f" ({one_line(each['detail'])})" if each["detail"] else ""
        rows.append((f"{each['reason'].replace('_', ' ')}", f"{one_line(each['path'])}{detail}"))
    return labelled(rows)


def findings(found: Iterable[object]) -> str:
    """One line for each thing that is not as the receipt says."""
    return "".join(f"{one_line(str(each))}\n" for each in found)


def verified(windows: int, documents: int, *, against: str, digests: int) -> str:
    """That the text, written again from its sources, is the one that the receipt stands for; digests have none."""
    held = f"{_count(windows, 'window')} of {_count(documents, 'document')}"
    said = _out("good", "verified")
    if digests:
        said = _out("warn", f"all but the words of {_count(digests, 'digest')} (a model's) verified")
    return f"{said}: {held}, written again from the {against}\n"


def only_itself(windows: int, documents: int, *, with_text: bool) -> str:
    """That a receipt fits itself, and perhaps a text, which says nothing of what it cites."""
    held = f"{_count(windows, 'window')} of {_count(documents, 'document')}"
    said = "the receipt fits itself and the text" if with_text else "the receipt fits itself"
    return f"{_out('warn', said)}; what it cites ({held}) was NOT checked\n"


def changed(record: Mapping[str, Any]) -> str:
    """One line a file of a place that is watched; where nothing was done, that it is up to date."""
    if record["files"]:
        return "".join(f"{each['done']:<7} {_out('path', one_line(each['path']))}\n" for each in record["files"])
    done = ", ".join(f"{record[name]:,} {name}" for name in ("added", "changed", "renamed", "removed") if record[name])
    return f"{_out('path', one_line(record['place']))}: {done or 'up to date'}\n"


def explanation(record: Mapping[str, Any]) -> str:
    """How a question was understood, then a line for each window: in, or out with the reason."""
    read: dict[str, list[str]] = {}
    for each in record["corrections"]:
        read.setdefault(each["word"], []).append(each["term"])
    meant = {word: f"{word} → {', '.join(terms)}" for word, terms in read.items()}
    words = ", ".join(f"{one_line(meant.get(word, word))} {number:,}×" for word, number in record["census"].items())
    lines = [f"{_out('strong', 'words')}  {words or 'none'}"]
    if missing := (record["relevance"] or {}).get("missing"):
        lines.append(f"       no document has: {one_line(', '.join(missing))}")
    if cited := record.get("cited"):
        said = (
            _out("good", "the same bytes again") if cited["same"] else _out("bad", "not the same: the corpus changed")
        )
        lines.append(f"{_out('strong', 'asked')}  {said}")
    filled = f"{record['tokens']:,} of {record['budget']:,} tokens ({one_line(record['model'])})"
    lines.append(f"{_out('strong', 'filled')} {filled}")
    for each in record["windows"]:
        without = "no word of the question, but they stand around it" if each["lexical"] else "only its meaning"
        terms = one_line(", ".join(_words_in(each, read))) or without
        legs = f"words {each['lexical'] or 0:.2f}, meaning {each['semantic'] or 0:.2f}"
        lines += [
            f"{_out('good', 'in')}  {_out('path', _where(each))}",
            f"    {each['score']:.2f} ({legs}): {terms}{_marks(each)}",
        ]
    for each in record["omitted"][:_MOST_OMITTED]:
        price = f"; enters at {each['enters_at']:,} tokens" if each["enters_at"] else ""
        lines.append(f"{_out('faint', 'out')} {_out('path', _where(each))}")
        lines.append(f"    {each['score']:.2f}: {each['reason'].replace('_', ' ')}{price}")
    if len(record["omitted"]) > _MOST_OMITTED:
        lines.append(f"… and {len(record['omitted']) - _MOST_OMITTED:,} more that did not fit; --json lists them all")
    return "".join(f"{line}\n" for line in lines)


def _marks(window: Mapping[str, Any]) -> str:
    """What else is known of a window: that its kind of file counts less, that it only fills."""
    prior = f"; {window['prior']['kind']}: counts {window['prior']['counts']:g}" if window["prior"] else ""
    return f"{prior}; fills" if window["filling"] else prior


def _words_in(window: Mapping[str, Any], read: Mapping[str, object]) -> list[str]:
    """Which words of the question a window holds; one that was read as another is named as it stands there."""
    text = window["text"].encode()
    spans = [
        (each["start"] - window["start"], each["end"] - window["start"])
        for each in window["matches"]
        if each["word"] in read
    ]
    there = {text[start:end].decode("utf-8", "replace").lower() for start, end in spans}
    return sorted({term for term in window["terms"] if term not in read} | there)


def _where(window: Mapping[str, Any]) -> str:
    place = f":{_lines(window['lines'])}" if window["lines"] else f" bytes {window['start']}-{window['end']}"
    return shown_place(one_line(window["path"]), place, width() - 4, stream=sys.stdout)


def forecast(record: Mapping[str, Any]) -> str:
    """What condensing would cost."""
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


def preview(record: Mapping[str, Any]) -> str:
    """What adding would do."""
    done = ", ".join(
        f"{record[name]:,} {name}" for name in ("added", "changed", "removed", "unchanged") if record[name]
    )
    return labelled([("files", f"would be: {done or 'none'}"), ("store", one_line(record["store"]))])


def _held(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("documents", f"{record['documents']:,}, {record['bytes']:,} bytes"),
        ("store", f"{one_line(record['store'])}, {record['store_bytes']:,} bytes"),
    ]


def labelled(rows: Iterable[tuple[str, str]]) -> str:
    """A line each: a label and what it says, one below the other however long a label is."""
    rows = list(rows)
    wide = max((len(label) for label, _ in rows), default=0)
    return "".join(f"{_out('strong', label.ljust(max(wide, _LABEL)))} {text}\n" for label, text in rows)


def _out(style: str, text: str) -> str:
    return text if is_plain(sys.stdout) else tint(style, text, stream=sys.stdout)


def _lines(lines: Sequence[int]) -> str:
    first, last = lines
    return str(first) if first == last else f"{first}-{last}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
