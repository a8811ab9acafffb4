"""Watching over a training: it has to make progress, and to keep its budget."""

from __future__ import annotations

from dataclasses import dataclass

from controller.decide.health import Signs, diagnose, dropped, watch
from controller.decide.limits.budget import spent_out
from controller.domain import Instance, Observation
from controller.domain.errors import AwsError
from controller.domain.health import Ailment, RemedyKind
from controller.domain.reasons import Reason
from controller.loop.job import Job
from controller.observe.clocks import clocks_off
from controller.observe.prices.zones import traffic_usd_per_hour, usd_per_zones_gb
from controller.record.report.ended import BUDGET_REACHED, STOPPED
from controller.words.once import Once
from controller.words.reasons import reason_in_words
from controller.words.reasons.health import ailment_in_words


@dataclass(frozen=True)
class Stop:
    """Why the controller stops a training.

    Attributes:
        status: The status of the run from now on.
    """

    status: str
    reason: Reason


def asked_to_stop(job: Job) -> Stop | None:
    """Returns that a person has asked to end the training; None where nobody has."""
    reason = job.asked()
    return None if reason is None else Stop(STOPPED, reason)


class Vigil:
    """Watches over one training. How long each state has lasted is counted anew when a controller begins."""

    def __init__(self, job: Job) -> None:
        self._job, self._signs = job, Signs()
        self._limits = job.settings.health_limits
        self._note_ailments, self._note_clocks = Once(job.note), Once(job.note)

    def dropped(self) -> frozenset[str]:
        """Returns the nodes (instance ids) that were taken out for a fault, and that must not come back."""
        return dropped(self._job.journal.remedies(), self._job.clock.now(), self._limits)

    def look(self, observation: Observation, *, is_short: bool = False) -> Stop | None:
        """Takes a look up, and does what helps where the training makes no progress.

        Args:
            observation: What was seen.
            is_short: Whether the training has no nodes, since EC2 has taken them back. Then it is not ill.

        Returns:
            Why the training has to be stopped; None where it goes on.
        """
        self._tell_clocks(observation)
        stop = asked_to_stop(self._job) or self._spent(observation)
        if stop is not None:
            return stop
        if is_short:
            self._signs = Signs()
            return None
        self._signs = watch(self._signs, observation, self._limits)
        ailments = diagnose(self._signs, self._job.journal.remedies(), self._limits, self._head_state())
        if ailments:
            self._note_ailments("; ".join(map(ailment_in_words, ailments)))
        for ailment in ailments:
            if ailment.remedy is RemedyKind.END_TRAINING:
                return Stop("failed", ailment.reason)
            if ailment.remedy is not None:
                self._try(ailment)
        return None

    def _spent(self, observation: Observation) -> Stop | None:
        """Returns that the budget is used up."""
        job = self._job
        costs, workers = job.cluster.costs, job.cluster.last_workers()
        traffic = traffic_usd_per_hour(observation, workers, usd_per_zones_gb(costs.prices()))
        budget_usd = job.journal.info().constraints.onto(job.environment.limits()).budget_usd
        reason = spent_out(
            spent_usd=job.journal.spent_usd(),
            usd_per_hour=costs.usd_per_hour(workers) + traffic,
            budget_usd=budget_usd,
            ending_s=job.settings.stop_ahead_s,
        )
        return None if reason is None else Stop(BUDGET_REACHED, reason)

    def _head_state(self) -> str | None:
        try:
            return self._job.cluster.instances.head_state()
        except AwsError:
            return None

    def _try(self, ailment: Ailment) -> None:
        """Keeps that a remedy is tried, and tries it. Dropping a node is done by keeping it."""
        job = self._job
        remedy = ailment.tried(job.clock.now())
        job.journal.add_remedy(remedy)
        words = remedy.kind.value.replace("_", " ")
        job.note(f"{words}{f' {remedy.node}' if remedy.node else ''}: {reason_in_words(remedy.reason)}")
        if remedy.kind is RemedyKind.RESTART_LAUNCHER:
            job.cluster.stop_training()
            job.cluster.start_training()
        elif remedy.kind is RemedyKind.REPLACE_NODE:
            job.cluster.applier.end_instance(self._worker(remedy.node))
        elif remedy.kind is RemedyKind.REBOOT_HEAD:
            job.cluster.applier.reboot(job.cluster.instances.head())

    def _worker(self, node: str | None) -> Instance:
        return next(worker for worker in self._job.cluster.last_workers() if worker.instance_id == node)

    def _tell_clocks(self, observation: Observation) -> None:
        off = clocks_off(observation)
        if off:
            self._note_clocks("; ".join(map(reason_in_words, off)))
