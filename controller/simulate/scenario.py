"""The scenario of a simulation: the true flavors, the training, the limits, and what goes wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from controller.decide import Batches, Objective, SpeedSpread, SwitchingAssumptions
from controller.decide.model.communication import Communication
from controller.domain import Fleet, Market
from controller.simulate.troubles import NO_TROUBLES, Troubles


class ScenarioError(ValueError):
    """Says that a scenario file cannot be used, where and why."""


@dataclass(frozen=True)
class SimulatedFlavor:
    """A flavor with its true speed, which policies find out by measuring."""

    name: str
    usd_per_hour: float
    tokens_per_s: float
    vcpus: int | None = None
    spot: bool = False
    interruptions_per_hour: float = 0.0
    baseline_share: float = 1.0
    """Of a burstable flavor: the share of its speed that is left when the credits are spent."""
    credits_s: float = 0.0
    """How long a fresh node runs at full speed."""
    max_nodes: int | None = None
    capacity: int | None = None
    """How many nodes EC2 has, which policies do not know; None: any number."""
    boots: bool = True
    memory_bytes: int | None = None

    @property
    def market(self) -> Market:
        """How it is bought."""
        return Market.SPOT if self.spot else Market.ON_DEMAND

    @property
    def sustained_tokens_per_s(self) -> float:
        """Its speed once credits are spent."""
        return self.tokens_per_s * self.baseline_share


@dataclass(frozen=True)
class PriceChange:
    """A change of a price: from `at_s` on the flavor costs `usd_per_hour`."""

    at_s: float
    flavor: str
    usd_per_hour: float


@dataclass(frozen=True)
class Told:
    """What policies are told before the training begins. The oracle is told everything."""

    switching: SwitchingAssumptions | None = None
    """How long a move is believed to take; None: they are told the truth."""
    burstable: bool = True
    """Whether they know which flavors are burstable."""
    baselines: bool = True
    """Whether they know the baselines of burstable flavors."""
    interruptions: bool = True
    """Whether they know how often spot nodes are interrupted."""


@dataclass(frozen=True)
class Scenario:
    """One simulated training. Times are seconds since its start."""

    name: str
    seed: int
    flavors: tuple[SimulatedFlavor, ...]
    initial: Fleet
    total_steps: int
    tokens_per_step: float
    communication: Communication = field(default_factory=Communication)
    head_usd_per_hour: float = 0.0
    min_nodes: int = 1
    max_nodes: int | None = None
    max_vcpus_per_flavor: Mapping[str, int] = field(default_factory=dict)
    max_usd_per_hour: float | None = None
    max_surge: int | None = None
    deadline_s: float | None = None
    budget_usd: float | None = None
    objective: Objective = Objective.COST
    batches: Batches = Batches.BALANCED
    step_cv: float = 0.10
    heavy_tail_share: float = 0.02
    """The share of facts that are off by a factor of up to three."""
    node_cv: float = 0.03
    bad_node_share: float = 0.02
    """The share of nodes that run at half their flavor's speed."""
    price_changes: tuple[PriceChange, ...] = ()
    boot_s: float = 90.0
    boot_sigma: float = 0.3
    """Spread of the logarithm of the boot time."""
    boot_timeout_s: float = 600.0
    configure_s: float = 120.0
    pause_s: float = 5.0
    drain_s: float = 60.0
    no_capacity_after_s: float = 90.0
    """How long it takes to learn that there is no capacity."""
    unavailable_s: float = 1800.0
    """How long a flavor that could not be had is left alone. Each further failure in a row doubles it."""
    needed_memory_bytes: int | None = None
    """What a worker process needs, which policies learn from the facts; None: no fact tells."""
    told: Told = field(default_factory=Told)
    spread: SpeedSpread = field(default_factory=SpeedSpread)
    """How far speeds really spread, which only the policy `told-spread` is told."""
    troubles: Troubles = NO_TROUBLES
    interval_s: float = 60.0
    longest_interval_s: float = math.inf
    """The most seconds between two passes while nothing changes."""
    window: int = 50
    warm_up_steps: int = 5

    def flavor(self, name: str) -> SimulatedFlavor:
        """Returns the flavor of this name. Raises KeyError."""
        return self._by_name[name]

    def tokens_at(self, step: float) -> float:
        """Returns the target tokens of the step that follows this many steps."""
        return self.tokens_per_step * self.troubles.batch_factor(step)

    def tokens_until(self, step: float) -> float:
        """Returns the target tokens of so many first steps."""
        return self.tokens_per_step * self.troubles.batch_sum(step)

    @cached_property
    def _by_name(self) -> dict[str, SimulatedFlavor]:
        return {flavor.name: flavor for flavor in self.flavors}


def _flavor(name: str, raw: Mapping[str, Any]) -> SimulatedFlavor:
    try:
        return SimulatedFlavor(name=name, **raw)
    except TypeError as error:
        raise ScenarioError(f"flavor {name}: {error}") from error


def _told(raw: Mapping[str, Any]) -> Told:
    switching = raw.get("switching")
    return Told(**{**raw, "switching": None if switching is None else SwitchingAssumptions(**switching)})


def parse_scenario(raw: Mapping[str, Any], name: str, prices: Mapping[str, float] | None = None) -> Scenario:
    """Returns the scenario that the mapping of a YAML file describes.

    Args:
        raw: The mapping.
        name: The scenario's name, unless the mapping has one.
        prices: Dollars an hour of the flavors without `usd_per_hour`.

    Raises:
        ScenarioError: A flavor, a key or a value cannot be used.
    """
    values = dict(raw)
    flavors = []
    for flavor, properties in dict(values.pop("flavors", {})).items():
        known = {"usd_per_hour": prices[flavor]} if prices and flavor in prices else {}
        flavors.append(_flavor(flavor, {**known, **properties}))
    if not flavors:
        raise ScenarioError(f"scenario {name} has no flavors")
    try:
        coefficients = values.pop("communication_s", (0.0, 0.0, 0.0, 0.0))
        values["communication"] = Communication(tuple(float(c) for c in coefficients))  # type: ignore[arg-type]
        values["initial"] = Fleet(values.pop("initial"))
        values["price_changes"] = tuple(PriceChange(**change) for change in values.pop("price_changes", ()))
        values["objective"] = Objective(values.pop("objective", "cost"))
        values["batches"] = Batches(values.pop("batches", "balanced"))
        values["told"] = _told(values.pop("told", {}))
        values["spread"] = SpeedSpread(**values.pop("spread", {}))
        values["troubles"] = Troubles.parsed(values.pop("troubles", {}))
        scenario = Scenario(name=values.pop("name", name), seed=values.pop("seed", 1), flavors=tuple(flavors), **values)
    except (TypeError, ValueError, KeyError) as error:
        raise ScenarioError(f"scenario {name}: {error}") from error
    unknown = sorted(set(scenario.initial) - {flavor.name for flavor in flavors})
    if unknown:
        raise ScenarioError(f"scenario {name}: flavors of the initial fleet are not described: {', '.join(unknown)}")
    return scenario


def load_scenario(path: Path, prices: Mapping[str, float] | None = None) -> Scenario:
    """Reads a scenario from a YAML file. Raises ScenarioError, and OSError when the file cannot be read."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ScenarioError(f"{path} is not YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ScenarioError(f"{path} is not a mapping")
    return parse_scenario(raw, path.stem, prices)
