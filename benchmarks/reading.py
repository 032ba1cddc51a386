"""The reader's test: do windows read well? `make bench-reading`, 200 windows of the dev sets, drawn by a seed.

Each window is judged by rules that look at its document and at the text as it was written:

- begins, ends: at the document's edge, where a sentence or an element of a list in brackets begins and ends, or at a
  line's edge, in prose only where the sentence does not go on in the next line, and not behind a heading;
- lead-in: a list that is announced by a line ending in a colon is not shown without that line;
- header: rows of a table come with its header row;
- trail: no heading trail is repeated for the next window, or repeats the heading that the window begins with;
- marker: no marker of a gap or a cut edge stands inside of a line;
- head: code that begins inside a function or class says above which one, or shows how it begins;
- scrap: no piece of one or two lines with fewer than 140 bytes, unless it is a whole paragraph, item, row or message.
"""

import argparse
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.report import commit
from folders import shared_module
from shared.sets import ROOT, dev_set, find_shared

import brimful
from brimful.assembly.context import Context
from brimful.windows.window import Window

SETS = ("chroma", "qa_anthropic_code", "qa_scifact")
BUDGETS = (1_000, 4_000)
QUESTIONS = 12
"""Of each set, drawn by the seed; of real_dev of each corpus."""
FETCHED = ROOT / ".people" / "real_dev"
RULES = ("begins", "ends", "lead-in", "header", "trail", "marker", "head", "scrap")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|[0-9]{1,3}[.)]) ")
_ROW = re.compile(r"[ \t]*\|")
_SIGN = re.compile(r"#{1,6} \S")
_BLOCK = re.compile(r"[#>=~`\t]|\.\. |---|    ")
_ENDS = (
    ".",
    "!",
    "?",
    ":",
    ";",
    "。",
    "！",
    "？",
    '"',
    "'",
    "”",
    "’",
    ")",
    "]",
    "`",
    "*",
    "|",
    "…",
    "}",
    ">",
    "},",
    "],",
)
_ENDS_WITHOUT_SPACE = ("。", "！", "？", "」", "）", "』")
_MOST_BACK = 20_000
LEAST = 140
"""Bytes; a shorter piece is a scrap."""


class Judged(NamedTuple):
    """A window, where it stands, and the rules that it breaks."""

    name: str
    place: str
    broken: tuple[str, ...]


def main() -> int:
    """Draw, judge, print, write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--stores", type=Path, help="where stores of the sets are kept; without, they are made anew")
    parser.add_argument("--label", default=None, help="what the result is called, if not the commit")
    parser.add_argument("--show", type=int, default=0, help="so many broken windows of each rule, to be read")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="brimful-reading-") as made:
        stores = options.stores or Path(made)
        judged = [each for name, context in _contexts(shared, stores, chance) for each in _judge(name, context)]
    drawn = chance.sample(judged, min(options.windows, len(judged)))
    lines = _table(drawn, label=options.label or commit(), seed=options.seed, total=len(judged))
    print("\n".join(lines))
    for rule in RULES:
        for each in [each for each in drawn if rule in each.broken][: options.show]:
            print(f"{rule}: {each.name} {each.place}")
    if not options.dry:
        place = Path(__file__).parent / "results" / f"reading-{options.label or commit()}.md"
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"Written: {place.name}")
    return 0


# ---- contexts


def _contexts(shared: Path, stores: Path, chance: random.Random) -> Iterator[tuple[str, Context]]:
    for name in SETS:
        found = dev_set(shared / "data" / name)
        place = stores / f"{name}.db"
        fresh = not place.exists()
        with brimful.open(place) as engine:
            if fresh:
                engine.add_documents(found.documents)
            for question in chance.sample(found.questions, QUESTIONS):
                for budget in BUDGETS:
                    yield name, engine.context(question.text, budget=budget)
    judge = shared_module(shared / "data" / "real_dev" / "score.py")
    asked = judge.load_questions()
    for corpus in sorted({question["corpus"] for question in asked}):
        place = stores / f"real-{corpus}"
        fresh = not place.exists()
        if fresh:
            fetch = ["sh", str(shared / "data" / "real_dev" / "fetch.sh"), str(FETCHED)]
            subprocess.run(fetch, check=True, stdout=subprocess.DEVNULL)
            place.mkdir(parents=True)
        with brimful.open(place) as engine:
            if fresh:
                engine.add(FETCHED / corpus)
            own = [question["question"] for question in asked if question["corpus"] == corpus]
            for question in chance.sample(own, min(QUESTIONS, len(own))):
                for budget in BUDGETS:
                    yield f"real-{corpus}", engine.context(question, budget=budget)


# ---- rules


def _judge(name: str, context: Context) -> Iterator[Judged]:
    marked = _marked_lines(context)
    before: Window | None = None
    for window in context.windows:
        content = window.document.content if window.document else window.text.encode()
        kind = window.document.kind if window.document else "prose"
        broken = [
            *(["begins"] if not _begins(content, window.start, kind) else []),
            *(["ends"] if not _ends(content, window.end, kind) else []),
            *(["lead-in"] if not _has_lead_in(content, window) else []),
            *(["header"] if not _has_header(content, window) else []),
            *(["trail"] if _repeats_trail(before, window, context) else []),
            *(["marker"] if window.id in marked else []),
            *(["head"] if not _has_head(window, context) else []),
            *(["scrap"] if _is_scrap(content, window) else []),
        ]
        yield Judged(name, f"{window.path} [{window.start}, {window.end})", tuple(broken))
        before = window


def _begins(content: bytes, start: int, kind: str) -> bool:
    said = content[max(start - 400, 0) : start].decode(errors="ignore")
    following = content[start : start + 400].decode(errors="ignore")
    if not said.strip() or said.endswith(_ENDS_WITHOUT_SPACE):
        return True
    if said.rstrip(" \t").endswith("\n"):
        return kind != "prose" or _is_break(said, following.lstrip("\n"))
    return said != said.rstrip() and said.rstrip().endswith(_ENDS)


def _ends(content: bytes, end: int, kind: str) -> bool:
    said = content[max(end - 400, 0) : end].decode(errors="ignore")
    following = content[end : end + 400].decode(errors="ignore")
    if not following.strip() or said.endswith(_ENDS_WITHOUT_SPACE):
        return True
    if kind == "prose" and _SIGN.match(said.rstrip().split("\n")[-1]):
        return False  # a heading without what it is the heading of
    if following.startswith(("\n", "\r")) or said.endswith("\n"):
        return kind != "prose" or _is_break(f"{said}\n" if following.startswith(("\n", "\r")) else said, following)
    return said.rstrip().endswith(_ENDS) and (said != said.rstrip() or following[:1].isspace())


def _is_break(said: str, following: str) -> bool:
    """Whether prose may be parted between two of its lines: not within a sentence that goes on in the next."""
    last = said.rstrip().split("\n")[-1].strip()
    is_blank = said.rstrip(" \t").endswith("\n\n") or following.startswith(("\n", "\r"))
    is_block = bool(_ITEM.match(following) or _ROW.match(following) or _BLOCK.match(following) or _SIGN.match(last))
    return is_blank or is_block or last.endswith(_ENDS)


def _line_before(content: bytes, start: int) -> str:
    """The last line that says something before a place."""
    said = content[max(start - _MOST_BACK, 0) : start].decode(errors="ignore").rstrip()
    return said[said.rfind("\n") + 1 :]


def _has_lead_in(content: bytes, window: Window) -> bool:
    """Whether the line that announces a list is in the window, if the window begins with one of its items."""
    if window.document is None or window.document.kind != "prose" or not _ITEM.match(window.text.lstrip("\n")):
        return True
    said = content[max(window.start - _MOST_BACK, 0) : window.start].decode(errors="ignore").rstrip().split("\n")
    while said and (_ITEM.match(said[-1]) or said[-1].startswith((" ", "\t")) or not said[-1].strip()):
        said.pop()
    announced = bool(said) and said[-1].rstrip().endswith(":") and not said[-1].rstrip().endswith("::")
    return not announced or any(seam.text.endswith(said[-1].rstrip()[-20:]) for seam in window.seams)


def _has_header(content: bytes, window: Window) -> bool:
    """Whether rows of a table come with its first row, in the window or above it."""
    document = window.document
    if document is None:
        return True
    if document.kind == "data":
        header = document.outline.header
        return not header or window.start <= header[0] or any(seam.kind == "header" for seam in window.seams)
    text = window.text.lstrip("\n")
    if document.kind != "prose" or not _ROW.match(text):
        return True
    if content[max(window.start - 2, 0) : window.start] == b"\n\n":
        return True  # a table begins
    return not _ROW.match(_line_before(content, window.start)) or any(_ROW.match(s.text) for s in window.seams)


def _has_head(window: Window, context: Context) -> bool:
    """Whether the innermost definition that code begins in is named above it, or its signature shown."""
    if window.document is None or window.document.kind != "code":
        return True
    begins = window.start + len(window.text) - len(window.text.lstrip())
    around = window.document.outline.enclosing(begins, begins + 1)
    around = tuple(each for each in around if each.kind != "heading" and each.signature_start < window.start)
    if not around:
        return True
    first, last = around[-1].signature_start, around[-1].signature_end
    own = [each for each in context.windows if each.path == window.path]
    return any(first <= seam.start < last for seam in window.seams) or any(w.start <= first < w.end for w in own)


def _is_scrap(content: bytes, window: Window) -> bool:
    document = window.document
    said = window.text.strip()
    if document is None or document.kind == "data" or len(said.encode()) >= LEAST or said.count("\n") > 1:
        return False
    if _ITEM.match(window.text.lstrip("\n")) or _ROW.match(said) or document.outline.has_messages:
        return False
    before, after = content[max(window.start - 400, 0) : window.start], content[window.end : window.end + 400]
    blanks = window.text[: len(window.text) - len(window.text.lstrip())].encode()
    begins = not before.strip() or re.search(rb"\n[ \t\r]*\n\s*\Z", before + blanks)
    ends = not after.strip() or re.search(
        rb"\A\s*\n[ \t\r]*\n", window.text[len(window.text.rstrip()) :].encode() + after
    )
    return not (begins and ends)


def _repeats_trail(before: Window | None, window: Window, context: Context) -> bool:
    if not window.seams:
        return False
    own = [seam.text for seam in window.seams]
    heading = window.text.lstrip("\n").split("\n")[0].strip("#=* \t")
    if own[-1].strip("#=* \t") == heading:
        return True
    same = before is not None and before.path == window.path and [seam.text for seam in before.seams] == own
    trail = "".join(piece.text for piece in context.pieces if _is_seam(piece.source_start, window))
    return same and context.text.count(trail) > 1 and _written_twice(context, window)


def _is_seam(start: int, window: Window) -> bool:
    return any(seam.start <= start < seam.end for seam in window.seams)


def _written_twice(context: Context, window: Window) -> bool:
    """Whether the bytes of a window's last seam stand in the text more than once as a seam."""
    seam = window.seams[-1]
    inside = any(each.start <= seam.start < each.end and each.path == window.path for each in context.windows)
    times = sum(piece.source_start == seam.start and piece.path == window.path for piece in context.pieces)
    return times - inside > 1


def _marked_lines(context: Context) -> set[str]:
    """The windows beside which a marker shares a line with a text, or two markers stand side by side."""
    found: set[str] = set()
    at = 0
    spans = []
    for piece in context.pieces:
        spans.append((at, piece))
        at += len(piece.text)
    for number, (start, piece) in enumerate(spans):
        if piece.kind != "literal" or "..." not in piece.text:
            continue
        first = start + piece.text.index("...")
        last = start + piece.text.rindex("...") + 3
        line = context.text[context.text.rfind("\n", 0, first) + 1 : (context.text + "\n").find("\n", last)]
        if line.strip("[].") and not re.fullmatch(r"\[\.\.\. .*\]", line):
            near = next((each for _, each in [*spans[number:], *reversed(spans[:number])] if each.path), None)
            found |= {
                window.id
                for window in context.windows
                if near and window.path == near.path and window.start <= near.source_start <= window.end
            }
    return found


# ---- the table


def _table(drawn: list[Judged], *, label: str, seed: int, total: int) -> list[str]:
    lines = [
        f"# The reader's test, at {label}",
        "",
        f"{len(drawn)} of {total} windows, drawn by seed {seed}; budgets of {' and '.join(map(str, BUDGETS))} tokens.",
        "",
        f"| windows | number | clean | {' | '.join(RULES)} |",
        f"|---|---:|---:|{'---:|' * len(RULES)}",
    ]
    groups = sorted({each.name.split("-")[0] for each in drawn})
    for name, own in [
        *((group, [e for e in drawn if e.name.split("-")[0] == group]) for group in groups),
        ("all", drawn),
    ]:
        broken = Counter(rule for each in own for rule in each.broken)
        clean = sum(not each.broken for each in own)
        counts = " | ".join(str(broken[rule]) for rule in RULES)
        lines.append(f"| {name} | {len(own)} | {100 * clean / max(len(own), 1):.1f} % | {counts} |")
    return [*lines, "", "The columns of rules count windows that break them."]


if __name__ == "__main__":
    raise SystemExit(main())
