"""What a run pays beside its nodes' hours: bytes through NAT gateways, and traffic between zones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from controller.domain import Fact, Fleet, Instance, Observation, Price, TrainingState
from controller.domain.errors import BudgetReachedError
from controller.domain.prices.bill import TRAFFIC
from controller.domain.prices.standing import NAT_GB
from controller.loop.job import Job
from controller.loop.vigil import Vigil
from controller.record.live.reporter import PlainReporter
from controller.record.report.ended import BUDGET_REACHED
from tests.unit.controller.harness import SETTINGS, Controller

USD_PER_GB = 0.045
Start = Callable[..., Controller]


def with_budget(usd: float) -> dict[str, Any]:
    return {**SETTINGS, "limits": {**SETTINGS["limits"], "budget_usd": usd}}


def started(controller: Start, gb: float, **options: Any) -> Controller:
    """Returns a controller of a cluster through whose NAT gateway so much passes."""

    def nat_bytes_of(gateway_ids: Sequence[str]) -> float:
        assert gateway_ids == ("nat-1",)
        return gb * 1e9

    one = controller(nat_bytes_of=nat_bytes_of, **options)
    one.prices[NAT_GB] = Price(NAT_GB, USD_PER_GB)
    return one


def test_what_has_passed_the_nat_gateways_is_in_the_bill_of_a_run_once(controller: Start) -> None:
    cost = started(controller, 2.0).optimizer.run()["cost"]
    assert cost["bill"][TRAFFIC] == pytest.approx(2 * USD_PER_GB)
    assert cost["spent_usd"] == pytest.approx(sum(cost["bill"].values()), abs=1e-5)


def test_what_has_passed_the_nat_gateways_uses_the_budget_up(controller: Start) -> None:
    with pytest.raises(BudgetReachedError):
        started(controller, 100.0, settings=with_budget(99 * USD_PER_GB)).optimizer.run()


def rank(number: int, gradient_bytes: int) -> Fact:
    training = TrainingState.TRAINING
    return Fact(
        f"i-{number}", "c5.large", number, 2, training, 9, 2.0, 1.0, 8.0, 9.0, 50, 0.0, gradient_bytes=gradient_bytes
    )


def test_what_traffic_between_zones_costs_until_all_is_given_back_is_kept_of_the_budget(
    controller: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ranks send 1 GB over each of two hops in a step of 2 s, which is $72 an hour."""
    one = controller()
    one.bring_up()
    job = Job(one.environment, one.cluster, one.journal, one.clock, PlainReporter())
    nodes = tuple(
        Instance(f"i-{n}", "c5.large", "worker", "running", f"10.0.0.{n}", zone=z) for n, z in enumerate("ab")
    )
    monkeypatch.setattr(one.cluster, "last_workers", lambda: nodes)
    seen = Observation(one.world.now, Fleet({"c5.large": 2}), (rank(0, 10**9), rank(1, 10**9)))
    ahead_h = one.environment.settings.controller.stop_ahead_s / 3600
    nodes_usd, traffic_usd = one.cluster.costs.usd_per_hour(nodes) * ahead_h, 72.0 * ahead_h

    def is_stopped(budget_usd: float) -> bool:
        monkeypatch.setattr(type(one.environment), "limits", lambda self: replace(limits, budget_usd=budget_usd))
        stop = Vigil(job).look(seen)
        assert stop is None or stop.status == BUDGET_REACHED
        return stop is not None

    limits = one.environment.limits()
    assert is_stopped((nodes_usd + traffic_usd) * 0.999)
    assert not is_stopped((nodes_usd + traffic_usd) * 1.001)
    nodes = tuple(replace(node, zone="a") for node in nodes)
    assert not is_stopped(nodes_usd * 1.001), "in one zone nothing is paid for traffic"
    assert is_stopped(nodes_usd * 0.999)
