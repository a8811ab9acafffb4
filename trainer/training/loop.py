"""The loop of a training: step after step in one world after another, until the work is done."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import NoReturn

import numpy as np

from trainer.data.batch import collate
from trainer.data.batch_stream import Cut
from trainer.elastic.balance import Balancer
from trainer.elastic.errors import MembershipChanged, WorldLostError
from trainer.elastic.exchange import exchanged_bytes, sum_vector
from trainer.elastic.failures import FailureCount, translating_failures
from trainer.elastic.world import World
from trainer.messages.lines import Messenger
from trainer.node.fact import RankFigures, State
from trainer.node.fact_writer import FactWriter
from trainer.node.requests import Requests
from trainer.record.log_copies import LogCopies
from trainer.record.step_statistics import StepStatistics
from trainer.record.tensorboard import EventFile
from trainer.record.train_log import TrainLog
from trainer.training.divergence import check_skipped
from trainer.training.errors import TrainingFailedError, TrainingStopped
from trainer.training.membership import Membership
from trainer.training.prepare import Prepared
from trainer.training.replicas import compare_if_due
from trainer.training.schedule import Schedule
from trainer.training.state import TrainingState
from trainer.training.step import Asked, TakenStep, TrainingStep

log = logging.getLogger(__name__)


class Training:
    """One rank's training, from its first step to its last."""

    def __init__(
        self,
        prepared: Prepared,
        facts: FactWriter,
        requests: Requests,
        messenger: Messenger,
        speed: float | None,
        resume: bool = True,
    ) -> None:
        settings = prepared.settings
        self.prepared = prepared
        self.state = TrainingState(prepared.parameters, prepared.adam, prepared.gradients)
        self.events = EventFile(settings.tensorboard)
        self.state.progress.judge_by(settings.validation.measure)
        self._facts, self._requests, self._messenger = facts, requests, messenger
        self._step = TrainingStep(prepared, speed)
        self._balancer = Balancer(settings.balance.every_steps, settings.balance.max_change, settings.balance.enabled)
        self._membership = Membership(prepared, self.state, self._balancer, resume)
        self._log = TrainLog(self.events, LogCopies(prepared.storage, lambda: self.events.file))
        self._schedule = Schedule(prepared, self.state, self._log)
        self._statistics = StepStatistics(settings.facts.window, settings.facts.warmup_steps)
        self._failures = FailureCount(settings.elastic.max_failures_without_step)

    def warm_up(self, rounds: int = 2) -> None:
        """Computes a part of the first batch and throws it away. The first round is slow, the last one is measured."""
        samples = self.prepared.batches.samples_at(0)
        batch = collate(samples[: max(1, len(samples) // 6)], self.prepared.vocabulary.pad_id)
        for _ in range(rounds):
            computed = self._step.compute([batch])
            self._membership.warm_up_speed = computed.tokens / computed.compute_time_s

    def run(self, world: World) -> None:
        """Trains until the work is done, through every change of the world.

        Raises:
            RemovedFromJobError: This rank is to leave the training.
            TrainingStopped: The training was told to stop.
            TrainingFailedError: The training cannot continue.
            WorldLostError: A rank was lost in a training that is not elastic.
        """
        world.join()
        self._run_worlds(world)

    def run_again(self, world: World, error: WorldLostError) -> None:
        """Goes back to the last commit and trains from there, after a rank was lost when all steps were done.

        Raises:
            TrainingFailedError: Ranks are lost again and again.
        """
        self._go_back(error)
        world.reset()
        self._run_worlds(world)

    def _run_worlds(self, world: World) -> None:
        while True:
            try:
                with translating_failures():
                    self._enter(world)
                    self._train(world)
                return
            except MembershipChanged:
                log.info("the fleet changes after step %d", self.state.progress.step)
            except WorldLostError as error:
                self._go_back(error)
            self.prepared.batches.close()
            world.reset()

    def _go_back(self, error: WorldLostError) -> None:
        """Goes back to the last commit, unless ranks were lost too often since the last new step."""
        lost_at = self.state.progress.step
        is_too_often = self._failures.note(lost_at)
        self._membership.go_back()
        log.warning("a rank is lost (%s); back to step %d", error, self.state.progress.step)
        if is_too_often:
            count, last = self._failures.in_a_row, str(error).rstrip(".")
            raise TrainingFailedError(
                f"ranks were lost {count} times (elastic.max_failures_without_step) with no new step after step "
                f"{lost_at}; the last error: {last}. Look at the logs of the nodes and at their network. A new start "
                "continues from the last checkpoint"
            )

    def _enter(self, world: World) -> None:
        self._membership.enter(world)
        self._statistics.begin()
        self._seek(world)
        world.listen()
        self.state.commit()
        self._messenger.send("joined", rank=world.rank, size=world.size, step=self.state.progress.step)
        self._facts.figures = self._figures(world)
        self._facts.announce(State.TRAINING)
        log.info("rank %d of %d trains from step %d", world.rank, world.size, self.state.progress.step)

    @property
    def shares(self) -> Sequence[float]:
        """The share of each rank: of a global batch, and of the sentences that all translate together."""
        return self._balancer.shares

    def _seek(self, world: World) -> None:
        """Lets the batches continue after the last step, cut by the present shares."""
        self.prepared.batches.seek(self.state.progress.cursor, Cut(world.rank, tuple(self._balancer.shares)))

    def _train(self, world: World) -> None:
        stop, batches = self.prepared.settings.stop, self.prepared.batches
        self._membership.note_step()
        self._log.begin()
        self._validate_if_due(world)  # of the step at which the world before ended
        while not self.state.progress.is_done(stop, batches.batches_per_epoch):
            taken = self._make_step(world)
            if compare_if_due(self.prepared, self.state, world):
                self._seek(world)
            if taken.fault is not None:
                check_skipped(self.prepared, world, self.state.progress, taken.fault)
            totals = taken.totals
            self._schedule.keep_if_due(world, is_asked=totals.is_checkpoint_due)
            if totals.is_stop_due:
                self._stop(world)
            if totals.is_change_due:
                raise MembershipChanged
            if self._balancer.observe(totals.tokens_by_rank, totals.compute_time_s_by_rank):
                self._seek(world)
            self._validate_if_due(world)
            self._schedule.give_memory_back_if_scarce()

    def _make_step(self, world: World) -> TakenStep:
        self._tell_if_leaving()
        asked = Asked(self._requests.stop_reason is not None, self._requests.take_keep())
        try:
            taken = self._step.take(world, self.state.progress.step, asked)
        except BaseException:
            if asked.checkpoint:
                self._requests.keep()  # the ranks of the next world are to hear of it
            raise
        self._membership.note_step()
        self._account(world, taken)
        return taken

    def _validate_if_due(self, world: World) -> None:
        self._schedule.validate_if_due(world, self.shares, lambda: self._meet(world))

    def _meet(self, world: World) -> None:
        """Ends a long validation early where the ranks change or are told to stop. It is begun anew then. Collective.

        Raises:
            MembershipChanged: Hosts come or go.
            TrainingStopped: The training was told to stop.
        """
        self._tell_if_leaving()
        self._facts.refresh()
        asked = np.array([self._requests.stop_reason is not None, world.is_change_pending], dtype=np.float64)
        is_stop_due, is_change_due = sum_vector(asked, "meeting")
        if is_stop_due:
            self._stop(world)
        if is_change_due:
            raise MembershipChanged

    def _stop(self, world: World) -> NoReturn:
        self._schedule.keep_for_stop(world)
        raise TrainingStopped(self._requests.stop_reason or "told to stop")

    def _tell_if_leaving(self) -> None:
        if self._requests.leave_reason is not None:
            self._messenger.send("leaving", reason=self._requests.leave_reason)

    def _account(self, world: World, taken: TakenStep) -> None:
        progress, totals, batches = self.state.progress, taken.totals, self.prepared.settings.batch.accumulate
        self._statistics.record(taken.iteration)
        if taken.fault is None:
            progress.count_step(totals.tokens, totals.loss, batches)
            self._log.add_step(progress, totals, world.rank, world.size)
        else:
            progress.count_skipped_step(totals.tokens, batches)
            self._log.add_skipped_step(progress, totals, taken.fault, world.rank)
        self._facts.update(self._figures(world))

    def _figures(self, world: World) -> RankFigures:
        """Returns what the iteration fact tells about this rank's training."""
        settings, progress, batches = self.prepared.settings, self.state.progress, self.prepared.batches
        return RankFigures(
            rank=world.rank,
            world_size=world.size,
            step=progress.step,
            total_steps=progress.total_steps(settings.stop, batches.batches_per_epoch, settings.batch.accumulate),
            total_tokens=progress.tokens,
            loss=None if progress.loss is None else round(progress.loss, 6),
            share=round(self._balancer.shares[world.rank], 6),
            gradient_bytes=exchanged_bytes(self.prepared.gradients.arrays, settings.horovod.compression),
            last_change=self._membership.last_change,
            **asdict(self._statistics.medians()),
        )
