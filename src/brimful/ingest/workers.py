"""How does a batch of files become documents, here or in another process?"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from brimful.classes import dataclass
from brimful.corpus.documents import Document, is_time
from brimful.corpus.loaders import Loaded, load_file
from brimful.corpus.loaders.box import own_python
from brimful.corpus.skips import Skipped, SourceSettings
from brimful.corpus.sources import Found
from brimful.errors import BrimfulError, HelperError, InputError
from brimful.index.build import default_embedder
from brimful.index.embedders import Embedder
from brimful.store.writing import SEGMENT_BYTES, WHOLE, Entry, Parts, Prepared, Scattered, prepare, split

# ---- batches: How does a batch of files become documents that only have to be written down?


class File(NamedTuple):
    """A file to be read, and the folder that its documents are stored in: none, unless another root has their paths."""

    found: Found
    folder: str
    origin: str


class Outcome(NamedTuple):
    """What became of a file."""

    paths: list[str]  # of its documents
    skipped: list[Skipped]


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A batch of files, read and indexed."""

    outcomes: list[Outcome]  # one for each file
    prepared: Prepared | Scattered | None  # None where no file gave a document


def batches_of(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Files together up to about the size of a segment."""
    batch: list[Found] = []
    size = 0
    for each in found:
        batch.append(each)
        size += each.size
        if size >= SEGMENT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def index_batch(
    files: Iterable[File], settings: SourceSettings, embedder: Embedder | None, *, parts: Parts = WHOLE
) -> Taken:
    """Read files and index what they hold."""
    outcomes: list[Outcome] = []
    entries: list[Entry] = []
    for file in files:
        found, skipped = _taken(file, settings)
        entries += found
        outcomes.append(Outcome([entry.document.path for entry in found], skipped))
    return Taken(outcomes, prepare(entries, embedder, parts=parts) if entries else None)


def _taken(file: File, settings: SourceSettings) -> tuple[list[Entry], list[Skipped]]:
    """The documents of a file, and what is left out of it; whatever goes wrong costs this file, never the batch."""
    try:
        loaded = load_file(file.found, settings=settings)
        entries = [_entry_of(each, file) for each in loaded if isinstance(each, Loaded)]
    except InputError as error:
        return [], [Skipped(file.found.path, "malformed", f"{error}"[:300])]
    return entries, [each for each in loaded if isinstance(each, Skipped)]


def _entry_of(loaded: Loaded, file: File) -> Entry:
    """A document of a file, ready to be stored."""
    time = loaded.time if loaded.time is not None and is_time(loaded.time) else time_of(file.found)
    document = Document.read(
        file.folder + loaded.path, loaded.content, time=time, kind=loaded.kind, language=loaded.language
    )
    return Entry(
        document,
        rule=loaded.rule,
        title=loaded.title,
        origin=file.origin,
        stamp=stamp_of(file.found),
        source_map=loaded.source_map,
    )


def time_of(found: Found) -> int | None:
    """When a file was changed, in seconds; None for a time that no calendar has, which says nothing."""
    seconds = found.mtime_ns // 1_000_000_000
    return seconds if is_time(seconds) else None


def stamp_of(found: Found) -> str:
    """What a stat said: where all of it is as before, so is the content."""
    return f"{found.size}:{found.mtime_ns}:{found.inode}:{found.device}"


# ---- helping: How does another process take a part of the work?
#
# A helper is this same interpreter, started anew with a pipe to and from it: it reads files and indexes them, and gives
# back what is to be written. It never opens the store, and it ends when its pipe does, however this process ends. The
# results are put down in the order of the batches, so nobody can tell who made which.

_WORTH_BYTES = 16 << 20
"""From so much to read on, a second process is worth its start."""

_AHEAD = 2
"""So many batches may be ready before their turn: memory must not grow with what is taken in."""

Task = tuple[SourceSettings, bool]  # and whether units get codes of the default embedder


def helpers_for(size: int, *, workers: int | None) -> int:
    """How many helpers to start for so many bytes: by the cores that there are, unless the caller says."""
    if workers is not None:
        return workers - 1
    is_python = Path(sys.executable or "").name.startswith("python")
    return 1 if size > _WORTH_BYTES and is_python and _cores() > 1 else 0


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Helper:
    """A process that takes batches in, one at a time."""

    def __init__(self, task: Task) -> None:
        # In a group of its own: a signal from the keyboard is for whoever started it.
        group = 0 if os.name == "posix" else None
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, this package
            own_python(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=group
        )
        self._task: Task | None = task

    def ask(self, files: Sequence[File]) -> Taken:
        """Have a batch taken in."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if self._task is not None:
                _send(self._process.stdin, self._task)
                self._task = None
            _send(self._process.stdin, files)
            answer = pickle.load(self._process.stdout)  # noqa: S301 - from a process of our own
        except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
            raise HelperError(
                "a helper process ended before its work was done; everything committed is intact, add the place again "
                "to go on, with workers=1 if it happens again"
            ) from error
        if isinstance(answer, BaseException):
            raise answer
        taken: Taken = answer
        return taken

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was left to be sent can't be sent any more
                assert pipe is not None
                pipe.close()


def serve() -> None:
    """The other end: take in what comes until nothing more does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a parser prints must not get among the answers
    try:
        settings, has_codes = pickle.load(source)  # noqa: S301
        embedder = default_embedder() if has_codes else None
        while True:
            files = pickle.load(source)  # noqa: S301
            answer: Taken | BaseException
            try:
                answer = index_batch(files, settings, embedder)
            except BrimfulError as error:
                answer = error
            except Exception as error:  # noqa: BLE001 - whatever it is, it must be told there, not here
                answer = HelperError(f"a helper process failed: {type(error).__name__}: {error}")
            _send(target, answer)
            del answer  # before the next one is made
    except (EOFError, BrokenPipeError):
        os._exit(0)


def _send(pipe: IO[bytes], what: Any) -> None:
    pickle.dump(what, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


class Workers:
    """This process and its helpers, taking batches in side by side; the results come in the order of the batches."""

    def __init__(self, work: Callable[[Sequence[File]], Taken], *, task: Task, helpers: int) -> None:
        self._work = work
        self._helpers: list[Helper] = []
        for _ in range(helpers):
            with contextlib.suppress(OSError):  # where no process may be started, this one does all the work
                self._helpers.append(Helper(task))
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._batches: Sequence[Sequence[File]] = ()
        self._next, self._given = 0, 0  # the next batch to take, the next result to give
        self._results: dict[int, Taken | BaseException] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._batches = ()
            self._changed.notify_all()
        for helper in self._helpers:
            helper.close()
        for thread in self._threads:
            thread.join()

    def take_in(self, batches: Sequence[Sequence[File]]) -> Iterator[Taken]:
        """What became of each batch."""
        self._batches = batches
        self._threads = [threading.Thread(target=self._run, args=(helper,), daemon=True) for helper in self._helpers]
        for thread in self._threads:
            thread.start()
        for number in range(len(batches)):
            while number not in self._results:
                mine = self._claim(wait=False)
                if mine is not None:
                    self._results[mine] = self._work(batches[mine])
                else:
                    with self._changed:
                        self._changed.wait_for(partial(self._results.__contains__, number))
            with self._changed:
                self._given = number + 1
                self._changed.notify_all()
            yield self._result(number)  # and hold it no longer

    def _result(self, number: int) -> Taken:
        result = self._results.pop(number)
        if isinstance(result, BaseException):
            raise result
        return result

    def _claim(self, *, wait: bool) -> int | None:
        """The number of a batch that nobody has taken; None where there is none, or none yet."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: self._is_open() or self._next >= len(self._batches))
            if not self._is_open():
                return None
            self._next += 1
            return self._next - 1

    def _is_open(self) -> bool:
        return self._next < min(len(self._batches), self._given + len(self._helpers) + _AHEAD)

    def _run(self, helper: Helper) -> None:
        while (number := self._claim(wait=True)) is not None:
            try:
                result: Taken | BaseException = helper.ask(self._batches[number])
            except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
                result = error
            with self._changed:
                self._results[number] = result
                self._changed.notify_all()
            if isinstance(result, BaseException):
                return


# ---- a cluster: How do Ray's tasks take all of the work?


class ClusterWorkers:
    """Batches taken in by tasks of a Ray cluster, whose nodes all see the files; results come in their order.

    What a task made stays in the cluster, and goes from there to the actors of the shards.
    """

    def __init__(self, ray: Any, settings: SourceSettings, embedder: Embedder | None, parts: Parts) -> None:
        self._ray, self._settings, self._embedder, self._parts = ray, settings, embedder, tuple(parts)

    def take_in(self, batches: Sequence[Sequence[File]]) -> Iterator[Taken]:
        """What became of each batch."""
        errors = self._ray.exceptions
        work = self._ray.remote(_scattered)
        embedder = "default" if self._embedder is default_embedder() else self._embedder
        shared = [self._ray.put(each) for each in (self._settings, embedder, self._parts)]
        most = max(int(self._ray.cluster_resources().get("CPU", 1)), 1) + _AHEAD
        waiting = deque(work.remote(list(batch), *shared) for batch in batches[:most])
        for number in range(len(batches)):
            try:
                taken: Taken = self._ray.get(waiting.popleft())
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.RayError as error:
                raise HelperError(
                    f"a task of the cluster ended before its work was done ({type(error).__name__}); everything "
                    "committed is intact, add the place again to go on"
                ) from error
            if number + most < len(batches):
                waiting.append(work.remote(list(batches[number + most]), *shared))
            yield taken


def _scattered(files: Sequence[File], settings: SourceSettings, embedder: Any, parts: Parts) -> Taken:
    """The work of one task."""
    import ray

    taken = index_batch(files, settings, default_embedder() if embedder == "default" else embedder, parts=parts)
    if not isinstance(taken.prepared, Prepared):
        return taken
    own = split(taken.prepared, parts)
    return Taken(taken.outcomes, Scattered({part: ray.put(prepared) for part, prepared in own.items()}))
