"""Tables of answered questions: shares by groups, comparisons by pairs, and where answers are lost."""

from collections import defaultdict
from collections.abc import Sequence
from math import comb
from typing import Any

Results = dict[str, dict[str, Any]]
"""What is known of each question, by SET/QID; of each leg whether it answered at each budget."""

PEOPLE, CODE, BUGS = ("real_dev", "real_dev2", "people_dev"), "code_semble", "code_swe_dev"
TITLES = {
    "Questions as people ask them": PEOPLE,
    "The main file of an answer": (CODE,),
    "Lines that a fix changes": (BUGS,),
}
NO_LEG = ("folder", "kind", "language", "none", "empty")
RANKED = 1_000
REACH = (1, 5, 10, 32, 400, RANKED)


def report(results: Results, earlier: Results) -> list[str]:
    """The tables: shares answered, comparisons by pairs, and empty contexts."""
    lines = []
    for title, sets in TITLES.items():
        part = {name: row for name, row in results.items() if name.partition("/")[0] in sets}
        answerable = {name: dict(row) for name, row in part.items() if not row["none"]}
        for name, row in answerable.items():
            if name in earlier and len(earlier[name]["this"]) == len(row["this"]):
                row["before"] = earlier[name]["this"]
        if answerable:
            legs = [*dict.fromkeys(leg for row in answerable.values() for leg in row if leg not in NO_LEG)]
            lines += ["", f"## {title}, share shown at each budget", "", *_share_table(answerable, legs)]
            lines += ["", *_comparisons(answerable, legs[1:])]
            lines += ["", f"Empty contexts of {len(answerable)} questions with an answer: {_sums(answerable)}"]
        if unanswerable := {name: row for name, row in part.items() if row["none"]}:
            lines += [f"Empty contexts of {len(unanswerable)} questions without an answer: {_sums(unanswerable)}"]
    return lines


def _share_table(part: Results, legs: Sequence[str]) -> list[str]:
    groups = defaultdict(list)
    for name, row in part.items():
        own = name.partition("/")[0]
        labels = (
            f"**{own}**",
            "**all**",
            f"kind {row['kind']}",
            f"language {row['language']}",
            f"{own}/{row['folder']}",
        )
        for order, label in enumerate(labels):
            groups[order, label].append(row)
    return [
        f"| | n | {' | '.join(legs)} |",
        "|---|--:|" + "---|" * len(legs),
        *(
            f"| {label} | {len(rows)} | {' | '.join(_shares(rows, leg) for leg in legs)} |"
            for (_, label), rows in sorted(groups.items())
        ),
    ]


def _comparisons(part: Results, legs: Sequence[str]) -> list[str]:
    lines = ["| this against | of | wins, losses and sign test p at each budget |", "|---|---|---|"]
    for leg in legs:
        for own in (*dict.fromkeys(name.partition("/")[0] for name in part), ""):
            rows = [row for name, row in part.items() if name.startswith(f"{own}/" if own else "") and leg in row]
            budgets = range(len(rows[0]["this"]) if rows else 0)
            cells = [compared([row["this"][at] for row in rows], [row[leg][at] for row in rows]) for at in budgets]
            lines.append(f"| {leg} | {own or 'all'} | {'; '.join(cells)} |")
    return lines


def _sums(part: Results) -> str:
    return "/".join(str(sum(column)) for column in zip(*(row["empty"] for row in part.values()), strict=True))


def stage_table(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Where answers of a set are lost: in the order of units, or between the best units and what is shown."""
    stages = [row["stages"] for row in rows]
    ranks = [stage["rank"] or RANKED + 1 for stage in stages]
    reach = [_figure(sum(rank <= most for rank in ranks) / len(ranks)) for most in REACH]
    unknown = sum(not stage["indexed"] for stage in stages)
    return [
        "",
        f"## {name}, where answers are lost",
        "",
        f"{len(stages)} questions; the texts as indexed lack gold of {unknown}.",
        f"All gold within 300 bytes of the best {'/'.join(map(str, REACH))} units: {'/'.join(reach)}",
        "",
        "| at each budget | share |",
        "|---|---|",
        f"| all gold within 300 bytes of the best units that fit without headers | {_shares(stages, 'near')} |",
        f"| answered | {_shares(rows, 'values')} |",
        f"| bytes of gold in these units | {_shares(stages, 'above')} |",
        f"| bytes of gold shown | {_shares(stages, 'shown')} |",
    ]


def _shares(rows: Sequence[dict[str, Any]], leg: str) -> str:
    values = [row[leg] for row in rows if leg in row]
    return "/".join(_figure(sum(column) / len(column)) for column in zip(*values, strict=True))


def _figure(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")


def compared(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Wins, losses and the p of the sign test."""
    wins = sum(a > b for a, b in zip(ours, theirs, strict=True))
    losses = sum(a < b for a, b in zip(ours, theirs, strict=True))
    return f"+{wins} -{losses} p {_figure(sign_test(wins, losses))}"


def sign_test(wins: int, losses: int) -> float:
    """How likely a difference this large is among coins, either way."""
    count = wins + losses
    return min(1.0, 2 * sum(comb(count, each) for each in range(min(wins, losses) + 1)) / 2**count)
