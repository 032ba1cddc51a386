"""Parsers of foreign formats run in a box: whatever a file does to them costs that file, with its reason."""

import os
import signal
import subprocess
import sys
import zipfile
from io import BytesIO

import pytest

from brimful.documents.loaders import Loaded, box, load
from brimful.documents.loaders.office import _MAX_TAGS, load_office, load_pdf
from brimful.documents.skips import Skipped, SourceSettings
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore

from .test_loaders_documents import OOXML, make_docx, make_pdf, make_zip, paragraph, pdf_of

limited = pytest.mark.skipif(box.resource is None or sys.platform != "linux", reason="the system has no such limits")


PAGE = "/MediaBox [0 0 300 200]"


def only(path: str, raw: bytes, **settings: object) -> Loaded | Skipped:
    """The one thing that a file becomes."""
    (item,) = load(path, raw, settings=SourceSettings(**settings))  # type: ignore[arg-type]
    return item


def nested_forms(levels: int) -> bytes:
    """A PDF in which each form draws the next one twice, and the last one a word: 2 to the power of its levels."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Type /Page /Parent 2 0 R {PAGE} /Contents 5 0 R /Resources << /XObject << /X 6 0 R >> >> >>",
        "<< /Length 5 >>\nstream\n/X Do\nendstream",
    ]
    for level in range(levels):
        number = 6 + level
        stream = "/X Do /X Do" if level < levels - 1 else "BT /F1 12 Tf 20 100 Td (tea) Tj ET"
        inner = f"/XObject << /X {number + 1} 0 R >>" if level < levels - 1 else "/Font << /F1 3 0 R >>"
        objects.append(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 300 200] /Resources << {inner} >> /Length {len(stream)} >>\n"
            f"stream\n{stream}\nendstream"
        )
    return pdf_of(objects)


@limited
def test_nested_forms_cost_one_file(tmp_path):
    """A small PDF whose memory doubles with every level is skipped; its folder is stored, the next PDF too."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(nested_forms(28))
    (folder / "b.pdf").write_bytes(make_pdf("Tea at four"))
    (folder / "c.md").write_text("Tea at five.")
    settings = SourceSettings(max_parser_bytes=300_000_000, max_parser_seconds=20)
    with SqliteStore(tmp_path / "store.db") as store:
        report = ingest(store, folder, settings=settings)
    assert (report.added, [skip.path for skip in report.skipped]) == (2, ["notes/a.pdf"])
    assert report.skipped[0].reason in ("too_large", "malformed")
    assert "max_parser" in report.skipped[0].detail


INHERITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (3_000, 3_000))
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
from brimful.documents.loaders import load
from brimful.documents.skips import SourceSettings
print(load("a.pdf", sys.stdin.buffer.read(), settings=SourceSettings(max_parser_bytes=300_000_000)))
"""


@limited
def test_limits_that_were_inherited_are_lowered():
    """Below the hard limits of a batch system a file is bounded as anywhere else."""
    command = [sys.executable, "-P", "-c", INHERITED, box._PACKAGE]
    shown = subprocess.run(command, input=nested_forms(28), capture_output=True, check=True, timeout=300).stdout
    assert b"max_parser_bytes = 300000000" in shown


UNLIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import brimful.documents.loaders.box as box
def refuse(*_):
    raise ValueError("not here")
resource.setrlimit = refuse
box.serve()
"""


@pytest.mark.parametrize("hindrance", ["limits", "executable"])
def test_a_parser_without_bounds_is_not_run(monkeypatch, hindrance):
    """Where a system refuses the limits, or starts no process, the file is a skip that says so."""
    if hindrance == "limits":
        monkeypatch.setattr(box, "_START", UNLIMITED)
    else:
        monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    box.close_box()
    try:
        item = only("a.pdf", make_pdf("tea"))
    finally:
        box.close_box()
    assert isinstance(item, Skipped)
    assert item.reason == "missing_part"
    assert ("not here" if hindrance == "limits" else "uwsgi") in item.detail


SPINNING = """
import sys
sys.path.insert(0, sys.argv[1])
import brimful.documents.loaders.office as pdf
import brimful.documents.loaders.box as box
def spin(*_):
    while True: pass
pdf.load_pdf = spin
box.serve()
"""


@limited
def test_a_parser_that_never_ends_is_stopped(monkeypatch):
    """Processor time is counted for each file; the box that died is started again."""
    monkeypatch.setattr(box, "_START", SPINNING)
    box.close_box()
    try:
        item = only("a.pdf", make_pdf("tea"), max_parser_seconds=1)
    finally:
        box.close_box()
        monkeypatch.undo()
    assert isinstance(item, Skipped)
    assert (item.reason, "max_parser_seconds" in item.detail) == ("too_large", True)
    assert isinstance(only("a.pdf", make_pdf("tea")), Loaded)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no signals")
def test_a_box_that_was_killed_is_started_again():
    """Between two files nobody notices but the file that was lost."""
    assert isinstance(only("a.pdf", make_pdf("tea")), Loaded)
    process = box._BOXES[-1]._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert isinstance(only("a.pdf", make_pdf("tea")), Skipped)
    assert isinstance(only("a.pdf", make_pdf("tea")), Loaded)


def test_an_answer_is_taken_for_data_only():
    """A box that says too much, or something that is no document, is a box that died."""
    settings = SourceSettings(max_text_bytes=10)
    for said in (b"\xff" * 8, (2_000_000).to_bytes(8, "big"), (2).to_bytes(8, "big") + b"[]", b""):
        with pytest.raises((EOFError, ValueError)):
            box._answer(BytesIO(said), settings)


def test_the_box_gives_what_the_loader_gives():
    """Content, map, title, time, kind and rule are those of the loader called directly."""
    settings = SourceSettings()
    for name, raw, loader in (
        ("a.pdf", make_pdf("Tea at four", "Milk"), load_pdf),
        ("a.docx", make_docx(paragraph("Tea", style="Heading1") + paragraph("At four.")), load_office),
    ):
        assert load(name, raw) == list(loader(name, raw, settings))


def test_a_main_part_of_any_name_may_declare_no_dtd():
    """A Word file names its own main part: called .bin and with entities, it is refused as one called .xml is."""
    laughs = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">]>'
    body = f'{laughs}<w:document xmlns:w="{OOXML}/wordprocessingml/2006/main"><w:body/></w:document>'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{OOXML}/package/2006/content-types">'
        f'<Override PartName="/word/main.bin" ContentType="{kind}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{OOXML}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{OOXML}/officeDocument/2006/relationships/officeDocument" Target="word/main.bin"/></Relationships>',
        "word/document.xml": "<x/>",
    }
    hidden = '<?xml version="1.0" encoding="utf-7"?>+ADw-!DOCTYPE x+AD4-<x/>'
    for text in (body, body.encode("utf-16"), "\ufeff" + body, hidden):
        item = only("a.docx", make_zip(**parts, **{"word/main.bin": text}))  # type: ignore[arg-type]
        assert isinstance(item, Skipped)
        assert item.reason == "malformed"
        assert "DTD" in item.detail or "encoding" in item.detail


def test_millions_of_empty_paragraphs_are_refused_by_count():
    """A small file that unpacks to more tags than any text has is refused before its parser counts them for minutes."""
    raw = make_docx("<w:p/>" * (_MAX_TAGS + 1))
    assert len(raw) < 30_000
    item = only("a.docx", raw)
    assert isinstance(item, Skipped)
    assert (item.reason, "tags" in item.detail) == ("too_large", True)


def test_styles_of_a_sheet_are_held_and_therefore_bounded():
    """Of an Excel file only sheets and strings are read piece by piece; other parts have to fit max_part_bytes."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/styles.xml", "<styleSheet>" + "<xf/>" * 3_000_000 + "</styleSheet>")
    item = only("a.xlsx", buffer.getvalue())
    assert isinstance(item, Skipped)
    assert (item.reason, "max_part_bytes" in item.detail) == ("too_large", True)
