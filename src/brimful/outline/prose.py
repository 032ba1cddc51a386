"""Where may prose be cut: sentences, paragraphs, headings?"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from brimful.outline.cuts import UNIT_AIM, Cuts, break_long, divide, line_starts, settle
from brimful.outline.outlines import Block, Outline
from brimful.outline.passages import Heading, Passage, Title
from brimful.outline.structures import structure
from brimful.text.spans import Span

# ---- sentences: Where does a sentence end, and does the next one lean on it?

_CLOSERS = rb"(?:[\"')\]*_`]|\xe2\x80[\x99\x9c\x9d\xba]|\xc2[\xab\xbb]|\[\d{1,4}\]){0,8}+"
_GAP = rb"(?:[ \t\r\n]*\n|(?:[ \t\r]|\xc2\xa0|\xe3\x80\x80|\xe2\x80\xaf)++)"
# Signs that end a sentence when blank space follows: . ! ? … ؟ ۔ ։ ።
_NARROW = re.compile(
    rb"(?:\.|!|\?|\xe2\x80\xa6|\xd8\x9f|\xdb\x94|\xd6\x89|\xe1\x8d\xa2)"  # one by one: the engine then skips fast
    rb"(?<![.!?][.!?])(?:[.!?]|\xe2\x80\xa6|\xd8\x9f|\xdb\x94|\xd6\x89|\xe1\x8d\xa2){0,64}+" + _CLOSERS + _GAP,
)
_NARROW_ASCII = re.compile(rb"[.!?](?<![.!?][.!?])[.!?]{0,64}+" + _CLOSERS + _GAP)
# Signs that need no blank space: 。！？．｡ । ॥ ។ ။ — but not a full-width decimal point,
# nor a quotation that its sentence goes on after.
_WIDE = re.compile(
    rb"(?:\xe3\x80\x82|\xef\xbc(?:[\x81\x9f]|\x8e(?!\xef\xbc[\x90-\x99]))|\xef\xbd\xa1|\xe0\xa5[\xa4\xa5]"
    rb"|\xe1\x9f\x94|\xe1\x81\x8b)++"
    rb"(?:\xe3\x80[\x8d\x8f\x91\x8b\x89]|\xef\xbc\x89|\xef\xbd\xa3|\xe2\x80[\x99\x9d]|[\"')\]])*+"
    rb"(?!\xe3\x81\xa8|\xe3\x81\xa3\xe3\x81\xa6|\xe3\x80\x81|\xef\xbc\x8c)(?:" + _GAP + rb")?"
)
_WIDE_SIGNS = (
    b"\xe3\x80\x82", b"\xef\xbc\x81", b"\xef\xbc\x9f", b"\xef\xbc\x8e", b"\xef\xbd\xa1",
    b"\xe0\xa5\xa4", b"\xe0\xa5\xa5", b"\xe1\x9f\x94", b"\xe1\x81\x8b",
)  # fmt: skip


def _words(text: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in text.split())


# Always followed by what they belong to.
_NEVER = _words(
    "mr mrs ms mx dr prof st ste rev hon gen col lt sgt capt cmdr maj gov sen rep messrs mme mlle sra dra "
    "vs cf e.g i.e eg ie viz approx ca resp incl bzw vgl evtl ggf sog hr fr frl dipl ing inkl exkl zzgl "
    "z.b d.h u.a s.o s.u v.a i.d.r u.u o.ä z.t z.zt m.e i.a b.z.w p.ej av ed eds hrsg geb gest mt ft "
    "univ dept asst assoc op cit ibid loc str abb tab anm"
)
# Followed by a number they belong to; before anything else they may be the last word.
_BEFORE_NUMBER = _words(
    "no nos nr fig figs vol vols pp p ch chap sec sect eq eqs ref refs art abs bd s núm n pág page § "
    "jan feb mar apr jun jul aug sep sept oct okt nov dec dez mon tue wed thu fri sat sun"
)
# Often the last word of a sentence: the next word decides.
_EITHER = _words("etc usw usf uvm inc ltd co corp bros jr sr al ph.d m.d b.a m.a ff a.d b.c a.m p.m u.s u.k u.n")
# Words that open a sentence, and hardly ever continue a name.
_OPENERS = _words(
    "The A An This That These Those It He She They We You I In On At As If When While After Before But And Or "
    "So For To From With By His Her Their Its Our My There Here However Although Because Since Such Both Each "
    "Some Many Most Not No What Who Where Why How Der Die Das Ein Eine Er Sie Es Wir Ich Und Aber Doch Auch Im "
    "Dann Da Dort Hier Nun Then Thus Later "
    "Am Bei Mit Nach Von Zu Für Auf Als Wenn Diese Dieser Dieses Dabei Danach Seit Le La Les Un Une Il Elle Ils "
    "Elles Nous Vous Mais Et Dans En Pour Ce Cette Ces El Los Las Una Ella Ellos Pero Y Con Por Para Este Esta"
)
_ORDINAL_NOUNS = _words(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Jahrhundert "
    "Jahrhunderts Auflage Klasse Platz Kapitel Weltkrieg Weltkriegs Bundesliga Tag Mal Runde Stock Etage Liga "
    "Geburtstag Lebensjahr Armee Division Republik Internationale Semester Woche Teil Staffel Spieltag Ausgabe"
)
_ORDINAL_BEFORE = _words("am der die das dem den des im vom zum zur beim seit bis ab jeden jeder jede ihren seinen")
_CAPITALS, _SMALL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
_CASE_SAMPLE = 16_384
_ROMAN = re.compile(rb"[IVXLC]{1,6}$")
_NEXT_WORD = re.compile(rb"(?:[\"'(\[]|\xe2\x80[\x98\x9c\x9e]|\xc2[\xab\xbb])*([A-Za-z\x80-\xff]+)")


def sentence_starts(content: bytes) -> list[int]:
    """Positions where a sentence starts after another; blank space belongs to the one before.

    At a line's start the indentation goes with the new sentence.

    >>> sentence_starts(b"Dr. Ada paid 3.50 e.g. for tea. It was U.S. tea. Fine.")
    [32, 49]
    """
    length = len(content)
    starts: list[int] = []
    plain, cased = content.isascii(), _is_cased(content)
    for found in (_NARROW_ASCII if plain else _NARROW).finditer(content):
        position, at = found.end(), found.start()
        if position >= length:
            break
        following = content[position]
        if following in b" \t":
            stripped = content[position : position + 64].lstrip()
            following = stripped[0] if stripped else 32
        if (97 <= following <= 122 and cased) or following in b",;:":
            continue
        if following >= 0xC3 and cased and _is_lower(content, position):
            continue
        if content[at] == 46 and _goes_on(content, at, position):
            continue
        starts.append(position)
    if not plain and any(sign in content for sign in _WIDE_SIGNS):
        wide = [found.end() for found in _WIDE.finditer(content)]
        starts = sorted({*starts, *(position for position in wide if position < length)})
    return starts


def _is_cased(content: bytes) -> bool:
    """Do capitals mean anything here? Not in a text that has next to none."""
    sample = content[:_CASE_SAMPLE]
    letters = len(sample) - len(sample.translate(None, _CAPITALS + _SMALL))
    return not sample.isascii() or (len(sample) - len(sample.translate(None, _CAPITALS))) * 100 >= letters


def _is_lower(content: bytes, position: int) -> bool:
    return content[position : position + 4].decode(errors="ignore")[:1].islower()


def _goes_on(content: bytes, stop: int, position: int) -> bool:
    """Does the full stop at `stop` belong to an abbreviation, an initial, an ordinal or a directive?"""
    if content[stop + 1] == 46:
        # The dots of a directive, `.. note::`, and of a line in a session, `...     pour()`, end nothing.
        begins = content[content.rfind(b"\n", 0, stop) + 1 : stop].strip() == b""
        if content[stop + 2] != 46:
            return begins or content[max(stop - 1, 0) : stop].strip() == b""
        return begins and content[stop + 3] != 46
    before = content[max(stop - 24, 0) : stop]
    parts = before.split()
    if not parts or before[-1] in b" \t\r\n":
        return False
    word = parts[-1].lstrip(b"([\"'")
    if len(word) > 8 or not word:
        return False
    if word.isdigit():
        return _is_ordinal(content, word, before=parts, position=position)
    lower = word.lower()
    if lower in _NEVER or (len(word) == 1 and word.islower()):
        return True
    if len(word) == 1 and len(parts) > 1 and parts[-2] in (b"z.", b"d.", b"u.", b"i.", b"o.", b"v.", b"s."):
        return True
    if lower in _BEFORE_NUMBER:
        return content[position] in b"0123456789"
    if lower in _EITHER or len(word) == 1 or b"." in word or _ROMAN.match(word):
        return not _opens(content, position)
    return False


def _opens(content: bytes, position: int) -> bool:
    found = _NEXT_WORD.match(content, position, position + 24)
    return found is None or found[1] in _OPENERS or found[1].title() in _OPENERS


def _is_ordinal(content: bytes, number: bytes, *, before: list[bytes], position: int) -> bool:
    """German ordinals ("am 3. Mai"), and the numbers of a list at a line's start."""
    if len(number) > 2:
        return False
    found = _NEXT_WORD.match(content, position, position + 24)
    if found is not None and found[1] in _ORDINAL_NOUNS:
        return True
    if len(before) > 1:
        return before[-2].lower() in _ORDINAL_BEFORE and found is not None and found[1] not in _OPENERS
    line = content.rfind(b"\n", 0, position - 1) + 1
    return content[line:position].strip()[:-1] == number


_BACKWARD = _words(
    "he she it they him them this these that those such his her hers their theirs its both neither "
    "er sie es ihm ihn ihnen ihr ihre ihrer ihren sein seine seiner seinem seinen "
    "dies diese dieser dieses diesem diesen jene jener jenes solche solcher solches dessen deren dabei dadurch "
    "dafür damit danach daraus darin darauf darüber davon dazu "
    "il elle ils elles ce cet cette ces cela ceci ça celui celle ceux celles leur leurs lui sa ses "
    "él ella ello ellos ellas este esta esto estos estas ese esa eso esos esas aquel aquella aquello "
    "su sus esto dicho dicha dichos dichas "
    "egli ella essi esse questo questa questi queste quello quella "
    "ele eles elas isso isto aquilo esse essa"
)
_BACKWARD_CJK = (
    "他",
    "她",
    "它",
    "牠",
    "这",
    "這",
    "那",
    "此",
    "其",
    "彼",
    "それ",
    "これ",
    "その",
    "この",
    "そこ",
    "あれ",
    "그",
    "이것",
)
_ELISIONS = (
    "c'",
    "c’",
    "it's",
    "it’s",
    "he's",
    "he’s",
    "she's",
    "she’s",
    "that's",
    "that’s",
    "they're",
    "they’re",
)
# Openings whose pronoun stands for nothing, and fixed phrases.
_EMPTY = re.compile(
    r"(?:es gibt|es gab|il y a|il faut|such as|that said|that is to say|her majesty|his majesty"
    r"|this (?:paper|article|document|chapter|section|book|page|file|guide|report|study)\b|both .{1,40} and\b)"
)
_LATTER = re.compile(r"the (?:latter|former)\b")
_FIRST = re.compile(r"[\W\d_]*([^\W\d_]+(?:['’][^\W\d_]+|['’])?)")


def refers_back(content: bytes, start: int) -> bool:
    """Does the sentence at `start` open with a word whose meaning stands before it?

    >>> refers_back(b"Ada wrote notes. They became famous.", 17)
    True
    >>> refers_back(b"Ada wrote notes. They became famous.", 0)
    False
    """
    opening = content[max(start, 0) : max(start, 0) + 96].decode(errors="ignore").casefold()
    found = _FIRST.match(opening)
    if found is None:
        return False
    rest = opening[found.start(1) :]
    if _EMPTY.match(rest):
        return False
    first = found[1]
    if first.startswith(_BACKWARD_CJK) or first in _ELISIONS or first.startswith(("c'", "c’")):
        return True
    return first.rstrip("'’").encode() in _BACKWARD or _LATTER.match(rest) is not None


# ---- prose: Where may prose be cut: sentences, paragraphs, headings?

_BLANK = re.compile(rb"\n(?:[ \t\r]*+\n)++")
_HTML_BLOCK = re.compile(
    rb"(?i)<(?:(?P<para>p|div|section|article|table|ul|ol|blockquote|pre|header|footer|main|nav|aside|hr)\b"
    rb"|(?:li|tr|dt|dd|option|br)\b)"
)
_CELLS = re.compile(rb"\n(?=[^\n|]{1,200}+(?<=[ ])\|[ ])")  # a table row without a bar in front
_FAR = 4_000  # bytes
_WRAPPED = 200
"""No text is wrapped to lines of more bytes than this: a longer line is a paragraph."""


@dataclass(slots=True)
class _Shape:
    """What the outline says about a text, collected before any sentence is looked for."""

    hard: list[int] = field(default_factory=list)  # cuts that hold whatever the sentences say
    whole: list[int] = field(default_factory=list)  # hard cuts whose stretch is one unit when short enough
    sections: list[int] = field(default_factory=list)
    solid: list[tuple[int, int]] = field(default_factory=list)  # fences: lines only, no paragraphs inside


def outline_prose(content: bytes, *, language: str | None = None, path: str = "") -> Outline:
    """Sentences as units, paragraphs and heading blocks as sections, headings as blocks."""
    found = structure(content, kind="prose", language=language, path=path)
    shape = _Shape()
    if language == "html":
        _read_html(content, shape)
    else:
        _read_passages(content, shape, found.passages)
    is_chat = len(found.messages) > 1
    if is_chat:
        lines = line_starts(content).tolist()
        shape.hard += lines
        shape.whole += lines
    _add_paragraphs(content, shape, found.headings, chat=is_chat)
    starts = sentence_starts(content)
    if shape.solid:
        starts = _outside(np.array(starts, dtype=np.int64), shape.solid).tolist()
    if shape.whole:
        starts = _keep_whole(starts, settle(content, shape.hard).tolist(), whole=set(shape.whole))
    units = break_long(content, settle(content, shape.hard + starts))
    return Outline(
        "prose",
        language,
        len(content),
        units,
        divide(units, settle(content, shape.sections)),
        blocks=lambda: _heading_blocks(found.headings),
        structure=lambda: found,
    )


def _read_passages(content: bytes, shape: _Shape, passages: Iterable[Passage]) -> None:
    """Code and front matter are solid; list items and table rows are cuts."""
    for passage in passages:
        if passage.kind in ("code", "front matter"):
            _add_solid(content, shape, _line_start(content, passage.start), _line_end(content, passage.end))
        elif passage.kind in ("list", "table"):
            lead = passage.lead[0] if passage.lead and passage.kind == "table" else passage.start
            starts = [_line_start(content, each) for each in (lead, passage.start, *passage.parts)]
            shape.hard += [*starts, _behind(content, passage.end)]
            shape.whole += starts
    if b" | " in content:
        rows = [found.start() for found in _CELLS.finditer(b"\n" + content)]
        shape.hard += rows
        shape.whole += rows


def _line_start(content: bytes, position: int) -> int:
    """The start of the line that holds a byte, or the byte itself if that is far."""
    low = max(position - _FAR, 0)
    newline = content.rfind(b"\n", low, position)
    return newline + 1 if newline >= 0 or not low else position


def _line_end(content: bytes, position: int) -> int:
    """The position after the newline that ends a line, or the byte itself if that is far."""
    newline = content.find(b"\n", position, position + _FAR)
    if newline >= 0:
        return newline + 1
    return len(content) if len(content) <= position + _FAR else position


def _behind(content: bytes, position: int) -> int:
    """The next line with words."""
    end = _line_end(content, position)
    blank = _BLANK.match(content, end - 1) if end else None
    return blank.end() if blank is not None else end


def _add_solid(content: bytes, shape: _Shape, start: int, end: int) -> None:
    """A stretch whose lines are units and which is one section: a fence, a front matter."""
    shape.solid.append((start, end))
    shape.sections += (start, end)
    shape.hard += (start, end)
    position = content.find(b"\n", start, end)
    while position >= 0:
        shape.hard.append(position + 1)
        position = content.find(b"\n", position + 1, end)


def _read_html(content: bytes, shape: _Shape) -> None:
    for found in _HTML_BLOCK.finditer(content):
        shape.hard.append(found.start())
        if found["para"] is not None:
            shape.sections.append(found.start())


def _add_paragraphs(content: bytes, shape: _Shape, titles: Sequence[Heading], *, chat: bool) -> None:
    """Paragraph starts are hard cuts and sections, save the one that follows its heading."""
    after_heading: set[int] = set()
    for title in titles:
        start, body = title.start, _behind(content, title.end)
        shape.hard += (start, body)
        shape.whole.append(start)
        shape.sections.append(start)
        after_heading.add(body)
    starts = np.array([found.end() for found in _BLANK.finditer(content)], dtype=np.int64)
    if not chat:
        starts = np.concatenate((starts, _after_long_lines(content)))
    paragraphs = _outside(starts, shape.solid).tolist()
    shape.hard += paragraphs
    headings = {title.start for title in titles}
    kept = [start for start in paragraphs + shape.sections if start in headings or start not in after_heading]
    shape.sections = kept


def _after_long_lines(content: bytes) -> Cuts:
    lines = line_starts(content)
    starts = lines[1:][lines[1:] - lines[:-1] > _WRAPPED]
    first = np.frombuffer(content, dtype=np.uint8)[starts]
    words: Cuts = starts[(first != 10) & (first != 13)]
    return words


def _outside(starts: Cuts, solid: list[tuple[int, int]]) -> Cuts:
    """Only the cuts that are not inside a solid stretch."""
    if not solid or not len(starts):
        return starts
    begins = np.array([begin for begin, _ in sorted(solid)], dtype=np.int64)
    ends = np.array([end for _, end in sorted(solid)], dtype=np.int64)
    place = np.searchsorted(begins, starts, side="left") - 1
    return starts[(place < 0) | (starts >= ends[np.maximum(place, 0)])]


def _keep_whole(starts: list[int], hard: list[int], *, whole: set[int]) -> list[int]:
    """Drop sentence starts inside a list item, table row or chat line that is short enough as one unit."""
    kept = []
    for start in starts:
        after = bisect_right(hard, start)
        begin = hard[after - 1]
        if begin not in whole or hard[min(after, len(hard) - 1)] - begin > UNIT_AIM:
            kept.append(start)
    return kept


def heading_block(found: Title, end: int) -> Block:
    """A title as a block, up to the end of its section."""
    start, title_end, level, title = found
    return Block(start, end, "heading", start, title_end, title.decode(errors="replace"), level)


def _heading_blocks(headings: Iterable[Heading]) -> tuple[Block, ...]:
    """Headings as blocks, each as long as its section."""
    return tuple(
        Block(each.start, each.section_end, "heading", each.start, each.end, each.title, each.level)
        for each in headings
        if each.section_end > each.start
    )


# ---- edges: Where may a text be shown from, or to, without parting a sentence? Told by the bytes around alone: any
# kind of text, in any language, with marks that close behind a stop.

_EDGE_BACK = 400  # bytes before and behind an edge that say whether it is natural
# No stop: the dots that begin a directive, `.. note::`.
_STOPS = rb"(?<!\s\.)(?:[.!?:;]|\xe2\x80\xa6)(?:[\"')\]}*_`]|\xe2\x80[\x99\x9d]){0,4}"
_WIDE_STOPS = rb"\xe3\x80[\x82\x8d\x8f]|\xef\xbc[\x81\x89\x9f]"
# The last bytes of what stands before an edge, without the white space in front of it: four closing signs at most.
_ENDS = re.compile(rb"(?:" + _STOPS + rb"|[\"')\]}>`*|]|\xe2\x80[\x99\x9d]|[}\]],)\Z")
_ENDS_BYTES = 17
_ENDS_WIDE = (b"\xe3\x80\x82", b"\xe3\x80\x8d", b"\xe3\x80\x8f", b"\xef\xbc\x81", b"\xef\xbc\x89", b"\xef\xbc\x9f")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_ATX_HEADING = re.compile(rb"[ \t]*#{1,6} [^\n]*\n")
_BEGINS_BLOCK = re.compile(rb"[ \t]*(?:(?:[-*+]|\xe2\x80\xa2|\d{1,3}[.)]) |\|)|[#>=~`\t]|\.\. |---|    |\r?\n")
_SENTENCE_END = re.compile(rb"(?:(?![:;])" + _STOPS + rb"(?=\s)|[}\]],(?=\s)|" + _WIDE_STOPS + rb")\s*")
_PARAGRAPH_END = re.compile(rb"\n[ \t\r]*\n\s*")
_LINE_END = re.compile(rb"\n")


def natural_span(content: bytes, start: int, end: int, *, reach: int, is_prose: bool) -> Span:
    """From where a sentence, a line or an element begins to where one ends, as far as those are near."""
    if not _is_natural_edge(content, start, is_prose=is_prose):
        start = max(_natural_edges(content, max(start - reach, 0), start, is_prose=is_prose), default=start)
    if not _is_natural_edge(content, end, is_prose=is_prose):
        end = min(_natural_edges(content, end, min(end + reach, len(content)), is_prose=is_prose), default=end)
    return Span(start, end)


def _is_natural_edge(content: bytes, edge: int, *, is_prose: bool) -> bool:
    """Whether a text may be parted at a byte without parting a sentence; lines of prose are wrapped, others are not."""
    before, after = content[max(edge - _EDGE_BACK, 0) : edge], content[edge : edge + _EDGE_BACK]
    if not after.strip() or ends_naturally(before, is_apart=after[:1].isspace()):
        return True
    at_line = before.rstrip(b" \t").endswith(b"\n") or after.startswith((b"\n", b"\r"))
    return at_line and (not is_prose or _BEGINS_BLOCK.match(after) is not None)


def ends_naturally(before: bytes, *, is_apart: bool) -> bool:
    r"""Whether a text ends with a sentence, a paragraph or a heading; `is_apart` where a blank follows it.

    >>> [ends_naturally(text, is_apart=False) for text in (b"Tea. ", b"Tea.", b"Tea\n \n", b"# Tea\n", b"Tea\n")]
    [True, False, True, True, False]
    """
    said = before.rstrip()
    if not said or said.endswith(_ENDS_WIDE):
        return True
    size = len(said)
    if (is_apart or size < len(before)) and not said[-1:].isalnum() and _ENDS.search(said, max(size - _ENDS_BYTES, 0)):
        return True
    if b"\n" not in before[size:]:
        return False
    line = said.rfind(b"\n") + 1
    return _BLANK_LINE.search(before, size) is not None or _ATX_HEADING.match(before, line) is not None


def _natural_edges(content: bytes, low: int, high: int, *, is_prose: bool) -> list[int]:
    """The natural edges strictly between two bytes."""
    found = [match.end() for match in _SENTENCE_END.finditer(content, low, high)]
    found += [match.end() for match in (_PARAGRAPH_END if is_prose else _LINE_END).finditer(content, low, high)]
    return [edge for edge in found if low < edge < high or (edge == high == len(content))]
