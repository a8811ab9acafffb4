"""Which flavors are probed, and which are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import Batches, DecideSettings
from controller.domain import Flavor, Fleet, History, Limits, Verdict
from controller.domain.reasons.deciding import MeasuresFlavors

SETTINGS = DecideSettings(flavors={name: Flavor(name, vcpus=2) for name in ("t2.large", "c5.large")})


@pytest.fixture
def six_t2(training):
    """Six nodes of t2.large. The cheaper c5.large is as fast by its vCPUs, and was never measured."""
    training.fleet = Fleet({"t2.large": 6})
    return training


def test_a_flavor_that_could_win_is_measured_with_one_node(six_t2):
    decision = six_t2.decide(settings=SETTINGS)
    assert decision.verdict is Verdict.MOVE and decision.is_probe
    assert decision.target == Fleet({"t2.large": 5, "c5.large": 1})
    assert isinstance(decision.reason, MeasuresFlavors)
    assert [*decision.reason.gains_usd] == ["c5.large"]
    assert decision.reason.gains_usd["c5.large"] > decision.reason.cost_usd > 0
    assert decision.reason.also is None


@pytest.mark.parametrize(
    ("settings", "limits", "history"),
    [
        (replace(SETTINGS, probe_share=0.0), Limits(6, 6), History()),
        (replace(SETTINGS, batches=Batches.EQUAL), Limits(6, 6), History()),
        (SETTINGS, Limits(6, 6, max_nodes_per_flavor={"c5.large": 0}), History()),
        (SETTINGS, Limits(6, 6), History(unavailable={"c5.large": 1e9})),
        (replace(SETTINGS, hints_tokens_per_s={"c5.large": 300.0}), Limits(6, 6), History()),
    ],
    ids=["no probe budget", "equal batches", "no room", "unavailable", "hopeless"],
)
def test_nothing_is_measured_without_budget_room_or_hope(six_t2, settings, limits, history):
    decision = six_t2.decide(limits, settings, history=history)
    assert not decision.is_probe
    assert not decision.target.count("c5.large")


def test_a_probe_that_could_make_the_training_miss_its_deadline_is_not_made(six_t2):
    needed_s = six_t2.decide(settings=replace(SETTINGS, probe_share=0.0)).fleets[0].remaining_s
    tight = six_t2.decide(Limits(6, 6, deadline_at=six_t2.now + 1.0052 * needed_s), SETTINGS)
    roomy = six_t2.decide(Limits(6, 6, deadline_at=six_t2.now + 1.5 * needed_s), SETTINGS)
    assert roomy.is_probe
    assert not tight.is_probe
