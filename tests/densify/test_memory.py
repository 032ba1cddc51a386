import threading

import apsw
import pytest

from brimful.densify.memory import Memory
from brimful.errors import StoreError, StoreVersionError
from brimful.text.spans import Span


def test_answers_are_kept_by_recipe_and_content(tmp_path):
    """Another recipe, another text or another order of texts is another answer."""
    with Memory(tmp_path / "m.db") as memory:
        memory.keep(memory.key(b"r", ["a", "b"]), "answer")
        assert memory.find(memory.key(b"r", ["a", "b"])) == "answer"
        for key in ((b"s", ["a", "b"]), (b"r", ["b", "a"]), (b"r", ["ab"]), (b"r", ["a", "b", ""])):
            assert memory.find(memory.key(*key)) is None


def test_places_do_not_overlap(tmp_path):
    """Of partials that overlap the earliest and longest count, so every byte is condensed once."""
    with Memory(tmp_path / "m.db") as memory:
        for start, end in ((0, 5), (0, 10), (8, 20), (10, 20), (30, 40)):
            memory.keep(memory.key(b"r", [f"{start}-{end}"]), "x", recipe=b"r", source=b"s", span=Span(start, end))
        spans = [(span.start, span.end) for span, _ in memory.places(b"r", b"s")]
        assert spans == [(0, 10), (10, 20), (30, 40)]
        assert memory.places(b"r", b"other") == memory.places(b"other", b"s") == []


def test_a_damaged_answer_was_never_given(tmp_path):
    """A row whose checksum fails is asked for again rather than believed."""
    with Memory(tmp_path / "m.db") as memory:
        key = memory.key(b"r", ["a"])
        memory.keep(key, "answer", recipe=b"r", source=b"s", span=Span(0, 1))
        memory.write("UPDATE partials SET text = ?", ("another",))
        assert memory.find(key) is None
        assert memory.places(b"r", b"s") == []


def test_the_smallest_overflow_counts(tmp_path):
    """Of requests that were too long the smallest is remembered, per endpoint and model."""
    with Memory(tmp_path / "m.db") as memory:
        for tokens in (900, 700, 800):
            memory.keep_limit("e", "m", "overflowed", tokens)
        memory.keep_limit("e", "m", "named", 600)
        assert memory.limit("e", "m", "overflowed") == 700
        assert memory.limit("e", "m", "named") == 600
        assert memory.limit("e", "other", "named") is None


def test_many_threads_and_two_connections_write(tmp_path):
    """Answers of several threads and of several openers of one file are all kept."""
    with Memory(tmp_path / "m.db") as one, Memory(tmp_path / "m.db") as two:

        def work(memory: Memory, name: str) -> None:
            for number in range(20):
                memory.keep(memory.key(b"r", [f"{name}{number}"]), name)

        threads = [
            threading.Thread(target=work, args=(memory, name)) for memory, name in ((one, "a"), (one, "b"), (two, "c"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.rows("SELECT COUNT(*) FROM partials") == [(60,)]


def test_a_file_of_something_else_is_left_alone(tmp_path):
    """Neither a text nor another program's database is taken for a memory."""
    (tmp_path / "notes.txt").write_text("Tea at four. " * 100)
    with pytest.raises(StoreVersionError, match="not a memory"):
        Memory(tmp_path / "notes.txt")
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(StoreVersionError, match="not a memory"):
        Memory(tmp_path / "other.db")
    with pytest.raises(StoreError, match="nowhere"):
        Memory(tmp_path / "nowhere" / "m.db")
