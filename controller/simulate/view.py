"""What the controller sees of a simulated world while the training runs, and nothing else: facts, prices, progress."""

from __future__ import annotations

import random
from collections.abc import Sequence

from controller.domain import Fact, Observation, Price, Progress
from controller.simulate.world import World


def observation_of(world: World, facts: Sequence[Fact] | None = None) -> Observation:
    """Returns what runs, with the facts of the moment, or with these."""
    of_now = world.nodes.facts(world.now, world.step, world.steady_since_step) if facts is None else tuple(facts)
    return Observation(world.now, world.nodes.fleet(), of_now)


class View:
    """The controller's view of one world. Where the scenario says so, facts come late, and some not at all."""

    def __init__(self, world: World) -> None:
        self._world, self._troubles = world, world.scenario.troubles
        self._late: list[tuple[float, tuple[Fact, ...]]] = []
        self._rng = random.Random(f"missing facts of {world.scenario.seed}")

    def look_after(self, seconds: float) -> Observation:
        """Lets so many seconds pass, or fewer where something shows earlier, and returns what is seen then."""
        world, notice_s, delay_s = self._world, self._world.scenario.interval_s, self._troubles.facts_delay_s
        when = world.now + seconds
        if not delay_s:
            world.run_until(when, notice_s)
            return observation_of(world, self._received(observation_of(world).facts))
        world.run_until(when - delay_s, notice_s)
        self._late.append((world.now, observation_of(world).facts))
        world.run_until(when, notice_s)
        return observation_of(world, self._received(self._arrived()))

    def _arrived(self) -> tuple[Fact, ...]:
        """Returns the latest facts that are old enough to have arrived, and forgets those before them."""
        arrived = [facts for at, facts in self._late if at <= self._world.now - self._troubles.facts_delay_s]
        self._late = self._late[max(0, len(arrived) - 1) :]
        return arrived[-1] if arrived else ()

    def _received(self, facts: Sequence[Fact]) -> Sequence[Fact]:
        """Returns the facts without those that go missing."""
        missing = self._troubles.missing_facts_share
        return [fact for fact in facts if self._rng.random() >= missing] if missing else facts

    def progress(self) -> Progress:
        """Returns how far the training is."""
        steps, scenario = int(self._world.step), self._world.scenario
        return Progress(steps, scenario.total_steps, int(scenario.tokens_until(steps)), 0.0, self._world.now)

    def prices(self, is_told: bool) -> dict[str, Price]:
        """Returns the prices of the moment, by flavor.

        Args:
            is_told: Whether the rates of interruptions are told even where the scenario withholds them.
        """
        scenario = self._world.scenario
        shown = 1.0 if is_told or scenario.told.interruptions else 0.0
        usd = self._world.usd_per_hour
        return {
            f.name: Price(f.name, usd[f.name], interruptions_per_hour=shown * f.interruptions_per_hour)
            for f in scenario.flavors
        }
