"""The second stage of a run: pass after pass, until the training has ended."""

from __future__ import annotations

from controller.act.aside import Aside
from controller.domain import Decision, Fleet, Move, Observation
from controller.domain.errors import AwsError, CentavoError
from controller.domain.reasons.ending import LauncherFailed
from controller.domain.reasons.moving import MergedByPeople
from controller.loop.approval import Approval
from controller.loop.deciding import Decider, decide_on
from controller.loop.job import PASSING_TROUBLES, Job
from controller.loop.losses import keep_losses, recall_losses
from controller.loop.moving import Moving, check_capacity_file
from controller.loop.speeds import keep_speeds, recall_speeds
from controller.loop.spot.spot import Spot
from controller.loop.upkeep import Upkeep
from controller.loop.vigil import Stop, Vigil
from controller.loop.waits import Waits
from controller.words.once import Once
from controller.words.reasons import reason_in_words


class Training:
    """Accompanies a training that runs: observes, and moves it to the fleet that was decided for."""

    def __init__(self, job: Job, waits: Waits, decider: Decider, approval: Approval) -> None:
        self._job, self._waits, self._decide, self._approval = job, waits, decider, approval
        self._note_once = Once(job.note)
        aside = Aside(job.clock, job.settings.interval_s)
        self._vigil = Vigil(job)
        self._spot = Spot(job)
        self._upkeep = Upkeep(job, aside, self._vigil.dropped, self._spot.notices.noticed)
        self._moving = Moving(job, waits, aside, self._vigil.dropped, self._spot.notices.noticed)
        self._stop: Stop | None = None

    def accompany(self) -> str:
        """Makes one pass after the other until the training has ended, and keeps how it ended.

        Returns:
            The status of the run from now on.
        """
        job = self._job
        self._check_capacity_file()
        while not self._is_over():
            began = job.clock.now()
            is_busy = self._try_pass()
            if not self._is_over():
                pause_s = job.settings.poll_s if is_busy else self._spot.pause_s(job.settings.interval_s)
                job.clock.sleep(pause_s - (job.clock.now() - began))
        status = self._keep_end()
        job.keep(self._moving.end_with_training)
        return status

    def _check_capacity_file(self) -> None:
        """Raises CapacityFileError when a person has changed the capacity file. Waits until AWS can be asked."""
        while True:
            try:
                check_capacity_file(self._job)
                return
            except AwsError as error:
                self._note_once(f"the capacity file could not be checked: {_told(error)}")
                self._job.clock.sleep(self._job.settings.interval_s)

    def _is_over(self) -> bool:
        """Returns whether the training has ended, or has to be stopped."""
        return self._stop is not None or self._job.cluster.training_has_ended()

    def _try_pass(self) -> bool:
        """Makes one pass. Returns whether the next one shall follow soon."""
        try:
            is_busy = self._pass()
        except PASSING_TROUBLES as error:
            self._note_once(f"this pass was given up: {_told(error)}")
            is_busy = False
        return is_busy or self._job.journal.move_under_way() is not None

    def _keep_end(self) -> str:
        job, end, stop = self._job, self._job.cluster.observer.end, self._stop
        if end is not None:
            stop = None if end.finished else Stop("failed", end.reason or LauncherFailed(None))
        status, reason = ("finished", None) if stop is None else (stop.status, stop.reason)
        job.end(status, reason)
        job.keep(lambda: keep_speeds(job.environment, job.journal))
        job.keep(lambda: keep_losses(job))
        job.note("the training has finished" if reason is None else f"the training ends: {reason_in_words(reason)}")
        return status

    def _pass(self) -> bool:
        """Makes one pass: goes on with a move, keeps the fleet whole, or decides. Returns whether anything was done."""
        job = self._job
        observation = job.cluster.observe()
        if not job.cluster.training_has_ended():
            self._spot.notices.take(observation)
            self._stop = self._vigil.look(observation, is_short=self._spot.is_short(observation))
        if self._is_over():
            return False
        recall_speeds(job)
        self._keep_labels(observation)
        recall_losses(job)
        move = job.journal.move_under_way() or self._spot.next_move(observation)
        if move is None:
            if self._upkeep.go_on(observation):
                return True
            if self._spot.has_shortage:
                return False
            move = self._decided_move(observation)
        if move is not None:
            self._moving.go_on(move, observation)
        return move is not None

    def _keep_labels(self, observation: Observation) -> None:
        """Keeps the names of run and ranks true. Nothing else depends on them."""
        try:
            self._job.cluster.keep_labels(observation)
        except AwsError as error:
            self._note_once(f"the tags of run and ranks could not be written: {_told(error)}")

    def _decided_move(self, observation: Observation) -> Move | None:
        """Decides. Returns the move that begins now, if there is one."""
        if observation.head is None:
            self._note_once("the head does not answer, so nothing is decided")
            return None
        decision = self._waits.hold_back(self._decision(observation))
        self._job.journal.add_decision(decision)
        self._job.reporter.decided(decision)
        target = self._approval(decision)
        if target is None or self._has_to_wait(decision, target):
            return None
        self._accept_merged_file(target)
        self._job.cluster.capacity.refuse_if_changed()
        move = self._move(decision, target)
        self._job.journal.save_move(move)
        return move

    def _decision(self, observation: Observation) -> Decision:
        job = self._job
        prices, limits = job.cluster.costs.prices(), job.environment.limits()
        return decide_on(observation, job.journal, prices, limits, self._decide)

    def _has_to_wait(self, decision: Decision, target: Fleet) -> bool:
        """Returns whether the move has to wait to a fleet that was merged; the decided one was held back before."""
        reason = None if target == decision.target else self._waits.reason(decision.current, target)
        if reason is not None:
            self._note_once(reason_in_words(reason))
        return reason is not None

    def _accept_merged_file(self, target: Fleet) -> None:
        """Accepts a capacity file that asks for the target already: people have pulled the merge into this checkout."""
        if self._job.cluster.capacity.peek() == target:
            self._job.cluster.capacity.read()

    def _move(self, decision: Decision, target: Fleet) -> Move:
        """Returns the move to a fleet, which is the one decided for or one that people have merged."""
        is_own = target == decision.target
        return Move(
            self._job.journal.next_move_id(),
            self._job.clock.now(),
            decision.current,
            target,
            decision.reason if is_own else MergedByPeople(),
            drain=decision.bad_nodes,
            is_probe=is_own and decision.is_probe,
        )


def _told(error: CentavoError) -> str:
    return f"{error.what} {error.next_step}".strip()
