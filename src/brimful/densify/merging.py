"""How do many partials become one text?

By passes: neighbours are grouped while they fit the merge allowance, each group becomes one partial. A pass that leaves
no fewer partials ends it, and they are joined instead (DENS, non-reducing merge guard).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import pairwise

from brimful.densify.cite import Partial, from_merge
from brimful.densify.parts import groups_of
from brimful.densify.plan import halved_merge
from brimful.densify.running import Run
from brimful.errors import ContextLimitError, ProviderError, RequestSizeError

_BETWEEN = "\n\n"


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
        return target is not None and self._run.caller.model.count(_BETWEEN.join(self._texts())) <= target

    def _texts(self) -> list[str]:
        return [partial.text for partial in self.partials]

    def _groups(self) -> list[range]:
        sizes = [self._run.caller.model.count(text) for text in self._texts()]
        return groups_of(sizes, self._run.allowances.merge, between=self._between())

    def _between(self) -> int:
        return self._run.caller.model.count(_BETWEEN) + 1

    def _pass(self, groups: list[range]) -> None:
        """One request for each group of several; a partial alone waits for the next pass."""
        run = self._run
        merged: dict[int, list[Partial]] = {
            group.start: [self.partials[group.start]] for group in groups if len(group) == 1
        }
        waiting = [group for group in groups if len(group) > 1]
        opened: dict[Future[str], range] = {}
        total = len(waiting)
        try:
            while waiting or opened:
                while waiting and len(opened) < run.caller.settings.parallel:
                    group = waiting.pop(0)
                    opened[run.submit(self._task(group))] = group
                for future in run.first_done(set(opened)):
                    group = opened.pop(future)
                    merged[group.start] = self._finish(group, future)
                run.report("merges", total - len(waiting) - len(opened), total)
        except ProviderError:
            run.settle(set(opened))
            raise
        self.partials = [partial for start in sorted(merged) for partial in merged[start]]

    def _task(self, group: range) -> Callable[[], str]:
        run = self._run
        texts = [self.partials[at].text for at in group]
        key = run.memory.key(run.recipe("merge"), texts)

        def merge() -> str:
            known = run.memory.find(key)
            if known is not None:
                run.caller.ledger.add(remembered=1)
                return known
            whole = _BETWEEN.join(texts)
            answer = run.ask("merge", whole, tokens=run.caller.model.count(whole))
            run.memory.keep(key, answer)
            return answer

        return merge

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
