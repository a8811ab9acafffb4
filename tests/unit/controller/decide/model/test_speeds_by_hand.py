"""Speeds from a few facts, worked out by hand: which facts count, since when, and how large the error is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from controller.decide.model.speeds import NOTHING_KNOWN, Speed, measure_speeds
from controller.decide.samples.credits import Accounts
from controller.decide.samples.windows import is_usable, median, samples_of
from controller.decide.settings import DecideSettings, Truth
from controller.domain import EarlierSpeed, Fact, Flavor, Fleet, Observation, TrainingState
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import (
    BadNodesLeftOut,
    CreditsSpent,
    FellForGood,
    JudgedByBaseline,
    KnownFromEarlierRun,
    TooFewSteps,
)
from tests.unit.controller.decide.model.test_communication import fact

SETTINGS = DecideSettings()
FLAVOR = "c5.large"


def measured(
    looks: Sequence[Observation],
    earlier: Mapping[str, EarlierSpeed],
    settings: DecideSettings,
    accounts: Accounts = NOTHING_KNOWN,
) -> dict[str, Speed]:
    """Returns the speeds by what was seen."""
    return measure_speeds(samples_of(looks, settings), earlier, settings, accounts)


def seen(*nodes: Sequence[float], windows: Sequence[int] = (), settings: DecideSettings = SETTINGS) -> Speed:
    """Returns the speed from windows of these tokens per second, node by node; each has 50 steps unless told."""
    looks = []
    for number in range(max(len(levels) for levels in nodes)):
        window = windows[number] if windows else 50
        facts = [
            fact(node, len(nodes), step=1000 * number, tokens=levels[number], compute_s=1.0, window=window)
            for node, levels in enumerate(nodes)
            if number < len(levels)
        ]
        looks.append(Observation(100.0 + number, Fleet({FLAVOR: len(nodes)}), tuple(facts)))
    return measured(looks, {}, settings)[FLAVOR]


def logs(*values: float) -> list[float]:
    return [math.exp(value) for value in values]


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"state": TrainingState.DRAINING}, True),
        ({"state": TrainingState.STARTING}, False),
        ({"state": TrainingState.FINISHED}, False),
        ({"window": 20}, True),
        ({"window": 19}, False),
        *(({"tokens": wrong}, False) for wrong in (None, 0.0, -1.0, math.nan, math.inf)),
        *(({"compute_time_s": wrong}, False) for wrong in (None, 0.0, -1.0, math.nan, math.inf)),
        ({"tokens": 0.5, "compute_time_s": 0.5}, True),
        ({"updated_at": 105.0}, True),
        ({"updated_at": 105.5}, False),
        ({"updated_at": 0.0}, True),
    ],
)
def test_a_fact_counts_that_is_sound_and_over_enough_steps(changes: dict[str, Any], counts: bool) -> None:
    one = replace(fact(0, 1), **changes)
    assert is_usable(one, 100.0, SETTINGS) is counts
    assert (FLAVOR in measured([Observation(100.0, Fleet({FLAVOR: 1}), (one,))], {}, SETTINGS)) is counts


@pytest.mark.parametrize(("later", "steps"), [(1000, 50), (1049, 50), (1050, 100), (999, 100), (1100, 100)])
def test_windows_that_overlap_count_once(later: int, steps: int) -> None:
    facts: list[Fact] = [fact(0, 1, step=1000), fact(0, 1, step=later)]
    looks = [Observation(100.0 + n, Fleet({FLAVOR: 1}), (one,)) for n, one in enumerate(facts)]
    assert measured(looks, {}, SETTINGS)[FLAVOR].steps == steps


def test_a_fact_that_does_not_count_hides_none_that_is_told_after_it() -> None:
    """The first rank has just started, and then its next window is not over yet."""
    first = fact(0, 2, step=1000, window=5), fact(1, 2, step=1000)
    second = fact(0, 2, step=1050, window=50), fact(1, 2, step=1050)
    third = fact(0, 2, step=1051, window=50), fact(1, 2, step=1100)
    looks = [Observation(100.0 + n, Fleet({FLAVOR: 2}), facts) for n, facts in enumerate((first, second, third))]
    assert [measured(looks[: n + 1], {}, SETTINGS)[FLAVOR].steps for n in range(3)] == [50, 150, 200]


@pytest.mark.parametrize(("values", "middle"), [([3.0], 3.0), ([5.0, 1.0], 3.0), ([9.0, 1.0, 4.0], 4.0)])
def test_the_median_is_the_middle_or_the_mean_of_two(values: list[float], middle: float) -> None:
    assert median(values) == middle


def error(within: float, samples: int, between: float, nodes: int) -> float:
    """Returns the error of a median: that of a mean times the root of pi/2."""
    return math.sqrt(math.pi / 2 * (within / samples + between / nodes))


def step_prior(window: float) -> float:
    """Returns the variance of a window's median that is assumed: steps vary by 10%."""
    return math.pi / 2 * 0.10**2 / window


NODE_PRIOR = 0.03**2


def test_the_error_of_one_window_is_what_is_assumed() -> None:
    found = seen([2000.0])
    assert (found.steps, found.nodes, found.compute_time_s, found.is_measured) == (50, 1, 1.0, True)
    assert found.log_se == pytest.approx(error(step_prior(50), 1, NODE_PRIOR, 1))


def test_windows_that_are_all_alike_make_the_assumed_noise_smaller() -> None:
    found = seen([2000.0] * 4, windows=(20, 40, 60, 80))
    assert found.steps == 200
    assert found.log_se == pytest.approx(error(4 * step_prior(50) / 7, 4, NODE_PRIOR, 1))


def test_the_error_has_the_noise_within_nodes_and_between_them() -> None:
    """Within: deviations 0.1, 0, 0.1, 0.02, 0, 0.02. Between: 0.1 and 0.1."""
    found = seen(logs(0.0, 0.1, 0.2), logs(0.28, 0.30, 0.32))
    within = (4 * step_prior(50) + 4 * (1.4826 * 0.02) ** 2) / 8
    between = (4 * NODE_PRIOR + 1 * (1.4826 * 0.1) ** 2) / 5
    assert found.tokens_per_s == pytest.approx(math.exp(0.2))
    assert found.nodes == 2
    assert found.log_se == pytest.approx(error(within, 6, between, 2))


def test_a_node_with_one_window_tells_nothing_of_the_noise_within_nodes() -> None:
    found = seen(logs(0.0, 0.1, 0.2), logs(0.3))
    within = (4 * step_prior(50) + 2 * (1.4826 * 0.1) ** 2) / 6
    between = (4 * NODE_PRIOR + 1 * (1.4826 * 0.1) ** 2) / 5
    assert found.log_se == pytest.approx(error(within, 4, between, 2))


def test_an_interval_of_95_percent_is_about_two_errors_wide() -> None:
    one = Speed(100.0, 0.5)
    assert (one.low, one.high) == pytest.approx((100 * math.exp(-0.98), 100 * math.exp(0.98)))
    assert one.at(0.0) == 100.0


@pytest.mark.parametrize(
    ("levels", "counted"),
    [
        ([2000.0] * 30, 20),
        ([2000.0] * 2 + [1000.0] * 3, 5),
        ([2000.0] * 3 + [1000.0] * 3, 3),
        ([2000.0] * 6 + [1000.0] * 5, 5),
        ([1000.0] * 6 + [2000.0] * 4, 4),
        ([2000.0] * 5 + [1850.0] * 3, 8),
        ([2000.0] * 5 + [1790.0] * 3, 3),
        ([2000.0] * 5 + [1000.0, 1000.0, 2000.0], 3),
        ([1000.0] * 3 + [2000.0] * 8, 11),
        ([1.0] * 5 + [2.0] + [4.0] * 3, 3),
        ([4.0] * 5 + [2.0] + [1.0] * 3, 4),
        ([0.904] * 5 + [0.9990745099403855] * 3, 8),
        (logs(0.0, 0.1, -0.1, 0.1, -0.1, -0.4, -0.4, -0.4), 8),
        (logs(0.0, 0.1, -0.1, 0.1, -0.1, -0.5, -0.5, -0.5), 3),
    ],
    ids=[
        "the last twenty",
        "too few to tell",
        "just enough",
        "slower for long",
        "faster",
        "a small change",
        "a change that counts",
        "the last one as before",
        "a slow start is no change",
        "halfway to a faster speed",
        "halfway to a slower speed",
        "exactly the most that is no change",
        "within the noise",
        "beyond the noise",
    ],
)
def test_windows_count_since_the_node_last_changed(levels: list[float], counted: int) -> None:
    assert seen(levels).steps == 50 * counted


@pytest.mark.parametrize(
    ("levels", "truth", "bad"),
    [
        ([2000.0, 2000.0, 1590.0], None, {"i-2": 0.795}),
        ([2000.0, 2000.0, 1610.0], None, {}),
        ([1.0, 1.0, 0.8], None, {}),
        ([2000.0, 1000.0], None, {"i-1": 0.5}),
        ([2000.0, 1610.0], None, {}),
        ([2000.0], None, {}),
        (logs(0.0, 0.13, -0.62), None, {"i-2": math.exp(-0.685)}),
        (logs(0.0, 0.13, -0.42), None, {}),
        (logs(-0.2, -0.1, 0.0, 0.1, 0.2, -0.5), None, {}),
        (logs(-0.04, -0.02, 0.0, 0.02, 0.04, -0.5), None, {"i-5": math.exp(-0.5)}),
        ([1590.0], 2000.0, {"i-0": 0.795}),
        ([1610.0], 2000.0, {}),
        ([2000.0, 1000.0], 2000.0, {"i-1": 0.5}),
        ([2000.0, 2000.0, 1000.0], 1000.0, {}),
    ],
)
def test_a_node_far_slower_than_the_truth_or_most_others_is_bad(
    levels: list[float], truth: float | None, bad: dict[str, float]
) -> None:
    known = None if truth is None else Truth({FLAVOR: truth, "other": 9.0}, lambda size: 0.0, 1000.0)
    found = seen(*([level] for level in levels), settings=DecideSettings(truth=known))
    assert found.bad_nodes == pytest.approx(bad)
    assert found.nodes == max(1, len(levels) - len(bad))
    assert found.notes == ((BadNodesLeftOut(tuple(bad)),) if bad else ())


def test_the_truth_about_other_flavors_says_nothing() -> None:
    truth = Truth({"other": 9000.0}, lambda size: 0.0, 1000.0)
    assert seen([2000.0], [1000.0], settings=DecideSettings(truth=truth)) == seen([2000.0], [1000.0])


HALF = Flavor(FLAVOR, burstable=True, baseline_share=0.5)


@pytest.mark.parametrize(
    ("flavor", "last", "tokens_per_s", "notes"),
    [
        (HALF, 2000.0, 1000.0, (JudgedByBaseline(0.5),)),
        (HALF, 1510.0, 755.0, (JudgedByBaseline(0.5),)),
        (HALF, 1490.0, 1490.0, (CreditsSpent(),)),
        (replace(HALF, baseline_share=0.4), 1400.0, 1400.0, (CreditsSpent(),)),
        (replace(HALF, baseline_share=1.0), 1490.0, 1490.0, (JudgedByBaseline(1.0),)),
        (replace(HALF, baseline_share=None), 1490.0, 1490.0, (FellForGood(("i-0",), 0.7450000000000003, 0),)),
        (replace(HALF, burstable=False), 1490.0, 1490.0, (FellForGood(("i-0",), 0.7450000000000003, 0),)),
    ],
)
def test_a_burstable_flavor_counts_with_what_it_sustains(
    flavor: Flavor, last: float, tokens_per_s: float, notes: tuple[Reason, ...]
) -> None:
    found = seen([2000.0] * 6 + [last] * 6, settings=DecideSettings(flavors={FLAVOR: flavor}))
    assert found.tokens_per_s == pytest.approx(tokens_per_s)
    assert found.notes == notes


def test_slow_windows_of_a_node_that_has_credits_do_not_count() -> None:
    found = seen([2000.0, 2000.0, 1200.0, 1000.0], settings=DecideSettings(flavors={FLAVOR: HALF}))
    assert found.tokens_per_s == pytest.approx(1000.0)
    assert found.steps == 100


TRUTH = Truth({FLAVOR: 2000.0}, lambda size: 0.0, 1000.0)


@pytest.mark.parametrize(
    ("flavor", "truth", "slows_down"),
    [(HALF, None, True), (HALF, TRUTH, False), (replace(HALF, burstable=False), None, False)],
)
def test_credits_that_last_for_a_while_are_told_where_a_flavor_slows_down_and_the_truth_does_not_tell(
    flavor: Flavor, truth: Truth | None, slows_down: bool
) -> None:
    found = seen([2000.0] * 6, settings=DecideSettings(flavors={FLAVOR: flavor}, truth=truth))
    assert (found.burst is not None) is slows_down


@pytest.mark.parametrize(
    ("fast", "known", "full"),
    [([2100.0], 1900.0, 2100.0), ([], 1900.0, 1900.0), ([], None, 2000.0), ([900.0], 1900.0, 1900.0)],
    ids=["a node with credits", "measured before", "only the baseline", "bad"],
)
def test_the_speed_with_credits_is_that_of_nodes_that_have_some_or_was_measured_before(
    fast: list[float], known: float | None, full: float
) -> None:
    """The others have fallen from 1,900 to 1,000 tokens/s, and their baseline is half of full speed."""
    accounts = Accounts(full_tokens_per_s={} if known is None else {FLAVOR: known})
    levels = [[1900.0] * 6 + [1000.0] * 6] * 3 + [[speed] * 12 for speed in fast]
    looks = [
        Observation(
            100.0 + n,
            Fleet({FLAVOR: 4}),
            tuple(fact(i, 4, step=1000 * n, tokens=x[n], compute_s=1.0, window=50) for i, x in enumerate(levels)),
        )
        for n in range(12)
    ]
    found = measured(looks, {}, DecideSettings(flavors={FLAVOR: HALF}), accounts)[FLAVOR]
    assert found.burst is not None and found.burst.tokens_per_s == pytest.approx(full)
    assert found.tokens_per_s == pytest.approx(1000.0)


def test_a_node_without_credits_is_bad_beside_the_truth_which_counts_them() -> None:
    known = DecideSettings(flavors={FLAVOR: HALF}, truth=TRUTH)
    assert seen([2000.0] * 6 + [1000.0] * 6, settings=known).bad_nodes == pytest.approx({"i-0": 0.5})


@pytest.mark.parametrize(("minimum_steps", "is_measured"), [(50, True), (51, False)])
def test_a_flavor_is_measured_from_so_many_steps_on(minimum_steps: int, is_measured: bool) -> None:
    found = seen([2000.0], settings=DecideSettings(minimum_steps=minimum_steps))
    assert found.is_measured is is_measured
    assert found.notes == (() if is_measured else (TooFewSteps(50, 51),))


KNOWN = Speed(1500.0, 0.25, notes=(KnownFromEarlierRun(),))


@pytest.mark.parametrize(
    ("minimum_steps", "known", "from_earlier"),
    [
        (50, {FLAVOR: 1500.0, "other": 0.5}, {"other"}),
        (51, {FLAVOR: 1500.0}, {FLAVOR}),
        (51, {FLAVOR: 0.0, "x": -1.0, "y": math.inf, "z": math.nan}, set()),
    ],
)
def test_a_speed_from_an_earlier_run_counts_until_the_flavor_is_measured(
    minimum_steps: int, known: Mapping[str, float], from_earlier: set[str]
) -> None:
    looks = [Observation(100.0, Fleet({FLAVOR: 1}), (fact(0, 1),))]
    earlier = {flavor: EarlierSpeed(speed, 0.25) for flavor, speed in known.items()}
    found = measured(looks, earlier, DecideSettings(minimum_steps=minimum_steps))
    assert {*found} == {FLAVOR, *from_earlier}
    for flavor in from_earlier:
        assert found[flavor] == replace(KNOWN, tokens_per_s=known[flavor])
    assert FLAVOR in from_earlier or found[FLAVOR].steps == 50
