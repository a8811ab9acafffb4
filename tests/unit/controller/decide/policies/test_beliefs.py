"""What the default policy takes for true, and what it says of a probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from controller.decide import DecideSettings, DecisionInput
from controller.decide.exploration.leaps import Leap
from controller.decide.model.forecast import Forecast
from controller.decide.model.situation import Situation, assess
from controller.decide.policies import beliefs
from controller.decide.policies.beliefs import Measurements
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.policies.decided import decided
from controller.domain import Fleet, Limits, Risk, Verdict
from controller.domain.reasons import Reason, Said
from controller.domain.reasons.deciding import LeapsToUnmeasured, LeapsWithinLimits, MeasuresFlavors

SILENT, HINT = "c5.large", 1e6
TARGET, WHY = Fleet({"c5.large": 6}), Said("as the test wants")


def situation(training: Any, silent: str | None = None, **settings: Any) -> Situation:
    """`silent` is a flavor that runs and has never reported. A hint says that it is very fast."""
    present = training.observe()
    facts = tuple(fact for fact in present.facts if fact.flavor != silent)
    chosen = {"hints_tokens_per_s": {SILENT: HINT}, "measure_timeout_s": 0.0, "probe_steps": 0, **settings}
    return assess(
        DecisionInput(
            (replace(present, facts=facts),),
            training.listed_prices,
            Limits(6, 6),
            training.progress,
            settings=DecideSettings(**chosen),
        )
    )


def test_where_all_that_runs_was_measured_nothing_is_guessed(training: Any) -> None:
    model = Measurements().model(situation(training))
    assert model is not None and model.tokens_per_s == pytest.approx(training.speeds)


def test_the_speed_of_a_flavor_that_never_reported_is_guessed(training: Any) -> None:
    model = Measurements().model(situation(training, SILENT))
    assert model is not None and model.tokens_per_s == pytest.approx({**training.speeds, SILENT: HINT})


def test_a_flavor_that_never_reported_does_not_win_by_a_guess(training: Any) -> None:
    found = CheapestFleet().decide(situation(training, SILENT))
    assert (found.verdict, found.target.count(SILENT)) == (Verdict.MOVE, 0)


@pytest.mark.parametrize(("bad_nodes", "reason"), [((), WHY), (("i-1",), None)])
def test_that_a_node_is_bad_is_certain_enough(
    monkeypatch: pytest.MonkeyPatch, bad_nodes: tuple[str, ...], reason: Reason | None
) -> None:
    monkeypatch.setattr(beliefs, "overlap_reason", lambda forecaster, target: WHY if target == TARGET else None)
    then = Forecast(TARGET, 1.0, 1.0, 0.0, bad_nodes)
    assert Measurements().too_uncertain(None, then) is reason  # type: ignore[arg-type]


BASE = Forecast(Fleet({"c5.xlarge": 6}), 1000.0, 10.0, 0.0)
PROBE = SimpleNamespace(flavor="m5.large", gain_usd=4.0, cost_usd=1.0, guess=SimpleNamespace(tokens_per_s=7.0))
SMALL = SimpleNamespace(flavor="m5.xlarge", gain_usd=1.5, cost_usd=1.4, guess=SimpleNamespace(tokens_per_s=9.0))


def leap(saving_usd: float) -> Leap:
    kept = {"chance_kept": 0.875, "switching_usd": 0.25}
    return Leap("c6i.large", Fleet({"c6i.large": 4}), saving_usd, 0.125, 0.75, **kept, leaves_time=True)


def explore(monkeypatch: pytest.MonkeyPatch, probes: Sequence[Any], leap: Leap | None) -> None:
    """Makes these the probes and the leap that are worth their cost."""
    speeds = {probe.flavor: probe.guess.tokens_per_s for probe in probes}
    cost = SimpleNamespace(planned_usd=lambda target, planned: 1.0 if planned == speeds else 0.0)
    found = SimpleNamespace(worthwhile=lambda: (TARGET, probes), leap=lambda: leap, cost=cost)
    monkeypatch.setattr(beliefs, "Exploration", lambda forecaster, base: found)


@pytest.mark.parametrize(
    ("probes", "saving_usd", "is_leap"),
    [
        ([], 0.5, True),
        ([PROBE], 2.2, False),
        ([PROBE], 2.3, True),
        ([SMALL, PROBE], 2.2, False),
        ([SMALL, PROBE], 2.3, True),
        ([SMALL], 0.1, True),
    ],
)
def test_a_probe_has_to_gain_more_beyond_its_cost_than_a_leap_by_a_tenth_of_what_is_left_after_the_leap(
    training: Any, monkeypatch: pytest.MonkeyPatch, probes: Sequence[Any], saving_usd: float, is_leap: bool
) -> None:
    explore(monkeypatch, probes, leap(saving_usd))
    before = decided(situation(training), Verdict.STAY, WHY)
    found = Measurements().probe(None, before, BASE)  # type: ignore[arg-type]
    assert found is not None
    assert isinstance(found.reason, LeapsToUnmeasured if is_leap else MeasuresFlavors)
    assert found.is_probe is not is_leap


def test_where_neither_a_probe_nor_a_leap_is_worth_its_cost_the_decision_stays_as_it_is(
    training: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    explore(monkeypatch, [], None)
    assert Measurements().probe(None, decided(situation(training), Verdict.MOVE, WHY), BASE) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("risk", "told"),
    [
        (None, None),
        (Risk(TARGET, 0.25, wrong_usd=0.5), Risk(TARGET, 0.125, wrong_usd=0.75)),
        (Risk(chance_kept=0.5), Risk(TARGET, 0.125, wrong_usd=0.75, chance_kept=0.875)),
    ],
    ids=["people do not ask", "no deadline", "a deadline"],
)
def test_a_leap_tells_what_it_saves_and_how_sure_it_is_beside_the_move_that_is_due_without_it(
    training: Any, monkeypatch: pytest.MonkeyPatch, risk: Risk | None, told: Risk | None
) -> None:
    explore(monkeypatch, [], leap(3.0))
    due = replace(decided(situation(training), Verdict.MOVE, WHY, TARGET, saving_usd=2.0, switching_usd=0.5), risk=risk)
    to = Fleet({"c6i.large": 4})
    assert Measurements().probe(None, due, BASE) == replace(  # type: ignore[arg-type]
        due,
        target=to,
        reason=LeapsToUnmeasured(to, "c6i.large", 3.0, chance_worse=0.125, worse_usd=0.75),
        saving_usd=3.0,
        switching_usd=0.25,
        risk=told,
    )


def test_a_leap_that_deadline_or_budget_needs_is_made_though_it_costs_more_and_a_probe_gains(
    training: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    explore(monkeypatch, [PROBE], replace(leap(-1.25), is_needed=True))
    found = Measurements().probe(None, decided(situation(training), Verdict.STAY, WHY), BASE)  # type: ignore[arg-type]
    assert found is not None
    assert (found.verdict, found.target, found.is_probe) == (Verdict.MOVE, Fleet({"c6i.large": 4}), False)
    assert found.reason == LeapsWithinLimits(found.target, "c6i.large", chance_kept=0.875, more_usd=1.25)
    assert found.saving_usd == -1.25


def test_a_fleet_that_was_to_stay_moves_where_a_leap_pays(training: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    explore(monkeypatch, [], leap(3.0))
    stay = decided(situation(training), Verdict.STAY, WHY)
    found = Measurements().probe(None, stay, BASE)  # type: ignore[arg-type]
    assert found is not None and found.verdict is Verdict.MOVE


@pytest.mark.parametrize(("verdict", "also"), [(Verdict.MOVE, WHY), (Verdict.STAY, None), (Verdict.REFUSE, None)])
def test_a_probe_names_the_move_that_it_goes_with(
    training: Any, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, also: Reason | None
) -> None:
    explore(monkeypatch, [PROBE], None)
    before = decided(situation(training), verdict, WHY)
    found = Measurements().probe(None, before, BASE)  # type: ignore[arg-type]
    reason = MeasuresFlavors({"m5.large": 4.0}, 1.0, also=also)
    assert found == replace(before, verdict=Verdict.MOVE, target=TARGET, reason=reason, is_probe=True)


@pytest.mark.parametrize(("saving_margin", "verdict"), [(0.0, Verdict.MOVE), (0.99, Verdict.REFUSE)])
def test_a_probe_starts_from_the_fleet_that_is_to_be(training: Any, saving_margin: float, verdict: Verdict) -> None:
    bases = []

    class Recording(Measurements):
        def probe(self, forecaster: Any, decision: Any, base: Forecast) -> None:
            bases.append((decision.verdict, base.target))

    found = CheapestFleet(beliefs=Recording()).decide(situation(training, saving_margin=saving_margin))
    assert bases == [(verdict, found.target)]
