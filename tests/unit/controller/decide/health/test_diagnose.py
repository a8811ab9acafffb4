"""What is wrong with a training is found in time, and mended from the mildest remedy to the last."""

from __future__ import annotations

import pytest
from patient import LIMITS, LOOK_S, Node, Patient, joiner

from controller.decide.health import dropped
from controller.domain import LauncherState, WorkerState
from controller.domain.health import Ailment, Remedy, RemedyKind
from controller.domain.reasons.ending import GivenUp
from controller.domain.reasons.health import (
    HeadGone,
    HeadSilent,
    LauncherDied,
    LauncherNotStarted,
    NeverBecameRank,
    NodeSilent,
    NoNewStep,
    RankHangs,
    WorkerDied,
)

DROP, RESTART, REPLACE, REBOOT, END = (
    RemedyKind.DROP_RANK,
    RemedyKind.RESTART_LAUNCHER,
    RemedyKind.REPLACE_NODE,
    RemedyKind.REBOOT_HEAD,
    RemedyKind.END_TRAINING,
)
LATE_S = 2 * LOOK_S
"""A state is noticed within so long after its limit."""


def first(patient: Patient, duration_s: float) -> tuple[float, Ailment]:
    """Returns after how long the first ailment is found, and which one."""
    began = patient.now
    while patient.now < began + duration_s:
        ailments = patient.live(LOOK_S)
        if ailments:
            return patient.now - began, ailments[0]
    raise AssertionError(f"nothing was found in {duration_s} s")


# the whole training


def test_a_training_that_stands_still_is_found_after_the_limit_and_its_launcher_restarted():
    patient = Patient.of(3)
    patient.live(600)
    assert not patient.found
    patient.stands_still = True
    after_s, ailment = first(patient, 2000)
    assert LIMITS.stall_s <= after_s <= LIMITS.stall_s + LATE_S
    assert isinstance(ailment.reason, NoNewStep) and ailment.remedy is RESTART and ailment.node is None
    assert ailment.reason.step == patient.nodes["i-0"].step


def test_where_restarting_the_launcher_does_not_help_the_training_is_ended_with_what_was_tried():
    patient = Patient.of(3)
    patient.live(60)
    patient.stands_still = True
    last = patient.live((LIMITS.tries + 1) * LIMITS.stall_s + (LIMITS.tries + 2) * LATE_S)
    assert patient.remedies[:3] == [RESTART, RESTART, END]
    assert isinstance(last[0].reason, GivenUp) and isinstance(last[0].reason.ailment, NoNewStep)
    assert last[0].reason.remedies == ("restart_launcher", "restart_launcher")


def test_a_launcher_that_helped_is_restarted_again_another_day():
    patient = Patient.of(3)
    for _ in range(4):
        patient.stands_still = False
        patient.live(6 * 3600)
        patient.stands_still = True
        patient.live(LIMITS.stall_s + LATE_S)
    assert patient.remedies == [RESTART] * 4


@pytest.mark.parametrize(
    ("state", "reason"), [(LauncherState.DEAD, LauncherDied), (LauncherState.ABSENT, LauncherNotStarted)]
)
def test_a_launcher_that_does_not_run_is_restarted_and_then_the_training_ended(state, reason):
    patient = Patient.of(3)
    patient.live(60)
    patient.launcher, patient.stands_still = state, True
    after_s, ailment = first(patient, 300)
    assert LIMITS.service_s <= after_s <= LIMITS.service_s + LATE_S
    assert isinstance(ailment.reason, reason) and ailment.remedy is RESTART
    last = patient.live(2 * LIMITS.remedy_s + 2 * LATE_S)
    assert patient.remedies[:3] == [RESTART, RESTART, END]
    assert isinstance(last[0].reason, GivenUp) and isinstance(last[0].reason.ailment, reason)


def test_a_launcher_that_has_ended_is_the_end_of_the_training_and_no_fault():
    patient = Patient.of(3, launcher=LauncherState.ENDED)
    patient.stands_still = True
    assert patient.live(LIMITS.stall_s - LATE_S) == ()


def test_a_rank_that_lies_about_its_steps_hides_no_stall():
    patient = Patient.of(4)
    patient.live(60)
    patient.stands_still, patient.nodes["i-0"].lie = True, 10**9
    _, ailment = first(patient, 2 * LIMITS.stall_s)
    assert isinstance(ailment.reason, NoNewStep) and ailment.reason.step < 10**6


def test_scoring_after_the_last_step_may_take_longer():
    patient = Patient.of(3, total_steps=400)
    assert patient.live(LIMITS.finish_s) == ()
    _, ailment = first(patient, 600)
    assert isinstance(ailment.reason, NoNewStep) and ailment.reason.limit_s == LIMITS.finish_s


# the head


def test_a_head_that_is_silent_is_rebooted_and_then_everything_is_given_back():
    patient = Patient.of(3)
    patient.live(60)
    patient.head_answers = False
    patient.stands_still = True
    after_s, ailment = first(patient, 1000)
    assert LIMITS.head_s <= after_s <= LIMITS.head_s + LATE_S
    assert isinstance(ailment.reason, HeadSilent) and ailment.remedy is REBOOT
    last = patient.live(LIMITS.tries * (LIMITS.head_s + LATE_S))
    assert patient.remedies[:3] == [REBOOT, REBOOT, END]
    assert isinstance(last[0].reason, GivenUp) and last[0].reason.remedies == ("reboot_head", "reboot_head")


def test_a_lost_head_ends_the_training_at_once():
    patient = Patient.of(3)
    patient.live(60)
    patient.head_answers, patient.head_state = False, "terminated"
    after_s, ailment = first(patient, 300)
    assert after_s <= LIMITS.service_s + LATE_S and ailment.remedy is END
    assert ailment.reason == GivenUp(HeadGone("terminated"), ())


def test_while_steps_are_seen_a_silent_head_is_told_and_not_rebooted():
    patient = Patient.of(3)
    patient.live(60)
    patient.head_answers = False
    last = patient.live(LIMITS.head_s + 600)
    assert isinstance(last[0].reason, HeadSilent) and last[0].remedy is None and not patient.tried
    patient.stands_still = True
    patient.live(2 * LOOK_S)
    assert patient.remedies == [REBOOT]


def test_a_head_that_reboots_quickly_is_no_fault():
    patient = Patient.of(3)
    for _ in range(5):
        patient.head_answers = False
        patient.live(LIMITS.head_s - LATE_S)
        patient.head_answers = True
        patient.live(60)
    assert not patient.found


# single nodes


def test_a_rank_that_hangs_alive_is_dropped_and_then_replaced():
    patient = Patient.of(4)
    patient.live(60)
    patient.nodes["i-2"].hangs = True
    after_s, ailment = first(patient, 1000)
    assert LIMITS.rank_s <= after_s <= LIMITS.rank_s + 2 * LATE_S
    assert isinstance(ailment.reason, RankHangs) and (ailment.node, ailment.remedy) == ("i-2", DROP)
    patient.nodes["i-2"].is_member = False
    assert patient.live(LIMITS.remedy_s - LATE_S)[0].remedy is None, "it has time to leave"
    patient.live(LIMITS.remedy_s)
    assert patient.remedies == [DROP, REPLACE] and {remedy.node for remedy in patient.tried} == {"i-2"}
    assert isinstance(patient.tried[-1].reason, RankHangs)
    del patient.nodes["i-2"]
    assert patient.live(600) == ()


def test_a_member_that_never_becomes_a_rank_is_dropped_also_where_the_others_wait_for_it():
    patient = Patient.of(3)
    patient.live(60)
    patient.nodes["i-3"] = joiner(patient.now)
    patient.stands_still = True
    after_s, ailment = first(patient, 1000)
    assert LIMITS.rank_s <= after_s <= LIMITS.rank_s + LATE_S
    assert isinstance(ailment.reason, NeverBecameRank) and (ailment.node, ailment.remedy) == ("i-3", DROP)
    patient.nodes["i-3"].is_member = False
    patient.live(LIMITS.remedy_s - LATE_S)
    assert RESTART not in patient.remedies, "the others have time to go on without it"
    patient.stands_still = False
    last = patient.live(LIMITS.remedy_s)
    assert [ailment.node for ailment in last] == ["i-3"]


def test_a_node_that_is_silent_is_dropped_and_then_replaced():
    patient = Patient.of(3)
    patient.live(60)
    patient.nodes["i-1"].answers, patient.nodes["i-1"].hangs = False, True
    after_s, ailment = first(patient, 1000)
    assert LIMITS.silent_s <= after_s <= LIMITS.silent_s + LATE_S
    assert isinstance(ailment.reason, NodeSilent) and (ailment.node, ailment.remedy) == ("i-1", DROP)
    patient.nodes["i-1"].is_member = False
    patient.live(LIMITS.remedy_s + LATE_S)
    assert patient.remedies == [DROP, REPLACE]


def test_a_node_that_takes_no_part_and_never_answers_is_replaced_after_its_boot():
    patient = Patient.of(3)
    patient.live(60)
    patient.nodes["i-9"] = Node(is_member=False, answers=False, state=None)
    after_s, ailment = first(patient, 2000)
    assert LIMITS.boot_s + LIMITS.silent_s <= after_s <= LIMITS.boot_s + LIMITS.silent_s + LATE_S
    assert isinstance(ailment.reason, NodeSilent) and (ailment.node, ailment.remedy) == ("i-9", REPLACE)


def test_a_worker_that_nothing_starts_again_is_found_soon():
    patient = Patient.of(3)
    patient.live(60)
    patient.nodes["i-1"].worker = WorkerState.DEAD
    after_s, ailment = first(patient, 300)
    assert LIMITS.service_s <= after_s <= LIMITS.service_s + LATE_S
    assert isinstance(ailment.reason, WorkerDied) and (ailment.node, ailment.remedy) == ("i-1", DROP)


def test_two_ranks_that_hang_are_both_dropped_where_most_are_well():
    patient = Patient.of(5)
    patient.live(60)
    patient.nodes["i-1"].hangs = patient.nodes["i-3"].hangs = True
    patient.live(LIMITS.rank_s + 2 * LATE_S)
    assert [(remedy.kind, remedy.node) for remedy in patient.tried] == [(DROP, "i-1"), (DROP, "i-3")]


@pytest.mark.parametrize("ill", [2, 3])
def test_where_most_nodes_are_silent_none_is_dropped(ill):
    patient = Patient.of(3)
    patient.live(60)
    for number in range(ill):
        patient.nodes[f"i-{number}"].answers = False
    last = patient.live(LIMITS.silent_s + LATE_S)
    assert len(last) == ill and all(ailment.remedy is None for ailment in last)
    assert not patient.tried


def test_no_more_than_a_few_nodes_are_replaced_within_an_hour():
    patient = Patient.of(3)
    for number in range(3, 12):
        patient.nodes[f"i-{number}"] = Node(is_member=False, answers=False, state=None)
    patient.live(3000)
    replaced = {remedy.node for remedy in patient.tried if remedy.kind is REPLACE}
    assert len(replaced) == 3


def test_a_dropped_node_must_not_be_let_in_again_while_it_is_remembered():
    drop = Remedy(DROP, 1000.0, NodeSilent("i-1", "c5.large", 310, 300), "i-1")
    assert dropped((drop,), 1010.0, LIMITS) == {"i-1"}
    assert dropped((drop,), 1000.0 + 10**6, LIMITS) == frozenset()
    assert dropped((), 1010.0, LIMITS) == frozenset()


def test_an_ailment_without_a_remedy_is_not_tried():
    with pytest.raises(ValueError, match="no remedy"):
        Ailment(LauncherDied(70.0), None).tried(1.0)
