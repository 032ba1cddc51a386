"""Which lines of which files does a pasted traceback or log point at?

`File "app/tasks.py", line 230`, `lib/route.js:216:15` and `compat.c(622)` name a place. The file is the stored one
whose path ends like the pasted one, for as many folders as can be; the line is where it stands now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from brimful.patterns import compiled

if TYPE_CHECKING:
    from brimful.search.ground import Ground

MOST_FRAMES: Final = 32
_LONGEST_PATH = 400
_LARGEST = 8 << 20  # bytes of a file whose lines are counted
_FRAME = compiled(
    r"File \"(?P<quoted>[^\"\n]{1,400})\", line (?P<line1>\d{1,7})"
    r"|(?<![\w./\\-])(?P<path>[\w.@/\\-]{1,400}\.[A-Za-z]\w{0,5})(?::(?P<line2>\d{1,7})\b|\((?P<line3>\d{1,7})\))"
)


class Frame(NamedTuple):
    """A line of a file, as it was pasted."""

    path: str
    line: int


def frames_in(text: str) -> tuple[Frame, ...]:
    """The places that a text points at, each once, in its order.

    >>> frames_in('File "/app/tasks.py", line 230, in run; at get (lib/route.js:216:15); 12:30 and 3.5:1')
    (Frame(path='/app/tasks.py', line=230), Frame(path='lib/route.js', line=216))
    """
    found: dict[Frame, None] = {}
    for each in _FRAME.finditer(text):
        line = int(each["line1"] or each["line2"] or each["line3"])
        path = (each["quoted"] or each["path"]).replace("\\", "/")
        if line and len(path) <= _LONGEST_PATH:
            found.setdefault(Frame(path, line))
        if len(found) == MOST_FRAMES:
            break
    return tuple(found)


def places_of(ground: Ground, frames: Sequence[Frame]) -> list[tuple[int, int]]:
    """The documents, as rows, and bytes of these lines; none for files that the corpus does not have."""
    return sorted(set(_places(ground, frames)))


def _places(ground: Ground, frames: Sequence[Frame]) -> Iterator[tuple[int, int]]:
    by_name: dict[str, list[int]] = {}
    if frames:
        wanted = {frame.path.rpartition("/")[2] for frame in frames}
        for row, path in enumerate(ground.documents.paths):
            name = path.rpartition("/")[2]
            if name in wanted:
                by_name.setdefault(name, []).append(row)
    for frame in frames:
        rows = by_name.get(frame.path.rpartition("/")[2], [])
        shared = {row: _shared(frame.path, ground.documents.paths[row]) for row in rows}
        best = [row for row in rows if shared[row] == max(shared.values())]
        if len(best) != 1 or int(ground.documents.lengths[best[0]]) > _LARGEST:
            continue  # several files are called so: no telling which
        number, length = int(ground.documents.numbers[best[0]]), int(ground.documents.lengths[best[0]])
        at = _line_start(ground.snapshot.read(number, 0, length), frame.line)
        if at is not None:
            yield best[0], at


def _shared(one: str, other: str) -> int:
    """How many names two paths have in common, from the last on."""
    count = 0
    for mine, theirs in zip(reversed(one.split("/")), reversed(other.split("/")), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _line_start(content: bytes, line: int) -> int | None:
    at = 0
    for _ in range(line - 1):
        at = content.find(b"\n", at) + 1
        if not at:
            return None
    return at
