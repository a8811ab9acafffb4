"""Whatever ails a training: it makes steps again within a known time, or it is ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from patient import LIMITS, LOOK_S, Node, Patient

from controller.decide.health import dropped
from controller.domain import LauncherState, TrainingState, WorkerState
from controller.domain.health import Remedy, RemedyKind

FAULTS = ("stall", "launcher", "head", "hangs", "silent", "dead", "idle", "stranger")
LONGEST_S = LIMITS.tries * max(LIMITS.stall_s, LIMITS.head_s) + LIMITS.stall_s + LIMITS.rank_s + 2 * LIMITS.remedy_s


@dataclass
class Ward:
    """A patient whose remedies are carried out. The whole training is cured only by some try, or by none."""

    patient: Patient
    cured_by_try: int
    """The restart of the launcher, or the reboot of the head, that helps; 0: none does."""
    done: int = 0
    tries: dict[RemedyKind, int] = field(default_factory=dict)
    has_ended: bool = False

    def live(self) -> None:
        """Lets time pass until the next look, and carries out what it asks for."""
        self.patient.live(LOOK_S)
        for remedy in self.patient.tried[self.done :]:
            self._carry_out(remedy)
        self.done = len(self.patient.tried)

    def _carry_out(self, remedy: Remedy) -> None:
        patient = self.patient
        self.tries[remedy.kind] = self.tries.get(remedy.kind, 0) + 1
        helps = self.tries[remedy.kind] == self.cured_by_try
        if remedy.kind is RemedyKind.END_TRAINING:
            self.has_ended = True
        elif remedy.kind is RemedyKind.RESTART_LAUNCHER and helps:
            patient.stands_still, patient.launcher = False, LauncherState.RUNNING
        elif remedy.kind is RemedyKind.REBOOT_HEAD and helps:
            patient.head_answers, patient.stands_still = True, False
        elif remedy.kind is RemedyKind.DROP_RANK:
            assert remedy.node in patient.nodes
            patient.nodes[remedy.node].is_member = False
            assert any(node.is_member for node in patient.nodes.values()), "nobody is left to train"
        elif remedy.kind is RemedyKind.REPLACE_NODE:
            assert remedy.node in patient.nodes and not patient.nodes[remedy.node].is_member, "it may still train"
            del patient.nodes[remedy.node]

    @property
    def is_well(self) -> bool:
        """Whether the training makes steps, and nobody pays for a node that is good for nothing."""
        patient = self.patient
        useless = [n for n in patient.nodes.values() if n.hangs or not n.answers or n.worker is not WorkerState.WARM]
        idle = [n for n in patient.nodes.values() if n.state is not TrainingState.TRAINING]
        return patient.signs.is_moving and patient.head_answers and not useless and not idle


def fall_ill(patient: Patient, fault: str, name: str) -> None:
    """Lets a fault happen that does not pass by itself."""
    node = patient.nodes[name]
    if fault == "stall":
        patient.stands_still = True
    elif fault == "launcher":
        patient.stands_still, patient.launcher = True, LauncherState.DEAD
    elif fault == "head":
        patient.stands_still, patient.head_answers = True, False
    elif fault == "hangs":
        node.hangs = True
    elif fault == "silent":
        node.answers, node.hangs = False, True
    elif fault == "dead":
        node.worker = WorkerState.DEAD
    elif fault == "idle":
        patient.nodes["i-late"] = Node(state=TrainingState.STARTING)
    else:
        patient.nodes["i-late"] = Node(is_member=False, answers=False, state=None)


@settings(deadline=None)
@given(
    fault=st.sampled_from(FAULTS),
    second=st.sampled_from(FAULTS),
    apart_s=st.floats(0, 3000),
    size=st.integers(2, 7),
    cured_by_try=st.integers(0, LIMITS.tries),
    well_s=st.floats(60, 4000),
)
def test_two_faults_at_any_time_are_healed_or_end_the_training(fault, second, apart_s, size, cured_by_try, well_s):
    ward = Ward(Patient.of(size), cured_by_try)
    ward.patient.live(well_s)
    assert ward.patient.found == []
    fall_ill(ward.patient, fault, "i-0")
    if size > 4:
        ward.patient.live(0)
        began = ward.patient.now
        while ward.patient.now < began + apart_s and not ward.has_ended:
            ward.live()
        fall_ill(ward.patient, second, "i-1" if "i-1" in ward.patient.nodes else next(iter(ward.patient.nodes)))
    began = ward.patient.now
    while not (ward.is_well or ward.has_ended):
        ward.live()
        assert ward.patient.now < began + 2 * LONGEST_S, (ward.patient.found[-3:], ward.patient.remedies)
    whole = {"stall", "launcher", "head"} & {fault, *([second] if size > 4 else [])}
    assert ward.is_well or whole, "a single node is no reason to end the training"


@settings(deadline=None)
@given(fault=st.sampled_from(["stall", "launcher", "head"]), size=st.integers(1, 6))
def test_what_nothing_cures_ends_the_training_within_the_tries(fault, size):
    ward = Ward(Patient.of(size), cured_by_try=0)
    ward.patient.live(300)
    fall_ill(ward.patient, fault, "i-0")
    began = ward.patient.now
    while not ward.has_ended:
        ward.live()
        assert ward.patient.now < began + LONGEST_S
    first = RemedyKind.REBOOT_HEAD if fault == "head" else RemedyKind.RESTART_LAUNCHER
    assert ward.patient.remedies == [first] * LIMITS.tries + [RemedyKind.END_TRAINING]


def test_a_dropped_node_is_known_until_it_is_replaced():
    ward = Ward(Patient.of(4), cured_by_try=0)
    ward.patient.live(300)
    fall_ill(ward.patient, "hangs", "i-0")
    while not ward.patient.tried:
        ward.live()
    while "i-0" in ward.patient.nodes:
        assert dropped(ward.patient.tried, ward.patient.now, LIMITS) == {"i-0"}
        ward.live()
