"""The live controller in a spot market that plays a trace."""

from __future__ import annotations

import random

import numpy as np
import pytest

from controller.decide.deadlines.paper import greedy, uniform_progress
from controller.decide.deadlines.situation import Job
from controller.domain import Verdict
from controller.domain.reasons.spot import OnDemandForDeadline, WaitsForSpot
from controller.simulate.traces.market import played_live, scenario_of
from controller.simulate.traces.omniscient import omniscient_usd
from controller.simulate.traces.play import play
from controller.simulate.traces.trace import Flags

H = 3600.0


def job(time_h: float, pools: int = 1, change_over_h: float = 0.1) -> Job:
    return Job(3 * H, time_h * H, change_over_h * H, 300.0, 3.0, (1.0,) * pools)


def market(seed: int, pools: int, steps: int = 72) -> Flags:
    """Returns pools whose capacity comes and goes, mostly soon and sometimes late. The first one begins with some."""
    draw = random.Random(seed)
    flags = np.zeros((steps, pools), dtype=bool)
    for pool in range(pools):
        at, is_up = 0, pool == 0
        while at < steps:
            length = 1 + int(draw.expovariate(1 / draw.choice((3, 12, 48) if is_up else (3, 8, 24))))
            flags[at : at + length, pool] = is_up
            at, is_up = at + length, not is_up
    return flags


def test_a_trace_becomes_outages_of_its_pools() -> None:
    flags = np.array([[True, False], [False, False], [True, True]])
    outages = scenario_of(job(0.25, 2), flags).troubles.outages
    assert {(one.flavor, one.at_s, one.seconds) for one in outages} == {("spot-0", 300, 300), ("spot-1", 0, 600)}


@pytest.mark.parametrize("pools", [1, 2])
@pytest.mark.parametrize("time_h", [3.5, 4.5])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_deadline_is_kept(seed: int, time_h: float, pools: int) -> None:
    outcome = played_live(job(time_h, pools), market(seed, pools))
    assert outcome.finished and outcome.deadline_met


def test_without_spot_it_waits_no_longer_than_on_demand_can_wait() -> None:
    gone = np.zeros((72, 1), dtype=bool)
    gone[:3] = True
    outcome = played_live(job(4.5), gone)
    assert outcome.deadline_met
    reasons = [type(decision.reason) for decision in outcome.decisions]
    assert WaitsForSpot in reasons and OnDemandForDeadline in reasons


def test_with_spot_all_along_nothing_is_bought_on_demand() -> None:
    outcome = played_live(job(3.5), np.ones((72, 1), dtype=bool))
    assert outcome.moves == 0 and all(decision.verdict is not Verdict.MOVE for decision in outcome.decisions)
    assert outcome.cost_usd == pytest.approx(3.0, rel=0.02)


def test_it_costs_less_than_greedy_and_uniform_progress_and_not_less_than_is_possible() -> None:
    """A change-over of the live controller overlaps with the work of the old node: it may cost a little less."""
    usd = {"live": 0.0, "greedy": 0.0, "uniform progress": 0.0, "bound": 0.0}
    for seed in range(6):
        played, flags = job(4.5, 2), market(seed, 2)
        usd["live"] += played_live(played, flags).cost_usd
        usd["greedy"] += play(greedy, played, flags).usd
        usd["uniform progress"] += play(uniform_progress, played, flags).usd
        usd["bound"] += omniscient_usd(played, flags)
    assert 0.9 * usd["bound"] < usd["live"] < min(usd["greedy"], usd["uniform progress"]), usd
