"""A whole decision on fifty flavors and a thousand nodes, exploration and tables included, keeps what it must.

What it takes is measured by `make bench-decide`.
"""

from __future__ import annotations

import pytest
from training import PROMISES, LargeCase

from controller.decide import Objective
from controller.domain import Verdict

LARGE_CASES = [
    LargeCase(objective, promise, measured)
    for objective in Objective
    for promise in PROMISES
    for measured in (1, 10, 50)
]


@pytest.mark.parametrize("case", LARGE_CASES, ids=lambda case: f"{case.objective.value}-{case.promise}-{case.measured}")
def test_a_large_fleet_is_within_the_limits_and_no_dearer_than_staying(case):
    training, limits, settings = case.prepare()
    decision = training.decide(limits, settings)

    quotas = limits.max_nodes_per_flavor
    assert 1 <= decision.target.size <= limits.max_nodes
    if decision.verdict is Verdict.MOVE:
        assert all(count <= quotas[flavor] for flavor, count in decision.target.items())
    if decision.verdict is Verdict.MOVE and not decision.is_probe and case.promise == "none":
        goal = "usd_per_million_tokens" if case.objective is Objective.COST else "step_time_s"
        stay, *others = decision.fleets
        [chosen] = [one for one in others if one.fleet == decision.target]
        was_within = all(count <= quotas[flavor] for flavor, count in training.fleet.items())
        assert not was_within or getattr(chosen, goal) < getattr(stay, goal)
