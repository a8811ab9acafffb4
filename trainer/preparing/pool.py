"""Doing jobs in several processes, and taking their results in the order of the jobs."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import TypeVar

from trainer.preparing.errors import PreparationError

J = TypeVar("J")
R = TypeVar("R")
AHEAD = 2
"""Jobs that wait for each process, so that none is idle. More of them would only take memory."""


class Pool:
    """So many processes; with one, everything is done in the process itself."""

    def __init__(self, executor: ProcessPoolExecutor | None, processes: int) -> None:
        self._executor, self._processes = executor, processes

    def results(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yields the results of jobs in the order of the jobs, of which a few are ahead.

        Raises:
            PreparationError: A process was killed.
        """
        if self._executor is None:
            yield from map(work, jobs)
            return
        left, begun = iter(jobs), deque[Future[R]]()
        try:
            for job in itertools.islice(left, AHEAD * self._processes):
                begun.append(self._executor.submit(work, job))
            while begun:
                yield begun.popleft().result()
                begun.extend(self._executor.submit(work, job) for job in itertools.islice(left, 1))
        except BrokenProcessPool as error:
            raise PreparationError(
                "a process that prepared the corpus was killed, perhaps because memory ran out: run the same command "
                "again with fewer --processes; it continues"
            ) from error


@contextmanager
def pool(processes: int) -> Iterator[Pool]:
    """Gives a pool. Its processes are begun anew and not forked, so that no lock of this one is copied."""
    if processes == 1:
        yield Pool(None, 1)
        return
    executor = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        yield Pool(executor, processes)
    finally:
        executor.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Lets this process end when its parent is killed. Otherwise it would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_await_end, args=(parent.sentinel,), name="parent", daemon=True).start()


def _await_end(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
