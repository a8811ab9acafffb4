"""What a policy is told of a scenario: before the training begins, and, if it is the oracle, all along."""

from __future__ import annotations

from controller.decide import DecideSettings, SpeedSpread, SwitchingAssumptions, Truth
from controller.domain import Flavor, Limits
from controller.simulate.disturbances import expected_drift, expected_neighbour_share
from controller.simulate.scenario import Scenario, SimulatedFlavor, Told
from controller.simulate.world import World

ORACLE, LIMIT = "oracle", "waiting-oracle"
"""The policies that know the true speeds. The second one is otherwise told what the other policies are told."""
TOLD_SPREAD = "told-spread"
"""`cheapest-fleet` that is told how far the speeds of a scenario's flavors spread, though not how fast each one is."""


def settings_for(scenario: Scenario, policy: str) -> DecideSettings:
    """Returns a policy's settings in a scenario: what it is told of flavors and of switching, but not the speeds."""
    told = Told() if policy == ORACLE else scenario.told
    true_times = SwitchingAssumptions(scenario.boot_s, scenario.configure_s, scenario.pause_s, scenario.drain_s)
    return DecideSettings(
        policy=policy,
        objective=scenario.objective,
        batches=scenario.batches,
        flavors={flavor.name: _flavor(flavor, told) for flavor in scenario.flavors},
        head_usd_per_hour=scenario.head_usd_per_hour,
        switching=told.switching or true_times,
        spread=scenario.spread if policy == TOLD_SPREAD else SpeedSpread(),
        detailed=False,
        truth=truth_of(World(scenario)) if policy in (ORACLE, LIMIT) else None,
    )


def _flavor(flavor: SimulatedFlavor, told: Told) -> Flavor:
    is_burstable = told.burstable and flavor.baseline_share < 1
    knows_credits = is_burstable and told.baselines and flavor.vcpus is not None
    return Flavor(
        name=flavor.name,
        market=flavor.market,
        max_nodes=flavor.max_nodes,
        vcpus=flavor.vcpus,
        memory_bytes=flavor.memory_bytes,
        burstable=is_burstable,
        baseline_share=flavor.baseline_share if is_burstable and told.baselines else None,
        launch_credits=_launch_credits(flavor) if knows_credits else None,
    )


def _launch_credits(flavor: SimulatedFlavor) -> float:
    """Returns the CPU credits that let a fresh node run at full speed for `credits_s`."""
    return flavor.credits_s * (flavor.vcpus or 0) * (1 - flavor.baseline_share) / 60


def limits_for(scenario: Scenario) -> Limits:
    """Returns the scenario's limits, as the controller gets them."""
    return Limits(
        min_nodes=scenario.min_nodes,
        max_nodes=scenario.max_nodes,
        max_vcpus_per_flavor=scenario.max_vcpus_per_flavor,
        max_usd_per_hour=scenario.max_usd_per_hour,
        deadline_at=scenario.deadline_s,
        budget_usd=scenario.budget_usd,
        max_surge=scenario.max_surge,
    )


def truth_of(world: World) -> Truth:
    """Returns what only the oracle may know: the means over the work that remains, as far as they can be known."""
    scenario = world.scenario
    left, tokens = scenario.total_steps - world.step, scenario.tokens_until(scenario.total_steps)
    return Truth(
        {flavor.name: _mean_tokens_per_s(world, flavor) for flavor in scenario.flavors},
        scenario.communication.seconds,
        (tokens - scenario.tokens_until(world.step)) / left if left else scenario.tokens_per_step,
    )


def _mean_tokens_per_s(world: World, flavor: SimulatedFlavor) -> float:
    """Returns a flavor's mean speed over the rest of the work: without CPU credits, and drift returns to 0.

    Credits are left out, or the oracle would replace nodes again and again for those of fresh ones.
    """
    drift = expected_drift(world.nodes.drifts.get(flavor.name, 1.0), world.remaining_s(), world.scenario.troubles)
    return flavor.sustained_tokens_per_s * drift * expected_neighbour_share(world.scenario.troubles)
