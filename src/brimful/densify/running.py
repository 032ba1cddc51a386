"""What does a run hold on to, and how does it end: done, stopped, out of time, or failed?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self, TypeVar

from blake3 import blake3

from brimful.corpus.documents import Document
from brimful.densify.calls import Caller
from brimful.densify.digest import Gap
from brimful.densify.limits import learn
from brimful.densify.memory import Memory
from brimful.densify.parts import Slicer, missing
from brimful.densify.plan import Allowances, allowances
from brimful.densify.prompts import Task, prompt
from brimful.errors import CancelledError, ProviderError
from brimful.text.spans import Span, merge_spans

_LOOK_SECONDS = 0.05
"""How often a run that waits looks whether it should end."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: of the current stage's requests, how many are answered; and the calls made so far."""

    stage: Literal["parts", "merges"]
    done: int
    total: int
    calls: int


class Run:
    """One source through one model. Threads ask; the caller's own thread decides."""

    def __init__(
        self,
        *,
        document: Document,
        slicer: Slicer,
        memory: Memory,
        caller: Caller,
        progress: Callable[[Progress], None] | None,
        cancel: threading.Event | None,
        clock: Callable[[], float],
    ) -> None:
        self.document, self.slicer, self.memory, self.caller = document, slicer, memory, caller
        self.gaps: list[Gap] = []
        self.finished: list[Span] = []
        self.parts = 0
        self._progress, self._cancel, self._clock = progress, cancel, clock
        self._begun = clock()
        self._pool = ThreadPoolExecutor(caller.settings.parallel, thread_name_prefix="brimful-densify")
        model = caller.model
        self.source = bytes.fromhex(document.id)
        self.limit = self._known_limit()
        self.allowances = allowances(self.limit, model.counter, caller.settings, small=model.small)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:  # what is paid for was waited for in `settle`; nothing else is worth waiting for
            self.caller.stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    # ---- limits

    def _known_limit(self) -> int | None:
        """What the user, the provider or a table tells, and no more than an error has named since."""
        model = self.caller.model
        if self.caller.settings.profile == "seed":
            return None
        learnt = self.memory.limit(model.endpoint, model.name, "named")
        return learnt if learnt is not None else self._told_limit()

    def _told_limit(self) -> int | None:
        """What the model says, asked in a thread: the run's end does not wait for a provider that does not say it."""
        asked = self._pool.submit(self.caller.model.limit)
        try:
            self.first_done({asked})
        except BaseException:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise
        return asked.result()

    def overflowed_before(self) -> int | None:
        """The smallest request that this model ever refused as too long, where no limit was named."""
        model = self.caller.model
        return self.memory.limit(model.endpoint, model.name, "overflowed")

    def learn(self, error: ProviderError, tokens: int) -> Allowances | None:
        """What an overflow of a request of so many tokens teaches, remembered; allowances if it named a limit."""
        model, settings = self.caller.model, self.caller.settings
        self.caller.ledger.add(overflows=1)
        found = learn(error.body)
        limit = found.ours(tokens) if found else None
        if limit is None or limit >= tokens + self.allowances.reserve or limit == self.limit:
            self.memory.keep_limit(model.endpoint, model.name, "overflowed", tokens)
            return None
        self.memory.keep_limit(model.endpoint, model.name, "named", limit)
        if settings.profile == "seed":
            return None
        self.limit = limit
        return allowances(limit, model.counter, settings, small=model.small)

    # ---- asking

    def recipe(self, task: Task) -> bytes:
        """What an answer depends on beside its text."""
        model, settings = self.caller.model, self.caller.settings
        parts = (model.name, model.endpoint, settings.profile, str(settings.target_tokens))
        return blake3(prompt(task).identity + "\0".join(parts).encode()).digest(16)

    def ask(self, task: Task, text: str, *, tokens: int) -> str:
        """One answer from the model, not remembered yet."""
        whole = prompt(task).render(text, words=self.allowances.words(tokens))
        return self.caller.ask(whole, max_output_tokens=self.allowances.reserve).text.strip()

    def request_tokens(self, task: Task, text: str) -> int:
        """What a request costs as it is sent."""
        return self.caller.model.count(prompt(task).render(text, words=1_000))

    def submit(self, work: Callable[[], Answer]) -> Future[Answer]:
        """Let a thread do it."""
        return self._pool.submit(work)

    def first_done(self, futures: set[Future[Answer]]) -> set[Future[Answer]]:
        """Wait for the next answers, and for the wish to end or the end of the time."""
        while True:
            self.check()
            done, _ = wait(futures, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if done:
                return done

    def settle(self, futures: set[Future[Answer]]) -> None:
        """Wait for what is under way, so that nothing that is paid for is lost, before an error is raised."""
        for future in futures:
            future.cancel()
        while pending := {future for future in futures if not future.done()}:
            self.check()
            wait(pending, timeout=_LOOK_SECONDS)

    def check(self) -> None:
        """Raise a CancelledError when the run should end."""
        if self._cancel is not None and self._cancel.is_set():
            raise CancelledError("the run was stopped; what was finished is remembered, so run it again to go on")
        deadline = self.caller.settings.deadline_seconds
        if deadline is not None and self._clock() - self._begun > deadline:
            raise CancelledError(
                f"the deadline of {deadline} s has passed; what was finished is remembered, so run it again to go on"
            )

    def report(self, stage: Literal["parts", "merges"], done: int, total: int) -> None:
        """Tell how far the run is."""
        if self._progress is not None:
            self._progress(Progress(stage, done, total, self.caller.ledger.calls))

    # ---- coverage

    def covered(self) -> tuple[Span, ...]:
        """The ranges that reached a partial, blank ones between them included."""
        named = [gap.span for gap in self.gaps]
        length = len(self.document)
        blank = [span for span in missing([*self.finished, *named], length) if not self.slicer.text(span).strip()]
        return tuple(merge_spans([*self.finished, *blank]))
