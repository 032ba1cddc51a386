"""What changed since the last look?"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brimful.ingest.watching import changes


@contextmanager
def watching(root: Path, *, poll: bool, ignore: tuple[Path, ...] = ()) -> Iterator[Callable[[Path], bool]]:
    """Watch in a thread; the value waits until a path was told of."""
    seen: set[Path] = set()
    news = threading.Condition()
    stop = threading.Event()

    def follow() -> None:
        for paths in changes([root], stop=stop, poll=poll, ignore=ignore, debounce_ms=100):
            with news:
                seen.update(paths)
                news.notify_all()

    def wait_for(path: Path) -> bool:
        with news:
            return news.wait_for(lambda: path in seen, timeout=20)

    wait_for.seen = seen  # type: ignore[attr-defined]
    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield wait_for
    finally:
        stop.set()
        thread.join()


def touch_until_seen(path: Path, wait_for: Callable[[Path], bool]) -> None:
    """Write until the watcher, which needs a moment to begin, tells of it."""
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.wait(0.2):
            number += 1
            path.write_text("x" * number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert wait_for(path)
    finally:
        done.set()
        writer.join()


@pytest.mark.parametrize("poll", [False, True])
def test_a_change_below_a_root_is_told(tmp_path: Path, poll: bool) -> None:
    """A written file is told, by the system's notice or by polling; hidden and ignored places stay silent."""
    root = tmp_path.resolve()
    (root / "store").mkdir()
    with watching(root, poll=poll, ignore=(root / "store",)) as wait_for:
        touch_until_seen(root / "a.txt", wait_for)
        (root / ".hidden").write_text("x")
        (root / "store" / "segment").write_text("x")
        (root / "last.txt").write_text("x")
        assert wait_for(root / "last.txt")
        assert wait_for.seen == {root / "a.txt", root / "last.txt"}  # type: ignore[attr-defined]


def test_a_watched_file_is_seen_after_it_was_replaced(tmp_path: Path) -> None:
    """An editor writes a new file and renames it over the old one; both times count, its neighbours do not."""
    root = tmp_path.resolve()
    path = root / "a.txt"
    path.write_text("one")
    with watching(path, poll=False) as wait_for:
        touch_until_seen(path, wait_for)
        for text in ("two", "three"):
            wait_for.seen.clear()  # type: ignore[attr-defined]
            (root / "new").write_text(text)
            (root / "new").replace(path)
            assert wait_for(path)
        assert wait_for.seen == {path}  # type: ignore[attr-defined]
