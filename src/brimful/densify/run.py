"""What is finished, what is next, and how does each request end well?

Calls with their retries, what a run holds on to, its parts, and the merges of their partials.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, Self, TypeVar

from blake3 import blake3

from brimful.densify.digest import Gap, Partial, from_merge, from_part
from brimful.densify.memory import Memory
from brimful.densify.model import Completion, Model, learn, silently_truncated
from brimful.densify.plan import (
    Allowances,
    Slicer,
    Task,
    allowances,
    groups_of,
    halved,
    halved_merge,
    missing,
    prompt,
)
from brimful.documents.documents import Document
from brimful.errors import (
    AuthError,
    CancelledError,
    ContextLimitError,
    ProviderError,
    QuotaError,
    RefusedError,
    RequestSizeError,
    SettingError,
    UnavailableError,
)
from brimful.limits import COUNTED_TOKENS
from brimful.settings import DensifySettings
from brimful.text.spans import Span, merge_spans
from brimful.text.strict_json import whole_characters
from brimful.transport import LOOK_SECONDS, Stop

# ---- calls: How is one request made to end well: how many at once, how often, how long between?
#
# Parallelism is bounded for each endpoint across all runs of the process. A request that may pass later is tried again
# after the time that the provider asked for, or after a doubling wait; a second run of the same text pays for none of
# it.

_NEVER_AGAIN = (AuthError, ContextLimitError, QuotaError, RefusedError, RequestSizeError)
_ABSENT = frozenset({400, 404, 405, 410})
"""Statuses of an address or a model that is not there, where an error says that something is unavailable."""
_FREE = threading.Condition()
_UNDER_WAY: Counter[str] = Counter()  # calls by endpoint
_BOUND: dict[str, int] = {}


@contextmanager
def _place(endpoint: str, width: int, stop: Stop) -> Iterator[None]:
    """Wait until an endpoint serves fewer than `width` calls, or than `bound_parallel` said; then hold a place."""
    with _FREE:
        while _UNDER_WAY[endpoint] >= _BOUND.get(endpoint, width):
            stop.check()
            _FREE.wait(LOOK_SECONDS)
        _UNDER_WAY[endpoint] += 1
    try:
        yield
    finally:
        with _FREE:
            _UNDER_WAY[endpoint] -= 1
            _FREE.notify_all()


def bound_parallel(endpoint: str, calls: int) -> None:
    """Let an endpoint serve at most so many calls at once, for every run of this process from now on."""
    if calls < 1:
        raise SettingError(f"{calls} calls at once get nothing done; give at least 1")
    _BOUND[endpoint] = calls


@dataclass(slots=True)
class Ledger:
    """What a run has paid, counted as it goes."""

    calls: int = 0
    retries: int = 0
    overflows: int = 0
    remembered: int = 0
    tokens_sent: int = 0
    tokens_received: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, **counts: int) -> None:
        """Add to the named counts."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)


@dataclass(frozen=True, slots=True)
class Caller:
    """Everything that a request needs beside its prompt."""

    model: Model
    settings: DensifySettings
    stop: Stop
    ledger: Ledger
    sleep: Callable[[float], object]

    def ask(self, prompt: str, *, max_output_tokens: int) -> Completion:
        """The answer, after at most `attempts` requests."""
        counted = self.model.count(prompt)
        for attempt in range(1, self.settings.attempts + 1):
            try:
                return self._once(prompt, counted, max_output_tokens)
            except ProviderError as error:
                if attempt == self.settings.attempts or not self._may_pass(error):
                    raise
                doubled = self.settings.first_wait_seconds * 2 ** (attempt - 1)
                wait_seconds = doubled if error.wait_seconds is None else error.wait_seconds
            self.sleep(min(wait_seconds, self.settings.longest_wait_seconds))
            self.stop.check()
            self.ledger.add(retries=1)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, prompt: str, counted: int, max_output_tokens: int) -> Completion:
        with _place(self.model.endpoint, self.settings.parallel, self.stop):
            self.stop.check()
            self.ledger.add(calls=1, tokens_sent=counted)
            answer = _sound(self.model.complete(prompt, max_output_tokens=max_output_tokens, stop=self.stop))
        if silently_truncated(answer.input_tokens, counted, exact=self.model.counter.exact):
            raise ContextLimitError(
                f"{self.model.name} read {answer.input_tokens} of {counted} tokens and said nothing; send less at once",
                status=200,
            )
        self.ledger.add(tokens_received=answer.output_tokens or self.model.count(answer.text))
        return answer

    def _may_pass(self, error: ProviderError) -> bool:
        """Whether another try can end differently; a wait beyond `longest_wait_seconds` is not waited for."""
        is_absent = isinstance(error, UnavailableError) and error.status in _ABSENT
        if is_absent or isinstance(error, _NEVER_AGAIN):
            return False
        return (error.wait_seconds or 0) <= self.settings.longest_wait_seconds


def _sound(answer: Completion) -> Completion:
    """An answer that can be written down, with counts that a model could have counted."""
    return replace(
        answer,
        text=whole_characters(answer.text),
        input_tokens=_counted(answer.input_tokens),
        output_tokens=_counted(answer.output_tokens),
    )


def _counted(tokens: int | None) -> int | None:
    return tokens if isinstance(tokens, int) and 0 <= tokens <= COUNTED_TOKENS else None


# ---- running: What does a run hold on to, and how does it end: done, stopped, out of time, or failed?

_BETWEEN = "\n\n"
Answer = TypeVar("Answer")
Item = TypeVar("Item")


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

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
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
        if learnt is not None:
            return learnt
        # In a thread: the run's end does not wait for a provider that does not say it.
        asked = self._pool.submit(model.limit)
        try:
            self.first_done({asked})
        except BaseException:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise
        return asked.result()

    def learn(self, error: ProviderError, tokens: int) -> Allowances | None:
        """What an overflow of a request of so many tokens teaches, remembered; allowances if it named a limit."""
        model, settings = self.caller.model, self.caller.settings
        self.caller.ledger.add(overflows=1)
        limit = learn(error.body, tokens)
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

    def answer(self, task: Task, texts: Sequence[str], *, tokens: int, span: Span | None = None) -> Callable[[], str]:
        """A thread's work: look an answer up, else ask, and remember it before anything else happens."""
        recipe = self.recipe(task)
        key = self.memory.key(recipe, texts)

        def look_up_or_ask() -> str:
            answer = self.memory.find(key)
            if answer is not None:
                self.caller.ledger.add(remembered=1)
            else:
                whole = prompt(task).render(_BETWEEN.join(texts), words=self.allowances.words(tokens))
                answer = self.caller.ask(whole, max_output_tokens=self.allowances.reserve).text.strip()
            self.memory.keep(key, answer, recipe=recipe, source=self.source, span=span)
            return answer

        return look_up_or_ask

    def request_tokens(self, task: Task, text: str) -> int:
        """What a request costs as it is sent."""
        return self.caller.model.count(prompt(task).render(text, words=1_000))

    def work(
        self,
        waiting: deque[Item],
        task: Callable[[Item], Callable[[], str]],
        finish: Callable[[Item, Future[str]], None],
        report: Callable[[int], None],
    ) -> None:
        """Let threads do what waits, so many at once; `finish` may add to it, `report` gets how many are under way."""
        under_way: dict[Future[str], Item] = {}
        try:
            while waiting or under_way:
                while waiting and len(under_way) < self.caller.settings.parallel:
                    item = waiting.popleft()
                    under_way[self._pool.submit(task(item))] = item
                for future in self.first_done(set(under_way)):
                    finish(under_way.pop(future), future)
                report(len(under_way))
        except ProviderError:
            self.settle(set(under_way))
            raise

    def first_done(self, futures: set[Future[Answer]]) -> set[Future[Answer]]:
        """Wait for the next answers, and for the wish to end or the end of the time."""
        while True:
            self.check()
            done, _ = wait(futures, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if done:
                return done

    def settle(self, futures: set[Future[Answer]]) -> None:
        """Wait for what is under way, so that nothing that is paid for is lost, before an error is raised."""
        for future in futures:
            future.cancel()
        while pending := {future for future in futures if not future.done()}:
            self.check()
            wait(pending, timeout=LOOK_SECONDS)

    def check(self) -> None:
        """Raise a CancelledError when the run should end."""
        if self._cancel is not None and self._cancel.is_set():
            self.caller.stop.set()
        self.caller.stop.check()
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


# ---- parting: Which parts are still to be condensed, and what if one is too long after all?


class Parting:
    """The first stage: every range of the source becomes part of a partial.

    A part that overflows halves the allowance; it is cut anew together with the parts that were not sent yet. Partials
    that are finished stay, whatever the allowance becomes.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._done: dict[Span, str] = {}
        self._waiting: deque[Span] = deque()
        self._most: int | None = None  # larger parts of earlier runs are not taken up
        self._failed: ProviderError | None = None

    def condense(self) -> list[Partial]:
        """The partials of the whole source, in reading order."""
        run = self._run
        self._take_up()
        rest = missing([*self._done, *(gap.span for gap in run.gaps)], len(run.document))
        self._waiting = deque(self._first_cut(rest))
        run.work(self._waiting, self._task, self._finish, self._report)
        run.finished = sorted(self._done)
        run.parts = len(self._done)
        if not self._done and self._failed is not None:
            raise self._failed
        return [from_part(self._done[span], span) for span in sorted(self._done)]

    def start_smaller(self) -> bool:
        """Prepare to condense everything in smaller parts, as merges failed; False where they are at their smallest."""
        run = self._run
        longest = max(map(run.slicer.count, self._done), default=0)
        after = halved(run.allowances, longest, run.caller.settings)
        if after is None:
            return False
        run.allowances = after
        self._most = after.part
        self._done = {}
        return True

    # ---- planning

    def _take_up(self) -> None:
        """What an earlier run of this source has finished."""
        run = self._run
        for span, text in run.memory.places(run.recipe("part"), run.source):
            if self._most is None or run.slicer.count(span) <= self._most:
                self._done[span] = text
                run.caller.ledger.add(remembered=1)

    def _first_cut(self, rest: list[Span]) -> list[Span]:
        """The whole text as one part where it is likely to fit, else parts."""
        run, settings = self._run, self._run.caller.settings
        known = run.limit is not None or run.caller.model.small
        if known or self._done:
            return run.slicer.cut(rest, run.allowances.part)
        model = run.caller.model
        before = run.memory.limit(model.endpoint, model.name, "overflowed")
        tokens = max((run.request_tokens("part", run.slicer.words(part)) for part in rest), default=0)
        if before is not None and tokens >= before:
            while before is not None and run.allowances.part >= before:
                after = halved(run.allowances, before, settings)
                before, run.allowances = (before, after) if after else (None, run.allowances)
            return run.slicer.cut(rest, run.allowances.part)
        return rest

    # ---- working

    def _report(self, under_way: int) -> None:
        done = len(self._done)
        self._run.report("parts", done, done + len(self._waiting) + under_way)

    def _task(self, part: Span) -> Callable[[], str]:
        slicer = self._run.slicer
        return self._run.answer("part", [slicer.words(part)], tokens=slicer.count(part), span=part)

    def _finish(self, part: Span, future: Future[str]) -> None:
        run = self._run
        try:
            self._done[part] = future.result()
        except ContextLimitError as error:
            tokens = run.request_tokens("part", run.slicer.words(part))
            self._cut_anew(part, run.learn(error, tokens), error)
        except RequestSizeError as error:
            self._cut_anew(part, None, error)
        except ProviderError as error:
            if not run.caller.settings.allow_gaps:
                raise
            run.gaps.append(Gap(part, str(error)))
            self._failed = error

    def _cut_anew(self, part: Span, learnt: Allowances | None, error: ProviderError) -> None:
        """Smaller parts for what overflowed and for what was not sent yet."""
        run, tokens = self._run, self._run.slicer.count(part)
        after = learnt if learnt is not None and learnt.part < tokens else None
        if after is None and tokens <= run.allowances.part:
            after = halved(run.allowances, tokens, run.caller.settings)
        elif after is None:  # cut under a larger allowance than today's: today's has not been tried
            after = run.allowances
        if after is None:
            raise type(error)(
                f"{run.caller.model.name} refuses even a part of {tokens} tokens as too long, and no part is cut "
                f"smaller than {run.caller.settings.floor_tokens}; take a model with a larger limit",
                status=error.status,
                body=error.body,
            ) from error
        run.allowances = after
        rest = merge_spans([part, *self._waiting])
        self._waiting.clear()
        self._waiting += run.slicer.cut(rest, run.allowances.part)


# ---- merging: How do many partials become one text?
#
# By passes: neighbours are grouped while they fit the merge allowance, each group becomes one partial. A pass that
# leaves no fewer partials ends it, and they are joined instead (DENS, non-reducing merge guard).


class Merging:
    """The second stage. A merge that overflows is regrouped under half the allowance, with its partials kept."""

    def __init__(self, run: Run, partials: Sequence[Partial]) -> None:
        self._run = run
        self.partials = list(partials)
        self.passes = 0
        self.joined = False

    def merge(self) -> None:
        """Pass after pass, until one partial is left or no pass makes them fewer."""
        settings = self._run.caller.settings
        while len(self.partials) > 1 and not self._is_short_enough():
            before, allowance = len(self.partials), self._run.allowances.merge
            groups = self._groups()
            if len(groups) >= before or self.passes >= settings.most_passes:
                self.joined = True
                return
            self.passes += 1
            self._pass(groups)
            if len(self.partials) >= before and self._run.allowances.merge >= allowance:
                self.joined = True
                return
        self.joined = len(self.partials) > 1

    def _is_short_enough(self) -> bool:
        """Partials that are together within the wanted size need no call to be one text."""
        target = self._run.caller.settings.target_tokens
        whole = _BETWEEN.join(partial.text for partial in self.partials)
        return target is not None and self._run.caller.model.count(whole) <= target

    def _groups(self) -> list[range]:
        sizes = [self._run.caller.model.count(partial.text) for partial in self.partials]
        return groups_of(sizes, self._run.allowances.merge, between=self._between())

    def _between(self) -> int:
        return self._run.caller.model.count(_BETWEEN) + 1

    def _pass(self, groups: list[range]) -> None:
        """One request for each group of several; a partial alone waits for the next pass."""
        run = self._run
        merged: dict[int, list[Partial]] = {
            group.start: [self.partials[group.start]] for group in groups if len(group) == 1
        }
        waiting = deque(group for group in groups if len(group) > 1)
        total = len(waiting)

        def finish(group: range, future: Future[str]) -> None:
            merged[group.start] = self._finish(group, future)

        run.work(
            waiting, self._task, finish, lambda under_way: run.report("merges", total - len(waiting) - under_way, total)
        )
        self.partials = [partial for start in sorted(merged) for partial in merged[start]]

    def _task(self, group: range) -> Callable[[], str]:
        texts = [self.partials[at].text for at in group]
        return self._run.answer("merge", texts, tokens=self._run.caller.model.count(_BETWEEN.join(texts)))

    def _finish(self, group: range, future: Future[str]) -> list[Partial]:
        """The merged partial; the group's own partials where it overflowed."""
        inputs = [self.partials[at] for at in group]
        try:
            return [from_merge(future.result(), inputs)]
        except (ContextLimitError, RequestSizeError) as error:
            self._regroup(inputs, error)
            return inputs

    def _regroup(self, inputs: Sequence[Partial], error: ProviderError) -> None:
        run = self._run
        whole = _BETWEEN.join(partial.text for partial in inputs)
        tokens = run.caller.model.count(whole)
        learnt = None
        if isinstance(error, ContextLimitError):
            learnt = run.learn(error, run.request_tokens("merge", whole))
        if learnt is not None and learnt.merge < tokens:
            run.allowances = learnt
            return
        if tokens > run.allowances.merge:  # grouped under a larger allowance than today's
            return
        sizes = [run.caller.model.count(partial.text) for partial in inputs]
        pair = min(one + two for one, two in pairwise(sizes)) + self._between()
        after = halved_merge(run.allowances, tokens, pair=pair)
        if after is None:
            raise ContextLimitError(
                f"{run.caller.model.name} refuses to merge even two partials of {tokens} tokens; take a larger model",
                status=error.status,
                body=error.body,
            ) from error
        run.allowances = after
