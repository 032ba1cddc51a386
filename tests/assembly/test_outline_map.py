"""Which files, headings and definitions does a map name, and does it ever count more than it may?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brimful
from brimful.assembly.formats.form import read_name
from brimful.assembly.outline_map import MapEntry, draw, entries_of
from brimful.outline.structures import structure
from brimful.text.tokens import APPROXIMATE, counting
from brimful.text.vocabularies import tokens_for

COUNTERS = [tokens_for("gpt-4o"), tokens_for("claude-sonnet-4-5"), tokens_for("gemma-3"), APPROXIMATE]
_names = st.text(st.sampled_from("abz_ (),.\n#=0é…漢"), min_size=1, max_size=12)


@st.composite
def _entries(draw_from):
    """Entries that nest as those of a document do."""
    found: list[MapEntry] = []
    for name in draw_from(st.lists(_names, max_size=8)):
        parent = draw_from(st.integers(-1, len(found) - 1))
        depth = 1 if parent < 0 else found[parent].depth + 1
        text = " ".join(name.split()) or "x"
        found.append(MapEntry(text, name, depth, parent))
    return tuple(found)


_files = st.dictionaries(_names, _entries(), max_size=8)


def _drawn(files, counter, room, asked=0, words=()):
    return draw(
        tuple(files), files.__getitem__, counter=counter, room=room, answered=min(asked, len(files)), words=words
    )


@settings(deadline=None)
@given(_files, st.sampled_from(COUNTERS), st.integers(1, 200), st.integers(0, 3))
def test_a_map_never_counts_more_than_it_may(files, counter, room, asked):
    """The final text, counted by the model's own tokenizer, is within the budget, and is what the map says it is."""
    found = _drawn(files, counter, room, asked, [frozenset((b"ab",))])
    assert counter.count(found.text) == found.tokens <= room
    assert found.files + found.files_left_out == len(files)


@settings(deadline=None)
@given(_files, st.integers(1, 200), st.integers(0, 3))
def test_every_line_names_something_that_is_there(files, room, asked):
    """A line is a file, an entry of the file above it at its depth, or a count of what is left out."""
    found = _drawn(files, COUNTERS[0], room, asked)
    lines = found.text.split("\n")[:-1]
    path, shown, named = None, 0, []
    for line in lines:
        text = line.lstrip(" ")
        depth = (len(line) - len(text)) // 2
        if read_name(line) in files:
            path, shown = read_name(line), 0
            named.append(path)
        elif path is not None and any(
            (entry.text, entry.depth) == (line[2 * entry.depth :], depth) for entry in files[path]
        ):
            shown += 1
        elif line.startswith("  … "):
            assert line == f"  … {len(files[path]) - shown} more"
        else:
            assert line == lines[-1]
            assert line.split(" ")[:2] == ["…", str(len(files) - len(named))]
    assert len(set(named)) == len(named) == found.files


@settings(deadline=None)
@given(_files)
def test_with_room_enough_everything_is_named(files):
    """Every file and every entry, and nothing is counted as left out."""
    found = _drawn(files, COUNTERS[0], 100_000)
    assert (found.files, found.files_left_out) == (len(files), 0)
    assert found.names == sum(map(len, files.values()))


def test_a_third_of_the_room_names_files_before_any_is_opened():
    """However many files there are, most of a map says what is in the most important ones."""
    files = {f"f{number:03}.py": (MapEntry("def go()", "go", 1, -1),) for number in range(300)}
    for room in (90, 300, 900):
        found = _drawn(files, COUNTERS[0], room)
        assert found.names == found.files or found.names > room // 20
    assert _drawn(files, COUNTERS[0], 100_000).files_left_out == 0


def test_names_in_use_come_first():
    """Of the names of a file those that many documents have are shown before others."""
    entries = tuple(MapEntry(f"def go{number}()", f"go{number}", 1, -1) for number in range(30))
    found = draw(("a.py",), lambda _: entries, counter=COUNTERS[0], room=30, uses=lambda name: int(name[2:]) % 7)
    assert next(line for line in found.text.splitlines() if "(" in line) == "  def go6()"


def test_a_counter_without_sums_is_obeyed():
    """Whoever counts tokens by a function of their own gets a map within that count."""
    words = counting("words", lambda text: len(text.split()))
    files = {f"f{number}.py": (MapEntry("def go(a, b)", "go", 1, -1),) for number in range(30)}
    for room in (1, 3, 10, 40, 70, 500):
        assert words.count(_drawn(files, words, room).text) <= room


CODE = {
    "python": """
@app.get(
    '/tea',
)
class Pot(Base):
    def pour(self, cups: int = 1,  # how many
             ) -> int:
        return 1
""",
    "rust": "#[derive(Debug)]\npub struct Pot { x: u8 }\n",
    "csharp": "[Foo(1)]\nclass Pot {\n  [Bar]\n  public int Pour(int a) { return a; }\n}\n",
    "elixir": """
defmodule Pot do
  @doc \"\"\"
  Pours.
  \"\"\"
  @spec pour(a) :: b
  def pour(a) do
    1
  end
end
""",
    "typescript": "@Injectable()\nexport class Pot {\n  pour(a: string): void {\n  }\n}\n",
}
SIGNATURES = {
    "python": ["class Pot(Base)", "def pour(self, cups: int = 1) -> int"],
    "rust": ["pub struct Pot"],
    "csharp": ["class Pot", "public int Pour(int a)"],
    "elixir": ["defmodule Pot", "def pour(a)"],
    "typescript": ["export class Pot", "pour(a: string): void"],
}


@pytest.mark.parametrize("language", CODE)
def test_a_definition_is_one_line_without_its_decorators(language):
    """Decorators, comments, line breaks and what opens the body are left out of a signature."""
    code = CODE[language].encode()
    found = entries_of(code, structure(code, kind="code", language=language))
    assert [each.text for each in found] == SIGNATURES[language]


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["python", "rust", "csharp", "elixir", "c", None]))
def test_any_bytes_give_entries_of_one_line(content, language):
    """No name breaks a line or is empty, and each stands one level below its parent."""
    for kind in ("code", "prose", "data"):
        entries = entries_of(content, structure(content, kind=kind, language=language))
        for at, entry in enumerate(entries):
            assert len(entry.text.splitlines()) == 1
            assert entry.parent < at
            assert entry.depth == (entries[entry.parent].depth + 1 if entry.parent >= 0 else 1)


# ---- of a folder


KETTLE = """LIMIT = 3

class Kettle:
    def boil(self, cups):
        return cups

    def pour(self):
        pass


def _hidden():
    pass
"""
FOLDER = {
    "README.md": "# Kettle\n\nBoils water.\n\n## Install\n\nPip.\n\n## Use\n\nPour.\n\n### Tea\n\nFour minutes.\n",
    "src/kettle.py": KETTLE,
    "src/pot.rs": "pub struct Pot {}\n\nimpl Pot {\n    pub fn steep(&self, minutes: u32) -> bool { true }\n}\n",
    "tests/test_kettle.py": "def test_boils():\n    assert True\n" + "# more\n" * 400,
    "data/prices.csv": "name,price\n" + "tea,3\n" * 500,
    "notes/long.md": "# Long\n\n" + "Nothing is said here. " * 100_000,
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """A folder as people have them: code, prose, tests, data, and a text that is too long to be opened."""
    folder = tmp_path_factory.mktemp("above") / "k"
    for name, text in FOLDER.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with brimful.open(tmp_path_factory.mktemp("store") / "kettle.db", embedder="none") as made:
        made.add(folder)
        yield made


def test_a_folder_is_shown_by_path_with_what_is_in_it(engine):
    """Headings and definitions by their nesting; a document above 2 MB is named, and data has no names."""
    assert engine.map(budget=1_000).text == (
        "k/\n  README.md\n    Kettle\n      Install\n      Use\n        Tea\n"
        "k/data/\n  prices.csv\n"
        "k/notes/\n  long.md\n"
        "k/src/\n  kettle.py\n    LIMIT = 3\n    class Kettle\n      def boil(self, cups)\n      def pour(self)\n"
        "    def _hidden()\n"
        "  pot.rs\n    pub struct Pot\n    impl Pot\n      pub fn steep(&self, minutes: u32) -> bool\n"
        "k/tests/\n  test_kettle.py\n    def test_boils()\n"
    )
    assert "  kettle.py (35 tokens)\n" in engine.map(tokens=True, path="src").text


def test_what_matters_less_gives_way_first(engine):
    """With few tokens tests and data are only counted; private names come after the others."""
    for budget in range(8, 150):
        found = engine.map(budget=budget)
        lines = found.text.splitlines()
        assert tokens_for(found.model).count(found.text) == found.tokens <= budget
        if "  test_kettle.py" in lines:
            assert {f"  {name.rpartition('/')[2]}" for name in FOLDER} <= {*lines}
        if "    def _hidden()" in lines:
            assert "    class Kettle" in lines


def test_a_question_puts_its_files_and_names_first(engine):
    """The document that it finds comes first, opened at the name that it uses, with what that stands in."""
    boiled = engine.map(budget=32, question="boil(cups)").text
    assert boiled == "k/src/kettle.py\n  class Kettle\n    def boil(self, cups)\n  … 3 more\n… 5 more files\n"
    assert engine.map(budget=32, question="how long does it steep?").text.startswith("k/src/pot.rs\n  impl Pot\n")


def test_only_paths_that_fit_are_shown(engine):
    """A part of a path or a pattern narrows the map, with a question and without."""
    only = engine.map(path="src/")
    assert (only.files, only.files_left_out) == (2, 0)
    assert engine.map(path=["*.md", "*.csv"]).files == 3
    assert "README.md" not in engine.map(path="src/", question="tea").text


def test_an_empty_corpus_has_an_empty_map(tmp_path):
    """No files, no tokens, no error."""
    with brimful.open(tmp_path / "none.db", embedder="none") as made:
        assert (made.map().text, made.map(question="tea").tokens) == ("", 0)


def test_documents_are_listed_by_path(engine):
    """Size, kind and language without reading; lines where they are asked for."""
    listed = engine.documents()
    assert [each.path for each in listed] == [f"k/{name}" for name in sorted(FOLDER)]
    one = engine.documents("kettle.py", lines=True)[0]
    assert one._replace(time=None) == (
        "k/src/kettle.py",
        None,
        len(FOLDER["src/kettle.py"]),
        "code",
        "python",
        None,
        12,
    )
    assert [each.lines for each in engine.documents("prices", lines=True)] == [501]
