"""Random scenarios, around real prices where a price list is given."""

from __future__ import annotations

import csv
import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from controller.decide import Objective
from controller.decide.model.communication import Communication
from controller.domain import SECONDS_PER_HOUR, Fleet
from controller.simulate.scenario import PriceChange, Scenario, ScenarioError, SimulatedFlavor

INSTANCE_FAMILIES = (
    "t2",
    "t3",
    "t3a",
    "c4",
    "c5",
    "c5a",
    "c6i",
    "c6a",
    "c7i",
    "m4",
    "m5",
    "m5a",
    "m6i",
    "m7i",
    "r5",
    "r6i",
)
BASELINE_SHARES = {"medium": 0.20, "large": 0.30, "xlarge": 0.40, "2xlarge": 0.40}
"""The baselines of burstable flavors, as EC2 documents them for t3."""
FALLBACK_USD_PER_VCPU_HOUR = {"t": 0.0232, "c": 0.0425, "m": 0.048, "r": 0.063}
"""Approximate prices of a vCPU of each family in us-east-1, for use without a price list."""
TOKENS_PER_S_OF_A_VCPU = 900.0


def read_prices(path: Path) -> dict[str, float]:
    """Reads a price list with the columns instance_type and usd_per_hour. Raises ScenarioError, OSError."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        try:
            return {row["instance_type"]: float(row["usd_per_hour"]) for row in rows}
        except (KeyError, ValueError, TypeError) as error:
            raise ScenarioError(f"{path} is not a price list with instance_type and usd_per_hour: {error}") from error


def vcpus_of(flavor: str) -> int | None:
    """Returns the vCPUs by the size in an instance type's name; None where the name does not tell."""
    size = flavor.partition(".")[2]
    if size in ("medium", "large"):
        return 2
    if size == "xlarge":
        return 4
    match = re.fullmatch(r"(\d+)xlarge", size)
    return 4 * int(match[1]) if match else None


def _made_up_prices() -> dict[str, float]:
    sizes = {"medium": 2, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16}
    return {
        f"{family}.{size}": vcpus * FALLBACK_USD_PER_VCPU_HOUR[family[0]]
        for family in INSTANCE_FAMILIES
        for size, vcpus in sizes.items()
        if size != "medium" or family[0] == "t"
    }


def _catalogue(prices: Mapping[str, float]) -> list[tuple[str, float, int]]:
    """Returns the flavors of `INSTANCE_FAMILIES`, with price and vCPUs."""
    found = []
    for flavor, price in sorted(prices.items()):
        vcpus = vcpus_of(flavor)
        if flavor.partition(".")[0] in INSTANCE_FAMILIES and vcpus and 0.02 <= price <= 2.0:
            found.append((flavor, price, vcpus))
    return found


def _flavor(
    rng: random.Random, name: str, price: float, vcpus: int, per_family: Mapping[str, float]
) -> SimulatedFlavor:
    """Returns a flavor with a true speed: its family's speed per vCPU, less than proportional to size, with noise."""
    family, _, size = name.partition(".")
    speed = TOKENS_PER_S_OF_A_VCPU * vcpus**0.92 * per_family[family] * math.exp(rng.gauss(0.0, 0.10))
    is_burstable = family.startswith("t")
    is_spot = not is_burstable and rng.random() < 0.12
    return SimulatedFlavor(
        name=name,
        usd_per_hour=round(price * rng.uniform(0.3, 0.5), 4) if is_spot else price,
        tokens_per_s=speed,
        vcpus=vcpus,
        spot=is_spot,
        interruptions_per_hour=rng.uniform(0.01, 0.06) if is_spot else 0.0,
        baseline_share=BASELINE_SHARES.get(size, 1.0) if is_burstable else 1.0,
        credits_s=rng.uniform(900.0, 3600.0) if is_burstable else 0.0,
        capacity=rng.randint(0, 6) if rng.random() < 0.08 else None,
        boots=rng.random() >= 0.02,
    )


def random_scenario(
    seed: int, prices: Mapping[str, float] | None = None, flavors_between: tuple[int, int] = (3, 10)
) -> Scenario:
    """Returns the scenario of a seed: the same for the same seed and price list.

    Args:
        seed: Where all random numbers begin.
        prices: Dollars an hour by flavor; None: prices that are made up.
        flavors_between: The least and the most flavors to choose from.
    """
    rng = random.Random(seed)
    per_family = {family: math.exp(rng.gauss(0.0, 0.25)) for family in INSTANCE_FAMILIES}
    catalogue = _catalogue(prices or _made_up_prices())
    picked = rng.sample(catalogue, rng.randint(*flavors_between))
    flavors = [_flavor(rng, *entry, per_family) for entry in picked]
    obtainable = [f for f in flavors if f.boots and (f.capacity is None or f.capacity >= 1)]
    if not obtainable:
        flavors[0] = SimulatedFlavor(picked[0][0], picked[0][1], 1000.0, picked[0][2])
        obtainable = [flavors[0]]
    initial = _initial(rng, obtainable)
    speed = sum(
        count * next(f for f in flavors if f.name == name).sustained_tokens_per_s for name, count in initial.items()
    )
    compute_s = rng.uniform(0.3, 3.0)
    communication = _communication(rng, initial.size, compute_s)
    step_s = compute_s + communication.seconds(initial.size)
    hours = math.exp(rng.uniform(math.log(6.0), math.log(96.0)))
    is_fixed = rng.random() < 0.4
    draft = Scenario(
        name=f"random-{seed}",
        seed=seed,
        flavors=tuple(flavors),
        initial=initial,
        total_steps=int(hours * SECONDS_PER_HOUR / step_s),
        tokens_per_step=compute_s * speed,
        communication=communication,
        head_usd_per_hour=rng.choice([0.0, 0.0416, 0.096]),
        min_nodes=initial.size if is_fixed else max(1, initial.size // 2),
        max_nodes=initial.size if is_fixed else 2 * initial.size,
        price_changes=_price_changes(rng, flavors, hours * SECONDS_PER_HOUR),
    )
    return _constrained(rng, draft, hours * SECONDS_PER_HOUR)


def _initial(rng: random.Random, flavors: list[SimulatedFlavor]) -> Fleet:
    """Returns one node of each of some flavors, or a fleet of one flavor."""
    if rng.random() < 0.4:
        kinds = rng.randint(min(3, len(flavors)), min(6, len(flavors)))
        return Fleet({flavor.name: 1 for flavor in rng.sample(flavors, kinds)})
    flavor = rng.choice(flavors)
    most = 32 if flavor.capacity is None else flavor.capacity
    return Fleet({flavor.name: min(most, round(math.exp(rng.uniform(math.log(4), math.log(32)))))})


def _communication(rng: random.Random, size: int, compute_s: float) -> Communication:
    """Returns a communication that takes 5% to 40% as long as computing at the first world size."""
    shares = [rng.random() for _ in range(3)]
    seconds = compute_s * rng.uniform(0.05, 0.40)
    reference = max(size, 2)
    units = (1.0, (reference - 1) / reference, math.log2(reference))
    c0, c1, c2 = (seconds * share / sum(shares) / unit for share, unit in zip(shares, units, strict=True))
    return Communication((c0, c1, c2, 0.0))


def _price_changes(rng: random.Random, flavors: list[SimulatedFlavor], seconds: float) -> tuple[PriceChange, ...]:
    """Returns a few small changes of the spot prices."""
    changes = []
    for flavor in flavors:
        if flavor.spot:
            for _ in range(rng.randint(0, 4)):
                usd_per_hour = round(flavor.usd_per_hour * math.exp(rng.gauss(0.0, 0.15)), 4)
                changes.append(PriceChange(rng.uniform(0.0, seconds), flavor.name, usd_per_hour))
    return tuple(sorted(changes, key=lambda change: change.at_s))


def _constrained(rng: random.Random, draft: Scenario, seconds: float) -> Scenario:
    """Returns the scenario with a deadline, a budget, a quota, or none of them."""
    chance = rng.random()
    changes: dict[str, object] = {}
    if chance < 0.25:
        changes["deadline_s"] = seconds * rng.uniform(0.5, 1.5)
    elif chance < 0.35:
        price = draft.initial.usd_per_hour({f.name: f.usd_per_hour for f in draft.flavors}) + draft.head_usd_per_hour
        changes["objective"] = Objective.TIME
        changes["budget_usd"] = price * seconds / SECONDS_PER_HOUR * rng.uniform(0.7, 2.0)
    if rng.random() < 0.2:
        quota = {f.name: (f.vcpus or 2) * rng.randint(1, 8) for f in draft.flavors}
        kept = {n: max(q, draft.initial.count(n) * (draft.flavor(n).vcpus or 2)) for n, q in quota.items()}
        changes["max_vcpus_per_flavor"] = kept
    return replace(draft, **changes)  # type: ignore[arg-type]
