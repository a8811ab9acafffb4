"""What the controller sees of a simulated world, and nothing else: facts, prices and progress."""

from __future__ import annotations

from controller.domain import Observation, Price, Progress
from controller.simulate.world import World


def observation_of(world: World) -> Observation:
    """Returns the facts of the moment."""
    facts = world.nodes.facts(world.now, world.step, world.steady_since_step)
    return Observation(world.now, world.nodes.fleet(), facts)


def progress_of(world: World) -> Progress:
    """Returns how far the training is."""
    steps, scenario = int(world.step), world.scenario
    return Progress(steps, scenario.total_steps, int(steps * scenario.tokens_per_step), 0.0, world.now)


def prices_of(world: World) -> dict[str, Price]:
    """Returns the prices of the moment, by flavor."""
    return {
        flavor.name: Price(
            flavor.name, world.usd_per_hour[flavor.name], interruptions_per_hour=flavor.interruptions_per_hour
        )
        for flavor in world.scenario.flavors
    }
