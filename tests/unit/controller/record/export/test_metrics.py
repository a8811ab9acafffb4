"""The metrics: their names, their values, what is unknown, and the dashboard that uses them."""

from __future__ import annotations

import json
import math
import re
import urllib.request
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text
from prometheus_client.parser import text_string_to_metric_families

from controller.domain import Fleet, Move, MovePhase, Observation, Verdict
from controller.domain.errors import ConfigError
from controller.domain.reasons import Reason, Said
from controller.record.export.metrics import LOOPBACK, MetricsReporter, parse_address, serve
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


@dataclass(frozen=True)
class Unregistered(Reason):
    """A reason of another version."""

    code: ClassVar[str] = "unregistered"


def test_decisions_and_outcomes_are_counted_by_the_code_of_their_reason(
    run: SyntheticRun, metrics: MetricsReporter
) -> None:
    decision = run.decision(run.observe(), Verdict.STAY, run.fleet, "the cheapest there is")
    for reason in (Said("the cheapest there is"), Said("still the cheapest"), Unregistered()):
        metrics.decided(replace(decision, reason=reason))
    move = Move(1, run.now, run.initial, Fleet({"c5.large": 6}), Said("cheaper"), MovePhase.DONE)
    metrics.moved(run.now, move, "done")
    metrics.moved(run.now, replace(move, phase=MovePhase.ROLLED_BACK, outcome_reason=Said("no capacity")), "undone")
    text = generate_latest(metrics.registry).decode()
    assert 'centavo_decision_reasons_total{reason="said"} 2.0\n' in text
    assert 'centavo_decision_reasons_total{reason="other"} 1.0\n' in text, "the set of labels is bounded"
    assert 'centavo_move_outcomes_total{outcome="done",reason="none"} 1.0\n' in text
    assert 'centavo_move_outcomes_total{outcome="rolled_back",reason="said"} 1.0\n' in text


def test_a_move_is_in_one_phase_and_counted_when_it_ends(run: SyntheticRun, metrics: MetricsReporter) -> None:
    def told(phase: MovePhase) -> dict[tuple[str, str], float]:
        metrics.moved(run.now, Move(1, run.now, run.initial, Fleet({"c5.large": 6}), Said("cheaper"), phase), "a step")
        return samples(metrics)

    found = told(MovePhase.JOINING)
    assert {label: value for (name, label), value in found.items() if name == "centavo_move_in_progress"} == {
        "proposed": 0, "growing": 0, "joining": 1, "shrinking": 0}  # fmt: skip
    found = told(MovePhase.DONE)
    assert found["centavo_move_in_progress", "joining"] == 0
    assert found["centavo_moves_total", "done"] == 1
    assert found["centavo_moves_total", "rolled_back"] == 0


def test_a_flavor_that_is_no_target_any_more_is_shown_no_more(run: SyntheticRun, metrics: MetricsReporter) -> None:
    stay = run.decision(run.observe(), Verdict.STAY, run.fleet, "not cheaper after all")
    metrics.decided(replace(stay, verdict=Verdict.MOVE, target=Fleet({"m5.large": 6})))
    assert samples(metrics)["centavo_fleet_target_nodes", "m5.large"] == 6
    metrics.decided(stay)
    assert ("centavo_fleet_target_nodes", "m5.large") not in samples(metrics)


@pytest.fixture
def told(run: SyntheticRun, metrics: MetricsReporter) -> MetricsReporter:
    """Metrics that have been told of everything there is, so that every series is there."""
    observation = run.observe()
    metrics.observed(observation, None, 0.25)
    metrics.decided(run.decision(observation, Verdict.MOVE, Fleet({"c5.large": 6}), "cheaper"))
    metrics.moved(
        run.now, Move(1, run.now, run.initial, Fleet({"c5.large": 6}), Said("cheaper"), MovePhase.DONE), "a step"
    )
    return metrics


def test_the_exposition_passes_the_rules_that_promtool_checks(told: MetricsReporter) -> None:
    """As promlint has them (github.com/prometheus/client_golang, prometheus/testutil/promlint/validations)."""
    families = list(text_string_to_metric_families(generate_latest(told.registry).decode()))
    assert len(families) > 25
    for family in families:
        name, parts = family.name, family.name.split("_")
        labels = {label for sample in family.samples for label in sample.labels}
        assert re.fullmatch(r"centavo(_[a-z0-9]+)+", name), "snake case, no colons, a prefix of its own"
        assert family.documentation, name
        assert all(sample.name.endswith("_total") == (family.type == "counter") for sample in family.samples
                   if not sample.name.endswith("_created")), name  # fmt: skip
        assert not labels & {"le", "quantile"}, name
        assert not set(parts) & {"gauge", "counter", "summary", "histogram"}, name
        assert not set(parts) & {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "m", "h", "d"}, name
        assert not set(parts) & {"milliseconds", "minutes", "hours", "days", "kilobytes", "megabytes", "percent"}, name


def test_it_is_openmetrics_too(told: MetricsReporter) -> None:
    families = {family.name: family for family in openmetrics.text_string_to_metric_families(
        openmetrics_text(told.registry).decode())}  # fmt: skip
    assert families["centavo_decisions"].type == "counter"
    assert families["centavo_run"].type == "info"
    assert families["centavo_training_loss"].type == "gauge"


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


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files("controller.record.export").joinpath("grafana.json").read_text())
    return document


def expressions(dashboard: dict[str, Any]) -> list[str]:
    """Every query of the dashboard: of its panels, annotations and variables."""
    return [
        *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"]),
        *(annotation["expr"] for annotation in dashboard["annotations"]["list"]),
        *(variable["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"),
    ]


def test_the_dashboard_asks_only_for_series_that_there_are(told: MetricsReporter, dashboard: dict[str, Any]) -> None:
    offered: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(generate_latest(told.registry).decode()):
        for sample in family.samples:
            offered.setdefault(sample.name, []).append(sample.labels)
    asked = set()
    for expression in expressions(dashboard):
        for name, selector in re.findall(r"(centavo_\w+)(?:{(.*?)})?", expression):
            asked.add(name)
            wanted = dict(re.findall(r'(\w+)="(.*?)"', selector or ""))
            assert any(wanted.items() <= labels.items() for labels in offered[name]), (name, wanted)
    assert len(asked) > 15


def test_the_dashboard_can_be_imported_anywhere(dashboard: dict[str, Any]) -> None:
    """What Grafana asks of a dashboard's JSON: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/"""
    assert dashboard["schemaVersion"] >= 36, "data sources are told by type and uid from 36 on"
    assert "id" not in dashboard, "an id belongs to one Grafana"
    assert {"name": "datasource", "type": "datasource", "query": "prometheus"}.items() <= dashboard["templating"][
        "list"][0].items()  # fmt: skip
    source = {"type": "prometheus", "uid": "${datasource}"}
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {panel["type"] for panel in panels} <= {"stat", "timeseries"}
    for panel in panels:
        assert panel["title"]
        assert panel["datasource"] == source
        assert panel["fieldConfig"]["defaults"]["unit"]
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters) > 0
        assert all(target["datasource"] == source for target in panel["targets"])
    for expression in expressions(dashboard):
        for opening, closing in ("()", "{}", "[]"):
            assert expression.count(opening) == expression.count(closing), expression


def test_no_panel_lies_over_another(dashboard: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        x, y, w, h = (panel["gridPos"][key] for key in "xywh")
        cells = {(column, row) for column in range(x, x + w) for row in range(y, y + h)}
        assert x >= 0 and x + w <= 24, "Grafana's grid has 24 columns"
        assert not cells & taken, panel["title"]
        taken |= cells
