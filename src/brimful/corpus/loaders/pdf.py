"""What does a PDF say, page by page?"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from brimful.corpus.loaders.loaded import Canon, Loaded
from brimful.corpus.skips import Refusal, SourceSettings
from brimful.errors import install
from brimful.patterns import compiled
from brimful.text.times import time_of

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

_PDFIUM = threading.Lock()  # pdfium is not safe to enter from two threads
_DATE = compiled(r"D:(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:Z|([+-]\d\d)'?(\d\d)?)?")


def load_pdf(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """The text layer in reading order as pdfium finds it, one label per page; scanned pages have none."""
    try:
        import pypdfium2
    except ImportError as error:
        raise Refusal("missing_part", f"reading PDF needs pypdfium2; {install()}") from error
    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(raw)
        except pypdfium2.PdfiumError as error:
            raise Refusal("malformed", f"not a PDF that can be opened: {error}") from error
        try:
            canon = _read_pages(document, settings)
            facts = document.get_metadata_dict()
        finally:
            document.close()
    if not canon.size:
        raise Refusal("empty", "its pages hold no text; a scan must be recognised (OCR) first")
    time, title = _time(facts.get("CreationDate", "")), " ".join(facts.get("Title", "").split()) or None
    yield canon.loaded(path, "pdf", language="text", time=time, title=title)


def _read_pages(document: PdfDocument, settings: SourceSettings) -> Canon:
    from pypdfium2 import PdfiumError

    pages = len(document)
    if pages > settings.max_pages:
        raise Refusal("too_large", f"{pages} pages, more than max_pages = {settings.max_pages}")
    canon = Canon(max_bytes=settings.max_text_bytes)
    for number in range(pages):
        canon.label(f"page {number + 1}")
        try:
            page = document[number]
            try:
                text = page.get_textpage().get_text_bounded(errors="surrogatepass")
            finally:
                page.close()
        except PdfiumError as error:
            raise Refusal("malformed", f"page {number + 1} can't be read: {error}") from error
        text = _tidy(text)
        if text:
            canon.add(text + "\n\n")
    return canon


def _tidy(text: str) -> str:
    """Line ends as \\n, words joined that pdfium marks as broken at the line end (U+FFFE, or U+0002 in old files).

    >>> _tidy("exam\\ufffe\\r\\nple of\\r\\ntext \\r\\n")
    'example of\\ntext'
    """
    text = re.sub("[\ufffe\x02]\r?\n?", "", text).replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"(?<![ \t])[ \t]++$", "", text, flags=re.MULTILINE).strip("\n\0")


def _time(date: str) -> int | None:
    found = _DATE.match(date)
    if found is None:
        return None
    year, month, day, hour, minute, second, zone, zone_minutes = found.groups()
    stamp = f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone + (zone_minutes or '00') if zone else 'Z'}"
    return time_of(stamp.encode())
