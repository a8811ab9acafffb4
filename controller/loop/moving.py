"""Carrying moves out, with the journal kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.act.aside import Aside
from controller.act.mover import Mover
from controller.act.track import Track
from controller.domain import NO_NODES, Fleet, MembershipChange, Move, MovePhase, NoticeKind, Observation
from controller.domain.errors import CapacityFileError
from controller.domain.move import MovePart
from controller.loop.job import Job, move_limits
from controller.loop.waits import Waits
from controller.observe.changes import membership_changes


class Moving:
    """The moves of one run."""

    def __init__(
        self,
        job: Job,
        waits: Waits,
        aside: Aside,
        dropped: Callable[[], Collection[str]],
        noticed: Callable[[], Mapping[str, NoticeKind]],
    ) -> None:
        self._job = job
        track = Track(job.clock, job.journal.save_move, job.note_move)
        limits = move_limits(job.settings)
        unavailable = waits.remember_unavailable
        self._mover = Mover(job.cluster, job.clock, limits, track, unavailable, aside, dropped, noticed)

    def go_on(self, move: Move, observation: Observation) -> None:
        """Makes one pass on a move that is under way."""
        self._close(self._mover.go_on(move, observation))

    def end_with_training(self) -> None:
        """Ends the move that is under way when the training ends: the fleet goes as a whole."""
        move = self._job.journal.move_under_way()
        if move is not None:
            self._close(self._mover.end_with_training(move))

    def _close(self, move: Move) -> None:
        """Keeps what an ended move cost the training."""
        if move.phase.is_final:
            journal = self._job.journal
            changes = membership_changes(journal.observations(since=move.at), move.at)
            journal.save_move(with_pauses(move, changes))
            if move.phase is MovePhase.DONE:
                for part, seconds in measured_parts(move, changes, journal.events()):
                    journal.add_duration(part, seconds)


def check_capacity_file(job: Job) -> None:
    """Raises CapacityFileError when a person has changed the capacity file while no controller ran.

    A file of no nodes is what a controller leaves that gave everything back and could not keep it in the journal.
    Raises AwsError where the groups can't be read.
    """
    move, capacity = job.journal.move_under_way(), job.cluster.capacity
    if move is None:
        job.cluster.applier.check_file_is_applied()
    elif move.taken.size and not capacity.read().beyond(move.source.plus(move.target)).size:
        return  # the groups of nodes that EC2 takes back shrink as these leave
    elif (fleet := capacity.read()) not in _steps(move, job.cluster.desired()):
        raise CapacityFileError(
            f"{capacity.path} asks for {fleet}, which is no step of the unfinished move from {move.source} to "
            f"{move.target}: someone else has changed it.",
            "Set it to one of these two fleets and start `centavo optimize` again.",
        )


def _steps(move: Move, asked: Fleet) -> tuple[Fleet, ...]:
    """Returns the fleets that the capacity file may ask for during a move.

    Args:
        move: The move.
        asked: What the groups ask EC2 for. Of a flavor that has just lost a node it is more than the source, which is
            what ran when the move began.
    """
    grown = move.source.union(move.target)
    return move.source, grown, grown.union(asked), grown.plus(move.left_out), move.target, asked, NO_NODES


def with_pauses(move: Move, changes: Sequence[MembershipChange]) -> Move:
    """Returns the move with the pauses and lost steps of its joins and leaves."""
    return replace(
        move, pause_s=sum(change.pause_s for change in changes), steps_lost=sum(change.steps_lost for change in changes)
    )


def measured_parts(
    move: Move, changes: Sequence[MembershipChange], events: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[MovePart, float]]:
    """Yields how long pauses and draining took in a move that is done.

    Args:
        move: The move.
        changes: Its joins and leaves.
        events: The events of the run, as the journal has them.
    """
    for change in changes:
        yield MovePart.PAUSE, change.pause_s
    let_go = [event["at"] for event in events if event["move_id"] == move.move_id and event["kind"] == "shrinking"]
    if let_go and move.ended_at is not None and move.source.beyond(move.target).size:
        yield MovePart.DRAIN, move.ended_at - min(let_go)
