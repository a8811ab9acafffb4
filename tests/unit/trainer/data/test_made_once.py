"""Results that several threads need are made once, and errors are not kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from trainer.data.made_once import MadeOnce


def test_threads_that_ask_at_once_get_the_same_result_made_once() -> None:
    made: list[int] = []
    all_ask = threading.Barrier(4)

    def make(key: int) -> list[int]:
        made.append(key)
        return [key]

    results = MadeOnce(make, keep=2)

    def ask(_: int) -> list[int]:
        all_ask.wait(timeout=10)
        return results.get(7)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert made == [7]
    assert all(one is found[0] for one in found)


def test_the_results_used_last_are_kept() -> None:
    made: list[int] = []
    results: MadeOnce[int, int] = MadeOnce(lambda key: made.append(key) or key, keep=2)  # type: ignore[func-returns-value]
    for key in (1, 2, 1, 3, 1, 2):
        assert results.get(key) == key
    assert made == [1, 2, 3, 2]


def test_an_error_is_raised_and_the_next_one_tries_again() -> None:
    outcomes = iter([OSError("gone"), None])

    def make(key: int) -> int:
        if (error := next(outcomes)) is not None:
            raise error
        return key

    results = MadeOnce(make, keep=2)
    with pytest.raises(OSError, match="gone"):
        results.get(1)
    assert results.get(1) == 1


def test_what_was_made_ahead_is_there_and_an_error_of_it_is_not_kept() -> None:
    done, outcomes = threading.Event(), iter([OSError("gone"), None, None])

    def make(key: int) -> int:
        try:
            if (error := next(outcomes)) is not None:
                raise error
            return key
        finally:
            done.set()

    results = MadeOnce(make, keep=2)
    results.make_ahead(1)
    assert done.wait(timeout=10)
    for thread in threading.enumerate():
        if thread.name == "made-ahead":
            thread.join(timeout=10)
    assert results.get(1) == 1
    results.make_ahead(1)  # it is there
    results.make_ahead(2)
    assert results.get(2) == 2
