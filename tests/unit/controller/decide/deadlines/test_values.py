"""The dynamic program of costs, held against the same costs worked out state by state."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from controller.decide.deadlines.hypotheses import ABSENCES, SPANS, STAYS, ageing, spent_in_spans
from controller.decide.deadlines.situation import Job
from controller.decide.deadlines.values import NEVER_USD, values

ON_DEMAND, SPOT = 3.0, 1.0
JOB = Job(0.3 * 3600, 0.75 * 3600, 0.05 * 3600, 60.0, ON_DEMAND, (SPOT,), idle_usd_per_hour=0.2)
LONG = Job(3.0 * 3600, 8.0 * 3600, 0.2 * 3600, 60.0, ON_DEMAND, (SPOT,), idle_usd_per_hour=0.2, most_steps=5)
"""Its steps take an hour, and so it pays to wait."""


class ByHand:
    """The costs for one kind of stays and one of absences, in US dollars, by steps of work and of slack.

    `slack` counts from 0 where on-demand runs, and from one change-over where it does not.
    """

    def __init__(self, job: Job, covered: float, step_h: float, stays: int, absences: int) -> None:
        self.job, self.covered, self.step_h, self.lost_h = job, covered, step_h, job.change_over_s / 3600
        self.stays, self.away = ageing(STAYS, step_h)[stays], ageing(ABSENCES, step_h)[absences]
        spent = spent_in_spans(STAYS)[stays]
        self.met = spent / spent.sum()
        self.never = NEVER_USD * ON_DEMAND
        for name in ("absent", "present", "absent_paid", "present_paid", "riding", "waiting", "ignoring"):
            setattr(self, name, lru_cache(maxsize=None)(getattr(self, name)))

    def with_capacity(self, kept, absent, other, span: int) -> float:  # type: ignore[no-untyped-def]
        """Returns the cost after a step: capacity stays, or goes and another pool covers it or none does."""
        lost = 1 - self.stays[span].sum()
        covered = sum(self.met[age] * other(age) for age in range(SPANS))
        stays = sum(self.stays[span, age] * kept(age) for age in range(SPANS))
        return float(stays + lost * ((1 - self.covered) * absent(0) + self.covered * covered))

    def without_capacity(self, absent, present, span: int) -> float:  # type: ignore[no-untyped-def]
        """Returns the cost after a step: capacity stays away or comes."""
        come = 1 - self.away[span].sum()
        return float(sum(self.away[span, age] * absent(age) for age in range(SPANS)) + come * present(0))

    def later(self, cost, slack: int, change_overs: int) -> float:  # type: ignore[no-untyped-def]
        """Returns a cost with as much less slack as so many change-overs take."""
        at = slack - change_overs * self.lost_h / self.step_h
        if at < -1e-12:
            return self.never
        below = int(np.floor(at + 1e-12))
        part = max(0.0, at - below)
        return float((1 - part) * cost(below) + (part * cost(below + 1) if part > 1e-12 else 0.0))

    def riding(self, work: int, slack: int, span: int) -> float:
        """Spot runs."""
        if not work:
            return 0.0
        return SPOT * self.step_h + self.with_capacity(
            lambda age: self.riding(work - 1, slack, age),
            lambda age: self.absent(work - 1, slack, age),
            lambda age: self.present(work - 1, slack, age),
            span,
        )

    def stay_absent(self, work: int, slack: int, span: int) -> float:
        """On-demand runs on for a step, without capacity."""
        return ON_DEMAND * self.step_h + self.without_capacity(
            lambda age: self.absent_paid(work - 1, slack, age),
            lambda age: self.present_paid(work - 1, slack, age),
            span,
        )

    def stay_present(self, work: int, slack: int, span: int) -> float:
        """On-demand runs on for a step, with capacity."""
        kept = lambda age: self.present_paid(work - 1, slack, age)  # noqa: E731
        lost = lambda age: self.absent_paid(work - 1, slack, age)  # noqa: E731
        return ON_DEMAND * self.step_h + self.with_capacity(kept, lost, kept, span)

    def from_idle(self, work: int, slack: int, span: int) -> float:
        """Spot begins where nothing runs."""
        return SPOT * self.lost_h + self.later(lambda at: self.riding(work, at, span), slack, 1)

    def from_paid(self, work: int, slack: int, span: int) -> float:
        """Spot begins where on-demand runs. Its slack then counts from a change-over."""
        return SPOT * self.lost_h + self.later(lambda at: self.riding(work, at, span), slack, 2)

    def waiting(self, work: int, slack: int, span: int) -> float:
        """Nothing runs for a step, without capacity."""
        if not slack:
            return self.never
        return self.job.idle_usd_per_hour * self.step_h + self.without_capacity(
            lambda age: self.absent(work, slack - 1, age), lambda age: self.present(work, slack - 1, age), span
        )

    def ignoring(self, work: int, slack: int, span: int) -> float:
        """Nothing runs until the capacity that there is goes."""
        if not slack:
            return self.never
        stays = sum(self.stays[span, age] * self.ignoring(work, slack - 1, age) for age in range(SPANS))
        gone = (1 - self.stays[span].sum()) * self.absent(work, slack - 1, 0)
        return float(self.job.idle_usd_per_hour * self.step_h + stays + gone)

    def leaving(self, work: int, slack: int, span: int) -> float:
        """On-demand ends, and nothing runs."""
        return self.later(lambda at: self.waiting(work, at, span), slack, 1)

    def begin_usd(self) -> float:
        """On-demand begins."""
        return ON_DEMAND * self.lost_h

    def absent(self, work: int, slack: int, span: int) -> float:
        """Nothing runs, without capacity: what costs least."""
        if not work:
            return 0.0
        return min(self.begin_usd() + self.stay_absent(work, slack, span), self.waiting(work, slack, span))

    def present(self, work: int, slack: int, span: int) -> float:
        """Nothing runs, with capacity: what costs least."""
        if not work:
            return 0.0
        begin = self.begin_usd() + self.stay_present(work, slack, span)
        return min(begin, self.from_idle(work, slack, span), self.ignoring(work, slack, span))

    def absent_paid(self, work: int, slack: int, span: int) -> float:
        """On-demand runs, without capacity: what costs least."""
        return min(self.stay_absent(work, slack, span), self.leaving(work, slack, span)) if work else 0.0

    def present_paid(self, work: int, slack: int, span: int) -> float:
        """On-demand runs, with capacity: what costs least."""
        return min(self.stay_present(work, slack, span), self.from_paid(work, slack, span)) if work else 0.0

    def differences(self, work: int, slack: int, span: int) -> list[float]:
        """Returns the differences of `Values`, in their order."""
        at = (work, slack, span)
        return [
            self.waiting(*at) - self.begin_usd() - self.stay_absent(*at),
            self.from_idle(*at) - self.begin_usd() - self.stay_present(*at),
            self.from_idle(*at) - self.ignoring(*at),
            self.leaving(*at) - self.stay_absent(*at),
            self.from_paid(*at) - self.stay_present(*at),
        ]


@pytest.mark.parametrize(
    ("job", "covered", "kinds"),
    [
        (JOB, 0.0, (0, 0)),
        (JOB, 0.7, (3, 1)),
        (replace(JOB, change_over_s=0.12 * 3600), 0.4, (2, 2)),
        (replace(JOB, change_over_s=0.1 * 3600), 0.4, (1, 0)),
        (replace(JOB, change_over_s=0.0), 0.4, (1, 2)),
        (replace(JOB, change_over_s=0.3 * 3600), 0.4, (3, 2)),
        (replace(JOB, change_over_s=0.75 * 3600), 0.4, (3, 2)),
        (LONG, 0.4, (2, 1)),
        (replace(LONG, change_over_s=3.0 * 3600), 0.4, (2, 1)),
    ],
    ids=[
        "half a step",
        "covered",
        "more than a step",
        "a step",
        "none",
        "more than the slack",
        "half a step beyond the tables",
        "steps of an hour",
        "three of six steps",
    ],
)
def test_costs_are_those_of_each_state_worked_out_by_hand(job: Job, covered: float, kinds: tuple[int, int]) -> None:
    found = values(job, SPOT, covered)
    tables = (
        found.wait_over_on_demand,
        found.spot_over_on_demand,
        found.spot_over_wait,
        found.leave_over_stay,
        found.spot_over_stay,
    )
    works, slacks = found.spot_over_wait.shape[:2]
    by_hand = ByHand(job, covered, found.step_h, *kinds)
    for work in range(1, works):
        for slack in range(slacks):
            for span in range(SPANS):
                costs = [float(table[work, slack, kinds[0], kinds[1], span]) for table in tables]
                assert costs == pytest.approx(by_hand.differences(work, slack, span), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("work_h", "slack_h", "most_steps", "step_h", "works", "slacks"),
    [
        (0.3, 0.45, 120, 0.1, 4, 7),
        (0.30005, 0.45, 120, 0.1, 5, 7),
        (2.0, 1.0, 4, 0.5, 5, 4),
        (1.0, 2.0, 4, 0.5, 3, 6),
        (0.01, 0.0, 120, 0.1, 2, 2),
    ],
)
def test_work_and_slack_are_cut_into_as_many_steps_as_are_allowed_of_six_minutes_at_least(
    work_h: float, slack_h: float, most_steps: int, step_h: float, works: int, slacks: int
) -> None:
    """One step of work more, which is none, and room to interpolate slack."""
    job = replace(JOB, work_s=work_h * 3600, time_s=(work_h + slack_h) * 3600, most_steps=most_steps)
    found = values(job, SPOT, 0.0)
    assert found.step_h == pytest.approx(step_h)
    assert found.wait_over_on_demand.shape == (works, slacks, len(STAYS), len(ABSENCES), SPANS)
    assert not found.wait_over_on_demand[0].any()


def test_tables_have_single_precision_for_there_are_many_of_them() -> None:
    assert values(JOB, SPOT, 0.0).spot_over_stay.dtype == np.float32
