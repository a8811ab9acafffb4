"""What belongs to every training is never taken for a fault: boots, joins, pauses, slow steps, absent controllers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patient import LIMITS, LOOK_S, Node, Patient, joiner

from controller.domain import LauncherState, TrainingState, WorkerState


def test_a_training_that_goes_well_has_no_ailment():
    patient = Patient.of(6)
    patient.live(6 * 3600)
    assert patient.found == [] and patient.signs.step == patient.nodes["i-0"].step


def test_a_slow_start_and_a_slow_first_step():
    patient = Patient.of(0)
    patient.nodes = {f"i-{n}": joiner(patient.now) for n in range(4)}
    patient.live(300)
    for node in patient.nodes.values():
        node.state, node.stepped_at = TrainingState.TRAINING, patient.now
    patient.stands_still = True
    patient.live(LIMITS.stall_s - 300 - LOOK_S)
    patient.stands_still = False
    patient.live(600)
    assert patient.found == []


def test_nodes_that_start_one_after_the_other():
    patient = Patient.of(0)
    patient.nodes = {f"i-{n}": joiner(patient.now) for n in range(5)}
    for node in [*patient.nodes.values()][:4]:
        node.state, node.stepped_at = TrainingState.TRAINING, patient.now
    patient.live(LIMITS.rank_s - 2 * LOOK_S)
    patient.nodes["i-4"].state = TrainingState.TRAINING
    patient.live(600)
    assert patient.found == []


def test_steps_that_take_minutes():
    patient = Patient.of(4, step_s=240.0)
    for _ in range(40):
        patient.stands_still = True
        patient.live(240 - LOOK_S)
        patient.stands_still = False
        patient.live(LOOK_S)
    assert patient.found == []


def test_facts_that_are_read_at_different_moments_of_a_long_step():
    patient = Patient.of(6, step_s=120.0)
    for _ in range(20):
        patient.stands_still = True
        patient.live(100)
        patient.stands_still = False
        for late in (True, False):
            for number in range(3):
                patient.nodes[f"i-{number}"].hangs = late
                patient.nodes[f"i-{number + 3}"].hangs = not late
            patient.live(LOOK_S)
        for node in patient.nodes.values():
            node.hangs = False
    assert patient.found == []


def grow_and_shrink(patient: Patient, added: int, boot_s: float, configure_s: float, join_s: float) -> None:
    """Lets a whole move pass: nodes boot, are configured, join with a pause, and as many others leave."""
    old = [name for name, node in patient.nodes.items() if node.is_member]
    new = [f"i-new-{patient.now:.0f}-{n}" for n in range(added)]
    for name in new:
        patient.nodes[name] = Node(is_member=False, answers=False, state=None, worker=WorkerState.ABSENT)
    patient.live(boot_s)
    for name in new:
        patient.nodes[name].answers = True
    patient.live(configure_s)
    for name in new:
        patient.nodes[name] = joiner(patient.now)
    patient.live(join_s)
    patient.stands_still = True
    patient.live(60)
    patient.stands_still = False
    for name in new:
        patient.nodes[name].state, patient.nodes[name].step = TrainingState.TRAINING, patient.nodes[old[0]].step
    patient.live(100)
    for name in old[:added]:
        patient.nodes[name].state = TrainingState.DRAINING
    patient.live(LOOK_S)
    for name in old[:added]:
        patient.nodes[name].is_member, patient.nodes[name].worker = False, WorkerState.LEFT
    patient.live(120)
    for name in old[:added]:
        del patient.nodes[name]


def test_a_move_of_five_of_six_nodes():
    patient = Patient.of(6)
    patient.live(300)
    grow_and_shrink(patient, 5, LIMITS.boot_s, 1800, 300)
    patient.live(600)
    assert patient.found == []


def test_a_lost_node_and_the_one_that_takes_its_place():
    patient = Patient.of(4)
    patient.live(300)
    patient.nodes["i-0"].answers, patient.stands_still = False, True
    patient.live(90)
    del patient.nodes["i-0"]
    patient.stands_still = False
    patient.nodes["i-4"] = Node(is_member=False, answers=False, state=None)
    patient.live(400)
    assert patient.found == []


def test_a_training_that_goes_back_to_its_last_checkpoint():
    patient = Patient.of(4)
    for _ in range(10):
        patient.live(1200)
        for node in patient.nodes.values():
            node.step -= 1000
    assert patient.found == []


@pytest.mark.parametrize("away_s", [3600.0, 10 * 86_400.0, -3600.0])
def test_a_controller_that_was_away_or_whose_clock_jumped(away_s):
    patient = Patient.of(3)
    patient.live(300)
    patient.stands_still, patient.nodes["i-1"].answers, patient.launcher = True, False, LauncherState.DEAD
    patient.limits = replace(LIMITS, service_s=LIMITS.gap_s + 1)
    patient.live(LOOK_S)
    patient.now += away_s
    for node in patient.nodes.values():
        node.stepped_at += away_s
    patient.live(LOOK_S)
    patient.stands_still, patient.nodes["i-1"].answers, patient.launcher = False, True, LauncherState.RUNNING
    patient.live(600)
    assert patient.found == []


def test_an_outage_of_ec2_says_nothing_of_the_training():
    patient = Patient.of(3)
    patient.live(300)
    patient.is_asked = False
    patient.live(2 * 3600)
    patient.is_asked = True
    patient.live(600)
    assert patient.found == []


def test_nothing_at_all_to_see_is_no_silent_head():
    patient = Patient.of(0, head_answers=False)
    patient.live(2 * 3600)
    assert patient.found == []


def test_a_fact_that_cannot_be_trusted_shows_no_fault_of_its_rank():
    patient = Patient.of(4)
    patient.live(300)
    patient.nodes["i-3"].is_torn = True
    patient.live(4 * LIMITS.rank_s)
    assert patient.found == []


NORMAL = st.lists(
    st.tuples(
        st.sampled_from(["steps", "pause", "move", "silent", "head", "outage", "lost", "back", "away"]),
        st.floats(0.05, 0.9),
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None)
@given(events=NORMAL, size=st.integers(2, 7), every_s=st.sampled_from([5.0, 20.0, 60.0]))
def test_no_sequence_of_what_is_normal_is_a_fault(events, size, every_s):
    patient = Patient.of(size)
    patient.live(120, every_s)
    for event, share in events:
        happen(patient, event, share, every_s)
        patient.live(3 * every_s, every_s)
    assert patient.found == []


def happen(patient: Patient, event: str, share: float, every_s: float) -> None:
    """Lets something normal happen, for a share of the time that it may take."""
    first = next(iter(patient.nodes))
    if event == "pause":
        patient.stands_still = True
        patient.live(share * LIMITS.stall_s, every_s)
        patient.stands_still = False
    elif event == "move":
        grow_and_shrink(patient, max(1, int(share * len(patient.nodes))), share * LIMITS.boot_s, 60, share * 300)
    elif event == "silent":
        patient.nodes[first].answers = False
        patient.live(share * LIMITS.silent_s, every_s)
        patient.nodes[first].answers = True
    elif event == "head":
        patient.head_answers = False
        patient.live(share * LIMITS.head_s, every_s)
        patient.head_answers = True
    elif event == "outage":
        patient.is_asked = False
        patient.live(share * 7200, every_s)
        patient.is_asked = True
    elif event == "lost":
        del patient.nodes[first]
        patient.nodes[f"i-again-{patient.now:.0f}"] = Node(step=100)
    elif event == "back":
        for node in patient.nodes.values():
            node.step = max(0, node.step - int(1000 * share))
    elif event == "away":
        patient.now += share * 86_400
    else:
        patient.live(share * 3600, every_s)
