"""What do PDF, Office and notebook files say?"""

import io
import json
import sys
import zipfile
from itertools import pairwise

import pytest

from brimful.documents import loaders
from brimful.documents.loaders import Loaded, load, office
from brimful.documents.skips import Skipped, SourceSettings
from brimful.errors import install
from brimful.outline.structures import structure

OOXML = "http://schemas.openxmlformats.org"


def loaded(path: str, raw: bytes, **settings: int) -> Loaded:
    """The one document of a file."""
    (item,) = load(path, raw, settings=SourceSettings(**settings))  # type: ignore[arg-type]
    assert isinstance(item, Loaded), item
    return item


def skipped(path: str, raw: bytes, **settings: int) -> Skipped:
    """The one skip of a file."""
    (item,) = load(path, raw, settings=SourceSettings(**settings))  # type: ignore[arg-type]
    assert isinstance(item, Skipped), item
    return item


def labels(item: Loaded) -> list[tuple[str, str]]:
    """Each label of the map with the text from there to the next one."""
    assert item.source_map is not None
    edges = pairwise([*item.source_map.starts, len(item.content)])
    return [
        (label, item.content[slice(*edge)].decode()) for label, edge in zip(item.source_map.labels, edges, strict=True)
    ]


def pdf_of(objects: list[str], trailer: str = "") -> bytes:
    """A PDF of these objects, the first of them its catalog."""
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    ending = f"trailer\n<< /Size {size} /Root 1 0 R{trailer} >>\nstartxref\n{len(body)}\n%%EOF"
    return (body + f"xref\n0 {size}\n0000000000 65535 f \n{table}{ending}").encode("latin-1")


def make_pdf(*pages: str) -> bytes:
    """A PDF written by hand, one line of text per page."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET" if text else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append("<< /Title (On tea) /CreationDate (D:20240501120000+02'00') >>")
    return pdf_of(objects, f" /Info {len(objects)} 0 R")


def make_zip(**parts: str) -> bytes:
    """A zip of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def make_docx(body: str, *, head: str = "") -> bytes:
    """A Word file zipped by hand."""
    return make_zip(
        **{
            "[Content_Types].xml": f'<Types xmlns="{OOXML}/package/2006/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/>'
            '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
            'wordprocessingml.document.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{OOXML}/package/2006/relationships"><Relationship Id="r1" '
            f'Type="{OOXML}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
            "</Relationships>",
            "word/document.xml": f'{head}<w:document xmlns:w="{OOXML}/wordprocessingml/2006/main">'
            f"<w:body>{body}</w:body></w:document>",
            "docProps/core.xml": "<x><dc:title>On tea &amp; milk</dc:title>"
            "<dcterms:modified>2024-05-01T10:00:00Z</dcterms:modified></x>",
        }
    )


def paragraph(text: str, *, style: str = "") -> str:
    """A Word paragraph."""
    mark = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{mark}<w:r><w:t>{text}</w:t></w:r></w:p>"


def test_a_pdf_is_read_page_by_page() -> None:
    """Each page with text is a label and ends with a form feed but the last; title and time come from the file."""
    item = loaded("a.pdf", make_pdf("First page", "", "Third page"))
    assert labels(item) == [("page 1", "First page\n\n\f"), ("page 3", "Third page\n\n")]
    assert (item.title, item.time, item.rule, item.is_verbatim) == ("On tea", 1714557600, "pdf", False)
    assert loaded("no-extension", make_pdf("x")).rule == "pdf"


def test_what_heads_a_page_of_a_pdf_is_a_heading_of_it() -> None:
    """As on slides: the title of each is what stands above its text."""
    item = loaded("a.pdf", make_pdf("Our Tea", "Boiling Water", "Pouring It", "Adding Milk"))
    found = structure(item.content, kind="prose", language=item.language).headings
    assert [each.title for each in found] == ["Our Tea", "Boiling Water", "Pouring It", "Adding Milk"]


def test_a_pdf_that_can_not_be_read_is_a_skip() -> None:
    """Garbage, scans and page counts beyond the limit each have their reason."""
    assert skipped("a.pdf", b"%PDF-1.4 garbage").reason == "malformed"
    assert skipped("a.pdf", make_pdf("")).reason == "empty"
    assert skipped("a.pdf", make_pdf("a", "b", "c"), max_pages=2).reason == "too_large"
    assert skipped("a.pdf", make_pdf("tea", "tea", "tea"), max_text_bytes=10).reason == "too_large"


def test_a_word_file_becomes_markdown() -> None:
    """Headings are labels; title and time come from the properties."""
    body = paragraph("Tea", style="Heading1") + paragraph("Hot water.") + paragraph("Milk", style="Heading2")
    item = loaded("a.docx", make_docx(body))
    assert item.content == b"# Tea\n\nHot water.\n\n## Milk\n"
    assert [label for label, _ in labels(item)] == ["Tea", "Milk"]
    assert (item.title, item.time, item.rule) == ("On tea & milk", 1714557600, "docx")


def test_the_title_of_a_word_file_is_its_first_heading() -> None:
    """What Word calls a title stands above the chapters, not as a paragraph among them."""
    body = paragraph("Staff handbook", style="Title") + paragraph("Tea", style="Heading1") + paragraph("Hot water.")
    assert loaded("a.docx", make_docx(body)).content == b"# Staff handbook\n\n# Tea\n\nHot water.\n"


def make_epub(pages: dict[str, str], *, spine: str, folder: str = "OEBPS/") -> bytes:
    """A book of these pages, named by their ids, read in the order of the spine."""
    items = "".join(f'<item id="{name}" href="{name}%20x.xhtml" media-type="application/xhtml+xml"/>' for name in pages)
    refs = "".join(f'<opf:itemref idref="{name}"/>' for name in spine.split())
    return make_zip(
        **{
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'<container><rootfile full-path="{folder}c.opf"/></container>',
            f"{folder}c.opf": "<package><metadata><dc:title>Tea &amp; milk</dc:title></metadata><manifest>"
            f'<item id="cover" href="cover.jpg" media-type="image/jpeg"/>{items}</manifest>'
            f"<spine>{refs}</spine></package>",
            **{f"{folder}{name} x.xhtml": text for name, text in pages.items()},
        }
    )


def test_a_book_is_read_in_its_own_order() -> None:
    """An EPUB's pages as its spine has them, whatever stands in front of them; each heading is a label."""
    head = '<?xml version="1.0"?><!DOCTYPE html><html><head><title>Tea &amp; milk</title></head><body>'
    pages = {
        "b": f"{head}<h1>Two</h1><p>Milk comes second.</p></body></html>",
        "a": f"{head}<h1>One</h1><p>Tea comes first.</p></body></html>",
        "unread": f"{head}<p>Nobody turns to this.</p></body></html>",
    }
    item = loaded("a.epub", make_epub(pages, spine="a b cover lost"))
    assert item.content == b"# One\n\nTea comes first.\n\n# Two\n\nMilk comes second.\n"
    assert [label for label, _ in labels(item)] == ["One", "Two"]
    assert (item.title, item.rule, item.kind, item.is_verbatim) == ("Tea & milk", "epub", "prose", False)
    assert loaded("a.epub", make_epub(pages, spine="a b", folder="")).content == item.content


def test_a_chapter_that_a_book_names_often_is_read_once() -> None:
    """The order of an EPUB may name one page a hundred thousand times; it is one page."""
    book = make_epub({"a": "<p>tea</p>" * 1_000, "b": "<p>milk</p>"}, spine="b " + "a " * 100_000 + "b")
    text = loaded("a.epub", book).content
    assert (text.startswith(b"milk\n\ntea"), text.count(b"tea"), text.count(b"milk")) == (True, 1_000, 1)


def test_a_book_that_can_not_be_read_is_a_skip() -> None:
    """Garbage, no list of pages, no text, encrypted pages and sizes beyond the limits each have their reason."""
    assert skipped("a.epub", b"garbage").reason == "malformed"
    assert skipped("a.epub", make_zip(**{"a.txt": "x"})).reason == "malformed"
    assert skipped("a.epub", make_epub({"a": "<p></p>"}, spine="a")).reason == "empty"
    assert skipped("a.epub", make_epub({"a": "\0\1\2" * 999}, spine="a")).reason == "malformed"
    long = make_epub({"a": "<p>tea</p>" * 50_000}, spine="a")
    for limit in ("max_part_bytes", "max_unpacked_bytes", "max_text_bytes"):
        assert skipped("a.epub", long, **{limit: 100_000}).reason == "too_large", limit


def test_slides_and_sheets_keep_their_place() -> None:
    """Each slide and each row is a label; dates and numbers read as people write them."""
    import datetime as dt

    import openpyxl
    from pptx import Presentation

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Tea"
    slide.placeholders[1].text = "Hot\nwater"
    slide.notes_slide.notes_text_frame.text = "Smile"
    show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = "Milk"
    buffer = io.BytesIO()
    show.save(buffer)
    item = loaded("a.pptx", buffer.getvalue())
    assert labels(item) == [("slide 1", "# Tea\n\nHot\nwater\n\nNotes: Smile\n\n"), ("slide 2", "# Milk\n\n")]

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Costs"
    for row in (["what", "when", "cost"], ["tea|leaf", dt.datetime(2024, 5, 1), 2.5], [], ["milk", None, 3.0]):  # noqa: DTZ001 - Excel knows no zones
        sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    item = loaded("a.xlsx", buffer.getvalue())
    assert item.content.decode() == (
        "## Costs\n\n| what | when | cost |\n| --- | --- | --- |\n"
        "| tea\\|leaf | 2024-05-01 | 2.5 |\n| milk |  | 3 |\n\n"
    )
    assert [label for label, _ in labels(item)] == [
        "sheet Costs",
        "sheet Costs, row 1",
        "sheet Costs, row 2",
        "sheet Costs, row 4",
    ]
    assert skipped("a.xlsx", buffer.getvalue(), max_cells=5).reason == "too_large"


def test_a_row_far_down_does_not_run_for_ever() -> None:
    """A sheet may claim row 10^12; the rows between are not walked beyond the limit."""
    import openpyxl

    buffer = io.BytesIO()
    openpyxl.Workbook().save(buffer)
    parts = {}
    with zipfile.ZipFile(buffer) as archive:
        for name in archive.namelist():
            parts[name] = archive.read(name).decode()
    far = '<sheetData><row r="1000000000000"><c r="A1000000000000"><v>1</v></c></row></sheetData>'
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace("<sheetData></sheetData>", far).replace("<sheetData/>", far)
    assert "1000000000000" in parts[sheet]
    assert skipped("a.xlsx", make_zip(**parts), max_cells=10_000).reason in ("too_large", "malformed")


def test_bombs_and_entities_are_refused_before_any_parser_sees_them() -> None:
    """A part that unpacks to too much, or declares a DTD in any encoding, is a skip."""
    assert skipped("a.docx", make_docx(paragraph("x" * 5_000_000)), max_part_bytes=1_000_000).reason == "too_large"
    assert skipped("a.docx", make_docx(paragraph("x" * 5_000_000)), max_unpacked_bytes=1_000_000).reason == "too_large"
    laughs = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    item = skipped("a.docx", make_docx(paragraph("&b;"), head=laughs))
    assert (item.reason, "DTD" in item.detail) == ("malformed", True)
    for wide in ("utf-16-le", "utf-16-be"):
        assert skipped("a.docx", make_zip(**{"word/document.xml": laughs.encode(wide)})).reason == "malformed"  # type: ignore[arg-type]


def test_comments_of_a_word_file_are_read() -> None:
    """A comment stands at the end, where its sign points to."""
    raw = make_docx(paragraph("Tea at four.") + '<w:p><w:r><w:commentReference w:id="0"/></w:r></w:p>')
    buffer = io.BytesIO(raw)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(
            "word/comments.xml",
            f'<w:comments xmlns:w="{OOXML}/wordprocessingml/2006/main"><w:comment w:id="0" w:author="Ann" '
            f'w:initials="A">{paragraph("Rather five?")}</w:comment></w:comments>',
        )
        archive.writestr(
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="{OOXML}/package/2006/relationships"><Relationship Id="r2" '
            f'Type="{OOXML}/officeDocument/2006/relationships/comments" Target="comments.xml"/></Relationships>',
        )
    assert "Rather five?" in loaded("a.docx", buffer.getvalue()).content.decode()


def test_the_figures_of_a_chart_are_read() -> None:
    """A slide's chart is its title and a table of its series."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck, figures, buffer = Presentation(), CategoryChartData(), io.BytesIO()
    figures.categories = ["Green", "Black"]
    figures.add_series("Cups", (2, 3.5))
    chart = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 9, 9, figures).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Tea a day"
    deck.save(buffer)
    text = loaded("a.pptx", buffer.getvalue()).content.decode()
    assert text == "Tea a day\n\n|  | Green | Black |\n| --- | --- | --- |\n| Cups | 2 | 3.5 |\n\n"


def test_what_is_no_office_file_is_a_skip() -> None:
    """Garbage, another zip, and a file without text each have their reason."""
    assert skipped("a.docx", b"garbage").reason == "malformed"
    assert skipped("a.docx", make_zip(**{"a.txt": "x"})).reason == "malformed"
    assert skipped("a.docx", make_docx("")).reason == "empty"
    assert skipped("a.docx", make_docx("<w:p>")).reason == "malformed"
    assert skipped("archive", make_zip(**{"a.txt": "x"})).reason == "binary"


@pytest.mark.parametrize(("path", "part", "extra"), [("a.docx", "mammoth", "office"), ("a.pdf", "pypdfium2", "")])
def test_a_missing_part_is_named_with_its_remedy(
    path: str, part: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library the file is a skip that says what to install."""
    monkeypatch.setattr(loaders, "boxed", lambda _, name, *file: getattr(office, name)(*file))
    monkeypatch.setitem(sys.modules, part, None)
    raw = make_docx(paragraph("x")) if extra == "office" else make_pdf("x")
    item = skipped(path, raw)
    assert item.reason == "missing_part"
    assert install(extra) in item.detail


def test_a_notebook_is_read_cell_by_cell() -> None:
    """Markdown as it is, code fenced in the kernel's language, outputs left out, empty cells passed over."""
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Tea\n", "Hot."]},
            {"cell_type": "code", "source": "x = 1\n", "outputs": [{"text": "no"}]},
            {"cell_type": "code", "source": []},
            {"cell_type": "raw", "source": "```"},
        ],
        "metadata": {"language_info": {"name": "julia"}},
    }
    item = loaded("a.ipynb", json.dumps(notebook).encode())
    assert labels(item) == [
        ("cell 1", "# Tea\nHot.\n\n"),
        ("cell 2", "```julia cell=2\nx = 1\n```\n\n"),
        ("cell 4", "```\n\n"),
    ]
    assert (item.title, item.rule) == ("Tea", "ipynb:utf-8")
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "y = 2"}]}]}
    assert loaded("a.ipynb", json.dumps(old).encode()).content == b"```python cell=1\ny = 2\n```\n\n"


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"cells": 1}', b"[" * 100_000, b'{"cells": [1, null, {"source": 3}]}']
)
def test_a_notebook_that_is_none_does_not_raise(raw: bytes) -> None:
    """Broken JSON, other JSON and JSON nested beyond reason end in a skip or an empty document."""
    (item,) = load("a.ipynb", raw)
    assert isinstance(item, Skipped) or item.content == b""


def test_an_escaped_surrogate_is_written_out() -> None:
    """JSON can name half a character; it is stored as its escape, not replaced."""
    raw = b'{"cells": [{"cell_type": "markdown", "source": "half \\ud83d here"}]}'
    assert loaded("a.ipynb", raw).content == b"half \\ud83d here\n\n"
