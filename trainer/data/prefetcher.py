"""Making items ahead of their use, in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Prefetcher(Generic[T]):
    """Gives the items `start`, `start` + 1, and so on, in this order. At most `depth` of them are made ahead.

    An error that `make` raises is raised again where the item would have come.

    Args:
        make: Returns the item of an index, or None after the last one. Several threads call it at once.
        start: The first index.
        depth: How many items are made ahead.
        threads: How many threads make items.
    """

    def __init__(self, make: Callable[[int], T | None], start: int = 0, depth: int = 4, threads: int = 1) -> None:
        self._make, self._next = make, start
        self._pool = ThreadPoolExecutor(min(threads, depth), thread_name_prefix="prefetcher")
        self._items: deque[Future[T | None]] = deque()
        for _ in range(depth):
            self._begin_next()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        item = self._items[0].result()  # where it is None or raises, a further call ends in the same way
        if item is None:
            raise StopIteration
        self._items.popleft()
        self._begin_next()
        return item

    def close(self) -> None:
        """Makes no more items. One that is being made is finished by its thread and dropped; nobody waits for it."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin_next(self) -> None:
        self._items.append(self._pool.submit(self._make, self._next))
        self._next += 1
