"""The best fleet that the present one can shrink to, without waiting for new nodes."""

from __future__ import annotations

import numpy as np

from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.search.line import goal_of
from controller.domain import SECONDS_PER_HOUR, Fleet
from controller.domain.batches import Batches
from controller.domain.objective import Objective


def best_shrunk(model: FleetModel, bounds: Bounds, current: Fleet, objective: Objective) -> Fleet | None:
    """Returns the best of the fleets that remain as nodes end one by one, the most expensive per token first.

    Nodes beyond the limits, and those of unknown speed, end in any case. Returns None where no such fleet is allowed.
    """
    counts = {f: min(count, bounds.caps.get(f, 0)) for f, count in current.present.items() if model.knows({f: 1})}
    order = sorted((f for f in counts if counts[f]), key=lambda f: (model.usd_per_hour[f] / model.tokens_per_s[f], f))
    if not order:
        return None
    nodes = np.repeat(np.arange(len(order)), [counts[flavor] for flavor in order])
    sizes = np.arange(1, len(nodes) + 1)
    speeds = np.array([model.tokens_per_s[flavor] for flavor in order])[nodes]
    prices = np.array([model.usd_per_hour[flavor] for flavor in order])[nodes]
    is_equal = model.batches is Batches.EQUAL
    speed = sizes * np.minimum.accumulate(speeds) if is_equal else np.cumsum(speeds)
    communication_s = np.array([model.communication_s(size) for size in sizes.tolist()])
    traffic_usd = np.array([model.traffic.usd_of_size(size) for size in sizes.tolist()])
    values = goal_of(model, bounds, objective).values(
        speed, np.cumsum(prices) / SECONDS_PER_HOUR, communication_s, traffic_usd=traffic_usd
    )
    allowed = np.isin(sizes, bounds.sizes)
    values = np.where(allowed, values, np.inf)
    best = int(np.argmin(values))
    if not np.isfinite(values[best]):
        return None
    left = np.bincount(nodes[: best + 1], minlength=len(order))
    return Fleet({flavor: int(count) for flavor, count in zip(order, left, strict=True)})
