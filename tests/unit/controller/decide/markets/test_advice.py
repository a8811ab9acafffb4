"""What a run with a deadline is advised to run on, and in which situation of the deadline's policy it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide.deadlines import situation as deadlines
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Spot
from controller.decide.markets.advice import advice
from controller.decide.markets.timeline import seen_of
from controller.decide.model.situation import Situation
from controller.domain import Fleet, History, NoticeKind
from controller.domain.observed.spot import Noticed
from tests.unit.controller.decide.markets.test_buyable import (
    DEMAND,
    DONE_STEPS,
    FLAVORS,
    NODES,
    OTHER,
    QUICK,
    SETTINGS,
    SPEEDS,
    SPOT,
    STEP_S,
    on_demand_flavors,
    situation,
)

START_S = 210.0
"""What a start takes, with its two pauses."""


def asked(monkeypatch: pytest.MonkeyPatch, present: Situation) -> deadlines.Situation:
    """Returns the situation that the policy of the deadline is asked in."""
    situations: list[deadlines.Situation] = []

    def policy(asked_in: deadlines.Situation) -> Choice:
        situations.append(asked_in)
        return WAIT

    monkeypatch.setattr("controller.decide.markets.advice.expected_cost", policy)
    assert advice(present) is not None
    [found] = situations
    return found


def begun_at(time: float, present: Situation) -> Situation:
    """Returns a situation of a training that began at another time."""
    assert present.progress is not None
    return replace(present, progress=replace(present.progress, started_at=time))


def test_nodes_that_have_made_a_step_work_and_the_others_still_start(monkeypatch: pytest.MonkeyPatch) -> None:
    works = situation({DEMAND: NODES})
    [present] = works.observations
    starts = replace(works, observations=(replace(present, at=present.at - 60.0), replace(present, facts=())))
    assert asked(monkeypatch, works).change_over_left_s == 0.0
    assert asked(monkeypatch, starts).change_over_left_s == pytest.approx(START_S)


def test_advice_is_given_before_any_node_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on from a checkpoint may know its speeds and its progress without a single observation."""
    unseen = situation({})
    assert unseen.observations == () and asked(monkeypatch, unseen).running == WAIT


def test_pools_were_seen_since_the_beginning_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Noticed("i-1", SPOT, NoticeKind.INTERRUPTION, 100.0)
    present = begun_at(50.0, situation({}, history=History(noticed=(lost,))))
    seen = asked(monkeypatch, present).seen
    assert seen == seen_of({SPOT: True, OTHER: True}, present.history, 50.0, present.now)
    assert seen.pools[1].age_s == present.now - 50.0


@pytest.mark.parametrize(
    ("fleet", "unavailable", "lost", "available"),
    [
        ({}, (), None, (True, True)),
        ({}, (SPOT,), None, (False, True)),
        ({SPOT: NODES}, (SPOT,), None, (True, True)),
        ({}, (), SPOT, (False, True)),
        ({}, (OTHER,), SPOT, (True, False)),
        ({SPOT: NODES}, (), SPOT, (True, True)),
    ],
)
def test_a_pool_may_have_capacity_while_it_runs_or_could_be_had_and_has_not_just_lost_nodes(
    monkeypatch: pytest.MonkeyPatch,
    fleet: dict[str, int],
    unavailable: tuple[str, ...],
    lost: str | None,
    available: tuple[bool, bool],
) -> None:
    noticed = () if lost is None else (Noticed("i-1", lost, NoticeKind.INTERRUPTION, 900.0),)
    history = History(noticed=noticed, unavailable=dict.fromkeys(unavailable, 1e9))
    assert asked(monkeypatch, situation(fleet, history=history)).available == available


def test_what_the_policy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    present = situation({SPOT: NODES}, left_s=20_000.0, settings=replace(SETTINGS, look_s=30.0, head_usd_per_hour=0.05))
    found = asked(monkeypatch, begun_at(-1000.0, present))
    assert found.work_left_s == pytest.approx(10_000.0)
    assert (found.time_left_s, found.running) == (20_000.0, Spot(0))
    assert (found.job.step_s, found.job.idle_usd_per_hour, found.job.time_s) == (30.0, 0.05, 22_000.0)
    assert found.job.work_s == 11_000.0


def test_a_decision_comes_after_a_second_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, situation({}, settings=replace(SETTINGS, look_s=0.0))).job.step_s == 1.0


@pytest.mark.parametrize(
    ("runs", "spare_s", "may_try"),
    [(SPOT, 600.0, True), (SPOT, 599.0, False), (DEMAND, 1200.0, True), (DEMAND, 1199.0, False)],
)
def test_a_move_may_be_tried_while_on_demand_could_begin_after_it_and_after_the_cool_down_of_leaving_it(
    runs: str, spare_s: float, may_try: bool
) -> None:
    """A try takes 600 s at most, the cool-down 300 s, and the work may take 3% of 10,000 s longer than is believed."""
    found = advice(situation({runs: NODES}, left_s=10_000.0 + START_S + spare_s))
    assert found is not None and found.is_open and found.may_try is may_try


@pytest.mark.parametrize(("spare_s", "is_open", "choice"), [(300.0, True, Spot(0)), (299.0, False, ON_DEMAND)])
def test_on_demand_begins_when_it_could_not_at_the_next_look(spare_s: float, is_open: bool, choice: Choice) -> None:
    """A look takes longer than a start here, so that spot would work meanwhile."""
    settings = replace(SETTINGS, look_s=300.0)
    found = advice(situation({SPOT: NODES}, left_s=10_000.0 + START_S + spare_s, settings=settings))
    assert found is not None and (found.is_open, found.choice) == (is_open, choice)


def test_what_ranks_last_said_of_their_progress_counts_while_they_are_silent() -> None:
    told = situation({SPOT: NODES})
    silent = replace(told, progress=None, history=replace(told.history, progress=told.progress))
    assert advice(silent) == advice(told) is not None


def test_there_is_no_advice_without_a_deadline_a_spot_flavor_or_any_progress() -> None:
    known = situation({DEMAND: NODES})
    nowhere = replace(known.limits, deadline_at=None)
    only = {DEMAND: FLAVORS[DEMAND]}
    assert advice(known) is not None
    assert advice(replace(known, limits=nowhere)) is None
    assert advice(situation({DEMAND: NODES}, settings=replace(SETTINGS, flavors=only))) is None
    assert advice(replace(known, progress=None)) is None


def test_advice_tells_what_runs_and_how_much_time_is_needed_and_left() -> None:
    found = advice(situation({SPOT: NODES}, left_s=20_000.0))
    assert found is not None
    assert (found.choice, found.running, found.left_s) == (Spot(0), Spot(0), 20_000.0)
    assert found.needed_s == pytest.approx(10_000.0 + START_S)
    assert found.buyable.on_demand == Fleet({DEMAND: NODES})


@pytest.mark.parametrize(("left_s", "is_advised"), [(9_500.0, False), (10_100.0, True)])
def test_nodes_on_demand_stay_unless_they_are_expected_to_be_late_and_others_are_not_sure_to_be_in_time(
    left_s: float, is_advised: bool
) -> None:
    """The work takes 10,000 s. `QUICK` may do it in less, as a hint says. A try takes a second here."""
    flavors, prices = on_demand_flavors(m5_2xlarge=0.4)
    settings = replace(SETTINGS, flavors=flavors, confidence=0.99, attempt_s=0.0, cooldown_s=0.0)
    settings = replace(settings, hints_tokens_per_s={QUICK: 3300.0})
    found = advice(situation({DEMAND: NODES}, left_s=left_s, settings=settings, prices=prices))
    assert (found is not None) is is_advised
    if found is not None:
        assert found.choice == ON_DEMAND and found.needed_s > left_s + 1.0


@pytest.mark.parametrize(("work_s", "late_s", "is_advised"), [(10_000.0, 190.0, True), (1000.0, 190.0, False)])
def test_on_demand_is_not_begun_where_it_would_be_late_by_a_tenth_of_what_it_needs(
    work_s: float, late_s: float, is_advised: bool
) -> None:
    """By less than an attempt of 600 s in both. Spot that runs does the work in time."""
    faster = {**SPEEDS, SPOT: 2 * SPEEDS[DEMAND]}
    steps = DONE_STEPS + round(work_s / STEP_S)
    found = advice(situation({SPOT: NODES}, left_s=work_s + START_S - late_s, steps=steps, speeds=faster))
    assert (found is not None) is is_advised
