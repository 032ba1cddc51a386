"""Types that a file meets on its way into a store: ARCHITECTURE.md draws the walk."""

import sys

from brimful.ingest import batches
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore

STATIONS = (
    "Root SourceSettings Naming _Update Report _Walk IgnoreRules _Folder Found Encoding Loaded Document FileResult"
).split()


def test_a_file_meets_few_types(tmp_path, monkeypatch):
    """Thirteen types of `documents` and `ingest`, in this order, lie between a folder and the store's new document."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/tea.md").write_text("# Tea\n\nTea is served at four.\n")
    met = {}

    def note(frame, event, result):
        if str(frame.f_globals.get("__name__")).startswith("brimful."):
            values = [result] if event == "return" else list(frame.f_locals.values())
            items = [item for value in values for item in (value if type(value) in (list, tuple) else [value])]
            met.update({type(item).__name__: type(item).__module__ for item in items})

    monkeypatch.setattr(batches, "cores", lambda: 1)
    with SqliteStore(tmp_path / "store.db") as store:
        sys.setprofile(note)
        try:
            ingest(store, tmp_path / "notes")
        finally:
            sys.setprofile(None)
    walked = [name for name, module in met.items() if module.startswith(("brimful.documents.", "brimful.ingest"))]
    assert walked == STATIONS
