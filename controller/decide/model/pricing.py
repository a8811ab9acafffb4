"""Which prices can be used, and why the others cannot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from controller.decide.settings import DecideSettings
from controller.domain import SECONDS_PER_HOUR, Flavor, Observation, Price
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import NoPrice, PriceNotPositive, PriceStale, PriceTooHigh


def price_fault(price: Price | None, now: float, settings: DecideSettings) -> Reason | None:
    """Returns why a price cannot be used; None for a sound price."""
    if price is None:
        return NoPrice()
    if not math.isfinite(price.usd_per_hour) or price.usd_per_hour <= 0:
        return PriceNotPositive(str(price.usd_per_hour))
    if price.usd_per_hour > settings.max_usd_per_node_hour:
        return PriceTooHigh(price.usd_per_hour, settings.max_usd_per_node_hour)
    if settings.price_max_age_s is not None and price.fetched_at is not None:
        age_s = now - price.fetched_at
        if age_s > settings.price_max_age_s:
            return PriceStale(age_s, settings.price_max_age_s)
    return None


def effective_usd_per_hour(price: Price, settings: DecideSettings) -> float:
    """Returns a node's price with the expected cost of its interruptions.

    Each interruption pays for a replacement that boots and is configured without working. The cost of the pause for the
    rest of the fleet is left out, as it depends on the fleet.
    """
    expected = price.interruptions_per_hour if math.isfinite(price.interruptions_per_hour) else 0.0
    lost_h = max(0.0, expected) * (settings.switching.grow_s + 2 * settings.switching.pause_s) / SECONDS_PER_HOUR
    return price.usd_per_hour * (1 + lost_h)


def _surplus_usd_per_hour(name: str, settings: DecideSettings) -> float:
    """Returns what a node pays for surplus CPU credits: a node that trains uses all its vCPUs, and has saved none."""
    flavor = settings.flavors.get(name)
    return 0.0 if flavor is None else flavor.surplus_usd_per_hour


def in_their_mode(flavors: Mapping[str, Flavor], present: Observation) -> dict[str, Flavor]:
    """Returns the flavors, each in the mode that its nodes show: only a node in unlimited mode spends surplus credits.

    The mode of a flavor may be another one than its settings say: an account has a default of its own.
    """
    spending = {f.flavor for f in present.facts if (c := present.credits.get(f.instance_id)) and c.surplus > 0}
    return {name: replace(one, is_unlimited=True) if name in spending else one for name, one in flavors.items()}


def usable_prices(
    flavors: Iterable[str], prices: Mapping[str, Price], now: float, settings: DecideSettings
) -> tuple[dict[str, float], dict[str, Reason]]:
    """Returns the dollars per node and hour of the flavors with a sound price, and the faults of the others."""
    sound: dict[str, float] = {}
    faults: dict[str, Reason] = {}
    for flavor in flavors:
        price = prices.get(flavor)
        fault = price_fault(price, now, settings)
        if fault is not None:
            faults[flavor] = fault
        elif price is not None:
            sound[flavor] = effective_usd_per_hour(price, settings) + _surplus_usd_per_hour(flavor, settings)
    return sound, faults
