"""Items are made ahead, in order, and errors come where they belong."""

from __future__ import annotations

import threading

import pytest

from trainer.data.prefetcher import Prefetcher


def test_items_come_in_order_and_end() -> None:
    assert list(Prefetcher(lambda index: index if index < 20 else None, start=3)) == list(range(3, 20))


def test_items_are_made_ahead_but_no_more_than_depth() -> None:
    made: list[int] = []
    third = threading.Event()

    def make(index: int) -> int:
        made.append(index)
        if index == 2:
            third.set()
        return index

    prefetcher = Prefetcher(make, depth=2)
    assert third.wait(timeout=10)
    prefetcher.close()
    assert made == [0, 1, 2]


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


def test_closing_ends_the_thread() -> None:
    prefetcher: Prefetcher[int] = Prefetcher(lambda index: index)
    next(prefetcher)
    threads = threading.active_count()
    prefetcher.close()
    assert threading.active_count() == threads - 1
