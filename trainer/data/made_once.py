"""Results that several threads need: each is made once, by the thread that asks first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class MadeOnce(Generic[K, V]):
    """The results of `make`, of which those used last are kept.

    A thread that asks for what another one is making waits for it. An error is raised in every thread that waits, and
    the next one that asks tries again.

    Args:
        make: Makes the result of a key. Several threads may call it at once, with different keys.
        keep: How many results are kept.
    """

    def __init__(self, make: Callable[[K], V], keep: int) -> None:
        self._make, self._keep = make, keep
        self._lock = threading.Lock()
        self._results: OrderedDict[K, Future[V]] = OrderedDict()

    def get(self, key: K) -> V:
        """Returns the result of a key."""
        future, is_mine = self._future_of(key)
        if is_mine:
            self._fill(key, future)
        return future.result()

    def make_ahead(self, key: K) -> None:
        """Begins to make the result of a key in a thread of its own, unless it is there or being made.

        An error is not raised here: whoever needs the result tries again, and is told.
        """
        future, is_mine = self._future_of(key)
        if is_mine:
            threading.Thread(target=self._fill, args=(key, future), name="made-ahead", daemon=True).start()

    def _future_of(self, key: K) -> tuple[Future[V], bool]:
        """Returns the future of a key, and whether the caller has to fill it."""
        with self._lock:
            is_mine = key not in self._results
            if is_mine:
                self._results[key] = Future()
            self._results.move_to_end(key)
            while len(self._results) > self._keep:
                self._results.popitem(last=False)
            return self._results[key], is_mine

    def _fill(self, key: K, future: Future[V]) -> None:
        try:
            future.set_result(self._make(key))
        except BaseException as error:
            with self._lock:
                if self._results.get(key) is future:
                    del self._results[key]
            future.set_exception(error)
