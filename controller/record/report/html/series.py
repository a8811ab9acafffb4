"""What the plots show: a run of any length comes to a few hundred points a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median

from controller.domain import Fleet
from controller.record.journal.summary import Summary
from controller.record.report.html.run import Run

MOST_POINTS = 400
MOST_FLAVORS = 7
"""Flavors that have a colour of their own; the others are shown together."""
OTHERS = "others"
MILLI = 1e3


@dataclass(frozen=True)
class Line:
    """Points in the order of x. If several are taken together, y is their median, low and high are their extremes."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def is_thinned(self) -> bool:
        """Whether points were taken together."""
        return self.low != self.high


@dataclass(frozen=True)
class Spread:
    """The distribution of weighted values. Quantiles by share."""

    flavor: str
    p5: float
    q1: float
    median: float
    q3: float
    p95: float


@dataclass(frozen=True)
class StepTime:
    """How long a step took on one fleet, in seconds, and what the model says of it."""

    fleet: Fleet
    observations: int
    q1: float
    median: float
    q3: float
    modelled: float | None


def thinned(points: Sequence[tuple[float, float]], most: int = MOST_POINTS) -> Line:
    """Returns a line of at most `most` points, each of which stands for as many of the given points."""
    if len(points) <= most:
        x, y = tuple(p[0] for p in points), tuple(p[1] for p in points)
        return Line(x, y, y, y)
    edges = [round(i * len(points) / most) for i in range(most + 1)]
    parts = [points[start:end] for start, end in pairwise(edges)]
    values = [[y for _, y in part] for part in parts]
    return Line(
        tuple(part[len(part) // 2][0] for part in parts),
        tuple(median(v) for v in values),
        tuple(min(v) for v in values),
        tuple(max(v) for v in values),
    )


def coloured_flavors(run: Run) -> list[str]:
    """Returns the flavors that get a colour of their own: those that ran most, in the run's order."""
    if len(run.flavors) <= MOST_FLAVORS:
        return run.flavors
    seen: dict[str, int] = {}
    for summary in run.summaries:
        for flavor, count in summary.fleet.present.items():
            seen[flavor] = seen.get(flavor, 0) + count
    most = set(sorted(seen, key=lambda flavor: -seen[flavor])[:MOST_FLAVORS])
    return [flavor for flavor in run.flavors if flavor in most]


def fleet_over_time(run: Run) -> tuple[list[float], dict[str, list[int]]]:
    """Returns minutes since the start, and the nodes of each flavor that run then; a step at each change."""
    names = coloured_flavors(run)
    changes: list[Summary] = []
    for summary in run.summaries:
        if not changes or summary.fleet != changes[-1].fleet:
            changes.append(summary)
    if run.summaries:
        changes.append(run.summaries[-1])
    kept = [changes[i] for i in _evenly(len(changes), MOST_POINTS)]
    minutes = [minutes_since(run, summary.at) for summary in kept]
    counts = {name: [summary.fleet.count(name) for summary in kept] for name in names}
    rest = [summary.fleet.size - sum(summary.fleet.count(name) for name in names) for summary in kept]
    return minutes, counts | ({OTHERS: rest} if any(rest) else {})


def cost_over_time(run: Run) -> Line:
    """Returns minutes since the start, and what a million target tokens cost then, with all that ran and the head."""
    return thinned(
        [
            (minutes_since(run, summary.at), cost)
            for summary in run.summaries
            if (cost := summary.running_usd_per_million) is not None
        ]
    )


def usd_per_hour_over_time(run: Run) -> Line:
    """Returns minutes since the start, and what the cluster costs an hour, head included."""
    return thinned([(minutes_since(run, summary.at), summary.usd_per_hour) for summary in run.summaries])


def loss_over_steps(run: Run) -> Line:
    """Returns steps, and the training loss."""
    return thinned([(point.step, point.loss) for point in run.losses])


def move_steps(run: Run) -> list[tuple[int, float]]:
    """Returns each move that changed the fleet, with the step at which it ended."""
    found = []
    for move in run.moves:
        if move.ended_at is None or move.outcome_reason is not None:
            continue
        before = [summary.step for summary in run.summaries if summary.step and summary.at <= move.ended_at]
        if before:
            found.append((move.move_id, float(before[-1])))
    return found


@lru_cache(maxsize=4)
def compute_spreads(run: Run, per_tokens: float | None = None) -> list[Spread]:
    """Returns the compute time by flavor, in milliseconds: of a step, or of `per_tokens` target tokens."""
    values: dict[str, list[tuple[float, float]]] = {}
    for summary in run.summaries:
        for flavor, times in summary.flavors.items():
            kept = values.setdefault(flavor, [])
            for time_s, tokens in zip(times.compute_time_s, times.tokens, strict=True):
                value = time_s if per_tokens is None else time_s / tokens * per_tokens
                kept.append((MILLI * value, times.weight))
    return [_spread(flavor, values[flavor]) for flavor in run.flavors if flavor in values]


@lru_cache(maxsize=4)
def step_times(run: Run, most: int = 24) -> list[StepTime]:
    """Returns the fleets that trained longest, with the time of a step on each, measured and modelled."""
    times: dict[Fleet, list[float]] = {}
    for summary in run.summaries:
        if summary.is_whole and summary.iteration_time_s:
            times.setdefault(summary.fleet, []).append(summary.iteration_time_s)
    modelled = _modelled(run.decisions, {_key(fleet) for fleet in times})
    longest = sorted(times, key=lambda fleet: -len(times[fleet]))[:most]
    return [
        StepTime(fleet, len(times[fleet]), *_quartiles(times[fleet]), modelled.get(_key(fleet)))
        for fleet in sorted(longest, key=lambda fleet: (fleet.size, str(fleet)))
    ]


def model_curve(run: Run) -> tuple[str | None, list[tuple[int, float]]]:
    """Returns the last fitted model: a flavor, and for numbers of its nodes the seconds of a step."""
    for decision in reversed(run.decisions):
        points = [(Fleet(estimate["fleet"]), estimate["step_time_s"]) for estimate in decision.get("scaling") or ()]
        known = [(fleet.size, time_s) for fleet, time_s in points if time_s is not None]
        if known:
            return next(iter(points[0][0].present)), known
    return None, []


def minutes_since(run: Run, at: float) -> float:
    """Returns minutes since the run began."""
    return (at - run.started_at) / 60


def _modelled(decisions: Iterable[dict[str, object]], wanted: set[str]) -> dict[str, float]:
    """Returns the last modelled time of a step of each wanted fleet."""
    found: dict[str, float] = {}
    for decision in decisions:
        for estimate in decision["fleets"]:  # type: ignore[attr-defined]
            key = _key(Fleet(estimate["fleet"]))
            if key in wanted and estimate["step_time_s"] is not None:
                found[key] = estimate["step_time_s"]
    return found


def _key(fleet: Fleet) -> str:
    return str(fleet)


def _evenly(count: int, most: int) -> list[int]:
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def _spread(flavor: str, values: list[tuple[float, float]]) -> Spread:
    values.sort()
    total = sum(weight for _, weight in values)
    marks, seen = (0.05, 0.25, 0.5, 0.75, 0.95), 0.0
    found: list[float] = []
    for value, weight in values:
        seen += weight
        while len(found) < len(marks) and seen >= marks[len(found)] * total:
            found.append(value)
    found += [values[-1][0]] * (len(marks) - len(found))
    return Spread(flavor, *found)


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    ordered, last = sorted(values), len(values) - 1
    return ordered[round(last * 0.25)], median(ordered), ordered[round(last * 0.75)]
