"""What a run with a deadline could buy: a fleet on demand, and one from each spot pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controller.decide import DecideSettings, DecisionInput, SwitchingAssumptions
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, Spot
from controller.decide.markets.buyable import Buyable, Pool, buyable, rounded_up, running
from controller.decide.model.situation import Situation, assess
from controller.domain import EarlierSpeed, Flavor, Fleet, History, Limits, Market, Price
from controller.domain.reasons.limits import DeadlineOutOfReach
from tests.support.training import Training

SPOT, OTHER, DEMAND = "c5.large", "c5.xlarge", "c5.2xlarge"
QUICK, LUXURY = "m5.2xlarge", "m5.4xlarge"
FLAVORS = {
    SPOT: Flavor(SPOT, Market.SPOT, vcpus=2),
    OTHER: Flavor(OTHER, Market.SPOT, vcpus=4),
    DEMAND: Flavor(DEMAND, Market.ON_DEMAND, vcpus=8),
}
SPEEDS = {SPOT: 3000.0, OTHER: 1500.0, DEMAND: 3000.0}
PRICES = {SPOT: 0.03, OTHER: 0.06, DEMAND: 0.34}
SETTINGS = DecideSettings(
    flavors=FLAVORS, confidence=0.5, attempt_s=600.0, switching=SwitchingAssumptions(100.0, 100.0)
)
NODES = 6
STEP_S = 6000 / (NODES * SPEEDS[DEMAND])
"""A step of six nodes on demand."""
STEPS, DONE_STEPS = 31_000, 1000


def situation(
    fleet: Mapping[str, int] | None = None,
    *,
    left_s: float = 36_000.0,
    limits: Limits | None = None,
    settings: DecideSettings = SETTINGS,
    speeds: Mapping[str, float] = SPEEDS,
    prices: Mapping[str, float] = PRICES,
    history: History | None = None,
    communication_s: float = 0.0,
    steps: int = STEPS,
) -> Situation:
    """Returns the situation of a run of six nodes with a deadline. Speeds are known from earlier runs."""
    present = Fleet({SPOT: NODES} if fleet is None else fleet)
    known = Training({**SPEEDS, **speeds}, fleet=present, total_steps=steps, step=DONE_STEPS)
    known.communication_s = lambda size: communication_s
    bounds = replace(limits or Limits(min_nodes=NODES, max_nodes=NODES), deadline_at=known.now + left_s)
    earlier = {flavor: EarlierSpeed(speed) for flavor, speed in speeds.items()}
    told = {flavor: Price(flavor, usd) for flavor, usd in prices.items()}
    past = replace(history or History(), earlier_speeds=earlier)
    return assess(DecisionInput((known.observe(),), told, bounds, known.progress, past, settings))


def bought(*arguments: Mapping[str, int], **changes: object) -> Buyable:
    """Returns what could be bought in such a situation."""
    found = buyable(situation(*arguments, **changes))  # type: ignore[arg-type]
    assert found is not None
    return found


def on_demand_flavors(**usd_per_hour: float) -> tuple[dict[str, Flavor], dict[str, float]]:
    """Returns the flavors and the prices with further ones on demand, whose underscores are dots."""
    prices = {name.replace("_", "."): usd for name, usd in usd_per_hour.items()}
    return {**FLAVORS, **{name: Flavor(name, Market.ON_DEMAND, vcpus=8) for name in prices}}, {**PRICES, **prices}


def test_a_fleet_on_demand_and_one_of_each_pool_for_the_rest_of_the_work() -> None:
    found = bought()
    assert (found.on_demand, found.shortfall) == (Fleet({DEMAND: NODES}), None)
    assert found.usd_per_hour == pytest.approx(NODES * PRICES[DEMAND])
    assert (found.work_s, found.total_s) == pytest.approx(((STEPS - DONE_STEPS) * STEP_S, STEPS * STEP_S))
    assert found.change_over_s == pytest.approx(100.0 + 100.0 + 2 * 5.0)
    assert [(pool.flavor, pool.fleet) for pool in found.pools] == [
        (flavor, Fleet({flavor: NODES})) for flavor in (SPOT, OTHER)
    ]
    # `OTHER` takes two hours for the work of one.
    assert [pool.usd_per_hour for pool in found.pools] == pytest.approx([NODES * 0.03, 2 * NODES * 0.06])


NOT_ON_DEMAND = {flavor: one for flavor, one in FLAVORS.items() if flavor != DEMAND}


@pytest.mark.parametrize(
    "unknown",
    [
        situation(speeds={}, fleet={}),
        replace(situation(), progress=None),
        situation(steps=DONE_STEPS),
        situation({}, settings=replace(SETTINGS, flavors=NOT_ON_DEMAND)),
    ],
    ids=["no speed is known", "the progress is unknown", "no work is left", "nothing is sold on demand"],
)
def test_it_is_unknown_what_could_be_bought_while(unknown: Situation) -> None:
    assert buyable(unknown) is None


def test_where_on_demand_does_not_keep_the_deadline_it_says_so() -> None:
    assert isinstance(bought(left_s=5000.0).shortfall, DeadlineOutOfReach)


def test_a_pool_whose_price_is_not_known_is_offered_only_while_it_runs_as_expensive_as_on_demand() -> None:
    prices = {SPOT: PRICES[SPOT], DEMAND: PRICES[DEMAND]}
    assert [pool.flavor for pool in bought(prices=prices).pools] == [SPOT]
    runs = bought({OTHER: 2}, prices=prices).pools[-1]
    assert (runs.flavor, runs.fleet) == (OTHER, Fleet({OTHER: 2}))
    assert runs.usd_per_hour == pytest.approx(NODES * PRICES[DEMAND])


@pytest.mark.parametrize(
    ("limits", "offered"),
    [
        (Limits(1, NODES, excluded={OTHER: "too old"}), [SPOT]),
        (Limits(NODES, NODES, max_nodes_per_flavor={OTHER: NODES - 1}), [SPOT]),
        (Limits(NODES, NODES, max_nodes_per_flavor={OTHER: NODES}), [SPOT, OTHER]),
    ],
)
def test_a_pool_is_offered_as_far_as_the_limits_allow(limits: Limits, offered: list[str]) -> None:
    assert [pool.flavor for pool in bought(limits=limits).pools] == offered


def test_a_pool_without_capacity_for_now_is_offered() -> None:
    assert [pool.flavor for pool in bought({}, history=History(unavailable={SPOT: 1e9})).pools] == [SPOT, OTHER]


@pytest.mark.parametrize(
    ("left_s", "nodes", "is_in_time"), [(216_000.0, 1, True), (11_000.0, 6, True), (9000.0, 1, False)]
)
def test_a_pool_is_offered_with_its_cheapest_fleet_in_time_if_it_has_one(
    left_s: float, nodes: int, is_in_time: bool
) -> None:
    """With six nodes the work takes 10,000 s. A step of one node does without communication, and takes 60,000 s."""
    limits = Limits(min_nodes=1, max_nodes=NODES)
    [pool, *_] = bought(left_s=left_s, limits=limits).pools
    assert (pool.fleet, pool.is_in_time) == (Fleet({SPOT: nodes}), is_in_time)


def test_a_pool_that_was_never_measured_is_offered_at_its_expected_speed() -> None:
    settings = replace(SETTINGS, hints_tokens_per_s={OTHER: 1000.0})
    pools = bought(speeds={SPOT: 3000.0, DEMAND: 3000.0}, settings=settings).pools
    assert [pool.usd_per_hour for pool in pools] == pytest.approx([NODES * 0.03, 3 * NODES * 0.06])


def test_steps_that_take_longer_than_by_the_model_do_so_on_demand() -> None:
    settings = replace(SETTINGS, count_communication=False)
    assert bought(settings=settings, communication_s=STEP_S / 4).work_s == pytest.approx(30_000 * STEP_S * 1.25)


@pytest.mark.parametrize(
    ("times_as_expensive", "quick", "others"),
    [(2.9, NODES, 0), (3.5, 4, 2)],
)
def test_the_work_is_planned_with_the_fastest_fleet_on_demand_that_costs_at_most_three_times_as_much(
    times_as_expensive: float, quick: int, others: int
) -> None:
    """`QUICK` is twice as fast, and its work costs so many times as much. An hour of its work is bought for less."""
    flavors, prices = on_demand_flavors(m5_2xlarge=2 * PRICES[DEMAND] * times_as_expensive)
    settings, speeds = replace(SETTINGS, flavors=flavors), {**SPEEDS, QUICK: 2 * SPEEDS[DEMAND]}
    found = bought(settings=settings, prices=prices, speeds=speeds)
    times_as_fast = (2 * quick + others) / NODES
    assert found.on_demand == Fleet({DEMAND: NODES})
    assert found.work_s == pytest.approx(30_000 * STEP_S / times_as_fast)
    assert found.usd_per_hour == pytest.approx(times_as_fast * NODES * PRICES[DEMAND])


def test_the_work_is_planned_with_a_mixed_fleet_where_no_other_is_as_fast_for_the_money() -> None:
    flavors, prices = on_demand_flavors(m5_2xlarge=0.6, m5_4xlarge=1.9)
    speeds = {**SPEEDS, QUICK: 4000.0, LUXURY: 8000.0}
    found = bought(settings=replace(SETTINGS, flavors=flavors), prices={**prices, DEMAND: 0.2}, speeds=speeds)
    assert found.work_s == pytest.approx(30_000 * 6000 / (3 * 8000 + 4000 + 2 * SPEEDS[DEMAND]), rel=0.01)


def test_the_work_is_planned_with_what_was_measured_where_a_faster_guess_is_less_sure() -> None:
    """`QUICK` was measured, and `LUXURY` is expected to be faster."""
    flavors, prices = on_demand_flavors(m5_2xlarge=0.8, m5_4xlarge=0.85)
    settings = replace(SETTINGS, flavors=flavors, hints_tokens_per_s={LUXURY: 6300.0})
    sure, likely = (
        bought(settings=replace(settings, confidence=chance), prices=prices, speeds={**SPEEDS, QUICK: 6000.0}).work_s
        for chance in (0.99, 0.5)
    )
    assert likely == pytest.approx(30_000 * 1000 / 6300)
    assert 30_000 * 1000 / 6000 < sure < 1.25 * 30_000 * 1000 / 6000


def test_a_fleet_that_could_make_up_for_errors_spares_time_though_it_is_too_expensive_to_plan_with() -> None:
    flavors, prices = on_demand_flavors(m5_4xlarge=50.0)
    speeds = {**SPEEDS, LUXURY: 9000.0}
    settings = replace(SETTINGS, flavors=flavors, confidence=0.99)
    alone, helped = (
        bought({DEMAND: NODES}, settings=replace(settings, flavors=some), speeds=speeds, prices=prices)
        for some in (FLAVORS, flavors)
    )
    assert 30_000 * STEP_S < helped.work_s < alone.work_s


@pytest.mark.parametrize(
    ("fleet", "runs_on"),
    [
        ({}, WAIT),
        ({DEMAND: 2}, ON_DEMAND),
        ({OTHER: 1}, Spot(1)),
        ({DEMAND: 5, SPOT: 1}, Spot(0)),
        ({SPOT: 2, OTHER: 3}, Spot(1)),
        ({SPOT: 3, OTHER: 3}, Spot(0)),
    ],
)
def test_a_fleet_with_any_spot_nodes_runs_on_the_pool_with_most_of_them(
    fleet: Mapping[str, int], runs_on: Choice
) -> None:
    pools = [Pool(flavor, Fleet({}), 1.0) for flavor in (SPOT, OTHER)]
    assert running(situation(fleet), pools) == runs_on


def test_where_no_pool_is_offered_on_demand_runs_or_nothing() -> None:
    assert running(situation({DEMAND: 1}), ()) == ON_DEMAND
    assert running(situation({}), ()) == WAIT


def test_a_job_has_figures_of_two_digits_that_leave_no_less_time_to_the_work() -> None:
    found = replace(bought(), usd_per_hour=2.046, work_s=9876.0, total_s=10_333.0, change_over_s=213.0)
    found = replace(found, pools=tuple(replace(pool, usd_per_hour=0.1777) for pool in found.pools))
    assert found.job(36_420.0, 17.5, 0.0567) == Job(
        work_s=11_000.0,
        time_s=38_000.0,
        change_over_s=220.0,
        step_s=17.5,
        on_demand_usd_per_hour=2.0,
        spot_usd_per_hour=(0.18, 0.18),
        idle_usd_per_hour=0.057,
        most_steps=60,
    )
    assert found.job(9000.0, 17.5, 0.0).time_s == 11_000.0


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(1300.0, 1300.0), (1301.0, 1400.0), (1249.0, 1300.0), (1251.0, 1300.0), (101.0, 110.0), (99.1, 100.0), (0.0, 0.0)],
)
def test_rounding_up_keeps_two_digits_and_is_never_less(value: float, rounded: float) -> None:
    assert rounded_up(value) == rounded
