"""What a policy is told of a scenario: before the training begins, and, if it is the oracle, all along."""

from __future__ import annotations

from controller.decide import DecideSettings, SwitchingAssumptions, Truth
from controller.domain import Flavor, Limits, Market
from controller.simulate.disturbances import expected_drift, expected_neighbour_share
from controller.simulate.scenario import Scenario, SimulatedFlavor, Told
from controller.simulate.world import World


def settings_for(scenario: Scenario, policy: str) -> DecideSettings:
    """Returns a policy's settings in a scenario: what it is told of flavors and of switching, but not the speeds."""
    told = Told() if policy == "oracle" else scenario.told
    true_times = SwitchingAssumptions(scenario.boot_s, scenario.configure_s, scenario.pause_s, scenario.drain_s)
    return DecideSettings(
        policy=policy,
        objective=scenario.objective,
        batches=scenario.batches,
        flavors={flavor.name: _flavor(flavor, told) for flavor in scenario.flavors},
        head_usd_per_hour=scenario.head_usd_per_hour,
        switching=told.switching or true_times,
        detailed=False,
        truth=truth_of(World(scenario)) if policy == "oracle" else None,
    )


def _flavor(flavor: SimulatedFlavor, told: Told) -> Flavor:
    is_burstable = told.burstable and flavor.baseline_share < 1
    knows_credits = is_burstable and told.baselines and flavor.vcpus is not None
    return Flavor(
        name=flavor.name,
        market=Market.SPOT if flavor.spot else Market.ON_DEMAND,
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
    """Returns a flavor's mean speed over the rest of the work: credits are spent first, and drift returns to 0.

    The rest is taken as long as on the first fleet, so that what is true does not depend on what runs.
    """
    ahead_s, troubles = _ahead_s(world), world.scenario.troubles
    lefts = [max(0.0, node.credits_s - node.worked_s) for node in world.nodes.working if node.flavor == flavor]
    full_s = min(sum(lefts) / len(lefts) if lefts else flavor.credits_s, ahead_s)
    full = full_s / ahead_s if ahead_s > 0 else 0.0
    credit_share = full + (1 - full) * flavor.baseline_share
    drift = expected_drift(world.nodes.drifts.get(flavor.name, 1.0), ahead_s, troubles)
    return flavor.tokens_per_s * credit_share * drift * expected_neighbour_share(troubles)


def _ahead_s(world: World) -> float:
    """Returns how long the rest of the work would take on the first fleet, without credits."""
    scenario, present = world.scenario, world.scenario.initial.present.items()
    speed = sum(count * scenario.flavor(name).sustained_tokens_per_s for name, count in present)
    tokens = scenario.tokens_until(scenario.total_steps) - scenario.tokens_until(world.step)
    steps_s = (scenario.total_steps - world.step) * scenario.communication.seconds(scenario.initial.size)
    return tokens / speed + steps_s
