"""Checks of an environment's limits against its prices, before anything costs money."""

from __future__ import annotations

from collections.abc import Mapping

from controller.config.environment import Environment
from controller.domain.errors import ConfigError
from controller.words.numbers import usd


def check_limits(environment: Environment, prices: Mapping[str, float]) -> None:
    """Raises ConfigError when the limits allow no fleet at all, or not the one that the training starts on."""
    limits, file = environment.settings.limits, environment.settings_file
    if limits.max_nodes is not None and limits.max_nodes < limits.min_nodes:
        raise ConfigError(
            f"{file}: limits.max_nodes ({limits.max_nodes}) is below min_nodes ({limits.min_nodes}).",
            "No fleet can meet both: raise the one or lower the other.",
        )
    if limits.budget_usd is not None:
        check_budget(environment, limits.budget_usd)
    initial = environment.initial_fleet
    _check_some_fleet_fits(environment, prices)
    if initial.size == 0:
        raise ConfigError(f"{file}: fleet.initial has no nodes.", "A training needs at least one: add a flavor.")
    if limits.max_usd_per_hour is not None and initial.usd_per_hour(prices) > limits.max_usd_per_hour:
        raise ConfigError(
            f"{file}: fleet.initial costs {usd(initial.usd_per_hour(prices))} an hour, above limits.max_usd_per_hour "
            f"({usd(limits.max_usd_per_hour)}).",
            "Start on a smaller or cheaper fleet, or raise the limit.",
        )
    for flavor, count in initial.present.items():
        most = limits.max_nodes_per_flavor.get(flavor)
        if most is not None and count > most:
            raise ConfigError(
                f"{file}: fleet.initial.{flavor} is {count}, above limits.max_nodes_per_flavor ({most}).",
                "Lower the one or raise the other.",
            )


def check_budget(environment: Environment, budget_usd: float) -> None:
    """Raises ConfigError when a budget is above the environment's ceiling."""
    ceiling_usd = environment.settings.limits.ceiling_usd
    if ceiling_usd is not None and budget_usd > ceiling_usd:
        raise ConfigError(
            f"The budget of {usd(budget_usd)} is above limits.ceiling_usd ({usd(ceiling_usd)}) of"
            f" {environment.settings_file}.",
            "Give a smaller budget, or raise the ceiling there.",
        )


def _check_some_fleet_fits(environment: Environment, prices: Mapping[str, float]) -> None:
    """Raises ConfigError when no fleet of `min_nodes` nodes is within the limits per flavor and of cost."""
    limits, file = environment.settings.limits, environment.settings_file
    known = {*environment.initial_fleet, *limits.max_nodes_per_flavor} - set(limits.exclude)
    usable = sorted((prices[flavor], flavor) for flavor in known if flavor in prices)
    left, cheapest = limits.min_nodes, 0.0
    for price, flavor in usable:
        taken = min(left, limits.max_nodes_per_flavor.get(flavor, left))
        left, cheapest = left - taken, cheapest + taken * price
    if left:
        raise ConfigError(
            f"{file}: the limits allow no fleet: the flavors that may be used give at most "
            f"{limits.min_nodes - left} nodes, and limits.min_nodes is {limits.min_nodes}.",
            "Raise limits.max_nodes_per_flavor, lower limits.min_nodes, or exclude fewer flavors.",
        )
    if limits.max_usd_per_hour is not None and cheapest > limits.max_usd_per_hour:
        raise ConfigError(
            f"{file}: the limits allow no fleet: {limits.min_nodes} nodes cost at least {usd(cheapest)} an hour, and "
            f"limits.max_usd_per_hour is {usd(limits.max_usd_per_hour)}.",
            "Raise limits.max_usd_per_hour or lower limits.min_nodes.",
        )
