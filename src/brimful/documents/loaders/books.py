"""What do a book of web pages (EPUB) and a Jupyter notebook say, in the order in which they are read?"""

from __future__ import annotations

import io
import json
import posixpath
import re
import zipfile
from collections.abc import Iterator
from html import unescape
from urllib.parse import unquote

from brimful.documents.encodings import decode, looks_binary
from brimful.documents.loaders.html import attribute, decode_page, read_page, tags_in, write_page
from brimful.documents.loaders.loaded import Canon, Loaded, fenced
from brimful.documents.skips import Refusal, SourceSettings

_MAX_PARTS = 20_000
_MAX_PACKAGE_BYTES = 8_000_000


def load_epub(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """The pages of a book's spine, each read as any web page is; one label per heading."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            sizes = {part.filename: part.file_size for part in archive.infolist()}
            if len(sizes) > _MAX_PARTS or sum(sizes.values()) > settings.max_unpacked_bytes:
                raise Refusal("too_large", "it unpacks beyond max_unpacked_bytes, or into too many parts")
            title, names = _spine(archive)
            canon = Canon(max_bytes=settings.max_text_bytes)
            for number, name in enumerate((name for name in names if name in sizes), start=1):
                page = read_page(_part(archive, name, settings.max_part_bytes), max_chars=settings.max_part_bytes)
                if page.blocks:
                    canon.add("\n" if canon.size else "")
                    canon.label(f"part {number}")
                    page.title = None  # most often the book's, on every page
                    write_page(page, max_bytes=settings.max_text_bytes, canon=canon)
    except (zipfile.BadZipFile, KeyError, OSError, NotImplementedError, RuntimeError) as error:
        raise Refusal("malformed", f"it is not an EPUB that can be unpacked ({error})") from error
    if not canon.size:
        raise Refusal("empty", "it holds no text")
    yield canon.loaded(path, "epub", title=title)


def _spine(archive: zipfile.ZipFile) -> tuple[str | None, list[str]]:
    """The book's title, and the names of its pages in reading order, each once."""
    container = tags_in(_part(archive, "META-INF/container.xml", _MAX_PACKAGE_BYTES))
    places = [attribute(attributes, "full-path") for name, attributes in container if name == "rootfile"]
    names = frozenset(archive.namelist())
    place = next((place for place in places if place in names), None)
    if place is None:
        raise Refusal("malformed", "an EPUB without a list of its pages")
    package = _part(archive, place, _MAX_PACKAGE_BYTES)
    pages: dict[str, str] = {}
    order: list[str] = []
    for name, attributes in tags_in(package):
        if name == "item" and "html" in (attribute(attributes, "media-type") or "html"):
            href = posixpath.join(posixpath.dirname(place), unquote(attribute(attributes, "href") or ""))
            pages[attribute(attributes, "id") or ""] = posixpath.normpath(href)
        elif name == "itemref":
            order.append(attribute(attributes, "idref") or "")
    title = re.search(r"<(?:dc:)?title[^<>]{0,500}>([^<]{1,500})<", package)
    words = " ".join(unescape(title[1]).split()) if title else ""
    return words or None, list(dict.fromkeys(pages[name] for name in order if name in pages))


def _part(archive: zipfile.ZipFile, name: str, max_bytes: int) -> str:
    if archive.getinfo(name).file_size > max_bytes:
        raise Refusal("too_large", f"{name!r:.80} unpacks beyond {max_bytes:,} bytes")
    content = archive.read(name)
    if looks_binary(content[:8192]):
        raise Refusal("malformed", f"{name!r:.80} is encrypted, or not text")
    return decode_page(content, None)[0]


def load_notebook(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Markdown cells as they are, code cells as fenced code with their number, without outputs; one label per cell.

    JSON of another shape raises an exception, and the file is listed as malformed.
    """
    content, encoding = decode(raw, encoding=settings.encoding)
    notebook = json.loads(content.decode().removeprefix("\ufeff"))
    cells = notebook.get("cells") or [cell for sheet in notebook.get("worksheets", ()) for cell in sheet["cells"]]
    metadata = notebook.get("metadata", {})
    language = metadata.get("language_info", {}).get("name") or metadata.get("kernelspec", {}).get("language")
    if not isinstance(language, str) or not re.fullmatch(r"[\w+#.-]{1,30}", language):
        language = "python"  # a fence is followed by a plain word, whatever the file says
    canon = Canon(max_bytes=settings.max_text_bytes)
    title: str | None = None
    for number, cell in enumerate(cells, start=1):
        text = "".join(cell.get("source", cell.get("input", "")))
        if not text.strip():
            continue
        canon.label(f"cell {number}")
        kind = cell.get("cell_type")
        code = fenced(text, language=f"{language.lower()} cell={number}") + "\n"
        canon.add(code if kind == "code" else text.strip("\n") + "\n\n")
        heading = re.search(r"^# +(\S.*)", text, re.MULTILINE) if kind == "markdown" else None
        title = title or (heading[1].strip() if heading else None)
    yield canon.loaded(path, f"ipynb:{encoding.rule}", title=title)
