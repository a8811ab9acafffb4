"""What the default policy takes for true, and what it says of a probe."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from controller.decide import DecideSettings, DecisionInput
from controller.decide.model.forecast import Forecast
from controller.decide.model.situation import Situation, assess
from controller.decide.policies import beliefs
from controller.decide.policies.beliefs import Measurements
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.policies.decided import decided
from controller.domain import Fleet, Limits, Verdict
from controller.domain.reasons import Reason, Said
from controller.domain.reasons.deciding import MeasuresFlavors

SILENT, HINT = "c5.large", 1e6
TARGET, WHY = Fleet({"c5.large": 6}), Said("as the test wants")


def situation(training: Any, silent: str | None = None, **settings: Any) -> Situation:
    """`silent` is a flavor that runs and has never reported. A hint says that it is very fast."""
    present = training.observe()
    facts = tuple(fact for fact in present.facts if fact.flavor != silent)
    chosen = {"hints_tokens_per_s": {SILENT: HINT}, "measure_timeout_s": 0.0, **settings}
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


@pytest.mark.parametrize(("verdict", "also"), [(Verdict.MOVE, WHY), (Verdict.STAY, None), (Verdict.REFUSE, None)])
def test_a_probe_names_the_move_that_it_goes_with(
    training: Any, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, also: Reason | None
) -> None:
    probe = SimpleNamespace(flavor="m5.large", gain_usd=2.0, cost_usd=1.0, guess=SimpleNamespace(tokens_per_s=7.0))
    cost = SimpleNamespace(planned_usd=lambda target, speeds: 1.0 if speeds == {"m5.large": 7.0} else 0.0)
    worthwhile = SimpleNamespace(worthwhile=lambda: (TARGET, [probe]), leap=lambda: None, cost=cost)
    monkeypatch.setattr(beliefs, "Exploration", lambda forecaster, base: worthwhile)
    before = decided(situation(training), verdict, WHY)
    found = Measurements().probe(None, before, None)  # type: ignore[arg-type]
    reason = MeasuresFlavors({"m5.large": 2.0}, 1.0, also=also)
    assert found == replace(before, verdict=Verdict.MOVE, target=TARGET, reason=reason, is_probe=True)


@pytest.mark.parametrize(("saving_margin", "verdict"), [(0.0, Verdict.MOVE), (0.99, Verdict.REFUSE)])
def test_a_probe_starts_from_the_fleet_that_is_to_be(training: Any, saving_margin: float, verdict: Verdict) -> None:
    bases = []

    class Recording(Measurements):
        def probe(self, forecaster: Any, decision: Any, base: Forecast) -> None:
            bases.append((decision.verdict, base.target))

    found = CheapestFleet(beliefs=Recording()).decide(situation(training, saving_margin=saving_margin))
    assert bases == [(verdict, found.target)]
