"""What nobody sees is written out wherever a name or a text is shown to a person."""

import re
import sys
from pathlib import Path

import brimful.surfaces.http
from brimful.surfaces.cli.terminal import harmless, one_line
from brimful.text.unseen import BLANK, BREAK, CONTROL, INVISIBLE

DOM = Path(brimful.surfaces.http.__file__).parent / "web" / "assets" / "dom.js"


def _points(body):
    pattern = re.compile(f"[{body}]")
    return {code for code in range(sys.maxunicode + 1) if pattern.match(chr(code))}


def test_terminals_write_them_out():
    """No zero-width, direction, tag or control character reaches a terminal; tabs and line ends of a text do."""
    unseen = "".join(map(chr, sorted(_points(INVISIBLE + CONTROL))))
    for shown in (harmless(f"a{unseen}b\tc\n"), one_line(f"a{unseen}b\tc\n")):
        assert not re.search(f"[{INVISIBLE}{CONTROL}]", shown)
    assert harmless("a\tb\n") == "a\tb\n"
    assert one_line("pay\u200b\U000e0041\u202e") == "pay\\u200b\\U000e0041\\u202e"


def test_the_page_knows_the_same_characters():
    """The class of characters in the page's script is the one that formats and terminals use."""
    script = DOM.read_text(encoding="utf-8")
    said = re.search(r"const UNSEEN = new RegExp\((.*?), \"gu\"\);", script, re.DOTALL).group(1)
    body = "".join(re.findall(r'"([^"]*)"', said)).removeprefix("[").removesuffix("]").replace("\\\\", "\\")
    body = re.sub(r"\\u\{([0-9a-f]+)\}", lambda match: chr(int(match[1], 16)), body)
    body = re.sub(r"\\u([0-9a-f]{4})", lambda match: re.escape(chr(int(match[1], 16))), body)
    assert _points(body) - {0x20} == (_points(INVISIBLE + CONTROL + BREAK) | {9}) - _points(BLANK.replace("\t", ""))
