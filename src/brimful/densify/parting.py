"""Which parts are still to be condensed, and what if one is too long after all?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from brimful.densify.cite import Partial, from_part
from brimful.densify.digest import Gap
from brimful.densify.parts import Part, missing
from brimful.densify.plan import Allowances, halved
from brimful.densify.running import Run
from brimful.errors import ContextLimitError, ProviderError, RequestSizeError
from brimful.text.spans import Span, merge_spans


class Parting:
    """The first stage: every range of the source becomes part of a partial.

    A part that overflows halves the allowance; it is cut anew together with the parts that were not sent yet. Partials
    that are finished stay, whatever the allowance becomes.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._done: dict[Span, str] = {}
        self._waiting: deque[Part] = deque()
        self._open: dict[Future[str], Part] = {}
        self._most: int | None = None  # larger parts of earlier runs are not taken up
        self._failed: ProviderError | None = None

    def condense(self) -> list[Partial]:
        """The partials of the whole source, in reading order."""
        run = self._run
        self._take_up()
        rest = missing([*self._done, *(gap.span for gap in run.gaps)], len(run.document))
        self._waiting = deque(self._first_cut(rest))
        try:
            self._work()
        except ProviderError:
            run.settle(set(self._open))
            raise
        run.finished = sorted(self._done)
        run.parts = len(self._done)
        if not self._done and self._failed is not None:
            raise self._failed
        return [from_part(self._done[span], span) for span in sorted(self._done)]

    def start_smaller(self) -> bool:
        """Prepare to condense everything in smaller parts, as merges failed; False where they are at their smallest."""
        run = self._run
        longest = max((run.slicer.part(span.start, span.end).tokens for span in self._done), default=0)
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
        recipe = run.recipe("part")
        for known in run.memory.places(recipe, run.source):
            size = run.slicer.part(known.span.start, known.span.end).tokens
            if self._most is None or size <= self._most:
                self._done[known.span] = known.text
                run.caller.ledger.add(remembered=1)

    def _first_cut(self, rest: list[Span]) -> list[Part]:
        """The whole text as one part where it is likely to fit, else parts."""
        run, settings = self._run, self._run.caller.settings
        known = run.limit is not None or run.caller.model.small
        if known or self._done:
            return run.slicer.cut(rest, run.allowances.part)
        whole = [run.slicer.part(span.start, span.end) for span in rest]
        before = run.overflowed_before()
        tokens = max((run.request_tokens("part", run.slicer.words(part)) for part in whole), default=0)
        if before is not None and tokens >= before:
            while before is not None and run.allowances.part >= before:
                after = halved(run.allowances, before, settings)
                before, run.allowances = (before, after) if after else (None, run.allowances)
            return run.slicer.cut(rest, run.allowances.part)
        return whole

    # ---- working

    def _work(self) -> None:
        run = self._run
        while self._waiting or self._open:
            while self._waiting and len(self._open) < run.caller.settings.parallel:
                part = self._waiting.popleft()
                self._open[run.submit(self._task(part))] = part
            for future in run.first_done(set(self._open)):
                part = self._open.pop(future)
                self._finish(part, future)
            total = len(self._done) + len(self._waiting) + len(self._open)
            run.report("parts", len(self._done), total)

    def _task(self, part: Part) -> Callable[[], str]:
        """What a thread does: look it up, else ask, and remember the answer before anything else happens."""
        run = self._run
        text = run.slicer.words(part)
        recipe = run.recipe("part")
        key = run.memory.key(recipe, [text])

        def condense() -> str:
            span = Span(part.start, part.end)
            known = run.memory.find(key)
            if known is not None:
                run.caller.ledger.add(remembered=1)
            answer = known if known is not None else run.ask("part", text, tokens=part.tokens)
            run.memory.keep(key, answer, recipe=recipe, source=run.source, span=span)
            return answer

        return condense

    def _finish(self, part: Part, future: Future[str]) -> None:
        run = self._run
        try:
            self._done[Span(part.start, part.end)] = future.result()
        except ContextLimitError as error:
            tokens = run.request_tokens("part", run.slicer.words(part))
            self._cut_anew(part, run.learn(error, tokens), error)
        except RequestSizeError as error:
            self._cut_anew(part, None, error)
        except ProviderError as error:
            if not run.caller.settings.allow_gaps:
                raise
            run.gaps.append(Gap(Span(part.start, part.end), str(error)))
            self._failed = error

    def _cut_anew(self, part: Part, learnt: Allowances | None, error: ProviderError) -> None:
        """Smaller parts for what overflowed and for what was not sent yet."""
        run = self._run
        after = learnt if learnt is not None and learnt.part < part.tokens else None
        if after is None and part.tokens <= run.allowances.part:
            after = halved(run.allowances, part.tokens, run.caller.settings)
        elif after is None:  # cut under a larger allowance than today's: today's has not been tried
            after = run.allowances
        if after is None:
            raise type(error)(
                f"{run.caller.model.name} refuses even a part of {part.tokens} tokens as too long, and no part is cut "
                f"smaller than {run.caller.settings.floor_tokens}; take a model with a larger limit",
                status=error.status,
                body=error.body,
            ) from error
        run.allowances = after
        rest = merge_spans([Span(each.start, each.end) for each in (part, *self._waiting)])
        self._waiting = deque(run.slicer.cut(rest, run.allowances.part))
