"""Items are made ahead, in order, and errors come where they belong."""

from __future__ import annotations

import threading

import pytest

from trainer.data.prefetcher import Prefetcher


@pytest.mark.parametrize("threads", [1, 3])
def test_items_come_in_order_and_end(threads: int) -> None:
    made = Prefetcher(lambda index: index if index < 20 else None, start=3, threads=threads)
    assert list(made) == list(range(3, 20))


def test_items_come_in_order_though_a_later_one_is_made_first() -> None:
    second = threading.Event()

    def make(index: int) -> int:
        if index == 0:
            assert second.wait(timeout=10)
        if index == 1:
            second.set()
        return index

    prefetcher = Prefetcher(make, threads=2)
    assert [next(prefetcher) for _ in range(3)] == [0, 1, 2]
    prefetcher.close()


def test_items_are_made_ahead_but_no_more_than_depth() -> None:
    made: list[int] = []
    second = threading.Event()

    def make(index: int) -> int:
        made.append(index)
        if index == 1:
            second.set()
        return index

    prefetcher = Prefetcher(make, depth=2)
    assert second.wait(timeout=10)
    assert next(prefetcher) == 0
    prefetcher.close()
    assert made in ([0, 1], [0, 1, 2])


def test_an_error_is_raised_where_its_item_would_have_come() -> None:
    def make(index: int) -> int:
        if index == 2:
            raise KeyError("sample")
        return index

    prefetcher = Prefetcher(make)
    assert [next(prefetcher), next(prefetcher)] == [0, 1]
    for _ in range(2):
        with pytest.raises(KeyError, match="sample"):
            next(prefetcher)


def test_the_end_stays_the_end() -> None:
    prefetcher: Prefetcher[int] = Prefetcher(lambda index: None)
    assert [next(prefetcher, "end"), next(prefetcher, "end")] == ["end", "end"]


def test_closing_ends_the_threads() -> None:
    before = set(threading.enumerate())
    prefetcher: Prefetcher[int] = Prefetcher(lambda index: index, threads=2)
    next(prefetcher)
    prefetcher.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)
        assert not thread.is_alive()


def test_closing_waits_for_no_item() -> None:
    released = threading.Event()
    prefetcher: Prefetcher[bool] = Prefetcher(lambda index: released.wait(timeout=60))
    prefetcher.close()
    released.set()
