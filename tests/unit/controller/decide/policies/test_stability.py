"""When nothing may move, whatever is cheaper: each case at the very moment where the answer changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest
from training import Training

from controller.decide import DecideSettings, DecisionInput, Objective
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.situation import Situation, assess
from controller.decide.policies.stability import (
    AGREEING_LOG_SE,
    busy_reason,
    ending_reason,
    going_back_reason,
    overlap_reason,
    waiting_reason,
)
from controller.decide.settings import SwitchingAssumptions
from controller.domain import Fleet, Limits, Move, MovePhase, Observation, Progress
from controller.domain.reasons import Said
from controller.domain.reasons.deciding import (
    CoolingDown,
    EndsSoon,
    FewStepsLeft,
    MoveUnderWay,
    NoStepsLeft,
    NoWorkerRuns,
    ProgressUnknown,
    SpeedHasFallen,
    WaitingForFacts,
    WithinUncertainty,
)

TARGET = Fleet({"c5.large": 6})
SWITCHING = SwitchingAssumptions(boot_s=30.0, configure_s=70.0)


def situation(training: Any, now: float | None = None, **settings: Any) -> Situation:
    """The training's situation, as if its facts had been seen at the time that it is."""
    given = DecisionInput(
        (training.observe(),),
        training.listed_prices,
        Limits(min_nodes=6, max_nodes=6),
        training.progress,
        training.history,
        DecideSettings(cooldown_s=300.0, measure_timeout_s=900.0, **{"switching": SWITCHING, **settings}),
    )
    made = assess(given)
    return made if now is None else replace(made, now=now)


def move(ended_at: float | None, phase: MovePhase = MovePhase.DONE, number: int = 1, at: float = 100.0) -> Move:
    return Move(number, at, Fleet({"t2.large": 6}), TARGET, Said("cheaper"), phase, ended_at=ended_at)


class Doubted(FleetModel):
    """A model of which the test says how uncertain the difference of two fleets is."""

    difference_se = 0.0

    def log_cost_difference_se(self, fleet: Mapping[str, int], other: Mapping[str, int]) -> float:
        assert other == TARGET and fleet == Training().fleet
        return self.difference_se


# A move under way, and the cool-down


def test_without_any_move_nothing_is_under_way(training: Any) -> None:
    assert busy_reason(situation(training)) is None


def test_a_move_under_way_is_named(training: Any) -> None:
    training.moves = (move(150.0), move(None, MovePhase.JOINING, number=2))
    assert busy_reason(situation(training)) == MoveUnderWay(2, TARGET, "joining")


@pytest.mark.parametrize(
    ("now", "left_s"), [(500.0, 300.0), (600.0, 200.0), (799.0, 1.0), (800.0, None), (900.0, None)]
)
def test_the_cool_down_counts_from_the_end_of_the_last_move(training: Any, now: float, left_s: float | None) -> None:
    training.moves = (move(200.0), move(500.0, number=2))
    expected = None if left_s is None else CoolingDown(2, left_s)
    assert busy_reason(situation(training, now)) == expected


def test_a_move_whose_end_was_not_kept_cools_down_from_its_beginning(training: Any) -> None:
    training.moves = (move(None, at=700.0),)
    assert busy_reason(situation(training, 900.0)) == CoolingDown(1, 100.0)


def probing(training: Any, window: int, ended_at: float = 900.0, **changes: Any) -> Situation:
    """A probe of c5.large, which runs beside the other flavors since then, has ended at 900 s. It is 1,000 s now."""
    source = Fleet({f: n for f, n in training.fleet.items() if f != "c5.large"})
    probe = Move(1, 500.0, source, training.fleet, Said("measure"), MovePhase.DONE, ended_at=ended_at, is_probe=True)
    training.moves, training.window = (replace(probe, **changes),), window
    return situation(training)


def test_after_a_probe_that_was_measured_nothing_has_to_cool_down(training: Any) -> None:
    assert busy_reason(probing(training, window=40)) is None


@pytest.mark.parametrize(
    ("window", "changes"),
    [(39, {}), (40, {"is_probe": False}), (40, {"phase": MovePhase.ROLLED_BACK})],
    ids=["too few steps", "no probe", "rolled back"],
)
def test_after_anything_else_the_fleet_cools_down(training: Any, window: int, changes: dict[str, Any]) -> None:
    assert busy_reason(probing(training, window, **changes)) == CoolingDown(1, 200.0)


@pytest.mark.parametrize(
    ("unavailable", "left_s"),
    [({"c5.large": 1001.0}, None), ({"c5.large": 1000.0}, 200.0), ({"m5.large": 1001.0}, 200.0)],
    ids=["lacked capacity", "has capacity again", "another flavor"],
)
def test_after_a_move_that_failed_for_lack_of_capacity_another_one_may_begin(
    training: Any, unavailable: dict[str, float], left_s: float | None
) -> None:
    one = probing(training, window=40, phase=MovePhase.ROLLED_BACK)
    one = replace(one, history=replace(one.history, unavailable=unavailable))
    assert busy_reason(one) == (None if left_s is None else CoolingDown(1, left_s))


def test_a_move_that_failed_since_does_not_open_the_way_back(training: Any) -> None:
    one = probing(training, window=40)
    [probe] = one.history.moves
    failed = move(950.0, MovePhase.ROLLED_BACK, number=2, at=920.0)
    later = replace(one, history=replace(one.history, moves=(probe, failed)))
    assert going_back_reason(later, probe.source) == CoolingDown(1, 200.0)
    assert going_back_reason(later, failed.source) is None


def test_after_a_second_look_the_new_node_has_to_report(training: Any) -> None:
    """What another node of the flavor told long ago is remembered, and tells nothing new."""
    one = probing(training, window=40)
    assert busy_reason(one) is None
    present = one.observations[-1]
    mute = replace(present, facts=tuple(fact for fact in present.facts if fact.flavor != "c5.large"))
    assert one.speeds, "worked out before the node fell silent"
    assert busy_reason(replace_present(one, mute)) == CoolingDown(1, 200.0)


def replace_present(one: Situation, present: Observation) -> Situation:
    """The same speeds, where something else is seen at the moment."""
    made = replace(one, observations=(*one.observations[:-1], present))
    made.__dict__["speeds"] = one.speeds
    return made


def test_a_second_look_at_all_that_runs_needs_no_cool_down_either(training: Any) -> None:
    training.fleet = Fleet({"c5.large": 6})
    assert busy_reason(probing(training, window=40, source=Fleet({"c5.large": 5}))) is None


@pytest.mark.parametrize(("beyond", "reason"), [(0.0, None), (0.001, CoolingDown(1, 200.0))])
def test_windows_of_a_probe_that_do_not_agree_are_too_few(
    training: Any, beyond: float, reason: CoolingDown | None
) -> None:
    one = probing(training, window=40)
    one.speeds["c5.large"] = replace(one.speeds["c5.large"], log_se=AGREEING_LOG_SE + beyond)
    assert busy_reason(one) == reason


def test_the_way_back_from_a_probe_has_to_wait(training: Any) -> None:
    one = probing(training, window=40)
    source = one.history.moves[0].source
    assert going_back_reason(one, source) == CoolingDown(1, 200.0)
    assert going_back_reason(one, TARGET) is None
    assert going_back_reason(probing(training, window=40, ended_at=700.0), source) is None


def test_before_any_move_there_is_no_way_back(training: Any) -> None:
    assert going_back_reason(situation(training), TARGET) is None


# Waiting for facts


def test_without_a_worker_there_is_nothing_to_wait_for(training: Any) -> None:
    assert waiting_reason(replace(situation(training), current=Fleet({}))) == NoWorkerRuns()
    assert waiting_reason(replace(situation(training), current=Fleet({"c5.large": 0}))) == NoWorkerRuns()


def test_what_is_measured_is_not_waited_for(training: Any) -> None:
    assert waiting_reason(situation(training)) is None


@pytest.mark.parametrize(("waited_s", "waits"), [(0.0, True), (899.0, True), (900.0, False), (901.0, False)])
def test_flavors_without_facts_are_waited_for_until_the_limit(training: Any, waited_s: float, waits: bool) -> None:
    one = situation(training)
    missing = replace(
        one, now=one.observations[0].at + waited_s, current=Fleet({**one.current, "m5.large": 1, "a1": 1})
    )
    assert waiting_reason(missing) == (WaitingForFacts(("a1", "m5.large")) if waits else None)


def test_the_wait_counts_from_the_last_move(training: Any) -> None:
    training.moves = (move(training.now + 500.0),)
    one = situation(training)
    missing = replace(one, current=Fleet({**one.current, "m5.large": 1}))
    assert waiting_reason(replace(missing, now=training.now + 1399.0)) == WaitingForFacts(("m5.large",))
    assert waiting_reason(replace(missing, now=training.now + 1400.0)) is None


@pytest.mark.parametrize(("step_s", "limit_s"), [(1.0, 900.0), (40.0, 2 * 30 * 40.0)])
def test_the_wait_is_as_long_as_slow_steps_need(training: Any, step_s: float, limit_s: float) -> None:
    """A probe of 30 steps may take twice as long as the other nodes need for them."""
    one = situation(training)
    model = one.model()
    assert model is not None and one.tokens_per_step is not None
    tokens = one.tokens_per_step * step_s / model.step_time_s(one.current)
    for late_s, reason in ((-1.0, WaitingForFacts(("m5.large",))), (1.0, None)):
        now = one.observations[0].at + limit_s + late_s
        missing = replace(one, now=now, current=Fleet({**one.current, "m5.large": 1}))
        missing.__dict__["tokens_per_step"] = tokens
        assert waiting_reason(missing) == reason


def test_another_node_of_a_flavor_that_was_measured_is_waited_for_until_it_reports(training: Any) -> None:
    training.fleet = Fleet({"t2.large": 5, "c5.large": 2})
    only_one = probing(training, window=40, source=Fleet({"t2.large": 5, "c5.large": 1}))
    assert waiting_reason(only_one) is None, "both report"
    present = only_one.observations[-1]
    (first, _) = (fact for fact in present.facts if fact.flavor == "c5.large")
    others = [fact for fact in present.facts if fact.flavor != "c5.large"]
    silent = replace_present(only_one, replace(present, facts=(*others, first)))
    assert waiting_reason(silent) == WaitingForFacts(("c5.large",))
    brief = replace(first, instance_id="i-new", window=silent.settings.minimum_window - 1)
    assert waiting_reason(replace_present(only_one, replace(present, facts=(*others, first, brief)))) is not None
    ended_at = silent.history.moves[-1].changed_at
    assert waiting_reason(replace_time(silent, ended_at + 899.0)) is not None
    assert waiting_reason(replace_time(silent, ended_at + 900.0)) is None, "it never reports"


@pytest.mark.parametrize(
    ("share", "further", "waits"),
    [(0.7, 10, True), (0.8, 10, False), (0.7, 0, False)],
    ids=["far slower", "a little slower", "the window that counts"],
)
def test_nodes_that_have_just_become_slow_are_waited_for_until_that_counts(
    training: Any, share: float, further: int, waits: bool
) -> None:
    """The facts of the moment have ten steps that are new: their window of fifty overlaps the last one that counts."""
    one = situation(training)
    earlier = one.observations[-1]
    facts = tuple(
        replace(fact, step=fact.step + further, compute_time_s=fact.compute_time_s / share)
        if fact.flavor == "c5.large"
        else replace(fact, step=fact.step + further)
        for fact in earlier.facts
    )
    later = replace(one, observations=(earlier, replace(earlier, at=earlier.at + 10.0, facts=facts)))
    assert later.fallen == (["c5.large"] if waits else [])
    assert waiting_reason(later) == (SpeedHasFallen(("c5.large",)) if waits else None)
    stands_still = replace(one, observations=(earlier, replace(earlier, at=earlier.at + 900.0, facts=facts)))
    assert waiting_reason(stands_still) is None


def test_after_other_moves_nodes_of_measured_flavors_are_not_waited_for(training: Any) -> None:
    training.fleet = Fleet({"t2.large": 5, "c5.large": 2})
    one = probing(training, window=40, source=Fleet({"t2.large": 5, "c5.large": 1}))
    mute = replace_present(one, replace(one.observations[-1], facts=()))
    assert waiting_reason(mute) == WaitingForFacts(("c5.large",))
    (move,) = mute.history.moves
    for other in (
        replace(move, is_probe=False),
        replace(move, phase=MovePhase.ROLLED_BACK),
        replace(move, target=Fleet({"t2.large": 5, "c5.large": 2, "m5.large": 1})),
    ):
        changed = replace(mute, history=replace(mute.history, moves=(other,)))
        changed.__dict__["speeds"] = mute.speeds
        assert waiting_reason(changed) is None


def replace_time(one: Situation, now: float) -> Situation:
    """The same speeds at another time."""
    made = replace(one, now=now)
    made.__dict__["speeds"] = one.speeds
    return made


def test_while_nothing_at_all_is_measured_there_is_no_limit(training: Any) -> None:
    training.window = 1
    one = situation(training, training.now + 1e6)
    assert waiting_reason(one) == WaitingForFacts(tuple(sorted(one.current)))


def test_before_the_first_observation_the_wait_has_not_begun(training: Any) -> None:
    one = replace(situation(training), observations=())
    assert waiting_reason(replace(one, now=one.now + 1e6)) == WaitingForFacts(tuple(sorted(one.current)))


# The end of the work


def ending(training: Any, progress: Progress | None, **settings: Any) -> Any:
    one = situation(training, **settings)
    model = one.model()
    assert model is not None
    return ending_reason(replace(one, progress=progress), model)


def progress(step: int, total: int | None) -> Progress:
    return Progress(step, total, 0, 0.0, 0.0)


def test_without_knowing_how_far_it_is_nothing_moves(training: Any) -> None:
    assert ending(training, None) == ProgressUnknown()
    assert ending(training, progress(10, None)) == ProgressUnknown()
    assert ending(training, progress(10, 0)) == ProgressUnknown()
    assert ending(training, progress(100_000, 100_000)) == NoStepsLeft()


@pytest.mark.parametrize(("step", "share"), [(97_000, None), (97_001, 0.02999), (99_999, 0.00001), (0, None)])
def test_too_few_steps_are_a_reason_to_stay(training: Any, step: int, share: float | None) -> None:
    found = ending(training, progress(step, 100_000), end_guard_share=0.03)
    assert found == (None if share is None else FewStepsLeft(pytest.approx(share), 0.03))


@pytest.mark.parametrize(("spare_s", "may_move"), [(None, False), (100.0, False), (1.0, True), (-100.0, True)])
def test_in_the_last_steps_a_deadline_that_the_present_fleet_misses_is_a_reason_to_move(
    training: Any, spare_s: float | None, may_move: bool
) -> None:
    """1,000 of 100,000 steps remain. Less than half a percent of them to spare is taken for missed."""
    one = replace(situation(training, end_guard_share=0.03), progress=progress(99_000, 100_000))
    model = one.model()
    assert model is not None
    rest_s = 1000 * model.step_time_s(one.current)
    assert 0.005 * rest_s > 1.0 and rest_s > 300.0
    deadline_at = None if spare_s is None else one.now + rest_s + spare_s
    due = replace(one, limits=replace(one.limits, deadline_at=deadline_at))
    assert ending_reason(due, model) == (None if may_move else FewStepsLeft(pytest.approx(0.01), 0.03))


@pytest.mark.parametrize(("guard_s", "counts_s"), [(0.0, 100.0), (99.0, 100.0), (250.0, 250.0)])
def test_work_that_ends_before_a_move_could_is_left_alone(training: Any, guard_s: float, counts_s: float) -> None:
    one = situation(training)
    model = one.model()
    assert model is not None
    step_s = model.step_time_s(one.current)
    enough = int(counts_s / step_s) + 1
    settings = {"end_guard_s": guard_s, "end_guard_share": 0.0}
    assert ending(training, progress(0, enough), **settings) is None
    found = ending(training, progress(0, enough - 1), **settings)
    assert found == EndsSoon(pytest.approx((enough - 1) * step_s), counts_s)


def test_work_that_takes_just_as_long_as_the_guard_may_still_move(training: Any) -> None:
    one = situation(training)
    model = one.model()
    assert model is not None
    remaining_s = 1000 * model.step_time_s(one.current)
    assert ending(training, progress(0, 1000), end_guard_s=remaining_s, end_guard_share=0.0) is None


def test_how_long_it_takes_is_not_guessed_for_a_fleet_of_unknown_speed(training: Any) -> None:
    one = situation(training, end_guard_s=1e9)
    model = one.model()
    assert model is not None
    unknown = replace(one, current=Fleet({**one.current, "m5.large": 1}))
    assert ending_reason(unknown, model) is None
    assert isinstance(ending_reason(one, model), EndsSoon)


# Speeds that are not known well enough


@pytest.mark.parametrize("objective", [Objective.COST, Objective.TIME])
def test_a_gain_within_the_uncertainty_is_no_reason_to_move(training: Any, objective: Objective) -> None:
    one = situation(training, objective=objective, confidence_z=2.0)
    model = one.model()
    assert model is not None
    sure = Forecaster.of(one, model, one.bounds)
    measure = sure.usd_per_step if objective is Objective.COST else sure.step_time_s
    won = 1 - measure(TARGET) / measure(one.current)
    assert 0 < won < 1

    def doubted(difference_se: float) -> Any:
        unsure = Doubted(**{field.name: getattr(model, field.name) for field in fields(model)})
        unsure.__dict__["difference_se"] = difference_se
        return overlap_reason(replace(sure, model=unsure), TARGET)

    assert doubted(won / 2 - 1e-9) is None
    assert doubted(won / 2) == WithinUncertainty(TARGET, won, won, objective.value)
    assert doubted(won) == WithinUncertainty(TARGET, won, won * 2, objective.value)
