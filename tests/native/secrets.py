"""What a text that is searched for credentials holds: with NumPy and one search an anchor, to compare with."""

import numpy as np


def long_runs(head: bytes, marks: bytes, least: int) -> bytes:
    """The parts of a text that are long enough for a token."""
    found = np.frombuffer(b"\0%b\0" % head.translate(marks), np.uint8)
    edges = np.flatnonzero(found[1:] != found[:-1])
    starts, ends = edges[::2], edges[1::2]
    is_long = ends - starts >= least
    runs = zip(starts[is_long].tolist(), ends[is_long].tolist(), strict=True)
    return b"\n".join([head[start:end] for start, end in runs])


def anchors_in(text: bytes, anchors: list[bytes]) -> set[bytes]:
    """Which of some strings stand in a text."""
    return {anchor for anchor in anchors if anchor in text}
