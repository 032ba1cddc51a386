"""Which files lie where no disk is: in a bucket, on a server, in whatever fsspec opens?

They are left out by their names as on a disk; there are no links and no ignore files. Size, time and the place's tag
tell whether a file changed.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from datetime import datetime
from os import stat_result
from typing import Any

from blake3 import blake3

from brimful.errors import DocumentError, MissingPartError, install

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://.")
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")
_TAGS = ("ETag", "etag", "md5Hash", "content_md5", "ino")


def is_remote(place: object) -> bool:
    """Whether a place is an address, not a path.

    >>> is_remote("s3://bucket/notes"), is_remote("/notes"), is_remote("notes://x/../y")
    (True, False, True)
    """
    return isinstance(place, str) and not place.startswith("/") and bool(_ADDRESS.match(place))


def opened(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path on it."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise MissingPartError(f"{address} needs fsspec; install it: {install('remote')}") from error
    try:
        files, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DocumentError(f"{address!r:.200} can't be opened ({error}); install what serves it") from error
    return files, path


def parts_of(address: str) -> tuple[bool, tuple[str, ...]]:
    """Whether an address is that of a single file, and the names that lead to it; one without files is an error."""
    files, top = opened(address)
    if not files.exists(top):
        raise DocumentError(f"{address!r:.200} holds no files; check the address")
    return files.isfile(top), tuple(filter(None, address.partition("://")[2].split("/")))


def listed(address: str) -> Iterator[tuple[str, str, stat_result, int]]:
    """Path, address, stat and time in nanoseconds of every file below an address, by path."""
    files, top = opened(address)
    try:
        listing = files.find(top, detail=True)
    except Exception as error:  # every kind of file system has its errors
        raise DocumentError(f"{address!r:.200} can't be listed ({error}); check the address and the rights") from error
    if not listing:
        raise DocumentError(f"{address!r:.200} holds no files; check the address")
    scheme = address.partition("://")[0]
    for name, facts in sorted(listing.items()):
        path = name.removeprefix(top).lstrip("/") or name.rpartition("/")[2]
        time = next((facts[key] for key in _TIMES if facts.get(key) is not None), 0)
        seconds = time.timestamp() if isinstance(time, datetime) else time if isinstance(time, int | float) else 0
        tag = next((str(facts[key]) for key in _TAGS if facts.get(key) is not None), "")
        number = int.from_bytes(blake3(tag.encode()).digest(6), "big")
        mode = stat.S_IFREG if facts.get("type", "file") == "file" else stat.S_IFCHR
        status = stat_result((mode, number, 0, 1, 0, 0, int(facts.get("size") or 0), 0, 0, 0))
        yield path, f"{scheme}://{name}", status, int(seconds * 1_000_000_000)
