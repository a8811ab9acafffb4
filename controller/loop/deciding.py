"""Deciding, on what is seen now and on what the journal remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from controller.decide.given import DecisionInput
from controller.decide.model.situation import READ_OBSERVATIONS
from controller.decide.replacing.losses import with_losses
from controller.domain import Decision, EarlierSpeed, Fleet, History, Limits, Observation, Price, Progress
from controller.observe.progress import read_progress
from controller.record.journal import Journal

Decider = Callable[[DecisionInput], Decision]
"""Decides on what is given. It has the settings of deciding itself."""


def decide_on(
    observation: Observation,
    journal: Journal,
    prices: Mapping[str, Price],
    limits: Limits,
    decide: Decider,
) -> Decision:
    """Decides what to do now. `decide` is how; the other arguments are those of `given_now`."""
    return decide(given_now(observation, journal, prices, limits))


def given_now(observation: Observation, journal: Journal, prices: Mapping[str, Price], limits: Limits) -> DecisionInput:
    """Returns what is known now, without the settings of deciding.

    Args:
        observation: The present one. The journal may have it already; the decision is given it once.
        journal: What earlier passes of this run left behind.
        prices: By flavor. The journal says how often nodes of a flavor are taken back.
        limits: Those of centavo.yml. The run's own deadline and budget take precedence.
    """
    info = journal.info()
    earlier = tuple(o for o in journal.recent(READ_OBSERVATIONS) if o.at < observation.at)
    progress = read_progress(observation, info.started_at)
    history = History(
        moves=journal.moves(),
        spent_usd=journal.spent_usd(),
        unavailable={flavor: until for flavor, (until, _) in journal.unavailable(observation.at).items()},
        earlier_speeds=_recalled(journal, observation.fleet),
        full_tokens_per_s=_full_speeds(journal),
        durations=journal.durations(),
        earlier_durations=journal.earlier_durations(),
        noticed=journal.noticed(),
        progress=None if progress is not None else _last_progress(earlier, info.started_at),
    )
    known = _learned(prices, journal)
    return DecisionInput((*earlier, observation), known, info.constraints.onto(limits), progress, history)


def _last_progress(earlier: Sequence[Observation], started_at: float) -> Progress | None:
    """Returns how far the training was when its ranks last said so."""
    found = (read_progress(observation, started_at) for observation in reversed(earlier))
    return next((progress for progress in found if progress is not None), None)


def _learned(prices: Mapping[str, Price], journal: Journal) -> Mapping[str, Price]:
    """Returns the prices with what is known of the spot market. Nothing is, where no node was bought there."""
    is_on_spot = bool(journal.noticed()) or any(price.interruptions_per_hour for price in prices.values())
    return with_losses(prices, journal.all_losses()) if is_on_spot or journal.earlier_losses() else prices


def _recalled(journal: Journal, fleet: Fleet) -> dict[str, EarlierSpeed]:
    """Returns the speeds from earlier runs of the flavors that do not run: those that run are measured soon."""
    _, speeds = journal.recalled() or ("", {})
    return {flavor: speed for flavor, speed in speeds.items() if not fleet.count(flavor)}


def _full_speeds(journal: Journal) -> dict[str, float]:
    """Returns the speeds that flavors had with CPU credits, as the last decision has them."""
    last = journal.last_decision()
    known = {} if last is None else {e.flavor: e.full_tokens_per_s for e in last.flavors}
    return {flavor: speed for flavor, speed in known.items() if speed is not None}
