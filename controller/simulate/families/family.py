"""What a family of scenarios is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.simulate.scenario import Scenario

Change = Callable[[random.Random, Scenario], Scenario]
"""Makes a scenario of the family out of a plain random one."""


def unchanged(rng: random.Random, plain: Scenario) -> Scenario:
    """Returns the plain scenario."""
    return plain


@dataclass(frozen=True)
class Family:
    """A family of random scenarios that have one kind of ignorance."""

    name: str
    says: str
    """What is wrong in it, for people."""
    change: Change = unchanged
    flavors: tuple[int, int] = (3, 10)
    """The least and the most flavors to choose from."""


def as_long_as(plain: Scenario, changed: Scenario) -> Scenario:
    """Returns the changed scenario with as many steps as its initial fleet makes in the time of the plain one."""
    before_s, after_s = (_step_time_s(scenario) for scenario in (plain, changed))
    return replace(changed, total_steps=max(1, round(plain.total_steps * before_s / after_s)))


def _step_time_s(scenario: Scenario) -> float:
    """Returns the seconds of a step of the initial fleet, by what its nodes sustain."""
    present = scenario.initial.present.items()
    speed = sum(count * scenario.flavor(name).sustained_tokens_per_s for name, count in present)
    return scenario.tokens_per_step / speed + scenario.communication.seconds(scenario.initial.size)
