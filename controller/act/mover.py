"""Taking a move one pass further.

A move is kept as its row in the journal: proposed -> growing -> joining -> shrinking -> done, or rolled_back, or
refused. Its phase says how far it is, for people. For the controller only two things of the row count: whether the
first node was let go (`shrinking`), and whether the move is being undone (`outcome_reason`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from controller.act.aside import Aside
from controller.act.blame import blamed
from controller.act.cluster import Cluster
from controller.act.doing import Doer
from controller.act.reconcile.actions import Action, Awaited, Commit, Reached, SetHosts, Wait
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.patience import MoveLimits, Times, given_up
from controller.act.reconcile.seeing import see
from controller.act.reconcile.seen import Seen
from controller.act.track import Track
from controller.domain import Fleet, Move, MovePhase, NoticeKind, Observation
from controller.domain.errors import (
    AnsibleError,
    AwsError,
    CapacityFileError,
    CentavoError,
    FlavorsError,
    GuardError,
    HeadError,
    LeaseUncertainError,
    StoppedError,
)
from controller.domain.goal import goal_of
from controller.domain.reasons import Reason
from controller.domain.reasons.moving import ConfiguringFailed, NotRunning, TrainingEnded, TrainingEndedInShrinking
from controller.edges.clock import Clock

TRIES = 2
"""How often an action may fail in a row before a move that can be undone is undone."""
_NEVER_STARTED = (GuardError, CapacityFileError)
"""What ends a move as refused where nothing has been added yet."""


class Mover:
    """Takes moves on, one pass at a time. `unavailable` remembers flavors that could not be had, and why.

    `aside` holds the nodes that a move without a way back leaves alone for a while. `dropped` returns those that were
    taken out for a fault, `noticed` those that EC2 takes back, or may soon.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        limits: MoveLimits,
        track: Track,
        unavailable: Callable[[Collection[str], Reason], None],
        aside: Aside,
        dropped: Callable[[], Collection[str]] = frozenset,
        noticed: Callable[[], Mapping[str, NoticeKind]] = dict,
    ) -> None:
        self._cluster, self._clock, self._limits = cluster, clock, limits
        self._track, self._unavailable = track, unavailable
        self._aside, self._dropped, self._noticed = aside, dropped, noticed
        self._setbacks: Counter[int] = Counter()
        self._without_target_since: dict[int, float] = {}

    def go_on(self, move: Move, observation: Observation) -> Move:
        """Makes one pass on a move.

        Args:
            move: The move, which is under way.
            observation: What was seen in this pass.

        Returns:
            The move as it is now, perhaps at its end.

        Raises:
            StoppedError: A person stopped the controller.
            CentavoError: Something failed. The next pass tries again.
        """
        step = _Step(self._track, move)
        try:
            self._pass(step, observation)
        except (StoppedError, LeaseUncertainError):  # these say nothing about the move
            raise
        except CentavoError as error:
            self._failed(step, error)
        else:
            self._setbacks.pop(move.move_id, None)
        return step.move

    def end_with_training(self, move: Move) -> Move:
        """Ends a move because the training has ended: the fleet goes as a whole, so nothing is left to finish."""
        if move.phase is MovePhase.SHRINKING and move.outcome_reason is None:
            return self._track.end(move, MovePhase.DONE, TrainingEndedInShrinking())
        return self._track.end(move, MovePhase.ROLLED_BACK, move.outcome_reason or TrainingEnded())

    def _pass(self, step: _Step, observation: Observation) -> None:
        if step.move.phase is MovePhase.PROPOSED:
            step.grow()
        goal = goal_of(step.move)
        seen = see(
            self._cluster.last_workers(),
            observation,
            capacity=self._cluster.desired(),
            drain_s=self._limits.drain_s,
            bad=step.move.drain,
            dropped=self._dropped(),
            # A move that began before goes on as it is: what EC2 takes back of it is replaced afterwards.
            noticed={} if goal.way_back and not goal.taken.size else self._noticed(),
            aside={} if goal.way_back else self._aside.now(),
        )
        actions = next_actions(goal, seen)
        for action in actions:
            if isinstance(action, Wait):
                self._wait(action, step, seen, observation)
        if actions == (Reached(),):
            step.reach()
            return
        Doer(self._cluster, self._limits.configure_s, self._clock.now, step.tell, partial(step.keep, seen)).do(actions)

    def _wait(self, wait: Wait, step: _Step, seen: Seen, observation: Observation) -> None:
        """Tells people what is waited for. Raises CentavoError where a goal with a way back is not worth waiting."""
        move = step.move
        if goal_of(move).way_back:
            is_running = wait.awaited is Awaited.RUNNING
            refused = self._cluster.launch_failures(wait.missing.present, move.at) if is_running else {}
            written_at = None if observation.head is None else observation.head.hosts_written_at
            error = given_up(wait, seen, Times(self._clock.now(), move.at, written_at), self._limits, refused)
            if error is not None:
                raise error
        elif wait.awaited is Awaited.RUNNING:
            self._wait_for_target(wait, step)
        step.tell(str(wait))

    def _wait_for_target(self, wait: Wait, step: _Step) -> None:
        """Turns a move round that nothing of its target is left of, while the other fleet trains on."""
        now, move_id = self._clock.now(), step.move.move_id
        since = self._without_target_since.setdefault(move_id, now)
        if now >= since + self._limits.boot_s:
            del self._without_target_since[move_id]
            reason = NotRunning(wait.missing, self._limits.boot_s)
            if step.move.taken.size:
                step.give_up(reason)
            else:
                step.turn_round(reason)

    def _failed(self, step: _Step, error: CentavoError) -> None:
        """Refuses a move that has changed nothing yet, and turns any other back that can be undone.

        Raises:
            CentavoError: The error itself, where the next pass shall try again.
        """
        move = step.move
        if not goal_of(move).way_back:
            self._set_aside(error)
            raise error
        if isinstance(error, _NEVER_STARTED) and not self._has_grown(move):
            step.refuse(error.reason)
            return
        if self._is_worth_another_try(move, error):
            raise error
        flavor_of = {worker.instance_id: worker.flavor for worker in self._cluster.last_workers()}
        flavors = blamed(move, error, flavor_of)
        if flavors:
            self._unavailable(flavors, error.reason)
        if self._goes_on_without(flavors, step, error.reason):
            return
        if move.taken.size:
            step.give_up(error.reason)
        else:
            step.turn_back(error.reason)

    def _goes_on_without(self, flavors: Collection[str], step: _Step, reason: Reason) -> bool:
        """Lets a probe go on without flavors that could not be had; False where the move has to be undone."""
        rest = step.move.without(flavors) if flavors and step.move.phase is MovePhase.GROWING else None
        if rest is None:
            return False
        step.leave_out(rest, reason)
        self._setbacks.pop(step.move.move_id, None)
        return True

    def _set_aside(self, error: CentavoError) -> None:
        """Sets the nodes aside that could not be configured, so that they hold up nothing else."""
        if isinstance(error, AnsibleError) and isinstance(error.reason, ConfiguringFailed):
            for node, said in error.hosts.items():
                self._aside.put([node], said)

    def _is_worth_another_try(self, move: Move, error: CentavoError) -> bool:
        if isinstance(error, (FlavorsError, HeadError, *_NEVER_STARTED)):
            return False
        if isinstance(error, AwsError):
            return self._clock.now() < move.at + self._limits.boot_s
        self._setbacks[move.move_id] += 1
        return self._setbacks[move.move_id] < TRIES

    def _has_grown(self, move: Move) -> bool:
        """Returns whether there are more workers than the source has."""
        workers = self._cluster.last_workers()
        return bool(Fleet.counted(worker.flavor for worker in workers).beyond(move.source).size)


class _Step:
    """One pass on a move: the move as it is kept, which changes as the pass goes on."""

    def __init__(self, track: Track, move: Move) -> None:
        self._track, self.move = track, move

    def tell(self, note: str) -> None:
        """Tells people of what is done or waited for."""
        self._track.tell_once(self.move, note)

    def grow(self) -> None:
        """Keeps that the move begins."""
        whole = self.move.source.beyond(self.move.taken).union(self.move.target).plus(self.move.taken)
        note = f"capacity {self.move.source} -> {whole}"
        self.move = self._track.enter(self.move, MovePhase.GROWING, note)

    def keep(self, seen: Seen, action: Action) -> None:
        """Keeps what has to be known of an action before it is done: which nodes join, and which are let go."""
        if isinstance(action, Commit):
            note = f"{len(action.leaving)} nodes leave: {self.move.source} -> {self.move.target}"
            self.move = self._track.enter(replace(self.move, drain=action.leaving), MovePhase.SHRINKING, note)
        elif isinstance(action, SetHosts) and self.move.phase is MovePhase.GROWING:
            members = {node.instance_id for node in seen.members}
            coming = tuple(sorted({*action.nodes} - members))
            if coming:
                note = f"{len(coming)} new nodes join"
                self.move = self._track.enter(replace(self.move, grown=coming), MovePhase.JOINING, note)

    def leave_out(self, rest: Move, reason: Reason) -> None:
        """Keeps that a probe goes on without some of its nodes."""
        self.move = self._track.leave_out(rest, self.move.target.beyond(rest.target), reason)

    def turn_back(self, reason: Reason) -> None:
        """Keeps that the move is being undone."""
        self.move = self._track.turn_back(self.move, reason)

    def turn_round(self, reason: Reason) -> None:
        """Keeps that the fleet that trains is wanted after all, since nothing is left of the other one."""
        if self.move.outcome_reason is None:
            self.turn_back(reason)
            return
        move = replace(self.move, outcome_reason=None)
        self.move = self._track.enter(move, MovePhase.SHRINKING, f"going on to {move.target} after all")

    def give_up(self, reason: Reason) -> None:
        """Ends a move that replaces nodes which EC2 takes back. Nothing leads back to these: another move begins."""
        self.move = self._track.end(self.move, MovePhase.ROLLED_BACK, reason)

    def refuse(self, reason: Reason) -> None:
        """Ends the move as refused."""
        self.move = self._track.end(self.move, MovePhase.REFUSED, reason)

    def reach(self) -> None:
        """Ends the move as done, or as rolled back where it was being undone."""
        reason = self.move.outcome_reason
        phase = MovePhase.DONE if reason is None else MovePhase.ROLLED_BACK
        self.move = self._track.end(self.move, phase, reason)
