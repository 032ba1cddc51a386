"""How is a file read whose parser can't be trusted with it?

PDF, Office files, EPUB and mail are parsed by libraries that hostile bytes can crash, hang or drown. They run in a
box: a second process of this interpreter, started with the first such file, with limits on memory and processor time
where the system has them, and on its answers. A failure costs one file; a box that died is started again for the next
one. Answers are data (JSON and text), never code.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import IO, Any, get_args

from brimful.documents.loaders.loaded import Loaded, SourceMap
from brimful.documents.skips import REASONS, Refusal, SourceSettings
from brimful.outline.kinds import Kind

resource: Any
try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

_SECONDS_PER_MEGABYTE = 10
_PATIENCE = 4  # seconds by the clock for each second of processor time, on a busy machine or one without limits
_LENGTH_BYTES = 8
_PACKAGE = str(Path(__file__).resolve().parents[3])  # the folder that holds the package
# The flag -P leaves out the folder that this process was started in, where anything may lie.
_START = """
import sys
from importlib import import_module
from importlib.util import find_spec
spec = find_spec("brimful")
if spec is None or not spec.origin.startswith(sys.argv[1]):
    sys.path.insert(0, sys.argv[1])
import_module(sys.argv[2]).serve()
"""


def boxed(family: str, name: str, path: str, raw: bytes, settings: SourceSettings) -> list[Loaded]:
    """Run a loader of `brimful.documents.loaders` in the box."""
    with _LOCK:
        if not _BOXES or _BOXES[-1].owner != os.getpid():  # one that a fork inherited is left to its owner
            _BOXES[:] = [_Box()]
        return _BOXES[-1].ask(family, name, path, raw, settings)


class _Box:
    """The process and its pipes; it is started by the first file and after each death."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, family: str, name: str, path: str, raw: bytes, settings: SourceSettings) -> list[Loaded]:
        """Send a file to the process and read its documents."""
        process = self._running()
        seconds = settings.max_parser_seconds + _SECONDS_PER_MEGABYTE * (len(raw) // 1_000_000)
        watch = threading.Timer(_PATIENCE * seconds, process.kill)
        watch.daemon = True
        watch.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            chosen = {**asdict(settings), "allow": sorted(settings.allow)}
            _put(process.stdin, json.dumps([family, name, path, chosen, seconds]).encode(), raw)
            return _answer(process.stdout, settings)
        except (OSError, EOFError, LookupError, TypeError, ValueError) as error:
            raise self._died(settings, seconds) from error
        finally:
            watch.cancel()

    def close(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):
                process.communicate()  # which closes the pipes

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            return self._process
        if not Path(sys.executable or "").name.startswith("python"):
            raise Refusal("missing_part", f"its parser needs a process of Python, and {sys.executable!r} starts none")
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, this package
                [sys.executable, "-P", "-c", _START, _PACKAGE, __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0 if os.name == "posix" else None,  # out of reach of signals from the keyboard
            )
        except OSError as error:
            raise Refusal("missing_part", f"no process could be started for its parser: {error}") from error
        return self._process

    def _died(self, settings: SourceSettings, seconds: int) -> Refusal:
        """The reason why the process is gone; the next file gets a new one."""
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        code = process.returncode
        self.close()
        if code == -getattr(signal, "SIGXCPU", 0) or code == -getattr(signal, "SIGKILL", 0):
            return Refusal("too_large", f"its parser took more than {seconds} s of processor time (max_parser_seconds)")
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return Refusal(
            "malformed",
            f"its parser died ({how}): damaged, or it takes more than max_parser_bytes = {settings.max_parser_bytes}",
        )


_LOCK = threading.Lock()
_BOXES: list[_Box] = []


@atexit.register
def close_box() -> None:
    """End the box of this process, if it has one."""
    if _BOXES and _BOXES[-1].owner == os.getpid():
        _BOXES.pop().close()


def serve() -> None:
    """Answer requests on standard input until it ends: the process in the box."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a parser prints must not get among the answers
    used_bytes = _address_bytes()
    with contextlib.suppress(EOFError, OSError):
        while True:
            request, raw = json.loads(_take(source, limit=None)), _take(source, limit=None)
            _put(target, *_loaded(request, raw, used_bytes))


def _loaded(request: Sequence[Any], raw: bytes, used_bytes: int | None) -> list[bytes]:
    """The answer: a header of JSON, then each document's content."""
    family, name, path, chosen, seconds = request
    settings = SourceSettings(**chosen)
    try:
        _limit(settings.max_parser_bytes, seconds, used_bytes)
        convert = getattr(import_module(f"brimful.documents.loaders.{family}"), name)
        documents: list[Loaded] = list(convert(path, raw, settings))
        header = {"documents": [{**asdict(document), "content": None} for document in documents]}
        return [json.dumps(header).encode(), *(document.content for document in documents)]
    except Refusal as refusal:
        reason, detail = refusal.reason, refusal.detail
    except MemoryError:
        reason, detail = "too_large", f"it takes more than max_parser_bytes = {settings.max_parser_bytes} of memory"
    except Exception as error:  # noqa: BLE001 - parsers of foreign formats raise anything on hostile bytes
        reason, detail = "malformed", f"{type(error).__name__}: {error}"[:300]
    return [json.dumps({"refusal": [reason, detail]}).encode()]


def _limit(max_bytes: int, seconds: int, used_bytes: int | None) -> None:
    """Bound the memory and processor time of the next file, on top of the present use.

    An inherited hard limit is the ceiling: it can only be lowered.
    """
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + seconds}
    if used_bytes is not None:
        limits[resource.RLIMIT_AS] = used_bytes + max_bytes
    try:
        for limit, value in limits.items():
            ceiling = resource.getrlimit(limit)[1]
            is_free = ceiling == resource.RLIM_INFINITY
            resource.setrlimit(limit, (value if is_free else min(value, ceiling), ceiling))
    except (OSError, ValueError) as error:
        raise Refusal("missing_part", f"its parser needs limits that this system does not set: {error}") from error


def _address_bytes() -> int | None:
    """The address space of this process; None where the system does not tell it."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _put(pipe: IO[bytes], *parts: bytes) -> None:
    for part in parts:
        pipe.write(len(part).to_bytes(_LENGTH_BYTES, "big"))
        pipe.write(part)
    pipe.flush()


def _take(pipe: IO[bytes], *, limit: int | None) -> bytes:
    """One part; more than its limit is not read."""
    head = pipe.read(_LENGTH_BYTES)
    length = int.from_bytes(head, "big")
    if len(head) < _LENGTH_BYTES or (limit is not None and length > limit):
        raise EOFError
    part = pipe.read(length)
    if len(part) < length:
        raise EOFError
    return part


def _answer(pipe: IO[bytes], settings: SourceSettings) -> list[Loaded]:
    """Read an answer, trusting nothing in it."""
    limit = 2 * settings.max_text_bytes + 1_000_000  # of a text, or of the header
    header = json.loads(_take(pipe, limit=limit))
    if not isinstance(header, dict):
        raise ValueError("no answer of a box")
    if "refusal" in header:
        reason, detail = header["refusal"]
        raise Refusal(reason if reason in REASONS else "malformed", str(detail)[:500])
    return [_document(record, _take(pipe, limit=limit)) for record in header["documents"]]


def _document(record: dict[str, Any], content: bytes) -> Loaded:
    content.decode()
    if record["kind"] not in get_args(Kind):
        raise ValueError(f"no kind of text: {record['kind']!r:.50}")
    columns = record["source_map"]
    if columns is not None:
        columns = SourceMap(*(tuple(columns[name]) for name in ("starts", "labels", "times")))
    return Loaded(**{**record, "content": content, "source_map": columns})
