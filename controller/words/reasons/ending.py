"""What is said of the end of a run, in words."""

from __future__ import annotations

from controller.domain.reasons import ending as reasons
from controller.words.reasons.dispatch import reason_in_words


@reason_in_words.register
def _(reason: reasons.LauncherFailed) -> str:
    return reason.said or "no reason was given"


@reason_in_words.register
def _(reason: reasons.EnvironmentDestroyed) -> str:
    return "the environment was destroyed"
