"""Show what Brimful does, on the repository's own files: hits, windows, a packed context, its account."""

import os
import shutil
import sys
from pathlib import Path

import brimful

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    "README.md",
    "ARCHITECTURE.md",
    "docs/glossary.md",
    "src/brimful/budget.py",
    "src/brimful/windows/sizing.py",
]
TERMS = ["budget", "radius", "brim"]
BUDGET = 900
TTY = sys.stdout.isatty() and "NO_COLOR" not in os.environ
WIDTH = min(shutil.get_terminal_size((80, 24)).columns, 100)


def tint(code: str, text: str) -> str:
    """Colour on a terminal, plain text elsewhere."""
    return f"\033[{code}m{text}\033[0m" if TTY else text


def bar(parts: list[tuple[str, int, str]], total: int, width: int) -> str:
    """A budget as one line of characters, each part in proportion."""
    cells, drawn = [], 0
    for number, (_, tokens, mark) in enumerate(parts):
        upto = sum(part[1] for part in parts[: number + 1])
        size = upto * width // total - drawn
        drawn += size
        cells.append(tint(str(32 + number), mark * size) if tokens else "")
    return "".join(cells)


def grep(document: brimful.Document) -> list[brimful.Hit]:
    """The plainest retriever there is: rarer words score higher."""
    text = document.content.lower()
    hits = []
    for term in TERMS:
        needle, at = term.encode(), text.find(term.encode())
        weight = 1.0 / max(text.count(needle), 1)
        while at >= 0:
            hits.append(brimful.Hit(document.path, at, at + len(needle), weight, terms=(term,)))
            at = text.find(needle, at + 1)
    return hits


def main() -> int:
    """Run the whole pure pipeline once and print it."""
    documents = [brimful.Document(name, (ROOT / name).read_bytes()) for name in FILES]
    hits = [hit for document in documents for hit in grep(document)]
    print(tint("1", f"\n1. Hits: {len(hits)} places in {len(documents)} files name {', '.join(TERMS)}"))
    windows = brimful.inflate(hits, documents, budget=BUDGET, sizing="density")
    size = windows.size
    print(
        tint(
            "1",
            f"2. Windows: {len(windows)}, sized by density: {size.kept} of {size.census} hits, "
            f"{size.share_bytes} bytes each",
        )
    )
    for window in windows.windows[:6]:
        first, last = window.lines
        place = f"{window.path}:{first}-{last}"
        print(f"   {place:<46.46} {window.end - window.start:>5} bytes  coherence {window.coherence.score:.2f}")
    if len(windows) > 6:
        print(f"   … and {len(windows) - 6} more")
    context = brimful.pack(windows, budget=BUDGET, dedup_threshold=0.8)
    print(
        tint(
            "1",
            f"3. Context: {len(context.windows)} windows, {context.tokens} of {BUDGET} tokens "
            f"({context.model}, counted on the final text)\n",
        )
    )
    for line in context.text.splitlines():
        shown = line if len(line) <= WIDTH - 2 else line[: WIDTH - 3] + "…"
        print("  " + (tint("36;1", shown) if line.startswith("[DOC: ") else shown))
    headers = context.tokens - context.content_tokens
    parts = [
        ("content", context.content_tokens, "█"),
        ("headers", max(headers, 0), "▓"),
        ("free", BUDGET - context.tokens, "░"),
    ]
    print("\n  " + bar(parts, BUDGET, WIDTH - 4))
    print("  " + "   ".join(f"{mark} {name} {tokens}" for name, tokens, mark in parts))
    source = sum(piece.end - piece.start for piece in context.pieces if piece.kind == "source")
    print(
        tint(
            "1",
            f"\n4. Account: {source} bytes are source bytes, {len(context.text.encode()) - source} are template.",
        )
    )
    drift = context.drift([brimful.Document(name, (ROOT / name).read_bytes()) for name in FILES])
    print("   Read again from disk: " + ("every cited byte is where it was." if not drift else "; ".join(drift)))
    out = next((out for out in context.omitted if out.reason == "budget"), None)
    if out:
        print(f"   Best window left out: {out.window.path} at {out.window.start}; it enters at {out.enters_at} tokens.")
    again = brimful.pack(brimful.inflate(reversed(hits), documents, budget=BUDGET), budget=BUDGET, dedup_threshold=0.8)
    print(
        f"   Packed again from shuffled hits: {'the same bytes' if again.text == context.text else 'DIFFERENT BYTES'}."
    )
    return 0 if not drift and again.text == context.text and context.tokens <= BUDGET else 1


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode shows question marks, not a traceback
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
