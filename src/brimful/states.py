"""Which state of a store is asked, and when is it let go of? The newest; when nobody asks it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from brimful.errors import StoreError
from brimful.moment import Corpus
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Store


class States:
    """The newest state of a store, handed to whoever asks; safe to share between threads."""

    def __init__(self, *, place: object, store: Store, opened: Callable[[StoredSnapshot], Corpus]) -> None:
        self._place, self._store, self._opened = place, store, opened
        self._lock = threading.RLock()  # held to look at or change what stands below, never while a question is asked
        self._left = threading.Condition(self._lock)
        self._askers = 0  # threads that ask at the moment
        self._is_shut = False  # nobody may begin to ask
        self._is_closed = False
        self._own = _Own()
        self._newest: _Held | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One thread asks; whatever it asks until it is done is of one state."""
        if not self._own.depth:
            with self._lock:
                while self._is_shut and not self._is_closed:
                    self._left.wait()
                self.check_open()
                self._askers += 1
        self._own.depth += 1
        try:
            yield
        finally:
            self._own.depth -= 1
            if not self._own.depth:
                with self._lock:
                    self._askers -= 1
                    held, self._own.held = self._own.held, None
                    if held is not None:
                        held.askers -= 1
                        self._leave(held)
                    self._left.notify_all()

    @contextmanager
    def asking(self) -> Iterator[Corpus]:
        """The newest state, for as long as one thread asks it."""
        with self.turn():
            yield self.now()

    def now(self) -> Corpus:
        """The newest state, and for the thread that asks the same one until it is done."""
        if self._own.held is not None:
            return self._own.held.corpus
        with self._lock:
            held = self._newest
            if held is None or not self._store.is_newest(held.corpus.snapshot):
                self.let_go()
                held = self._newest = _Held(self._opened(self._store.snapshot()))
            if self._own.depth:
                held.askers += 1
                self._own.held = held
        return held.corpus

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else asks until this is done."""
        with self._lock:
            self._is_shut = True
            try:
                self._wait_for_askers()
                self.let_go()
                yield
            finally:
                self._is_shut = False
                self._left.notify_all()

    def close(self, then: Callable[[], None]) -> None:
        """Let nobody ask any more, once whoever is asking has the answer."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._wait_for_askers()
                self.let_go()
                then()

    def check_open(self) -> None:
        """Refuse to go on with a store that was closed."""
        if self._is_closed:
            raise StoreError(f"{self._place} was closed; open it again to ask or add")

    def let_go(self) -> None:
        """Leave the newest state to those who ask it still."""
        with self._lock:
            held, self._newest = self._newest, None
            if held is not None:
                self._leave(held)

    def _wait_for_askers(self) -> None:
        """Until every other thread has its answer."""
        own = 1 if self._own.depth else 0
        while self._askers > own:
            self._left.wait()

    def _leave(self, held: _Held) -> None:
        """Let a state rest that nobody asks, or close it where there is a newer one."""
        if not held.askers:
            if held is self._newest:
                self._store.rest(held.corpus.snapshot)
            else:
                held.corpus.snapshot.close()


class _Held:
    """A state that is asked, and by how many."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.askers = 0


class _Own(threading.local):
    """What one thread has at hand: how many calls deep it asks, and which state."""

    depth = 0
    held: _Held | None = None
