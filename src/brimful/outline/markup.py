"""Which headings, lists, tables, code blocks and messages does a text of prose have?"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from brimful.native import Numbers, marks
from brimful.outline import passages
from brimful.outline.passages import LONGEST_TITLE, Heading, Passage, Reading, Title, line_above

# ---- titles: Which headings does a text have? What is done at each of their marks.
#
# Every handler gets the mark that `markup` found and answers where to go on. An underlined title is one heading.

_LETTER = re.compile(rb"[A-Za-z0-9\x80-\xff]")


def _add_heading(reading: Reading, start: int, end: int, level: int, title: bytes) -> int:
    if 0 < len(title) <= LONGEST_TITLE:
        reading.headings.append((start, end, level, title))
    return end


def _on_title(reading: Reading, mark: re.Match[bytes]) -> int:
    line = mark["title"].rstrip()
    start, level = mark.start("title") - 1, len(mark["signs"])
    title = re.sub(rb"(?<![ \t])[ \t]++(?::[\w@:]+:|=++)\Z", b"", line[level:]).strip()
    _add_heading(reading, start, start + len(line), level, title)
    return mark.end()


def _on_wiki(reading: Reading, mark: re.Match[bytes]) -> int:
    line = mark["wiki"].rstrip()
    start, level = mark.start("wiki") - 1, len(line) - len(line.lstrip(b"="))
    _add_heading(reading, start, start + len(line), level, line.strip(b"= \t"))
    return mark.end()


def _is_title(content: bytes, above: int, title: bytes) -> bool:
    """A title has letters, is no list item, and stands below a blank line, a rule, a heading or the text's start."""
    if not title or not _LETTER.search(title) or re.match(rb"(?:[-*+]|\d{1,9}[.)])[ \t]|[#|>]|\.\. ", title):
        return False
    if above == 0:
        return True
    _, line = line_above(content, above)
    blank = content.rfind(b"\n", max(above - 2 - 200, 0), above - 1) + 1
    if not content[blank : above - 1].strip():
        return True
    return bool(line) and (not line.strip(line[:1]) or line.startswith(b"#"))


def _on_rule(reading: Reading, mark: re.Match[bytes]) -> int:
    """A title of reStructuredText: as wide as its underline at most, perhaps with a line above too."""
    content, rule = reading.content, mark.start("rule") - 1
    above, title = line_above(content, rule)
    signs = mark["rule"].strip()
    if above >= rule or not _is_title(content, above, title) or len(signs) < len(title.decode(errors="ignore")):
        return mark.end()
    over, line = line_above(content, above)
    has_over = bool(above) and line == signs
    if not has_over and content[above : above + 1] in b" \t":
        return mark.end()  # in a block that is indented
    level = reading.ranks.setdefault((signs[:1], has_over), len(reading.ranks) + 1)
    _add_heading(reading, over if has_over else above, rule + len(signs), level, title)
    return mark.end()


_LATEX_LEVELS = {
    b"part": 1, b"chapter": 1, b"section": 2, b"subsection": 3, b"subsubsection": 4, b"paragraph": 5,
    b"subparagraph": 6,
}  # fmt: skip


def _on_command(reading: Reading, mark: re.Match[bytes]) -> int:
    depth, stop = 1, min(mark.end() + LONGEST_TITLE, len(reading.text))
    for sign in re.compile(rb"[{}]|\n\n").finditer(reading.text, mark.end(), stop):
        depth += {b"{": 1, b"}": -1}.get(sign[0], 1_000)
        if not depth:
            title = re.sub(rb"\\[A-Za-z]+\*?[ \t]*|[{}~]|\\", b" ", reading.text[mark.end() : sign.start()])
            start = mark.start("command") - 1
            level = _LATEX_LEVELS[mark["word"]]
            _add_heading(reading, start, sign.end() - 1, level, b" ".join(title.split()))
            return sign.end()
    return mark.end()


def _on_caps(reading: Reading, mark: re.Match[bytes]) -> int:
    line = mark["caps"].rstrip()
    _add_heading(reading, mark.start("caps") - 1, mark.start("caps") - 1 + len(line), 1, line)
    return mark.end()


def _on_inset(reading: Reading, mark: re.Match[bytes]) -> int:
    line = mark["inset"]
    start = mark.start("inset") - 1 + len(line) - len(line.lstrip())
    _add_heading(reading, start, start + len(line.strip()), 2, line.strip())
    return mark.end()


def _on_tag(reading: Reading, mark: re.Match[bytes]) -> int:
    opened = reading.text.find(b">", mark.end(), mark.end() + 2_000)
    closed = re.compile(rb"</h%b\s*>" % mark["level"], re.IGNORECASE).search(
        reading.text, mark.end(), mark.end() + 4_000
    )
    if opened < 0 or closed is None or closed.start() < opened:
        return mark.end()
    title = re.sub(rb"<[^<>]*+>|\xc2\xb6", b"", reading.text[opened + 1 : closed.start()])
    _add_heading(reading, mark.start() - 1, closed.end() - 1, int(mark["level"]), b" ".join(title.split()))
    return closed.end()


# ---- pages: What is a page about? Its first lines, in a text whose pages are separated by form feeds.

_LEAST_PAGES = 4
_HEAD_LINES = 10
"""First lines of a page that may hold its head."""
_RUNNING = (3, 10)
"""A line that heads more than 3 pages and more than a tenth of all is a running head and names no page."""
_PAGE_NUMBER = re.compile(rb"\A\d+[ \t]+|(?<![ \t])[ \t]+\d+\Z")
_LEAST_HEADS = 4
"""Of so many pages one has a head, where heads are no accident."""
_WORD = re.compile(rb"[A-Za-z\x80-\xff][A-Za-z'\x80-\xff-]*")
_SMALL_WORD = 4
"""Letters of a word that may be small in a title."""
_LONGEST_LINE = 90


def _page_heads(content: bytes) -> list[tuple[Title, int]]:
    r"""The head of each page as a title (start, end, level, and words), and where the page ends.

    A line there is a title if its words begin with capitals, short ones aside, and it does not end as a sentence.
    Lines that most pages begin with are running heads and left out; a page that has no others has no head.

    >>> pages = [b"ACME Corp\n%b\n\nSome text that goes on.\n" % title for title in (b"Balance Sheet", b"Cash Flows")]
    >>> [words for (*_, words), _ in _page_heads(b"\f".join([*pages, *pages]))]
    [b'Balance Sheet', b'Cash Flows', b'Balance Sheet', b'Cash Flows']
    """
    if content.count(b"\f") < _LEAST_PAGES - 1:
        return []
    starts = [0, *(feed.end() for feed in re.finditer(rb"\f", content))]
    pages = [_titles_at(content, start) for start in starts]
    times = Counter(line for titles in pages for line in {_PAGE_NUMBER.sub(b"", line) for _, line in titles})
    max_pages = max(_RUNNING[0], len(pages) // _RUNNING[1])
    heads = []
    for titles, end in zip(pages, [*starts[1:], len(content)], strict=True):
        rare = [title for title in titles if times[_PAGE_NUMBER.sub(b"", title[1])] <= max_pages]
        if rare:
            last, line = rare[-1]
            heads.append(((rare[0][0], last + len(line), 1, b", ".join(line for _, line in rare)), end))
    return heads if len(heads) * _LEAST_HEADS >= len(pages) else []


def _titles_at(content: bytes, start: int) -> list[tuple[int, bytes]]:
    """The titles that a page begins with, and where they stand; numbers and blank lines before them are passed over."""
    titles: list[tuple[int, bytes]] = []
    for _ in range(_HEAD_LINES):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        words = content[start:end].strip()
        if _names_a_page(words):
            titles.append((start + content[start:end].find(words), words))
        elif titles or not (words.isdigit() or not words):
            break
        start = end + 1
    return titles


def _names_a_page(line: bytes) -> bool:
    if not 3 < len(line) <= _LONGEST_LINE or line[-1:] in b".,;:!?" or line[:1].islower() or b"\f" in line:
        return False
    words = _WORD.findall(line)
    small = [word for word in words if word[:1].islower()]
    return 2 * len(small) <= len(words) > 0 and all(len(word) <= _SMALL_WORD for word in small)


_ASCIIDOC_LINES = b"=-~^+"  # below a title, by level


def _on_block(reading: Reading, mark: re.Match[bytes]) -> int:
    """In AsciiDoc a line of one sign stands below a title that is about as wide, or begins a block."""
    content, rule, signs = reading.content, mark.start("block") - 1, mark["block"]
    level = _ASCIIDOC_LINES.find(signs[:1]) + 1
    above, title = line_above(content, rule)
    begin = 0 if line_above(content, above)[1].startswith(b"[[") else above  # an anchor is nothing that it stands below
    if level and above < rule and _is_title(content, begin, title) and _fits_below(b"\n" + signs, title):
        _add_heading(reading, above, rule + len(signs), level, re.sub(rb"\[\[[^\[\]]*\]\]\Z", b"", title))
        return mark.end()
    return mark.end() if signs == b"---" else passages.on_block(reading, mark)


_OWN_MARKS: dict[str, Callable[[Reading, re.Match[bytes]], int]] = {
    "title": _on_title, "wiki": _on_wiki, "rule": _on_rule, "command": _on_command, "caps": _on_caps,
    "inset": _on_inset, "tag": _on_tag, "block": _on_block,
}  # fmt: skip
"""The handler of each mark, by the name of its group."""


# ---- markup: Which headings, lists, tables, quotations and code blocks does a text of prose have?
#
# Every format has its own marks: `#` is a heading in Markdown and nothing in plain text. One pattern a format jumps
# from mark to mark; what is fenced is passed as a whole, so nothing in it counts. An underlined title is one heading.

_Format = Literal["markdown", "rst", "asciidoc", "org", "latex", "roff", "man", "wiki", "html", "text"]

_BY_EXTENSION: dict[str, _Format] = {
    "adoc": "asciidoc", "asciidoc": "asciidoc", "asc": "asciidoc", "org": "org", "tex": "latex", "latex": "latex",
    "wiki": "wiki", "mediawiki": "wiki", "man": "roff", "roff": "roff", "mdoc": "roff",
}  # fmt: skip
_ROFF_NAME = re.compile(r".*\.(?:[1-9][a-z]*|[ln])")
_ROFF = re.compile(rb"(?:[.']\\\"[^\n]*+\n|[ \t\r]*+\n)*+\.(?:TH|Dd|so|SH)\b")
_ASCIIDOC = re.compile(
    rb"\n(?:\[(?:\[[\w-]+\]|verse|source|quote|listing|horizontal|NOTE|TIP|IMPORTANT|WARNING|CAUTION)[^\n]*\]"
    rb"|(?:include|ifn?def|image)::[^\n\[]*\[[^\n]*\])[ \t]*\r?(?=\n|\Z)"
)
_MAN = re.compile(rb"\s*([\w.:+\[@-]+)\((\w{1,8})\)[ \t]{2,}[^\n]*\1\(\2\)[ \t\r]*\n", re.IGNORECASE)


def format_of(content: bytes, *, language: str | None, path: str = "") -> _Format:
    """Which rules hold for a text, by its language, its name, and how it begins.

    >>> format_of(b"# no heading", language="text", path="notes.txt")
    'text'
    """
    if language in ("markdown", "rst", "html"):
        return language  # type: ignore[return-value]  # mypy can't narrow a str to these literals
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    form = _BY_EXTENSION.get(name.rpartition(".")[2])
    if form is not None:
        return form
    if _ROFF.match(content, 0, 4_000) or (_ROFF_NAME.fullmatch(name) and content[:1] in (b".", b"'")):
        return "roff"
    if _MAN.match(content, 0, 2_000):
        return "man"
    return "asciidoc" if _ASCIIDOC.search(content, 0, 16_384) else "text"


def read_markup(content: bytes, form: _Format) -> tuple[tuple[Heading, ...], tuple[Passage, ...]]:
    r"""The headings and passages of a text, each in order.

    >>> headings, passages = read_markup(b"# Tea\n\nYou need:\n\n- a pot\n- water\n", "markdown")
    >>> headings[0].title, [(each.kind, each.lead) for each in passages]
    ('Tea', [('list', (7, 16))])
    """
    markup = marks_in(content, form)
    return markup.headings(), tuple(markup.passages)


class Markup:
    r"""The headings and passages of a text in order, each built at its first use.

    >>> tea = marks_in(b"# Tea\n\nYou need:\n\n- a pot\n- water\n", "markdown")
    >>> tea.starts, tea.titles[0], [each.kind for each in tea.passages_near(20)]
    ([0], (0, 5, 1, b'Tea'), ['list'])
    """

    def __init__(self, titles: Sequence[Title], section_ends: Sequence[int], passages: tuple[Passage, ...]) -> None:
        self.titles, self.section_ends, self.passages = titles, section_ends, passages
        self.starts, self.ends = [title[0] for title in titles], [title[1] for title in titles]
        self._near: dict[int, tuple[Passage, ...]] = {}  # by how many passages begin before

    @classmethod
    def of(cls, titles: Iterable[Title], passages: tuple[Passage, ...], *, length: int) -> Markup:
        """Nest titles, given in any order: a section reaches to the next title of an equal or a higher rank."""
        rows = sorted(set(titles))
        section_ends, opened = [length] * len(rows), list[int]()
        for number, (start, _, level, _) in enumerate(rows):
            while opened and rows[opened[-1]][2] >= level:
                last = opened.pop()
                section_ends[last] = max(start, rows[last][1])
            opened.append(number)
        return cls(rows, section_ends, passages)

    @cached_property
    def parents(self) -> list[int]:
        """The title whose section holds that of each title, or -1."""
        parents: list[int] = []
        for number, end in enumerate(self.section_ends):
            around = number - 1
            while around >= 0 and self.section_ends[around] < end:
                around = parents[around]
            parents.append(around)
        return parents

    @property
    def places(self) -> Numbers:
        """A row for each title: where it starts and ends, and its level."""
        return np.array([title[:3] for title in self.titles], np.int64).reshape(-1, 3)

    @property
    def blocks(self) -> Numbers:
        """A row for each block of code and the front matter: where it starts and ends."""
        places = [(item.start, item.end) for item in self.passages if item.kind in ("code", "front matter")]
        return np.array(places, np.int64).reshape(-1, 2)

    def headings(self) -> tuple[Heading, ...]:
        """All headings, each with its section."""
        return tuple(
            Heading(start, end, level, words.decode(errors="replace"), stop)
            for (start, end, level, words), stop in zip(self.titles, self.section_ends, strict=True)
        )

    @cached_property
    def _passage_starts(self) -> list[int]:
        return [item.start for item in self.passages]

    def passages_near(self, position: int) -> tuple[Passage, ...]:
        """The two passages that begin last at or before a byte, and the next one, which may have a lead there."""
        following = bisect_right(self._passage_starts, position)
        if following not in self._near:
            self._near[following] = self.passages[max(following - 2, 0) : following + 1]
        return self._near[following]


def _passages_of(rows: marks.Marks) -> tuple[Passage, ...]:
    """The passages that the kernel found."""
    parts = rows.parts.tolist()
    return tuple(
        Passage(
            start, end, marks.KINDS[kind], (lead, lead_end) if lead >= 0 else None, tuple(parts[first : first + count])
        )
        for start, end, kind, lead, lead_end, first, count in rows.passages.tolist()
    )


def marks_in(content: bytes, form: _Format) -> Markup:
    """Read the headings and passages of a text."""
    passages_found: tuple[Passage, ...]
    if form in marks.WHOLE:
        front = passages.front_matter(content) if form == "markdown" else 0
        rows = marks.read_marks(content, form, front=front, words=_CHAPTER_WORDS)
        passages_found = _passages_of(rows)
        titles = [
            (start, end, level, content[words:words_end])
            for start, end, level, words, words_end in rows.titles.tolist()
        ]
        if form == "roff":
            titles = [(*place, _ROFF_SIGNS.sub(b"", words).strip()) for *place, words in titles]
    else:
        reading = _read_marks(content, form)
        titles, passages_found = reading.headings, _with_lists(reading, form)
    titles = _without_false(titles, content, form)
    heads = _page_heads(content) if form == "text" else []
    if heads and len(titles) * _RUNNING[1] <= len(heads):  # headings span several pages
        return Markup([head for head, _ in heads], [end for _, end in heads], passages_found)
    return Markup.of(titles, passages_found, length=len(content))


_MOST_WORDS = {"text": 3, "man": 2}
"""Words of a heading that ends with a colon, where no sign marks a heading: a longer one is a sentence."""
_MARKED_WORDS = 6
_PLAIN = re.compile(rb"[`*_\\]|\[|\]\([^()]*\)")
_ROFF_SIGNS = re.compile(rb"\\f.|\\&|\"")
_NO_TITLE = re.compile(rb"\{[{%].*[%}]\}|\|.*\|", re.DOTALL)  # of a template, of a table
_NO_TEXT_TITLE = re.compile(  # a command, a line of a difference, of code or of a table, a name in brackets
    rb"(?:[$>%#+] |>>>|---|\+\+\+|@@|diff |Index: ).*|.*[;{}]|.*[ \t]\|[ \t].*|\[[^\]\d]*\]|.*(?:   |\t).*", re.DOTALL
)
_NEAR_WIDTH = 3  # characters that a line below a title may be shorter or longer


def _without_false(titles: Iterable[Title], content: bytes, form: _Format) -> list[Title]:
    """Leave out headings inside another, repetitions of the parent, and what is none by its words."""
    kept: list[Title] = []
    above: list[tuple[int, list[bytes]]] = []  # the headings that the next one may stand in: level and words
    for title in sorted(set(titles)):
        start, end, level, words = title
        plain = _PLAIN.sub(b"", words).split()
        around = [heading for heading in above if heading[0] < level]
        is_inside = kept and start < kept[-1][1]
        if is_inside or (around and around[-1][1] == plain) or _is_false(content[start:end], words, plain, form):
            continue
        kept.append(title)
        above = [*around, (level, plain)]
    return kept


def _is_false(heading: bytes, words: bytes, plain: list[bytes], form: _Format) -> bool:
    """Whether a heading is a sentence that ends with a colon, code, or a row of a table."""
    if words.endswith((b":", b"\xef\xbc\x9a")) and len(plain) > _MOST_WORDS.get(form, _MARKED_WORDS):
        return True
    if _NO_TITLE.fullmatch(words):
        return True
    return form == "text" and (_NO_TEXT_TITLE.fullmatch(words) is not None or not _fits_below(heading, words))


def _fits_below(heading: bytes, words: bytes) -> bool:
    """Whether the line below a title, if it has one, is about as wide: others close a block or divide a text."""
    _, is_underlined, line = heading.rpartition(b"\n")
    text, width = words.decode(errors="ignore"), len(line.strip())
    columns = sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)
    return not is_underlined or len(text) - _NEAR_WIDTH <= width <= columns + _NEAR_WIDTH


def _read_marks(content: bytes, form: _Format) -> Reading:
    """Handle each mark of a text."""
    reading = Reading(content, b"\n" + content)
    end = passages.front_matter(content) if form in ("org", "asciidoc") else 0
    if end:
        reading.passages.append(Passage(0, end, "front matter"))
    pattern, position = _pattern(form), end + 1 if end else 0
    while (mark := pattern.search(reading.text, position)) is not None:
        handle = _MARKS.get(mark.lastgroup or "")
        position = max(handle(reading, mark) if handle is not None else mark.end(), mark.start() + 1)
    return reading


def _with_lists(reading: Reading, form: _Format) -> tuple[Passage, ...]:
    """The passages of a text with the lists and tables that stand outside of its titles and other passages."""
    content, stretches = reading.content, reading.passages
    if form in marks.FORMS:
        spans = sorted([item[:2] for item in reading.headings] + [(item.start, item.end) for item in stretches])
        rows = marks.read_marks(content, form, passed=np.array(spans, np.int64).reshape(-1, 2))
        stretches = [*stretches, *_passages_of(rows)]
    return tuple(sorted(stretches, key=lambda passage: (passage.start, -passage.end, passage.kind)))


_MARKS = {**_OWN_MARKS, **passages.MARKS}

# The marks of each format. The text has a newline in front, so that each mark begins with one.


_RULE = rb"\n(?P<rule>(?P<sign>[=\-~^\"'`#*+:.<>_])(?P=sign){2,}+[ \t]*+\r?(?=\n|\Z))"
_WIKI = rb"\n(?P<wiki>={2,6}+[ \t]*+[^=\n]{1,200}={2,6}+[ \t]*+\r?(?=\n|\Z))"
_ENVIRONMENTS = (
    rb"verbatim|lstlisting|minted|alltt|itemize|enumerate|description|tabular|table|longtable|quote|quotation|verse"
)
_CAPITALS = (  # with something below that is indented
    rb"\n(?P<caps>(?![ \t])(?=[^\n]{0,60}[A-Z]{2})[A-Z0-9\x80-\xff][A-Z0-9 ,/&'()\x80-\xff-]{1,60}+\r?(?=\n[ \t]+\S))"
)
_PATTERNS: dict[_Format, tuple[bytes, ...]] = {
    "rst": (
        rb"\n[ \t]*+(?P<directive>\.\.[ \t]+(?P<named>[\w:-]*+)[^\n]*+)", _RULE,
        rb"\n(?P<simple>[ \t]*+={2,}+(?:[ ]++={2,}+)++[ \t]*+\r?(?=\n|\Z))",
        rb"\n(?P<literal>[^\n]*+(?:(?<=::)|(?<=::\r))(?=\n[ \t]*+\r?\n[ \t]))",
    ),
    "asciidoc": (
        rb"\n(?P<title>(?P<signs>={1,6}|\#{1,6})[ \t]+\S[^\n]*+)",
        rb"\n(?P<block>-{3,}+|={3,}+|~{3,}+|\^{3,}+|`{3,}+|\.{4,}+|\+{4,}+|_{4,}+|\*{4,}+|\|===)[ \t]*\r?(?=\n|\Z)",
    ),
    "org": (
        rb"\n(?P<title>(?P<signs>\*{1,12})[ \t]+\S[^\n]*+)",
        rb"\n[ \t]*+(?P<begin>\#\+(?:begin|BEGIN)_(?P<what>\w+))",
    ),
    "latex": (
        rb"(?P<command>\\(?P<word>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?[ \t]*(?:\[[^\]\n]*\])?\{)",
        rb"(?P<environment>\\begin\{(?P<what>" + _ENVIRONMENTS + rb")\*?\})",
        rb"(?P<remark>(?<!\\)%[^\n]*+)",
    ),
    "man": (_CAPITALS, rb"\n(?P<inset>[ ]{3}(?=[A-Z])\w[^\n]{0,60}\r?(?=\n[ ]{7,}\S))"),
    "wiki": (_WIKI, rb"\n(?P<braces>\{\|)"),
    "html": (),
    "text": (),
}  # fmt: skip
_HTML = (
    rb"(?P<tag><h(?P<level>[1-6])\b)",
    rb"(?P<element><(?P<slash>/?)(?P<what>pre|ul|ol|table|blockquote)\b)",
    rb"(?P<comment><!--)",
)


_CHAPTER_WORDS = b"".join(
    word + b"\n"
    for words in ("chapter part section appendix", "Chapter Part Section Appendix Kapitel Teil")
    for small in words.encode().split()
    for word in ((small,) if words[0] == "c" else (small, small.upper()))
)


@lru_cache(maxsize=16)
def _pattern(form: _Format) -> re.Pattern[bytes]:
    if form == "html":
        return re.compile(b"|".join(_HTML), re.IGNORECASE)
    marks = _PATTERNS[form]
    return _of_lines(marks) if all(mark.startswith(rb"\n") for mark in marks) else re.compile(b"|".join(marks))


def _of_lines(marks: Iterable[bytes]) -> re.Pattern[bytes]:
    """Factor out the common prefix of all marks, at least a newline, so that the engine jumps from line to line."""
    marks = list(marks)
    prefix = next(start for start in (rb"\n\.[ \t]*", rb"\n") if all(mark.startswith(start) for mark in marks))
    return re.compile(prefix + rb"(?:" + b"|".join(mark.removeprefix(prefix) for mark in marks) + rb")")


# ---- messages: Is a text a mailbox, or a chat?

_SAMPLE = 16_384  # bytes in which a chat must show itself
_LEAST = 3
_STAMP = rb"\[?\d[\d:/., TZAPMapm+-]{3,30}\]?[ \t]*+(?:-[ \t]+)?+"
_TURN = re.compile(
    rb"\n(?:" + _STAMP + rb")?+(?:<[ @+~&%]?(?P<nick>[^>\n]{1,32})>"
    rb"|(?P<speaker>[A-Za-z\x80-\xff][^\n:.!?|<>()\[\]{}#=/\\]{0,31})"
    rb"(?:[ \t]*\([^()\n]{4,40}\))?(?::|\xef\xbc\x9a(?=\S)))(?=[ \t]|(?<=\x9a)|\r?\n)"
)
_HEADER = re.compile(rb"(?P<name>[A-Za-z][A-Za-z-]{1,40}):[ \t]*(?P<value>[^\n]*(?:\n[ \t]+[^\n]*)*)\n?")
_FILLED = re.compile(rb"^[^\S\n]*+\S", re.MULTILINE)
_PARAGRAPH = re.compile(rb"\n[^\S\n]*+\n(?=\S)")
_MAIL_NAMES = frozenset((b"from", b"to", b"subject", b"date", b"cc", b"message-id", b"received", b"return-path"))
_MBOX = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]{1,200}\n(?=[A-Za-z][A-Za-z-]{1,40}:)")


def has_messages(content: bytes) -> bool:
    r"""Whether a text is a mailbox of several mails, or a chat.

    >>> has_messages(b"Ada: Tea?\nBob: Yes.\nAda: Now.\n"), has_messages(b"From: Ada\nTo: Bob\n\nTea?\n")
    (True, False)
    """
    if starts := _mails(content):
        return len(starts) > 1
    return not _is_mail(content) and _is_chat(content)


def _mails(content: bytes) -> list[int]:
    """The starts of the mails of a mailbox."""
    return [separator.start() for separator in _MBOX.finditer(content)] if content.startswith(b"From ") else []


def _is_mail(content: bytes) -> bool:
    """Whether a text begins with at least two headers of a mail, one below the other."""
    names, position = set(), 0
    for _ in range(40):
        header = _HEADER.match(content, position, position + 4_000)
        if header is None:
            break
        names.add(header["name"].lower())
        position = header.end()
    return b"from" in names and len(names & _MAIL_NAMES) >= 2


def _is_chat(content: bytes) -> bool:
    """Most lines of the beginning are "Speaker: words", or the beginnings of most paragraphs are.

    Where every speaker speaks once these are keys of a list, not people.
    """
    sample = content[:_SAMPLE]
    lines, paragraphs = len(_FILLED.findall(sample)), len(_PARAGRAPH.findall(sample)) + 1

    def are_enough(turns: int) -> bool:
        return turns >= _LEAST and (turns * 2 >= lines or (turns * 10 >= paragraphs * 7 and paragraphs >= _LEAST))

    if not are_enough(len(_TURN.findall(b"\n" + sample))):
        return False
    speakers = [turn["nick"] or turn["speaker"].strip() for turn in _TURN.finditer(b"\n" + content)]
    return len(speakers) <= 2 * _LEAST or len(set(speakers)) * 10 <= len(speakers) * 9
