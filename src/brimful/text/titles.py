"""Which headings does a text have? What is done at each of their marks.

Every handler gets the mark that `markup` found and answers where to go on. An underlined title is one heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from brimful.patterns import compiled
from brimful.text.passages import LONGEST_TITLE, Reading, line_above

CHAPTER = rb"[Cc]hapter|CHAPTER|[Pp]art|PART|[Ss]ection|SECTION|[Aa]ppendix|APPENDIX|Kapitel|KAPITEL|Teil|TEIL"
_LETTER = compiled(rb"[A-Za-z0-9\x80-\xff]")


def _add_heading(reading: Reading, start: int, end: int, level: int, title: bytes) -> int:
    if 0 < len(title) <= LONGEST_TITLE:
        reading.headings.append((start, end, level, title))
    return end


def _on_atx(reading: Reading, found: re.Match[bytes]) -> int:
    line = found["atx"].rstrip()
    start = found.start("atx") - 1
    level = len(line) - len(line.lstrip(b"#"))
    title = re.sub(rb"(?<![ \t])[ \t]++#++\Z", b"", line[level:]).strip()
    _add_heading(reading, start, start + len(line), level, title)
    return found.end()


def _on_title(reading: Reading, found: re.Match[bytes]) -> int:
    line = found["title"].rstrip()
    start, level = found.start("title") - 1, len(found["signs"])
    title = re.sub(rb"(?<![ \t])[ \t]++(?::[\w@:]+:|=++)\Z", b"", line[level:]).strip()
    _add_heading(reading, start, start + len(line), level, title)
    return found.end()


def _on_wiki(reading: Reading, found: re.Match[bytes]) -> int:
    line = found["wiki"].rstrip()
    start, level = found.start("wiki") - 1, len(line) - len(line.lstrip(b"="))
    _add_heading(reading, start, start + len(line), level, line.strip(b"= \t"))
    return found.end()


def _is_title(content: bytes, above: int, title: bytes) -> bool:
    """A title has letters, is no list item, and stands below a blank line, a rule, a heading or the text's start."""
    if not title or not _LETTER.search(title) or re.match(rb"(?:[-*+]|\d{1,9}[.)])[ \t]|[#|>]|\.\. ", title):
        return False
    if above == 0:
        return True
    _, before = line_above(content, above)
    blank = content.rfind(b"\n", max(above - 2 - 200, 0), above - 1) + 1
    if not content[blank : above - 1].strip():
        return True
    return bool(before) and (not before.strip(before[:1]) or before.startswith(b"#"))


def _on_setext(reading: Reading, found: re.Match[bytes]) -> int:
    content, rule = reading.content, found.start("setext") - 1
    above, title = line_above(content, rule)
    start = above + len(content[above:rule]) - len(content[above:rule].lstrip())
    if above < rule and _is_title(content, above, title):
        signs = found["setext"].strip()
        _add_heading(reading, start, rule + len(signs), 1 if signs[:1] == b"=" else 2, title)
    return found.end()


def _on_rule(reading: Reading, found: re.Match[bytes]) -> int:
    """A title of reStructuredText: as wide as its underline at most, perhaps with a line above too."""
    content, rule = reading.content, found.start("rule") - 1
    above, title = line_above(content, rule)
    signs = found["rule"].strip()
    if above >= rule or not _is_title(content, above, title) or len(signs) < len(title.decode(errors="ignore")):
        return found.end()
    over, line = line_above(content, above)
    has_over = bool(above) and line == signs
    if not has_over and content[above : above + 1] in b" \t":
        return found.end()  # in a block that is indented
    level = reading.ranks.setdefault((signs[:1], has_over), len(reading.ranks) + 1)
    _add_heading(reading, over if has_over else above, rule + len(signs), level, title)
    return found.end()


_LATEX_LEVELS = {
    b"part": 1, b"chapter": 1, b"section": 2, b"subsection": 3, b"subsubsection": 4, b"paragraph": 5,
    b"subparagraph": 6,
}  # fmt: skip


def _on_command(reading: Reading, found: re.Match[bytes]) -> int:
    depth, stop = 1, min(found.end() + LONGEST_TITLE, len(reading.text))
    for sign in re.compile(rb"[{}]|\n\n").finditer(reading.text, found.end(), stop):
        depth += {b"{": 1, b"}": -1}.get(sign[0], 1_000)
        if not depth:
            title = re.sub(rb"\\[A-Za-z]+\*?[ \t]*|[{}~]|\\", b" ", reading.text[found.end() : sign.start()])
            start = found.start("command") - 1
            level = _LATEX_LEVELS[found["word"]]
            _add_heading(reading, start, sign.end() - 1, level, b" ".join(title.split()))
            return sign.end()
    return found.end()


def _on_macro(reading: Reading, found: re.Match[bytes]) -> int:
    begin = found.end()
    end = reading.text.find(b"\n", begin)
    end = end if end >= 0 else len(reading.text)
    title = re.sub(rb"\\f.|\\&|\"", b"", reading.text[begin:end]).strip()
    level = 1 if found["word"].upper() == b"SH" else 2
    _add_heading(reading, found.start("macro") - 1, begin - 1 + len(reading.text[begin:end].rstrip()), level, title)
    return begin


def _on_caps(reading: Reading, found: re.Match[bytes]) -> int:
    line = found["caps"].rstrip()
    _add_heading(reading, found.start("caps") - 1, found.start("caps") - 1 + len(line), 1, line)
    return found.end()


def _on_inset(reading: Reading, found: re.Match[bytes]) -> int:
    line = found["inset"]
    start = found.start("inset") - 1 + len(line) - len(line.lstrip())
    _add_heading(reading, start, start + len(line.strip()), 2, line.strip())
    return found.end()


def _on_alone(reading: Reading, found: re.Match[bytes]) -> int:
    """A line of plain text between blank lines that is numbered as a chapter, or written in capitals."""
    line = found["alone"].strip()
    start = found.start("alone") - 1
    if found["alone"][:1] in b" \t" or line[-1:] in b".,;:!?" or not _LETTER.search(line):
        return found.start() + 1
    numbered = re.match(rb"(\d{1,3}(?:\.\d{1,3})+)\.?[ \t]+(?=[A-Z\x80-\xff])", line)
    if numbered is not None:
        level = numbered[1].count(b".") + 1
    elif re.match(rb"(?:" + CHAPTER + rb")\b", line) or (
        len(re.findall(rb"[A-Z]", line)) >= 3 and line.upper() == line and not re.search(rb"[=|<>{}\[\]*_#$\\]", line)
    ):
        level = 1
    else:
        return found.start() + 1
    _add_heading(reading, start, start + len(line), min(level, 6), line)
    return found.end()


def _on_tag(reading: Reading, found: re.Match[bytes]) -> int:
    opened = reading.text.find(b">", found.end(), found.end() + 2_000)
    closed = re.compile(rb"</h%b\s*>" % found["level"], re.IGNORECASE).search(
        reading.text, found.end(), found.end() + 4_000
    )
    if opened < 0 or closed is None or closed.start() < opened:
        return found.end()
    title = re.sub(rb"<[^<>]*+>|\xc2\xb6", b"", reading.text[opened + 1 : closed.start()])
    _add_heading(reading, found.start() - 1, closed.end() - 1, int(found["level"]), b" ".join(title.split()))
    return closed.end()


MARKS: dict[str, Callable[[Reading, re.Match[bytes]], int]] = {
    "atx": _on_atx, "title": _on_title, "wiki": _on_wiki, "setext": _on_setext, "rule": _on_rule,
    "command": _on_command, "macro": _on_macro, "caps": _on_caps, "inset": _on_inset, "alone": _on_alone,
    "tag": _on_tag,
}  # fmt: skip
"""What to do at each mark, by the name of its group."""
