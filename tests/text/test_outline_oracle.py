"""The rules of the outline against tree-sitter, on sources that are at hand."""

from collections import Counter
from pathlib import Path

import pytest

from brimful.text.structure import definitions_in
from tests.text.outline_oracle import definitions_by_grammar
from tests.text.test_definitions_by_rules import SOURCES

ROOT = Path(__file__).parents[2]
# Not those whose grammar reads something else: Haskell's has no modules, Dart's takes a function's head for all of it,
# C++'s stumbles over a macro before a name, others list other things.
COMPARED = (
    "python c java csharp kotlin swift php javascript typescript go rust ruby lua julia bash ocaml commonlisp clojure "
    "elisp scheme yaml toml ini proto"
).split()
# What the rules leave out: a method of an enumeration's constant, a second definition on a line; and what they have
# beside: a package whose name is a keyword.
LEFT_OUT = {"java": ["a"], "kotlin": ["MAX"], "typescript": ["a"]}
BESIDE = {"commonlisp": ["tea"]}


def lines_of(content: bytes, language: str) -> list[tuple[str, int, int]]:
    """Name, first and last line of every definition that the rules find."""
    return [
        (found.name, content.count(b"\n", 0, found.signature_start), content.count(b"\n", 0, max(found.end - 1, 0)))
        for found in definitions_in(content, language)
    ]


def test_the_rules_find_what_the_grammar_finds_in_our_own_sources():
    """Every definition of this package, by name and by lines; comments at the end of a body are the grammar's own."""
    paths = sorted((ROOT / "src").rglob("*.py"))
    assert len(paths) > 100
    apart = {}
    for path in paths:
        content = path.read_bytes()
        ours = [(name, first) for name, first, _ in lines_of(content, "python")]
        theirs = [(seen.name, seen.first) for seen in definitions_by_grammar(content, "python").seen]
        if Counter(ours) != Counter(theirs):
            apart[path.name] = sorted((Counter(ours) - Counter(theirs)) + (Counter(theirs) - Counter(ours)))
    assert not apart


@pytest.mark.parametrize("language", COMPARED)
def test_the_rules_find_what_the_grammar_finds_in_small_sources(language):
    """The sources of the tests of the rules, most of them meant to mislead, read by a grammar."""
    content = SOURCES[language].encode()
    theirs = Counter(seen.name for seen in definitions_by_grammar(content, language).seen)
    ours = Counter(name for name, _, _ in lines_of(content, language))
    assert sorted((theirs - ours).elements()) == LEFT_OUT.get(language, [])
    assert sorted((ours - theirs).elements()) == BESIDE.get(language, [])
