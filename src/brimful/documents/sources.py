"""Which files belong to the corpus?

    root_of(place) -> Root          a file, a folder or a glob, resolved
    walk(root) -> Found | Skipped   in the order of their paths' bytes; nothing is opened but folders and ignore files

A path is relative to its root, in POSIX form. Every name is valid UTF-8; a name that is not is listed under reason
"name", its invalid bytes written as `\\xNN`. A link to a file inside the root is followed; a folder is walked where it
lies, not through links to it. A link is judged by its own name and by what it leads to: hidden, ignored and secret
names on the way there leave it out as if it were met there.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from blake3 import blake3

from brimful.documents.secrets import SECRET_FOLDERS, secret_name
from brimful.documents.skips import MAX_IGNORE_BYTES, IgnoreRules, Skipped, SourceSettings, derived_folder, glob_pattern
from brimful.errors import DocumentError, MissingPartError, install

_BINARY = frozenset(
    "png jpg jpeg gif bmp ico icns webp avif heic tif tiff psd xcf mp3 mp4 m4a m4v mkv mov avi webm wav flac ogg opus "
    "zip tgz tbz txz 7z rar tar jar war whl egg iso dmg deb rpm apk exe dll so dylib a o obj lib class pyc pyo "
    "pyd wasm bin woff woff2 ttf otf eot sqlite sqlite3 db mdb npy npz pkl pickle parquet feather arrow h5 hdf5 pt pth "
    "onnx safetensors gguf".split()
)
_MEMBER = re.compile(r"#\d{4,}$")  # how the documents inside one file are called: archive.mbox#0003
_WILD = re.compile(r"[*?\[]")
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://.")
_KEY = itemgetter(0)


def stat_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """Size, time, inode and device of a file: if all are as before, the content is taken to be as before."""
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


class Found(NamedTuple):
    """A regular file to be read: its path for citing, its resolved place, and what a stat said."""

    path: str
    location: str  # a Path for each of 200,000 files would take longer than to find them
    size: int
    mtime_ns: int
    inode: int
    device: int


@dataclass(frozen=True, slots=True)
class Root:
    """A resolved file or folder, and the glob to look for below it; or an address that fsspec opens."""

    path: Path
    glob: str | None = None
    address: str | None = None


def root_of(place: str | os.PathLike[str]) -> Root:
    """Resolve what a caller named: an existing path as it is, else a glob below its last plain folder."""
    if is_remote(place):
        address = os.fspath(place).rstrip("/")
        return Root(Path(address.rpartition("/")[2] or address), None, address)
    path = Path(place).expanduser()
    glob: str | None = None
    if not path.exists() and (wild := next((at for at, part in enumerate(path.parts) if _WILD.search(part)), None)):
        path, glob = Path(*path.parts[:wild]), "/".join(path.parts[wild:])
    elif not path.exists() and _WILD.search(path.parts[0] if path.parts else ""):
        path, glob = Path(), "/".join(path.parts)
    try:
        return Root(path.resolve(strict=True), glob)
    except (OSError, RuntimeError) as error:
        why = "" if isinstance(error, FileNotFoundError) else f" ({error})"
        raise DocumentError(f"{os.fspath(place)!r} can't be found; check the path{why}") from error


def walk(root: Root | str | os.PathLike[str], *, settings: SourceSettings | None = None) -> Iterator[Found | Skipped]:
    """Every file below a root, or the reason why it is left out, sorted by the bytes of the path.

    A file that is named itself is taken though it is hidden or ignored; a secret is not.
    """
    settings = settings or SourceSettings()
    root = root if isinstance(root, Root) else root_of(root)
    if root.address is not None:
        yield from _elsewhere(root, root.address, settings)
        return
    status = root.path.stat()
    if stat.S_ISDIR(status.st_mode):
        if _is_kept_secret(os.fspath(root.path)) and not settings.allows("secret"):
            yield Skipped("./", "secret", "a folder for credentials, or in one")
        else:
            yield from _Walk(root, settings).run()
    elif not _is_utf8(root.path.name):
        yield _bad_name(root.path.name)
    elif _is_kept_secret(os.fspath(root.path.parent)) and not settings.allows("secret"):
        yield Skipped(root.path.name, "secret", "in a folder for credentials")
    else:
        yield _file(root.path.name, os.fspath(root.path), status, settings)


_Rules = tuple[tuple[int, IgnoreRules], ...]  # the nearest first; a number of leading characters to drop


@dataclass(slots=True)
class _Folder:
    """A folder being walked: what is left of it, last entry first."""

    prefix: str  # its path relative to the root, "" or ending with a slash
    absolute: str
    entries: list[tuple[str, os.DirEntry[str]]]
    names: frozenset[str]  # of all entries, folders with a slash
    rules: _Rules


class _Walk:
    """One walk with an explicit stack: depth is limited by the system's path length only."""

    def __init__(self, root: Root, settings: SourceSettings) -> None:
        self.root = os.fspath(root.path).rstrip("/")  # nothing for the root of the file system: a slash follows
        self.inside = self.root + "/"
        self.settings = settings
        self.seen: set[tuple[int, int]] = set()
        self.excluded = IgnoreRules.parse("\n".join(settings.exclude)) if settings.exclude else None
        self.included = IgnoreRules.parse("\n".join(settings.include)) if settings.include else None
        self.rules: dict[str, _Rules] = {}  # of the folders that links lead to
        self.depth: int | None = None
        self.wanted: re.Pattern[str] | None = None
        if root.glob is not None:
            pattern = glob_pattern(root.glob)
            if pattern is None:
                raise DocumentError(
                    f"glob {root.glob!r} can't match anything; close its brackets, use at most three **"
                )
            self.wanted = re.compile(pattern, re.DOTALL)
            self.depth = None if "**" in root.glob.split("/") else root.glob.count("/")

    def run(self) -> Iterator[Found | Skipped]:
        opened = self._enter("", self.root, ())
        if isinstance(opened, Skipped):
            yield opened
            return
        stack = [opened]
        while stack:
            folder = stack[-1]
            if not folder.entries:
                stack.pop()
                continue
            key, entry = folder.entries.pop()
            path = folder.prefix + key
            result = self._folder(path, entry, folder) if key.endswith("/") else self._entry(path, entry, folder)
            if isinstance(result, _Folder):
                stack.append(result)
            elif result is not None:
                yield result

    def _enter(self, prefix: str, absolute: str, rules: _Rules) -> _Folder | Skipped:
        try:
            entries = _listed(absolute or "/")
            status = Path(absolute or "/").stat()
        except OSError as error:
            return _unreadable(prefix or "./", error)
        entries.sort(key=_KEY, reverse=True)
        self.seen.add((status.st_dev, status.st_ino))
        names = frozenset(map(_KEY, entries))
        return _Folder(prefix, absolute, entries, names, self._rules(prefix, absolute, rules, names))

    def _rules(self, prefix: str, absolute: str, above: _Rules, names: Collection[str] | None = None) -> _Rules:
        """The rules that hold in a folder: its own before those above it."""
        if self.settings.allows("ignored"):
            return above
        for name in self.settings.ignore_files:
            if (names is None or name in names) and (found := _read_rules(f"{absolute}/{name}")):
                above = ((len(prefix), found), *above)
        return above

    def _folder(self, path: str, entry: os.DirEntry[str], parent: _Folder) -> _Folder | Skipped | None:
        if self.depth is not None and path.count("/") > self.depth:
            return None
        absolute = f"{parent.absolute}/{entry.name}"
        skipped = self._left_out(path, entry.name, parent.rules)
        if skipped is not None:
            return skipped
        if entry.is_symlink():
            target = self._follow(path, absolute, parent.absolute)
            if isinstance(target, Skipped):
                return target
            absolute = target
        opened = self._enter(path, absolute, parent.rules)
        return opened if isinstance(opened, Skipped) else self._derived(opened, entry.name, parent) or opened

    def _follow(self, path: str, absolute: str, parent: str) -> str | Skipped:
        """Where a link to a folder leads, if it is to be walked there: only outside, and only once."""
        try:
            target = os.path.realpath(absolute, strict=True)
            status = Path(target).stat()
        except OSError as error:
            return _unreadable(path, error)
        above = target.rstrip("/") + "/"
        if f"{parent}/".startswith(above) or self.inside.startswith(above):
            return Skipped(path, "loop", "leads back to a folder above it")
        if above.startswith(self.inside) or (status.st_dev, status.st_ino) in self.seen:
            return Skipped(path, "link", "its files are listed where the folder lies")
        if not self.settings.allows("outside"):
            return Skipped(path, "outside", "a link that leads out of the root")
        return self._judged(path, target) or target

    def _judged(self, path: str, target: str) -> Skipped | None:
        """Why a link is left out for where it leads: every name on the way from the root is looked at as if met there.

        Outside of the root, which the caller has allowed, only secrets are left out.
        """
        name = target[target.rfind("/") + 1 :]
        if not self.settings.allows("secret") and (secret_name(name) or _is_kept_secret(target)):
            return Skipped(path, "secret", "a link to a secret, or into a folder for credentials")
        if not target.startswith(self.inside):
            return None
        *folders, name = target.removeprefix(self.inside).split("/")
        prefix, absolute = "", self.root
        rules = self._rules_of(prefix, absolute, ())
        for folder in folders:
            found = self._left_out(f"{prefix}{folder}/", folder, rules)
            if found is not None:
                return Skipped(
                    path, found.reason, f"a link to {target.removeprefix(self.inside)!r:.200}, {found.detail}"
                )
            prefix, absolute = f"{prefix}{folder}/", f"{absolute}/{folder}"
            rules = self._rules_of(prefix, absolute, rules)
        found = self._left_out(prefix + name, name, rules)
        if found is None:
            return None
        return Skipped(path, found.reason, f"a link to {target.removeprefix(self.inside)!r:.200}, {found.detail}")

    def _rules_of(self, prefix: str, absolute: str, above: _Rules) -> _Rules:
        """The rules of a folder on the way to a link's target, read once."""
        if absolute not in self.rules:
            self.rules[absolute] = self._rules(prefix, absolute, above)
        return self.rules[absolute]

    def _entry(self, path: str, entry: os.DirEntry[str], parent: _Folder) -> Found | Skipped | None:
        if self.wanted is not None and not self.wanted.fullmatch(path):
            return None
        name = entry.name
        skipped = self._left_out(path, name, parent.rules)
        if skipped is not None:
            return skipped
        absolute = f"{parent.absolute}/{name}"
        try:
            if entry.is_symlink():
                absolute = os.path.realpath(absolute, strict=True)
                if not (absolute.startswith(self.inside) or self.settings.allows("outside")):
                    return Skipped(path, "outside", "a link that leads out of the root")
                skipped = self._judged(path, absolute)
                if skipped is not None:
                    return skipped
                status = Path(absolute).stat()
            else:
                status = entry.stat(follow_symlinks=False)
        except OSError as error:
            return _unreadable(path, error)
        return _file(path, absolute, status, self.settings)

    def _left_out(self, path: str, name: str, rules: _Rules) -> Skipped | None:
        """What the name alone decides."""
        settings = self.settings
        if not _is_utf8(name):
            return _bad_name(path)
        if path.endswith("/") and name in SECRET_FOLDERS and not settings.allows("secret"):
            return Skipped(path, "secret", "a folder for credentials")
        if name.startswith(".") and not settings.allows("hidden"):
            if not path.endswith("/") and secret_name(name) and not settings.allows("secret"):
                return Skipped(path, "secret", "its name is that of a secret")
            return Skipped(path, "hidden", "its name begins with a dot")
        if self.excluded is not None and self.excluded.verdict(path):
            return Skipped(path, "excluded", "a pattern to exclude names it")
        if self.included is not None and not path.endswith("/") and not _names_any(self.included, path):
            return Skipped(path, "excluded", "no pattern to include names it")
        for drop, each in rules:
            verdict = each.verdict(path[drop:])
            if verdict is not None:
                return Skipped(path, "ignored", "an ignore file names it") if verdict else None
        return None

    def named(self, path: str) -> Skipped | None:
        """What the names on the way to a file decide, where there are no folders to look into."""
        parts = path.split("/")
        prefixes = ("/".join(parts[:at]) + "/" for at in range(1, len(parts)))
        found = next((each for prefix in prefixes if (each := self._left_out(prefix, prefix.split("/")[-2], ()))), None)
        return Skipped(path, found.reason, found.detail) if found else self._left_out(path, parts[-1], ())

    def _derived(self, folder: _Folder, name: str, parent: _Folder) -> Skipped | None:
        """Why a folder is left out for what it is: others' code, what a build made, what a program keeps for itself."""
        rules = parent.rules
        is_kept = bool(rules) and any(each.verdict(folder.prefix[drop:]) is False for drop, each in rules)
        if is_kept or self.settings.allows("derived"):
            return None
        what = derived_folder(name, beside=parent.names, inside=folder.names)
        return Skipped(folder.prefix, "derived", what) if what else None


def _names_any(rules: IgnoreRules, path: str) -> bool:
    """Whether patterns name a file, or a folder above it."""
    above = [path[: at + 1] for at, sign in enumerate(path) if sign == "/"]
    return any(rules.verdict(each) for each in (*above, path))


def _file(path: str, absolute: str, status: os.stat_result, settings: SourceSettings) -> Found | Skipped:
    name = path[path.rfind("/") + 1 :]
    if not stat.S_ISREG(status.st_mode):
        return Skipped(path, "special", "a FIFO, socket or device, not a regular file")
    if not settings.allows("secret") and secret_name(name):
        return Skipped(path, "secret", "its name is that of a secret")
    if "#" in name and _MEMBER.search(name):
        return Skipped(path, "name", "ends like the name of a document inside another file; rename it")
    if name[name.rfind(".") + 1 :].lower() in _BINARY and "." in name and not settings.allows("binary"):
        return Skipped(path, "binary", "its extension is that of a binary format")
    if status.st_size > settings.max_bytes and not settings.allows("too_large"):
        return Skipped(path, "too_large", f"{status.st_size} bytes, more than max_bytes = {settings.max_bytes}")
    return Found(path, absolute, *stat_of(status))


def _is_kept_secret(folder: str) -> bool:
    """Whether a folder, or one above it, is for credentials."""
    return not SECRET_FOLDERS.isdisjoint(Path(folder).parts)


def _listed(folder: str) -> list[tuple[str, os.DirEntry[str]]]:
    """What a folder holds by its names, those of folders and of links to them with a slash."""
    with os.scandir(folder) as scan:
        return [(entry.name + "/" if _leads_to_folder(entry) else entry.name, entry) for entry in scan]


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a loop of links, or a folder that may not be looked into


def _read_rules(name: str) -> IgnoreRules | None:
    """An ignore file's rules; one that is a FIFO, unreadable or not UTF-8 says nothing that can be relied on."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return IgnoreRules.parse(os.read(descriptor, MAX_IGNORE_BYTES).decode("utf-8-sig", "surrogateescape"))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _unreadable(path: str, error: OSError) -> Skipped:
    if error.errno == errno.ELOOP:
        return Skipped(path, "loop", "its links lead in a circle")
    if error.errno == errno.ENAMETOOLONG:
        return Skipped(path, "too_deep", "its full path is longer than the system allows")
    if error.errno == errno.ENOENT:
        return Skipped(path, "broken", "a link to nothing, or gone since it was listed")
    return Skipped(path, "unreadable", error.strerror or type(error).__name__)


def _is_utf8(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _bad_name(path: str) -> Skipped:
    shown = os.fsencode(path).decode("utf-8", "backslashreplace")
    return Skipped(shown, "name", "not valid UTF-8; rename it")


# ---- elsewhere: Which files lie where no disk is: in a bucket, on a server, in whatever fsspec opens?
#
# The same is left out as on a disk, by names; there are no links, and no ignore files are read. What stands for the
# content of a file is its size, its time and whatever tag the place gives it.

_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")
_TAGS = ("ETag", "etag", "md5Hash", "content_md5", "ino")


def is_remote(place: object) -> bool:
    """Whether a place is an address, not a path.

    >>> is_remote("s3://bucket/notes"), is_remote("/notes"), is_remote("notes://x/../y")
    (True, False, True)
    """
    return isinstance(place, str) and not place.startswith("/") and bool(_ADDRESS.match(place))


def opened_elsewhere(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path on it."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise MissingPartError(f"{address} needs fsspec; install it: {install('remote')}") from error
    try:
        found: tuple[Any, str] = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DocumentError(f"{address!r:.200} can't be opened ({error}); install what serves it") from error
    return found


def parts_of(address: str) -> tuple[bool, tuple[str, ...]]:
    """Whether an address is that of one file, and the names that lead to it; one without files is an error."""
    files, top = opened_elsewhere(address)
    if not files.exists(top):
        raise DocumentError(f"{address!r:.200} holds no files; check the address")
    return files.isfile(top), tuple(filter(None, address.partition("://")[2].split("/")))


def _elsewhere(root: Root, address: str, settings: SourceSettings) -> Iterator[Found | Skipped]:
    files, top = opened_elsewhere(address)
    try:
        found = files.find(top, detail=True)
    except Exception as error:  # each kind of place has errors of its own
        raise DocumentError(f"{address!r:.200} can't be listed ({error}); check the address and the rights") from error
    if not found:
        raise DocumentError(f"{address!r:.200} holds no files; check the address")
    names = _Walk(root, settings)
    scheme = address.partition("://")[0]
    for name, facts in sorted(found.items()):
        path = name.removeprefix(top).lstrip("/") or name.rpartition("/")[2]
        yield names.named(path) or _described(path, f"{scheme}://{name}", facts, settings)


def _described(path: str, location: str, facts: Mapping[str, Any], settings: SourceSettings) -> Found | Skipped:
    time = next((facts[key] for key in _TIMES if facts.get(key) is not None), 0)
    seconds = time.timestamp() if isinstance(time, datetime) else time if isinstance(time, int | float) else 0
    tag = next((str(facts[key]) for key in _TAGS if facts.get(key) is not None), "")
    number = int.from_bytes(blake3(tag.encode()).digest(6), "big")
    mode = stat.S_IFREG if facts.get("type", "file") == "file" else stat.S_IFCHR
    status = os.stat_result((mode, number, 0, 1, 0, 0, int(facts.get("size") or 0), 0, 0, 0))
    found = _file(path, location, status, settings)
    return found._replace(mtime_ns=int(seconds * 1_000_000_000)) if isinstance(found, Found) else found
