"""What was read last stays, up to a size."""

import sys

import pytest

from brimful.store import format as kept_in
from brimful.store.format import Room, give_back, keep_memory, share_memory


def test_the_oldest_goes_first():
    """What was asked for longest ago is read again; what was asked for since is not."""
    reads = []

    def read(key):
        reads.append(key)
        return key * 3

    room = Room(9)
    kept = room.keep(read, size=len)
    assert [kept(key) for key in "abcab"] == ["aaa", "bbb", "ccc", "aaa", "bbb"]
    assert reads == ["a", "b", "c"]
    assert [kept(key) for key in "dabc"] == ["ddd", "aaa", "bbb", "ccc"]
    assert reads == ["a", "b", "c", "d", "c"]
    assert room.held == 9


def test_one_that_is_too_large_is_kept_until_the_next():
    """A value above the size is given all the same, and makes room for the next one."""
    room = Room(4)
    kept = room.keep(lambda key: "x" * key, size=len)
    assert len(kept(10)) == 10
    assert room.held == 10
    assert kept(3) == "xxx"
    assert room.held == 3


def test_several_kinds_share_a_room():
    """The same key means another value in each kind, and what goes is the oldest of all of them."""
    reads = []
    room = Room(6)
    small, large = (
        room.keep(lambda key, change=change: reads.append(key) or change(key), size=len)
        for change in (str.lower, str.upper)
    )
    assert (small("Tea"), large("Tea"), small("Tea")) == ("tea", "TEA", "tea")
    assert reads == ["Tea", "Tea"]
    assert small("Cup") == "cup"  # in the place of TEA, which was asked for before tea
    assert (small("Tea"), room.held) == ("tea", 6)
    assert (large("Tea"), reads) == ("TEA", ["Tea", "Tea", "Cup", "Tea"])


MB = 1 << 20


@pytest.mark.parametrize(
    ("resident", "free", "trims"),
    [
        ([100, 100], 1, 0),
        ([100, 100], 50, 1),
        ([100, 300, 100], 50, 1),  # a fifth of what is held at most stays free
        ([100, 123, 124], 1_000, 2),  # memory has hardly grown since the allocator was asked
        ([100, 40, 64], 1_000, 2),  # but it has since it was least
        ([0, 0], 1_000, 2),  # nobody tells how much is held
    ],
)
def test_memory_is_given_back_where_much_of_it_is_free(monkeypatch, resident, free, trims):
    """The allocator is asked where more is held than before, and gives back only what is worth the time."""
    asked = []

    class Allocator:
        def mallinfo2(self):
            return kept_in._Allocated(free=free * MB)

        def malloc_trim(self, pad):
            asked.append(pad)

    monkeypatch.setattr(kept_in, "_resident", [0])
    monkeypatch.setattr(kept_in, "_allocator", Allocator)
    for held in resident:
        monkeypatch.setattr(kept_in, "_resident_bytes", lambda held=held: held * MB)
        give_back()
    assert asked == [0] * trims


def test_without_such_an_allocator_nothing_is_given_back(monkeypatch):
    """Where the C library is another one, nobody is asked how much is held."""
    monkeypatch.setattr(kept_in, "_allocator", lambda: None)
    monkeypatch.setattr(kept_in, "_resident_bytes", lambda: pytest.fail("asked"))
    give_back()


def test_a_process_knows_what_it_holds():
    """On Linux it is a number of bytes; elsewhere nobody tells."""
    assert (kept_in._resident_bytes() > MB) == sys.platform.startswith("linux")


@pytest.mark.parametrize(("said", "asked_for"), [(None, [(-8, 1)]), ("4", [])])
def test_threads_share_a_heap_unless_the_environment_says_otherwise(monkeypatch, said, asked_for):
    """The allocator is told to keep one heap; a user's own number of them stays, and without it nothing happens."""
    asked = []

    class Allocator:
        def mallopt(self, *given):
            asked.append(given)

    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if said is not None:
        monkeypatch.setenv("MALLOC_ARENA_MAX", said)
    monkeypatch.setattr(kept_in, "_allocator", Allocator)
    share_memory()
    assert asked == asked_for
    monkeypatch.setattr(kept_in, "_allocator", lambda: None)
    share_memory()
    assert asked == asked_for


@pytest.mark.parametrize(("said", "asked_for"), [(None, [(-1, 256 * MB), (-3, 32 * MB), (-8, 1)]), ("4096", [])])
def test_a_process_of_one_answer_keeps_its_memory(monkeypatch, said, asked_for):
    """Little is given back from then on, and nothing behind the question; what the environment says holds."""
    asked = []

    class Allocator:
        def mallopt(self, *given):
            asked.append(given)

        def mallinfo2(self):
            return kept_in._Allocated(free=1_000 * MB)

        def malloc_trim(self, pad):
            asked.append(pad)

    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    if said is not None:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", said)
    monkeypatch.setattr(kept_in, "_resident", [0])
    monkeypatch.setattr(kept_in, "_allocator", Allocator)
    monkeypatch.setattr(kept_in, "_resident_bytes", lambda: 100 * MB)
    keep_memory()
    assert asked == asked_for
    give_back()
    assert asked == asked_for + [0] * (said is not None)
