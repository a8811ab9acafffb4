"""What the rest of the work takes on a fleet whose nodes run faster while they have CPU credits.

A step takes T = B / S + t_comm(N), and the speeds that add up to S fall whenever the credits of some nodes are spent.
Between two such moments T is constant, so that the time for the remaining steps is a sum over these pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from controller.decide.model.fleet_model import FleetModel
from controller.decide.samples.credits import Burst
from controller.decide.samples.windows import median
from controller.domain import Fleet
from controller.domain.batches import Batches


@dataclass(frozen=True)
class _Group:
    """So many nodes of one flavor that run faster until the same moment."""

    flavor: str
    count: int
    until_s: float
    full: float
    """Target tokens per second with credits."""


def mean_step_s(model: FleetModel, bursts: Mapping[str, Burst], current: Fleet, target: Fleet, steps: float) -> float:
    """Returns the mean seconds of one of the next `steps` steps.

    Args:
        model: Its speeds are those without credits.
        bursts: By flavor how its nodes run faster for a while.
        current: The fleet that runs. Its nodes have what is left of their credits, all others those of fresh nodes.
        target: The fleet that works.
        steps: How many steps remain.
    """
    groups = [group for f in target.present if f in bursts for group in _groups(f, bursts[f], current, target)]
    ends_s = sorted({group.until_s for group in groups if group.until_s > 0})
    if not ends_s or steps <= 0:
        return model.step_time_s(target)
    passed_s, left = 0.0, float(steps)
    for end_s in ends_s:
        step_s = _step_s(model, target, groups, passed_s)
        if left * step_s <= end_s - passed_s:
            return (passed_s + left * step_s) / steps
        left -= (end_s - passed_s) / step_s
        passed_s = end_s
    return (passed_s + left * model.step_time_s(target)) / steps


def mean_speeds(model: FleetModel, bursts: Mapping[str, Burst], seconds: float) -> dict[str, float]:
    """Returns by flavor with credits the mean speed of a node for so long from now on, tokens per second.

    Args:
        model: Its speeds are those without credits.
        bursts: By flavor how its nodes run faster for a while. Fresh nodes count where they have more credits.
        seconds: How long.
    """
    found = {}
    for flavor, burst in bursts.items():
        if flavor in model.tokens_per_s:
            left_s = [*burst.left_s.values()]
            fast_s = max(burst.fresh_s, sum(left_s) / len(left_s) if left_s else 0.0)
            share = min(1.0, fast_s / seconds) if seconds > 0 else 1.0
            slow = model.tokens_per_s[flavor]
            found[flavor] = slow + (burst.tokens_per_s - slow) * share
    return found


def step_now_s(model: FleetModel, bursts: Mapping[str, Burst], fleet: Fleet) -> float:
    """Returns the seconds that a step of the fleet that runs takes at this moment."""
    groups = [group for f in fleet.present if f in bursts for group in _groups(f, bursts[f], fleet, fleet)]
    return _step_s(model, fleet, groups, 0.0)


def _groups(flavor: str, burst: Burst, current: Fleet, target: Fleet) -> list[_Group]:
    """Returns the nodes of a flavor in the target. Of a flavor that shrinks, those with the most credits stay.

    Nodes that do not report are taken to have as many credits as the others.
    """
    stay = min(current.count(flavor), target.count(flavor))
    left_s = list(burst.left_s.values())
    if left_s:
        left_s += [median(left_s)] * (current.count(flavor) - len(left_s))
    fresh_s = [burst.fresh_s] * (target.count(flavor) - stay)
    ends_s = Counter(fresh_s + sorted(left_s, reverse=True)[:stay])
    return [_Group(flavor, count, until_s, burst.tokens_per_s) for until_s, count in ends_s.items()]


def _step_s(model: FleetModel, fleet: Fleet, groups: list[_Group], passed_s: float) -> float:
    """Returns the seconds of a step after `passed_s`. With equal batches the slowest node sets the pace."""
    fast = [group for group in groups if group.until_s > passed_s]
    counts = {f: fleet.count(f) - sum(g.count for g in fast if g.flavor == f) for f in fleet.present}
    parts = [(count, model.tokens_per_s[f]) for f, count in counts.items() if count > 0]
    parts += [(group.count, group.full) for group in fast]
    if model.batches is Batches.EQUAL:
        speed = fleet.size * min(tokens_per_s for _, tokens_per_s in parts)
    else:
        speed = sum(count * tokens_per_s for count, tokens_per_s in parts)
    return model.tokens_per_step / speed + model.communication_s(fleet.size)
