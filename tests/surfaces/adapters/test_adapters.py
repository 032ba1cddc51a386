"""All adapters: none is imported unasked, each says what it lacks, and all give the same everywhere."""

import os
import subprocess
import sys

import pytest

import brimful
from brimful.errors import install

FRAMEWORKS = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}

ASK = """
import tempfile, brimful
from brimful.surfaces.adapters import haystack, langchain, llamaindex
pieces = [f"Piece {n} tells of tea at {n}. " * 4 for n in range(12)]
with tempfile.TemporaryDirectory() as folder, brimful.open(folder) as engine:
    for n in range(9):
        engine.add_text(f"{n}.md", f"Tea is at {n}. Cake is later. " * 20)
    print([d.metadata for d in langchain.BrimfulRetriever(engine=engine, budget=300).invoke("tea caek")])
    print([n.model_dump_json() for n in llamaindex.BrimfulRetriever(engine, budget=300).retrieve("tea caek")])
    print([d.to_dict() for d in haystack.BrimfulRetriever(engine, budget=300).run("tea caek")["documents"]])
    fit = langchain.BrimfulCompressor(budget=150, dedup_threshold=0.8)
    print(fit.transform_documents([langchain.LangChainDocument(page_content=piece) for piece in pieces]))
"""


def run(program, **environment):
    """A program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_no_framework_is_imported_unasked():
    """`import brimful`, its public names and `brimful.surfaces.adapters` load no framework and no pydantic."""
    program = (
        "import sys, brimful, brimful.surfaces.adapters\n"
        "for name in brimful.__all__: getattr(brimful, name)\n"
        f"found = sys.modules.keys() & {{*{[*FRAMEWORKS.values(), 'pydantic']!r}}}\n"
        "sys.exit(', '.join(found) or 0)"
    )
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "package"), FRAMEWORKS.items())
def test_a_missing_framework_names_its_extra(name, package):
    """Where a framework is not installed, the error says which extra brings it."""
    done = run(f"import sys; sys.modules[{package!r}] = None\nimport brimful.surfaces.adapters.{name}")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("brimful.errors.MissingPartError: ")
    assert done.stderr.strip().endswith(install(name))


def test_answers_do_not_depend_on_the_hash_seed():
    """Every adapter's output, metadata included, is the same in every process."""
    outputs = {
        (done := run(ASK, PYTHONHASHSEED=seed)).stdout + done.stderr * done.returncode for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert "Tea is at" in outputs.pop()


def test_filters_are_choices(tmp_path):
    """Each retriever narrows by them, and says which words no document has and what only fills."""
    from brimful.surfaces.adapters import haystack, langchain, llamaindex

    choices = {"path": ["a"], "without": "cold", "repair": False, "anyway": True}
    with brimful.open(tmp_path) as engine:
        for name, text in {"a.md": "Tea is hot.", "ab.md": "Tea is cold.", "b.md": "Tea is late."}.items():
            engine.add_text(name, text)
        asked = {"choices": choices, "budget": 100}
        found = [
            [each.metadata for each in langchain.BrimfulRetriever(engine=engine, **asked).invoke("tea srved")],
            [each.metadata for each in llamaindex.BrimfulRetriever(engine, **asked).retrieve("tea srved")],
            [each.meta for each in haystack.BrimfulRetriever(engine, **asked).run("tea srved")["documents"]],
        ]
    for (only,) in found:
        assert (only["path"], only["missing"], only["filling"]) == ("a.md", ["srved"], False)
