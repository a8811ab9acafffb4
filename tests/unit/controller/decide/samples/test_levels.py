"""When a node's speed has fallen to a lower level for good, alone or together with others."""

from __future__ import annotations

import math

import pytest

from controller.decide.samples.levels import COMMON_FALL, SHIFT, STEADY_SHARE, Fall, common_falls, last_fall
from controller.decide.samples.windows import Sample


def samples(*log_speeds: float) -> list[Sample]:
    return [Sample(level, 50, 1.0, 100.0 + number) for number, level in enumerate(log_speeds)]


@pytest.mark.parametrize(
    ("drop", "spread", "is_fall"),
    [
        (0.25, SHIFT, True),
        (0.25, SHIFT + 0.001, False),
        (3.0, STEADY_SHARE * 3.0, True),
        (3.0, STEADY_SHARE * 3.0 + 0.001, False),
    ],
    ids=["as little as a shift", "more than a shift", "a third of the drop", "more than a third of the drop"],
)
def test_a_fall_is_to_a_level_that_varies_by_no_more_than_a_shift_or_a_third_of_it(
    drop: float, spread: float, is_fall: bool
) -> None:
    for after in ((0.0, 0.0, spread), (spread, 0.0, 0.0)):
        found = last_fall(samples(drop, drop, drop, *after))
        assert found == (Fall(drop, 0.0, 103.0) if is_fall else None)


@pytest.mark.parametrize(
    ("between", "found"), [(-0.06, None), (-SHIFT, None), (-SHIFT - 0.0005, Fall(0.0, -SHIFT - 0.0005, 105.0))]
)
def test_a_fall_is_of_more_than_a_shift_counted_over_all_windows_since(between: float, found: Fall | None) -> None:
    """The last windows alone are slower by more than a shift."""
    assert last_fall(samples(*[0.0] * 5, *[between] * 4, *[-SHIFT - 0.001] * 3)) == found


@pytest.mark.parametrize(("now", "is_fall"), [(-SHIFT, False), (-SHIFT - 0.001, True)])
def test_a_fall_counts_until_the_speed_is_back_within_a_shift(now: float, is_fall: bool) -> None:
    assert (last_fall(samples(*[0.0] * 3, *[-0.5] * 3, *[now] * 3)) is not None) is is_fall


def test_fewer_windows_than_twice_those_of_a_level_tell_of_no_fall() -> None:
    for count in range(1, 3):
        assert last_fall(samples(1.0, 1.0, 1.0, *[0.0] * count)) is None
    assert last_fall(samples(1.0)) is None


@pytest.mark.parametrize(("share", "is_common"), [(COMMON_FALL, False), (COMMON_FALL + 0.001, True)])
def test_a_common_fall_loses_more_than_a_share_of_the_speed(share: float, is_common: bool) -> None:
    before = -math.log(1 - share)
    found = common_falls(dict.fromkeys("abc", samples(before, before, before, 0.0)))
    assert found == (dict.fromkeys("abc", Fall(before, 0.0, 103.0)) if is_common else {})


@pytest.mark.parametrize(("least", "is_common"), [(3.0 - STEADY_SHARE * 3.0, True), (1.99, False)])
def test_drops_of_a_common_fall_differ_by_no_more_than_a_third(least: float, is_common: bool) -> None:
    drops = {"a": 3.0, "b": 3.0, "c": least}
    found = common_falls({node: samples(drop, drop, drop, 0.0) for node, drop in drops.items()})
    assert found == ({node: Fall(drop, 0.0, 103.0) for node, drop in drops.items()} if is_common else {})


def test_a_node_that_runs_alone_has_no_common_fall() -> None:
    ended = [Sample(1.0, 50, 1.0, 50.0 + number) for number in range(6)]
    assert common_falls({"runs": samples(1.0, 1.0, 1.0, 0.0, 0.0, 0.0), "ended": ended}) == {}


@pytest.mark.parametrize(("fast", "is_common"), [(0, True), (1, True), (2, False)])
def test_a_quarter_of_the_nodes_may_keep_their_speed_as_younger_ones_do(fast: int, is_common: bool) -> None:
    nodes = {f"slow-{n}": samples(1.0, 1.0, 1.0, 0.0) for n in range(4)}
    young = {f"young-{n}": samples(1.0, 1.0, 1.0, 1.0) for n in range(fast)}
    assert set(common_falls({**nodes, **young})) == (set(nodes) if is_common else set())


def test_a_node_that_falls_much_further_than_the_others_falls_alone() -> None:
    nodes = {f"slow-{n}": samples(1.0, 1.0, 1.0, 0.0) for n in range(4)}
    assert set(common_falls({**nodes, "other": samples(3.0, 3.0, 3.0, 0.0)})) == set(nodes)
