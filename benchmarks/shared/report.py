"""How do the figures stand beside the peers', the field's and the aim? Markdown and JSON."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from brimful.evaluation import Result
from shared.measures import Difference, difference
from shared.sets import Asked


class Peer(NamedTuple):
    """The best peer at one budget, its recall, and ours less its, question by question."""

    name: str
    recall: float
    difference: Difference


class Measured(NamedTuple):
    """One set: our result, the best peer at each budget, what building the answerer took."""

    asked: Asked
    result: Result
    peers: dict[int, Peer]
    build_cpu_s: float


class Ranked(NamedTuple):
    """One set whose questions ask for whole documents."""

    asked: Asked
    questions: int
    ndcg: float


def best_peers(result: Result, baselines: dict[str, dict[int, dict[str, float]]]) -> dict[int, Peer]:
    """The peer with the highest mean recall at each budget, over the questions that were asked here too."""
    found = {}
    for budget in result.budgets:
        ours = result.values("recall", budget)
        means = []
        for name, recalls in baselines.items():
            shared = [value for question, value in recalls.get(budget, {}).items() if question in ours]
            if shared:
                means.append((sum(shared) / len(shared), name))
        if means:
            mean, name = min(means, key=lambda pair: (-pair[0], pair[1]))
            found[budget] = Peer(name, mean, difference(ours, baselines[name][budget]))
    return found


def _quad(values: tuple[float, ...] | list[float] | None) -> str:
    return "/".join(f"{value:.3f}".replace("0.", ".", 1) for value in values) if values else "–"


def _reading(facts: dict[str, Any]) -> str:
    if facts["embedder"] == "none":
        return ""
    return f", {facts['embedder']} reading {'everything ahead' if facts['warm'] else 'the best places'}"


def as_markdown(measured: list[Measured], ranked: list[Ranked], facts: dict[str, Any]) -> str:
    """The report to read."""
    budgets = "/".join(map(str, facts["budgets"]))
    lines = [f"# eval at {facts['commit']}, answered by {facts['answerer']}{_reading(facts)}", ""]
    if facts["limit"]:
        lines += [f"Only the first {facts['limit']} questions of each set were asked.", ""]
    lines += [
        f"Recall of evidence at {budgets} tokens, dev questions. `best peer` is the best of the measured pipelines at",
        "each budget; `field` and `aim` are the design's. All by the rules of docs/evaluation.md.",
        "",
        "| set | questions | this | best peer | four-scale field | aim |",
        "|---|---:|---|---|---|---|",
    ]
    for one in measured:
        ours = _quad([one.result.mean("recall", budget) for budget in one.result.budgets])
        peers = _quad([peer.recall for peer in one.peers.values()])
        row = (one.asked.name, str(len(one.result.scores)), ours, peers, _quad(one.asked.field), _quad(one.asked.aim))
        lines.append("| " + " | ".join(row) + " |")
    lines += ["", "## Against the best peer at each budget", ""]
    lines += ["Paired differences in recall with bootstrap 95 % intervals; bold where zero lies outside.", ""]
    lines += ["| set | budget | best peer | this less the peer |", "|---|---:|---|---|"]
    for one in measured:
        for budget, peer in one.peers.items():
            shown = f"**{peer.difference}**" if peer.difference.is_clear else str(peer.difference)
            lines.append(f"| {one.asked.name} | {budget} | {peer.name} | {shown} |")
    if ranked:
        lines += ["", "## Documents", "", "nDCG@10 on dev queries; the published figure is of all queries.", ""]
        lines += ["| set | queries | this | best published |", "|---|---:|---:|---|"]
    for one in ranked:
        known = one.asked.published_ndcg
        beside = f"{known[0]} {known[1]:.3f}" if known else "–"
        lines.append(f"| {one.asked.name} | {one.questions} | {one.ndcg:.3f} | {beside} |")
    lines += ["", "## The rest", ""]
    lines += ["| set | full | precision | IoU | overlong | invalid | ms p50 | ms p95 | build CPU s |"]
    lines += ["|---|---|---|---|---|---:|---:|---:|---:|"]
    lines += [_rest(one) for one in measured]
    return "\n".join(lines) + "\n"


def _rest(one: Measured) -> str:
    result = one.result
    means = [_quad([result.mean(name, budget) for budget in result.budgets]) for name in ("full", "precision", "iou")]
    overlong = "/".join(map(str, result.overlong))
    times = (f"{result.ms(50):.1f}", f"{result.ms(95):.1f}", f"{one.build_cpu_s:.1f}")
    return "| " + " | ".join((one.asked.name, *means, overlong, str(result.invalid), *times)) + " |"


def as_json(measured: list[Measured], ranked: list[Ranked], facts: dict[str, Any]) -> str:
    """Every mean, unrounded but for six digits; rows of single questions stay out, they name others' data."""
    sets: list[dict[str, Any]] = []
    for one in measured:
        full = one.result.record()
        del full["per_question"]
        peers = {
            str(budget): {"name": peer.name, "recall": round(peer.recall, 6), **_rounded(peer.difference)}
            for budget, peer in one.peers.items()
        }
        design = {"best_peer": peers, "field": one.asked.field, "aim": one.asked.aim}
        sets.append({"asked": one.asked.name, **full, **design, "build_cpu_s": round(one.build_cpu_s, 2)})
    sets += [{"asked": one.asked.name, "questions": one.questions, "ndcg": round(one.ndcg, 6)} for one in ranked]
    return json.dumps({**facts, "sets": sets}, indent=1) + "\n"


def _rounded(found: Difference) -> dict[str, float]:
    return {"difference": round(found.mean, 6), "low": round(found.low, 6), "high": round(found.high, 6)}


def write(measured: list[Measured], ranked: list[Ranked], facts: dict[str, Any], folder: Path) -> list[str]:
    """Write the report's files and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"eval-{facts['commit']}{facts['ending']}"
    texts = {".md": as_markdown(measured, ranked, facts), ".json": as_json(measured, ranked, facts)}
    for ending, text in texts.items():
        (folder / (stem + ending)).write_text(text, encoding="utf-8")
    return [stem + ending for ending in texts]
