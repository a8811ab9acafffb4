"""What the same training would have cost on other fleets: on the first one, and on each single flavor.

A fleet that has trained as a whole is taken as measured. Any other fleet is modelled: a step of B tokens takes
B / S + t_comm(N), where the nodes' speeds add up to S. The speeds are those that the run measured, and so is t_comm, at
the nearest world size.

All costs are of the training alone, from its first step to its end, head included. What comes before and after (boot,
configuration, fetching the results) costs the same on every fleet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

from controller.decide.model.fleet_model import FleetModel
from controller.domain import SECONDS_PER_HOUR, Fleet
from controller.domain.units import TOKENS_PER_MILLION
from controller.record.journal.summary import Summary

FIRST = "first fleet"
"""The name of the fleet that the run began with."""


def alternatives(
    summaries: Sequence[Summary],
    initial: Fleet,
    usd_per_hour: Mapping[str, float],
    tokens_per_s: Mapping[str, float],
    until: float | None = None,
    trained_tokens: int | None = None,
) -> dict[str, Any]:
    """Returns the part `alternatives` of report.json. A fleet of which too little is known is left out.

    Args:
        summaries: The observations of the run, oldest first.
        initial: The fleet that the run began with.
        usd_per_hour: The price of a node, by flavor.
        tokens_per_s: Target tokens per second of compute of a node, by flavor.
        until: When the training ended; None while it goes on.
        trained_tokens: On how many target tokens the training says that it trained; None if it has not said.
    """
    training = _from_first_step(summaries)
    seen_tokens = max((summary.total_tokens or 0 for summary in training), default=0)
    tokens = max(seen_tokens, trained_tokens or 0) if training else 0
    usd = spent_usd(training, until)
    head = head_usd_per_hour(training, usd_per_hour)
    found = []
    for name, fleet in _others(initial, tokens_per_s).items():
        step = _step(fleet, training, tokens_per_s)
        if step is not None and tokens and all(flavor in usd_per_hour for flavor in fleet.present):
            found.append(
                {"name": name, "fleet": fleet.present} | _cost(*step, fleet.usd_per_hour(usd_per_hour) + head, tokens)
            )
    return {
        "tokens": tokens,
        "training_usd": usd,
        "training_s": _duration_s(training, until),
        "usd_per_million_tokens": usd / tokens * TOKENS_PER_MILLION if tokens else None,
        "head_usd_per_hour": head,
        "fleets": found,
    }


def _others(initial: Fleet, flavors: Iterable[str]) -> dict[str, Fleet]:
    """Returns by name the first fleet, and as many nodes of each single flavor. No fleet is in it twice."""
    single = {flavor: Fleet({flavor: initial.size}) for flavor in sorted(flavors) if initial.size}
    return {FIRST: initial} | {flavor: fleet for flavor, fleet in single.items() if fleet != initial}


def _from_first_step(summaries: Sequence[Summary]) -> list[Summary]:
    """Returns the summaries that have steps. The first one begins when its steps began, as those were paid for too."""
    training = [summary for summary in summaries if summary.step]
    if not training:
        return []
    first = training[0]
    before = max((summary.at for summary in summaries if summary.at < first.at), default=first.at)
    began = first.at - (first.step or 0) * (first.iteration_time_s or 0.0)
    return [replace(first, at=max(before, began)), *training[1:]]


def head_usd_per_hour(summaries: Iterable[Summary], usd_per_hour: Mapping[str, float]) -> float:
    """Returns what the cluster costs beyond its workers: the median over observations in which all workers trained."""
    rests = [
        summary.usd_per_hour - summary.fleet.usd_per_hour(usd_per_hour)
        for summary in summaries
        if summary.is_whole and all(flavor in usd_per_hour for flavor in summary.fleet.present)
    ]
    return round(max(0.0, median(rests)), 6) if rests else 0.0


def spent_usd(summaries: Sequence[Summary], until: float | None = None) -> float:
    """Returns the cluster's cost, integrated over the observations and on to `until`."""
    times = [summary.at for summary in summaries]
    if until is not None and times:
        times.append(max(until, times[-1]))
    pairs = zip(summaries, pairwise(times), strict=False)
    return round(sum((end - start) * s.usd_per_hour / SECONDS_PER_HOUR for s, (start, end) in pairs), 6)


def _duration_s(summaries: Sequence[Summary], until: float | None) -> float:
    if not summaries:
        return 0.0
    return round(max(until or 0.0, summaries[-1].at) - summaries[0].at, 1)


def _cost(step_time_s: float, tokens_per_step: float, source: str, usd_per_hour: float, tokens: int) -> dict[str, Any]:
    training_s = step_time_s * tokens / tokens_per_step
    usd = usd_per_hour * training_s / SECONDS_PER_HOUR
    return {
        "usd": round(usd, 6),
        "training_s": round(training_s, 1),
        "usd_per_million_tokens": usd / tokens * TOKENS_PER_MILLION,
        "source": source,
    }


def _step(
    fleet: Fleet,
    summaries: Sequence[Summary],
    tokens_per_s: Mapping[str, float],
) -> tuple[float, float, str] | None:
    """Returns seconds and target tokens of a step of the fleet, and whether they are `measured` or by the `model`."""
    whole = [
        (s.iteration_time_s, s.tokens)
        for s in summaries
        if s.is_whole and s.fleet == fleet and s.iteration_time_s and s.tokens
    ]
    if whole:
        return median(time_s for time_s, _ in whole), median(tokens for _, tokens in whole), "measured"
    tokens = [summary.tokens for summary in summaries if summary.is_whole and summary.tokens]
    waits = communication_s(summaries)
    if not tokens or not waits or any(flavor not in tokens_per_s for flavor in fleet.present):
        return None

    def nearest_wait_s(size: int) -> float:
        return waits[min(waits, key=lambda measured: abs(measured - size))]

    model = FleetModel(tokens_per_s, {}, median(tokens), nearest_wait_s)
    return model.step_time_s(fleet), model.tokens_per_step, "model"


def communication_s(summaries: Iterable[Summary]) -> dict[int, float]:
    """Returns by world size how many seconds a step takes beyond its slowest rank's compute, as the median."""
    by_size: dict[int, list[float]] = {}
    for summary in summaries:
        if summary.world_size and summary.iteration_time_s and summary.slowest_compute_s:
            wait = max(0.0, summary.iteration_time_s - summary.slowest_compute_s)
            by_size.setdefault(summary.world_size, []).append(wait)
    return {size: median(waits) for size, waits in sorted(by_size.items())}
