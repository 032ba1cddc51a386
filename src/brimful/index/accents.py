"""Which terms are also found without their accents? `cafe` finds `café`; `café` finds only itself.

Done once for the vocabulary of a segment, not for each occurrence: the positions of a term with accents are added to
those of its plain form. Only Latin and Greek letters have one: й is another letter than и, が than か.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left

import numpy as np

from brimful.index.columns import Numbers
from brimful.index.segments import Postings
from brimful.text.cuts import merged

# The first bytes of accented letters of both scripts, and of the marks that stand behind a letter.
_MAY_HAVE_ACCENTS = re.compile(rb"[\xc3-\xcf\xe1]")
_END, _ACCENT = 1, 2
_SIGNS = bytes(_END if code == 10 else _ACCENT if _MAY_HAVE_ACCENTS.match(bytes([code])) else 0 for code in range(256))
_ACCENTED = re.compile("([a-z\u00df-\u024f\u0250-\u02af\u0370-\u03ff\u1d00-\u1d7f\u2c60-\u2c7f])[\u0300-\u036f]+")


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
    names: list[bytes] = []
    columns: list[Numbers] = []
    counts: list[Numbers] = []
    own = np.diff(postings.offsets)
    done = 0
    for plain in sorted(accented):
        here = bisect_left(postings.names, plain, done)
        names += postings.names[done:here]
        columns.append(postings.positions[postings.offsets[done] : postings.offsets[here]])
        counts.append(own[done:here])
        is_known = here < len(postings.names) and postings.names[here] == plain
        places = [here, *accented[plain]] if is_known else accented[plain]
        found = merged(*(postings.positions[postings.offsets[at] : postings.offsets[at + 1]] for at in places))
        names.append(plain)
        columns.append(found)
        counts.append(np.array([len(found)], np.int64))
        done = here + is_known
    names += postings.names[done:]
    columns.append(postings.positions[postings.offsets[done] :])
    counts.append(own[done:])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.concatenate(counts))))
    return Postings(names, offsets, np.concatenate(columns))
