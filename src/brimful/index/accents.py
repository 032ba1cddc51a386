"""Which terms are also found without their accents? `cafe` finds `café`; `café` finds only itself.

Done once for the vocabulary of a segment, not for each occurrence: the positions of a term with accents are added to
those of its plain form. Only Latin and Greek letters have one: й is another letter than и, が than か.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left

import numpy as np

from brimful.index.columns import Numbers, Whole
from brimful.index.segments import Postings
from brimful.patterns import compiled
from brimful.text.cuts import merged

# The first bytes of accented letters of both scripts, and of the marks that stand behind a letter.
_MAY_HAVE_ACCENTS = compiled(rb"[\xc3-\xcf\xe1]")
_END, _ACCENT = 1, 2
_PLACE_BITS = 40  # of a position on an axis
_SIGNS = bytes(_END if code == 10 else _ACCENT if _MAY_HAVE_ACCENTS.match(bytes([code])) else 0 for code in range(256))
_ACCENTED = compiled("([a-z\u00df-\u024f\u0250-\u02af\u0370-\u03ff\u1d00-\u1d7f\u2c60-\u2c7f])[\u0300-\u036f]+")


def plain_form(name: bytes) -> bytes:
    """A term without the accents of its Latin and Greek letters.

    >>> [plain_form(name.encode()).decode() for name in ("häuser", "ᾅδης", "йод", "ガ")]
    ['hauser', 'αδης', 'йод', 'ガ']
    """
    if _MAY_HAVE_ACCENTS.search(name) is None:
        return name
    parts = unicodedata.normalize("NFD", name.decode())
    plain, count = _ACCENTED.subn(r"\1", parts)
    return unicodedata.normalize("NFC", plain).encode() if count else name


def _perhaps_accented(names: list[bytes]) -> list[int]:
    """Which names have a byte that accented letters begin with."""
    joined = b"\n".join(names)
    if joined.isascii():
        return []
    signs = np.frombuffer(joined.translate(_SIGNS), np.uint8)
    ends = np.flatnonzero(signs == _END)
    found: list[int] = np.unique(ends.searchsorted(np.flatnonzero(signs == _ACCENT))).tolist()
    return found


def with_plain_forms(postings: Postings) -> Postings:
    """Postings in which a plain term also stands wherever one with accents does."""
    accented: dict[bytes, list[int]] = {}
    for place in _perhaps_accented(postings.names):
        if (plain := plain_form(postings.names[place])) != postings.names[place]:
            accented.setdefault(plain, []).append(place)
    if not accented:
        return postings
    plains = sorted(accented)
    places = [bisect_left(postings.names, plain) for plain in plains]
    known = [at < len(postings.names) and postings.names[at] == plain for at, plain in zip(places, plains, strict=True)]
    members = [
        [*([at] if is_known else []), *accented[plain]]
        for plain, at, is_known in zip(plains, places, known, strict=True)
    ]
    together, behind = _merged(postings, members)
    names: list[bytes] = []
    columns: list[Whole] = []
    counts: list[Numbers] = []
    own = np.diff(postings.offsets)
    done = 0
    for group, (plain, here) in enumerate(zip(plains, places, strict=True)):
        names += postings.names[done:here]
        columns.append(postings.positions[postings.offsets[done] : postings.offsets[here]])
        counts.append(own[done:here])
        names.append(plain)
        columns.append(together[behind[group] : behind[group + 1]])
        counts.append(behind[group + 1 : group + 2] - behind[group])
        done = here + known[group]
    names += postings.names[done:]
    columns.append(postings.positions[postings.offsets[done] :])
    counts.append(own[done:])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.concatenate(counts))))
    return Postings(names, offsets, np.concatenate(columns))


def _merged(postings: Postings, groups: list[list[int]]) -> tuple[Whole, Numbers]:
    """The positions of some terms together, group by group, each once; and where each group ends, after a 0."""
    terms = np.array([term for group in groups for term in group], np.int64)
    sizes = np.diff(postings.offsets)[terms]
    owners = np.repeat(np.arange(len(groups)), list(map(len, groups)))
    rows = np.repeat(postings.offsets[terms] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    keys = np.repeat(owners, sizes) << _PLACE_BITS | postings.positions[rows].astype(np.int64)
    keys = merged(keys)
    behind = keys.searchsorted(np.arange(len(groups) + 1) << _PLACE_BITS)
    return (keys & ((1 << _PLACE_BITS) - 1)).astype(postings.positions.dtype), behind
