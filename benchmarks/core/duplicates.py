"""How long does it take to leave out what is said twice, and is it found?"""

import random
from collections.abc import Sequence

from brimful import Document, Window, dedupe
from core.clock import Contender, race
from core.report import Table, percent
from core.texts import SEED, Text, pieces_of

SIZES = (5_000, 10_000, 20_000)
AIM_SECONDS = 1.0


def measure(texts: Sequence[Text]) -> tuple[list[Table], list[str]]:
    """Growing numbers of windows, of which a tenth are copies and a tenth nearly so."""
    table = Table(
        "4. Leaving out duplicates",
        ("windows", "s", "+-", "us/window", "copies found", "near ones found", "others left out"),
    )
    table.about = (
        "Windows of about 400 bytes of real text, 10 % of them copies of another under another path, and 10 % copies "
        "with one word in the middle changed. `others` repeat something that the texts themselves repeat, such as "
        "licences. No peer is measured here, so this table has no ratio."
    )
    summary = []
    for size in SIZES:
        windows, copies, near = _windows(texts, size)
        timing = race({"": Contender(lambda _, windows=windows: dedupe(windows))}, rounds=5)[""]
        kept = {window.id for window in timing.result}
        found = sum(1 for pair in copies if not kept.issuperset(pair))
        found_near = sum(1 for pair in near if not kept.issuperset(pair))
        others = size - len(kept) - found - found_near
        cells = f"{timing.median:.2f}", percent(timing.spread), f"{timing.median / size * 1e6:.0f}"
        shares = f"{found} of {len(copies)}", f"{found_near} of {len(near)}", f"{others}"
        figures = {
            "copies": len(copies),
            "copies_found": found,
            "near": len(near),
            "near_found": found_near,
            "others": others,
        }
        table.add(f"{size:,}", *cells, *shares, **timing.as_json(), **figures)
    summary.append(f"Deduplicating {SIZES[-1]:,} windows: {timing.median:.2f} s, aim {AIM_SECONDS:.0f} s")
    return [table], summary


def _windows(texts: Sequence[Text], size: int) -> tuple[list[Window], list[tuple[str, str]], list[tuple[str, str]]]:
    """Windows in a mixed order, and the ids of each planted pair."""
    rng = random.Random(SEED)
    documents = {text.path: Document(text.path, text.content) for text in texts}
    pieces = pieces_of(texts, size * 8 // 10)
    windows = [Window.cut(documents[piece.text.path], piece.start, piece.end, score=piece.score) for piece in pieces]
    long = [window for window in windows if len(window.text.split()) >= 40]
    originals = rng.sample(long, size * 2 // 10)
    copies, near = [], []
    for number, original in enumerate(originals):
        text = original.text
        if number % 2:
            words = text.split(" ")
            words[len(words) // 2] = "entirely"
            text = " ".join(words)
        copy = Window(f"copy/{original.path}", text, score=round(rng.random(), 6), sequence=number)
        (near if number % 2 else copies).append((original.id, copy.id))
        windows.append(copy)
    rng.shuffle(windows)
    return windows, copies, near
