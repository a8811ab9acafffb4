"""The choice of the fleet to have, the present one included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from controller.decide.limits.bounds import Bounds
from controller.decide.limits.violations import violation
from controller.decide.model.forecast import Forecast, Overrun
from controller.decide.model.forecaster import Forecaster, while_credits_last
from controller.decide.model.risk import margin
from controller.decide.search.best_fleet import best_fleet
from controller.decide.search.found import Found
from controller.decide.search.shrinking import best_shrunk
from controller.domain import Fleet, MovePhase
from controller.domain.objective import Objective
from controller.domain.reasons import Reason
from controller.domain.reasons.limits import BudgetOutOfReach, DeadlineAndBudgetOutOfReach, DeadlineOutOfReach

TRIES = 8
"""The most searches for a fleet that keeps deadline and budget. A search leaves the cost of the switch out, so its
result may break them."""

ROOM_TOLERANCE, ROOM_SIZES = 1e-2, 100
"""How exactly the fastest fleet is searched that could make up for a late one, and among how many world sizes."""
Margin = Callable[[Fleet], float]
"""The share of time and money that a fleet is to have to spare."""


@dataclass(frozen=True)
class Choice:
    """The best target, and which deadline or budget it does not keep."""

    forecast: Forecast
    shortfall: Reason | None = None


def best_choice(forecaster: Forecaster) -> Choice | None:
    """Returns the best allowed target, which may be the present fleet; None where no allowed fleet is known.

    A fleet is chosen to save money or time only if it keeps deadline and budget with the confidence that is asked for.
    Otherwise it would have to be left again soon. Where no fleet does, the one with the most to spare is chosen.
    """
    surely = partial(margin, forecaster, fastest_step_s=fastest_step_s(forecaster))
    kept = [f for f in _candidates(forecaster, surely) if forecaster.keeps(f, surely(f.target))]
    if kept:
        return Choice(min(kept, key=forecaster.worth))
    if forecaster.violation is None and forecaster.knows_current and forecaster.forced is None:
        return Choice(forecaster.stay)
    edge = [forecast for forecast in _candidates(forecaster, no_margin) if forecaster.keeps(forecast, 0.0)]
    return Choice(max(edge, key=forecaster.to_spare)) if edge else _least_bad(forecaster)


def fastest_step_s(forecaster: Forecaster) -> float | None:
    """Returns a step of the fastest fleet that is allowed, in seconds; None where no deadline asks for it."""
    if not forecaster.has_deadline_or_budget:
        return None
    found = best_fleet(forecaster.model, forecaster.bounds, Objective.TIME, ROOM_TOLERANCE, ROOM_SIZES)
    return None if found is None else found.step_s


def no_margin(target: Fleet) -> float:
    """Returns 0: nothing is to spare."""
    return 0.0


def _least_bad(forecaster: Forecaster) -> Choice | None:
    """Returns the best where deadline or budget cannot be kept: the deadline comes first, and then the money."""
    free = replace(forecaster, time_left_s=None, money_left_usd=None)
    fastest = min(_found(free, Objective.TIME, no_margin), key=lambda f: f.remaining_s, default=None)
    cheapest = min(_found(free, Objective.COST, no_margin), key=lambda f: f.remaining_usd, default=None)
    if fastest is None or cheapest is None:
        return None
    soonest_s = forecaster.as_measured(fastest).remaining_s
    if forecaster.time_left_s is not None and soonest_s > forecaster.time_left_s:
        return Choice(fastest, DeadlineOutOfReach(fastest.target, soonest_s, forecaster.time_left_s))
    in_time = replace(forecaster, money_left_usd=None)
    kept = [f for f in (fastest, *_found(in_time, Objective.COST, no_margin)) if in_time.keeps(f, 0.0)]
    best = min(kept, key=lambda f: f.remaining_usd)
    least_usd = forecaster.as_measured(cheapest).remaining_usd
    if forecaster.money_left_usd is not None and least_usd > forecaster.money_left_usd:
        return Choice(best, BudgetOutOfReach(cheapest.target, least_usd, forecaster.money_left_usd))
    return Choice(best, DeadlineAndBudgetOutOfReach())


def _candidates(forecaster: Forecaster, margin: Margin) -> Iterator[Forecast]:
    """Yields the fleets that could be best; with a deadline or a budget, also those of the other objective."""
    objective = forecaster.situation.settings.objective
    other = Objective.COST if objective is Objective.TIME else Objective.TIME
    objectives = (objective, other) if forecaster.has_deadline_or_budget else (objective,)
    for wanted in objectives:
        found = list(_found(forecaster, wanted, margin))
        yield from found
        if forecaster.situation.bursts and found:
            yield from _while_credits_last(forecaster, min(f.remaining_s for f in found), wanted, margin)
    yield from _without_bad_nodes(forecaster)


def _while_credits_last(
    forecaster: Forecaster, rest_s: float, objective: Objective, margin: Margin
) -> Iterator[Forecast]:
    """Yields the best fleet for a rest of the work that is short enough to be done on CPU credits.

    Its forecast counts the credits that each node really has.
    """
    best = _best_within(while_credits_last(forecaster, rest_s), objective, margin)
    if best is not None and best.target != forecaster.situation.current:
        yield forecaster.forecast(best.target)


def _found(forecaster: Forecaster, objective: Objective, margin: Margin) -> Iterator[Forecast]:
    """Yields the present fleet, the best fleet, and the best fleet that the present one can shrink to."""
    current = forecaster.situation.current
    if forecaster.violation is None and forecaster.knows_current:
        yield forecaster.stay
    best, spare = _best_within(forecaster, objective, margin), margin(current)
    if best is not None and best.target != current:
        yield best
    shrunk = best_shrunk(forecaster.model, forecaster.bounds_within(spare, grows=False), current, objective)
    if shrunk is not None and shrunk != current:
        yield forecaster.forecast(shrunk)


def _best_within(forecaster: Forecaster, objective: Objective, margin: Margin) -> Forecast | None:
    """Returns the best fleet. It searches again within tighter bounds while the result breaks deadline or budget."""
    within, forecast = forecaster.bounds_within(margin(forecaster.situation.current)), None
    for _ in range(TRIES):
        found = _plain(forecaster, best_fleet(forecaster.model, within, objective), within, objective)
        if found is None:
            break
        forecast = forecaster.forecast(found.fleet)
        overrun = forecaster.overrun(forecast, margin(found.fleet))
        if overrun == Overrun():
            break
        within = _tighter(within, found, overrun, forecaster.remaining_steps)
    return forecast


def _tighter(within: Bounds, found: Found, overrun: Overrun, steps: int) -> Bounds:
    """Returns bounds that exclude the found fleet, tighter by its overrun."""
    max_step_s, max_usd = within.max_step_s, within.max_usd_per_step
    if max_step_s is not None and overrun.seconds:
        max_step_s = max(0.0, min(max_step_s, found.step_s) - overrun.seconds / steps)
    if max_usd is not None and overrun.usd:
        max_usd = max(0.0, min(max_usd, found.usd_per_step) - overrun.usd / steps)
    return replace(within, max_step_s=max_step_s, max_usd_per_step=max_usd)


def _plain(forecaster: Forecaster, found: Found | None, within: Bounds, objective: Objective) -> Found | None:
    """Returns the best fleet, or one of a single flavor that is as good within `mixed_margin`."""
    if found is None or len(found.fleet.present) < 2:
        return found
    allowed = 1 + forecaster.situation.settings.mixed_margin
    singles = []
    for flavor in found.fleet.present:
        single = best_fleet(forecaster.model, replace(within, caps={flavor: within.caps[flavor]}), objective)
        if single is not None and single.value(objective) <= allowed * found.value(objective):
            singles.append(single)
    return min(singles, key=lambda single: single.value(objective), default=found)


def _without_bad_nodes(forecaster: Forecaster) -> Iterator[Forecast]:
    """Yields the present fleet with its bad nodes ended, or replaced by nodes of another flavor or of the same one.

    Where there is no room for more nodes of the same flavor, nodes of another one take the places of the bad ones until
    sound ones are there.
    """
    current = forecaster.situation.current
    for flavor, nodes in forecaster.situation.bad_nodes.items():
        bad = min(len(nodes), current.count(flavor))
        if not {*nodes}.isdisjoint(_spared(forecaster, flavor)):
            continue
        gone = current.with_count(flavor, current.count(flavor) - bad)
        others = [other for other in forecaster.bounds.caps if other != flavor]
        filled = [gone.with_count(other, gone.count(other) + bad) for other in others]
        for target in (gone, *filled):
            if _is_allowed(forecaster, target):
                yield replace(forecaster.forecast(target), bad_nodes=tuple(nodes))
        spare = current.with_count(flavor, current.count(flavor) + bad)
        for between in (spare,) if _is_allowed(forecaster, spare) else filled:
            if _is_allowed(forecaster, between):
                yield forecaster.replacement(between, tuple(nodes))


def _spared(forecaster: Forecaster, flavor: str) -> set[str]:
    """Returns the instances of a flavor that an earlier move of it could have ended and did not."""
    shrunk = [
        move.at
        for move in forecaster.situation.history.moves
        if move.phase is MovePhase.DONE and move.target.count(flavor) < move.source.count(flavor)
    ]
    earlier = [seen for seen in forecaster.situation.observations if shrunk and seen.at <= shrunk[-1]]
    return {fact.instance_id for seen in earlier for fact in seen.facts}


def _is_allowed(forecaster: Forecaster, fleet: Fleet) -> bool:
    """Tells whether a fleet keeps the limits, and its speed and that of the present fleet are known."""
    model = forecaster.model
    is_known = forecaster.knows_current and model.knows(fleet)
    return is_known and violation(fleet, forecaster.bounds, model.usd_per_hour, model.head_usd_per_hour) is None
