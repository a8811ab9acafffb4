"""The best fleet when each rank gets the same batch: the slowest flavor of a fleet sets its pace.

For each world size and each flavor that may be the slowest, the cheapest nodes that are no slower are the best choice.
"""

from __future__ import annotations

import numpy as np

from controller.decide.search.hull import Flavors, Floats, Ints
from controller.decide.search.line import Goal


def _price_by_size(flavors: Flavors, order: Ints) -> Floats:
    """Returns the dollars per second of each world size when flavors are used up in this order; inf without room."""
    ends = np.concatenate([[0], np.cumsum(flavors.caps[order])])
    prices = np.concatenate([[0.0], np.cumsum(flavors.caps[order] * flavors.prices[order])])
    return np.where(flavors.sizes <= ends[-1], np.interp(flavors.sizes, ends, prices), np.inf)


def best_equal(flavors: Flavors, goal: Goal) -> Ints | None:
    """Returns the nodes of each flavor of the best fleet; None where no fleet is within the bounds."""
    best_value, best = np.inf, None
    by_price = np.lexsort((-flavors.speeds, flavors.prices))
    for slowest in np.unique(flavors.speeds):
        order = by_price[flavors.speeds[by_price] >= slowest]
        price = _price_by_size(flavors, order)
        values = goal.values(slowest * flavors.sizes, price, flavors.communication_s, traffic_usd=flavors.traffic_usd)
        at = int(np.argmin(values))
        if values[at] < best_value:
            best_value, best = values[at], flavors.in_order(order, flavors.sizes[at : at + 1])[:, 0]
    return best
