"""What does each part of the ranking bring? `make ablation`: the shared sets with one part left out at a time.

Units are taken as search ranks them, without headers or packing, so that only the ranking differs. What each weight
brings to questions as people ask them is `fit.py`'s.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from core.report import commit
from shared.sets import ASKED, BUDGETS, find_shared

import brimful
from brimful.evaluation import EvaluationSet, Place, TokenAxis, score
from brimful.search import field, search, terms
from brimful.search.columns import CorpusColumns
from brimful.search.priors import FileKinds
from brimful.settings import FieldSettings

UNITS = 600


class Part(NamedTuple):
    """A part of the ranking that is left out: by settings, or by code that does what was done without it."""

    settings: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    code: tuple[tuple[object, str, object], ...] = ()
    ends: bool = False  # whether what lies behind the end of relevance is left out

    @contextmanager
    def left_out(self) -> Iterator[FieldSettings]:
        """The settings to ask with, while it is left out."""
        with ExitStack() as stack:
            for owner, name, instead in self.code:
                stack.enter_context(patch.object(owner, name, instead))
            yield FieldSettings(**self.settings)


def _no_records(columns: Any) -> Any:
    """No document that is made of records."""
    return np.zeros(len(columns.documents), np.bool_)


def _glued(columns: Any, query: Any, *, forms: Callable[..., Any] = search._forms) -> Any:  # noqa: SLF001
    """Neighbours as one word whatever they say: `whereis` for "where is"."""
    with patch.object(search, "is_stop_word", lambda *_: False):
        return forms(columns, query)


def _of_files(*names: str, counting: Callable[..., Any] = FileKinds.counted) -> Part:
    """What documents count where these kinds of files are no kinds."""

    def counted(self: FileKinds, words: Iterable[bytes]) -> Any:
        return counting(self, words, without=names)

    return Part(code=((FileKinds, "counted", counted),))


WITHOUT = {
    "all parts": Part(),
    "no document scale": Part({"document": 0.0}),
    "no near surroundings": Part({"near": 0.0}),
    "units alone": Part({"document": 0.0, "near": 0.0, "heading": 0.0}),
    "no headings": Part({"heading": 0.0}),
    "asking words in full": Part({"asking": 1.0}),
    "parts of words in full": Part({"part": 1.0}),
    "repeated words once": Part({"repeated": 0.0}),
    "no definitions": Part({"definition": 0.0}),
    "no priors of files": Part({"priors": False}),
    "tests and examples in full": _of_files("test", "example"),
    "lock, minified, built, generated files in full": _of_files("lock file", "minified", "built", "generated"),
    "change logs in full": _of_files("change log"),
    "translations in full": Part(code=((search, "_translations", lambda *_: (np.zeros(0, np.int64), frozenset())),)),
    "tables of contents in full": Part(code=((field, "entries", lambda *_: np.zeros(0, np.int64)),)),
    "names of columns in one row": Part(code=((field, "_count_column_names", lambda *_: None),)),
    "records by what stands around them": Part(code=((CorpusColumns, "records", property(_no_records)),)),
    "repeated records in full": Part(code=((search, "repeats", lambda *_: np.zeros(0, np.int64)),)),
    "little words glued": Part(code=((search, "_forms", _glued),)),
    "letters and digits together": Part(code=((search, "_in_parts", lambda _, query: query),)),
    "names not by their parts in a row": Part(code=((search, "_side_by_side", lambda *_: {}),)),
    "no irregular English forms": Part(code=((terms, "_IRREGULAR", {}),)),
    "dates as words": Part(code=((search, "dates_in", lambda *_, **__: ()),)),
    "no repair of words": Part(code=((search, "corrections", lambda *_, **__: ()),)),
    "up to the end of relevance": Part(ends=True),
}


def main() -> int:
    """Measure every variant on every qa set, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=3, help="ask every so manyth question of the sets (3)")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    name = commit()
    rows: dict[str, list[str]] = {variant: [] for variant in WITHOUT}
    asked = [each for each in ASKED if not each.name.startswith("ir_")]
    for each in asked:
        with tempfile.TemporaryDirectory(prefix="brimful-ablation-") as folder:
            _note(rows, each.name, _measured(each.read(shared), Path(folder), step=options.step))
    lines = [
        f"# What each part of the ranking brings ({name})",
        "",
        f"Recall at {'/'.join(map(str, BUDGETS))} tokens of the units in rank order, without headers or packing.",
        f"One question in {options.step} was asked; `make ablation`.",
        "",
        "| ranking | " + " | ".join(each.name for each in asked) + " |",
        "|---|" + "---|" * len(asked),
        *(f"| {variant} | " + " | ".join(cells) + " |" for variant, cells in rows.items()),
    ]
    place = Path(__file__).parent / "results" / f"ablation-{name}.md"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"Written: {place.name}")
    return 0


def _note(rows: dict[str, list[str]], name: str, means: dict[str, list[float]]) -> None:
    for variant, recalls in means.items():
        rows[variant].append("/".join(f"{value:.3f}".removeprefix("0") for value in recalls))
        print(f"{name:20} {variant:40} {rows[variant][-1]}", flush=True)


def _measured(questions: EvaluationSet, folder: Path, *, step: int) -> dict[str, list[float]]:
    """The mean recall of each variant at each budget."""
    chosen = questions.questions[::step]
    places = {}
    for number, scope in enumerate(dict.fromkeys(question.scope for question in chosen)):
        places[scope] = folder / f"{number}.db"
        held = (each for each in questions.documents if scope is None or each.path in scope)
        with brimful.open(places[scope]) as engine:
            engine.add_documents(held, allow=("secret",))  # as the set has them
    axis = TokenAxis(questions.documents)
    means = {}
    for variant, part in WITHOUT.items():
        sums = [0.0] * len(BUDGETS)
        engines = {scope: brimful.open(place) for scope, place in places.items()}  # anew: an engine remembers words
        with part.left_out() as settings:
            for question in chosen:
                found = engines[question.scope].search(question.text, limit=UNITS, field=settings)
                hits = found.hits[: found.relevant] if part.ends else found.hits
                cited = [Place(hit.path, hit.start, hit.end) for hit in hits]
                for place, budget in enumerate(BUDGETS):
                    sums[place] += score(axis, question.evidence, axis.fill(cited, budget=budget).tokens).recall
        means[variant] = [total / len(chosen) for total in sums]
        for engine in engines.values():
            engine.close()
    return means


if __name__ == "__main__":
    os.environ.setdefault("BRIMFUL_EMBEDDER", "none")  # words alone; people.py --late measures a model
    sys.exit(main())
