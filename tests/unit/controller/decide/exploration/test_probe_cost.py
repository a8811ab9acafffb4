"""What probes will cost and what they have cost so far, worked out by hand.

A node of `a` makes 100 tokens a second for $3.60 an hour, a tenth of a cent a second. A node of `b` does the same for
ten times as much. A step has 1,000 tokens, so it takes 5 s on two nodes. The head is free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.decide.exploration.probe_cost import ProbeCost
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import LEAST_MARGIN, Forecaster
from controller.domain import Fleet, Move, MovePhase
from controller.domain.reasons import Said
from tests.unit.controller.decide.model.test_forecaster import TIMES, forecaster

PRICES = {"a": 3.6, "b": 36.0}
A, B = 0.001, 0.01
"""Dollars a second of a node."""
BASE, PROBED = Fleet({"a": 2}), Fleet({"a": 2, "b": 1})


def cost(
    *moves: Move,
    speeds: dict[str, float] | None = None,
    now: float = 1000.0,
    prices: dict[str, float] | None = None,
) -> ProbeCost:
    made = forecaster(BASE, probe_steps=100)
    history = replace(made.situation.history, moves=moves)
    situation = replace(made.situation, history=history, now=now)
    model = FleetModel(speeds or {"a": 100.0, "b": 100.0}, prices or PRICES, 1000.0, lambda size: 0.0)
    known = Forecaster(situation, model, made.bounds, made.remaining_steps)
    return ProbeCost(known, known.stay)


def probe(ended_at: float | None = 300.0, phase: MovePhase = MovePhase.DONE, **other: Any) -> Move:
    """Begins at 100 s."""
    values = {"at": 100.0, "source": BASE, "target": PROBED, "is_probe": True, **other}
    return Move(1, reason=Said("measure"), phase=phase, ended_at=ended_at, **values)


def back(at: float = 500.0, ended_at: float | None = 600.0) -> Move:
    return Move(2, at, PROBED, BASE, Said("done"), MovePhase.DONE, ended_at=ended_at)


def planned(base: Fleet, **left: float) -> ProbeCost:
    """The cost of probes on top of a base fleet that may differ from the two `a` that run."""
    known = replace(cost(speeds={"a": 100.0}).forecaster, **left)  # type: ignore[arg-type]
    return ProbeCost(known, known.forecast(base))


FOUR_A = Fleet({"a": 4})
"""A step takes 2.5 s on it, so that 100 steps take 250 s, which is longer than the cool-down."""


@pytest.mark.parametrize(
    ("target", "b_tokens_per_s", "measuring_s"),
    [
        (Fleet({"a": 4, "b": 1}), 100.0, 250.0),
        (Fleet({"a": 4, "b": 1}), 1e-6, 250.0),
        (Fleet({"a": 4, "b": 1}), 1e5, 250.0),
        (Fleet({"a": 3, "b": 1}), 100.0, 250.0 + TIMES.grow_s),
    ],
    ids=["works", "does no work", "works very fast", "takes the place of another"],
)
def test_a_probe_is_planned_to_cost_its_switches_and_its_time_less_the_work_done(
    target: Fleet, b_tokens_per_s: float, measuring_s: float
) -> None:
    """Four `a` are due anyway. The node that gave way to a probe has to come back, which takes longer."""
    one = planned(FOUR_A)
    switch = one.forecaster.switching_usd
    switches_usd = switch(BASE, target) + switch(target, FOUR_A) - switch(BASE, FOUR_A)
    tokens = (target.count("a") * 100.0 + b_tokens_per_s) * measuring_s
    paid_usd, worth_usd = (target.count("a") * A + B) * measuring_s, tokens * A / 100
    found = one.planned_usd(target, {"b": b_tokens_per_s})
    assert switches_usd > 0
    assert found == pytest.approx(switches_usd + max(0.0, paid_usd - worth_usd))


@pytest.mark.parametrize("what", ["time_left_s", "money_left_usd"])
@pytest.mark.parametrize(("spare", "keeps"), [(1e-3, True), (-1e-3, False)])
def test_a_probe_must_leave_time_and_money_for_the_rest(what: str, spare: float, keeps: bool) -> None:
    """While three `a` and an idle `b` run in place of four `a`, a quarter of the time is lost."""
    target, idle = Fleet({"a": 3, "b": 1}), {"b": 1e-9}
    free = planned(FOUR_A)
    needs = {
        "time_left_s": free.base.remaining_s + (250.0 + TIMES.grow_s) / 4,
        "money_left_usd": free.base.remaining_usd + free.planned_usd(target, idle),
    }
    left = needs[what] * (1 + LEAST_MARGIN) + spare
    assert planned(FOUR_A, **{what: left}).keeps_deadline_and_budget(target, idle) is keeps


@pytest.mark.parametrize("what", ["time_left_s", "money_left_usd"])
def test_a_probe_cannot_break_what_is_not_kept_without_it(what: str) -> None:
    assert planned(FOUR_A, **{what: 0.001}).keeps_deadline_and_budget(PROBED, {"b": 100.0})
    assert planned(FOUR_A).keeps_deadline_and_budget(PROBED, {"b": 1e-9}), "there is neither deadline nor budget"


def test_a_probe_that_replaced_a_fleet_of_unknown_speed_costs_all_its_time() -> None:
    alone = Fleet({"b": 2})
    found = cost(probe(source=Fleet({"new": 1}), target=alone), back()).spent_usd()
    assert found == pytest.approx(2 * B * 200 + 2 * TIMES.pause_s * 2 * B + 2 * B * 300)


def test_a_probe_without_a_price_counts_as_free() -> None:
    assert cost(probe(300.0, MovePhase.ROLLED_BACK), prices={"a": 3.6}).spent_usd() == 0.0


def test_without_a_probe_nothing_was_spent() -> None:
    assert cost().spent_usd() == 0.0
    assert cost(probe(is_probe=False), back()).spent_usd() == 0.0


@pytest.mark.parametrize(
    ("phase", "ended_at", "waited_s"), [(MovePhase.ROLLED_BACK, 300.0, 200.0), (MovePhase.GROWING, None, 900.0)]
)
def test_a_probe_that_never_ran_cost_its_idle_nodes(phase: MovePhase, ended_at: float | None, waited_s: float) -> None:
    assert cost(probe(ended_at, phase)).spent_usd() == pytest.approx(B * waited_s)


@pytest.mark.parametrize(("following", "running_s"), [((), 700.0), ((back(),), 300.0), ((back(ended_at=None),), 200.0)])
def test_a_probe_costs_idle_nodes_two_pauses_and_what_its_steps_cost_more(
    following: tuple[Move, ...], running_s: float
) -> None:
    """A step on two `a` costs $0.002 a second for 5 s; with `b` it costs $0.012 for a third less time."""
    pauses_usd = 2 * TIMES.pause_s * (2 * A + B)
    step_s = 1000 / 300
    extra_usd = ((2 * A + B) * step_s - 2 * A * 5) * running_s / step_s
    assert cost(probe(), *following).spent_usd() == pytest.approx(B * 200 + pauses_usd + extra_usd)


def test_a_probe_of_a_flavor_that_was_never_measured_costs_its_nodes_all_the_time() -> None:
    pauses_usd = 2 * TIMES.pause_s * (2 * A + B)
    found = cost(probe(), back(), speeds={"a": 100.0}).spent_usd()
    assert found == pytest.approx(B * 200 + pauses_usd + B * 300)


def test_a_probe_that_makes_steps_cheaper_costs_the_waits_alone() -> None:
    found = cost(probe(), back(), speeds={"a": 100.0, "b": 1e6}).spent_usd()
    assert found == pytest.approx(B * 200 + 2 * TIMES.pause_s * (2 * A + B))


def test_a_node_that_takes_the_place_of_another_is_compared_with_the_cheaper_of_what_was_and_what_is_left() -> None:
    """Two `a` become one `a` and one `b`: a step takes 5 s before and after, and 10 s on the one that is left."""
    target = Fleet({"a": 1, "b": 1})
    extra_usd = ((A + B) * 5 - 2 * A * 5) * 300 / 5
    found = cost(probe(target=target), back()).spent_usd()
    assert found == pytest.approx(B * 200 + 2 * TIMES.pause_s * (A + B) + extra_usd)


def test_more_nodes_of_a_flavor_that_ran_already_are_no_probe() -> None:
    target = Fleet({"a": 3, "b": 1})
    idle_usd, pauses_usd = B * 200, 2 * TIMES.pause_s * (3 * A + B)
    extra_usd = ((3 * A + B) * 2.5 - 3 * A * 1000 / 300) * 300 / 2.5
    assert cost(probe(target=target), back()).spent_usd() == pytest.approx(idle_usd + pauses_usd + extra_usd)


def test_all_probes_add_up() -> None:
    one = probe(300.0, MovePhase.ROLLED_BACK)
    assert cost(one, one).spent_usd() == pytest.approx(2 * B * 200)
