"""What was read last stays, up to a size."""

from brimful.store.format import Room


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
