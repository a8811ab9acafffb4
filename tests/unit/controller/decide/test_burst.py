"""Decisions about fleets with CPU credits: a short training may end on them, a long one must not be planned on them.

A t2.large makes 3,000 tokens a second with credits and 900 without, for $0.0928 an hour; a c5.large makes 2,000 for
$0.085. Fresh credits last 43 minutes. With credits a token costs less on t2.large, without them more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.decide import DecideSettings, decide
from controller.decide.given import DecisionInput
from controller.domain import (
    Credits,
    Decision,
    EarlierSpeed,
    Flavor,
    Fleet,
    History,
    Limits,
    Observation,
    Progress,
    Verdict,
)
from controller.domain.reasons.flavors import CreditsLast, FellForGood, KeepsItsSpeed, PaysForSurplus
from controller.domain.reasons.limits import Constrained, DeadlineOutOfReach
from controller.observe.credits.burstable import with_credits
from tests.support.training import Training

FULL, BASELINE, STEADY = 3000.0, 900.0, 2000.0
FRESH_S = 60 * 60 / (2 * 0.7)
T2, C5 = Fleet({"t2.large": 6}), Fleet({"c5.large": 6})
KNOWN = {name: with_credits(Flavor(name, vcpus=2), None) for name in ("t2.large", "c5.large")}
UNKNOWN = {name: Flavor(name, vcpus=2) for name in KNOWN}
NODES = [f"i-t2.large-{number}" for number in range(6)]


class Burst(Training):
    """Six t2.large that have trained since the beginning; the speed of c5.large is known from an earlier run."""

    def __init__(self, rest_s: float, flavors: Mapping[str, Flavor]) -> None:
        """`rest_s` is how long the rest takes at full speed, from now on."""
        super().__init__(speeds={"t2.large": FULL, "c5.large": STEADY}, fleet=T2)
        self.now, self.step, self.rest_s = 0.0, 0, rest_s
        self.settings = DecideSettings(flavors=flavors)

    def pass_by(self, speed: float | Mapping[str, float] = FULL, seconds: float = 60.0) -> None:
        """Lets nodes train at a speed, or each at its own, and looks at them then."""
        of = speed if isinstance(speed, Mapping) else dict.fromkeys(NODES, speed)
        self.now, self.step = self.now + seconds, self.step + 100
        seen = self.observe()
        facts = tuple(replace(f, tokens=of[f.instance_id] * (f.compute_time_s or 1.0)) for f in seen.facts)
        self.observations = (*self.observations, replace(seen, facts=facts))

    def decision(
        self, credits: Mapping[str, Credits] | None = None, limits: Limits | None = None, **history: Any
    ) -> Decision:
        present = replace(self.observations[-1], credits=credits or {})
        total = self.step + round(self.rest_s * 6 * FULL / self.tokens_per_step)
        given = DecisionInput(
            (*self.observations[:-1], present),
            self.listed_prices,
            limits or Limits(min_nodes=6, max_nodes=6),
            Progress(self.step, total, int(self.step * self.tokens_per_step), 0.0, self.now),
            History(**{"earlier_speeds": {"c5.large": EarlierSpeed(STEADY)}, **history}),
            self.settings,
        )
        return decide(given)


def told(balance: float, at: float, surplus: float = 0.0) -> dict[str, Credits]:
    return {node: Credits(balance, surplus, at) for node in NODES}


def notes(decision: Decision) -> tuple[Any, ...]:
    return next(estimate.notes for estimate in decision.flavors if estimate.flavor == "t2.large")


@pytest.mark.parametrize(("rest_s", "verdict"), [(0.6 * FRESH_S, Verdict.STAY), (6 * FRESH_S, Verdict.MOVE)])
def test_a_short_training_ends_on_its_launch_credits_and_a_long_one_is_not_planned_on_them(
    rest_s: float, verdict: Verdict
) -> None:
    training = Burst(rest_s, KNOWN)
    for _ in range(5):
        training.pass_by()
    decision = training.decision()
    assert decision.verdict is verdict
    assert decision.target == (T2 if verdict is Verdict.STAY else C5)
    (note,) = notes(decision)
    assert note == CreditsLast(pytest.approx(FRESH_S - 300.0), 0.3)  # type: ignore[arg-type]


def test_the_forecast_counts_the_time_on_credits_and_the_time_without() -> None:
    """What is left of the credits is spent on full speed, and the rest of the work is done at 30 %."""
    training = Burst(2 * FRESH_S, KNOWN)
    for _ in range(5):
        training.pass_by()
    stay = training.decision().fleets[0]
    on_credits_s = FRESH_S - 300.0
    assert stay.remaining_s == pytest.approx(on_credits_s + (2 * FRESH_S - on_credits_s) / 0.3, rel=0.001)


@pytest.mark.parametrize("balance", [None, 0.0], ids=["no balance told", "balance told"])
def test_the_speed_that_lasts_is_the_same_before_while_and_after_credits_run_out(balance: float | None) -> None:
    """The window in which the credits ran out, and a mix of windows before and after it, are neither speed.

    A node may not be judged by its baseline twice.
    """
    training, full = Burst(6 * FRESH_S, KNOWN), {}
    for speed in [FULL] * 5 + [0.6 * FULL] + [BASELINE] * 6:
        training.pass_by(speed)
        credits = None if balance is None or speed == FULL else told(balance, training.now)
        decision = training.decision(credits, full_tokens_per_s=full)
        (estimate,) = [e for e in decision.flavors if e.flavor == "t2.large"]
        assert estimate.tokens_per_s == pytest.approx(BASELINE), training.now
        assert estimate.full_tokens_per_s == pytest.approx(FULL), training.now
        full = {"t2.large": estimate.full_tokens_per_s}


@pytest.mark.parametrize(("rest_s", "target"), [(0.8 * FRESH_S, T2), (2 * FRESH_S, C5)])
def test_a_rest_that_fresh_nodes_do_on_their_launch_credits_is_moved_to_them(rest_s: float, target: Fleet) -> None:
    """Without credits t2.large is the most expensive per token. A flavor that is faster still costs far more."""
    training = Burst(rest_s, {**KNOWN, "c5.xlarge": Flavor("c5.xlarge", vcpus=4)})
    training.fleet = Fleet({"c5.large": 5, "t2.large": 1})
    training.prices = {**training.prices, "c5.xlarge": 0.5}
    levels = {"i-t2.large-0": FULL, **{f"i-c5.large-{number}": STEADY for number in range(5)}}
    for _ in range(5):
        training.pass_by(levels)
    earlier = {"c5.large": EarlierSpeed(STEADY), "c5.xlarge": EarlierSpeed(3 * FULL)}
    decision = training.decision(earlier_speeds=earlier)
    assert (decision.verdict, decision.target) == (Verdict.MOVE, target)


def test_credits_that_do_not_bring_a_deadline_within_reach_are_no_error() -> None:
    training = Burst(6 * FRESH_S, KNOWN)
    for _ in range(5):
        training.pass_by()
    decision = training.decision(limits=Limits(6, 6, deadline_at=training.now + 60.0))
    assert isinstance(decision.reason, Constrained) and isinstance(decision.reason.shortfall, DeadlineOutOfReach)


def test_credits_where_no_fleet_is_allowed_are_no_error() -> None:
    training = Burst(6 * FRESH_S, KNOWN)
    for _ in range(5):
        training.pass_by()
    limits = Limits(6, 6, excluded=dict.fromkeys(training.prices, "tested"))
    decision = training.decision(limits=limits)
    assert (decision.verdict, decision.target) == (Verdict.REFUSE, T2)


@pytest.mark.parametrize(("balance", "verdict"), [(60.0, Verdict.STAY), (0.0, Verdict.MOVE)])
def test_what_cloudwatch_tells_of_the_balance_counts_more_than_the_table(balance: float, verdict: Verdict) -> None:
    training = Burst(0.9 * FRESH_S, KNOWN)
    for _ in range(5):
        training.pass_by()
    assert training.decision(told(balance, training.now)).verdict is verdict


def test_a_balance_that_was_told_minutes_ago_has_been_spent_on_since() -> None:
    training = Burst(6 * FRESH_S, KNOWN)
    for _ in range(10):
        training.pass_by()
    (note,) = notes(training.decision(told(30.0, training.now - 420.0)))
    assert note.for_s == pytest.approx(30 * 60 / 1.4 - 420.0)


def test_in_unlimited_mode_the_speed_lasts_and_the_surplus_is_paid_for() -> None:
    """Two vCPUs pay for 70 % of two vCPU-hours an hour: $0.07. At $0.1628 an hour t2.large costs more than c5.large."""
    unlimited = {**KNOWN, "t2.large": with_credits(Flavor("t2.large", vcpus=2), "unlimited")}
    training = Burst(6 * FRESH_S, unlimited)
    for _ in range(5):
        training.pass_by()
    decision = training.decision()
    (estimate,) = [e for e in decision.flavors if e.flavor == "t2.large"]
    assert estimate.usd_per_hour == pytest.approx(0.0928 + 0.07)
    assert estimate.tokens_per_s == pytest.approx(FULL)
    assert estimate.notes == (PaysForSurplus(pytest.approx(0.07)),)  # type: ignore[arg-type]
    assert decision.target == C5


def test_a_node_that_spends_surplus_credits_is_in_unlimited_mode_whatever_the_settings_say() -> None:
    training = Burst(6 * FRESH_S, KNOWN)
    for _ in range(5):
        training.pass_by()
    assert notes(training.decision(told(0.0, training.now, surplus=3.0))) == (PaysForSurplus(pytest.approx(0.07)),)  # type: ignore[arg-type]


@pytest.mark.parametrize("fallen", [1, 3])
def test_nodes_that_fell_to_a_steady_lower_speed_tell_what_the_others_will_do(fallen: int) -> None:
    """Nobody says that t2.large has credits. One of six nodes may fall alone; after three, all are expected to."""
    training = Burst(6 * FRESH_S, UNKNOWN)
    for _ in range(50):
        training.pass_by()
    assert training.decision().target == T2
    fell = NODES[:fallen]
    for _ in range(3):
        training.pass_by({**dict.fromkeys(NODES, FULL), **dict.fromkeys(fell, BASELINE)})
    decision = training.decision()
    if fallen == 1:
        assert decision.target != C5 and not any(isinstance(note, FellForGood) for note in notes(decision))
        return
    assert decision.target == C5
    (note,) = notes(decision)
    assert note == FellForGood(tuple(fell), pytest.approx(0.3), 3)  # type: ignore[arg-type]


def test_nodes_that_do_not_follow_in_time_are_not_waited_for() -> None:
    """A single node that is slow long before and after the others has another fault."""
    training = Burst(6 * FRESH_S, UNKNOWN)
    for _ in range(7):
        training.pass_by()
    for _ in range(6):
        training.pass_by({**dict.fromkeys(NODES, FULL), NODES[0]: BASELINE})
    assert not any(isinstance(note, FellForGood) for note in notes(training.decision()))


def test_nodes_that_ended_at_full_speed_do_not_count_as_having_kept_it() -> None:
    """Twelve nodes shrink to six, which fall much later: the six that ended never worked so long."""
    training = Burst(6 * FRESH_S, UNKNOWN)
    training.fleet = Fleet({"t2.large": 12})
    many = [f"i-t2.large-{number}" for number in range(12)]
    for _ in range(4):
        training.pass_by(dict.fromkeys(many, FULL))
    training.fleet = T2
    for _ in range(6):
        training.pass_by()
    assert training.decision().target == T2
    for _ in range(3):
        training.pass_by(BASELINE, seconds=150.0)
    decision = training.decision()
    assert decision.target == C5
    assert notes(decision) == (FellForGood(tuple(NODES), pytest.approx(0.3), 6),)  # type: ignore[arg-type]


def test_when_all_nodes_fall_together_one_window_of_each_is_enough() -> None:
    training = Burst(6 * FRESH_S, UNKNOWN)
    for _ in range(5):
        training.pass_by()
    assert training.decision().target == T2
    training.pass_by(BASELINE)
    decision = training.decision()
    assert decision.target == C5
    assert notes(decision) == (FellForGood(tuple(NODES), pytest.approx(0.3), 0),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "speeds",
    [
        {**dict.fromkeys(NODES, BASELINE), NODES[0]: FULL, NODES[1]: FULL},
        dict.fromkeys(NODES, 0.8 * FULL),
        {node: FULL * 0.7 / (1 + number) for number, node in enumerate(NODES)},
    ],
)
def test_one_window_is_not_enough_where_a_third_keeps_its_speed_or_the_fall_is_small_or_uneven(
    speeds: dict[str, float],
) -> None:
    training = Burst(6 * FRESH_S, UNKNOWN)
    for _ in range(5):
        training.pass_by()
    training.pass_by(speeds)
    assert not any(isinstance(note, FellForGood) for note in notes(training.decision()))


def test_single_slow_windows_are_no_fall() -> None:
    training = Burst(6 * FRESH_S, UNKNOWN)
    for slow in (1.0, 1.0, 1.0, 1.0, 1.0, 0.4, 0.9, 0.5):
        training.pass_by({**dict.fromkeys(NODES, FULL), NODES[0]: FULL * slow})
    assert not any(isinstance(note, FellForGood) for note in notes(training.decision()))


def test_the_credits_of_nodes_that_ended_do_not_last_for_those_that_run() -> None:
    """A node ran for a minute and ended long ago. What it had left is gone, and the others have worked on."""
    training = Burst(6 * FRESH_S, KNOWN)
    training.fleet = Fleet({"t2.large": 7})
    training.pass_by(dict.fromkeys([*NODES, "i-t2.large-6"], FULL))
    training.fleet = T2
    for _ in range(10):
        training.pass_by()
    (note,) = notes(training.decision())
    assert note == CreditsLast(pytest.approx(FRESH_S - 660.0), 0.3)  # type: ignore[arg-type]


def test_the_speed_with_credits_is_remembered_when_it_was_seen_long_ago() -> None:
    """All that is kept was measured without credits: the baseline must not be taken off a second time."""
    training = Burst(6 * FRESH_S, KNOWN)
    for _ in range(10):
        training.pass_by(BASELINE)
    estimates = {e.flavor: e for e in training.decision(full_tokens_per_s={"t2.large": FULL}).flavors}
    assert estimates["t2.large"].tokens_per_s == pytest.approx(BASELINE)
    assert estimates["t2.large"].full_tokens_per_s == pytest.approx(FULL)


def test_nodes_that_keep_their_speed_for_much_too_long_need_no_credits() -> None:
    training = Burst(6 * FRESH_S, KNOWN)
    training.pass_by()
    for _ in range(10):
        training.pass_by(seconds=0.4 * FRESH_S)
    decision = training.decision()
    assert notes(decision) == (KeepsItsSpeed(),)
    assert decision.target == T2


@pytest.mark.parametrize(("steal", "speed"), [(0.0, 0.3 * FULL), (0.5, 0.3 * FULL), (0.65, FULL)])
def test_a_node_whose_time_is_stolen_has_no_credits(steal: float, speed: float) -> None:
    """It was never seen with credits. At 30 % of two vCPUs, 70 % are stolen: what was measured is the baseline."""
    training = Burst(6 * FRESH_S, KNOWN)
    for _ in range(5):
        training.pass_by()
    facts = [tuple(replace(f, steal_share=steal) for f in seen.facts) for seen in training.observations]
    training.observations = tuple(replace(o, facts=f) for o, f in zip(training.observations, facts, strict=True))
    (estimate,) = [e for e in training.decision().flavors if e.flavor == "t2.large"]
    assert estimate.tokens_per_s == pytest.approx(speed)


def test_credits_change_nothing_for_flavors_that_have_none() -> None:
    training = Burst(6 * FRESH_S, {"c5.large": KNOWN["c5.large"], "t2.large": Flavor("t2.large", vcpus=2)})
    for _ in range(5):
        training.pass_by()
    seen: Observation = training.observations[-1]
    assert training.decision() == training.decision(told(0.0, seen.at))
