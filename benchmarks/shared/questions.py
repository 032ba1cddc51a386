"""Which questions are asked? Four kinds, drawn from the corpus itself by the order of hashes.

    rare    two words of one file that few files have
    common  two of the words that most files have
    typo    two words that some files have, each with a slip of the fingers
    long    a sentence of 16 to 30 words that stands in a text

No question is asked twice of one process: an answer is then new work, and only what is shared by questions is warm.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

KINDS = ("rare", "common", "typo", "long")

_READ_BYTES = 12_000_000  # of the corpus, for the choice of words
_WORD = re.compile(r"(?<![\w-])[a-z]{5,14}(?![\w-])")
_SENTENCE = re.compile(r"(?<=[.!?]\s)[A-Z][a-z]*(?:,? [a-z]+(?:'[a-z]+)?){15,29}[.?](?=\s)")
_FEW, _SOME = range(3, 7), range(12, 60)  # files that have a word
_COMMONEST = 120


def questions(folder: Path, count: int) -> dict[str, list[str]]:
    """So many questions of each kind; fewer in a corpus that has no more."""
    texts = list(_texts(folder))
    words = [sorted(set(_WORD.findall(text))) for text in texts]
    files = Counter(word for found in words for word in found)
    rare: list[str] = []
    for found in words:
        few = _by_hash([word for word in found if files[word] in _FEW])
        rare += [f"{few[0]} {few[1]}"] if len(few) > 1 else []
    frequent = _by_hash([word for word, _ in files.most_common(_COMMONEST)])
    some = _by_hash([word for word, number in files.items() if number in _SOME and len(word) >= 7])
    wrong = [slip for word in some if (slip := _slip(word)) not in files]
    sentences = [re.sub(r"\s+", " ", found) for text in texts for found in _SENTENCE.findall(text)]
    found = {
        "rare": _by_hash(rare),
        "common": [f"{one} {other}" for one, other in zip(frequent[::2], frequent[1::2], strict=False)],
        "typo": [f"{one} {other}" for one, other in zip(wrong[::2], wrong[1::2], strict=False)],
        "long": _by_hash(sentences),
    }
    return {kind: list(dict.fromkeys(found[kind]))[:count] for kind in KINDS}


def _texts(folder: Path) -> Iterator[str]:
    """The first texts by the hash of their names, up to a size."""
    names = _by_hash([path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()])
    size = 0
    for name in names:
        content = (folder / name).read_bytes()
        size += len(content)
        if size > _READ_BYTES:
            return
        yield content.decode()


def _slip(word: str) -> str:
    """One of four slips at one of its inner letters: swapped, left out, doubled, or the one beside it typed."""
    number = hashlib.blake2b(word.encode(), digest_size=8).digest()
    at = 2 + number[0] % (len(word) - 4)
    beside = {"a": "s", "e": "w", "i": "o", "o": "i", "u": "y", "n": "m", "t": "r", "s": "a", "r": "t", "l": "k"}
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return (
        swapped,
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + beside.get(word[at], "e") + word[at + 1 :],
    )[number[1] % 4]


def _by_hash(names: Sequence[str]) -> list[str]:
    return sorted(set(names), key=lambda name: (hashlib.blake2b(name.encode(), digest_size=8).digest(), name))
