"""The state machine of a move: proposed -> growing -> joining -> shrinking -> done, or rolled_back, or refused.

Nothing is removed before its replacement trains. Every step can be done again, and each phase is saved before it
begins, so that a controller that was killed goes on from the journal. A move that is being rolled back keeps its phase
and carries the reason in `outcome_reason` until it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, Protocol

from controller.domain import Fact, Fleet, Instance, Move, MovePhase, Observation, TrainingState
from controller.domain.errors import (
    AnsibleError,
    AwsError,
    CapacityFileError,
    CapacityUnavailableError,
    CentavoError,
    GuardError,
    MoveStuckError,
    NodesError,
    StoppedError,
    TerraformError,
)
from controller.domain.reasons import Reason, Said
from controller.edges.clock import Clock
from controller.words.reasons import reason_in_words


class Cluster(Protocol):
    """What a move needs of the cluster. Every call may be repeated."""

    def set_capacity(self, fleet: Fleet) -> None:
        """Capacity file, plan, guard, apply. GuardError and CapacityFileError mean that nothing was changed."""

    def workers(self) -> tuple[Instance, ...]:
        """Workers that are pending or running."""

    def members(self) -> frozenset[str]:
        """The instances in the hosts file, as last written."""

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        """Flavors that EC2 could not launch since then, with its reason."""

    def silent(self, instances: Sequence[Instance]) -> Mapping[str, str]:
        """Those that don't answer SSH, by instance id, with what was said."""

    def configure(self, instances: Sequence[Instance], timeout_s: float) -> None:
        """Makes workers of them, warm and ready to join. Raises AnsibleError."""

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        """Writes the hosts file: who takes part in the training."""

    def observe(self) -> Observation:
        """Reads the facts and keeps them in the journal."""

    def training_has_ended(self) -> bool:
        """Whether the last observation found the training at its end."""

    def lift_protection(self, instances: Sequence[Instance]) -> None:
        """Lets exactly these instances be ended by a scale-in."""


@dataclass(frozen=True)
class MoveLimits:
    """How long each step may take, and how often to look meanwhile, in seconds."""

    boot_s: float
    configure_s: float
    join_s: float
    drain_s: float
    poll_s: float


class _TrainingEndedError(Exception):
    """The training ended in the middle of a move."""


class MoveRunner:
    """Takes one move from where it is to its end.

    `save` keeps the move in the journal, `tell` reports a step, `unavailable` remembers flavors that could not be had.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        limits: MoveLimits,
        *,
        save: Callable[[Move], None],
        tell: Callable[[Move, str], None],
        unavailable: Callable[[Collection[str], str], None],
    ) -> None:
        self._cluster, self._clock, self._limits = cluster, clock, limits
        self._save, self._tell, self._unavailable = save, tell, unavailable

    def run(self, move: Move) -> Move:
        """The move as it ended. Raises MoveStuckError when it can be neither finished nor undone for now, and
        StoppedError when a person stops it; running the saved move again goes on from there."""
        try:
            while not move.phase.is_final:
                move = self._step(move)
        except _TrainingEndedError:
            move = self._end_with_training(move)
        return move

    def _step(self, move: Move) -> Move:
        if move.outcome_reason is not None:
            return self._roll_back(move)
        try:
            return {
                MovePhase.PROPOSED: self._propose,
                MovePhase.GROWING: self._grow,
                MovePhase.JOINING: self._join,
                MovePhase.SHRINKING: self._shrink,
            }[move.phase](move)
        except (StoppedError, MoveStuckError):
            raise
        except CentavoError as error:
            return self._fail(move, error)

    def _propose(self, move: Move) -> Move:
        return self._to(move, MovePhase.GROWING, f"capacity {move.source} -> {move.source.union(move.target)}")

    def _grow(self, move: Move) -> Move:
        self._cluster.set_capacity(move.source.union(move.target))
        grown = self._wait_until_running(move)
        move = self._kept(replace(move, grown=tuple(sorted(i.instance_id for i in grown))))
        self._wait_until_answering(grown)
        if grown:
            self._tell(move, f"configuring {len(grown)} new nodes")
            self._cluster.configure(grown, self._limits.configure_s)
        return self._to(move, MovePhase.JOINING, f"{len(grown)} new nodes are warm and join")

    def _wait_until_running(self, move: Move) -> list[Instance]:
        """The workers that are not members yet, once the union runs. Fails as soon as EC2 says that it can't."""
        union, members = move.source.union(move.target), self._cluster.members()
        grown_flavors = [flavor for flavor in move.target if move.target.count(flavor) > move.source.count(flavor)]
        deadline = self._clock.now() + self._limits.boot_s
        while True:
            workers = self._workers_or_none()
            missing = _missing(union, workers)
            if workers is not None and not missing:
                return [i for i in workers if i.instance_id not in members]
            failures = self._cluster.launch_failures(grown_flavors, move.at)
            if failures:
                raise CapacityUnavailableError(
                    "EC2 could not launch "
                    + "; ".join(f"{flavor}: {reason}" for flavor, reason in sorted(failures.items())),
                    tuple(sorted(failures)),
                )
            if self._clock.now() >= deadline:
                raise NodesError(f"Not running after {self._limits.boot_s:.0f} s: {Fleet(missing)}.", tuple(missing))
            self._look()

    def _wait_until_answering(self, instances: Sequence[Instance]) -> None:
        deadline = self._clock.now() + self._limits.boot_s
        while silent := self._cluster.silent(instances):
            if self._clock.now() >= deadline:
                raise NodesError(
                    f"No answer over SSH after {self._limits.boot_s:.0f} s: "
                    + "; ".join(f"{node}: {said}" for node, said in sorted(silent.items())),
                    _flavors(instances, silent),
                )
            self._look()

    def _join(self, move: Move) -> Move:
        hosts = self._running(move)
        grown = [i for i in hosts if i.instance_id in move.grown]
        lost = set(move.grown) - {i.instance_id for i in grown}
        if lost:
            raise NodesError(f"Gone before joining: {', '.join(sorted(lost))}.", _grown_flavors(move))
        self._train_on(hosts, grown, self._limits.join_s, "join")
        return self._begin_shrinking(move, hosts)

    def _begin_shrinking(self, move: Move, hosts: Sequence[Instance]) -> Move:
        drain = choose_drain(move, hosts, self._cluster.observe().facts)
        move = replace(move, drain=drain)
        return self._to(move, MovePhase.SHRINKING, f"{len(drain)} nodes leave: {move.source} -> {move.target}")

    def _shrink(self, move: Move) -> Move:
        workers = self._running(move)
        survivors = [i for i in workers if i.instance_id not in move.drain]
        self._train_on(survivors, survivors, self._limits.drain_s, "go on without the drained nodes")
        try:
            self._release(move.target, {i.instance_id for i in survivors})
        except (TerraformError, AwsError, GuardError, CapacityFileError) as error:
            self._stuck(move, error)
        return self._end(move, MovePhase.DONE, None)

    def _release(self, fleet: Fleet, staying: set[str]) -> None:
        """Lifts the protection of the leaving nodes, lowers the capacity, and waits until they are gone."""
        self._cluster.lift_protection([i for i in self._cluster.workers() if i.instance_id not in staying])
        self._cluster.set_capacity(fleet)
        deadline = self._clock.now() + self._limits.boot_s
        while leaving := [i for i in self._cluster.workers() if i.instance_id not in staying]:
            if self._clock.now() >= deadline:
                raise MoveStuckError(
                    f"EC2 has not ended {', '.join(i.instance_id for i in leaving)} after {self._limits.boot_s:.0f} s.",
                    "Nothing is lost but their price. The controller goes on trying.",
                )
            self._cluster.lift_protection(leaving)
            self._look()

    def _fail(self, move: Move, error: CentavoError) -> Move:
        """Refuses a move that has changed nothing yet, and begins to roll back any other."""
        is_early = move.phase in (MovePhase.PROPOSED, MovePhase.GROWING)
        if is_early and isinstance(error, (GuardError, CapacityFileError)) and not self._has_grown():
            return self._end(move, MovePhase.REFUSED, Said(error.what))
        blamed = _blamed(move, error)
        if blamed:
            self._unavailable(blamed, error.what)
        move = self._kept(replace(move, outcome_reason=Said(error.what)))
        self._tell(move, f"rolling back: {error.what}")
        return move

    def _has_grown(self) -> bool:
        members = self._cluster.members()
        return any(i.instance_id not in members for i in self._cluster.workers())

    def _roll_back(self, move: Move) -> Move:
        """Lets the source train on without what was added, and only then gives the added nodes back."""
        try:
            workers = self._cluster.workers()
            added = _added(move, workers, self._cluster.members())
            staying = [i for i in workers if i.instance_id not in added and i.is_running]
            if move.phase is MovePhase.SHRINKING:
                everyone = self._running(move)
                self._train_on(everyone, everyone, self._limits.join_s, "train together again")
                move = self._kept(replace(move, phase=MovePhase.JOINING))
            if move.phase is MovePhase.JOINING:
                self._train_on(staying, staying, self._limits.drain_s, "go on as before the move")
            self._release(move.source, {i.instance_id for i in workers if i.instance_id not in added})
        except (StoppedError, MoveStuckError):
            raise
        except CentavoError as error:
            self._stuck(move, error)
        return self._end(move, MovePhase.ROLLED_BACK, move.outcome_reason)

    def _train_on(self, hosts: Sequence[Instance], nodes: Sequence[Instance], limit_s: float, purpose: str) -> None:
        """Writes the hosts file and waits until each of `nodes` says, in a fact written since then, that it trains in
        a world of all hosts. Fails early when one says `failed`."""
        self._cluster.set_hosts(hosts)
        since = self._clock.now()
        while True:
            facts = {fact.instance_id: fact for fact in self._look(wait=False).facts if fact.updated_at >= since}
            waiting = [i for i in nodes if not _trains(facts.get(i.instance_id), len(hosts))]
            if not waiting:
                return
            for node in waiting:
                _refuse_failed(node, facts.get(node.instance_id))
            if self._clock.now() >= since + limit_s:
                raise NodesError(
                    f"{len(waiting)} of {len(nodes)} nodes did not {purpose} within {limit_s:.0f} s: "
                    + ", ".join(f"{i.instance_id} ({i.flavor})" for i in waiting),
                    _flavors(waiting),
                )
            self._clock.sleep(self._limits.poll_s)

    def _look(self, *, wait: bool = True) -> Observation:
        """Observes, also to notice the training's end."""
        if wait:
            self._clock.sleep(self._limits.poll_s)
        observation = self._cluster.observe()
        if self._cluster.training_has_ended():
            raise _TrainingEndedError
        return observation

    def _workers_or_none(self) -> tuple[Instance, ...] | None:
        """None where EC2 could not be asked: unknown is not missing."""
        try:
            return self._cluster.workers()
        except AwsError:
            return None

    def _running(self, move: Move) -> list[Instance]:
        """The running workers that take part in the move: members, and what the move added."""
        known = self._cluster.members() | set(move.grown)
        return [i for i in self._cluster.workers() if i.is_running and i.instance_id in known]

    def _to(self, move: Move, phase: MovePhase, note: str) -> Move:
        move = self._kept(replace(move, phase=phase))
        self._tell(move, note)
        return move

    def _end(self, move: Move, phase: MovePhase, reason: Reason | None) -> Move:
        move = self._kept(replace(move, phase=phase, outcome_reason=reason, ended_at=self._clock.now()))
        self._tell(move, reason_in_words(reason) if reason else f"the fleet is {move.target}")
        return move

    def _end_with_training(self, move: Move) -> Move:
        """The fleet goes as a whole now, so that nothing is left to finish or to undo."""
        if move.phase is MovePhase.SHRINKING and move.outcome_reason is None:
            return self._end(move, MovePhase.DONE, Said("the training ended while the drained nodes were leaving"))
        reason = move.outcome_reason or Said("the training ended before the move was done")
        return self._end(move, MovePhase.ROLLED_BACK, reason)

    def _kept(self, move: Move) -> Move:
        self._save(move)
        return move

    def _stuck(self, move: Move, error: CentavoError) -> NoReturn:
        doing = "rolled back" if move.outcome_reason else "finished"
        raise MoveStuckError(
            f"The move to {move.target} can't be {doing} for now: {error.what}",
            "Nothing was removed that trains; the controller tries again in its next pass.",
        ) from error


def choose_drain(move: Move, workers: Sequence[Instance], facts: Sequence[Fact]) -> tuple[str, ...]:
    """The instances that leave: of each flavor as many as the target has fewer, those of which nothing is known first,
    then those that the move names beforehand (bad nodes), then the highest ranks, so that rank 0 stays where it can."""
    ranks, bad = {fact.instance_id: fact.rank for fact in facts}, {*move.drain}
    leaving: list[str] = []
    for flavor in move.source.union(move.target):
        nodes = [i.instance_id for i in workers if i.flavor == flavor]
        surplus = max(0, len(nodes) - move.target.count(flavor))
        nodes.sort(key=lambda node: (ranks.get(node) is not None, node not in bad, -(ranks.get(node) or 0), node))
        leaving += nodes[:surplus]
    return tuple(leaving)


def _trains(fact: Fact | None, size: int) -> bool:
    return fact is not None and fact.state is TrainingState.TRAINING and fact.world_size == size


def _refuse_failed(node: Instance, fact: Fact | None) -> None:
    if fact is not None and fact.state is TrainingState.FAILED:
        raise NodesError(
            f"{node.instance_id} ({node.flavor}) failed: {fact.reason or 'no reason given'}", (node.flavor,)
        )


def _missing(union: Fleet, workers: Sequence[Instance] | None) -> dict[str, int]:
    """Nodes per flavor that do not run yet."""
    running = [i.flavor for i in workers or () if i.is_running]
    return {f: n - running.count(f) for f, n in union.present.items() if running.count(f) < n}


def _added(move: Move, workers: Sequence[Instance], members: Collection[str]) -> set[str]:
    """What the move has added: known by name, or, while it grows, whatever is no member."""
    strangers = {i.instance_id for i in workers if i.instance_id not in members}
    return set(move.grown) | (strangers if move.phase is MovePhase.GROWING else set())


def _flavors(instances: Sequence[Instance], only: Collection[str] | None = None) -> tuple[str, ...]:
    return tuple(sorted({i.flavor for i in instances if only is None or i.instance_id in only}))


def _grown_flavors(move: Move) -> tuple[str, ...]:
    return tuple(f for f in move.target if move.target.count(f) > move.source.count(f))


def _blamed(move: Move, error: CentavoError) -> tuple[str, ...]:
    """The flavors that a failure makes unavailable for a while: those that it names, else those that grew."""
    if move.phase not in (MovePhase.GROWING, MovePhase.JOINING):
        return ()
    grown = _grown_flavors(move)
    named = getattr(error, "flavors", ())
    if named:
        return tuple(flavor for flavor in named if flavor in grown)
    return grown if isinstance(error, (AnsibleError, NodesError, CapacityUnavailableError, TerraformError)) else ()
