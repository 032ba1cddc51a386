"""How much memory does inflation take, against the text that it inflates?"""

import gc
import tracemalloc

import pytest

from brimful import Document, Hit, inflate
from brimful.settings import SIZINGS

MEGABYTE = 1 << 20
SAID = "The payment gateway in Lisbon had an outage on day {n} and nobody answered for {n} hours."


def line(kind, n):
    """One of many, of a text of each kind."""
    said = SAID.format(n=n)
    return {
        "notes.md": f"## Day {n}\n\n{said} {said}\n\n" if n % 7 == 0 else f"{said} {said}\n\n",
        "ledger.py": f"def payment_{n}(value):\n    # {said}\n    return value + {n}\n\n\n",
        "rows.csv": f"2024-01-{1 + n % 28:02}T10:00:00Z,{('INFO', 'ERROR')[n % 2]},{said}\n",
        "chat.txt": f"2024-01-{1 + n % 28:02} 10:{n % 60:02} - {('Ann', 'Bob')[n % 2]}: {said}\n",
    }[kind]


@pytest.mark.parametrize("sizing", SIZINGS)
@pytest.mark.parametrize("kind", ["notes.md", "ledger.py", "rows.csv", "chat.txt"])
@pytest.mark.seed("085b targets", "less than twice the text's memory during inflation", where="windows/policies.py")
def test_inflation_takes_less_than_twice_the_text(kind, sizing):
    """085b: a thousand hits of a megabyte are inflated within twice its size, windows and their texts included."""
    lines, size = [], 0
    while size < MEGABYTE:
        lines.append(line(kind, len(lines)))
        size += len(lines[-1].encode())
    document = Document(kind, "".join(lines))
    assert document.outline.structure is not None
    step = len(document) // 1_000
    places = [document.content.find(b"payment", n * step) for n in range(1_000)]
    assert document.outline.definitions[:] is not None  # all that is read once
    assert [document.outline.enclosing(cut, cut) for cut in document.outline.units.tolist()]
    hits = [Hit(kind, at, at + 7, 1.0 + at / MEGABYTE) for at in dict.fromkeys(places) if at >= 0]
    inflate(hits[:3], [document], budget=1_000, sizing=sizing)
    gc.collect()
    tracemalloc.start()
    try:
        windows = inflate(hits, [document], budget=len(document) // 8, sizing=sizing).windows
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert windows
    assert peak < 2 * len(document)
