"""What a deadline asks for: on-demand, spot, or to wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import DecideSettings, DecisionInput, SwitchingAssumptions
from controller.decide.deadlines.situation import ON_DEMAND as DEMAND
from controller.decide.deadlines.situation import WAIT, Choice, Spot
from controller.decide.markets.advice import Advice
from controller.decide.markets.asked import asked_for, in_time
from controller.decide.markets.buyable import Buyable, Pool
from controller.decide.model.situation import Situation, assess
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


LEFT_S, NEEDED_S = 20_000.0, 10_000.0


def advised(running: Choice, choice: Choice, *, may_try: bool = True, is_open: bool = True) -> Advice:
    """Returns an advice with two pools and six nodes on demand."""
    pools = tuple(Pool(flavor, Fleet({flavor: 6}), 1.0) for flavor in (SPOT, OTHER))
    could_buy = Buyable(Fleet({ON_DEMAND: 6}), None, 2.0, NEEDED_S - START_S, 2 * NEEDED_S, pools, START_S)
    return Advice(choice, running, could_buy, LEFT_S, is_open, may_try)


def situated(
    fleet: dict[str, int], history: History | None = None, measured: tuple[str, ...] = (*SPEEDS,)
) -> Situation:
    """Returns a situation with a deadline in which these flavors were measured."""
    known = Training(SPEEDS, fleet=Fleet(fleet))
    speeds = {flavor: EarlierSpeed(SPEEDS[flavor]) for flavor in measured}
    history = replace(history or History(), earlier_speeds=speeds)
    return assess(DecisionInput((known.observe(),), PRICES, Limits(6, 6), known.progress, history, SETTINGS))


def taken_back(flavor: str) -> History:
    return History(noticed=(Noticed("i-1", flavor, NoticeKind.INTERRUPTION, 10.0),))


JUST_MOVED = History(
    (Move(1, 880.0, Fleet({SPOT: 6}), Fleet({ON_DEMAND: 6}), Said("x"), MovePhase.DONE, ended_at=900.0),)
)


@pytest.mark.parametrize(
    ("history", "measured", "is_asked"),
    [(None, (*SPEEDS,), True), (None, (ON_DEMAND, OTHER), False), (JUST_MOVED, (*SPEEDS,), False)],
    ids=["measured", "never measured", "cooling down"],
)
def test_on_demand_is_left_for_a_measured_pool_when_a_move_may_begin(
    history: History | None, measured: tuple[str, ...], is_asked: bool
) -> None:
    decision = asked_for(advised(DEMAND, Spot(0)), situated({ON_DEMAND: 6}, history, measured))
    assert (decision is not None) is is_asked


@pytest.mark.parametrize(("running", "is_asked"), [(DEMAND, False), (WAIT, True)])
def test_on_demand_is_not_left_for_a_pool_that_is_too_slow_for_the_deadline_but_without_nodes_it_is_begun(
    running: Choice, is_asked: bool
) -> None:
    """The policy of fleets would leave such a pool again at once, since it is too slow."""
    found = advised(running, Spot(0))
    slow = tuple(replace(pool, is_in_time=False) for pool in found.buyable.pools)
    found = replace(found, buyable=replace(found.buyable, pools=slow))
    fleet = {ON_DEMAND: 6} if running == DEMAND else {}
    assert (asked_for(found, situated(fleet)) is not None) is is_asked


@pytest.mark.parametrize("measured", [(*SPEEDS,), (ON_DEMAND, OTHER)])
def test_without_nodes_spot_is_begun_measured_or_not(measured: tuple[str, ...]) -> None:
    decision = asked_for(advised(WAIT, Spot(0)), situated({}, None, measured))
    assert decision is not None and decision.target == Fleet({SPOT: 6})
    assert decision.reason == SpotForDeadline(Fleet({SPOT: 6}), NEEDED_S, LEFT_S)


def test_waiting_says_until_when_and_what_is_needed_and_left() -> None:
    present = situated({})
    decision = asked_for(advised(WAIT, WAIT), present)
    assert decision is not None and decision.verdict is Verdict.STAY
    assert decision.reason == WaitsForSpot(present.now + LEFT_S - NEEDED_S, NEEDED_S, LEFT_S)


@pytest.mark.parametrize("could_wait", [True, False])
def test_on_demand_says_what_it_takes_and_whether_it_could_wait(could_wait: bool) -> None:
    decision = asked_for(advised(WAIT, DEMAND, is_open=could_wait), situated({}))
    assert decision is not None and decision.target == Fleet({ON_DEMAND: 6})
    assert decision.reason == OnDemandForDeadline(Fleet({ON_DEMAND: 6}), NEEDED_S, LEFT_S, could_wait)


@pytest.mark.parametrize("choice", [Spot(0), DEMAND])
def test_what_runs_and_is_advised_goes_on(choice: Choice) -> None:
    assert asked_for(advised(choice, choice), situated({SPOT: 6})) is None


def test_on_demand_that_runs_is_not_left_for_nothing() -> None:
    assert asked_for(advised(DEMAND, WAIT), situated({ON_DEMAND: 6})) is None


ON_SPOT, BESIDE = {SPOT: 6}, {ON_DEMAND: 6, SPOT: 1}
LESS, PART = {ON_DEMAND: 5}, {ON_DEMAND: 5, SPOT: 1}


@pytest.mark.parametrize(
    ("runs", "target", "is_taken_back", "may_try", "is_refused"),
    [
        (Spot(0), {OTHER: 6}, True, True, False),
        (Spot(0), {OTHER: 6}, False, False, True),
        (DEMAND, ON_SPOT, True, True, True),
        (DEMAND, ON_SPOT, False, True, False),
        (DEMAND, ON_SPOT, False, False, True),
        (DEMAND, PART, True, True, True),
        (DEMAND, BESIDE, True, True, False),
        (DEMAND, BESIDE, True, False, False),
        (DEMAND, LESS, True, True, False),
        (DEMAND, LESS, False, False, False),
    ],
)
def test_a_move_is_refused_that_could_cost_the_deadline_or_gives_up_on_demand_for_pools_that_lose_nodes(
    monkeypatch: pytest.MonkeyPatch,
    runs: Choice,
    target: dict[str, int],
    is_taken_back: bool,
    may_try: bool,
    is_refused: bool,
) -> None:
    monkeypatch.setattr("controller.decide.markets.asked.advice", lambda present: advised(runs, runs, may_try=may_try))
    fleet = {ON_DEMAND: 6} if runs == DEMAND else {SPOT: 6}
    present = situated(fleet, taken_back(SPOT) if is_taken_back else None)
    move = Decision(present.now, "test", Verdict.MOVE, Fleet(fleet), Fleet(target), Said("cheaper"), is_probe=True)
    found = in_time(move, present)
    if not is_refused:
        assert found == move
        return
    reason = NoSpotForDeadline(Fleet(target), NEEDED_S, LEFT_S, not may_try)
    assert found == replace(move, verdict=Verdict.REFUSE, target=Fleet(fleet), reason=reason, is_probe=False)


def test_a_move_to_a_pool_that_is_not_measured_may_give_up_on_demand_where_spot_is_advised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.decide.markets.asked.advice", lambda present: advised(DEMAND, Spot(0)))
    present = situated({ON_DEMAND: 6}, taken_back(OTHER), (ON_DEMAND, OTHER))
    move = Decision(present.now, "test", Verdict.MOVE, present.current, Fleet({SPOT: 6}), Said("cheaper"))
    assert in_time(move, present) == move
