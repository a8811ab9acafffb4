"""A training whose nodes, launcher and head can fall ill, seen look by look."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.decide.health import Signs, diagnose, watch
from controller.domain import (
    Fact,
    Fleet,
    HeadSeen,
    LauncherState,
    NodeSeen,
    Observation,
    TrainingState,
    UnknownNode,
    WorkerState,
)
from controller.domain.health import Ailment, HealthLimits, Remedy, RemedyKind
from controller.domain.reasons.nodes import FactMissing, FactOld, FactTorn, NodeUnreachable, NotAsked, TakesNoPart

FLAVOR = "c5.large"
LIMITS = HealthLimits()
LOOK_S = 20.0
MAX_AGE_S = 60.0


@dataclass
class Node:
    """One node, as it really is."""

    is_member: bool = True
    answers: bool = True
    hangs: bool = False
    """Its rank stands still, and the others go on without it."""
    worker: WorkerState = WorkerState.WARM
    state: TrainingState | None = TrainingState.TRAINING
    """What its fact says; None where it has none."""
    is_torn: bool = False
    """Its fact can't be read."""
    step: int = 0
    stepped_at: float = 0.0
    lie: int | None = None
    """The steps by which its fact grows at every look, whatever it does."""


@dataclass
class Patient:
    """A training. `live` lets time pass, with a look every so often, and takes up each look."""

    now: float = 1_800_000_000.0
    step_s: float = 1.0
    total_steps: int = 1_000_000
    nodes: dict[str, Node] = field(default_factory=dict)
    head_answers: bool = True
    head_state: str = "running"
    launcher: LauncherState = LauncherState.RUNNING
    stands_still: bool = False
    """No rank makes a step."""
    is_asked: bool = True
    """Whether anybody asks the nodes at a look."""
    limits: HealthLimits = LIMITS
    signs: Signs = field(default_factory=Signs)
    tried: tuple[Remedy, ...] = ()
    found: list[Ailment] = field(default_factory=list)
    """All ailments of all looks."""

    @classmethod
    def of(cls, size: int, **wishes: object) -> Patient:
        """Returns a training on so many nodes that goes well."""
        patient = cls(**wishes)  # type: ignore[arg-type]
        patient.nodes = {f"i-{n}": Node(step=100, stepped_at=patient.now) for n in range(size)}
        return patient

    def live(self, duration_s: float, every_s: float = LOOK_S) -> tuple[Ailment, ...]:
        """Lets time pass. Returns what the last look finds; `found` keeps the findings of all looks."""
        until, last = self.now + duration_s, ()
        while self.now < until:
            self._pass(min(every_s, until - self.now))
            last = self.look()
        return last

    def look(self) -> tuple[Ailment, ...]:
        """Takes one look, and returns what is wrong. Remedies are counted as tried, and do nothing by themselves."""
        self.signs = watch(self.signs, self.observe(), self.limits)
        ailments = diagnose(self.signs, self.tried, self.limits, self.head_state)
        self.tried += tuple(ailment.tried(self.now) for ailment in ailments if ailment.remedy is not None)
        self.found += ailments
        return ailments

    @property
    def remedies(self) -> list[RemedyKind]:
        """The remedies that were tried, oldest first."""
        return [remedy.kind for remedy in self.tried]

    def _pass(self, elapsed_s: float) -> None:
        self.now += elapsed_s
        ranks = [n for n in self.nodes.values() if n.is_member and n.state is TrainingState.TRAINING]
        moving = [n for n in ranks if not n.hangs and n.worker is WorkerState.WARM]
        for node in moving if not self.stands_still else []:
            if node.step < self.total_steps:
                node.step = min(self.total_steps, node.step + max(1, int(elapsed_s / self.step_s)))
                node.stepped_at = self.now
        for node in ranks:
            if node.lie is not None:
                node.step, node.stepped_at = node.step + node.lie, self.now

    def observe(self) -> Observation:
        """Returns what a look sees."""
        fleet = Fleet({FLAVOR: len(self.nodes)})
        if not self.is_asked:
            unknown = tuple(UnknownNode(node, FLAVOR, NotAsked()) for node in self.nodes)
            return Observation(self.now, fleet, (), unknown)
        seen = {name: self._seen(name, node) for name, node in self.nodes.items()}
        return Observation(
            self.now,
            fleet,
            tuple(one for one in seen.values() if isinstance(one, Fact)),
            tuple(one for one in seen.values() if isinstance(one, UnknownNode)),
            HeadSeen(self.launcher) if self.head_answers else None,
            tuple(NodeSeen(name, node.worker) for name, node in self.nodes.items() if node.answers),
        )

    def _seen(self, name: str, node: Node) -> Fact | UnknownNode:
        if not node.is_member:
            return UnknownNode(name, FLAVOR, TakesNoPart())
        if not node.answers:
            return UnknownNode(name, FLAVOR, NodeUnreachable("timed out"))
        if node.state is None:
            return UnknownNode(name, FLAVOR, FactMissing())
        if node.is_torn:
            return UnknownNode(name, FLAVOR, FactTorn("step is None"))
        if node.state is TrainingState.TRAINING and self.now - node.stepped_at > MAX_AGE_S:
            return UnknownNode(name, FLAVOR, FactOld(self.now - node.stepped_at, MAX_AGE_S))
        return _fact(name, node, len(self.nodes), self)


def _fact(name: str, node: Node, world_size: int, patient: Patient) -> Fact:
    is_rank = node.state is TrainingState.TRAINING
    return Fact(
        instance_id=name,
        flavor=FLAVOR,
        rank=0 if is_rank else None,
        world_size=world_size if is_rank else None,
        state=node.state or TrainingState.STARTING,
        step=node.step if is_rank else 0,
        iteration_time_s=patient.step_s if is_rank else None,
        compute_time_s=None,
        samples=None,
        tokens=None,
        window=0,
        updated_at=node.stepped_at,
        total_steps=patient.total_steps,
    )


def joiner(now: float) -> Node:
    """Returns a member that loads the corpus and is no rank yet."""
    return Node(state=TrainingState.STARTING, stepped_at=now)
