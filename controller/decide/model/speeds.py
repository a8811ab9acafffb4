"""The speed of each flavor with its uncertainty, from the facts of its nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.decide.model.tails import student_deviation, student_score
from controller.decide.samples.credits import Accounts, Burst, Pace, pace_of
from controller.decide.samples.levels import MAD_TO_SIGMA, since_last_shift
from controller.decide.samples.windows import MEDIAN_EFFICIENCY, Sample, Samples, expected_error, is_positive, median
from controller.decide.settings import DecideSettings
from controller.domain import EarlierSpeed
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import BadNodesLeftOut, KnownFromEarlierRun, TooFewSteps

PRIOR_NODE_CV = 0.03
"""Coefficient of variation between nodes of one flavor that is assumed before it is measured."""
PRIOR_WEIGHT = 4.0
"""How many samples this assumption, and that of a step's variation (`windows.PRIOR_STEP_CV`), are worth."""
INTERVAL_Z = 1.96
BAD_NODE_SHORTFALL = 0.20
BAD_NODE_SIGMAS = 4.0
NOTHING_KNOWN = Accounts()


@dataclass(frozen=True)
class Speed:
    """What is known of a flavor's speed, in target tokens per second of compute."""

    tokens_per_s: float
    """What its nodes sustain: where they have CPU credits, the speed without them."""
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
    burst: Burst | None = None
    """How its nodes run faster for a while; None where they do not."""
    freedom: float = math.inf
    """Degrees of freedom of the Student-t distribution of the logarithm; infinite: it is a normal one."""

    def at(self, z: float) -> float:
        """Returns the speed that is as unlikely as `z` standard deviations of a normal distribution, tokens per second.

        One standard error is at z = 1, whatever the tails are.
        """
        return self.tokens_per_s * math.exp(student_score(z, self.freedom) * self.log_se)

    @property
    def log_sd(self) -> float:
        """Standard deviation of the logarithm of the speed: the longer the tails, the larger it is beside the error."""
        return self.log_se * student_deviation(self.freedom)

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


def _shrunk_variance(residuals: Sequence[float], freedom: int, prior_sigma: float) -> float:
    """Returns the variance by the median absolute deviation, shrunk to a prior that is worth `PRIOR_WEIGHT` samples."""
    if freedom <= 0:
        return prior_sigma**2
    sigma = MAD_TO_SIGMA * median([abs(residual) for residual in residuals])
    return (PRIOR_WEIGHT * prior_sigma**2 + freedom * sigma**2) / (PRIOR_WEIGHT + freedom)


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
        distances = [level - centre for level in levels.values()]
        spread = max(spread, math.sqrt(_shrunk_variance(distances, len(levels) - 1, PRIOR_NODE_CV)))
    threshold = centre - max(-math.log(1 - BAD_NODE_SHORTFALL), BAD_NODE_SIGMAS * spread)
    return tuple(sorted(node for node, level in levels.items() if level < threshold))


def _pooled(nodes: Mapping[str, Sequence[Sample]], truth: float | None, pace: Pace) -> Speed:
    """Returns one flavor's speed: the median over its good nodes. The error covers noise within and between nodes.

    Nodes without credits are compared with the others by what their speed would be with credits. The truth counts the
    credits already.
    """
    kept = {node: pace.windows.get(node) or since_last_shift(samples) for node, samples in nodes.items()}
    centres = {node: median([sample.log_speed for sample in samples]) for node, samples in kept.items()}
    slowed = math.log(pace.lasting_share)
    levels = {node: level - slowed if node in pace.spent else level for node, level in centres.items()}
    bad = _bad_nodes(levels if truth is None else centres, truth)
    good = [node for node in kept if node not in bad] or [*kept]
    level = median([levels[node] for node in good])
    samples = [sample for node in good for sample in kept[node]]
    window = median([sample.window for sample in samples])
    within = _shrunk_variance(
        [sample.log_speed - centres[node] for node in good for sample in kept[node] if len(kept[node]) > 1],
        len(samples) - len(good),
        expected_error(window),
    )
    between = _shrunk_variance([levels[node] - level for node in good], len(good) - 1, PRIOR_NODE_CV)
    variance = MEDIAN_EFFICIENCY**2 * (within / len(samples) + between / len(good))
    return Speed(
        tokens_per_s=math.exp(level + slowed if pace.spent_level is None else pace.spent_level),
        log_se=math.sqrt(variance),
        steps=sum(sample.window for sample in samples),
        nodes=len(good),
        compute_time_s=median([sample.compute_time_s for sample in samples]),
        bad_nodes={n: math.exp(levels[n] - level if truth is None else centres[n] - truth) for n in bad},
        notes=(*([BadNodesLeftOut(bad)] if bad else []), *pace.notes),
        burst=_burst(levels, good, pace) if slowed and truth is None else None,
    )


def _burst(levels: Mapping[str, float], good: Sequence[str], pace: Pace) -> Burst:
    """Returns how good nodes run with credits.

    Nodes that have some tell it, else what was measured before, else what those without reach by their baseline.
    """
    fast = [levels[node] for node in good if node not in pace.spent]
    if not fast and pace.full_level is not None:
        fast = [pace.full_level]
    return Burst(math.exp(median(fast or [levels[node] for node in good])), pace.fresh_s, pace.left_s)


def measure_speeds(
    samples: Samples,
    earlier: Mapping[str, EarlierSpeed],
    settings: DecideSettings,
    accounts: Accounts = NOTHING_KNOWN,
) -> dict[str, Speed]:
    """Returns the speed of each flavor that was measured, now or in an earlier run.

    A flavor with fewer than `minimum_steps` steps has
    `is_measured=False`.
    """
    speeds: dict[str, Speed] = {}
    truth = settings.truth.tokens_per_s if settings.truth else {}
    for flavor, nodes in samples.items():
        pace = pace_of(flavor, settings.flavors.get(flavor), nodes, accounts)
        speed = _pooled(nodes, math.log(truth[flavor]) if flavor in truth else None, pace)
        if speed.steps < settings.minimum_steps:
            notes = (*speed.notes, TooFewSteps(speed.steps, settings.minimum_steps))
            speed = replace(speed, is_measured=False, notes=notes)
        speeds[flavor] = speed
    for flavor, known in earlier.items():
        if is_positive(known.tokens_per_s) and not (flavor in speeds and speeds[flavor].is_measured):
            speeds[flavor] = Speed(known.tokens_per_s, known.log_se, notes=(KnownFromEarlierRun(),))
    return speeds
