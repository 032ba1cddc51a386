"""The kernels that hash many short texts and trees of hashes, against BLAKE3 of each and pairs joined one by one."""

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.kernels.hashes import HASH_BYTES, hash_texts, levels_above, parted, roots_of

TEXTS = st.one_of(st.binary(max_size=200), st.sampled_from([0, 1, 63, 64, 65, 128, 1_023, 1_024, 1_025]).map(bytes))
LEAVES = st.lists(st.binary(min_size=HASH_BYTES, max_size=HASH_BYTES), min_size=1, max_size=40)


def levels_of(leaves, sign):
    """The levels above some leaves, pair by pair."""
    above = []
    while len(leaves) > 1:
        pairs = [blake3(sign + leaves[at] + leaves[at + 1]).digest() for at in range(0, len(leaves) - 1, 2)]
        leaves = pairs + leaves[len(leaves) - len(leaves) % 2 :]
        above += leaves
    return above


@given(st.lists(TEXTS, max_size=12))
@example([])
@example([b"", bytes(1_024), bytes(1_025), b"tea", bytes(64)])
def test_texts_have_the_hashes_that_they_have_alone(texts):
    """Four texts side by side, of any lengths, have the hash of each; a long one too."""
    assert hash_texts(texts) == [blake3(text).digest() for text in texts]


@given(LEAVES, st.sampled_from([b"\0", b"\1", b"\xff"]))
def test_levels_are_those_of_pairs_joined_one_by_one(leaves, sign):
    """Every level is there, the last odd hash of each moved up."""
    assert parted(levels_above(b"".join(leaves), sign=sign)) == levels_of(leaves, sign)


@given(st.lists(LEAVES, min_size=1, max_size=6))
def test_many_roots_are_those_of_each_tree(trees):
    """A tree has the root that it has alone; of a single leaf that is the leaf."""
    bounds = np.cumsum([0, *map(len, trees)])
    leaves = b"".join([leaf for tree in trees for leaf in tree])
    assert roots_of(leaves, bounds, sign=b"\1") == [(levels_of(tree, b"\1") or tree)[-1] for tree in trees]


@pytest.mark.parametrize("bounds", [[], [0], [0, 1], [1, 2], [0, 0, 2], [0, 2, 1, 2], [0, 3]])
def test_trees_must_share_all_leaves_among_them(bounds):
    """A tree without a leaf, or a leaf outside of all trees, is refused."""
    with pytest.raises(ValueError, match="every tree needs a leaf"):
        roots_of(bytes(2 * HASH_BYTES), np.array(bounds, np.int64), sign=b"\1")


def test_a_part_of_a_hash_is_refused():
    """Leaves are hashes of 32 bytes each."""
    with pytest.raises(ValueError, match="are no hashes"):
        levels_above(bytes(33), sign=b"\1")
