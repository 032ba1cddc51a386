"""What do semble, qmd and repomix answer of the questions of people.py? `make bench-tools`.

Each tool runs as far as it does without the network: semble and qmd by words (their models come from a hub), repomix
writes a whole folder down. Results of a search are joined until the budget is full, the last one cut to it. What a
tool answered of a folder is kept in --work; all answers are written to results/tools.json.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from answered import CODE
from core.report import commit
from folders import MODEL, Place, judge_of
from people import Folder, about, arguments, chosen_folders
from shared.sets import ROOT, find_shared

import brimful

RESULTS = Path(__file__).parent / "results" / "tools.json"
NPM = {"@tobilu/qmd": "2.8.3", "repomix": "1.18.1", "bun": "1.4.4"}
MOST = 40  # results of one search
# By words alone: the model that would read the rest lies on a hub, so this one says nothing, and counts nothing.
SEMBLE = """
import json, sys
import numpy as np
from semble.index import index as module
class Silent:
    dim = 2
    def encode(self, texts, **_):
        return np.ones((len(texts), 2), dtype=np.float32)
module.load_model = lambda path=None: (Silent(), "none")
module.get_validated_cache = lambda *_: None
module.load_previous_for_incremental = lambda *_: None
module.save_search_stats = lambda *_: None
job = json.load(sys.stdin)
kinds = [module.ContentType(each) for each in job["content"]]
index = module.SembleIndex.from_path(job["source"], content=kinds)
for question in job["questions"]:
    found = index.search(question, top_k=job["most"], alpha=0.0)
    print(json.dumps([[each.chunk.file_path, each.chunk.content] for each in found]), flush=True)
"""

Results = list[tuple[str, str]]  # path and text, best first


def main() -> int:
    """Ask each folder with each tool, and write down which questions were answered."""
    parser = arguments(__doc__)
    parser.set_defaults(work=ROOT / ".people", peers="semble,qmd,qmd-full,repomix")
    parser.add_argument("--python", type=Path, default=ROOT / ".venv-bench/bin/python", help="has semble installed")
    parser.add_argument("--npm", type=Path, default=ROOT / ".venv-bench/npm", help="where qmd, repomix and bun lie")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 0
    _install(options.npm)
    rows: dict[str, dict[str, list[float]]] = {}
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for folder in chosen_folders(shared, options):
        for tool in options.peers.split(","):
            kept = options.work / "tools" / folder.set / f"{folder.name}-{tool}.json"
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(TOOLS[tool](folder, options)), encoding="utf-8")
            record = json.loads(kept.read_text("utf-8"))
            costs.setdefault(tool, {})[folder.key] = record["cost"]
            for qid, values in record["values"].items():
                rows.setdefault(f"{folder.set}/{qid}", {})[tool] = values
        for question in folder.questions:
            rows[f"{folder.set}/{question['qid']}"]["none"] = about(folder, question)["none"]
        print(folder.key, flush=True)
    if not options.dry:
        (options.out or RESULTS).write_text(_as_json(rows, costs, options), encoding="utf-8")
    return 0


def _install(place: Path) -> None:
    if not (place / "node_modules" / ".bin" / "qmd").exists():
        place.mkdir(parents=True, exist_ok=True)
        named = [f"{name}@{version}" for name, version in NPM.items()]
        subprocess.run(["npm", "install", "--silent", "--prefix", place, *named], check=True)


def _semble(folder: Folder, options: argparse.Namespace) -> dict[str, Any]:
    job = {
        "source": str(folder.source),
        "content": ["code"] if folder.set == CODE else ["code", "docs", "config"],
        "questions": [each["question"] for each in folder.questions],
        "most": MOST,
    }
    _spent()
    _run([options.python, "-c", SEMBLE], given=json.dumps(job | {"questions": []}))
    building = _spent()
    shown = _run([options.python, "-c", SEMBLE], given=json.dumps(job))
    found = [[(path, text) for path, text in json.loads(line)] for line in shown.splitlines()]
    found = found or [[] for _ in folder.questions]  # a folder of which it reads no file
    return _record(folder, iter(found), {"index_s": building})


def _qmd(folder: Folder, options: argparse.Namespace, *flags: str) -> dict[str, Any]:
    place = options.work / "tools" / "qmd" / folder.key
    environment = os.environ | {"XDG_CACHE_HOME": str(place), "QMD_CONFIG_DIR": str(place)}
    modules = options.npm / "node_modules"
    qmd = [modules / ".bin" / "bun", modules / "@tobilu" / "qmd" / "dist" / "cli" / "qmd.js"]
    _spent()
    if not place.exists():
        place.mkdir(parents=True)
        _run([*qmd, "collection", "add", folder.source, "--name", "c", "--mask", "**/*"], environment)
    building = _spent()
    files = (path.relative_to(folder.source) for path in sorted(folder.source.rglob("*")) if path.is_file())
    names = {_handle(str(path)): str(path) for path in files}

    def found() -> Iterator[Results]:
        for question in folder.questions:
            words = ["search", question["question"], "--json", "-n", str(MOST), "-c", "c", *flags]
            shown = _run([*qmd, *words], environment)
            listed = json.loads(shown) if shown.lstrip().startswith("[") else []
            yield [
                (names.get(_handle(each["file"].removeprefix("qmd://c/")), each["file"]), text)
                for each in listed
                if (text := each.get("body") or each.get("snippet") or "")
            ]

    return _record(folder, found(), {"index_s": building})


def _handle(path: str) -> str:
    """A path as qmd writes it, with everything but letters and digits left out."""
    return re.sub(r"[^\w/.]|_", "", path.lower())


def _repomix(folder: Folder, options: argparse.Namespace) -> dict[str, Any]:
    target = options.work / "tools" / "repomix.xml"
    tool = options.npm / "node_modules" / ".bin" / "repomix"
    _spent()
    _run([tool, folder.source, "--output", target, "--quiet", "--no-security-check"])
    text = target.read_text("utf-8", errors="replace")
    target.unlink()
    return {"values": {}, "cost": {"index_s": _spent(), "tokens": brimful.tokens_for(MODEL).count(text)}}


def _record(folder: Folder, found: Iterator[Results], cost: dict[str, float]) -> dict[str, Any]:
    """Which questions are answered at each budget by the results that fit."""
    answered, above = judge_of({"judge": folder.judge}), _above(folder)
    values = {}
    for question, results in zip(folder.questions, found, strict=True):
        named = [(f"{above}/{path}", text) for path, text in results]
        contexts = [_context(named, budget) for budget in folder.budgets]
        values[question["qid"]] = [answered(question, *context) for context in contexts]
    return {"values": values, "cost": cost}


def _above(folder: Folder) -> str:
    """What stands before a path of the folder in the questions: its name, or what of a repository was laid out."""
    shared = find_shared()
    if folder.set != CODE or shared is None:
        return folder.source.name
    repositories = json.loads((shared / "data" / CODE / "repos.json").read_text("utf-8"))
    root = next(each["root"] for each in repositories if each["name"] == folder.name)
    return folder.source.name if root == "." or (folder.source / root).is_dir() else str(root)


def _context(results: Results, budget: int) -> tuple[str, Sequence[Place]]:
    """The results in their order, each below its path, until the budget is full; the last is cut to fit."""
    counter = brimful.tokens_for(MODEL)
    text, places = "", []
    for path, passage in results:
        longer = f"{text}{path}\n{passage}\n\n"
        if counter.count(longer) > budget:
            cut = counter.truncate(longer, budget, marker="")
            return cut, [*places, (path, 0, 1)] if len(cut) > len(text) + len(path) + 1 else places
        text, places = longer, [*places, (path, 0, 1)]
    return text, places


_clock = {"spent": 0.0}


def _run(command: Sequence[str | Path], environment: dict[str, str] | None = None, given: str = "") -> str:
    done = subprocess.run(command, env=environment, input=given, capture_output=True, text=True, check=False)
    if done.returncode and "No supported files" not in done.stderr:
        raise SystemExit(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _spent() -> float:
    """Processor seconds of the programs that were run since this was last asked."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    now = usage.ru_utime + usage.ru_stime
    spent, _clock["spent"] = now - _clock["spent"], now
    return round(spent, 2)


def _as_json(rows: dict[str, Any], costs: dict[str, Any], options: argparse.Namespace) -> str:
    lines = ",\n".join(f'"{name}": {json.dumps(row, separators=(",", ":"))}' for name, row in rows.items())
    paid = ",\n".join(f'"{name}": {json.dumps(row, separators=(",", ":"))}' for name, row in costs.items())
    command = [options.python, "-c", "import importlib.metadata as m; print(m.version('semble'))"]
    versions = NPM | {"semble": subprocess.check_output(command, text=True).strip()}
    head = f'"commit": "{commit()}", "versions": {json.dumps(versions)}'
    return f'{{{head}, "costs": {{\n{paid}\n}}, "questions": {{\n{lines}\n}}}}\n'


TOOLS: dict[str, Callable[[Folder, argparse.Namespace], dict[str, Any]]] = {
    "semble": _semble,
    "qmd": _qmd,
    "qmd-full": lambda folder, options: _qmd(folder, options, "--full"),
    "repomix": _repomix,
}

if __name__ == "__main__":
    sys.exit(main())
