"""The metrics: their names, their values, what is unknown, and the dashboard that uses them."""

from __future__ import annotations

import json
import math
import re
import urllib.request
from importlib.resources import files
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from controller.domain import Fleet, Move, MovePhase, Observation, Verdict
from controller.errors import ConfigError
from controller.record.metrics import LOOPBACK, MetricsReporter, parse_address, serve
from tests.unit.controller.record.synthetic import PRICES, SyntheticRun


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    run = SyntheticRun(tmp_path)
    run.boot()
    return run


@pytest.fixture
def metrics(run: SyntheticRun) -> MetricsReporter:
    return MetricsReporter(run.journal.info(), PRICES)


def samples(metrics: MetricsReporter) -> dict[tuple[str, str], float]:
    """Every sample by its name and its only or first label's value."""
    text = generate_latest(metrics.registry).decode()
    return {(sample.name, next(iter(sample.labels.values()), "")): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}  # fmt: skip


def test_a_look_and_a_decision_show_in_the_metrics(run: SyntheticRun, metrics: MetricsReporter) -> None:
    observation = run.observe()
    metrics.observed(observation, None, 0.25)
    metrics.decided(run.decision(observation, Verdict.MOVE, Fleet({"c5.large": 6}), "cheaper"))
    found = samples(metrics)
    assert found["centavo_fleet_nodes", "c5.large"] == 1
    assert found["centavo_fleet_target_nodes", "c5.large"] == 6
    assert found["centavo_fleet_target_nodes", "t2.medium"] == 0
    assert found["centavo_flavor_price_usd_per_hour", "c5.large"] == 0.085
    assert found["centavo_flavor_speed_tokens_per_second", "c5.large"] == pytest.approx(3200, rel=0.1)
    assert found["centavo_training_step", ""] == observation.facts[0].step
    assert found["centavo_spent_usd", ""] == 0.25
    assert found["centavo_decisions_total", "move"] == 1
    assert found["centavo_decisions_total", "stay"] == 0
    assert found["centavo_observations_total", ""] == 1
    assert found["centavo_fleet_cost_usd_per_million_tokens", ""] == pytest.approx(0.021, abs=0.002)


def test_what_is_unknown_is_not_zero(run: SyntheticRun, metrics: MetricsReporter) -> None:
    metrics.observed(Observation(run.now, Fleet({"c5.large": 2})), None, 0.0)
    found = samples(metrics)
    assert math.isnan(found["centavo_training_loss", ""])
    assert math.isnan(found["centavo_fleet_cost_usd_per_million_tokens", ""])
    assert ("centavo_flavor_compute_time_seconds", "c5.large") not in found


def test_a_flavor_that_has_gone_is_shown_no_more(run: SyntheticRun, metrics: MetricsReporter) -> None:
    metrics.observed(run.observe(), None, 0.0)
    metrics.observed(Observation(run.now, Fleet({"c5.large": 2})), None, 0.0)
    assert [label for name, label in samples(metrics) if name == "centavo_fleet_nodes"] == ["c5.large"]


def test_a_move_is_in_one_phase_and_counted_when_it_ends(run: SyntheticRun, metrics: MetricsReporter) -> None:
    def told(phase: MovePhase) -> dict[tuple[str, str], float]:
        metrics.moved(run.now, Move(1, run.now, run.initial, Fleet({"c5.large": 6}), "cheaper", phase), "a step")
        return samples(metrics)

    found = told(MovePhase.JOINING)
    assert {label: value for (name, label), value in found.items() if name == "centavo_move_in_progress"} == {
        "proposed": 0, "growing": 0, "joining": 1, "shrinking": 0}  # fmt: skip
    found = told(MovePhase.DONE)
    assert found["centavo_move_in_progress", "joining"] == 0
    assert found["centavo_moves_total", "done"] == 1
    assert found["centavo_moves_total", "rolled_back"] == 0


def test_names_and_units_follow_the_conventions(metrics: MetricsReporter) -> None:
    for family in metrics.registry.collect():
        assert re.fullmatch(r"centavo_[a-z][a-z0-9_]*", family.name)
        assert not re.search(r"_(ms|milliseconds|minutes|hours|kb|percent)$", family.name), family.name
        assert family.documentation


def test_they_are_served_on_loopback(run: SyntheticRun, metrics: MetricsReporter) -> None:
    port = serve(metrics, 0)
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics") as answer:
        text = answer.read().decode()
    assert "# TYPE centavo_decisions_total counter" in text
    assert f'centavo_run_info{{environment="test",policy="cheapest-fleet",run="{run.journal.info().run}"}} 1.0' in text


def test_an_address_that_is_taken_or_wrong_is_told(metrics: MetricsReporter) -> None:
    assert parse_address("9464") == (LOOPBACK, 9464)
    assert parse_address("0.0.0.0:9464") == ("0.0.0.0", 9464)
    assert parse_address("[::1]:9464") == ("::1", 9464)
    for text in ("", "localhost", "99999", "host:"):
        with pytest.raises(ConfigError, match="is no port"):
            parse_address(text)
    port = serve(metrics, 0)
    with pytest.raises(ConfigError, match=f"can't be served on 127.0.0.1:{port}"):
        serve(metrics, port)


def test_the_dashboard_asks_only_for_metrics_that_there_are(metrics: MetricsReporter) -> None:
    dashboard = json.loads(files("controller.record").joinpath("grafana.json").read_text())
    text = json.dumps([panel["targets"] for panel in dashboard["panels"]]) + json.dumps(dashboard["annotations"])
    asked = set(re.findall(r"centavo_\w+", text))
    offered = {family.name + ("_total" if family.type == "counter" else "") for family in metrics.registry.collect()}
    assert asked <= offered
    assert len(asked) > 15
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
