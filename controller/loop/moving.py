"""Carrying a move out, with the journal kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.act.move import MoveRunner
from controller.act.track import Track
from controller.domain import Move, MovePhase, Observation
from controller.domain.errors import CapacityFileError
from controller.domain.reasons.moving import TrainingEnded
from controller.loop.job import Job, move_limits
from controller.loop.waits import Waits
from controller.observe.changes import membership_changes


def run_move(job: Job, waits: Waits, move: Move) -> None:
    """Takes a move from where it is to its end. Raises MoveStuckError when there is no end to reach for now."""
    job.journal.save_move(move)
    track = Track(job.clock, job.journal.save_move, job.note_move)
    limits = move_limits(job.settings)
    ended = MoveRunner(job.cluster, job.clock, limits, track, waits.remember_unavailable).run(move)
    job.journal.save_move(with_pauses(ended, job.journal.observations(since=ended.at)))


def check_capacity_file(job: Job) -> None:
    """Raises CapacityFileError when a person has changed the capacity file while no controller ran."""
    move, capacity = job.journal.move_under_way(), job.cluster.capacity
    if move is None:
        job.cluster.applier.check_file_is_applied()
    elif (fleet := capacity.read()) not in (move.source, move.source.union(move.target), move.target):
        raise CapacityFileError(
            f"{capacity.path} asks for {fleet}, which is no step of the unfinished move from {move.source} to "
            f"{move.target}: someone else has changed it.",
            "Set it to one of these two fleets and start `centavo optimize` again.",
        )


def close_move(job: Job) -> None:
    """Ends a move that is under way when the training ends: the fleet goes as a whole."""
    move = job.journal.move_under_way()
    if move is not None:
        reason = move.outcome_reason or TrainingEnded()
        ended_at = job.clock.now()
        job.journal.save_move(replace(move, phase=MovePhase.ROLLED_BACK, ended_at=ended_at, outcome_reason=reason))


def with_pauses(move: Move, observations: Sequence[Observation]) -> Move:
    """Returns the move with the pauses and lost steps of the joins and leaves in its observations."""
    changes = membership_changes(observations, move.at)
    return replace(
        move, pause_s=sum(change.pause_s for change in changes), steps_lost=sum(change.steps_lost for change in changes)
    )
