"""Fleets that people compare the chosen one with: the best of each flavor, and other world sizes."""

from __future__ import annotations

from controller.decide.limits.bounds import Bounds
from controller.decide.model.forecaster import Forecaster
from controller.decide.search.best_fleet import best_fleet
from controller.domain import Fleet, FleetEstimate

SCALES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)


def runners_up(forecaster: Forecaster) -> list[Fleet]:
    """Returns the best fleet of each single flavor, best first."""
    settings = forecaster.situation.settings
    wanted = settings.runners_up if settings.detailed else 0
    if not wanted:
        return []
    found = []
    for flavor, cap in forecaster.bounds.caps.items():
        own = Bounds(
            {flavor: cap}, forecaster.bounds.min_nodes, forecaster.bounds.max_nodes, forecaster.bounds.max_usd_per_hour
        )
        best = best_fleet(forecaster.model, own, forecaster.situation.settings.objective)
        if best is not None:
            found.append(best)
    found.sort(key=lambda best: best.usd_per_step)
    return [best.fleet for best in found[:wanted]]


def scaling(forecaster: Forecaster, fleet: Fleet) -> tuple[FleetEstimate, ...]:
    """Returns estimates of the fleet's main flavor at other world sizes (Amdahl: communication does not get faster)."""
    if not forecaster.situation.settings.detailed or not fleet.size:
        return ()
    main = max(fleet.present, key=lambda flavor: (fleet.count(flavor), flavor))
    sizes = sorted({size for size in SCALES if size <= 4 * fleet.size} | {fleet.size})
    return tuple(forecaster.model.estimate(Fleet({main: size}), forecaster.remaining_steps) for size in sizes)
