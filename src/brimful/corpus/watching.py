"""What changed since the last look?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from brimful.corpus.sources import Root, root_of

DEBOUNCE_MS = 400
"""How long changes are gathered at most before they are told."""

TICK_MS = 500
"""How often `changes` says that nothing happened."""


def watch(
    roots: Iterable[Root | str | Path],
    on_change: Callable[[frozenset[Path]], None],
    *,
    stop: threading.Event,
    debounce_ms: int = DEBOUNCE_MS,
    poll: bool = False,
    ignore: Iterable[Path] = (),
) -> None:
    """Call `on_change` with the changed paths below the roots, gathered for a moment, until `stop` is set.

    Hidden files and folders are passed over, and whatever lies below `ignore`: a store kept inside a root must not
    wake its own watcher. `poll` compares listings instead of asking the system, for network file systems. A file
    that is watched by itself is seen again after an editor has replaced it, since its folder is watched.
    The paths only say where to look: what was added, changed or removed is for the next walk to tell.
    """
    for paths in changes(roots, stop=stop, debounce_ms=debounce_ms, poll=poll, ignore=ignore):
        if paths:
            on_change(paths)


def changes(
    roots: Iterable[Root | str | Path],
    *,
    stop: threading.Event,
    debounce_ms: int = DEBOUNCE_MS,
    poll: bool = False,
    ignore: Iterable[Path] = (),
) -> Iterator[frozenset[Path]]:
    """The same as an iterator. It gives an empty set twice a second when nothing happens; the first set of all says
    that the watch has begun.
    """
    import watchfiles

    wanted = [root if isinstance(root, Root) else root_of(root) for root in roots]
    folders = sorted({root.path if root.path.is_dir() else root.path.parent for root in wanted})
    quiet = tuple(Path(path).resolve() for path in ignore)

    def matters(change: watchfiles.Change, name: str) -> bool:
        path = Path(name)
        if change == watchfiles.Change.modified and path.is_dir():
            return False  # whatever happened in it is told by itself
        if any(path.is_relative_to(folder) for folder in quiet):
            return False
        return any(_is_below(path, root.path) for root in wanted)

    for found in watchfiles.watch(
        *folders,
        watch_filter=matters,
        debounce=debounce_ms,
        step=min(50, debounce_ms),
        stop_event=stop,
        rust_timeout=TICK_MS,
        force_polling=poll,
        ignore_permission_denied=True,
        recursive=any(root.path.is_dir() for root in wanted),
        yield_on_timeout=True,
    ):
        yield frozenset(Path(name) for _, name in found)


def _is_below(path: Path, root: Path) -> bool:
    if path == root:
        return True
    if not path.is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in path.relative_to(root).parts)
