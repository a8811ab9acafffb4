"""The table of burstable types, against what AWS's guide lists beside it."""

from __future__ import annotations

import pytest

from controller.domain import Credits, Flavor
from controller.observe.credits.burstable import burstable, other_modes, surplus_usd_per_hour, with_credits

SIZES = ("nano", "micro", "small", "medium", "large", "xlarge", "2xlarge")
BASELINES = {
    "t2": (0.05, 0.10, 0.20, 0.20, 0.30, 0.225, 0.17),
    "t3": (0.05, 0.10, 0.20, 0.20, 0.30, 0.40, 0.40),
    "t3a": (0.05, 0.10, 0.20, 0.20, 0.30, 0.40, 0.40),
    "t4g": (0.05, 0.10, 0.20, 0.20, 0.30, 0.40, 0.40),
}
"""The baseline utilisation per vCPU, as the guide lists it. The table has the credits earned, from which it follows."""


@pytest.mark.parametrize("family", BASELINES)
def test_credits_earned_and_vcpus_give_the_baselines_that_the_guide_lists(family: str) -> None:
    found = [burstable(f"{family}.{size}") for size in SIZES]
    assert [one.baseline_share for one in found if one] == pytest.approx(BASELINES[family])


@pytest.mark.parametrize(
    "name", ["c5.large", "t2.3xlarge", "t1.micro", "m5.large", "t2", "", "t2.large.metal", "t2.metal.large"]
)
def test_other_types_have_no_credits(name: str) -> None:
    assert burstable(name) is None
    assert with_credits(Flavor(name), "unlimited") == Flavor(name)


@pytest.mark.parametrize(
    ("name", "mode", "launch_credits", "is_unlimited", "surplus"),
    [
        ("t2.medium", None, 60.0, False, 0.0),
        ("t2.xlarge", None, 120.0, False, 0.0),
        ("t2.medium", "unlimited", 0.0, True, 0.05 * 2 * 0.8),
        ("t3.medium", None, 0.0, True, 0.05 * 2 * 0.8),
        ("t3.medium", "standard", 0.0, False, 0.0),
        ("t4g.xlarge", None, 0.0, True, 0.04 * 4 * 0.6),
    ],
)
def test_the_mode_decides_between_slow_and_expensive(
    name: str, mode: str | None, launch_credits: float, is_unlimited: bool, surplus: float
) -> None:
    flavor = with_credits(Flavor(name), mode)
    assert (flavor.launch_credits, flavor.is_unlimited, flavor.slows_down) == (
        launch_credits,
        is_unlimited,
        not is_unlimited,
    )
    assert flavor.surplus_usd_per_hour == pytest.approx(surplus)
    assert surplus_usd_per_hour(name, mode, None) == pytest.approx(surplus)


def test_launch_credits_last_for_minutes_while_the_node_earns_more() -> None:
    """A t2.medium spends 120 credits an hour and earns 24: 60 credits last 37 and a half minutes."""
    assert with_credits(Flavor("t2.medium"), None).burst_s(60.0) == pytest.approx(2250.0)
    assert Flavor("t2.medium", burstable=True).burst_s(60.0) is None


def test_a_node_pays_for_surplus_credits_when_its_own_are_spent() -> None:
    assert surplus_usd_per_hour("t3.medium", None, Credits(12.0, 0.0, 0.0)) == 0.0
    assert surplus_usd_per_hour("t3.medium", None, Credits(0.5, 0.0, 0.0)) == 0.0
    assert surplus_usd_per_hour("t3.medium", None, Credits(0.0, 0.0, 0.0)) == pytest.approx(0.08)
    assert surplus_usd_per_hour("t3.medium", None, Credits(0.5, 0.5, 0.0)) == pytest.approx(0.08)
    assert surplus_usd_per_hour("t3.medium", None, Credits(0.0, 5.0, 0.0)) == pytest.approx(0.08)
    assert surplus_usd_per_hour("t2.medium", None, Credits(0.0, 0.0, 0.0)) == 0.0


def test_surplus_credits_show_the_mode_that_an_account_has_chosen() -> None:
    assert surplus_usd_per_hour("t2.medium", None, Credits(0.0, 5.0, 0.0)) == pytest.approx(0.08)


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        ({"t3.medium": None, "t2.medium": None, "c5.large": None}, {}),
        ({"t3.medium": "unlimited", "t2.medium": "standard"}, {}),
        ({"t3.medium": "standard", "t2.medium": "unlimited"}, {"t3.medium": "standard", "t2.medium": "unlimited"}),
        ({"c5.large": "unlimited"}, {}),
    ],
)
def test_modes_that_are_not_aws_s_default_are_told(asked: dict[str, str | None], others: dict[str, str]) -> None:
    assert other_modes(asked) == others
