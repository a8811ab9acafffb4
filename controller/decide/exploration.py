"""Which flavors are worth measuring: only those that could win, only while it pays, only within the probe budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.decide.model import FleetModel
from controller.decide.prior import expected_speeds
from controller.decide.search import best_fleet
from controller.decide.settings import Batches, Objective
from controller.decide.speeds import Speed
from controller.decide.switching import switching_usd
from controller.decide.weighing import Outlook
from controller.domain import SECONDS_PER_HOUR, Fleet, Move, MovePhase

OPTIMISM_Z = 1.64
"""A flavor is given up when it could not win even if it were this many standard errors faster than expected."""
QUANTILE_Z = (-1.15, -0.32, 0.32, 0.93, 1.64)
"""Where a guess is tried out; with QUANTILE_SHARE an integral over the normal distribution."""
QUANTILE_SHARE = (0.25, 0.25, 0.25, 0.15, 0.10)
GAIN_TOLERANCE = 1e-3
"""A gain is a guess: it need not be found exactly."""
LATENESS_WEIGHT = 3.0
"""A tenth too late counts as three tenths dearer."""
MAX_PROBES_PER_MOVE = 3
WORTH_FACTOR = 1.5
"""What a probe is expected to gain must exceed its cost by this factor."""


@dataclass(frozen=True)
class Probe:
    """A flavor worth measuring: what that is expected to gain, and to cost, on the rest of the work."""

    flavor: str
    gain_usd: float
    cost_usd: float


def probe_usd(source: Fleet, target: Fleet, model: FleetModel, outlook: Outlook) -> float:
    """What a probe costs: the switch there, the new nodes until they are measured, and the switch back at worst."""
    settings = outlook.situation.settings
    there = switching_usd(source, target, model.usd_per_hour, settings.head_usd_per_hour, settings.switching)
    added = {f: max(0, target.count(f) - source.count(f)) for f in target}
    per_hour = sum(count * model.usd_per_hour.get(f, 0.0) for f, count in added.items())
    known = source if model.knows(source) else outlook.situation.current
    measuring_s = settings.probe_steps * model.step_time_s(known) + settings.cooldown_s
    pause_usd = (model.fleet_usd_per_hour(known) + per_hour) * settings.switching.pause_s / SECONDS_PER_HOUR
    return there + pause_usd + per_hour * measuring_s * PROBE_WASTE / SECONDS_PER_HOUR


PROBE_WASTE = 0.3
"""A node that is measured also works: this share of its price counts as spent on the probe."""


def spent_on_probes_usd(moves: tuple[Move, ...], model: FleetModel, outlook: Outlook) -> float:
    """What the probes so far have cost, reckoned as they were planned."""
    unmade = (MovePhase.REFUSED, MovePhase.ROLLED_BACK)
    probes = [move for move in moves if move.is_probe and move.phase not in unmade]
    return sum(probe_usd(move.source, move.target, model, outlook) for move in probes)


def unmeasured(outlook: Outlook) -> dict[str, Speed]:
    """What is expected of the flavors that could be started and were not measured well in this run."""
    situation = outlook.situation
    wanted = [
        flavor
        for flavor in outlook.bounds.caps
        if flavor not in situation.current.present and flavor not in situation.barred
    ]
    known = {f: s for f, s in situation.measured.items() if f in wanted and not s.steps}
    never = [f for f in wanted if f not in situation.measured]
    return {**expected_speeds(never, situation.measured, situation.usd_per_hour, situation.settings), **known}


def _with_speed(model: FleetModel, flavor: str, tokens_per_s: float) -> FleetModel:
    return replace(model, tokens_per_s={**model.tokens_per_s, flavor: tokens_per_s})


def _worth_usd(outlook: Outlook, model: FleetModel) -> float:
    """What the rest of the work costs the user with the best fleet of a model, in dollars; inf where there is none.

    Seconds count as what the present fleet costs meanwhile, and a fleet that is late as if it cost more.
    """
    objective, steps = outlook.situation.settings.objective, outlook.remaining_steps
    found = best_fleet(model, outlook.promised, objective, GAIN_TOLERANCE)
    late_share = 0.0
    if found is None:
        found = best_fleet(model, outlook.bounds, Objective.TIME, GAIN_TOLERANCE)
        if found is None:
            return math.inf
        if outlook.time_left_s is not None:
            late_share = max(0.0, found.step_s * steps / max(outlook.time_left_s, 1.0) - 1)
    if objective is Objective.TIME:
        return found.step_s * steps * outlook.model.fleet_usd_per_hour(outlook.situation.current) / SECONDS_PER_HOUR
    return found.usd_per_step * steps * (1 + LATENESS_WEIGHT * late_share)


def worthwhile(outlook: Outlook, base: Fleet) -> list[Probe]:
    """The probes that are expected to pay, best first, within what is left of the probe budget."""
    situation, model = outlook.situation, outlook.model
    settings = situation.settings
    guesses = unmeasured(outlook)
    if not guesses:
        return []
    whole_usd = situation.history.spent_usd + outlook.stay.remaining_usd
    left_usd = settings.probe_share * whole_usd - spent_on_probes_usd(situation.history.moves, model, outlook)
    best_usd = _worth_usd(outlook, model)
    probes = []
    for flavor, guess in guesses.items():
        cost_usd = probe_usd(base, base.with_count(flavor, 1), model, outlook)
        if cost_usd > left_usd:
            continue
        probe = _judged(outlook, flavor, guess, best_usd, cost_usd)
        if probe is not None:
            probes.append(probe)
    return _affordable(probes, left_usd)


def _judged(outlook: Outlook, flavor: str, guess: Speed, best_usd: float, cost_usd: float) -> Probe | None:
    """The probe of one flavor; None when it cannot win or is not expected to pay."""
    needed = cost_usd + outlook.situation.settings.saving_margin * best_usd

    def gain(z: float) -> float:
        speed = guess.tokens_per_s * math.exp(z * guess.log_se)
        return max(0.0, best_usd - _worth_usd(outlook, _with_speed(outlook.model, flavor, speed)))

    if gain(OPTIMISM_Z) <= needed:
        return None
    expected = sum(share * gain(z) for z, share in zip(QUANTILE_Z, QUANTILE_SHARE, strict=True))
    return Probe(flavor, expected, cost_usd) if expected > WORTH_FACTOR * cost_usd else None


def _affordable(probes: list[Probe], left_usd: float) -> list[Probe]:
    """The best probes that fit into the budget together."""
    chosen: list[Probe] = []
    for probe in sorted(probes, key=lambda probe: (-probe.gain_usd / probe.cost_usd, probe.flavor)):
        if len(chosen) < MAX_PROBES_PER_MOVE and probe.cost_usd <= left_usd:
            chosen.append(probe)
            left_usd -= probe.cost_usd
    return chosen


def with_probes(base: Fleet, probes: list[Probe], outlook: Outlook) -> Fleet | None:
    """The base fleet with a node of each probed flavor; None where the limits leave no room for it.

    Where there is no room for one more node, a node of the base fleet's dearest flavor per token gives way.
    """
    bounds, model = outlook.bounds, outlook.model
    target = base
    for probe in probes:
        grown = target.with_count(probe.flavor, target.count(probe.flavor) + 1)
        is_full = bounds.max_nodes is not None and grown.size > bounds.max_nodes
        if is_full or not _is_affordable(grown, outlook):
            leaving = [f for f in target.present if f in base.present]
            if not leaving:
                break
            dearest = max(leaving, key=lambda f: (model.usd_per_hour[f] / model.tokens_per_s[f], f))
            grown = grown.with_count(dearest, grown.count(dearest) - 1)
        if _is_affordable(grown, outlook):
            target = grown
    return None if target == base else target


def _is_affordable(fleet: Fleet, outlook: Outlook) -> bool:
    """Whether a fleet keeps the limit on dollars per hour."""
    most = outlook.bounds.max_usd_per_hour
    return most is None or outlook.model.fleet_usd_per_hour(fleet) <= most


def is_sensible(outlook: Outlook) -> bool:
    """Whether probing is in order at all: the present fleet is known, and a slow probe would not hold up the others."""
    is_balanced = outlook.situation.settings.batches is Batches.BALANCED
    return is_balanced and outlook.model.knows(outlook.situation.current)


def names(probes: list[Probe]) -> Mapping[str, float]:
    """The probed flavors with what each is expected to gain, in dollars."""
    return {probe.flavor: probe.gain_usd for probe in probes}
