"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from brimful.patterns import _Kept, compiled


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
    """Since no import compiles them, all are compiled here; what is kept of each is what `re.compile` makes of it."""
    script = """
        import importlib, pkgutil, re
        import brimful, brimful.patterns
        made, kept = [], brimful.patterns._Kept("")
        def compiled(source, flags=0):
            made.append(re.compile(source, flags))
            assert kept.made(source, int(flags)) == made[-1]
            return made[-1]
        brimful.patterns.compiled = compiled
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


def test_what_was_compiled_is_kept_for_the_next_process(tmp_path: Path) -> None:
    """The next one compiles none of it, and finds the same; a damaged file is as good as none, and written anew."""
    script = """
        import re, sys
        from brimful import patterns
        patterns.keep_in(sys.argv[1])
        asked, read = [], patterns._read_pattern
        patterns._read_pattern = lambda source, flags: asked.append(source) or read(source, flags)
        word, code = patterns.compiled("(?P<word>t[e-i]a+)|é", re.IGNORECASE), patterns.compiled(rb"\\W+")
        print(len(asked), word.search("a Teaa")["word"], code.split(b"a, b"), len(asked))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "tables")]
    said = []
    for damage in (None, None, b"", b"\0" * 99, None):
        if damage is not None:
            (path,) = tmp_path.glob("tables/*")
            path.write_bytes(damage)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        said.append(done.stdout.strip())
    fresh, known = "0 Teaa [b'a', b'b'] 2", "0 Teaa [b'a', b'b'] 0"
    assert said == [fresh, known, fresh, fresh, known]


def test_a_folder_that_can_not_be_written_keeps_nothing(tmp_path: Path) -> None:
    """The patterns are compiled as ever."""
    (tmp_path / "file").write_text("")
    kept = _Kept(str(tmp_path / "file" / "tables"))
    assert kept.made("b+", 0) == re.compile("b+")
    kept.write()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
