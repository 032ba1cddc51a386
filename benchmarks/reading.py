"""The reader's test: do windows read well? `make bench-reading`: questions of 35 folders, judged by rules.

The folders are those of `people.py`, with its indexes; of each some questions are drawn by a seed and asked at four
budgets. Each window is judged by rules that look at its document and at the text as it was written:

- word: begins or ends inside a word or number;
- line: begins or ends inside a line of code, a record, or a row of a table;
- sentence: prose begins or ends inside a sentence, or ends with a heading;
- paragraph: a paragraph of prose lacks its beginning or end, which is at most 600 bytes;
- string: code begins or ends inside a string, a docstring or a comment of several lines;
- list: some items of a list are shown, and others, of at most 600 bytes in all, are not;
- lead-in: a list that is announced by a line ending in a colon is not shown without that line;
- table: rows come with their header, and a header with rows;
- head: code that begins inside a function or class says above which one, or shows how it begins;
- doc: a definition is shown without the comment directly above it, or with half of its docstring;
- body: a window of code shows a signature and nothing of what it begins;
- twice: two windows of one document begin with an equal line of code;
- trail: a trail is repeated for the next window, or repeats the heading that the window begins with;
- marker: a marker of a gap or a cut edge stands inside of a line;
- scrap: fewer than 200 bytes, and no whole paragraph, item, row, record, message or definition.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from core.report import commit
from folders import MODEL
from people import PEOPLE, arguments, chosen_folders, index_of
from shared.sets import find_shared

import brimful
from brimful.assembly.context import Context
from brimful.outline.structures import Definition
from brimful.settings import Ask
from brimful.windows.window import Window

BUDGETS = (500, 1_000, 4_000, 12_000)
RULES = tuple("word line sentence paragraph string list lead-in table head doc body twice trail marker scrap".split())
LEAST = 200
"""Bytes; a shorter piece is a scrap where it is no whole thing."""
NEAR = 600
"""Bytes; what is missing of a paragraph or list may be longer."""
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|[0-9]{1,3}[.)]) ")
_ROW = re.compile(r"[ \t]*\|")
_RULED = re.compile(r"[ \t]*\|[ \t:|-]+\|?[ \t]*\Z")
_SIGN = re.compile(r"#{1,6} \S")
_BLOCK = re.compile(r"[#>=~`\t]|\.\. |---|    ")
_BLANK = re.compile(rb"\n[ \t\r]*\n")
_WORD = re.compile(r"[^\W_]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LONG_STRING = re.compile(rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|/\*.*?\*/", re.DOTALL)
_ENDS = tuple(". ! ? : ; 。 ！ ？ \" ' ” ’ ) ] ` * | … } > }, ],".split())
_ENDS_WITHOUT_SPACE = ("。", "！", "？", "」", "）", "』")
_MOST_BACK = 20_000


class Judged(NamedTuple):
    """A window, where it stands, and the rules that it breaks."""

    name: str
    budget: int
    place: str
    size: int
    kind: str
    broken: tuple[str, ...]


def main() -> int:
    """Ask, judge, print, write down."""
    parser = arguments(__doc__)
    parser.set_defaults(sets=",".join(PEOPLE), peers="none")
    parser.add_argument("--questions", type=int, default=3, help="of each folder, drawn by the seed")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--label", default=None, help="what the result is called, if not the commit")
    parser.add_argument("--show", type=int, default=0, help="how many broken windows of each rule are named")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    judged = list(_judged(shared, options))
    lines = _table(judged, label=options.label or commit(), options=options)
    print("\n".join(lines))
    for rule in RULES:
        for each in [each for each in judged if rule in each.broken][: options.show]:
            print(f"{rule}: {each.name} {each.budget} {each.place}")
    if not options.dry:
        place = Path(__file__).parent / "results" / f"reading-{options.label or commit()}.md"
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"Written: {place.name}")
    return 0


def _judged(shared: Path, options: argparse.Namespace) -> Iterator[Judged]:
    chance = random.Random(options.seed)
    budgets = tuple(map(int, options.budgets.split(","))) if options.budgets else BUDGETS
    setting = dict(each.split("=", 1) for each in options.setting)
    for folder in chosen_folders(shared, options):
        index = index_of(folder, options)
        is_new = not index.exists()
        index.parent.mkdir(parents=True, exist_ok=True)
        with brimful.open(index, embedder=options.late) as engine:
            if is_new:
                engine.add(folder.source)
            for question in chance.sample(folder.questions, min(options.questions, len(folder.questions))):
                for budget in budgets:
                    ask = Ask.of(question["question"], {"budget": budget, "model": MODEL}, setting)
                    name = f"{folder.key}/{question['qid']}"
                    yield from _judge(name, budget, engine.context(ask))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


# ---- rules


def _judge(name: str, budget: int, context: Context) -> Iterator[Judged]:
    marked = _marked_lines(context)
    twice = _begun_twice(context.windows)
    before: Window | None = None
    for window in context.windows:
        document = window.document
        content = document.content if document else window.text.encode()
        kind = document.kind if document else "prose"
        start, end = window.start + len(window.text) - len(window.text.lstrip("\n")), window.end
        broken = {
            "word": _in_a_word(content, start) or _in_a_word(content, end),
            "line": kind != "prose" and (_in_a_line(content, start) or _in_a_line(content, end)),
            "sentence": kind == "prose" and not (_begins(content, start) and _ends(content, end)),
            "paragraph": kind == "prose"
            and (_lacks_paragraph(content, start, is_start=True) or _lacks_paragraph(content, end, is_start=False)),
            "string": kind == "code" and any(_in_a_string(content, edge) for edge in (start, end)),
            "list": _is_half_a_list(window),
            "lead-in": not _has_lead_in(content, window),
            "table": not _has_header(content, window) or _has_no_rows(content, window),
            "head": not _has_head(window, context),
            "doc": _lacks_doc(window),
            "body": _lacks_body(window),
            "twice": window.id in twice,
            "trail": _repeats_trail(before, window, context),
            "marker": window.id in marked,
            "scrap": _is_scrap(content, window),
        }
        if kind == "prose" and (_in_a_row(content, start) or _in_a_row(content, end)):
            broken["line"] = True
        place = f"{window.path} [{window.start}, {window.end})"
        yield Judged(name, budget, place, len(window.span), kind, tuple(rule for rule in RULES if broken[rule]))
        before = window


def _text(content: bytes, start: int, end: int) -> str:
    return content[max(start, 0) : max(end, 0)].decode(errors="ignore")


def _in_a_word(content: bytes, edge: int) -> bool:
    left, right = _text(content, edge - 8, edge)[-2:], _text(content, edge, edge + 8)[:2]
    if not (left and right) or _UNSPACED.match(left[-1]) or _UNSPACED.match(right[0]):
        return False
    if re.match(r"\d[.,]\Z", left) and right[0].isdigit():
        return True
    return bool(_WORD.match(left[-1]) and _WORD.match(right[0]))


def _in_a_line(content: bytes, edge: int) -> bool:
    line = content.rfind(b"\n", 0, edge) + 1
    return bool(content[line:edge].strip()) and bool(content[edge : content.find(b"\n", edge) % (1 << 62)].strip())


def _in_a_row(content: bytes, edge: int) -> bool:
    line = content.rfind(b"\n", 0, edge) + 1
    return content[line:edge].lstrip().startswith(b"|") and _in_a_line(content, edge)


def _in_a_string(content: bytes, edge: int) -> bool:
    low = max(edge - _MOST_BACK, 0)
    near = content[low : edge + _MOST_BACK]
    return any(match.start() + 3 < edge - low < match.end() - 3 for match in _LONG_STRING.finditer(near))


def _begins(content: bytes, start: int) -> bool:
    said, following = _text(content, start - 400, start), _text(content, start, start + 400)
    if not said.strip() or said.endswith(_ENDS_WITHOUT_SPACE):
        return True
    if said.rstrip(" \t").endswith("\n"):
        return _is_break(said, following.lstrip("\n"))
    return said != said.rstrip() and said.rstrip().endswith(_ENDS)


def _ends(content: bytes, end: int) -> bool:
    said, following = _text(content, end - 400, end), _text(content, end, end + 400)
    if not following.strip() or said.endswith(_ENDS_WITHOUT_SPACE):
        return True
    if _SIGN.match(said.rstrip().split("\n")[-1]):
        return False  # a heading without what it is the heading of
    if following.startswith(("\n", "\r")) or said.endswith("\n"):
        return _is_break(f"{said}\n" if following.startswith(("\n", "\r")) else said, following)
    return said.rstrip().endswith(_ENDS) and (said != said.rstrip() or following[:1].isspace())


def _is_break(said: str, following: str) -> bool:
    """Whether prose may be parted between two of its lines: not within a sentence that goes on in the next."""
    last = said.rstrip().split("\n")[-1].strip()
    return _is_block_edge(said, following) or last.endswith(_ENDS)


def _is_block_edge(said: str, following: str) -> bool:
    last = said.rstrip().split("\n")[-1].strip()
    is_blank = said.rstrip(" \t").endswith("\n\n") or following.startswith(("\n", "\r"))
    return (
        is_blank
        or bool(_ITEM.match(following) or _ROW.match(following) or _BLOCK.match(following))
        or bool(_SIGN.match(last))
    )


def _lacks_paragraph(content: bytes, edge: int, *, is_start: bool) -> bool:
    """Whether running text is parted here, and what is missing of its paragraph is short."""
    said, following = _text(content, edge - 400, edge), _text(content, edge, edge + 400)
    if not (said.strip() and following.strip()) or _is_block_edge(said, following):
        return False
    low, high = (max(edge - NEAR, 0), edge) if is_start else (edge, edge + NEAR)
    return low == 0 or high > len(content) or _BLANK.search(content, low, high) is not None


def _line_before(content: bytes, start: int) -> str:
    """The last line that says something before a place."""
    said = _text(content, start - _MOST_BACK, start).rstrip()
    return said[said.rfind("\n") + 1 :]


def _is_half_a_list(window: Window) -> bool:
    document = window.document
    if document is None or document.kind != "prose" or document.outline.has_messages:
        return False
    for edge, is_start in ((window.start, True), (window.end, False)):
        for passage in document.outline.passages_at(edge):
            missing = (passage.start, edge) if is_start else (edge, passage.end)
            is_parted = passage.kind == "list" and passage.start < edge < passage.end
            shown = min(passage.end, window.end) - max(passage.start, window.start)
            if is_parted and shown > 0 and 0 < len(document.content[slice(*missing)].strip()) <= NEAR:
                return True
    return False


def _has_lead_in(content: bytes, window: Window) -> bool:
    """Whether the line that announces a list is in the window, if the window begins with one of its items."""
    if window.document is None or window.document.kind != "prose" or not _ITEM.match(window.text.lstrip("\n")):
        return True
    said = _text(content, window.start - _MOST_BACK, window.start).rstrip().split("\n")
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


def _has_no_rows(content: bytes, window: Window) -> bool:
    """Whether a table ends with its header or the line below it."""
    lines = window.text.rstrip("\n").split("\n")
    following = _text(content, window.end, window.end + 400).lstrip("\n").split("\n")[0]
    if not (_ROW.match(lines[-1]) and _ROW.match(following)):
        return False
    is_header = len(lines) < 2 or not _ROW.match(lines[-2])
    return bool(_RULED.match(lines[-1])) or (is_header and bool(_RULED.match(following)))


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
    same = [each for each in context.windows if each.path == window.path]
    return any(first <= seam.start < last for seam in window.seams) or any(w.start <= first < w.end for w in same)


def _definitions(window: Window) -> Sequence[Definition]:
    document = window.document
    return document.outline.structure.definitions if document is not None and document.kind == "code" else ()


def _lacks_doc(window: Window) -> bool:
    for each in _definitions(window):
        if each.doc is None:
            continue
        shows_name = window.start <= each.signature_start < window.end
        is_above = each.doc[1] <= each.signature_start
        if shows_name and is_above and window.start > each.doc[0]:
            return True
        if each.doc[0] < window.start < each.doc[1] or each.doc[0] < window.end < each.doc[1]:
            return True
    return False


def _lacks_body(window: Window) -> bool:
    text = window.text.rstrip()
    end = window.start + len(text.encode())
    return any(
        each.kind in ("function", "method") and each.signature_start < end <= each.signature_end + 1 < each.end - 2
        for each in _definitions(window)
    )


def _begun_twice(windows: Sequence[Window]) -> set[str]:
    lines = Counter(
        (w.path, w.text.lstrip().split("\n")[0]) for w in windows if w.document and w.document.kind == "code"
    )
    return {
        w.id
        for w in windows
        if w.document and w.document.kind == "code" and lines[w.path, w.text.lstrip().split("\n")[0]] > 1
    }


def _is_scrap(content: bytes, window: Window) -> bool:
    document = window.document
    said = window.text.strip()
    if document is None or document.kind == "data" or len(said.encode()) >= LEAST:
        return False
    if _ITEM.match(window.text.lstrip("\n")) or _ROW.match(said) or document.outline.has_messages:
        return False
    end = window.start + len(window.text.rstrip().encode())
    if any(window.start <= each.signature_start and end == each.end for each in _definitions(window)):
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
    trail = [seam.text for seam in window.seams]
    heading = window.text.lstrip("\n").split("\n")[0].strip("#=* \t")
    if trail[-1].strip("#=* \t") == heading:
        return True
    same = before is not None and before.path == window.path and [seam.text for seam in before.seams] == trail
    written = "".join(piece.text for piece in context.pieces if _is_seam(piece.source_start, window))
    return same and context.text.count(written) > 1 and _written_twice(context, window)


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


def _table(judged: list[Judged], *, label: str, options: argparse.Namespace) -> list[str]:
    asked = len({each.name for each in judged})
    lines = [
        f"# The reader's test, at {label}",
        "",
        f"{len(judged)} windows of {asked} questions, drawn by seed {options.seed}. The columns of rules count windows",
        "that break them, of a thousand.",
        "",
        f"| windows | a context | median bytes | clean | {' | '.join(RULES)} |",
        f"|---|---:|---:|---:|{'---:|' * len(RULES)}",
    ]
    rows = [
        *(
            (f"{budget:,} tokens", [e for e in judged if e.budget == budget])
            for budget in sorted({e.budget for e in judged})
        ),
        *((kind, [each for each in judged if each.kind == kind]) for kind in ("prose", "code", "data")),
        ("all", judged),
    ]
    for name, chosen in rows:
        broken = Counter(rule for each in chosen for rule in each.broken)
        clean = sum(not each.broken for each in chosen) / max(len(chosen), 1)
        contexts = len({(each.name, each.budget) for each in chosen})
        counts = " | ".join(f"{1_000 * broken[rule] / max(len(chosen), 1):.0f}" for rule in RULES)
        sizes = median([each.size for each in chosen] or [0])
        lines.append(f"| {name} | {len(chosen) / max(contexts, 1):.1f} | {sizes:.0f} | {clean:.1%} | {counts} |")
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
