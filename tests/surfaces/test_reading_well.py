"""What a model is handed is read: the examples of that, from folder to text."""

import json

import pytest

from brimful.engine import open as open_store
from brimful.surfaces.cli import main

TYPES = "".join(
    f"/** Says what field {n} of a parcel means. */\nexport interface Field{n} {{ name: string; size: {n}; }}\n\n"
    for n in range(12)
)
TASKS = (
    "class Task:\n"
    '    """A coroutine that runs."""\n\n'
    "    def get_stack(self, limit=None):\n"
    '        """Return the frames of this task, the oldest first."""\n'
    + "".join(f"        frame_{n} = self.frame(limit, {n})\n" for n in range(30))
    + "        return frame_0\n\n"
    "    def cancel(self, msg=None):\n"
    '        """Request that this task cancel itself."""\n'
    "        if self.done():\n"
    "            return False\n"
    "        self._must_cancel = True\n"
    "        return True\n\n"
    "    def uncancel(self):\n"
    '        """Take a request to cancel back."""\n'
    "        self._requests -= 1\n"
    "        return self._requests\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRIMFUL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


def test_a_function_is_shown_as_a_whole(tmp_path):
    """Not the end of one function and the beginning of the next: from `def` to its last line, in its class."""
    with open_store(tmp_path) as engine:
        engine.add_text("tasks.py", TASKS)
        text = engine.context("how does asyncio cancel a task", budget=130, fill="relevant").text
    assert "    def cancel(self, msg=None):\n" in text
    assert "        self._must_cancel = True\n        return True\n" in text
    first = next(line for line in text.splitlines() if line.strip() and not line.startswith("["))
    assert first.startswith(("    def ", "class "))
    assert "[IN: class Task:]\n" in text or "class Task:\n" in text.splitlines(keepends=True)


@pytest.mark.parametrize("others", [("index.d.cts",), ("index.d.cts", "index.d.mts")])
def test_twins_are_shown_once_and_named(folder, capfd, others):
    """`.d.ts` and `.d.cts` say the same: one is shown, and names the others."""
    for name in ("index.d.ts", *others):
        (folder / name).write_text(TYPES, encoding="utf-8")
    assert main(["context", "what does field 7 of a parcel mean?", "own", "-b", "400", "--json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert answer["text"].count("Says what field 7 of a parcel means.") == 1
    shown = next(window for window in answer["windows"] if "Field7" in window["text"])
    names = {path.rpartition("/")[2] for path in (shown["path"], *shown["also_in"])}
    assert names == {"index.d.ts", *others}


@pytest.mark.parametrize("form", ["plain", "markdown", "xml", "json", "messages"])
def test_a_context_can_be_piped_into_a_model(folder, capfd, form):
    """`context … --question` ends with the question in every format, after what it is asked about."""
    (folder / "tea.md").write_text("Tea is served at four in the garden.\n", encoding="utf-8")
    question = "When is tea served?"
    assert main(["context", question, "own", "-b", "200", "--format", form, "--question", "-q"]) == 0
    text = capfd.readouterr().out
    assert text.index("at four in the garden") < text.rindex(question)
    assert text.count(question) == 1


def test_rows_and_items_come_with_what_explains_them(folder, capfd):
    """The header stands above a row of a long table once, the lead-in above an item of a long list."""
    rows = "".join(f"| pot {n} | {n} litres of water | shelf {n} |\n" for n in range(90))
    items = "".join(f"- Never put the spoon number {n} into the drawer.\n" for n in range(90))
    page = f"# Kitchen\n\n| name | volume | place |\n|---|---|---|\n{rows}\nWhat guests forget:\n\n{items}"
    (folder / "kitchen.md").write_text(page, encoding="utf-8")
    assert main(["context", "pot 71 shelf", "own", "-b", "60", "-q", "--fill", "relevant"]) == 0
    table = capfd.readouterr().out
    assert "| pot 71 |" in table
    assert table.count("| name | volume | place |") == 1
    assert (
        main(["context", "never put which spoon into the drawer", "own", "-b", "60", "-q", "--fill", "relevant"]) == 0
    )
    listed = capfd.readouterr().out
    assert "into the drawer." in listed
    assert listed.count("What guests forget:") == 1


PRICES = (
    "The tea from Assam is sold for 1,234.50 euros in the shop at the harbour, and for 3.75 dollars elsewhere, since "
    "2024-05-12 at the latest. "
)


@pytest.mark.parametrize("budget", range(40, 80))
def test_no_number_is_cut_and_no_small_budget_ends_inside_a_word(tmp_path, budget):
    """3. is not what 3.75 is: a window ends before a number or behind it, and where little is shown behind a word."""
    with open_store(tmp_path) as engine:
        engine.add_text("tea.md", PRICES * 20)
        context = engine.context("price of tea from Assam", budget=budget)
    for window in context.windows:
        assert window.text.split()[-1] in PRICES.split()


@pytest.mark.parametrize("budget", [50, 60, 70, 80])
def test_a_small_budget_shows_no_half_of_a_row(tmp_path, budget):
    """Rows of a table are shown whole: half of one says something else."""
    rows = "product,price,country\n" + "".join(f"Blend {n},{n}.50,Country {n}\n" for n in range(60))
    with open_store(tmp_path) as engine:
        engine.add_text("prices.csv", rows)
        context = engine.context("price of blend 30", budget=budget)
    for window in context.windows:
        assert set(window.text.splitlines()) <= set(rows.splitlines())


@pytest.mark.parametrize("budget", [200, 500, 1_000])
def test_a_window_begins_with_a_line_that_says_something(tmp_path, budget):
    """Below a fenced block stands a blank line, which belongs to what is above it."""
    page = "".join(
        f"## Step {n}\n\nTurn wheel {n}.\n\n```sh\nturn --wheel {n}\n```\n\nIt squeaks when wheel {n} is dry.\n\n"
        for n in range(40)
    )
    with open_store(tmp_path) as engine:
        engine.add_text("wheels.md", page)
        for question in ("why does it squeak", "which wheel is dry", "wheel 7", "turn --wheel 12"):
            for window in engine.context(question, budget=budget).windows:
                assert window.text.split("\n")[0].strip()


def test_a_window_does_not_begin_with_the_end_of_another_section(tmp_path):
    """A sentence before the heading that answers belongs to the section above and is left away."""
    filler = "The harbour is quiet in winter, and the ledger lies open on the desk beside the lamp. "
    sections = "".join(
        f"## {title}\n\n{filler * 8}\n\n" for title in ("Sowing", "Pruning the roses", "Watering", "Harvest")
    )
    with open_store(tmp_path) as engine:
        engine.add_text("garden.md", sections)
        context = engine.context("pruning the roses", budget=100, fill="relevant")
    assert context.windows[0].text.startswith("## Pruning the roses\n")


@pytest.mark.parametrize("budget", [60, 100, 200])
def test_a_window_of_code_does_not_begin_with_the_end_of_another_function(tmp_path, budget):
    """The last lines of the function above tell nothing about the one that answers."""
    lines = "".join(f"    value_{n} = {n}\n" for n in range(28))
    code = "".join(f"def step_{n}(cup):\n{lines}\n    return value\n\n\n" for n in range(6))
    code += 'def pour_tea(cup, *, frozen=False):\n    """Pour tea into a frozen cup."""\n    return cup\n\n\n' + code
    with open_store(tmp_path) as engine:
        engine.add_text("steps.py", code)
        context = engine.context("how is tea poured into a frozen cup", budget=budget)
    best = max(context.windows, key=lambda window: window.score)
    assert best.text.startswith("def ")
    assert "def pour_tea(" in best.text
