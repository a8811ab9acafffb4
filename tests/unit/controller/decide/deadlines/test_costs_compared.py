"""How the costs of choices that were worked out ahead are read, averaged and compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from controller.decide.deadlines.expected_cost import best_pool, covered, expected_cost, stay_h
from controller.decide.deadlines.hypotheses import (
    ABSENCES,
    SPANS,
    STAYS,
    Floats,
    at_age,
    kinds_alone,
    kinds_and_classes,
)
from controller.decide.deadlines.seen import Covered, Seen, Stays
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, Situation, Spot
from controller.decide.deadlines.values import Values
from tests.unit.controller.decide.deadlines.test_expected_cost import STEP_S, H, seen

CHANGE_OVER_H = 0.2
JOB = Job(5 * H, 20 * H, CHANGE_OVER_H * H, STEP_S, 3.0, (1.0, 1.5))
LEVELS, SLACKS = 6, 5
KINDS = (len(STAYS), len(ABSENCES), SPANS)
TABLES = ("wait_over_on_demand", "spot_over_on_demand", "spot_over_wait", "leave_over_stay", "spot_over_stay")


class Told:
    """What the values were asked for. Their tables are made up; those that are not given hold 0."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step_h: float = 1.0, **tables: Floats | float) -> None:
        self.asked: list[tuple[Job, float, float]] = []
        shape = (LEVELS, SLACKS, *KINDS)
        made = {name: np.array(np.broadcast_to(tables.get(name, 0.0), shape)) for name in TABLES}

        def values(job: Job, usd: float, share: float) -> Values:
            self.asked.append((job, usd, share))
            return Values(step_h, **made)

        monkeypatch.setattr("controller.decide.deadlines.expected_cost._values", values)


def situation(
    known: Seen, running: Choice = WAIT, work_h: float = 3.0, slack_h: float = 3.0, left_s: float = 0.0
) -> Situation:
    available = tuple(stays.is_up for stays in known.pools)
    return Situation(JOB, work_h * H, (work_h + slack_h) * H, running, left_s, available, known)


NONE, BOTH = seen((False, False)), seen((True, True))


@pytest.mark.parametrize(
    ("known", "running", "negative", "choice"),
    [
        (NONE, WAIT, ("wait_over_on_demand",), WAIT),
        (NONE, ON_DEMAND, ("leave_over_stay",), WAIT),
        (BOTH, ON_DEMAND, ("spot_over_stay",), Spot(0)),
        (BOTH, WAIT, ("spot_over_on_demand", "spot_over_wait"), Spot(0)),
        (BOTH, WAIT, ("spot_over_wait",), ON_DEMAND),
        (BOTH, WAIT, ("spot_over_on_demand",), WAIT),
    ],
)
def test_the_choice_goes_by_the_tables_of_what_runs_and_of_what_there_is(
    monkeypatch: pytest.MonkeyPatch, known: Seen, running: Choice, negative: tuple[str, ...], choice: Choice
) -> None:
    Told(monkeypatch, **{name: -1.0 if name in negative else 1.0 for name in TABLES})
    assert expected_cost(situation(known, running)) == choice


@pytest.mark.parametrize(
    ("known", "running", "choice"),
    [(NONE, WAIT, ON_DEMAND), (NONE, ON_DEMAND, ON_DEMAND), (BOTH, ON_DEMAND, ON_DEMAND), (BOTH, WAIT, Spot(0))],
)
def test_of_two_choices_that_cost_the_same_it_does_not_wait_and_keeps_what_runs(
    monkeypatch: pytest.MonkeyPatch, known: Seen, running: Choice, choice: Choice
) -> None:
    Told(monkeypatch)
    assert expected_cost(situation(known, running)) == choice


def test_spot_that_runs_goes_on_whatever_the_costs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    Told(monkeypatch, **dict.fromkeys(TABLES, 1.0))
    assert expected_cost(situation(BOTH, Spot(0))) == Spot(0)


def test_where_spot_is_worse_than_both_the_better_one_of_them_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for over_on_demand, over_wait, choice in ((2.0, 1.0, ON_DEMAND), (1.0, 2.0, WAIT), (1.0, 1.0, WAIT)):
        Told(monkeypatch, spot_over_on_demand=over_on_demand, spot_over_wait=over_wait)
        assert expected_cost(situation(BOTH)) == choice


@pytest.mark.parametrize(
    ("running", "slack_h", "left_s", "counted"),
    [
        (ON_DEMAND, 0.5, 0.0, 0.5),
        (ON_DEMAND, 1.3, 0.0, 1.3),
        (ON_DEMAND, 1.3, 0.1 * H, 1.2),
        (ON_DEMAND, 3.5, 0.0, 3.5),
        (ON_DEMAND, 4.0, 0.0, 4.0),
        (ON_DEMAND, 9.0, 0.0, 4.0),
        (WAIT, 1.3, 0.0, 1.3 - CHANGE_OVER_H),
        (WAIT, 1.3, 0.1 * H, 1.3 - CHANGE_OVER_H),
    ],
)
def test_between_two_steps_of_slack_costs_are_interpolated(
    monkeypatch: pytest.MonkeyPatch, running: Choice, slack_h: float, left_s: float, counted: float
) -> None:
    """Slack counts from what is left of a change-over on demand, and from a whole one where on-demand does not run."""
    ramp = np.arange(SLACKS, dtype=float)[:, None, None, None]
    for limit, choice in ((counted + 2e-4, Spot(0)), (counted - 2e-4, ON_DEMAND)):
        Told(monkeypatch, spot_over_stay=ramp - limit, spot_over_on_demand=ramp - limit, spot_over_wait=-9.0)
        assert expected_cost(situation(BOTH, running, slack_h=slack_h, left_s=left_s)) == choice


@pytest.mark.parametrize(
    ("work_h", "level"), [(0.001, 1), (1.0, 1), (1.5, 2), (2.0, 2), (3.0, 3), (3.0005, 4), (5.0, 5), (9.0, 5)]
)
def test_work_counts_in_whole_steps_rounded_up(monkeypatch: pytest.MonkeyPatch, work_h: float, level: int) -> None:
    ramp = np.arange(LEVELS, dtype=float)[:, None, None, None, None]
    for limit, choice in ((level + 0.1, Spot(0)), (level - 0.1, ON_DEMAND)):
        Told(monkeypatch, spot_over_stay=ramp - limit)
        assert expected_cost(situation(BOTH, ON_DEMAND, work_h=work_h)) == choice


def test_a_step_of_the_tables_may_have_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    works = np.arange(LEVELS, dtype=float)[:, None, None, None, None]
    slacks = np.arange(SLACKS, dtype=float)[:, None, None, None]
    for limit, choice in ((2.25, Spot(0)), (2.15, ON_DEMAND)):
        Told(monkeypatch, step_h=2.0, spot_over_stay=works / 2 + slacks - limit)  # 1.5 h: 1 step; 3.4 h: 1.7 steps
        assert expected_cost(situation(BOTH, ON_DEMAND, work_h=1.5, slack_h=3.4)) == choice


RAISING = [(True, False)] * 5 + [(False, True)] * 4 + [(False, False)] * 3


@pytest.mark.parametrize(
    "looks",
    [
        [(True, True)] * 9,
        [*RAISING, (True, False), (True, False)],
        [(False, True)] * 9,
        [(False, False)] * 9,
        RAISING,
        [*RAISING, (True, True), (False, False)],
    ],
)
def test_costs_are_averaged_by_how_likely_kinds_and_ages_are(
    monkeypatch: pytest.MonkeyPatch, looks: list[tuple[bool, ...]]
) -> None:
    """By the pool that is considered, and by the absences of all together; without capacity, by the stays of all."""
    known = seen(*looks, step_s=1800.0)
    assert known.together is not None
    spot, all_of_them = best_pool(situation(known, ON_DEMAND)), known.together
    if spot is None:
        absences = kinds_and_classes(ABSENCES, all_of_them.absences, all_of_them.age_s, all_of_them.is_first).sum(
            axis=1
        )
        ages = at_age(ABSENCES, all_of_them.age_s, all_of_them.is_first)
        stays = kinds_alone(tuple(sum(pool.stays[kind] for pool in known.pools) for kind in range(len(STAYS))))
        likely = np.einsum("k,a,as->kas", stays, absences, ages)
    else:
        pool = known.pools[spot.pool]
        stays = kinds_and_classes(STAYS, pool.stays, pool.age_s, pool.is_first).sum(axis=1)
        ages = at_age(STAYS, pool.age_s, pool.is_first)
        likely = np.einsum("k,ks,a->kas", stays, ages, kinds_alone(all_of_them.absences))
    assert likely.sum() == pytest.approx(1)
    costs = np.random.default_rng(1).normal(size=KINDS)
    mean = float((likely * costs).sum())
    for limit, choice in ((mean + 1e-6, WAIT if spot is None else spot), (mean - 1e-6, ON_DEMAND)):
        Told(monkeypatch, leave_over_stay=costs - limit, spot_over_stay=costs - limit)
        assert expected_cost(situation(known, ON_DEMAND)) == choice


@pytest.mark.parametrize(
    ("looks", "usd", "spot"),
    [
        ([(False, True)], 1.5, Spot(1)),
        ([(True, False)], 1.0, Spot(0)),
        ([(True, True), (True, False), (True, False), (False, False)], 1.0, None),
    ],
)
def test_values_are_those_of_the_price_of_the_pool_or_of_the_lowest_and_of_how_likely_others_cover_it(
    monkeypatch: pytest.MonkeyPatch, looks: list[tuple[bool, ...]], usd: float, spot: Spot | None
) -> None:
    told, known = Told(monkeypatch), seen(*looks)
    expected_cost(situation(known))
    assert told.asked == [(JOB, usd, covered(known, spot))]


UP, DOWN = Stays(True), Stays(False)


@pytest.mark.parametrize(
    ("pools", "spot", "alone", "beside", "share"),
    [
        ((UP,), Spot(0), Covered(9, 9), Covered(9, 9), 0.0),
        ((UP, UP), Spot(0), Covered(), Covered(1, 0), 0.7),
        ((UP, UP), Spot(0), Covered(), Covered(2, 0), 0.7),
        ((UP, UP), Spot(1), Covered(), Covered(3, 0), 0.4),
        ((UP, UP), Spot(1), Covered(99, 99), Covered(99, 0), 0.0),
        ((UP, UP), Spot(1), Covered(99, 0), Covered(99, 99), 0.98),
        ((UP, DOWN), Spot(0), Covered(2, 0), Covered(99, 99), 0.0),
        ((UP, DOWN), Spot(0), Covered(2, 2), Covered(99, 99), 0.4),
        ((UP, DOWN), Spot(0), Covered(3, 3), Covered(), 0.7),
        ((DOWN, DOWN), None, Covered(3, 3), Covered(), 0.7),
        ((UP, DOWN), None, Covered(99, 0), Covered(99, 99), 0.98),
        ((DOWN, UP), Spot(0), Covered(99, 0), Covered(99, 99), 0.98),
    ],
)
def test_how_likely_a_loss_is_covered_is_learned_from_losses_with_and_without_capacity_elsewhere(
    pools: tuple[Stays, ...], spot: Spot | None, alone: Covered, beside: Covered, share: float
) -> None:
    assert covered(Seen(pools, UP, alone, beside), spot) == share


@pytest.mark.parametrize(("work_h", "counted_h"), [(3.0, 3.0), (0.01, STEP_S / H)])
def test_the_best_pool_has_the_least_price_with_a_change_over_for_each_expected_loss(
    work_h: float, counted_h: float
) -> None:
    known = seen(*[(True, False)] * 40, (True, True))
    old, new = (1 + CHANGE_OVER_H / stay_h(stays, counted_h) for stays in known.pools)
    present = situation(known, work_h=work_h)
    for usd, pool in ((old / new * (1 - 1e-7), 1), (old / new * (1 + 1e-7), 0)):
        assert best_pool(replace(present, job=replace(JOB, spot_usd_per_hour=(1.0, usd)))) == Spot(pool)


@pytest.mark.parametrize(
    ("running", "available", "pool"),
    [
        (WAIT, (True, True), Spot(0)),
        (Spot(1), (True, True), Spot(1)),
        (Spot(1), (True, False), Spot(0)),
        (Spot(0), (False, True), Spot(1)),
        (Spot(0), (False, False), None),
    ],
)
def test_the_best_of_equal_pools_is_the_one_that_runs_or_the_first_that_has_capacity(
    running: Choice, available: tuple[bool, ...], pool: Spot | None
) -> None:
    present = replace(situation(BOTH, running), available=available, job=replace(JOB, spot_usd_per_hour=(1.0, 1.0)))
    assert best_pool(present) == pool
