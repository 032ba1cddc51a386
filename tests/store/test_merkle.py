"""The state root: a function of the documents alone, with proofs."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from brimful.store.merkle import all_buckets, bucket_of, leaf_hash, prove, root_of, state_root

documents = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.tuples(st.none() | st.integers(-(2**40), 2**40), st.binary(max_size=4)),
    max_size=12,
)


def buckets_of(found):
    """Leaves by bucket, sorted by path."""
    buckets = defaultdict(list)
    for path in sorted(found):
        time, content = found[path]
        buckets[bucket_of(path)].append((path, leaf_hash(path, time, content)))
    return buckets


def root(found):
    """The state root of a dictionary of documents."""
    return state_root({place: root_of(leaf for _, leaf in leaves) for place, leaves in buckets_of(found).items()})


@given(documents)
def test_every_document_is_proven(found):
    """A proof leads from each document to the root, and from nothing else."""
    buckets = buckets_of(found)
    roots = {place: root_of(leaf for _, leaf in leaves) for place, leaves in buckets.items()}
    above = all_buckets(roots)
    for place, leaves in buckets.items():
        for number, (path, leaf) in enumerate(leaves):
            proof = prove([leaf for _, leaf in leaves], number, place=place, above=above)
            assert proof.root(leaf) == above[-1][0]
            assert proof.root(leaf_hash(path, 1, b"something else")) != above[-1][0]


@given(documents, st.text(min_size=1, max_size=8), st.binary(max_size=4))
def test_any_change_changes_the_root(found, path, content):
    """Path, time and content all count."""
    before = root(found)
    changed = {**found, path: (7, content)}
    assert (root(changed) == before) == (changed == found)


def test_fields_can_not_run_into_each_other():
    """A longer path with a shorter content is another document."""
    assert leaf_hash("ab", None, b"c") != leaf_hash("a", None, b"bc")
    assert leaf_hash("a", 0, b"") != leaf_hash("a", None, bytes(8))
