"""The windows of steps that nodes have reported, as samples of their speed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller.decide.settings import DecideSettings
from controller.domain import Fact, Observation, TrainingState

PRIOR_STEP_CV = 0.10
"""Coefficient of variation of one step's compute time that is assumed before it is measured."""
MEDIAN_EFFICIENCY = math.sqrt(math.pi / 2)
"""A median's standard error over a mean's, for normal noise."""
FALLEN_SHARE = 0.75
"""Nodes that run at less than this share of their speed have fallen: steps of ten percent are not that far off."""
_COUNTING_STATES = (TrainingState.TRAINING, TrainingState.DRAINING)


@dataclass(frozen=True)
class Sample:
    """One window of steps on one node."""

    log_speed: float
    window: int
    compute_time_s: float
    at: float = 0.0
    """When it was seen, seconds since the epoch."""
    steal_share: float | None = None
    """The share of processor time that the node was not given, 0 to 1."""
    step: int = 0
    """The last step of the window."""


Samples = Mapping[str, Mapping[str, Sequence[Sample]]]
"""The windows of each flavor and instance, oldest first."""


def is_positive(value: float | None) -> bool:
    """Tells whether a value is known, finite and above 0."""
    return value is not None and math.isfinite(value) and value > 0


def is_usable(fact: Fact, seen_at: float, settings: DecideSettings) -> bool:
    """Tells whether a fact can be used: of a rank that trains, sound, over enough steps, not from the future."""
    return (
        fact.state in _COUNTING_STATES
        and fact.window >= settings.minimum_window
        and is_positive(fact.tokens)
        and is_positive(fact.compute_time_s)
        and fact.updated_at <= seen_at + settings.clock_skew_s
    )


def samples_of(observations: Iterable[Observation], settings: DecideSettings) -> dict[str, dict[str, list[Sample]]]:
    """Returns the windows of each flavor and instance in order, without those that overlap an earlier one."""
    last_step: dict[str, int] = {}
    found: dict[str, dict[str, list[Sample]]] = {}
    for observation in observations:
        for fact in observation.facts:
            if not is_usable(fact, observation.at, settings):
                continue
            previous = last_step.get(fact.instance_id)
            if previous is not None and 0 <= fact.step - previous < fact.window:
                continue
            last_step[fact.instance_id] = fact.step
            found.setdefault(fact.flavor, {}).setdefault(fact.instance_id, []).append(_sample(fact, observation.at))
    return found


def _sample(fact: Fact, at: float) -> Sample:
    """Returns the window of a usable fact."""
    assert fact.tokens is not None and fact.compute_time_s is not None
    log_speed = math.log(fact.tokens / fact.compute_time_s)
    return Sample(log_speed, fact.window, fact.compute_time_s, at, fact.steal_share, fact.step)


def fallen(samples: Samples, present: Observation, settings: DecideSettings) -> list[str]:
    """Returns the flavors whose nodes have become far slower since their last window, as facts of the moment tell.

    These facts overlap that window, so that they do not count yet. Facts that no step has renewed for
    `measure_timeout_s` are left out: what stands still has not become slow.

    Args:
        samples: The windows so far.
        present: The observation of the moment.
        settings: What a usable fact is.
    """
    shares: dict[str, list[float]] = {}
    for fact in present.facts:
        counted = samples.get(fact.flavor, {}).get(fact.instance_id)
        is_renewed = present.at - fact.updated_at < settings.measure_timeout_s
        if counted and is_renewed and is_usable(fact, present.at, settings):
            is_new = fact.step != counted[-1].step
            now = _sample(fact, present.at).log_speed if is_new else counted[-1].log_speed
            shares.setdefault(fact.flavor, []).append(math.exp(now - counted[-1].log_speed))
    return sorted(flavor for flavor, of_nodes in shares.items() if median(of_nodes) < FALLEN_SHARE)


def expected_error(window: float) -> float:
    """Returns the standard error of a window's median that is expected, as a share of it.

    Args:
        window: The steps of the window.
    """
    return MEDIAN_EFFICIENCY * PRIOR_STEP_CV / math.sqrt(window)


def median(values: Sequence[float]) -> float:
    """Returns the middle value, or the mean of the two in the middle. Raises IndexError when there is none."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
