"""A store stays what a folder holds while the folder changes."""

import threading
from contextlib import contextmanager

import pytest

from brimful.documents import reading
from brimful.errors import DocumentError, StoreBusyError
from brimful.ingest import watching
from brimful.ingest.watching import watch_into
from brimful.store.sqlite import SqliteStore


class Follower(threading.Thread):
    """Watches in a thread, as a server would, and keeps the reports."""

    def __init__(self, path, place, poll):
        super().__init__()
        self.path, self.place, self.poll = path, place, poll
        self.stop, self.reports, self.news = threading.Event(), [], threading.Condition()
        self.error = None

    def run(self):
        """Follow until stopped."""
        try:
            with SqliteStore(self.path) as store:
                for report in watch_into(store, self.place, stop=self.stop, debounce_ms=50, poll=self.poll):
                    with self.news:
                        self.reports.append(report)
                        self.news.notify_all()
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.error = error

    def until(self, condition):
        """Wait for reports that fulfil a condition."""
        with self.news:
            assert self.news.wait_for(lambda: self.error or condition(self.reports), timeout=30), self.reports
        assert self.error is None, self.error


@contextmanager
def follow(path, place, *, poll=False):
    """A follower that has given its first report, and ends with the block."""
    thread = Follower(path, place, poll)
    thread.start()
    try:
        thread.until(lambda reports: reports)
        yield thread
    finally:
        thread.stop.set()
        thread.join(30)
    assert not thread.is_alive()
    assert thread.error is None


def paths(path):
    """What the store holds."""
    with SqliteStore(path) as store, store.snapshot() as now:
        return [row.path for row in now.rows()]


def total(reports, what):
    """The sum of a count over all reports."""
    return sum(getattr(report, what) for report in reports)


@pytest.mark.parametrize("poll", [False, True])
def test_changes_arrive_in_the_store(tmp_path, poll):
    """New, changed, renamed and removed files are followed, and what did not change is not read again."""
    folder, db = tmp_path / "notes", tmp_path / "notes" / "store.db"
    folder.mkdir()
    (folder / "old.md").write_text("there before\n")
    with follow(db, folder, poll=poll) as thread:
        assert thread.reports[0].added == 1
        (folder / "new.md").write_text("tea\n")
        thread.until(lambda reports: total(reports, "added") == 2)
        (folder / "new.md").write_text("tea and coffee\n")
        thread.until(lambda reports: total(reports, "changed") == 1)
        (folder / "new.md").rename(folder / "newer.md")
        thread.until(lambda reports: total(reports, "renamed") == 1)
        (folder / "old.md").unlink()
        thread.until(lambda reports: total(reports, "removed") == 1)
    assert total(thread.reports, "added") == 2
    assert paths(db) == ["notes/newer.md"]


def test_one_bad_file_does_not_stop_the_others(tmp_path, monkeypatch):
    """A file that can't be opened is listed, the rest goes on."""
    folder = tmp_path / "notes"
    folder.mkdir()
    plain_open = reading.os.open

    def refuse(name, *rest):
        if str(name).endswith("bad.md"):
            raise PermissionError(13, "Permission denied", name)
        return plain_open(name, *rest)

    monkeypatch.setattr(reading.os, "open", refuse)
    with follow(tmp_path / "store.db", folder) as thread:
        (folder / "bad.md").write_text("bad\n")
        thread.until(lambda reports: any(skip.path == "notes/bad.md" for report in reports for skip in report.skipped))
        (folder / "good.md").write_text("good\n")
        thread.until(lambda reports: total(reports, "added") == 1)
    assert paths(tmp_path / "store.db") == ["notes/good.md"]


def test_a_busy_store_is_tried_again(tmp_path, monkeypatch):
    """While another process writes, the change waits; it is not lost."""
    folder = tmp_path / "notes"
    folder.mkdir()
    real, busy = watching.ingest, []

    def ingest(*arguments, **options):
        if (folder / "a.md").exists() and len(busy) < 2:
            busy.append(1)
            raise StoreBusyError("busy")
        return real(*arguments, **options)

    monkeypatch.setattr(watching, "ingest", ingest)
    with follow(tmp_path / "store.db", folder) as thread:
        (folder / "a.md").write_text("tea\n")
        thread.until(lambda reports: total(reports, "added") == 1)
    assert len(busy) == 2


def test_a_place_that_goes_away_keeps_its_documents(tmp_path):
    """An unmounted folder loses nothing, and is followed again when it is back; one that never was is an error."""
    folder, away = tmp_path / "notes", tmp_path / "away"
    folder.mkdir()
    (folder / "a.md").write_text("tea\n")
    with follow(tmp_path / "store.db", folder) as thread:
        folder.rename(away)
        (away / "b.md").write_text("more tea\n")
        away.rename(folder)
        thread.until(lambda reports: total(reports, "added") == 2)
        (folder / "c.md").write_text("even more\n")
        thread.until(lambda reports: total(reports, "added") == 3)
    assert total(thread.reports, "removed") == 0
    with SqliteStore(tmp_path / "other.db") as store, pytest.raises(DocumentError, match="check the path"):
        next(watch_into(store, tmp_path / "nowhere", stop=threading.Event()))


def test_stopping_before_the_first_look(tmp_path):
    """A stop that is set already gives no report, and ends."""
    stop = threading.Event()
    stop.set()
    with SqliteStore(tmp_path / "store.db") as store:
        assert list(watch_into(store, tmp_path, stop=stop)) == []
