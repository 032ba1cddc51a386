"""Which weights of the ranking does one keep, and at which value? Each folder is left out in turn.

Every weight is tried alone, against the settings as they are (and what `--setting` says): off, half, twice, or its
other names. Two tables, over the sets and folders of `people.py`:

- what a weight brings: questions won and lost where it is off, with the sign test over questions (a question counts
  once, by all of its budgets), and points, which are the mean share answered over all questions and budgets;
- what fitting it brings: the value that is best on all folders but one is asked of that one. `chosen` counts the folds
  that took each value, and points are those of the folders left out: what a fit on these sets is worth elsewhere.

What was asked is kept in a file, so that a run that was broken off goes on, and a new value asks only for itself.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from answered import CODE, sign_test
from core.report import commit
from people import Folder, arguments, ask, chosen_folders
from shared.sets import find_shared

from brimful.settings import CHOICES

AT_A_TIME = 6
"""Variants that one process asks: what is kept if a run is broken off."""
LEAST_POINTS, MOST_CHANCE = 0.5, 0.1

Values = dict[str, float]  # by SET/FOLDER/QID, the share of budgets at which it is answered
Asked = dict[str, Values]  # by variant, written as NAME=VALUE; "" is the settings as they are


def main() -> int:
    """Ask every variant, print the two tables."""
    parser = arguments(__doc__)
    parser.add_argument("--prefix", default="field.", help="the settings to try are those that begin so (field.)")
    parser.add_argument("--names", default="", help="other settings to try instead, with commas between")
    parser.add_argument(
        "--tries", action="append", default=[], metavar="NAME=VALUE", help="one more value of a setting"
    )
    parser.add_argument("--report", type=Path, help="write the tables into this file")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 0
    names = options.names.split(",") if options.names else [name for name in CHOICES if name.startswith(options.prefix)]
    base = dict(each.split("=", 1) for each in options.setting)
    tried = {name: candidates(name) for name in names}
    for name, value in (each.split("=", 1) for each in options.tries):
        tried[name] = [*tried.get(name, candidates(name)), value]
    folders = chosen_folders(shared, options)
    keys = [f"{folder.key}/{question['qid']}" for folder in folders for question in answerable(folder.questions)]
    variants = ["", *(f"{name}={value}" for name, values in tried.items() for value in values)]
    asked = ask_lacking(variants, set(keys), folders, base, options)
    asked = {each: {key: asked[each][key] for key in keys} for each in variants}
    legs = ", ".join([f"model {options.late}", *options.setting])
    lines = [
        f"# Weights, tried one at a time at {commit()} ({legs}; {len(keys)} questions, {len(folders)} folders)",
        "",
    ]
    now = {name: base.get(name, str(CHOICES[name].default)) for name in tried}
    lines += [*_without(tried, asked), "", *_fitted(tried, asked, now)]
    print("\n".join(lines))
    if options.report:
        options.report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def ask_lacking(
    variants: Sequence[str],
    keys: set[str],
    folders: Sequence[Folder],
    base: dict[str, str],
    options: argparse.Namespace,
) -> Asked:
    """What each variant answers; what was asked at this commit before is read from a file."""
    place = (
        options.out or options.work / "fits" / f"{'-'.join([commit(), Path(options.late).name, *options.setting])}.json"
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    is_known = place.exists() and (options.out or commit() != "worktree")
    asked: Asked = json.loads(place.read_text("utf-8")) if is_known else {}
    lacking = [each for each in variants if not asked.get(each, {}).keys() >= keys]
    options.stages = False
    for at in range(0, len(lacking), AT_A_TIME):
        some = lacking[at : at + AT_A_TIME]
        for key, rows in ask(
            folders, [base | dict([each.split("=", 1)] if each else []) for each in some], options
        ).items():
            for row in rows:
                values = asked.setdefault(some[row["variant"]], {})
                values[f"{key}/{row['qid']}"] = sum(row["values"]) / len(row["values"])
        place.write_text(json.dumps(asked), encoding="utf-8")
    return asked


def answerable(questions: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """The questions that have an answer."""
    return [each for each in questions if each.get("gold") != []]


def candidates(name: str) -> list[str]:
    """What is tried in place of a setting's default: first what leaves it out."""
    default, names = CHOICES[name].default, CHOICES[name].names
    if isinstance(default, bool):
        return ["off" if default else "on"]
    if isinstance(default, int | float):
        numbers = (0, default / 2, default * 2) if default else (0.5, 1)
        return [f"{int(each) if isinstance(default, int) else each:g}" for each in numbers]
    return [each for each in names if each != default]


def _without(tried: dict[str, list[str]], asked: Asked) -> list[str]:
    lines = [
        "| left out | of people | of code | all, points | wins, losses | p | stays |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    rows = []
    for variant in (f"{name}={values[0]}" for name, values in tried.items() if values):
        gains = _gains(asked[variant], asked[""])
        wins, losses = sum(each > 0 for each in gains.values()), sum(each < 0 for each in gains.values())
        parts = [[each for key, each in gains.items() if key.startswith(CODE) == is_code] for is_code in (False, True)]
        points, chance = _points(gains.values()), sign_test(wins, losses)
        stays = "yes" if points <= -LEAST_POINTS and chance < MOST_CHANCE else "no"
        cells = [*(f"{_points(part):+.1f}" for part in parts), f"{points:+.1f}", f"+{wins} -{losses}", f"{chance:.3f}"]
        rows.append((points, f"| {variant} | {' | '.join(cells)} | {stays} |"))
    return lines + [row for _, row in sorted(rows)]


def _fitted(tried: dict[str, list[str]], asked: Asked, now: dict[str, str]) -> list[str]:
    """What the best value on the other folders brings to each folder, and how often each value was the best."""
    lines = ["| weight | chosen, of folds | best of all, points | left out, points | wins, losses | p |"]
    lines += ["|---|---|--:|--:|--:|--:|"]
    by_folder = defaultdict(list)
    for key in asked[""]:
        by_folder[key.rpartition("/")[0]].append(key)
    for name, values in tried.items():
        gains = {value: _gains(asked[f"{name}={value}"], asked[""]) for value in values}
        gains = {now[name]: dict.fromkeys(asked[""], 0.0)} | gains  # what stands now wins a tie
        sums = {
            value: {folder: sum(own[k] for k in keys) for folder, keys in by_folder.items()}
            for value, own in gains.items()
        }
        totals = {value: sum(own.values()) for value, own in sums.items()}
        chosen = {folder: max(totals, key=lambda value: totals[value] - sums[value][folder]) for folder in by_folder}
        held = {key: gains[chosen[folder]][key] for folder, keys in by_folder.items() for key in keys}
        wins, losses = sum(each > 0 for each in held.values()), sum(each < 0 for each in held.values())
        counts = ", ".join(f"{value}: {count}" for value, count in Counter(chosen.values()).most_common())
        best = 100 * max(totals.values()) / len(held)
        cells = f"{best:+.2f} | {_points(held.values()):+.2f} | +{wins} -{losses} | {sign_test(wins, losses):.3f}"
        lines.append(f"| {name} | {counts} | {cells} |")
    return lines


def _gains(ours: Values, theirs: Values) -> Values:
    return {key: ours[key] - theirs[key] for key in theirs}


def _points(gains: Iterable[float]) -> float:
    held = [*gains]
    return 100 * sum(held) / max(len(held), 1)


if __name__ == "__main__":
    sys.exit(main())
