"""Metrics of a running controller for Prometheus, at `/metrics`: off by default, and on loopback unless told otherwise.

Names and units follow https://prometheus.io/docs/practices/naming/: base units, and counters end with `_total`. What is
unknown is absent or NaN, never zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from prometheus_client import CollectorRegistry, Counter, Gauge, Info, start_http_server

from controller.domain import Decision, FlavorEstimate, Move, MovePhase, Observation, Progress, Verdict
from controller.domain.errors import ConfigError
from controller.domain.reasons import REASONS, Reason
from controller.record.journal import RunInfo
from controller.record.journal.summary import summarise

LOOPBACK = "127.0.0.1"
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {"minimum": min, "median": median, "maximum": max}
"""What the label `statistic` may be; the label `quantile` is reserved for summaries."""
OTHER, NONE = "other", "none"
"""What the label `reason` is for a reason of another version, and without a reason."""


class MetricsReporter:
    """A reporter that keeps the metrics of one run. `registry` holds them."""

    def __init__(self, info: RunInfo, usd_per_hour: Mapping[str, float]) -> None:
        self._usd_per_hour = usd_per_hour
        self.registry = CollectorRegistry()
        self._make_fleet()
        self._make_training()
        self._make_loop()
        Info("centavo_run", "The run that this controller steers", registry=self.registry).info(
            {"run": info.run, "environment": info.environment, "policy": info.policy}
        )
        self._gauge("run_start_time_seconds", "When the run began, in seconds since the epoch").set(info.started_at)

    def _make_fleet(self) -> None:
        flavor = ["flavor"]
        self._nodes = self._gauge("fleet_nodes", "Nodes that run", flavor)
        self._target = self._gauge("fleet_target_nodes", "Nodes that the last decision wants", flavor)
        self._unknown = self._gauge("fleet_unknown_nodes", "Nodes that run and of which nothing is known")
        self._price = self._gauge("flavor_price_usd_per_hour", "What a node costs an hour", flavor)
        self._speed = self._gauge(
            "flavor_speed_tokens_per_second", "Target tokens per second of compute of a node", flavor
        )
        self._cost = self._gauge("flavor_cost_usd_per_million_tokens", "A node's price over its speed", flavor)
        self._compute = self._gauge(
            "flavor_compute_time_seconds", "Compute time of a step, over the flavor's ranks", ["flavor", "statistic"]
        )

    def _make_training(self) -> None:
        self._step = self._gauge("training_step", "The step that the training has come to")
        self._total_steps = self._gauge("training_steps", "Steps of the whole training")
        self._tokens = self._gauge("training_tokens", "Target tokens trained on so far")
        self._loss = self._gauge("training_loss", "Training loss in nats per target token")
        self._rate = self._gauge("training_tokens_per_second", "Target tokens per second of the whole training")
        self._iteration = self._gauge("training_iteration_time_seconds", "Wall time of a step, allreduce included")
        self._ranks = self._gauge("training_ranks", "Ranks that say that they train")
        self._spent = self._gauge("spent_usd", "What the run has cost so far, head included")
        self._fleet_cost = self._gauge("fleet_cost_usd_per_million_tokens", "Measured cost of the fleet, workers alone")

    def _make_loop(self) -> None:
        registry = self.registry
        self._observations = Counter("centavo_observations", "Looks at the fleet", registry=registry)
        self._observed_at = self._gauge("last_observation_timestamp_seconds", "When the fleet was last looked at")
        self._decisions = Counter("centavo_decisions", "Decisions", ["verdict"], registry=registry)
        for verdict in Verdict:
            self._decisions.labels(verdict.value)
        self._reasons = Counter(
            "centavo_decision_reasons", "Decisions by the code of their reason", ["reason"], registry=registry
        )
        self._saving = self._gauge("expected_saving_usd", "What the last decision expects of its target")
        self._moves = Counter("centavo_moves", "Moves that have ended", ["outcome"], registry=registry)
        self._outcomes = Counter(
            "centavo_move_outcomes",
            "Moves that have ended, by the code of the reason why",
            ["outcome", "reason"],
            registry=registry,
        )
        self._in_progress = self._gauge(
            "move_in_progress", "1 for the phase that a move is in, 0 for the others", ["phase"]
        )
        for phase in MovePhase:
            if phase.is_final:
                self._moves.labels(phase.value)
            else:
                self._in_progress.labels(phase.value).set(0)

    def note(self, at: float, message: str) -> None:
        """Does nothing: notes are no metric."""

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        """Sets the metrics of the fleet and of the training."""
        priced = all(flavor in self._usd_per_hour for flavor in observation.fleet.present)
        usd_per_hour = observation.fleet.usd_per_hour(self._usd_per_hour) if priced else math.nan
        seen = summarise(observation, usd_per_hour)
        self._observations.inc()
        self._observed_at.set(observation.at)
        self._unknown.set(seen.unknown)
        self._ranks.set(seen.ranks)
        self._spent.set(spent_usd)
        for gauge, value in (
            (self._step, seen.step),
            (self._total_steps, seen.total_steps),
            (self._loss, seen.loss),
            (self._tokens, seen.total_tokens),
            (self._rate, seen.tokens_per_s),
            (self._iteration, seen.iteration_time_s),
            (self._fleet_cost, seen.usd_per_million_tokens(usd_per_hour)),
        ):
            gauge.set(_or_nan(value))
        self._nodes.clear()
        for flavor, count in observation.fleet.items():
            self._nodes.labels(flavor).set(count)
        self._compute.clear()
        for flavor, times in seen.flavors.items():
            for statistic, of in STATISTICS.items():
                self._compute.labels(flavor, statistic).set(of(times.compute_time_s))

    def decided(self, decision: Decision) -> None:
        """Counts a decision, and sets the metrics of what it is about."""
        self._decisions.labels(decision.verdict.value).inc()
        self._reasons.labels(_label(decision.reason)).inc()
        self._saving.set(_or_nan(decision.saving_usd))
        self._target.clear()
        for flavor in {*decision.current, *decision.target}:
            self._target.labels(flavor).set(decision.target.count(flavor))
        for estimate in decision.flavors:
            self._estimated(estimate)

    def _estimated(self, estimate: FlavorEstimate) -> None:
        for gauge, value in (
            (self._price, estimate.usd_per_hour),
            (self._speed, estimate.tokens_per_s),
            (self._cost, estimate.usd_per_million_tokens),
        ):
            gauge.labels(estimate.flavor).set(_or_nan(value))

    def moved(self, at: float, move: Move, note: str) -> None:
        """Sets the phase of a move, and counts a move that has ended."""
        for phase in MovePhase:
            if not phase.is_final:
                self._in_progress.labels(phase.value).set(phase is move.phase)
        if move.phase.is_final:
            self._moves.labels(move.phase.value).inc()
            self._outcomes.labels(move.phase.value, _label(move.outcome_reason)).inc()

    def _gauge(self, name: str, help_: str, labels: list[str] | None = None) -> Gauge:
        return Gauge(f"centavo_{name}", help_, labels or [], registry=self.registry)


def serve(reporter: MetricsReporter, port: int, address: str = LOOPBACK) -> int:
    """Serves `/metrics` from a thread of its own until the process ends, and returns the port.

    Args:
        reporter: What is served.
        port: The port to serve on; 0 for a free one.
        address: The address to serve on.

    Raises:
        ConfigError: The port is taken, or the address is not one of this machine.
    """
    try:
        server, _ = start_http_server(port, address, reporter.registry)
    except OSError as error:
        raise ConfigError(
            f"Metrics can't be served on {address}:{port}: {error.strerror}.",
            "Give another port with --metrics, or leave the option out.",
        ) from error
    return int(server.server_port)


def parse_address(text: str) -> tuple[str, int]:
    """Returns address and port of `PORT`, which is on loopback, or of `ADDRESS:PORT`.

    Raises:
        ConfigError: The text is neither.
    """
    address, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"--metrics {text} is no port.", "Give PORT, or ADDRESS:PORT such as 0.0.0.0:9464.")
    return address.strip("[]") or LOOPBACK, int(port)


def _label(reason: Reason | None) -> str:
    """Returns the code of a reason. There are as many labels as registered reasons, and two more."""
    if reason is None:
        return NONE
    return reason.code if reason.code in REASONS else OTHER


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
