"""By which rules are texts cut, split into words and ranked?

A store keeps the identity of the rules that made it, and a receipt names that of the rules that answered. Only a
program with this identity uses them. Raise a number here whenever any text or question gives another result:
`tests/store/test_rules.py` pins what today's rules give, and names the numbers.
"""

from __future__ import annotations

import unicodedata
from typing import Final

VERSION: Final = "0.1.0"
VERSIONS: Final = {
    "headings": 4,  # which lines are headings or begin a definition
    "ranking": 6,  # which places a question finds, and their scores
    "stems": 1,  # which forms of a word are one, and which words reveal a language
    "terms": 1,  # how a text is split into words, and how each is written
    "units": 4,  # where units and sections begin
    "windows": 11,  # how much around each place is shown, and what of it fits
}

RULES: Final = ", ".join([f"{name} {version}" for name, version in VERSIONS.items()]) + (
    f", Unicode {unicodedata.unidata_version}"
)
"""The identity of all rules together; Unicode comes with Python."""
