"""What the deadline of a run asks for while spot nodes are lacking."""

from __future__ import annotations

from dataclasses import replace

from controller.decide.markets.advice import advice
from controller.decide.markets.asked import asked_for
from controller.decide.model.situation import Situation, assess
from controller.domain import Decision, Fleet, Observation
from controller.loop.decide_settings import decide_settings, with_settings, with_zones
from controller.loop.deciding import given_now
from controller.loop.job import Job


class Deadline:
    """The deadline of one run. There may be none."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def asked(self, observation: Observation, lasting: Fleet) -> Decision | None:
        """Returns the decision that the deadline asks for, kept in the journal.

        None where there is no deadline, where the nodes that last may go on, or where speeds are not known yet.

        Args:
            observation: The present one.
            lasting: The nodes that EC2 does not take back.
        """
        job = self._job
        if job.journal.info().constraints.onto(job.environment.limits()).deadline_at is None:
            return None
        situation = self._situation(replace(observation, fleet=lasting))
        advised = advice(situation)
        decision = None if advised is None else asked_for(advised, situation)
        if decision is not None:
            job.journal.add_decision(decision)
            job.reporter.decided(decision)
        return decision

    def _situation(self, observation: Observation) -> Situation:
        job, costs = self._job, self._job.cluster.costs
        declared = job.cluster.made.outputs.flavors
        given = given_now(observation, job.journal, costs.prices(), job.environment.limits())
        settings = decide_settings(job.environment, job.settings.policy, declared, costs.head_usd_per_hour)
        settings = with_zones(settings, job.cluster.made.outputs.zones, costs.prices())
        return assess(with_settings(given, settings, declared))
