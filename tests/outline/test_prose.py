from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.outline.cuts import UNIT_LIMIT
from brimful.outline.outlines import Outline, outline
from brimful.outline.prose import refers_back


def read(text: str, language: str | None = "markdown") -> tuple[bytes, Outline]:
    """The bytes and their outline."""
    content = text.encode()
    return content, outline(content, kind="prose", language=language)


def units(text: str, language: str | None = "markdown") -> list[str]:
    """The units as text."""
    content, found = read(text, language)
    return [content[start:end].decode() for start, end in zip(found.units, found.units[1:], strict=False)]


def sections(text: str, language: str | None = "markdown") -> list[str]:
    """The sections as text."""
    content, found = read(text, language)
    return [content[start:end].decode() for start, end in zip(found.sections, found.sections[1:], strict=False)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith met Mr. J. R. Jones. ", "They spoke for 3.5 hours."],
        ["Use tools, e.g. a hammer, i.e. this one. ", "It works."],
        ["The U.S. Army left. ", "The end."],
        ["Wait... what? ", "Yes! ", "No?! ", "Well."],
        ['He said "Stop." ', "Then he left. ", '"Why?" she asked. ', "(It was late.) ", "Done."],
        ["See Fig. 3 and no. 512. ", "He said so. ", "Then he left."],
        ["We sell nuts, bolts, etc. ", "The shop is open."],
        ["Am 3. Mai kam er. ", "Das war z. B. am Montag, d. h. vormittags. ", "Dann kam Nr. 5."],
        ["Der 2. Weltkrieg endete 1945. ", "Danach begann der Aufbau."],
        ["她来了。", "他走了！", "真的吗？", "（是的。）", "好。"],
        ["「行きます。」", "彼は帰った。", "ﾊﾛｰ｡", "終わり"],
        ["यह एक वाक्य है। ", "यह दूसरा है॥ ", "अंत"],
        ["هل هذا سؤال؟ ", "نعم هو كذلك. ", "حسنا"],
        ["¿Qué hora es? ", "Él no lo sabe. ", "¡Vaya! ", "Sí."],
        ["C'est fini. ", "Élodie arrive. ", "Elle reste."],
        ["Это конец. ", "Он ушёл. ", "Всё."],
    ],
)
def test_sentences(sentences: list[str]) -> None:
    """Sentences end where a reader of the language would say, and blank space stays with the one before."""
    assert units("".join(sentences), "text") == sentences


def test_a_shown_session_is_not_made_of_sentences() -> None:
    """The dots of a line that goes on with a session end nothing; those inside of a line may."""
    session = ">>> class Tea:\n...     Name = 1\n...     Price = 3\n"
    assert units(f"So:\n\n{session}\nHe said ... Nothing.\n", "rst")[1:] == [
        f"{session}\n",
        "He said ... ",
        "Nothing.\n",
    ]


def test_paragraphs_and_headings() -> None:
    """Paragraphs are sections, and a heading is one with the paragraph below it."""
    text = "# One\n\nFirst. Second.\n\nThird.\n\n## Two\nFourth.\n"
    assert sections(text) == ["# One\n\nFirst. Second.\n\n", "Third.\n\n", "## Two\nFourth.\n"]
    assert units(text) == ["# One\n\n", "First. ", "Second.\n\n", "Third.\n\n", "## Two\n", "Fourth.\n"]


def test_heading_blocks() -> None:
    """A heading's block reaches to the next heading of its own or a higher rank."""
    text = "Intro\n=====\n\na\n\n## Deep ##\n\nb\n\nNext\r\n----\r\n\nc\n\nLast\n====\nd\n"
    content, found = read(text)
    assert [(block.name, block.level) for block in found.blocks] == [
        ("Intro", 1),
        ("Deep", 2),
        ("Next", 2),
        ("Last", 1),
    ]
    last = content.find(b"Last")
    assert (found.blocks[0].start, found.blocks[0].end) == (0, last)
    signatures = [content[block.signature_start : block.signature_end] for block in found.blocks]
    assert signatures == [b"Intro\n=====", b"## Deep ##", b"Next\r\n----", b"Last\n===="]
    inside = content.find(b"\nb\n") + 1
    assert [block.name for block in found.enclosing(inside, inside + 1)] == ["Intro", "Deep"]


def test_rst_headings() -> None:
    """Underlines of reStructuredText rank in order of appearance; an overline is part of the heading."""
    text = "=====\nTitle\n=====\n\nPart\n----\n\na\n\nPiece\n~~~~~\n\nb\n\nOther\n-----\n\nc\n"
    content, found = read(text, "rst")
    assert [(block.name, block.level) for block in found.blocks] == [
        ("Title", 1),
        ("Part", 2),
        ("Piece", 3),
        ("Other", 2),
    ]
    assert content[found.blocks[0].signature_start : found.blocks[0].signature_end] == b"=====\nTitle\n====="


def test_html() -> None:
    """Headings of HTML are blocks."""
    text = "<h1>A <b>b</b></h1><p>One. Two.</p><ul><li>x</li><li>y</li></ul><h2>C</h2><p>d</p>"
    _, found = read(text, "html")
    assert [(block.name, block.level) for block in found.blocks] == [("A b", 1), ("C", 2)]


def test_fences() -> None:
    """A fence is a section, no sentence ends in it, and nothing inside is taken for a heading."""
    text = "Text.\n\n```python\n# not a heading\n\nx = 1. Y = 2\n```\n\nAfter.\n"
    content, found = read(text)
    assert found.blocks == ()
    assert "```python\n# not a heading\n\nx = 1. Y = 2\n```\n" in [part.rstrip("\n") + "\n" for part in sections(text)]
    assert "```python\n# not a heading\n\nx = 1. Y = 2\n```\n" in units(text)
    assert found.section_before(content.find(b"x = 1")) == content.find(b"```")


def test_front_matter() -> None:
    """A front matter is no heading with an underline."""
    text = "---\ntitle: A\ntags: b\n---\n\n# Real\n\nWords.\n"
    _, found = read(text)
    assert [block.name for block in found.blocks] == ["Real"]


def test_lists_and_tables() -> None:
    """List items and table rows are units, also when they hold several sentences."""
    text = "- One. Two.\n- Three\n  goes on.\n\n1. First. Item.\n2. Second.\n\n| a | b. C |\n|---|---|\n| 1 | 2 |\n"
    assert units(text) == [
        "- One. Two.\n",
        "- Three\n  goes on.\n\n",
        "1. First. Item.\n",
        "2. Second.\n\n",
        "| a | b. C |\n",
        "|---|---|\n",
        "| 1 | 2 |\n",
    ]


def test_chat() -> None:
    """Chat lines are units by line."""
    lines = ["Ann: Hi! How are you?\n", "Bob (home): Fine. You?\n", "[10:32] Ann: Good. Bye.\n", "Bob: Bye.\n"]
    assert units("".join(lines), "text") == lines


def test_long_lines_are_paragraphs() -> None:
    """A line too long to be wrapped is a paragraph, without a blank line after it."""
    line = "This sentence is repeated until the line is long. " * 6 + "\n"
    assert sections(line * 3, "text") == [line] * 3


def test_wrapped_lines_are_not_cut() -> None:
    """A newline inside a sentence is no end of it."""
    assert units("One sentence that is\nwrapped here. And\nanother.", "text") == [
        "One sentence that is\nwrapped here. ",
        "And\nanother.",
    ]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["word ", "clause, ", "字", "é", "x", "हिन्दी ", "😀", "\t"]), st.integers(1, 900))
def test_long_units_are_cut(piece: str, count: int) -> None:
    """No unit is longer than the limit, and a text of words is cut between words."""
    parts = units(piece * count, "text")
    assert all(len(part.encode()) <= UNIT_LIMIT for part in parts)
    if piece.endswith(" "):
        assert all(part.endswith(" ") for part in parts)


@pytest.mark.parametrize(
    "sentence",
    [
        "He left.", "It works.", "They came.", "These are.", "Such things.", "Their house.", "That's it.", '"She said.',
        "Er ging.", "Sie kam.", "Diese Frage.", "Dies ist.", "Il dort.", "Elle dort.", "Cette idée.", "C'est.",
        "Él duerme.", "Ella duerme.", "Esta casa.", "The latter won.", "他走了。", "それは。",
    ],
)  # fmt: skip
def test_refers_back(sentence: str) -> None:
    """A sentence that opens with a pronoun or demonstrative needs what stands before it."""
    assert refers_back(f"Before. {sentence}".encode(), 8)


@pytest.mark.parametrize(
    "sentence",
    [
        *("Ada left.", "The house.", "Der Mann.", "Die Frau.", "El gato.", "Les enfants.", "Item one."),
        *("Es gibt Brot.", "Il y a.", "", "1999", "Such as"),
    ],
)
def test_stands_alone(sentence: str) -> None:
    """A sentence that opens with its own subject does not refer back."""
    assert not refers_back(sentence.encode(), 0)


@given(st.binary(max_size=60), st.integers(-2, 70))
def test_refers_back_never_raises(content: bytes, start: int) -> None:
    """Any bytes and any position have an answer."""
    assert refers_back(content, start) in (True, False)
