"""Reference-counted access to the newest snapshot of a store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from brimful.corpus import Corpus
from brimful.errors import StoreError
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Store


class SnapshotPool:
    """Hands out the newest corpus of a store, and closes older ones when nobody uses them. Threads may share it."""

    def __init__(self, *, place: object, store: Store, open_corpus: Callable[[StoredSnapshot], Corpus]) -> None:
        self._place, self._store, self._open_corpus = place, store, open_corpus
        self._lock = threading.RLock()  # guards the fields below; never held while a question is answered
        self._user_left = threading.Condition(self._lock)
        self._users = 0  # threads inside `pinned`
        self._is_exclusive = False
        self._is_closed = False
        self._thread = _ThreadState()
        self._newest: _CountedCorpus | None = None

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Until this ends, the calling thread gets one corpus; calls nest."""
        if not self._thread.depth:
            with self._lock:
                while self._is_exclusive and not self._is_closed:
                    self._user_left.wait()
                self.check_open()
                self._users += 1
        self._thread.depth += 1
        try:
            yield
        finally:
            self._thread.depth -= 1
            if not self._thread.depth:
                self._unpin()

    def _unpin(self) -> None:
        with self._lock:
            self._users -= 1
            counted, self._thread.counted = self._thread.counted, None
            if counted is not None:
                counted.users -= 1
                self._release(counted)
            self._user_left.notify_all()

    @contextmanager
    def corpus(self) -> Iterator[Corpus]:
        """The newest corpus, pinned for the calling thread."""
        with self.pinned():
            if self._thread.counted is None:
                with self._lock:
                    self._thread.counted = self._current()
                    self._thread.counted.users += 1
            yield self._thread.counted.corpus

    def _current(self) -> _CountedCorpus:
        if self._newest is None or not self._store.is_newest(self._newest.corpus.snapshot):
            self.drop()
            self._newest = _CountedCorpus(self._open_corpus(self._store.snapshot()))
        return self._newest

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait until no other thread reads, and keep new readers out."""
        with self._lock:
            self._is_exclusive = True
            try:
                self._wait_for_other_threads()
                self.drop()
                yield
            finally:
                self._is_exclusive = False
                self._user_left.notify_all()

    def close(self, then: Callable[[], None]) -> None:
        """Refuse new readers, wait for the ones at work, then call `then`; a second call does nothing."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._wait_for_other_threads()
                self.drop()
                then()

    def check_open(self) -> None:
        """Raise a StoreError after `close`."""
        if self._is_closed:
            raise StoreError(f"{self._place} was closed; open it again to ask or add")

    def drop(self) -> None:
        """Forget the newest corpus; threads that use it keep it until they are done."""
        with self._lock:
            counted, self._newest = self._newest, None
            if counted is not None:
                self._release(counted)

    def _wait_for_other_threads(self) -> None:
        while self._users > bool(self._thread.depth):
            self._user_left.wait()

    def _release(self, counted: _CountedCorpus) -> None:
        """Once nobody uses a snapshot: let the newest rest, close any other."""
        if not counted.users:
            if counted is self._newest:
                self._store.pause(counted.corpus.snapshot)
            else:
                counted.corpus.snapshot.close()


class _CountedCorpus:
    """A corpus and the number of threads that use it."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.users = 0


class _ThreadState(threading.local):
    """How deep the calls of one thread nest, and the corpus that is pinned for it."""

    depth = 0
    counted: _CountedCorpus | None = None
