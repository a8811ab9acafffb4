"""Making items ahead of their use, in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Prefetcher(Generic[T]):
    """Gives the items `start`, `start` + 1, and so on. At most `depth` of them are made ahead.

    `make(index)` returns an item, or None after the last one. An error that it raises is raised again where the item
    would have come.
    """

    def __init__(self, make: Callable[[int], T | None], start: int = 0, depth: int = 4) -> None:
        self._make = make
        self._stopped = threading.Event()
        self._items: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
        self._thread = threading.Thread(target=self._run, args=(start,), name="prefetcher", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        item, error = self._items.get()
        if error is not None or item is None:
            self._items.put((item, error))  # a further call ends in the same way
        if error is not None:
            raise error
        if item is None:
            raise StopIteration
        return item

    def close(self) -> None:
        """Stops the thread. An item that is being made is finished and dropped."""
        self._stopped.set()
        while self._thread.is_alive():
            self._drain()
            self._thread.join(timeout=0.01)
        self._drain()

    def _drain(self) -> None:
        while not self._items.empty():
            self._items.get_nowait()

    def _run(self, index: int) -> None:
        while not self._stopped.is_set():
            item: T | None = None
            error: BaseException | None = None
            try:
                item = self._make(index)
            except Exception as caught:  # it is raised where the item would have come
                error = caught
            self._items.put((item, error))
            if item is None:
                return
            index += 1
