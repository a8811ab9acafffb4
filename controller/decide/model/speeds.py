"""The speed of each flavor with its uncertainty, from the facts of its nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.decide.settings import DecideSettings
from controller.domain import Fact, Flavor, Observation, TrainingState
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import (
    BadNodesLeftOut,
    CreditsSpent,
    JudgedByBaseline,
    KnownFromEarlierRun,
    TooFewSteps,
)

PRIOR_STEP_CV = 0.10
"""Coefficient of variation of one step's compute time that is assumed before it is measured."""
PRIOR_NODE_CV = 0.03
"""Coefficient of variation between nodes of one flavor that is assumed before it is measured."""
PRIOR_WEIGHT = 4.0
"""How many samples the two assumptions above are worth."""
KNOWN_LOG_SE = 0.10
"""Standard error of the logarithm of a speed from an earlier run."""
INTERVAL_Z = 1.96
MEDIAN_EFFICIENCY = math.sqrt(math.pi / 2)
"""A median's standard error over a mean's, for normal noise."""
MAD_TO_SIGMA = 1.4826
RECENT_SAMPLES = 3
HISTORY_SAMPLES = 20
SHIFT = 0.10
"""A node has changed when its last samples differ by more than this share. Its earlier samples no longer count."""
BAD_NODE_SHORTFALL = 0.20
BAD_NODE_SIGMAS = 4.0
_COUNTING_STATES = (TrainingState.TRAINING, TrainingState.DRAINING)


@dataclass(frozen=True)
class Speed:
    """What is known of a flavor's speed, in target tokens per second of compute."""

    tokens_per_s: float
    log_se: float
    """Standard error of the logarithm of the speed."""
    steps: int = 0
    """How many steps were measured; 0 for a speed known from an earlier run, or guessed."""
    nodes: int = 0
    compute_time_s: float | None = None
    bad_nodes: Mapping[str, float] = field(default_factory=dict)
    """Instances far slower than the flavor, each with its speed as a share of the flavor's, 0 to 1."""
    notes: tuple[Reason, ...] = ()
    """How the speed is known, and what is odd about it."""
    is_measured: bool = True

    def at(self, z: float) -> float:
        """Returns the speed `z` standard errors above the expected one, tokens per second."""
        return self.tokens_per_s * math.exp(z * self.log_se)

    @property
    def harmonic(self) -> float:
        """The speed at which a token costs what it costs on average: 1 / E[1/s] of a log-normal speed s."""
        return self.tokens_per_s * math.exp(-(self.log_se**2) / 2)

    @property
    def low(self) -> float:
        """Lower end of the 95% interval, tokens per second."""
        return self.at(-INTERVAL_Z)

    @property
    def high(self) -> float:
        """Upper end of the 95% interval, tokens per second."""
        return self.at(INTERVAL_Z)


@dataclass(frozen=True)
class _Sample:
    """One window of steps on one node."""

    log_speed: float
    window: int
    compute_time_s: float


def _is_positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def is_usable(fact: Fact, seen_at: float, settings: DecideSettings) -> bool:
    """Tells whether a fact can be used: of a rank that trains, sound, over enough steps, not from the future."""
    return (
        fact.state in _COUNTING_STATES
        and fact.window >= settings.minimum_window
        and _is_positive(fact.tokens)
        and _is_positive(fact.compute_time_s)
        and fact.updated_at <= seen_at + settings.clock_skew_s
    )


def _samples(observations: Iterable[Observation], settings: DecideSettings) -> dict[str, dict[str, list[_Sample]]]:
    """Returns the windows of each flavor and instance in order, without those that overlap an earlier one."""
    last_step: dict[str, int] = {}
    found: dict[str, dict[str, list[_Sample]]] = {}
    for observation in observations:
        for fact in observation.facts:
            if not is_usable(fact, observation.at, settings):
                continue
            previous = last_step.get(fact.instance_id)
            if previous is not None and 0 <= fact.step - previous < fact.window:
                continue
            last_step[fact.instance_id] = fact.step
            assert fact.tokens is not None and fact.compute_time_s is not None
            sample = _Sample(math.log(fact.tokens / fact.compute_time_s), fact.window, fact.compute_time_s)
            found.setdefault(fact.flavor, {}).setdefault(fact.instance_id, []).append(sample)
    return found


def median(values: Sequence[float]) -> float:
    """Returns the middle value, or the mean of the two in the middle. Raises IndexError when there is none."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _shrunk_variance(residuals: Sequence[float], freedom: int, prior_sigma: float) -> float:
    """Returns the variance by the median absolute deviation, shrunk to a prior that is worth `PRIOR_WEIGHT` samples."""
    if freedom <= 0:
        return prior_sigma**2
    sigma = MAD_TO_SIGMA * median([abs(residual) for residual in residuals])
    return (PRIOR_WEIGHT * prior_sigma**2 + freedom * sigma**2) / (PRIOR_WEIGHT + freedom)


def _since_last_shift(samples: Sequence[_Sample]) -> Sequence[_Sample]:
    """Returns the samples since the node's speed last changed for good (burst credits spent, a noisy neighbour)."""
    samples = samples[-HISTORY_SAMPLES:]
    if len(samples) < 2 * RECENT_SAMPLES:
        return samples
    recent = [sample.log_speed for sample in samples[-RECENT_SAMPLES:]]
    level, earlier = median(recent), [sample.log_speed for sample in samples[:-RECENT_SAMPLES]]
    spread = MAD_TO_SIGMA * median([abs(value - median(earlier)) for value in earlier])
    if abs(level - median(earlier)) <= max(SHIFT, 3 * spread):
        return samples
    boundary = (level + median(earlier)) / 2
    first = len(samples)
    while first > 0 and (samples[first - 1].log_speed > boundary) == (level > boundary):
        first -= 1
    return samples[min(first, len(samples) - RECENT_SAMPLES) :]


def _bad_nodes(levels: Mapping[str, float], truth: float | None) -> tuple[str, ...]:
    """Returns the nodes far slower than the truth, or than the others of their flavor.

    Of two nodes the faster one tells: a node may be slow by accident, but not fast.
    """
    if len(levels) < 2 and truth is None:
        return ()
    centre, spread = truth, PRIOR_NODE_CV
    if centre is None and len(levels) == 2:
        centre = max(levels.values())
    if centre is None:
        centre = median(list(levels.values()))
        spread = max(spread, MAD_TO_SIGMA * median([abs(level - centre) for level in levels.values()]))
    threshold = centre - max(-math.log(1 - BAD_NODE_SHORTFALL), BAD_NODE_SIGMAS * spread)
    return tuple(sorted(node for node, level in levels.items() if level < threshold))


def _pooled(nodes: Mapping[str, Sequence[_Sample]], truth: float | None) -> Speed:
    """Returns one flavor's speed: the median over its good nodes. The error covers noise within and between nodes."""
    kept = {node: _since_last_shift(samples) for node, samples in nodes.items()}
    levels = {node: median([sample.log_speed for sample in samples]) for node, samples in kept.items()}
    bad = _bad_nodes(levels, truth)
    good = [node for node in kept if node not in bad] or [*kept]
    level = median([levels[node] for node in good])
    samples = [sample for node in good for sample in kept[node]]
    window = median([sample.window for sample in samples])
    within = _shrunk_variance(
        [sample.log_speed - levels[node] for node in good for sample in kept[node] if len(kept[node]) > 1],
        len(samples) - len(good),
        MEDIAN_EFFICIENCY * PRIOR_STEP_CV / math.sqrt(window),
    )
    between = _shrunk_variance([levels[node] - level for node in good], len(good) - 1, PRIOR_NODE_CV)
    variance = MEDIAN_EFFICIENCY**2 * (within / len(samples) + between / len(good))
    return Speed(
        tokens_per_s=math.exp(level),
        log_se=math.sqrt(variance),
        steps=sum(sample.window for sample in samples),
        nodes=len(good),
        compute_time_s=median([sample.compute_time_s for sample in samples]),
        bad_nodes={node: math.exp(levels[node] - (level if truth is None else truth)) for node in bad},
        notes=(BadNodesLeftOut(bad),) if bad else (),
    )


def _sustained(speed: Speed, flavor: Flavor | None, nodes: Mapping[str, Sequence[_Sample]]) -> Speed:
    """Returns the speed of a burstable flavor without CPU credits, where its baseline is known."""
    if flavor is None or not flavor.burstable or not flavor.baseline_share:
        return speed
    fastest = max(sample.log_speed for samples in nodes.values() for sample in samples)
    seen_share = speed.tokens_per_s / math.exp(fastest)
    if seen_share <= (1 + flavor.baseline_share) / 2 and flavor.baseline_share < 1:
        return replace(speed, notes=(*speed.notes, CreditsSpent()))
    notes = (*speed.notes, JudgedByBaseline(flavor.baseline_share))
    return replace(speed, tokens_per_s=speed.tokens_per_s * flavor.baseline_share, notes=notes)


def measure_speeds(
    observations: Sequence[Observation], known_tokens_per_s: Mapping[str, float], settings: DecideSettings
) -> dict[str, Speed]:
    """Returns the speed of each flavor that was measured, now or in an earlier run.

    Facts that cannot be used (`is_usable`) are left out. A flavor with fewer than `minimum_steps` steps has
    `is_measured=False`.
    """
    speeds: dict[str, Speed] = {}
    truth = settings.truth.tokens_per_s if settings.truth else {}
    for flavor, nodes in _samples(observations, settings).items():
        pooled = _pooled(nodes, math.log(truth[flavor]) if flavor in truth else None)
        speed = _sustained(pooled, settings.flavors.get(flavor), nodes)
        if speed.steps < settings.minimum_steps:
            notes = (*speed.notes, TooFewSteps(speed.steps, settings.minimum_steps))
            speed = replace(speed, is_measured=False, notes=notes)
        speeds[flavor] = speed
    for flavor, tokens_per_s in known_tokens_per_s.items():
        if _is_positive(tokens_per_s) and not (flavor in speeds and speeds[flavor].is_measured):
            speeds[flavor] = Speed(tokens_per_s, KNOWN_LOG_SE, notes=(KnownFromEarlierRun(),))
    return speeds
