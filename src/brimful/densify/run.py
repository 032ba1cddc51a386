"""One source through one model: its parts, the merges of their partials, and what overflows teach on the way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Self, TypeVar

from blake3 import blake3

from brimful.densify.calls import Caller
from brimful.densify.digest import Gap, Partial, from_merge, from_part, text_of
from brimful.densify.memory import Memory
from brimful.densify.plan import (
    FLOOR_TOKENS,
    Allowances,
    Slicer,
    Task,
    allowances,
    groups_of,
    halved,
    halved_merge,
    missing,
    prompt,
    template,
)
from brimful.densify.wording import learn
from brimful.documents.documents import Document
from brimful.errors import CancelledError, ContextLimitError, ProviderError, RequestSizeError
from brimful.text.spans import Span, merge_spans
from brimful.transport import LOOK_SECONDS

_MOST_PASSES = 16  # of merges: with groups of two, enough for 65,536 partials
_BETWEEN = "\n\n"
Result = TypeVar("Result")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: of the current stage's requests, how many are answered; and the calls made so far."""

    stage: Literal["parts", "merges"]
    done: int
    total: int
    calls: int


class Run:
    """Lets threads ask while the caller's own thread decides; remembers every answer, and ends when it should."""

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
        self.model, self.settings = caller.model, caller.settings
        self.source = bytes.fromhex(document.id)
        self.gaps: list[Gap] = []
        self.finished: list[Span] = []
        self._progress, self._cancel, self._clock = progress, cancel, clock
        self._begin_seconds = clock()
        self._pool = ThreadPoolExecutor(self.settings.parallel, thread_name_prefix="brimful-densify")
        self.limit = self._first_limit()
        self.allowances = allowances(self.limit, self.model.counter, self.settings, small=self.model.small)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:  # what is paid for was waited for in `work`; nothing else is worth waiting for
            self.caller.stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _first_limit(self) -> int | None:
        """The limit that an error named earlier, else that of the user, the provider or the table."""
        if self.settings.profile == "seed":
            return None
        learnt = self.memory.limit(self.model.endpoint, self.model.name, "named")
        if learnt is not None:
            return learnt
        # In a thread: the run's end does not wait for a provider that does not say it.
        future = self._pool.submit(self.model.limit)
        try:
            self._first_done({future})
        except BaseException:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise
        return future.result()

    def learn(self, error: ProviderError, tokens: int) -> Allowances | None:
        """Remember what the overflow of a request of `tokens` teaches; new allowances if the error named a limit."""
        endpoint, name = self.model.endpoint, self.model.name
        self.caller.count(overflows=1)
        limit = learn(error.body, tokens)
        if limit is None or limit >= tokens + self.allowances.reserve or limit == self.limit:
            self.memory.keep_limit(endpoint, name, "overflowed", tokens)
            return None
        self.memory.keep_limit(endpoint, name, "named", limit)
        if self.settings.profile == "seed":
            return None
        self.limit = limit
        return allowances(limit, self.model.counter, self.settings, small=self.model.small)

    def recipe(self, task: Task) -> bytes:
        """A hash of everything but the text that an answer depends on."""
        settings = (self.model.name, self.model.endpoint, self.settings.profile, str(self.settings.target_tokens))
        words = blake3(f"{task}\0{template(task).replace('{{text}}', chr(0))}".encode()).digest(16)
        return blake3(words + "\0".join(settings).encode()).digest(16)

    def answer(self, task: Task, texts: Sequence[str], *, tokens: int, span: Span | None = None) -> Callable[[], str]:
        """A thread's work: look an answer up, else ask, and remember it before anything else happens."""
        recipe = self.recipe(task)
        key = self.memory.key(recipe, texts)

        def look_up_or_ask() -> str:
            answer = self.memory.find(key)
            if answer is not None:
                self.caller.count(remembered=1)
            else:
                request = prompt(task, _BETWEEN.join(texts), words=self.allowances.words(tokens))
                answer = self.caller.ask(request, max_output_tokens=self.allowances.reserve)
            self.memory.keep(key, answer, recipe=recipe, source=self.source, span=span)
            return answer

        return look_up_or_ask

    def request_tokens(self, task: Task, text: str) -> int:
        """The tokens of a request with its prompt."""
        return self.model.count(prompt(task, text, words=1_000))

    def work(
        self,
        waiting: deque[Item],
        task: Callable[[Item], Callable[[], str]],
        finish: Callable[[Item, Future[str]], None],
        report: Callable[[int], None],
    ) -> None:
        """Let threads do what waits; `finish` may add to it, `report` gets how many are under way."""
        active: dict[Future[str], Item] = {}
        try:
            while waiting or active:
                while waiting and len(active) < self.settings.parallel:
                    item = waiting.popleft()
                    active[self._pool.submit(task(item))] = item
                for future in self._first_done(set(active)):
                    finish(active.pop(future), future)
                report(len(active))
        except ProviderError:  # what is paid for is waited for before the error is raised
            for future in active:
                future.cancel()
            while pending := {future for future in active if not future.done()}:
                self._check()
                wait(pending, timeout=LOOK_SECONDS)
            raise

    def _first_done(self, futures: set[Future[Result]]) -> set[Future[Result]]:
        """Wait for the next answers; a CancelledError when the run should end."""
        while True:
            self._check()
            finished, _ = wait(futures, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if finished:
                return finished

    def _check(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            self.caller.stop.set()
        self.caller.stop.check()
        deadline = self.settings.deadline_seconds
        if deadline is not None and self._clock() - self._begin_seconds > deadline:
            raise CancelledError(
                f"the deadline of {deadline} s has passed; what was finished is remembered, so run it again to go on"
            )

    def report(self, stage: Literal["parts", "merges"], done: int, total: int) -> None:
        """Tell how far the run is."""
        if self._progress is not None:
            self._progress(Progress(stage, done, total, self.caller.paid["calls"]))

    def covered(self) -> tuple[Span, ...]:
        """The ranges that reached a partial, blank ones between them included."""
        accounted = [*self.finished, *(gap.span for gap in self.gaps)]
        blank = [span for span in missing(accounted, len(self.document)) if not self.slicer.text(span).strip()]
        return tuple(merge_spans([*self.finished, *blank]))


class Parting:
    """The first stage: every range of the source becomes part of a partial.

    A part that overflows halves the allowance; it is cut anew together with the parts that were not sent yet. Partials
    that are finished stay, whatever the allowance becomes.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._partials: dict[Span, str] = {}
        self._waiting: deque[Span] = deque()
        self._max_tokens: int | None = None  # larger parts of earlier runs are not taken up
        self._last_error: ProviderError | None = None

    def condense(self) -> list[Partial]:
        """The partials of the whole source, in reading order."""
        run = self._run
        for span, text in run.memory.places(run.recipe("part"), run.source):
            if self._max_tokens is None or run.slicer.count(span) <= self._max_tokens:
                self._partials[span] = text
                run.caller.count(remembered=1)
        unfinished = missing([*self._partials, *(gap.span for gap in run.gaps)], len(run.document))
        self._waiting = deque(self._first_cut(unfinished))
        run.work(self._waiting, self._task, self._finish, self._report)
        run.finished = sorted(self._partials)
        if not self._partials and self._last_error is not None:
            raise self._last_error
        return [from_part(self._partials[span], span) for span in run.finished]

    def start_smaller(self) -> bool:
        """Prepare to condense everything in smaller parts, as merges failed; False where they are at their smallest."""
        run = self._run
        longest = max(map(run.slicer.count, self._partials), default=0)
        smaller = halved(run.allowances, longest, run.settings)
        if smaller is None:
            return False
        run.allowances = smaller
        self._max_tokens = smaller.part
        self._partials = {}
        return True

    def _first_cut(self, spans: list[Span]) -> list[Span]:
        """The whole text as one part where it is likely to fit, else parts."""
        run = self._run
        if run.limit is None and not run.model.small and not self._partials:
            overflowed = run.memory.limit(run.model.endpoint, run.model.name, "overflowed")
            tokens = max((run.request_tokens("part", run.slicer.text(span).strip()) for span in spans), default=0)
            if overflowed is None or tokens < overflowed:
                return spans
            while run.allowances.part >= overflowed and (smaller := halved(run.allowances, overflowed, run.settings)):
                run.allowances = smaller
        return run.slicer.cut(spans, run.allowances.part)

    def _report(self, active: int) -> None:
        count = len(self._partials)
        self._run.report("parts", count, count + len(self._waiting) + active)

    def _task(self, part: Span) -> Callable[[], str]:
        slicer = self._run.slicer
        return self._run.answer("part", [slicer.text(part).strip()], tokens=slicer.count(part), span=part)

    def _finish(self, part: Span, future: Future[str]) -> None:
        run = self._run
        try:
            self._partials[part] = future.result()
        except ContextLimitError as error:
            tokens = run.request_tokens("part", run.slicer.text(part).strip())
            self._cut_anew(part, run.learn(error, tokens), error)
        except RequestSizeError as error:
            self._cut_anew(part, None, error)
        except ProviderError as error:
            if not run.settings.allow_gaps:
                raise
            run.gaps.append(Gap(part, str(error)))
            self._last_error = error

    def _cut_anew(self, part: Span, learnt: Allowances | None, error: ProviderError) -> None:
        """Smaller parts for what overflowed and for what was not sent yet."""
        run, tokens = self._run, self._run.slicer.count(part)
        smaller: Allowances | None = run.allowances  # not tried yet where the part was cut under a larger one
        if learnt is not None and learnt.part < tokens:
            smaller = learnt
        elif tokens <= run.allowances.part:
            smaller = halved(run.allowances, tokens, run.settings)
        if smaller is None:
            raise type(error)(
                f"{run.model.name} refuses even a part of {tokens} tokens as too long, and no part is cut "
                f"smaller than {FLOOR_TOKENS}; take a model with a larger limit",
                status=error.status,
                body=error.body,
            ) from error
        run.allowances = smaller
        unsent = merge_spans([part, *self._waiting])
        self._waiting.clear()
        self._waiting += run.slicer.cut(unsent, smaller.part)


class Merging:
    """The second stage, by passes: neighbours are grouped while they fit, and each group becomes one partial.

    A merge that overflows is regrouped under half the allowance, with its partials kept. A pass that leaves no fewer
    partials ends the stage, and they are joined instead (DENS, non-reducing merge guard).
    """

    def __init__(self, run: Run, partials: Sequence[Partial]) -> None:
        self._run = run
        self._between = run.model.count(_BETWEEN) + 1
        self.partials = list(partials)
        self.passes = 0
        self.joined = False

    def merge(self) -> None:
        """Pass after pass, until one partial is left or no pass makes them fewer."""
        while len(self.partials) > 1 and not self._is_short_enough():
            count, allowance = len(self.partials), self._run.allowances.merge
            groups = groups_of(list(map(self._tokens, self.partials)), allowance, between=self._between)
            if len(groups) >= count or self.passes >= _MOST_PASSES:
                break
            self.passes += 1
            self._pass(groups)
            if len(self.partials) >= count and self._run.allowances.merge >= allowance:
                break
        self.joined = len(self.partials) > 1

    def _is_short_enough(self) -> bool:
        """Partials that are together within the wanted size need no call to be one text."""
        target = self._run.settings.target_tokens
        return target is not None and self._tokens(*self.partials) <= target

    def _tokens(self, *partials: Partial) -> int:
        return self._run.model.count(text_of(*partials))

    def _pass(self, groups: list[range]) -> None:
        """One request for each group of several; a partial alone waits for the next pass."""
        run = self._run
        merged = {group.start: [self.partials[group.start]] for group in groups if len(group) == 1}
        waiting = deque(group for group in groups if len(group) > 1)
        total = len(waiting)

        def task(group: range) -> Callable[[], str]:
            partials = [self.partials[index] for index in group]
            return run.answer("merge", [text_of(partial) for partial in partials], tokens=self._tokens(*partials))

        def finish(group: range, future: Future[str]) -> None:
            partials = [self.partials[index] for index in group]
            try:
                merged[group.start] = [from_merge(future.result(), partials)]
            except (ContextLimitError, RequestSizeError) as error:
                self._regroup(partials, error)
                merged[group.start] = partials

        def report(active: int) -> None:
            run.report("merges", total - len(waiting) - active, total)

        run.work(waiting, task, finish, report)
        self.partials = [partial for start in sorted(merged) for partial in merged[start]]

    def _regroup(self, partials: Sequence[Partial], error: ProviderError) -> None:
        """Lower the allowance under which the partials of a merge that overflowed are grouped again."""
        run = self._run
        tokens = self._tokens(*partials)
        if isinstance(error, ContextLimitError):
            learnt = run.learn(error, run.request_tokens("merge", text_of(*partials)))
            if learnt is not None and learnt.merge < tokens:
                run.allowances = learnt
                return
        if tokens > run.allowances.merge:  # grouped under a larger allowance than today's
            return
        pair = min(first + second for first, second in pairwise(map(self._tokens, partials))) + self._between
        smaller = halved_merge(run.allowances, tokens, pair=pair)
        if smaller is None:
            raise ContextLimitError(
                f"{run.model.name} refuses to merge even two partials of {tokens} tokens; take a larger model",
                status=error.status,
                body=error.body,
            ) from error
        run.allowances = smaller
