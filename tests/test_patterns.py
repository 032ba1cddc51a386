"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

from brimful.patterns import compiled


def test_a_pattern_does_what_re_compile_gives() -> None:
    """Methods, flags and groups are those of the compiled pattern."""
    pattern, plain = compiled(r"(?P<word>a+)b", re.IGNORECASE), re.compile(r"(?P<word>a+)b", re.IGNORECASE)
    text = "xAAb ab"
    assert pattern.findall(text) == plain.findall(text) == ["AA", "a"]
    assert pattern.sub("-", text) == plain.sub("-", text)
    assert (pattern.flags, pattern.groups, pattern.pattern) == (plain.flags, plain.groups, plain.pattern)
    assert pattern.groupindex == plain.groupindex
    assert [each.span() for each in pattern.finditer(text, 2)] == [each.span() for each in plain.finditer(text, 2)]


def test_a_pattern_is_compiled_at_its_first_use() -> None:
    """A pattern that nobody asks costs nothing, and one that is wrong says so when it is asked."""
    wrong = compiled("(")
    with pytest.raises(re.error):
        wrong.search("")
    with pytest.raises(AttributeError, match="no 'serch'"):
        _ = compiled("a").serch  # type: ignore[attr-defined]


def test_every_pattern_of_the_package_compiles() -> None:
    """Since no import compiles them, all are compiled here."""
    script = """
        import importlib, pkgutil, re
        import brimful, brimful.patterns
        made = []
        brimful.patterns.compiled = lambda source, flags=0: made.append(re.compile(source, flags)) or made[-1]
        for each in pkgutil.walk_packages(brimful.__path__, "brimful."):
            if not each.name.endswith("__main__"):
                try:
                    importlib.import_module(each.name)
                except ImportError:  # an extra that is not installed
                    pass
        print(len(made))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 200
