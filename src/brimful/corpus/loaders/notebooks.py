"""What does a Jupyter notebook say, cell by cell?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from brimful.corpus.encodings import decode
from brimful.corpus.loaders.loaded import Canon, Loaded, fenced
from brimful.corpus.skips import Refusal, SourceSettings


def load_notebook(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Markdown cells as they are, code cells as fenced code, outputs left out; one label per cell, from 1."""
    decoded = decode(raw, encoding=settings.encoding)
    try:
        notebook = json.loads(decoded.content.decode().removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise Refusal("malformed", f"not JSON: {error}") from error
    cells = _cells(notebook)
    language = _language(notebook)
    canon = Canon(max_bytes=settings.max_text_bytes)
    title: str | None = None
    for number, cell in enumerate(cells, start=1):
        text = _source(cell)
        if not text.strip():
            continue
        canon.label(f"cell {number}")
        kind = cell.get("cell_type")
        if kind == "code":
            canon.add(fenced(text, language=language) + "\n")
        else:
            canon.add(text.strip("\n") + "\n\n")
        heading = re.search(r"^# +(\S.*)", text, re.MULTILINE) if kind == "markdown" else None
        title = title or (heading[1].strip() if heading else None)
    yield canon.loaded(path, f"ipynb:{decoded.rule}", title=title)


def _cells(notebook: object) -> list[dict[str, object]]:
    """The cells of format 4, or of the worksheets of format 3."""
    found: object = None
    if isinstance(notebook, dict):
        found = notebook.get("cells")
        sheets = notebook.get("worksheets")
        if found is None and isinstance(sheets, list):
            found = [cell for sheet in sheets if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    if not isinstance(found, list):
        raise Refusal("malformed", "a notebook without cells")
    return [cell if isinstance(cell, dict) else {} for cell in found]


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, str):
        return source
    return "".join(line for line in _list(source) if isinstance(line, str))


def _language(notebook: object) -> str:
    """The name after the fence: only a plain word, since the file may say anything."""
    metadata = notebook.get("metadata") if isinstance(notebook, dict) else None
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        value = part.get(name) if isinstance(part, dict) else None
        if isinstance(value, str) and re.fullmatch(r"[\w+#.-]{1,30}", value):
            return value.lower()
    return "python"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
