"""Ask one folder its questions: a job as JSON on standard input, one line of JSON for each question and variant.

`people.py` and `fit.py` start this in a process of its own, so that it can ask the sources of another checkout.
"""

import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import brimful
from brimful.settings import Ask

MODEL = "cl100k_base"
NEAR_BYTES = 300
RANKED = 1_000

Place = tuple[str, int, int]  # path, first byte, byte after the last


def main() -> None:
    """Answer the job, the folder being indexed first where that was not done before."""
    job = json.load(sys.stdin)
    store = Path(job["store"])
    is_new = not store.exists()
    store.parent.mkdir(parents=True, exist_ok=True)
    os.environ["BRIMFUL_EMBEDDER"] = job["late"]
    with brimful.open(store) as engine:
        if is_new:
            engine.add(job["source"])
        for row in _peer(engine, job) if job["peer"] else _rows(engine, job):
            print(json.dumps(row), flush=True)


def shared_module(path: Path) -> ModuleType:
    """A script of the shared evaluation data."""
    spec = importlib.util.spec_from_file_location(f"shared_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judge_of(job: dict[str, Any]) -> Callable[[dict[str, Any], str, Sequence[Place]], float]:
    """How far a context that shows these places answers a question.

    1 with all of its gold, or any part of its main file; of a bug the share of the lines that the fix changes. A
    question without an answer is answered by an empty context.
    """
    judge = None if job["judge"] is None else shared_module(Path(job["judge"]))

    def answered(question: dict[str, Any], text: str, shown: Sequence[Place]) -> float:
        if judge is not None:
            present, items, _position = judge.judge(question, text)
            return int(present == items if items else not text.strip())
        if "main" in question:
            return int(any(f"/{path}".endswith(f"/{question['main']}") for path, _, _ in shown))
        lines = [(f"{question['qid']}/{e['doc_id']}", e["bstart"], e["bend"]) for e in question["evidence"]]
        size = sum(end - start for _, start, end in lines)
        return round(sum(covered(shown, line) * (line[2] - line[1]) for line in lines) / size, 3)

    return answered


def covered(shown: Sequence[Place], wanted: Place) -> float:
    """The share of a place's bytes that some others hold."""
    path, start, end = wanted
    held = {at for p, s, e in shown if p == path for at in range(max(s, start), min(e, end))}
    return len(held) / (end - start)


def _rows(engine: brimful.Engine, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What each variant answers at each budget."""
    answered = judge_of(job)
    gold = _gold_places(engine, job["questions"]) if job["stages"] else {}
    for number, variant in enumerate(job["variants"]):
        for question in job["questions"]:
            values, empty, shown = [], [], []
            for budget in job["budgets"]:
                context = engine.context(Ask.of(question["question"], {"budget": budget, "model": MODEL}, variant))
                shown.append([(window.path, window.start, window.end) for window in context.windows])
                values.append(answered(question, context.text, shown[-1]))
                empty.append(int(not context.text.strip()))
            row = {"qid": question["qid"], "variant": number, "values": values, "empty": empty}
            if question["qid"] in gold:
                ask = Ask.of(question["question"], {"model": MODEL}, variant)
                row["stages"] = _stages(engine, ask, gold[question["qid"]], job["budgets"], shown)
            yield row


def _peer(engine: brimful.Engine, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What pieces of 200 tokens answer, by words ("none") or fused with a model."""
    from fused import fused_peer

    answered = judge_of(job)
    peer = fused_peer(engine, Path(job["pieces"]), model=job["peer"])
    for question in job["questions"]:
        contexts = [peer.context(question["question"], budget=budget) for budget in job["budgets"]]
        yield {"qid": question["qid"], "values": [answered(question, *context) for context in contexts]}


# ---- stages: Where is an answer lost?


def _gold_places(engine: brimful.Engine, questions: Sequence[dict[str, Any]]) -> dict[str, list[list[Place]]]:
    """Where each item of each question's gold stands in the texts as they were indexed."""
    texts = {each.path: engine.text(each.path, 0, each.bytes) for each in engine.documents()}
    return {
        question["qid"]: [
            [place for alternative in item for place in _places(texts, alternative["text"])]
            for item in question["gold"]
        ]
        for question in questions
        if question.get("gold")
    }


def _places(texts: dict[str, str], gold: str) -> Iterator[Place]:
    words = gold.split()
    pattern, rarest = re.compile(r"\s+".join(map(re.escape, words))), max(words, key=len)
    for path, text in texts.items():
        for match in pattern.finditer(text) if rarest in text else ():
            start = len(text[: match.start()].encode())
            yield path, start, start + len(match[0].encode())


def _stages(
    engine: brimful.Engine, ask: Ask, gold: list[list[Place]], budgets: list[int], shown: list[list[Place]]
) -> dict[str, Any]:
    """At which rank all gold is near, and how much of it the best units hold that fit each budget, and the windows.

    `rank` is that of the first unit with which every item stands within 300 bytes of some unit; `above` and `shown`
    are shares of the gold's bytes, and `near` says whether the units above are within 300 bytes of all of it.
    """
    hits = engine.search(
        ask.question,
        limit=RANKED,
        operators=False,
        field=ask.field,
        meaning=ask.settings.meaning,
        repair=ask.settings.repair,
    ).hits
    units = [(hit.path, hit.start, hit.end) for hit in hits]
    counter, fitting, spent, above = brimful.tokens_for(MODEL), [], 0, 0
    for budget in budgets:
        while above < len(units) and spent + (size := counter.count(engine.text(*units[above]))) <= budget:
            spent, above = spent + size, above + 1
        fitting.append(above)
    rank = _rank(units, gold)
    return {
        "indexed": all(gold),
        "rank": rank,
        "near": [int(rank is not None and rank <= count) for count in fitting],
        "above": [_share(units[:count], gold) for count in fitting],
        "shown": [_share(windows, gold) for windows in shown],
    }


def _rank(units: Sequence[Place], gold: list[list[Place]]) -> int | None:
    """How many of the best units it takes until each item of the gold stands within 300 bytes of one of them."""
    ranks = []
    for item in gold:
        near = (
            number
            for number, (path, start, end) in enumerate(units, 1)
            if any(p == path and s >= start - NEAR_BYTES and e <= end + NEAR_BYTES for p, s, e in item)
        )
        ranks.append(next(near, None))
    return None if None in ranks else max(ranks)


def _share(shown: Sequence[Place], gold: list[list[Place]]) -> float:
    """The share of the gold's bytes that stand in some spans, of each item's alternatives the best."""
    return round(sum(max((covered(shown, each) for each in item), default=0.0) for item in gold) / len(gold), 3)


if __name__ == "__main__":
    main()
