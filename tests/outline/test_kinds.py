from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.outline.kinds import SNIFF_BYTES, kind_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b/app.py", ("code", "python")),
        ("App.TSX", ("code", "tsx")),
        ("src\\main.rs", ("code", "rust")),
        ("Makefile", ("code", "make")),
        ("CMakeLists.txt", ("code", "cmake")),
        ("table.csv", ("data", "csv")),
        ("app.log.1", ("data", "log")),
        ("Cargo.lock", ("data", "toml")),
        ("pom.xml", ("data", "xml")),
        ("README.md", ("prose", "markdown")),
        ("index.rst", ("prose", "rst")),
        ("page.HTML", ("prose", "html")),
        ("LICENSE", ("prose", "text")),
    ],
)
def test_names(path: str, expected: tuple[str, str]) -> None:
    """A telling name decides, whatever the case or the slashes."""
    assert kind_of(path, b"anything at all") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"#!/usr/bin/env python3\nprint(1)\n", ("code", "python")),
        (b"#!/bin/sh\necho hi\n", ("code", "bash")),
        (b'{"a": 1}\n{"a": 2}\n', ("data", "jsonl")),
        (b'{\n  "a": [1, 2]\n}\n', ("data", "json")),
        (b"<?xml version='1.0'?><a/>", ("data", "xml")),
        (b"id,name,age\n1,Ann,3\n2,Bob,4\n3,Cid,5\n", ("data", "csv")),
        (b"a\tb\n1\t2\n3\t4\n", ("data", "tsv")),
        (b"2024-01-02 03:04:05 INFO up\n2024-01-02 03:04:06 ERROR down\n", ("data", "log")),
        (b"Jan  2 03:04:05 host sshd: a\nJan  2 03:04:06 host sshd: b\n", ("data", "log")),
        (b"import os\n\ndef main():\n    return os.name\n\nmain()\n", ("code", "python")),
        (b"#include <a.h>\nint main(void) {\n  return 0;\n}\n", ("code", "c")),
        (b"package main\n\nfunc main() {\n\tprintln(1)\n}\n", ("code", "go")),
        (b"<!DOCTYPE html><html><p>Hi</p></html>", ("prose", "html")),
        (b"# Title\n\nSome words, and more words.\n", ("prose", "markdown")),
        (b"# Lines of a comment\n# below each other\nfont 10\n# its size\nsize 3\n", ("prose", "text")),
        (b"One day, a fox came.\nIt was late, and it was cold.\nThen, it left.\n", ("prose", "text")),
        (b"", ("prose", "text")),
        (b"\x00\x01\xff\xfe", ("prose", "text")),
    ],
)
def test_content(content: bytes, expected: tuple[str, str]) -> None:
    """Without a telling name the shebang and then the beginning of the content decide."""
    assert kind_of("unnamed", content) == expected


def test_weak_and_shared_extensions() -> None:
    """A .txt may hold data, a .h may be C++, a .json may hold one document a line."""
    assert kind_of("dump.txt", b'{"a": 1}\n{"a": 2}\n') == ("data", "jsonl")
    assert kind_of("guide.txt", b"Tea\n===\n\n.. note::\n\n    Hot.\n") == ("prose", "rst")
    assert kind_of("guide.txt", b"Tea\n---\n\nSee :ref:`the pot <pot>`.\n") == ("prose", "rst")
    assert kind_of("README", b".. _tea:\n\nTea is at four, says :doc:`hours`.\n") == ("prose", "rst")
    assert kind_of("plain.txt", b"Tea\n===\n\nSome say .. well :: no.\n") == ("prose", "text")
    assert kind_of("note.txt", b"Just words.") == ("prose", "text")
    assert kind_of("a.h", b"#pragma once\nnamespace x {\n}\n") == ("code", "cpp")
    assert kind_of("a.h", b"int f(void);\n") == ("code", "c")
    assert kind_of("a.json", b'{"a": 1}\n{"a": 2}\n') == ("data", "jsonl")


@given(st.sampled_from(["", "a", "a.txt", "x.json", "y.h", "z.m", "\x00.py"]), st.binary(max_size=300))
def test_never_raises(path: str, content: bytes) -> None:
    """Any bytes under any name have a kind, the same one each time."""
    found = kind_of(path, content)
    assert found == kind_of(path, content)
    assert found[0] in ("prose", "code", "data")


@given(st.binary(min_size=1, max_size=100))
def test_only_the_beginning_is_read(tail: bytes) -> None:
    """What stands after the sniffed beginning changes nothing."""
    head = (b"2024-01-02 03:04:05 INFO up\n" * SNIFF_BYTES)[:SNIFF_BYTES]
    assert kind_of("x", head + b"x") == kind_of("x", head + tail)
