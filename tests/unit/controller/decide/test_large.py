"""A whole decision on fifty flavors and a thousand nodes, exploration and tables included.

`make bench-decide` measures how long it takes.
"""

from __future__ import annotations

import pytest
from training import CONSTRAINTS, LARGE_NODES, LargeCase

from controller.decide import Objective
from controller.decide.exploration.leaps import LEAST_CHANCE, NEARLY_SURE
from controller.decide.exploration.probes import MAX_PROBES_PER_MOVE
from controller.domain import Verdict
from controller.domain.reasons.deciding import LeapsToUnmeasured, LeapsWithinLimits, MeasuresFlavors


def cases(*measured: int) -> pytest.MarkDecorator:
    """Parametrizes over both objectives and all constraints, with so many flavors measured."""
    found = [
        LargeCase(objective, constraint, number)
        for objective in Objective
        for constraint in CONSTRAINTS
        for number in measured
    ]
    return pytest.mark.parametrize(
        "case", found, ids=lambda case: f"{case.objective.value}-{case.constraint}-{case.measured}"
    )


@cases(1, 10, 50)
def test_a_move_keeps_every_limit(case):
    training, limits, settings = case.prepare()
    decision = training.decide(limits, settings)
    assert decision.verdict is Verdict.MOVE
    assert 1 <= decision.target.size <= LARGE_NODES
    assert all(count <= limits.max_nodes_per_flavor[flavor] for flavor, count in decision.target.items())


@cases(50)
def test_the_chosen_fleet_beats_staying_and_every_fleet_of_one_flavor_that_keeps_deadline_and_budget(case):
    training, limits, settings = case.prepare()
    decision = training.decide(limits, settings)
    stay, chosen, *others = decision.fleets
    assert (stay.fleet, chosen.fleet) == (training.fleet, decision.target)

    def keeps(fleet):
        in_time = limits.deadline_at is None or fleet.remaining_s <= limits.deadline_at - training.now
        return in_time and (limits.budget_usd is None or fleet.remaining_usd <= limits.budget_usd)

    if decision.reason.shortfall is not None:
        # No fleet keeps the deadline: the fastest is chosen.
        assert not any(keeps(fleet) for fleet in decision.fleets)
        assert all(chosen.step_time_s <= other.step_time_s for other in (stay, *others))
        return
    assert keeps(chosen)
    goal = "usd_per_million_tokens" if case.objective is Objective.COST else "step_time_s"
    rivals = [getattr(other, goal) for other in (stay, *others) if keeps(other)]
    assert all(getattr(chosen, goal) <= (1 + settings.mixed_margin) * rival for rival in rivals)


@cases(1, 10)
def test_a_few_flavors_that_were_never_measured_are_probed_within_the_probe_budget_or_leapt_to(case):
    training, limits, settings = case.prepare()
    decision = training.decide(limits, settings)
    if isinstance(decision.reason, LeapsToUnmeasured):  # where the probe's time is worth more than what it tells
        assert decision.reason.saving_usd > decision.reason.chance_worse * decision.reason.worse_usd
        assert case.objective is Objective.TIME or decision.reason.chance_worse <= NEARLY_SURE
        return
    if isinstance(decision.reason, LeapsWithinLimits):  # a probe would take time that is short
        assert decision.reason.chance_kept >= LEAST_CHANCE
        assert case.constraint == "deadline" and case.measured == 1
        (measured,) = training.fleet
        allowed = limits.max_nodes_per_flavor[measured]
        stay_s = decision.fleets[0].remaining_s
        assert training.now + stay_s * LARGE_NODES / allowed > limits.deadline_at, "too slow"
        return
    assert isinstance(decision.reason, MeasuresFlavors)
    probed = decision.reason.gains_usd
    assert 1 <= len(probed) <= MAX_PROBES_PER_MOVE
    assert all(decision.target.count(flavor) == 1 and not training.fleet.count(flavor) for flavor in probed)
    rest_usd = max(fleet.remaining_usd for fleet in decision.fleets[:2])
    assert 0 < decision.reason.cost_usd <= settings.probe_share * rest_usd
    assert all(gain_usd > 0 for gain_usd in probed.values())
