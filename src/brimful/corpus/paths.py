"""Which paths could be meant by one that is not there?"""

from __future__ import annotations

from collections.abc import Sequence

_LEAST_LIKENESS = 60  # of 100
_MOST_CHARACTERS = 1_000


def close_paths(wanted: str, paths: Sequence[str], *, most: int = 3) -> list[str]:
    """Paths that end in the wanted one first, then those that are spelt alike; best first.

    >>> close_paths("kettle.py", ["docs/tea.md", "src/kettle.py", "src/kettles.py"])
    ['src/kettle.py', 'src/kettles.py']
    >>> close_paths("zebra", ["docs/tea.md"])
    []
    """
    from rapidfuzz import fuzz, process

    wanted = wanted[:_MOST_CHARACTERS].lstrip("./")
    if not wanted:
        return []
    whole = sorted(path for path in paths if path.endswith(f"/{wanted}"))[:most]
    alike = process.extract(wanted, paths, scorer=fuzz.ratio, score_cutoff=_LEAST_LIKENESS, limit=None)
    ranked = [path for path, _, _ in sorted(alike, key=lambda each: (-each[1], each[0]))]
    return [*whole, *(path for path in ranked if path not in whole)][:most]


def close_part(wanted: str, paths: Sequence[str]) -> str:
    """The "did you mean" part of a message, or nothing when no path is close."""
    close = close_paths(wanted, paths)
    return f"did you mean {' or '.join(repr(path) for path in close)}? " if close else ""
