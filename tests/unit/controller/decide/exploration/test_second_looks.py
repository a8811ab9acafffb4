"""A flavor is measured by one node at first. Where that may have been a bad one, another node is worth its price."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist

import pytest

from controller.decide.exploration.probes import Exploration
from controller.decide.exploration.second_looks import (
    BAD_SHARE,
    BAD_SPEED,
    BAD_SPEED_SD,
    LEAST_CHANCE,
    Look,
    closer_looks,
    second_looks,
)
from controller.decide.model.hardware.prior import expected_speeds
from controller.decide.model.situation import Situation
from controller.decide.model.speeds import Speed
from controller.decide.samples.credits import Burst
from controller.decide.settings import DecideSettings
from controller.domain import Flavor, Fleet, History, Limits, Move, MovePhase
from controller.domain.reasons import Said
from tests.unit.controller.decide.exploration.test_exploration import exploring

USD_PER_HOUR = {"c5.large": 0.085, "m5.large": 0.096, "r5.large": 0.126}
SETTINGS = DecideSettings(flavors={name: Flavor(name, vcpus=2) for name in USD_PER_HOUR})
SURE = {"c5.large": Speed(2000.0, 0.01, steps=500, nodes=6), "r5.large": Speed(2000.0, 0.01, steps=500, nodes=6)}


def situation(speeds: Mapping[str, Speed]) -> Situation:
    made = Situation(
        now=1000.0,
        current=Fleet({"c5.large": 6}),
        observations=(),
        usd_per_hour=USD_PER_HOUR,
        price_faults={},
        limits=Limits(),
        progress=None,
        history=History(),
        settings=SETTINGS,
        flavors=tuple(USD_PER_HOUR),
    )
    made.__dict__["speeds"] = dict(speeds)
    return made


def looked_at(seen: Speed) -> dict[str, Speed]:
    return second_looks(situation({**SURE, "m5.large": seen}), ["m5.large", "x1.large"])


def test_a_node_at_a_fraction_of_what_was_expected_may_be_a_bad_one() -> None:
    seen = Speed(800.0, 0.02, steps=100, nodes=1)
    (found,) = looked_at(seen).values()
    prior = expected_speeds(["m5.large"], SURE, USD_PER_HOUR, SETTINGS)["m5.large"]

    def density(level: float, deviation: float) -> float:
        return math.exp(-(((level - math.log(prior.tokens_per_s)) / deviation) ** 2) / 2) / deviation

    bad = BAD_SHARE * density(math.log(800.0 / BAD_SPEED), math.hypot(prior.log_sd, 0.02, BAD_SPEED_SD))
    sound = (1 - BAD_SHARE) * density(math.log(800.0), math.hypot(prior.log_sd, 0.02))
    chance = bad / (bad + sound)
    assert 0.05 < chance < 0.8
    between = (math.log(found.tokens_per_s) - math.log(800.0)) / (math.log(2 * 800.0) - math.log(800.0))
    assert chance < between < 1.2 * chance, "a sound node is expected a little above the double"
    assert found.at(2.6) > 1600.0, "there is hope"


@pytest.mark.parametrize("log_se", [0.02, 0.3])
def test_what_is_expected_then_is_a_mixture_of_a_sound_and_a_bad_node(log_se: float) -> None:
    """If the node is bad, its flavor's speed is the mean of what was expected and of the double, by their precision."""
    level = math.log(800.0)
    (found,) = looked_at(Speed(800.0, log_se, steps=100, nodes=1)).values()
    prior = expected_speeds(["m5.large"], SURE, USD_PER_HOUR, SETTINGS)["m5.large"]
    mean = math.log(prior.tokens_per_s)
    spread = math.hypot(prior.log_sd, log_se, BAD_SPEED_SD)
    bad = BAD_SHARE * NormalDist(mean, spread).pdf(level - math.log(BAD_SPEED))
    sound = (1 - BAD_SHARE) * NormalDist(mean, math.hypot(prior.log_sd, log_se)).pdf(level)
    chances = bad / (bad + sound), sound / (bad + sound)
    variance = 1 / (1 / prior.log_sd**2 + 1 / BAD_SPEED_SD**2)
    if_bad = variance * (mean / prior.log_sd**2 + (level - math.log(BAD_SPEED)) / BAD_SPEED_SD**2)
    expected = chances[0] * if_bad + chances[1] * level
    spreads = (if_bad - expected) ** 2 + variance, (level - expected) ** 2 + log_se**2
    assert found.tokens_per_s == pytest.approx(math.exp(expected))
    assert found.log_se == pytest.approx(math.sqrt(chances[0] * spreads[0] + chances[1] * spreads[1]))
    assert found.is_measured is False


@pytest.mark.parametrize(
    "seen",
    [
        Speed(1800.0, 0.02, steps=100, nodes=1),
        Speed(2500.0, 0.02, steps=100, nodes=1),
        Speed(800.0, 0.02, steps=100, nodes=2),
        Speed(800.0, 0.02, steps=0, nodes=0),
        Speed(800.0, 0.02, steps=100, nodes=1, burst=Burst(2000.0)),
        Speed(800.0, 0.02, steps=10, nodes=1, is_measured=False),
    ],
    ids=["as expected", "faster", "two nodes", "earlier run", "without credits", "not measured"],
)
def test_no_second_look_is_taken_where_the_first_one_told_enough(seen: Speed) -> None:
    assert looked_at(seen) == {}


def test_a_flavor_whose_only_node_was_half_as_fast_as_expected_is_probed_again() -> None:
    speeds = {
        "a": Speed(100.0, 0.01, steps=500, nodes=2),
        "b": Speed(30.0, 0.01, steps=100, nodes=1),
    }
    one = exploring({}, speeds=speeds, flavors={"a": Flavor("a", vcpus=2), "b": Flavor("b", vcpus=2)}, steps=200_000)
    one.forecaster.situation.usd_per_hour["b"] = 0.5  # type: ignore[index]
    _, probes = one.worthwhile()
    assert [probe.flavor for probe in probes] == ["b"]
    twice = {**speeds, "b": Speed(30.0, 0.01, steps=100, nodes=2)}
    again = exploring({}, speeds=twice, flavors={"a": Flavor("a", vcpus=2), "b": Flavor("b", vcpus=2)}, steps=200_000)
    again.forecaster.situation.usd_per_hour["b"] = 0.5  # type: ignore[index]
    assert again.worthwhile()[1] == []


@pytest.mark.parametrize("nodes", [1, 3])
def test_another_node_moves_what_is_known_by_what_the_nodes_so_far_have_not_told(nodes: int) -> None:
    """By the law of total variance: what is not known now is what the look shows and what it leaves unknown."""
    seen = Speed(2000.0, 0.06, steps=100, nodes=nodes)
    found = closer_looks(situation({**SURE, "m5.large": seen}), ["m5.large", "x1.large"])
    of_a_node = nodes * seen.log_se**2
    left_unknown = 1 / (1 / seen.log_se**2 + 1 / of_a_node)
    assert list(found) == ["m5.large"]
    assert found["m5.large"].shown.tokens_per_s == 2000.0
    assert found["m5.large"].shown.log_se == pytest.approx(math.sqrt(seen.log_se**2 - left_unknown))
    assert found["m5.large"].chance_bad == 0.0, "it is as fast as expected"


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_look_tells_the_chance_that_the_only_node_was_a_bad_one_and_what_a_sound_one_shows_then(nodes: int) -> None:
    """The chance is too small for a second look at any price, but a sound node would be nearly twice as fast."""
    seen = Speed(1900.0, 0.02, steps=100, nodes=nodes)
    present = situation({**SURE, "m5.large": seen})
    assert second_looks(present, ["m5.large"]) == {}
    look = closer_looks(present, ["m5.large"])["m5.large"]
    if nodes == 1:
        assert 0 < look.chance_bad < LEAST_CHANCE
        assert 1.2 * 1900.0 < look.if_bad < 2 * 1900.0
    else:
        assert look == Look(look.shown)


def test_a_node_exactly_as_fast_as_expected_is_a_sound_one() -> None:
    prior = expected_speeds(["m5.large"], SURE, USD_PER_HOUR, SETTINGS)["m5.large"]
    seen = Speed(prior.tokens_per_s, 0.02, steps=100, nodes=1)
    look = closer_looks(situation({**SURE, "m5.large": seen}), ["m5.large"])["m5.large"]
    assert look == Look(look.shown)


def test_a_flavor_that_would_save_much_if_its_only_node_was_a_bad_one_is_probed_again() -> None:
    """`b` costs 1.2 times as much per token as `a`: its node was a bad one with a chance of some percent."""
    flavors = {name: Flavor(name, vcpus=2) for name in ("a", "b", "c")}
    sure = {name: Speed(100.0, 0.01, steps=500, nodes=4) for name in ("a", "c")}
    probed = {}
    for steps, nodes in ((2_000, 1), (200_000, 1), (200_000, 2)):
        speeds = {**sure, "b": Speed(80.0, 0.01, steps=100, nodes=nodes)}
        one = exploring({"c": (9.0, 100.0)}, speeds=speeds, flavors=flavors, steps=steps)
        one.forecaster.situation.usd_per_hour["b"] = 0.96  # type: ignore[index]
        probed[steps, nodes] = [(probe.flavor, 0 < probe.chance_bad < LEAST_CHANCE) for probe in one.worthwhile()[1]]
    assert probed == {(2_000, 1): [], (200_000, 1): [("b", True)], (200_000, 2): []}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(Speed(2000.0, 0.06, steps=0, nodes=0), id="in an earlier run"),
        pytest.param(Speed(2000.0, 0.06, steps=100, nodes=1, burst=Burst(3000.0, 600.0, {})), id="with credits"),
    ],
)
def test_no_closer_look_is_taken_at_what_was_not_measured_here_or_changes_by_itself(seen: Speed) -> None:
    assert closer_looks(situation({**SURE, "m5.large": seen}), ["m5.large"]) == {}


def test_two_flavors_that_are_nearly_alike_are_told_apart_by_another_node_where_much_work_remains() -> None:
    """`b` costs a hundredth more per token by its only node, which may be off by six hundredths."""
    speeds = {"a": Speed(100.0, 0.01, steps=500, nodes=2), "b": Speed(99.0, 0.06, steps=100, nodes=1)}
    probed = {}
    for steps in (2_000, 200_000):
        one = exploring({}, speeds=speeds, steps=steps)
        one.forecaster.situation.usd_per_hour["b"] = 1.0  # type: ignore[index]
        probed[steps] = [probe.flavor for probe in one.worthwhile()[1]]
    assert probed == {2_000: [], 200_000: ["b"]}


def test_a_flavor_whose_only_node_may_be_bad_gets_another_one_while_that_node_runs() -> None:
    """`b` costs a fifth more per token than `a` by its only node, and a third less if that is a bad one."""
    flavors = {name: Flavor(name, vcpus=2) for name in ("a", "b", "c")}
    sure = {name: Speed(100.0, 0.01, steps=500, nodes=4) for name in ("a", "c")}
    grown = {}
    for nodes in (1, 2):
        speeds = {**sure, "b": Speed(80.0, 0.01, steps=100, nodes=nodes)}
        fleet, limits = Fleet({"a": 1, "b": 1}), Limits(1, 3)
        one = exploring({"c": (9.0, 100.0)}, fleet, limits, speeds=speeds, flavors=flavors, steps=200_000)
        one.forecaster.situation.usd_per_hour["b"] = 0.96  # type: ignore[index]
        grown[nodes] = one.worthwhile()[0]
    assert grown == {1: Fleet({"a": 1, "b": 2}), 2: Fleet({"a": 1, "b": 1})}


def test_no_second_node_is_asked_for_where_the_flavor_may_have_one() -> None:
    flavors = {name: Flavor(name, vcpus=2, max_nodes=1 if name == "b" else 4) for name in ("a", "b", "c")}
    speeds = {name: Speed(100.0, 0.01, steps=500, nodes=4) for name in ("a", "c")}
    speeds["b"] = Speed(80.0, 0.01, steps=100, nodes=1)
    fleet = Fleet({"a": 1, "b": 1})
    one = exploring({"c": (9.0, 100.0)}, fleet, Limits(1, 3), speeds=speeds, flavors=flavors, steps=200_000)
    one.forecaster.situation.usd_per_hour["b"] = 0.96  # type: ignore[index]
    assert one.worthwhile()[0].count("b") == 1


@pytest.mark.parametrize(
    ("probes", "looked_at"),
    [
        ([], True),
        ([MovePhase.DONE], True),
        ([MovePhase.DONE, MovePhase.ROLLED_BACK], True),
        ([MovePhase.DONE, MovePhase.DONE], False),
    ],
    ids=["none", "one has told", "one could not be had", "one has told nothing"],
)
def test_a_flavor_of_which_more_nodes_were_tried_than_have_told_anything_is_left_alone(
    probes: list[MovePhase], looked_at: bool
) -> None:
    flavors = {name: Flavor(name, vcpus=2) for name in ("a", "b", "c")}
    speeds = {name: Speed(100.0, 0.01, steps=500, nodes=4) for name in ("a", "c")}
    speeds["b"] = Speed(80.0, 0.01, steps=100, nodes=1)
    fleet = Fleet({"a": 1, "b": 1})
    one = exploring({"c": (9.0, 100.0)}, fleet, Limits(1, 3), speeds=speeds, flavors=flavors, steps=200_000)
    probe = Move(1, 0.0, Fleet({"a": 1}), fleet, Said("to measure"), is_probe=True)
    history = History(tuple(replace(probe, phase=phase) for phase in probes))
    situation = replace(one.forecaster.situation, history=history)
    situation.__dict__["speeds"] = speeds
    outlook = Exploration(replace(one.forecaster, situation=situation), one.base).outlook
    assert ("b" in outlook.closer_looks(fleet)) == looked_at
