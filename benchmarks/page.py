"""How long does it take from a knob to the page that was assembled again? `make bench-page`.

A real browser before a real server over what `make demo` shows: this repository's own text and code. The clock starts
at the event of the field and stops when the frame with the new windows was painted; nothing comes from a cache.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from core import report  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from scripts import demo  # noqa: E402
from tests.browser import make_browser, served  # noqa: E402

import brimful  # noqa: E402

QUESTION = "How is the rest of the budget filled after packing?"
AIM_MS = 200
ROUNDS = 40

TURN = """async ([id, value, kind]) => {
  const field = document.getElementById(id);
  const shown = new Promise((resolve) => {
    new MutationObserver((_, observer) => { observer.disconnect(); resolve(); })
      .observe(document.documentElement, { attributes: true, attributeFilter: ['data-shown'] });
  });
  performance.clearResourceTimings();
  const began = performance.now();
  field.value = value;
  field.dispatchEvent(new Event(kind, { bubbles: true }));
  await shown;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const whole = performance.now() - began;
  const answers = performance.getEntriesByType('resource').filter((each) => each.name.endsWith('/v1/context'));
  return [whole, answers[0].duration, answers[0].transferSize, document.querySelectorAll('.window').length];
}"""


def knobs() -> dict[str, list[tuple[str, str, str]]]:
    """What is turned: the field, its values, the event. Budgets differ each time, so that none is remembered."""
    places = range(ROUNDS)
    return {
        "budget of some 1,000 tokens": [("budget", str(1_003 + 7 * at), "change") for at in places],
        "budget of some 4,000 tokens": [("budget", str(4_003 + 7 * at), "change") for at in places],
        "budget of some 16,000 tokens": [("budget", str(16_003 + 7 * at), "change") for at in places],
        "slider, by hand (with its pause)": [("slider", str(200 + 15 * at), "input") for at in places],
    }


def measure(page: Page, turns: list[tuple[str, str, str]]) -> dict[str, Any]:
    """One knob, turn after turn; the first two are not counted."""
    rows = []
    for number, turn in enumerate(turns):
        found = page.evaluate(TURN, list(turn))
        page.wait_for_timeout(30)
        if number >= 2:
            rows.append(found)
    whole, answer, sizes, windows = (sorted(column) for column in zip(*rows, strict=True))
    own = sorted(row[0] - row[1] for row in rows)
    return {
        "rounds": len(rows),
        "p50_ms": statistics.median(whole),
        "p95_ms": whole[int(len(whole) * 0.95)],
        "fastest_ms": whole[0],
        "server_p50_ms": statistics.median(answer),
        "page_p50_ms": statistics.median(own),
        "answer_bytes": statistics.median(sizes),
        "windows": statistics.median(windows),
    }


def corpus(folder: Path) -> None:
    """What the demo shows."""
    for part in demo.PARTS:
        source, target = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy2(source, target)


def main() -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(description="From a knob to the page, in a real browser.")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    options = parser.parse_args()
    facts = {"commit": report.commit(), **report.machine(("brimful", "fastapi", "uvicorn", "playwright"))}
    lines = ["# From a knob to the page", "", report.facts_line(facts), ""]
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place, "corpus"), Path(place, "store.db")
        folder.mkdir()
        corpus(folder)
        with brimful.open(store) as engine:
            added = engine.add(folder).added
            size = int(engine.columns.documents.lengths.sum())
        with served(store) as address, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=make_browser.where(), args=list(make_browser.ARGUMENTS))
            facts |= {"browser": browser.version, "load": round(os.getloadavg()[0], 1)}
            lines += [
                f"{added} documents, {size / 1e6:.1f} MB; Chromium {browser.version}; load {facts['load']}.",
                "",
                f"| knob | p50 ms (aim {AIM_MS}) | p95 ms | fastest ms | p50 of the server | of the page | windows |",
                "|---|---:|---:|---:|---:|---:|---:|",
            ]
            rows = {}
            for name, turns in knobs().items():
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.goto(f"{address}/#{urlencode({'q': QUESTION})}")
                page.wait_for_selector("html[data-shown]")
                row = rows[name] = measure(page, turns)
                page.close()
                lines.append(
                    f"| {name} | {row['p50_ms']:.0f} | {row['p95_ms']:.0f} | {row['fastest_ms']:.0f} | "
                    f"{row['server_p50_ms']:.0f} | {row['page_p50_ms']:.0f} | {row['windows']:.0f} |"
                )
                print(lines[-1], flush=True)
            browser.close()
    if not options.dry:
        target = Path(__file__).parent / "results" / f"page-{facts['commit']}"
        target.with_suffix(".md").write_text("\n".join([*lines, ""]), "utf-8")
        target.with_suffix(".json").write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
