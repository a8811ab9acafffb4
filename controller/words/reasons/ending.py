"""What is said of the end of a run, in words."""

from __future__ import annotations

from controller.domain.reasons import ending as reasons
from controller.domain.times import iso
from controller.words.numbers import usd
from controller.words.reasons.dispatch import reason_in_words
from controller.words.reasons.health import REMEDIES


@reason_in_words.register
def _(reason: reasons.LauncherFailed) -> str:
    return reason.said or "no reason was given"


@reason_in_words.register
def _(reason: reasons.BudgetReached) -> str:
    return (
        f"the budget of {usd(reason.budget_usd)} is reached: {usd(reason.spent_usd)} were spent, and giving everything"
        f" back needs about {usd(reason.reserve_usd)}"
    )


@reason_in_words.register
def _(reason: reasons.GivenUp) -> str:
    if not reason.remedies:
        return f"{reason_in_words(reason.ailment)}; no remedy fits"
    tried = ", ".join(REMEDIES[remedy] for remedy in reason.remedies)
    return f"{reason_in_words(reason.ailment)}; tried without success: {tried}"


@reason_in_words.register
def _(reason: reasons.StopAsked) -> str:
    return f"{reason.by} asked for it at {iso(reason.at)}"


@reason_in_words.register
def _(reason: reasons.ResultsMissing) -> str:
    return "the launcher said that the training has finished, but the folder `results` on the head is missing or empty"


@reason_in_words.register
def _(reason: reasons.EnvironmentDestroyed) -> str:
    return "the environment was destroyed"
