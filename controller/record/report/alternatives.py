"""What the same training would have cost on fleets that it did not end on: the first one, and each single flavor.

A fleet that has trained as a whole is taken as measured. For any other, a model is used: a step of B tokens takes
B / S + t_comm(N) where the nodes' speeds add up to S, with the speeds that the run measured and the communication that
it saw at the nearest world size.
All costs are of the training alone, from its first step to its end, head included; what comes before and after (boot,
configuration, fetching the results) is the same whatever the fleet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

from controller.domain import SECONDS_PER_HOUR, Fleet
from controller.record.journal.summary import MICRO, Summary

FIRST = "first fleet"
"""The name under which the fleet that the run began with stands among the others."""


def alternatives(
    summaries: Sequence[Summary],
    initial: Fleet,
    usd_per_hour: Mapping[str, float],
    tokens_per_s: Mapping[str, float],
    until: float | None = None,
    trained_tokens: int | None = None,
) -> dict[str, Any]:
    """The part `alternatives` of report.json.

    `usd_per_hour` and `tokens_per_s` (target tokens per second of compute) are by flavor; `until` is when the training
    ended and `trained_tokens` what it says that it trained on, where that is known. A fleet of which too little is
    known is left out.
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
        "usd_per_million_tokens": usd / tokens * MICRO if tokens else None,
        "head_usd_per_hour": head,
        "fleets": found,
    }


def _others(initial: Fleet, flavors: Iterable[str]) -> dict[str, Fleet]:
    """By name: the first fleet, and as many nodes of each single flavor, but the first fleet only once."""
    single = {flavor: Fleet({flavor: initial.size}) for flavor in sorted(flavors) if initial.size}
    return {FIRST: initial} | {flavor: fleet for flavor, fleet in single.items() if fleet != initial}


def _from_first_step(summaries: Sequence[Summary]) -> list[Summary]:
    """The looks at the training. The first one counts from when its steps began: they were paid for before the look."""
    training = [summary for summary in summaries if summary.step]
    if not training:
        return []
    first = training[0]
    before = max((summary.at for summary in summaries if summary.at < first.at), default=first.at)
    began = first.at - (first.step or 0) * (first.iteration_time_s or 0.0)
    return [replace(first, at=max(before, began)), *training[1:]]


def head_usd_per_hour(summaries: Iterable[Summary], usd_per_hour: Mapping[str, float]) -> float:
    """What the cluster costs beyond its workers: the median over the observations in which all of them trained."""
    rests = [
        summary.usd_per_hour - summary.fleet.usd_per_hour(usd_per_hour)
        for summary in summaries
        if summary.is_whole and all(flavor in usd_per_hour for flavor in summary.fleet.present)
    ]
    return round(max(0.0, median(rests)), 6) if rests else 0.0


def spent_usd(summaries: Sequence[Summary], until: float | None = None) -> float:
    """The cluster's cost, integrated over the observations, and over the time to `until` after the last."""
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
        "usd_per_million_tokens": usd / tokens * MICRO,
        "source": source,
    }


def _step(
    fleet: Fleet,
    summaries: Sequence[Summary],
    tokens_per_s: Mapping[str, float],
) -> tuple[float, float, str] | None:
    """Seconds and target tokens of a step of the fleet, and whether that is `measured` or by the `model`."""
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
    nearest = min(waits, key=lambda size: abs(size - fleet.size))
    speed = sum(count * tokens_per_s[flavor] for flavor, count in fleet.present.items())
    return median(tokens) / speed + waits[nearest], median(tokens), "model"


def communication_s(summaries: Iterable[Summary]) -> dict[int, float]:
    """By world size: the median of what a step takes beyond its slowest rank's compute, in seconds."""
    by_size: dict[int, list[float]] = {}
    for summary in summaries:
        if summary.world_size and summary.iteration_time_s and summary.slowest_compute_s:
            wait = max(0.0, summary.iteration_time_s - summary.slowest_compute_s)
            by_size.setdefault(summary.world_size, []).append(wait)
    return {size: median(waits) for size, waits in sorted(by_size.items())}
