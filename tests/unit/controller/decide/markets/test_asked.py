"""What a deadline asks for: on-demand, spot, or to wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import DecideSettings, SwitchingAssumptions
from controller.domain import (
    Decision,
    EarlierSpeed,
    Flavor,
    Fleet,
    History,
    Limits,
    Market,
    Move,
    MovePhase,
    NoticeKind,
    Price,
    Verdict,
)
from controller.domain.observed.spot import Noticed
from controller.domain.reasons import Said
from controller.domain.reasons.spot import NoSpotForDeadline, OnDemandForDeadline, SpotForDeadline, WaitsForSpot
from tests.support.training import Training

SPOT, OTHER, ON_DEMAND = "c5.large", "c5.xlarge", "c5.2xlarge"
FLAVORS = {
    SPOT: Flavor(SPOT, Market.SPOT, vcpus=2),
    OTHER: Flavor(OTHER, Market.SPOT, vcpus=4),
    ON_DEMAND: Flavor(ON_DEMAND, Market.ON_DEMAND, vcpus=8),
}
SETTINGS = DecideSettings(
    flavors=FLAVORS, confidence=0.5, probe_share=0.0, attempt_s=600.0, switching=SwitchingAssumptions(100.0, 100.0)
)
PRICES = {SPOT: Price(SPOT, 0.03), OTHER: Price(OTHER, 0.06), ON_DEMAND: Price(ON_DEMAND, 0.34)}
SPEEDS = dict.fromkeys(FLAVORS, 3000.0)
START_S = 210.0
"""What a start on demand takes, with its two pauses."""


def training(fleet: Fleet) -> Training:
    known = Training(SPEEDS, fleet=fleet, total_steps=30_000)
    for _ in range(3):
        known.wait(steps=100, seconds=100.0)
    return known


def needed_s(known: Training) -> float:
    """Returns how long six nodes on demand take for the rest, with their start."""
    return known.progress.remaining_steps * known.tokens_per_step / (6 * SPEEDS[ON_DEMAND]) + START_S


def decided(
    fleet: Fleet, spare_s: float, history: History | None = None, settings: DecideSettings = SETTINGS
) -> Decision:
    """Returns the decision of a run whose deadline leaves so many seconds beyond what on-demand needs."""
    known = training(Fleet({SPOT: 6}))
    known.fleet = fleet
    limits = Limits(min_nodes=6, max_nodes=6, deadline_at=known.now + needed_s(known) + spare_s)
    speeds = {name: EarlierSpeed(speed) for name, speed in SPEEDS.items()}
    history = replace(history or History(), earlier_speeds=speeds)
    return known.decide(limits, settings, prices=PRICES, history=history)


def gone(*flavors: str) -> History:
    """Returns that these flavors can't be had."""
    return History(unavailable=dict.fromkeys(flavors, 1e9))


NONE = Fleet({})


def test_spot_that_runs_goes_on_while_there_is_time() -> None:
    decision = decided(Fleet({SPOT: 6}), 3600.0)
    assert decision.verdict is Verdict.STAY and decision.target == Fleet({SPOT: 6})


def test_the_safety_net_closes_before_on_demand_could_be_too_late() -> None:
    decision = decided(Fleet({SPOT: 6}), 30.0)
    assert (decision.verdict, decision.target) == (Verdict.MOVE, Fleet({ON_DEMAND: 6}))
    assert isinstance(decision.reason, OnDemandForDeadline) and not decision.reason.could_wait
    assert decision.reason.left_s - decision.reason.needed_s == pytest.approx(30.0, abs=5.0)


def test_the_net_stays_closed_also_where_the_policy_of_fleets_would_go_back_to_spot() -> None:
    decision = decided(Fleet({ON_DEMAND: 6}), 100.0)
    assert decision.verdict is Verdict.REFUSE and isinstance(decision.reason, NoSpotForDeadline)
    assert decision.reason.is_risky


def test_without_nodes_and_without_capacity_it_waits() -> None:
    decision = decided(NONE, 7 * 3600.0, gone(SPOT, OTHER))
    assert decision.verdict is Verdict.STAY and isinstance(decision.reason, WaitsForSpot)
    assert decision.reason.until == pytest.approx(decision.at + 7 * 3600.0, abs=5.0)


def test_without_nodes_it_waits_no_longer_than_on_demand_can() -> None:
    decision = decided(NONE, 30.0, gone(SPOT, OTHER))
    assert (decision.verdict, decision.target) == (Verdict.MOVE, Fleet({ON_DEMAND: 6}))


def test_without_nodes_it_takes_the_cheaper_pool() -> None:
    decision = decided(NONE, 7 * 3600.0)
    assert isinstance(decision.reason, SpotForDeadline) and decision.target == Fleet({SPOT: 6})


def test_a_pool_that_has_just_lost_a_node_comes_after_the_others() -> None:
    lost = Noticed("i-1", SPOT, NoticeKind.INTERRUPTION, training(NONE).now - 60.0)
    decision = decided(NONE, 7 * 3600.0, History(noticed=(lost,)))
    assert decision.target == Fleet({OTHER: 6})


def test_a_try_that_could_cost_the_deadline_is_not_made() -> None:
    """A move may take `attempt_s` until it is given up."""
    decision = decided(NONE, 500.0)
    assert (decision.verdict, decision.target) == (Verdict.MOVE, Fleet({ON_DEMAND: 6}))
    soon = replace(SETTINGS, attempt_s=100.0)
    assert decided(NONE, 500.0, settings=soon).target == Fleet({SPOT: 6})


def test_a_move_under_way_is_let_alone() -> None:
    begun = Move(1, 900.0, Fleet({SPOT: 6}), Fleet({OTHER: 6}), Said("cheaper"), MovePhase.GROWING)
    assert decided(Fleet({SPOT: 6}), 30.0, History(moves=(begun,))).verdict is Verdict.STAY


def test_a_deadline_that_on_demand_does_not_keep_either_asks_for_nothing() -> None:
    decision = decided(Fleet({SPOT: 6}), -8000.0)
    assert not isinstance(decision.reason, (OnDemandForDeadline, NoSpotForDeadline))


def test_without_a_deadline_it_asks_for_nothing() -> None:
    known = training(Fleet({SPOT: 6}))
    known.fleet = NONE
    decision = known.decide(Limits(min_nodes=6, max_nodes=6), SETTINGS, prices=PRICES)
    assert not isinstance(decision.reason, (OnDemandForDeadline, SpotForDeadline, WaitsForSpot))


def test_a_higher_confidence_closes_the_net_earlier() -> None:
    sure = replace(SETTINGS, confidence=0.99)
    assert decided(Fleet({SPOT: 6}), 2000.0).target == Fleet({SPOT: 6})
    assert decided(Fleet({SPOT: 6}), 2000.0, settings=sure).target == Fleet({ON_DEMAND: 6})


def test_where_on_demand_is_not_sure_either_the_policy_of_fleets_decides() -> None:
    sure = replace(SETTINGS, confidence=0.99)
    decision = decided(Fleet({SPOT: 6}), 500.0, settings=sure)
    assert not isinstance(decision.reason, (OnDemandForDeadline, NoSpotForDeadline))
