"""Which texts are taken in?

Real files that a machine with this environment has: sources of the standard library, of the installed packages and of
system headers, what the system's packages document, manual pages in all their languages, and the tables and test
vectors that packages ship. Files are taken in the order of a hash of their names, each kind up to its share, so two
runs on one machine see the same bytes, and the 1 MB corpus is part of the 10 MB one.
"""

import gzip
import hashlib
import os
import sysconfig
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SMALLEST, LARGEST = 200, 2_000_000
MEGABYTE = 1_000_000
NOT_LOCKED = {"brimful", "pip", "__pycache__", "site-packages", "dist-packages"}
"""Folders whose files change although nothing else does, or that are looked into elsewhere."""

CODE = frozenset("py pyi c cc cpp h hpp js ts pl pm sh tcl rb".split())
PROSE = frozenset("md rst txt".split())
TABLES = frozenset("csv tsv json jsonl xml afm dectest yaml toml ini cfg".split())
SHARES = {"code": 0.45, "docs": 0.25, "manual": 0.2, "tables": 0.1}


@dataclass(frozen=True)
class Corpus:
    """A folder of texts, and what is in it."""

    folder: Path
    files: int
    total: int  # bytes
    kinds: dict[str, int] = field(default_factory=dict)  # bytes of each kind
    copies: int = 1  # above 1 where the machine has less text than was asked for

    @property
    def megabytes(self) -> float:
        return self.total / MEGABYTE


def lay_out(folder: Path, *, megabytes: float) -> Corpus:
    """Write texts of about that size into a new folder."""
    wanted = int(megabytes * MEGABYTE)
    files, kinds, copies = 0, dict.fromkeys(SHARES, 0), 0
    seen: set[bytes] = set()
    streams = {kind: _texts(kind, seen) for kind in SHARES}
    while sum(kinds.values()) < wanted:
        copies += 1
        prefix = f"copy{copies}/" if copies > 1 else ""
        if copies > 1:
            seen.clear()
            streams = {kind: _texts(kind, seen) for kind in SHARES}
        before = sum(kinds.values())
        left = wanted - before
        for kind, share in SHARES.items():  # each up to its share, then whoever has more
            files += _take(streams[kind], folder / prefix, int(left * share), kinds, kind)
        for kind in SHARES:
            files += _take(streams[kind], folder / prefix, wanted - sum(kinds.values()), kinds, kind)
        if sum(kinds.values()) == before:
            raise SystemExit("this machine has no texts that the benchmark could take in")
    return Corpus(folder, files, sum(kinds.values()), kinds, copies)


def _take(texts: Iterator[tuple[str, bytes]], folder: Path, wanted: int, kinds: dict[str, int], kind: str) -> int:
    """Write texts of one kind until there are enough bytes; returns how many."""
    count = 0
    while wanted > 0 and (found := next(texts, None)):
        name, content = found
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        wanted -= len(content)
        kinds[kind] += len(content)
        count += 1
    return count


def _texts(kind: str, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of one kind; UTF-8 text only, each content once."""
    names = _named(kind)
    for name in sorted(names, key=lambda name: (hashlib.blake2b(name.encode(), digest_size=8).digest(), name)):
        content = _read(names[name])
        if content is None or not SMALLEST <= len(content) <= LARGEST or b"\0" in content:
            continue
        key = hashlib.blake2b(content, digest_size=16).digest()
        if key not in seen and _is_utf8(content):
            seen.add(key)
            yield f"{kind}/{name.removesuffix('.gz')}", content


@cache
def _named(kind: str) -> dict[str, Path]:
    """Every candidate of a kind, by a name that holds no machine's path."""
    paths = {name: Path(place) for name, place in sysconfig.get_paths().items()}
    packages = {"packages": paths["purelib"], "stdlib": paths["stdlib"]}
    documents, manual, headers = Path("/usr/share/doc"), Path("/usr/share/man"), Path("/usr/include")
    if kind == "manual":
        return _below({"": manual}, None)
    if kind == "docs":
        return _below({"": documents}, frozenset({*PROSE, "gz", ""})) | _below(packages, PROSE)
    return _below({**packages, "headers": headers}, CODE) if kind == "code" else _below(packages, TABLES)


def _below(folders: dict[str, Path], extensions: frozenset[str] | None) -> dict[str, Path]:
    found = {}
    for label, folder in folders.items():
        for here, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if name not in NOT_LOCKED and not name.startswith((".", "brimful"))]
            for name in files:
                path = Path(here, name)
                extension = name.rpartition(".")[2].lower() if "." in name else ""
                if (extensions is None or extension in extensions) and name.isascii() and not name.startswith("."):
                    found["/".join(filter(None, (label, path.relative_to(folder).as_posix())))] = path
    return found


def _read(path: Path) -> bytes | None:
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            return None
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error):
        return None


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
