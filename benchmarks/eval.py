"""How much of the evidence stands in a context? The shared evaluation sets, beside their peers: `make eval`.

Means go to standard output as they come, and to benchmarks/results as Markdown and JSON named by the commit.
`--embedder granite` lets a model read the best places, `--warm` all of them before the first question; `--answerer
shared.answerers:by_model` ranks by the model alone, `--answerer module:function` measures anything else: a function
from documents to an answerer.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from core.report import commit
from shared import report
from shared.answerers import maker_of
from shared.measures import ndcg
from shared.sets import ASKED, BUDGETS, baselines, find_shared

from brimful.errors import BrimfulError, choose
from brimful.evaluation import evaluate

NOT_HERE = """The shared evaluation sets are not on this machine: nothing was measured.
They are looked for in shared/eval beside this repository; set BRIMFUL_EVAL to name another folder.
On your own questions: brimful eval and docs/evaluation.md."""


def main(arguments: list[str] | None = None) -> int:
    """Ask every set, print as it goes, and keep the results."""
    options = _options(arguments)
    os.environ["BRIMFUL_EMBEDDER"] = options.embedder
    shared = find_shared()
    if shared is None:
        print(NOT_HERE)
        return 1
    facts = {  # the commit as it is now: it may change while this runs
        "commit": commit(),
        "answerer": options.answerer,
        "embedder": options.embedder,
        "warm": options.warm,
        "ending": "".join(f"-{each}" for each in _ways(options)),
        "limit": options.limit,
        "budgets": list(BUDGETS),
    }
    make = maker_of(options.answerer, warm=options.warm)
    measured: list[report.Measured] = []
    ranked: list[report.Ranked] = []
    for asked in ASKED:
        if options.sets and asked.name not in options.sets:
            continue
        whole = asked.read(shared)
        questions = replace(whole, name=asked.name, questions=whole.questions[: options.limit])
        before = time.process_time()
        scopes = [question.scope for question in questions.questions]
        answer = make(questions.documents, scopes, whole=asked.is_ranked)
        build = time.process_time() - before
        if asked.is_ranked:
            places = {each.id: answer(each, BUDGETS[-1]) for each in questions.questions}
            gains = [ndcg([at.path for at in places[each.id]], each.relevant) for each in questions.questions]
            ranked.append(report.Ranked(asked, len(gains), sum(gains) / len(gains)))
            print(f"{asked.name}: {len(gains)} questions, nDCG@10 {ranked[-1].ndcg:.4f}", flush=True)
            continue
        result = evaluate(answer, questions, BUDGETS)
        peers = report.best_peers(result, baselines(shared, asked))
        measured.append(report.Measured(asked, result, peers, build))
        print(result.table(), *_beside(peers), sep="", flush=True)
        if options.rows:
            options.rows.mkdir(parents=True, exist_ok=True)
            (options.rows / f"{asked.name}.json").write_text(json.dumps(result.record(), indent=1), encoding="utf-8")
    names = [] if options.dry else report.write(measured, ranked, facts, options.results)
    print(f"Written: {', '.join(names) or 'nothing'}")
    return 0


def _ways(options: argparse.Namespace) -> list[str]:
    """What sets results of a model apart from those by words."""
    alone = options.answerer.rpartition(":")[2].removesuffix("_answerer")
    named = [] if options.embedder == "none" else [options.embedder, *(["warm"] if options.warm else [])]
    return [*named, *([alone] if named and alone != "engine" else [])]


def _beside(peers: dict[int, report.Peer]) -> list[str]:
    return [f"{budget:>8} less {peer.name}: {peer.difference}\n" for budget, peer in peers.items()]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure recall of evidence on the shared evaluation sets.")
    parser.add_argument("--answerer", default="engine", help="engine, or module:function (documents to an answerer)")
    parser.add_argument("--embedder", default="none", help="the model that reads, as BRIMFUL_EMBEDDER names it (none)")
    parser.add_argument("--warm", action="store_true", help="let it read everything before the first question")
    parser.add_argument("--sets", nargs="*", help=f"some of {', '.join(asked.name for asked in ASKED)} (all)")
    parser.add_argument("--limit", type=int, help="ask only so many questions of each set")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    parser.add_argument("--rows", type=Path, help="also write every question's scores to this folder")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for name in options.sets or ():
        choose(name, [asked.name for asked in ASKED], what="set")
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrimfulError as error:
        sys.exit(f"{type(error).__name__}: {error}")
