"""The constraints of a run: the deadline and the budget that a person asks for, or that centavo.yml gives.

Decisions plan for both. A budget is also a limit that holds: when it is reached, the training is stopped and everything
is given back. The ceiling of centavo.yml is the largest budget that a run may have, and its budget where none is given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.domain import Limits
from controller.domain.errors import ConfigError
from controller.domain.times import iso, parse_time

UNIT_S = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile("".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in UNIT_S))


@dataclass(frozen=True)
class Constraints:
    """A deadline, a budget and a ceiling. None: there is no such constraint."""

    deadline_at: float | None = None
    """Seconds since the epoch."""
    budget_usd: float | None = None
    """US dollars for the whole training, what has been spent included."""
    ceiling_usd: float | None = None
    """The largest budget, in US dollars."""
    confidence: float | None = None
    """The chance with which deadline and budget are to be kept; None: as the settings of deciding say."""

    def over(self, other: Constraints) -> Constraints:
        """Returns these constraints, completed from the other ones. No budget is above the lower of both ceilings."""
        budget_usd = other.budget_usd if self.budget_usd is None else self.budget_usd
        ceiling_usd = _lower(self.ceiling_usd, other.ceiling_usd)
        return Constraints(
            other.deadline_at if self.deadline_at is None else self.deadline_at,
            _lower(budget_usd, ceiling_usd),
            ceiling_usd,
            other.confidence if self.confidence is None else self.confidence,
        )

    def onto(self, limits: Limits) -> Limits:
        """Returns the limits with these constraints. They take precedence over those that the limits have."""
        held = self.over(Constraints(limits.deadline_at, limits.budget_usd, confidence=limits.confidence))
        return replace(limits, deadline_at=held.deadline_at, budget_usd=held.budget_usd, confidence=held.confidence)


def _lower(one_usd: float | None, other_usd: float | None) -> float | None:
    return min((usd for usd in (one_usd, other_usd) if usd is not None), default=None)


NO_CONSTRAINTS = Constraints()

Asked = Callable[[float], Constraints]
"""Returns what a person asks for, given the run's start (seconds since the epoch). Raises ConfigError."""


def nothing_asked(started_at: float) -> Constraints:
    """Returns no constraints: what was asked for before, and what centavo.yml says, holds."""
    return NO_CONSTRAINTS


def parse_asked(deadline: str | None, budget: str | None, confidence: str | None = None) -> Asked:
    """Returns what `--deadline`, `--budget` and `--confidence` ask for.

    Raises:
        ConfigError: A text is no duration, time, sum of money, or chance.
    """
    deadline_of = parse_deadline(deadline) if deadline is not None else None
    budget_usd = parse_budget(budget) if budget is not None else None
    chance = parse_confidence(confidence) if confidence is not None else None
    return lambda started_at: Constraints(
        deadline_of(started_at) if deadline_of else None, budget_usd, confidence=chance
    )


def parse_confidence(text: str) -> float:
    """Returns a chance, 0.5 or more and less than 1, from a share (0.95) or a percentage (95%).

    Raises:
        ConfigError: The text is neither, or is no such chance.
    """
    number, percent, _ = text.strip().partition("%")
    try:
        chance = float(number) / (100 if percent else 1)
    except ValueError:
        chance = math.nan
    if not 0.5 <= chance < 1:
        raise ConfigError(
            f"The confidence {text!r} is not a chance from 0.5 to less than 1.",
            "Give a share such as 0.95, or a percentage such as 95%.",
        )
    return chance


def parse_deadline(text: str) -> Callable[[float], float]:
    """Returns the function from a run's start to its deadline, both in seconds since the epoch.

    Args:
        text: A duration from the run's start (2h30m), or an ISO 8601 time with its zone.

    Raises:
        ConfigError: The text is neither. The function raises it for a start that is not before the deadline.
    """
    duration_s = parse_duration(text)
    if duration_s is not None:
        return lambda started_at: started_at + duration_s
    try:
        deadline_at = parse_time(text)
    except ValueError as error:
        what = f"The deadline {text!r} is neither a duration nor a time with its zone."
        raise ConfigError(what, _DEADLINES) from error

    def checked(started_at: float) -> float:
        if deadline_at <= started_at:
            raise ConfigError(f"The deadline {text} is not after the run's start, {iso(started_at)}.", _DEADLINES)
        return deadline_at

    return checked


_DEADLINES = "Give a duration from the run's start, such as 90s, 10m or 2h30m, or a time such as 2026-11-21T18:00:00Z."


def parse_duration(text: str) -> float | None:
    """Returns the seconds of a duration such as 1d, 2h30m or 90s; None for any other text, and for zero."""
    found = _DURATION.fullmatch(text.strip())
    parts = found.groups() if found else ()
    return sum(float(count) * UNIT_S[unit] for unit, count in zip(UNIT_S, parts, strict=False) if count) or None


def parse_budget(text: str) -> float:
    """Returns the US dollars in a text. Raises ConfigError for a text that is no number above zero."""
    try:
        usd = float(text.strip().removeprefix("$"))
    except ValueError:
        usd = math.nan
    if not math.isfinite(usd) or usd <= 0:
        raise ConfigError(
            f"The budget {text!r} is no sum of money.", "Give US dollars for the whole training, such as 2.50."
        )
    return usd
