"""What a run's journal says about a plan's fleets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.decide.settings import DecideSettings
from controller.domain import Decision, Fact, Fleet, Limits, Observation, Price, TrainingState, Verdict
from controller.domain.reasons import Said
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import start_run
from controller.review.plans.evidence import read_evidence, with_fleet_estimates
from controller.review.plans.plan_summary import Evidence

SLOW, FAST = Fleet({"t2.medium": 2}), Fleet({"c5.large": 2})
PRICES = {"t2.medium": Price("t2.medium", 0.05), "c5.large": Price("c5.large", 0.08)}
COMPUTE_S = {"t2.medium": 0.9, "c5.large": 0.3}


def fact(flavor: str, rank: int, at: float, step: int) -> Fact:
    return Fact(
        instance_id=f"i-{rank}",
        flavor=flavor,
        rank=rank,
        world_size=2,
        state=TrainingState.TRAINING,
        step=step,
        iteration_time_s=1.0,
        compute_time_s=COMPUTE_S[flavor],
        samples=32.0,
        tokens=900.0,
        window=50,
        updated_at=at,
        total_steps=1000,
        total_tokens=step * 1800,
    )


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def journal(runs: Path) -> Iterator[Journal]:
    opened = start_run(runs, environment="local", policy="cheapest-fleet", initial=SLOW, now=0.0)
    yield opened
    opened.close()


def observe(journal: Journal, *flavors: str) -> None:
    for number in range(5):
        at, step = 100.0 + 10 * number, 100 + 20 * number
        facts = tuple(fact(flavor, rank, at, step) for rank, flavor in enumerate(flavors))
        journal.add_observation(Observation(at, Fleet({f: flavors.count(f) for f in flavors}), facts), 0.1)


def evidence(runs: Path, environment: str = "local") -> Evidence:
    return read_evidence(runs, environment, (SLOW, FAST), PRICES, Limits(), DecideSettings(minimum_steps=1))


def test_without_a_run_nothing_is_known(runs: Path) -> None:
    assert evidence(runs) == Evidence()


def test_before_the_first_fact_nothing_is_known(runs: Path, journal: Journal) -> None:
    journal.add_observation(Observation(1.0, SLOW), 0.1)
    assert evidence(runs) == Evidence()


def test_another_environments_run_says_nothing(runs: Path, journal: Journal) -> None:
    observe(journal, "t2.medium", "c5.large")
    assert evidence(runs, "aws") == Evidence()


def test_a_fleet_of_a_flavor_that_was_never_measured_stays_unknown(runs: Path, journal: Journal) -> None:
    observe(journal, "t2.medium", "t2.medium")
    found = evidence(runs)
    assert found.fleets[SLOW].usd_per_million_tokens is not None
    assert found.fleets[FAST].usd_per_million_tokens is None and found.fleets[FAST].remaining_s is None
    assert found.flavors["c5.large"].tokens_per_s is None


def test_measured_flavors_give_costs_and_the_time_that_remains(runs: Path, journal: Journal) -> None:
    observe(journal, "t2.medium", "c5.large")
    found = evidence(runs)
    slow, fast = found.fleets[SLOW], found.fleets[FAST]
    assert (found.run, found.step, found.total_steps) == (journal.info().run, 180, 1000)
    assert found.flavors["c5.large"].tokens_per_s == pytest.approx(3000.0, rel=0.01)
    assert slow.usd_per_million_tokens and fast.usd_per_million_tokens
    assert fast.usd_per_million_tokens < slow.usd_per_million_tokens
    assert slow.step_time_s and slow.remaining_s == pytest.approx(820 * slow.step_time_s)


def test_a_decision_of_a_policy_that_compares_flavors_gets_the_estimates_of_its_fleets(journal: Journal) -> None:
    observe(journal, "t2.medium", "c5.large")
    decision = Decision(200.0, "price-time", Verdict.MOVE, SLOW, FAST, Said("one node moves"))
    settings = DecideSettings(minimum_steps=1)
    slow, fast = with_fleet_estimates(decision, journal, PRICES, Limits(), settings).fleets
    assert (slow.fleet, fast.fleet) == (SLOW, FAST) and slow.remaining_s and fast.remaining_s
    told = replace(decision, fleets=(slow,))
    assert with_fleet_estimates(told, journal, PRICES, Limits(), settings) == told


def test_of_a_run_that_has_ended_the_time_is_that_of_a_whole_training(runs: Path, journal: Journal) -> None:
    observe(journal, "t2.medium", "c5.large")
    journal.set_stage(Stage.ENDED)
    slow = evidence(runs).fleets[SLOW]
    assert slow.step_time_s and slow.remaining_s == pytest.approx(1000 * slow.step_time_s)
