"""What does a web page say, as Markdown?

One pass over the tags, without a tree: time and memory grow with the page, however its tags are nested. (A tree
builder that follows the standard needs minutes for two megabytes of `<div>`, and can be made to copy unclosed
`<font>` tags a million times.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

from brimful.documents.encodings import decode
from brimful.documents.loaders.loaded import Canon, Loaded, fenced, table_row
from brimful.documents.skips import Refusal, SourceSettings

_HIDDEN = frozenset("script style noscript template select iframe object canvas noembed noframes annotation".split())
_RAW = frozenset("script style xmp iframe noembed noframes textarea title plaintext".split())
_BLOCKS = frozenset(
    "p div section article main header footer nav aside address figure figcaption form fieldset details summary dialog "
    "dl dt dd center body html hgroup legend search menu".split()
)
_NAVIGATION_TAGS = frozenset("nav footer".split())
_NAVIGATION_ROLES = frozenset("navigation contentinfo search".split())
_AROUND_MAIN = frozenset("aside header complementary".split())  # tags and roles: navigation around a `main` only
_NAMED_TAGS = frozenset("div aside ul ol header form dialog p table td".split())
_NAMES = re.compile(
    r"(?P<side>side-?bar)|\bnav(?!y)|nav(?:bar|igation)?\b|breadcrumb|footer|pagination|prev-?next|\brelated(?:-links)?\b|skip-?link"
    r"|social-share|gdpr|cookie|consent"
)
_SHORT = 1_500  # characters of a navigation bar or footer, at most
_LINK_SIGNS = frozenset(
    "headerlink permalink hash-link header-anchor heading-anchor skip-link skiplink skip-nav skip-to-content "
    "skip-to-main".split()
)
_SIGNS_BEHIND = "\u00b6\uf0c1\U0001f517"  # what marks a heading as something to link to
_CODE = frozenset({"code", "tt", "kbd"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CLOSING = _BLOCKS | _HEADINGS.keys() | frozenset("li tr td th caption ul ol pre blockquote table".split())
_DEEPEST = 8  # lists, quotes and tables nested further are written as if they were not
_TAG = re.compile(
    r"<(?:(?P<comment>!--(?:>|->|.*?(?:--!?>|\Z)))|(?P<bogus>[!?][^>]*(?:>|\Z)|/(?![a-zA-Z])[^>]*(?:>|\Z))"
    r"|(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*+)"
    r"(?P<attributes>(?>[\s/]+|[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?>\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^\s>\"'][^\s>]*+))?|=)*+)"
    r"(?P<end>>|\Z))",
    re.DOTALL,
)
# A name without a value is consumed too, so that the next match does not start within it.
_ATTRIBUTE = re.compile(r"([^\s/>=]++)(?:\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s>]++)))?")
_MAIN = re.compile(r"<main[\s>]", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_PROLOG = re.compile(rb"\s*<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.:-]+)")


_Blocks = list[tuple[str, bool, str | None]]


@dataclass(slots=True)
class Page:
    """A page's title and its blocks: (text, joined to the one before without a blank line, label)."""

    title: str | None = None
    blocks: _Blocks = field(default_factory=list)


def load_html(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Readable text with headings, lists, tables and code; one label per heading, its anchor where it has one."""
    text, rule = decode_page(raw, settings.encoding)
    page = read_page(text, max_chars=settings.max_part_bytes)
    canon = write_page(page, max_bytes=settings.max_text_bytes)
    yield canon.loaded(path, f"html:{rule}", title=page.title)


def decode_page(raw: bytes, encoding: str | None) -> tuple[str, str]:
    """A page's text and the rule that gives it: the encoding named by the caller, or by the page."""
    declared = _PROLOG.match(raw[:1024]) or _CHARSET.search(raw[:4096])
    content, chosen = decode(raw, encoding=encoding or (declared[1].decode("ascii", "ignore") if declared else None))
    return content.decode().removeprefix("\ufeff"), chosen.rule


def write_page(page: Page, *, max_bytes: int, canon: Canon | None = None) -> Canon:
    """Join a page's blocks; the title stands first where no heading of the first level does."""
    canon = canon or Canon(max_bytes=max_bytes)
    blocks = page.blocks
    if page.title and not any(text.startswith("# ") for text, _, label in blocks if label):
        blocks = [(f"# {page.title}", False, page.title), *blocks]
    for index, (text, tight, label) in enumerate(blocks):
        if index:
            canon.add("\n" if tight else "\n\n")
        if label:
            canon.label(label)
        canon.add(text)
    if blocks:
        canon.add("\n")
    return canon


def read_page(text: str, *, max_chars: int | None = None) -> Page:
    """Parse a page of up to `max_chars` characters, without its navigation if it says anything else.

    >>> page = read_page("<title>T</title><h2 id=a>Tea &amp; milk</h2><ul><li>hot<li>cold</ul><script>no</script>")
    >>> page.title, [block for block, _, _ in page.blocks]
    ('T', ['## Tea & milk', '- hot', '- cold'])
    """
    if max_chars is not None and len(text) > max_chars:
        raise Refusal("too_large", f"a page of {len(text)} characters, more than max_part_bytes = {max_chars}")
    writer = _Writer(has_main=_MAIN.search(text) is not None)
    page = _write(text, writer)
    return page if page.blocks and writer.hidden is None else _write(text, _Writer(keeps_all=True))


def _write(text: str, writer: _Writer) -> Page:
    position = 0
    while (tag := _TAG.search(text, position)) is not None:
        writer.text(text[position : tag.start()])
        position = tag.end()
        if tag["name"] is None or tag["end"] == "":
            continue
        name = tag["name"].lower()
        if not tag["close"] and name in _RAW:
            end = re.compile(rf"</{name}(?=[\s/>])[^>]*>?|\Z", re.IGNORECASE).search(text, position)
            assert end is not None
            if name == "title" and writer.page.title is None:
                writer.page.title = " ".join(unescape(text[position : end.start()]).split()) or None
            elif name in ("xmp", "plaintext", "textarea"):
                writer.text(text[position : end.start()])
            position = end.end()
        elif tag["close"]:
            writer.close(name)
        else:
            writer.open(name, tag["attributes"])
    writer.text(text[position:])
    return writer.finish()


@dataclass(slots=True)
class _Region:
    """An element that may be navigation: where it began, and how much of its text is links."""

    name: str
    kind: str  # "tag" by its tag or role; "bar" or "side" by its class or id
    blocks: _Blocks
    start: int
    state: tuple[int, int, int, int]  # open lists, tables, quotes and `pre`
    characters: int
    link_characters: int
    depth: int = 1


class _Writer:
    """Turns tags and text into blocks."""

    def __init__(self, *, has_main: bool = False, keeps_all: bool = False) -> None:
        self.has_main = has_main
        self.keeps_all = keeps_all
        self.mains = 0
        self.regions: list[_Region] = []
        self.bars: list[tuple[int, int]] = []  # blocks that are navigation if nothing but navigation is around them
        self.characters = self.link_characters = 0
        self.in_link = False
        self.page = Page()
        self.blocks = self.page.blocks
        self.inline: list[str] = []
        self.hidden: str | None = None
        self.hidden_depth = 0
        self.pre = 0
        self.heading = 0
        self.anchor: str | None = None
        self.lists: list[int | None] = []  # the next number, or None for bullets
        self.marker: str | None = None
        self.tight = False
        self.quotes = 0
        self.tables: list[tuple[list[list[_Blocks]], _Blocks]] = []  # rows of cells, and the blocks around the table

    def text(self, text: str) -> None:
        if text and self.hidden is None:
            self.inline.append(unescape(text) if "&" in text else text)
            if self.regions:
                size = len(text.strip())
                self.characters += size
                self.link_characters += size * self.in_link

    def open(self, name: str, attributes: str) -> None:
        if self.hidden is not None:
            if name == self.hidden and not attributes.endswith("/"):
                self.hidden_depth += 1
            return
        for region in self.regions:
            region.depth += region.name == name
        kind = _navigation_kind(name, attributes, around_main=self.has_main and not self.mains)
        if name in _HIDDEN or (kind == "sign" and not self.keeps_all):
            if not (attributes.endswith("/") or self.keeps_all):
                self.hidden, self.hidden_depth = name, 1
            return
        if kind and not self.keeps_all and len(self.regions) < _DEEPEST:
            self.flush()
            state = len(self.lists), len(self.tables), self.quotes, self.pre
            self.regions.append(
                _Region(name, kind, self.blocks, len(self.blocks), state, self.characters, self.link_characters)
            )
        self.open_text(name, attributes)

    def open_text(self, name: str, attributes: str) -> None:
        if name == "a":
            self.in_link = True
            self.anchor = self.anchor or attribute(attributes, "name")
        elif name in _HEADINGS:
            self.flush()
            self.heading = _HEADINGS[name]
            self.anchor = attribute(attributes, "id") or self.anchor
        elif name in ("br", "wbr"):
            self.inline.append("\n" if self.pre else "\0" if name == "br" else "")
        elif name == "img":
            self.inline.append(unescape(attribute(attributes, "alt") or ""))
        elif name in _BLOCKS:
            self.flush()
            self.mains += name == "main"
            self.anchor = attribute(attributes, "id") if name in ("section", "article", "div") else None
            self.heading = 0 if name == "p" else self.heading  # a heading that was never closed
        elif name in _CODE and not self.pre:
            self.inline.append("\1")
        else:
            self.open_structure(name, attributes)

    def open_structure(self, name: str, attributes: str) -> None:
        if name in ("ul", "ol"):
            self.flush()
            start = attribute(attributes, "start") or "1"
            self.lists.append((int(start) if re.fullmatch(r"\d{1,9}", start) else 1) if name == "ol" else None)
        elif name == "li":
            self.flush()
            self.open_item()
        elif name == "pre":
            self.flush()
            self.pre += 1
        elif name == "blockquote":
            self.flush()
            self.quotes += 1
        elif name == "hr":
            self.flush()
        elif name == "table" and len(self.tables) < _DEEPEST:
            self.flush()
            self.tables.append(([], self.blocks))
        elif name == "tr" and self.tables:
            self.flush()
            self.tables[-1][0].append([])
        elif name in ("td", "th") and self.tables:
            self.flush()
            rows, _ = self.tables[-1]
            if not rows:
                rows.append([])
            self.blocks = []
            rows[-1].append(self.blocks)
        elif name in ("table", "caption", "tr", "td", "th"):
            self.flush()

    def open_item(self) -> None:
        self.marker = "- "
        if self.lists and (number := self.lists[-1]) is not None:
            self.marker = f"{number}. "
            self.lists[-1] = number + 1

    def close(self, name: str) -> None:
        if self.hidden is not None:
            if name == self.hidden:
                self.hidden_depth -= 1
                if not self.hidden_depth:
                    self.hidden = None
            return
        if name in _CODE and not self.pre:
            self.inline.append("\2")
        elif name == "text":  # of a drawing
            self.inline.append(" ")
        elif name == "a":
            self.in_link = False
        else:
            self.close_block(name)
        for index, region in enumerate(self.regions):
            region.depth -= region.name == name
            if not region.depth:
                del self.regions[index:]
                self.close_region(region)
                return

    def close_block(self, name: str) -> None:
        if name in _CLOSING:
            self.flush()
        if name in _HEADINGS:
            self.heading = 0
        elif name == "main":
            self.mains -= 1
        elif name == "li":
            self.marker = None
        elif name in ("ul", "ol"):
            del self.lists[-1:]
        elif name == "pre":
            self.pre = max(self.pre - 1, 0)
        elif name == "blockquote":
            self.quotes = max(self.quotes - 1, 0)
        elif name == "table" and self.tables:
            self.close_table()

    def close_region(self, region: _Region) -> None:
        """Drop what an element wrote if it is navigation; what was left open in it ends with it."""
        self.flush()
        lists, tables, self.quotes, self.pre = region.state
        del self.lists[lists:]
        while len(self.tables) > tables:
            self.close_table()
        self.marker = None
        if self.blocks is not region.blocks:
            return
        size = self.characters - region.characters
        links = self.link_characters - region.link_characters
        written = self.blocks[region.start :]
        if region.kind == "tag":
            is_navigation = size <= _SHORT or 5 * links >= size
        else:
            is_navigation = 0 < size <= 2 * links and not any(text.startswith("# ") for text, _, _ in written)
        if is_navigation:
            del self.blocks[region.start :]
            self.characters, self.link_characters = region.characters, region.link_characters
            while self.bars and self.bars[-1][1] > region.start:
                self.bars.pop()
        elif (
            region.kind == "bar"
            and size <= _SHORT
            and self.blocks is self.page.blocks
            and not any(label for _, _, label in written)
        ):
            self.bars.append((region.start, len(self.blocks)))

    def drop_bars(self) -> None:
        """Drop short bars before the first heading and at the end of the page."""
        blocks = self.page.blocks
        heading = next((index for index, (_, _, label) in enumerate(blocks) if label), 0)
        end, dropped = len(blocks), set[int]()
        for start, stop in reversed(self.bars):
            if stop == end or stop <= heading:
                dropped.update(range(start, stop))
                end = start if stop == end else end
        self.page.blocks = [block for index, block in enumerate(blocks) if index not in dropped]

    def close_table(self) -> None:
        """Rows, if every cell is one line; a table that lays out a page gives its cells one after the other."""
        rows, self.blocks = self.tables.pop()
        plain = all(len(cell) <= 1 and "\n" not in "".join(b[0] for b in cell) for row in rows for cell in row)
        if not plain or any(label for row in rows for cell in row for _, _, label in cell):
            self.blocks.extend(block for row in rows for cell in row for block in cell)
            return
        lines = [[cell[0][0] if cell else "" for cell in row] for row in rows]
        lines = [line for line in lines if any(line)]
        if not lines:
            return
        written = [table_row(line) for line in lines]
        written.insert(1, table_row(["---"] * len(lines[0])))
        self.blocks.append(("".join(written).rstrip("\n"), False, None))

    def flush(self) -> None:
        """End the current block, if it has any text."""
        inline = "".join(self.inline)
        self.inline.clear()
        if self.pre:
            if inline.strip():
                self.append(fenced(inline.strip("\n").replace("\0", "")).rstrip("\n"), None)
            return
        lines = [" ".join(line.split()) for line in inline.split("\0")]
        text = "\n".join(line for line in lines if line)
        text = re.sub("\1\\s*\2", "", text).replace("\2\1", "")  # code without text, and code in two elements
        text = text.replace("\1", "`").replace("\2", "`").rstrip(_SIGNS_BEHIND).rstrip()
        if not text:
            return
        if self.heading:
            text = " ".join(text.split("\n"))
            label = f"#{self.anchor}" if self.anchor else text
            self.anchor = None
            self.append(f"{'#' * self.heading} {text}", label)
        else:
            self.append(text, None)

    def append(self, text: str, label: str | None) -> None:
        depth = min(len(self.lists), _DEEPEST)
        item = self.marker is not None
        if depth or item:
            indent = "  " * max(depth - 1, 0)
            first = indent + (self.marker or "  ")
            hanging = indent + " " * len(self.marker or "  ")
            text = first + text.replace("\n", "\n" + hanging)
            self.marker = None
        if self.quotes:
            text = re.sub("^", "> " * min(self.quotes, _DEEPEST), text, flags=re.MULTILINE)
        self.blocks.append((text, item and self.tight, label))
        self.tight = bool(depth)

    def finish(self) -> Page:
        self.flush()
        while self.tables:
            self.close_table()
        self.drop_bars()
        return self.page


def _navigation_kind(name: str, attributes: str, *, around_main: bool) -> str | None:
    """Why an element may be navigation: its tag or role, or its class or id; or a sign to link to, which is hidden."""
    if name in _NAVIGATION_TAGS or (around_main and name in _AROUND_MAIN):
        return "tag"
    if not attributes or name in ("html", "body", "main", "article"):
        return None
    role = (attribute(attributes, "role") or "").lower()
    if role in _NAVIGATION_ROLES or (around_main and role in _AROUND_MAIN):
        return "tag"
    if name != "a" and name not in _NAMED_TAGS:
        return None
    names = f"{attribute(attributes, 'class') or ''} {attribute(attributes, 'id') or ''}".lower()
    if name == "a":
        return "sign" if any(name in _LINK_SIGNS for name in names.split()) else None
    match = _NAMES.search(names)
    if match is None:
        return None
    return "side" if match["side"] and not around_main else "bar"


def tags_in(text: str) -> Iterator[tuple[str, str]]:
    """The tags that open, by their names without a prefix, and their attributes."""
    for tag in _TAG.finditer(text):
        if tag["name"] and not tag["close"]:
            yield tag["name"].lower().rpartition(":")[2], tag["attributes"]


def attribute(attributes: str, wanted: str) -> str | None:
    """The value of an attribute; None for one that is missing or empty."""
    if wanted not in attributes.lower():
        return None
    for match in _ATTRIBUTE.finditer(attributes):
        if match[1].lower() == wanted and match.end() > match.end(1):
            return unescape(match[2] or match[3] or match[4] or "") or None
    return None
