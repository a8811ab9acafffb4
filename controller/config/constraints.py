"""Until when a training shall be done, and for how much: what a person asks of one run, and what centavo.yml says."""

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
class Promises:
    """A deadline (seconds since the epoch) and a budget (US dollars, what has been spent included). None: no such."""

    deadline_at: float | None = None
    budget_usd: float | None = None

    def over(self, other: Promises) -> Promises:
        """These, and what the other says where these say nothing."""
        return Promises(
            other.deadline_at if self.deadline_at is None else self.deadline_at,
            other.budget_usd if self.budget_usd is None else self.budget_usd,
        )

    def onto(self, limits: Limits) -> Limits:
        """The limits under these promises."""
        held = self.over(Promises(limits.deadline_at, limits.budget_usd))
        return replace(limits, deadline_at=held.deadline_at, budget_usd=held.budget_usd)


NOTHING_PROMISED = Promises()

Asked = Callable[[float], Promises]
"""What a person asks for, given the run's start (seconds since the epoch). Raises ConfigError."""


def nothing_asked(started_at: float) -> Promises:
    """Nothing: what was asked for before, and what centavo.yml says, holds."""
    return NOTHING_PROMISED


def parse_asked(deadline: str | None, budget: str | None) -> Asked:
    """What `--deadline` and `--budget` say. Raises ConfigError for what is no duration, time or sum of money."""
    deadline_of = parse_deadline(deadline) if deadline is not None else None
    budget_usd = parse_budget(budget) if budget is not None else None
    return lambda started_at: Promises(deadline_of(started_at) if deadline_of else None, budget_usd)


def parse_deadline(text: str) -> Callable[[float], float]:
    """From a run's start to its deadline, both in seconds since the epoch: `text` is a duration (2h30m) or an ISO 8601
    time with its zone. Raises ConfigError, and so does the result for a start that is not before the deadline."""
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
    """The seconds of days, hours, minutes and seconds (1d, 2h30m, 90s); None for any other text and for zero."""
    found = _DURATION.fullmatch(text.strip())
    parts = found.groups() if found else ()
    return sum(float(count) * UNIT_S[unit] for unit, count in zip(UNIT_S, parts, strict=False) if count) or None


def parse_budget(text: str) -> float:
    """US dollars. Raises ConfigError for what is no number above zero."""
    try:
        usd = float(text.strip().removeprefix("$"))
    except ValueError:
        usd = math.nan
    if not math.isfinite(usd) or usd <= 0:
        raise ConfigError(
            f"The budget {text!r} is no sum of money.", "Give US dollars for the whole training, such as 2.50."
        )
    return usd
