"""Which names do the documents of an added place get?

Its folder's name and the path below it, whatever else the store holds: `docs/tea.md`. Where another place has that
name, folders above it come in front. The name is recorded when a place is first added, and stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from brimful.documents.documents import check_path
from brimful.documents.remote import parts_of
from brimful.documents.sources import Found, Root, stamp_of
from brimful.errors import DocumentError
from brimful.store.store import Named, Origins, Store


class Naming(NamedTuple):
    """How documents and origins of a place begin: `docs/`, `/home/ada/docs//`; and the origins that may share it."""

    folder: str
    prefix: str
    shared: tuple[str, ...] = ()

    def is_stored(self, file: Found, origins: Mapping[str, Origins]) -> bool:
        """Whether a file's documents are stored under their names, made from the file as it is."""
        stored = origins.get(file.path)
        if stored is None or stored.stamp != stamp_of(file):
            return False
        return all(path.startswith(self.folder + file.path) for path in stored.paths)


def claim(store: Store, root: Root, label: str | None) -> Naming:
    """Record how a place's documents are called: as before, by the label, or by a name that is free."""
    prefix, roots = prefix_of(root), store.roots()
    shared = _shared(root, roots)
    recorded = roots.get(prefix)
    folders = _folders(root, label)
    if recorded is not None:
        if label is not None and recorded != folders[0].folder:
            raise DocumentError(
                f"the documents of {os.fspath(root.path)!r} are named {recorded!r}…, and names do not change; "
                "leave the other name out, or add the folder to a new store"
            )
        return Naming(recorded, prefix, shared)
    used = {roots[root_prefix] for root_prefix in shared if root_prefix != prefix and root_prefix in roots}
    if used and label is None:  # another glob of this folder
        folders = [Named(folder) for folder in sorted(used)]
    folder = store.claim_folder(prefix, folders, own_prefixes=shared)
    if folder is None:
        raise DocumentError(
            f"{folders[0].folder + folders[0].file!r:.200} names other documents already; "
            f"choose another name for {os.fspath(root.path)!r}: brimful add … --as NAME"
        )
    return Naming(folder, prefix, shared)


def foresee(store: Store | None, root: Root, label: str | None) -> Naming:
    """How a place's documents would be called if nothing else was added before."""
    roots = {} if store is None else store.roots()
    recorded = roots.get(prefix_of(root))
    folder = _folders(root, label)[0].folder if recorded is None else recorded
    return Naming(folder, prefix_of(root), _shared(root, roots))


def prefix_of(root: Root) -> str:
    """How the origins of a place's documents begin."""
    if root.address is not None:
        return f"{root.address}//"
    prefix = f"{root.path.as_posix()}{'?' + root.glob if root.glob else ''}//"
    check_path(prefix)  # a folder whose name is not UTF-8 has no documents that could be cited
    return prefix


def _shared(root: Root, roots: Iterable[str]) -> tuple[str, ...]:
    """The prefixes of a folder and of all globs in it."""
    if root.address is not None:
        return (prefix_of(root),)
    place = root.path.as_posix()
    globs = [
        prefix
        for prefix in roots
        if prefix.startswith(f"{place}?") and root.path.is_dir() and not os.path.lexists(prefix.removesuffix("//"))
    ]
    return tuple(dict.fromkeys([prefix_of(root), f"{place}//", *globs]))


def _folders(root: Root, label: str | None) -> list[Named]:
    """Names that a place may get, the shortest first.

    >>> from pathlib import Path
    >>> [name.folder for name in _folders(Root(Path("/usr/share")), None)]
    ['share/', 'usr/share/']
    """
    is_file, above = (root.path.is_file(), root.path.parts[1:]) if root.address is None else parts_of(root.address)
    file = root.path.name if is_file else ""
    if label is not None:
        if is_file:
            raise DocumentError(f"{os.fspath(root.path)!r} is a file, which has its own name; --as is for folders")
        return [Named(f"{_checked(label)}/")]
    above = above[:-1] if is_file else above
    folders = ["/".join(above[first:]) + "/" for first in reversed(range(len(above)))]
    if is_file or not folders:
        folders.insert(0, "")
    return [Named(folder, file) for folder in folders]


def _checked(label: str) -> str:
    """A label that can begin a path: names with slashes between them."""
    check_path(label)
    parts = label.split("/")
    if any(part in ("", ".", "..") or not part.isprintable() or part != part.strip() for part in parts):
        raise DocumentError(
            f"{label!r:.200} can't name a folder; give a word, or several with slashes between them: --as notes"
        )
    return label
