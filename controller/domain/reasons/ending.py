"""Reasons for which a run ended without a finished training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from controller.domain.reasons.base import Reason


@dataclass(frozen=True)
class LauncherFailed(Reason):
    """The launcher on the head gave the training up."""

    code: ClassVar[str] = "launcher-failed"
    said: str | None
    """The launcher's own reason."""


@dataclass(frozen=True)
class BudgetReached(Reason):
    """The budget was used up, so that the training was stopped."""

    code: ClassVar[str] = "budget-reached"
    budget_usd: float
    spent_usd: float
    """When the training was told to stop."""
    reserve_usd: float
    """What giving everything back was expected to cost."""


@dataclass(frozen=True)
class GivenUp(Reason):
    """The training made no progress, and no remedy helped."""

    code: ClassVar[str] = "given-up"
    ailment: Reason
    remedies: tuple[str, ...] = ()
    """What was tried, in the words of `RemedyKind`, oldest first."""


@dataclass(frozen=True)
class StopAsked(Reason):
    """A person asked the controller to end the training now (`centavo stop`)."""

    code: ClassVar[str] = "stop-asked"
    by: str
    """Who, as user@host."""
    at: float
    """When, in seconds since the epoch, by that machine's clock."""


@dataclass(frozen=True)
class ResultsMissing(Reason):
    """The launcher said that the training has finished, but the head has no results of it."""

    code: ClassVar[str] = "results-missing"


@dataclass(frozen=True)
class EnvironmentDestroyed(Reason):
    """A person destroyed the environment while the training went on."""

    code: ClassVar[str] = "environment-destroyed"
