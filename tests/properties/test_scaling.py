"""Ten times the text takes about ten times as long, whatever it is made of: adding, searching, asking, verifying and
condensing it.

Fragments that were once quadratic, or look as if they might be, repeated to 20 KB and to 200 KB. Quadratic work gives
100, linear about 10; what takes no time worth speaking of at the smaller size is counted as FLOOR_SECONDS.
"""

import itertools

import pytest

import brimful
from brimful import Document
from tests.properties.growth import growth, seconds

BOUND = 40
FLOOR_SECONDS = 0.02
SIZES = (20_000, 200_000)
WORK = ("add", "search", "context", "verify", "densify")

FRAGMENTS = {
    "heads.md": ["# needle\n", "needle\n======\n", "# needle #\n\ntext\n"],
    "marks.md": ["- needle\n", "  - needle\n", "> needle\n", "| needle | a |\n", "```\nneedle\n", "[needle](x) "],
    "words.md": ["needle. ", "needle ", "needle\n", " \t", "(needle ", '"needle '],
    "code.py": ["def needle():\n    pass\n", "class needle:\n", "    needle(\n", "@needle\n", "needle = [\n"],
    "data.json": ['{"needle": ', '["needle"],'],
    "data.csv": ["needle,1\n", '"needle\n'],
    "tags.xml": ["<needle>", "<needle a='", "<!-- needle "],
    "code.c": ["void needle() {\n", "{ needle; ", "/* needle "],
}


def taken(place, path, text):
    """How long adding, searching, asking, verifying and condensing take."""
    with brimful.open(place) as engine:
        adding = seconds(lambda: engine.add_text(path, text))
        searching = seconds(lambda: engine.search("needle"))
        asking = seconds(lambda: engine.context("needle", budget=2_000))
        context = engine.context("needle", budget=2_000)
        verifying = seconds(lambda: engine.verify(context.receipt, text=context.text))
        condensing = seconds(lambda: engine.densify(Document(path, text))) if text.strip() else 0.0
        return dict(zip(WORK, (adding, searching, asking, verifying, condensing), strict=True))


@pytest.mark.parametrize(("path", "part"), [(path, part) for path, parts in FRAGMENTS.items() for part in parts])
def test_ten_times_the_text_takes_about_ten_times_as_long(tmp_path, path, part):
    """Each of them grows with the text, not with its square."""
    fresh = itertools.count()
    known: dict[str, float] = {}

    def measured(what):
        if what not in known:
            small, large = (taken(tmp_path / f"{next(fresh)}.db", path, part * (size // len(part))) for size in SIZES)
            known.update({name: large[name] / max(small[name], FLOOR_SECONDS) for name in large})
        return known.pop(what)

    for what in WORK:
        assert growth(lambda what=what: measured(what), BOUND) < BOUND, what
