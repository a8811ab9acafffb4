"""How often nodes of a flavor are taken back, learned from this run and earlier ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.domain import Price
from controller.domain.observed.spot import Exposure

PRIOR_NODE_HOURS = 24.0
"""What is assumed before anything was seen weighs as much as so many hours of a node."""


def interruptions_per_hour(prior: float, exposure: Exposure) -> float:
    """Returns the expected interruptions of one node in an hour.

    Args:
        prior: What is expected where nothing was seen.
        exposure: What was seen. The result is the mean of the posterior of a Poisson rate whose prior is a gamma
            distribution (Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.6).
    """
    return (prior * PRIOR_NODE_HOURS + exposure.lost) / (PRIOR_NODE_HOURS + exposure.node_hours)


def with_losses(prices: Mapping[str, Price], losses: Mapping[str, Exposure]) -> dict[str, Price]:
    """Returns the prices with the interruptions that are expected after these losses.

    Only a flavor that has been taken back, or is expected to be, changes: nodes on demand stay as they are.
    """
    return {name: _learned(price, losses.get(name)) for name, price in prices.items()}


def _learned(price: Price, exposure: Exposure | None) -> Price:
    if exposure is None or not (exposure.lost or price.interruptions_per_hour):
        return price
    return replace(price, interruptions_per_hour=interruptions_per_hour(price.interruptions_per_hour, exposure))
