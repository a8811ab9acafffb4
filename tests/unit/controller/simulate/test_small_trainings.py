"""The default policy in small random trainings, noise and all, against each fleet looked at one by one."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from controller.decide.model.communication import Communication
from controller.domain import Fleet
from controller.simulate.compare import COMPARED
from controller.simulate.run import Outcome, simulate
from controller.simulate.scenario import Scenario, SimulatedFlavor, load_scenario

EXAMPLES = Path(__file__).parents[4] / "controller" / "simulate" / "examples"
SEEDS = range(7000, 7100)
OTHERS = [policy for policy in COMPARED if policy not in ("cheapest-fleet", "bayesian")]
"""The Bayesian search takes seconds for each training; the bench has it."""


def small_scenario(seed: int) -> Scenario:
    """Two to four flavors, up to five nodes, six to thirty hours of work, steps that vary by ten percent."""
    rng = random.Random(seed)
    flavors = tuple(
        SimulatedFlavor(f"{name}.large", rng.uniform(0.05, 0.3), rng.uniform(700.0, 3000.0), vcpus=2)
        for name in "abcd"[: rng.randint(2, 4)]
    )
    size = rng.randint(2, 4)
    speed = size * flavors[0].tokens_per_s
    return Scenario(
        name=f"small-{seed}",
        seed=seed,
        flavors=flavors,
        initial=Fleet({flavors[0].name: size}),
        total_steps=int(rng.uniform(6, 30) * 3600),
        tokens_per_step=0.8 * speed,
        communication=Communication((0.1, 0.0, 0.05, 0.0)),
        head_usd_per_hour=0.04,
        min_nodes=rng.choice([1, size]),
        max_nodes=rng.choice([size, 5]),
        bad_node_share=0.0,
    )


def constant_fleets(scenario: Scenario) -> dict[Fleet, tuple[float, float]]:
    """Dollars and seconds of the training on each allowed fleet, had from the beginning: no way there to pay for."""
    found = {}
    names = [flavor.name for flavor in scenario.flavors]
    for counts in itertools.product(range(scenario.max_nodes + 1), repeat=len(names)):
        if max(1, scenario.min_nodes) <= sum(counts) <= scenario.max_nodes:
            used = list(zip(scenario.flavors, counts, strict=True))
            speed = sum(count * flavor.tokens_per_s for flavor, count in used)
            step_s = scenario.tokens_per_step / speed + scenario.communication.seconds(sum(counts))
            rate = sum(count * flavor.usd_per_hour for flavor, count in used) + scenario.head_usd_per_hour
            seconds = scenario.total_steps * step_s
            found[Fleet(dict(zip(names, counts, strict=True)))] = (rate * seconds / 3600, seconds)
    return found


@pytest.fixture(scope="module")
def outcomes() -> dict[int, Outcome]:
    return {seed: simulate(small_scenario(seed), "cheapest-fleet") for seed in SEEDS}


def over_the_best(outcomes: dict[int, Outcome]) -> tuple[float, float]:
    """What trainings cost over the best fleet had from the beginning: the median and the 95th percentile."""
    over = []
    for seed, outcome in outcomes.items():
        least_usd = min(usd for usd, _ in constant_fleets(small_scenario(seed)).values())
        over.append(outcome.cost_usd / least_usd)
    over.sort()
    return over[len(over) // 2], over[int(0.95 * len(over))]


def test_it_costs_little_more_than_the_best_fleet_had_from_the_beginning(outcomes):
    median, p95 = over_the_best(outcomes)
    assert median <= 1.05
    assert p95 <= 1.20


@pytest.mark.parametrize("policy", OTHERS)
def test_no_other_policy_is_better_at_the_median_and_all_are_worse_among_the_worst(outcomes, policy):
    median, p95 = over_the_best(outcomes)
    other_median, other_p95 = over_the_best({seed: simulate(small_scenario(seed), policy) for seed in SEEDS})
    assert median < other_median + 0.001
    assert p95 < other_p95


def test_probes_cost_at_most_a_twentieth_each_time_and_nothing_flips(outcomes):
    assert all(outcome.probe_usd <= 0.05 * outcome.cost_usd for outcome in outcomes.values())
    assert any(outcome.probe_usd > 0 for outcome in outcomes.values())
    assert sum(outcome.flip_flops for outcome in outcomes.values()) == 0


@pytest.mark.parametrize("constraint", ["deadline_s", "budget_usd"])
def test_a_constraint_is_kept_where_some_fleet_keeps_it_with_a_tenth_to_spare(constraint):
    for seed in SEEDS[:20]:
        scenario = small_scenario(seed)
        fleets = constant_fleets(scenario)
        least = min(usd if constraint == "budget_usd" else seconds for usd, seconds in fleets.values())
        here = fleets[scenario.initial][0 if constraint == "budget_usd" else 1]
        given = max(1.10 * least, min(here, 1.3 * least))
        outcome = simulate(replace(scenario, **{constraint: given}), "cheapest-fleet")
        assert outcome.budget_met if constraint == "budget_usd" else outcome.deadline_met, scenario.name


def test_the_example_with_a_deadline_is_in_time_and_the_cheapest_fleet_alone_would_not_be():
    scenario = load_scenario(EXAMPLES / "deadline.yml")
    assert simulate(scenario, "cheapest-fleet").deadline_met
    free = simulate(replace(scenario, deadline_s=None), "cheapest-fleet")
    assert free.time_s > scenario.deadline_s


def test_the_example_with_a_budget_spends_nearly_all_of_it_and_no_more():
    scenario = load_scenario(EXAMPLES / "budget.yml")
    outcome = simulate(scenario, "cheapest-fleet")
    assert outcome.budget_met
    assert outcome.cost_usd > 0.9 * scenario.budget_usd
    free = simulate(replace(scenario, budget_usd=None), "cheapest-fleet")
    assert free.time_s < outcome.time_s and free.cost_usd > scenario.budget_usd


def test_in_the_example_with_a_quota_a_mixed_fleet_is_right_and_it_is_chosen():
    scenario = load_scenario(EXAMPLES / "quota.yml")
    allowed = {fleet: usd for fleet, (usd, _) in constant_fleets(scenario).items() if 2 * fleet.count("c5.large") <= 10}
    best = min(allowed, key=allowed.__getitem__)
    assert best == Fleet({"c5.large": 5, "m5.large": 3})
    assert simulate(scenario, "cheapest-fleet").moments[-1].fleet == best


def test_no_more_nodes_than_the_surge_allows_run_during_a_move():
    scenario = replace(load_scenario(EXAMPLES / "quota.yml"), max_surge=2)
    outcome = simulate(scenario, "cheapest-fleet")
    moves = [decision for decision in outcome.decisions if decision.target != decision.current]
    assert len(moves) >= 4
    for move in moves:
        larger = max(move.current.size, move.target.size)
        assert move.current.union(move.target).size - larger <= 2
    assert outcome.moments[-1].fleet == Fleet({"c5.large": 5, "m5.large": 3})
