"""Families of scenarios: each withholds something from policies, and tells the oracle all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import SpeedSpread, SwitchingAssumptions
from controller.domain import Verdict
from controller.simulate.families import FAMILIES, family_scenario
from controller.simulate.policies import SIMULATED_POLICIES
from controller.simulate.random_scenarios import random_scenario
from controller.simulate.run import simulate
from controller.simulate.scenario import Scenario
from controller.simulate.told import settings_for, truth_of
from controller.simulate.view import View
from controller.simulate.world import World

SEED = 31
CHANGED = [name for name in FAMILIES if name != "known"]


def first_step_time_s(scenario: Scenario) -> float:
    return World(scenario).step_time_s()


def burstable_scenario(family: str) -> Scenario:
    """The first scenario of a family that has a flavor with CPU credits."""
    scenarios = (family_scenario(family, seed) for seed in range(1, 40))
    return next(s for s in scenarios if any(f.baseline_share < 1 for f in s.flavors))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_is_always_the_same_scenario(family: str) -> None:
    first = family_scenario(family, SEED)
    assert first == family_scenario(family, SEED)
    assert first.name == f"{family}-{SEED}"


@pytest.mark.parametrize("family", CHANGED)
def test_each_family_differs_from_the_plain_scenario_of_the_seed(family: str) -> None:
    plain, changed = family_scenario("known", SEED), family_scenario(family, SEED)
    names = ("flavors", "total_steps", "configure_s", "told", "troubles", "price_changes")
    assert any(getattr(plain, name) != getattr(changed, name) for name in names)


def test_where_all_is_known_the_scenario_is_the_plain_one() -> None:
    known, plain = family_scenario("known", SEED), random_scenario(SEED)
    assert (known.flavors, known.initial, known.total_steps) == (plain.flavors, plain.initial, plain.total_steps)


def test_policies_assume_a_shorter_configuring_and_the_oracle_knows_better() -> None:
    scenario = family_scenario("slow-configuring", SEED)
    assert settings_for(scenario, "cheapest-fleet").switching == SwitchingAssumptions()
    assert settings_for(scenario, "oracle").switching.configure_s == scenario.configure_s > 3 * 120.0


def test_baselines_are_told_to_the_oracle_only() -> None:
    scenario = burstable_scenario("untold-baselines")
    name = next(f.name for f in scenario.flavors if f.baseline_share < 1)
    told, oracle = (settings_for(scenario, policy).flavors[name] for policy in ("bayesian", "oracle"))
    assert (told.burstable, told.baseline_share) == (True, None)
    assert oracle.baseline_share == scenario.flavor(name).baseline_share


def test_hidden_credits_are_told_to_nobody_but_the_oracle() -> None:
    scenario = burstable_scenario("hidden-credits")
    assert not any(flavor.burstable for flavor in settings_for(scenario, "cheapest-fleet").flavors.values())
    assert any(flavor.burstable for flavor in settings_for(scenario, "oracle").flavors.values())


@pytest.mark.parametrize("family", ["hidden-credits", "speeds-unlike-vcpus"])
def test_other_speeds_leave_the_training_as_long_on_its_first_fleet(family: str) -> None:
    plain, changed = (family_scenario(name, SEED) for name in ("known", family))

    def hours(scenario: Scenario) -> float:
        present = scenario.initial.present.items()
        speed = sum(n * scenario.flavor(f).sustained_tokens_per_s for f, n in present)
        step_s = scenario.tokens_per_step / speed + scenario.communication.seconds(scenario.initial.size)
        return scenario.total_steps * step_s / 3600

    assert hours(changed) == pytest.approx(hours(plain), rel=1e-3)


def test_rates_of_interruptions_are_told_to_the_oracle_only() -> None:
    scenario = next(s for s in (family_scenario("spot-pools", n) for n in range(40)) if any(f.spot for f in s.flavors))
    spot = next(f.name for f in scenario.flavors if f.spot)
    view = View(World(scenario))
    assert view.prices(is_told=False)[spot].interruptions_per_hour == 0
    assert view.prices(is_told=True)[spot].interruptions_per_hour > 0


def test_sixty_flavors_are_sixty() -> None:
    assert len(family_scenario("sixty-flavors", SEED).flavors) == 60


def test_a_short_training_takes_at_most_two_and_a_half_hours() -> None:
    for seed in range(20):
        scenario = family_scenario("short", seed)
        assert scenario.total_steps * first_step_time_s(scenario) < 2.5 * 3600


def test_the_truth_is_what_lasts_and_counts_the_tokens_to_come() -> None:
    scenario = burstable_scenario("short")
    name = next(f.name for f in scenario.flavors if f.baseline_share < 1)
    assert truth_of(World(scenario)).tokens_per_s[name] == scenario.flavor(name).sustained_tokens_per_s
    changing = next(
        s for s in (family_scenario("changing-batch", n) for n in range(9)) if s.troubles.phases[0].factor > 1.5
    )
    mean = changing.tokens_until(changing.total_steps) / changing.total_steps
    assert truth_of(World(changing)).tokens_per_step == pytest.approx(mean)


@pytest.mark.parametrize("family", ["short", "late-facts", "spot-pools"])
def test_every_policy_that_is_cheap_to_run_finishes(family: str) -> None:
    for policy in ("price-time", "hourly-price", "vcpu-price"):
        assert simulate(family_scenario(family, 3), policy).finished


def test_the_waiting_oracle_knows_the_speeds_and_is_told_no_more_than_policies() -> None:
    scenario = family_scenario("slow-configuring", SEED)
    limit, policy = (settings_for(scenario, name) for name in ("waiting-oracle", "cheapest-fleet"))
    assert limit.truth is not None
    assert replace(limit, truth=None, policy=policy.policy) == policy


def test_the_waiting_oracle_does_not_know_the_tokens_of_steps_to_come() -> None:
    changing = next(
        s for s in (family_scenario("changing-batch", n) for n in range(9)) if s.troubles.phases[0].factor > 1.5
    )
    first = next(d for d in simulate(changing, "waiting-oracle").decisions if d.fleets)
    present = next(one for one in first.fleets if one.fleet == first.current)
    assert present.step_time_s == pytest.approx(first_step_time_s(changing), rel=0.02)


def test_the_waiting_oracle_waits_for_facts_of_its_nodes_and_probes_nothing() -> None:
    outcomes = {name: simulate(family_scenario("known", 5), name) for name in ("oracle", "waiting-oracle")}
    first = {name: next(d.at for d in one.decisions if d.verdict is Verdict.MOVE) for name, one in outcomes.items()}
    assert first["waiting-oracle"] > first["oracle"]
    assert outcomes["waiting-oracle"].probe_usd == 0


def test_one_policy_alone_is_told_how_far_speeds_spread_and_nothing_else() -> None:
    scenario = family_scenario("speeds-unlike-vcpus", SEED)
    told, policy = (settings_for(scenario, name) for name in ("told-spread", "cheapest-fleet"))
    assert told.spread == scenario.spread != policy.spread == SpeedSpread()
    assert replace(told, spread=policy.spread, policy=policy.policy) == policy
    assert type(SIMULATED_POLICIES["told-spread"]) is type(SIMULATED_POLICIES["cheapest-fleet"])


def test_the_spread_of_speeds_unlike_vcpus_is_that_of_their_draws() -> None:
    """A flavor's own speed is off by the family's 0.8 beside what flavors of a family usually differ by."""
    spread = family_scenario("speeds-unlike-vcpus", SEED).spread
    assert spread.own**2 == pytest.approx(0.8**2 + SpeedSpread().own ** 2)
    assert spread.shared == SpeedSpread().shared and spread.flavors > 1e5
    assert family_scenario("known", SEED).spread == SpeedSpread()
