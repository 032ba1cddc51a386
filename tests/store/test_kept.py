"""What was read last stays, up to a size."""

from brimful.store.format import ByteLru


def test_the_oldest_goes_first():
    """What was asked for longest ago is read again; what was asked for since is not."""
    reads = []

    def read(key):
        reads.append(key)
        return key * 3

    kept = ByteLru(read, size=len, most_bytes=9)
    assert [kept(key) for key in "abcab"] == ["aaa", "bbb", "ccc", "aaa", "bbb"]
    assert reads == ["a", "b", "c"]
    assert [kept(key) for key in "dabc"] == ["ddd", "aaa", "bbb", "ccc"]
    assert reads == ["a", "b", "c", "d", "c"]
    assert kept.held == 9


def test_one_that_is_too_large_is_kept_until_the_next():
    """A value above the size is given all the same, and makes room for the next one."""
    kept = ByteLru(lambda key: "x" * key, size=len, most_bytes=4)
    assert len(kept(10)) == 10
    assert kept.held == 10
    assert kept(3) == "xxx"
    assert kept.held == 3
