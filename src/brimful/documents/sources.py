"""Which files belong to the corpus?

    root_of(place) -> Root          a file, a folder or a glob, resolved
    walk(root) -> Found | Skipped   in the order of their paths' bytes; only folders and ignore files are opened

A path is relative to its root, in POSIX form, and valid UTF-8; another name is listed under reason "name", its invalid
bytes written as `\\xNN`. A link to a file inside the root is followed; a folder is walked where it lies, not through
links to it. A link is judged by its name and by every name on the way to its target: hidden, ignored and secret.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from brimful.documents.ignores import MAX_IGNORE_BYTES, IgnoreRules, glob_pattern
from brimful.documents.remote import is_remote, listed
from brimful.documents.secrets import SECRET_FOLDERS, secret_name
from brimful.documents.skips import Skipped, SourceSettings, derived_folder
from brimful.errors import DocumentError

_BINARY = frozenset(
    "png jpg jpeg gif bmp ico icns webp avif heic tif tiff psd xcf mp3 mp4 m4a m4v mkv mov avi webm wav flac ogg opus "
    "zip tgz tbz txz 7z rar tar jar war whl egg iso dmg deb rpm apk exe dll so dylib a o obj lib class pyc pyo "
    "pyd wasm bin woff woff2 ttf otf eot sqlite sqlite3 db mdb npy npz pkl pickle parquet feather arrow h5 hdf5 pt pth "
    "onnx safetensors gguf".split()
)
_IGNORE_FILES = (".gitignore", ".ignore")  # a later name overrules an earlier one
_MEMBER = re.compile(r"#\d{4,}$")  # the name of a document inside a file: archive.mbox#0003
_WILD = re.compile(r"[*?\[]")


def stat_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """Size, time, inode and device of a file: if none changed, its content is taken as unchanged."""
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


class Found(NamedTuple):
    """A regular file to be read: its path for citing, its resolved place, and its stat."""

    path: str
    location: str
    size: int
    mtime_ns: int
    inode: int
    device: int


def stamp_of(file: Found) -> str:
    """A file's stat as stores keep it."""
    return f"{file.size}:{file.mtime_ns}:{file.inode}:{file.device}"


@dataclass(frozen=True, slots=True)
class Root:
    """A resolved file or folder, and the glob to look for below it; or an address that fsspec opens."""

    path: Path
    glob: str | None = None
    address: str | None = None


def root_of(place: str | os.PathLike[str]) -> Root:
    """Resolve an existing path, or a glob below its last plain folder."""
    if is_remote(place):
        address = os.fspath(place).rstrip("/")
        return Root(Path(address.rpartition("/")[2] or address), None, address)
    path = Path(place).expanduser()
    glob: str | None = None
    wild = None if path.exists() else next((index for index, part in enumerate(path.parts) if _WILD.search(part)), None)
    if wild is not None:
        path, glob = Path(*path.parts[:wild]), "/".join(path.parts[wild:])
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
        names = _Walk(root, settings)
        for path, location, status, mtime_ns in listed(root.address):
            item = names.left_out_by_name(path) or _file(path, location, status, settings)
            yield item._replace(mtime_ns=mtime_ns) if isinstance(item, Found) else item
        return
    status = root.path.stat()
    if stat.S_ISDIR(status.st_mode):
        if _in_secret_folder(os.fspath(root.path)) and not settings.allows("secret"):
            yield Skipped("./", "secret", "a folder for credentials, or in one")
        else:
            yield from _Walk(root, settings).run()
    elif not _is_utf8(root.path.name):
        yield _bad_name(root.path.name)
    elif _in_secret_folder(os.fspath(root.path.parent)) and not settings.allows("secret"):
        yield Skipped(root.path.name, "secret", "in a folder for credentials")
    else:
        yield _file(root.path.name, os.fspath(root.path), status, settings)


_Rules = tuple[tuple[int, IgnoreRules], ...]  # the nearest first; a number of leading characters to drop


@dataclass(slots=True)
class _Folder:
    """A folder being walked: its remaining entries, last first."""

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
        self.entered: set[tuple[int, int]] = set()
        self.excluded = IgnoreRules.parse("\n".join(settings.exclude))
        self.included = IgnoreRules.parse("\n".join(settings.include)) if settings.include else None
        self.target_rules: dict[str, _Rules] = {}  # of the folders that links lead to
        self.deepest: int | None = None
        self.wanted: re.Pattern[str] | None = None
        if root.glob is not None:
            pattern = glob_pattern(root.glob)
            if pattern is None:
                raise DocumentError(
                    f"glob {root.glob!r} can't match anything; close its brackets, use at most three **"
                )
            self.wanted = re.compile(pattern, re.DOTALL)
            self.deepest = None if "**" in root.glob.split("/") else root.glob.count("/")

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
            name, entry = folder.entries.pop()
            path = folder.prefix + name
            item = self._folder(path, entry, folder) if name.endswith("/") else self._entry(path, entry, folder)
            if isinstance(item, _Folder):
                stack.append(item)
            elif item is not None:
                yield item

    def _enter(self, prefix: str, absolute: str, rules: _Rules) -> _Folder | Skipped:
        try:
            with os.scandir(absolute or "/") as scan:
                entries = [(entry.name + "/" * _leads_to_folder(entry), entry) for entry in scan]
            status = Path(absolute or "/").stat()
        except OSError as error:
            return _unreadable(prefix or "./", error)
        entries.sort(key=lambda entry: entry[0], reverse=True)
        self.entered.add((status.st_dev, status.st_ino))
        names = frozenset(name for name, _ in entries)
        return _Folder(prefix, absolute, entries, names, self._rules(prefix, absolute, rules, names))

    def _rules(self, prefix: str, absolute: str, above: _Rules, names: Collection[str] = _IGNORE_FILES) -> _Rules:
        """The rules that hold in a folder: its ignore files before those above it."""
        if self.settings.allows("ignored"):
            return above
        for name in _IGNORE_FILES:
            if name in names and (rules := _read_rules(f"{absolute}/{name}")):
                above = ((len(prefix), rules), *above)
        return above

    def _folder(self, path: str, entry: os.DirEntry[str], parent: _Folder) -> _Folder | Skipped | None:
        if self.deepest is not None and path.count("/") > self.deepest:
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
        """The target of a link to a folder, if it is to be walked there: only outside the root, and only once."""
        try:
            target = os.path.realpath(absolute, strict=True)
            status = Path(target).stat()
        except OSError as error:
            return _unreadable(path, error)
        above = target.rstrip("/") + "/"
        if f"{parent}/".startswith(above) or self.inside.startswith(above):
            return Skipped(path, "loop", "leads back to a folder above it")
        if above.startswith(self.inside) or (status.st_dev, status.st_ino) in self.entered:
            return Skipped(path, "link", "its files are listed where the folder lies")
        if not self.settings.allows("outside"):
            return Skipped(path, "outside", "a link that leads out of the root")
        return self._target_left_out(path, target) or target

    def _target_left_out(self, path: str, target: str) -> Skipped | None:
        """Why a link is left out for its target: every name on the way from the root counts.

        Outside the root, which the caller has allowed, only secrets are left out.
        """
        name = target[target.rfind("/") + 1 :]
        if not self.settings.allows("secret") and (secret_name(name) or _in_secret_folder(target)):
            return Skipped(path, "secret", "a link to a secret, or into a folder for credentials")
        if not target.startswith(self.inside):
            return None
        *folders, name = target.removeprefix(self.inside).split("/")
        prefix, absolute = "", self.root
        rules = self._rules_at(prefix, absolute, ())
        skipped = None
        for folder in folders:
            skipped = skipped or self._left_out(f"{prefix}{folder}/", folder, rules)
            prefix, absolute = f"{prefix}{folder}/", f"{absolute}/{folder}"
            rules = self._rules_at(prefix, absolute, rules)
        skipped = skipped or self._left_out(prefix + name, name, rules)
        if skipped is None:
            return None
        return Skipped(path, skipped.reason, f"a link to {target.removeprefix(self.inside)!r:.200}, {skipped.detail}")

    def _rules_at(self, prefix: str, absolute: str, above: _Rules) -> _Rules:
        """The rules of a folder on the way to a link's target, read once."""
        if absolute not in self.target_rules:
            self.target_rules[absolute] = self._rules(prefix, absolute, above)
        return self.target_rules[absolute]

    def _entry(self, path: str, entry: os.DirEntry[str], parent: _Folder) -> Found | Skipped | None:
        if self.wanted is not None and not self.wanted.fullmatch(path):
            return None
        skipped = self._left_out(path, entry.name, parent.rules)
        if skipped is not None:
            return skipped
        absolute = f"{parent.absolute}/{entry.name}"
        try:
            if entry.is_symlink():
                absolute = os.path.realpath(absolute, strict=True)
                if not (absolute.startswith(self.inside) or self.settings.allows("outside")):
                    return Skipped(path, "outside", "a link that leads out of the root")
                skipped = self._target_left_out(path, absolute)
                if skipped is not None:
                    return skipped
            status = Path(absolute).stat() if entry.is_symlink() else entry.stat(follow_symlinks=False)
        except OSError as error:
            return _unreadable(path, error)
        return _file(path, absolute, status, self.settings)

    def _left_out(self, path: str, name: str, rules: _Rules) -> Skipped | None:
        """Why a file or folder is left out for its name."""
        settings, is_folder = self.settings, path.endswith("/")
        if not _is_utf8(name):
            return _bad_name(path)
        if is_folder and name in SECRET_FOLDERS and not settings.allows("secret"):
            return Skipped(path, "secret", "a folder for credentials")
        if name.startswith(".") and not settings.allows("hidden"):
            if not is_folder and secret_name(name) and not settings.allows("secret"):
                return Skipped(path, "secret", "its name is that of a secret")
            return Skipped(path, "hidden", "its name begins with a dot")
        if self.excluded.verdict(path):
            return Skipped(path, "excluded", "a pattern to exclude names it")
        if self.included is not None and not is_folder and not _names_any(self.included, path):
            return Skipped(path, "excluded", "no pattern to include names it")
        verdicts = (rule.verdict(path[drop:]) for drop, rule in rules)
        if next((verdict for verdict in verdicts if verdict is not None), False):
            return Skipped(path, "ignored", "an ignore file names it")
        return None

    def left_out_by_name(self, path: str) -> Skipped | None:
        """Why a remote file is left out for any name in its path."""
        *folders, name = path.split("/")
        for depth, folder in enumerate(folders, start=1):
            skipped = self._left_out("/".join(folders[:depth]) + "/", folder, ())
            if skipped is not None:
                return Skipped(path, skipped.reason, skipped.detail)
        return self._left_out(path, name, ())

    def _derived(self, folder: _Folder, name: str, parent: _Folder) -> Skipped | None:
        """Why a folder is left out that nobody wrote by hand, unless an ignore file keeps it."""
        is_kept = any(rule.verdict(folder.prefix[drop:]) is False for drop, rule in parent.rules)
        if is_kept or self.settings.allows("derived"):
            return None
        detail = derived_folder(name, siblings=parent.names, entries=folder.names)
        return Skipped(folder.prefix, "derived", detail) if detail else None


def _names_any(rules: IgnoreRules, path: str) -> bool:
    """Whether patterns name a file, or a folder above it."""
    above = [path[: index + 1] for index, sign in enumerate(path) if sign == "/"]
    return any(rules.verdict(name) for name in (*above, path))


def _file(path: str, absolute: str, status: os.stat_result, settings: SourceSettings) -> Found | Skipped:
    name = path[path.rfind("/") + 1 :]
    if not stat.S_ISREG(status.st_mode):
        return Skipped(path, "special", "a FIFO, socket or device, not a regular file")
    if not settings.allows("secret") and secret_name(name):
        return Skipped(path, "secret", "its name is that of a secret")
    if _MEMBER.search(name):
        return Skipped(path, "name", "ends like the name of a document inside another file; rename it")
    if name[name.rfind(".") + 1 :].lower() in _BINARY and "." in name and not settings.allows("binary"):
        return Skipped(path, "binary", "its extension is that of a binary format")
    if status.st_size > settings.max_bytes and not settings.allows("too_large"):
        return Skipped(path, "too_large", f"{status.st_size} bytes, more than max_bytes = {settings.max_bytes}")
    return Found(path, absolute, *stat_of(status))


def _in_secret_folder(folder: str) -> bool:
    """Whether a folder, or one above it, is for credentials."""
    return not SECRET_FOLDERS.isdisjoint(Path(folder).parts)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a loop of links, or a folder that may not be looked into


def _read_rules(name: str) -> IgnoreRules | None:
    """An ignore file's rules; none of one that is a FIFO or unreadable."""
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
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _bad_name(path: str) -> Skipped:
    escaped = os.fsencode(path).decode("utf-8", "backslashreplace")
    return Skipped(escaped, "name", "not valid UTF-8; rename it")
