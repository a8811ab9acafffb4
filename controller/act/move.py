"""The state machine of a move: proposed -> growing -> joining -> shrinking -> done, or rolled_back, or refused.

Nothing is removed before its replacement trains. Every step can be done again, and each phase is saved before it
begins, so that a controller that was killed goes on from the journal. A move that is being rolled back keeps its phase
and carries the reason in `outcome_reason` until it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from controller.act.blame import blamed
from controller.act.cluster import Cluster
from controller.act.drain import added_by, choose_drain
from controller.act.track import Track
from controller.act.waiting import MoveLimits, Waiter, nodes_error
from controller.domain import Fleet, Instance, Move, MovePhase, Observation
from controller.domain.errors import (
    AwsError,
    CapacityFileError,
    CentavoError,
    GuardError,
    MoveStuckError,
    NodesError,
    StoppedError,
    TerraformError,
)
from controller.domain.reasons import Reason
from controller.domain.reasons.moving import (
    DidNotGoOn,
    DidNotJoin,
    LostBeforeJoining,
    TrainingEnded,
    TrainingEndedInShrinking,
)
from controller.edges.clock import Clock

_NEVER_STARTED = (GuardError, CapacityFileError)
"""What ends a move as refused where nothing has been added yet."""
_NO_WAY_TO_RELEASE = (TerraformError, AwsError, GuardError, CapacityFileError, NodesError)
"""What keeps drained nodes running: the move is tried again, for there is no way back."""


class _TrainingEndedError(Exception):
    """The training ended in the middle of a move."""


class MoveRunner:
    """Takes one move from where it is to its end. `unavailable` remembers flavors that could not be had, and why."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        limits: MoveLimits,
        track: Track,
        unavailable: Callable[[Collection[str], Reason], None],
    ) -> None:
        self._cluster, self._clock, self._limits = cluster, clock, limits
        self._track, self._unavailable = track, unavailable
        self._wait = Waiter(cluster, clock, limits, self._pause)

    def run(self, move: Move) -> Move:
        """Runs the move to its end. Running a saved move again goes on from where it was.

        Returns:
            The move as it ended.

        Raises:
            MoveStuckError: The move can be neither finished nor undone for now.
            StoppedError: A person stopped the controller.
        """
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
        grown = move.source.union(move.target)
        return self._track.enter(move, MovePhase.GROWING, f"capacity {move.source} -> {grown}")

    def _grow(self, move: Move) -> Move:
        """Adds nodes, while the source trains on, and prepares them."""
        grown = move.source.union(move.target)
        self._cluster.set_capacity(grown)
        members = self._cluster.members()
        workers = self._wait.until_running(grown, move.target.beyond(move.source), move.at)
        added = [i for i in workers if i.instance_id not in members]
        move = self._track.keep(replace(move, grown=tuple(sorted(i.instance_id for i in added))))
        self._wait.until_answering(added)
        if added:
            self._track.tell(move, f"configuring {len(added)} new nodes")
            self._cluster.configure(added, self._limits.configure_s)
        return self._track.enter(move, MovePhase.JOINING, f"{len(added)} new nodes are warm and join")

    def _join(self, move: Move) -> Move:
        """Lets the new nodes in, and chooses the nodes that leave."""
        hosts = self._taking_part(move)
        added = [i for i in hosts if i.instance_id in move.grown]
        lost = {*move.grown} - {i.instance_id for i in added}
        if lost:
            raise nodes_error(LostBeforeJoining(tuple(sorted(lost))), move.target.beyond(move.source))
        self._train_on(hosts, added, self._limits.join_s, DidNotJoin)
        drain = choose_drain(move, hosts, self._cluster.observe().facts)
        note = f"{len(drain)} nodes leave: {move.source} -> {move.target}"
        return self._track.enter(replace(move, drain=drain), MovePhase.SHRINKING, note)

    def _shrink(self, move: Move) -> Move:
        """Lets the nodes that stay train without the others, and only then gives the others back."""
        staying = [i for i in self._taking_part(move) if i.instance_id not in move.drain]
        self._train_on(staying, staying, self._limits.drain_s, DidNotGoOn)
        try:
            self._release(move.target, {i.instance_id for i in staying})
        except _NO_WAY_TO_RELEASE as error:
            self._stuck(move, error)
        return self._track.end(move, MovePhase.DONE, None)

    def _release(self, fleet: Fleet, staying: set[str]) -> None:
        """Lifts the protection of the leaving nodes, lowers the capacity, and waits until they are gone."""
        self._cluster.lift_protection([i for i in self._cluster.workers() if i.instance_id not in staying])
        self._cluster.set_capacity(fleet)
        self._wait.until_gone(staying)

    def _fail(self, move: Move, error: CentavoError) -> Move:
        """Refuses a move that has changed nothing yet, and begins to roll back any other."""
        is_early = move.phase in (MovePhase.PROPOSED, MovePhase.GROWING)
        if is_early and isinstance(error, _NEVER_STARTED) and not self._has_grown():
            return self._track.end(move, MovePhase.REFUSED, error.reason)
        flavors = blamed(move, error)
        if flavors:
            self._unavailable(flavors, error.reason)
        return self._track.turn_back(move, error.reason)

    def _has_grown(self) -> bool:
        members = self._cluster.members()
        return any(i.instance_id not in members for i in self._cluster.workers())

    def _roll_back(self, move: Move) -> Move:
        """Lets the source train on without what was added, and only then gives the added nodes back."""
        try:
            workers = self._cluster.workers()
            added = added_by(move, workers, self._cluster.members())
            staying = [i for i in workers if i.instance_id not in added and i.is_running]
            if move.phase is MovePhase.SHRINKING:
                everyone = self._taking_part(move)
                self._train_on(everyone, everyone, self._limits.join_s, DidNotJoin)
                move = self._track.keep(replace(move, phase=MovePhase.JOINING))
            if move.phase is MovePhase.JOINING:
                self._train_on(staying, staying, self._limits.drain_s, DidNotGoOn)
            self._release(move.source, {i.instance_id for i in workers if i.instance_id not in added})
        except (StoppedError, MoveStuckError):
            raise
        except CentavoError as error:
            self._stuck(move, error)
        return self._track.end(move, MovePhase.ROLLED_BACK, move.outcome_reason)

    def _train_on(
        self,
        hosts: Sequence[Instance],
        nodes: Sequence[Instance],
        limit_s: float,
        late: Callable[[Mapping[str, str], int, float], Reason],
    ) -> None:
        """Writes the hosts file, and waits until `nodes` train in a world of all hosts."""
        self._cluster.set_hosts(hosts)
        self._wait.until_training(nodes, len(hosts), limit_s, self._look, late)

    def _pause(self) -> None:
        """Lets time pass between two looks, and notices the training's end."""
        self._clock.sleep(self._limits.poll_s)
        self._look()

    def _look(self) -> Observation:
        observation = self._cluster.observe()
        if self._cluster.training_has_ended():
            raise _TrainingEndedError
        return observation

    def _taking_part(self, move: Move) -> list[Instance]:
        """Returns the running workers that are members, that the move has added, or that it has drained."""
        known = self._cluster.members() | {*move.grown, *move.drain}
        return [i for i in self._cluster.workers() if i.is_running and i.instance_id in known]

    def _end_with_training(self, move: Move) -> Move:
        """Ends the move: the fleet goes as a whole now, so that nothing is left to finish or to undo."""
        if move.phase is MovePhase.SHRINKING and move.outcome_reason is None:
            return self._track.end(move, MovePhase.DONE, TrainingEndedInShrinking())
        return self._track.end(move, MovePhase.ROLLED_BACK, move.outcome_reason or TrainingEnded())

    def _stuck(self, move: Move, error: CentavoError) -> NoReturn:
        doing = "rolled back" if move.outcome_reason else "finished"
        raise MoveStuckError(
            f"The move to {move.target} can't be {doing} for now: {error.what}",
            "Nothing was removed that trains. The controller tries again in its next pass.",
            reason=error.reason,
        ) from error
