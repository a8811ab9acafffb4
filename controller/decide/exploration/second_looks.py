"""Flavors of which a single node was measured, so slow that it may have been a bad one: they are worth a second look.

A node is bad with the chance b, and then has about half of its flavor's speed. Before it was measured, the logarithm of
the speed was expected to be normal with mean m and deviation s. By Bayes' rule, the odds that a node which was measured
at y is bad are

    b / (1 - b)  N(ln y - ln share; m, s^2 + share_sd^2) / N(ln y; m, s^2)

What is expected of the flavor is a mixture of both cases, of which mean and variance are kept (Gelman et al., "Bayesian
Data Analysis", 3rd edition, sections 2.5 and 22.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

from controller.decide.model.hardware.prior import expected_speeds
from controller.decide.model.situation import Situation
from controller.decide.model.speeds import Speed

BAD_SHARE = 0.02
"""The share of nodes that are bad."""
BAD_SPEED, BAD_SPEED_SD = 0.5, 0.3
"""The share of its flavor's speed that a bad node has, and how far the logarithm of that spreads."""
LEAST_CHANCE = 0.05
"""A flavor is worth a second look where its only node was bad with this chance at least."""


@dataclass(frozen=True)
class Look:
    """What measuring a flavor may show.

    Attributes:
        shown: The speed, by what is known of it.
        chance_bad: That the only node that was measured is a bad one, 0 to 1.
        if_bad: The speed that a sound node shows then, tokens per second.
    """

    shown: Speed
    chance_bad: float = 0.0
    if_bad: float = 0.0


def second_looks(situation: Situation, flavors: Iterable[str]) -> dict[str, Speed]:
    """Returns what is expected of those of the flavors whose only node may have been a bad one."""
    measured = situation.measured
    once = [f for f in flavors if f in measured and measured[f].steps and measured[f].nodes == 1]
    found = {flavor: _expected(situation, flavor) for flavor in once}
    return {flavor: speed for flavor, speed in found.items() if speed is not None}


def closer_looks(situation: Situation, flavors: Iterable[str]) -> dict[str, Look]:
    """Returns what another node may show of those of the flavors that were measured.

    Of n nodes with a standard error s of their mean, another one is as exact as each of them. The mean of all of them
    then spreads by s / sqrt(n + 1) around what is known now.
    """
    seen = {f: situation.measured[f] for f in flavors if f in situation.measured}
    return {f: _look(situation, f) for f, speed in seen.items() if speed.steps and speed.burst is None}


def _look(situation: Situation, flavor: str) -> Look:
    seen = situation.measured[flavor]
    shown = Speed(seen.tokens_per_s, seen.log_se / math.sqrt(seen.nodes + 1), is_measured=False)
    bad = _bad(situation, flavor) if seen.nodes == 1 else None
    return Look(shown) if bad is None else Look(shown, bad.chance, math.exp(bad.level))


@dataclass(frozen=True)
class _Bad:
    """What is known if a flavor's only node was a bad one.

    Attributes:
        chance: That it was, 0 to 1.
        level: The expected logarithm of the flavor's speed then.
        variance: Its variance.
    """

    chance: float
    level: float
    variance: float


def _bad(situation: Situation, flavor: str) -> _Bad | None:
    """Returns what is known if a flavor's only node was a bad one; None where it was no slower than expected."""
    seen = situation.measured[flavor]
    others = {other: speed for other, speed in situation.measured.items() if other != flavor}
    prior = expected_speeds([flavor], others, situation.usd_per_hour, situation.settings).get(flavor)
    if prior is None or seen.burst is not None or seen.tokens_per_s >= prior.tokens_per_s:
        return None
    mean, level, shift = math.log(prior.tokens_per_s), math.log(seen.tokens_per_s), -math.log(BAD_SPEED)
    if_sound = NormalDist(mean, math.hypot(prior.log_sd, seen.log_se)).pdf(level)
    if_bad = NormalDist(mean, math.hypot(prior.log_sd, seen.log_se, BAD_SPEED_SD)).pdf(level + shift)
    chance = BAD_SHARE * if_bad / (BAD_SHARE * if_bad + (1 - BAD_SHARE) * if_sound)
    pull = BAD_SPEED_SD**2 / (BAD_SPEED_SD**2 + prior.log_sd**2)
    return _Bad(chance, pull * mean + (1 - pull) * (level + shift), pull * prior.log_sd**2)


def _expected(situation: Situation, flavor: str) -> Speed | None:
    """Returns what is expected of a flavor; None where its node was hardly a bad one."""
    bad = _bad(situation, flavor)
    if bad is None or bad.chance < LEAST_CHANCE:
        return None
    seen = situation.measured[flavor]
    level = math.log(seen.tokens_per_s)
    expected = bad.chance * bad.level + (1 - bad.chance) * level
    variance = bad.chance * ((bad.level - expected) ** 2 + bad.variance)
    variance += (1 - bad.chance) * ((level - expected) ** 2 + seen.log_se**2)
    return Speed(math.exp(expected), math.sqrt(variance), is_measured=False)
