"""Which headings does a text have that is neither Markdown nor reStructuredText? By patterns, text by text."""

from __future__ import annotations

import re

from brimful.text import markup
from brimful.text.passages import LONGEST_TITLE, Reading

_COMMANDS = (b"\\part", b"\\chapter", b"\\section", b"\\sub", b"\\paragraph")
_MACRO = re.compile(markup._PATTERNS["roff"][0])


def titles_in(content: bytes) -> list[tuple[int, int, int]]:
    """Where each heading starts and ends, and its level."""
    form = markup.format_of(content, language="text")
    if form == "roff":
        text = b"\n" + content
        macros = [markup._macro(text, found) for found in _MACRO.finditer(text)]
        return [(start, end, level) for start, end, level, title in macros if 0 < len(title) <= LONGEST_TITLE]
    reading = Reading(content, b"\n" + content, markup._items(form))
    has_commands = form != "man" and any(command in content for command in _COMMANDS)
    position, pattern = 0, markup._title_pattern(form, has_commands=has_commands)
    while (found := pattern.search(reading.text, position)) is not None:
        position = max(markup._OWN_MARKS[found.lastgroup or ""](reading, found), found.start() + 1)
    titles = markup._or_page_heads(content, reading.headings) if form == "text" else reading.headings
    return [(start, end, level) for start, end, level, _ in sorted(titles)]
