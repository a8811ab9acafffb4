"""What the latest run says about the fleets of a plan, by the model that the controller decides with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from controller.decide.given import DecisionInput
from controller.decide.model.estimates import flavor_estimates
from controller.decide.model.situation import READ_OBSERVATIONS, assess
from controller.decide.samples.memory import measured_need, peak_bytes
from controller.decide.settings import DecideSettings
from controller.domain import Decision, Fleet, Limits, Observation, Price, Progress
from controller.observe.progress import read_progress
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import latest_run
from controller.review.plans.plan_summary import Evidence


def read_evidence(
    runs: Path,
    environment: str,
    fleets: Iterable[Fleet],
    prices: Mapping[str, Price],
    limits: Limits,
    settings: DecideSettings,
) -> Evidence:
    """Returns the evidence of the environment's newest run; empty if there is none, or it has measured nothing."""
    journal = latest_run(runs)
    if journal is None:
        return Evidence()
    try:
        if journal.info().environment != environment:
            return Evidence()
        return evidence_of(journal, fleets, prices, limits, settings)
    finally:
        journal.close()


def evidence_of(
    journal: Journal,
    fleets: Iterable[Fleet],
    prices: Mapping[str, Price],
    limits: Limits,
    settings: DecideSettings,
) -> Evidence:
    """Returns the evidence of one run. If the run has ended, times and costs are those of a whole training like it."""
    observations = journal.recent(READ_OBSERVATIONS)
    progress = last_progress(observations, journal.info().started_at)
    if progress is None:
        return Evidence()
    situation = assess(DecisionInput(observations, prices, limits, progress, settings=settings))
    model = situation.model()
    has_ended = journal.stage() in (Stage.ENDING, Stage.ENDED)
    steps = progress.total_steps if has_ended else progress.remaining_steps
    return Evidence(
        flavors={estimate.flavor: estimate for estimate in flavor_estimates(situation)},
        fleets={fleet: model.estimate(fleet, steps) for fleet in fleets} if model else {},
        run=journal.info().run,
        step=progress.step,
        total_steps=progress.total_steps,
        memory_need=measured_need(peak_bytes(observations, settings.minimum_window)),
        has_ended=has_ended,
    )


def with_fleet_estimates(
    decision: Decision, journal: Journal, prices: Mapping[str, Price], limits: Limits, settings: DecideSettings
) -> Decision:
    """Returns the decision with the model's estimates of the current fleet and of the target.

    A policy that compares flavors makes decisions without such estimates.
    """
    if decision.fleets:
        return decision
    found = evidence_of(journal, (decision.current, decision.target), prices, limits, settings)
    return replace(decision, fleets=tuple(found.fleets.values()))


def last_progress(observations: Sequence[Observation], started_at: float) -> Progress | None:
    """Returns how far the training was when a rank last said so."""
    for observation in reversed(observations):
        progress = read_progress(observation, started_at)
        if progress is not None and progress.step:
            return replace(progress, at=observation.at)
    return None
