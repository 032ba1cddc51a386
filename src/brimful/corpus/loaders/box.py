"""How is a file read whose parser can't be trusted with it?

PDF and Office files are parsed by large libraries that hostile bytes can crash, hang or drown. They run in a box: this
same interpreter, started anew when the first such file comes, with limits on memory and processor time where the system
has them, and on what it may answer. Whatever happens in there costs one file with its reason; a box that died is
started again for the next one. What it answers is data (JSON and text), never code.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import IO, Any, get_args

from brimful.corpus.loaders.loaded import Loaded, SourceMap
from brimful.corpus.skips import REASONS, Refusal, SourceSettings
from brimful.text.kinds import Kind

resource: Any
try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

_Loader = Callable[[str, bytes, SourceSettings], Iterator[Loaded]]

_SECONDS_PER_MEGABYTE = 10
_PATIENCE = 4  # times the processor time that a file may take by the clock, on a busy machine or one without limits
_LENGTH_BYTES = 8
_PACKAGE = str(Path(__file__).resolve().parents[3])  # the folder that holds it
# The flag -P leaves out the folder that this process was started in, where anything may lie.
_START = """
import sys
from importlib import import_module
from importlib.util import find_spec
found = find_spec("brimful")
if found is None or not found.origin.startswith(sys.argv[1]):
    sys.path.insert(0, sys.argv[1])
import_module(sys.argv[2]).serve()
"""


def _own_python(module: str) -> list[str]:
    """The command that starts this interpreter anew with a module of this package, and calls its `serve`."""
    return [sys.executable, "-P", "-c", _START, _PACKAGE, module]


def boxed(family: str, name: str) -> _Loader:
    """A loader of `brimful.corpus.loaders` that runs in the box."""

    def load_one(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
        with _LOCK:
            answer = _box().ask(family, name, path, raw, settings)
        yield from answer

    return load_one


def _seconds_for(size: int, settings: SourceSettings) -> int:
    """How much processor time a file of so many bytes may take."""
    return settings.max_parser_seconds + _SECONDS_PER_MEGABYTE * (size // 1_000_000)


class Box:
    """The process, and what is said to it; it is started by the first question and after each death."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, family: str, name: str, path: str, raw: bytes, settings: SourceSettings) -> list[Loaded]:
        """What a loader makes of a file."""
        process = self._running()
        seconds = _seconds_for(len(raw), settings)
        watch = threading.Timer(_PATIENCE * seconds, process.kill)
        watch.daemon = True
        watch.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _put(process.stdin, _request(family, name, path, settings, seconds), raw)
            return _answer(process.stdout, settings)
        except (OSError, EOFError, LookupError, TypeError, ValueError) as error:
            raise self._died(settings, seconds) from error
        finally:
            watch.cancel()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    assert pipe is not None
                    pipe.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            return self._process
        if not Path(sys.executable or "").name.startswith("python"):
            raise Refusal("missing_part", f"its parser needs a process of Python, and {sys.executable!r} starts none")
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, this package
                _own_python(__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0 if os.name == "posix" else None,  # a signal from the keyboard is not for it
            )
        except OSError as error:
            raise Refusal("missing_part", f"no process could be started for its parser: {error}") from error
        return self._process

    def _died(self, settings: SourceSettings, seconds: int) -> Refusal:
        """Why the process is gone; the next file gets a new one."""
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
_BOXES: list[Box] = []


def _box() -> Box:
    """The box of this process; one that a fork inherited is left to whoever started it."""
    if not _BOXES or _BOXES[-1].owner != os.getpid():
        _BOXES[:] = [Box()]
    return _BOXES[-1]


@atexit.register
def close_box() -> None:
    """End the box of this process, if it has one."""
    if _BOXES and _BOXES[-1].owner == os.getpid():
        _BOXES.pop().close()


def _request(family: str, name: str, path: str, settings: SourceSettings, seconds: int) -> bytes:
    """What is asked, as JSON; the file itself follows."""
    chosen = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return json.dumps([family, name, path, {**chosen, "allow": sorted(settings.allow)}, seconds]).encode()


# ---- the other end


def serve() -> None:
    """Load what comes until nothing more does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a parser prints must not get among the answers
    before = _address_bytes()
    with contextlib.suppress(EOFError, OSError):
        while True:
            request, raw = json.loads(_take(source, limit=None)), _take(source, limit=None)
            _put(target, *_loaded(request, raw, before))


def _loaded(request: Sequence[Any], raw: bytes, before: int | None) -> list[bytes]:
    """The answer: a header of JSON, then each document's content."""
    family, name, path, chosen, seconds = request
    settings = SourceSettings(**{**chosen, "ignore_files": tuple(chosen["ignore_files"])})
    try:
        _limit(settings.max_parser_bytes, seconds, before)
        loader: _Loader = getattr(import_module(f"brimful.corpus.loaders.{family}"), name)
        found = list(loader(path, raw, settings))
        return [
            json.dumps({"documents": [_record(each) for each in found]}).encode(),
            *(each.content for each in found),
        ]
    except Refusal as refusal:
        reason, detail = refusal.reason, refusal.detail
    except MemoryError:
        reason, detail = "too_large", f"it takes more than max_parser_bytes = {settings.max_parser_bytes} of memory"
    except Exception as error:  # noqa: BLE001 - parsers of foreign formats raise anything on hostile bytes
        reason, detail = "malformed", f"{type(error).__name__}: {error}"[:300]
    return [json.dumps({"refusal": [reason, detail]}).encode()]


def _limit(most_bytes: int, seconds: int, before: int | None) -> None:
    """Bound the memory and processor time of the next file, beside what this process has taken already.

    A limit that was inherited is the ceiling: it can only be lowered.
    """
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + seconds}
    if before is not None:
        wanted[resource.RLIMIT_AS] = before + most_bytes
    try:
        for limit, value in wanted.items():
            ceiling = resource.getrlimit(limit)[1]
            is_free = ceiling == resource.RLIM_INFINITY
            resource.setrlimit(limit, (value if is_free else min(value, ceiling), ceiling))
    except (OSError, ValueError) as error:
        raise Refusal("missing_part", f"its parser needs limits that this system does not set: {error}") from error


def _address_bytes() -> int | None:
    """How much address space this process has; None where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


# ---- what goes through the pipes


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


def _record(loaded: Loaded) -> dict[str, object]:
    places = loaded.source_map
    return {
        "path": loaded.path,
        "kind": loaded.kind,
        "language": loaded.language,
        "rule": loaded.rule,
        "is_verbatim": loaded.is_verbatim,
        "time": loaded.time,
        "title": loaded.title,
        "places": None if places is None else [places.starts, places.labels, places.times],
    }


def _answer(pipe: IO[bytes], settings: SourceSettings) -> list[Loaded]:
    """What the box said, taken for what anybody may have written."""
    most = 2 * settings.max_text_bytes + 1_000_000  # of a text, and of what is said about it
    said = json.loads(_take(pipe, limit=most))
    if not isinstance(said, dict):
        raise ValueError("no answer of a box")
    if "refusal" in said:
        reason, detail = said["refusal"]
        raise Refusal(reason if reason in REASONS else "malformed", str(detail)[:500])
    return [_document(record, _take(pipe, limit=most)) for record in said["documents"]]


def _document(record: dict[str, Any], content: bytes) -> Loaded:
    content.decode()
    if record["kind"] not in get_args(Kind):
        raise ValueError(f"no kind of text: {record['kind']!r:.50}")
    places: Sequence[Any] | None = record.pop("places")
    found = None if places is None else SourceMap(*(tuple(column) for column in places))
    return Loaded(content=content, source_map=found, **record)
