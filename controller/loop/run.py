"""One run of the main job, from wherever its journal says it is.

The journal names the stage of the run, so that each stage may be the first one of a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.cluster import LiveCluster
from controller.config.environment import Environment
from controller.edges.clock import Clock
from controller.loop.approval import Approval, at_once
from controller.loop.deciding import Decider
from controller.loop.finish import finish
from controller.loop.job import Job
from controller.loop.start import start
from controller.loop.training import Training
from controller.loop.waits import Waits
from controller.record.journal import Journal, Stage
from controller.record.live.reporter import Reporter
from controller.record.report.ended import error_of
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
    ) -> None:
        self._job = Job(environment, cluster, journal, clock, reporter)
        self._bring_up = bring_up
        waits = Waits(journal, clock, environment.settings.controller.unavailable_s)
        self._training = Training(self._job, waits, decider, approval)

    def run(self) -> dict[str, Any]:
        """Runs until the training has ended and the fleet is released.

        Returns:
            The report.

        Raises:
            StoppedError: A person stopped the controller. The journal holds the state.
            TrainingFailedError: The training did not succeed. Everything was given back.
            BudgetReachedError: The training was stopped, since its budget is used up. Everything was given back.
        """
        journal = self._job.journal
        try:
            self._job.cluster.capacity.read()
            if journal.stage() is Stage.STARTING:
                start(self._job, self._bring_up)
                journal.set_stage(Stage.TRAINING)
            if journal.stage() is Stage.TRAINING:
                self._training.accompany()
                journal.set_stage(Stage.ENDING)
            if journal.stage() is Stage.ENDING:
                finish(self._job)
                journal.set_stage(Stage.ENDED)
        finally:
            report = write_report(journal, self._usd_per_hour(), self._job.clock.now())
        error = error_of(report, journal.directory)
        if error is not None:
            raise error
        return report

    def _usd_per_hour(self) -> dict[str, float]:
        return {flavor: price.usd_per_hour for flavor, price in self._job.cluster.costs.prices().items()}
