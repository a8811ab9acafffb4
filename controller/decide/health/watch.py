"""Taking a look up into the signs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TypeVar

from controller.decide.health.signs import Condition, NodeSigns, Signs
from controller.domain import Fact, NodeSeen, Observation, TrainingState, UnknownNode, WorkerState
from controller.domain.health import HealthLimits
from controller.domain.reasons.nodes import (
    AnsibleUnusable,
    Ec2Unreachable,
    FactMissing,
    FactOld,
    NodeUnreachable,
    NotAsked,
    TakesNoPart,
)

Number = TypeVar("Number", int, float)
_BLIND = (NotAsked, Ec2Unreachable, AnsibleUnusable)
"""What a node is unknown for when nobody could be asked."""
_SILENT = (NodeUnreachable, TakesNoPart)
"""What a node that does not answer is unknown for. A node that takes no part may answer all the same."""
_WITHOUT_STEP = (FactOld, FactMissing)
"""What shows that a rank makes no step. A fact that can't be trusted for another reason shows nothing."""

_LEAVING = (TrainingState.DRAINING, TrainingState.INTERRUPTED, TrainingState.FINISHED)
"""The states of ranks of which no further step is expected."""


def watch(signs: Signs, observation: Observation, limits: HealthLimits) -> Signs:
    """Returns the signs with one more look taken up."""
    at = observation.at
    if _is_blind(observation):
        return replace(signs, at=at, is_moving=False)
    elapsed_s = 0.0 if signs.at is None else min(max(0.0, at - signs.at), limits.gap_s)
    look = _Look.of(observation)
    stepped = {node: _stepped(signs.nodes.get(node), look, node) for node in look.flavors}
    is_moving = _is_moving(stepped, look)
    still_s = signs.still_s + (elapsed_s if look.head_answers else 0.0)
    judge = _Judge(look, elapsed_s, still_s, is_moving, _most_have_stepped(stepped))
    nodes = {node: judge.node(node, now) for node, now in stepped.items()}
    knows = is_moving or signs.step is None
    return replace(
        _with_head(signs, observation, elapsed_s),
        at=at,
        step=_median([fact.step for fact in look.facts.values()], signs.step) if knows else signs.step,
        left_s=_median(_left_s(look.facts.values()), signs.left_s) if knows else signs.left_s,
        still_s=0.0 if is_moving else still_s,
        is_moving=is_moving,
        nodes=nodes,
    )


def _is_blind(observation: Observation) -> bool:
    """Tells whether nobody was asked. So it is taken where nothing at all was seen, neither the head nor a node."""
    nothing = not (observation.facts or observation.unknown or observation.head)
    return nothing or any(isinstance(node.reason, _BLIND) for node in observation.unknown)


@dataclass(frozen=True)
class _Look:
    """A look, by instance id."""

    head_answers: bool
    states: Mapping[str, TrainingState]
    """Of all ranks whose fact can be trusted."""
    facts: Mapping[str, Fact]
    """Of the ranks that train."""
    unknown: Mapping[str, UnknownNode]
    seen: Mapping[str, NodeSeen]
    flavors: Mapping[str, str]
    """Of all nodes that run."""

    @classmethod
    def of(cls, observation: Observation) -> _Look:
        """Returns an observation by instance id."""
        unknown = {node.instance_id: node for node in observation.unknown}
        return cls(
            observation.head is not None,
            {fact.instance_id: fact.state for fact in observation.facts},
            {fact.instance_id: fact for fact in observation.facts if fact.state is TrainingState.TRAINING},
            unknown,
            {node.instance_id: node for node in observation.nodes},
            {fact.instance_id: fact.flavor for fact in observation.facts}
            | {node: unknown.flavor for node, unknown in unknown.items()},
        )

    def is_member(self, node: str) -> bool:
        """Tells whether a node is in the hosts file."""
        return node not in self.unknown or not isinstance(self.unknown[node].reason, TakesNoPart)

    def is_silent(self, node: str) -> bool:
        """Tells whether a node does not answer."""
        silent = node in self.unknown and isinstance(self.unknown[node].reason, _SILENT)
        return silent and node not in self.seen

    def is_dead(self, node: str) -> bool:
        """Tells whether the worker of a member has failed for good."""
        return self.is_member(node) and node in self.seen and self.seen[node].worker is WorkerState.DEAD

    def shows_steps(self, node: str) -> bool:
        """Tells whether the look shows if a rank makes steps."""
        if node in self.states:
            return self.states[node] not in _LEAVING
        return isinstance(self.unknown[node].reason, _WITHOUT_STEP)


def _stepped(before: NodeSigns | None, look: _Look, node: str) -> NodeSigns:
    """Returns the signs of a node with its step brought up to date. A step that goes back begins anew."""
    is_member = look.is_member(node)
    now = replace(before or NodeSigns(look.flavors[node], is_member), is_member=is_member)
    fact = look.facts.get(node)
    if fact is None:
        return now
    marked = fact.step if now.marked_step is None else min(now.marked_step, fact.step)
    return replace(now, step=fact.step, marked_step=marked)


def _is_moving(nodes: Mapping[str, NodeSigns], look: _Look) -> bool:
    """Tells whether at least half of the ranks that the look shows have made a step: one rank alone may lie."""
    ranks = [signs for node, signs in nodes.items() if signs.step is not None and look.shows_steps(node)]
    moved = sum(signs.has_moved for signs in ranks)
    return moved > 0 and 2 * moved >= len(ranks)


def _most_have_stepped(nodes: Mapping[str, NodeSigns]) -> bool:
    members = [signs for signs in nodes.values() if signs.is_member]
    return 2 * sum(signs.step is not None for signs in members) > len(members)


def _left_s(facts: Iterable[Fact]) -> list[float]:
    """Returns how long the remaining steps take, as each rank says that knows it. None does in its first steps."""
    known = [(max(0, fact.total_steps - fact.step), fact.iteration_time_s) for fact in facts if fact.total_steps]
    return [steps * (seconds or 0.0) for steps, seconds in known if seconds or not steps]


def _median(said: list[Number], before: Number | None) -> Number | None:
    """Returns what most ranks say; where none says anything, what was known before."""
    return median_low(said) if said else before


def _with_head(signs: Signs, observation: Observation, elapsed_s: float) -> Signs:
    """Returns the signs with what the head shows taken up."""
    head = observation.head
    if head is None:
        silent_s = 0.0 if signs.head_silent_s is None else signs.head_silent_s + elapsed_s
        return replace(signs, head_silent_s=silent_s)
    is_same = head.launcher is signs.launcher and signs.head_silent_s is None
    return replace(
        signs,
        head_silent_s=None,
        launcher=head.launcher,
        launcher_s=signs.launcher_s + elapsed_s if is_same else 0.0,
    )


@dataclass(frozen=True)
class _Judge:
    """Judges how each node is, by one look. Without an answer of the head, no node is taken for worse."""

    look: _Look
    elapsed_s: float
    still_s: float
    is_moving: bool
    most_have_stepped: bool

    def node(self, node: str, now: NodeSigns) -> NodeSigns:
        """Returns the signs of one node after the look."""
        condition, lasted_s = self._condition(node, now)
        is_ill, is_same = condition is not Condition.WELL, condition is now.condition
        return replace(
            now,
            condition=condition,
            for_s=now.for_s + lasted_s if is_ill and is_same else 0.0,
            marked_step=now.step if self.is_moving else now.marked_step,
            has_answered=now.has_answered or not self.look.is_silent(node),
        )

    def _condition(self, node: str, now: NodeSigns) -> tuple[Condition, float]:
        """Returns the condition of a node, and how much longer it has lasted if it is the same as before."""
        if now.has_moved:
            return Condition.WELL, 0.0
        if not self.look.head_answers:
            return now.condition, 0.0
        if self.look.is_silent(node):
            return Condition.SILENT, self.elapsed_s
        if self.look.is_dead(node):
            return Condition.DEAD, self.elapsed_s
        return self._among_others(node, now) if now.is_member else (Condition.WELL, 0.0)

    def _among_others(self, node: str, now: NodeSigns) -> tuple[Condition, float]:
        """Returns the condition of a member that answers and has made no step, beside what the others do."""
        if now.step is None:
            return (Condition.IDLE if self.most_have_stepped else Condition.WELL), self.elapsed_s
        if self.is_moving and self.look.shows_steps(node):
            return Condition.STILL, self.still_s
        return (Condition.STILL if now.condition is Condition.STILL else Condition.WELL), 0.0
