"""Questions as people ask them: `make eval-people`, beside pieces of 200 tokens by BM25 and fused with a model.

342 questions over 35 folders (real_dev, real_dev2, people_dev) and 385 over 20 repositories (code_semble): which share
is answered by a context of so many tokens? The sets and their scorers are shared evaluation data, kept outside of this
repository. The corpora lie in a work folder, as SET/FOLDER: those of the first three are fetched from the package
registries where they are missing; a repository of code_semble is `git archive COMMIT ROOT` of what its repos.json says.
`--sets code_swe_dev` asks 39 bug reports instead: how much of the lines that their fix changes is shown?

A full run with the default settings is written to results/people-LEG.json, one line a question. Every run is compared,
question by question, with the one that was committed last, and with the peers.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answered import BUGS, CODE, NO_LEG, PEOPLE, Results, report, stage_table
from core.report import commit
from shared.sets import ROOT, find_shared

BUDGETS = {
    **dict.fromkeys(PEOPLE, (500, 1_000, 4_000)),
    CODE: (500, 1_000, 2_000, 4_000),
    BUGS: (2_000, 4_000, 8_000, 16_000),
}
PEERS = {"BM25-200": "none", "fused-200": "granite"}
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Folder:
    """One folder of a set, with its questions."""

    set: str
    name: str
    source: Path
    judge: str | None
    budgets: tuple[int, ...]
    questions: tuple[dict[str, Any], ...]

    @property
    def key(self) -> str:
        """Its name among all sets."""
        return f"{self.set}/{self.name}"


def main() -> int:
    """Ask, print the tables, and write the results of a full run down."""
    options = arguments(__doc__).parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 0
    folders = chosen_folders(shared, options)
    rows = ask(folders, [dict(each.split("=", 1) for each in options.setting)], options)
    results = {
        f"{folder.set}/{question['qid']}": about(folder, question) | {"this": row["values"], "empty": row["empty"]}
        for folder in folders
        for question, row in zip(folder.questions, rows[folder.key], strict=True)
    }
    for name in (each for each in PEERS if each in options.peers.split(",")):
        for folder in folders:
            _add_peer(results, folder, name, options)
    leg = "words" if options.late == "none" else Path(options.late).name
    earlier = _earlier(options, leg)
    print("\n".join(report(results, earlier)))
    if options.stages:
        for name in dict.fromkeys(folder.set for folder in folders if folder.judge):
            staged = [row for folder in folders if folder.set == name for row in rows[folder.key] if "stages" in row]
            print("\n".join(stage_table(name, staged)))
    is_full = not (options.setting or options.tree or options.budgets or options.folders) and not options.dry
    place = options.out or (RESULTS / f"people-{leg}.json" if is_full and len({f.set for f in folders}) == 4 else None)
    if place is not None:
        place.write_text(as_json(results, leg), encoding="utf-8")
        print(f"Written: {place}")
    return 0


def arguments(about_it: str | None) -> argparse.ArgumentParser:
    """The options that a run has, whatever it asks."""
    parser = argparse.ArgumentParser(description=about_it, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / ".people", help="the folder of corpora and indexes")
    parser.add_argument("--sets", default=",".join([*PEOPLE, CODE]), help="with commas between (all but the bugs)")
    parser.add_argument("--folders", default="", help="only these folders, with commas between")
    parser.add_argument("--budgets", default="", help="other budgets than each set's own, with commas between")
    parser.add_argument("--late", default="none", help="the model that reads the best places: none, granite, a folder")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="any choice of `Ask`")
    parser.add_argument("--tree", type=Path, help="ask the sources of another checkout")
    parser.add_argument("--anew", action="store_true", help="index the folders again")
    parser.add_argument("--jobs", type=int, default=2, help="folders that are asked at a time (2)")
    parser.add_argument("--peers", default=",".join(PEERS), help="with commas between; none for none")
    parser.add_argument("--stages", action="store_true", help="also where answers are lost")
    parser.add_argument("--against", type=Path, help="compare with this file of results (the last committed one)")
    parser.add_argument("--out", type=Path, help="write the results into this file")
    parser.add_argument("--dry", action="store_true", help="print only")
    return parser


def chosen_folders(shared: Path, options: argparse.Namespace) -> list[Folder]:
    """The folders to ask, each with its questions; one that is not there is named and left out."""
    folders = []
    for name in options.sets.split(","):
        data, place = shared / "data" / name, options.work / name
        if name != CODE and not place.is_dir():
            made = [sys.executable, data / "unpack.py"] if name == BUGS else ["bash", data / "fetch.sh"]
            subprocess.run([*made, place], check=True, stdout=subprocess.DEVNULL)
        judge = str(data / "score.py") if name in PEOPLE else None
        repositories = json.loads((data / "repos.json").read_text("utf-8")) if name == CODE else []
        languages = {each["name"]: each["language"] for each in repositories}
        asked = defaultdict(list)
        for line in (data / ("instances" if name == BUGS else "questions")).with_suffix(".jsonl").open("rb"):
            question = json.loads(line)
            folder = question.get("corpus") or question["qid" if name == BUGS else "repo"]
            guessed = languages.get(folder) or (folder.partition("-")[2] if name in PEOPLE else "") or "en"
            if question.get("evidence") != []:
                asked[folder].append({"lang": guessed} | question)
        budgets = tuple(map(int, options.budgets.split(","))) if options.budgets else BUDGETS[name]
        folders += [Folder(name, each, place / each, judge, budgets, tuple(asked[each])) for each in sorted(asked)]
    wanted = set(options.folders.split(",")) - {""}
    folders = [each for each in folders if not wanted or wanted & {each.name, each.key}]
    if absent := [each.key for each in folders if not each.source.is_dir()]:
        print(f"Left out, not in {options.work}: {', '.join(absent)}", file=sys.stderr)
    folders = [each for each in folders if each.source.is_dir()]
    for each in folders if options.anew else ():
        index = index_of(each, options)
        for file in index.parent.glob(f"{index.name}*"):
            file.unlink()
    return folders


def index_of(folder: Folder, options: argparse.Namespace) -> Path:
    """Where the folder's index lies."""
    return Path(options.work) / "indexes" / folder.set / f"{folder.name}.db"


def about(folder: Folder, question: dict[str, Any]) -> dict[str, Any]:
    """What a question is counted under."""
    return {
        "folder": folder.name,
        "kind": question.get("kind") or question.get("category") or "bug",
        "language": question["lang"],
        "none": question.get("gold") == [],
    }


# ---- asking: each folder in a process of its own


def ask(
    folders: Sequence[Folder], variants: Sequence[dict[str, str]], options: argparse.Namespace, *, peer: str = ""
) -> dict[str, list[dict[str, Any]]]:
    """The rows of each folder, by variant and question."""
    source = (options.tree or ROOT) / "src"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}

    def rows(folder: Folder) -> list[dict[str, Any]]:
        job = {
            "source": str(folder.source),
            "store": str(index_of(folder, options)),
            "pieces": str(options.work / "peers" / folder.set / f"{folder.name}-{peer}.npy"),
            "judge": folder.judge,
            "late": options.late,
            "budgets": folder.budgets,
            "questions": folder.questions,
            "variants": variants,
            "stages": options.stages and folder.judge is not None and not peer,
            "peer": peer,
        }
        command = ["nice", sys.executable, str(Path(__file__).parent / "folders.py")]
        done = subprocess.run(
            command, input=json.dumps(job), env=environment, text=True, stdout=subprocess.PIPE, check=False
        )
        if done.returncode:
            raise SystemExit(f"{folder.key} could not be asked")
        print(".", end="", file=sys.stderr, flush=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(options.jobs) as pool:
        found = dict(zip((each.key for each in folders), pool.map(rows, folders), strict=True))
    print(file=sys.stderr)
    return found


def _add_peer(results: Results, folder: Folder, name: str, options: argparse.Namespace) -> None:
    """What a peer answers, from a file where this folder was asked before."""
    place = options.work / "peers" / folder.set / f"{folder.name}-{name}.json"
    known = json.loads(place.read_text("utf-8")) if place.exists() else {}
    if known.get("budgets") != [*folder.budgets]:
        own = argparse.Namespace(**vars(options) | {"tree": None, "late": "none"})
        rows = ask([folder], [], own, peer=PEERS[name])[folder.key]
        known = {"budgets": folder.budgets, "values": {row["qid"]: row["values"] for row in rows}}
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(known), encoding="utf-8")
    for qid, values in known["values"].items():
        results[f"{folder.set}/{qid}"][name] = values


def _earlier(options: argparse.Namespace, leg: str) -> Results:
    """The results to compare with: those of a file, or those that were committed last."""
    if options.against:
        return dict(json.loads(options.against.read_text("utf-8"))["questions"])
    shown = subprocess.run(
        ["git", "show", f"HEAD:benchmarks/results/people-{leg}.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(json.loads(shown.stdout)["questions"]) if not shown.returncode else {}


def as_json(results: Results, leg: str) -> str:
    """What each leg answers, with one line for each question."""
    answers = {name: {key: row[key] for key in row if key not in NO_LEG} for name, row in results.items()}
    lines = ",\n".join(f'"{name}": {json.dumps(row, separators=(",", ":"))}' for name, row in answers.items())
    return f'{{"commit": "{commit()}", "leg": "{leg}", "questions": {{\n{lines}\n}}}}\n'


if __name__ == "__main__":
    sys.exit(main())
