"""One run of the main job, from wherever its journal says it is.

The journal names the stage of the run, so that each stage may be the first one of a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.cluster import LiveCluster
from controller.config.environment import Environment
from controller.domain.errors import AskedToStopError, CentavoError, ConfigError, NodesTooSmallError
from controller.domain.reasons import Reason
from controller.edges.clock import Clock
from controller.loop.approval import Approval, at_once
from controller.loop.deciding import Decider
from controller.loop.finish import finish
from controller.loop.job import Job
from controller.loop.start import START_TROUBLES, start
from controller.loop.training import Training
from controller.loop.waits import Waits
from controller.record.journal import Journal, Stage
from controller.record.live.reporter import Reporter
from controller.record.report.ended import STOPPED, error_of
from controller.record.report.report import write_report


class Optimizer:
    """The main job: it starts a training, moves it to the cheapest fleet, and gives everything back at the end."""

    def __init__(
        self,
        environment: Environment,
        cluster: LiveCluster,
        journal: Journal,
        clock: Clock,
        reporter: Reporter,
        decider: Decider,
        bring_up: Callable[[], None],
        approval: Approval = at_once,
        asked: Callable[[], Reason | None] = lambda: None,
    ) -> None:
        self._job = Job(environment, cluster, journal, clock, reporter, asked)
        self._bring_up = bring_up
        waits = Waits(journal, clock, environment.settings.controller.unavailable_s, self._job.market)
        self._training = Training(self._job, waits, decider, approval)

    def run(self) -> dict[str, Any]:
        """Runs until the training has ended and the fleet is released.

        Returns:
            The report.

        Raises:
            StoppedError: A person stopped the controller. The journal holds the state.
            CentavoError: The training could not be started. What was made for it was given back.
            DiskError: The journal could not be written at the end. Everything was given back.
            TrainingFailedError: The training did not succeed. Everything was given back.
            BudgetReachedError: The training was stopped, since its budget is used up. Everything was given back.
            AskedToStopError: The training was stopped, since a person asked for it. Everything was given back.
        """
        job, stage = self._job, self._job.journal.stage()
        status = job.journal.status()
        failure: CentavoError | None = None
        try:
            job.cluster.capacity.read()
            if stage is Stage.STARTING:
                stage, failure = self._start()
                status = job.journal.status() if failure is None else "failed"
            if stage is Stage.TRAINING:
                status = self._training.accompany()
                stage = self._enter(Stage.ENDING)
            if stage is Stage.ENDING:
                finish(job, status)
                self._enter(Stage.ENDED)
                job.keep_all()
        finally:
            report = write_report(job.journal, self._usd_per_hour(), job.clock.now())
        error = failure or error_of(report, job.journal.directory)
        if error is not None:
            raise error
        return report

    def _start(self) -> tuple[Stage, CentavoError | None]:
        """Starts the training. Returns the stage that comes next, and why the start has failed.

        What was made for a start that fails is given back. Where nothing was made, a start that fails may be tried
        again; one on nodes that are too small has ended the run.
        """
        job = self._job
        try:
            start(job, self._bring_up)
        except NodesTooSmallError as error:
            job.note(f"the training was not started: {error.what}")
            job.end("failed", error.reason)
            return self._enter(Stage.ENDING if job.cluster.made.is_anything else Stage.ENDED), error
        except (*START_TROUBLES, ConfigError) as error:
            if not job.cluster.made.is_anything:
                raise
            job.note(f"the training could not be started: {error.what}")
            job.end("failed", error.reason)
            return self._enter(Stage.ENDING), error
        except AskedToStopError as error:
            job.note(f"the training was not started: {error.what}")
            job.end(STOPPED, error.reason)
            return self._enter(Stage.ENDING if job.cluster.made.is_anything else Stage.ENDED), None
        return self._enter(Stage.TRAINING), None

    def _enter(self, stage: Stage) -> Stage:
        """Keeps the stage that the run is in now, and returns it."""
        self._job.keep(lambda: self._job.journal.set_stage(stage))
        return stage

    def _usd_per_hour(self) -> dict[str, float]:
        return {flavor: price.usd_per_hour for flavor, price in self._job.cluster.costs.prices().items()}
