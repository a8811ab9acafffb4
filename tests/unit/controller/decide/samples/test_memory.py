"""Flavors that are too small for the training: who says so, and what follows for a decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import DecideSettings
from controller.decide.samples.memory import peak_bytes, too_small
from controller.domain import Flavor, Fleet, Limits, Observation, Price, TrainingState, Verdict
from controller.domain.memory import MIB, MemoryNeed, memory_shortage
from controller.domain.reasons.flavors import MemoryTooSmall
from tests.support.training import SEED_SPEEDS, Training

GIB = 1024 * MIB
NEEDED = 3 * GIB
SMALL = MemoryTooSmall(2 * GIB, NEEDED, 512 * MIB, is_measured=True)


def settings(memory: dict[str, int], **options: object) -> DecideSettings:
    """Settings in which these flavors have this memory, and the others plenty."""
    flavors = {name: Flavor(name, memory_bytes=memory.get(name, 64 * GIB)) for name in {*SEED_SPEEDS, *memory}}
    return DecideSettings(flavors=flavors, **options)  # type: ignore[arg-type]


@pytest.fixture
def without_fast(training: Training) -> Training:
    """A training on all flavors but the one that costs the least per token."""
    training.fleet = Fleet({"t2.large": 3, "t2.xlarge": 3})
    return training


@pytest.mark.parametrize(
    ("memory", "fits"), [(NEEDED + 512 * MIB, True), (NEEDED + 512 * MIB - 1, False), (0, False), (None, True)]
)
def test_a_flavor_fits_where_the_system_and_the_training_have_room(memory: int | None, fits: bool) -> None:
    assert (memory_shortage(memory, MemoryNeed(NEEDED, True), 512) is None) is fits
    assert memory_shortage(memory, None, 512) is None


def test_a_flavor_that_is_too_small_is_neither_moved_to_nor_probed_and_the_decision_says_why(
    without_fast: Training,
) -> None:
    present = without_fast.observe(peak_memory_bytes=NEEDED)
    small = settings({"c5.large": 2 * GIB})
    large = settings({})
    hints = {"c5.large": 9000.0}
    fits = without_fast.decide(settings=replace(large, hints_tokens_per_s=hints), observation=present)
    assert fits.target.count("c5.large") > 0
    decision = without_fast.decide(settings=replace(small, hints_tokens_per_s=hints), observation=present)
    assert decision.target.count("c5.large") == 0
    assert SMALL in {flavor.flavor: flavor.notes for flavor in decision.flavors}["c5.large"]
    assert all(fleet.fleet.count("c5.large") == 0 for fleet in decision.fleets)


def test_the_margin_for_the_system_is_a_setting(without_fast: Training) -> None:
    observations = (without_fast.observe(peak_memory_bytes=NEEDED),)
    memory = {"c5.large": NEEDED + 100 * MIB}
    assert set(too_small(observations, settings(memory))) == {"c5.large"}
    assert too_small(observations, settings(memory, reserved_memory_mib=100)) == {}


def test_a_flavor_that_trains_is_not_too_small_whatever_is_said(training: Training) -> None:
    present = training.observe(peak_memory_bytes=NEEDED)
    assert too_small((present,), settings(dict.fromkeys(SEED_SPEEDS, GIB))) == {}


def test_nodes_whose_flavor_seems_too_small_stay_where_they_are(training: Training) -> None:
    present = training.observe(peak_memory_bytes=NEEDED)
    silent = tuple(fact for fact in present.facts if fact.flavor != "c5.large")
    decision = training.decide(
        settings=settings({"c5.large": GIB}), observation=Observation(present.at, present.fleet, silent)
    )
    assert decision.verdict is not Verdict.REFUSE
    assert decision.target.count("c5.large") <= 1


@pytest.mark.parametrize(
    "unfit",
    [
        {"peak_memory_bytes": None},
        {"peak_memory_bytes": 0},
        {"state": TrainingState.STARTING},
        {"window": 19},
    ],
)
def test_only_a_node_that_has_trained_for_a_while_tells_the_need(training: Training, unfit: dict[str, object]) -> None:
    present = training.observe(**{"peak_memory_bytes": NEEDED, **unfit})
    long = training.observe(peak_memory_bytes=NEEDED, window=20)
    assert peak_bytes((present,), 20) == {}
    assert peak_bytes((long,), 20) == dict.fromkeys(long.fleet.present, NEEDED)
    assert too_small((present,), settings({"x1.tiny": GIB})) == {}


def test_one_node_with_a_wrong_figure_changes_nothing_where_others_of_its_flavor_train(training: Training) -> None:
    training.fleet = Fleet({"t2.large": 3})
    present = training.observe(peak_memory_bytes=NEEDED)
    for wrong in (1, 2**53 - 1):
        liar = replace(present.facts[0], peak_memory_bytes=wrong)
        facts = (liar, *present.facts[1:])
        assert peak_bytes((Observation(present.at, present.fleet, facts),), 20) == {"t2.large": NEEDED}


def test_the_need_is_that_of_the_flavor_that_needs_least_and_the_highest_peak_of_a_node(training: Training) -> None:
    training.fleet = Fleet({"t2.large": 1, "t2.xlarge": 1})
    peaks = {"t2.large": NEEDED, "t2.xlarge": 2 * NEEDED}
    present = training.observe()
    told = tuple(replace(fact, peak_memory_bytes=peaks[fact.flavor]) for fact in present.facts)
    less = Observation(present.at - 5, present.fleet, tuple(replace(f, peak_memory_bytes=MIB) for f in told))
    most = Observation(present.at, present.fleet, told)
    for observations in ((less, most), (most, replace(less, at=present.at + 5))):
        assert too_small(observations, settings({"c5.large": 2 * GIB})) == {"c5.large": SMALL}


def test_where_every_other_flavor_is_too_small_the_fleet_stays(training: Training) -> None:
    training.fleet = Fleet({"t2.xlarge": 6})
    tiny = settings({name: GIB for name in SEED_SPEEDS if name != "t2.xlarge"})
    prices = {
        "t2.xlarge": Price("t2.xlarge", 9.0),
        **{n: p for n, p in training.listed_prices.items() if n in tiny.flavors and n != "t2.xlarge"},
    }
    decision = training.decide(
        Limits(min_nodes=6, max_nodes=6), tiny, training.observe(peak_memory_bytes=NEEDED), prices
    )
    assert decision.verdict is Verdict.STAY
