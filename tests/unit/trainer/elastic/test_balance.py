"""Shares follow measured speeds, within memory, at a bounded rate."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.elastic.balance import Balancer, limited, step_towards


def settle(speeds: list[float], steps: int = 200, **options: float) -> Balancer:
    """Returns a balancer after `steps` steps on ranks of these speeds (tokens/s), all unknown at first."""
    balancer = Balancer(every_steps=5, max_change=options.get("max_change", 0.3))
    balancer.begin([None] * len(speeds), [None] * len(speeds))
    for _ in range(steps):
        tokens = [share * 4096 for share in balancer.shares]
        balancer.observe(tokens, [count / speed for count, speed in zip(tokens, speeds, strict=True)])
    return balancer


def test_unequal_ranks_finish_a_step_together() -> None:
    speeds = [1000.0, 2500.0]
    shares = settle(speeds).shares
    times = [share * 4096 / speed for share, speed in zip(shares, speeds, strict=True)]
    assert max(times) == pytest.approx(4096 / sum(speeds), rel=0.03)


def test_a_share_changes_by_a_bounded_part_at_a_time() -> None:
    balancer = Balancer(every_steps=1, max_change=0.2)
    balancer.begin([None, None], [None, None])
    balancer.observe([2048, 2048], [10.0, 0.1])
    assert balancer.shares == pytest.approx([0.4, 0.6])


def test_speeds_that_are_known_when_a_world_begins_are_used_at_once() -> None:
    balancer = Balancer(every_steps=5, max_change=0.3)
    balancer.begin([100.0, 300.0, None], [None, None, None])
    assert balancer.shares == pytest.approx([1 / 6, 3 / 6, 2 / 6])


def test_balancing_can_be_switched_off() -> None:
    balancer = Balancer(every_steps=1, max_change=0.3, enabled=False)
    balancer.begin([100.0, 300.0], [None, None])
    assert balancer.shares == [0.5, 0.5]
    assert not balancer.observe([10, 10], [1.0, 0.1])
    assert balancer.shares == [0.5, 0.5]


def test_noise_does_not_move_the_shares() -> None:
    balancer = Balancer(every_steps=1, max_change=0.3)
    balancer.begin([100.0, 100.0], [None, None])
    assert not balancer.observe([50, 50], [0.5, 0.505])


def test_shares_stay_near_the_speeds_where_steps_vary_by_a_third() -> None:
    rng = random.Random(1)
    balancer, shares = Balancer(every_steps=5, max_change=0.3), []
    balancer.begin([100.0, 250.0], [None, None])
    for _ in range(400):
        times = [s * 1000 / speed * rng.uniform(0.7, 1.3) for s, speed in zip(balancer.shares, (100, 250), strict=True)]
        balancer.observe([share * 1000 for share in balancer.shares], times)
        shares.append(balancer.shares[0])
    assert sum(abs(share - 100 / 350) for share in shares) / len(shares) < 0.05 * 100 / 350


def test_a_rank_that_becomes_slower_has_a_smaller_share_within_twenty_steps() -> None:
    balancer = settle([100.0, 100.0], steps=40)
    for _ in range(20):
        tokens = [share * 1000 for share in balancer.shares]
        balancer.observe(tokens, [tokens[0] / 50, tokens[1] / 100])
    assert balancer.shares[0] == pytest.approx(1 / 3, rel=0.05)


def test_a_rank_takes_no_more_than_its_memory_allows() -> None:
    assert limited([3.0, 1.0], [0.5, None]) == pytest.approx([0.5, 0.5])
    assert limited([2.0, 1.0, 1.0], [0.2, 0.3, None]) == pytest.approx([0.2, 0.3, 0.5])


def test_a_batch_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="room for 70% of the global batch"):
        limited([1.0, 1.0], [0.4, 0.3])


_speeds = st.lists(st.floats(1.0, 1e4), min_size=1, max_size=12)


@given(speeds=_speeds, max_change=st.floats(0.05, 0.9))
def test_shares_are_always_positive_and_add_up_to_one(speeds: list[float], max_change: float) -> None:
    equal = [1 / len(speeds)] * len(speeds)
    shares = step_towards(equal, speeds, max_change, [None] * len(speeds))
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) > 0


@given(targets=_speeds, data=st.data())
def test_caps_hold_whatever_the_targets(targets: list[float], data: st.DataObject) -> None:
    caps = data.draw(st.lists(st.floats(0.0, 1.0), min_size=len(targets), max_size=len(targets)))
    if sum(caps) < 1.0:
        return
    shares = limited(targets, caps)
    assert sum(shares) == pytest.approx(1.0)
    assert all(share <= cap + 1e-6 for share, cap in zip(shares, caps, strict=True))
