"""How many nodes of a flavor may be used: limits, quotas, flavors that could not be had, moves that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide.limits.caps import (
    FAILURE_MEMORY_S,
    UNBOUNDED,
    failed_caps,
    fruitless,
    node_cap,
    unavailable_reasons,
)
from controller.decide.settings import DecideSettings
from controller.domain import Flavor, Fleet, History, Limits, Move, MovePhase
from controller.domain.reasons import Said
from controller.domain.reasons.flavors import Excluded, FlavorsNotObtained, UnavailableForNow

SETTINGS = DecideSettings(flavors={"a": Flavor("a", vcpus=4, max_nodes=20), "b": Flavor("b", vcpus=4)})


@pytest.mark.parametrize(
    ("flavor", "limits", "cap"),
    [
        ("a", Limits(), 20),
        ("b", Limits(), UNBOUNDED),
        ("new", Limits(), UNBOUNDED),
        ("b", Limits(min_nodes=UNBOUNDED + 5), UNBOUNDED + 5),
        ("b", Limits(max_nodes=7), 7),
        ("a", Limits(max_nodes=30), 20),
        ("a", Limits(max_nodes_per_flavor={"a": 5, "b": 1}), 5),
        ("a", Limits(max_nodes_per_flavor={"b": 1}), 20),
        ("a", Limits(max_vcpus_per_flavor={"a": 11}), 2),
        ("a", Limits(max_vcpus_per_flavor={"a": 12}), 3),
        ("new", Limits(max_vcpus_per_flavor={"new": 12}), UNBOUNDED),
        ("a", Limits(max_nodes_per_flavor={"a": -1}), 0),
    ],
)
def test_the_lowest_limit_counts(flavor: str, limits: Limits, cap: int) -> None:
    assert node_cap(flavor, limits, SETTINGS) == cap


def test_a_quota_of_vcpus_says_nothing_of_a_flavor_whose_vcpus_are_unknown() -> None:
    settings = DecideSettings(flavors={"a": Flavor("a")})
    assert node_cap("a", Limits(max_vcpus_per_flavor={"a": 4}), settings) == UNBOUNDED


def test_flavors_that_are_excluded_or_unavailable_are_named_with_the_reason() -> None:
    limits = Limits(excluded={"a": "too noisy"})
    history = History(unavailable={"a": 500.0, "b": 160.0, "c": 100.0, "d": 99.0})
    assert unavailable_reasons(("a", "b", "c", "d", "e"), limits, history, 100.0) == {
        "a": Excluded("too noisy"),
        "b": UnavailableForNow(60.0),
    }


def failed(source: dict[str, int], target: dict[str, int], ended_at: float | None, number: int = 1) -> Move:
    phase = MovePhase.ROLLED_BACK
    return Move(number, 100.0, Fleet(source), Fleet(target), Said("cheaper"), phase, ended_at=ended_at)


@pytest.mark.parametrize(("had", "wanted", "cap"), [(0, 8, 4), (2, 8, 5), (0, 1, 0), (0, 3, 1)])
def test_after_a_failure_half_of_what_was_wanted_is_tried(had: int, wanted: int, cap: int) -> None:
    move = failed({"a": had, "b": 3}, {"a": wanted, "b": 1}, 200.0)
    assert failed_caps(History((move,)), 300.0) == {"a": cap}


@pytest.mark.parametrize(("ended_at", "begins"), [(200.0, 200.0), (None, 100.0)])
def test_a_failure_is_remembered_for_two_hours(ended_at: float | None, begins: float) -> None:
    history = History((failed({}, {"a": 8}, ended_at),))
    until = begins + 2 * FAILURE_MEMORY_S
    assert failed_caps(history, until - 1) == {"a": 4}
    assert failed_caps(history, until) == {}


def test_each_further_failure_is_remembered_for_twice_as_long_and_the_least_counts() -> None:
    history = History((failed({}, {"a": 8}, 200.0), failed({}, {"a": 4}, 300.0, 2), failed({}, {"b": 4}, 300.0, 3)))
    assert failed_caps(history, 400.0) == {"a": 2, "b": 2}
    assert failed_caps(history, 300.0 + 4 * FAILURE_MEMORY_S - 1) == {"a": 2}
    assert failed_caps(history, 300.0 + 4 * FAILURE_MEMORY_S) == {}
    third = failed({}, {"a": 4}, 400.0, 3)
    thrice = History((failed({}, {"a": 8}, 200.0), failed({}, {"a": 4}, 300.0, 2), third))
    assert failed_caps(thrice, 400.0 + 8 * FAILURE_MEMORY_S - 1) == {"a": 2}
    assert failed_caps(thrice, 400.0 + 8 * FAILURE_MEMORY_S) == {}
    growing = History((failed({}, {"a": 4}, 200.0), failed({}, {"a": 8}, 300.0, 2)))
    assert failed_caps(growing, 400.0) == {"a": 2}


def test_where_it_is_known_which_flavor_failed_the_others_are_not_blamed() -> None:
    move = failed({}, {"a": 8, "b": 8}, 200.0)
    assert failed_caps(History((move,)), 300.0) == {"a": 4, "b": 4}
    assert failed_caps(History((move,), unavailable={"b": 1.0}), 300.0) == {"b": 4}


def test_only_moves_that_were_undone_count() -> None:
    done = Move(1, 100.0, Fleet({}), Fleet({"a": 8}), Said("cheaper"), MovePhase.DONE, ended_at=200.0)
    assert failed_caps(History((done, failed({}, {"b": 2}, 200.0, 2))), 300.0) == {"b": 1}


def test_a_move_that_names_what_it_could_not_get_says_nothing_of_its_other_flavors() -> None:
    """`b` became unavailable later. Its node of the first move ended because of `a`."""
    first = replace(failed({}, {"a": 1, "b": 1}, 200.0), outcome_reason=FlavorsNotObtained(("a",)))
    later = replace(failed({"b": 1}, {"b": 5}, 300.0, 2), outcome_reason=FlavorsNotObtained(("b",)))
    assert failed_caps(History((first, later), unavailable={"a": 900.0, "b": 900.0}), 400.0) == {"a": 0, "b": 3}


def moved(source: dict[str, int], target: dict[str, int], ended_at: float, *, is_probe: bool = True) -> Move:
    fleets = Fleet(source), Fleet(target)
    return Move(1, ended_at - 50.0, *fleets, Said("x"), MovePhase.DONE, is_probe=is_probe, ended_at=ended_at)


WITH_B, ALONE = {"a": 3, "b": 1}, {"a": 3}
BACK = moved(WITH_B, ALONE, 400.0, is_probe=False)


@pytest.mark.parametrize(
    ("moves", "measured", "found"),
    [
        ((moved(ALONE, WITH_B, 200.0), BACK), {"a"}, {"b"}),
        ((moved(ALONE, WITH_B, 200.0), BACK), {"a", "b"}, set()),
        ((moved(ALONE, WITH_B, 200.0, is_probe=False), BACK), {"a"}, set()),
        ((moved(ALONE, WITH_B, 200.0),), {"a"}, set()),
        ((moved(ALONE, WITH_B, 200.0), moved(WITH_B, {"b": 4}, 400.0)), {"a"}, set()),
        ((failed(ALONE, WITH_B, 200.0), BACK), {"a"}, set()),
    ],
    ids=["silent", "measured", "no probe", "still there", "went on", "never there"],
)
def test_a_probe_that_ends_without_a_measurement_was_fruitless(
    moves: tuple[Move, ...], measured: set[str], found: set[str]
) -> None:
    assert fruitless(History(moves), measured, 500.0) == found


def test_a_flavor_is_probed_again_some_hours_later_and_after_each_further_time_in_vain_twice_as_late() -> None:
    once, since = (moved(ALONE, WITH_B, 200.0), BACK), BACK.at
    assert fruitless(History(once), {"a"}, since + 2 * FAILURE_MEMORY_S - 1) == {"b"}
    assert fruitless(History(once), {"a"}, since + 2 * FAILURE_MEMORY_S) == set()
    twice = (*once, *once)
    assert fruitless(History(twice), {"a"}, since + 4 * FAILURE_MEMORY_S - 1) == {"b"}
    assert fruitless(History(twice), {"a"}, since + 4 * FAILURE_MEMORY_S) == set()
