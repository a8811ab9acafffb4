"""Which prices can be used, and what interruptions add to them."""

from __future__ import annotations

import math

import pytest

from controller.decide.model.pricing import effective_usd_per_hour, in_their_mode, price_fault, usable_prices
from controller.decide.settings import DecideSettings, SwitchingAssumptions
from controller.domain import Credits, Flavor, Fleet, Observation, Price
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import NoPrice, PriceNotPositive, PriceStale, PriceTooHigh
from tests.unit.controller.decide.model.test_communication import fact

TIMES = SwitchingAssumptions(boot_s=600.0, configure_s=1000.0, pause_s=100.0)
SETTINGS = DecideSettings(max_usd_per_node_hour=10.0, price_max_age_s=60.0, switching=TIMES)


@pytest.mark.parametrize(
    ("price", "fault"),
    [
        (None, NoPrice()),
        (Price("a", 0.0), PriceNotPositive("0.0")),
        (Price("a", -1.0), PriceNotPositive("-1.0")),
        (Price("a", math.nan), PriceNotPositive("nan")),
        (Price("a", math.inf), PriceNotPositive("inf")),
        (Price("a", 1e-9), None),
        (Price("a", 10.0), None),
        (Price("a", 10.1), PriceTooHigh(10.1, 10.0)),
        (Price("a", 1.0, fetched_at=940.0), None),
        (Price("a", 1.0, fetched_at=939.0), PriceStale(61.0, 60.0)),
        (Price("a", 1.0), None),
    ],
)
def test_a_price_that_cannot_be_used_is_told_apart(price: Price | None, fault: Reason | None) -> None:
    assert price_fault(price, 1000.0, SETTINGS) == fault


def test_without_a_limit_prices_do_not_age() -> None:
    assert price_fault(Price("a", 1.0, fetched_at=0.0), 1e9, DecideSettings()) is None


@pytest.mark.parametrize(
    ("interruptions_per_hour", "factor"),
    [(0.0, 1.0), (1.0, 1.5), (2.0, 2.0), (-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0)],
)
def test_each_interruption_costs_the_time_of_a_replacement(interruptions_per_hour: float, factor: float) -> None:
    """A replacement takes 1,600 s and two pauses of 100 s: half an hour."""
    price = Price("a", 4.0, interruptions_per_hour=interruptions_per_hour)
    assert effective_usd_per_hour(price, SETTINGS) == pytest.approx(4.0 * factor)


def test_sound_prices_and_faults_are_told_apart_by_flavor() -> None:
    prices = {"a": Price("a", 4.0, interruptions_per_hour=1.0), "b": Price("b", 0.0), "other": Price("other", 1.0)}
    assert usable_prices(("a", "b", "c"), prices, 1000.0, SETTINGS) == (
        {"a": 6.0},
        {"b": PriceNotPositive("0.0"), "c": NoPrice()},
    )


@pytest.mark.parametrize(("surplus", "is_unlimited"), [(None, False), (0.0, False), (0.5, True)])
def test_a_node_that_spends_surplus_credits_shows_the_mode_of_its_flavor(
    surplus: float | None, is_unlimited: bool
) -> None:
    node = fact(0, 1)
    told = {} if surplus is None else {node.instance_id: Credits(0.0, surplus, 100.0)}
    present = Observation(100.0, Fleet({node.flavor: 1}), (node,), credits=told)
    flavors = {name: Flavor(name, burstable=True) for name in (node.flavor, "another")}
    found = in_their_mode(flavors, present)
    assert found == {**flavors, node.flavor: Flavor(node.flavor, burstable=True, is_unlimited=is_unlimited)}
