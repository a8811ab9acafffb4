"""The choice of a fleet under deadline and budget, worked out by hand.

A node of `slow` makes 1,000 tokens a second for $0.1 an hour, a node of `fast` 3,000 for $0.6, and the head costs $0.1.
3,600 steps of 6,000 tokens remain, and nothing waits for the network. So the work takes 6 h on one slow node. Four
nodes are the most:

    4 slow            1.5 h   $0.75
    3 slow, 1 fast    1.0 h   $1.00
    2 slow, 2 fast    0.75 h  $1.125
    1 slow, 3 fast    0.6 h   $1.20
    4 fast            0.5 h   $1.25
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Overrun
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.situation import Situation
from controller.decide.samples.credits import Burst
from controller.decide.search import choice
from controller.decide.search.best_fleet import best_fleet
from controller.decide.search.choice import (
    ROOM_SIZES,
    Choice,
    _best_within,
    _is_allowed,
    _plain,
    _spared,
    _tighter,
    _without_bad_nodes,
    best_choice,
    fastest_step_s,
    no_margin,
)
from controller.decide.search.found import Found
from controller.decide.settings import DecideSettings, SwitchingAssumptions
from controller.domain import Fleet, History, Limits, Move, MovePhase, Progress
from controller.domain.objective import Objective
from controller.domain.reasons import Said
from controller.domain.reasons.limits import BudgetOutOfReach, DeadlineAndBudgetOutOfReach, DeadlineOutOfReach

SPEEDS = {"slow": 1000.0, "fast": 3000.0}
PRICES = {"slow": 0.1, "fast": 0.6}
HEAD, HOUR, STEPS = 0.1, 3600.0, 3600
AT_ONCE = SwitchingAssumptions(boot_s=0.0, configure_s=0.0, pause_s=0.0, drain_s=0.0)


def fleet(slow: int = 0, fast: int = 0, **others: int) -> Fleet:
    return Fleet({name: count for name, count in {"slow": slow, "fast": fast, **others}.items() if count})


PRESENT = fleet(2, 1)
"""It needs 1.2 h and $1.08."""


@pytest.fixture(autouse=True)
def usual_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every fleet need a twentieth to spare, so that the chances of `test_risk.py` do not matter here."""
    monkeypatch.setattr(choice, "margin", lambda forecaster, target, fastest_step_s: 0.05)


def forecaster(
    *,
    hours: float | None = None,
    usd: float | None = None,
    current: Fleet = PRESENT,
    limits: Limits | None = None,
    others: Mapping[str, tuple[float, float]] | None = None,
    boot_s: float = 0.0,
    **settings: Any,
) -> Forecaster:
    """`hours` and `usd` are left of deadline and budget; `others` are more flavors with their speeds and prices."""
    others = others or {}
    speeds = {**SPEEDS, **{name: speed for name, (speed, _) in others.items()}}
    prices = {**PRICES, **{name: price for name, (_, price) in others.items()}}
    chosen = {"mixed_margin": 0.0, "head_usd_per_hour": HEAD, **settings}
    situation = Situation(
        now=0.0,
        current=current,
        observations=(),
        usd_per_hour=prices,
        price_faults={},
        limits=limits or Limits(1, 4),
        progress=Progress(0, STEPS, 0, 0.0, 0.0),
        history=History(),
        settings=DecideSettings(switching=replace(AT_ONCE, boot_s=boot_s), **chosen),
        flavors=tuple(sorted(speeds)),
    )
    model = FleetModel(speeds, prices, 6000.0, lambda size: 0.0, situation.settings.head_usd_per_hour)
    return replace(
        Forecaster.of(situation, model, situation.bounds),
        time_left_s=None if hours is None else hours * HOUR,
        money_left_usd=usd,
    )


def chosen(one: Forecaster) -> tuple[Fleet, object]:
    choice = best_choice(one)
    assert choice is not None
    return choice.forecast.target, choice.shortfall


@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize(
    ("hours", "usd", "cheapest", "fastest"),
    [
        (None, None, fleet(4), fleet(0, 4)),
        (1.1, None, fleet(3, 1), fleet(0, 4)),
        (None, 1.2, fleet(4), fleet(2, 2)),
        (0.7, 1.27, fleet(1, 3), fleet(1, 3)),
        (0.8, 1.27, fleet(2, 2), fleet(1, 3)),
    ],
)
def test_the_best_by_the_objective_that_keeps_deadline_and_budget_with_the_usual_margin_is_chosen(
    objective: Objective, hours: float | None, usd: float | None, cheapest: Fleet, fastest: Fleet
) -> None:
    best = cheapest if objective is Objective.COST else fastest
    assert chosen(forecaster(hours=hours, usd=usd, objective=objective)) == (best, None)


def test_the_present_fleet_stays_where_it_only_just_keeps_the_deadline_and_no_fleet_has_the_usual_margin() -> None:
    # A node of the third flavor in place of a slow one would be 2.5 % faster, and so keep the deadline by more.
    one = forecaster(
        current=fleet(2), hours=3.0 * 1.02, limits=Limits(1, 2, excluded={"fast": ""}), others={"other": (1025.0, 0.1)}
    )
    one = replace(one, bounds=replace(one.bounds, caps={"slow": 2, "other": 1}))
    assert chosen(one) == (fleet(2), None)


@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize(
    ("limit", "other", "best"),
    [
        ({"hours": 0.515}, (2950.0, 0.2), fleet(0, 4)),
        ({"usd": 0.77}, (1010.0, 0.103), fleet(4)),
    ],
)
def test_where_no_fleet_has_the_usual_margin_the_one_with_the_most_to_spare_is_chosen(
    objective: Objective, limit: dict[str, float], other: tuple[float, float], best: Fleet
) -> None:
    # Four nodes of the third flavor keep the limit as well, with 1.3 % to spare.
    assert chosen(forecaster(**limit, others={"other": other}, objective=objective)) == (best, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize(
    ("hours", "usd", "best", "shortfall"),
    [
        (0.4, None, fleet(0, 4), DeadlineOutOfReach(fleet(0, 4), 0.5 * HOUR, 0.4 * HOUR)),
        (0.4, 0.5, fleet(0, 4), DeadlineOutOfReach(fleet(0, 4), 0.5 * HOUR, 0.4 * HOUR)),
        (None, 0.5, fleet(4), BudgetOutOfReach(fleet(4), pytest.approx(0.75), 0.5)),
        (0.7, 0.5, fleet(1, 3), BudgetOutOfReach(fleet(4), pytest.approx(0.75), 0.5)),
        (0.7, 1.0, fleet(1, 3), DeadlineAndBudgetOutOfReach()),
    ],
)
def test_what_cannot_be_kept_is_told_and_the_deadline_comes_before_the_money(
    objective: Objective, hours: float | None, usd: float | None, best: Fleet, shortfall: object
) -> None:
    assert chosen(forecaster(hours=hours, usd=usd, objective=objective)) == (best, shortfall)


def test_a_deadline_or_a_budget_that_is_just_reached_is_not_out_of_reach() -> None:
    one = forecaster()
    fastest, cheapest = one.forecast(fleet(0, 4)), one.forecast(fleet(4))
    in_time = replace(one, time_left_s=fastest.remaining_s, money_left_usd=0.5)
    assert chosen(in_time) == (fleet(0, 4), BudgetOutOfReach(fleet(4), cheapest.remaining_usd, 0.5))
    in_budget = replace(one, time_left_s=0.7 * HOUR, money_left_usd=cheapest.remaining_usd)
    assert chosen(in_budget) == (fleet(1, 3), DeadlineAndBudgetOutOfReach())


def test_without_any_allowed_fleet_there_is_no_choice() -> None:
    one = forecaster(hours=0.1)
    assert best_choice(replace(one, bounds=Bounds({}, 1, 4))) is None


@pytest.mark.parametrize("objective", list(Objective))
def test_where_there_is_no_time_or_money_to_wait_for_new_nodes_the_present_fleet_shrinks(objective: Objective) -> None:
    # While nodes boot for an hour, the present fleet costs $1.5, which is more than there is.
    one = forecaster(usd=1.15, current=fleet(2, 2), boot_s=HOUR, objective=objective)
    assert chosen(one) == (fleet(2) if objective is Objective.COST else fleet(2, 1), None)


def test_a_fleet_whose_switch_breaks_the_budget_is_searched_for_again_with_less_money() -> None:
    # 1 slow and 3 fast nodes would be faster and cost $1.185, and $0.09 while the fast nodes boot.
    one = forecaster(usd=1.302, current=fleet(4), boot_s=180.0, objective=Objective.TIME)
    assert one.forecast(fleet(1, 3)).remaining_usd == pytest.approx(1.275)
    assert chosen(one) == (fleet(2, 2), None)


def test_where_no_other_fleet_is_left_the_search_ends_with_the_one_that_overruns() -> None:
    one = forecaster(usd=1.3, current=fleet(0, 4), limits=Limits(4, 4), boot_s=1.0)
    one = replace(one, bounds=Bounds({"slow": 4}, 4, 4))
    least_usd = one.forecast(fleet(4)).remaining_usd
    forecast = _best_within(replace(one, money_left_usd=least_usd - 1e-5), Objective.COST, no_margin)
    assert forecast is not None and forecast.target == fleet(4)


def test_a_fleet_is_found_that_keeps_a_deadline_where_each_node_more_needs_more_to_spare() -> None:
    """n slow nodes take 6 h / n, and need 4% to spare for each: 24 are the fewest within half an hour."""
    one = forecaster(hours=0.5, limits=Limits(1, 60), head_usd_per_hour=0.0)
    one = replace(one, bounds=Bounds({"slow": 60}, 1, 60))
    forecast = _best_within(one, Objective.COST, lambda target: 0.04 * target.size)
    assert forecast is not None and one.keeps(forecast, 0.04 * forecast.target.size)
    assert forecast.target in (fleet(24), fleet(25))


WITHIN = Bounds({"slow": 4}, 1, 4, max_usd_per_hour=2.0, max_step_s=2.0, max_usd_per_step=0.02)


@pytest.mark.parametrize(
    ("step_s", "usd", "overrun", "max_step_s", "max_usd"),
    [
        (1.5, 0.015, Overrun(10.0, 0.0), 1.4, 0.02),
        (3.0, 0.015, Overrun(10.0, 0.0), 1.9, 0.02),
        (1.5, 0.015, Overrun(0.0, 0.5), 2.0, 0.01),
        (1.5, 0.030, Overrun(0.0, 0.5), 2.0, 0.015),
        (1.5, 0.015, Overrun(10.0, 0.5), 1.4, 0.01),
        (1.5, 0.015, Overrun(1e6, 1e6), 0.0, 0.0),
    ],
)
def test_the_bounds_get_tighter_by_what_a_step_of_the_found_fleet_overruns(
    step_s: float, usd: float, overrun: Overrun, max_step_s: float, max_usd: float
) -> None:
    tighter = _tighter(WITHIN, Found(fleet(4), step_s, usd), overrun, steps=100)
    assert tighter.max_step_s == pytest.approx(max_step_s) and tighter.max_usd_per_step == pytest.approx(max_usd)
    assert replace(tighter, max_step_s=2.0, max_usd_per_step=0.02) == WITHIN


@pytest.mark.parametrize("overrun", [Overrun(), Overrun(10.0, 0.5)])
def test_what_has_no_bound_gets_none(overrun: Overrun) -> None:
    free = replace(WITHIN, max_step_s=None, max_usd_per_step=None)
    assert _tighter(free, Found(fleet(4), 1.5, 0.015), overrun, steps=100) == free


@pytest.mark.parametrize(
    ("objective", "margin", "plain"),
    [
        (Objective.COST, 0.07, fleet(1, 3)),
        (Objective.COST, 0.08, fleet(0, 3)),
        (Objective.TIME, 0.10, fleet(1, 3)),
        (Objective.TIME, 0.12, fleet(0, 3)),
    ],
)
def test_a_single_flavor_is_taken_where_it_is_as_good_within_the_margin(
    objective: Objective, margin: float, plain: Fleet
) -> None:
    # With a head of $1, three fast nodes cost 7.3 % more than with a slow one beside them, and take 11.1 % longer.
    one = forecaster(mixed_margin=margin, head_usd_per_hour=1.0)
    within = Bounds({"slow": 4, "fast": 3}, 1, 4)
    mixed = Found(fleet(1, 3), 0.6, one.usd_per_step(fleet(1, 3)))
    found = _plain(one, mixed, within, objective)
    assert found is not None and found.fleet == plain


def test_the_best_of_the_single_flavors_is_taken() -> None:
    one = forecaster(mixed_margin=1.0)
    mixed = Found(fleet(1, 3), 0.6, one.usd_per_step(fleet(1, 3)))
    by_cost, by_time = (_plain(one, mixed, Bounds({"slow": 4, "fast": 3}, 1, 4), each) for each in Objective)
    assert by_cost is not None and by_cost.fleet == fleet(4)
    assert by_time is not None and by_time.fleet == fleet(0, 3)


def with_waits(one: Forecaster) -> Forecaster:
    """The same, where each node after the first makes a step 0.05 s longer, and the head costs nothing."""
    return replace(one, model=replace(one.model, communication_s=lambda size: 0.05 * (size - 1), head_usd_per_hour=0.0))


@pytest.mark.parametrize(("objective", "plain"), [(Objective.COST, fleet(1)), (Objective.TIME, fleet(0, 3))])
def test_the_single_flavors_are_searched_by_the_same_objective(objective: Objective, plain: Fleet) -> None:
    one = with_waits(forecaster(mixed_margin=0.1))
    mixed = Found(fleet(1, 3), one.step_time_s(fleet(1, 3)), one.usd_per_step(fleet(1, 3)))
    found = _plain(one, mixed, Bounds({"slow": 4, "fast": 3}, 1, 4), objective)
    assert found is not None and found.fleet == plain


def test_a_single_flavor_that_is_exactly_as_good_is_taken() -> None:
    one = forecaster()
    single = best_fleet(one.model, Bounds({"slow": 4}, 1, 4))
    assert single is not None
    mixed = Found(fleet(1, 3), 0.6, single.usd_per_step)
    found = _plain(one, mixed, Bounds({"slow": 4, "fast": 3}, 1, 4), Objective.COST)
    assert found is not None and found.fleet == fleet(4)


# Bad nodes


def with_bad_nodes(current: Fleet, limits: Limits | None = None, **bad_nodes: str) -> Forecaster:
    """Each named node is bad. An earlier move has ended a slow node, and could have ended `i-old`."""
    one = forecaster(current=current, limits=limits)
    before: Any = SimpleNamespace(at=5.0, facts=[SimpleNamespace(instance_id="i-old")])
    moves = (Move(1, 10.0, fleet(3), fleet(2), Said(""), MovePhase.DONE),)
    situation = replace(one.situation, observations=(before,), history=History(moves))
    bad = {flavor: {instance: 0.5} for flavor, instance in bad_nodes.items()}
    situation.__dict__.update(bad_nodes=bad, step_time_s=None, bursts={})
    return replace(one, situation=situation)


def test_a_bad_node_ends_or_is_replaced_by_one_of_another_flavor_or_of_the_same() -> None:
    found = [*_without_bad_nodes(with_bad_nodes(fleet(2, 1), slow="i-new"))]
    assert [forecast.target for forecast in found] == [fleet(1, 1), fleet(1, 2), fleet(3, 1)]
    assert {forecast.bad_nodes for forecast in found} == {("i-new",)}


def test_a_bad_node_that_an_earlier_move_spared_is_left_alone_but_not_those_of_other_flavors() -> None:
    found = [*_without_bad_nodes(with_bad_nodes(fleet(2, 1), slow="i-old", fast="i-new"))]
    assert [forecast.target for forecast in found] == [fleet(2), fleet(3), fleet(2, 2)]


def test_where_the_fleet_is_full_another_flavor_takes_the_place_until_a_sound_node_is_there() -> None:
    """Six slow nodes and no more are allowed, and each fast one costs twice as much for its work."""
    one = with_bad_nodes(fleet(6), Limits(6, 6), slow="i-new")
    through, replaced = [*_without_bad_nodes(one)]
    assert {through.target, replaced.target} == {fleet(5, 1)}
    assert replaced.bad_nodes == through.bad_nodes == ("i-new",)
    sound_usd, as_it_is = one.model.usd_per_step(fleet(6)) * STEPS, one.stay.remaining_usd
    assert sound_usd < replaced.remaining_usd < min(through.remaining_usd, as_it_is)


SHRINKS, GROWS, KEEPS = (fleet(3), fleet(2)), (fleet(1), fleet(2)), (fleet(2, 1), fleet(2, 2))


@pytest.mark.parametrize(
    ("change", "phase", "spared"),
    [
        (SHRINKS, MovePhase.DONE, {"i-50", "i-100"}),
        (SHRINKS, MovePhase.ROLLED_BACK, set()),
        (GROWS, MovePhase.DONE, set()),
        (GROWS, MovePhase.ROLLED_BACK, set()),
        (KEEPS, MovePhase.DONE, set()),
    ],
)
def test_instances_that_ran_when_their_flavor_last_shrank_were_spared(
    change: tuple[Fleet, Fleet], phase: MovePhase, spared: set[str]
) -> None:
    seen = [SimpleNamespace(at=at, facts=[SimpleNamespace(instance_id=f"i-{at}")]) for at in (50, 100, 150)]
    moves = (Move(1, 10.0, *SHRINKS, Said(""), MovePhase.ROLLED_BACK), Move(2, 100.0, *change, Said(""), phase))
    situation = SimpleNamespace(history=History(moves), observations=seen)
    assert _spared(SimpleNamespace(situation=situation), "slow") == spared  # type: ignore[arg-type]


def test_a_target_is_allowed_where_the_hourly_limit_leaves_it_and_the_head() -> None:
    one = forecaster(limits=Limits(1, 4, max_usd_per_hour=0.85))
    assert _is_allowed(one, fleet(1, 1)) is True
    assert _is_allowed(one, fleet(2, 1)) is False, "the fleet alone would keep the limit"
    assert _is_allowed(one, fleet(other=1)) is False, "its speed is unknown"


def test_a_choice_has_no_shortfall_unless_one_is_given() -> None:
    assert Choice(forecaster().stay).shortfall is None


def test_the_fastest_step_is_searched_among_few_sizes_where_fleets_may_be_large() -> None:
    late = forecaster(hours=1.0, limits=Limits(max_nodes=5000))
    sizes = set[int]()

    def communication_s(size: int) -> float:
        sizes.add(size)
        return 0.0

    many = replace(late, model=replace(late.model, communication_s=communication_s))
    assert fastest_step_s(many) == pytest.approx(6000 / (5000 * SPEEDS["fast"]))
    assert len(sizes) < 2 * ROOM_SIZES
    assert fastest_step_s(forecaster(limits=Limits(max_nodes=5000))) is None, "no deadline asks for it"


def test_credits_where_no_fleet_is_allowed_leave_no_choice() -> None:
    none = forecaster(limits=Limits(excluded=dict.fromkeys(SPEEDS, "tested")))
    none.situation.__dict__["bursts"] = {"slow": Burst(2000.0, 600.0)}
    assert best_choice(none) is None
