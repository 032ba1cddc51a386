"""Which code does each unit of a segment get?"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

import numpy as np

from brimful.index.build import Segment
from brimful.index.vectors import CODE_BYTES, Codes, TermVectors, codes_of, project, unit_codes

if TYPE_CHECKING:
    from brimful.index.embedders import Embedder

_UNITS_AT_ONCE = 1_024


@cache
def default_embedder() -> Embedder | None:
    """The static table, one for the process, where the `semantic` extra is installed; else None."""
    if find_spec("wordllama") is None or find_spec("tokenizers") is None:
        return None
    from brimful.index.embedders import StaticEmbedder

    return StaticEmbedder()


def code_units(segment: Segment, embedder: Embedder) -> Codes:
    """The code of every unit, 32 bytes each: from the postings where vectors of terms add up, else from the text."""
    if embedder.kind == "static":
        return unit_codes(segment.postings, segment.units, cast("TermVectors", embedder))
    codes = np.zeros((len(segment.units), CODE_BYTES), np.uint8)
    # A unit ends with its extent, one byte before the next one begins; what stands between is no text.
    ends = np.append(segment.units[1:], len(segment.axis)).tolist()
    texts = [segment.axis[start:end] for start, end in zip(segment.units.tolist(), ends, strict=True)]
    for first in range(0, len(texts), _UNITS_AT_ONCE):
        batch = [text.decode("utf-8", "replace") for text in texts[first : first + _UNITS_AT_ONCE]]
        codes[first : first + len(batch)] = codes_of(project(embedder.embed(batch)))
    return codes
