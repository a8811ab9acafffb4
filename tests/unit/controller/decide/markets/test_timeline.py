"""What moves and notices tell of spot pools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide.deadlines.seen import Seen
from controller.decide.markets.timeline import seen_of
from controller.domain import Fleet, History, Move, MovePhase, NoticeKind
from controller.domain.observed.spot import Noticed
from controller.domain.reasons import Said

A, B = "c5.large", "c5.xlarge"


def moved(at: float, flavor: str, phase: MovePhase) -> Move:
    return Move(1, at - 50.0, Fleet({"m5.large": 1}), Fleet({flavor: 1}), Said("test"), phase, ended_at=at)


def taken(at: float, flavor: str, kind: NoticeKind = NoticeKind.INTERRUPTION) -> Noticed:
    return Noticed("i-1", flavor, kind, at)


def test_a_pool_has_capacity_until_something_else_was_seen() -> None:
    pools = seen_of({A: True, B: True}, History(), 0.0, 900.0).pools
    assert [(pool.is_up, pool.is_first, pool.age_s) for pool in pools] == [(True, True, 900.0)] * 2


def test_a_pool_that_took_a_node_back_has_none_from_then_on() -> None:
    seen = seen_of({A: False, B: True}, History(noticed=(taken(400.0, A),)), 0.0, 1000.0)
    assert [(pool.is_up, pool.age_s) for pool in seen.pools] == [(False, 600.0), (True, 1000.0)]
    assert (seen.beside.losses, seen.beside.covered) == (1, 1)


def test_a_recommendation_says_nothing_of_capacity() -> None:
    seen = seen_of({A: True}, History(noticed=(taken(400.0, A, NoticeKind.REBALANCE),)), 0.0, 1000.0)
    assert seen.pools[0].age_s == 1000.0


def test_moves_tell_when_capacity_was_there_and_when_not() -> None:
    history = History((moved(500.0, A, MovePhase.ROLLED_BACK), moved(800.0, A, MovePhase.DONE)))
    [pool] = seen_of({A: True}, history, 0.0, 1000.0).pools
    assert pool.is_up and not pool.is_first and pool.age_s == 200.0


def test_a_pool_that_a_probe_went_on_without_had_no_capacity() -> None:
    probe = replace(moved(500.0, A, MovePhase.DONE), left_out=Fleet({B: 1}))
    pools = seen_of({A: True, B: False}, History((probe,)), 0.0, 1000.0).pools
    assert [(pool.is_up, pool.age_s) for pool in pools] == [(True, 1000.0), (False, 500.0)]


def test_what_lies_before_the_run_or_belongs_to_other_flavors_is_left_out() -> None:
    history = History(noticed=(taken(50.0, A), taken(500.0, "t2.large")))
    [pool] = seen_of({A: True}, history, 100.0, 1000.0).pools
    assert pool.age_s == 900.0


def test_many_nodes_that_are_taken_at_once_are_one_loss() -> None:
    seen = seen_of({A: False}, History(noticed=(taken(400.0, A),) * 3), 0.0, 1000.0)
    assert seen.alone.losses == 1


def test_times_are_counted_from_the_beginning_of_the_run() -> None:
    history = History((moved(500.0, A, MovePhase.ROLLED_BACK),))
    [pool] = seen_of({A: False}, history, 300.0, 1000.0).pools
    seen_by_hand = Seen().after([True], 0.0).after([False], 200.0).after([False], 500.0)
    assert pool == seen_by_hand.pools[0]


@pytest.mark.parametrize(("began_at", "now"), [(400.0, 1000.0), (0.0, 400.0), (0.0, 1000.0)])
def test_pools_that_lose_nodes_at_the_same_moment_all_do_and_so_do_those_at_the_first_or_the_last_one(
    began_at: float, now: float
) -> None:
    history = History(noticed=(taken(400.0, A), taken(400.0, B)))
    pools = seen_of({A: False, B: False}, history, began_at, now).pools
    assert [(pool.is_up, pool.is_first, pool.age_s) for pool in pools] == [(False, False, now - 400.0)] * 2


def test_a_pool_that_lost_a_node_just_now_and_may_have_capacity_has_it_since_now() -> None:
    [pool] = seen_of({A: True}, History(noticed=(taken(1000.0, A),)), 0.0, 1000.0).pools
    assert (pool.is_up, pool.is_first, pool.age_s) == (True, False, 0.0)


def test_a_move_that_was_refused_says_nothing_of_capacity() -> None:
    [pool] = seen_of({A: True}, History((moved(500.0, A, MovePhase.REFUSED),)), 0.0, 1000.0).pools
    assert pool.is_first and pool.age_s == 1000.0
