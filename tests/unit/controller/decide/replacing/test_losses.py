"""How often nodes are taken back is learned, and raises the price that decisions see."""

from __future__ import annotations

import pytest

from controller.decide.replacing.losses import PRIOR_NODE_HOURS, interruptions_per_hour, with_losses
from controller.domain import Price
from controller.domain.observed.spot import Exposure


def test_without_anything_seen_the_prior_holds() -> None:
    assert interruptions_per_hour(0.02, Exposure()) == pytest.approx(0.02)


def test_each_loss_raises_the_rate_and_each_quiet_hour_lowers_it() -> None:
    lost = interruptions_per_hour(0.02, Exposure(2, 10.0))
    assert lost == pytest.approx((0.02 * PRIOR_NODE_HOURS + 2) / (PRIOR_NODE_HOURS + 10))
    assert interruptions_per_hour(0.02, Exposure(0, 1000.0)) < 0.001 and lost > 0.02


def test_prices_of_nodes_on_demand_stay_as_they_are() -> None:
    prices = {"a": Price("a", 0.1), "b": Price("b", 0.03, interruptions_per_hour=0.01), "c": Price("c", 0.02)}
    learned = with_losses(prices, {"a": Exposure(0, 50.0), "b": Exposure(0, 50.0), "c": Exposure(1, 1.0)})
    assert learned["a"] == prices["a"]
    assert 0 < learned["b"].interruptions_per_hour < 0.01
    assert learned["c"].interruptions_per_hour == pytest.approx(1 / (PRIOR_NODE_HOURS + 1))


def test_a_flavor_of_which_nothing_was_seen_keeps_what_is_expected() -> None:
    prices = {"a": Price("a", 0.1, interruptions_per_hour=0.01), "b": Price("b", 0.1)}
    assert with_losses(prices, {}) == prices
