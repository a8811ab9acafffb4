"""What is known of each flavor, for the record and for people."""

from __future__ import annotations

from controller.decide.model.situation import Situation
from controller.domain import FlavorEstimate
from controller.domain.reasons.flavors import NotMeasured
from controller.domain.units import usd_per_million_tokens


def node_usd_per_million_tokens(situation: Situation, flavor: str) -> float | None:
    """Returns what a million tokens cost on a node of this flavor, without the network; None while unknown."""
    speed, price = situation.speeds.get(flavor), situation.usd_per_hour.get(flavor)
    return None if speed is None or price is None else usd_per_million_tokens(price, speed.tokens_per_s)


def flavor_estimates(situation: Situation) -> tuple[FlavorEstimate, ...]:
    """Returns what is known of each flavor."""
    return tuple(_flavor_estimate(situation, flavor) for flavor in situation.flavors)


def _flavor_estimate(situation: Situation, flavor: str) -> FlavorEstimate:
    speed, barred = situation.speeds.get(flavor), situation.barred.get(flavor)
    return FlavorEstimate(
        flavor=flavor,
        usd_per_hour=situation.usd_per_hour.get(flavor),
        tokens_per_s=speed.tokens_per_s if speed else None,
        tokens_per_s_low=speed.low if speed else None,
        tokens_per_s_high=speed.high if speed else None,
        compute_time_s=speed.compute_time_s if speed else None,
        usd_per_million_tokens=node_usd_per_million_tokens(situation, flavor),
        observations=speed.steps if speed else 0,
        full_tokens_per_s=speed.burst.tokens_per_s if speed and speed.burst else None,
        notes=(*([] if barred is None else [barred]), *(speed.notes if speed else [NotMeasured()])),
    )
