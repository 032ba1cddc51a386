"""Terms against a slow, obvious reference, and the rules of docs/internals/terms.md one by one."""

import itertools
import random
import re
import unicodedata
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.text.terms import query_terms, terms_of

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303c\u3041-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc]")
PIECE = re.compile(r"(?:Uu*)?l+|(?:Uu*)+?(?=Uu*l)|(?:Uu*)+|d+|x+|h+")


def kind_of(char: str) -> str:
    """One letter for a character's class: l U d x h, m for marks, i for ignored, joiners as themselves."""
    category = unicodedata.category(char)
    if char in "'\u2019\u02bc\uff07":
        return "'"
    if char in ".,-_+#":
        return char
    if category == "Cf" and char != "\u200b":
        return "i"
    if category == "Me" or re.match("[\ufe00-\ufe0f\U000e0100-\U000e01ef]", char):
        return "i"
    if re.match("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002f7ff\U00030000-\U0003ffff]", char):
        return "x"  # all of the Han blocks, assigned yet or not
    if category[0] not in "LMN":
        return " "
    if category == "Nd":
        return "d"
    if UNSPACED.match(char):
        return "x"
    if HANGUL.match(char):
        return "h"
    return {"L": "U" if category in ("Lu", "Lt") else "l", "M": "m", "N": "d"}[category[0]]


def form_of(char: str) -> tuple[str, str]:
    """A character's class and folded form."""
    kind = kind_of(char)
    if char == "\u0130":
        return "U", "i"
    if kind == "'":
        return kind, "'"
    if kind not in "lUdxh":
        return kind, char
    if category_is_decimal := unicodedata.category(char) == "Nd":
        return "d", str(unicodedata.decimal(char)) if category_is_decimal else char
    form = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    kinds = {kind_of(each) for each in form} - {"m"}
    if len(kinds) == 1 and kinds <= set("lUdxh"):
        return ("U" if kind == "U" else kinds.pop()), form
    return kind, char


def one_for(first: str, second: str) -> str | None:
    """The one character that stands for two."""
    if (first, second) == ("i", "\u0307"):
        return "i"
    if "\uff66" <= first < "\uff9e" and second in "\uff9e\uff9f":
        joined = unicodedata.normalize("NFKC", first + second)
        return joined if len(joined) == 1 else None
    joined = unicodedata.normalize("NFC", first + second)
    if len(joined) != 1:
        return None
    if "\uac00" <= joined <= "\ud7a3":
        return joined
    pair = f"{ord(first):04X} {ord(second):04X}"  # a neighbour at a time: no reordering of marks
    return joined if unicodedata.decomposition(joined) == pair else None


def slowly_folded(content: bytes) -> tuple[bytes, str, list[int]]:
    """Folded bytes, a class letter for each, and where each came from."""
    chars: list[tuple[str, int]] = []
    offset = 0
    for char in content.decode("utf-8", "surrogateescape"):
        width = len(char.encode("utf-8", "surrogateescape"))
        joined = one_for(chars[-1][0], char) if chars else None
        if joined:
            chars[-1] = (joined, chars[-1][1])
        else:
            chars.append((char, offset))
        offset += width
    folded, classes, origins, base = bytearray(), [], [], " "
    for char, origin in chars:
        if "\udc80" <= char <= "\udcff":
            kind, form = " ", "?"
        else:
            kind, form = form_of(char)
        if kind == "i":
            continue
        if kind == "m":
            kind = {"U": "l"}.get(base, base if base in "ldxh" else " ")
        else:
            base = kind
        for each in form:
            encoded = each.encode()
            folded += encoded
            classes += [kind, *[kind.lower() if kind == "U" else kind] * (len(encoded) - 1)]
            origins += [origin] * len(encoded)
    return bytes(folded), "".join(classes), origins


def pairs_within(folded: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of neighbouring characters."""
    edges = [place for place in range(start, end) if folded[place] & 0xC0 != 0x80] + [end]
    return list(zip(edges, edges[2:], strict=False))


def joined(classes: str) -> tuple[str, list[tuple[int, int]]]:
    """The classes with what holds words together marked, and the terms that are more than words."""
    spans: list[tuple[int, int]] = []
    dates = [match.start() for match in re.finditer(r"(?<!d)dddd-dd-dd(?!d)", classes)]
    grouped = [match.start() for match in re.finditer(r"(?<=d),(?=ddd(?!d))", classes)]
    dotted = [match.start() for match in re.finditer(r"(?<=d)\.(?=d)", classes)]
    marked = list(classes)
    for date in dates:
        spans += [(date, date + 4), (date + 5, date + 7), (date + 8, date + 10)]
        marked[date + 4] = marked[date + 7] = "d"
    for place in grouped:
        marked[place] = "J"
    for place in dotted:
        marked[place] = "d"
    classes = re.sub(r"(?<=[lUu])'(?=[lUu](?:[lUu])?(?![lUudxh_]))", "J", "".join(marked))
    for match in re.finditer(r"(?<![lUudxh_J])[lU](?:\+\+(?!\+)|#(?!#))(?![lUudxh_])", classes):
        spans.append(match.span())
    return classes, spans


def slow_terms(content: bytes) -> dict[bytes, list[int]]:
    """Terms and where they start, by regular expressions and plain loops."""
    folded, classes, origins = slowly_folded(content)
    classes, spans = joined(classes)
    chains: list[list[list[tuple[int, int]]]] = []  # chains of runs of pieces
    for match in PIECE.finditer(classes):
        start, end = match.span()
        if classes[start] == "x":
            spans += pairs_within(folded, start, end) or [(start, end)]
            continue
        if classes[start] == "h":
            pairs = pairs_within(folded, start, end)
            spans += [(start, end), *(pairs if len(pairs) > 1 else [])]
            continue
        last = chains[-1][-1][-1] if chains else (-9, -9)
        between = classes[last[1] : start] if last[1] >= 0 else " "
        if between == "":
            chains[-1][-1].append((start, end))
        elif between == "J" or set(between) == {"_"}:
            chains[-1].append([(start, end)])
        else:
            chains.append([[(start, end)]])
    for chain in chains:
        spans += nested(chain, classes)

    found = defaultdict(list)
    for start, end in sorted(spans):
        term = folded[start:end][:64].decode("utf-8", "ignore").encode()
        found[term].append(origins[start])
    return dict(found)


def nested(chain: list[list[tuple[int, int]]], classes: str) -> list[tuple[int, int]]:
    """A chain, its runs and pieces, as far as they are terms."""
    spans = [(chain[0][0][0], chain[-1][-1][1])]
    for run in chain:
        length = run[-1][1] - run[0][0]
        if len(chain) > 1 and length <= 64:
            spans.append((run[0][0], run[-1][1]))
        kinds = ["d" if classes[start] == "d" else "l" for start, _ in run]
        changes = sum(a != b for a, b in itertools.pairwise(kinds))
        if len(run) > 1 and changes <= 4 and length >= 2 * len(run):
            spans += [(start, end) for start, end in run if end - start <= 64]
    return spans


def as_dict(content: bytes) -> dict[bytes, list[int]]:
    """The columns as a plain dict."""
    terms = terms_of(content)
    bounds = terms.offsets.tolist()
    return {
        name: terms.starts[start:end].tolist()
        for name, start, end in zip(terms.names, bounds, bounds[1:], strict=False)
    }


def found(text: str) -> list[str]:
    """A question's terms, parts with a star."""
    return [term.decode() + "*" * is_part for term, _, _, is_part in query_terms(text)]


WORDS = (
    "getAtomLocations atom_positions HTTPServer2 kebab-case __init__ a__b x1y2z3w4 a3f9c2b1e9 aGVsbG8gd29ybGQ "
    "3.11.7 1,000.5 1,000 1,00 2026-01-02 2026-01-02T10:11 12026-01-02 0x1f v2.0 C++ C# c+++ .NET node.js i++; "
    "don't DON’T l'homme we'll rock'n'roll O'Reilly ' '' _ __ . .. - , 's x's_ "
    "黒猫 猫 食べる iPhoneを 한국어는 한국 PC방 สวัสดี ភាសាខ្មែរ မြန်မာ ﾊﾞﾅﾅ ゟ "
    "Große ÀÉÎ ÉcoleNormale ŒuvreÉ été e\u0301te\u0301 e\u0302\u0301 X\u0327Ya A\u030aB ﬁne ŉ Ⱥb İstanbul I\u0307x "
    "Москва ДваСлова Ελλάδα \u1112\u1161\u11ab हिन्दी עברית العربية "
    "①② ½ m² Ⅳ ٣٫٥ １２ ＡｂＣ ﷺ \u200b \u00ad \u200d 1\ufe0f\u20e3 👍🏽 ™ \U0001d400b 𠮷野家 \u0301"
)
ODD = [" ", "\n", "\r\n", "\t", "a" * 70, "é" * 40, "x" + "ü" * 33, "_" * 3, "w" * 63 + "_b", "漢" * 30]
FRAGMENTS = st.sampled_from(WORDS.split() + ODD)
TEXT = st.lists(FRAGMENTS | st.text(max_size=5) | st.text("aAbB1_.,-'+# é", max_size=8), max_size=12).map("".join)
BYTES = TEXT.map(str.encode) | st.lists(TEXT.map(str.encode) | st.binary(max_size=4), max_size=6).map(b"".join)


@given(BYTES)
def test_terms_are_those_of_the_reference(content: bytes) -> None:
    """Any bytes give the terms and offsets that the plain loops give."""
    assert as_dict(content) == slow_terms(content)


@pytest.mark.parametrize(
    "text",
    [
        "def getAtomLocations(self, atom_positions): return HTTPServer2.v2_0(x[1:], 'it''s')  # C++ and C#\n",
        "Der große Übergang – Straßen, Füße, 1.000,5 € am 2026-01-02; \u201edon\u2019t\u201c.\n",
        "意识是什么？我们用 Python3 来研究 limerence。\nข้อความภาษาไทย 한국어를 공부합니다\n",
    ],
)
def test_real_sentences_are_those_of_the_reference(text: str) -> None:
    """Long shuffled prose and code agree too."""
    words = text.split(" ")
    random.Random(7).shuffle(words)
    content = " ".join(words * 20).encode()
    assert as_dict(content) == slow_terms(content)


def test_every_code_point_is_that_of_the_reference() -> None:
    """Each code point between letters, digits and a mark folds and separates as the reference says."""
    letters = [code for code in range(0x32000) if unicodedata.category(chr(code)) != "Cs"]
    alike = ("CJK UNIFIED", "CJK COMPAT", "HANGUL SYL", "TANGUT", "EGYPTIAN", "CUNEIFORM", "ANATOLIAN", "YI SYLL")
    # Of what has no name yet, and of large blocks of one kind of letter, a sample will do.
    names = [unicodedata.name(chr(code), alike[0]) for code in letters]
    codes = [code for code, name in zip(letters, names, strict=True) if code % 16 == 0 or not name.startswith(alike)]
    for batch in (codes[first::20] for first in range(20)):
        content = "\n".join(f"a{chr(code)}B {chr(code)}\u0301" for code in batch).encode()
        assert as_dict(content) == slow_terms(content)


@given(BYTES, BYTES, st.sampled_from([b"\n", b" ", b"\t", b"\r"]))
def test_white_space_separates_completely(left: bytes, right: bytes, space: bytes) -> None:
    """The terms of two texts joined by ASCII white space are those of both, the second's shifted."""
    both = defaultdict(list, {name: list(starts) for name, starts in as_dict(left).items()})
    for name, starts in as_dict(right).items():
        both[name] += [start + len(left) + 1 for start in starts]
    assert as_dict(left + space + right) == both


@given(TEXT)
def test_columns_are_sorted_and_within_the_content(text: str) -> None:
    """Names ascend bytewise without doubles, starts ascend within a term and lie on characters."""
    content = text.encode()
    terms = terms_of(content)
    assert terms.names == sorted(set(terms.names))
    assert all(0 < len(name) <= 64 for name in terms.names)
    assert terms.offsets[0] == 0
    assert terms.offsets[-1] == len(terms.starts)
    assert (np.diff(terms.offsets) > 0).all()
    for starts in as_dict(content).values():
        assert starts == sorted(starts)
        assert all(content[start] & 0xC0 != 0x80 for start in starts)


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_an_ascii_term_stands_at_its_offset(text: str) -> None:
    """In ASCII a term is its bytes, lower-cased."""
    content = text.encode()
    for name, starts in as_dict(content).items():
        assert all(content[start : start + len(name)].lower() == name for start in starts)


@given(TEXT)
def test_a_question_has_the_terms_of_a_text(text: str) -> None:
    """query_terms and terms_of agree on terms and offsets, and a question's ranges hold its terms."""
    mine = defaultdict(list)
    for term, start, end, _ in query_terms(text):
        mine[term].append(start)
        assert 0 <= start < end <= len(text.encode())
    assert mine == as_dict(text.encode())


def test_a_question_may_hold_half_a_surrogate() -> None:
    """A str that is no text separates words and raises nothing."""
    assert found("a\ud800b") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getAtomLocations", "getatomlocations get* atom* locations*"),
        ("atom_positions", "atom_positions atom* positions*"),
        ("HTTPServer2", "httpserver2 http* server* 2*"),
        ("get_AtomList", "get_atomlist get* atomlist* atom* list*"),
        ("kebab-case src/main.py", "kebab case src main py"),
        ("__init__ _x_", "init x"),
        ("MAX_BUFFER", "max_buffer max* buffer*"),
        ("3.11.7 v2.0", "3.11.7 v2.0 v* 2.0*"),
        ("1,000.5", "1,000.5 1* 000.5*"),
        ("2026-01-02", "2026-01-02 2026* 01* 02*"),
        ("0x1f x86 i18n", "0x1f x86 i18n"),
        ("a3f9c2b1e9f7", "a3f9c2b1e9f7"),
        ("foo_a3f9c2b1e9f7", "foo_a3f9c2b1e9f7 foo* a3f9c2b1e9f7*"),
        ("C++, C# and .NET", "c++ c* c# c* and net"),
        ("node.js", "node js"),
        ("don't DON’T", "don't don* t* don't don* t*"),
        ("l'homme O'Reilly", "l homme o reilly"),
        ("Straße STRASSE", "strasse strasse"),
        ("Ａｂｃ ﬁnd ①", "abc find 1"),
        ("cafe\u0301 café cafe", "café café cafe"),
        ("黒猫と 猫", "黒猫 猫と 猫"),
        ("한국 한국어", "한국 한국어 한국* 국어*"),
        ("iPhoneを", "iphone i* phone* を"),
        ("co\u00adoperate", "cooperate"),
    ],
)
def test_the_rules(text: str, terms: str) -> None:
    """The examples of docs/internals/terms.md; a star marks a part of the term before it."""
    assert found(text) == terms.split()


def test_any_two_characters_of_an_unspaced_run_are_found() -> None:
    """A substring of two or more characters is a sequence of terms, each one character on."""
    run = "意识流是一种文学手法"
    terms = as_dict(run.encode())
    for start in range(len(run) - 1):
        pair = run[start : start + 2].encode()
        assert len(run[:start].encode()) in terms[pair]


def test_long_words_are_cut_and_their_long_parts_left_out() -> None:
    """A word keeps its first 64 bytes, back to a whole character; a part that long is not given."""
    assert as_dict(b"a" * 100) == {b"a" * 64: [0]}
    assert as_dict(("x" + "ü" * 40).encode()) == {("x" + "ü" * 31).encode(): [0]}
    assert as_dict(b"a" * 80 + b"_b") == {b"a" * 64: [0], b"b": [81]}


def test_bytes_that_are_not_utf8_separate() -> None:
    """Each invalid byte is a separator and shifts nothing."""
    assert as_dict(b"caf\xe9 ol\xc3\xa9\xff\xc3x") == {b"caf": [0], b"ol\xc3\xa9": [5], b"x": [11]}
