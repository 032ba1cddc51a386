"""What do Word, PowerPoint, Excel and PDF files say?

Word goes through mammoth (to HTML, then as any page), PowerPoint through python-pptx slide by slide, Excel through
openpyxl row by row, PDF through pdfium page by page. Before a parser sees an Office file, every part is measured and
searched for DTDs, which Office never writes: without a DTD there are no entities to expand. A part is judged by its
first bytes, not by its name, since a file names its main part.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import unescape
from typing import Any, Literal

from brimful.documents.loaders.html import read_page, write_page
from brimful.documents.loaders.loaded import Canon, Loaded, load_text, table_row
from brimful.documents.skips import Refusal, SourceSettings
from brimful.errors import install
from brimful.outline.times import time_of

Office = Literal["docx", "pptx", "xlsx"]

_MAIN_PARTS: tuple[tuple[str, Office], ...] = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
)
_DTD = re.compile(rb"<!(?:DOCTYPE|ENTITY)|<\0!\0|\0<\0!", re.IGNORECASE)
# A text that a parser of XML would take begins with a mark of its encoding, blanks, a bracket, in any width.
_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*<|\x4c\x6f\xa7\x94")
_ENCODING = re.compile(rb"[^>]{0,200}?encoding\s{0,8}=\s{0,8}[\"']([\w.:-]{1,40})")
_ENCODINGS = re.compile(rb"(?i)utf-?8|utf-?16(?:le|be)?|us-ascii|ascii|iso-8859-\d{1,2}|windows-125\d")
_STREAMED = re.compile(r"xl/(?:worksheets/[^/]+|sharedStrings)\.xml", re.IGNORECASE)
_MAX_PARTS = 20_000
_MAX_TAGS = 600_000  # in a part that is held as a whole; ten megabytes of Word have about 400,000
_BLOCK = 1_048_576
_CORE = "docProps/core.xml"
_WORD_STYLES = "p[style-name='Title'] => h1:fresh\np.Title => h1:fresh\ncomment-reference => sup"


def _office_format(raw: bytes) -> Office | None:
    """The kind of an Office file by its main part; None for any other zip file."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return None
    return next((name for part, name in _MAIN_PARTS if part in names), None)


def load_office(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Markdown with one label per heading (Word), slide (PowerPoint) or row (Excel)."""
    kind = _office_format(raw)
    if kind is None:
        raise Refusal("malformed", "not an Office file: not a zip, or without its main part")
    title, time = _check_parts(raw, kind, settings)
    try:
        canon = {"docx": _read_docx, "pptx": _read_pptx, "xlsx": _read_xlsx}[kind](raw, settings)
    except ImportError as error:
        raise Refusal("missing_part", f"reading {kind} needs {error.name}; {install('office')}") from error
    if not canon.size:
        raise Refusal("empty", "it holds no text")
    yield canon.loaded(path, kind, kind="prose" if kind != "xlsx" else "data", time=time, title=title)


def load_zip(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """A zip file of any name: Office by its main part, else plain bytes."""
    return (load_office if _office_format(raw) else load_text)(path, raw, settings)


def _check_parts(raw: bytes, kind: Office, settings: SourceSettings) -> tuple[str | None, int | None]:
    """Refuse bombs and DTDs; return title and time from the file's own properties."""
    total, core = 0, b""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = archive.infolist()
        if len(parts) > _MAX_PARTS:
            raise Refusal("too_large", f"{len(parts)} parts, more than {_MAX_PARTS}")
        for part in parts:
            total += part.file_size  # zipfile never gives more than it declares
            if total > settings.max_unpacked_bytes:
                raise Refusal("too_large", f"{part.filename!r:.80} unpacks beyond max_unpacked_bytes")
            is_held = kind != "xlsx" or not _STREAMED.fullmatch(part.filename)
            _check_part(archive, part, is_held=is_held, settings=settings)
            if part.filename == _CORE and part.file_size <= settings.max_part_bytes:
                core = archive.read(part)
    title = re.search(rb"<dc:title>([^<]{1,500})</dc:title>", core)
    date = re.search(rb"<dcterms:(?:modified|created)[^<>]*>([^<]{10,40})<", core)
    words = " ".join(unescape(title[1].decode("utf-8", "backslashreplace")).split()) if title else ""
    return words or None, time_of(date[1]) if date else None


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, *, is_held: bool, settings: SourceSettings) -> None:
    """Refuse a part that declares a DTD in any encoding that XML parsers know, or is too large to be held."""
    with archive.open(part) as stream:
        block = stream.read(_BLOCK)
        if not _XML.match(block):
            return  # a picture, a font: no parser of XML takes it
        if is_held and part.file_size > settings.max_part_bytes:
            limit = f"max_part_bytes = {settings.max_part_bytes}"
            raise Refusal("too_large", f"{part.filename!r:.80} unpacks beyond {limit}")
        declared = _ENCODING.match(block)
        if block.startswith(b"\x4c\x6f\xa7\x94") or (declared and not _ENCODINGS.fullmatch(declared[1])):
            raise Refusal("malformed", f"{part.filename!r:.80} is in an encoding that Office files do not have")
        tail, tags = b"", 0
        while block:
            if _DTD.search(tail + block):
                raise Refusal("malformed", f"{part.filename!r:.80} declares a DTD, which Office files may not")
            tags += block.count(b"<")
            if is_held and tags > _MAX_TAGS:
                raise Refusal("too_large", f"{part.filename!r:.80} has more than {_MAX_TAGS} tags")
            tail = block[-16:]
            block = stream.read(_BLOCK)


def _read_docx(raw: bytes, settings: SourceSettings) -> Canon:
    import mammoth  # type: ignore[import-untyped]

    images = mammoth.images.img_element(lambda _: {})  # never read: only their alternative text is kept
    html: str = mammoth.convert_to_html(io.BytesIO(raw), convert_image=images, style_map=_WORD_STYLES).value
    return write_page(read_page(html), max_bytes=settings.max_text_bytes)


def _read_pptx(raw: bytes, settings: SourceSettings) -> Canon:
    from pptx import Presentation

    canon = Canon(max_bytes=settings.max_text_bytes)
    slides = Presentation(io.BytesIO(raw)).slides
    if len(slides) > settings.max_pages:
        raise Refusal("too_large", f"{len(slides)} slides, more than max_pages = {settings.max_pages}")
    for number, slide in enumerate(slides, start=1):
        canon.label(f"slide {number}")
        title = slide.shapes.title
        texts = [text for shape in _in_order(slide.shapes) for text in _shape_texts(shape, title)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            texts += [f"Notes: {notes}"] if notes else []
        for text in texts:
            canon.add(text + "\n\n")
    return canon


def _in_order(shapes: Iterable[Any]) -> list[Any]:
    """From top to bottom, then left to right; shapes without a place (the title) first."""
    return sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0, shape.shape_id))


def _shape_texts(shape: Any, title: Any) -> Iterator[str]:
    if getattr(shape, "shapes", None) is not None:
        for inner in _in_order(shape.shapes):
            yield from _shape_texts(inner, title)
    elif getattr(shape, "has_table", False):
        rows = [table_row([cell.text for cell in row.cells]) for row in shape.table.rows]
        rows.insert(1, table_row(["---"] * len(shape.table.columns)))
        yield "".join(rows).rstrip("\n")
    elif getattr(shape, "has_chart", False):
        with suppress(
            AttributeError, KeyError, NotImplementedError, ValueError
        ):  # of a kind that python-pptx can't read
            yield from _chart_texts(shape.chart)
    elif getattr(shape, "has_text_frame", False) and shape.text.strip():
        text = shape.text.replace("\v", "\n").strip()
        yield "# " + " ".join(text.split()) if title is not None and shape.shape_id == title.shape_id else text


def _chart_texts(chart: Any) -> Iterator[str]:
    """A chart's title, and a table for each plot."""
    if chart.has_title:
        yield chart.chart_title.text_frame.text
    for plot in chart.plots:
        head = ["", *map(str, plot.categories)]
        rows = [head, ["---"] * len(head), *([series.name, *map(_cell, series.values)] for series in plot.series)]
        yield "".join(map(table_row, rows)).rstrip("\n")


def _read_xlsx(raw: bytes, settings: SourceSettings) -> Canon:
    import warnings

    import openpyxl  # type: ignore[import-untyped]

    canon = Canon(max_bytes=settings.max_text_bytes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that carry no text
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
        try:
            cells = 0
            for sheet in book.worksheets:
                canon.label(f"sheet {sheet.title}")
                canon.add(f"## {sheet.title}\n\n")
                sheet.reset_dimensions()  # the size that a file declares need not be true
                cells = _read_sheet(sheet, canon, cells=cells, settings=settings)
                canon.add("\n")
        finally:
            book.close()
    return canon


def _read_sheet(sheet: Any, canon: Canon, *, cells: int, settings: SourceSettings) -> int:
    header = True
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells += len(row) + 1
        if cells > settings.max_cells:
            raise Refusal("too_large", f"more than max_cells = {settings.max_cells} cells, empty ones counted")
        values = [_cell(value) for value in row]
        while values and not values[-1]:
            values.pop()
        if not values:
            continue
        canon.label(f"sheet {sheet.title}, row {number}")
        canon.add(table_row(values))
        if header:
            canon.add(table_row(["---"] * len(values)))
            header = False
    return cells


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(sep=" ")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


_PAGE_BREAK = "\f"
"""Ends every page but the last, so that the head of a page is known."""
_PDFIUM = threading.Lock()  # pdfium is not safe to enter from two threads
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:Z|([+-]\d\d)'?(\d\d)?)?")


def load_pdf(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """The text layer in pdfium's reading order, one label per page; scanned pages have none."""
    try:
        import pypdfium2  # type: ignore[import-untyped]
    except ImportError as error:
        raise Refusal("missing_part", f"reading PDF needs pypdfium2; {install()}") from error
    canon = Canon(max_bytes=settings.max_text_bytes)
    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(raw)
            properties = document.get_metadata_dict()
            if len(document) > settings.max_pages:
                raise Refusal("too_large", f"{len(document)} pages, more than max_pages = {settings.max_pages}")
            for number, page in enumerate(document, start=1):
                text = _tidy(page.get_textpage().get_text_bounded(errors="surrogatepass"))
                page.close()
                if text:
                    canon.add(_PAGE_BREAK if canon.size else "")
                    canon.label(f"page {number}")
                    canon.add(f"{text}\n\n")
            document.close()
        except pypdfium2.PdfiumError as error:
            raise Refusal("malformed", f"not a PDF that can be read: {error}") from error
    if not canon.size:
        raise Refusal("empty", "its pages hold no text; a scan must be recognised (OCR) first")
    time, title = _time(properties.get("CreationDate", "")), " ".join(properties.get("Title", "").split()) or None
    yield canon.loaded(path, "pdf", language="text", time=time, title=title)


def _tidy(text: str) -> str:
    """Line ends as \\n, words joined that pdfium marks as broken at the line end (U+FFFE, or U+0002 in old files).

    >>> _tidy("exam\\ufffe\\r\\nple of\\r\\ntext \\r\\n")
    'example of\\ntext'
    """
    text = re.sub("[\ufffe\x02]\r?\n?", "", text).replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"(?<![ \t])[ \t]++$", "", text, flags=re.MULTILINE).strip("\n\0")


def _time(date: str) -> int | None:
    parts = _DATE.match(date)
    if parts is None:
        return None
    year, month, day, hour, minute, second, zone, zone_minutes = parts.groups()
    stamp = f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone + (zone_minutes or '00') if zone else 'Z'}"
    return time_of(stamp.encode())
