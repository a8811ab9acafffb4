"""Entering a world and going back: what keeps the replicas of a training equal while ranks come and go."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict

from trainer.checkpoint.checkpoint import CheckpointError
from trainer.checkpoint.initial import initial_parameters
from trainer.elastic.balance import Balancer
from trainer.elastic.exchange import broadcast_object
from trainer.elastic.rank_report import RankReport, deviating
from trainer.elastic.world import World
from trainer.node.fact import MembershipChange, timestamp
from trainer.training.errors import TrainingFailedError
from trainer.training.prepare import Prepared
from trainer.training.replicas import note_correction
from trainer.training.state import TrainingState

log = logging.getLogger(__name__)


class Membership:
    """This rank's part in one world after another."""

    def __init__(self, prepared: Prepared, state: TrainingState, balancer: Balancer, resume: bool) -> None:
        self._prepared, self._state, self._balancer, self._resume = prepared, state, balancer, resume
        self._rank: int | None = None
        self._world_size: int | None = None
        self._lost_steps = 0
        self._went_back = True
        self._step_ended = time.perf_counter()
        self.warm_up_speed: float | None = None
        """Target tokens per second of this rank before its first step, where it was measured."""
        self.last_change: MembershipChange | None = None

    def enter(self, world: World) -> None:
        """Makes the replicas equal, shares out the batch and notes who came and who left. Collective.

        Raises:
            TrainingFailedError: There are checkpoints to resume from, and none of them can be used. Or `init_from` has
                nothing that can be begun with.
            ForeignRankError: Some ranks are of another training.
        """
        if world.rank == 0 and not self._state.is_shared:
            self._begin()
        reports, source = self._state.share(self._report())
        note_correction(self._prepared, self._state, world, deviating(reports, source), source)
        self._discard_undone(world)
        self._note_change(world, reports, source)
        self._lost_steps = 0
        self._balancer.begin(
            [report.speed_tokens_per_s for report in reports], [report.largest_share for report in reports]
        )
        self._rank, self._world_size = world.rank, world.size

    def go_back(self) -> None:
        """Goes back to the last commit, after a rank was lost."""
        self._lost_steps += self._state.restore()
        self._went_back = True

    def note_step(self) -> None:
        """Notes that a step has ended just now: the pause of a change of the world begins there."""
        self._step_ended = time.perf_counter()

    def _report(self) -> RankReport:
        speed = None if self._rank is None else self._balancer.speed(self._rank)
        return RankReport(
            has_state=self._state.is_shared,
            step=self._state.progress.step,
            checksum=self._state.checksum() if self._state.is_shared else None,
            lost_steps=self._lost_steps,
            last_size=self._world_size,
            speed_tokens_per_s=speed or self.warm_up_speed,
            largest_share=self._prepared.share_limit,
            training_digest=self._prepared.digest,
        )

    def _begin(self) -> None:
        """Loads what the training begins with, on rank 0 of the first world: the other ranks take it over from it."""
        location = self._prepared.settings.init_from
        if (self._resume and self._resume_from_checkpoint()) or location is None:
            return
        shapes = {f"parameter.{name}": parameter.shape for name, parameter in self._prepared.parameters.items()}
        try:
            parameters = initial_parameters(location, self._prepared.checkpoints.origin, shapes)
        except CheckpointError as error:
            raise TrainingFailedError(f"init_from: {location} cannot be begun with: {error}") from error
        self._state.take_parameters(parameters)
        self._state.progress.init_from = location

    def _resume_from_checkpoint(self) -> bool:
        """Loads the newest checkpoint. Returns whether there is one."""
        checkpoint = self._prepared.checkpoints.latest()
        if checkpoint is None and self._prepared.checkpoints.are_there:
            raise TrainingFailedError(
                f"none of the checkpoints in {self._prepared.storage.location} can be used (the log says why): take "
                "the settings and the version that made them, or begin in another storage"
            )
        if checkpoint is not None:
            self._state.load(checkpoint)
            settings = self._prepared.settings
            self._state.progress.resume(checkpoint.stopped, settings.stop.patience, settings.validation.measure)
            log.info("resumed from the checkpoint of step %d", checkpoint.step)
        return checkpoint is not None

    def _discard_undone(self, world: World) -> None:
        """Removes the checkpoints of later steps where the training begins or goes back.

        Nothing continues them, and a later resume would take them for checkpoints of this training.
        """
        if world.rank == 0 and self._went_back:
            self._prepared.checkpoints.finish()
            self._prepared.checkpoints.discard_from(self._state.progress.step + 1)
        self._went_back = False

    def _note_change(self, world: World, reports: list[RankReport], source: int) -> None:
        """Records who came or left as rank `source`, whose state all ranks have now, saw it: the same on every rank."""
        before, progress = reports[source].last_size, self._state.progress
        lost = max(report.lost_steps for report in reports)
        progress.lose(lost)
        if before is None:
            return
        at, pause_s = broadcast_object((time.time(), time.perf_counter() - self._step_ended), source, "pause")
        self.last_change = MembershipChange(timestamp(at), before, world.size, round(pause_s, 3), lost)
        progress.changes.append(asdict(self.last_change))
        if world.rank == 0:
            log.info("from %d to %d ranks: paused %.2f s, %d steps lost", before, world.size, pause_s, lost)
